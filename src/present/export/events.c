/* SPDX-License-Identifier: Apache-2.0 */
#include "present/export/events.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/count_of.h"

bool export_lanes_open(struct export_lanes *lanes, size_t row_count)
{
    *lanes = (struct export_lanes){.row_count = row_count};
    lanes->rows = calloc(row_count + 1, sizeof *lanes->rows);
    return lanes->rows;
}

void export_lanes_close(struct export_lanes *lanes)
{
    for (size_t i = 0; lanes->rows && i < lanes->row_count; i++)
        free(lanes->rows[i].last_end_ns);
    free(lanes->rows);
    *lanes = (struct export_lanes){0};
}

uint32_t export_lanes_take(struct export_lanes *lanes, size_t row_number, uint64_t start_ns, uint64_t end_ns)
{
    struct export_lane_row *row = &lanes->rows[row_number];
    for (size_t i = 0; i < row->count; i++) {
        if (row->last_end_ns[i] <= start_ns) {
            row->last_end_ns[i] = end_ns;
            return (uint32_t)i;
        }
    }
    if (!array_reserve(&row->last_end_ns, &row->capacity, row->count + 1, sizeof *row->last_end_ns))
        return UINT32_MAX;
    row->last_end_ns[row->count] = end_ns;
    return (uint32_t)row->count++;
}

/* What the callbacks of one kind of row share. */
struct loop {
    struct export_job *job;
    const struct export_events *events;
    struct export_lanes lanes;
    struct sort_entry {
        struct export_span span;
        uint32_t index;
    } * order;
    size_t order_capacity;
};

static int visit_points(void *context, const struct trace_rows *rows)
{
    struct loop *loop = context;
    int result = 0;
    for (size_t i = 0; i < rows->count && result == 0; i++) {
        const struct trace_point *point = &rows->points[i];
        uint64_t ns = point->time;
        if (!export_wants_point(loop->job, point, ns))
            continue;
        loop->job->counts->points++;
        result = loop->events->point(loop->events->context, point, ns);
        if (result == 0)
            result = export_flush(loop->job, false);
    }
    return result;
}

static int visit_counters(void *context, const struct trace_rows *rows)
{
    struct loop *loop = context;
    struct export_job *job = loop->job;
    int result = 0;
    for (size_t i = 0; i < rows->count && result == 0; i++) {
        const struct trace_counter *counter = &rows->counters[i];
        uint64_t ns = counter->time;
        if (!export_wants_zone(job, counter->track, counter->name, ns, ns))
            continue;
        job->counts->counters++;
        result = loop->events->counter(loop->events->context, export_track_process(job, counter->track),
                                       trace_get_name(job->trace, counter->name)->name, ns, counter->value);
        if (result == 0)
            result = export_flush(job, false);
    }
    return result;
}

static int compare_spans(const void *a, const void *b)
{
    const struct sort_entry *left = a, *right = b;
    if (left->span.start_ns != right->span.start_ns)
        return left->span.start_ns < right->span.start_ns ? -1 : 1;
    if (left->span.end_ns != right->span.end_ns) /* the longer one outside */
        return left->span.end_ns > right->span.end_ns ? -1 : 1;
    return left->index < right->index ? -1 : left->index > right->index;
}

static bool reserve_order(struct loop *loop, size_t count)
{
    return array_reserve(&loop->order, &loop->order_capacity, count, sizeof *loop->order);
}

/* Rows of a block come as their ops ended; lanes need them as they began. */
static int take_lane(struct loop *loop, uint32_t track, struct export_span *span)
{
    span->lane = 0;
    if (track < loop->lanes.row_count)
        span->lane = export_lanes_take(&loop->lanes, track, span->start_ns, span->end_ns);
    return span->lane == UINT32_MAX ? export_no_memory(loop->job) : 0;
}

/* Adds row i of a block to those that are to be written, if it is wanted; *count is how many there are. */
static void keep_span(struct loop *loop, size_t *count, uint32_t track, uint32_t name,
                      struct export_span span, size_t i)
{
    span.end_ns = span.end_ns < span.start_ns ? span.start_ns : span.end_ns;
    if (export_wants_zone(loop->job, track, name, span.start_ns, span.end_ns))
        loop->order[(*count)++] = (struct sort_entry){.span = span, .index = (uint32_t)i};
}

static void sort_spans(struct loop *loop, size_t count)
{
    if (count)
        qsort(loop->order, count, sizeof *loop->order, compare_spans);
}

static struct export_span op_span(const struct export_job *job, const struct trace_op *op)
{
    bool is_open = op->end_ns == 0;
    return (struct export_span){.start_ns = op->start_ns,
                                .end_ns = is_open ? trace_track_seen_ns(job->trace, op->track) : op->end_ns,
                                .is_open = is_open};
}

