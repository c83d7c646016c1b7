/* SPDX-License-Identifier: Apache-2.0 */
/* Time that a sum over zones counts more than once: zones inside an outer zone of the same name on the same track.
 * What is left when it is subtracted is the time during which at least one zone of that name was running.
 *
 * Visited with outer zones before inner ones (zonewalk.h), one interval per track and name group is enough: the last
 * outermost zone. The next zone either lies in it or becomes it.
 *
 * Only a name that occurs at several depths can nest in itself. Callers note the depths while they read the trace
 * anyway, and ask only for such names; without any, nothing is read again. */
#ifndef OPSCOPE_ANALYZE_NESTING_H
#define OPSCOPE_ANALYZE_NESTING_H

#include "analyze/filter.h"

struct nesting_depths { /* at which depths a group of names was seen; zero-initialise */
    uint32_t lowest_plus_1, highest;
};

static inline void nesting_see(struct nesting_depths *depths, uint32_t depth)
{
    if (depths->lowest_plus_1 == 0 || depth + 1 < depths->lowest_plus_1)
        depths->lowest_plus_1 = depth + 1;
    if (depth > depths->highest)
        depths->highest = depth;
}

static inline bool nesting_is_possible(const struct nesting_depths *depths)
{
    return depths->lowest_plus_1 && depths->highest + 1 > depths->lowest_plus_1;
}

struct nesting_request {
    struct trace *trace;
    const struct trace_filter *filter; /* tracks and window, to which zones are clipped; NULL = everything */
    uint64_t inside_since_ns, inside_until_ns; /* zones that reach out of this are left out; until 0: all */
    const uint32_t *group_of; /* by name id; the last entry is for names that the file does not define */
    size_t map_count;
    const bool *is_candidate; /* by group; entries of group_of past group_count are left out */
    size_t group_count;
    bool has_open_zones; /* zones that never ended count as well */
    /* Called once for each track and group that has nested time. */
    void (*add)(void *context, uint32_t track, uint32_t group, uint64_t nested_ns);
    void *context;
};

int nesting_find(const struct nesting_request *request, struct error *err);

#endif
