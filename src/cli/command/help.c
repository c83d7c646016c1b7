/* SPDX-License-Identifier: Apache-2.0 */
/* --help: the text for a terminal, wrapped to its width, from a command's table. */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/count_of.h"
#include "cli/command/command.h"
#include "cli/command/help.h"

#define WIDEST_TEXT 100u /* lines of prose longer than this are hard to read */
#define OPTION_COLUMN 26u

static void heading(struct bytes *out, const char *title, bool is_coloured)
{
    bytes_append_format(out, is_coloured ? "\n\033[1m%s\033[0m\n" : "\n%s\n", title);
}

/* Appends words with line breaks; the first line begins at column `at`, the others at `indent`. */
static void wrap(struct bytes *out, const char *text, size_t length, unsigned at, unsigned indent,
                 unsigned width)
{
    size_t i = 0;
    bool is_line_start = true;
    while (i < length) {
        while (i < length && (text[i] == ' ' || text[i] == '\n'))
            i++;
        size_t begin = i;
        while (i < length && text[i] != ' ' && text[i] != '\n')
            i++;
        unsigned word = (unsigned)(i - begin);
        if (word == 0)
            break;
        if (!is_line_start && at + 1 + word > width) {
            bytes_append_format(out, "\n%*s", (int)indent, "");
            at = indent;
            is_line_start = true;
        }
        if (!is_line_start) {
            bytes_append_text(out, " ");
            at++;
        }
        bytes_append(out, text + begin, word);
        at += word;
        is_line_start = false;
    }
    bytes_append_text(out, "\n");
}

bool help_next_paragraph(const char **text, const char **begin, size_t *length, bool *is_verbatim)
{
    const char *at = *text;
    while (*at == '\n')
        at++;
    if (!*at)
        return false;
    const char *end = strstr(at, "\n\n");
    if (!end)
        end = at + strlen(at);
    *begin = at;
    *length = (size_t)(end - at);
    *is_verbatim = *at == ' ';
    *text = end;
    return true;
}

static void paragraphs(struct bytes *out, const char *text, unsigned width)
{
    const char *begin;
    size_t length;
    bool is_verbatim;
    while (help_next_paragraph(&text, &begin, &length, &is_verbatim)) {
        bytes_append_text(out, "\n");
        if (is_verbatim) {
            bytes_append(out, begin, length);
            bytes_append_text(out, "\n");
        } else {
            wrap(out, begin, length, 0, 0, width);
        }
    }
}

bool help_value_is_optional(const struct command_option *option)
{
    return option->type == OPTION_FORMAT || option->bare_choice;
}

void help_option_label(const struct command_option *option, struct bytes *out)
{
    if (option->letter)
        bytes_append_format(out, "-%c, ", option->letter);
    bytes_append_format(out, "--%s", option->name);
    if (help_value_is_optional(option))
        bytes_append_format(out, "[=%s]", option->argument);
    else if (option->type != OPTION_FLAG)
        bytes_append_format(out, " %s", option->argument);
}

void help_option_text(const struct command_option *option, struct bytes *out)
{
    bytes_append_text(out, option->help);
    if (option->choices && option->type == OPTION_CHOICE) {
        bytes_append_text(out, " One of: ");
        for (size_t i = 0; option->choices[i]; i++)
            bytes_append_format(out, "%s%s", i ? ", " : "", option->choices[i]);
        bytes_append_text(out, ".");
    }
}

/* "  label       text, wrapped" */
static void definition(struct bytes *out, const struct bytes *label, const char *text, size_t length,
                       unsigned column, unsigned width)
{
    unsigned at = 2 + (unsigned)label->length;
    bytes_append_text(out, "  ");
    bytes_append(out, label->data, label->length);
    if (at + 2 > column) {
        bytes_append_format(out, "\n%*s", (int)column, "");
    } else {
        bytes_append_format(out, "%*s", (int)(column - at), "");
    }
    wrap(out, text, length, column, column, width);
}

