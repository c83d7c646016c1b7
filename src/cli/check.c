/* SPDX-License-Identifier: Apache-2.0 */
/* opscope check: a gate over a run, against a baseline and against budgets. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/zones/stats.h"
#include "analyze/diff/check_config.h"
#include "present/diff/check_view.h"
#include "cli/command/command.h"
#include "load/diff.h"
#include "present/diff/view.h"
#include "import/open.h"

#define DEFAULT_REGRESS 5.0

struct check_options {
    const char *max_regress, *config, *junit;
    struct text_list baselines, metrics;
    const char *start_signpost, *end_signpost;
    bool no_config, salvage, ignore_location, ignore_shape, include_warm_up;
    struct output_options output;
};

struct checking { /* everything that is freed at the end */
    struct check_config config;
    struct diff diff;
    struct diff whole; /* of all of both runs, where the other is about a part of them */
    bool has_whole;
    struct diff_sources sources;
    struct zone_stats stats;
    struct trace *trace; /* of B, for the names in `zones` */
    struct check_zone *zones;
    struct check_rule *rules;
    struct check_result *results;
    size_t rule_count;
};

/* --- rules --- */

static int add_rules(struct checking *c, const struct check_options *options, bool has_baseline,
                     struct error *err)
{
    const struct text_list *metrics = options->metrics.count ? &options->metrics : &c->config.metrics;
    double limit = isnan(c->config.max_regress) ? DEFAULT_REGRESS : c->config.max_regress;
    const char *origin = options->metrics.count    ? "--metric"
                         : c->config.metrics.count ? "opscope.toml"
                                                   : "the default";
    size_t most = metrics->count + 1 + c->config.budget_count;
    if (options->max_regress && check_parse_percent(options->max_regress, &limit, err) != 0) {
        error_prefix(err, "--max-regress");
        return -EINVAL;
    }
    c->rules = calloc(most, sizeof *c->rules);
    c->results = calloc(most, sizeof *c->results);
    if (!c->rules || !c->results)
        return error_no_memory(err, "rules");
    for (size_t i = 0; i < metrics->count; i++) {
        struct check_rule *rule = &c->rules[c->rule_count++];
        *rule = (struct check_rule){.figure = CHECK_REGRESS, .limit = limit, .origin = origin};
        if (!check_parse_subject(metrics->items[i], &rule->subject, &rule->name))
            return error_set(
                err, EINVAL,
                "--metric '%s': step, device-time, gap, total, wall, count, zone:NAME and op:NAME are metrics",
                metrics->items[i]);
    }
    if (!metrics->count && has_baseline)
        c->rules[c->rule_count++] = (struct check_rule){
            .subject = CHECK_STEP, .figure = CHECK_REGRESS, .limit = limit, .origin = origin};
    for (size_t i = 0; i < c->config.budget_count; i++)
        c->rules[c->rule_count++] = c->config.budgets[i];
    return 0;
}

/* --- runs --- */

/* The figures of zone budgets are those of `opscope zones`. */
static int load_zones(struct checking *c, const char *path, bool salvage, struct error *err)
{
    struct trace_filter filter = {0};
    const struct trace_filter_options everything = {0};
    bool is_wanted = false;
    for (size_t i = 0; i < c->rule_count; i++)
        is_wanted |= c->rules[i].subject == CHECK_ZONE && c->rules[i].figure != CHECK_REGRESS;
    if (!is_wanted || import_guess(path) != IMPORT_TRACE)
        return 0;
    int status = trace_open(&c->trace, path, salvage ? TRACE_OPEN_SALVAGE : 0, err);
    if (!status)
        status = trace_filter_resolve(&filter, c->trace, &everything, err);
    if (!status)
        status = zone_stats_make(&c->stats, c->trace, &filter, ZONE_STATS_BY_TEXT, err);
    trace_filter_free(&filter);
    if (status)
        return status;
    c->zones = calloc(c->stats.row_count + 1, sizeof *c->zones);
    if (!c->zones)
        return error_set(err, ENOMEM, "no memory for %zu zones", c->stats.row_count);
    for (size_t i = 0; i < c->stats.row_count; i++) {
        const struct zone_stats_row *row = &c->stats.rows[i];
        c->zones[i] = (struct check_zone){trace_get_name(c->trace, row->name)->name,
                                          row->count,
                                          row->total_ns,
                                          row->sum_ns,
                                          row->max_ns,
                                          row->p50_ns,
                                          row->p99_ns};
    }
    return 0;
}

