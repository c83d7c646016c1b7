/* SPDX-License-Identifier: Apache-2.0 */
/* opscope export: a trace for other people's tools. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/clock.h"
#include "cli/view.h"
#include "load/trace.h"
#include "present/export/export.h"
#include "present/format.h"

#define HTML_ENDING ".html" /* of a flame graph in a page */
#define TRACE_ENDING ".opscope"
#define PROGRESS_AFTER_NS UINT64_C(500000000)
#define PROGRESS_EVERY_NS UINT64_C(100000000)

struct export_command_options {
    struct trace_filter_options filter;
    struct output_options output;
    unsigned format, what, unit, flame_by;
};

static const char *const what_choices[] = {"zones", "messages", "counters", "memory", "ops",
                                           "runs",  "losses",   "locks",    NULL};
static const char *const unit_choices[] = {"ns", "us", NULL};

#define FORMAT_UNSET UINT32_MAX

struct progress {
    uint64_t begin_ns, shown_ns;
    bool is_shown;
};

static void show_progress(void *context, double share)
{
    struct progress *progress = context;
    uint64_t now_ns = clock_raw_ns();
    if (now_ns - progress->begin_ns < PROGRESS_AFTER_NS || now_ns - progress->shown_ns < PROGRESS_EVERY_NS)
        return;
    fprintf(stderr, "\rexporting: %3.0f %%", 100.0 * share);
    progress->shown_ns = now_ns;
    progress->is_shown = true;
}

static void clear_progress(const struct progress *progress)
{
    if (progress->is_shown)
        fprintf(stderr, "\r%*s\r", 20, "");
}

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), ending_length = strlen(ending);
    return length > ending_length && strcmp(text + length - ending_length, ending) == 0;
}

/* The format that the name of the output asks for; the longest ending that fits (".speedscope.json"). */
static unsigned format_of(const char *path)
{
    unsigned best = path && ends_with(path, HTML_ENDING) ? EXPORT_FLAMEGRAPH : FORMAT_UNSET;
    for (unsigned i = 0; path && export_format_words[i]; i++) {
        if (ends_with(path, export_file_ending(i)) &&
            (best == FORMAT_UNSET || strlen(export_file_ending(i)) > strlen(export_file_ending(best))))
            best = i;
    }
    return best;
}

/* NAME.opscope becomes NAME.json, anything else has the ending added. Freed by the caller. */
static char *default_path(const char *trace_path, enum export_format format)
{
    char *path = NULL;
    if (strcmp(trace_path, "-") == 0)
        trace_path = "trace" TRACE_ENDING;
    int length = (int)strlen(trace_path);
    if (ends_with(trace_path, TRACE_ENDING))
        length -= (int)strlen(TRACE_ENDING);
    if (asprintf(&path, "%.*s%s", length, trace_path, export_file_ending(format)) < 0)
        return NULL;
    return path;
}

/* Checks what the tables cannot, and settles format and output. COMMAND_CONTINUE, or the exit status. */
static int settle(const struct command *command, struct export_command_options *options, const char *path,
                  char **made_path)
{
    const char *output = options->output.output;
    bool is_to_stdout = !output || strcmp(output, "-") == 0;
    if (options->format == FORMAT_UNSET)
        options->format = format_of(output);
    if (options->format == FORMAT_UNSET)
        return command_usage_error(
            command,
            "no --format given: chrome, perfetto, csv, speedscope, collapsed, torq-runtime or flamegraph");
    if (options->what != EXPORT_ROWS_ZONES && options->format != EXPORT_CSV)
        return command_usage_error(command, "--what goes with --format csv only");
    if (options->unit != 0 && options->format != EXPORT_COLLAPSED)
        return command_usage_error(command, "--unit goes with --format collapsed only");
    if (options->flame_by != EXPORT_FLAME_WALL && options->format != EXPORT_FLAMEGRAPH &&
        options->format != EXPORT_COLLAPSED)
        return command_usage_error(command, "--flame-by goes with --format flamegraph or collapsed only");
    if (is_to_stdout && isatty(STDOUT_FILENO)) {
        if (output && export_is_binary(options->format))
            return command_usage_error(command,
                                       "%s is a binary format and standard output is a terminal: name a file "
                                       "with -o, or pipe it",
                                       export_format_words[options->format]);
        if (!output) {
            *made_path = default_path(path, options->format);
            if (!*made_path)
                return command_fail(command, &(struct error){ENOMEM, "no memory for a path"});
            options->output.output = *made_path;
        }
    }
    return COMMAND_CONTINUE;
}

