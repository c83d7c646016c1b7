/* SPDX-License-Identifier: Apache-2.0 */
/* Which runs of a device profile are of which op of an estimate. The profile knows a dispatch by its name alone: where
 * a model has several of one name they take turns, and where their runs cannot be shared out evenly each counts all. */
#ifndef OPSCOPE_LOAD_DISPATCHES_H
#define OPSCOPE_LOAD_DISPATCHES_H

#include "import/iree/profile.h"
#include "ops/timeline.h"

struct dispatch_runs {
    uint64_t count; /* 0: never ran */
    uint64_t least_ns, most_ns;
};

struct dispatch_join {
    struct dispatch_runs *runs; /* by op of the timeline */
    uint32_t *events;           /* dispatches of the profile, in order */
    size_t event_count;
    size_t whole_runs; /* how often all ops ran, one after the other; 0: in another order */
    size_t unknown;    /* dispatches of the profile that the timeline does not have */
};

/* The caller frees the join, whatever is returned. */
int dispatch_join(struct dispatch_join *join, const struct timeline *timeline,
                  const struct iree_profile *profile, struct error *err);
void dispatch_join_free(struct dispatch_join *join);

#endif
