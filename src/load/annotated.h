/* SPDX-License-Identifier: Apache-2.0 */
/* A profile of a run and the model that ran, from their paths, joined op by op (analyze/estimate/match.h). A schedule
 * is joined action by action instead: load/measured.h. */
#ifndef OPSCOPE_LOAD_ANNOTATED_H
#define OPSCOPE_LOAD_ANNOTATED_H

#include "analyze/estimate/match.h"
#include "load/estimate.h"
#include "trace/writer.h"

struct annotated_request {
    const char *model; /* a model, a dump of a phase, or, of IREE, the folder that the phases are in */
    const char *profile;
    const char *target; /* NULL: cpu */
    double clock_mhz;   /* 0: the target's */
    const char *default_location;
    const struct text_list *options; /* of the target, key=value; may be NULL */
    const struct text_list *dims;    /* may be NULL */
};

struct annotated {
    struct estimate estimate;
    struct timeline run; /* its ops have the amounts of those that they are runs of */
    struct match match;
};

/* The caller frees it, whatever is returned. */
int load_annotated(struct annotated *annotated, const struct annotated_request *request, struct error *err);
void annotated_free(struct annotated *annotated);
/* The run as a trace. */
int annotated_to_trace(const struct annotated *annotated, const char *source, struct trace_writer *writer,
                       struct error *err);

#endif
