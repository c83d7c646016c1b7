/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time on devices comes from: runs below the zones that launched them, as a call tree. */
#ifndef OPSCOPE_PRESENT_EXPORT_DEVICE_TREE_H
#define OPSCOPE_PRESENT_EXPORT_DEVICE_TREE_H

#include "analyze/zones/tree.h"

/* As call_tree_make, but times are those of runs, and counts how many there were. Runs of which nobody knows who
 * launched them are below their own track. */
int device_tree_make(struct call_tree *tree, struct trace *trace, const struct trace_filter *filter,
                     bool is_merged, struct error *err);

#endif
