/* SPDX-License-Identifier: Apache-2.0 */
/* The printing half of a command's start: help to stdout, errors to stderr with the command's name in front
 * and the way to its help behind. */
#include "cli/command/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/bytes.h"

int command_usage_error(const struct command *command, const char *format, ...)
{
    va_list args;
    fflush(stdout);
    fprintf(stderr, "opscope %s: ", command->name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, " (see opscope %s --help)\n", command->name);
    return command->usage_exit ? command->usage_exit : EXIT_USAGE;
}

int command_fail(const struct command *command, const struct error *err)
{
    fflush(stdout);
    fprintf(stderr, "opscope %s: %s\n", command->name, err->message);
    return EXIT_USAGE;
}

int command_parse(const struct command *command, int argc, char **argv, void *options,
                  struct command_line *line)
{
    struct error err = {0};
    int result = command_parse_quiet(command, argc, argv, options, line, &err);
    if (result == 0)
        result = command_check_files(command, options, line, &err);
    if (result < 0)
        return command_usage_error(command, "%s", err.message);
    if (result == 0)
        return COMMAND_CONTINUE;
    struct bytes text = {0};
    command_help_text(command, output_terminal_width(STDOUT_FILENO),
                      output_may_colour(stdout, OUTPUT_COLOR_AUTO), &text);
    if (text.data)
        fwrite(text.data, 1, text.length, stdout);
    bytes_free(&text);
    return EXIT_OK;
}
