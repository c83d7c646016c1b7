/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of two runs: matched, gathered into rows of equal ops, judged, summed by group.
 *
 * A row is a pair of keys, A's and B's, that were matched; ops that found no partner go to a row of their key where
 * there is one, so that a call more or less is a count and not a new op. The pairs of a row are brought together by a
 * counting sort over all pairs: memory stays at a few numbers an op. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diff/diff.h"
#include "analyze/diff/stats.h"

#define NO_ROW UINT32_MAX

struct gathering {
    struct diff *diff;
    struct intern pairs;              /* (A's key, B's key) to row */
    uint32_t *row_of_key[DIFF_SIDES]; /* a row with this key on that side */
    uint32_t *row_of_op;              /* by op of A: the row of its pair */
    uint32_t *first, *order;          /* by row: where its pairs begin in `order`, which has ops of A */
    double *values, *changes;         /* room for the pairs of a row */
    double variance[2], covered_ns[2], structure[2]; /* of device time and of time with gaps */
    double gap_variance, gap_structure, gap_covered;
};

/* --- rows --- */

static struct diff_row *row_of_keys(struct gathering *g, uint32_t a_key, uint32_t b_key, uint32_t *index)
{
    struct diff *diff = g->diff;
    const uint32_t pair[2] = {a_key, b_key};
    size_t known = g->pairs.count;
    uint32_t id = intern_add(&g->pairs, pair, sizeof pair);
    if (id == INTERN_NONE)
        return NULL;
    *index = id;
    if (id < known)
        return &diff->rows[id];
    const struct diff_key *key = &diff->keys[b_key == INTERN_NONE ? a_key : b_key];
    struct diff_row *row = diff_add_row(diff);
    if (!row)
        return NULL;
    row->kind = DIFF_OP_ROW;
    row->name = key->name;
    row->location = key->location;
    row->group = key->group;
    if (a_key != INTERN_NONE) {
        row->shapes[DIFF_A] = diff->keys[a_key].shape;
        if (g->row_of_key[DIFF_A][a_key] == NO_ROW)
            g->row_of_key[DIFF_A][a_key] = id;
    }
    if (b_key != INTERN_NONE) {
        row->shapes[DIFF_B] = diff->keys[b_key].shape;
        if (g->row_of_key[DIFF_B][b_key] == NO_ROW)
            g->row_of_key[DIFF_B][b_key] = id;
    }
    return row;
}

static void add_time(const struct diff *diff, struct diff_row *row, int side, const struct diff_op *op)
{
    double time = diff_op_time(diff, op);
    row->counts[side]++;
    row->total_ns[side] += isnan(time) ? 0 : time;
}

static bool is_op(const struct diff *diff, int side, size_t i)
{
    return diff->keys[diff->runs[side].ops[i].key].kind != DIFF_SIGNPOST;
}

static bool gather_pairs(struct gathering *g)
{
    struct diff *diff = g->diff;
    const struct diff_run *a = &diff->runs[DIFF_A], *b = &diff->runs[DIFF_B];
    for (size_t i = 0; i < a->op_count; i++) {
        uint32_t other = diff->align.b_of_a[i], index;
        g->row_of_op[i] = NO_ROW;
        if (other == ALIGN_NONE || !is_op(diff, DIFF_A, i))
            continue;
        struct diff_row *row = row_of_keys(g, a->ops[i].key, b->ops[other].key, &index);
        if (!row)
            return false;
        add_time(diff, row, DIFF_A, &a->ops[i]);
        add_time(diff, row, DIFF_B, &b->ops[other]);
        row->matched++;
        g->row_of_op[i] = index;
        diff->matched++;
        diff->reshaped += row->shapes[DIFF_A] != row->shapes[DIFF_B];
    }
    return true;
}

/* Part of the change of the totals that is not noise: the op is there or it is not. */
static void add_structure(struct gathering *g, int side, const struct diff_op *op)
{
    double sign = side == DIFF_B ? 1 : -1, time = diff_op_time(g->diff, op);
    bool is_device = g->diff->keys[op->key].kind == DIFF_DEVICE_OP || g->diff->is_host_time;
    double gap = op->gap_ns > 0 ? op->gap_ns : 0;
    time = isnan(time) || !is_device ? 0 : time;
    g->structure[0] += sign * time;
    g->structure[1] += sign * (time + gap);
    g->gap_structure += sign * gap;
}

