/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of the performance report. */
#ifndef OPSCOPE_ANALYZE_REPORT_INTERNAL_H
#define OPSCOPE_ANALYZE_REPORT_INTERNAL_H

#include "analyze/report/report.h"

static inline uint32_t perf_intern(struct perf *perf, const void *data, size_t length)
{
    return ops_text(perf->ops, slice_from(length ? data : "", length));
}

/* work.c: the work of an op of this name and description; OPS_NONE: no memory, and failed is set. */
enum perf_work_kind {
    PERF_WORK_OWN,
    PERF_WORK_OF_HOST, /* not counted: nothing was computed on a device */
    PERF_WORK_INSIDE,  /* counted with the ops that it called */
};
uint32_t perf_find_work(struct perf *perf, uint32_t name, uint32_t description, enum perf_work_kind kind);

/* nested.c: of ops on the CPU, those whose work is that of the ops that they called. */
void perf_count_once(struct perf *perf);

/* window.c: which rows, in which order. */
int perf_sort_rows(struct perf *perf, struct error *err);
int perf_apply_signposts(struct perf *perf, struct error *err);
int perf_merge(struct perf *perf, struct error *err);
int perf_apply_id_range(struct perf *perf, struct error *err);
void perf_drop_host_ops(struct perf *perf);

/* Figures, groups, advice. */
int perf_fill_figures(struct perf *perf, struct error *err);
/* cached.c: of which ops the data can have been in a cache, in the order of the table. */
int perf_find_cached(struct perf *perf, struct error *err);
/* bound.c: what bounds each, and which are in doubt. */
void perf_find_bounds(struct perf *perf);
int perf_make_groups(struct perf *perf, struct error *err);
int perf_make_advice(struct perf *perf, struct error *err);

/* The figure of a run by the id of its name; NULL where it has none. */
const struct op_figure *perf_find_figure(const struct perf *perf, const struct perf_row *row, uint32_t name);

#endif
