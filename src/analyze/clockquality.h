/* SPDX-License-Identifier: Apache-2.0 */
/* How well a clock of the trace is known: from its sync points alone. */
#ifndef OPSCOPE_ANALYZE_CLOCKQUALITY_H
#define OPSCOPE_ANALYZE_CLOCKQUALITY_H

#include "trace/reader.h"

struct clock_quality {
    uint64_t points;
    uint64_t breaks;             /* where the clock jumped */
    uint64_t max_uncertainty_ns; /* as the points themselves state it */
    uint64_t max_residual_ns;    /* a point against the line through its neighbours */
    double ticks_per_second;     /* measured from the first to the last point; 0 when there are not two */
};

void clock_quality_make(struct clock_quality *quality, const struct trace *trace, uint32_t clock);

/* CLOCK_REALTIME at a host time, by the nearest point that has both; 0 when there is none. */
uint64_t clock_quality_realtime(const struct trace *trace, uint64_t host_ns);

#endif
