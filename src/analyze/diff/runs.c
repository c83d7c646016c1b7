/* SPDX-License-Identifier: Apache-2.0 */
/* Several runs of each side. The first runs are matched and make the rows; the others are summed by the same keys. A
 * row's figure in a run is the mean time of its ops (of a zone its median, of a dispatched op its mean), and its change
 * that of the medians over the runs. The rank-sum test over the runs' figures decides: 5 against 5 runs can be sure to
 * 1 %. With fewer it is Student's t-test, which has to trust that runs vary evenly; its 99 % interval is also the noise
 * of the totals. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diff/diff.h"
#include "analyze/diff/stats.h"
#include "base/checked.h"
#include "base/count_of.h"

#define RUNS_MAX DIFF_RUNS_MAX

static int sum_keys(const struct diff *diff, const struct diff_run *run, struct diff_key_sum **sums,
                    struct error *err)
{
    *sums = calloc(diff->key_count + 1, sizeof **sums);
    if (!*sums)
        return error_set(err, ENOMEM, "no memory for the sums of %s", run->path);
    for (size_t i = 0; i < run->op_count; i++) {
        struct diff_key_sum *sum = &(*sums)[run->ops[i].key];
        sum->time_ns += isnan(run->ops[i].time_ns) ? 0 : run->ops[i].time_ns;
        sum->host_ns += isnan(run->ops[i].host_ns) ? 0 : run->ops[i].host_ns;
        sum->count++;
    }
    return 0;
}

int diff_keep_extra(struct diff *diff, int side, struct diff_run *first, struct error *err)
{
    struct diff_run *run = &diff->runs[side];
    if (diff->extra_count[side] + 1 >= RUNS_MAX ||
        !array_reserve(&diff->extras[side], &diff->extra_capacity[side], diff->extra_count[side] + 1,
                       sizeof *diff->extras[side])) {
        diff_free_run(run);
        *run = *first;
        return error_set(err, E2BIG, "more than %u runs of a side, or no memory for them", RUNS_MAX);
    }
    struct diff_extra *extra = &diff->extras[side][diff->extra_count[side]++];
    *extra = (struct diff_extra){.run = *run, .sum_count = diff->key_count};
    *run = *first;
    int status = sum_keys(diff, &extra->run, &extra->sums, err);
    free(extra->run.ops);
    free(extra->run.roles);
    extra->run.ops = NULL;
    extra->run.roles = NULL;
    extra->run.op_count = extra->run.op_capacity = 0;
    return status;
}

/* --- figures of a row in every run --- */

struct figures {
    double values[DIFF_SIDES][RUNS_MAX], totals[DIFF_SIDES][RUNS_MAX];
    double selves[DIFF_SIDES][RUNS_MAX]; /* of zones */
    size_t counts[DIFF_SIDES];
};

static const struct diff_run *run_at(const struct diff *diff, int side, size_t i)
{
    return i == 0 ? &diff->runs[side] : &diff->extras[side][i - 1].run;
}

static void add_figure(struct figures *f, int side, double value, double total)
{
    if (isnan(value) || f->counts[side] == RUNS_MAX)
        return;
    f->totals[side][f->counts[side]] = total;
    f->values[side][f->counts[side]++] = value;
}

static void zone_figures(const struct diff *diff, const struct diff_row *row, struct figures *f)
{
    for (int side = 0; side < DIFF_SIDES; side++) {
        if (row->zones[side] == UINT32_MAX)
            continue;
        const struct diff_zone *first = &diff->runs[side].zones[row->zones[side]];
        for (size_t i = 0; i < diff_run_count(diff, side); i++) {
            const struct diff_zone *zone = i == 0 ? first : diff_find_zone(run_at(diff, side, i), first);
            if (!zone)
                continue;
            double per = diff_per(diff, run_at(diff, side, i));
            f->selves[side][f->counts[side]] = (double)zone->self_ns / per;
            add_figure(f, side, stats_median(zone->samples, zone->sample_count),
                       (double)zone->total_ns / per);
        }
    }
}

