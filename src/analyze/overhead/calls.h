/* SPDX-License-Identifier: Apache-2.0 */
/* What calling ops cost the host of a recorded program: for each name how long its calls took until they returned, how
 * much of that was not in the calls of other ops, and how long after that their first run began. */
#ifndef OPSCOPE_ANALYZE_OVERHEAD_CALLS_H
#define OPSCOPE_ANALYZE_OVERHEAD_CALLS_H

#include "base/error.h"
#include "ops/ops.h"

struct overhead_calls_row {
    uint32_t name; /* text of the ops */
    uint64_t count;
    uint64_t own_ns, total_ns;       /* own: without calls inside of theirs */
    uint64_t min_ns, p50_ns, p99_ns; /* nearest rank */
    uint64_t delayed;                /* calls of which a run on a device is known */
    uint64_t delay_p50_ns;           /* from the return to the start of the run; 0: it began before */
    double device_ns;                /* of their runs */
    uint32_t longest;                /* in ops.calls */
};

struct overhead_calls {
    struct overhead_calls_row *rows; /* by own time, longest first */
    size_t count;
    uint64_t calls, own_ns; /* of all: nothing counts twice */
};

/* Calls that began in the window and whose return was recorded. The caller frees it, whatever is returned. */
int overhead_count_calls(struct overhead_calls *calls, const struct ops *ops, uint64_t since_ns,
                         uint64_t until_ns, struct error *err);
void overhead_calls_free(struct overhead_calls *calls);

#endif
