/* SPDX-License-Identifier: Apache-2.0 */
/* An op's tensors as one text, the same from a table's cells and from a trace: "32x4096 BF16, 4096x1024 BFP8 ->
 * 32x1024 BF16". Sizes are the padded ones, with the logical size in brackets where it differs; leading ones are left
 * out. Two ops have the same shape when the texts are the same. */
#ifndef OPSCOPE_ANALYZE_DIFF_SHAPE_H
#define OPSCOPE_ANALYZE_DIFF_SHAPE_H

#include "analyze/diff/diff.h"
#include "trace/model.h"

void diff_append_cells_shape(struct bytes *out, const struct slice *cells);
void diff_append_parts_shape(struct bytes *out, const struct trace_part *parts, size_t count);

#endif
