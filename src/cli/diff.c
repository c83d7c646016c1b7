/* SPDX-License-Identifier: Apache-2.0 */
/* opscope diff: what changed between two runs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/command.h"
#include "serve/diff_page.h"
#include "load/compare.h"
#include "load/diff.h"
#include "load/side.h"
#include "present/diff/view.h"
#include "present/estimate/compare_view.h"
#include "serve/snapshot.h"

static int compare(struct diff *diff, const struct command_line *line, size_t a_count,
                   struct diff_sources *sources, struct error *err)
{
    int status = diff_find_common_steps(diff, line->values[0], line->values[a_count], err);
    if (!status)
        status = diff_load_side(diff, DIFF_A, line->values, a_count, sources, err);
    if (!status)
        status =
            diff_load_side(diff, DIFF_B, line->values + a_count, (size_t)line->count - a_count, sources, err);
    if (!status)
        status = diff_check_kinds(diff, err);
    return status ? status : diff_finish(diff, err);
}

/* --- an estimate and a run --- */

enum pair_kind { PAIR_RUNS, PAIR_ESTIMATE, PAIR_REFUSED };

/* Files that hold an estimate or a run of a compiled model and nothing else. */
static bool is_for_estimates(struct side_kind kind)
{
    return (kind.is_estimate || kind.is_run) && kind.file != IMPORT_TRACE;
}

static void say_damage(const char *path, struct error *err)
{
    struct trace *trace;
    if (trace_open(&trace, path, 0, err) == 0)
        trace_close(trace);
}

/* Is it an estimate against a run? Files that cannot be compared as they are get a sentence that says what they are. */
static enum pair_kind look_at_pair(const char *a, const char *b, struct error *err)
{
    struct side_kind first = side_kind_of(a), second = side_kind_of(b);
    if (access(a, R_OK) != 0 || access(b, R_OK) != 0) {
        error_set_errno(err, errno, "cannot open %s", access(a, R_OK) != 0 ? a : b);
        return is_for_estimates(first) || is_for_estimates(second) ? PAIR_REFUSED : PAIR_RUNS;
    }
    if (first.is_estimate && second.is_run)
        return PAIR_ESTIMATE;
    if (!is_for_estimates(first) && !is_for_estimates(second) && !(first.is_run && second.is_estimate))
        return PAIR_RUNS;
    if (first.is_damaged || second.is_damaged) {
        say_damage(first.is_damaged ? a : b, err);
        return PAIR_REFUSED;
    }
    if (first.is_run && second.is_estimate)
        error_set(err, EINVAL, "%s is %s, %s %s: the estimate comes first (opscope diff %s %s compares them)",
                  a, side_kind_text(first), b, side_kind_text(second), b, a);
    else if (first.is_estimate && second.is_estimate)
        error_set(
            err, EINVAL,
            "%s is %s, %s %s: both are estimates. A run comes second; to compare two estimates, make a "
            "trace of each (opscope estimate MODEL -o FILE, or opscope import timeline) and compare those",
            a, side_kind_text(first), b, side_kind_text(second));
    else if (first.is_run && second.is_run)
        error_set(
            err, EINVAL,
            "%s is %s, %s %s: both are runs. An estimate or a model comes first; to compare two runs, make a "
            "trace of each (opscope import) and compare those",
            a, side_kind_text(first), b, side_kind_text(second));
    else
        error_set(err, EINVAL, "%s is %s, %s %s: opscope diff takes an estimate, or a model, and a run of it",
                  a, side_kind_text(first), b, side_kind_text(second));
    return PAIR_REFUSED;
}

struct estimate_diff {
    struct estimate estimate;
    struct measured measured; /* of a schedule and its profile; otherwise its timeline alone */
    struct compare pairs;
};

