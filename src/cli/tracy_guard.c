/* SPDX-License-Identifier: Apache-2.0 */
/* opscope tracy-guard: the process that lets clients of Tracy go when `opscope run` is not there any more. Not for
 * people: its standard input is a pipe that ends with its parent. */
#include <unistd.h>

#include "cli/command/command.h"
#include "collect/tracy/guard.h"

static int run(const struct command *command, int argc, char **argv)
{
    struct command_line line;
    int status = command_parse(command, argc, argv, NULL, &line);
    if (status != COMMAND_CONTINUE)
        return status;
    tracy_guard_work(line.values[0], STDIN_FILENO);
    return EXIT_OK;
}

static const struct command_argument arguments[] = {
    {.name = "SESSION", .help = "The variable that its processes have, with its value."},
    {0},
};

const struct command command_tracy_guard = {
    .name = "tracy-guard",
    .group = COMMAND_GROUP_HELP,
    .summary = "The process that lets Tracy's clients go after opscope run",
    .usage = (const char *const[]){"SESSION", NULL},
    .description = "Started by opscope run.",
    .arguments = arguments,
    .is_hidden = true,
    .run = run,
};
