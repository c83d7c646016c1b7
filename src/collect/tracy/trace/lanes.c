/* SPDX-License-Identifier: Apache-2.0 */
/* Zones that begin and end as they like: holds of a lock, waits of a thread, sections, frames. Each goes to the first
 * track of its set that has none open. */
#include <stdlib.h>

#include "collect/tracy/trace/internal.h"

static struct lane *find(const struct lanes *set, uint64_t key)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->lanes[i].is_busy && set->lanes[i].key == key)
            return &set->lanes[i];
    }
    return NULL;
}

static struct lane *find_free(struct tracy_trace *t, struct lanes *set)
{
    for (size_t i = 0; i < set->count; i++) {
        if (!set->lanes[i].is_busy)
            return &set->lanes[i];
    }
    if (set->count >= MAX_LANES ||
        !array_reserve(&set->lanes, &set->capacity, set->count + 1, sizeof *set->lanes))
        return NULL;
    struct lane made = {
        .track = trace_track(t, set->kind, set->parent, set->name, set->count + 1, TRACE_HOST_CLOCK)};
    made.sink = made.track == TRACE_NONE ? NULL : trace_writer_sink(t->writer, made.track);
    if (!made.sink)
        return NULL;
    set->lanes[set->count] = made;
    return &set->lanes[set->count++];
}

struct lane *lane_begin(struct tracy_trace *t, struct lanes *set, uint64_t key, uint64_t ns, uint32_t name)
{
    struct lane *lane = find(set, key);
    if (!lane)
        lane = find_free(t, set);
    if (!lane) {
        t->stats.lost_zones++;
        return NULL;
    }
    lane->key = key;
    lane->start = ns;
    lane->name = name;
    lane->is_busy = true;
    return lane;
}

const struct lane *lane_end(struct tracy_trace *t, struct lanes *set, uint64_t key, uint64_t ns)
{
    struct lane *lane = find(set, key);
    (void)t;
    if (!lane)
        return NULL;
    lane->is_busy = false;
    zone_sink_add(lane->sink, 0, lane->start, ns > lane->start ? ns : lane->start, 0, lane->name);
    return lane;
}

void lanes_close(struct tracy_trace *t, struct lanes *set)
{
    for (size_t i = 0; i < set->count; i++) {
        trace_writer_close_sink(t->writer, set->lanes[i].sink);
        t->stats.open_zones += set->lanes[i].is_busy;
    }
}

void lanes_list_open(const struct tracy_trace *t, const struct lanes *set, struct trace_writer *w)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct lane *lane = &set->lanes[i];
        if (lane->is_busy)
            trace_writer_open_zone(
                w, &(struct trace_open_zone){
                       .track = lane->track, .start = lane->start, .seen = t->last_ns, .name = lane->name});
    }
}

void lanes_free(struct lanes *set)
{
    free(set->lanes);
    *set = (struct lanes){0};
}
