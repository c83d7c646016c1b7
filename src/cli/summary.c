/* SPDX-License-Identifier: Apache-2.0 */
/* opscope summary: where the time of a trace went, on one screen. */
#include "cli/view.h"
#include "load/overview.h"
#include "present/overview/overview.h"

struct summary_options {
    struct trace_filter_options filter;
    struct output_options output;
    bool include_warm_up;
    const char *machine;
    uint64_t top;
};

static int show(struct view *view, const struct summary_options *options, struct error *err)
{
    struct loaded_overview loaded;
    const struct overview_options wanted = {
        .filter = &view->filter, .include_warm_up = options->include_warm_up, .machine = options->machine};
    int status = load_overview(&loaded, view->trace, view->path, &wanted, err);
    if (!status && view->output.format == OUTPUT_JSON)
        overview_write_json(&loaded.overview, &view->report.json);
    else if (!status && view->output.format == OUTPUT_CSV)
        overview_add_parts(&loaded.overview, &view->report);
    else if (!status)
        overview_show(&loaded.overview, &view->report,
                      &(struct overview_look){.lines = OVERVIEW_LINES, .rows = (size_t)options->top});
    loaded_overview_free(&loaded);
    return status;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct summary_options options = {0};
    struct command_line line;
    struct view view;
    struct error err = {0};
    int status = command_parse(command, argc, argv, &options, &line);
    if (status == COMMAND_CONTINUE)
        status = view_open(&view, command, line.values[0], &options.filter, &options.output, "summary");
    if (status != COMMAND_CONTINUE)
        return status;
    return show(&view, &options, &err) == 0 ? view_close(&view, EXIT_OK) : view_fail(&view, &err);
}

#define FIELD(field) OPTION_FIELD(struct summary_options, field)

static const struct command_option summary_options[] = {
    {.name = "include-warm-up",
     .type = OPTION_FLAG,
     .offset = FIELD(include_warm_up),
     .help =
         "Take the whole trace: first iterations that are slower than the others, what comes before the first "
         "one and all but one part between signposts are left out otherwise."},
    OPTION_START_SIGNPOST(FIELD(filter.start_signpost)),
    OPTION_END_SIGNPOST(FIELD(filter.end_signpost)),
    {.name = "machine",
     .type = OPTION_TEXT,
     .argument = "NAME|FILE",
     .offset = FIELD(machine),
     .is_file = true,
     .help = "Measure ops against this machine (opscope machine list) or the one that FILE describes."},
    OPTION_TOP(FIELD(top), "Rows of each table. The default is as many as fit 24 lines."),
    {0},
};

static const struct option_table summary_table = {"Options", summary_options};

static const struct command_example examples[] = {
    {"opscope t.opscope", "The same as opscope summary t.opscope."},
    {"opscope summary ops_perf_results.csv", "A table of ops that another tool wrote."},
    {"opscope summary t.opscope --since 1s --until 2s", "The second second."},
    {"opscope summary t.opscope --json", "The same figures for a script."},
    {0},
};

const struct command command_summary = {
    .name = "summary",
    .group = COMMAND_GROUP_LOOK,
    .summary = "Show on one screen where the time went and what to look at next",
    .usage = (const char *const[]){"[options] FILE", NULL},
    .description =
        "A sentence, and a bar that adds up to 100 %: how long the device was busy, how long it stood still while the "
        "host worked or waited, and how long nothing was recorded. Without device runs it is the main thread's time: "
        "working, waiting, imports (of Python, where they are more than a fifth) and nothing recorded. Of a table of "
        "ops without host zones it is the ops' device time and the gaps between them, as in opscope report. Then "
        "the ops by their device time, the functions by their own time, gaps and the host code that filled them, "
        "advice ranked by what it would save, what was lost, and what to look at next. opscope FILE alone does the "
        "same, and opscope run ends with it on a terminal.\n"
        "\n"
        "Alone is the time in which no other run was on the device: an op whose time is hidden behind others has "
        "little of it. Waiting is the own time of zones that block (locks, queues, select, sleep, join and the like, "
        "known by their names). Of several threads that launch ops, the one that worked most of a gap stands for the "
        "host.\n"
        "\n"
        "Warm-up is left out, and a line says so: iterations (frames) at the start that take more than 1.5 times the "
        "median, and, where signposts are among the ops, all but the last part "
        "between them that has 5 % of the device time. "
        "--include-warm-up, or a window with --since and --until, takes it in. --name restricts the functions "
        "alone.\n"
        "\n"
        "--csv writes the parts of the bar.",
    .options = {{&summary_table, 0},
                {&filter_option_table, FIELD(filter)},
                {&output_option_table, FIELD(output)}},
    .arguments = view_arguments,
    .exits = view_exits,
    .examples = examples,
    .see_also = (const char *const[]){"report", "zones", "tree", "info", NULL},
    .run = run,
};
