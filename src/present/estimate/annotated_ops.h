/* SPDX-License-Identifier: Apache-2.0 */
/* The ops of a model that is not scheduled, with what each does and how long it took: the measured run, annotated with
 * the compiler's IR. */
#ifndef OPSCOPE_PRESENT_ESTIMATE_ANNOTATED_OPS_H
#define OPSCOPE_PRESENT_ESTIMATE_ANNOTATED_OPS_H

#include "analyze/estimate/match.h"
#include "ops/timeline.h"
#include "present/table.h"

/* One row per op of the estimate that ran, in the order of the model. */
void annotated_ops_make(struct table *table, const struct timeline *estimate, const struct match *match);

#endif
