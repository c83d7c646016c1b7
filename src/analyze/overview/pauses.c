/* SPDX-License-Identifier: Apache-2.0 */
/* What of a thread's time recording was paused. Zones that were open then go on, and the one that was innermost
 * has the pause in its own time: it is taken out again, since nobody knows what the thread did meanwhile. */
#include <stdlib.h>

#include "analyze/names.h"
#include "analyze/overview/internal.h"
#include "analyze/zones/waiting.h"
#include "analyze/zonewalk.h"

struct covering {
    const struct time_spans *pauses;
    struct name_groups groups; /* as the statistics have them, whose rows the pauses are taken out of */
    uint32_t *innermost;       /* by pause: the group of the thread's zone that was open all the time */
    uint64_t *by_group;        /* of all threads */
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

static void add_pauses(struct overview_paused *found, const struct overview *o, const struct covering *c)
{
    for (size_t i = 0; i < c->pauses->count; i++) {
        uint64_t ns = c->pauses->items[i].end - c->pauses->items[i].start;
        uint32_t group = c->innermost[i];
        if (group == NAME_GROUP_UNWANTED)
            continue;
        found->in_zones_ns += ns;
        c->by_group[group] += ns;
        if (waiting_is_name(trace_get_name(o->trace, c->groups.first_name[group])->name))
            found->in_waits_ns += ns;
    }
}

/* Thread after thread: each has its own zone around a pause. */
static int find_covering(struct overview_paused *found, const struct overview *o,
                         const struct trace_filter *filter, struct covering *c, struct error *err)
{
    struct trace_filter of_track = *filter;
    struct zone_walk walk = {.trace = o->trace,
                             .filter = &of_track,
                             .key_of = c->groups.group_of,
                             .key_count = c->groups.map_count,
                             .has_open_zones = true,
                             .visit = visit,
                             .context = c};
    int status = 0;
    of_track.track_wanted = calloc(filter->track_count + 1, sizeof of_track.track_wanted[0]);
    if (!of_track.track_wanted)
        return error_no_memory(err, "the pauses");
    for (uint32_t t = 0; t < filter->track_count && !status; t++) {
        if (!filter->track_wanted[t] || !trace_track_all_depths(o->trace, t))
            continue;
        for (size_t i = 0; i < c->pauses->count; i++)
            c->innermost[i] = NAME_GROUP_UNWANTED;
        of_track.track_wanted[t] = true;
        status = zone_walk(&walk, err);
        of_track.track_wanted[t] = false;
        if (!status)
            add_pauses(found, o, c);
    }
    free(of_track.track_wanted);
    return status;
}

/* Each name gets the sum of its group. */
static int find_by_name(struct overview_paused *found, const struct overview *o,
                        const struct trace_filter *filter, struct covering *c, struct error *err)
{
    int status = name_groups_make(&c->groups, o->trace, NULL, NAMES_BY_ZONE, err);
    if (status)
        return status;
    c->innermost = malloc(c->pauses->count * sizeof c->innermost[0]);
    c->by_group = calloc(c->groups.map_count, sizeof c->by_group[0]);
    found->by_name = calloc(c->groups.map_count, sizeof found->by_name[0]);
    if (!c->innermost || !c->by_group || !found->by_name)
        return error_no_memory(err, "the pauses");
    status = find_covering(found, o, filter, c, err);
    for (size_t i = 0; i < c->groups.map_count; i++)
        found->by_name[i] = c->by_group[c->groups.group_of[i]];
    return status;
}

int overview_find_paused(struct overview_paused *found, const struct overview *o,
                         const struct trace_filter *filter, struct error *err)
{
    struct time_spans pauses = {0};
    struct covering c = {.pauses = &pauses};
    *found = (struct overview_paused){0};
    int status = list_pauses(&pauses, o) ? 0 : error_no_memory(err, "the pauses");
    found->total_ns = time_spans_total(&pauses);
    if (!status && pauses.count)
        status = find_by_name(found, o, filter, &c, err);
    name_groups_free(&c.groups);
    free(c.innermost);
    free(c.by_group);
    time_spans_free(&pauses);
    return status;
}
