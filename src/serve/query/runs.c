/* SPDX-License-Identifier: Apache-2.0 */
/* The runs of device tracks, made ready for drawing when a trace is opened: per track in order of start, on as many
 * lanes as there are runs at a time, with nodes of every fourth power of two above them, and the gaps between. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "serve/query/trace.h"

#define LEVEL_STEP 2u
#define FEWEST_NODES 1024u /* a level with fewer is the last one */

struct flat_run {
    uint64_t start, end;
    uint32_t track, name, order;
    uint32_t flags;
};

struct flat_runs {
    struct flat_run *items;
    size_t count, capacity;
};

/* --- reading --- */

static bool take_rows(struct flat_runs *runs, const struct trace *trace, const struct trace_rows *rows)
{
    if (!array_reserve(&runs->items, &runs->capacity, runs->count + rows->count, sizeof *runs->items))
        return false;
    for (size_t i = 0; i < rows->count; i++) {
        const struct trace_run *run = &rows->runs[i];
        const struct trace_track *track = trace_get_track(trace, run->track);
        if (!track || runs->count >= UINT32_MAX)
            continue;
        uint64_t start = trace_host_ns(trace, track->clock, run->start);
        uint64_t end = trace_host_ns(trace, track->clock, saturating_add_u64(run->start, run->duration));
        runs->items[runs->count] = (struct flat_run){.start = start,
                                                     .end = end > start ? end : start,
                                                     .track = run->track,
                                                     .name = run->name,
                                                     .order = (uint32_t)runs->count,
                                                     .flags = run->flags};
        runs->count++;
    }
    return true;
}

static int compare_runs(const void *left, const void *right)
{
    const struct flat_run *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static int read_runs(struct flat_runs *runs, struct trace *trace, struct error *err)
{
    const struct trace_block_filter filter = {.type = TRACE_BLOCK_RUNS};
    const struct trace_block *block;
    struct trace_rows rows = {0};
    size_t position = 0;
    int status = 0;
    while (!status && (block = trace_next_block(trace, &filter, &position))) {
        status = trace_decode_rows(trace, block, &rows, err);
        if (!status && !take_rows(runs, trace, &rows))
            status = error_no_memory(err, "the runs of the trace");
    }
    trace_rows_free(&rows);
    if (!status && runs->count)
        qsort(runs->items, runs->count, sizeof *runs->items, compare_runs);
    return status;
}

/* --- lanes --- */

static bool add_lane(struct run_track *rt)
{
    struct run_lane *lanes = realloc(rt->lanes, (rt->lane_count + 1) * sizeof *lanes);
    if (!lanes)
        return false;
    rt->lanes = lanes;
    lanes[rt->lane_count++] = (struct run_lane){0};
    return true;
}

/* The lowest lane that is free at the start of each run; `lane_of` gets it. */
static bool choose_lanes(struct run_track *rt, const struct flat_run *runs, size_t count, uint8_t *lane_of)
{
    uint64_t busy_until[RUN_LANES];
    for (size_t i = 0; i < count; i++) {
        unsigned lane = 0;
        while (lane < rt->lane_count && lane < RUN_LANES - 1 && busy_until[lane] > runs[i].start)
            lane++;
        if (lane == rt->lane_count) {
            if (!add_lane(rt))
                return false;
            busy_until[lane] = 0;
        }
        if (runs[i].end > busy_until[lane])
            busy_until[lane] = runs[i].end;
        lane_of[i] = (uint8_t)lane;
        rt->lanes[lane].count++;
    }
    return true;
}

static bool fill_lanes(struct run_track *rt, const struct flat_run *runs, size_t count,
                       const uint8_t *lane_of)
{
    for (unsigned lane = 0; lane < rt->lane_count; lane++) {
        struct run_lane *l = &rt->lanes[lane];
        l->runs = malloc(l->count * sizeof *l->runs);
        l->flags = malloc(l->count);
        l->count = 0;
        if (!l->runs || !l->flags)
            return false;
    }
    for (size_t i = 0; i < count; i++) {
        struct run_lane *l = &rt->lanes[lane_of[i]];
        uint64_t length = runs[i].end - runs[i].start;
        l->flags[l->count] = (uint8_t)runs[i].flags;
        l->runs[l->count++] = (struct node){.start = runs[i].start,
                                            .end = runs[i].end,
                                            .busy = length,
                                            .longest = length,
                                            .name = runs[i].name,
                                            .count = 1};
    }
    return true;
}

static unsigned level_of(uint64_t ns)
{
    return ns ? 63u - (unsigned)__builtin_clzll(ns) : 0;
}

static bool make_level(struct run_lane *lane, const struct node *from, size_t count, unsigned level)
{
    struct run_level *made = &lane->levels[lane->level_count];
    struct node *nodes = malloc(count * sizeof *nodes);
    size_t put = 0;
    if (!nodes)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (put && node_takes(&nodes[put - 1], &from[i], level))
            node_add(&nodes[put - 1], &from[i]);
        else
            nodes[put++] = from[i];
    }
    struct node *smaller = realloc(nodes, put * sizeof *nodes);
    *made = (struct run_level){.level = level, .nodes = smaller ? smaller : nodes, .count = put};
    lane->level_count++;
    return true;
}

static bool make_levels(struct run_lane *lane)
{
    const struct node *from = lane->runs;
    size_t count = lane->count;
    if (count <= FEWEST_NODES)
        return true;
    uint64_t length = lane->runs[count - 1].start - lane->runs[0].start;
    unsigned level = level_of(length / count) + 3; /* about 8 runs per node */
    while (count > FEWEST_NODES && lane->level_count < RUN_LEVELS && level < 63) {
        if (!make_level(lane, from, count, level))
            return false;
        from = lane->levels[lane->level_count - 1].nodes;
        count = lane->levels[lane->level_count - 1].count;
        level += LEVEL_STEP;
    }
    return true;
}

