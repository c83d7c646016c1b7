/* SPDX-License-Identifier: Apache-2.0 */
/* Ops in groups, with the time that they had their device for themselves. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/overview/internal.h"
#include "base/map.h"

/* --- alone --- */

/* The time of a run in ticks of its device. What is between its ticks may be more than that: cores wait for the next op
 * as soon as they are done with the last one. */
static uint64_t ticks_of(const struct overview *o, const struct ops *ops, const struct op_run *run)
{
    const struct op_figure *between = ops_find_figure(ops, run->first_figure, run->figures, o->perf.ticks_ns);
    struct op_ticks at = ops_ticks(ops, run);
    uint64_t whole = at.end - at.start;
    double ticks = between && between->whole
                       ? (double)run->duration_ns * ((double)whole / (double)between->whole)
                       : (double)whole;
    return ticks > 0 && ticks < (double)whole ? (uint64_t)ticks : whole;
}

/* When a run had the device, in whatever unit all runs of its source have; false: not known. */
static bool run_span(const struct overview *o, const struct ops *ops, const struct op_run *run,
                     struct placed_span *span)
{
    struct op_ticks at = ops_ticks(ops, run);
    if (run->duration_ns == OPS_NO_DURATION || run->faults & OP_FAULT_STALE)
        return false;
    if (run->track != OPS_NONE)
        *span = (struct placed_span){.start = run->start_ns, .end = run->start_ns + run->duration_ns};
    else if (at.end > at.start)
        *span = (struct placed_span){.start = at.end - ticks_of(o, ops, run), .end = at.end};
    else
        return false;
    span->place = run->device;
    return span->end > span->start;
}

int overview_find_alone(struct overview *o, const struct ops *ops, struct error *err)
{
    struct placed_span *spans = calloc(ops->run_count + 1, sizeof *spans);
    uint64_t *alone = calloc(ops->run_count + 1, sizeof *alone);
    size_t count = 0;
    o->alone = malloc((ops->run_count + 1) * sizeof o->alone[0]);
    bool is_done = spans && alone && o->alone;
    for (size_t i = 0; i < ops->run_count && is_done; i++) {
        o->alone[i] = NAN;
        if (!run_span(o, ops, &ops->runs[i], &spans[count]))
            continue;
        spans[count].id = (uint32_t)i;
        if (ops->runs[i].track == OPS_NONE && !o->perf.has_sub_devices)
            o->alone[i] = 1; /* one op after the other has the whole device */
        else
            count++;
    }
    is_done = is_done && time_spans_alone(spans, count, alone);
    for (size_t i = 0; i < count && is_done; i++)
        o->alone[spans[i].id] = (double)alone[spans[i].id] / (double)(spans[i].end - spans[i].start);
    free(spans);
    free(alone);
    return is_done ? 0 : error_no_memory(err, "the runs of ops");
}

/* --- groups --- */

struct group {                  /* what is summed up beside the figures that are shown */
    double bounds[PERF_BOUNDS]; /* time by what bounds it */
    double dram, dram_ns, flops, flops_ns, most_ns;
};

struct member {
    uint32_t group;
    double ns;
};

struct grouping {
    struct overview_ops *groups;
    size_t capacity, more_capacity, member_count;
    struct group *more;
    struct member *members;
    struct map index;
};

static uint64_t key_of(const struct overview *o, enum overview_group by, size_t i)
{
    const struct perf_row *row = perf_at(&o->perf, i);
    const struct perf_work *work = perf_work_of(&o->perf, row);
    uint64_t is_host = (uint64_t)(row->kind == PERF_HOST_OP) << 40;
    switch (by) {
    case OVERVIEW_BY_NOTHING:
        return i;
    case OVERVIEW_BY_KIND:
        return is_host | work->class_;
    case OVERVIEW_BY_OP:
        return is_host | work->name;
    default:
        return is_host | overview_row_name(o, row);
    }
}

static uint32_t find_group(struct grouping *g, const struct overview *o, enum overview_group by, size_t i)
{
    const struct perf_row *row = perf_at(&o->perf, i);
    const struct perf_work *work = perf_work_of(&o->perf, row);
    uint64_t key = key_of(o, by, i);
    uint32_t id = map_get(&g->index, key);
    if (id != MAP_NONE)
        return id;
    id = (uint32_t)g->groups->count;
    if (!array_reserve(&g->groups->items, &g->capacity, id + (size_t)1, sizeof g->groups->items[0]) ||
        !array_reserve(&g->more, &g->more_capacity, id + (size_t)1, sizeof g->more[0]) ||
        !map_put(&g->index, key, id))
        return MAP_NONE;
    g->groups->count++;
    g->more[id] = (struct group){0};
    g->groups->items[id] = (struct overview_op){.name = by == OVERVIEW_BY_OP     ? work->name
                                                        : by == OVERVIEW_BY_KIND ? OPS_NONE
                                                                                 : overview_row_name(o, row),
                                                .class_ = work->class_,
                                                .is_host = row->kind == PERF_HOST_OP,
                                                .row = (uint32_t)i};
    return id;
}

