/* SPDX-License-Identifier: Apache-2.0 */
/* The path through a comparison, its totals and its words; the other files of this folder have its parts. */
#include "analyze/diff/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"

void diff_begin(struct diff *diff, const struct diff_options *options)
{
    *diff = (struct diff){.options = *options};
    if (!(diff->options.alpha_percent > 0))
        diff->options.alpha_percent = 1;
}

void diff_free_run(struct diff_run *run)
{
    for (size_t i = 0; i < run->zone_count; i++)
        free(run->zones[i].samples);
    free(run->zones);
    free(run->ops);
    free(run->roles);
    free(run->calls);
    window_steps_free(&run->steps);
    free(run->part_name);
    free(run->path);
}

void diff_free(struct diff *diff)
{
    for (int side = 0; side < DIFF_SIDES; side++) {
        diff_free_run(&diff->runs[side]);
        for (size_t i = 0; i < diff->extra_count[side]; i++) {
            diff_free_run(&diff->extras[side][i].run);
            free(diff->extras[side][i].sums);
        }
        free(diff->extras[side]);
        free(diff->row_of_key[side]);
    }
    intern_free(&diff->texts);
    intern_free(&diff->key_index);
    free(diff->keys);
    align_free(&diff->align);
    free(diff->a_of_b);
    free(diff->rows);
    free(diff->groups);
    bytes_free(&diff->scratch);
    *diff = (struct diff){0};
}

const char *diff_text(const struct diff *diff, uint32_t id)
{
    return id == DIFF_NO_TEXT ? "" : intern_text(&diff->texts, id);
}

uint32_t diff_intern(struct diff *diff, const void *data, size_t length)
{
    return intern_add(&diff->texts, length ? data : "", length);
}

uint32_t diff_find_key(struct diff *diff, const struct diff_key *key)
{
    size_t known = diff->key_index.count;
    uint32_t id = intern_add(&diff->key_index, key, sizeof *key);
    if (id == INTERN_NONE || id < known)
        return id;
    if (!array_reserve(&diff->keys, &diff->key_capacity, diff->key_count + 1, sizeof *diff->keys))
        return INTERN_NONE;
    diff->keys[diff->key_count++] = *key;
    return id;
}

struct diff_op *diff_add_op(struct diff *diff, int side)
{
    struct diff_run *run = &diff->runs[side];
    if (!array_reserve(&run->ops, &run->op_capacity, run->op_count + 1, sizeof *run->ops))
        return NULL;
    struct diff_op *op = &run->ops[run->op_count++];
    *op = (struct diff_op){.time_ns = NAN, .gap_ns = NAN, .host_ns = NAN};
    return op;
}

struct diff_op *diff_add_ops(struct diff *diff, int side, size_t count)
{
    struct diff_run *run = &diff->runs[side];
    struct diff_op *ops = realloc(run->ops, (run->op_count + count + 1) * sizeof *ops);
    if (!ops)
        return NULL;
    run->ops = ops;
    run->op_capacity = run->op_count + count + 1;
    ops += run->op_count;
    run->op_count += count;
    return ops;
}

struct diff_row *diff_add_row(struct diff *diff)
{
    if (!array_reserve(&diff->rows, &diff->row_capacity, diff->row_count + 1, sizeof *diff->rows))
        return NULL;
    struct diff_row *row = &diff->rows[diff->row_count++];
    *row = (struct diff_row){.name = DIFF_NO_TEXT,
                             .location = DIFF_NO_TEXT,
                             .group = DIFF_NO_TEXT,
                             .shapes = {DIFF_NO_TEXT, DIFF_NO_TEXT},
                             .self_ns = {NAN, NAN},
                             .typical_ns = {NAN, NAN},
                             .change_percent = NAN,
                             .typical_percent = NAN,
                             .p = NAN,
                             .variance = NAN};
    return row;
}

