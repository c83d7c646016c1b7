/* SPDX-License-Identifier: Apache-2.0 */
/* The hot path: a zone's begin and end, inline, for the recorder's own calls (record.c) and for the Python extension,
 * which makes no call into the recorder as long as nothing is in the way.
 *
 * ## What a record does
 *
 * It takes its slots (one add on `at`), writes them, the head of the first slot last, and counts what it has done in
 * `state` (another add). A slot whose head is not zero can be read: chunks are zero when a thread gets them, and a
 * reader stops at the first head that is. So nothing else is shared with the collector until a chunk is full.
 *
 * ## Why the hot path is safe
 *
 * A thread's cursor is its own, so the only other party is a signal handler on the same thread, which may record
 * too, at any instruction. Three rules make that exact (prototypes without any one of them lost or doubled zones):
 *   1. Slots are taken by one instruction on `at` (xadd without lock: atomic against signals of this thread); a
 *      slot belongs to whoever's add returned it. One that finds no room gives it back, or, when a handler has taken
 *      some after it, lets it say nothing.
 *   2. `state` is changed by one instruction, too, when the record is whole. So a call is the outermost one if as many
 *      slots of the chunk are done as lie before its first one: each call that it interrupted has taken some and not
 *      counted them yet.
 *   3. Only the outermost call switches chunks: those that it interrupted write into the chunk that they found. While
 *      it does, there is no limit, so that nested calls fail (and are counted) until the new chunk is in place.
 * All other cursor fields are restored by a handler before it returns, so plain loads and stores do.
 *
 * ## Why fork is safe
 *
 * Cursors and struct process_state live in memory that the kernel wipes in a forked child, however it was
 * forked. A wiped cursor has no limit, so its first record takes the slow path, where magic = 0 shows it. (A handler
 * may even fork between two instructions below: the limit is loaded after the slot has been taken. After that the child
 * writes the very same record into its parent's slot.)
 *
 * ## One session after another
 *
 * A program may record several times (opscope_session_join_). Its sites keep the ids of their names, so the next
 * segment takes over all names; it is mapped where the last one was, so nothing that a late thread still points to
 * goes away. Cursors are marked CURSOR_STALE without a limit, so that their threads take the slow path, which sets them
 * up again. A thread that had just passed the check of its limit writes its record into a chunk of the same number,
 * which the new session leaves alone: the record belongs to neither session. No chunk is switched meanwhile
 * (process_state.inside).
 *
 * ## Whole zones only
 *
 * A begin is recorded only with room left in the chunk for its own end and those of all zones already open (up to
 * 512 of them), so a zone's end never needs a chunk that may not be had. A begin that finds no room is counted and
 * hidden: `hidden` says how many recorded zones were open then, so that an end that finds just as many is that
 * zone's. What is inside it is recorded where there is room: a zone whose end never comes, since a signal handler left
 * it by siglongjmp, takes nothing with it. Deeper than that, or where handlers
 * interrupted more than OPSCOPE_ZONE_SLACK_ begins inside one another, an end may find no room: it then goes into the
 * next chunk, or is reported late (RECORD_LATE_ENDS).
 *
 * ## Why it looks as it does
 *
 * Reading the CPU's counter hides about 10 ns of other work on AMD (Zen 3) and next to nothing on Intel (Sapphire
 * Rapids), where every instruction beside it costs 0.4 % of a zone: docs/decisions/019 has what was tried. Hence
 * addresses instead of an index, one comparison for three conditions, depth, slots and zones in one word, and no word
 * that is published beside the slots. The clock is read before the slot is taken, since reading it waits for what was
 * begun before, and taking a slot is slow to end. A handler that records in between comes first in the stream
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
/* A handler that interrupted the recorder and left by siglongjmp leaves slots that nobody counts as done. It shows in
 * more than this many nested events in a row that found no room: so many that a handler is not taken for one that never
 * returned while it is merely busy. */
#define CURSOR_STUCK 4096u
#define CURSOR_HIDDEN 64u /* how often hidden zones and recorded ones can be inside one another */
#define LOST_RETRY 64u    /* look for a chunk again after this many lost events */

