/* SPDX-License-Identifier: Apache-2.0 */
/* The way from the time of A to that of B: what changed most, each as a step, and the rest as one. It adds up. */
#ifndef OPSCOPE_ANALYZE_DIFF_WATERFALL_H
#define OPSCOPE_ANALYZE_DIFF_WATERFALL_H

#include "analyze/diff/diff.h"

#define DIFF_STEPS 8u

enum diff_basis {
    DIFF_OF_NOTHING,
    DIFF_OF_DEVICE, /* device time and the gaps between ops */
    DIFF_OF_HOST,   /* the ops' times on the host */
    DIFF_OF_ZONES,  /* the own time of all zones */
    DIFF_OF_CALLS,  /* the means of dispatches that both have */
    DIFF_OF_STEP    /* the mean time of a step, by what changed in it */
};

struct diff_step {
    uint32_t name; /* in diff.texts; DIFF_NO_TEXT */
    bool is_gap;   /* all gaps together */
    bool is_noise; /* no row of it changed by more than noise */
    double change_ns;
};

struct diff_waterfall {
    enum diff_basis basis;
    double from_ns, to_ns;
    struct diff_step steps[DIFF_STEPS]; /* by how much changed */
    size_t count, rest_count;           /* of the rest: changes that have no step of their own */
    double rest_ns;
};

void diff_make_waterfall(const struct diff *diff, struct diff_waterfall *waterfall);
const char *diff_basis_text(enum diff_basis basis);

#endif
