/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command/session_table.h"

enum { COLUMN_PATH, COLUMN_STATE, COLUMN_PID, COLUMN_COMMAND, COLUMN_OUTPUT, COLUMNS };
static const struct table_column columns[COLUMNS] = {
    [COLUMN_PATH] = {.key = "session", .title = "session"},
    [COLUMN_STATE] = {.key = "state", .title = "state"},
    [COLUMN_PID] = {.key = "pid", .title = "pid", .type = TABLE_IDENTIFIER, .drop = 2},
    [COLUMN_COMMAND] = {.key = "command", .title = "command", .shrink = 16},
    [COLUMN_OUTPUT] = {.key = "trace", .title = "trace", .shrink = 16, .drop = 1},
};

void session_table_init(struct table *table)
{
    table_init(table, "sessions", columns, COLUMNS);
}

void session_table_add(struct table *table, const char *path, const char *state,
                       const struct session_folder *folder)
{
    table_add_row(table);
    table_set_text(table, COLUMN_PATH, path);
    table_set_text(table, COLUMN_STATE, state);
    if (!folder)
        return;
    table_set_unsigned(table, COLUMN_PID, folder->control.collector_pid);
    table_set_text(table, COLUMN_COMMAND, folder->command);
    table_set_text(table, COLUMN_OUTPUT, folder->output);
}