/* --- gaps --- */

static uint64_t gap_mark_ns(const struct trace *trace, uint32_t track, const struct machine_set *machines)
{
    const struct trace_track *t = trace_get_track(trace, track);
    double mark_us = machine_unknown.gap_mark_us;
    for (unsigned up = 0; t && up < 16; up++) {
        const struct machine *machine = t->architecture && *t->architecture
                                            ? machine_find(machines, t->architecture, strlen(t->architecture))
                                            : NULL;
        if (machine) {
            mark_us = machine->gap_mark_us;
            break;
        }
        t = t->parent == TRACE_NONE ? NULL : trace_get_track(trace, t->parent);
    }
    return mark_us > 0 ? (uint64_t)(mark_us * 1000.0) : 0;
}

static bool find_gaps(struct run_track *rt, const struct flat_run *runs, size_t count, uint64_t mark_ns)
{
    size_t capacity = 0;
    uint64_t from = 0, until = 0; /* of the stretch that is busy now */
    for (size_t i = 0; i < count; i++) {
        if (i && runs[i].start <= until) {
            until = runs[i].end > until ? runs[i].end : until;
            continue;
        }
        rt->busy_ns += until - from;
        if (i && runs[i].start - until > mark_ns) {
            if (!array_reserve(&rt->gaps, &capacity, rt->gap_count + 1, sizeof *rt->gaps))
                return false;
            rt->gaps[rt->gap_count++] = (struct run_gap){until, runs[i].start};
        }
        from = runs[i].start;
        until = runs[i].end;
    }
    rt->busy_ns += until - from;
    return true;
}

/* --- the index --- */

static bool make_track(struct run_track *rt, const struct flat_run *runs, size_t count, uint64_t mark_ns)
{
    *rt = (struct run_track){.track = runs[0].track, .run_count = count};
    uint8_t *lane_of = malloc(count);
    bool is_made = lane_of && choose_lanes(rt, runs, count, lane_of) &&
                   fill_lanes(rt, runs, count, lane_of) && find_gaps(rt, runs, count, mark_ns);
    for (unsigned i = 0; i < rt->lane_count && is_made; i++)
        is_made = make_levels(&rt->lanes[i]);
    free(lane_of);
    return is_made;
}

int run_index_make(struct run_index *index, struct trace *trace, const struct machine_set *machines,
                   struct error *err)
{
    struct flat_runs runs = {0};
    size_t capacity = 0;
    *index = (struct run_index){0};
    int status = read_runs(&runs, trace, err);
    for (size_t first = 0, end; first < runs.count && !status; first = end) {
        uint32_t track = runs.items[first].track;
        for (end = first; end < runs.count && runs.items[end].track == track; end++) {
        }
        bool is_made = array_reserve(&index->tracks, &capacity, index->count + 1, sizeof *index->tracks) &&
                       map_put(&index->by_track, track, (uint32_t)index->count) &&
                       make_track(&index->tracks[index->count++], runs.items + first, end - first,
                                  gap_mark_ns(trace, track, machines));
        if (!is_made)
            status = error_no_memory(err, "the runs of the trace");
    }
    free(runs.items);
    if (status)
        run_index_free(index);
    return status;
}

void run_index_free(struct run_index *index)
{
    for (size_t i = 0; i < index->count; i++) {
        struct run_track *rt = &index->tracks[i];
        for (unsigned lane = 0; lane < rt->lane_count; lane++) {
            for (unsigned level = 0; level < rt->lanes[lane].level_count; level++)
                free(rt->lanes[lane].levels[level].nodes);
            free(rt->lanes[lane].runs);
            free(rt->lanes[lane].flags);
        }
        free(rt->lanes);
        free(rt->gaps);
    }
    free(index->tracks);
    map_free(&index->by_track);
    *index = (struct run_index){0};
}

const struct run_track *run_index_find(const struct run_index *index, uint32_t track)
{
    uint32_t place = map_get(&index->by_track, track);
    return place == MAP_NONE ? NULL : &index->tracks[place];
}

/* How many runs of a lane begin at or before a time. */
static size_t runs_until(const struct run_lane *lane, uint64_t at)
{
    size_t low = 0, high = lane->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lane->runs[middle].start <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

const struct node *run_track_find_start(const struct run_track *rt, const struct trace *trace, uint64_t start,
                                        uint64_t end, const char *name, unsigned *lane)
{
    const struct node *best = NULL;
    bool is_best_named = false;
    for (unsigned l = 0; l < rt->lane_count; l++) {
        const struct run_lane *on = &rt->lanes[l];
        for (size_t i = runs_until(on, start); i && on->runs[i - 1].start == start; i--) {
            const struct node *node = &on->runs[i - 1];
            bool is_named = strcmp(trace_get_name(trace, node->name)->name, name) == 0;
            uint64_t off = apart(node->end, end), least = best ? apart(best->end, end) : UINT64_MAX;
            if (best && (off > least || (off == least && is_named <= is_best_named)))
                continue;
            best = node;
            is_best_named = is_named;
            *lane = l;
        }
    }
    return best;
}

const struct node *run_track_find(const struct run_track *rt, uint64_t at, uint64_t wanted_lane,
                                  unsigned *lane)
{
    for (*lane = 0; *lane < rt->lane_count; (*lane)++) {
        const struct run_lane *l = &rt->lanes[*lane];
        size_t count = runs_until(l, at);
        if (count && l->runs[count - 1].end >= at && (wanted_lane == UINT64_MAX || wanted_lane == *lane))
            return &l->runs[count - 1];
    }
    return NULL;
}
