/* SPDX-License-Identifier: Apache-2.0 */
/* The hot path: a zone's begin and end, inline, for the recorder's own calls (record.c) and for the Python extension,
 * which makes no call into the recorder as long as nothing is in the way.
 *
 * ## Why the hot path is safe
 *
 * A thread's cursor is its own, so the only other party is a signal handler on the same thread, which may record
 * too, at any instruction. Three rules make that exact (prototypes without any one of them lost or doubled zones):
 *   1. Slots are reserved by one instruction on `index` (xadd without lock: atomic against signals of this thread); a
 *      slot belongs to whoever's add returned it.
 *   2. A call is the outermost one if everything that was reserved before it is published: its first slot is equal to
 *      `published`. That cannot change while it runs, because only the outermost call publishes: a handler that
 *      interrupts it finds its own first slot beyond `published`. After publishing, the outermost call looks at index
 *      again: if it has moved, a handler in between either was nested (the call publishes its records now) or came
 *      after the store, and has published them itself.
 *   3. Only the outermost call switches chunks. While it does, index is beyond the end, so that nested calls fail (and
 *      are counted) until the new chunk is in place.
 * Counts that a handler adds to for good are advanced by one instruction, too. All other cursor fields are restored by
 * a handler before it returns, so plain loads and stores do.
 *
 * ## Why fork is safe
 *
 * Cursors and struct process_state live in memory that the kernel wipes in a forked child, however it was
 * forked. A wiped cursor has limit 0, so its first record takes the slow path, where magic = 0 shows it. (A handler may
 * even fork between two instructions below: base and published are loaded after the slot has been taken, and the limit
 * after them.)
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
 * no room: it is then reported late (RECORD_LATE_ENDS).
 *
 * ## Why it looks as it does
 *
 * Reading the CPU's counter hides about 10 ns of other work on AMD (Zen 3) and next to nothing on Intel (Sapphire
 * Rapids), where every instruction beside it shows: hence one comparison with zone_limit for three conditions, and no
 * flag that is set and cleared around a record. The clock is read before the slot is taken, since reading it waits for
 * what was begun before, and taking a slot is slow to end. A handler that records in between comes first in the stream
 * with a later time; the collector lets no time go back, so the record then begins or ends where the handler's last one
 * did. Prefetching the lines to come, which the collector has read on another core, gained nothing on either. */
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
/* A handler that interrupted the recorder and left by siglongjmp leaves slots that nobody publishes. It shows in more
 * than this many nested events in a row that found no room: so many that a handler is not taken for one that never
 * returned while it is merely busy. */
#define CURSOR_STUCK 4096u
#define CURSOR_HIDDEN 7u /* how often zones begun while paused and recorded ones can be inside one another */
#define LOST_RETRY 64u   /* look for a chunk again after so many lost events */

struct thread_cursor {
    struct slot *base;
    uint32_t *published;          /* of the current chunk's descriptor; &no_chunk when there is none */
    volatile uint32_t index;      /* next slot */
    volatile uint32_t limit;      /* CHUNK_SLOTS, or 0 without a chunk */
    volatile uint32_t zone_limit; /* the same, or 0 where zones take the slow path: cursor_set_skip */
    volatile uint32_t depth;
    volatile uint32_t skip; /* > 0: inside a zone that is not recorded */
    uint32_t clock_source;
    volatile uint64_t zones; /* begun and recorded */
    uint32_t magic;
    volatile uint32_t is_switching;
    struct op_stack *ops; /* device.c; the cursor keeps it for the next thread */
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
    volatile uint32_t nested_failures; /* since the outermost call has last moved on */
    uint32_t has_late_page;            /* the segment's memory for late_ends */
    /* third line: pausing, capture.c */
    uint32_t hidden_count;
    uint32_t capture_depth; /* zones open with the one that is captured; 0: none is */
    struct hidden_zones {   /* open, not recorded: begun with `depth` recorded zones open */
        uint32_t depth, count;
    } hidden[CURSOR_HIDDEN];
};
_Static_assert(sizeof(struct thread_cursor) == 192, "three cache lines");

/* Exported under a public name for the Python extension, which writes its zones without a call.
 * Whoever does so checks first that opscope_recorder_layout_() is the layout it was compiled with: the recorder that is
 * loaded may be of another release. To be changed with struct thread_cursor, struct slot or the rules above. */
