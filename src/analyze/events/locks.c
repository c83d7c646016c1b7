/* SPDX-License-Identifier: Apache-2.0 */
/* Zones are read twice: for the sums and the longest wait of each lock, then for who held it during that. */
#include "analyze/events/locks.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/zonewalk.h"
#include "base/bytes.h"
#include "base/intern.h"
#include "base/map.h"

struct reading {
    struct lock_stats *stats;
    struct trace *trace;
    struct intern names; /* of locks */
    struct map row_of;   /* name and process -> index */
    uint64_t *overlap;   /* by row: of the holder that was found, with its longest wait */
};

/* Of the key that a walk hands out: the lock, and whether the zone waits for it. */
static uint32_t key_of(uint32_t lock, bool is_wait)
{
    return lock * 2 + is_wait;
}

static bool list_names(struct reading *r, uint32_t *keys, size_t count, const struct trace_filter *filter)
{
    const size_t prefix = strlen(TRACE_WAIT_FOR);
    for (size_t i = 0; i <= count; i++)
        keys[i] = ZONE_WALK_SKIP;
    for (size_t i = 0; i < count; i++) {
        const char *text = trace_get_name(r->trace, (uint32_t)i)->name;
        if (strncmp(text, TRACE_WAIT_FOR, prefix) != 0 || !trace_filter_text_matches(filter, text + prefix))
            continue;
        uint32_t lock = intern_add(&r->names, text + prefix, strlen(text + prefix));
        if (lock == INTERN_NONE)
            return false;
        keys[i] = key_of(lock, true);
    }
    for (size_t i = 0; i < count && r->names.count; i++) {
        const char *text = trace_get_name(r->trace, (uint32_t)i)->name;
        uint32_t lock = keys[i] == ZONE_WALK_SKIP ? intern_find(&r->names, text, strlen(text)) : INTERN_NONE;
        if (lock != INTERN_NONE)
            keys[i] = key_of(lock, false);
    }
    return true;
}

/* NULL: no memory. */
static struct lock_row *row_of(struct reading *r, uint32_t lock, uint32_t process)
{
    struct lock_stats *stats = r->stats;
    uint64_t key = (uint64_t)lock << 32 | process;
    uint32_t index = map_get(&r->row_of, key);
    if (index != MAP_NONE)
        return &stats->rows[index];
    if (!array_reserve(&stats->rows, &stats->row_capacity, stats->row_count + 1, sizeof *stats->rows) ||
        !map_put(&r->row_of, key, (uint32_t)stats->row_count))
        return NULL;
    stats->rows[stats->row_count] = (struct lock_row){
        .name = intern_text(&r->names, lock), .process = process, .waiter = TRACE_NONE, .holder = TRACE_NONE};
    return &stats->rows[stats->row_count++];
}

/* The thread or task whose span it is; a zone that holds a lock is always one. */
static uint32_t owner_of(const struct reading *r, const struct walked_zone *zone, bool is_wait)
{
    const struct trace_track *track = trace_get_track(r->trace, zone->track);
    if (track->kind == TRACE_TRACK_SPAN)
        return track->parent;
    return is_wait ? zone->track : TRACE_NONE;
}

static bool add_zone(void *context, const struct walked_zone *zone)
{
    struct reading *r = context;
    bool is_wait = zone->key & 1;
    uint32_t owner = owner_of(r, zone, is_wait);
    uint64_t ns = zone->end_ns - zone->start_ns;
    if (owner == TRACE_NONE)
        return true; /* something else that is called as a lock is */
    struct lock_row *row = row_of(r, zone->key / 2, trace_get_track(r->trace, zone->track)->process);
    if (!row)
        return false;
    if (!is_wait) {
        row->holds++;
        row->held_ns += ns;
        row->longest_hold_ns = ns > row->longest_hold_ns ? ns : row->longest_hold_ns;
        return true;
    }
    row->waits++;
    row->waited_ns += ns;
    if (row->waiter == TRACE_NONE || ns > row->longest_wait_ns) {
        row->longest_wait_ns = ns;
        row->longest_wait_at_ns = zone->start_ns;
        row->waiter = owner;
    }
    return true;
}

/* Who held it for most of the longest wait. */
static bool find_holder(void *context, const struct walked_zone *zone)
{
    struct reading *r = context;
    uint32_t owner = zone->key & 1 ? TRACE_NONE : owner_of(r, zone, false);
    if (owner == TRACE_NONE)
        return true;
    struct lock_row *row = row_of(r, zone->key / 2, trace_get_track(r->trace, zone->track)->process);
    uint64_t wait_end = row ? row->longest_wait_at_ns + row->longest_wait_ns : 0;
    if (!row || owner == row->waiter || !row->waits || zone->start_ns >= wait_end)
        return row != NULL;
    uint64_t begin = zone->start_ns > row->longest_wait_at_ns ? zone->start_ns : row->longest_wait_at_ns;
    uint64_t end = zone->end_ns < wait_end ? zone->end_ns : wait_end;
    uint64_t *most = &r->overlap[row - r->stats->rows];
    if (end > begin && end - begin > *most) {
        *most = end - begin;
        row->holder = owner;
    }
    return true;
}

static int compare_rows(const void *left, const void *right)
{
    const struct lock_row *a = left, *b = right;
    if (a->waited_ns != b->waited_ns)
        return a->waited_ns > b->waited_ns ? -1 : 1;
    if (a->holds != b->holds)
        return a->holds > b->holds ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* A zone that is only called so is no lock: nobody holds it. The names stay when the reading is over. */
static bool keep_rows(struct lock_stats *stats)
{
    size_t kept = 0;
    bool has_memory = true;
    for (size_t i = 0; i < stats->row_count; i++) {
        struct lock_row row = stats->rows[i];
        if (!row.holds)
            continue;
        row.name = strdup(row.name);
        if (row.name)
            stats->rows[kept++] = row;
        has_memory &= row.name != NULL;
    }
    stats->row_count = kept;
    if (kept)
        qsort(stats->rows, kept, sizeof *stats->rows, compare_rows);
    return has_memory;
}

int lock_stats_make(struct lock_stats *stats, struct trace *trace, const struct trace_filter *filter,
                    struct error *err)
{
    struct reading r = {.stats = stats, .trace = trace};
    size_t names = trace_name_count(trace);
    uint32_t *keys = malloc((names + 1) * sizeof *keys);
    *stats = (struct lock_stats){0};
    int result = keys && list_names(&r, keys, names, filter) ? 0 : error_no_memory(err, "locks");
    struct zone_walk walk = {.trace = trace,
                             .filter = filter,
                             .key_of = keys,
                             .key_count = names + 1,
                             .has_open_zones = true,
                             .visit = add_zone,
                             .context = &r};
    if (result == 0 && r.names.count)
        result = zone_walk(&walk, err);
    if (result == 0 && stats->row_count) {
        r.overlap = calloc(stats->row_count, sizeof *r.overlap);
        walk.visit = find_holder;
        result = r.overlap ? zone_walk(&walk, err) : error_no_memory(err, "locks");
    }
    if (!keep_rows(stats) && result == 0)
        result = error_no_memory(err, "locks");
    free(r.overlap);
    free(keys);
    map_free(&r.row_of);
    intern_free(&r.names);
    if (result)
        lock_stats_free(stats);
    return result;
}

void lock_stats_free(struct lock_stats *stats)
{
    for (size_t i = 0; i < stats->row_count; i++)
        free((char *)(uintptr_t)stats->rows[i].name);
    free(stats->rows);
    *stats = (struct lock_stats){0};
}
