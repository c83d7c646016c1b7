/* SPDX-License-Identifier: Apache-2.0 */
/* Level-of-detail nodes, as the writer makes them and the reader merges them further.
 *
 * A node of level L sums up the zones of one track and depth that begin in the same interval of 2^L ticks; a
 * zone longer than the interval stays alone. So a node is at most two intervals long unless it is one zone,
 * whatever the density: the number of nodes in a window depends on the window, not on the zones in it. */
#ifndef OPSCOPE_TRACE_LOD_H
#define OPSCOPE_TRACE_LOD_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/format.h"

struct node {
    uint64_t start, end;
    uint64_t busy; /* sum of the zones' durations */
    uint64_t longest;
    uint32_t name; /* of the longest */
    uint32_t count;
};

static inline bool node_is_long(const struct node *node, unsigned level)
{
    return (node->end - node->start) >> level != 0;
}

/* Whether a zone or a node of a lower level belongs to the same node of this level. The items
 * come in order of start. */
static inline bool node_takes(const struct node *node, const struct node *next, unsigned level)
{
    return node->start >> level == next->start >> level && !(node->count == 1 && node_is_long(node, level)) &&
           !(next->count == 1 && node_is_long(next, level));
}

static inline void node_add(struct node *node, const struct node *next)
{
    node->end = next->end > node->end ? next->end : node->end;
    node->busy += next->busy;
    if (next->longest > node->longest) {
        node->longest = next->longest;
        node->name = next->name;
    }
    node->count += next->count;
}

#endif
