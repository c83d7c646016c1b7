/* SPDX-License-Identifier: Apache-2.0 */
/* The ops of a trace, as the model. */
#ifndef OPSCOPE_OPS_FROM_TRACE_H
#define OPSCOPE_OPS_FROM_TRACE_H

#include "ops/ops.h"
#include "trace/reader.h"

struct ops_wanted { /* NULL or zero: all calls, no figures, no signposts */
    bool figures, signposts;
    bool remarks;                                                 /* of an importer: facts and notices */
    bool (*wants_call)(void *context, const struct trace_op *op); /* NULL: every one */
    bool (*wants_point)(void *context, const struct trace_point *point);
    /* Asked once for each name of a figure: OPS_ROLE_SKIP, OPS_ROLE_KEEP, or a number of the caller's own from
     * OPS_ROLE_OWN on, whose figures are not kept but given to take_figure. NULL: what `figures` says. */
    uint32_t (*figure_role)(void *context, const char *name);
    void (*take_figure)(void *context, uint32_t role, const struct trace_run_part *figure, const char *text);
    /* The call, or the run, that was added last is complete. */
    void (*call_read)(void *context, struct ops *ops);
    void (*run_read)(void *context, struct ops *ops);
    void *context;
    bool without_runs;  /* nobody asks for calls by their numbers */
    bool without_ticks; /* of runs */
    bool places; /* of calls that do not say where they are from, by the zones around them (places.h) */
    uint32_t first_process, first_track, first_device; /* where those of this trace begin in the model */
};
enum { OPS_ROLE_SKIP, OPS_ROLE_KEEP, OPS_ROLE_OWN };

/* The track on which an importer left what it says of the whole, by which such a trace is known: "... import". NULL in
 * a trace that was recorded. */
const struct trace_track *ops_import_track(const struct trace *trace);

/* Adds the trace's ops, runs, devices and signposts to a model; ops_finish comes next. Runs of calls that are not
 * wanted are kept as runs of no call. A second call of the same number and process is left out, with a notice. */
int ops_from_trace(struct ops *ops, struct trace *trace, const struct ops_wanted *wanted, struct error *err);

/* The same for traces that do not fit into memory with all their figures: calls, a block of the file at a time, without
 * their runs. The model is emptied of its calls before each. */
struct ops_pieces;
int ops_pieces_open(struct ops_pieces **pieces, struct ops *ops, struct trace *trace,
                    const struct ops_wanted *wanted, struct error *err);
int ops_pieces_next(struct ops_pieces *pieces,
                    struct error *err);           /* 1; 0 at the end; negative when it failed */
void ops_pieces_close(struct ops_pieces *pieces); /* NULL is allowed */

#endif
