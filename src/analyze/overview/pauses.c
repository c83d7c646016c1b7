/* SPDX-License-Identifier: Apache-2.0 */
/* What of the main thread's time recording was paused. Zones that were open then go on, and the one that was innermost
 * has the pause in its own time: it is taken out again, since nobody knows what the thread did meanwhile. */
#include <stdlib.h>

#include "analyze/overview/internal.h"
#include "analyze/zones/waiting.h"
#include "analyze/zonewalk.h"

struct covering {
    const struct time_spans *pauses;
    uint32_t *innermost; /* by pause: the name of the zone that was open all the time */
};

static bool list_pauses(struct time_spans *pauses, const struct overview *o)
{
    size_t count;
    const struct trace_loss *losses = trace_get_losses(o->trace, &count);
    for (size_t i = 0; i < count; i++) {
        uint64_t from = losses[i].from_ns > o->from_ns ? losses[i].from_ns : o->from_ns;
        uint64_t to = losses[i].to_ns < o->to_ns ? losses[i].to_ns : o->to_ns;
        if (losses[i].reason == TRACE_LOSS_PAUSED && !time_spans_add(pauses, from, to))
            return false;
    }
    time_spans_join(pauses);
    return true;
}

/* Outer zones come before what is inside them: the last one that is seen stays. */
static bool visit(void *context, const struct walked_zone *zone)
{
    struct covering *c = context;
    size_t low = 0, high = c->pauses->count; /* the first pause that begins in the zone */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c->pauses->items[middle].start < zone->start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < c->pauses->count && c->pauses->items[low].end <= zone->end_ns; low++)
        c->innermost[low] = zone->key;
    return true;
}

static int find_covering(const struct overview *o, const struct trace_filter *filter, struct covering *c,
                         struct error *err)
{
    size_t count = trace_name_count(o->trace);
    uint32_t *keys = malloc((count + 1) * sizeof *keys);
    if (!keys)
        return error_no_memory(err, "the names of zones");
    for (size_t i = 0; i <= count; i++)
        keys[i] = i < count ? (uint32_t)i : ZONE_WALK_SKIP;
    struct zone_walk walk = {.trace = o->trace,
                             .filter = filter,
                             .key_of = keys,
                             .key_count = count + 1,
                             .has_open_zones = true,
                             .visit = visit,
                             .context = c};
    int status = zone_walk(&walk, err);
    free(keys);
    return status;
}

int overview_find_paused(struct overview_paused *found, const struct overview *o,
                         const struct trace_filter *filter, struct error *err)
{
    struct time_spans pauses = {0};
    struct covering c = {.pauses = &pauses};
    *found = (struct overview_paused){0};
    int status = list_pauses(&pauses, o) ? 0 : error_no_memory(err, "the pauses");
    if (!status && pauses.count) {
        c.innermost = malloc(pauses.count * sizeof c.innermost[0]);
        found->by_name = calloc(trace_name_count(o->trace) + 1, sizeof found->by_name[0]);
        if (!c.innermost || !found->by_name)
            status = error_no_memory(err, "the pauses");
        for (size_t i = 0; i < pauses.count && c.innermost; i++)
            c.innermost[i] = TRACE_NONE;
    }
    if (!status && pauses.count)
        status = find_covering(o, filter, &c, err);
    for (size_t i = 0; i < pauses.count && !status; i++) {
        uint64_t ns = pauses.items[i].end - pauses.items[i].start;
        found->total_ns += ns;
        if (c.innermost[i] == TRACE_NONE)
            continue;
        found->in_zones_ns += ns;
        found->by_name[c.innermost[i]] += ns;
        found->in_waits_ns += waiting_is_name(trace_get_name(o->trace, c.innermost[i])->name) ? ns : 0;
    }
    free(c.innermost);
    time_spans_free(&pauses);
    return status;
}
