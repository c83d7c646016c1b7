/* SPDX-License-Identifier: Apache-2.0 */
/* opscope annotate: a runtime profile with what the compiler's IR knows about it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/estimate/metrics.h"
#include "base/count_of.h"
#include "cli/annotate_ops.h"
#include "cli/command/command.h"
#include "import/open.h"
#include "load/measured.h"
#include "ops/timeline_trace.h"
#include "present/document.h"
#include "present/estimate/annotated.h"
#include "present/export/torq_tracks.h"
#include "present/format.h"
#include "serve/snapshot.h"

struct annotate_options {
    struct output_options output; /* of the metrics; its `output` is --json's file */
    const char *target, *clock, *location, *sources, *trace, *html, *perfetto;
    struct text_list target_options, dims;
    uint64_t top;
    bool debug;
};

static int write_csv(const struct measured *measured, const char *path, struct error *err)
{
    struct bytes text = {0};
    measured_append_csv(measured, &text);
    int status = output_write_text(path, &text, err);
    bytes_free(&text);
    return status;
}

static int write_perfetto(const struct measured *measured, const struct estimate *estimate, const char *path,
                          struct error *err)
{
    struct bytes trace = {0};
    int status = torq_tracks_append(measured, &estimate->timeline, &trace, err);
    if (status == 0)
        status = output_write_text(path, &trace, err);
    bytes_free(&trace);
    return status;
}

static int write_trace(const struct measured *measured, const struct timeline_trace *about, const char *path,
                       struct error *err)
{
    struct trace_writer *writer;
    int status = trace_writer_open(&writer, path, &(struct trace_writer_options){0}, err);
    if (status)
        return status;
    status = timeline_to_trace(&measured->timeline, about, writer, err);
    if (status) {
        trace_writer_discard(writer);
        return status;
    }
    return trace_writer_finish(writer, err);
}

static struct timeline_trace trace_of(const char *profile)
{
    return (struct timeline_trace){.source = profile, .device = "NPU", .is_measured = true};
}

/* --- the page --- */

static const struct {
    enum timeline_metric metric;
    const char *title;
} facts[] = {{TIMELINE_METRIC_OVERALL, "in all"},
             {TIMELINE_METRIC_NPU, "NPU"},
             {TIMELINE_METRIC_DMA_ONLY, "only data movement"},
             {TIMELINE_METRIC_COMPUTE_ONLY, "only computation"},
             {TIMELINE_METRIC_OVERLAP, "both at once"},
             {TIMELINE_METRIC_HOST_COPY, "copies by the host"},
             {TIMELINE_METRIC_IDLE, "idle"}};

struct page {
    const struct measured *measured;
    const char *profile;
};

/* The trace of -o, and as messages where the time went and what there is to say. */
static int fill_page(const void *context, const char *file, struct error *err)
{
    const struct page *page = context;
    const struct timeline *timeline = &page->measured->timeline;
    struct timeline_metrics metrics;
    struct number_text times[COUNT_OF(facts)];
    struct timeline_trace about = trace_of(page->profile);
    struct timeline_message *messages = malloc((COUNT_OF(facts) + timeline->notice_count) * sizeof *messages);
    int status = messages ? timeline_measure(timeline, TIMELINE_NONE, &metrics, err)
                          : error_no_memory(err, "the page");
    for (size_t i = 0; i < COUNT_OF(facts) && !status; i++)
        messages[about.message_count++] = (struct timeline_message){
            facts[i].title, format_time_real(&times[i], (double)metrics.cycles[facts[i].metric])};
    for (size_t i = 0; i < timeline->notice_count && !status; i++)
        messages[about.message_count++] =
            (struct timeline_message){"note", timeline_get_text(timeline, timeline->notices[i].text)};
    about.messages = messages;
    if (!status)
        status = write_trace(page->measured, &about, file, err);
    free(messages);
    return status;
}

static int show(const struct measured *measured, const struct annotate_options *options, const char *out,
                struct error *err)
{
    struct output output;
    struct report report;
    struct table rows, metrics;
    int status = output_open(&output, &options->output, err);
    if (status)
        return status;
    report_begin(&report, &output, "annotate");
    if (out)
        report_text(&report, "output", "written", out);
    measured_make_rows(measured, &rows);
    if (options->top) {
        table_sort(&rows, table_find_column(&rows, "total_time"), true);
        table_truncate(&rows, options->top);
    }
    report_heading(&report, "Actions");
    report_table(&report, "rows", &rows);
    status = measured_make_metrics(measured, &metrics, err);
    report_heading(&report, "Where the time went");
    report_table(&report, "metrics", &metrics);
    for (size_t i = 0; i < measured->timeline.notice_count; i++)
        report_note(&report, TABLE_WARN, "%s",
                    timeline_get_text(&measured->timeline, measured->timeline.notices[i].text));
    if (!status)
        status = report_finish(&report, err);
    table_free(&rows);
    table_free(&metrics);
    report_free(&report);
    if (status) {
        output_abandon(&output);
        return status;
    }
    return output_finish(&output, err);
}

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), own = strlen(ending);
    return length > own && strcmp(text + length - own, ending) == 0;
}

