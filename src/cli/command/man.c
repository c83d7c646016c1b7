/* SPDX-License-Identifier: Apache-2.0 */
/* Man pages (roff, man macros) from the command tables. No date is printed, so that builds are reproducible. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "cli/command/command.h"
#include "cli/command/help.h"

/* Text in a line of its own or part of one: nothing in it is taken as a macro or an escape. */
static void append_text(struct bytes *out, const char *text, size_t length)
{
    bool is_line_start = true;
    for (size_t i = 0; i < length; i++) {
        if (is_line_start && (text[i] == '.' || text[i] == '\''))
            bytes_append_text(out, "\\&");
        is_line_start = text[i] == '\n';
        if (text[i] == '\\')
            bytes_append_text(out, "\\e");
        else if (text[i] == '-')
            bytes_append_text(out, "\\-");
        else
            bytes_append(out, text + i, 1);
    }
}

static void append_word(struct bytes *out, const char *text)
{
    append_text(out, text, strlen(text));
}

static void append_upper(struct bytes *out, const char *text)
{
    for (; *text; text++) {
        char upper = (char)toupper((unsigned char)*text);
        bytes_append(out, &upper, 1);
    }
}

static void append_title(struct bytes *out, const char *name)
{
    bytes_append_text(out, ".TH OPSCOPE");
    if (*name)
        bytes_append_text(out, "\\-");
    append_upper(out, name);
    bytes_append_text(out, " 1 \"\" \"opscope " OPSCOPE_VERSION "\" \"User Commands\"\n");
}

static void append_paragraphs(struct bytes *out, const char *text)
{
    const char *begin;
    size_t length;
    bool is_verbatim;
    while (help_next_paragraph(&text, &begin, &length, &is_verbatim)) {
        bytes_append_text(out, is_verbatim ? ".PP\n.nf\n" : ".PP\n");
        append_text(out, begin, length);
        bytes_append_text(out, is_verbatim ? "\n.fi\n" : "\n");
    }
}

/* A section that is in every page: options by their tables. */
static void append_options(struct bytes *out, const struct command *command)
{
    struct bytes text = {0};
    for (const struct option_use *use = command->options; use->table; use++) {
        bytes_append_text(out, ".SH \"");
        append_upper(out, use->table->title);
        bytes_append_text(out, "\"\n");
        for (const struct command_option *option = use->table->options; option->name; option++) {
            if (option->is_hidden)
                continue;
            bytes_append_text(out, ".TP\n");
            if (option->letter)
                bytes_append_format(out, "\\fB\\-%c\\fR, ", option->letter);
            bytes_append_text(out, "\\fB\\-\\-");
            append_word(out, option->name);
            bytes_append_text(out, "\\fR");
            if (option->type != OPTION_FLAG) {
                bytes_append_text(out, help_value_is_optional(option) ? "[=\\fI" : " \\fI");
                append_word(out, option->argument);
                bytes_append_text(out, help_value_is_optional(option) ? "\\fR]" : "\\fR");
            }
            bytes_append_text(out, "\n");
            bytes_clear(&text);
            help_option_text(option, &text);
            append_text(out, (const char *)text.data, text.length);
            bytes_append_text(out, "\n");
        }
    }
    bytes_free(&text);
}

static void append_definition(struct bytes *out, const char *label, const char *text)
{
    bytes_append_text(out, ".TP\n\\fB");
    append_word(out, label);
    bytes_append_text(out, "\\fR\n");
    append_word(out, text);
    bytes_append_text(out, "\n");
}

void command_man_page(const struct command *command, struct bytes *out)
{
    append_title(out, command->name);
    bytes_append_text(out, ".SH NAME\nopscope\\-");
    append_word(out, command->name);
    bytes_append_text(out, " \\- ");
    append_word(out, command->summary);
    bytes_append_text(out, "\n.SH SYNOPSIS\n");
    for (size_t i = 0; command->usage[i]; i++) {
        bytes_append_format(out, "%s\\fBopscope %s\\fR ", i ? ".br\n" : "", command->name);
        append_word(out, command->usage[i]);
        bytes_append_text(out, "\n");
    }
    bytes_append_text(out, ".SH DESCRIPTION\n");
    append_paragraphs(out, command->description);
    if (command->arguments)
        bytes_append_text(out, ".SH ARGUMENTS\n");
    for (const struct command_argument *argument = command->arguments; argument && argument->name; argument++)
        append_definition(out, argument->name, argument->help);
    append_options(out, command);
    bytes_append_text(out, ".SH \"EXIT STATUS\"\n");
    for (const struct command_exit *status = help_exits(command); status->meaning; status++) {
        char code[16];
        snprintf(code, sizeof code, "%d", status->code);
        append_definition(out, code, status->meaning);
    }
    if (command->examples)
        bytes_append_text(out, ".SH EXAMPLES\n");
    for (const struct command_example *example = command->examples; example && example->command; example++)
        append_definition(out, example->command, example->meaning);
    bytes_append_text(out, ".SH \"SEE ALSO\"\n\\fBopscope\\fR(1)");
    for (size_t i = 0; command->see_also && command->see_also[i]; i++)
        bytes_append_format(out, ",\n\\fBopscope\\-%s\\fR(1)", command->see_also[i]);
    bytes_append_text(out, "\n");
}

void program_man_page(struct bytes *out)
{
    append_title(out, "");
    bytes_append_text(out, ".SH NAME\nopscope \\- profiler for programs and their accelerators\n"
                           ".SH SYNOPSIS\n\\fBopscope\\fR COMMAND [options] [arguments]\n.br\n"
                           "\\fBopscope\\fR \\-\\-version | \\-\\-help\n.SH DESCRIPTION\n");
    append_word(out, PROGRAM_SUMMARY);
    bytes_append_text(out, "\n.SH COMMANDS\n");
    const struct command *command;
    for (size_t i = 0; (command = command_at(i)); i++) {
        if (!command->is_hidden)
            append_definition(out, command->name, command->summary);
    }
    bytes_append_text(out, ".SH ENVIRONMENT\n");
    append_definition(out, "NO_COLOR", "When it is set and not empty, no colours are used.");
    append_definition(out, "COLUMNS", "The width of tables, instead of the terminal's own.");
    bytes_append_text(out, ".SH \"SEE ALSO\"\n");
    for (size_t i = 0; (command = command_at(i)); i++) {
        if (!command->is_hidden)
            bytes_append_format(out, "%s\\fBopscope\\-%s\\fR(1)", i ? ",\n" : "", command->name);
    }
    bytes_append_text(out, "\n");
}
