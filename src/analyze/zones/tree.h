/* SPDX-License-Identifier: Apache-2.0 */
/* The call tree: for each path of zones (names at places in the source) how often and how long.
 *
 * A trace does not say who a zone's parent is; it follows from depth and time. Zones are seen in the order of
 * their ends, so children come before their parents. For each track and depth the builder therefore keeps a
 * forest of what has ended below a parent that has not: when a zone of depth d ends, it takes the forest of
 * depth d + 1 as its children and joins the forest of depth d itself, merged by name. Blocks are read once, in
 * file order; memory is that of the tree, plus one forest for each depth that is open at the moment.
 *
 * In a block the rows of a depth are sorted and do not overlap, and what a zone contains at the next depth is a
 * run of rows: no heap is needed, each row is looked at once.
 *
 * Zones still open at the end of the trace are in it with the time they have run (open_count). A zone whose
 * parent is missing (damaged block, late device data) hangs below CALL_GROUP_NOT_RECORDED. A zone of no length
 * on the border of two parents counts for the first. */
#ifndef OPSCOPE_ANALYZE_ZONES_TREE_H
#define OPSCOPE_ANALYZE_ZONES_TREE_H

#include "analyze/zones/nodes.h"
#include "analyze/filter.h"
#include "analyze/names.h"

enum call_tree_by { CALL_TREE_BY_THREAD = 0, CALL_TREE_BY_PROCESS = 1, CALL_TREE_MERGED = 2 };

struct call_tree_root {
    uint32_t node;    /* its children are the outermost zones; total_ns is their sum */
    uint32_t track;   /* CALL_TREE_BY_THREAD, else TRACE_NONE */
    uint32_t process; /* TRACE_NONE when merged */
};

struct call_tree {
    struct call_nodes nodes;
    struct name_groups groups; /* by name and place: methods of two classes may share a name */
    struct call_tree_root *roots;
    size_t root_count;
    uint64_t wall_ns;
};

/* Children are in order of total time, largest first; roots in order of process and track. Name patterns of the
 * filter are left to call_tree_keep. */
int call_tree_make(struct call_tree *tree, struct trace *trace, const struct trace_filter *filter,
                   enum call_tree_by by, struct error *err);
void call_tree_free(struct call_tree *tree);

/* Marks (is_kept) the nodes whose name the filter wants, all above and all below them; but not those below that are in
 * other files or modules than it wants, unless something in these is below them in turn. */
int call_tree_keep(struct call_tree *tree, const struct trace *trace, const struct trace_filter *filter,
                   struct error *err);

const char *call_tree_name(const struct call_tree *tree, const struct trace *trace, uint32_t group);

#endif