static int write_files(const struct measured *measured, const struct estimate *estimate,
                       const struct annotate_options *options, const struct measured_request *request,
                       const char *out, struct error *err)
{
    bool is_perfetto = out && (ends_with(out, ".pb") || ends_with(out, ".pftrace"));
    int status = 0;
    if (out && !is_perfetto)
        status = write_csv(measured, out, err);
    if (status == 0 && is_perfetto)
        status = write_perfetto(measured, estimate, out, err);
    if (status == 0 && options->perfetto)
        status = write_perfetto(measured, estimate, options->perfetto, err);
    if (status == 0 && options->html)
        status = snapshot_write_made(fill_page, &(struct page){measured, request->profile}, request->profile,
                                     options->html, err);
    const struct timeline_trace about = trace_of(request->profile);
    if (status == 0 && options->trace)
        status = write_trace(measured, &about, options->trace, err);
    return status;
}

/* A model that is not scheduled. */
static int annotate_by_op(const struct annotate_options *options, const struct measured_request *request,
                          const char *out, struct error *err)
{
    if (options->perfetto || (out && (ends_with(out, ".pb") || ends_with(out, ".pftrace"))))
        return error_set(
            err, EINVAL,
            "%s is not scheduled: its run is written as a table, as a page (--html) or as a trace "
            "(-o FILE), which opscope export writes for Perfetto",
            request->phase);
    return annotate_ops(
        &(struct annotate_ops_options){.request = {.model = request->phase,
                                                   .profile = request->profile,
                                                   .target = request->target,
                                                   .options = &options->target_options,
                                                   .dims = &options->dims,
                                                   .clock_mhz = request->clock_mhz,
                                                   .default_location = request->default_location},
                                       .output = &options->output,
                                       .out = out,
                                       .trace = options->trace,
                                       .html = options->html,
                                       .top = options->top},
        err);
}

static int run(const struct command *command, int argc, char **argv)
{
    struct annotate_options options = {0};
    struct command_line line;
    struct measured measured = {0};
    struct estimate estimate = {0};
    struct error err = {0};
    int status = command_parse(command, argc, argv, &options, &line);
    if (status != COMMAND_CONTINUE)
        return status;
    if (line.count < 2)
        return command_usage_error(command, "no profile given: PHASE PROFILE [OUT]");
    const char *out = line.count > 2 ? line.values[2] : NULL;
    double clock = options.clock ? estimate_clock_of(options.clock) : 0;
    if (clock < 0)
        return command_usage_error(command, "'%s' is not a clock: 800, 800MHz, 1.2GHz", options.clock);
    if (options.html && snapshot_check(&err) != 0)
        return command_fail(command, &err);
    if (out && ends_with(out, ".xlsx"))
        return command_usage_error(command, "spreadsheets are written as CSV: %s cannot be one", out);
    struct measured_request request = {.phase = line.values[0],
                                       .profile = line.values[1],
                                       .target = options.target,
                                       .options = &options.target_options,
                                       .clock_mhz = clock,
                                       .default_location = options.location,
                                       .sources = options.sources};
    bool is_iree = import_guess(request.profile) == IMPORT_IREE;
    status = is_iree ? 0 : load_measured(&measured, &estimate, &request, &err);
    if (is_iree || estimate.timeline.is_analytic) {
        status = annotate_by_op(&options, &request, out, &err);
    } else {
        if (status == 0)
            status = write_files(&measured, &estimate, &options, &request, out, &err);
        if (status == 0)
            status = show(&measured, &options, out, &err);
    }
    measured_free(&measured);
    estimate_free(&estimate);
    return status ? command_fail(command, &err) : EXIT_OK;
}

#define FIELD(field) OPTION_FIELD(struct annotate_options, field)

