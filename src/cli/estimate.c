/* SPDX-License-Identifier: Apache-2.0 */
/* opscope estimate: the timeline of a compiled model before it runs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/count_of.h"
#include "base/output_path.h"
#include "cli/command/command.h"
#include "load/estimate.h"
#include "load/trace.h"
#include "ops/timeline_trace.h"
#include "present/document.h"
#include "present/estimate/estimate.h"
#include "present/estimate/timeline_csv.h"
#include "present/format.h"
#include "serve/snapshot.h"

struct estimate_command {
    struct output_options output; /* of the table; its `output` is --json's file */
    const char *target, *clock, *location;
    struct text_list target_options, dims;
    const char *trace, *csv, *layers, *annotated, *html, *phases, *profiling;
    const char *dispatch;
    unsigned csv_form;
    bool as_compiler; /* --torq-enable-profiling */
    bool is_csv;      /* --csv; without a name it goes to standard output, instead of the tables */
    uint64_t top;
};

static const char *const form_choices[] = {"tasks", "units", "all", NULL};

/* --- files --- */

static int find_dispatch(const struct timeline *timeline, const char *name, uint32_t *dispatch,
                         struct error *err)
{
    *dispatch = TIMELINE_NONE;
    if (!name)
        *dispatch = timeline->dispatch_count == 1 ? 0 : TIMELINE_NONE;
    for (uint32_t i = 0; name && i < timeline->dispatch_count; i++) {
        if (strcmp(timeline_get_text(timeline, timeline->dispatches[i].name), name) == 0)
            *dispatch = i;
    }
    return name && *dispatch == TIMELINE_NONE
               ? error_set(err, EINVAL, "there is no dispatch '%s' in the file", name)
               : 0;
}

static int write_csv(const struct estimate *estimate, const struct estimate_command *options,
                     const char *path, enum timeline_csv_form form, struct error *err)
{
    struct bytes text = {0};
    uint32_t dispatch;
    int status = find_dispatch(&estimate->timeline, options->dispatch, &dispatch, err);
    if (status)
        return status;
    timeline_append_csv(&estimate->timeline, dispatch, form, &text);
    status = output_write_text(path, &text, err);
    bytes_free(&text);
    return status;
}

static int write_layers(const struct estimate *estimate, const char *path, struct error *err)
{
    struct bytes text = {0};
    int status = estimate_append_layers(&estimate->timeline, &text, err);
    if (status == 0)
        status = output_write_text(path, &text, err);
    bytes_free(&text);
    return status;
}

static int write_annotated(const struct estimate *estimate, const struct estimate_command *options,
                           enum estimate_step step, bool has_places, const char *path, struct error *err)
{
    struct bytes text = {0};
    const struct estimate_annotating how = {step, options->as_compiler, has_places};
    int status = estimate_annotate(estimate, &how, &text, err);
    if (status == 0)
        status = output_write_text(path, &text, err);
    bytes_free(&text);
    return status;
}

struct traced { /* an estimate as a trace, for its page */
    const struct estimate *estimate;
    const char *source;
};

static int fill_trace(const void *context, const char *file, struct error *err)
{
    const struct traced *traced = context;
    return estimate_write_trace(traced->estimate, traced->source, file, err);
}

struct phase {
    const char *name;
    enum estimate_step step;
};

/* The names of the compiler's own phases where there are such, which `opscope annotate` knows. */
static const struct phase scheduled_phases[] = {
    {"1.input", ESTIMATE_READ}, {"10.executable-targets", ESTIMATE_SCHEDULED}, {0}};
static const struct phase analytic_phases[] = {{"1.input", ESTIMATE_READ},
                                               {"2.costed", ESTIMATE_COSTED},
                                               {"3.tiled", ESTIMATE_TILED},
                                               {"4.scheduled", ESTIMATE_SCHEDULED},
                                               {0}};

