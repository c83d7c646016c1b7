/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU's peaks: every thread copies memory of its own, or multiplies and adds in registers, as wide as the processor
 * can, also numbers of 16 and 8 bits where it has instructions for them. A round begins at a barrier and ends with its
 * slowest thread; the best round counts. */
#include <errno.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "measure/cpu.h"
#include "measure/peaks/cpu_caches.h"
#include "measure/peaks/kinds.h"

#define COPY_BYTES ((size_t)64 << 20) /* of each thread: far more than its share of any cache */
#define ROUNDS 5u
#define SUMS 12u /* independent ones: more than a multiply-add takes, in units of those begun at once */

/* In registers: one variable each, since arrays of vectors are kept in memory. */
#define EACH_SUM(F) F(s0) F(s1) F(s2) F(s3) F(s4) F(s5) F(s6) F(s7) F(s8) F(s9) F(s10) F(s11)
#define MULTIPLY_ADD_ONE(sum)                                                                                \
    sum = sum * factor + term;                                                                               \
    __asm__ volatile("" : "+" REGISTER(sum));
#define BEGIN_ONE(sum) vector sum = factor;

/* n times SUMS vectors of multiply-adds; returns the operations. The sums converge, so that nothing overflows. */
#define MULTIPLY_ADD(function, element, bytes, features)                                                     \
    features static double function(uint64_t n)                                                              \
    {                                                                                                        \
        typedef element vector __attribute__((vector_size(bytes)));                                          \
        vector factor = {0}, term;                                                                           \
        factor = factor + (element)0.999;                                                                    \
        term = factor * (element)0.001;                                                                      \
        EACH_SUM(BEGIN_ONE)                                                                                  \
        for (uint64_t i = 0; i < n; i++) {                                                                   \
            EACH_SUM(MULTIPLY_ADD_ONE)                                                                       \
        }                                                                                                    \
        return 2.0 * (double)n * SUMS * ((bytes) / sizeof(element));                                         \
    }

#if defined(__x86_64__)
#define REGISTER(x) "v"(x)
#define AVX512 __attribute__((target("avx512f")))
#define AVX2 __attribute__((target("avx2,fma")))
MULTIPLY_ADD(single_512, float, 64, AVX512)
MULTIPLY_ADD(double_512, double, 64, AVX512)
MULTIPLY_ADD(single_256, float, 32, AVX2)
MULTIPLY_ADD(double_256, double, 32, AVX2)
#undef REGISTER
#define REGISTER(x) "x"(x)
#else
#define REGISTER(x) "w"(x)
#endif
MULTIPLY_ADD(single_128, float, 16, )
MULTIPLY_ADD(double_128, double, 16, )

#if defined(__x86_64__)
/* Products of narrow numbers, summed in 32 bits: each instruction adds two (or four) to each of 16 sums. */
#define DOT_BEGIN(sum) vector sum = {0};
#define DOT_ONE(sum)                                                                                         \
    sum = DOT(sum, factor, factor);                                                                          \
    __asm__ volatile("" : "+v"(sum));
#define DOT_PRODUCTS(function, vector_type, factor_type, value, in_each, features)                           \
    __attribute__((target(features))) static double function(uint64_t n)                                     \
    {                                                                                                        \
        typedef vector_type vector;                                                                          \
        const factor_type factor = (factor_type)(value);                                                     \
        EACH_SUM(DOT_BEGIN)                                                                                  \
        for (uint64_t i = 0; i < n; i++) {                                                                   \
            EACH_SUM(DOT_ONE)                                                                                \
        }                                                                                                    \
        return 2.0 * (double)n * SUMS * (in_each);                                                           \
    }
#define DOT _mm512_dpbf16_ps
DOT_PRODUCTS(half_512, __m512, __m512bh, _mm512_set1_epi16(0x3f00), 32, "avx512f,avx512bw,avx512bf16")
#undef DOT
#define DOT _mm512_dpbusd_epi32
DOT_PRODUCTS(bytes_512, __m512i, __m512i, _mm512_set1_epi8(1), 64, "avx512f,avx512bw,avx512vnni")
#endif

#define KINDS (4u + PEAK_KINDS_LATE)

