/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/events/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/zonewalk.h"
#include "base/count_of.h"

struct summing {
    struct memory_stats *stats;
    const struct trace_filter *filter;
};

/* The entry of a pool; they are numbered in the order in which they are first seen. */
static struct memory_pool *find_pool(struct memory_stats *stats, const struct memory_change *change)
{
    if (change->pool < stats->pool_count)
        return &stats->pools[change->pool];
    if (!array_reserve(&stats->pools, &stats->pool_capacity, (size_t)change->pool + 1,
                       sizeof stats->pools[0]))
        return NULL;
    while (stats->pool_count <= change->pool)
        stats->pools[stats->pool_count++] = (struct memory_pool){.process = change->process};
    struct memory_pool *pool = &stats->pools[change->pool];
    pool->name = stats->texts.length;
    bytes_append(&stats->texts, change->pool_name, strlen(change->pool_name) + 1);
    return stats->texts.failed ? NULL : pool;
}

static int add_change(void *context, const struct memory_change *change)
{
    struct summing *s = context;
    struct memory_pool *pool = find_pool(s->stats, change);
    if (!pool)
        return -ENOMEM;
    bool is_first = pool->allocations + pool->releases == 0;
    uint64_t before = pool->in_use;
    pool->in_use = change->in_use_bytes;
    if (change->ns < s->filter->since_ns)
        return 0;
    if (is_first && before > pool->peak_bytes) { /* when the window began */
        pool->peak_bytes = before;
        pool->peak_ns = s->filter->since_ns;
    }
    pool->allocations += change->kind == MEMORY_ALLOCATED;
    pool->allocated_bytes += change->kind == MEMORY_ALLOCATED ? change->size : 0;
    pool->releases += change->kind == MEMORY_RELEASED || change->kind == MEMORY_UNMATCHED;
    pool->unmatched += change->kind == MEMORY_UNMATCHED;
    pool->replaced += change->kind == MEMORY_REPLACED;
    if (pool->in_use > pool->peak_bytes) {
        pool->peak_bytes = pool->in_use;
        pool->peak_ns = change->ns;
    }
    return 0;
}

/* --- which zone allocated what is left --- */

struct owner { /* an allocation that was not released */
    uint64_t ns, size;
    uint32_t track, pool, name;
};

struct owning {
    struct owner *owners; /* in order of track and time */
    size_t *first;        /* by track, and one more */
    size_t track_count;
};

static int compare_owners(const void *left, const void *right)
{
    const struct owner *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    return (a->ns > b->ns) - (a->ns < b->ns);
}

#define KEY_ALLOCATOR 0x80000000u

/* A zone around the allocation itself, such as "iree_allocator_libc_calloc": all memory comes from there, so it says
 * less than who called it. */
static bool is_allocator(const char *name)
{
    static const char *const words[] = {"malloc",    "calloc",   "realloc",
                                        "allocator", "memalign", "operator new"};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (strcasestr(name, words[i]))
            return true;
    }
    return false;
}

/* Outer zones come first: the last one that is noted is the innermost, but for an allocator's that somebody called. */
static bool note_zone(void *context, const struct walked_zone *zone)
{
    struct owning *o = context;
    uint32_t name = zone->key & ~KEY_ALLOCATOR;
    size_t low = o->first[zone->track], last = o->first[zone->track + 1], high = last;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (o->owners[middle].ns < zone->start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < last && o->owners[low].ns <= zone->end_ns; low++) {
        if (!(zone->key & KEY_ALLOCATOR) || o->owners[low].name == TRACE_NONE)
            o->owners[low].name = name;
    }
    return true;
}

static int find_zones(struct owning *o, size_t count, struct trace *trace, struct error *err)
{
    size_t names = trace_name_count(trace) + 1;
    uint32_t *keys = malloc(names * sizeof *keys);
    o->track_count = trace_track_count(trace);
    o->first = calloc(o->track_count + 2, sizeof *o->first);
    int result = keys && o->first ? 0 : error_no_memory(err, "zones of allocations");
    for (size_t i = 0; result == 0 && i < names; i++)
        keys[i] =
            (uint32_t)i |
            (i + 1 < names && is_allocator(trace_get_name(trace, (uint32_t)i)->name) ? KEY_ALLOCATOR : 0);
    for (size_t i = 0, track = 0; result == 0 && track <= o->track_count; track++) {
        o->first[track] = i;
        while (i < count && o->owners[i].track == track)
            i++;
    }
    if (result == 0) {
        o->first[o->track_count + 1] = count;
        struct zone_walk walk = {.trace = trace,
                                 .key_of = keys,
                                 .key_count = names,
                                 .has_open_zones = true,
                                 .visit = note_zone,
                                 .context = o};
        result = zone_walk(&walk, err);
    }
    free(keys);
    free(o->first);
    return result;
}

