/* SPDX-License-Identifier: Apache-2.0 */
/* What the figures of a comparison are of: one step, where frames mark steps in all runs, else all that was taken.
 *
 * Runs have different numbers of steps, and nobody asks how much longer eight steps take: sums are divided by the
 * steps, so that the sentence, its bars and the tables say the same of one. Whether a step takes longer is judged from
 * the steps themselves, by their order and not by their size: a step that a busy machine held up for a second decides
 * nothing. On such a machine all steps of a run may be slower than those of the next one, and a test that looks at
 * enough of them calls that sure. So a change is noise as well where more than one in twenty pairs of a step of A and
 * one of B went the other way, or where it is no larger than what lies between the fast and the slow steps of one run:
 * steps of one program, run after run on a machine with five times as much work as cores, were up to 2.3 times as long,
 * and within each run as far apart. Three times as long is never noise.
 *
 * Where the host's CPU computes the ops, the machine's speed is in the trace: how long the ops take that both runs
 * have. Where steps of one run are far apart, what they took is held against that. One program was five times as slow
 * in one run as in the run before, and all its ops were; one with four times the work was as fast as the run before. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/diff/diff.h"
#include "analyze/diff/stats.h"

#define LEAST_STEPS 2u
#define SURE_SHARE 0.95 /* of the pairs of steps */
/* Slow steps of a run against its fast ones: the machine did something else as well. */
#define BUSY_SPREAD 1.25
#define SAME_SPEED 1.25 /* times as much: what is left at equal speed is not to be seen on such a machine */
#define LEAST_ROWS 3u
#define LEAST_SHARE 0.005 /* of the time of ops */
#define BEYOND_NOISE 3.0  /* times as long */

static const struct diff_run *run_at(const struct diff *diff, int side, size_t i)
{
    return i ? &diff->extras[side][i - 1].run : &diff->runs[side];
}

static bool all_have_steps(const struct diff *diff)
{
    for (int side = 0; side < DIFF_SIDES; side++) {
        for (size_t i = 0; i < diff_run_count(diff, side); i++) {
            if (run_at(diff, side, i)->steps.count < LEAST_STEPS)
                return false;
        }
    }
    return true;
}

static double *step_times(const struct diff_run *run)
{
    double *times = calloc(run->steps.count + 1, sizeof *times);
    for (size_t i = 0; times && i < run->steps.count; i++)
        times[i] = (double)run->steps.items[i].duration_ns;
    return times;
}

/* Of sorted values. */
static double share_of_longer(const double *a, size_t a_count, const double *b, size_t b_count)
{
    size_t below = 0, not_above = 0;
    double longer = 0;
    for (size_t i = 0; i < b_count; i++) {
        while (below < a_count && a[below] < b[i])
            below++;
        not_above = not_above < below ? below : not_above;
        while (not_above < a_count && a[not_above] <= b[i])
            not_above++;
        longer += (double)below + (double)(not_above - below) / 2;
    }
    return longer / ((double)a_count * (double)b_count);
}

/* How many times as long nine of ten steps take at most as the fastest tenth at least. Of sorted values. */
static double spread(const double *values, size_t count)
{
    double low = values[count / 10], high = values[(count * 9) / 10 < count ? (count * 9) / 10 : count - 1];
    return low > 0 ? high / low : INFINITY;
}

