/* SPDX-License-Identifier: Apache-2.0 */
#include "import/iree/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/count_of.h"

#define BUNDLE_MAGIC "IRPF"

void iree_profile_free(struct iree_profile *profile)
{
    intern_free(&profile->texts);
    free(profile->events);
    free(profile->allocations);
    *profile = (struct iree_profile){0};
}

uint32_t iree_add_text(struct iree_profile *profile, const char *data, size_t length)
{
    uint32_t id = intern_add(&profile->texts, data, length);
    profile->failed |= id == INTERN_NONE;
    return id;
}

void iree_add_event(struct iree_profile *profile, const struct iree_event *event)
{
    if (event->end_ns < event->start_ns || !event->start_ns) {
        profile->damaged++;
        return;
    }
    if (!array_reserve(&profile->events, &profile->event_capacity, profile->event_count + 1, sizeof *event))
        profile->failed = true;
    else
        profile->events[profile->event_count++] = *event;
}

void iree_add_allocation(struct iree_profile *profile, const struct iree_allocation *allocation)
{
    if (!array_reserve(&profile->allocations, &profile->allocation_capacity, profile->allocation_count + 1,
                       sizeof *allocation))
        profile->failed = true;
    else
        profile->allocations[profile->allocation_count++] = *allocation;
}

const char *iree_operation_text(uint32_t type)
{
    static const char *const texts[] = {"",       "barrier", "dispatch", "execute", "copy",     "fill",
                                        "update", "read",    "write",    "alloca",  "dealloca", "host_call"};
    return type < COUNT_OF(texts) ? texts[type] : "operation";
}

bool iree_is_profile(const char *beginning, size_t length)
{
    if (length >= 4 && memcmp(beginning, BUNDLE_MAGIC, 4) == 0)
        return true;
    const char *line = length ? memchr(beginning, '\n', length) : NULL;
    size_t end = line ? (size_t)(line - beginning) : length;
    return end && beginning[0] == '{' && memmem(beginning, end, "\"ireeperf-jsonl\"", 16) &&
           memmem(beginning, end, "\"record_type\"", 13);
}

uint64_t iree_profile_start(const struct iree_profile *profile)
{
    uint64_t start = profile->event_count ? profile->events[0].start_ns : 0;
    for (size_t i = 0; i < profile->allocation_count; i++) {
        if (profile->allocations[i].time_ns < start)
            start = profile->allocations[i].time_ns;
    }
    return start;
}

static int by_start(const void *left, const void *right)
{
    const struct iree_event *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->event > b->event) - (a->event < b->event);
}

int iree_profile_read(struct iree_profile *profile, const char *path, const char *data, size_t length,
                      struct error *err)
{
    *profile = (struct iree_profile){0};
    if (!iree_is_profile(data, length))
        return error_set(err, EINVAL,
                         "%s is not a device profile of IREE: neither a bundle nor its export as JSON lines",
                         path);
    int status = memcmp(data, BUNDLE_MAGIC, 4) == 0 ? iree_read_bundle(profile, path, data, length, err)
                                                    : iree_read_lines(profile, path, data, length, err);
    if (status == 0 && profile->failed)
        status = error_no_memory(err, path);
    if (status) {
        iree_profile_free(profile);
        return status;
    }
    if (profile->event_count)
        qsort(profile->events, profile->event_count, sizeof profile->events[0], by_start);
    return 0;
}