static int write_phases(const struct estimate *estimate, const struct estimate_command *options,
                        const char *source, struct error *err)
{
    const char *slash = strrchr(source, '/'), *name = slash ? slash + 1 : source;
    int status = mkdir(options->phases, 0777) != 0 && errno != EEXIST
                     ? error_set_errno(err, errno, "cannot make the folder %s", options->phases)
                     : 0;
    const struct phase *phase = estimate->timeline.is_analytic ? analytic_phases : scheduled_phases;
    for (; phase->name && status == 0; phase++) {
        char *path = NULL;
        if (asprintf(&path, "%s/%.*s.%s.mlir", options->phases, (int)strcspn(name, "."), name, phase->name) <
            0)
            return error_no_memory(err, options->phases);
        status = output_path_check(path, &source, 1, NULL, err);
        if (status == 0)
            status = write_annotated(estimate, options, phase->step, true, path, err);
        free(path);
    }
    return status;
}

static int write_files(const struct estimate *estimate, const struct estimate_command *options,
                       const char *source, struct error *err)
{
    int status = 0;
    if (options->csv)
        status = write_csv(estimate, options, options->csv, (enum timeline_csv_form)options->csv_form, err);
    if (!status && options->profiling)
        status = write_csv(estimate, options, options->profiling, TIMELINE_CSV_TASKS, err);
    if (!status && options->layers)
        status = write_layers(estimate, options->layers, err);
    if (!status && options->annotated)
        status = write_annotated(estimate, options, ESTIMATE_SCHEDULED, false, options->annotated, err);
    if (!status && options->phases)
        status = write_phases(estimate, options, source, err);
    if (!status && options->html)
        status =
            snapshot_write_made(fill_trace, &(struct traced){estimate, source}, source, options->html, err);
    if (!status && options->trace)
        status = estimate_write_trace(estimate, source, options->trace, err);
    return status;
}

/* --- terminal and JSON --- */

#define SHOWN_MAX 1000u /* ops in the table for people, unless --top says another number */

static void add_facts(const struct estimate *estimate, const char *source, struct report *report)
{
    const struct timeline *timeline = &estimate->timeline;
    uint64_t end = timeline_end(timeline), macs = 0, peak = 0, used = 0;
    for (size_t i = 0; i < timeline->op_count; i++)
        macs += timeline->ops[i].macs;
    for (size_t i = 0; i < timeline->dispatch_count; i++) {
        peak = timeline->dispatches[i].peak_bytes > peak ? timeline->dispatches[i].peak_bytes : peak;
        used = timeline->dispatches[i].used_bytes > used ? timeline->dispatches[i].used_bytes : used;
    }
    report_text(report, "model", "model", source);
    report_text(report, "target", "target", estimate->machine->name);
    report_text(report, "kind", NULL, timeline->is_analytic ? "analytic" : "scheduled");
    report_number(report, "clock_mhz", NULL, TABLE_INTEGER, (uint64_t)estimate->target.clock_mhz);
    report_number(report, "cycles", "cycles", TABLE_INTEGER, end);
    report_number(report, "time", "time", TABLE_TIME,
                  (uint64_t)((double)end * 1000 / estimate->target.clock_mhz + 0.5));
    if (macs)
        report_number(report, "macs", "MACs", TABLE_INTEGER, macs);
    if (peak)
        report_number(report, "peak", "peak on chip", TABLE_BYTES, peak);
    if (used)
        report_number(report, "used", "used at once", TABLE_BYTES, used);
}

static int add_tables(const struct estimate *estimate, const struct estimate_command *options,
                      struct report *report, struct error *err)
{
    struct table ops, metrics, dispatches;
    size_t count = estimate->timeline.op_count, limit = count > SHOWN_MAX ? SHOWN_MAX : 0;
    if (options->top)
        limit = options->top;
    if (report_is_json(report))
        limit = 0;
    int status = estimate_make_ops(&estimate->timeline, limit, report, &ops, err);
    if (!status) {
        report_heading(report, "Ops");
        report_table(report, "rows", &ops);
    }
    if (!status && limit && !options->top)
        report_note(report, TABLE_DIM,
                    "The %zu ops of %zu that take longest: --top N shows another number, --json all.", limit,
                    count);
    table_free(&ops);
    if (status)
        return status;
    status = estimate_make_metrics(&estimate->timeline, &metrics, err);
    if (!status) {
        report_heading(report, "Where the time goes");
        report_table(report, "metrics", &metrics);
    }
    table_free(&metrics);
    if (!status && (estimate->timeline.dispatch_count > 1 || report_is_json(report))) {
        status = estimate_make_dispatches(&estimate->timeline, &dispatches, err);
        report_heading(report, "Dispatches");
        report_table(report, "dispatches", &dispatches);
        table_free(&dispatches);
    }
    return status;
}

