/* SPDX-License-Identifier: Apache-2.0 */
/* An estimate or a measured run as a timeline with ops, from whatever file holds it. */
#ifndef OPSCOPE_LOAD_SIDE_H
#define OPSCOPE_LOAD_SIDE_H

#include "import/open.h"
#include "load/estimate.h"

struct side_kind {
    enum import_kind file;
    bool is_estimate, is_run; /* a trace may be both */
    bool is_damaged;          /* a trace that cannot be opened: what is in it is not known */
};

/* What a file is, as far as estimates and runs go: both false for what is neither. */
struct side_kind side_kind_of(const char *path);
/* Which runs a trace has; zones with locations count as runs where there are no others. */
struct side_kind side_kind_of_trace(struct trace *trace);
/* For messages: "a device profile of IREE". */
const char *side_kind_text(struct side_kind kind);

/* The caller frees the timeline of each, whatever is returned. `estimate` is filled for a model, otherwise its timeline
 * and machine alone; the request's target is also that whose clock a timeline in cycles is in. */
int load_estimate_side(struct estimate *estimate, const struct estimate_request *request, struct error *err);
/* `phase` NULL, or the dump of a compiler's dispatches, which says where in the source each of them comes from. */
int load_run_side(struct timeline *timeline, const char *path, const char *phase, struct error *err);
/* Ops of a source that has no locations are where they stand in it: there compilers say that they come from. */
void side_place_ops(struct timeline *timeline, const struct mlir *mlir);

#endif