static void option_tables(struct bytes *out, const struct command *command, unsigned width, bool is_coloured)
{
    struct bytes label = {0}, text = {0};
    for (const struct option_use *use = command->options; use->table; use++) {
        heading(out, use->table->title, is_coloured);
        for (const struct command_option *option = use->table->options; option->name; option++) {
            if (option->is_hidden)
                continue;
            bytes_clear(&label);
            bytes_clear(&text);
            if (!option->letter)
                bytes_append_text(&label, "    ");
            help_option_label(option, &label);
            help_option_text(option, &text);
            definition(out, &label, (const char *)text.data, text.length, OPTION_COLUMN, width);
        }
    }
    bytes_free(&label);
    bytes_free(&text);
}

static void one_definition(struct bytes *out, const char *label_text, const char *text, unsigned column,
                           unsigned width)
{
    struct bytes label = {0};
    bytes_append_text(&label, label_text);
    definition(out, &label, text, strlen(text), column, width);
    bytes_free(&label);
}

static const struct command_exit usual_exits[] = {
    {EXIT_OK, "success"},
    {EXIT_USAGE, "bad input or usage"},
    {0, NULL},
};

const struct command_exit *help_exits(const struct command *command)
{
    return command->exits ? command->exits : usual_exits;
}

void command_help_text(const struct command *command, unsigned width, bool is_coloured, struct bytes *out)
{
    if (width > WIDEST_TEXT || width == 0)
        width = WIDEST_TEXT;
    if (width < 40)
        width = 40;
    for (size_t i = 0; command->usage[i]; i++)
        bytes_append_format(out, "%s opscope %s %s\n", i ? "      " : "Usage:", command->name,
                            command->usage[i]);
    bytes_append_format(out, "\n%s.\n", command->summary);
    paragraphs(out, command->description, width);
    if (command->arguments)
        heading(out, "Arguments", is_coloured);
    for (const struct command_argument *argument = command->arguments; argument && argument->name; argument++)
        one_definition(out, argument->name, argument->help, OPTION_COLUMN, width);
    option_tables(out, command, width, is_coloured);
    heading(out, "Exit status", is_coloured);
    for (const struct command_exit *status = help_exits(command); status->meaning; status++) {
        char code[16];
        snprintf(code, sizeof code, "%d", status->code);
        one_definition(out, code, status->meaning, 8, width);
    }
    if (command->examples)
        heading(out, "Examples", is_coloured);
    for (const struct command_example *example = command->examples; example && example->command; example++) {
        bytes_append_format(out, "  %s\n      ", example->command);
        wrap(out, example->meaning, strlen(example->meaning), 6, 6, width);
    }
    if (command->see_also) {
        bytes_append_text(out, "\nSee also:");
        for (size_t i = 0; command->see_also[i]; i++)
            bytes_append_format(out, "%s opscope %s", i ? "," : "", command->see_also[i]);
        bytes_append_text(out, "\n");
    }
}

void program_help_text(unsigned width, bool is_coloured, struct bytes *out)
{
    const char *const groups[] = {COMMAND_GROUP_RECORD, COMMAND_GROUP_LOOK, COMMAND_GROUP_HELP};
    if (width > WIDEST_TEXT || width == 0)
        width = WIDEST_TEXT;
    bytes_append_text(out, "Usage: opscope COMMAND [options] [arguments]\n"
                           "       opscope --version | --help\n\n");
    wrap(out, PROGRAM_SUMMARY, strlen(PROGRAM_SUMMARY), 0, 0, width);
    for (size_t g = 0; g < COUNT_OF(groups); g++) {
        heading(out, groups[g], is_coloured);
        const struct command *command;
        for (size_t i = 0; (command = command_at(i)); i++) {
            if (!command->is_hidden && strcmp(command->group, groups[g]) == 0)
                one_definition(out, command->name, command->summary, 16, width);
        }
    }
    bytes_append_text(out,
                      "\nopscope COMMAND --help explains a command; opscope help COMMAND does the same.\n");
}
