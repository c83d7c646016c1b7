/* SPDX-License-Identifier: Apache-2.0 */
/* A zone's begin and end, compiled into the program: part of opscope.h, which includes it. Everything here belongs to
 * the recorder; src/record/fast.h says why it is right, docs/decisions/019 what it is worth.
 *
 * A program may run with a recorder of a later release, whose cursors look different. There opscope_thread_cursor_
 * stays what it is at first, a cursor without room, and zones of this header are calls. */
#ifndef OPSCOPE_ZONE_H
#define OPSCOPE_ZONE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OPSCOPE_SLOT_BYTES_ 16u /* time and kind, word */
#define OPSCOPE_ZONE_BEGIN_ 1u
#define OPSCOPE_ZONE_END_ 2u
#define OPSCOPE_ZONE_SLACK_ 4u
/* What a begin must find: its slot, one for its end and some more, beside those for the ends of what is open. */
#define OPSCOPE_ZONE_ROOM_ (2u + OPSCOPE_ZONE_SLACK_)

#define OPSCOPE_UNLIKELY_(x) __builtin_expect(!!(x), 0)

/* The first words of what the recorder has of a thread. Signal handlers change them, between any two instructions: what
 * takes slots and what counts them as done is a barrier for the compiler. */
union opscope_state_ {
    uint64_t all;        /* zones begun in this chunk << 48 | slots done in it << 32 | bytes of ends owed */
    uint32_t owed_bytes; /* one slot for each zone that is open and recorded */
};
struct opscope_cursor_ {
    uint64_t *at;         /* the next slot */
    uint64_t *zone_limit; /* the end of the chunk of slots, or NULL where zones take the slow path */
    union opscope_state_ state;
};

OPSCOPE_API extern __thread struct opscope_cursor_ *opscope_thread_cursor_
    __attribute__((tls_model("initial-exec"))); /* before the thread's first event: one without room */

/* --- two things that a signal handler cannot split: one instruction each --- */

/* Takes slots: they are the caller's, whether they can be used or not. */
static inline uint64_t *opscope_slots_take_(struct opscope_cursor_ *c, uint64_t slots)
{
    uint64_t bytes = slots * OPSCOPE_SLOT_BYTES_;
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    __asm__ volatile("xaddq %0, %1" : "+r"(bytes), "+m"(c->at) : : "memory", "cc");
    return (uint64_t *)bytes;
#else
    uint64_t *slot = __atomic_fetch_add(&c->at, bytes, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return slot;
#endif
}

static inline void opscope_state_add_(struct opscope_cursor_ *c, uint64_t value)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    __asm__ volatile("addq %1, %0" : "+m"(c->state.all) : "er"(value) : "memory", "cc");
#else
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_fetch_add(&c->state.all, value, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
#endif
}

/* --- */

/* The CPU's counter and what kind of record this is. */
static inline uint64_t opscope_head_(uint64_t kind)
{
#if defined(__x86_64__)
    uint64_t low, high; /* the instruction clears the upper halves */
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (high << 40) + (low << 8) + kind;
#elif defined(__aarch64__)
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return (value << 8) + kind;
#else
    return kind; /* the slow path has a clock */
#endif
}

/* Are there this many slots from this one on, beside the ends owed? The limit is loaded after the slot was taken. */
static inline int opscope_slots_fit_(const struct opscope_cursor_ *c, const uint64_t *slot,
                                     uint64_t owed_bytes, uint64_t slots)
{
    return (uintptr_t)slot + owed_bytes + slots * OPSCOPE_SLOT_BYTES_ <= (uintptr_t)c->zone_limit;
}

/* The head last: from then on the record can be seen. */
static inline void opscope_slot_write_(uint64_t *slot, uint64_t head, uint64_t word)
{
    slot[1] = word;
    __atomic_store_n(&slot[0], head, __ATOMIC_RELEASE);
}

/* The call is over: this many slots are written, this many zones began in them, this many more are open. */
static inline void opscope_slots_done_(struct opscope_cursor_ *c, uint64_t slots, uint64_t zones,
                                       int64_t open)
{
    opscope_state_add_(c, (zones << 48) + (slots << 32) + (uint64_t)(open * (int64_t)OPSCOPE_SLOT_BYTES_));
}

/* With the slot that was taken and does not fit: gives it back and takes the slow path. */
typedef int opscope_rare_fn_(uint64_t *slot, uint64_t word);

__attribute__((always_inline)) static inline int opscope_begin_or_(struct opscope_cursor_ *c, uint64_t word,
                                                                   opscope_rare_fn_ *rare)
{
    uint64_t head = opscope_head_(OPSCOPE_ZONE_BEGIN_);
    uint64_t owed_bytes = c->state.owed_bytes;
    uint64_t *slot = opscope_slots_take_(c, 1);
    if (OPSCOPE_UNLIKELY_(!opscope_slots_fit_(c, slot, owed_bytes, OPSCOPE_ZONE_ROOM_)))
        return rare(slot, word);
    opscope_slot_write_(slot, head, word);
    opscope_slots_done_(c, 1, 1, 1);
    return 1;
}

/* The caller has seen that a zone is open. */
__attribute__((always_inline)) static inline int opscope_end_or_(struct opscope_cursor_ *c,
                                                                 opscope_rare_fn_ *rare)
{
    uint64_t head = opscope_head_(OPSCOPE_ZONE_END_);
    uint64_t *slot = opscope_slots_take_(c, 1);
    if (OPSCOPE_UNLIKELY_(slot >= c->zone_limit))
        return rare(slot, 0);
    opscope_slot_write_(slot, head, 0);
    opscope_slots_done_(c, 1, 0, -1);
    return 1;
}

/* --- what the macros and objects of the public headers call --- */

OPSCOPE_API int opscope_zone_begin_rare_(uint64_t *slot, uint64_t word) OPSCOPE_HOT_;
OPSCOPE_API int opscope_zone_end_rare_(uint64_t *slot, uint64_t word) OPSCOPE_HOT_;

/* ThreadSanitizer does not see what orders the accesses of one thread to a chunk after those of another that had it
 * before (the collector, in another process). What it does not compile it does not watch: with it, zones are calls. */
#if defined(__SANITIZE_THREAD__)
#define OPSCOPE_ZONES_ARE_CALLS_ 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define OPSCOPE_ZONES_ARE_CALLS_ 1
#endif
#endif
#if !defined(OPSCOPE_ZONES_ARE_CALLS_)
#define OPSCOPE_ZONES_ARE_CALLS_ 0
#endif

/* Is a zone open now that opscope_zone_leave_ must end? */
__attribute__((always_inline)) static inline int opscope_zone_enter_(struct opscope_site *site)
{
    if (!opscope_is_recording())
        return 0;
    if (OPSCOPE_ZONES_ARE_CALLS_)
        return opscope_zone_begin_(site);
    uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
    if (OPSCOPE_UNLIKELY_(!id))
        return opscope_zone_begin_(site);
    return opscope_begin_or_(opscope_thread_cursor_, id, opscope_zone_begin_rare_);
}

__attribute__((always_inline)) static inline void opscope_zone_leave_(void)
{
    struct opscope_cursor_ *c = opscope_thread_cursor_;
    if (OPSCOPE_ZONES_ARE_CALLS_ || OPSCOPE_UNLIKELY_(!c->state.owed_bytes))
        opscope_zone_end_();
    else
        opscope_end_or_(c, opscope_zone_end_rare_);
}

#ifdef __cplusplus
}
#endif

#endif
