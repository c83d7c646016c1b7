/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of call trees: storage, child lookup, merging of whole subtrees. Nodes are known by index; a child
 * is found by (parent, name group) through one map over all nodes, so a node with ten thousand
 * different children costs no more than one with two. Freed nodes are used again. */
#ifndef OPSCOPE_ANALYZE_ZONES_NODES_H
#define OPSCOPE_ANALYZE_ZONES_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

#define CALL_NODE_NONE UINT32_MAX
#define CALL_GROUP_NONE UINT32_MAX               /* a root: it has no name */
#define CALL_GROUP_NOT_RECORDED (UINT32_MAX - 1) /* stands for parents that the trace does not have */

struct call_node {
    uint32_t group; /* name group, or CALL_GROUP_ */
    uint32_t parent, first_child, next_sibling;
    uint32_t open_count; /* zones begun and not ended; their time so far is in total_ns */
    uint64_t count;      /* zones that ended */
    uint64_t total_ns;
    uint64_t child_ns;
    uint64_t waiting_ns; /* of the total, in zones that wait (waiting.h) */
    bool is_kept;        /* by call_tree_keep */
    bool is_asked;       /* likewise: the filter wants it by name and place, or something below it */
};

struct call_nodes { /* zero-initialise */
    struct call_node *nodes;
    size_t count, capacity; /* used ones, freed ones included */
    uint32_t free_list;     /* index + 1 of a freed node, linked by next_sibling */
    struct map children;    /* from parent and group to the node */
    struct call_pair *work; /* subtrees still to be merged */
    size_t work_count, work_capacity;
};

void call_nodes_free(struct call_nodes *c);

/* A node without a parent; CALL_NODE_NONE when there is no memory. */
uint32_t call_node_make(struct call_nodes *c, uint32_t group);
/* Puts a node without a parent, with whatever is below it, under `parent`, which has no child of that name. False when
 * there is no memory. */
bool call_node_link(struct call_nodes *c, uint32_t parent, uint32_t node);
uint32_t call_node_find(const struct call_nodes *c, uint32_t parent, uint32_t group);
/* Adds all children of `from`, with their subtrees, to those of `to`. `from` is left without any. */
bool call_node_merge_children(struct call_nodes *c, uint32_t from, uint32_t to);
/* Puts the children of every node below `root` in order of total time, largest first; those that only wait come after
 * the others. */
bool call_node_sort(struct call_nodes *c, uint32_t root);

/* The node after `node` in a walk that sees parents before children; CALL_NODE_NONE at the end. `depth` is
 * kept up to date. Start with the root. */
uint32_t call_node_next(const struct call_nodes *c, uint32_t root, uint32_t node, unsigned *depth);

#endif