static int load_pair(struct estimate_diff *diff, const struct diff_command_options *options,
                     const char *model, const char *run, struct error *err)
{
    struct estimate *estimate = &diff->estimate;
    bool is_torq = import_guess(run) == IMPORT_TORQ_RUN;
    int status = load_estimate_side(estimate,
                                    &(struct estimate_request){.path = model,
                                                               .target = options->target,
                                                               .options = &options->target_options,
                                                               .dims = &options->dims,
                                                               .default_location = options->location},
                                    err);
    if (status)
        return status;
    if (is_torq && estimate->mlir && !estimate->timeline.is_analytic) { /* the IR says what each program is */
        struct measured_request request = {.profile = run, .default_location = options->location};
        status = measured_join(&diff->measured, estimate, &request, err);
        return status ? status : compare_measured(&diff->pairs, estimate, &diff->measured, err);
    }
    status = load_run_side(&diff->measured.timeline, run, options->phase, err);
    return status ? status
                  : compare_timelines(&diff->pairs, estimate, &diff->measured.timeline, model, run, err);
}

static int compare_estimate(const struct command *command, const struct diff_command_options *options,
                            const struct command_line *line)
{
    struct estimate_diff diff = {0};
    struct error err = {0};
    const char *model = line->values[0], *run = line->values[1];
    int status = load_pair(&diff, options, model, run, &err);
    if (!status && options->html)
        status = diff_page_of_estimate(&(struct diff_page){model, run, options->html}, &diff.estimate,
                                       &diff.measured.timeline, &diff.pairs, &err);
    if (!status)
        status = compare_show(
            &(struct compare_view){.compare = &diff.pairs,
                                   .estimate = &diff.estimate.timeline,
                                   .measured = &diff.measured.timeline,
                                   .model = model,
                                   .profile = run,
                                   .target = diff.estimate.machine ? diff.estimate.machine->name : NULL,
                                   .output = options->output,
                                   .top = options->top},
            &err);
    compare_free(&diff.pairs);
    measured_free(&diff.measured);
    estimate_free(&diff.estimate);
    return status ? command_fail(command, &err) : EXIT_OK;
}

/* How many of the arguments stand in front of --against: the parser puts options and arguments apart. */
static size_t count_before(int argc, const char *const *order, const struct command_line *line)
{
    size_t before = 0;
    int at = 1;
    while (at < argc && strcmp(order[at], "--against") != 0)
        at++;
    for (int i = 0; i < line->count; i++) {
        for (int k = 1; k < at; k++)
            before += order[k] == line->values[i];
    }
    return before;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct diff_command_options options = {.threshold = 2, .significance = 1};
    struct command_line line;
    struct diff_sources sources;
    struct diff diff;
    struct error err = {0};
    const char **order = malloc((size_t)argc * sizeof(char *));
    if (!order)
        return command_usage_error(command, "no memory for %d arguments", argc);
    memcpy(order, argv, (size_t)argc * sizeof(char *));
    int status = command_parse(command, argc, argv, &options, &line);
    size_t a_count = status == COMMAND_CONTINUE && options.against ? count_before(argc, order, &line) : 1;
    free(order);
    if (status != COMMAND_CONTINUE)
        return status;
    if (!options.against && line.count > 2)
        return command_usage_error(command, "more than two runs given: --against stands before those of B");
    if (a_count == 0 || a_count >= (size_t)line.count)
        return command_usage_error(command, options.against
                                                ? "--against stands between the runs of A and those of B"
                                                : "no run to compare with given: A B");
    if (options.output.json && options.output.csv)
        return command_usage_error(command, "--json and --csv exclude each other");
    if (options.html && snapshot_check(&err) != 0)
        return command_fail(command, &err);
    enum pair_kind kind = line.count == 2 ? look_at_pair(line.values[0], line.values[1], &err) : PAIR_RUNS;
    if (kind == PAIR_REFUSED)
        return command_fail(command, &err);
    if (kind == PAIR_ESTIMATE)
        return compare_estimate(command, &options, &line);
    if (!(options.significance > 0))
        return command_usage_error(command, "--significance must be above 0");
    diff_begin(&diff, &(struct diff_options){.threshold_percent = options.threshold,
                                             .alpha_percent = options.significance,
                                             .group_by = (enum diff_group_by)options.group_by,
                                             .ignore_location = options.ignore_location,
                                             .ignore_shape = options.ignore_shape,
                                             .include_warm_up = options.include_warm_up,
                                             .start_signpost = options.start_signpost,
                                             .end_signpost = options.end_signpost});
    status = diff_sources_begin(&sources, &err);
    sources.salvage = options.salvage;
    if (!status)
        status = compare(&diff, &line, a_count, &sources, &err);
    const char *notes = bytes_text(&sources.notes);
    command_say_lines(command, notes);
    if (!status && options.html)
        status = diff_page_of_runs(&(struct diff_page){line.values[0], line.values[a_count], options.html},
                                   &diff, options.only, notes, &err);
    if (!status)
        status = diff_show(&diff, &options, notes, &err);
    diff_free(&diff);
    diff_sources_free(&sources);
    return status ? command_fail(command, &err) : EXIT_OK;
}

