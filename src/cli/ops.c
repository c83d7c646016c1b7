/* SPDX-License-Identifier: Apache-2.0 */
/* opscope ops: calls of accelerator operations with what ran on the device for them. Traces of opscope's own
 * recorder are shown here; what has a vendor's columns in ops_rows.c. */
#include <string.h>

#include "analyze/labels.h"
#include "analyze/wantedops.h"
#include "cli/ops_rows.h"
#include "cli/view.h"
#include "import/op_rows.h"
#include "import/open.h"
#include "ops/description.h"
#include "ops/finish.h"
#include "present/format.h"

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
    COLUMN_FIGURES,
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
    [COLUMN_LOCATION] = {.key = "location", .title = "launched from", .shrink = 16, .drop = 10},
    [COLUMN_FIGURES] = {.key = "figures", .shown = TABLE_DATA_ONLY}, /* of all its runs: "BRISC=400;..." */
};

static void set_list(struct table *table, size_t column, struct bytes *text)
{
    if (text->length)
        table_set_text_length(table, column, (const char *)text->data, text->length);
    bytes_clear(text);
}

static void set_description(struct table *table, const struct ops *ops, uint32_t description,
                            struct bytes *text)
{
    const struct op_description *d = ops_get_description(ops, description);
    bytes_clear(text);
    for (size_t i = 0; i < d->inputs; i++) {
        bytes_append_text(text, i ? "; " : "");
        ops_append_tensor(ops, &ops->tensors[ops_inputs(ops, d)[i]], text);
    }
    set_list(table, COLUMN_INPUTS, text);
    for (size_t i = 0; i < d->outputs; i++) {
        bytes_append_text(text, i ? "; " : "");
        ops_append_tensor(ops, &ops->tensors[ops_outputs(ops, d)[i]], text);
    }
    set_list(table, COLUMN_OUTPUTS, text);
    for (size_t i = 0; i < d->attributes; i++) {
        const struct op_attribute *attribute = &ops->attributes[ops_attributes(ops, d)[i]];
        bytes_append_format(text, "%s%s%s%s", i ? "; " : "", ops_get_text(ops, attribute->key),
                            attribute->value == OPS_NONE ? "" : "=", ops_get_text(ops, attribute->value));
    }
    set_list(table, COLUMN_ATTRIBUTES, text);
}

static void append_figures(const struct ops *ops, uint32_t first, uint32_t count, struct bytes *text)
{
    for (uint32_t i = 0; i < count; i++) {
        bytes_append_text(text, text->length ? ";" : "");
        ops_append_figure(ops, &ops->figures[first + i], text);
    }
}

static void set_runs(struct view *view, struct table *table, const struct ops *ops,
                     const struct op_call *call, struct bytes *text)
{
    struct runs_of_call runs = runs_of_call_sum(ops, call);
    table_set_unsigned(table, COLUMN_RUNS, runs.count);
    if (runs.count) {
        table_set_unsigned(table, COLUMN_DEVICE_START, view_since_start(view, runs.start_ns));
        table_set_unsigned(table, COLUMN_DEVICE_TIME, runs.device_ns);
        table_set_unsigned(table, COLUMN_CORES, runs.cores);
    }
    bytes_clear(text);
    append_figures(ops, call->first_figure, call->figures, text);
    for (uint32_t i = 0; i < call->runs; i++) {
        const struct op_run *run = &ops->runs[ops->run_order[call->first_run + i]];
        append_figures(ops, run->first_figure, run->figures, text);
    }
    set_list(table, COLUMN_FIGURES, text);
    ops_append_kernels(ops, call, ops->run_order + call->first_run, call->runs, text);
    set_list(table, COLUMN_KERNELS, text);
}

static void set_process(struct view *view, struct table *table, const struct trace_process *process)
{
    char program[64];
    (void)view;
    if (!process)
        return;
    table_set_integer(table, COLUMN_PID, process->pid);
    table_set_text(table, COLUMN_PROGRAM, label_program(process, program, sizeof program));
}

