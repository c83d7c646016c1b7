/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder's insides: one per process, the only globals of the project. The hot path, and why it is exact under
 * signals and fork, is in record/fast.h. */
#ifndef OPSCOPE_RECORD_RECORDER_H
#define OPSCOPE_RECORD_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "record/fast.h"
#include "session/cgroup.h"
#include "session/session.h"

/* Wiped by fork, as the first block of cursors, which lies right after it. */
struct process_state {
    uint32_t lock;
    uint32_t is_registered;
    uint32_t slot;               /* in the segment's process table */
    uint32_t claimed;            /* the same + 1, from before there was memory for it */
    uint32_t owner;              /* of names that belong to this process: SESSION_OWNER */
    uint64_t calls;              /* numbers of calls that threads have taken: 1 to this */
    uint64_t grow_not_before_ns; /* after a failed growth step */
    uint64_t hopeless_taken;     /* header's chunks_taken + 1 when waiting for a chunk was given up */
    struct thread_cursor *free_cursors;
    struct thread_cursor *block; /* cursors not handed out yet */
    /* the first cursor of the newest block; its next_free is that of the one before */
    struct thread_cursor *blocks;
    uint32_t block_left;
    uint32_t inside;      /* threads that are switching chunks */
    uint32_t is_joining;  /* no other thread may begin to: another session is being joined */
    uint32_t is_alone;    /* what other processes of the session do does not pause it any more */
    uint32_t is_changing; /* a thread pauses recording, or has it go on: capture.c */
} __attribute__((aligned(64)));

struct segment { /* survives fork: the child goes on in the same memory */
    uint8_t *memory;
    struct segment_header *header;
    struct segment_layout layout;
    bool is_ready;    /* a child forked while another thread was making the segment must not use it */
    bool has_avoided; /* else segment_avoid's table is not looked at: a page less to touch */
};

/* The ops that a thread has open, outermost first, for whoever asks in which of them it is (opscope_op_current_). In
 * the memory of its cursor, so that fork wipes it. Ops that are lost are not in it, nor are ops inside this many
 * others: there the last one that is stands for them. */
#define OP_STACK_ENTRIES 30u
struct op_stack {
    volatile uint32_t count;
    uint32_t reserved;
    volatile uint64_t next_call, end_call; /* numbers of calls that are the thread's to give: device.c */
    uint64_t reserved2;
    struct op_stack_entry {
        uint64_t call;
        uint32_t depth; /* of the thread's zones, this one included */
        uint32_t reserved;
    } entries[OP_STACK_ENTRIES];
    uint64_t hidden[CURSOR_HIDDEN]; /* what cursor.hidden was outside its zones, outermost first */
};
_Static_assert(sizeof(struct op_stack) == 1024, "op stacks come after the cursors of their block");

#define BLOCK_CURSORS 512u
#define CURSOR_BLOCK_BYTES (BLOCK_CURSORS * (sizeof(struct thread_cursor) + sizeof(struct op_stack)))

extern struct segment recorder_segment;
/* cursor.c. The slow halves get the cursor by reference since a forked child gets a new one here. They return
 * NULL when there is no room; the slots are then given back, and the caller counts the loss. */
struct slot *cursor_reserve_slow(struct thread_cursor **cursor, struct slot *slot, uint32_t slots,
                                 bool is_end);
struct thread_cursor *cursor_known(void);     /* the thread's, or NULL */
struct thread_cursor *cursor_of_thread(void); /* sets the thread up; NULL when nothing is recorded */
struct thread_cursor *cursor_renew(struct thread_cursor *c); /* one whose magic is not CURSOR_MAGIC */
void cursor_lose_zone(struct thread_cursor *c);              /* NULL: a thread that could not be set up */
void cursor_lose_record(struct thread_cursor *c);
void cursor_end_late(struct thread_cursor *c);    /* an end that found no room */
void cursor_hide_zone(struct thread_cursor *c);   /* a zone that has begun, and is not recorded */
bool cursor_unhide_zone(struct thread_cursor *c); /* true: the end is of such a zone */
void cursor_zone_ended(struct thread_cursor *c);  /* a recorded one has */
void cursor_look_again(struct thread_cursor *c);  /* may zones take the fast path? */
void cursors_take_slow_path(void);                /* all threads' zones, until their next look */

/* Room for `slots` slots beside the ends that are owed. Followed by slot_show and cursor_did. */
static inline struct slot *cursor_reserve(struct thread_cursor **cursor, uint32_t slots)
{
    struct thread_cursor *c = *cursor;
    uintptr_t more = (slots + 1 + OPSCOPE_ZONE_SLACK_) * sizeof(struct slot) + c->hot.state.owed_bytes;
    struct slot *slot = cursor_take_slots(c, slots);
    if (UNLIKELY((uintptr_t)slot + more > (uintptr_t)c->limit))
        return cursor_reserve_slow(cursor, slot, slots, false);
    return slot;
}