static bool gather_rest(struct gathering *g)
{
    struct diff *diff = g->diff;
    for (int side = 0; side < DIFF_SIDES; side++) {
        const struct diff_run *run = &diff->runs[side];
        for (size_t i = 0; i < run->op_count; i++) {
            uint32_t other = side == DIFF_A ? diff->align.b_of_a[i] : diff->a_of_b[i];
            uint32_t key = run->ops[i].key, index;
            if (other != ALIGN_NONE || !is_op(diff, side, i))
                continue;
            uint32_t at = g->row_of_key[side][key];
            if (at == NO_ROW)
                at = g->row_of_key[!side][key]; /* gone here and new there: one row */
            struct diff_row *row = at != NO_ROW ? &diff->rows[at]
                                                : row_of_keys(g, side == DIFF_A ? key : INTERN_NONE,
                                                              side == DIFF_B ? key : INTERN_NONE, &index);
            if (!row)
                return false;
            row->shapes[side] = diff->keys[key].shape;
            add_time(diff, row, side, &run->ops[i]);
            add_structure(g, side, &run->ops[i]);
            diff->added += side == DIFF_B;
            diff->removed += side == DIFF_A;
        }
    }
    return true;
}

static void sort_pairs(struct gathering *g)
{
    const struct diff *diff = g->diff;
    size_t count = diff->runs[DIFF_A].op_count;
    for (size_t i = 0; i < count; i++) {
        if (g->row_of_op[i] != NO_ROW)
            g->first[g->row_of_op[i] + 1]++;
    }
    for (size_t r = 0; r < diff->row_count; r++)
        g->first[r + 1] += g->first[r];
    for (size_t i = 0; i < count; i++) {
        if (g->row_of_op[i] != NO_ROW)
            g->order[g->first[g->row_of_op[i]]++] = (uint32_t)i;
    }
    for (size_t r = diff->row_count; r > 0; r--) /* each start was moved to its end */
        g->first[r] = g->first[r - 1];
    g->first[0] = 0;
}

/* --- judging a row --- */

struct moments {
    double sum, squares;
    size_t count;
};

static void add_value(struct moments *m, double value)
{
    m->sum += value;
    m->squares += value * value;
    m->count++;
}

/* Of the sum of the values: n times their variance. 0 of fewer than two. */
static double sum_variance(const struct moments *m)
{
    double n = (double)m->count;
    if (m->count < 2)
        return 0;
    return fmax(0, (m->squares - m->sum * m->sum / n) / (n - 1)) * n;
}

/* The pairs' differences and relative changes; how they spread goes into the totals' margins. */
static size_t take_pairs(struct gathering *g, size_t r, bool *agree)
{
    struct diff *diff = g->diff;
    const struct diff_op *a = diff->runs[DIFF_A].ops, *b = diff->runs[DIFF_B].ops;
    struct moments times = {0}, both = {0}, gaps = {0};
    size_t count = 0, up = 0, down = 0;
    double covered = 0, covered_gap = 0;
    for (size_t i = g->first[r]; i < g->first[r + 1]; i++) {
        const struct diff_op *left = &a[g->order[i]], *right = &b[diff->align.b_of_a[g->order[i]]];
        double x = diff_op_time(diff, left), y = diff_op_time(diff, right);
        double gap = (right->gap_ns > 0 ? right->gap_ns : 0) - (left->gap_ns > 0 ? left->gap_ns : 0);
        add_value(&gaps, gap);
        add_value(&both, gap + (isnan(x) || isnan(y) ? 0 : y - x));
        covered_gap += left->gap_ns > 0 ? left->gap_ns : 0;
        if (isnan(x) || isnan(y))
            continue;
        add_value(&times, y - x);
        covered += x;
        up += y > x;
        down += y < x;
        g->values[count] = y - x;
        g->changes[count++] = x > 0 ? (y - x) / x * 100 : y > x ? INFINITY : 0;
    }
    *agree = count && (up == count || down == count);
    const struct diff_key *key = &diff->keys[a[g->order[g->first[r]]].key];
    bool is_device = key->kind == DIFF_DEVICE_OP || diff->is_host_time;
    if (times.count > 1)
        diff->rows[r].variance = sum_variance(&times);
    g->gap_variance += sum_variance(&gaps);
    g->variance[1] += sum_variance(is_device ? &both : &gaps);
    g->variance[0] += is_device ? sum_variance(&times) : 0;
    if (times.count > 1 && is_device)
        g->covered_ns[0] += covered;
    if (both.count > 1)
        g->covered_ns[1] += (is_device ? covered : 0) + covered_gap;
    if (gaps.count > 1)
        g->gap_covered += covered_gap;
    return count;
}

