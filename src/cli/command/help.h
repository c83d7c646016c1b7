/* SPDX-License-Identifier: Apache-2.0 */
/* What the writers of help, man pages and docs share: each reads the same command table. */
#ifndef OPSCOPE_CLI_COMMAND_HELP_H
#define OPSCOPE_CLI_COMMAND_HELP_H

#include "cli/command/command.h"

#define PROGRAM_SUMMARY                                                                                      \
    "Tells where the time of a program and its accelerators goes: records any program and its children "     \
    "into one "                                                                                              \
    "trace, and shows what is in it."

/* Cuts the next paragraph off *text; verbatim ones begin with a space and keep their lines. */
bool help_next_paragraph(const char **text, const char **begin, size_t *length, bool *is_verbatim);
/* --csv[=FILE], --color[=WHEN] */
bool help_value_is_optional(const struct command_option *option);
void help_option_label(const struct command_option *option, struct bytes *out); /* "-o, --output FILE" */
void help_option_text(const struct command_option *option, struct bytes *out); /* with the choices after it */
const struct command_exit *help_exits(const struct command *command);

#endif