static void test_steps(const struct diff *diff, double *a, size_t a_count, double *b, size_t b_count,
                       struct diff_step_test *t)
{
    double alpha = diff->options.alpha_percent / 100;
    t->p = stats_rank_sum(a, a_count, b, b_count);
    t->medians[DIFF_A] = stats_median(a, a_count); /* sorts */
    t->medians[DIFF_B] = stats_median(b, b_count);
    t->share = share_of_longer(a, a_count, b, b_count);
    double low = fmin(t->medians[DIFF_A], t->medians[DIFF_B]);
    double high = fmax(t->medians[DIFF_A], t->medians[DIFF_B]);
    t->at_speed = fmax(spread(a, a_count), spread(b, b_count)) >= BUSY_SPREAD ? 0 : NAN; /* to be found */
    bool is_apart = (t->share >= SURE_SHARE || t->share <= 1 - SURE_SHARE) &&
                    high > low * fmax(spread(a, a_count), spread(b, b_count));
    bool is_large = high >= BEYOND_NOISE * low;
    bool is_sure = stats_rank_sum_least(a_count, b_count) < alpha
                       ? t->p < alpha
                       : t->share >= 1 || t->share <= 0; /* too few for a test: all of them */
    t->is_noise = !is_large && !(is_sure && is_apart);
}

double diff_mean_step(const struct diff_run *run)
{
    double sum = 0;
    for (size_t i = 0; i < run->steps.count; i++)
        sum += (double)run->steps.items[i].duration_ns;
    return sum / (double)run->steps.count;
}

static double mean_variance(const struct diff_run *run)
{
    double mean = diff_mean_step(run), sum = 0, n = (double)run->steps.count;
    for (size_t i = 0; i < run->steps.count; i++)
        sum += ((double)run->steps.items[i].duration_ns - mean) *
               ((double)run->steps.items[i].duration_ns - mean);
    return sum / (n - 1) / n;
}

int diff_find_basis(struct diff *diff, struct error *err)
{
    const struct diff_run *a = &diff->runs[DIFF_A], *b = &diff->runs[DIFF_B];
    diff->is_per_step = all_have_steps(diff);
    if (!diff->is_per_step)
        return 0;
    double *before = step_times(a), *now = step_times(b);
    if (before && now)
        test_steps(diff, before, a->steps.count, now, b->steps.count, &diff->step_test);
    int status = before && now ? 0 : error_no_memory(err, "the steps");
    free(before);
    free(now);
    return status;
}

/* --- sums of one step --- */

static void set_change(double *change, double *percent, const double values[DIFF_SIDES])
{
    double a = values[DIFF_A], b = values[DIFF_B];
    *change = b - a;
    *percent = a > 0 ? (b - a) / a * 100 : b > 0 ? NAN : 0;
}

static void divide_rows(struct diff *diff, const double per[DIFF_SIDES])
{
    for (size_t r = 0; r < diff->row_count; r++) {
        struct diff_row *row = &diff->rows[r];
        double change;
        if (row->kind == DIFF_CALL_ROW)
            continue;
        for (int side = 0; side < DIFF_SIDES; side++) {
            row->total_ns[side] /= per[side];
            row->self_ns[side] /= per[side];
        }
        set_change(&change, &row->change_percent, row->total_ns);
        row->change_ns = row->kind == DIFF_ZONE_ROW ? row->self_ns[DIFF_B] - row->self_ns[DIFF_A] : change;
        row->variance /= per[DIFF_A] * per[DIFF_B];
    }
}

static void divide_groups(struct diff *diff, const double per[DIFF_SIDES])
{
    for (size_t i = 0; i < diff->group_count; i++) {
        struct diff_group *group = &diff->groups[i];
        for (int side = 0; side < DIFF_SIDES; side++) {
            group->time_ns[side] /= per[side];
            group->gap_ns[side] /= per[side];
        }
        set_change(&group->change_ns, &group->change_percent, group->time_ns);
    }
}

static void divide_totals(struct diff *diff, const double per[DIFF_SIDES])
{
    double steps = sqrt(per[DIFF_A] * per[DIFF_B]);
    for (size_t i = 0; i < DIFF_TOTALS; i++) {
        struct diff_total *total = &diff->totals[i];
        if (!total->is_there || !total->is_time || i == DIFF_WALL || i == DIFF_DISPATCH)
            continue;
        for (int side = 0; side < DIFF_SIDES; side++)
            total->values[side] /= per[side];
        set_change(&total->change, &total->change_percent, total->values);
        total->margin /= steps;
        total->structure /= steps;
    }
}

