/* SPDX-License-Identifier: Apache-2.0 */
/* opscope locks: who waits for which lock, and who holds it meanwhile. */
#include "analyze/events/locks.h"
#include "analyze/labels.h"
#include "cli/view.h"

struct locks_options {
    struct trace_filter_options filter;
    struct output_options output;
    struct row_options rows;
};

enum {
    COLUMN_NAME,
    COLUMN_PROCESS,
    COLUMN_PID,
    COLUMN_PROGRAM,
    COLUMN_LOCKS,
    COLUMN_HOLDS,
    COLUMN_SHARED,
    COLUMN_HELD,
    COLUMN_LONGEST_HOLD,
    COLUMN_WAITS,
    COLUMN_OPEN,
    COLUMN_WAITED,
    COLUMN_LONGEST,
    COLUMN_AT,
    COLUMN_WAITER,
    COLUMN_HOLDER,
    COLUMNS
};

static const struct table_column columns[COLUMNS] = {
    [COLUMN_NAME] = {.key = "name", .title = "lock", .shrink = 20},
    [COLUMN_PROCESS] =
        {.key = "process", .title = "process", .shown = TABLE_TERMINAL_ONLY, .shrink = 12, .drop = 3},
    [COLUMN_PID] = {.key = "pid", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [COLUMN_PROGRAM] = {.key = "program", .shown = TABLE_DATA_ONLY},
    [COLUMN_LOCKS] = {.key = "locks", .title = "locks", .type = TABLE_INTEGER, .drop = 6},
    [COLUMN_HOLDS] = {.key = "holds", .title = "holds", .type = TABLE_INTEGER},
    [COLUMN_SHARED] = {.key = "shared_holds", .title = "shared", .type = TABLE_INTEGER, .drop = 7},
    [COLUMN_HELD] = {.key = "held", .title = "held", .type = TABLE_TIME, .drop = 4},
    [COLUMN_LONGEST_HOLD] = {.key = "longest_hold", .title = "longest", .type = TABLE_TIME, .drop = 2},
    [COLUMN_WAITS] = {.key = "waits", .title = "waits", .type = TABLE_INTEGER},
    [COLUMN_OPEN] = {.key = "open_waits", .title = "open", .type = TABLE_INTEGER, .drop = 5},
    [COLUMN_WAITED] = {.key = "waited", .title = "waited", .type = TABLE_TIME},
    [COLUMN_LONGEST] = {.key = "longest_wait", .title = "longest wait", .type = TABLE_TIME},
    [COLUMN_AT] = {.key = "longest_wait_at", .title = "at", .type = TABLE_INSTANT, .drop = 1},
    [COLUMN_WAITER] = {.key = "waiter", .title = "of", .shrink = 12},
    [COLUMN_HOLDER] = {.key = "holder", .title = "for", .shrink = 12},
};

static void add_row(struct view *view, struct table *table, const struct lock_row *row)
{
    const struct trace_process *process =
        row->process == TRACE_NONE ? NULL : trace_get_process(view->trace, row->process);
    char program[64], thread[64];
    table_add_row(table);
    table_set_text(table, COLUMN_NAME, trace_get_name(view->trace, row->name)->name);
    if (process) {
        view_set_process(view, table, COLUMN_PROCESS, row->process);
        table_set_integer(table, COLUMN_PID, process->pid);
        table_set_text(table, COLUMN_PROGRAM, label_program(process, program, sizeof program));
    }
    table_set_unsigned(table, COLUMN_LOCKS, row->locks);
    table_set_unsigned(table, COLUMN_HOLDS, row->holds);
    table_set_unsigned(table, COLUMN_SHARED, row->shared_holds);
    table_set_unsigned(table, COLUMN_HELD, row->held_ns);
    table_set_unsigned(table, COLUMN_LONGEST_HOLD, row->longest_hold_ns);
    table_set_unsigned(table, COLUMN_WAITS, row->waits);
    table_set_unsigned(table, COLUMN_OPEN, row->open_waits);
    table_set_unsigned(table, COLUMN_WAITED, row->waited_ns);
    if (!row->waits)
        return;
    table_set_unsigned(table, COLUMN_LONGEST, row->longest_wait_ns);
    table_set_unsigned(table, COLUMN_AT, view_since_start(view, row->longest_wait_at_ns));
    table_set_text(table, COLUMN_WAITER, label_track(view->trace, row->waiter, thread, sizeof thread));
    if (row->holder != TRACE_NONE)
        table_set_text(table, COLUMN_HOLDER, label_track(view->trace, row->holder, thread, sizeof thread));
}

static int run(const struct command *command, int argc, char **argv)
{
    struct locks_options options = {0};
    struct command_line line;
    struct view view;
    struct lock_stats stats;
    struct table table;
    struct error err = {0};
    int status = command_parse(command, argc, argv, &options, &line);
    if (status == COMMAND_CONTINUE)
        status = view_open(&view, command, line.values[0], &options.filter, &options.output, "locks");
    if (status != COMMAND_CONTINUE)
        return status;
    if (lock_stats_make(&stats, view.trace, &view.filter, &err) != 0)
        return view_fail(&view, &err);
    size_t limit = view_row_limit(&view, &options.rows);
    table_init(&table, "locks", columns, COLUMNS);
    for (size_t i = 0; i < stats.row_count && i < limit; i++)
        add_row(&view, &table, &stats.rows[i]);
    view_add_table(&view, &table, "locks");
    view_note_rows(&view, table.row_count, stats.row_count);
    view_add_state(&view);
    table_free(&table);
    lock_stats_free(&stats);
    return view_close(&view, EXIT_OK);
}

static const struct command_example examples[] = {
    {"opscope locks t.opscope", "Locks that were waited for longest, with who waited and who held them."},
    {"opscope locks t.opscope --name 'queue*' --since 50% --csv", "Some of them in the second half, as CSV."},
    {0},
};

const struct command command_locks = {
    .name = "locks",
    .group = COMMAND_GROUP_LOOK,
    .summary = "Show locks: who waited how long, and who held them",
    .usage = (const char *const[]){"[options] FILE", NULL},
    .description =
        "One row for each name that locks have in a process that was built with Tracy, or with opscope's headers of "
        "Tracy's names: how many locks have this name; how often they were held, how many of these holds were shared, "
        "how long they lasted in all and at most (longest); how often threads waited, how many of these waits had not "
        "ended (open), how long they lasted in all, the longest wait, when that began (at, since the start of the "
        "trace), which thread waited (of), and which thread held that lock for most of the time (for). A wait or a "
        "hold that had not ended is counted up to where its thread was last seen; one of a program that still runs is "
        "not counted yet. Traces that were recorded before locks had rows of their own show none.",
    .options = {{&row_option_table, OPTION_FIELD(struct locks_options, rows)},
                {&filter_option_table, OPTION_FIELD(struct locks_options, filter)},
                {&output_option_table, OPTION_FIELD(struct locks_options, output)}},
    .arguments = view_arguments,
    .exits = view_exits,
    .examples = examples,
    .see_also = (const char *const[]){"zones", "messages", "counters", NULL},
    .run = run,
};
