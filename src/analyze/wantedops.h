/* SPDX-License-Identifier: Apache-2.0 */
/* The ops of a trace that a filter asks for, finished. */
#ifndef OPSCOPE_ANALYZE_WANTEDOPS_H
#define OPSCOPE_ANALYZE_WANTEDOPS_H

#include "analyze/filter.h"
#include "ops/ops.h"

/* Calls whose process, thread, name and time are wanted, with all their runs and the signposts that are wanted. The
 * model must be initialised; it is freed by the caller, whatever this returns. */
int wanted_ops_read(struct ops *ops, struct trace *trace, const struct trace_filter *filter, bool figures,
                    struct error *err);

/* All runs of one call. */
struct runs_of_call {
    uint64_t count;
    uint64_t device_ns; /* sum */
    uint64_t start_ns;  /* of the earliest; 0 without runs */
    uint32_t cores;     /* most of any run */
};
struct runs_of_call runs_of_call_sum(const struct ops *ops, const struct op_call *call);

#endif
