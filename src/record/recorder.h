/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder's insides: one per process, the only globals of the project.
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
 * ## Whole zones only
 *
 * A begin is recorded only with room left in the chunk for its own end and those of all zones already open (up to
 * 512 of them), so a zone's end never needs a chunk that may not be had. A begin that finds no room sets `skip`,
 * which makes everything inside it, and its own end, go unrecorded and counted. Deeper than that an end may find
 * no room: it is then told late (RECORD_LATE_ENDS). */
#ifndef OPSCOPE_RECORD_RECORDER_H
#define OPSCOPE_RECORD_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "opscope/opscope.h"
#include "session/cgroup.h"
#include "session/session.h"

#define CURSOR_MAGIC 0x43555253u
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

struct process_state { /* wiped by fork */
    uint32_t lock;
    uint32_t is_registered;
    uint32_t slot;    /* in the segment's process table */
    uint32_t claimed; /* the same + 1, from before there was memory for it */
    uint64_t next_call;
    uint64_t grow_not_before_ns; /* after a failed growth step */
    uint64_t hopeless_taken;     /* header's chunks_taken + 1 when waiting for a chunk was given up */
    struct thread_cursor *free_cursors;
    struct thread_cursor *block; /* cursors not handed out yet */
    uint32_t block_left;
};

struct segment { /* survives fork: the child goes on in the same memory */
    uint8_t *memory;
    struct segment_header *header;
    struct segment_layout layout;
    bool is_ready; /* a child forked while another thread was making the segment must not use it */
};

extern struct segment recorder_segment;
/* Exported under a public name for the Python extension, which writes its zones without a call (python/src/fast.h).
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

/* cursor.c. The slow halves get the cursor by reference since a forked child gets a new one here. They return
 * NULL when there is no room; nest is then given back, and the caller counts the loss. */
struct slot *cursor_reserve_slow(struct thread_cursor **cursor, uint32_t index, uint32_t slots, bool is_end);
struct thread_cursor *cursor_of_thread(void);   /* sets the thread up; NULL when nothing is recorded */
void cursor_lose_zone(struct thread_cursor *c); /* NULL: a thread that could not be set up */
void cursor_lose_record(struct thread_cursor *c);

/* Room for `slots` slots beside the ends that are owed. Followed by cursor_publish. */
static inline struct slot *cursor_reserve(struct thread_cursor **cursor, uint32_t slots)
{
    struct thread_cursor *c = *cursor;
    c->nest++;
    uint32_t index = cursor_advance(&c->index, slots);
    if (UNLIKELY(index + slots + c->depth + 1 + CURSOR_SLACK + c->nest > c->limit))
        return cursor_reserve_slow(cursor, index, slots, false);
    return c->base + index;
}

/* segment.c */
bool segment_attach(void);                         /* makes this process's segment; once */
bool segment_commit(size_t offset, size_t length); /* false: no memory */
int32_t segment_take_chunk(bool may_wait);         /* chunk index; -1: none */
static inline bool segment_may_wait(void)
{
    return recorder_segment.header->on_full == SESSION_ON_FULL_WAIT;
}
struct process_state *process_state_get(void); /* NULL: no memory */
bool process_register(struct process_state *state);
void recorder_switch_off(void);

static inline struct chunk_descriptor *segment_descriptor(uint32_t chunk)
{
    return (struct chunk_descriptor *)(void *)(recorder_segment.memory +
                                               recorder_segment.layout.descriptors) +
           chunk;
}

/* names.c */
struct name_piece {
    const char *data;
    size_t length;
};
struct name_definition {
    uint32_t kind, aux;
    uint64_t value;
    uint32_t owner, parent;
    struct name_piece pieces[3]; /* joined with NULs */
    uint32_t piece_count;
};
uint32_t names_intern(const struct name_definition *definition);
uint32_t names_text(const char *text, size_t length);
uint32_t names_site(struct opscope_site *site);

#endif