struct thread_cursor {
    struct opscope_cursor_ hot; /* at, zone_limit, state */
    struct slot
        *volatile limit; /* the chunk's end, or NULL without a chunk; hot.zone_limit: update_zone_limit */
    struct slot *base;   /* its begin, likewise */
    uint32_t clock_source;
    uint32_t magic;
    uint32_t capture_depth;    /* zones open with the one that is captured; 0: none is */
    volatile uint32_t leaving; /* > 0: chunks are being switched; the number of the one that is left, + 1 */
    struct op_stack *ops;      /* device.c; the cursor keeps it for the next thread */
    /* second line: slow path */
    struct chunk_descriptor *descriptor; /* NULL without a chunk */
    struct thread_cursor *next_free;
    uint64_t sequence;
    uint64_t zones; /* begun and recorded in earlier chunks */
    uint32_t process;
    uint32_t track;
    uint32_t thread_id;
    volatile uint32_t lost_zones; /* counted from the first chunk on */
    volatile uint32_t lost_records;
    volatile uint32_t late_ends;
    uint16_t retry;
    uint16_t has_late_page;            /* the segment's memory for late_ends */
    volatile uint32_t nested_failures; /* since the outermost call has last moved on */
    /* third line: zones that are open and not recorded, begun while paused or lost: hidden_depth */
    volatile uint64_t hidden;
    uint64_t capture_hidden;    /* the same when the captured zone had begun, and was lost; else 0 */
    volatile uint32_t arriving; /* > 0: chunks are being switched; the number of the one that comes, + 1 */
    uint32_t reserved[11];
};
_Static_assert(sizeof(struct thread_cursor) == 192, "three cache lines");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "union opscope_state_");
_Static_assert(OPSCOPE_SLOT_BYTES_ == sizeof(struct slot) && OPSCOPE_ZONE_BEGIN_ == RECORD_ZONE_BEGIN &&
                   OPSCOPE_ZONE_END_ == RECORD_ZONE_END && offsetof(struct slot, word) == sizeof(uint64_t),
               "zone.h writes slots");

/* The Python extension looks before it writes slots of its own: the recorder that is loaded may be of another release.
 * To be changed with struct thread_cursor, struct slot or the rules above; then the program's own zones need another
 * name for opscope_thread_cursor_, too (opscope/zone.h). */
#define RECORDER_LAYOUT 7u
OPSCOPE_API uint32_t opscope_recorder_layout_(void);

/* The thread's, or one without room and with nothing open. */
static inline struct thread_cursor *cursor_fast(void)
{
    return (struct thread_cursor *)(void *)opscope_thread_cursor_;
}

#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIKELY(x) __builtin_expect(!!(x), 1)

static inline struct slot *cursor_take_slots(struct thread_cursor *c, uint32_t slots)
{
    return (struct slot *)(void *)opscope_slots_take_(&c->hot, slots);
}

/* One instruction: a handler may count, too. */
static inline void cursor_count(volatile uint32_t *counter)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    __asm__ volatile("incl %0" : "+m"(*counter) : : "cc");
#else
    __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
#endif
}

static inline uint32_t cursor_depth(const struct thread_cursor *c)
{
    return c->hot.state.owed_bytes / OPSCOPE_SLOT_BYTES_;
}

static inline uint32_t cursor_done(const struct thread_cursor *c)
{
    return (uint32_t)(c->hot.state.all >> 32) & 0xffff;
}

static inline uint32_t cursor_index(const struct thread_cursor *c, const struct slot *slot)
{
    return (uint32_t)(((uintptr_t)slot - (uintptr_t)c->base) / sizeof *slot);
}

/* Without a chunk the first slot is NULL: only compared, never written to. */
static inline struct slot *slot_after(const struct slot *slot, uint32_t slots)
{
    return (struct slot *)((uintptr_t)slot + slots * sizeof *slot);
}

/* The record's other slots, and what is beside its head, have been written: from here on it can be seen. */
static inline void slot_show(struct slot *slot, uint64_t head)
{
    __atomic_store_n(&slot->time_kind, head, __ATOMIC_RELEASE);
}