static void set_step_total(struct diff *diff)
{
    struct diff_total *total = &diff->totals[DIFF_STEP];
    double variance = 0;
    *total = (struct diff_total){.is_there = true, .is_time = true, .covered = 1};
    for (int side = 0; side < DIFF_SIDES; side++) {
        total->values[side] = diff_mean_step(&diff->runs[side]);
        variance += mean_variance(&diff->runs[side]);
    }
    set_change(&total->change, &total->change_percent, total->values);
    total->margin = 2.576 * sqrt(variance);
}

/* Of the rows of equal ops: how much longer one takes in B, in the middle; NAN: too few. */
static double find_slowdown(const struct diff *diff, const double per[DIFF_SIDES])
{
    const struct diff_total *device = &diff->totals[DIFF_DEVICE_TIME];
    double *ratios = malloc((diff->row_count + 1) * sizeof *ratios), found = NAN;
    size_t count = 0;
    for (size_t r = 0; ratios && r < diff->row_count; r++) {
        const struct diff_row *row = &diff->rows[r];
        double means[DIFF_SIDES];
        bool is_large = false;
        if (row->kind != DIFF_OP_ROW || !row->matched || row->shapes[DIFF_A] != row->shapes[DIFF_B])
            continue;
        for (int side = 0; side < DIFF_SIDES; side++) {
            means[side] = row->total_ns[side] * per[side] / (double)row->counts[side];
            is_large |= row->total_ns[side] >= LEAST_SHARE * device->values[side];
        }
        if (is_large && means[DIFF_A] > 0 && means[DIFF_B] > 0)
            ratios[count++] = means[DIFF_B] / means[DIFF_A];
    }
    if (count >= LEAST_ROWS)
        found = stats_median(ratios, count);
    free(ratios);
    return found;
}

/* What the ops took, at the speed that the machine had in both runs. */
static void hold_against_speed(struct diff *diff, const double per[DIFF_SIDES])
{
    struct diff_step_test *t = &diff->step_test;
    const struct diff_total *device = &diff->totals[DIFF_DEVICE_TIME];
    bool is_cpu = diff->runs[DIFF_A].is_cpu && diff->runs[DIFF_B].is_cpu;
    if (isnan(t->at_speed) || !is_cpu || !device->is_there || !(device->values[DIFF_A] > 0)) {
        t->at_speed = NAN;
        return;
    }
    t->at_speed = device->values[DIFF_B] / device->values[DIFF_A] / find_slowdown(diff, per);
    if (t->at_speed >= DIFF_MORE_WORK || t->at_speed <= 1 / DIFF_MORE_WORK)
        t->is_noise = false;
    else if (t->at_speed < SAME_SPEED && t->at_speed > 1 / SAME_SPEED)
        t->is_noise = true;
}

void diff_apply_basis(struct diff *diff)
{
    if (!diff->is_per_step)
        return;
    const double per[DIFF_SIDES] = {diff_per(diff, &diff->runs[DIFF_A]), diff_per(diff, &diff->runs[DIFF_B])};
    divide_rows(diff, per);
    divide_groups(diff, per);
    divide_totals(diff, per);
    hold_against_speed(diff, per);
    set_step_total(diff);
    if (!diff->has_ops)
        diff->totals[DIFF_TOTAL] = diff->totals[DIFF_STEP];
}

int diff_compare_counts(const struct diff *diff, const struct diff_row *row)
{
    double a = (double)row->counts[DIFF_A] / diff_per(diff, &diff->runs[DIFF_A]);
    double b = (double)row->counts[DIFF_B] / diff_per(diff, &diff->runs[DIFF_B]);
    return (b > a * (1 + 1e-9)) - (a > b * (1 + 1e-9));
}
