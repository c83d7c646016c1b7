/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/wantedops.h"

#include "analyze/pointlist.h"
#include "ops/finish.h"
#include "ops/from_trace.h"

static bool wants_call(void *context, const struct trace_op *op)
{
    const struct trace_filter *filter = context;
    return trace_filter_wants_process(filter, op->process) && trace_filter_wants_track(filter, op->track) &&
           trace_filter_wants_name(filter, op->name) &&
           trace_filter_wants_span(filter, op->start_ns, op->end_ns ? op->end_ns : UINT64_MAX);
}

static bool wants_point(void *context, const struct trace_point *point)
{
    return point_is_wanted(context, point);
}

int wanted_ops_read(struct ops *ops, struct trace *trace, const struct trace_filter *filter, bool figures,
                    struct error *err)
{
    struct ops_wanted wanted = {.figures = figures,
                                .signposts = true,
                                .places = true,
                                .wants_call = wants_call,
                                .wants_point = wants_point,
                                .context = (void *)(uintptr_t)filter};
    int result = ops_from_trace(ops, trace, &wanted, err);
    return result ? result : ops_finish(ops, err);
}

struct runs_of_call runs_of_call_sum(const struct ops *ops, const struct op_call *call)
{
    struct runs_of_call sum = {.count = call->runs};
    uint64_t end_ns = 0;
    bool is_estimate = false;
    for (uint32_t i = 0; i < call->runs; i++) {
        const struct op_run *run = &ops->runs[ops->run_order[call->first_run + i]];
        sum.device_ns += run->duration_ns;
        if (i == 0 || run->start_ns < sum.start_ns)
            sum.start_ns = run->start_ns;
        sum.cores = run->cores > sum.cores ? run->cores : sum.cores;
        end_ns = run->start_ns + run->duration_ns > end_ns ? run->start_ns + run->duration_ns : end_ns;
        is_estimate |= (run->flags & OP_RUN_ESTIMATED) != 0;
    }
    if (is_estimate) /* its pieces are beside one another, as in ops_sum_line */
        sum.device_ns = end_ns - sum.start_ns;
    return sum;
}
