/* SPDX-License-Identifier: Apache-2.0 */
/* opscope ops: calls of accelerator operations with what ran on the device for them. */
#include "analyze/labels.h"
#include "analyze/opstable.h"
#include "cli/view.h"
#include "present/format.h"

struct ops_options {
    struct trace_filter_options filter;
    struct output_options output;
    uint64_t limit;
};

enum {
    COLUMN_CALL,
    COLUMN_PID,
    COLUMN_PROGRAM,
    COLUMN_THREAD,
    COLUMN_NAME,
    COLUMN_TYPE,
    COLUMN_DEVICE,
    COLUMN_START,
    COLUMN_HOST,
    COLUMN_RUNS,
    COLUMN_DEVICE_START,
    COLUMN_DEVICE_TIME,
    COLUMN_CORES,
    COLUMN_INPUTS,
    COLUMN_OUTPUTS,
    COLUMN_ATTRIBUTES,
    COLUMN_KERNELS,
    COLUMN_LOCATION,
    COLUMNS
};

static const struct table_column columns[COLUMNS] = {
    [COLUMN_CALL] = {.key = "call", .title = "call", .type = TABLE_IDENTIFIER, .drop = 6},
    [COLUMN_PID] = {.key = "pid", .title = "pid", .type = TABLE_IDENTIFIER, .drop = 8},
    [COLUMN_PROGRAM] = {.key = "program", .shown = TABLE_DATA_ONLY},
    [COLUMN_THREAD] = {.key = "thread", .shown = TABLE_DATA_ONLY},
    [COLUMN_NAME] = {.key = "name", .title = "op", .shrink = 16},
    [COLUMN_TYPE] = {.key = "type", .title = "type", .drop = 5},
    [COLUMN_DEVICE] = {.key = "device", .title = "device", .type = TABLE_IDENTIFIER, .drop = 7},
    [COLUMN_START] = {.key = "start", .title = "start", .type = TABLE_INSTANT, .drop = 3},
    [COLUMN_HOST] = {.key = "host", .title = "host", .type = TABLE_TIME},
    [COLUMN_RUNS] = {.key = "runs", .title = "runs", .type = TABLE_INTEGER, .drop = 4},
    [COLUMN_DEVICE_START] = {.key = "device_start", .type = TABLE_INSTANT, .shown = TABLE_DATA_ONLY},
    [COLUMN_DEVICE_TIME] = {.key = "device_time", .title = "on device", .type = TABLE_TIME},
    [COLUMN_CORES] = {.key = "cores", .title = "cores", .type = TABLE_INTEGER, .drop = 2},
    [COLUMN_INPUTS] = {.key = "inputs", .title = "inputs", .shrink = 24, .drop = 1},
    [COLUMN_OUTPUTS] = {.key = "outputs", .title = "outputs", .shrink = 16, .drop = 9},
    [COLUMN_ATTRIBUTES] = {.key = "attributes", .shown = TABLE_DATA_ONLY},
    [COLUMN_KERNELS] = {.key = "kernels", .shown = TABLE_DATA_ONLY},
    [COLUMN_LOCATION] = {.key = "location", .shown = TABLE_DATA_ONLY},
};

static void set_parts(struct view *view, struct table *table, const struct trace_op *op, struct bytes *text)
{
    static const struct {
        uint32_t role;
        size_t column;
    } roles[] = {
        {TRACE_PART_INPUT, COLUMN_INPUTS},         {TRACE_PART_OUTPUT, COLUMN_OUTPUTS},
        {TRACE_PART_ATTRIBUTE, COLUMN_ATTRIBUTES}, {TRACE_PART_KERNEL, COLUMN_KERNELS},
        {TRACE_PART_LOCATION, COLUMN_LOCATION},
    };
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        bytes_clear(text);
        if (op_table_parts(view->trace, op, roles[i].role, text))
            table_set_text_length(table, roles[i].column, (const char *)text->data, text->length);
    }
}

