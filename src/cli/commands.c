/* SPDX-License-Identifier: Apache-2.0 */
/* The list of sub-commands, in the order of `opscope --help`. A new command is one file and one line here. */
#include <string.h>

#include "cli/command.h"

extern const struct command command_run __attribute__((weak));
extern const struct command command_recover __attribute__((weak));
extern const struct command command_export __attribute__((weak));
extern const struct command command_info __attribute__((weak));
extern const struct command command_zones __attribute__((weak));
extern const struct command command_tree __attribute__((weak));
extern const struct command command_messages __attribute__((weak));
extern const struct command command_ops __attribute__((weak));
extern const struct command command_doctor __attribute__((weak));
extern const struct command command_help __attribute__((weak));
extern const struct command command_completion __attribute__((weak));

static const struct command *const all_commands[] = {
    &command_run, &command_recover, &command_info,   &command_zones, &command_tree,       &command_messages,
    &command_ops, &command_export,  &command_doctor, &command_help,  &command_completion,
};

/* The i-th command that this program was built with; NULL past the end. */
const struct command *command_at(size_t i)
{
    for (size_t k = 0; k < sizeof all_commands / sizeof all_commands[0]; k++) {
        if (all_commands[k] && i-- == 0)
            return all_commands[k];
    }
    return NULL;
}

const struct command *command_find(const char *name)
{
    const struct command *command;
    for (size_t i = 0; (command = command_at(i)); i++) {
        if (strcmp(command->name, name) == 0)
            return command;
    }
    return NULL;
}
