/* SPDX-License-Identifier: Apache-2.0 */
/* An estimate for people and programs: the table of its ops, where the time goes, Vela's columns. */
#ifndef OPSCOPE_PRESENT_ESTIMATE_ESTIMATE_H
#define OPSCOPE_PRESENT_ESTIMATE_ESTIMATE_H

#include <stdio.h>

#include "base/error.h"
#include "ops/timeline.h"
#include "present/document.h"

/* What units of each op add up to. */
struct op_sums {
    uint64_t compute_cycles, transfer_cycles;
};

/* One row per op in the order of the model, or the `limit` that take longest, longest first; 0: all. Rows that the
 * report takes part by part (document.h) go there, the rest stays in the table. The caller frees it, whatever is
 * returned. */
int estimate_make_ops(const struct timeline *timeline, size_t limit, struct report *report,
                      struct table *table, struct error *err);
/* Dispatches: cycles, time, peak memory, ops. */
int estimate_make_dispatches(const struct timeline *timeline, struct table *table, struct error *err);
/* Where the time goes; of all dispatches. */
int estimate_make_metrics(const struct timeline *timeline, struct table *table, struct error *err);
/* The columns of Vela's per-layer file, with its names. */
int estimate_append_layers(const struct timeline *timeline, struct bytes *out, struct error *err);

#endif
