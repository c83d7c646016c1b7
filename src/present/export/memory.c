/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes in use by pool, from allocations and releases.
 *
 * A release says only the address, and may be made by another thread than the allocation; threads are
 * collected one after the other, so that the file has them in no common order. So the events are put in order
 * of time: blocks are read by their first time, rows wait in a heap until no unread block can begin before
 * them. In practice two or three blocks overlap. Sums are those of the whole process, whatever threads were
 * asked for, and start with the trace, whatever window was. Memory: the live allocations, 40 bytes each. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/intern.h"
#include "present/export/events.h"

struct event {
    uint64_t ns, sequence; /* sequence: order in the file, for equal times */
    uint64_t address, size;
    uint32_t process, pool; /* pool: see struct sums */
    bool is_release;
};

struct live { /* an allocation that was not released; size and pool of an empty slot are 0 and INTERN_NONE */
    uint64_t address, size;
    uint32_t process, pool;
};

struct sums {
    struct export_job *job;
    const struct export_events *events;
    struct intern pools; /* key: process id, then the pool's name */
    uint64_t *in_use;    /* by pool */
    size_t in_use_capacity;
    struct live *table; /* open addressing, never more than half full */
    size_t table_size, live_count;
    struct event *heap;
    size_t heap_count, heap_capacity;
    uint64_t sequence;
};

/* --- live allocations --- */

static size_t slot_of(const struct sums *sums, uint32_t process, uint64_t address)
{
    return (size_t)hash_mix(address ^ UINT64_C(0x9e3779b97f4a7c15),
                            (uint64_t)process + UINT64_C(0xd6e8feb86659fd93)) &
           (sums->table_size - 1);
}

/* The allocation, or the empty slot where it would be. */
static struct live *find_live(struct sums *sums, uint32_t process, uint64_t address)
{
    size_t i = slot_of(sums, process, address);
    while (sums->table[i].pool != INTERN_NONE &&
           (sums->table[i].address != address || sums->table[i].process != process))
        i = (i + 1) & (sums->table_size - 1);
    return &sums->table[i];
}

static bool make_table(struct sums *sums, size_t size)
{
    struct live *old = sums->table;
    size_t old_size = sums->table_size;
    struct live *table = size <= SIZE_MAX / sizeof *table ? malloc(size * sizeof *table) : NULL;
    if (!table)
        return false;
    for (size_t i = 0; i < size; i++)
        table[i] = (struct live){.pool = INTERN_NONE};
    sums->table = table;
    sums->table_size = size;
    for (size_t i = 0; i < old_size; i++) {
        if (old[i].pool != INTERN_NONE)
            *find_live(sums, old[i].process, old[i].address) = old[i];
    }
    free(old);
    return true;
}

/* Empties a slot and moves up those behind it that could not be found any more. */
static void remove_live(struct sums *sums, struct live *slot)
{
    size_t mask = sums->table_size - 1, hole = (size_t)(slot - sums->table), i = hole;
    sums->table[hole].pool = INTERN_NONE;
    sums->live_count--;
    for (;;) {
        i = (i + 1) & mask;
        struct live *next = &sums->table[i];
        if (next->pool == INTERN_NONE)
            return;
        size_t home = slot_of(sums, next->process, next->address);
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            sums->table[hole] = *next;
            next->pool = INTERN_NONE;
            hole = i;
        }
    }
}

/* --- one event after the other, in order of time --- */

static int tell(struct sums *sums, uint32_t process, uint32_t pool, uint64_t ns)
{
    struct export_job *job = sums->job;
    const char *name = intern_text(&sums->pools, pool) + sizeof process;
    if (!trace_filter_wants_span(job->filter, ns, ns) || !trace_filter_text_matches(job->filter, name))
        return 0;
    job->counts->memory_events++;
    int result = sums->events->memory(sums->events->context, process, name, ns, sums->in_use[pool]);
    return result == 0 ? export_flush(job, false) : result;
}

static int apply(struct sums *sums, const struct event *event)
{
    struct live *live = find_live(sums, event->process, event->address);
    bool is_known = live->pool != INTERN_NONE;
    if (event->is_release) {
        if (!is_known)
            return 0; /* allocated before the recording, or its record was lost */
        uint32_t pool = live->pool;
        sums->in_use[pool] -= live->size;
        remove_live(sums, live);
        return tell(sums, event->process, pool, event->ns);
    }
    if (is_known)
        sums->in_use[live->pool] -= live->size; /* the release was lost */
    else
        sums->live_count++;
    *live = (struct live){
        .address = event->address, .size = event->size, .process = event->process, .pool = event->pool};
    sums->in_use[event->pool] += event->size;
    if (2 * sums->live_count > sums->table_size && !make_table(sums, 2 * sums->table_size))
        return export_no_memory(sums->job);
    return tell(sums, event->process, event->pool, event->ns);
}