/* --- the command --- */

#define FIELD(field) OPTION_FIELD(struct diff_command_options, field)

static const char *const group_choices[] = {"op", "category", "location", "layer", NULL};
static const char *const only_choices[] = {"all", "ops", "zones", NULL};

static const struct command_option match_options[] = {
    {.name = "against",
     .type = OPTION_FLAG,
     .offset = FIELD(against),
     .help = "Between several runs of A and several of B: changes are tested from run to run."},
    OPTION_IGNORE_LOCATION(FIELD(ignore_location)),
    OPTION_IGNORE_SHAPE(FIELD(ignore_shape)),
    OPTION_INCLUDE_WARM_UP(FIELD(include_warm_up)),
    OPTION_START_SIGNPOST(FIELD(start_signpost)),
    OPTION_END_SIGNPOST(FIELD(end_signpost)),
    {.name = "threshold",
     .type = OPTION_PERCENT,
     .argument = "PERCENT",
     .offset = FIELD(threshold),
     .help = "A change of less than this counts as none (2)."},
    {.name = "significance",
     .type = OPTION_PERCENT,
     .argument = "PERCENT",
     .offset = FIELD(significance),
     .help = "How likely noise alone may make such a change for it to count (1)."},
    OPTION_SALVAGE(FIELD(salvage)),
    {0},
};

static const struct command_option show_options[] = {
    {.name = "only",
     .type = OPTION_CHOICE,
     .argument = "WHAT",
     .offset = FIELD(only),
     .choices = only_choices,
     .help = "Show ops alone or zones alone."},
    {.name = "group-by",
     .type = OPTION_CHOICE,
     .argument = "KEY",
     .offset = FIELD(group_by),
     .choices = group_choices,
     .help = "What the grouped table and the bars of the page sum over."},
    OPTION_TOP(FIELD(top), "Only the N rows that changed most (20 on a terminal, all elsewhere)."),
    {.name = "all",
     .letter = 'a',
     .type = OPTION_FLAG,
     .offset = FIELD(all),
     .help = "Show also what did not change, or only within the noise."},
    OPTION_FILE(
        "html", FIELD(html),
        "Also write the page of opscope view with both, opened at Compare: one file that needs no server."),
    OPTION_FILE("pairs", FIELD(pairs),
                "Also write every op of both runs in order as CSV, those that were matched in one line."),
    {0},
};

static const struct command_option estimate_options[] = {
    {.name = "target",
     .type = OPTION_TEXT,
     .argument = "NAME|FILE",
     .offset = FIELD(target),
     .help =
         "The machine that the estimate is for; unless given sl2610 for a schedule or a timeline in cycles, else cpu."},
    OPTION_TARGET_OPTION(FIELD(target_options)),
    {.name = "phase",
     .type = OPTION_TEXT,
     .argument = "FILE",
     .offset = FIELD(phase),
     .help =
         "The flow or stream phase of what ran, where A is the model's source: it says which ops a dispatch of a "
         "device profile is made of."},
    OPTION_DIM(FIELD(dims)),
    {.name = "default-location",
     .type = OPTION_TEXT,
     .argument = "TEXT",
     .offset = FIELD(location),
     .help = "What programs without a location get, as loc(\"add.mlir\":3:10)."},
    {0},
};

static const struct option_table estimate_table = {"Estimates", estimate_options};
static const struct option_table match_table = {"What is compared", match_options};
static const struct option_table show_table = {"What is shown", show_options};

