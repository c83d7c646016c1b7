/* SPDX-License-Identifier: Apache-2.0 */
/* A model of ops written as a trace, whoever filled it: what importers do once they have read their files.
 *
 *     ops_writing_begin(&writing, writer, process, import_track);
 *     ops_to_trace(&writing, &ops);                     also many times, with ops_clear_calls between
 *     ops_writing_end(&writing, &err);
 *
 * Processes and tracks of calls and runs are those of the writer: the importer makes them, since only it knows its
 * threads, devices and clocks. ops_from_trace gives the same model back, with its figures: a description that has a
 * fidelity or a module says so by an attribute. Times of runs are not written, they follow from ticks and clocks. */
#ifndef OPSCOPE_OPS_TO_TRACE_H
#define OPSCOPE_OPS_TO_TRACE_H

#include "ops/ops.h"
#include "trace/writer.h"

struct ops_writing { /* ids of the model to those of the trace, + 1; 0: not written yet */
    struct trace_writer *writer;
    uint32_t process, import_track;
    uint32_t *names, *descriptions;
    size_t name_capacity, description_capacity;
    struct trace_part *parts;
    struct trace_run_part *figures;
    size_t *offsets;
    size_t part_capacity, figure_capacity, offset_capacity;
    struct bytes text;
    uint64_t runs;      /* written so far */
    uint64_t remark_ns; /* when facts and notices are, in a trace of other things; set by the caller */
    /* of runs on several clocks, which come back one clock after the other; set by the caller */
    bool keeps_order;
    bool failed;
};

void ops_writing_begin(struct ops_writing *writing, struct trace_writer *writer, uint32_t process,
                       uint32_t import_track);
/* Calls, runs and signposts; ops_finish is not needed. */
void ops_to_trace(struct ops_writing *writing, const struct ops *ops);
/* Facts and notices of the model; damage and loss become losses of the trace. */
void ops_remarks_to_trace(struct ops_writing *writing, const struct ops *ops);
int ops_writing_end(struct ops_writing *writing, struct error *err); /* -ENOMEM when something failed */

#endif