static bool happens_before(const struct event *a, const struct event *b)
{
    return a->ns != b->ns ? a->ns < b->ns : a->sequence < b->sequence;
}

static int heap_push(struct sums *sums, const struct event *event)
{
    if (!array_reserve(&sums->heap, &sums->heap_capacity, sums->heap_count + 1, sizeof *sums->heap))
        return export_no_memory(sums->job);
    size_t at = sums->heap_count++;
    while (at > 0 && happens_before(event, &sums->heap[(at - 1) / 2])) {
        sums->heap[at] = sums->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    sums->heap[at] = *event;
    return 0;
}

static struct event heap_pop(struct sums *sums)
{
    struct event first = sums->heap[0], last = sums->heap[--sums->heap_count];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < sums->heap_count) {
        if (child + 1 < sums->heap_count && happens_before(&sums->heap[child + 1], &sums->heap[child]))
            child++;
        if (!happens_before(&sums->heap[child], &last))
            break;
        sums->heap[at] = sums->heap[child];
        at = child;
    }
    if (sums->heap_count)
        sums->heap[at] = last;
    return first;
}

/* The number of a pool of a process, made when it is new. */
static uint32_t pool_number(struct sums *sums, uint32_t process, uint32_t pool)
{
    struct bytes key = {0};
    size_t before = sums->pools.count;
    bytes_append(&key, &process, sizeof process);
    if (pool != TRACE_NONE)
        bytes_append_text(&key, trace_get_name(sums->job->trace, pool)->name);
    uint32_t number = key.failed ? INTERN_NONE : intern_add(&sums->pools, key.data, key.length);
    bytes_free(&key);
    if (number == before && number != INTERN_NONE) {
        if (!array_reserve(&sums->in_use, &sums->in_use_capacity, sums->pools.count, sizeof *sums->in_use))
            return INTERN_NONE;
        sums->in_use[number] = 0;
    }
    return number;
}

static int hold_rows(struct sums *sums, const struct trace_rows *rows)
{
    struct export_job *job = sums->job;
    for (size_t i = 0; i < rows->count; i++) {
        const struct trace_memory *row = &rows->memory[i];
        struct event event = {
            .ns = export_host_ns(job, row->track, row->time),
            .sequence = sums->sequence++,
            .address = row->address,
            .size = row->size,
            .process = export_track_process(job, row->track),
            .is_release = row->is_release,
        };
        if (!trace_filter_wants_process(job->filter, event.process))
            continue;
        event.pool = pool_number(sums, event.process, row->pool);
        if (event.pool == INTERN_NONE)
            return export_no_memory(job);
        int result = heap_push(sums, &event);
        if (result != 0)
            return result;
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

static int list_blocks(struct export_job *job, struct timed_block **blocks, size_t *count)
{
    struct trace_block_filter filter = {.type = TRACE_BLOCK_MEMORY};
    const struct trace_block *block;
    size_t position = 0, capacity = 0;
    if (job->filter->has_window)
        filter.until_ns = job->filter->until_ns;
    while ((block = trace_next_block(job->trace, &filter, &position))) {
        if (!array_reserve(blocks, &capacity, *count + 1, sizeof **blocks))
            return export_no_memory(job);
        uint64_t first_ns = block->clock == TRACE_HOST_CLOCK
                                ? block->t_first
                                : trace_host_ns(job->trace, block->clock, block->t_first);
        (*blocks)[(*count)++] = (struct timed_block){.block = block, .first_ns = first_ns};
    }
    if (*count)
        qsort(*blocks, *count, sizeof **blocks, compare_blocks);
    return 0;
}

int export_each_memory(struct export_job *job, const struct export_events *events)
{
    struct sums sums = {.job = job, .events = events};
    struct timed_block *blocks = NULL;
    struct trace_rows rows = {0};
    size_t count = 0;
    int result = list_blocks(job, &blocks, &count);
    if (result == 0 && count && !make_table(&sums, 1024))
        result = export_no_memory(job);
    for (size_t i = 0; i < count && result == 0; i++) {
        uint64_t until_ns = i + 1 < count ? blocks[i + 1].first_ns : UINT64_MAX;
        result = trace_decode_rows(job->trace, blocks[i].block, &rows, job->err);
        if (result == 0)
            result = hold_rows(&sums, &rows);
        while (result == 0 && sums.heap_count && (i + 1 == count || sums.heap[0].ns < until_ns)) {
            struct event event = heap_pop(&sums);
            result = apply(&sums, &event);
        }
    }
    trace_rows_free(&rows);
    intern_free(&sums.pools);
    free(sums.in_use);
    free(sums.table);
    free(sums.heap);
    free(blocks);
    return result;
}
