/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/overview/spans.h"

#include <stdlib.h>

#include "base/bytes.h"

bool time_spans_add(struct time_spans *spans, uint64_t start, uint64_t end)
{
    if (end <= start)
        return true;
    if (!array_reserve(&spans->items, &spans->capacity, spans->count + 1, sizeof spans->items[0]))
        return false;
    spans->items[spans->count++] = (struct time_span){start, end};
    return true;
}

static int compare_starts(const void *left, const void *right)
{
    const struct time_span *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

void time_spans_join(struct time_spans *spans)
{
    size_t kept = 0;
    if (spans->count)
        qsort(spans->items, spans->count, sizeof spans->items[0], compare_starts);
    for (size_t i = 0; i < spans->count; i++) {
        struct time_span *last = kept ? &spans->items[kept - 1] : NULL;
        if (last && spans->items[i].start <= last->end)
            last->end = spans->items[i].end > last->end ? spans->items[i].end : last->end;
        else
            spans->items[kept++] = spans->items[i];
    }
    spans->count = kept;
}

uint64_t time_spans_total(const struct time_spans *spans)
{
    uint64_t total = 0;
    for (size_t i = 0; i < spans->count; i++)
        total += spans->items[i].end - spans->items[i].start;
    return total;
}

bool time_spans_invert(struct time_spans *rest, const struct time_spans *spans, uint64_t start, uint64_t end)
{
    uint64_t at = start;
    for (size_t i = 0; i < spans->count && at < end; i++) {
        uint64_t until = spans->items[i].start < end ? spans->items[i].start : end;
        if (!time_spans_add(rest, at, until))
            return false;
        at = spans->items[i].end > at ? spans->items[i].end : at;
    }
    return time_spans_add(rest, at, end);
}

void time_spans_free(struct time_spans *spans)
{
    free(spans->items);
    *spans = (struct time_spans){0};
}

/* --- alone --- */

struct event {
    uint64_t time;
    uint32_t place, id;
    bool is_end;
};

static int compare_events(const void *left, const void *right)
{
    const struct event *a = left, *b = right;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (int)b->is_end - (int)a->is_end;
}

/* One after the other on one place, as most devices run: nothing has to be sorted. */
static bool is_sequence(const struct placed_span *spans, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (spans[i].place != spans[0].place || spans[i].start < spans[i - 1].end ||
            spans[i].end < spans[i].start)
            return false;
    }
    return count == 0 || spans[0].end >= spans[0].start;
}

bool time_spans_alone(const struct placed_span *spans, size_t count, uint64_t *alone)
{
    if (is_sequence(spans, count)) {
        for (size_t i = 0; i < count; i++)
            alone[spans[i].id] += spans[i].end - spans[i].start;
        return true;
    }
    struct event *events = malloc((2 * count + 1) * sizeof *events);
    size_t active = 0, event_count = 0;
    uint64_t before = 0;
    uint32_t ids = 0; /* those that are active, by exclusive or: the id itself where it is one */
    if (!events)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (spans[i].end <= spans[i].start)
            continue;
        events[event_count++] = (struct event){spans[i].start, spans[i].place, spans[i].id, false};
        events[event_count++] = (struct event){spans[i].end, spans[i].place, spans[i].id, true};
    }
    if (event_count)
        qsort(events, event_count, sizeof *events, compare_events);
    for (size_t i = 0; i < event_count; i++) {
        if (active == 1) /* all of a place have ended before the next one begins */
            alone[ids] += events[i].time - before;
        active += events[i].is_end ? (size_t)-1 : 1;
        ids ^= events[i].id;
        before = events[i].time;
    }
    free(events);
    return true;
}