static void add_row(struct view *view, struct table *table, const struct ops *ops, const struct op_call *call,
                    struct bytes *text)
{
    table_add_row(table);
    table_set_unsigned(table, COLUMN_CALL, call->number);
    set_process(view, table,
                call->process == TRACE_NONE ? NULL : trace_get_process(view->trace, call->process));
    view_set_track(view, table, COLUMN_THREAD, call->track);
    table_set_text(table, COLUMN_NAME, ops_get_text(ops, call->name));
    table_set_text(table, COLUMN_TYPE, trace_op_type_text(call->type));
    if (call->device != OPS_NONE)
        table_set_unsigned(table, COLUMN_DEVICE, ops->devices[call->device].number);
    table_set_unsigned(table, COLUMN_START, view_since_start(view, call->start_ns));
    if (!(call->faults & OP_FAULT_OPEN))
        table_set_unsigned(table, COLUMN_HOST, call->end_ns - call->start_ns);
    set_runs(view, table, ops, call, text);
    set_description(table, ops, call->description, text);
    uint32_t location = ops_location(ops, call);
    if (location != OPS_NONE)
        table_set_text(table, COLUMN_LOCATION, ops_get_text(ops, location));
}

/* What ran on a device without an op that is known. */
static void add_run(struct view *view, struct table *table, const struct ops *ops, uint32_t at)
{
    const struct op_run *run = &ops->runs[at];
    table_add_row(table);
    set_process(view, table, view_process_of(view, run->track));
    view_set_track(view, table, COLUMN_THREAD, run->track);
    table_set_text(table, COLUMN_NAME, ops_get_text(ops, run->name));
    table_set_text(table, COLUMN_TYPE, "run");
    if (run->device != OPS_NO_DEVICE)
        table_set_unsigned(table, COLUMN_DEVICE, ops->devices[run->device].number);
    table_set_unsigned(table, COLUMN_RUNS, 1);
    table_set_unsigned(table, COLUMN_DEVICE_START, view_since_start(view, run->start_ns));
    table_set_unsigned(table, COLUMN_DEVICE_TIME, run->duration_ns);
    table_set_unsigned(table, COLUMN_CORES, run->cores);
}

static void add_signpost(struct view *view, struct table *table, const struct ops *ops,
                         const struct op_signpost *signpost)
{
    struct slice text = ops_get_slice(ops, signpost->text);
    table_add_row(table);
    set_process(view, table, view_process_of(view, signpost->track));
    view_set_track(view, table, COLUMN_THREAD, signpost->track);
    table_set_text(table, COLUMN_NAME, ops_get_text(ops, signpost->header));
    table_set_text(table, COLUMN_TYPE, "signpost");
    table_set_style(table, COLUMN_NAME, TABLE_BOLD);
    table_set_style(table, COLUMN_TYPE, TABLE_BOLD);
    table_set_unsigned(table, COLUMN_START, view_since_start(view, signpost->time_ns));
    if (text.length)
        table_set_text_length(table, COLUMN_ATTRIBUTES, text.data, text.length);
}

/* One row per call, whatever number of lines its runs have, and the signposts among them; then the runs of no call. */
static void add_rows(struct view *view, struct table *table, const struct ops *ops, size_t limit)
{
    struct bytes text = {0};
    size_t shown = 0;
    for (size_t i = 0; i < ops->line_count && shown < limit; i++) {
        const struct op_line *line = &ops->lines[i];
        if (line->signpost != OPS_NONE)
            add_signpost(view, table, ops, &ops->signposts[line->signpost]);
        else if (ops_line_is_first(ops, line))
            add_row(view, table, ops, &ops->calls[line->call], &text);
        else
            continue;
        report_table_part(&view->report, "rows", table);
        shown++;
    }
    for (uint32_t i = 0; view->filter.is_everything && i < ops->run_count && shown < limit; i++) {
        if (ops->runs[i].call != OPS_NONE)
            continue;
        add_run(view, table, ops, i);
        report_table_part(&view->report, "rows", table);
        shown++;
    }
    bytes_free(&text);
}

