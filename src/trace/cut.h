/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a trace as a trace of its own: what one zone and everything beside it did between two moments.
 *
 * The zone at `depth` of `track` becomes the outermost of its track; zones above it are left out. Of the other tracks
 * of its process, and of processes that descend from that, zones are cut at the window's ends, and so are waits for
 * locks and holds of them. Points, counters, memory events, samples, ops and device runs that begin in the window are
 * copied, open zones and losses that overlap it as well. Rows of device tracks stay in ticks and are not cut. A window
 * that holds everything gives it all back. */
#ifndef OPSCOPE_TRACE_CUT_H
#define OPSCOPE_TRACE_CUT_H

#include "trace/reader.h"

struct trace_cut {
    uint32_t track;
    uint32_t depth;
    uint64_t since_ns, until_ns; /* host times */
    const char *command;         /* what the new trace says was run */
};

/* On failure nothing is left at `path`. */
int trace_cut(struct trace *trace, const char *path, const struct trace_cut *cut, struct error *err);

#endif