static int show(const struct estimate *estimate, const struct estimate_command *options, const char *source,
                struct error *err)
{
    struct output output;
    struct report report;
    int status = output_open(&output, &options->output, err);
    if (status)
        return status;
    report_begin(&report, &output, "estimate");
    add_facts(estimate, source, &report);
    status = add_tables(estimate, options, &report, err);
    report_note(&report, TABLE_DIM, "%s", estimate_caveat(estimate));
    for (size_t i = 0; i < estimate->timeline.notice_count; i++)
        report_note(&report, TABLE_WARN, "%s",
                    timeline_get_text(&estimate->timeline, estimate->timeline.notices[i].text));
    if (!status)
        status = report_finish(&report, err);
    report_free(&report);
    if (status) {
        output_abandon(&output);
        return status;
    }
    return output_finish(&output, err);
}

/* --- the command --- */

static int run(const struct command *command, int argc, char **argv)
{
    struct estimate_command options = {.target = "sl2610"};
    struct command_line line;
    struct estimate estimate;
    struct error err = {0};
    int status = command_parse(command, argc, argv, &options, &line);
    if (status != COMMAND_CONTINUE)
        return status;
    double clock = options.clock ? estimate_clock_of(options.clock) : 0;
    if (clock < 0)
        return command_usage_error(command, "'%s' is not a clock: 800, 800MHz, 1.2GHz", options.clock);
    if (options.is_csv && !options.csv)
        options.csv = "-";
    bool is_csv_shown = options.csv && strcmp(options.csv, "-") == 0;
    if (is_csv_shown && options.output.json && !options.output.output)
        return command_usage_error(command, "--json and --csv exclude each other");
    if (options.html && snapshot_check(&err) != 0)
        return command_fail(command, &err);
    struct estimate_request request = {.path = line.values[0],
                                       .target = options.target,
                                       .options = &options.target_options,
                                       .dims = &options.dims,
                                       .clock_mhz = clock,
                                       .default_location = options.location};
    status = load_estimate(&estimate, &request, &err);
    if (status == 0)
        status = write_files(&estimate, &options, request.path, &err);
    if (status == 0 && (!is_csv_shown || options.output.json))
        status = show(&estimate, &options, request.path, &err);
    estimate_free(&estimate);
    return status ? command_fail(command, &err) : EXIT_OK;
}

#define FIELD(field) OPTION_FIELD(struct estimate_command, field)
static const struct command_option target_options[] = {
    {.name = "target",
     .letter = 't',
     .type = OPTION_TEXT,
     .argument = "NAME|FILE",
     .offset = FIELD(target),
     .help = "The machine to estimate for: sl2610 unless given; opscope machine list, docs/estimate.md."},
    OPTION_TARGET_OPTION(FIELD(target_options)),
    {.name = "clock",
     .type = OPTION_TEXT,
     .argument = "MHZ",
     .offset = FIELD(clock),
     .help = "The target's clock: 800, 800MHz, 1.2GHz."},
    OPTION_DIM(FIELD(dims)),
    {.name = "default-location",
     .type = OPTION_TEXT,
     .argument = "TEXT",
     .offset = FIELD(location),
     .help = "What ops without a location get, instead of where they stand in the file or, in a schedule, "
             "loc(unknown)."},
    {.name = "torq-enable-profiling",
     .type = OPTION_FLAG,
     .offset = FIELD(as_compiler),
     .help = "The compiler's flag: --annotate writes what its profiling pass writes and nothing else."},
    {0},
};

