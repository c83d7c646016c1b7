/* SPDX-License-Identifier: Apache-2.0 */
/* opscope report: the performance report of a run's ops. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/command/command.h"
#include "analyze/machine_files.h"
#include "analyze/window.h"
#include "base/output_path.h"
#include "present/report/view.h"
#include "analyze/report/host.h"
#include "compat/tt_perf_report/compat.h"
#include "import/open.h"
#include "serve/snapshot.h"
#include "trace/reader.h"

static int check_options(const struct command *command, const struct report_options *options)
{
    enum ttpr_version version;
    if (options->compat && !ttpr_version_of(options->compat, &version))
        return command_usage_error(
            command, "--compat %s: 1.2.4 and 1.4.1 are the versions that can be reproduced", options->compat);
    if (options->no_source && !options->html)
        return command_usage_error(command, "--no-source goes with --html");
    if (options->source_folders.count && !options->html)
        return command_usage_error(command, "--source goes with --html");
    if (options->compat && (options->html || options->output.json))
        return command_usage_error(command, "--compat writes text and CSV: no --html, no --json");
    if (options->compat && options->group_by > PERF_BY_CATEGORY)
        return command_usage_error(command, "--compat groups by op, memory or category");
    if (options->output.json && options->output.csv)
        return command_usage_error(command, "--csv and --json exclude each other");
    return COMMAND_CONTINUE;
}

static struct perf_options perf_options_of(const struct report_options *options,
                                           const struct machine_set *machines)
{
    const char *machine = options->machine;
    if (options->machine && machine_file_is_path(options->machine) && machines->count)
        machine = machines->machines[machines->newest].name;
    return (struct perf_options){
        .start_signpost = options->start_signpost ? options->start_signpost : options->signpost,
        .end_signpost = options->end_signpost,
        .ignore_signposts = options->ignore_signposts,
        .print_signposts = options->print_signposts,
        .id_range = options->id_range,
        .machine = machine,
        .machines = machines,
        .is_in_file_order = options->tracing_mode,
        .no_host_ops = options->no_host_ops,
        .no_merge_devices = options->no_merge_devices,
        .ids_are_lines = options->ids == 1,
        .group_by = (enum perf_group_by)options->group_by,
        .active_experts = options->active_experts,
        .target_percent = options->target,
        .min_percent = options->min_percentage,
    };
}

/* What the report has to say beside the table: for people, on stderr. */
static void print_notes(const struct perf_notes *notes)
{
    struct bytes text = {0};
    perf_notes_append(notes, "opscope report", &text);
    if (!text.failed && text.length)
        fwrite(text.data, 1, text.length, stderr);
    bytes_free(&text);
}

/* Several files are the hosts of one run: each counts its devices from 0, and has as many as the others. */
static int load_files(struct perf *perf, const struct report_options *options, struct trace **trace,
                      uint32_t *of_each, struct error *err)
{
    struct ops_loading loading = {0};
    uint32_t devices = 0;
    const char *first = NULL;
    for (size_t i = 0; i < options->path_count; i++) {
        const char *path = options->paths[i];
        trace_close(*trace);
        loading.first_device = (uint32_t)i * devices;
        int status = ops_load(perf->ops, path, &loading, err);
        *trace = loading.trace;
        if (loading.trace)
            trace_forget_descriptions(loading.trace);
        if (!status)
            status = perf_add_path(perf, path, err);
        if (status)
            return status;
        perf->options.has_host_start |= loading.has_host_start;
        if (first && loading.devices && loading.devices != devices)
            return error_set(err, EINVAL,
                             "%s has %u devices (largest DEVICE ID %u), but %s has %u: files of one run must "
                             "have the same",
                             path, loading.devices, loading.devices - 1, first, devices);
        if (!devices && loading.devices) {
            devices = loading.devices;
            first = path;
        }
    }
    *of_each = devices;
    return 0;
}

/* --- the page --- */

#define STANDARD_INPUT "/dev/stdin"

/* What is read twice has to stay: for the table, and for the page. */
static int keep_input(struct error *err)
{
    char buffer[65536];
    ssize_t length = 0;
    int kept = memfd_create("standard input", MFD_CLOEXEC);
    if (kept < 0)
        return error_set_errno(err, errno, "standard input");
    while ((length = read(STDIN_FILENO, buffer, sizeof buffer)) != 0) {
        if (length < 0 && errno == EINTR)
            continue;
        for (ssize_t done = 0, put; length > 0 && done < length; done += put) {
            put = write(kept, buffer + done, (size_t)(length - done));
            if (put < 0)
                length = put = -1;
        }
        if (length < 0)
            break;
    }
    int status =
        length == 0 && dup2(kept, STDIN_FILENO) >= 0 ? 0 : error_set_errno(err, errno, "standard input");
    close(kept);
    return status;
}

