/* SPDX-License-Identifier: Apache-2.0 */
/* The pages of docs/commands/ from the command tables. */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "cli/command/command.h"
#include "cli/command/help.h"

static void append_prose(struct bytes *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (strchr("*_<>|`\\[]", text[i]))
            bytes_append_text(out, "\\");
        bytes_append(out, text + i, 1);
    }
}

static void append_paragraphs(struct bytes *out, const char *text)
{
    const char *begin;
    size_t length;
    bool is_verbatim;
    while (help_next_paragraph(&text, &begin, &length, &is_verbatim)) {
        if (is_verbatim) {
            bytes_append_text(out, "```\n");
            bytes_append(out, begin, length);
            bytes_append_text(out, "\n```\n\n");
        } else {
            append_prose(out, begin, length);
            bytes_append_text(out, "\n\n");
        }
    }
}

static void append_definition(struct bytes *out, const char *label, size_t length, const char *text,
                              size_t text_length)
{
    bytes_append_text(out, "- `");
    bytes_append(out, label, length);
    bytes_append_text(out, "`: ");
    append_prose(out, text, text_length);
    bytes_append_text(out, "\n");
}

static void append_options(struct bytes *out, const struct command *command)
{
    struct bytes label = {0}, text = {0};
    for (const struct option_use *use = command->options; use->table; use++) {
        bytes_append_format(out, "\n## %s\n\n", use->table->title);
        for (const struct command_option *option = use->table->options; option->name; option++) {
            if (option->is_hidden)
                continue;
            bytes_clear(&label);
            bytes_clear(&text);
            help_option_label(option, &label);
            help_option_text(option, &text);
            append_definition(out, (const char *)label.data, label.length, (const char *)text.data,
                              text.length);
        }
    }
    bytes_free(&label);
    bytes_free(&text);
}

void command_markdown(const struct command *command, struct bytes *out)
{
    bytes_append_format(out,
                        "<!-- Made from the option table of the program: opscope help --markdown %s -->\n"
                        "# opscope %s\n\n%s.\n\n```\n",
                        command->name, command->name, command->summary);
    for (size_t i = 0; command->usage[i]; i++)
        bytes_append_format(out, "opscope %s %s\n", command->name, command->usage[i]);
    bytes_append_text(out, "```\n\n");
    append_paragraphs(out, command->description);
    if (command->arguments)
        bytes_append_text(out, "## Arguments\n\n");
    for (const struct command_argument *argument = command->arguments; argument && argument->name; argument++)
        append_definition(out, argument->name, strlen(argument->name), argument->help,
                          strlen(argument->help));
    append_options(out, command);
    bytes_append_text(out, "\n## Exit status\n\n");
    for (const struct command_exit *status = help_exits(command); status->meaning; status++) {
        char code[16];
        int length = snprintf(code, sizeof code, "%d", status->code);
        append_definition(out, code, (size_t)length, status->meaning, strlen(status->meaning));
    }
    if (command->examples)
        bytes_append_text(out, "\n## Examples\n");
    for (const struct command_example *example = command->examples; example && example->command; example++) {
        bytes_append_text(out, "\n");
        append_prose(out, example->meaning, strlen(example->meaning));
        bytes_append_format(out, "\n\n```sh\n%s\n```\n", example->command);
    }
    if (command->see_also)
        bytes_append_text(out, "\nSee also: ");
    for (size_t i = 0; command->see_also && command->see_also[i]; i++)
        bytes_append_format(out, "%s[opscope %s](%s.md)", i ? ", " : "", command->see_also[i],
                            command->see_also[i]);
    if (command->see_also)
        bytes_append_text(out, "\n");
}

void program_markdown(struct bytes *out)
{
    bytes_append_text(out, "<!-- Made from the option tables of the program: opscope help --markdown -->\n"
                           "# Commands\n\n" PROGRAM_SUMMARY "\n\n| command | does |\n|---|---|\n");
    const struct command *command;
    for (size_t i = 0; (command = command_at(i)); i++) {
        if (!command->is_hidden)
            bytes_append_format(out, "| [opscope %s](%s.md) | %s |\n", command->name, command->name,
                                command->summary);
    }
}