/* Of both runs, or of the one where there is no baseline. */
static int load_runs(struct diff *diff, const struct text_list *baselines, const struct command_line *line,
                     struct diff_sources *sources, struct error *err)
{
    char *paths[TEXT_LIST_MAX];
    int status = 0;
    for (size_t i = 0; i < baselines->count; i++)
        paths[i] = (char *)(uintptr_t)baselines->items[i];
    if (baselines->count)
        status = diff_find_common_steps(diff, paths[0], line->values[0], err);
    if (!status && baselines->count)
        status = diff_load_side(diff, DIFF_A, paths, baselines->count, sources, err);
    if (!status)
        status = diff_load_side(diff, DIFF_B, line->values, (size_t)line->count, sources, err);
    if (!status && baselines->count)
        status = diff_check_kinds(diff, err);
    const struct diff_run *run = &diff->runs[DIFF_B];
    if (!status && !baselines->count && !run->op_count && !run->zone_count && !run->call_count)
        status = error_set(err, EINVAL, "%s (%s) has neither ops nor zones: there is nothing to check",
                           run->path, run->kind);
    return status ? status : diff_finish(diff, err);
}

/* Budgets and names may be about what the comparison leaves out. */
static int load_whole(struct checking *c, const struct text_list *baselines, const struct command_line *line,
                      struct error *err)
{
    struct diff_options options = c->diff.options;
    struct diff_sources sources;
    bool is_part = false, is_wanted = false;
    for (int side = 0; side < DIFF_SIDES; side++)
        is_part |= c->diff.runs[side].part != DIFF_PART_WHOLE;
    for (size_t i = 0; i < c->rule_count; i++)
        is_wanted |= c->rules[i].figure != CHECK_REGRESS || c->rules[i].name;
    if (!is_part || !is_wanted)
        return 0;
    options.include_warm_up = true;
    diff_begin(&c->whole, &options);
    c->has_whole = true;
    int status = diff_sources_begin(&sources, err); /* its notes are those of the first */
    sources.salvage = c->sources.salvage;
    if (!status)
        status = load_runs(&c->whole, baselines, line, &sources, err);
    diff_sources_free(&sources);
    return status;
}

/* The configuration and the baselines that it names are not files of the command line. */
static int check_found_files(const struct checking *c, const struct command *command,
                             const struct check_options *options, const struct command_line *line,
                             struct error *err)
{
    struct text_list config = {{c->config.path}, c->config.path != NULL}, baselines = {0};
    for (size_t i = 0; i < c->config.baseline_count; i++)
        text_list_add(&baselines, c->config.baselines[i]);
    int status = command_check_files(command, options, line, &config, err);
    return status ? status : command_check_files(command, options, line, &baselines, err);
}

static int check(struct checking *c, const struct check_options *options, const struct command_line *line,
                 struct error *err)
{
    struct text_list baselines = options->baselines;
    for (size_t i = 0; i < c->config.baseline_count && !options->baselines.count; i++)
        text_list_add(&baselines, c->config.baselines[i]);
    bool has_baseline = baselines.count > 0;
    int status = add_rules(c, options, has_baseline, err);
    if (status)
        return status;
    if (!has_baseline && (options->metrics.count || options->max_regress))
        return error_set(err, EINVAL,
                         "--metric and --max-regress compare with --baseline A, which is missing");
    if (!has_baseline && line->count > 1)
        return error_set(err, EINVAL,
                         "several runs are for a comparison with --baseline A; budgets are of one run");
    if (!c->rule_count)
        return error_set(err, EINVAL,
                         "there is nothing to check: give --baseline A, or budgets in opscope.toml%s",
                         c->config.path ? " ([[check.budget]])" : " (none was found)");
    c->sources.salvage = options->salvage;
    status = load_runs(&c->diff, &baselines, line, &c->sources, err);
    for (size_t i = 0; i < c->rule_count && !options->metrics.count && !c->diff.is_per_step; i++) {
        if (c->rules[i].subject == CHECK_STEP && c->rules[i].figure == CHECK_REGRESS)
            c->rules[i].subject = CHECK_TOTAL; /* nothing marks steps: all of it */
    }
    if (!status)
        status = load_whole(c, &baselines, line, err);
    if (!status)
        status = load_zones(c, line->values[0], options->salvage, err);
    for (size_t i = 0; i < c->rule_count && !status; i++)
        status = check_rule_apply(&c->diff, c->has_whole ? &c->whole : &c->diff, has_baseline, c->zones,
                                  c->stats.row_count, &c->rules[i], &c->results[i], err);
    return status;
}

