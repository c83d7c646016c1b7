/* SPDX-License-Identifier: Apache-2.0 */
/* Visits zones so that an outer zone comes before what is inside it, and later ones before earlier ones: by descending
 * end on each track. Zones that never ended come first; blocks are read from the last to the first.
 *
 * In a block, the rows of one track and depth are a run in the order of their ends. The runs of a track are merged from
 * their last rows to their first; a run passes control to the deeper ones as long as those have a later end (`latest`),
 * so that the nesting itself drives the merge and each row is looked at once. */
#ifndef OPSCOPE_ANALYZE_ZONEWALK_H
#define OPSCOPE_ANALYZE_ZONEWALK_H

#include "analyze/filter.h"

struct walked_zone { /* clipped to the filter's window */
    uint64_t start_ns, end_ns;
    uint64_t child_ns; /* of the whole zone, as it is stored; 0 unless asked for */
    uint32_t track, depth;
    uint32_t key; /* of its name, see zone_walk */
};

#define ZONE_WALK_SKIP UINT32_MAX

struct zone_walk {
    struct trace *trace;
    const struct trace_filter *filter; /* tracks and window; NULL = everything */
    /* by name id: handed to `visit`; ZONE_WALK_SKIP leaves the zone out. The last entry is for names
     * that the file does not define */
    const uint32_t *key_of;
    size_t key_count;
    bool has_open_zones; /* zones that never ended are visited, too */
    bool has_child_times;
    bool (*visit)(void *context, const struct walked_zone *zone); /* false: no memory */
    void *context;
};

int zone_walk(const struct zone_walk *walk, struct error *err);

#endif