/* A record of one slot. */
static inline void slot_write(struct slot *slot, uint64_t head, uint64_t word)
{
    slot->word = word;
    slot_show(slot, head);
}

static inline void cursor_did(struct thread_cursor *c, uint32_t slots, uint32_t zones, int32_t open)
{
    opscope_slots_done_(&c->hot, slots, zones, open);
}

/* Gives slots back. If a handler has taken some after them they must stay; then they say nothing. */
static inline void cursor_give_back(struct thread_cursor *c, struct slot *first, uint32_t slots)
{
    struct slot *end = slot_after(first, slots);
    uint64_t *expected = (uint64_t *)(void *)end;
    bool is_done;
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    __asm__ volatile("cmpxchgq %3, %1"
                     : "=@ccz"(is_done), "+m"(c->hot.at), "+a"(expected)
                     : "r"(first)
                     : "memory");
#else
    is_done = __atomic_compare_exchange_n(&c->hot.at, &expected, (uint64_t *)(void *)first, false,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED);
#endif
    if (LIKELY(is_done) || end > c->limit)
        return;
    for (uint32_t i = slots; i > 0; i--) {
        first[i - 1].word = 0;
        slot_show(&first[i - 1], slot_time_kind(c->descriptor->base_ticks, RECORD_NOTHING));
    }
    cursor_did(c, slots, 0, 0);
}

/* --- zones of the Python extension --- */

/* Each of these returns false with nothing changed when something is in the way: a zone that is not recorded, a full
 * chunk, a clock that is not the CPU's counter. The caller then takes the slow path (record.c). */

__attribute__((noinline, unused)) static int fast_rare(uint64_t *slot, uint64_t word)
{
    struct thread_cursor *c = cursor_fast();
    (void)word;
    if (c->magic)
        cursor_give_back(c, (struct slot *)(void *)slot, 1);
    return false;
}

static inline bool fast_begin(struct thread_cursor *c, uint64_t word)
{
    return opscope_begin_or_(&c->hot, word, fast_rare);
}

static inline bool fast_end(struct thread_cursor *c)
{
    return LIKELY(c->hot.state.owed_bytes) && opscope_end_or_(&c->hot, fast_rare);
}

/* They have a zone open, so this cursor is the thread's own. */
static inline bool fast_give_back_two(struct thread_cursor *c, uint64_t *slot)
{
    cursor_give_back(c, (struct slot *)(void *)slot, 2);
    return false;
}

/* A zone ends and the next one begins at the same time: one reading of the clock for both. */
static inline bool fast_end_begin(struct thread_cursor *c, uint32_t id)
{
    uint64_t owed_bytes = c->hot.state.owed_bytes;
    if (UNLIKELY(!owed_bytes))
        return false;
    uint64_t head = opscope_head_(OPSCOPE_ZONE_END_);
    uint64_t *slot = opscope_slots_take_(&c->hot, 2);
    if (UNLIKELY(!opscope_slots_fit_(&c->hot, slot, owed_bytes, 1 + OPSCOPE_ZONE_ROOM_)))
        return fast_give_back_two(c, slot);
    opscope_slot_write_(slot, head, 0);
    opscope_slot_write_(slot + 2, head - OPSCOPE_ZONE_END_ + OPSCOPE_ZONE_BEGIN_, id);
    opscope_slots_done_(&c->hot, 2, 1, 0);
    return true;
}

/* Two zones end at the same time. */
static inline bool fast_end_two(struct thread_cursor *c)
{
    if (UNLIKELY(c->hot.state.owed_bytes < 2 * OPSCOPE_SLOT_BYTES_))
        return false;
    uint64_t head = opscope_head_(OPSCOPE_ZONE_END_);
    uint64_t *slot = opscope_slots_take_(&c->hot, 2);
    if (UNLIKELY(!opscope_slots_fit_(&c->hot, slot, 0, 2)))
        return fast_give_back_two(c, slot);
    opscope_slot_write_(slot, head, 0);
    opscope_slot_write_(slot + 2, head, 0);
    opscope_slots_done_(&c->hot, 2, 0, -2);
    return true;
}

#endif
