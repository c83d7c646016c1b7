/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/diff/check.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diff/stats.h"
#include "base/count_of.h"

static const char *const subject_names[CHECK_SUBJECTS] = {
    [CHECK_STEP] = "step", [CHECK_DEVICE_TIME] = "device-time",
    [CHECK_GAP] = "gap",   [CHECK_TOTAL] = "total",
    [CHECK_WALL] = "wall", [CHECK_COUNT] = "count",
    [CHECK_ZONE] = "zone", [CHECK_OP] = "op",
};

const char *check_subject_text(unsigned subject)
{
    return subject < CHECK_SUBJECTS ? subject_names[subject] : "";
}

const char *check_figure_text(unsigned figure)
{
    static const char *const names[CHECK_FIGURES] = {
        [CHECK_REGRESS] = "max-regress", [CHECK_MAX] = "max",     [CHECK_MEAN] = "max-mean",
        [CHECK_MEDIAN] = "max-median",   [CHECK_P99] = "max-p99", [CHECK_SUM] = "max-total",
        [CHECK_CALLS] = "max-count",
    };
    return figure < CHECK_FIGURES ? names[figure] : "";
}

const char *check_verdict_text(unsigned verdict)
{
    static const char *const names[] = {[CHECK_PASSED] = "ok",
                                        [CHECK_FAILED] = "FAILED",
                                        [CHECK_NOISE] = "noise",
                                        [CHECK_SKIPPED] = "skipped"};
    return verdict < COUNT_OF(names) ? names[verdict] : "";
}

bool check_parse_subject(const char *text, enum check_subject *subject, const char **name)
{
    *name = NULL;
    for (unsigned i = 0; i < CHECK_SUBJECTS; i++) {
        size_t length = strlen(subject_names[i]);
        bool has_name = i == CHECK_ZONE || i == CHECK_OP;
        if (strncmp(text, subject_names[i], length) != 0)
            continue;
        if (has_name && text[length] == ':' && text[length + 1]) {
            *subject = (enum check_subject)i;
            *name = text + length + 1;
            return true;
        }
        if (!has_name && text[length] == '\0') {
            *subject = (enum check_subject)i;
            return true;
        }
    }
    return false;
}

__attribute__((format(printf, 3, 4))) static void
conclude(struct check_result *result, enum check_verdict verdict, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(result->remark, sizeof result->remark, format, args);
    va_end(args);
    result->verdict = verdict;
}

static void missing(struct check_result *result, const char *what)
{
    const struct check_rule *rule = result->rule;
    if (rule->is_optional)
        conclude(result, CHECK_SKIPPED, "%s; the rule is optional", what);
    else
        conclude(result, CHECK_FAILED, "%s", what);
}

/* --- against the baseline --- */

/* Fills `change_percent`; true when it is above the limit. */
static bool is_above(struct check_result *result)
{
    double before = result->before, now = result->now;
    result->change_percent = before > 0 ? (now - before) / before * 100 : NAN;
    return before > 0 ? result->change_percent > result->rule->limit : now > 0;
}

/* A sum whose change is known to within `margin` (NAN: nothing is known). */
static void judge_sum(struct check_result *result, double margin, double covered)
{
    double change = result->now - result->before;
    if (!is_above(result)) {
        result->verdict = CHECK_PASSED;
    } else if (isnan(margin)) {
        conclude(result, CHECK_FAILED, "no repeats in the runs: the limit alone decides");
    } else if (change <= margin) {
        conclude(result, CHECK_NOISE, "within the noise: the change is sure only to +-%.1f %%",
                 result->before > 0 ? margin / result->before * 100 : INFINITY);
    } else if (covered < 0.5) {
        conclude(result, CHECK_FAILED, "more than noise, which is known for %.0f %% of the time",
                 covered * 100);
    } else {
        conclude(result, CHECK_FAILED, "more than noise (+-%.1f %%)",
                 result->before > 0 ? margin / result->before * 100 : 0);
    }
}

