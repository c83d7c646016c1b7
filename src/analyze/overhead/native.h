/* SPDX-License-Identifier: Apache-2.0 */
/* Where dispatch time goes: joins the zones of a trace with the calls that were timed while it was recorded.
 *
 * A window is one burst of calls on one thread. The zones that lie in it on that thread are its native part: the
 * outermost ones together are what the calls spent in recorded code, so their sum is at most the window's length; what
 * is left is the cost of the calls themselves. */
#ifndef OPSCOPE_ANALYZE_OVERHEAD_NATIVE_H
#define OPSCOPE_ANALYZE_OVERHEAD_NATIVE_H

#include "analyze/overhead/overhead.h"
#include "base/error.h"
#include "base/intern.h"
#include "trace/reader.h"

#define OVERHEAD_WINDOW_SLACK_NS 10000u /* nothing else was recorded that near to a window */

struct overhead_window {
    const char *op;
    size_t trace; /* number of the trace it is in */
    int64_t pid;
    uint64_t tid;
    uint64_t start_ns, end_ns; /* host time, as in the trace */
    uint64_t calls;
};

struct overhead_zone {
    size_t window;
    uint64_t start_ns, duration_ns, child_ns;
    uint32_t name; /* in `names` */
};

struct overhead_zones { /* zero-initialise */
    struct overhead_zone *items;
    size_t count, capacity;
    struct intern names;
};

/* Adds the zones of one trace that lie in its windows. The windows of a trace must come in order of time. */
int overhead_zones_collect(struct overhead_zones *zones, struct trace *trace, size_t number,
                           const struct overhead_window *windows, size_t window_count, struct error *err);
/* Fills native_ns, native and call_ns of the ops. */
int overhead_native_fill(struct overhead_run *run, const struct overhead_window *windows, size_t window_count,
                         struct overhead_zones *zones, struct error *err);
void overhead_zones_free(struct overhead_zones *zones);

#endif
