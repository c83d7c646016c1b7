/* SPDX-License-Identifier: Apache-2.0 */
/* A run for `opscope diff` and `opscope check`, from whatever file holds it. */
#ifndef OPSCOPE_LOAD_DIFF_H
#define OPSCOPE_LOAD_DIFF_H

#include "analyze/diff/diff.h"
#include "analyze/machine.h"

struct diff_sources {
    bool salvage;
    struct machine_set machines;
    struct bytes notes; /* lines: what a person should know of the files */
};

int diff_sources_begin(struct diff_sources *sources, struct error *err);
void diff_sources_free(struct diff_sources *sources);

/* Before the sides: which steps of their first runs are compared, where nobody asked for a part. */
int diff_find_common_steps(struct diff *diff, const char *a, const char *b, struct error *err);
struct trace;
int diff_find_common_opened(struct diff *diff, struct trace *a, struct trace *b, struct error *err);
int diff_find_window_opened(struct diff *diff, int side, struct trace *trace, struct error *err);
/* All runs of a side: the first is compared op by op, the others tell how runs vary. */
int diff_load_side(struct diff *diff, int side, char *const *paths, size_t count,
                   struct diff_sources *sources, struct error *err);
/* The one run of a side, from a trace that stays open; `path` is for messages. */
int diff_load_opened(struct diff *diff, int side, const char *path, struct trace *trace,
                     struct diff_sources *sources, struct error *err);
/* Ops that the report has put in order and whose devices it has merged: perf_begin, ops, perf_add_path came before. */
struct perf;
int diff_take_perf(struct diff *diff, int side, struct perf *perf, struct error *err);

/* -EINVAL with a sentence when the two have nothing that can be compared. */
int diff_check_kinds(const struct diff *diff, struct error *err);

#endif