/* The widest of each type, and tiles; a type without instructions of its own is left out. */
static size_t choose_kinds(struct peak_kind kinds[KINDS])
{
    size_t count = 0;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) {
        kinds[count++] = (struct peak_kind){PEAK_FP32, single_512, "FP32", "AVX-512"};
        kinds[count++] = (struct peak_kind){PEAK_FP64, double_512, "FP64", "AVX-512"};
        if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512bf16"))
            kinds[count++] = (struct peak_kind){PEAK_16_BIT, half_512, "BF16", "AVX-512 BF16"};
        if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni"))
            kinds[count++] = (struct peak_kind){PEAK_8_BIT, bytes_512, "INT8", "AVX-512 VNNI"};
    } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        kinds[count++] = (struct peak_kind){PEAK_FP32, single_256, "FP32", "AVX2 with FMA"};
        kinds[count++] = (struct peak_kind){PEAK_FP64, double_256, "FP64", "AVX2 with FMA"};
    }
    const char *by = "SSE2";
#else
    const char *by = "16-byte vectors";
#endif
    if (!count) {
        kinds[count++] = (struct peak_kind){PEAK_FP32, single_128, "FP32", by};
        kinds[count++] = (struct peak_kind){PEAK_FP64, double_128, "FP64", by};
    }
    return count + peak_kinds_late(kinds + count);
}

struct crew { /* all threads of one measurement */
    pthread_barrier_t barrier;
    double (*calculate)(uint64_t n); /* NULL: copy */
    uint64_t count;                  /* of calculate; of copies */
    size_t copy_bytes;               /* of each thread */
    uint32_t threads;
    int state; /* 0: not all are there yet; 1: go; -1: not all could be had */
};

struct member {
    struct crew *crew;
    pthread_t thread;
    double work[ROUNDS]; /* operations, or bytes */
    uint64_t begin_ns[ROUNDS], end_ns[ROUNDS];
    bool has_failed;
};

static void *run_member(void *data)
{
    struct member *m = data;
    const struct crew *crew = m->crew;
    char *from = NULL, *to = NULL;
    int state;
    while ((state = __atomic_load_n(&crew->state, __ATOMIC_ACQUIRE)) == 0)
        sched_yield();
    if (state < 0)
        return NULL;
    if (!crew->calculate) {
        from = malloc(crew->copy_bytes);
        to = malloc(crew->copy_bytes);
        m->has_failed = !from || !to;
        if (!m->has_failed) {
            memset(from, 1, crew->copy_bytes);
            memset(to, 2, crew->copy_bytes);
        }
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&m->crew->barrier);
        m->begin_ns[round] = clock_raw_ns();
        if (crew->calculate)
            m->work[round] = crew->calculate(crew->count);
        for (uint64_t i = 0; !crew->calculate && !m->has_failed && i < crew->count; i++) {
            memcpy(to, from, crew->copy_bytes);
            __asm__ volatile("" : : "r"(to), "r"(from) : "memory");
            m->work[round] += 2.0 * (double)crew->copy_bytes;
        }
        m->end_ns[round] = clock_raw_ns();
        pthread_barrier_wait(&m->crew->barrier);
    }
    free(from);
    free(to);
    return NULL;
}

/* Work per second of the best round; 0: it could not be measured. */
static double best_round(const struct member *members, uint32_t count)
{
    double best = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t begin = UINT64_MAX, end = 0;
        double work = 0;
        for (uint32_t i = 0; i < count; i++) {
            begin = members[i].begin_ns[round] < begin ? members[i].begin_ns[round] : begin;
            end = members[i].end_ns[round] > end ? members[i].end_ns[round] : end;
            work += members[i].work[round];
            if (members[i].has_failed)
                return 0;
        }
        double rate = end > begin ? work / ((double)(end - begin) / 1e9) : 0;
        best = rate > best ? rate : best;
    }
    return best;
}