static void show(struct view *view, const struct ops_options *options, const struct ops *ops)
{
    struct table table;
    struct number_text number, all;
    size_t count =
        ops->call_count + ops->signpost_count + (view->filter.is_everything ? ops->unmatched_runs : 0);
    size_t shown = options->limit && options->limit < count ? (size_t)options->limit : count;
    report_number(&view->report, "ops", NULL, TABLE_INTEGER, ops->call_count);
    report_number(&view->report, "signposts", NULL, TABLE_INTEGER, ops->signpost_count);
    report_number(&view->report, "runs", NULL, TABLE_INTEGER, ops->run_count - ops->unmatched_runs);
    report_number(&view->report, "unmatched_runs", NULL, TABLE_INTEGER, ops->unmatched_runs);
    table_init(&table, "ops", columns, COLUMNS);
    add_rows(view, &table, ops, shown);
    view_add_table(view, &table, "ops");
    if (shown < count)
        report_note(&view->report, TABLE_DIM, "the first %zu of %s", shown, format_count(&number, count));
    if (ops->unmatched_runs && view->filter.is_everything)
        report_note(&view->report, TABLE_WARN, "%s device run%s to no op in this trace",
                    format_count(&number, ops->unmatched_runs),
                    ops->unmatched_runs == 1 ? " belongs" : "s belong");
    size_t estimated = 0;
    for (size_t i = 0; i < ops->run_count; i++)
        estimated += (ops->runs[i].flags & OP_RUN_ESTIMATED) != 0;
    if (estimated)
        report_note(&view->report, TABLE_WARN, "device times are estimates, not measured: %s of %s",
                    format_count(&number, estimated), format_things(&all, ops->run_count, "run"));
    for (size_t i = 0; i < ops->notice_count; i++)
        report_note(&view->report, TABLE_WARN, "%s (%s times)", ops_get_text(ops, ops->notices[i].text),
                    format_count(&number, ops->notices[i].count));
    view_add_state(view);
    table_free(&table);
}

static int run_trace(const struct command *command, const char *path, struct trace *opened,
                     const struct ops_options *options)
{
    struct view view;
    struct ops ops;
    struct error err = {0};
    int status = view_open_trace(&view, command, path, opened, &options->filter, &options->output, "ops");
    if (status != COMMAND_CONTINUE)
        return status;
    ops_init(&ops);
    bool has_figures = options->output.csv || options->output.json;
    if (wanted_ops_read(&ops, view.trace, &view.filter, has_figures, &err) != 0) {
        ops_free(&ops);
        return view_fail(&view, &err);
    }
    show(&view, options, &ops);
    ops_free(&ops);
    return view_close(&view, EXIT_OK);
}

/* Filters that need a trace's processes, threads and times. */
static bool has_trace_filters(const struct trace_filter_options *filter)
{
    return filter->processes.count || filter->threads.count || filter->since.kind != TRACE_TIME_UNSET ||
           filter->until.kind != TRACE_TIME_UNSET;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct ops_options options = {0};
    struct command_line line;
    int status = command_parse(command, argc, argv, &options, &line);
    if (status != COMMAND_CONTINUE)
        return status;
    const char *path = line.values[0];
    if (options.output.csv && options.output.json)
        return command_usage_error(command, "--json and --csv exclude each other");
    enum import_kind kind = import_guess(path);
    if (options.trace && !import_has_ops(kind))
        return command_usage_error(command, "--trace goes with a folder of logs");
    if (options.per_core)
        return ops_per_core_run(command, path, &options);
    struct trace *trace = NULL;
    unsigned flags = options.filter.salvage ? TRACE_OPEN_SALVAGE : 0;
    struct error err = {0};
    if (kind == IMPORT_TRACE && trace_open(&trace, path, flags, &err) != 0)
        return command_fail(command, &err);
    bool has_table =
        import_has_ops(kind) || (trace && (import_trace_has_table(trace) || import_trace_tells_ops(trace)));
    if (!has_table && !options.columns)
        return run_trace(command, path, trace, &options);
    if (!has_trace_filters(&options.filter))
        return ops_rows_run(command, path, trace, &options);
    trace_close(trace);
    return command_usage_error(
        command, "--process, --thread, --since and --until are for recorded traces without --columns");
}

