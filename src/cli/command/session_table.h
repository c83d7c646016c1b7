/* SPDX-License-Identifier: Apache-2.0 */
/* The table of sessions that `recover --list` and `status` show. */
#ifndef OPSCOPE_CLI_COMMAND_SESSION_TABLE_H
#define OPSCOPE_CLI_COMMAND_SESSION_TABLE_H

#include "present/table.h"
#include "session/folder.h"

void session_table_init(struct table *table);
/* folder: NULL for one that cannot be read. */
void session_table_add(struct table *table, const char *path, const char *state,
                       const struct session_folder *folder);

#endif
