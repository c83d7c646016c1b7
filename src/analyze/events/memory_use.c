/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/events/memory_use.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/intern.h"
#include "base/map.h"

struct event {
    uint64_t ns, sequence; /* sequence: order in the file, for equal times */
    uint64_t address, size;
    uint32_t process, track, pool;
    bool is_release, is_all;
};

struct reading {
    const struct memory_reader *reader;
    struct intern pools; /* key: process id, then the pool's name */
    uint64_t *in_use;    /* by pool */
    struct map *of_pool; /* by pool: address to index in `live`; pools may lie in each other's memory */
    size_t map_count, in_use_capacity, of_pool_capacity;
    struct memory_live *live; /* entries of released ones are used again */
    size_t live_count, live_capacity;
    uint32_t *spare; /* indices of entries that are free */
    size_t spare_count, spare_capacity;
    struct event *heap;
    size_t heap_count, heap_capacity;
    uint64_t sequence;
};

/* --- one event after the other, in order of time --- */

static int report(struct reading *r, enum memory_change_kind kind, const struct event *event, uint32_t pool,
                  uint64_t size)
{
    struct memory_change change = {.kind = kind,
                                   .ns = event->ns,
                                   .address = event->address,
                                   .size = size,
                                   .in_use_bytes = r->in_use[pool],
                                   .process = event->process,
                                   .track = event->track,
                                   .pool = pool,
                                   .pool_name = intern_text(&r->pools, pool) + sizeof event->process};
    return r->reader->visit(r->reader->context, &change);
}

/* Takes an allocation out of what is live. */
static int end_live(struct reading *r, uint32_t index, const struct event *event,
                    enum memory_change_kind kind)
{
    struct memory_live live = r->live[index];
    if (!array_reserve(&r->spare, &r->spare_capacity, r->spare_count + 1, sizeof r->spare[0]))
        return -ENOMEM;
    r->spare[r->spare_count++] = index;
    r->live[index].pool = INTERN_NONE;
    r->in_use[live.pool] -= live.size;
    return report(r, kind, event, live.pool, live.size);
}

/* All that the pool holds. */
static int end_pool(struct reading *r, const struct event *event)
{
    struct map *map = &r->of_pool[event->pool];
    struct event one = *event;
    uint32_t index;
    int result = 0;
    for (size_t at = 0; result == 0 && (index = map_next(map, &at)) != MAP_NONE;) {
        one.address = r->live[index].address;
        result = end_live(r, index, &one, MEMORY_RELEASED);
    }
    map_free(map);
    return result;
}

static int apply(struct reading *r, const struct event *event)
{
    if (event->is_all)
        return end_pool(r, event);
    struct map *map = &r->of_pool[event->pool];
    uint32_t known = map_remove(map, event->address);
    if (event->is_release)
        return known == MAP_NONE ? report(r, MEMORY_UNMATCHED, event, event->pool, 0)
                                 : end_live(r, known, event, MEMORY_RELEASED);
    int result = known == MAP_NONE ? 0 : end_live(r, known, event, MEMORY_REPLACED);
    if (result != 0)
        return result;
    if (!r->spare_count &&
        (r->live_count >= MAP_NONE - 1 ||
         !array_reserve(&r->live, &r->live_capacity, r->live_count + 1, sizeof r->live[0])))
        return -ENOMEM;
    uint32_t index = r->spare_count ? r->spare[--r->spare_count] : (uint32_t)r->live_count++;
    r->live[index] = (struct memory_live){.ns = event->ns,
                                          .address = event->address,
                                          .size = event->size,
                                          .process = event->process,
                                          .track = event->track,
                                          .pool = event->pool};
    if (!map_put(map, event->address, index))
        return -ENOMEM;
    r->in_use[event->pool] += event->size;
    return report(r, MEMORY_ALLOCATED, event, event->pool, event->size);
}

static bool happens_before(const struct event *a, const struct event *b)
{
    return a->ns != b->ns ? a->ns < b->ns : a->sequence < b->sequence;
}

static int heap_push(struct reading *r, const struct event *event)
{
    if (!array_reserve(&r->heap, &r->heap_capacity, r->heap_count + 1, sizeof *r->heap))
        return -ENOMEM;
    size_t at = r->heap_count++;
    while (at > 0 && happens_before(event, &r->heap[(at - 1) / 2])) {
        r->heap[at] = r->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    r->heap[at] = *event;
    return 0;
}

static struct event heap_pop(struct reading *r)
{
    struct event first = r->heap[0], last = r->heap[--r->heap_count];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < r->heap_count) {
        if (child + 1 < r->heap_count && happens_before(&r->heap[child + 1], &r->heap[child]))
            child++;
        if (!happens_before(&r->heap[child], &last))
            break;
        r->heap[at] = r->heap[child];
        at = child;
    }
    if (r->heap_count)
        r->heap[at] = last;
    return first;
}