static void check_total(const struct diff *diff, enum diff_total_kind kind, struct check_result *result)
{
    const struct diff_total *total = &diff->totals[kind];
    if (!total->is_there) {
        missing(result, kind == DIFF_WALL ? "the runs have no wall clock time"
                                          : "the runs have no ops with times on a device");
        return;
    }
    result->before = total->values[DIFF_A];
    result->now = total->values[DIFF_B];
    judge_sum(result, total->is_time ? total->margin : 0, total->covered);
}

static bool has_runs(const struct diff *diff)
{
    return diff->extra_count[DIFF_A] + diff->extra_count[DIFF_B] > 0;
}

/* The mean, or the median where that grew more: one step that took a second in the baseline hides nothing. */
static void check_step(const struct diff *diff, struct check_result *result)
{
    const struct diff_total *total = &diff->totals[DIFF_STEP];
    const struct diff_step_test *test = &diff->step_test;
    const double *medians = test->medians;
    if (!diff->is_per_step || has_runs(diff)) { /* several runs: from run to run */
        check_total(diff, diff->is_per_step ? DIFF_STEP : DIFF_TOTAL, result);
        return;
    }
    bool is_mean = total->values[DIFF_B] * medians[DIFF_A] >= medians[DIFF_B] * total->values[DIFF_A];
    result->before = is_mean ? total->values[DIFF_A] : medians[DIFF_A];
    result->now = is_mean ? total->values[DIFF_B] : medians[DIFF_B];
    size_t a = diff->runs[DIFF_A].steps.count, b = diff->runs[DIFF_B].steps.count;
    bool is_more_work = test->at_speed >= DIFF_MORE_WORK;
    double more = (test->at_speed - 1) * 100, share = test->share * 100;
    if (!is_above(result) && !is_more_work)
        result->verdict = CHECK_PASSED;
    else if (is_more_work)
        conclude(
            result, CHECK_FAILED,
            "more than noise: the machine was busy; at the speed of the ops that both have, ops take %+.0f %%",
            more);
    else if (test->is_noise && !isnan(more))
        conclude(
            result, CHECK_NOISE,
            "within the noise: the machine was busy; at the speed of the ops that both have, ops take %+.0f %%",
            more);
    else if (test->is_noise)
        conclude(
            result, CHECK_NOISE,
            "within the noise: steps of one run differ as much; one of B takes longer than one of A in %.0f %% "
            "of all pairs",
            share);
    else
        conclude(result, CHECK_FAILED,
                 "more than noise: the %s of %zu against %zu steps, B takes longer in %.0f %% of all pairs",
                 is_mean ? "mean" : "median", b, a, share);
}

static bool is_named(const struct diff *diff, uint32_t text, const char *name)
{
    return text != DIFF_NO_TEXT && strcmp(diff_text(diff, text), name) == 0;
}

/* Over several runs of each side: their spread is the noise. */
static void check_op_runs(const struct diff *diff, struct check_result *result)
{
    double before[DIFF_RUNS_MAX], now[DIFF_RUNS_MAX];
    size_t a_count = diff_runs_op_sums(diff, DIFF_A, result->rule->name, before);
    size_t b_count = diff_runs_op_sums(diff, DIFF_B, result->rule->name, now);
    double margin = diff_runs_margin(before, a_count, now, b_count);
    result->before = stats_median(before, a_count);
    result->now = stats_median(now, b_count);
    if (!b_count)
        missing(result, a_count ? "this op is gone" : "neither run has such an op");
    else if (!a_count)
        conclude(result, CHECK_SKIPPED, "new: the baseline has no such op");
    else
        judge_sum(result, margin, 1);
}