static const char *const column_sets[] = {"tt", "v1", "compact", "all", NULL};
static const char *const device_sources[] = {"auto", "report", "log", NULL};

static const struct command_option ops_options[] = {
    OPTION_TOP(OPTION_FIELD(struct ops_options, limit), "Only the first N rows."),
    OPTION_LIMIT(OPTION_FIELD(struct ops_options, limit)),
    {.name = "columns",
     .type = OPTION_TEXT,
     .argument = "SET|NAME,...",
     .offset = OPTION_FIELD(struct ops_options, columns),
     .choices = column_sets,
     .help =
         "Which columns of a vendor's table: tt (its own, as its tool writes them), v1 (the header of 2024: "
         "INPUT_0_W, BRISC MAX KERNEL SIZE [B], no architecture), compact (the terminal's), all (tt and what "
         "opscope adds: NOTE), or names with commas between. CSV and JSON have all unless asked otherwise."},
    {.name = "per-core",
     .type = OPTION_FLAG,
     .offset = OPTION_FIELD(struct ops_options, per_core),
     .help = "Times between ops core by core, from a device log: cycles less the recorder's own 1,500."},
    {.name = "device-source",
     .type = OPTION_CHOICE,
     .argument = "FILE",
     .offset = OPTION_FIELD(struct ops_options, device_source),
     .choices = device_sources,
     .help = "Where a log folder's device times come from: report (cpp_device_perf_report.csv), log "
             "(profile_log_device.csv), auto (the report where there is one)."},
    {.name = "device-only",
     .type = OPTION_FLAG,
     .offset = OPTION_FIELD(struct ops_options, device_only),
     .help = "What the devices of a log folder recorded, without the host's ops."},
    {.name = "trace",
     .type = OPTION_TEXT,
     .argument = "TRACE",
     .offset = OPTION_FIELD(struct ops_options, trace),
     .is_file = true,
     .help =
         "Join a log folder with what opscope recorded of the same run: ops that the program marked (by their "
         "attribute global_call_count, else device by device in order) and signposts."},
    {0},
};

static const struct option_table ops_table = {"Options", ops_options};

static const struct command_argument ops_arguments[] = {
    {.name = "FILE",
     .kind = ARGUMENT_TRACE,
     .help = "A trace, a folder of logs, a device log, or an ops CSV; - is a trace on standard input."},
    {0},
};

static const struct command_example examples[] = {
    {"opscope ops t.opscope", "Every op with its host and device time."},
    {"opscope ops t.opscope --name 'matmul*' --csv=ops.csv", "The matrix multiplications, as a file."},
    {"opscope ops generated/profiler --csv=ops.csv",
     "The op table of a run's logs, as the vendor's own tool writes it."},
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
        "kernels and the place in the source are in CSV and JSON. Signposts are rows among them: what came "
        "between two of them was called there.\n\n"
        "FILE may also be a folder of device logs (or the one above its .logs), a device log, an ops CSV of "
        "any version, or a trace made of these by opscope import: then the table has the vendor's columns, and CSV "
        "is byte for byte what the vendor's tool writes. While a program that reports its ops through Tracy is "
        "recorded, FILE.partial has the ops so far, without device times. What does not fit together (an op without "
        "device data, a cut message, a replay nobody recorded) is kept, reported on stderr and marked in a column "
        "NOTE. Cells of an ops CSV that are not what their column should hold are written as they are, and "
        "reported with file, line and column.",
    .options = {{&ops_table, 0},
                {&filter_option_table, OPTION_FIELD(struct ops_options, filter)},
                {&output_option_table, OPTION_FIELD(struct ops_options, output)}},
    .arguments = ops_arguments,
    .takes_csv_word = true,
    .exits = view_exits,
    .examples = examples,
    .see_also = (const char *const[]){"zones", "info", NULL},
    .run = run,
};
