/* SPDX-License-Identifier: Apache-2.0 */
/* opscope counters: values that the program recorded over time. */
#include "analyze/events/counters.h"
#include "analyze/labels.h"
#include "cli/view.h"
#include "present/format.h"

struct counters_options {
    struct trace_filter_options filter;
    struct output_options output;
    struct row_options rows;
};

enum {
    COLUMN_NAME,
    COLUMN_PROCESS,
    COLUMN_PID,
    COLUMN_PROGRAM,
    COLUMN_COUNT,
    COLUMN_MIN,
    COLUMN_MEAN,
    COLUMN_MAX,
    COLUMN_PEAK,
    COLUMN_LAST,
    COLUMN_NOT_NUMBERS,
    COLUMNS
};

static const struct table_column columns[COLUMNS] = {
    [COLUMN_NAME] = {.key = "name", .title = "counter", .shrink = 20},
    [COLUMN_PROCESS] =
        {.key = "process", .title = "process", .shown = TABLE_TERMINAL_ONLY, .shrink = 12, .drop = 3},
    [COLUMN_PID] = {.key = "pid", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [COLUMN_PROGRAM] = {.key = "program", .shown = TABLE_DATA_ONLY},
    [COLUMN_COUNT] = {.key = "count", .title = "count", .type = TABLE_INTEGER},
    [COLUMN_MIN] = {.key = "min", .title = "min", .type = TABLE_REAL, .decimals = 3, .drop = 4},
    [COLUMN_MEAN] = {.key = "mean", .title = "mean", .type = TABLE_REAL, .decimals = 3},
    [COLUMN_MAX] = {.key = "max", .title = "max", .type = TABLE_REAL, .decimals = 3},
    [COLUMN_PEAK] = {.key = "peak", .title = "max at", .type = TABLE_INSTANT, .drop = 1},
    [COLUMN_LAST] = {.key = "last", .title = "last", .type = TABLE_REAL, .decimals = 3, .drop = 2},
    [COLUMN_NOT_NUMBERS] = {.key = "not_numbers", .type = TABLE_INTEGER, .shown = TABLE_DATA_ONLY},
};

static void add_row(struct view *view, struct table *table, const struct counter_row *row)
{
    const struct trace_process *process =
        row->process == TRACE_NONE ? NULL : trace_get_process(view->trace, row->process);
    char program[64];
    table_add_row(table);
    table_set_text(table, COLUMN_NAME, trace_get_name(view->trace, row->name)->name);
    if (process) {
        view_set_process(view, table, COLUMN_PROCESS, row->process);
        table_set_integer(table, COLUMN_PID, process->pid);
        table_set_text(table, COLUMN_PROGRAM, label_program(process, program, sizeof program));
    }
    table_set_unsigned(table, COLUMN_COUNT, row->count);
    table_set_unsigned(table, COLUMN_NOT_NUMBERS, row->not_numbers);
    if (row->count == 0)
        return;
    table_set_real(table, COLUMN_MIN, row->min);
    table_set_real(table, COLUMN_MEAN, row->sum / (double)row->count);
    table_set_real(table, COLUMN_MAX, row->max);
    table_set_unsigned(table, COLUMN_PEAK, view_since_start(view, row->peak_ns));
    table_set_real(table, COLUMN_LAST, row->last);
}

static int run(const struct command *command, int argc, char **argv)
{
    struct counters_options options = {0};
    struct command_line line;
    struct view view;
    struct counter_stats stats;
    struct table table;
    struct error err = {0};
    uint64_t not_numbers = 0;
    int status = command_parse(command, argc, argv, &options, &line);
    if (status == COMMAND_CONTINUE)
        status = view_open(&view, command, line.values[0], &options.filter, &options.output, "counters");
    if (status != COMMAND_CONTINUE)
        return status;
    if (counter_stats_make(&stats, view.trace, &view.filter, &err) != 0)
        return view_fail(&view, &err);
    size_t limit = view_row_limit(&view, &options.rows);
    table_init(&table, "counters", columns, COLUMNS);
    for (size_t i = 0; i < stats.row_count; i++) {
        if (i < limit)
            add_row(&view, &table, &stats.rows[i]);
        not_numbers += stats.rows[i].not_numbers;
    }
    view_add_table(&view, &table, "counters");
    view_note_rows(&view, table.row_count, stats.row_count);
    if (not_numbers)
        report_note(&view.report, TABLE_WARN, "%llu value%s not a number: left out",
                    (unsigned long long)not_numbers, not_numbers == 1 ? " is" : "s are");
    view_add_state(&view);
    table_free(&table);
    counter_stats_free(&stats);
    return view_close(&view, EXIT_OK);
}

static const struct command_example examples[] = {
    {"opscope counters t.opscope", "Every counter with its extremes, mean and last value."},
    {"opscope counters t.opscope --name 'queue*' --since 50% --csv", "Queues in the second half, as CSV."},
    {0},
};

const struct command command_counters = {
    .name = "counters",
    .group = COMMAND_GROUP_LOOK,
    .summary = "Show counters: extremes, mean, last value, when the peak was",
    .usage = (const char *const[]){"[options] FILE", NULL},
    .description =
        "One row for each counter of each process (OPSCOPE_COUNTER, opscope.counter): how many values it was given "
        "(count), the smallest, the mean of the values, the largest and when it was first reached (max at, since the "
        "start of the trace), and the last. The mean is not weighted by how long each value was valid.",
    .options = {{&row_option_table, OPTION_FIELD(struct counters_options, rows)},
                {&filter_option_table, OPTION_FIELD(struct counters_options, filter)},
                {&output_option_table, OPTION_FIELD(struct counters_options, output)}},
    .arguments = view_arguments,
    .exits = view_exits,
    .examples = examples,
    .see_also = (const char *const[]){"messages", "frames", "memory", NULL},
    .run = run,
};