static void check_op(const struct diff *diff, struct check_result *result)
{
    double sums[DIFF_SIDES] = {0}, variance = 0, covered = 0;
    uint64_t counts[DIFF_SIDES] = {0};
    bool has_spread = false, is_noise = false;
    for (size_t i = 0; i < diff->row_count; i++) {
        const struct diff_row *row = &diff->rows[i];
        if (row->kind == DIFF_ZONE_ROW || !is_named(diff, row->name, result->rule->name))
            continue;
        for (int side = 0; side < DIFF_SIDES; side++) {
            sums[side] += row->total_ns[side];
            counts[side] += row->counts[side];
        }
        if (!isnan(row->variance)) {
            has_spread = true;
            variance += row->variance;
            covered += row->total_ns[DIFF_A];
        }
        is_noise |= row->kind == DIFF_CALL_ROW && row->state == DIFF_NOISE;
    }
    result->before = counts[DIFF_A] ? sums[DIFF_A] : NAN;
    result->now = counts[DIFF_B] ? sums[DIFF_B] : NAN;
    if (!counts[DIFF_B])
        missing(result, counts[DIFF_A] ? "this op is gone" : "neither run has such an op");
    else if (!counts[DIFF_A])
        conclude(result, CHECK_SKIPPED, "new: the baseline has no such op");
    else if (is_noise && is_above(result))
        conclude(result, CHECK_NOISE,
                 "within the noise: the intervals of the medians overlap, or rounding may make it");
    else
        judge_sum(result, has_spread ? 2.576 * sqrt(variance) : NAN,
                  sums[DIFF_A] > 0 ? covered / sums[DIFF_A] : 0);
}

double *diff_zone_samples(const struct diff *diff, const struct diff_run *run, const char *name,
                          size_t *count)
{
    size_t total = 0;
    *count = 0;
    for (size_t i = 0; i < run->zone_count; i++)
        total += is_named(diff, run->zones[i].name, name) ? run->zones[i].sample_count : 0;
    double *samples = malloc((total + 1) * sizeof *samples);
    for (size_t i = 0; samples && i < run->zone_count; i++) {
        const struct diff_zone *zone = &run->zones[i];
        if (!is_named(diff, zone->name, name) || !zone->sample_count)
            continue;
        memcpy(samples + *count, zone->samples, zone->sample_count * sizeof *samples);
        *count += zone->sample_count;
    }
    return samples;
}

static void judge_zone(struct check_result *result, const double *a, size_t a_count, const double *b,
                       size_t b_count, double alpha)
{
    double p = stats_rank_sum(a, a_count, b, b_count);
    if (!is_above(result))
        result->verdict = CHECK_PASSED;
    else if (a_count + b_count <= 2)
        conclude(result, CHECK_FAILED, "it ran once in each run: the limit alone decides");
    else if (stats_rank_sum_least(a_count, b_count) >= alpha && a[a_count - 1] < b[0])
        conclude(result, CHECK_FAILED, "too few for a test, but every one is longer than before");
    else if (stats_rank_sum_least(a_count, b_count) >= alpha)
        conclude(result, CHECK_NOISE, "within the noise: too few for a test, and they overlap");
    else if (p < alpha)
        conclude(result, CHECK_FAILED, "more than noise (rank-sum test, p %s)",
                 p < 0.001 ? "< 0.001" : "< 0.01");
    else
        conclude(result, CHECK_NOISE, "within the noise (rank-sum test, p = %.3f)", p);
}

static const char *no_zone_text(const struct diff *diff, const char *name, const char *otherwise)
{
    for (size_t i = 0; i < diff->key_count; i++) {
        if (diff->keys[i].kind != DIFF_SIGNPOST && is_named(diff, diff->keys[i].name, name))
            return "this is an op, not a zone: say op instead of zone";
    }
    return otherwise;
}

static void conclude_zone(const struct diff *diff, struct check_result *result, double *a, size_t a_count,
                          double *b, size_t b_count)
{
    result->before = stats_median(a, a_count);
    result->now = stats_median(b, b_count);
    if (!b_count)
        missing(result, a_count ? "this zone is gone"
                                : no_zone_text(diff, result->rule->name, "neither run has such a zone"));
    else if (!a_count)
        conclude(result, CHECK_SKIPPED, "new: the baseline has no such zone");
    else
        judge_zone(result, a, a_count, b, b_count, diff->options.alpha_percent / 100);
}

