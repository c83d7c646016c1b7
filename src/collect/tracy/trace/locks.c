/* SPDX-License-Identifier: Apache-2.0 */
/* Locks: a row for each wait and each hold, and for those who look at the timeline a zone: of who holds one a zone of
 * its name on a track of spans below the thread's, with the number of the thread as its value; of who waits for one
 * "wait for NAME" on another. */
#include <stdlib.h>

#include "collect/tracy/trace/internal.h"

#define WAIT_FOR "wait for " /* and the name of the lock */

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
    lock->wait_name = late_name_prefixed(t, WAIT_FOR, lock->source, lock->own_name);
}

static void write_row(struct tracy_trace *t, uint32_t track, uint32_t kind, const struct lane *lane,
                      uint64_t end_ns)
{
    struct lock *lock = find_lock(t, (uint32_t)lane->key);
    trace_writer_lock(t->writer, &(struct trace_lock){.track = track,
                                                      .name = lock ? lock->name : TRACE_NONE,
                                                      .kind = kind,
                                                      .number = lane->key,
                                                      .start_ns = lane->start,
                                                      .end_ns = end_ns,
                                                      .is_shared = lane->is_shared,
                                                      .is_open = lane->is_busy});
}

static void begin(struct tracy_trace *t, struct lanes *set, const struct tracy_event *event, uint64_t ns,
                  uint32_t name)
{
    struct lane *lane = lane_begin(t, set, event->number, ns, name);
    if (lane)
        lane->is_shared = event->is_shared;
}

static void end_wait(struct tracy_trace *t, struct thread *thread, uint32_t lock, uint64_t ns)
{
    const struct lane *lane = lane_end(t, &thread->waits, lock, ns);
    if (!lane)
        return;
    write_row(t, thread->own.track, TRACE_LOCK_WAIT, lane, ns);
    t->stats.lock_zones++;
}

static void end_hold(struct tracy_trace *t, uint32_t thread_id, uint32_t lock, uint64_t ns)
{
    struct thread *thread = trace_thread(t, thread_id);
    const struct lane *lane = thread ? lane_end(t, &thread->holds, lock, ns) : NULL;
    if (!lane)
        return;
    zone_sink_extra(lane->sink, &(struct trace_extra){.kind = TRACE_EXTRA_VALUE, .value = thread_id});
    write_row(t, thread->own.track, TRACE_LOCK_HOLD, lane, ns);
    t->stats.lock_zones++;
}

void trace_lock_event(struct tracy_trace *t, const struct tracy_event *event)
{
    struct lock *lock = find_lock(t, event->number);
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
    if (event->kind == TRACY_EVENT_LOCK_RELEASE) {
        end_hold(t, event->is_shared ? event->thread : lock->owner, event->number, ns);
        return;
    }
    struct thread *thread = trace_thread(t, event->thread);
    if (!thread)
        return;
    if (event->kind == TRACY_EVENT_LOCK_WAIT) {
        begin(t, &thread->waits, event, ns, lock->wait_name);
        return;
    }
    end_wait(t, thread, event->number, ns);
    begin(t, &thread->holds, event, ns, lock->name);
    if (!event->is_shared)
        lock->owner = event->thread;
}

static void write_open(struct tracy_trace *t, uint32_t track, uint32_t kind, const struct lanes *set)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->lanes[i].is_busy)
            write_row(t, track, kind, &set->lanes[i], t->last_ns);
    }
}

void trace_locks_close(struct tracy_trace *t)
{
    for (size_t i = 0; i < t->thread_count; i++) {
        const struct thread *thread = t->threads[i];
        write_open(t, thread->own.track, TRACE_LOCK_WAIT, &thread->waits);
        write_open(t, thread->own.track, TRACE_LOCK_HOLD, &thread->holds);
    }
}

void trace_locks_free(struct tracy_trace *t)
{
    for (size_t i = 0; i < t->lock_count; i++)
        free(t->locks[i]);
    free(t->locks);
    map_free(&t->lock_of);
}
