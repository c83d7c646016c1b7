/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/events/counters.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/names.h"
#include "base/bytes.h"
#include "base/map.h"

struct counting {
    struct counter_stats *stats;
    struct trace *trace;
    const struct trace_filter *filter;
    struct name_groups groups; /* by text: a counter is one, wherever it is set */
    struct map row_of;         /* process and group */
};

static struct counter_row *find_row(struct counting *c, uint32_t process, uint32_t name)
{
    uint32_t group = name_group(&c->groups, name);
    uint64_t key = (uint64_t)process << 32 | group;
    uint32_t row = map_get(&c->row_of, key);
    if (row != MAP_NONE)
        return &c->stats->rows[row];
    row = (uint32_t)c->stats->row_count;
    if (!array_reserve(&c->stats->rows, &c->stats->capacity, (size_t)row + 1, sizeof c->stats->rows[0]) ||
        !map_put(&c->row_of, key, row))
        return NULL;
    c->stats->rows[c->stats->row_count++] = (struct counter_row){
        .name = name, .process = process, .min = INFINITY, .max = -INFINITY, .last = NAN};
    return &c->stats->rows[row];
}

static int count_rows(struct counting *c, const struct trace_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct trace_counter *value = &rows->counters[i];
        const struct trace_track *track = trace_get_track(c->trace, value->track);
        uint64_t ns = value->time;
        if (!trace_filter_wants_track(c->filter, value->track) ||
            !trace_filter_wants_name(c->filter, value->name) || !trace_filter_wants_span(c->filter, ns, ns))
            continue;
        struct counter_row *row = find_row(c, track ? track->process : TRACE_NONE, value->name);
        if (!row)
            return -ENOMEM;
        if (isnan(value->value)) {
            row->not_numbers++;
            continue;
        }
        if (row->count == 0 || ns >= row->last_ns) {
            row->last = value->value;
            row->last_ns = ns;
        }
        if (value->value > row->max || row->count == 0 || (value->value == row->max && ns < row->peak_ns)) {
            row->max = value->value;
            row->peak_ns = ns;
        }
        row->min = value->value < row->min ? value->value : row->min;
        row->sum += value->value;
        row->count++;
    }
    return 0;
}

static int compare_rows(const void *left, const void *right, void *trace)
{
    const struct counter_row *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return strcmp(trace_get_name(trace, a->name)->name, trace_get_name(trace, b->name)->name);
}

int counter_stats_make(struct counter_stats *stats, struct trace *trace, const struct trace_filter *filter,
                       struct error *err)
{
    struct counting c = {.stats = stats, .trace = trace, .filter = filter};
    struct trace_block_filter blocks = {.type = TRACE_BLOCK_COUNTERS};
    struct trace_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0;
    *stats = (struct counter_stats){0};
    if (filter->has_window) {
        blocks.since_ns = filter->since_ns;
        blocks.until_ns = filter->until_ns;
    }
    int result = name_groups_make(&c.groups, trace, NULL, NAMES_BY_TEXT, err);
    while (result == 0 && (block = trace_next_block(trace, &blocks, &position))) {
        result = trace_decode_rows(trace, block, &rows, err);
        if (result == 0 && (result = count_rows(&c, &rows)) != 0)
            error_no_memory(err, "counters");
    }
    if (result == 0 && stats->row_count)
        qsort_r(stats->rows, stats->row_count, sizeof stats->rows[0], compare_rows, trace);
    trace_rows_free(&rows);
    name_groups_free(&c.groups);
    map_free(&c.row_of);
    if (result != 0)
        counter_stats_free(stats);
    return result;
}

void counter_stats_free(struct counter_stats *stats)
{
    free(stats->rows);
    *stats = (struct counter_stats){0};
}