static void call_figures(const struct diff *diff, const struct diff_row *row, struct figures *f)
{
    for (int side = 0; side < DIFF_SIDES; side++) {
        for (size_t i = 0; i < diff_run_count(diff, side); i++) {
            const struct diff_run *run = run_at(diff, side, i);
            for (size_t k = 0; k < run->call_count; k++) {
                const struct diff_call *call = &run->calls[k];
                double value = !isnan(call->p50_ns)    ? call->p50_ns
                               : !isnan(call->mean_ns) ? call->mean_ns
                                                       : call->min_ns;
                if (call->name == row->name && call->is_measured)
                    add_figure(f, side, value, value);
            }
        }
    }
}

/* Sums of all op rows in one run, by the row that has the key. */
static void sum_rows(const struct diff *diff, int side, const struct diff_key_sum *sums, size_t count,
                     struct diff_key_sum *rows)
{
    memset(rows, 0, (diff->row_count + 1) * sizeof *rows);
    for (size_t key = 0; key < count && key < diff->key_count; key++) {
        uint32_t row = diff->row_of_key[side] ? diff->row_of_key[side][key] : UINT32_MAX;
        if (row == UINT32_MAX)
            continue;
        rows[row].time_ns += diff->is_host_time ? sums[key].host_ns : sums[key].time_ns;
        rows[row].count += sums[key].count;
    }
}

/* --- judging --- */

static double median_of(const double *values, size_t count)
{
    double copy[RUNS_MAX];
    memcpy(copy, values, count * sizeof *copy);
    return stats_median(copy, count);
}

