/* SPDX-License-Identifier: Apache-2.0 */
/* How long this thread has been ready to run while its CPU ran something else. A burst during which another process had
 * the CPU took longer for no fault of the op: that time is taken off. Sleeping is not counted, so waiting for a device
 * stays in.
 *
 * The kernel keeps the figure for each thread (/proc/thread-self/schedstat: ns on the CPU, ns waiting for it, slices).
 * Reading it takes about a microsecond: outside the timed stretch. In a header because the Python extension has it as
 * well. Where the file is not there, nothing is taken off. */
#ifndef OPSCOPE_MEASURE_RUN_DELAY_H
#define OPSCOPE_MEASURE_RUN_DELAY_H

#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

/* For the calling thread, to be kept while it lives; -1 where the system does not say. */
static inline int run_delay_open(void)
{
    return open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
}

static inline uint64_t run_delay_ns(int descriptor)
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

/* A stretch of time without the part that others had the CPU for: `delay_ns` is the difference of two readings around
 * it. `unsure_ns` is what reading took, with the clock reads beside it: a delay may have been there instead of in the
 * stretch. Only what is left for certain is taken off, since a time that is too short would pass for the true one. */
static inline uint64_t run_delay_less(uint64_t stretch_ns, uint64_t delay_ns, uint64_t unsure_ns)
{
    uint64_t sure_ns = delay_ns > unsure_ns ? delay_ns - unsure_ns : 0;
    return sure_ns < stretch_ns ? stretch_ns - sure_ns : stretch_ns;
}

#endif
