/* SPDX-License-Identifier: Apache-2.0 */
/* The printing half of a command's start: help to stdout; errors to stderr, after the command's name and before the
 * way to its help. Errors quote file names and what files hold, so that nothing is printed as it came. */
#include "cli/command/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "text/utf8.h"

static void say(const char *head, const char *format, va_list args, const char *tail)
{
    struct bytes line = {0};
    char *text = NULL;
    int length = vasprintf(&text, format, args);
    bytes_append_text(&line, head);
    if (length >= 0) {
        utf8_append_visible_lines(&line, text, (size_t)length);
        free(text);
    }
    bytes_append_format(&line, "%s\n", tail);
    fflush(stdout);
    fputs(bytes_text(&line), stderr);
    bytes_free(&line);
}

void command_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say("", format, args, "");
    va_end(args);
}

void command_say_notice(void *unused, const char *text)
{
    (void)unused;
    command_say("opscope: %s", text);
}

void command_say_lines(const struct command *command, const char *lines)
{
    while (*lines) {
        size_t length = strcspn(lines, "\n");
        command_say("opscope %s: %.*s", command->name, (int)length, lines);
        lines += length + (lines[length] == '\n');
    }
}

int command_usage_error(const struct command *command, const char *format, ...)
{
    char head[64], tail[96];
    va_list args;
    snprintf(head, sizeof head, "opscope %s: ", command->name);
    snprintf(tail, sizeof tail, " (see opscope %s --help)", command->name);
    va_start(args, format);
    say(head, format, args, tail);
    va_end(args);
    return command->usage_exit ? command->usage_exit : EXIT_USAGE;
}

int command_fail(const struct command *command, const struct error *err)
{
    command_say("opscope %s: %s", command->name, err->message);
    return EXIT_USAGE;
}

int command_parse(const struct command *command, int argc, char **argv, void *options,
                  struct command_line *line)
{
    struct error err = {0};
    int result = command_parse_quiet(command, argc, argv, options, line, &err);
    if (result == 0)
        result = command_check_files(command, options, line, NULL, &err);
    if (result < 0)
        return command_usage_error(command, "%s", err.message);
    if (result == 0)
        return COMMAND_CONTINUE;
    struct bytes text = {0};
    command_help_text(command, output_terminal_width(STDOUT_FILENO),
                      output_may_colour(stdout, OUTPUT_COLOR_AUTO), &text);
    fputs(bytes_text(&text), stdout);
    bytes_free(&text);
    return EXIT_OK;
}