/* With a page, "-" becomes a name that can be opened again. */
static int keep_inputs(const struct report_options *options, char **paths, struct error *err)
{
    bool is_kept = false;
    int status = options->html ? snapshot_check(err) : 0;
    for (size_t i = 0; i < options->path_count && options->html && !status; i++) {
        if (strcmp(paths[i], "-") != 0)
            continue;
        status = is_kept ? 0 : keep_input(err);
        is_kept = true;
        paths[i] = (char *)(uintptr_t)STANDARD_INPUT;
    }
    return status;
}

struct hosts {
    const struct report_options *options;
    uint32_t devices; /* of each */
};

static int fill_hosts(const void *context, const char *file, struct error *err)
{
    const struct hosts *hosts = context;
    return import_hosts_to_trace(hosts->options->paths, hosts->options->path_count, hosts->devices, file,
                                 err);
}

/* The file itself, or a trace of all of them. */
static int open_trace(struct serve_trace *st, const struct report_options *options, uint32_t devices,
                      struct error *err)
{
    const char *path = options->paths[0], *slash = strrchr(path, '/');
    const char *own = slash && slash[1] ? slash + 1 : path;
    char name[300];
    struct trace *trace;
    bool is_input = strcmp(path, STANDARD_INPUT) == 0;
    if (options->path_count == 1 && !is_input)
        return serve_trace_open(st, path, err);
    snprintf(name, sizeof name, "%.200s", is_input ? "standard input" : own);
    if (options->path_count > 1)
        snprintf(name, sizeof name, "%.200s and %zu more", is_input ? "standard input" : own,
                 options->path_count - 1);
    int status = load_filled_trace(&trace, path, fill_hosts, &(struct hosts){options, devices}, err);
    return status ? status : serve_trace_take(st, trace, name, err);
}

static int write_page(const struct report_options *options, const struct perf_options *wanted,
                      uint32_t devices, struct error *err)
{
    struct serve_trace st;
    int status = output_path_check(options->html, options->paths, options->path_count, NULL, err);
    if (!status)
        status = open_trace(&st, options, devices, err);
    if (status)
        return status;
    st.machine = options->machine;
    st.report = wanted;
    st.has_no_source = options->no_source;
    st.source_folders = &options->source_folders;
    status = snapshot_write(&st, "overview", options->html, err);
    serve_trace_close(&st);
    return status;
}

/* When no option says which ops: those of the steps after the warm-up, as in opscope summary. */
static int find_steps(struct perf_options *wanted, const struct report_options *options, struct trace *trace,
                      struct bytes *text, struct error *err)
{
    struct window_steps steps;
    bool is_asked = wanted->start_signpost || wanted->end_signpost || wanted->id_range;
    if (!trace || options->path_count != 1 || is_asked || options->ignore_signposts ||
        options->include_warm_up)
        return 0;
    struct trace_filter everything = {0};
    int status = trace_filter_resolve(&everything, trace, &(struct trace_filter_options){0}, err);
    if (!status)
        status = window_find_steps(&steps, trace, &everything, true, err);
    trace_filter_free(&everything);
    if (status || !steps.is_window) {
        window_steps_free(&steps);
        return status;
    }
    bytes_append_format(text, "%s %" PRIu64 " to %" PRIu64, steps.name, steps.first, steps.last);
    wanted->steps = (struct perf_steps){bytes_text(text), steps.from_ns, steps.to_ns};
    window_steps_free(&steps);
    return text->failed ? error_no_memory(err, "the names of frames") : 0;
}

static int show_report(const struct report_options *options, const struct machine_set *machines,
                       struct error *err)
{
    struct perf_options wanted = perf_options_of(options, machines);
    struct trace *trace = NULL;
    struct ops ops;
    struct perf perf;
    struct bytes steps = {0};
    uint32_t devices = 0;
    ops_init(&ops);
    perf_begin(&perf, &wanted, &ops);
    int status = load_files(&perf, options, &trace, &devices, err);
    if (!status)
        status = find_steps(&wanted, options, trace, &steps, err);
    perf.options.steps = wanted.steps;
    if (!status)
        status = perf_finish(&perf, err);
    if (!status && trace && options->path_count == 1)
        status = perf_find_host_zones(&perf, trace, err);
    print_notes(&perf.notes);
    if (!status && options->html)
        status = write_page(options, &wanted, devices, err);
    if (!status)
        status = report_show(&perf, options, err);
    if (!status && perf.count == 0 && perf.row_count &&
        !options->output.json) /* no rows: a note has said it */
        command_say("opscope report: no ops are left to show");
    perf_free(&perf);
    ops_free(&ops);
    trace_close(trace);
    bytes_free(&steps);
    return status;
}

