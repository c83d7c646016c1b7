/* SPDX-License-Identifier: Apache-2.0 */
/* The estimate of a model that is not scheduled: amounts of work and data become time on a target.
 *
 * Ops that a compiler would run as one are a group (groups.c). A group's compute and its traffic are computed from the
 * target's figures (work.c); then a schedule is drawn: tiles that are transferred, computed and transferred back while
 * their neighbours are (dma.c), or one group after the other whose engines load and store themselves (cache.c).
 *
 * docs/internals/estimate.md has the formulas. */
#ifndef OPSCOPE_ANALYZE_ESTIMATE_ESTIMATE_H
#define OPSCOPE_ANALYZE_ESTIMATE_ESTIMATE_H

#include "analyze/estimate/target.h"
#include "ops/model.h"
#include "ops/timeline.h"

/* Fills an empty timeline: one timeline_op per group in the order in which they run, its units, and a notice per op
 * that is unknown or has no cost. timeline_op.source and timeline_unit.source are model_op.source. The texts of the
 * model become those of the timeline: what is left of it can only be freed. */
int estimate_model(struct timeline *timeline, struct model *model, const struct estimate_target *target,
                   struct error *err);

#endif