static const struct command_option file_options[] = {
    {.name = "trace",
     .letter = 'o',
     .type = OPTION_TEXT,
     .argument = "FILE",
     .offset = FIELD(trace),
     .is_file = true,
     .is_output = true,
     .help = "Write the timeline as a trace, for zones, ops, report, export and the other views."},
    {.name = "csv",
     .type = OPTION_FORMAT,
     .offset = FIELD(is_csv),
     .file_offset = FIELD(csv),
     .argument = "FILE",
     .is_file = true,
     .is_output = true,
     .help =
         "Write the timeline as CSV, in the form that --csv-form names, to FILE or, instead of the tables, to "
         "standard output."},
    {.name = "csv-form",
     .type = OPTION_CHOICE,
     .argument = "FORM",
     .offset = FIELD(csv_form),
     .choices = form_choices,
     .help = "tasks: taskId, elapsed_time(us), ... in cycles, as the compiler writes it; units: "
             "ID,Start,End,Location,Op Type; all: every unit with dispatch, op and times in ns."},
    OPTION_FILE("csv-ops", FIELD(layers), "Write one row per op with the columns of Vela's per-layer file."),
    OPTION_FILE("torq-dump-profiling", FIELD(profiling), "The compiler's flag: --csv in the form tasks."),
    {.name = "dispatch",
     .type = OPTION_TEXT,
     .argument = "NAME",
     .offset = FIELD(dispatch),
     .help = "In --csv only this dispatch, its times from its own start."},
    OPTION_FILE("annotate", FIELD(annotated), "Write the IR with cycles and memory added as attributes."),
    OPTION_FILE("html", FIELD(html),
                "Write the page of opscope view with the estimate: one file that needs no server."),
    {.name = "dump-compilation-phases-to",
     .type = OPTION_TEXT,
     .argument = "FOLDER",
     .offset = FIELD(phases),
     .help = "Write the IR after each step: NAME.1.input.mlir, NAME.2.costed.mlir, ... or, of a "
             "schedule, NAME.10.executable-targets.mlir."},
    {0},
};

static const struct command_option table_options[] = {
    {.name = "json",
     .type = OPTION_FORMAT,
     .offset = FIELD(output.json),
     .file_offset = FIELD(output.output),
     .argument = "FILE",
     .is_file = true,
     .is_output = true,
     .help = "Write the tables as JSON with exact numbers, to FILE or to standard output."},
    OPTION_TOP(FIELD(top), "Only the N ops that take longest (1,000 where there are more, all in JSON)."),
    OPTION_WIDE(FIELD(output.wide)),
    OPTION_COLOR(FIELD(output.color)),
    {0},
};

static const struct option_table target_table = {"Target", target_options};
static const struct option_table file_table = {"Files", file_options};
static const struct option_table shown_table = {"Output", table_options};

static const struct command_argument arguments[] = {
    {.name = "MODEL", .kind = ARGUMENT_FILE, .help = "A file of MLIR; - is standard input."},
    {0},
};

static const struct command_example examples[] = {
    {"opscope estimate model.10.executable-targets.mlir", "Cycles, time and memory of a compiled model."},
    {"opscope estimate model.mlir --csv=timeline.csv -o model.opscope",
     "Its timeline, as CSV and as a trace."},
    {"opscope estimate model.mlir --clock 1GHz --target-option dma_factor=0.8",
     "On a chip with other figures."},
    {"opscope export model.opscope --format perfetto", "The timeline for ui.perfetto.dev."},
    {0},
};

/* `--csv timeline.csv MODEL`, which is written again, is not a model. */
static bool is_model(const char *path)
{
    const char *ending = strrchr(path, '.');
    return !ending || strcmp(ending, ".csv") != 0;
}

const struct command command_estimate = {
    .name = "estimate",
    .group = COMMAND_GROUP_LOOK,
    .summary = "Estimate a model's timeline before it runs",
    .usage = (const char *const[]){"[options] MODEL", NULL},
    .description =
        "Reads MLIR and computes when every transfer and every program of an engine would start and end on the target, "
        "how much memory on the chip is reached, and where the time goes. Nothing runs.\n\n"
        "Of scheduled IR (a dump of the phase executable-targets) the schedule itself is executed, dispatch by "
        "dispatch: starts and waits as the compiler ordered them. Of other models (TOSA, linalg, StableHLO, torch, "
        "IREE's phases) shapes give the work of each op, which is tiled and scheduled for the target. "
        "docs/estimate.md says what is computed how, and what a target's figures are.",
    .options = {{&target_table, 0}, {&file_table, 0}, {&shown_table, 0}},
    .takes_csv_word = true,
    .is_source = is_model,
    .arguments = arguments,
    .examples = examples,
    .see_also = (const char *const[]){"machine", "export", "diff", NULL},
    .run = run,
};