static double mean_of(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

/* For fewer runs than ranks can tell anything of. */
static bool is_beyond_spread(const struct figures *f)
{
    const double *a = f->values[DIFF_A], *b = f->values[DIFF_B];
    double change = mean_of(b, f->counts[DIFF_B]) - mean_of(a, f->counts[DIFF_A]);
    return fabs(change) > diff_runs_margin(a, f->counts[DIFF_A], b, f->counts[DIFF_B]);
}

static void judge_row(const struct diff *diff, struct diff_row *row, const struct figures *f)
{
    size_t a = f->counts[DIFF_A], b = f->counts[DIFF_B];
    for (int side = 0; side < DIFF_SIDES; side++) {
        if (f->counts[side]) {
            row->typical_ns[side] = median_of(f->values[side], f->counts[side]);
            row->total_ns[side] = median_of(f->totals[side], f->counts[side]);
        }
        if (f->counts[side] && row->kind == DIFF_ZONE_ROW)
            row->self_ns[side] = median_of(f->selves[side], f->counts[side]);
    }
    row->change_ns = row->kind == DIFF_ZONE_ROW ? row->self_ns[DIFF_B] - row->self_ns[DIFF_A]
                                                : row->total_ns[DIFF_B] - row->total_ns[DIFF_A];
    if (!a || !b || a + b < 3)
        return;
    double x = row->typical_ns[DIFF_A], y = row->typical_ns[DIFF_B];
    row->typical_percent = x > 0 ? (y - x) / x * 100 : NAN;
    row->change_percent =
        row->total_ns[DIFF_A] > 0 ? (row->total_ns[DIFF_B] / row->total_ns[DIFF_A] - 1) * 100 : NAN;
    row->evidence = DIFF_RUNS;
    row->p = stats_rank_sum_least(a, b) < diff->options.alpha_percent / 100
                 ? stats_rank_sum(f->values[DIFF_A], a, f->values[DIFF_B], b)
                 : NAN;
    diff_judge(diff, row, is_beyond_spread(f));
}

/* One value and one total for each row and run; NAN where the run does not have it. */
static int fill_ops(struct diff *diff, double *values, double *totals, struct error *err)
{
    struct diff_key_sum *rows = malloc((diff->row_count + 1) * sizeof *rows);
    int status = rows ? 0 : error_set(err, ENOMEM, "no memory for the figures of %zu rows", diff->row_count);
    size_t at = 0;
    for (int side = 0; side < DIFF_SIDES && !status; side++) {
        for (size_t i = 0; i < diff_run_count(diff, side) && !status; i++, at += diff->row_count) {
            const struct diff_extra *extra = i ? &diff->extras[side][i - 1] : NULL;
            struct diff_key_sum *first = NULL;
            if (!extra)
                status = sum_keys(diff, &diff->runs[side], &first, err);
            if (!status)
                sum_rows(diff, side, extra ? extra->sums : first, extra ? extra->sum_count : diff->key_count,
                         rows);
            for (size_t r = 0; r < diff->row_count && !status; r++) {
                values[at + r] = rows[r].count ? rows[r].time_ns / (double)rows[r].count : NAN;
                totals[at + r] = rows[r].time_ns / diff_per(diff, run_at(diff, side, i));
            }
            free(first);
        }
    }
    free(rows);
    return status;
}

static int judge_ops(struct diff *diff, struct error *err)
{
    size_t runs = diff_run_count(diff, DIFF_A) + diff_run_count(diff, DIFF_B), cells;
    bool fits = checked_mul_size(diff->row_count + 1, runs, &cells) && cells < SIZE_MAX / sizeof(double);
    double *values = fits ? malloc(cells * sizeof *values) : NULL,
           *totals = fits ? malloc(cells * sizeof *totals) : NULL;
    int status = values && totals
                     ? fill_ops(diff, values, totals, err)
                     : error_set(err, ENOMEM, "no memory for %zu rows of %zu runs", diff->row_count, runs);
    for (size_t r = 0; r < diff->row_count && !status; r++) {
        struct figures f = {0};
        if (diff->rows[r].kind != DIFF_OP_ROW)
            continue;
        for (size_t i = 0; i < runs; i++)
            add_figure(&f, i < diff_run_count(diff, DIFF_A) ? DIFF_A : DIFF_B,
                       values[i * diff->row_count + r], totals[i * diff->row_count + r]);
        judge_row(diff, &diff->rows[r], &f);
    }
    free(values);
    free(totals);
    return status;
}

/* --- totals --- */

/* The 99.5 % point of Student's distribution. */
static double student(double degrees)
{
    static const double points[] = {0,     63.657, 9.925, 5.841, 4.604, 4.032, 3.707,
                                    3.499, 3.355,  3.250, 3.169, 3.106, 3.055, 3.012,
                                    2.977, 2.947,  2.921, 2.898, 2.878, 2.861, 2.845};
    size_t at = degrees < 1 ? 1 : (size_t)degrees;
    return at < COUNT_OF(points) ? points[at] : at < 30 ? 2.831 : at < 60 ? 2.750 : 2.660;
}

/* Of the distances from the mean. */
static double square_sum(const double *values, size_t count)
{
    double mean = 0, sum = 0;
    for (size_t i = 0; i < count; i++)
        mean += values[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        sum += (values[i] - mean) * (values[i] - mean);
    return sum;
}

/* Both sides are taken to vary alike, as runs on one machine do: three runs tell little of a variance each. */
double diff_runs_margin(const double *before, size_t before_count, const double *now, size_t now_count)
{
    double n = (double)before_count, m = (double)now_count, degrees = n + m - 2;
    if (!before_count || !now_count || degrees < 1)
        return NAN;
    return student(degrees) *
           sqrt((square_sum(before, before_count) + square_sum(now, now_count)) / degrees * (1 / n + 1 / m));
}

static double total_of(const struct diff *diff, const struct diff_run *run, enum diff_total_kind kind)
{
    double per = diff_per(diff, run), device = (diff->is_host_time ? run->host_ns : run->device_ns) / per;
    switch (kind) {
    case DIFF_STEP:
        return diff_mean_step(run);
    case DIFF_DEVICE_TIME:
        return device;
    case DIFF_GAP:
        return run->gap_ns / per;
    case DIFF_TOTAL:
        return diff->totals[DIFF_DEVICE_TIME].is_there ? device + run->gap_ns / per
               : diff->is_per_step                     ? diff_mean_step(run)
                                                       : (double)run->wall_ns;
    case DIFF_HOST_TIME:
        return run->host_ns / per;
    case DIFF_OP_COUNT:
        return (double)(run->device_op_count + run->host_op_count);
    case DIFF_WALL:
        return (double)run->wall_ns;
    case DIFF_ZONE_COUNT:
        return (double)run->zones_total;
    default:
        return NAN;
    }
}

static void judge_totals(struct diff *diff)
{
    for (unsigned kind = 0; kind < DIFF_TOTALS; kind++) {
        struct diff_total *total = &diff->totals[kind];
        struct figures f = {0};
        if (!total->is_there || kind == DIFF_DISPATCH || (kind == DIFF_TOTAL && diff->has_calls))
            continue;
        for (int side = 0; side < DIFF_SIDES; side++) {
            for (size_t i = 0; i < diff_run_count(diff, side); i++) {
                double value = total_of(diff, run_at(diff, side, i), (enum diff_total_kind)kind);
                add_figure(&f, side, value, value);
            }
            total->values[side] = median_of(f.values[side], f.counts[side]);
        }
        double a = total->values[DIFF_A], b = total->values[DIFF_B];
        total->change = b - a;
        total->change_percent = a > 0 ? (b - a) / a * 100 : b > 0 ? NAN : 0;
        total->margin = total->is_time ? diff_runs_margin(f.values[DIFF_A], f.counts[DIFF_A],
                                                          f.values[DIFF_B], f.counts[DIFF_B])
                                       : total->margin;
        total->covered = 1;
    }
}

int diff_apply_runs(struct diff *diff, struct error *err)
{
    int status = diff->has_ops ? judge_ops(diff, err) : 0;
    for (size_t r = 0; r < diff->row_count && !status; r++) {
        struct diff_row *row = &diff->rows[r];
        struct figures f = {0};
        if (row->kind == DIFF_OP_ROW)
            continue;
        if (row->kind == DIFF_ZONE_ROW)
            zone_figures(diff, row, &f);
        else
            call_figures(diff, row, &f);
        judge_row(diff, row, &f);
    }
    if (!status) {
        judge_totals(diff);
        diff->step_test.is_noise = !(fabs(diff->totals[DIFF_STEP].change) > diff->totals[DIFF_STEP].margin);
    }
    return status;
}

/* --- for the gate --- */

static bool is_named(const struct diff *diff, uint32_t text, const char *name)
{
    return text != DIFF_NO_TEXT && strcmp(diff_text(diff, text), name) == 0;
}

static double op_sum(const struct diff *diff, const struct diff_run *run, const struct diff_extra *extra,
                     const char *name)
{
    double sum = NAN;
    for (size_t key = 0; extra && key < extra->sum_count; key++) {
        const struct diff_key_sum *part = &extra->sums[key];
        if (part->count && diff->keys[key].kind != DIFF_SIGNPOST &&
            is_named(diff, diff->keys[key].name, name))
            sum = (isnan(sum) ? 0 : sum) + (diff->is_host_time ? part->host_ns : part->time_ns);
    }
    for (size_t i = 0; i < run->op_count; i++) {
        const struct diff_key *key = &diff->keys[run->ops[i].key];
        double time = diff_op_time(diff, &run->ops[i]);
        if (key->kind != DIFF_SIGNPOST && is_named(diff, key->name, name))
            sum = (isnan(sum) ? 0 : sum) + (isnan(time) ? 0 : time);
    }
    for (size_t i = 0; i < run->call_count; i++) {
        const struct diff_call *call = &run->calls[i];
        if (call->is_measured && is_named(diff, call->name, name))
            sum = !isnan(call->p50_ns) ? call->p50_ns : !isnan(call->mean_ns) ? call->mean_ns : call->min_ns;
    }
    return sum / diff_per(diff, run);
}

size_t diff_runs_op_sums(const struct diff *diff, int side, const char *name, double *out)
{
    size_t count = 0;
    for (size_t i = 0; i < diff_run_count(diff, side); i++) {
        out[count] = op_sum(diff, run_at(diff, side, i), i ? &diff->extras[side][i - 1] : NULL, name);
        if (!isnan(out[count]))
            count++;
    }
    return count;
}

int diff_runs_zone_medians(const struct diff *diff, int side, const char *name, double *out, size_t *count,
                           struct error *err)
{
    *count = 0;
    for (size_t i = 0; i < diff_run_count(diff, side); i++) {
        size_t samples;
        double *values = diff_zone_samples(diff, run_at(diff, side, i), name, &samples);
        if (!values)
            return error_no_memory(err, "the durations of a zone");
        out[*count] = stats_median(values, samples);
        *count += samples > 0;
        free(values);
    }
    return 0;
}