#define RECORDER_LAYOUT 5u
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

static inline uint32_t cursor_published(const struct thread_cursor *c)
{
    return __atomic_load_n(c->published, __ATOMIC_RELAXED);
}

/* Publishes what handlers have recorded while the outermost call did. They have all returned. A handler that comes
 * in here, finds nothing unpublished and therefore is the outermost call itself leaves nothing to do: that shows in
 * another chunk, or in as many slots published as were taken. */
static inline void cursor_catch_up(struct thread_cursor *c)
{
    for (;;) {
        uint64_t sequence = c->sequence;
        uint32_t *published = c->published;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        if (!published) /* the handler has forked, and this is the child */
            return;
        uint32_t index = c->index;
        uint32_t have = __atomic_load_n(published, __ATOMIC_RELAXED);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        if (c->published != published || c->sequence != sequence || index <= have)
            return;
        /* More were taken than are published, and only we publish: no handler can switch chunks now. */
        __atomic_store_n(published, index, __ATOMIC_RELEASE);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    }
}

/* For the outermost call: [.., end) has been written. */
static inline void cursor_publish_to(struct thread_cursor *c, uint32_t *published, uint32_t end)
{
    __atomic_store_n(published, end, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (UNLIKELY(c->index != end))
        cursor_catch_up(c);
}

/* The record of `slots` slots from `slot` on has been written. */
static inline void cursor_publish(struct thread_cursor *c, const struct slot *slot, uint32_t slots)
{
    uint32_t first = (uint32_t)(slot - c->base);
    if (LIKELY(cursor_published(c) == first))
        cursor_publish_to(c, c->published, first + slots);
}

/* Gives slots back. If a handler has taken some after them they must stay; then they say nothing. */
static inline void cursor_give_back(struct thread_cursor *c, uint32_t first, uint32_t slots)
{
    uint32_t end = first + slots, expected = end;
    bool is_done;
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    __asm__ volatile("cmpxchgl %3, %1"
                     : "=@ccz"(is_done), "+m"(c->index), "+a"(expected)
                     : "r"(first)
                     : "memory");
#else
    is_done =
        __atomic_compare_exchange_n(&c->index, &expected, first, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
#endif
    if (LIKELY(is_done) || end > c->limit)
        return;
    for (uint32_t i = first; i < end; i++)
        c->base[i] = (struct slot){slot_time_kind(c->descriptor->base_ticks, RECORD_NOTHING), 0};
    if (cursor_published(c) == first)
        cursor_publish_to(c, c->published, end);
}

/* --- zones --- */

/* Each of these returns false with nothing changed when something is in the way: a zone that is not recorded, a full
 * chunk, a clock that is not the CPU's counter. The caller then takes the slow path (record.c).
 *
 * What is rare is in functions of their own, in tail position where the caller is the recorder: the fast path then has
 * no registers to save. */

static inline uint64_t fast_head(unsigned kind)
{
#if defined(__x86_64__)
    uint64_t low, high; /* the instruction clears the upper halves */
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (high << 40) + (low << 8) + kind;
#else
    return slot_time_kind(clock_counter(), kind);
#endif
}

/* May the call keep the slots that it has taken? A handler that interrupted the recorder may, if there is room for the
 * ends of all calls that have a slot and are not counted in depth yet. Its records come after those of the call that it
 * interrupted, which will publish them. */
static inline bool fast_may_keep(struct thread_cursor *c, uint32_t first, uint32_t slots, uint32_t room)
{
    if (first + slots + room <= c->zone_limit) { /* then there is a chunk */
        uint32_t unpublished = first - cursor_published(c);
        if (first + slots + room + unpublished <= c->zone_limit)
            return true;
    }
    cursor_give_back(c, first, slots);
    return false;
}

/* Takes `slots` slots where `room` more would fit, lets `write` fill them, publishes them and returns true; or does
 * what `rare` says if they do not fit, or if this is a handler that interrupted the recorder. */
#define FAST_RECORD(c, slots, room, write, rare)                                                             \
    do {                                                                                                     \
        uint32_t first = cursor_advance(&(c)->index, (slots));                                               \
        struct slot *slot = (c)->base + first;                                                               \
        uint32_t *published = (c)->published;                                                                \
        __atomic_signal_fence(__ATOMIC_ACQUIRE);                                                             \
        if (UNLIKELY(first + (slots) + (room) > (c)->zone_limit))                                            \
            rare;                                                                                            \
        if (UNLIKELY(__atomic_load_n(published, __ATOMIC_RELAXED) != first))                                 \
            rare;                                                                                            \
        write;                                                                                               \
        cursor_publish_to((c), published, first + (slots));                                                  \
        return true;                                                                                         \
    } while (0)

#define FAST_BEGIN_ROOM(depth)                                                                               \
    ((depth) + 1 + CURSOR_SLACK) /* its own end, those of all open zones, and some more */

static inline void fast_write_begin(struct thread_cursor *c, struct slot *slot, uint32_t depth, uint64_t head,
                                    uint64_t word)
{
    c->depth = depth + 1;
    cursor_count(&c->zones);
    slot->time_kind = head;
    slot->word = word;
}

static inline void fast_write_end(struct thread_cursor *c, struct slot *slot, uint32_t depth, uint64_t head)
{
    c->depth = depth - 1;
    slot->time_kind = head;
    slot->word = 0;
}

typedef int fast_rare_fn(struct thread_cursor *c, uint32_t first, uint64_t head, uint64_t word);

__attribute__((noinline, unused)) static int fast_begin_rare(struct thread_cursor *c, uint32_t first,
                                                             uint64_t head, uint64_t word)
{
    uint32_t depth = c->depth;
    if (!fast_may_keep(c, first, 1, FAST_BEGIN_ROOM(depth)))
        return false;
    fast_write_begin(c, c->base + first, depth, head, word);
    return true;
}

__attribute__((always_inline)) static inline int fast_begin_or(struct thread_cursor *c, uint64_t word,
                                                               fast_rare_fn *rare)
{
    uint64_t head = fast_head(RECORD_ZONE_BEGIN);
    uint32_t depth = c->depth;
    FAST_RECORD(c, 1, FAST_BEGIN_ROOM(depth), fast_write_begin(c, slot, depth, head, word),
                return rare(c, first, head, word));
}

static inline bool fast_begin(struct thread_cursor *c, uint64_t word)
{
    return fast_begin_or(c, word, fast_begin_rare);
}

__attribute__((noinline, unused)) static int fast_end_rare(struct thread_cursor *c, uint32_t first,
                                                           uint64_t head, uint64_t word)
{
    (void)word;
    if (!fast_may_keep(c, first, 1, 0))
        return false;
    fast_write_end(c, c->base + first, c->depth, head);
    return true;
}

/* The caller has seen that a zone is open. */
__attribute__((always_inline)) static inline int fast_end_or(struct thread_cursor *c, uint32_t depth,
                                                             fast_rare_fn *rare)
{
    uint64_t head = fast_head(RECORD_ZONE_END);
    FAST_RECORD(c, 1, 0, fast_write_end(c, slot, depth, head), return rare(c, first, head, 0));
}

static inline bool fast_end(struct thread_cursor *c)
{
    uint32_t depth = c->depth;
    return LIKELY(depth) && fast_end_or(c, depth, fast_end_rare);
}

/* A zone ends and the next one begins at the same time: one reading of the clock for both. */
static inline bool fast_end_begin(struct thread_cursor *c, uint32_t id)
{
    uint32_t depth = c->depth;
    if (UNLIKELY(depth == 0))
        return false;
    uint64_t head = fast_head(RECORD_ZONE_END), next = head - RECORD_ZONE_END + RECORD_ZONE_BEGIN;
    FAST_RECORD(
        c, 2, FAST_BEGIN_ROOM(depth),
        {
            fast_write_end(c, slot, depth, head);
            fast_write_begin(c, slot + 1, depth - 1, next, id);
        },
        {
            cursor_give_back(c, first, 2);
            return false;
        });
}

/* Two zones end at the same time. */
static inline bool fast_end_two(struct thread_cursor *c)
{
    uint32_t depth = c->depth;
    if (UNLIKELY(depth < 2))
        return false;
    uint64_t head = fast_head(RECORD_ZONE_END);
    FAST_RECORD(
        c, 2, 0,
        {
            fast_write_end(c, slot, depth, head);
            fast_write_end(c, slot + 1, depth - 1, head);
        },
        {
            cursor_give_back(c, first, 2);
            return false;
        });
}

#undef FAST_RECORD
#undef FAST_BEGIN_ROOM

#endif