void diff_sum_run(struct diff *diff, int side)
{
    struct diff_run *run = &diff->runs[side];
    run->device_op_count = run->host_op_count = run->signpost_count = run->untimed_count = 0;
    run->device_ns = run->gap_ns = run->host_ns = 0;
    for (size_t i = 0; i < run->op_count; i++) {
        const struct diff_op *op = &run->ops[i];
        unsigned kind = diff->keys[op->key].kind;
        run->signpost_count += kind == DIFF_SIGNPOST;
        run->host_op_count += kind == DIFF_HOST_OP;
        run->device_op_count += kind == DIFF_DEVICE_OP;
        run->untimed_count += kind == DIFF_DEVICE_OP && isnan(op->time_ns);
        if (kind == DIFF_DEVICE_OP && !isnan(op->time_ns))
            run->device_ns += op->time_ns;
        if (kind != DIFF_SIGNPOST && !isnan(op->host_ns))
            run->host_ns += op->host_ns;
        run->gap_ns += op->gap_ns > 0 ? op->gap_ns : 0;
    }
}

/* --- judging --- */

void diff_judge(const struct diff *diff, struct diff_row *row, bool agree)
{
    double limit = diff->options.threshold_percent;
    bool is_large = fabs(row->typical_percent) > limit;
    bool is_sure = true;
    /* the sum that the row shows went the other way than most of its calls */
    bool is_opposite = fabs(row->change_percent) > limit && row->change_percent * row->typical_percent < 0;
    if (row->evidence == DIFF_TESTED || (row->evidence == DIFF_RUNS && !isnan(row->p)))
        is_sure = row->p < diff->options.alpha_percent / 100;
    else if (row->evidence != DIFF_NO_SPREAD)
        is_sure = agree;
    if (row->counts[DIFF_A] == 0)
        row->state = DIFF_NEW;
    else if (row->counts[DIFF_B] == 0)
        row->state = DIFF_GONE;
    else if (row->kind == DIFF_OP_ROW && row->matched && !diff->options.ignore_shape &&
             row->shapes[DIFF_A] != row->shapes[DIFF_B] && (is_large || fabs(row->change_percent) > limit))
        row->state = DIFF_RESHAPED;
    else if (is_large && is_sure && !is_opposite)
        row->state = row->typical_percent > 0 ? DIFF_SLOWER : DIFF_FASTER;
    else if (diff_compare_counts(diff, row) != 0 && (is_opposite || row->kind == DIFF_OP_ROW))
        row->state = diff_compare_counts(diff, row) > 0 ? DIFF_MORE : DIFF_FEWER;
    else if (is_large && is_sure)
        row->state = DIFF_MIXED;
    else if (is_large)
        row->state = DIFF_NOISE;
    else if (fabs(row->change_percent) > limit)
        row->state = diff->extra_count[DIFF_A] + diff->extra_count[DIFF_B] ? DIFF_NOISE : DIFF_OUTLIERS;
    else
        row->state = DIFF_SAME;
}

/* --- totals --- */

static void set_total(struct diff *diff, enum diff_total_kind kind, double a, double b, bool is_time)
{
    struct diff_total *total = &diff->totals[kind];
    total->is_there = true;
    total->is_time = is_time;
    total->values[DIFF_A] = a;
    total->values[DIFF_B] = b;
    total->change = b - a;
    total->change_percent = a > 0 ? (b - a) / a * 100 : b > 0 ? NAN : 0;
}

static void fill_totals(struct diff *diff)
{
    const struct diff_run *a = &diff->runs[DIFF_A], *b = &diff->runs[DIFF_B];
    for (size_t i = 0; i < DIFF_TOTALS; i++)
        diff->totals[i].is_there = false;
    if (diff->has_ops) {
        set_total(diff, DIFF_OP_COUNT, (double)(a->device_op_count + a->host_op_count),
                  (double)(b->device_op_count + b->host_op_count), false);
        if (!diff->is_host_time) {
            set_total(diff, DIFF_DEVICE_TIME, a->device_ns, b->device_ns, true);
            set_total(diff, DIFF_GAP, a->gap_ns, b->gap_ns, true);
            set_total(diff, DIFF_TOTAL, a->device_ns + a->gap_ns, b->device_ns + b->gap_ns, true);
        }
        if (a->host_ns > 0 || b->host_ns > 0)
            set_total(diff, DIFF_HOST_TIME, a->host_ns, b->host_ns, true);
    }
    if (a->wall_ns && b->wall_ns)
        set_total(diff, DIFF_WALL, (double)a->wall_ns, (double)b->wall_ns, true);
    if (diff->has_zones)
        set_total(diff, DIFF_ZONE_COUNT, (double)a->zones_total, (double)b->zones_total, false);
    if (!diff->totals[DIFF_TOTAL].is_there && diff->totals[DIFF_WALL].is_there) {
        struct diff_total *total = &diff->totals[DIFF_TOTAL];
        double before = total->margin;
        *total = diff->totals[DIFF_WALL];
        total->margin = before;
    }
}