/* Adds ", 12 messages", unless there are none. */
static void add_count(struct bytes *text, uint64_t count, const char *what)
{
    struct number_text number;
    if (count)
        bytes_append_format(text, "%s%s", text->length ? ", " : "", format_things(&number, count, what));
}

static void say_what_is_lost(const struct command *command, const struct export_counts *counts,
                             const char *path)
{
    struct bytes text = {0};
    add_count(&text, counts->lost_zones, "zone");
    add_count(&text, counts->lost_records, "other record");
    if (text.length)
        command_say("opscope %s: the recording lost %s; see opscope info %s", command->name,
                    bytes_text(&text), path);
    bytes_free(&text);
}

/* Formats that have zones and nothing else. */
static void say_what_is_left_out(const struct command *command, const struct export_command_options *options,
                                 const struct trace_info *info)
{
    struct bytes text = {0};
    bool has_zones_only = options->format == EXPORT_SPEEDSCOPE || options->format == EXPORT_COLLAPSED ||
                          options->format == EXPORT_TORQ_RUNTIME || options->format == EXPORT_FLAMEGRAPH;
    if (has_zones_only) {
        bool has_runs = options->format == EXPORT_TORQ_RUNTIME || options->flame_by == EXPORT_FLAME_DEVICE;
        add_count(&text, info->points, "message");
        add_count(&text, info->counters, "counter value");
        add_count(&text, info->memory_events, "memory event");
        add_count(&text, has_runs ? 0 : info->ops, "op");
        add_count(&text, has_runs ? 0 : info->runs, "run");
    }
    if (options->format != EXPORT_CSV)
        add_count(&text, info->samples, "sample");
    if (text.length)
        command_say("opscope %s: %s has no room for: %s", command->name, export_format_words[options->format],
                    bytes_text(&text));
    bytes_free(&text);
}

static void say_what_is_there(const struct export_counts *counts, const char *path)
{
    struct bytes text = {0};
    struct number_text size;
    add_count(&text, counts->zones, "zone");
    add_count(&text, counts->open_zones, "open zone");
    add_count(&text, counts->points, "message");
    add_count(&text, counts->counters, "counter value");
    add_count(&text, counts->memory_events, "memory event");
    add_count(&text, counts->ops, "op");
    add_count(&text, counts->runs, "run");
    add_count(&text, counts->losses, "loss record");
    add_count(&text, counts->locks, "lock event");
    command_say("wrote %s: %s (%s)", path, text.length ? bytes_text(&text) : "no rows",
                format_bytes(&size, counts->size_bytes));
    bytes_free(&text);
}

#define MANY_ROWS 10000u

/* What is summed up does not grow with the trace. */
static bool export_is_small(enum export_format format)
{
    return format == EXPORT_COLLAPSED || format == EXPORT_FLAMEGRAPH;
}

