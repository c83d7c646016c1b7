/* SPDX-License-Identifier: Apache-2.0 */
/* A timeline as a trace, so that every view works on it, and back: a device with one track per lane, a zone per unit,
 * its ops with their runs (of an estimate: marked as estimated), and its dispatches as zones of a queue. */
#ifndef OPSCOPE_OPS_TIMELINE_TRACE_H
#define OPSCOPE_OPS_TIMELINE_TRACE_H

#include "ops/profile_place.h"
#include "ops/timeline.h"
#include "trace/reader.h"
#include "trace/writer.h"

/* Figures of ops. */
#define TIMELINE_FIGURE_CYCLES "cycles" /* from the first start to the last end of its units */
#define TIMELINE_FIGURE_MACS "MACs"
#define TIMELINE_FIGURE_READ "bytes read"
#define TIMELINE_FIGURE_WRITTEN "bytes written"
#define TIMELINE_FIGURE_CLASS "class"
#define TIMELINE_FIGURE_DISPATCH "dispatch"
#define TIMELINE_FIGURE_NUMBER "dispatch number" /* names are not unique */

struct timeline_message {
    const char *header, *text;
};

struct timeline_trace {
    const char *source;                      /* what was estimated: a path */
    const char *device;                      /* its name: "SL2610 (estimated)" */
    const char *architecture;                /* names the machine file; NULL: not known */
    bool is_measured;                        /* not an estimate */
    const char *caveat;                      /* how far an estimate can be trusted, in a sentence; NULL */
    const struct timeline_message *messages; /* what else people should see */
    size_t message_count;
    /* NULL: the trace holds nothing else. */
    const struct profile_place *place;
};

/* The header of the message that holds the caveat. */
#define TIMELINE_CAVEAT "estimate"

/* Cycles become ticks of the device's clock, which begins with the host's; with a place they are ns, and it says how
 * the clocks are related. timeline.clock_mhz must be set. */
int timeline_to_trace(const struct timeline *timeline, const struct timeline_trace *about,
                      struct trace_writer *writer, struct error *err);

/* The ops of a trace and what ran for them, estimated or measured runs alone; where a trace has no runs at all, zones
 * whose names carry a compiler's location, loc(...), are measured ops. Times are cycles where all runs are of one
 * device's clock, else ns (is_host_ns). A unit's source is its track. An empty timeline is not an error: op_count is 0.
 * The caller frees it, whatever is returned. */
enum timeline_runs { TIMELINE_ESTIMATED, TIMELINE_MEASURED };
int timeline_from_trace(struct timeline *timeline, struct trace *trace, enum timeline_runs runs,
                        struct error *err);

#endif