static const struct command_argument arguments[] = {
    {.name = "A",
     .kind = ARGUMENT_TRACE,
     .help =
         "The run before: a trace, an ops CSV, a log folder or an overhead CSV; or an estimate: a model (MLIR), the "
         "trace or the timeline CSV of an estimate."},
    {.name = "B",
     .kind = ARGUMENT_TRACE,
     .is_repeated = true,
     .help =
         "The run after; with an estimate a trace with device runs, a device profile of IREE, or a profile of "
         "Torq's runtime, annotated or not."},
    {0},
};

static const struct command_example examples[] = {
    {"opscope diff before.opscope after.opscope", "What got slower, faster, new and gone."},
    {"opscope diff a.csv b.csv --group-by category --html diff.html", "Two ops CSVs, with a page."},
    {"opscope diff a.opscope b.opscope --only zones --all", "All zones of two traces."},
    {"opscope diff a1.opscope a2.opscope a3.opscope --against b1.opscope b2.opscope b3.opscope",
     "Three runs of each, tested from run to run."},
    {"opscope diff m.10.executable-targets.mlir runtime.csv --html diff.html",
     "An estimate against a run of it."},
    {"opscope diff mlp.6.flow.mlir mlp.ireeprof --target-option engines=1",
     "The same for dispatches that IREE ran on one core."},
    {"opscope diff model.opscope run.opscope --csv",
     "The trace of an estimate against that of a run, op by op."},
    {"opscope diff a.csv b.csv --pairs pairs.csv", "Which op was matched with which."},
    {0},
};

static const struct command_exit exits[] = {
    {EXIT_OK, "The runs were compared, whatever changed (opscope check judges)."},
    {EXIT_USAGE, "Bad input or usage, or files that cannot be compared."},
    {0},
};

const struct command command_diff = {
    .name = "diff",
    .group = COMMAND_GROUP_LOOK,
    .summary = "Compare two runs: what got slower, faster, new or gone",
    .usage = (const char *const[]){"[options] A B", "[options] A... --against B...", NULL},
    .description =
        "Ops are matched as two sequences, so that an op that was inserted or removed does not shift the rest: by "
        "name, tensors and place in the source, then, between those, by name and tensors, then by name. Zones are "
        "matched by name, function and file, ops of overhead CSVs by name. A zone that never ended lasts until its "
        "thread was last seen.\n"
        "\n"
        "A row stands for equal ops (name, tensors, place): A and B are their total times, each is the median change "
        "of one. What happened often enough is tested: slower and faster are changes above the threshold that are not "
        "noise (signed-rank test over matched ops, rank-sum test over durations of zones). The test sees the spread "
        "inside the two runs, not from run to run. With fewer than 8 pairs all must agree; what happened once has no "
        "spread, and the threshold alone decides. new and gone: only in B, only in A; more and fewer: called more or "
        "less often, and that is what changed the total; mixed: most calls changed one way, their total the other; "
        "reshaped: the same op with other tensors, so that its times say nothing of speed (--ignore-shape compares "
        "them all the same).\n"
        "\n"
        "With several runs of each side (--against) the first ones are matched op by op, and what changed is judged "
        "by the medians over the runs and tested from run to run: by the rank-sum test from 5 and 5 runs on, with "
        "fewer by Student's t-test at 1 %.\n"
        "\n"
        "Of an estimate (A: a model, or what opscope estimate wrote of it) and a run of it, each op is compared: how "
        "long it was estimated and measured, with error, factor and bias by type of op and by location. What ran is "
        "found by the names of dispatches, else by the place in the source, else by name; the shortest of several "
        "runs counts. Of a dump of the phase executable-targets and a profile of Torq's runtime, programs are "
        "compared, with the mean of their runs.\n"
        "\n"
        "noise beside the totals is the 99 % interval of the change, from the spread of equal ops, or of the runs. "
        "Zones are ranked by the change of their own time, so that a slow zone comes before those around it.",
    .options = {{&match_table, 0},
                {&show_table, 0},
                {&estimate_table, 0},
                {&output_option_table, FIELD(output)}},
    .arguments = arguments,
    .exits = exits,
    .examples = examples,
    .see_also = (const char *const[]){"check", "report", "zones", NULL},
    .run = run,
};