/* The other tool's report, which knows nothing of this one's. */
static int show_compat(const struct report_options *options, struct error *err)
{
    struct perf_notes notes = {0};
    struct ttpr_request request = {
        .active_experts = options->active_experts,
        .paths = options->paths,
        .path_count = options->path_count,
        .start_signpost = options->start_signpost ? options->start_signpost : options->signpost,
        .end_signpost = options->end_signpost,
        .ignore_signposts = options->ignore_signposts,
        .print_signposts = options->print_signposts,
        .id_range = options->id_range,
        .arch = options->machine,
        .tracing_mode = options->tracing_mode,
        .no_host_ops = options->no_host_ops,
        .no_merge_devices = options->no_merge_devices,
        .group_by = options->group_by,
        .output = options->output.output,
        .summary_file = options->summary_file ? options->summary_file : options->stacked_csv,
        .colour = options->output.color,
        .is_csv = options->output.csv,
        .has_groups = !options->no_summary && !options->no_stacked_report,
        .has_advice = !options->no_advice,
        .has_raw_op_codes = options->raw_op_codes,
        .has_classic_colours = options->classic_colors,
        .min_percent = options->min_percentage,
    };
    int status =
        ttpr_version_of(options->compat, &request.version) ? 0 : -EINVAL; /* check_options has looked */
    if (!status)
        status = ttpr_report(&request, &notes, err);
    print_notes(&notes);
    perf_notes_free(&notes);
    return status;
}

/* Options of the other tool that change nothing here. */
static void say_ignored(const struct report_options *options)
{
    bool has_stack = options->no_stack_by_in0, has_codes = options->raw_op_codes;
    if (!options->compat && (has_stack || has_codes))
        command_say("opscope report: ignored: %s%s%s", has_stack ? "--no-stack-by-in0" : "",
                    has_stack && has_codes ? ", " : "", has_codes ? "--raw-op-codes" : "");
}

static int run(const struct command *command, int argc, char **argv)
{
    struct report_options options = {.group_by = PERF_BY_MEMORY, .min_percentage = 0.5};
    struct command_line line;
    struct machine_set machines = {0};
    struct error err = {0};
    int status = command_parse(command, argc, argv, &options, &line);
    if (options.no_color)
        options.output.color = OUTPUT_COLOR_NEVER;
    if (status == COMMAND_CONTINUE)
        status = check_options(command, &options);
    if (status != COMMAND_CONTINUE)
        return status;
    say_ignored(&options);
    options.paths = (const char *const *)line.values;
    options.path_count = (size_t)line.count;
    if (!options.machine)
        options.machine = options.arch;
    if (options.compat)
        return show_compat(&options, &err) ? (command_fail(command, &err), EXIT_NEGATIVE) : EXIT_OK;
    status = keep_inputs(&options, line.values, &err);
    if (!status)
        status = machine_files_read(&machines, options.machine, &err);
    if (!status)
        status = show_report(&options, &machines, &err);
    machine_set_free(&machines);
    return status ? command_fail(command, &err) : EXIT_OK;
}

/* --- the command --- */

#define FIELD(field) OPTION_FIELD(struct report_options, field)

static const char *const group_choices[] = {"op",       "memory", "category", "signpost",
                                            "location", "layer",  NULL};
static const char *const id_choices[] = {"table", "line", NULL};