static int check_zone_regress(const struct diff *diff, struct check_result *result, struct error *err)
{
    const char *name = result->rule->name;
    size_t a_count, b_count;
    if (has_runs(diff)) {
        double before[DIFF_RUNS_MAX], now[DIFF_RUNS_MAX];
        int status = diff_runs_zone_medians(diff, DIFF_A, name, before, &a_count, err);
        if (!status)
            status = diff_runs_zone_medians(diff, DIFF_B, name, now, &b_count, err);
        if (!status)
            conclude_zone(diff, result, before, a_count, now, b_count);
        return status;
    }
    double *a = diff_zone_samples(diff, &diff->runs[DIFF_A], name, &a_count);
    double *b = diff_zone_samples(diff, &diff->runs[DIFF_B], name, &b_count);
    int status = a && b ? 0 : error_no_memory(err, "the durations of a zone");
    if (!status)
        conclude_zone(diff, result, a, a_count, b, b_count);
    free(a);
    free(b);
    return status;
}

static int check_regress(const struct diff *diff, struct check_result *result, struct error *err)
{
    switch (result->rule->subject) {
    case CHECK_STEP:
        check_step(diff, result);
        return 0;
    case CHECK_DEVICE_TIME:
        check_total(diff, diff->is_host_time ? DIFF_HOST_TIME : DIFF_DEVICE_TIME, result);
        return 0;
    case CHECK_GAP:
        check_total(diff, DIFF_GAP, result);
        return 0;
    case CHECK_WALL:
        check_total(diff, DIFF_WALL, result);
        return 0;
    case CHECK_COUNT:
        check_total(diff, diff->has_ops ? DIFF_OP_COUNT : DIFF_ZONE_COUNT, result);
        return 0;
    case CHECK_ZONE:
        return check_zone_regress(diff, result, err);
    case CHECK_OP:
        if (has_runs(diff))
            check_op_runs(diff, result);
        else
            check_op(diff, result);
        return 0;
    default:
        check_total(diff, DIFF_TOTAL, result);
        return 0;
    }
}

/* --- budgets --- */

struct figures {
    uint64_t count;
    double sum;   /* of all durations */
    double total; /* time inside an outer zone of the same name counts once */
    double max, median, p99;
};

static int op_figures(const struct diff *diff, const char *name, struct figures *out, struct error *err)
{
    const struct diff_run *run = &diff->runs[DIFF_B];
    double *times = malloc((run->op_count + 1) * sizeof *times);
    size_t count = 0;
    *out = (struct figures){0};
    if (!times)
        return error_set(err, ENOMEM, "no memory for the times of %zu ops", run->op_count);
    for (size_t i = 0; i < run->op_count; i++) {
        const struct diff_key *key = &diff->keys[run->ops[i].key];
        double time = diff_op_time(diff, &run->ops[i]);
        if (key->kind == DIFF_SIGNPOST || !is_named(diff, key->name, name))
            continue;
        out->count++;
        if (isnan(time))
            continue;
        times[count++] = time;
        out->sum += time;
    }
    out->total = out->sum;
    out->median = stats_median(times, count); /* sorts */
    if (count) {
        out->max = times[count - 1];
        out->p99 = times[(count * 99 + 99) / 100 - 1];
    }
    free(times);
    for (size_t i = 0; i < run->call_count; i++) { /* of an overhead CSV: a file has no single times */
        const struct diff_call *call = &run->calls[i];
        uint64_t times_run = call->count ? call->count : 1;
        double sum = call->mean_ns * (double)times_run;
        if (call->is_measured && is_named(diff, call->name, name))
            *out = (struct figures){times_run, sum, sum, NAN, call->p50_ns, NAN};
    }
    return 0;
}

static void zone_figures(const struct check_zone *zones, size_t count, const char *name, struct figures *out)
{
    *out = (struct figures){0};
    for (size_t i = 0; i < count; i++) {
        if (strcmp(zones[i].name, name) != 0)
            continue;
        *out = (struct figures){zones[i].count,          (double)zones[i].sum_ns, (double)zones[i].total_ns,
                                (double)zones[i].max_ns, (double)zones[i].p50_ns, (double)zones[i].p99_ns};
        return;
    }
}

