/* SPDX-License-Identifier: Apache-2.0 */
/* Iterations of the program inside the window of an overview, and what the devices did in each: the frames that most of
 * the time is in, else what lies between signposts. */
#ifndef OPSCOPE_ANALYZE_OVERVIEW_STEPS_H
#define OPSCOPE_ANALYZE_OVERVIEW_STEPS_H

#include "analyze/overview/overview.h"

struct overview_step { /* or several that follow each other */
    uint64_t from_ns, to_ns;
    uint64_t number, count; /* of the first, as of frames; of signposts from 1; how many */
    uint32_t text;          /* of a signpost: a text of the ops; OPS_NONE */
    double idle_ns;         /* no device ran anything; NaN: not known */
    double class_ns[PERF_CLASSES];
};

struct overview_steps { /* zero-initialise */
    struct overview_step *items;
    size_t count;
    uint64_t steps; /* of all items */
    char *name;     /* of the frames; NULL: they are between signposts */
};

/* None where nothing marks any, or there is only one. More than `most` are summed up by several, equally many. */
int overview_find_steps(const struct overview *overview, const struct trace_filter *everything, size_t most,
                        struct overview_steps *steps, struct error *err);
void overview_steps_free(struct overview_steps *steps);

#endif
