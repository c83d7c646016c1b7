/* SPDX-License-Identifier: Apache-2.0 */
/* opscope: finds the sub-command and calls it; a file in its place is summarised. SIGPIPE keeps its disposition, which
 * the profiled program inherits: a reader that goes away ends us quietly, by the signal or, where it is ignored, by
 * EPIPE. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "cli/command/command.h"
#include "cli/command/names.h"
#include "opscope/opscope.h"
#include "text/suggest.h"
#include "trace/format.h"

#define MOST_COMMANDS 64u

static int print_version(void)
{
    printf("opscope %s\n"
           "recorder ABI %d\n"
           "trace format %u\n",
           OPSCOPE_VERSION, OPSCOPE_ABI, TRACE_FORMAT_VERSION);
    return EXIT_OK;
}

static int print_help(FILE *stream)
{
    struct bytes text = {0};
    program_help_text(output_terminal_width(fileno(stream)), output_may_colour(stream, OUTPUT_COLOR_AUTO),
                      &text);
    fputs(bytes_text(&text), stream);
    bytes_free(&text);
    return stream == stdout ? EXIT_OK : EXIT_USAGE;
}

static int unknown_command(const char *name)
{
    const char *words[MOST_COMMANDS];
    size_t count = 0;
    const struct command *command;
    for (size_t i = 0; (command = command_at(i)) && count < MOST_COMMANDS; i++) {
        if (!command->is_hidden)
            words[count++] = command->name;
    }
    if (strchr(name, '/') || strstr(name, ".opscope")) {
        command_say("opscope: there is no file %s, and no command of that name (see opscope --help)", name);
        return EXIT_USAGE;
    }
    const char *near = name[0] == '-' ? NULL : suggest_word(name, words, count);
    command_say("opscope: unknown %s %s%s%s%s (see opscope --help)", name[0] == '-' ? "option" : "command",
                name, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    return EXIT_USAGE;
}

static int run_command(const struct command *command, int argc, char **argv)
{
    int status = command->run(command, argc, argv);
    if (fflush(stdout) != 0)
        clearerr(stdout);
    return status;
}

int main(int argc, char **argv)
{
    char **words = command_words_of_tool(&argc, argv);
    if (words) {
        int status = run_command(command_find(words[0]), argc, words);
        free(words);
        return status;
    }
    if (argc < 2)
        return print_help(stderr);
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
        return print_version();
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return print_help(stdout);
    const struct command *command = command_find(name);
    const char *last = argv[argc - 1]; /* opscope --json FILE */
    bool is_file = !command && access(name[0] == '-' ? last : name, F_OK) == 0;
    if (!command && !is_file)
        return unknown_command(name);
    if (is_file) /* opscope FILE: its summary */
        return run_command(command_find("summary"), argc, argv);
    return run_command(command, argc - 1, argv + 1);
}