/* --- --- */

static int compare_rows(const void *left, const void *right)
{
    const struct diff_row *a = left, *b = right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    double x = fabs(a->change_ns), y = fabs(b->change_ns);
    if (x != y)
        return x < y ? 1 : -1;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return a->shapes[1] != b->shapes[1] ? (a->shapes[1] < b->shapes[1] ? -1 : 1)
                                        : (a->location > b->location) - (a->location < b->location);
}

int diff_finish(struct diff *diff, struct error *err)
{
    const struct diff_run *a = &diff->runs[DIFF_A], *b = &diff->runs[DIFF_B];
    int status = 0;
    for (size_t i = 0; i < DIFF_TOTALS; i++)
        diff->totals[i] = (struct diff_total){.margin = NAN};
    for (int side = 0; side < DIFF_SIDES; side++)
        diff_sum_run(diff, side);
    diff->has_ops = a->device_op_count + a->host_op_count + b->device_op_count + b->host_op_count > 0;
    if (diff->has_ops)
        status = diff_drop_op_zones(diff, err);
    diff->has_zones = a->zone_count + b->zone_count > 0;
    diff->has_calls = a->call_count + b->call_count > 0;
    diff->is_host_time = !(a->device_ns > 0) && !(b->device_ns > 0);
    if (!status)
        status = diff_find_basis(diff, err);
    if (!status && diff->has_ops)
        status = diff_compare_ops(diff, err);
    if (!status && diff->has_zones)
        status = diff_compare_zones(diff, err);
    fill_totals(diff);
    diff_apply_basis(diff);
    if (!status && diff->has_calls)
        status = diff_compare_calls(diff, err);
    if (!status && diff->extra_count[DIFF_A] + diff->extra_count[DIFF_B])
        status = diff_apply_runs(diff, err);
    if (!status && diff->row_count)
        qsort(diff->rows, diff->row_count, sizeof *diff->rows, compare_rows);
    return status;
}

/* --- words --- */

const char *diff_state_text(unsigned state)
{
    static const char *const names[DIFF_STATES] = {
        [DIFF_SAME] = "same",     [DIFF_NOISE] = "noise",       [DIFF_SLOWER] = "slower",
        [DIFF_FASTER] = "faster", [DIFF_NEW] = "new",           [DIFF_GONE] = "gone",
        [DIFF_MORE] = "more",     [DIFF_FEWER] = "fewer",       [DIFF_RESHAPED] = "reshaped",
        [DIFF_MIXED] = "mixed",   [DIFF_OUTLIERS] = "outliers",
    };
    return state < DIFF_STATES ? names[state] : "";
}

const char *diff_evidence_text(unsigned evidence)
{
    static const char *const names[] = {
        [DIFF_NO_SPREAD] = "no spread", [DIFF_TESTED] = "tested", [DIFF_TOO_FEW] = "too few",
        [DIFF_INTERVALS] = "intervals", [DIFF_RUNS] = "runs",     [DIFF_ROUNDED] = "rounded"};
    return evidence < COUNT_OF(names) ? names[evidence] : "";
}

const char *diff_group_by_text(unsigned group_by)
{
    static const char *const names[] = {"op", "category", "location", "layer"};
    return group_by < COUNT_OF(names) ? names[group_by] : "";
}

const char *diff_total_text(unsigned total)
{
    static const char *const names[DIFF_TOTALS] = {
        [DIFF_STEP] = "time per step",
        [DIFF_DEVICE_TIME] = "device time",
        [DIFF_GAP] = "gaps",
        [DIFF_TOTAL] = "total",
        [DIFF_HOST_TIME] = "host time of ops",
        [DIFF_OP_COUNT] = "ops",
        [DIFF_WALL] = "wall clock",
        [DIFF_ZONE_COUNT] = "zones",
        [DIFF_DISPATCH] = "dispatch, ops in both",
    };
    return total < DIFF_TOTALS ? names[total] : "";
}