static const struct command_option options_of[] = {
    {.name = "trace",
     .letter = 'o',
     .type = OPTION_TEXT,
     .argument = "FILE",
     .offset = FIELD(trace),
     .is_file = true,
     .is_output = true,
     .help = "Write the run as a trace, with a track for each thing that programs used."},
    OPTION_FILE(
        "perfetto", FIELD(perfetto),
        "Write the run for ui.perfetto.dev, with the tracks of Torq's own tools and the estimate of each "
        "program beside it."),
    OPTION_FILE("html", FIELD(html),
                "Write the page of opscope view with the run: one file that needs no server."),
    {.name = "sources",
     .type = OPTION_TEXT,
     .argument = "FOLDER",
     .offset = FIELD(sources),
     .help =
         "Where the model's source is, from which the names of its operators are taken; this folder unless given."},
    {.name = "default-location",
     .type = OPTION_TEXT,
     .argument = "TEXT",
     .offset = FIELD(location),
     .help = "What actions without a location get, as loc(\"add.mlir\":3:10)."},
    {.name = "target",
     .letter = 't',
     .type = OPTION_TEXT,
     .argument = "NAME|FILE",
     .offset = FIELD(target),
     .help =
         "The machine that the estimate is for; unless given sl2610 for a schedule, cpu for other models."},
    OPTION_TARGET_OPTION(FIELD(target_options)),
    OPTION_DIM(FIELD(dims)),
    {.name = "clock",
     .type = OPTION_TEXT,
     .argument = "MHZ",
     .offset = FIELD(clock),
     .help =
         "The clock that the estimate beside the run is in, as 100MHz for an FPGA; the target's unless given."},
    OPTION_TOP(FIELD(top), "Only the N actions that took longest."),
    {.name = "debug",
     .type = OPTION_FLAG,
     .offset = FIELD(debug),
     .is_hidden = true,
     .help = "Accepted and ignored: Torq's own tool says more with it."},
    {0},
};

static const struct option_table own_table = {"Options", options_of};

static const struct command_option output_of[] = {
    {.name = "json",
     .type = OPTION_FORMAT,
     .offset = FIELD(output.json),
     .file_offset = FIELD(output.output),
     .argument = "FILE",
     .is_file = true,
     .is_output = true,
     .help = "Write the tables as JSON with exact numbers, to FILE or to standard output."},
    OPTION_WIDE(FIELD(output.wide)),
    OPTION_COLOR(FIELD(output.color)),
    {0},
};

static const struct option_table output_table = {"Output", output_of};

static const struct command_argument arguments[] = {
    {.name = "PHASE",
     .kind = ARGUMENT_FILE,
     .help =
         "A dump of the compiler's phase executable-targets, the folder of all its phases, or a debug-info folder "
         "with one file per dispatch (.mlirb or .mlir); or a model that is not scheduled, with a device profile of "
         "IREE (of whose folder of phases stream is taken) or a profile whose rows have locations."},
    {.name = "PROFILE",
     .kind = ARGUMENT_FILE,
     .help = "A profile that the runtime wrote, in any of its forms; or a device profile of IREE."},
    {.name = "OUT",
     .kind = ARGUMENT_FILE,
     .is_optional = true,
     .is_output = true,
     .help = "The annotated CSV to write; a name that ends in .pb is written as --perfetto does."},
    {0},
};

static const struct command_example examples[] = {
    {"opscope annotate phases/ runtime.csv annotated.csv", "Each action with what it ran and used."},
    {"opscope annotate mlp.6.flow.mlir mlp.ireeprof -o mlp.opscope",
     "Dispatches of IREE; opscope report mlp.opscope shows rooflines."},
    {"opscope annotate m.10.executable-targets.mlir runtime.csv --json", "Where the time of a run went."},
    {"opscope annotate debug_info/ runtime.csv run.pb --html run.html",
     "For ui.perfetto.dev, and as a page."},
    {0},
};

const struct command command_annotate = {
    .name = "annotate",
    .group = COMMAND_GROUP_LOOK,
    .summary = "Join a runtime profile with the compiler's IR",
    .usage = (const char *const[]){"[options] PHASE PROFILE [OUT]", NULL},
    .description =
        "Reads a profile of Torq's runtime and the IR that the model was compiled to, and says for each action of the "
        "host what it ran: the slice programs, the operators of the model's source, whether transfers, copies, slices "
        "and the processor were in use, and where the time went.\n\n"
        "OUT has one row per action and invocation, separated by semicolons; of a profile of the first form (2025) one "
        "row per op of each program. docs/estimate.md describes columns and metrics.\n\n"
        "Of a model that is not scheduled, what ran is joined op by op, as opscope diff does. The table, and OUT as "
        "CSV, say for each what it computes, how long it took against the estimate, and its rates; the trace of -o has "
        "that, too, so that opscope report shows rooflines and advice.",
    .options = {{&own_table, 0}, {&output_table, 0}},
    .arguments = arguments,
    .examples = examples,
    .see_also = (const char *const[]){"estimate", "diff", NULL},
    .run = run,
};
