/* SPDX-License-Identifier: Apache-2.0 */
/* The ops of a trace, as the model. */
#ifndef OPSCOPE_OPS_FROM_TRACE_H
#define OPSCOPE_OPS_FROM_TRACE_H

#include "ops/ops.h"
#include "trace/reader.h"

struct ops_wanted { /* NULL or zero: all calls, no figures, no signposts */
    bool figures, signposts;
    bool (*wants_call)(void *context, const struct trace_op *op); /* NULL: every one */
    bool (*wants_point)(void *context, const struct trace_point *point);
    void *context;
};

/* Adds the trace's ops, runs, devices and signposts to a model; ops_finish comes next. Runs of calls that are not
 * wanted are kept as runs of no call. A second call of the same number and process is left out, with a notice. */
int ops_from_trace(struct ops *ops, struct trace *trace, const struct ops_wanted *wanted, struct error *err);

#endif
