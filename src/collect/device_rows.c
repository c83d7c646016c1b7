/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/device_rows.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/count_of.h"

#define SORT_ROWS 65536u

static int by_start(const void *a, const void *b)
{
    const struct device_row *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->duration > y->duration ? -1 : x->duration < y->duration;
}

struct lane {
    uint64_t start, end, child, call;
    uint32_t name;
    bool is_run;
};

static void pop_lane(struct zone_sink *sink, struct lane *lanes, uint32_t *depth)
{
    struct lane *lane = &lanes[--*depth];
    zone_sink_add(sink, *depth, lane->start, lane->end, lane->child, lane->name);
    if (lane->call) {
        struct trace_extra extra = {.kind = TRACE_EXTRA_CALL, .value = lane->call};
        zone_sink_extra(sink, &extra);
    }
    if (*depth)
        lanes[*depth - 1].child += lane->end - lane->start;
}

static bool is_inside(const struct lane *row, const struct lane *outer)
{
    return row->end <= outer->end && !(row->is_run && outer->is_run);
}

void device_rows_flush(struct device_rows *t, struct zone_sink *sink)
{
    struct lane lanes[64];
    uint32_t depth = 0;
    if (!t->count)
        return;
    qsort(t->rows, t->count, sizeof *t->rows, by_start);
    for (size_t i = 0; i < t->count; i++) {
        const struct device_row *row = &t->rows[i];
        uint64_t end = row->start + row->duration;
        struct lane next = {.start = row->start,
                            .end = end >= row->start ? end : row->start,
                            .call = row->call,
                            .name = row->name,
                            .is_run = row->is_run};
        while (depth && (lanes[depth - 1].end <= next.start || !is_inside(&next, &lanes[depth - 1])))
            pop_lane(sink, lanes, &depth);
        if (depth == COUNT_OF(lanes))
            pop_lane(sink, lanes, &depth);
        lanes[depth++] = next;
    }
    while (depth)
        pop_lane(sink, lanes, &depth);
    t->count = 0;
}

bool device_rows_add(struct device_rows *t, struct zone_sink *sink, const struct device_row *row)
{
    if (t->count >= SORT_ROWS)
        device_rows_flush(t, sink);
    if (!array_reserve(&t->rows, &t->capacity, t->count + 1, sizeof *t->rows))
        return false;
    t->rows[t->count++] = *row;
    return true;
}
