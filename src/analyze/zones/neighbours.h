/* SPDX-License-Identifier: Apache-2.0 */
/* Who calls a zone, or what it calls: the nodes of a call tree next to those of a name, added up by name and place.
 *
 * Time inside an outer zone of the same kind counts once, as everywhere: a recursive call has its count in the row of
 * its caller, which is the zone itself, and no time. The totals of the callers add up to the zone's own. */
#ifndef OPSCOPE_ANALYZE_ZONES_NEIGHBOURS_H
#define OPSCOPE_ANALYZE_ZONES_NEIGHBOURS_H

#include "analyze/zones/tree.h"

enum call_direction { CALL_CALLERS, CALL_CALLEES };

struct call_neighbour {
    uint32_t group;    /* of the tree's names; CALL_GROUP_NONE: it is an outermost zone; CALL_GROUP_ITSELF */
    uint64_t count;    /* calls between the two */
    uint64_t total_ns; /* of the zone when called from here; of what it calls */
};

#define CALL_GROUP_ITSELF (UINT32_MAX - 2) /* the zone's own time, among its callees */

struct call_neighbours {
    struct call_neighbour *rows; /* in order of total, largest first */
    size_t row_count, capacity;
    uint64_t count, total_ns, self_ns; /* of the zones that match */
};

/* `pattern` is a glob over names. -EINVAL when nothing matches it. */
int call_neighbours_make(struct call_neighbours *found, const struct call_tree *tree,
                         const struct trace *trace, const char *pattern, enum call_direction direction,
                         struct error *err);
void call_neighbours_free(struct call_neighbours *found);

#endif