static const struct command_option window_options[] = {
    OPTION_START_SIGNPOST(FIELD(start_signpost)),
    OPTION_END_SIGNPOST(FIELD(end_signpost)),
    {.name = "signpost",
     .type = OPTION_TEXT,
     .argument = "NAME",
     .offset = FIELD(signpost),
     .help = "The older name of --start-signpost."},
    {.name = "ignore-signposts",
     .type = OPTION_FLAG,
     .offset = FIELD(ignore_signposts),
     .help = "Take all ops. Without a signpost option the report is of what follows the last signpost, or of "
             "the last part between two that has 5 % of the device time."},
    {.name = "include-warm-up",
     .type = OPTION_FLAG,
     .offset = FIELD(include_warm_up),
     .help =
         "Take all ops. Unless an option says which ops to take, where the run has no signposts and frames mark its "
         "steps (so does a PyTorch optimizer), first steps that are slower than the others and what comes "
         "before the first one are left out."},
    {.name = "print-signposts",
     .type = OPTION_FLAG,
     .offset = FIELD(print_signposts),
     .help = "Keep the signposts that lie between the ops in the table."},
    {.name = "id-range",
     .type = OPTION_TEXT,
     .argument = "A-B",
     .offset = FIELD(id_range),
     .help = "Only ops whose ID is from A to B; A- and -B leave one end open."},
    {.name = "ids",
     .type = OPTION_CHOICE,
     .argument = "WHICH",
     .offset = FIELD(ids),
     .choices = id_choices,
     .help = "What an ID is: the op's place in the table, from 1, or its line in the file."},
    {.name = "no-host-ops",
     .type = OPTION_FLAG,
     .offset = FIELD(no_host_ops),
     .help = "Leave out ops that ran on the host."},
    {.name = "no-merge-devices",
     .type = OPTION_FLAG,
     .offset = FIELD(no_merge_devices),
     .help = "One row for each device, not one for all."},
    {.name = "tracing-mode",
     .type = OPTION_FLAG,
     .offset = FIELD(tracing_mode),
     .help = "Keep the order of the file: replayed ops have no host start of their own."},
    {0},
};

static const struct command_option model_options[] = {
    {.name = "machine",
     .type = OPTION_TEXT,
     .argument = "NAME|FILE",
     .offset = FIELD(machine),
     .is_file = true,
     .help = "Measure against this machine (opscope machine list) or the one that FILE describes."},
    {.name = "arch",
     .type = OPTION_TEXT,
     .argument = "NAME",
     .offset = FIELD(arch),
     .help = "The same; the option's older name."},
    {.name = "active-experts",
     .type = OPTION_NUMBER,
     .argument = "K",
     .offset = FIELD(active_experts),
     .min = 1,
     .max = 1000000,
     .help = "Experts that a sparse matmul really computes for each token, where the op does not record it."},
    {.name = "target",
     .type = OPTION_PERCENT,
     .argument = "PERCENT",
     .offset = FIELD(target),
     .help =
         "What an op should reach of its roofline: gains are computed up to there (65, or the machine's)."},
    {.name = "compat",
     .type = OPTION_TEXT,
     .argument = "VERSION",
     .offset = FIELD(compat),
     .help = "Give the numbers, table and CSV of that version of tt-perf-report exactly: 1.2.4 or 1.4.1."},
    {0},
};

static const struct command_option show_options[] = {
    {.name = "group-by",
     .type = OPTION_CHOICE,
     .argument = "KEY",
     .offset = FIELD(group_by),
     .choices = group_choices,
     .help =
         "What the grouped report sums over; memory is the op with where its first input lies, layer the module "
         "path: the column MODULE PATH, or the attribute module of a recorded op."},
    OPTION_TOP(FIELD(top), "Only the N ops that take most time, and N lines of groups and advice."),
    {.name = "min-percentage",
     .type = OPTION_PERCENT,
     .argument = "P",
     .offset = FIELD(min_percentage),
     .help = "Ops below this share of the time are folded into one line (0.5); 0 shows all."},
    {.name = "no-advice", .type = OPTION_FLAG, .offset = FIELD(no_advice), .help = "No advice."},
    {.name = "no-summary", .type = OPTION_FLAG, .offset = FIELD(no_summary), .help = "No grouped report."},
    {.name = "no-stacked-report",
     .type = OPTION_FLAG,
     .offset = FIELD(no_stacked_report),
     .is_hidden = true,
     .help = "The older name of --no-summary."},
    {.name = "no-stack-by-in0",
     .type = OPTION_FLAG,
     .offset = FIELD(no_stack_by_in0),
     .is_hidden = true,
     .help = "Accepted and ignored, as in tt-perf-report; --group-by op does what it did."},
    {.name = "raw-op-codes",
     .type = OPTION_FLAG,
     .offset = FIELD(raw_op_codes),
     .help = "With --compat: add a column with the op codes as recorded to the CSV, which ours always has."},
    {.name = "no-color",
     .type = OPTION_FLAG,
     .offset = FIELD(no_color),
     .is_hidden = true,
     .help = "The same as --color=never."},
    {0},
};

static const char *const group_endings[] = {".csv", ".svg", NULL};

