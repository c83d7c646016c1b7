/* SPDX-License-Identifier: Apache-2.0 */
/* A timeline as a trace, so that every view works on it: a device with one track per lane, a zone and an estimated run
 * per unit, an op per unit that computes, and its dispatches as zones of a queue. */
#ifndef OPSCOPE_OPS_TIMELINE_TRACE_H
#define OPSCOPE_OPS_TIMELINE_TRACE_H

#include "ops/profile_place.h"
#include "ops/timeline.h"
#include "trace/writer.h"

struct timeline_trace {
    const char *source;       /* what was estimated: a path */
    const char *device;       /* its name: "SL2610 (estimated)" */
    const char *architecture; /* names the machine file; NULL: not known */
    bool is_measured;         /* not an estimate */
    bool programs_are_ops;    /* nothing is known of what they use: they are what computes */
    /* NULL: the trace holds nothing else. */
    const struct profile_place *place;
};

/* Cycles become ticks of the device's clock, which begins with the host's; with a place they are ns, and it says how
 * the clocks are related. timeline.clock_mhz must be set. */
int timeline_to_trace(const struct timeline *timeline, const struct timeline_trace *about,
                      struct trace_writer *writer, struct error *err);

#endif