static double measure(struct crew *crew, struct error *err)
{
    struct member *members = calloc(crew->threads, sizeof *members);
    uint32_t started = 0;
    double rate = 0;
    if (!members || pthread_barrier_init(&crew->barrier, NULL, crew->threads) != 0) {
        free(members);
        error_no_memory(err, "threads to measure with");
        return 0;
    }
    for (; started < crew->threads; started++) {
        members[started].crew = crew;
        if (pthread_create(&members[started].thread, NULL, run_member, &members[started]) != 0)
            break;
    }
    __atomic_store_n(&crew->state, started == crew->threads ? 1 : -1, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(members[i].thread, NULL);
    if (started == crew->threads)
        rate = best_round(members, started);
    if (rate <= 0)
        error_set(err, EAGAIN, "cannot measure with %u threads: no memory, or no more threads",
                  crew->threads);
    pthread_barrier_destroy(&crew->barrier);
    free(members);
    return rate;
}

/* So many repeats that a round takes that long. */
static uint64_t repeats_for(double (*calculate)(uint64_t), double seconds)
{
    uint64_t n = 100000;
    uint64_t begin = clock_raw_ns();
    if (calculate)
        calculate(n);
    double took = (double)(clock_raw_ns() - begin) / 1e9;
    return took > 0 ? (uint64_t)((double)n * seconds / ROUNDS / took) + 1 : n;
}

static uint32_t usable_cpus(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}

/* --- memory and caches --- */

static double copy_gb_s(uint32_t threads, size_t bytes, double seconds, struct error *err)
{
    const double guess = 8e9; /* bytes a second and thread: how many copies a round has */
    struct crew crew = {.threads = threads,
                        .copy_bytes = bytes,
                        .count = 1 + (uint64_t)(seconds * guess / (2.0 * (double)bytes * ROUNDS))};
    return measure(&crew, err) / 1e9;
}

#define SHARE_OF_CACHE 0.35 /* for each of the two buffers: the rest is for what else is there */

/* A cache that is not faster than what lies behind it is none that a program has. */
static void measure_caches(struct peaks *peaks, uint32_t threads, double seconds)
{
    static const char *const names[PEAK_CACHES] = {"L2", "L3"};
    double bytes[PEAK_CACHES], behind = peaks->copy_gb_s;
    cpu_cache_bytes(threads, bytes);
    for (unsigned i = PEAK_CACHES; i--;) {
        struct error err;
        size_t each = (size_t)(bytes[i] * SHARE_OF_CACHE / threads);
        double gb_s = each >= 4096 ? copy_gb_s(threads, each, seconds, &err) : 0;
        if (gb_s <= behind)
            continue;
        peaks->caches[i] = (struct peak_cache){.bytes = bytes[i], .gb_s = gb_s};
        snprintf(peaks->caches[i].how, sizeof peaks->caches[i].how,
                 "memcpy of %zu KiB by each of %u threads, in %s, read and written", each / 1024, threads,
                 names[i]);
        behind = gb_s;
    }
}

/* Each addition waits for the one before it, and takes one cycle. */
static double clock_mhz(double seconds)
{
#if defined(__x86_64__)
#define ADD_ONE __asm__ volatile("add $1, %0" : "+r"(sum));
#elif defined(__aarch64__)
#define ADD_ONE __asm__ volatile("add %0, %0, #1" : "+r"(sum));
#endif
#ifdef ADD_ONE
    double best = 0, all = 0;
    while (all < seconds) {
        uint64_t sum = 0, begin = clock_raw_ns();
        for (unsigned i = 0; i < 200000; i++) {
            ADD_ONE ADD_ONE ADD_ONE ADD_ONE ADD_ONE ADD_ONE ADD_ONE ADD_ONE
        }
        double took = (double)(clock_raw_ns() - begin) / 1e9;
        best = took > 0 && 1.6 / took > best ? 1.6 / took : best;
        all += took;
    }
    return best;
#else
    (void)seconds;
    return 0;
#endif
}

int peaks_cpu(struct peaks *peaks, const struct peaks_options *options, struct error *err)
{
    uint32_t threads = options->threads ? options->threads : usable_cpus();
    struct peak_kind kinds[KINDS];
    size_t count = choose_kinds(kinds);
    *peaks = (struct peaks){.cores = threads, .core_unit = "threads"};
    cpu_describe(peaks->name, sizeof peaks->name);
    peaks->name[strcspn(peaks->name, ",")] = '\0';
    peaks->copy_gb_s = copy_gb_s(threads, COPY_BYTES, options->seconds, err);
    snprintf(peaks->copy_how, sizeof peaks->copy_how,
             "memcpy of 64 MiB by each of %u threads, read and written", threads);
    if (peaks->copy_gb_s <= 0)
        return err->code;
    peaks->one_gb_s = copy_gb_s(1, COPY_BYTES, options->seconds / 4, err);
    peaks->clock_mhz = clock_mhz(options->seconds / 10);
    measure_caches(peaks, threads, options->seconds);
    for (size_t i = 0; i < count; i++) {
        struct crew crew = {.threads = threads,
                            .calculate = kinds[i].calculate,
                            .count = repeats_for(kinds[i].calculate, options->seconds)};
        struct peak *peak = &peaks->rates[kinds[i].type];
        double tflops = measure(&crew, err) / 1e12;
        if (tflops <= 0)
            return err->code;
        if (tflops <= peak->tflops)
            continue;
        peak->tflops = tflops;
        snprintf(peak->how, sizeof peak->how, "multiply-add of %s in registers (%s), %u threads",
                 kinds[i].what, kinds[i].by, threads);
    }
    return 0;
}
