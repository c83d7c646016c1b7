/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that the host's CPU computed itself (TRACE_OP_CPU) have no run in the trace: an op's run is the call less the
 * ops inside it. These are found while the calls are read, all of them, also those that nobody wants: an op that is
 * left out is still no part of the op around it.
 *
 * The runs of an op and of those inside it stand one after the other, from the op's start to its end: the runs of a
 * thread add up to the time of its outermost ops, and inside an op there are no gaps.
 *
 * A gap is time in which no thread was in an op; it is that of the outermost op that ends it. Counted by thread, a
 * process that only waits for work would have as much of it as the run is long, and the gaps of all threads would be a
 * multiple of the run. */
#ifndef OPSCOPE_OPS_CPU_RUNS_H
#define OPSCOPE_OPS_CPU_RUNS_H

#include "ops/ops.h"

struct cpu_runs {
    struct cpu_track *tracks; /* by id in the trace; made when first needed */
    size_t track_count;       /* of the trace: set by who begins */
};

/* An op of a track, in the order in which ops end. `call` is in the model, or OPS_NONE where it is not wanted; it must
 * be the call that was added last. `device` is in the model. */
void cpu_runs_add(struct cpu_runs *runs, struct ops *ops, uint32_t track, uint64_t start_ns, uint64_t end_ns,
                  uint32_t call, uint32_t device);
/* When all ops were added. */
void cpu_runs_find_gaps(const struct cpu_runs *runs, struct ops *ops);
void cpu_runs_free(struct cpu_runs *runs);

#endif
