/* SPDX-License-Identifier: Apache-2.0 */
/* What of the main thread's time recording was paused. Zones that were open then go on, and the one that was innermost
 * has the pause in its own time: it is taken out again, since nobody knows what the thread did meanwhile. */
#include <stdlib.h>

#include "analyze/names.h"
#include "analyze/overview/internal.h"
#include "analyze/zones/waiting.h"
#include "analyze/zonewalk.h"

struct covering {
    const struct time_spans *pauses;
    struct name_groups groups; /* as the statistics have them, whose rows the pauses are taken out of */
    uint32_t *innermost;       /* by pause: the group of the zone that was open all the time */
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
    int status = name_groups_make(&c->groups, o->trace, NULL, NAMES_BY_ZONE, err);
    struct zone_walk walk = {.trace = o->trace,
                             .filter = filter,
                             .key_of = c->groups.group_of,
                             .key_count = c->groups.map_count,
                             .has_open_zones = true,
                             .visit = visit,
                             .context = c};
    return status ? status : zone_walk(&walk, err);
}

/* By group; then each name gets the sum of its group. */
static int add_pauses(struct overview_paused *found, const struct overview *o, const struct covering *c,
                      struct error *err)
{
    uint64_t *by_group = calloc(c->groups.map_count, sizeof by_group[0]);
    found->by_name = calloc(c->groups.map_count, sizeof found->by_name[0]);
    if (!by_group || !found->by_name) {
        free(by_group);
        return error_no_memory(err, "the pauses");
    }
    for (size_t i = 0; i < c->pauses->count; i++) {
        uint64_t ns = c->pauses->items[i].end - c->pauses->items[i].start;
        uint32_t group = c->innermost[i];
        found->total_ns += ns;
        if (group == NAME_GROUP_UNWANTED)
            continue;
        found->in_zones_ns += ns;
        by_group[group] += ns;
        if (waiting_is_name(trace_get_name(o->trace, c->groups.first_name[group])->name))
            found->in_waits_ns += ns;
    }
    for (size_t i = 0; i < c->groups.map_count; i++)
        found->by_name[i] = by_group[c->groups.group_of[i]];
    free(by_group);
    return 0;
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
        if (!c.innermost)
            status = error_no_memory(err, "the pauses");
        for (size_t i = 0; i < pauses.count && c.innermost; i++)
            c.innermost[i] = NAME_GROUP_UNWANTED;
        if (!status)
            status = find_covering(o, filter, &c, err);
        if (!status)
            status = add_pauses(found, o, &c, err);
    }
    name_groups_free(&c.groups);
    free(c.innermost);
    time_spans_free(&pauses);
    return status;
}
