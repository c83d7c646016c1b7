/* SPDX-License-Identifier: Apache-2.0 */
/* Where a device profile stands in a trace that holds other records, too: what was recorded while the profile was
 * made. Without one, a profile is a trace by itself. */
#ifndef OPSCOPE_OPS_PROFILE_PLACE_H
#define OPSCOPE_OPS_PROFILE_PLACE_H

#include "trace/model.h"

struct profile_place {
    uint32_t parent;   /* the process that made the profile */
    uint32_t device;   /* its number: one that no other device of the trace has */
    const char *clock; /* name of the profile's clock */
    /* Two moments on that clock, in ns (`ticks`), and on the host's. */
    struct trace_clock_point points[2];
};

static inline uint64_t profile_place_host_ns(const struct profile_place *place, uint64_t ns)
{
    const struct trace_clock_point *a = &place->points[0], *b = &place->points[1];
    double rate = b->ticks > a->ticks ? (double)(b->host_ns - a->host_ns) / (double)(b->ticks - a->ticks) : 1;
    return ns >= a->ticks ? a->host_ns + (uint64_t)((double)(ns - a->ticks) * rate) : a->host_ns;
}

#endif