static void add_row(struct grouping *g, const struct overview *o, uint32_t id, size_t i)
{
    const struct perf *perf = &o->perf;
    const struct perf_row *row = perf_at(perf, i);
    const struct perf_figures figures = perf_figures(perf, row);
    struct overview_op *op = &g->groups->items[id];
    struct group *more = &g->more[id];
    uint32_t run = perf_line(perf, row)->run;
    double ns = perf_time_us(row) * 1000;
    op->count++;
    op->gap_ns += row->shown_gap_us > 0 ? row->shown_gap_us * 1000 : 0;
    if (isnan(ns))
        return;
    op->device_ns += ns;
    op->alone_ns += run == OPS_NONE ? NAN : ns * o->alone[run];
    /* The time of an estimate is what its model says: nothing bounds it. */
    if (row->bound < PERF_BOUNDS && !perf_is_estimated(perf, row))
        more->bounds[row->bound] += ns;
    op->doubt = row->doubt > op->doubt ? row->doubt : op->doubt;
    if (!isnan(figures.dram_percent) && !row->doubt) {
        more->dram += figures.dram_percent * ns;
        more->dram_ns += ns;
    }
    if (!isnan(figures.flops_percent) && !row->doubt) {
        more->flops += figures.flops_percent * ns;
        more->flops_ns += ns;
    }
    if (ns > more->most_ns) {
        more->most_ns = ns;
        op->row = (uint32_t)i;
    }
    g->members[g->member_count++] = (struct member){id, ns};
}

static int compare_members(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return (a->ns > b->ns) - (a->ns < b->ns);
}

/* Means, shares, percentiles (nearest rank), what bounds most of the time. */
static void finish_groups(struct grouping *g)
{
    double whole = 0;
    if (g->member_count)
        qsort(g->members, g->member_count, sizeof g->members[0], compare_members);
    for (size_t i = 0; i < g->groups->count; i++) {
        struct overview_op *op = &g->groups->items[i];
        struct group *more = &g->more[i];
        whole += op->device_ns;
        for (unsigned b = 0; b < PERF_BOUNDS; b++)
            op->bound = more->bounds[b] > more->bounds[op->bound] ? (uint8_t)b : op->bound;
        op->dram_percent = more->dram_ns > 0 ? more->dram / more->dram_ns : NAN;
        op->flops_percent = more->flops_ns > 0 ? more->flops / more->flops_ns : NAN;
        op->mean_ns = op->p50_ns = op->p99_ns = NAN;
    }
    for (size_t i = 0; i < g->groups->count; i++)
        g->groups->items[i].share = whole > 0 ? g->groups->items[i].device_ns / whole : 0;
    for (size_t first = 0, last; first < g->member_count; first = last) {
        for (last = first; last < g->member_count && g->members[last].group == g->members[first].group;)
            last++;
        struct overview_op *op = &g->groups->items[g->members[first].group];
        size_t count = last - first;
        op->mean_ns = op->device_ns / (double)count;
        op->p50_ns = g->members[first + (count * 50 + 99) / 100 - 1].ns;
        op->p99_ns = g->members[first + (count * 99 + 99) / 100 - 1].ns;
    }
}

static int compare_groups(const void *left, const void *right)
{
    const struct overview_op *a = left, *b = right;
    if (a->device_ns != b->device_ns)
        return a->device_ns < b->device_ns ? 1 : -1;
    return (a->row > b->row) - (a->row < b->row);
}

int overview_group_ops(const struct overview *o, enum overview_group by, struct overview_ops *groups,
                       struct error *err)
{
    struct grouping g = {.groups = groups, .members = malloc((o->perf.count + 1) * sizeof g.members[0])};
    bool is_done = g.members != NULL;
    *groups = (struct overview_ops){0};
    for (size_t i = 0; i < o->perf.count && is_done; i++) {
        if (perf_at(&o->perf, i)->kind == PERF_SIGNPOST)
            continue;
        uint32_t id = find_group(&g, o, by, i);
        is_done = id != MAP_NONE;
        if (is_done)
            add_row(&g, o, id, i);
    }
    if (is_done) {
        finish_groups(&g);
        if (groups->count)
            qsort(groups->items, groups->count, sizeof groups->items[0], compare_groups);
    }
    free(g.members);
    free(g.more);
    map_free(&g.index);
    if (is_done)
        return 0;
    overview_ops_free(groups);
    return error_no_memory(err, "the groups of ops");
}

void overview_ops_free(struct overview_ops *groups)
{
    free(groups->items);
    *groups = (struct overview_ops){0};
}

/* --- members --- */

static const char *group_name(const struct overview *o, enum overview_group by, size_t i)
{
    const struct perf_row *row = perf_at(&o->perf, i);
    const struct perf_work *work = perf_work_of(&o->perf, row);
    if (by == OVERVIEW_BY_KIND)
        return row->kind == PERF_HOST_OP ? "host" : perf_class_text(work->class_);
    return perf_text(&o->perf, by == OVERVIEW_BY_OP ? work->name : overview_row_name(o, row));
}

static int compare_costs(const void *left, const void *right, void *context)
{
    const struct overview *o = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    double x = perf_time_us(perf_at(&o->perf, a)), y = perf_time_us(perf_at(&o->perf, b));
    x = isnan(x) ? -1 : x;
    y = isnan(y) ? -1 : y;
    if (x != y)
        return x < y ? 1 : -1;
    return (a > b) - (a < b);
}

uint32_t *overview_rows_of(const struct overview *o, enum overview_group by, const char *name, size_t *count)
{
    uint32_t *rows = malloc((o->perf.count + 1) * sizeof *rows);
    *count = 0;
    for (size_t i = 0; i < o->perf.count && rows; i++) {
        if (perf_at(&o->perf, i)->kind != PERF_SIGNPOST && strcmp(group_name(o, by, i), name) == 0)
            rows[(*count)++] = (uint32_t)i;
    }
    if (rows)
        qsort_r(rows, *count, sizeof *rows, compare_costs, (void *)(uintptr_t)o);
    return rows;
}