/* For what several threads have one after the other, or at once. Not memcpy and memcmp: ThreadSanitizer watches calls
 * of those, also of a library that it does not compile, and does not see what orders them. */
static inline void copy_bytes(void *to, const void *from, size_t length)
{
    uint8_t *out = (uint8_t *)to;
    const uint8_t *in = (const uint8_t *)from;
    size_t i = 0;
    for (; i + 8 <= length; i += 8) {
        __builtin_memcpy(out + i, in + i, 8);
        __asm__ volatile("" : : : "memory"); /* or the compiler makes a call of it */
    }
    for (; i < length; i++) {
        out[i] = in[i];
        __asm__ volatile("" : : : "memory");
    }
}

static inline bool bytes_are_equal(const void *a, const void *b, size_t length)
{
    const uint8_t *one = (const uint8_t *)a, *other = (const uint8_t *)b;
    size_t i = 0;
    for (; i + 8 <= length; i += 8) {
        uint64_t x, y;
        __builtin_memcpy(&x, one + i, 8);
        __builtin_memcpy(&y, other + i, 8);
        if (x != y)
            return false;
    }
    for (; i < length; i++) {
        if (one[i] != other[i])
            return false;
    }
    return true;
}

/* One record, of which `count` slots follow the first. */
static inline void cursor_write(struct thread_cursor *c, struct slot *slot, uint64_t head, uint64_t word,
                                const struct slot *more, uint32_t count)
{
    slot->word = word; /* first: it says how long the record is, should this call never end */
    for (uint32_t i = 0; i < count; i++)
        slot[i + 1] = more[i];
    slot_show(slot, head);
    cursor_did(c, 1 + count, 0, 0);
}

/* capture.c */
#define RECORDING_ON 1
#define RECORDING_PAUSED 2       /* opscope_recording */
extern uint32_t capture_waits;   /* for a zone that is to be recorded */
extern bool capture_hears_zones; /* so zones take the slow path */
void capture_prepare(void);      /* once */
void capture_use(const struct session_capture *capture);
void capture_describe(struct segment_header *h, bool is_paused);
void capture_settle(void);
void capture_signpost(const char *header, bool is_before);
void capture_frame(bool is_before, bool ends_a_step);
bool capture_zone_begins(struct thread_cursor *c,
                         uint32_t id); /* true: of the rule's name, and we are not paused any more */
void capture_zone_has_begun(struct thread_cursor *c); /* such a one, recorded or lost */
void capture_zone_ended(struct thread_cursor *c);
void capture_zone_may_have_ended(struct thread_cursor *c); /* a zone has: was it that one? */

static inline bool recorder_is_paused(void)
{
    return __atomic_load_n(&opscope_recording, __ATOMIC_RELAXED) == RECORDING_PAUSED ||
           __atomic_load_n(&capture_waits, __ATOMIC_RELAXED);
}

/* One word, so that a handler sees it whole: recorded zones that were open << 32 | hidden zones one inside the other
 * there << 8 | how many such words are kept for when these have ended (op_stack.hidden). 0: none. */
#define HIDDEN_ONE UINT64_C(256)
#define HIDDEN_MOST UINT64_C(0xffffff)
static inline uint64_t hidden_count(uint64_t hidden)
{
    return hidden >> 8 & HIDDEN_MOST;
}
static inline uint32_t hidden_below(uint64_t hidden)
{
    return (uint32_t)(hidden & 0xff);
}
static inline uint32_t hidden_depth(uint64_t hidden)
{
    return (uint32_t)(hidden >> 32);
}

/* Is the innermost zone of the thread one that is not recorded? */
static inline bool cursor_hides(const struct thread_cursor *c)
{
    uint64_t hidden = c->hidden;
    return hidden && hidden_depth(hidden) == cursor_depth(c);
}

/* record.c */
void record_pause(bool is_paused);

/* segment.c */
bool segment_attach(void); /* makes this process's segment; once */
int segment_replace(void); /* the next session's, in its place; 0 or an errno */
void segment_avoid_none(void);
void segment_avoid(
    const struct chunk_descriptor *d);             /* the next segment does not use a chunk of that number */
bool segment_commit(size_t offset, size_t length); /* false: no memory */
/* The index of a free chunk, or -1. A waiter waits for one as long as there is hope. */
int32_t segment_take_chunk(struct thread_cursor *waiter);
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
bool names_is_called(uint32_t id, const char *name);

#endif
