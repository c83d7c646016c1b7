/* SPDX-License-Identifier: Apache-2.0 */
/* Locks: who holds one has a zone of its name on a track of spans below the thread's, with the number of the thread as
 * its value; who waits for one has a zone "wait for NAME" on another. analyze/events/locks.c reads them. */
#include <stdlib.h>

#include "collect/tracy/trace/internal.h"
#include "trace/lock_names.h"

static struct lock *find_lock(struct tracy_trace *t, uint32_t id)
{
    uint32_t index = map_get(&t->lock_of, id);
    if (index != MAP_NONE)
        return t->locks[index];
    struct lock *lock = t->lock_count < MAX_LOCKS ? calloc(1, sizeof *lock) : NULL;
    if (!lock || !array_reserve(&t->locks, &t->lock_capacity, t->lock_count + 1, sizeof(struct lock *)) ||
        !map_put(&t->lock_of, id, (uint32_t)t->lock_count)) {
        free(lock);
        return NULL;
    }
    *lock = (struct lock){
        .source = TRACY_NONE, .own_name = TRACY_NONE, .name = TRACE_NONE, .wait_name = TRACE_NONE};
    t->locks[t->lock_count++] = lock;
    return lock;
}

/* When the first zone needs them: a lock is named soon after it was announced. */
static void need_names(struct tracy_trace *t, struct lock *lock)
{
    if (lock->name != TRACE_NONE)
        return;
    lock->name =
        late_name_prefixed(t, lock->source == TRACY_NONE && lock->own_name == TRACY_NONE ? "lock" : "",
                           lock->source, lock->own_name);
    lock->wait_name = late_name_prefixed(t, TRACE_WAIT_FOR, lock->source, lock->own_name);
}

static void end_wait(struct tracy_trace *t, uint32_t thread_id, uint32_t lock, uint64_t ns)
{
    struct thread *thread = trace_thread(t, thread_id);
    if (thread && lane_end(t, &thread->waits, lock, ns))
        t->stats.lock_zones++;
}

static void end_hold(struct tracy_trace *t, uint32_t thread_id, uint32_t lock, uint64_t ns)
{
    struct thread *thread = trace_thread(t, thread_id);
    struct zone_sink *sink = thread ? lane_end(t, &thread->holds, lock, ns) : NULL;
    if (!sink)
        return;
    zone_sink_extra(sink, &(struct trace_extra){.kind = TRACE_EXTRA_VALUE, .value = thread_id});
    t->stats.lock_zones++;
}

void trace_lock_event(struct tracy_trace *t, const struct tracy_event *event)
{
    struct lock *lock = find_lock(t, event->number);
    struct thread *thread;
    if (!lock) {
        t->stats.lost_records++;
        return;
    }
    if (event->kind == TRACY_EVENT_LOCK) {
        lock->source = event->source;
        return;
    }
    if (event->kind == TRACY_EVENT_LOCK_NAME) {
        if (t->late.texts.count < TRACY_MAX_NAMES)
            lock->own_name = intern_add(&t->late.texts, event->text, event->text_length);
        return;
    }
    uint64_t ns = trace_ns(t, event->time);
    need_names(t, lock);
    switch (event->kind) {
    case TRACY_EVENT_LOCK_WAIT:
        thread = trace_thread(t, event->thread);
        if (thread)
            lane_begin(t, &thread->waits, event->number, ns, lock->wait_name);
        break;
    case TRACY_EVENT_LOCK_OBTAIN:
        end_wait(t, event->thread, event->number, ns);
        thread = trace_thread(t, event->thread);
        if (thread && lane_begin(t, &thread->holds, event->number, ns, lock->name) && !event->is_shared)
            lock->owner = event->thread;
        break;
    default:
        end_hold(t, event->is_shared ? event->thread : lock->owner, event->number, ns);
        break;
    }
}

void trace_locks_free(struct tracy_trace *t)
{
    for (size_t i = 0; i < t->lock_count; i++)
        free(t->locks[i]);
    free(t->locks);
    map_free(&t->lock_of);
}