static void free_checking(struct checking *c)
{
    diff_free(&c->diff);
    if (c->has_whole)
        diff_free(&c->whole);
    diff_sources_free(&c->sources);
    zone_stats_free(&c->stats);
    trace_close(c->trace);
    free(c->zones);
    free(c->rules);
    free(c->results);
    check_config_free(&c->config);
}

static int run(const struct command *command, int argc, char **argv)
{
    struct check_options options = {0};
    struct checking c = {.config = {.max_regress = NAN}};
    struct command_line line;
    struct error err = {0};
    int status = command_parse(command, argc, argv, &options, &line);
    if (status != COMMAND_CONTINUE)
        return status;
    if (options.output.json && options.output.csv)
        return command_usage_error(command, "--json and --csv exclude each other");
    if (options.no_config && options.config)
        return command_usage_error(command, "--config and --no-config exclude each other");
    diff_begin(&c.diff, &(struct diff_options){.threshold_percent = 2,
                                               .alpha_percent = 1,
                                               .ignore_location = options.ignore_location,
                                               .ignore_shape = options.ignore_shape,
                                               .include_warm_up = options.include_warm_up,
                                               .start_signpost = options.start_signpost,
                                               .end_signpost = options.end_signpost});
    status = diff_sources_begin(&c.sources, &err);
    if (!status && !options.no_config)
        status = check_config_read(&c.config, options.config, &err);
    if (c.config.ignored)
        command_say("opscope check: %s is ignored: another user may have written it; --config %s takes it",
                    c.config.ignored, c.config.ignored);
    if (!status)
        status = check_found_files(&c, command, &options, &line, &err);
    if (!status)
        status = check(&c, &options, &line, &err);
    const char *notes = bytes_text(&c.sources.notes);
    command_say_lines(command, notes);
    struct check_view view = {.diff = &c.diff,
                              .results = c.results,
                              .count = c.rule_count,
                              .baseline = c.diff.runs[DIFF_A].path,
                              .path = line.values[0],
                              .config = c.config.path,
                              .junit = options.junit,
                              .output = &options.output};
    if (!status)
        status = check_show(&view, &err);
    size_t failed = view.failed_count;
    free_checking(&c);
    if (status)
        return command_fail(command, &err);
    return failed ? EXIT_NEGATIVE : EXIT_OK;
}

/* --- the command --- */

#define FIELD(field) OPTION_FIELD(struct check_options, field)

static const struct command_option rule_options[] = {
    {.name = "baseline",
     .letter = 'b',
     .type = OPTION_LIST,
     .argument = "A",
     .offset = FIELD(baselines),
     .is_file = true,
     .help =
         "The run to compare with: a trace, an ops CSV, a log folder or an overhead CSV. May be given again: with "
         "several runs of either side, noise is what differs from run to run."},
    {.name = "max-regress",
     .type = OPTION_TEXT,
     .argument = "PERCENT",
     .offset = FIELD(max_regress),
     .help = "How much more than the baseline is allowed (5%)."},
    {.name = "metric",
     .letter = 'm',
     .type = OPTION_LIST,
     .argument = "METRIC",
     .offset = FIELD(metrics),
     .help =
         "What is compared: step (the time of a step; total where nothing marks steps), device-time, gap, total "
         "(both; of traces without ops the wall clock), wall, count, zone:NAME (the median of one), op:NAME (the time "
         "of all of that name). May be given again; the default is step."},
    {.name = "config",
     .type = OPTION_TEXT,
     .argument = "FILE",
     .offset = FIELD(config),
     .is_file = true,
     .help =
         "Read budgets from FILE; the default is opscope.toml of this folder or the nearest one above that is yours "
         "or root's, and that nobody else can write."},
    {.name = "no-config", .type = OPTION_FLAG, .offset = FIELD(no_config), .help = "Read no configuration."},
    OPTION_INCLUDE_WARM_UP(FIELD(include_warm_up)),
    OPTION_START_SIGNPOST(FIELD(start_signpost)),
    OPTION_END_SIGNPOST(FIELD(end_signpost)),
    OPTION_IGNORE_LOCATION(FIELD(ignore_location)),
    OPTION_IGNORE_SHAPE(FIELD(ignore_shape)),
    OPTION_SALVAGE(FIELD(salvage)),
    {0},
};

