/* SPDX-License-Identifier: Apache-2.0 */
/* Which way of writing a zone is the fastest on this CPU? Each variant is a begin and an end as the recorder could
 * make them; three places to write to tell what is computing and what is moving of cache lines:
 *   hot     one chunk, over and over: the first-level cache
 *   stream  chunks of an 8 MiB pool in turn: nobody else touches them
 *   shared  the same pool, drained by a second thread that reads every slot of a sealed chunk, as the collector does
 * Prints NAME MIN MEDIAN ns a pair. Times are thread CPU time; the variants take turns within each round.
 *
 *     bench_record_variants [CPU of the writer] [CPU of the reader] */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/session.h"

#define ROUNDS 31
#define PAIRS 100000L
#define POOL_CHUNKS 512u
#define NOINLINE __attribute__((noinline, noclone))
#define INLINE __attribute__((always_inline)) static inline
#define RARE(x) __builtin_expect(!!(x), 0)

struct cursor {
    struct slot *base;
    uint32_t *published;
    volatile uint32_t index, limit, nest, depth, skip;
    uint32_t clock_source;
    volatile uint64_t zones;
    volatile uint32_t claim, nested;
    struct chunk_descriptor *descriptor;
};

static _Alignas(4096) struct slot pool[POOL_CHUNKS * CHUNK_SLOTS];
static _Alignas(64) struct chunk_descriptor descriptors[POOL_CHUNKS];
static _Alignas(64) _Atomic uint64_t free_map[POOL_CHUNKS / 64];
static _Alignas(128) struct cursor the_cursor;
static __thread struct cursor *cursor;
static uint32_t pool_chunks = 1;
static _Atomic bool is_over;
static _Atomic uint64_t read_sum;

static NOINLINE void next_chunk(struct cursor *c)
{
    uint32_t chunk = 0;
    if (c->descriptor)
        __atomic_store_n(&c->descriptor->state, CHUNK_SEALED, __ATOMIC_RELEASE);
    if (pool_chunks == 1) {
        chunk = 0;
    } else {
        for (bool is_found = false; !is_found;) {
            for (uint32_t w = 0; w < POOL_CHUNKS / 64 && !is_found; w++) {
                uint64_t bits = atomic_load_explicit(&free_map[w], memory_order_relaxed);
                if (!bits)
                    continue;
                uint64_t lowest = bits & (~bits + 1);
                atomic_fetch_and_explicit(&free_map[w], ~lowest, memory_order_acquire);
                chunk = w * 64 + (uint32_t)__builtin_ctzll(lowest);
                is_found = true;
            }
        }
    }
    struct chunk_descriptor *d = &descriptors[chunk];
    d->published = 0;
    d->base_ticks = clock_counter();
    c->descriptor = d;
    c->published = &d->published;
    c->base = pool + (size_t)chunk * CHUNK_SLOTS;
    __atomic_store_n(&d->state, CHUNK_OWNED, __ATOMIC_RELEASE);
    c->claim = c->index = 0;
    c->limit = CHUNK_SLOTS;
}

/* Returns sealed chunks at once, as a drained chunk would be. */
static void *read_chunks(void *context)
{
    uint64_t sum = 0;
    if (context)
        sched_setaffinity(0, sizeof(cpu_set_t), context);
    while (!is_over) {
        bool has_seen = false;
        for (uint32_t i = 0; i < POOL_CHUNKS; i++) {
            if (__atomic_load_n(&descriptors[i].state, __ATOMIC_ACQUIRE) != CHUNK_SEALED)
                continue;
            has_seen = true;
            const struct slot *slots = pool + (size_t)i * CHUNK_SLOTS;
            for (uint32_t k = 0; k < CHUNK_SLOTS; k++)
                sum += slots[k].time_kind ^ slots[k].word;
            __atomic_store_n(&descriptors[i].state, CHUNK_FREE, __ATOMIC_RELEASE);
            atomic_fetch_or_explicit(&free_map[i / 64], UINT64_C(1) << (i % 64), memory_order_release);
        }
        if (!has_seen)
            usleep(1000);
    }
    read_sum = sum;
    return NULL;
}

INLINE uint32_t advance(volatile uint32_t *index, uint32_t by)
{
#if defined(__x86_64__)
    __asm__ volatile("xaddl %0, %1" : "+r"(by), "+m"(*index) : : "memory", "cc");
    return by;
#else
    return __atomic_fetch_add(index, by, __ATOMIC_RELAXED);
#endif
}

INLINE void count(volatile uint64_t *counter)
{
#if defined(__x86_64__)
    __asm__ volatile("incq %0" : "+m"(*counter) : : "cc");
#else
    ++*counter;
#endif
}

INLINE void prefetch(const struct slot *slot, uint32_t lines)
{
#if defined(__x86_64__)
    if (lines)
        __asm__ volatile("prefetchw %0" : : "m"(*(const char *)(slot + 4 * lines)));
#else
    (void)slot, (void)lines;
#endif
}

