/* SPDX-License-Identifier: Apache-2.0 */
/* Spans: zones that need not end where they began. A coroutine opens one and waits; its thread runs other tasks; the
 * coroutine goes on and closes it. Such a zone does not nest with the others of its track, so it has a track of its
 * own below the one that it began on (the task's, or the thread's): as many of them as spans are open at once, each
 * with one span at a time.
 *
 * Spans with numbers of SESSION_SPAN_ANY_THREAD may end on another thread. Threads are not read in the order of their
 * times: an end may come before its begin, and is then kept until that is there. */
#include <stdlib.h>

#include "collect/internal.h"

#define MAX_OPEN_SPANS 4096u /* of one thread */

static void lose(struct source *s, struct track *t, uint64_t ns)
{
    track_lose(t, TRACE_LOSS_TOO_DEEP, ns, ns, 1, 0);
    s->collector->stats.lost_zones++;
}

/* The first free one below the track that the thread is on; NULL: no room. */
static struct span_lane *find_lane(struct source *s, struct track *t, uint64_t start_ns)
{
    struct trace_writer *w = s->collector->writer;
    uint64_t number = 1;
    for (size_t i = 0; i < t->span_lane_count; i++) {
        struct span_lane *lane = &t->span_lanes[i];
        if (lane->parent != t->lane.trace_id)
            continue;
        if (!lane->is_busy && lane->free_ns <= start_ns)
            return lane;
        number++;
    }
    if (!array_reserve(&t->span_lanes, &t->span_lane_capacity, t->span_lane_count + 1, sizeof *t->span_lanes))
        return NULL;
    uint64_t key = source_key(s, 4, (uint64_t)t->number << 32 | t->span_lane_count);
    struct span_lane made = {.parent = t->lane.trace_id, .trace_id = trace_writer_find_track(w, key)};
    struct trace_track track = {.id = TRACE_NONE,
                                .process = t->process_id,
                                .parent = t->lane.trace_id,
                                .kind = TRACE_TRACK_SPAN,
                                .clock = TRACE_HOST_CLOCK,
                                .number = number,
                                .key = key,
                                .name = "spans"};
    if (made.trace_id == TRACE_NONE)
        made.trace_id = trace_writer_track(w, &track);
    made.sink = made.trace_id == TRACE_NONE ? NULL : trace_writer_sink(w, made.trace_id);
    if (!made.sink)
        return NULL;
    t->span_lanes[t->span_lane_count] = made;
    return &t->span_lanes[t->span_lane_count++];
}

static bool may_end_anywhere(uint64_t number)
{
    return number / SESSION_SPAN_ANY_THREAD == 1;
}

static void keep_early_end(struct source *s, const struct track *t, uint64_t number, uint64_t end_ns)
{
    s->early_ends[s->early_end_next] = (struct early_end){number, end_ns, t->process};
    s->early_end_next = (s->early_end_next + 1) % MAX_EARLY_ENDS;
    if (s->early_end_count < MAX_EARLY_ENDS)
        s->early_end_count++;
}

static bool take_early_end(struct source *s, const struct track *t, uint64_t number, uint64_t *end_ns)
{
    for (uint32_t i = 0; i < s->early_end_count; i++) {
        struct early_end *end = &s->early_ends[i];
        if (end->number == number && end->process == t->process) {
            *end_ns = end->end_ns;
            end->number = 0;
            return true;
        }
    }
    return false;
}

void span_begin(struct source *s, struct track *t, uint32_t name, uint64_t number, uint64_t start_ns)
{
    if (t->is_muted)
        return;
    struct span_lane *lane = NULL;
    if (t->span_count < MAX_OPEN_SPANS &&
        array_reserve(&t->spans, &t->span_capacity, t->span_count + 1, sizeof *t->spans))
        lane = find_lane(s, t, start_ns);
    if (!lane) {
        lose(s, t, start_ns);
        return;
    }
    lane->is_busy = true;
    s->collector->taken.zones++;
    t->spans[t->span_count++] = (struct open_span){number, start_ns, name, (uint32_t)(lane - t->span_lanes)};
    uint64_t end_ns;
    if (may_end_anywhere(number) && take_early_end(s, t, number, &end_ns))
        span_end(s, t, number, end_ns);
}

/* The innermost zone becomes the span; what ends on its own track now is a part with another name. */
void span_from_zone(struct source *s, struct track *t, uint32_t part_name, uint64_t number)
{
    struct open_zone *zone = t->depth && !t->too_deep ? &t->stack[t->depth - 1] : NULL;
    if (!zone || zone->kind != ZONE_PLAIN || t->is_muted)
        return;
    span_begin(s, t, zone->name, number, zone->start);
    zone->name = part_name;
}

/* Ends the span of that number on this thread's tracks; false: it has none. */
static bool end_on(struct source *s, struct track *t, uint64_t number, uint64_t end_ns)
{
    size_t i = t->span_count;
    while (i > 0 && t->spans[i - 1].number != number)
        i--;
    if (!i)
        return false;
    struct open_span span = t->spans[i - 1];
    struct span_lane *lane = &t->span_lanes[span.lane];
    t->spans[i - 1] = t->spans[--t->span_count];
    lane->is_busy = false;
    end_ns = end_ns > span.start ? end_ns : span.start; /* two threads' clocks */
    lane->free_ns = end_ns;
    if (end_ns - span.start < s->collector->min_duration_ns)
        s->collector->stats.short_zones++;
    else
        zone_sink_add(lane->sink, 0, span.start, end_ns, 0, span.name);
    return true;
}

/* One that is not known began in another session, or was lost and counted. */
void span_end(struct source *s, struct track *t, uint64_t number, uint64_t end_ns)
{
    if (end_on(s, t, number, end_ns) || !may_end_anywhere(number) || t->is_muted)
        return;
    for (size_t i = 0; i < s->track_slots; i++) {
        struct track *other = s->tracks[i];
        if (other && other != t && other->process == t->process && end_on(s, other, number, end_ns))
            return;
    }
    keep_early_end(s, t, number, end_ns);
}

struct trace_open_zone span_open_zone(const struct track *t, size_t i, uint64_t seen_ns)
{
    const struct open_span *span = &t->spans[i];
    return (struct trace_open_zone){.track = t->span_lanes[span->lane].trace_id,
                                    .start = span->start,
                                    .seen = seen_ns,
                                    .name = span->name};
}

void spans_close(struct source *s, struct track *t)
{
    for (size_t i = 0; i < t->span_lane_count; i++)
        trace_writer_close_sink(s->collector->writer, t->span_lanes[i].sink);
    spans_free(t);
}

void spans_free(struct track *t)
{
    free(t->spans);
    free(t->span_lanes);
    t->spans = NULL;
    t->span_lanes = NULL;
    t->span_count = t->span_lane_count = 0;
}
