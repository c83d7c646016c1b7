/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/zonewalk.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/zoneblocks.h"
#include "base/bytes.h"

struct run { /* zones of one track and depth */
    uint32_t track, depth;
    size_t first, left; /* zones[first .. first + left) are still to be visited */
    uint64_t low;       /* visit zones that end later than this; ends are kept + 1, so that 0 is before all */
    uint64_t latest;    /* end of the last zone here or in a deeper run */
};

struct walking {
    const struct zone_walk *walk;
    size_t track_count;
    struct zone_rows rows;
    struct walked_zone *zones;
    size_t zone_count, zone_capacity;
    struct run *runs;
    size_t run_count, run_capacity;
};

static uint64_t last_end(const struct walking *w, const struct run *run)
{
    return run->left ? w->zones[run->first + run->left - 1].end_ns + 1 : 0;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The runs of one track, outermost first. */
static bool visit_track(struct walking *w, struct run *runs, size_t count)
{
    for (size_t i = count; i-- > 0;)
        runs[i].latest = later(last_end(w, &runs[i]), i + 1 < count ? runs[i + 1].latest : 0);
    runs[0].low = 0;
    for (size_t at = 0;;) {
        struct run *run = &runs[at];
        uint64_t end = last_end(w, run), bound = later(run->low, end);
        if (at + 1 < count && runs[at + 1].latest > bound) {
            runs[++at].low = bound;
        } else if (end > run->low) {
            run->left--;
            if (!w->walk->visit(w->walk->context, &w->zones[run->first + run->left]))
                return false;
        } else {
            run->latest = later(end, at + 1 < count ? runs[at + 1].latest : 0);
            if (at-- == 0)
                return true;
        }
    }
}

static uint32_t key_of(const struct zone_walk *walk, uint32_t name)
{
    return walk->key_of[name < walk->key_count ? name : walk->key_count - 1];
}

/* The wanted zones among the rows of a group, as a run. */
static bool add_run(struct walking *w, const struct zone_rows_group *group)
{
    const struct zone_walk *walk = w->walk;
    struct run run = {.track = group->track, .depth = group->depth, .first = w->zone_count};
    if (!array_reserve(&w->zones, &w->zone_capacity, w->zone_count + group->count, sizeof w->zones[0]) ||
        !array_reserve(&w->runs, &w->run_capacity, w->run_count + 1, sizeof w->runs[0]))
        return false;
    for (size_t i = group->first; i < (size_t)group->first + group->count; i++) {
        uint32_t key = key_of(walk, w->rows.name[i]);
        uint64_t start = w->rows.start[i], duration = w->rows.duration[i];
        if (key == ZONE_WALK_SKIP || (walk->filter && !trace_filter_clip(walk->filter, &start, &duration)))
            continue;
        w->zones[w->zone_count++] = (struct walked_zone){.start_ns = start,
                                                         .end_ns = start + duration,
                                                         .child_ns = w->rows.child ? w->rows.child[i] : 0,
                                                         .track = group->track,
                                                         .depth = group->depth,
                                                         .key = key};
    }
    run.left = w->zone_count - run.first;
    if (run.left)
        w->runs[w->run_count++] = run;
    return true;
}

static int compare_runs(const void *left, const void *right)
{
    const struct run *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

static int visit_block(struct walking *w, const struct trace_block *block, struct error *err)
{
    unsigned columns = TRACE_COLUMN_START | TRACE_COLUMN_DURATION | TRACE_COLUMN_NAME;
    if (w->walk->has_child_times)
        columns |= TRACE_COLUMN_CHILD;
    int result = trace_decode_zones(w->walk->trace, block, columns, &w->rows, err);
    bool is_done = true;
    w->zone_count = w->run_count = 0;
    for (size_t g = 0; result == 0 && is_done && g < w->rows.group_count; g++) {
        const struct zone_rows_group *group = &w->rows.groups[g];
        if (group->track < w->track_count &&
            (!w->walk->filter || trace_filter_wants_track(w->walk->filter, group->track)))
            is_done = add_run(w, group);
    }
    if (w->run_count > 1)
        qsort(w->runs, w->run_count, sizeof w->runs[0], compare_runs);
    for (size_t first = 0, last; is_done && first < w->run_count; first = last) {
        for (last = first + 1; last < w->run_count && w->runs[last].track == w->runs[first].track;)
            last++;
        is_done = visit_track(w, w->runs + first, last - first);
    }
    return is_done ? result : error_set_errno(err, ENOMEM, "zones");
}

/* Whatever never ended is around all that did. */
static int visit_open_zones(const struct walking *w, struct error *err)
{
    const struct zone_walk *walk = w->walk;
    struct open_zones open = {0};
    int result = open_zones_list(&open, walk->trace, walk->filter, err);
    for (size_t i = 0; i < open.count && result == 0; i++) {
        const struct trace_open_zone *zone = &open.items[i];
        uint64_t start = zone->start, duration = zone->seen - zone->start;
        uint32_t key = key_of(walk, zone->name);
        if (zone->track >= w->track_count || key == ZONE_WALK_SKIP ||
            (walk->filter && !trace_filter_clip(walk->filter, &start, &duration)))
            continue;
        struct walked_zone walked = {.start_ns = start,
                                     .end_ns = start + duration,
                                     .child_ns = walk->has_child_times ? zone->child : 0,
                                     .track = zone->track,
                                     .depth = zone->depth,
                                     .key = key};
        if (!walk->visit(walk->context, &walked))
            result = error_set_errno(err, ENOMEM, "zones");
    }
    open_zones_free(&open);
    return result;
}

int zone_walk(const struct zone_walk *walk, struct error *err)
{
    struct walking w = {.walk = walk, .track_count = trace_track_count(walk->trace)};
    struct zone_blocks blocks = {0};
    int result = walk->has_open_zones ? visit_open_zones(&w, err) : 0;
    if (result == 0)
        result = zone_blocks_list(&blocks, walk->trace, walk->filter, err);
    for (size_t i = blocks.count; result == 0 && i-- > 0;)
        result = visit_block(&w, blocks.items[i], err);
    zone_blocks_free(&blocks);
    zone_rows_free(&w.rows);
    free(w.zones);
    free(w.runs);
    return result;
}
