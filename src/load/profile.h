/* SPDX-License-Identifier: Apache-2.0 */
/* A device profile that a runtime wrote, whichever runtime it is: recognised by content, read, and added to a trace.
 *
 *     device_profile_open(&profile, "runtime.csv", &err);
 *     device_profile_to_trace(&profile, "runtime.csv", &place, writer, &err);
 *     device_profile_free(&profile); */
#ifndef OPSCOPE_LOAD_PROFILE_H
#define OPSCOPE_LOAD_PROFILE_H

#include "import/iree/profile.h"
#include "import/torq/runtime.h"
#include "ops/timeline.h"

struct device_profile {
    bool is_iree;
    struct iree_profile iree;
    struct torq_run torq;
    struct timeline blocks;     /* what it measured, in ns of its own clock */
    uint64_t first_ns, last_ns; /* of all its events */
    bool may_be_host_time;      /* its times may be those of this host's CLOCK_MONOTONIC */
    uint64_t damaged;           /* rows or records that could not be used */
};

/* -EINVAL for a file in no known form, and for one that measured nothing. The caller frees the profile, whatever is
 * returned. */
int device_profile_open(struct device_profile *profile, const char *path, struct error *err);
void device_profile_free(struct device_profile *profile);

/* Its dispatches, programs and what else it has, as tracks of a device; what could not be read as a loss. */
int device_profile_to_trace(const struct device_profile *profile, const char *source,
                            const struct profile_place *place, struct trace_writer *writer,
                            struct error *err);

#endif
