/* SPDX-License-Identifier: Apache-2.0 */
/* Which runs are of which ops of an estimate, whatever files both came from. The first way that finds anything:
 *
 *     dispatch   what ran is called as dispatches of the estimate are, as in device profiles of IREE
 *     place      both say where in the source an op stands; where they call it the same, name by name, else summed
 *     name       the ops are called the same
 *     dispatch   what ran belongs to dispatches of the same names
 *
 * Ops that look the same take turns in the order of the model; where their runs cannot be shared out evenly each
 * counts all. */
#ifndef OPSCOPE_ANALYZE_ESTIMATE_MATCH_H
#define OPSCOPE_ANALYZE_ESTIMATE_MATCH_H

#include "base/error.h"
#include "ops/timeline.h"

#define MATCH_NO_PAIR UINT32_MAX

enum match_by { MATCH_NONE, MATCH_DISPATCH, MATCH_PLACE, MATCH_NAME };

struct match_pair {
    uint32_t op;      /* of the estimate: the longest of them */
    uint32_t ops;     /* how many are summed */
    uint32_t number;  /* while they are being found */
    bool is_dispatch; /* all ops of a dispatch: op->dispatch */
    double estimate_ns;
    uint64_t runs; /* 0: never ran */
    double least_ns, most_ns, mean_ns;
};

struct match {
    enum match_by by;
    struct match_pair *pairs; /* in the order of the estimate */
    size_t pair_count;
    uint32_t *pair_of[2]; /* by op of the estimate and of the run: its pair; MATCH_NO_PAIR */
    size_t unknown;       /* ops of the run that the estimate does not have */
    size_t uneven;        /* places that have other numbers of ops in both: sums are compared */
    /* How often the whole model ran, one run after the other, and the shortest of them in time of the run; 0: in
     * another order. */
    size_t whole_runs;
    uint64_t shortest_start, shortest_end;
};

/* by is MATCH_NONE where they have nothing in common. The caller frees the match, whatever is returned. */
int match_runs(struct match *match, const struct timeline *estimate, const struct timeline *run,
               struct error *err);
void match_free(struct match *match);

#endif