static double figure_of(const struct figures *figures, enum check_figure figure)
{
    switch (figure) {
    case CHECK_MEAN:
        return figures->count ? figures->sum / (double)figures->count : NAN;
    case CHECK_MEDIAN:
        return figures->median;
    case CHECK_P99:
        return figures->p99;
    case CHECK_SUM:
        return figures->total;
    case CHECK_CALLS:
        return (double)figures->count;
    default:
        return figures->max;
    }
}

static double total_of(const struct diff *diff, enum check_subject subject)
{
    const struct diff_run *run = &diff->runs[DIFF_B];
    double device = diff->is_host_time ? run->host_ns : run->device_ns;
    uint64_t ops = run->device_op_count + run->host_op_count;
    switch (subject) {
    case CHECK_STEP:
        return run->steps.count ? diff_mean_step(run) : total_of(diff, CHECK_TOTAL);
    case CHECK_DEVICE_TIME:
        return ops ? device : NAN;
    case CHECK_GAP:
        return ops ? run->gap_ns : NAN;
    case CHECK_WALL:
        return run->wall_ns ? (double)run->wall_ns : NAN;
    case CHECK_COUNT:
        return ops ? (double)ops : (double)run->zones_total;
    default:
        return ops ? device + run->gap_ns : run->wall_ns ? (double)run->wall_ns : NAN;
    }
}

static int check_budget(const struct diff *diff, const struct check_zone *zones, size_t zone_count,
                        struct check_result *result, struct error *err)
{
    const struct check_rule *rule = result->rule;
    struct figures figures = {0};
    int status = 0;
    if (rule->subject == CHECK_ZONE)
        zone_figures(zones, zone_count, rule->name, &figures);
    else if (rule->subject == CHECK_OP)
        status = op_figures(diff, rule->name, &figures, err);
    if (status)
        return status;
    bool has_name = rule->subject == CHECK_ZONE || rule->subject == CHECK_OP;
    result->now = has_name ? figure_of(&figures, rule->figure) : total_of(diff, rule->subject);
    if (has_name && !figures.count) {
        result->now = NAN;
        missing(result, rule->subject == CHECK_ZONE ? "there is no such zone" : "there is no such op");
    } else if (isnan(result->now)) {
        missing(result, "the run does not have this figure");
    } else if (result->now > rule->limit) {
        conclude(result, CHECK_FAILED, rule->limit > 0 ? "%.1f %% above the budget" : "above the budget",
                 rule->limit > 0 ? (result->now - rule->limit) / rule->limit * 100 : 0.0);
    } else {
        result->verdict = CHECK_PASSED;
    }
    return 0;
}

/* Is there an op or a zone of this name in the part that is compared? */
static bool has_name(const struct diff *diff, const struct check_rule *rule)
{
    for (size_t i = 0; i < diff->row_count; i++) {
        const struct diff_row *row = &diff->rows[i];
        if ((row->kind == DIFF_ZONE_ROW) == (rule->subject == CHECK_ZONE) &&
            is_named(diff, row->name, rule->name))
            return true;
    }
    return false;
}

static int check_named(const struct diff *diff, const struct diff *whole, struct check_result *result,
                       struct error *err)
{
    bool is_elsewhere = whole != diff && !has_name(diff, result->rule) && has_name(whole, result->rule);
    int status = check_regress(is_elsewhere ? whole : diff, result, err);
    size_t length = strlen(result->remark);
    if (!status && is_elsewhere)
        snprintf(result->remark + length, sizeof result->remark - length, "%sof the whole run",
                 length ? "; " : "");
    return status;
}

int check_rule_apply(const struct diff *diff, const struct diff *whole, bool has_baseline,
                     const struct check_zone *zones, size_t zone_count, const struct check_rule *rule,
                     struct check_result *result, struct error *err)
{
    *result = (struct check_result){.rule = rule, .before = NAN, .now = NAN, .change_percent = NAN};
    if (rule->figure != CHECK_REGRESS)
        return check_budget(rule->subject == CHECK_STEP ? diff : whole, zones, zone_count, result, err);
    if (has_baseline)
        return rule->name ? check_named(diff, whole, result, err) : check_regress(diff, result, err);
    conclude(result, CHECK_SKIPPED, "no baseline was given");
    return 0;
}