static int compare_for_sum(const void *left, const void *right)
{
    const struct owner *a = left, *b = right;
    if (a->pool != b->pool)
        return a->pool < b->pool ? -1 : 1;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return (a->ns > b->ns) - (a->ns < b->ns);
}

static int compare_leaks(const void *left, const void *right)
{
    const struct memory_leak *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    if (a->count != b->count)
        return a->count < b->count ? 1 : -1;
    return (a->first_ns > b->first_ns) - (a->first_ns < b->first_ns);
}

static int sum_leaks(struct memory_stats *stats, struct trace *trace, const struct memory_live *live,
                     size_t count, struct error *err)
{
    struct owning o = {.owners = malloc((count + 1) * sizeof *o.owners)};
    stats->leaks = calloc(count + 1, sizeof *stats->leaks);
    if (!o.owners || !stats->leaks) {
        free(o.owners);
        return error_no_memory(err, "leaks");
    }
    for (size_t i = 0; i < count; i++) {
        o.owners[i] = (struct owner){live[i].ns, live[i].size, live[i].track, live[i].pool, TRACE_NONE};
        stats->pools[live[i].pool].live_count++;
        stats->pools[live[i].pool].live_bytes += live[i].size;
    }
    qsort(o.owners, count, sizeof *o.owners, compare_owners);
    int result = count ? find_zones(&o, count, trace, err) : 0;
    qsort(o.owners, count, sizeof *o.owners, compare_for_sum);
    for (size_t i = 0; i < count && result == 0; i++) {
        const struct owner *owner = &o.owners[i];
        bool is_new = i == 0 || owner[-1].pool != owner->pool || owner[-1].name != owner->name;
        if (is_new)
            stats->leaks[stats->leak_count++] =
                (struct memory_leak){.pool = owner->pool, .name = owner->name, .first_ns = owner->ns};
        stats->leaks[stats->leak_count - 1].count++;
        stats->leaks[stats->leak_count - 1].bytes += owner->size;
    }
    free(o.owners);
    return result;
}

/* Pools that the filter does not want go, and the rest is put in order; leaks follow them. */
static int arrange(struct memory_stats *stats, const struct trace_filter *filter, struct error *err)
{
    uint32_t *place = malloc((stats->pool_count + 1) * sizeof *place); /* by old index; TRACE_NONE */
    struct memory_pool *ordered = malloc((stats->pool_count + 1) * sizeof *ordered);
    size_t count = 0, leaks = 0;
    if (!place || !ordered) {
        free(place);
        free(ordered);
        return error_no_memory(err, "pools");
    }
    for (size_t i = 0; i < stats->pool_count; i++)
        place[i] = TRACE_NONE;
    for (;; count++) { /* there are few: the largest peak of those that are left */
        size_t best = SIZE_MAX;
        for (size_t i = 0; i < stats->pool_count; i++) {
            const struct memory_pool *pool = &stats->pools[i];
            bool is_used = pool->allocations || pool->releases || pool->live_count;
            if (place[i] == TRACE_NONE && is_used &&
                trace_filter_text_matches(filter, memory_pool_name(stats, pool)) &&
                (best == SIZE_MAX || pool->peak_bytes > stats->pools[best].peak_bytes))
                best = i;
        }
        if (best == SIZE_MAX)
            break;
        place[best] = (uint32_t)count;
        ordered[count] = stats->pools[best];
    }
    for (size_t i = 0; i < stats->leak_count; i++) {
        uint32_t pool = place[stats->leaks[i].pool];
        if (pool == TRACE_NONE)
            continue;
        stats->leaks[leaks] = stats->leaks[i];
        stats->leaks[leaks++].pool = pool;
    }
    stats->leak_count = leaks;
    qsort(stats->leaks, leaks, sizeof stats->leaks[0], compare_leaks);
    free(stats->pools);
    stats->pools = ordered;
    stats->pool_count = count;
    free(place);
    return 0;
}

int memory_stats_make(struct memory_stats *stats, struct trace *trace, const struct trace_filter *filter,
                      struct error *err)
{
    struct summing s = {stats, filter};
    struct memory_reader reader = {.trace = trace, .filter = filter, .visit = add_change, .context = &s};
    struct memory_live *live = NULL;
    size_t live_count = 0;
    *stats = (struct memory_stats){0};
    int result = memory_use_read(&reader, &live, &live_count, err);
    if (result == 0)
        result = sum_leaks(stats, trace, live, live_count, err);
    if (result == 0)
        result = arrange(stats, filter, err);
    free(live);
    if (result != 0)
        memory_stats_free(stats);
    return result;
}

void memory_stats_free(struct memory_stats *stats)
{
    free(stats->pools);
    free(stats->leaks);
    bytes_free(&stats->texts);
    *stats = (struct memory_stats){0};
}