/* The number of a pool of a process, made when it is new. */
static uint32_t pool_number(struct reading *r, uint32_t process, uint32_t pool)
{
    struct bytes key = {0};
    size_t before = r->pools.count;
    bytes_append(&key, &process, sizeof process);
    if (pool != TRACE_NONE)
        bytes_append_text(&key, trace_get_name(r->reader->trace, pool)->name);
    uint32_t number = key.failed ? INTERN_NONE : intern_add(&r->pools, key.data, key.length);
    bytes_free(&key);
    if (number == before && number != INTERN_NONE) {
        if (!array_reserve(&r->in_use, &r->in_use_capacity, r->pools.count, sizeof *r->in_use) ||
            !array_reserve(&r->of_pool, &r->of_pool_capacity, r->pools.count, sizeof *r->of_pool))
            return INTERN_NONE;
        r->in_use[number] = 0;
        r->of_pool[number] = (struct map){0};
        r->map_count = r->pools.count;
    }
    return number;
}

static int hold_rows(struct reading *r, const struct trace_rows *rows)
{
    struct trace *trace = r->reader->trace;
    for (size_t i = 0; i < rows->count; i++) {
        const struct trace_memory *row = &rows->memory[i];
        const struct trace_track *track = trace_get_track(trace, row->track);
        struct event event = {
            .ns = row->time,
            .sequence = r->sequence++,
            .address = row->address,
            .size = row->size,
            .process = track ? track->process : TRACE_NONE,
            .track = row->track,
            .is_release = row->is_release,
            .is_all = row->is_all,
        };
        if (!trace_filter_wants_process(r->reader->filter, event.process))
            continue;
        event.pool = pool_number(r, event.process, row->pool);
        if (event.pool == INTERN_NONE || heap_push(r, &event) != 0)
            return -ENOMEM;
    }
    return 0;
}

/* --- the blocks, by their first time --- */

struct timed_block {
    const struct trace_block *block;
    uint64_t first_ns;
};

static int compare_blocks(const void *a, const void *b)
{
    const struct timed_block *left = a, *right = b;
    if (left->first_ns != right->first_ns)
        return left->first_ns < right->first_ns ? -1 : 1;
    return left->block->offset < right->block->offset ? -1 : left->block->offset > right->block->offset;
}

static int list_blocks(const struct memory_reader *reader, struct timed_block **blocks, size_t *count)
{
    struct trace_block_filter filter = {.type = TRACE_BLOCK_MEMORY};
    const struct trace_block *block;
    size_t position = 0, capacity = 0;
    if (reader->filter->has_window)
        filter.until_ns = reader->filter->until_ns;
    while ((block = trace_next_block(reader->trace, &filter, &position))) {
        if (!array_reserve(blocks, &capacity, *count + 1, sizeof **blocks))
            return -ENOMEM;
        (*blocks)[(*count)++] = (struct timed_block){
            .block = block, .first_ns = trace_host_ns(reader->trace, block->clock, block->t_first)};
    }
    if (*count)
        qsort(*blocks, *count, sizeof **blocks, compare_blocks);
    return 0;
}

static int read_blocks(struct reading *r, const struct timed_block *blocks, size_t count, struct error *err)
{
    const struct trace_filter *filter = r->reader->filter;
    struct trace_rows rows = {0};
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        uint64_t until_ns = i + 1 < count ? blocks[i + 1].first_ns : UINT64_MAX;
        result = trace_decode_rows(r->reader->trace, blocks[i].block, &rows, err);
        if (result == 0)
            result = hold_rows(r, &rows);
        while (result == 0 && r->heap_count && (i + 1 == count || r->heap[0].ns < until_ns)) {
            struct event event = heap_pop(r);
            if (filter->has_window && event.ns > filter->until_ns)
                continue;
            result = apply(r, &event);
        }
    }
    trace_rows_free(&rows);
    return result;
}

static void reading_free(struct reading *r)
{
    for (size_t i = 0; i < r->map_count; i++)
        map_free(&r->of_pool[i]);
    free(r->of_pool);
    free(r->live);
    free(r->spare);
    free(r->in_use);
    free(r->heap);
    intern_free(&r->pools);
}

int memory_use_read(const struct memory_reader *reader, struct memory_live **live, size_t *live_count,
                    struct error *err)
{
    struct reading r = {.reader = reader};
    struct timed_block *blocks = NULL;
    size_t count = 0;
    int result = list_blocks(reader, &blocks, &count);
    if (result == 0)
        result = read_blocks(&r, blocks, count, err);
    if (result == -ENOMEM)
        error_no_memory(err, "memory events");
    if (result == 0 && live) {
        size_t kept = 0;
        for (size_t i = 0; i < r.live_count; i++) {
            if (r.live[i].pool != INTERN_NONE)
                r.live[kept++] = r.live[i];
        }
        *live = r.live;
        *live_count = kept;
        r.live = NULL;
    }
    free(blocks);
    reading_free(&r);
    return result;
}
