/* SPDX-License-Identifier: Apache-2.0 */
/* What every filled model needs once before it is read: runs grouped by their calls, gaps, wrong device times, and the
 * order of lines. */
#ifndef OPSCOPE_OPS_FINISH_H
#define OPSCOPE_OPS_FINISH_H

#include "ops/ops.h"

/* A run that seems to begin so long before its predecessor's end has the time of an earlier run: devices keep the last
 * time that was written where a program recorded none. */
#define OPS_STALE_NS 1000000

/* Fills run_order, first_run, runs, gaps that are not known yet (of runs that have a track), faults and lines.
 *
 * A call without a run, or with runs of its own, has a line at its start; a further run (a replay, another device) one
 * at its own. Kernels of one execution share a line. A host op with runs is a device op from here on.
 * Signposts go before what begins at the same time; calls of one time are in the order in which they were
 * added, further runs in that of their call's number and session. Runs of no call have no line (their fault says so,
 * and `unmatched_runs` counts them), unless there are no calls at all: then every run has one, in the order in which
 * they were added. */
int ops_finish(struct ops *ops, struct error *err);
/* ops_finish is for what was added since the last time, so that several files may go into one model; a source that
 * made its lines itself says so with this. */
void ops_mark_finished(struct ops *ops);

/* The run on its call's own line: the first that is not a replay; OPS_NONE. */
uint32_t ops_own_run(const struct ops *ops, const struct op_call *call);
/* The line of a call itself, not that of a further run. */
static inline bool ops_line_is_first(const struct ops *ops, const struct op_line *line)
{
    return line->call != OPS_NONE &&
           (line->run == OPS_NONE ||
            (!ops->runs[line->run].session && ops_own_run(ops, &ops->calls[line->call]) == line->run));
}

/* The ids of what ran for a line, one run or the kernels of one execution of an op; how many. */
size_t ops_line_runs(const struct ops *ops, const struct op_line *line, const uint32_t **runs);

/* What they were, "gemm; reduce": the kernels that the op's description names, else the names of the runs that are not
 * the op's own. Each once; after many different ones "...". */
void ops_append_kernels(const struct ops *ops, const struct op_call *call, const uint32_t *runs, size_t count,
                        struct bytes *out);

struct op_line_sum {
    /* Of an estimate from the first to the last. */
    uint64_t duration_ns; /* of the first run alone where that is not known: OPS_NO_DURATION */
    int64_t gap_ns;       /* before them and between them; OPS_NO_GAP */
    uint32_t runs;        /* 0: none */
};
struct op_line_sum ops_sum_line(const struct ops *ops, const struct op_line *line);

/* True when the gap before a run is known and can be used: none of both times that make it is wrong. */
static inline bool ops_has_gap(const struct op_run *run)
{
    return run->gap_ns != OPS_NO_GAP && !(run->flags & OP_RUN_WRONG_GAP);
}

#endif