static double median_of_side(struct gathering *g, size_t r, int side, double *values)
{
    const struct diff *diff = g->diff;
    size_t count = 0;
    for (size_t i = g->first[r]; i < g->first[r + 1]; i++) {
        uint32_t at = g->order[i];
        const struct diff_op *op = &diff->runs[side].ops[side == DIFF_A ? at : diff->align.b_of_a[at]];
        double time = diff_op_time(diff, op);
        if (!isnan(time))
            values[count++] = time;
    }
    return stats_median(values, count);
}

static void judge_row(struct gathering *g, size_t r)
{
    struct diff *diff = g->diff;
    struct diff_row *row = &diff->rows[r];
    double a = row->total_ns[DIFF_A], b = row->total_ns[DIFF_B];
    bool agree = false;
    size_t count = row->matched ? take_pairs(g, r, &agree) : 0;
    row->change_ns = b - a;
    row->change_percent = a > 0 ? (b - a) / a * 100 : b > 0 ? NAN : 0;
    row->evidence = DIFF_NO_SPREAD;
    if (count) {
        row->typical_percent = stats_median(g->changes, count);
        if (count > 1)
            row->p = stats_signed_rank(g->values, count);
        if (count > 1 && stats_signed_rank_least(count) < diff->options.alpha_percent / 100)
            row->evidence = DIFF_TESTED;
        else if (count > 1)
            row->evidence = DIFF_TOO_FEW;
        row->typical_ns[DIFF_A] = median_of_side(g, r, DIFF_A, g->values);
        row->typical_ns[DIFF_B] = median_of_side(g, r, DIFF_B, g->values);
        if (!isfinite(row->typical_percent))
            row->typical_percent = row->typical_percent > 0 ? 1e9 : NAN;
    }
    diff_judge(diff, row, agree);
}

static void set_margin(struct diff_total *total, double variance, double covered, double whole,
                       double structure)
{
    total->structure = structure;
    total->covered = whole > 0 ? covered / whole : 0;
    total->margin = covered > 0 ? 2.576 * sqrt(variance) : NAN;
}

/* --- groups --- */

static int compare_groups(const void *left, const void *right)
{
    const struct diff_group *a = left, *b = right;
    double x = fabs(a->change_ns), y = fabs(b->change_ns);
    if (x != y)
        return x < y ? 1 : -1;
    return (a->name > b->name) - (a->name < b->name);
}

static int make_groups(struct diff *diff, struct error *err)
{
    uint32_t *group_of = malloc((diff->texts.count + 1) * sizeof *group_of);
    size_t none = diff->texts.count;
    for (size_t i = 0; group_of && i <= none; i++)
        group_of[i] = NO_ROW;
    for (int side = 0; side < DIFF_SIDES && group_of; side++) {
        const struct diff_run *run = &diff->runs[side];
        for (size_t i = 0; i < run->op_count; i++) {
            const struct diff_key *key = &diff->keys[run->ops[i].key];
            size_t at = key->group == DIFF_NO_TEXT ? none : key->group;
            if (key->kind == DIFF_SIGNPOST)
                continue;
            if (group_of[at] == NO_ROW) {
                if (!array_reserve(&diff->groups, &diff->group_capacity, diff->group_count + 1,
                                   sizeof *diff->groups)) {
                    free(group_of);
                    return error_no_memory(err, "groups of ops");
                }
                group_of[at] = (uint32_t)diff->group_count;
                diff->groups[diff->group_count++] = (struct diff_group){.name = key->group};
            }
            struct diff_group *group = &diff->groups[group_of[at]];
            double time = diff_op_time(diff, &run->ops[i]);
            group->counts[side]++;
            group->time_ns[side] += isnan(time) ? 0 : time;
            group->gap_ns[side] += run->ops[i].gap_ns > 0 ? run->ops[i].gap_ns : 0;
        }
    }
    if (!group_of)
        return error_no_memory(err, "groups of ops");
    free(group_of);
    for (size_t i = 0; i < diff->group_count; i++) {
        struct diff_group *group = &diff->groups[i];
        double a = group->time_ns[DIFF_A], b = group->time_ns[DIFF_B];
        group->change_ns = b - a;
        group->change_percent = a > 0 ? (b - a) / a * 100 : b > 0 ? NAN : 0;
    }
    if (diff->group_count)
        qsort(diff->groups, diff->group_count, sizeof *diff->groups, compare_groups);
    return 0;
}

