/* SPDX-License-Identifier: Apache-2.0 */
/* The hot path: a zone's begin and end, inline, for the recorder's own calls (record.c) and for the Python extension,
 * which makes no call into the recorder as long as nothing is in the way.
 *
 * ## Why the hot path is safe
 *
 * A thread's cursor is its own, so the only other party is a signal handler on the same thread, which may record
 * too, at any instruction. Three rules make that exact (prototypes without any one of them lost or doubled zones):
 *   1. `index` is advanced by one instruction (xadd without lock: atomic against signals of this thread); a slot
 *      belongs to whoever's add returned it.
 *   2. `nest` counts recorder calls in progress on this thread. Only the outermost publishes, and it publishes
 *      `index`, which covers what handlers wrote meanwhile. It clears nest *after* the store and looks again: a
 *      handler in between either saw nest = 1 (the loop publishes its record) or nest = 0 (it did so itself).
 *   3. Only the outermost switches chunks. It takes the new chunk first; then swaps index for a value beyond the
 *      end, so that nested calls fail (and are counted) until the new chunk is in place.
 * Counts that a handler adds to for good are advanced by one instruction, too. All other cursor fields are restored by
 * a handler before it returns, so plain loads and stores do.
 *
 * ## Why fork is safe
 *
 * Cursors and struct process_state live in memory that the kernel wipes in a forked child, however it was
 * forked. A wiped cursor has limit 0, so its first record takes the slow path, where magic = 0 tells.
 *
 * ## One session after another
 *
 * A program may record several times (opscope_session_join_). Its sites keep the ids of their names, so the next
 * segment takes over all names; it is mapped where the last one was, so nothing that a late thread still points to
 * goes away. Cursors are marked CURSOR_STALE with limit 0, so that their threads take the slow path, which sets them
 * up again. A thread that had just passed the check of its limit writes its record into a chunk of the same number,
 * which the new session leaves alone: the record belongs to neither session. No chunk is switched meanwhile
 * (process_state.inside).
 *
 * ## Whole zones only
 *
 * A begin is recorded only with room left in the chunk for its own end and those of all zones already open (up to
 * 512 of them), so a zone's end never needs a chunk that may not be had. A begin that finds no room sets `skip`,
 * which makes everything inside it, and its own end, go unrecorded and counted. Deeper than that an end may find
 * no room: it is then told late (RECORD_LATE_ENDS). */
#ifndef OPSCOPE_RECORD_FAST_H
#define OPSCOPE_RECORD_FAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "opscope/opscope.h"
#include "session/session.h"

#define CURSOR_MAGIC 0x43555253u
#define CURSOR_STALE 0x53544c45u  /* of a session that this process has left for another */
#define CURSOR_RESERVED_ENDS 512u /* ends that always have room */
#define CURSOR_SLACK 4u
/* A handler that interrupted the recorder and left by siglongjmp leaves nest at 1 for good. It shows in this many
 * unpublished slots, or lost nested events; more of them while a chunk is being switched, where a handler that is
 * merely busy must not be taken for one that never returned. */
#define CURSOR_STUCK 256u
#define CURSOR_STUCK_SWITCHING 4096u
#define LOST_RETRY 64u /* look for a chunk again after so many lost events */

struct thread_cursor {
    struct slot *base;
    uint32_t *published;     /* of the current chunk's descriptor; &no_chunk when there is none */
    volatile uint32_t index; /* next slot */
    volatile uint32_t limit; /* CHUNK_SLOTS, or 0 without a chunk */
    volatile uint32_t nest;
    volatile uint32_t depth;
    volatile uint32_t skip; /* > 0: inside a zone that is not recorded */
    uint32_t clock_source;
    volatile uint64_t zones; /* begun and recorded */
    uint32_t magic;
    volatile uint32_t is_switching;
    uint64_t reserved0;
    /* second line: slow path */
    struct chunk_descriptor *descriptor; /* NULL without a chunk */
    struct thread_cursor *next_free;
    uint64_t sequence;
    uint32_t process;
    uint32_t track;
    uint32_t thread_id;
    volatile uint32_t lost_zones; /* counted from the first chunk on */
    volatile uint32_t lost_records;
    volatile uint32_t late_ends;
    uint32_t retry;
    uint32_t no_chunk;
    uint32_t nested_failures; /* in a row */
    uint32_t reserved;
};
_Static_assert(sizeof(struct thread_cursor) == 128, "two cache lines");

/* Exported under a public name for the Python extension, which writes its zones without a call.
 * Whoever does so checks first that opscope_recorder_layout_() is the layout it was compiled with: the recorder that is
 * loaded may be of another release. To be changed with struct thread_cursor or struct slot. */
#define RECORDER_LAYOUT 1u
OPSCOPE_API extern __thread struct thread_cursor *recorder_cursor __asm__("opscope_cursor_");
OPSCOPE_API uint32_t opscope_recorder_layout_(void);

#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIKELY(x) __builtin_expect(!!(x), 1)

static inline uint32_t cursor_advance(volatile uint32_t *index, uint32_t slots)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    __asm__ volatile("xaddl %0, %1" : "+r"(slots), "+m"(*index) : : "memory", "cc");
    return slots;
#else
    return __atomic_fetch_add(index, slots, __ATOMIC_RELAXED);
#endif
}

/* Adds 1 so that a handler's own addition is not lost in between: one instruction. */
static inline void cursor_count(volatile uint64_t *counter)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    __asm__ volatile("incq %0" : "+m"(*counter) : : "cc");
#else
    __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
#endif
}