/* --- A: as 0.1 writes it: slot, then clock; nest by addition; index looked at again after publishing --- */
INLINE void publish_again(struct cursor *c)
{
    if (RARE(c->nest != 1)) {
        c->nest--;
        return;
    }
    for (;;) {
        uint32_t index = c->index;
        __atomic_store_n(c->published, index, __ATOMIC_RELEASE);
        c->nest = 0;
        if (!RARE(c->index != index))
            return;
        c->nest = 1;
    }
}

INLINE void slot_first(struct cursor *c, unsigned kind, uint64_t word, int step, uint32_t lines)
{
    if (RARE(c->skip))
        return;
    c->nest++;
    uint32_t index = advance(&c->index, 1);
    if (RARE(index + 6 + c->depth + c->nest > c->limit)) {
        next_chunk(c);
        index = 0;
        c->index = 1;
    }
    struct slot *slot = c->base + index;
    c->depth += (uint32_t)step;
    if (step > 0)
        count(&c->zones);
    prefetch(slot, lines);
    slot->time_kind = slot_time_kind(clock_ticks(c->clock_source), kind);
    slot->word = word;
    publish_again(c);
}

/* --- B: clock, then slot; nest 0 -> 1; publishes what it knows, then looks at index once --- */
INLINE void clock_first(struct cursor *c, unsigned kind, uint64_t word, int step, uint32_t lines)
{
    if (RARE(c->skip || c->nest))
        return;
    uint64_t now = clock_counter();
    c->nest = 1;
    uint32_t depth = c->depth, index = advance(&c->index, 1);
    if (RARE(index + 6 + depth > c->limit)) {
        next_chunk(c);
        index = 0;
        c->index = 1;
    }
    c->depth = depth + (uint32_t)step;
    if (step > 0)
        count(&c->zones);
    struct slot *slot = c->base + index;
    prefetch(slot, lines);
    *slot = (struct slot){slot_time_kind(now, kind), word};
    __atomic_store_n(c->published, index + 1, __ATOMIC_RELEASE);
    c->nest = 0;
    if (RARE(c->index != index + 1))
        publish_again(c);
}

/* --- C: a claim instead of nest and xadd. claim = index + 1 says that a record is being written; a handler that sees
 * it writes behind the claim and counts in `nested`, which the outer one looks at last. Only loads of what was stored
 * long ago are on the way. --- */
INLINE void claim_last(struct cursor *c, unsigned kind, uint64_t word, int step, uint32_t lines,
                       bool is_clock_first)
{
    uint64_t now = is_clock_first ? clock_counter() : 0;
    uint32_t index = c->index;
    if (RARE(c->skip || c->claim != index))
        return;
    c->claim = index + 1;
    if (RARE(c->index != index))
        return;
    uint32_t depth = c->depth;
    if (RARE(index + 6 + depth > c->limit)) {
        next_chunk(c);
        index = 0;
        c->claim = 1;
    }
    c->depth = depth + (uint32_t)step;
    if (step > 0)
        count(&c->zones);
    struct slot *slot = c->base + index;
    prefetch(slot, lines);
    if (!is_clock_first)
        now = clock_counter();
    *slot = (struct slot){slot_time_kind(now, kind), word};
    c->index = index + 1;
    if (RARE(c->nested))
        publish_again(c);
    __atomic_store_n(c->published, index + 1, __ATOMIC_RELEASE);
}

/* --- P: nothing but the stores: no handler could record. The least that any protocol can cost --- */
INLINE void plain(struct cursor *c, unsigned kind, uint64_t word, uint32_t lines)
{
    uint64_t now = clock_counter();
    uint32_t index = c->index;
    if (RARE(index + 6 > c->limit)) {
        next_chunk(c);
        index = 0;
    }
    struct slot *slot = c->base + index;
    prefetch(slot, lines);
    *slot = (struct slot){slot_time_kind(now, kind), word};
    c->index = index + 1;
    __atomic_store_n(c->published, index + 1, __ATOMIC_RELEASE);
}

#define CALLS(name, body_begin, body_end)                                                                    \
    static NOINLINE void begin_##name(uint64_t id)                                                           \
    {                                                                                                        \
        struct cursor *c = cursor;                                                                           \
        body_begin;                                                                                          \
    }                                                                                                        \
    static NOINLINE void end_##name(void)                                                                    \
    {                                                                                                        \
        struct cursor *c = cursor;                                                                           \
        body_end;                                                                                            \
    }                                                                                                        \
    static NOINLINE void loop_##name(void)                                                                   \
    {                                                                                                        \
        for (long i = 0; i < PAIRS; i++) {                                                                   \
            begin_##name(7);                                                                                 \
            end_##name();                                                                                    \
        }                                                                                                    \
    }

