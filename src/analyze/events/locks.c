/* SPDX-License-Identifier: Apache-2.0 */
/* Rows are read twice: for the sums and the longest wait of each lock, then for who held that lock during it. */
#include "analyze/events/locks.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/names.h"
#include "base/bytes.h"
#include "base/intern.h"
#include "base/map.h"

struct reading {
    struct lock_stats *stats;
    struct trace *trace;
    const struct trace_filter *filter;
    struct name_groups groups; /* by text: locks of one name */
    struct map row_of;         /* group and process -> index */
    struct intern locks;       /* row and number */
    uint64_t *overlap;         /* by row: of the holder that was found, with its longest wait */
};

/* What is done with a row; false: no memory. */
typedef bool visit_fn(struct reading *r, struct lock_row *row, const struct trace_lock *lock);

/* NULL: no memory. */
static struct lock_row *find_row(struct reading *r, uint32_t name, uint32_t process)
{
    struct lock_stats *stats = r->stats;
    uint64_t key = (uint64_t)name_group(&r->groups, name) << 32 | process;
    uint32_t index = map_get(&r->row_of, key);
    if (index != MAP_NONE)
        return &stats->rows[index];
    if (!array_reserve(&stats->rows, &stats->row_capacity, stats->row_count + 1, sizeof *stats->rows) ||
        !map_put(&r->row_of, key, (uint32_t)stats->row_count))
        return NULL;
    stats->rows[stats->row_count] =
        (struct lock_row){.name = name, .process = process, .waiter = TRACE_NONE, .holder = TRACE_NONE};
    return &stats->rows[stats->row_count++];
}

static bool count_lock(struct reading *r, struct lock_row *row, uint64_t number)
{
    const uint64_t key[] = {(uint64_t)(row - r->stats->rows), number};
    size_t known = r->locks.count;
    uint32_t id = intern_add(&r->locks, key, sizeof key);
    row->locks += id == known;
    return id != INTERN_NONE;
}

static bool add_lock(struct reading *r, struct lock_row *row, const struct trace_lock *lock)
{
    uint64_t ns = lock->end_ns - lock->start_ns;
    if (!count_lock(r, row, lock->number))
        return false;
    if (lock->kind == TRACE_LOCK_HOLD) {
        row->holds++;
        row->shared_holds += lock->is_shared;
        row->held_ns += ns;
        row->longest_hold_ns = ns > row->longest_hold_ns ? ns : row->longest_hold_ns;
        return true;
    }
    row->waits++;
    row->open_waits += lock->is_open;
    row->waited_ns += ns;
    if (row->waiter == TRACE_NONE || ns > row->longest_wait_ns) {
        row->longest_wait_ns = ns;
        row->longest_wait_at_ns = lock->start_ns;
        row->longest_wait_lock = lock->number;
        row->waiter = lock->track;
    }
    return true;
}

/* Who held it for most of the longest wait. */
static bool find_holder(struct reading *r, struct lock_row *row, const struct trace_lock *lock)
{
    uint64_t wait_end = row->longest_wait_at_ns + row->longest_wait_ns;
    if (lock->kind != TRACE_LOCK_HOLD || lock->track == row->waiter || !row->waits ||
        lock->number != row->longest_wait_lock || lock->start_ns >= wait_end)
        return true;
    uint64_t begin = lock->start_ns > row->longest_wait_at_ns ? lock->start_ns : row->longest_wait_at_ns;
    uint64_t end = lock->end_ns < wait_end ? lock->end_ns : wait_end;
    uint64_t *most = &r->overlap[row - r->stats->rows];
    if (end > begin && end - begin > *most) {
        *most = end - begin;
        row->holder = lock->track;
    }
    return true;
}

static bool visit_rows(struct reading *r, const struct trace_rows *rows, visit_fn *visit)
{
    for (size_t i = 0; i < rows->count; i++) {
        struct trace_lock lock = rows->locks[i];
        const struct trace_track *track = trace_get_track(r->trace, lock.track);
        uint64_t ns = lock.end_ns - lock.start_ns;
        if (!track || !trace_filter_wants_track(r->filter, lock.track) ||
            !trace_filter_wants_name(r->filter, lock.name) ||
            !trace_filter_clip(r->filter, &lock.start_ns, &ns) || lock.kind < TRACE_LOCK_WAIT ||
            lock.kind > TRACE_LOCK_HOLD)
            continue;
        lock.is_open &= lock.start_ns + ns == lock.end_ns; /* else: it went on after the window */
        lock.end_ns = lock.start_ns + ns;
        struct lock_row *row = find_row(r, lock.name, track->process);
        if (!row || !visit(r, row, &lock))
            return false;
    }
    return true;
}

static int read_rows(struct reading *r, visit_fn *visit, struct error *err)
{
    struct trace_block_filter blocks = {.type = TRACE_BLOCK_LOCKS};
    struct trace_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0;
    int result = 0;
    if (r->filter->has_window) {
        blocks.since_ns = r->filter->since_ns;
        blocks.until_ns = r->filter->until_ns;
    }
    while (result == 0 && (block = trace_next_block(r->trace, &blocks, &position))) {
        result = trace_decode_rows(r->trace, block, &rows, err);
        if (result == 0 && !visit_rows(r, &rows, visit))
            result = error_no_memory(err, "locks");
    }
    trace_rows_free(&rows);
    return result;
}

static int compare_rows(const void *left, const void *right, void *trace)
{
    const struct lock_row *a = left, *b = right;
    if (a->waited_ns != b->waited_ns)
        return a->waited_ns > b->waited_ns ? -1 : 1;
    if (a->holds != b->holds)
        return a->holds > b->holds ? -1 : 1;
    int order = strcmp(trace_get_name(trace, a->name)->name, trace_get_name(trace, b->name)->name);
    return order ? order : (a->process > b->process) - (a->process < b->process);
}

int lock_stats_make(struct lock_stats *stats, struct trace *trace, const struct trace_filter *filter,
                    struct error *err)
{
    struct reading r = {.stats = stats, .trace = trace, .filter = filter};
    *stats = (struct lock_stats){0};
    int result = name_groups_make(&r.groups, trace, NULL, NAMES_BY_TEXT, err);
    if (result == 0)
        result = read_rows(&r, add_lock, err);
    if (result == 0 && stats->row_count) {
        r.overlap = calloc(stats->row_count, sizeof *r.overlap);
        result = r.overlap ? read_rows(&r, find_holder, err) : error_no_memory(err, "locks");
    }
    if (result == 0 && stats->row_count)
        qsort_r(stats->rows, stats->row_count, sizeof *stats->rows, compare_rows, trace);
    free(r.overlap);
    map_free(&r.row_of);
    intern_free(&r.locks);
    name_groups_free(&r.groups);
    if (result)
        lock_stats_free(stats);
    return result;
}

void lock_stats_free(struct lock_stats *stats)
{
    free(stats->rows);
    *stats = (struct lock_stats){0};
}