/* --- --- */

static bool gathering_begin(struct gathering *g)
{
    struct diff *diff = g->diff;
    size_t a_count = diff->runs[DIFF_A].op_count, b_count = diff->runs[DIFF_B].op_count;
    diff->a_of_b = malloc((b_count + 1) * sizeof *diff->a_of_b);
    g->row_of_op = malloc((a_count + 1) * sizeof *g->row_of_op);
    g->order = malloc((a_count + 1) * sizeof *g->order);
    g->values = malloc((a_count + 1) * sizeof *g->values);
    g->changes = malloc((a_count + 1) * sizeof *g->changes);
    for (int side = 0; side < DIFF_SIDES; side++) {
        g->row_of_key[side] = malloc((diff->key_count + 1) * sizeof(uint32_t));
        for (size_t i = 0; g->row_of_key[side] && i <= diff->key_count; i++)
            g->row_of_key[side][i] = NO_ROW;
    }
    if (!diff->a_of_b || !g->row_of_op || !g->order || !g->values || !g->changes || !g->row_of_key[0] ||
        !g->row_of_key[1])
        return false;
    for (size_t i = 0; i < b_count; i++)
        diff->a_of_b[i] = ALIGN_NONE;
    for (size_t i = 0; i < a_count; i++) {
        if (diff->align.b_of_a[i] != ALIGN_NONE)
            diff->a_of_b[diff->align.b_of_a[i]] = (uint32_t)i;
    }
    return true;
}

static bool judge_all(struct gathering *g)
{
    struct diff *diff = g->diff;
    const struct diff_run *a = &diff->runs[DIFF_A];
    g->first = calloc(diff->row_count + 2, sizeof *g->first);
    if (!g->first)
        return false;
    sort_pairs(g);
    for (size_t r = 0; r < diff->row_count; r++)
        judge_row(g, r);
    double device = diff->is_host_time ? a->host_ns : a->device_ns;
    set_margin(&diff->totals[DIFF_DEVICE_TIME], g->variance[0], g->covered_ns[0], device, g->structure[0]);
    set_margin(&diff->totals[DIFF_TOTAL], g->variance[1], g->covered_ns[1], device + a->gap_ns,
               g->structure[1]);
    set_margin(&diff->totals[DIFF_GAP], g->gap_variance, g->gap_covered, a->gap_ns, g->gap_structure);
    if (diff->is_host_time)
        diff->totals[DIFF_HOST_TIME] = diff->totals[DIFF_DEVICE_TIME];
    return true;
}

int diff_compare_ops(struct diff *diff, struct error *err)
{
    struct gathering g = {.diff = diff};
    int status = diff_match_ops(diff, err);
    if (!status && (!gathering_begin(&g) || !gather_pairs(&g) || !gather_rest(&g) || !judge_all(&g)))
        status = error_set(err, ENOMEM, "no memory to compare %zu with %zu ops", diff->runs[DIFF_A].op_count,
                           diff->runs[DIFF_B].op_count);
    intern_free(&g.pairs);
    for (int side = 0; side < DIFF_SIDES; side++)
        diff->row_of_key[side] = g.row_of_key[side]; /* for further runs */
    free(g.row_of_op);
    free(g.first);
    free(g.order);
    free(g.values);
    free(g.changes);
    return status ? status : make_groups(diff, err);
}