#define STYLE(name, lines)                                                                                   \
    CALLS(A##name, slot_first(c, 1, id, 1, lines), slot_first(c, 2, 0, -1, lines))                           \
    CALLS(B##name, clock_first(c, 1, id, 1, lines), clock_first(c, 2, 0, -1, lines))                         \
    CALLS(C##name, claim_last(c, 1, id, 1, lines, true), claim_last(c, 2, 0, -1, lines, true))               \
    CALLS(D##name, claim_last(c, 1, id, 1, lines, false), claim_last(c, 2, 0, -1, lines, false))             \
    CALLS(P##name, plain(c, 1, id, lines), plain(c, 2, 0, lines))

STYLE(0, 0)
STYLE(2, 2)
STYLE(4, 4)
STYLE(8, 8)
STYLE(16, 16)

static NOINLINE void loop_floor(void)
{
    for (long i = 0; i < PAIRS; i++) {
        struct slot *at = &pool[(size_t)(i * 2) % CHUNK_SLOTS];
        at[0].time_kind = clock_counter() << 8 | 1;
        at[0].word = 7;
        at[1].time_kind = clock_counter() << 8 | 2;
        at[1].word = 0;
        __asm__ volatile("" : : "r"(at) : "memory");
    }
}

static NOINLINE void loop_clock(void)
{
    for (long i = 0; i < PAIRS; i++) {
        __asm__ volatile("" : : "r"(clock_counter()));
        __asm__ volatile("" : : "r"(clock_counter()));
    }
}

struct variant {
    const char *name;
    void (*loop)(void);
    bool is_floor;
    double ns[ROUNDS];
};

#define V(x)                                                                                                 \
    {                                                                                                        \
#x, loop_##x, false,                                                                                 \
        {                                                                                                    \
            0                                                                                                \
        }                                                                                                    \
    }
#define GROUP(n) V(A##n), V(B##n), V(C##n), V(D##n), V(P##n)
static struct variant variants[] = {{"floor", loop_floor, true, {0}},
                                    {"clock_only", loop_clock, true, {0}},
                                    GROUP(0),
                                    GROUP(2),
                                    GROUP(4),
                                    GROUP(8),
                                    GROUP(16)};
#define VARIANTS (sizeof variants / sizeof variants[0])

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void reset(uint32_t chunks)
{
    memset(&the_cursor, 0, sizeof the_cursor);
    the_cursor.clock_source = CLOCK_SOURCE_COUNTER;
    cursor = &the_cursor;
    pool_chunks = chunks;
    memset(descriptors, 0, sizeof descriptors);
    for (uint32_t i = 0; i < POOL_CHUNKS / 64; i++)
        free_map[i] = ~UINT64_C(0);
}

/* stream: gives all chunks back when the last has been taken. */
static void refill(void)
{
    for (uint32_t i = 0; i < POOL_CHUNKS / 64; i++)
        free_map[i] = ~UINT64_C(0);
}

static void measure(const char *mode, uint32_t chunks, bool has_reader)
{
    reset(chunks);
    for (int r = 0; r < ROUNDS; r++) {
        for (size_t v = 0; v < VARIANTS; v++) {
            if (!has_reader && chunks > 1)
                refill();
            the_cursor.claim = the_cursor.index; /* the other variants leave it alone */
            double begin = cpu_ns();
            variants[v].loop();
            variants[v].ns[r] = (cpu_ns() - begin) / (double)PAIRS;
            if (has_reader)
                usleep(3000);
        }
    }
    double floor = 1;
    for (size_t v = 0; v < VARIANTS; v++) {
        struct variant *x = &variants[v];
        qsort(x->ns, ROUNDS, sizeof *x->ns, by_value);
        if (v == 0)
            floor = x->ns[ROUNDS / 2];
        printf("%s_%s %.2f %.2f ns %.3f\n", mode, x->name, x->ns[0], x->ns[ROUNDS / 2],
               x->ns[ROUNDS / 2] / floor);
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    cpu_set_t writer, reader;
    CPU_ZERO(&writer);
    CPU_ZERO(&reader);
    if (argc > 1) {
        CPU_SET((size_t)strtol(argv[1], NULL, 10), &writer);
        sched_setaffinity(0, sizeof writer, &writer);
    }
    if (argc > 2)
        CPU_SET((size_t)strtol(argv[2], NULL, 10), &reader);
    memset(pool, 1, sizeof pool);
    measure("hot", 1, false);
    measure("stream", POOL_CHUNKS, false);
    reset(POOL_CHUNKS);
    pthread_t thread;
    pthread_create(&thread, NULL, read_chunks, argc > 2 ? &reader : NULL);
    measure("shared", POOL_CHUNKS, true);
    is_over = true;
    pthread_join(thread, NULL);
    printf("checksum %llu\n", (unsigned long long)read_sum);
    return 0;
}
