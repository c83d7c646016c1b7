/* SPDX-License-Identifier: Apache-2.0 */
/* How long this thread has been ready to run while its CPU ran another process. A burst during which that happened
 * took longer for no fault of the op: the time is taken off. Sleeping is not counted, so waiting for a device stays in;
 * nor is waiting for threads of the op's own on the same CPU.
 *
 * The kernel keeps the figure for each thread (/proc/thread-self/schedstat: ns on the CPU, ns waiting for it, slices).
 * Reading it takes about a microsecond: outside the timed stretch. In a header because the Python extension has it as
 * well. Where the file is not there, nothing is taken off. */
#ifndef OPSCOPE_BASE_RUN_DELAY_H
#define OPSCOPE_BASE_RUN_DELAY_H

#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "base/clock.h"

/* For the calling thread, to be kept while it lives; -1 where the system does not say. */
static inline int run_delay_open(void)
{
    return open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
}

/* The second number of a schedstat file. */
static inline uint64_t run_delay_read(int descriptor)
{
    char text[96];
    ssize_t length = descriptor >= 0 ? pread(descriptor, text, sizeof text, 0) : 0;
    ssize_t at = 0;
    uint64_t value = 0;
    while (at < length && text[at] != ' ')
        at++;
    for (at++; at < length && text[at] >= '0' && text[at] <= '9'; at++)
        value = value * 10 + (uint64_t)(text[at] - '0');
    return value;
}

/* A reading, of use only as the difference of two: the waiting, less all that other threads of this process ran. */
static inline int64_t run_delay_ns(int descriptor)
{
    if (descriptor < 0)
        return 0;
    uint64_t own_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), all_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    return (int64_t)run_delay_read(descriptor) - (int64_t)(all_ns - own_ns);
}

/* A stretch of time without the part that others had the CPU for: `delay_ns` is the difference of two readings around
 * it. `unsure_ns` is what reading took, with the clock reads beside it: a delay may have been there instead of in the
 * stretch. Only what is left for certain is taken off, since a time that is too short would pass for the true one. */
static inline uint64_t run_delay_less(uint64_t stretch_ns, int64_t delay_ns, uint64_t unsure_ns)
{
    uint64_t sure_ns = delay_ns > (int64_t)unsure_ns ? (uint64_t)delay_ns - unsure_ns : 0;
    return sure_ns < stretch_ns ? stretch_ns - sure_ns : stretch_ns;
}

#endif
