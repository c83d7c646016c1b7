/* SPDX-License-Identifier: Apache-2.0 */
/* Clock reads. Host times in a trace are nanoseconds of CLOCK_MONOTONIC_RAW; records carry ticks of the
 * session's clock, which is the CPU's counter where it can be trusted and RAW otherwise. */
#ifndef OPSCOPE_BASE_CLOCK_H
#define OPSCOPE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

enum clock_source {
    CLOCK_SOURCE_RAW = 0,     /* ticks are ns of CLOCK_MONOTONIC_RAW */
    CLOCK_SOURCE_COUNTER = 1, /* rdtsc, cntvct_el0 */
};

static inline uint64_t clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static inline uint64_t clock_raw_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC_RAW);
}

/* The CPU's time counter, unfenced. Returns RAW ns on a CPU we have no counter for. */
static inline uint64_t clock_counter(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    return clock_raw_ns();
#endif
}

static inline uint64_t clock_ticks(uint32_t source)
{
    return __builtin_expect(source == CLOCK_SOURCE_COUNTER, 1) ? clock_counter() : clock_raw_ns();
}

#endif