static struct export_span run_span(const struct export_job *job, const struct trace_run *run)
{
    uint64_t end = saturating_add_u64(run->start, run->duration);
    return (struct export_span){.start_ns = export_host_ns(job, run->track, run->start),
                                .end_ns = export_host_ns(job, run->track, end)};
}

/* The ops of a block, or the runs. */
static int visit_spans(struct loop *loop, const struct trace_rows *rows, bool are_runs)
{
    struct export_job *job = loop->job;
    const struct export_events *events = loop->events;
    size_t count = 0;
    int result = 0;
    if (!reserve_order(loop, rows->count))
        return export_no_memory(job);
    for (size_t i = 0; i < rows->count; i++) {
        if (are_runs)
            keep_span(loop, &count, rows->runs[i].track, rows->runs[i].name, run_span(job, &rows->runs[i]),
                      i);
        else
            keep_span(loop, &count, rows->ops[i].track, rows->ops[i].name, op_span(job, &rows->ops[i]), i);
    }
    sort_spans(loop, count);
    for (size_t i = 0; i < count && result == 0; i++) {
        struct export_span *span = &loop->order[i].span;
        size_t row = loop->order[i].index;
        result = take_lane(loop, are_runs ? rows->runs[row].track : rows->ops[row].track, span);
        if (result == 0)
            result = are_runs ? events->run(events->context, &rows->runs[row], span)
                              : events->op(events->context, &rows->ops[row], span);
        if (result == 0)
            result = export_flush(job, false);
        ++*(are_runs ? &job->counts->runs : &job->counts->ops);
    }
    return result;
}

static int visit_ops(void *context, const struct trace_rows *rows)
{
    return visit_spans(context, rows, false);
}

static int visit_runs(void *context, const struct trace_rows *rows)
{
    return visit_spans(context, rows, true);
}

static int each_loss(struct export_job *job, const struct export_events *events)
{
    size_t count;
    const struct trace_loss *losses = trace_get_losses(job->trace, &count);
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        if (!export_wants_loss(job, &losses[i]))
            continue;
        job->counts->losses++;
        result = events->loss(events->context, &losses[i]);
        if (result == 0)
            result = export_flush(job, false);
    }
    return result;
}

static int each_span(struct export_job *job, const struct export_events *events, uint32_t type,
                     export_rows_fn visit)
{
    struct loop loop = {.job = job, .events = events};
    int result = export_lanes_open(&loop.lanes, job->track_count) ? 0 : export_no_memory(job);
    if (result == 0)
        result = export_each_rows(job, type, visit, &loop);
    export_lanes_close(&loop.lanes);
    free(loop.order);
    return result;
}

int export_each_event(struct export_job *job, const struct export_events *events)
{
    struct loop loop = {.job = job, .events = events};
    job->progress_total =
        EXPORT_ORDER_PASSES * export_block_count(job, TRACE_BLOCK_ZONES) +
        export_block_count(job, TRACE_BLOCK_POINTS) + export_block_count(job, TRACE_BLOCK_COUNTERS) +
        export_block_count(job, TRACE_BLOCK_OPS) + export_block_count(job, TRACE_BLOCK_RUNS);
    /* Losses first: whoever reads only the beginning sees them. */
    int result = each_loss(job, events);
    if (result == 0)
        result = export_order_zones(job, &events->zones);
    if (result == 0)
        result = export_each_rows(job, TRACE_BLOCK_POINTS, visit_points, &loop);
    if (result == 0)
        result = export_each_rows(job, TRACE_BLOCK_COUNTERS, visit_counters, &loop);
    if (result == 0)
        result = export_each_memory(job, events);
    if (result == 0)
        result = each_span(job, events, TRACE_BLOCK_OPS, visit_ops);
    if (result == 0)
        result = each_span(job, events, TRACE_BLOCK_RUNS, visit_runs);
    return result;
}

const char *export_extra_name(struct export_extra_names *names, uint32_t kind)
{
    static const struct {
        uint32_t kind;
        const char *name;
    } known[] = {{TRACE_EXTRA_TEXT, "text"},
                 {TRACE_EXTRA_VALUE, "value"},
                 {TRACE_EXTRA_CALL, "call"},
                 {TRACE_EXTRA_COLOUR, "colour"}};
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (known[i].kind != kind)
            continue;
        if (++names->counts[i] == 1)
            return known[i].name;
        snprintf(names->name, sizeof names->name, "%s %u", known[i].name, (unsigned)names->counts[i]);
        return names->name;
    }
    return NULL;
}