/* A pipe takes whatever comes: who did not ask for standard output learns how much that is. */
static void say_what_goes_to_a_pipe(const struct command *command,
                                    const struct export_command_options *options,
                                    const struct trace_info *info)
{
    struct number_text number;
    uint64_t rows = saturating_add_u64(info->zones, saturating_add_u64(info->ops, info->runs));
    if (!options->output.output && rows >= MANY_ROWS && !export_is_small(options->format))
        command_say(
            "opscope %s: %s zones, ops and runs go to standard output; -o FILE writes a file, -o - says "
            "that it is meant",
            command->name, format_count(&number, rows));
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int write_export(const struct command *command, const struct export_command_options *options,
                        struct trace *trace, const struct trace_filter *filter, const char *path)
{
    struct progress progress = {.begin_ns = clock_raw_ns()};
    struct export_options how = {
        .format = options->format,
        .rows = options->what,
        .in_microseconds = options->unit == 1,
        .flame_by = options->flame_by,
        .is_html = options->output.output && ends_with(options->output.output, HTML_ENDING),
        .title = base_name(path),
        .progress = isatty(STDERR_FILENO) ? show_progress : NULL,
        .progress_context = &progress,
    };
    struct export_counts counts = {0};
    struct output output;
    struct error err = {0};
    say_what_goes_to_a_pipe(command, options, trace_get_info(trace));
    if (output_open(&output, &options->output, &err) != 0)
        return command_fail(command, &err);
    int result = export_trace(trace, filter, &how, output.stream, &counts, &err);
    clear_progress(&progress);
    if (result != 0) {
        bool is_reader_gone = result == -EPIPE && !output.path;
        output_abandon(&output);
        return is_reader_gone ? EXIT_OK : command_fail(command, &err);
    }
    const char *written = output.path ? options->output.output : NULL;
    if (output_finish(&output, &err) != 0)
        return command_fail(command, &err);
    if (written)
        say_what_is_there(&counts, written);
    say_what_is_left_out(command, options, trace_get_info(trace));
    /* A CSV of zones has no row for a loss, nor has a stack. */
    say_what_is_lost(command, &counts, path);
    return EXIT_OK;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct export_command_options options = {.format = FORMAT_UNSET};
    struct command_line line;
    struct bytes stdin_data = {0};
    struct trace *trace = NULL;
    struct trace_filter filter = {0};
    struct error err = {0};
    char *made_path = NULL;
    int status = command_parse(command, argc, argv, &options, &line);
    if (status == COMMAND_CONTINUE)
        status = settle(command, &options, line.values[0], &made_path);
    if (status == COMMAND_CONTINUE) {
        if (load_trace(&trace, &stdin_data, line.values[0], options.filter.salvage, &err) != 0 ||
            trace_filter_resolve(&filter, trace, &options.filter, &err) != 0)
            status = command_fail(command, &err);
        else
            status = write_export(command, &options, trace, &filter, line.values[0]);
    }
    trace_filter_free(&filter);
    trace_close(trace);
    bytes_free(&stdin_data);
    free(made_path);
    return status;
}

static const struct command_option export_options_table[] = {
    {.name = "format",
     .letter = 'f',
     .type = OPTION_CHOICE,
     .argument = "FORMAT",
     .offset = OPTION_FIELD(struct export_command_options, format),
     .choices = export_format_words,
     .help =
         "What to write: chrome (trace events as JSON, for chrome://tracing, Perfetto, speedscope), "
         "perfetto (protobuf, for ui.perfetto.dev), csv, speedscope, collapsed (stacks for flame graphs), torq-runtime "
         "(a runtime profile as Torq writes it), flamegraph (SVG to look at; HTML where -o ends in .html). "
         "Taken from the ending of -o FILE when it is not given."},
    {.name = "what",
     .type = OPTION_CHOICE,
     .argument = "ROWS",
     .offset = OPTION_FIELD(struct export_command_options, what),
     .choices = what_choices,
     .help = "csv: which rows; zones unless given. messages are signposts and frames, too."},
    {.name = "unit",
     .type = OPTION_CHOICE,
     .argument = "UNIT",
     .offset = OPTION_FIELD(struct export_command_options, unit),
     .choices = unit_choices,
     .help = "collapsed: weights in ns (the default) or in us, rounded down."},
    {.name = "flame-by",
     .type = OPTION_CHOICE,
     .argument = "WHAT",
     .offset = OPTION_FIELD(struct export_command_options, flame_by),
     .choices = export_flame_words,
     .help =
         "flamegraph and collapsed: what a frame is as wide as: wall (the default: time in zones), self (each zone's "
         "own time, "
         "with its callers below it), device (time of runs, below the code that launched them), count (zones)."},
    {0},
};

static const struct option_table export_table = {"Options", export_options_table};

static const struct command_exit exits[] = {
    {EXIT_OK, "the export is written (also when the trace reports losses)"},
    {EXIT_USAGE, "the trace cannot be read, the output cannot be written, or bad usage"},
    {0, NULL},
};

static const struct command_example examples[] = {
    {"opscope export t.opscope -o t.pftrace", "Open t.pftrace at ui.perfetto.dev."},
    {"opscope export t.opscope --format chrome --since 1s --until 2s -o part.json", "One second of it."},
    {"opscope export t.opscope -o t.svg", "A flame graph: open it in a browser, click to zoom."},
    {"opscope export t.opscope --flame-by device -o t.html", "Which code the time on the device comes from."},
    {"opscope export t.opscope --format csv --what counters | head", "Counter values, without a file."},
    {0},
};

const struct command command_export = {
    .name = "export",
    .group = COMMAND_GROUP_LOOK,
    .summary = "Write a trace for other tools: Chrome, Perfetto, CSV, speedscope, flame graphs",
    .usage = (const char *const[]){"[options] FILE", NULL},
    .description =
        "chrome and perfetto hold everything: zones with text, value and source location, messages, signposts and "
        "frames, counters, memory in use by pool, ops with tensors and attributes (in a row of their own below "
        "their thread), device tracks with zones and runs, and what the recording lost as events named \"lost N "
        "zones\". speedscope and collapsed hold zones.\n\nTimes in chrome, csv and speedscope count from the start "
        "of the trace; perfetto has the host's monotonic nanoseconds. Zones that had not ended last until their "
        "thread was last seen, and are marked open.\n\ncsv, --what zones: name, file, line, function, process, "
        "pid, thread, tid, start_ns, duration_ns, self_ns (without the zones inside), depth, text, value, open (1 "
        "for a zone that had not ended). Rows are not sorted by time. The other rows have their columns in the "
        "header.\n\ntorq-runtime: actionIndex, elapsed_time(us), timestamp(us), event, location: one row for each "
        "device run, or zone of a track without runs, that has a location of MLIR (loc(\"m.mlir\":3:10), or a line "
        "of a .mlir file); transfers are left out, commas in names become +. A trace without such locations is an "
        "error.\n\ncollapsed: one line for each stack, program (pid);thread;outer;inner and its self "
        "time.\n\nflamegraph: the zones of all threads, equal stacks together; programs and threads are frames "
        "where there are several. The file needs no other one. In a browser a click zooms (a second one, or "
        "Escape, back), / searches, arrow keys and Enter do the same without a mouse. Frames below a "
        "ten-thousandth are left out, and the picture says so.\n\nWith --since and --until, zones that reach out "
        "of the window are cut at its borders, as opscope zones counts them; ops and their runs on a device are "
        "whole, but for the time of runs in collapsed and flamegraph. Zones that --name leaves out are left out of "
        "stacks, too, and their time counts for the zone around them.\n\nWithout -o the export goes to "
        "standard output; when that is a terminal, to FILE with another ending (.json, .pftrace, .csv, "
        ".speedscope.json, .collapsed, .runtime.csv, .svg), and a line says where.",
    .options = {{&export_table, 0},
                {&filter_option_table, OPTION_FIELD(struct export_command_options, filter)},
                {&export_output_option_table, OPTION_FIELD(struct export_command_options, output)}},
    .arguments = view_arguments,
    .exits = exits,
    .examples = examples,
    .see_also = (const char *const[]){"info", "zones", "tree", NULL},
    .run = run,
};