/* nest: what the caller has made of it. Handlers restore it. */
static inline void cursor_publish_as(struct thread_cursor *c, uint32_t nest)
{
    if (UNLIKELY(nest != 1)) {
        c->nest = nest - 1;
        return;
    }
    for (;;) {
        uint32_t index = c->index;
        __atomic_store_n(c->published, index, __ATOMIC_RELEASE);
        c->nest = 0;
        if (LIKELY(c->index == index))
            return;
        c->nest = 1;
    }
}

static inline void cursor_publish(struct thread_cursor *c)
{
    cursor_publish_as(c, c->nest);
}

/* --- zones --- */

/* Each of these returns false with nothing changed when something is in the way: a zone that is not recorded, a handler
 * that interrupted the recorder, a full chunk, a clock that is not the CPU's counter. The caller then takes the slow
 * path (record.c).
 *
 * A record that does not fit is taken back by giving its slot back before nest: a signal handler in between meets the
 * same full chunk that the slow path leaves it.
 *
 * The clock is read before the slot is taken: reading it waits for what was begun before, and taking a slot is slow
 * to end. A handler that records in between comes first in the stream with a later time; the collector lets no time go
 * back, so the record then begins or ends where the handler's last one did. */
#ifndef FAST_PREFETCH_LINES
#define FAST_PREFETCH_LINES 0
#endif
#ifndef FAST_CLOCK_FIRST
#define FAST_CLOCK_FIRST 1
#endif

static inline bool fast_is_blocked(const struct thread_cursor *c)
{
    return UNLIKELY(c->skip || c->nest || c->clock_source != CLOCK_SOURCE_COUNTER);
}

/* The collector has read these lines on another core since they were last written: ask for them in time. */
static inline void fast_prefetch(const struct slot *slot)
{
#if defined(__x86_64__) && FAST_PREFETCH_LINES
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)(slot + 4 * FAST_PREFETCH_LINES)));
#else
    (void)slot;
#endif
}

/* Takes `slots` slots where `room` more would fit; NULL: they do not. */
static inline struct slot *fast_take(struct thread_cursor *c, uint32_t slots, uint32_t room, uint32_t *end)
{
    c->nest = 1;
    uint32_t index = cursor_advance(&c->index, slots);
    if (UNLIKELY(index + slots + room > c->limit)) {
        c->index = index;
        c->nest = 0;
        return NULL;
    }
    *end = index + slots;
    struct slot *slot = c->base + index;
    fast_prefetch(slot);
    return slot;
}

/* end: what index was when the record was made. A handler that has recorded since is published by the loop. */
static inline bool fast_publish(struct thread_cursor *c, uint32_t end)
{
    __atomic_store_n(c->published, end, __ATOMIC_RELEASE);
    c->nest = 0;
    if (UNLIKELY(c->index != end)) {
        c->nest = 1;
        cursor_publish_as(c, 1);
    }
    return true;
}

/* Room is left for its own end and those of all zones already open. */
static inline bool fast_begin(struct thread_cursor *c, uint64_t word)
{
    if (fast_is_blocked(c))
        return false;
    uint64_t now = FAST_CLOCK_FIRST ? clock_counter() : 0;
    uint32_t depth = c->depth, end;
    struct slot *slot = fast_take(c, 1, depth + 2 + CURSOR_SLACK, &end);
    if (UNLIKELY(!slot))
        return false;
    c->depth = depth + 1;
    cursor_count(&c->zones);
    if (!FAST_CLOCK_FIRST)
        now = clock_counter();
    *slot = (struct slot){slot_time_kind(now, RECORD_ZONE_BEGIN), word};
    return fast_publish(c, end);
}

static inline bool fast_end(struct thread_cursor *c)
{
    uint32_t depth, end;
    if (fast_is_blocked(c) || UNLIKELY((depth = c->depth) == 0))
        return false;
    uint64_t now = FAST_CLOCK_FIRST ? clock_counter() : 0;
    struct slot *slot = fast_take(c, 1, 0, &end);
    if (UNLIKELY(!slot))
        return false;
    c->depth = depth - 1;
    if (!FAST_CLOCK_FIRST)
        now = clock_counter();
    *slot = (struct slot){slot_time_kind(now, RECORD_ZONE_END), 0};
    return fast_publish(c, end);
}

/* A zone ends and the next one begins at the same time: one reading of the clock for both. */
static inline bool fast_end_begin(struct thread_cursor *c, uint32_t id)
{
    uint32_t depth, end;
    if (fast_is_blocked(c) || UNLIKELY((depth = c->depth) == 0))
        return false;
    uint64_t now = clock_counter();
    struct slot *slot = fast_take(c, 2, depth + 2 + CURSOR_SLACK, &end);
    if (UNLIKELY(!slot))
        return false;
    cursor_count(&c->zones);
    slot[0] = (struct slot){slot_time_kind(now, RECORD_ZONE_END), 0};
    slot[1] = (struct slot){slot_time_kind(now, RECORD_ZONE_BEGIN), id};
    return fast_publish(c, end);
}

/* Two zones end at the same time. */
static inline bool fast_end_two(struct thread_cursor *c)
{
    uint32_t depth, end;
    if (fast_is_blocked(c) || UNLIKELY((depth = c->depth) < 2))
        return false;
    uint64_t now = clock_counter();
    struct slot *slot = fast_take(c, 2, 0, &end);
    if (UNLIKELY(!slot))
        return false;
    c->depth = depth - 2;
    slot[0] = slot[1] = (struct slot){slot_time_kind(now, RECORD_ZONE_END), 0};
    return fast_publish(c, end);
}

#endif
