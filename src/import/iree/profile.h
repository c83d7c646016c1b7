/* SPDX-License-Identifier: Apache-2.0 */
/* Device profiles of IREE's runtime: what ran on a device, as its command-line tools write it.
 *
 * Two forms, recognised by content: the bundle itself (.ireeprof), and its export as one JSON object per line
 * (iree-profile export --format=ireeperf-jsonl). Records of kinds that are not known are passed over and counted. Times
 * are nanoseconds of the host's monotonic clock; there is no wall clock and no process id in either form. */
#ifndef OPSCOPE_IMPORT_IREE_PROFILE_H
#define OPSCOPE_IMPORT_IREE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/intern.h"
#include "ops/profile_place.h"

/* A dispatch, or another operation of a queue (alloca, execute, copy ...). */
struct iree_event {
    uint64_t start_ns, end_ns;
    uint64_t event, submission, command_buffer;
    uint64_t bytes;    /* of a transfer or an allocation */
    uint64_t tiles;    /* workgroups that ran */
    uint64_t tiles_ns; /* their time, summed over workers */
    uint32_t workgroups[3];
    uint32_t device, queue;
    uint32_t name;    /* text: the function of a dispatch, else the operation */
    bool is_dispatch; /* what computes */
};

struct iree_allocation {
    uint64_t time_ns, id, bytes;
    bool is_release;
};

struct iree_profile {
    struct intern texts;
    struct iree_event *events; /* in the order of their start */
    size_t event_count, event_capacity;
    struct iree_allocation *allocations;
    size_t allocation_count, allocation_capacity;
    uint64_t passed_over; /* records of other kinds */
    uint64_t damaged;     /* records that lack what they need, or end before they begin */
    uint64_t dropped;     /* records that the runtime says it had no room for */
    bool failed;
};

/* Does a file that begins like this look like a profile? */
bool iree_is_profile(const char *beginning, size_t length);
/* `path` is for messages. */
int iree_profile_read(struct iree_profile *profile, const char *path, const char *data, size_t length,
                      struct error *err);
void iree_profile_free(struct iree_profile *profile);

static inline const char *iree_text(const struct iree_profile *profile, uint32_t text)
{
    return intern_text(&profile->texts, text);
}

/* When the first event or allocation of all was. */
uint64_t iree_profile_start(const struct iree_profile *profile);
/* A trace of the profile: a device with a track for dispatches and one for the queue's operations. `place` NULL: the
 * trace holds nothing else. */
struct trace_writer;
int iree_profile_to_trace(const struct iree_profile *profile, const char *source,
                          const struct profile_place *place, struct trace_writer *writer, struct error *err);

/* --- for the two readers --- */

uint32_t iree_add_text(struct iree_profile *profile, const char *data, size_t length);
void iree_add_event(struct iree_profile *profile, const struct iree_event *event);
void iree_add_allocation(struct iree_profile *profile, const struct iree_allocation *allocation);
const char *iree_operation_text(uint32_t type); /* by its number in the bundle */
int iree_read_bundle(struct iree_profile *profile, const char *path, const char *data, size_t length,
                     struct error *err);
int iree_read_lines(struct iree_profile *profile, const char *path, const char *data, size_t length,
                    struct error *err);

#endif