static const struct command_option result_options[] = {
    OPTION_FILE("junit", FIELD(junit), "Also write the results as JUnit XML, which CI systems show."),
    {0},
};

static const struct option_table rule_table = {"What is checked", rule_options};
static const struct option_table result_table = {"Results", result_options};

static const struct command_argument arguments[] = {
    {.name = "B",
     .kind = ARGUMENT_TRACE,
     .is_repeated = true,
     .help = "The run to check: a trace, an ops CSV, a log folder or an overhead CSV."},
    {0},
};

static const struct command_example examples[] = {
    {"opscope check --baseline main.opscope pr.opscope --max-regress 5%", "Fail when it takes 5 % longer."},
    {"opscope check --baseline a.csv b.csv --metric device-time --metric gap",
     "Device time and gaps, each by itself."},
    {"opscope check --baseline a.opscope b.opscope --metric 'zone:load batch' --junit check.xml",
     "One zone, with a result for the CI system."},
    {"opscope check -b a1.csv -b a2.csv -b a3.csv b1.csv b2.csv b3.csv",
     "Three runs of each: noise from run to run."},
    {"opscope check run.opscope", "Only the budgets of opscope.toml."},
    {0},
};

static const struct command_exit exits[] = {
    {EXIT_OK, "Every rule was kept, or a growth was within the noise."},
    {EXIT_NEGATIVE, "A rule was broken."},
    {EXIT_USAGE, "Bad input or usage, files that cannot be compared, or nothing to check."},
    {0},
};

const struct command command_check = {
    .name = "check",
    .group = COMMAND_GROUP_LOOK,
    .summary = "Fail when a run is slower than a baseline or over its budgets",
    .usage = (const char *const[]){"[options] [--baseline A]... B...", NULL},
    .description =
        "Compares B with a baseline as opscope diff does, without start-up and warm-up, and fails when a metric grew "
        "by more than --max-regress. A growth that is no more than noise does not fail, and the result says so: of "
        "steps unless the rank-sum test is sure, those of B take longer than those of A in 19 of 20 pairs, and by more "
        "than the slow steps of one run take longer than its fast ones (three times as long is never noise); of totals "
        "and ops when the 99 % interval of the change, from the spread of equal ops in the runs, reaches down to 0; of "
        "zones when the rank-sum test over the durations finds no difference at 1 %. Where nothing is repeated the "
        "limit alone decides. With several runs of either side it is the spread from "
        "run to run that counts: the 99 % interval of "
        "Student's t-test, and for zones the rank-sum test over the runs' medians.\n"
        "\n"
        "Budgets are limits of the run by itself, all of it. They live in the project's opscope.toml:\n"
        "\n"
        " [check]\n"
        " baseline = \"perf/main.opscope\"\n"
        " max-regress = \"5%\"\n"
        " metric = [\"total\", \"zone:load batch\"]\n"
        "\n"
        " [[check.budget]]\n"
        " zone = \"load batch\"      # or op = \"...\", or metric = \"device-time\"\n"
        " max = \"2ms\"              # the longest one; also max-mean, max-median, max-p99,\n"
        " max-count = 100          # max-total, max-count and max-regress\n"
        " optional = true          # need not be there\n"
        "\n"
        "A zone or op with a rule that the run does not have fails unless it is optional: a new name must not pass for "
        "a fast one.",
    .options = {{&rule_table, 0}, {&result_table, 0}, {&output_option_table, FIELD(output)}},
    .arguments = arguments,
    .exits = exits,
    .examples = examples,
    .see_also = (const char *const[]){"diff", "report", "zones", NULL},
    .run = run,
};
