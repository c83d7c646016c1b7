/* SPDX-License-Identifier: Apache-2.0 */
/* Locks: what a thread waits for and holds, each a row when it ends, and a span while it is held. A lock that another
 * thread releases stays held by the one that obtained it: threads are not read in the order of their times. */
#include <stdlib.h>

#include "collect/internal.h"

#define MAX_OPEN_LOCKS 4096u /* of one thread */

static struct open_lock *find(struct track *t, uint32_t kind, uint64_t number)
{
    for (size_t i = t->lock_count; i > 0; i--)
        if (t->locks[i - 1].number == number && t->locks[i - 1].kind == kind)
            return &t->locks[i - 1];
    return NULL;
}

/* A thread cannot wait twice for one lock: the end of the first wait was lost. It may hold it twice. */
static bool begin(struct source *s, struct track *t, const struct open_lock *lock)
{
    struct open_lock *known = lock->kind == TRACE_LOCK_WAIT ? find(t, lock->kind, lock->number) : NULL;
    if (known) {
        *known = *lock;
        return true;
    }
    if (t->lock_count >= MAX_OPEN_LOCKS ||
        !array_reserve(&t->locks, &t->lock_capacity, t->lock_count + 1, sizeof *t->locks)) {
        track_lose(t, TRACE_LOSS_TOO_DEEP, lock->start, lock->start, 0, 1);
        s->collector->stats.lost_records++;
        return false;
    }
    t->locks[t->lock_count++] = *lock;
    s->collector->taken.records++;
    return true;
}

static void write_row(struct source *s, const struct open_lock *lock, uint64_t end_ns, bool is_open)
{
    trace_writer_lock(s->collector->writer, &(struct trace_lock){.track = lock->track,
                                                                 .name = lock->name,
                                                                 .kind = lock->kind,
                                                                 .number = lock->number,
                                                                 .start_ns = lock->start,
                                                                 .end_ns = end_ns,
                                                                 .is_shared = lock->is_shared,
                                                                 .is_open = is_open});
}

/* False: none is open, or its begin was not seen. */
static bool end(struct source *s, struct track *t, uint32_t kind, uint64_t number, uint64_t ns)
{
    struct open_lock *lock = find(t, kind, number);
    if (!lock)
        return false;
    write_row(s, lock, ns, false);
    *lock = t->locks[--t->lock_count];
    return true;
}

void lock_step(struct source *s, struct track *t, uint64_t word, uint64_t number, uint64_t ns)
{
    uint32_t payload = (uint32_t)(word >> 32), step = payload & RECORD_LOCK_STEPS;
    struct open_lock lock = {.number = number,
                             .start = ns,
                             .track = t->lane.trace_id,
                             .kind = step == RECORD_LOCK_WAIT ? TRACE_LOCK_WAIT : TRACE_LOCK_HOLD,
                             .is_shared = payload & RECORD_LOCK_SHARED};
    if (t->is_muted)
        return;
    if (step == RECORD_LOCK_RELEASED) {
        if (end(s, t, TRACE_LOCK_HOLD, number, ns))
            span_end(s, t, number | SESSION_SPAN_LOCK, ns);
        return;
    }
    if (step != RECORD_LOCK_WAIT)
        end(s, t, TRACE_LOCK_WAIT, number, ns);
    if (step == RECORD_LOCK_GAVE_UP)
        return;
    lock.name = source_name(s, (uint32_t)word);
    if (begin(s, t, &lock) && lock.kind == TRACE_LOCK_HOLD)
        span_begin(s, t, lock.name, number | SESSION_SPAN_LOCK, ns);
}

void locks_close(struct source *s, struct track *t, uint64_t seen_ns)
{
    for (size_t i = 0; i < t->lock_count; i++)
        write_row(s, &t->locks[i], seen_ns, true);
    free(t->locks);
    t->locks = NULL;
    t->lock_count = t->lock_capacity = 0;
}