static const struct command_option file_options[] = {
    OPTION_FILE(
        "html", FIELD(html),
        "Also write the page of opscope view with these ops: one file that needs no server. It has all of them, "
        "and advice, whatever --top and --no-advice say; of a trace also source lines around the places in its "
        "tables."),
    OPTION_NO_SOURCE(FIELD(no_source)),
    OPTION_SOURCE_FOLDER("source", FIELD(source_folders)),
    {.name = "summary-file",
     .type = OPTION_TEXT,
     .argument = "BASE",
     .offset = FIELD(summary_file),
     .is_file = true,
     .is_output = true,
     .endings = group_endings,
     .help = "Write the grouped report to BASE.csv and BASE.svg."},
    {.name = "stacked-csv",
     .type = OPTION_TEXT,
     .argument = "BASE",
     .offset = FIELD(stacked_csv),
     .is_hidden = true,
     .is_file = true,
     .is_output = true,
     .endings = group_endings,
     .help = "The older name of --summary-file."},
    {.name = "classic-colors",
     .type = OPTION_FLAG,
     .offset = FIELD(classic_colors),
     .help = "Colour the groups of the drawing one by one, not by category."},
    {0},
};

static const struct option_table window_table = {"Which ops", window_options};
static const struct option_table model_table = {"Measured against", model_options};
static const struct option_table show_table = {"What is shown", show_options};
static const struct option_table file_table = {"Files", file_options};

static const struct command_argument arguments[] = {
    {.name = "FILE",
     .kind = ARGUMENT_TRACE,
     .is_repeated = true,
     .help =
         "An ops CSV, the op table that opscope run writes, a folder of device logs, or a trace; several are the "
         "hosts of one run."},
    {0},
};

static const struct command_example examples[] = {
    {"opscope report ops_perf_results.csv", "Table, groups and ranked advice."},
    {"opscope report run/ --html report.html --top 20", "A log folder, as a page and the 20 longest ops."},
    {"opscope report a.csv b.csv --group-by category", "Two hosts of one run, grouped by category."},
    {"opscope report ops.csv --compat 1.2.4 --csv=table.csv", "The very numbers of tt-perf-report 1.2.4."},
    {0},
};

static const struct command_exit exits[] = {
    {EXIT_OK, "The report was made, also when no op was left to show."},
    {EXIT_NEGATIVE, "With --compat: it could not be made."},
    {EXIT_USAGE, "Bad input or usage."},
    {0},
};

/* By its content, whatever it is called. */
static bool is_surely_source(const char *path)
{
    enum import_kind kind = import_guess(path);
    return kind == IMPORT_LOGS || kind == IMPORT_OPS_CSV;
}

const struct command command_report = {
    .name = "report",
    .group = COMMAND_GROUP_LOOK,
    .summary = "Judge every op against what the machine can do, with ranked advice",
    .usage = (const char *const[]){"[options] FILE...", NULL},
    .description =
        "One row for each op: its share of the time, what bounds it, its time on the device, the gap before it, and "
        "how much of the DRAM bandwidth, arithmetic peak and link bandwidth it reached. Then the time by group, and "
        "advice ranked by the time it would save.\n"
        "\n"
        "Bound is DRAM, FLOP or LINK where an op reaches the target of that roofline, BOTH for DRAM and FLOP, SLOW "
        "where it reaches none, HOST for ops that ran on the host, GAP where the device waited longer before the op "
        "than it worked on it. Figures with ~ are bounds, not counts: docs/roofline.md has the formula of each "
        "kind of op.\n"
        "\n"
        "What an op is measured against is the machine file that names the architecture which the device says it has, "
        "or the one given with --machine. Where neither is known there are no rooflines: nothing is assumed. Where "
        "gaps are nearly all of the time (compilation, a first iteration), shares are of the device time.\n"
        "\n"
        "On a narrow terminal columns are left out in this order: call, model, ideal time, overlap, sub-device, link, "
        "TFLOPs, GB/s, device, math, available cores, cores, FLOPs, DRAM; --wide shows all.\n"
        "\n"
        "--csv writes the op table, with what the advice says of each op; with --csv=FILE the groups go to "
        "FILE_stacked.csv and FILE_stacked.svg beside it. `--csv FILE` is understood, too, where FILE cannot be one "
        "to read.\n"
        "\n"
        "Cells that hold no usable number count as missing; each kind of damage is reported once on standard error, "
        "with file, line and column of the first.",
    .options = {{&window_table, 0},
                {&model_table, 0},
                {&show_table, 0},
                {&file_table, 0},
                {&output_option_table, FIELD(output)}},
    .takes_csv_word = true,
    .is_source = is_surely_source,
    .arguments = arguments,
    .exits = exits,
    .examples = examples,
    .see_also = (const char *const[]){"ops", "machine", NULL},
    .run = run,
};