static void add_row(struct view *view, struct table *table, const struct op_entry *entry, struct bytes *text)
{
    const struct trace_op *op = &entry->op;
    const struct trace_process *process =
        op->process == TRACE_NONE ? NULL : trace_get_process(view->trace, op->process);
    char program[64];
    table_add_row(table);
    table_set_unsigned(table, COLUMN_CALL, op->call);
    if (process) {
        table_set_integer(table, COLUMN_PID, process->pid);
        table_set_text(table, COLUMN_PROGRAM, label_program(process, program, sizeof program));
    }
    view_set_track(view, table, COLUMN_THREAD, op->track);
    table_set_text(table, COLUMN_NAME, trace_get_name(view->trace, op->name)->name);
    table_set_text(table, COLUMN_TYPE, trace_op_type_text(op->type));
    if (op->device != TRACE_NONE)
        table_set_unsigned(table, COLUMN_DEVICE, op->device);
    table_set_unsigned(table, COLUMN_START, view_since_start(view, op->start_ns));
    if (op->end_ns) /* else it had not ended */
        table_set_unsigned(table, COLUMN_HOST, op->end_ns > op->start_ns ? op->end_ns - op->start_ns : 0);
    table_set_unsigned(table, COLUMN_RUNS, entry->run_count);
    if (entry->run_count) {
        table_set_unsigned(table, COLUMN_DEVICE_START, view_since_start(view, entry->device_start_ns));
        table_set_unsigned(table, COLUMN_DEVICE_TIME, entry->device_ns);
        table_set_unsigned(table, COLUMN_CORES, entry->cores);
    }
    set_parts(view, table, op, text);
}

static void show(struct view *view, const struct ops_options *options, const struct op_table *ops)
{
    struct table table;
    struct bytes text = {0};
    struct number_text number;
    size_t shown = options->limit && options->limit < ops->count ? (size_t)options->limit : ops->count;
    table_init(&table, "ops", columns, COLUMNS);
    for (size_t i = 0; i < shown; i++)
        add_row(view, &table, &ops->entries[i], &text);
    report_number(&view->report, "ops", NULL, TABLE_INTEGER, ops->count);
    report_number(&view->report, "runs", NULL, TABLE_INTEGER, ops->run_count);
    report_number(&view->report, "unmatched_runs", NULL, TABLE_INTEGER, ops->unmatched_run_count);
    view_add_table(view, &table, "ops");
    if (shown < ops->count)
        report_note(&view->report, TABLE_DIM, "the first %zu of %s", shown,
                    format_count(&number, ops->count));
    if (ops->unmatched_run_count && view->filter.is_everything)
        report_note(&view->report, TABLE_WARN, "%s device runs belong to no op in this trace",
                    format_count(&number, ops->unmatched_run_count));
    view_add_state(view);
    bytes_free(&text);
    table_free(&table);
}

static int run(const struct command *command, int argc, char **argv)
{
    struct ops_options options = {0};
    struct command_line line;
    struct view view;
    struct op_table ops;
    struct error err = {0};
    int status = command_parse(command, argc, argv, &options, &line);
    if (status == COMMAND_CONTINUE)
        status = view_open(&view, command, line.values[0], &options.filter, &options.output, "ops");
    if (status != COMMAND_CONTINUE)
        return status;
    if (op_table_make(&ops, view.trace, &view.filter, &err) != 0)
        return view_fail(&view, &err);
    show(&view, &options, &ops);
    op_table_free(&ops);
    return view_close(&view, EXIT_OK);
}

static const struct command_option ops_options[] = {
    {.name = "limit",
     .type = OPTION_NUMBER,
     .argument = "N",
     .offset = OPTION_FIELD(struct ops_options, limit),
     .min = 1,
     .help = "Only the first N."},
    {0},
};

static const struct option_table ops_table = {"Options", ops_options};

static const struct command_example examples[] = {
    {"opscope ops t.opscope", "Every op with its host and device time."},
    {"opscope ops t.opscope --name 'matmul*' --csv -o ops.csv", "The matrix multiplications, as a file."},
    {0},
};

const struct command command_ops = {
    .name = "ops",
    .group = COMMAND_GROUP_LOOK,
    .summary = "List accelerator ops with their host and device times",
    .usage = (const char *const[]){"[options] FILE", NULL},
    .description =
        "One row for each call of an accelerator operation, in the order of their host start: the time the "
        "call took on the host, how often it ran on a device (none, one, or many with replay or several "
        "devices), the sum of those times, the most cores that any run used, and its tensors. Attributes, "
        "kernels and the place in the source are in CSV and JSON.",
    .options = {{&ops_table, 0},
                {&filter_option_table, OPTION_FIELD(struct ops_options, filter)},
                {&output_option_table, OPTION_FIELD(struct ops_options, output)}},
    .arguments = view_arguments,
    .exits = view_exits,
    .examples = examples,
    .see_also = (const char *const[]){"zones", "info", NULL},
    .run = run,
};
