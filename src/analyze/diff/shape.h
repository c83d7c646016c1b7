/* SPDX-License-Identifier: Apache-2.0 */
/* An op's tensors as one text, "32x4096 BF16, 4096x1024 BFP8 ->
 * 32x1024 BF16". Sizes are the padded ones, with the logical size in brackets where it differs; leading ones are left
 * out. Two ops have the same shape when the texts are the same. */
#ifndef OPSCOPE_ANALYZE_DIFF_SHAPE_H
#define OPSCOPE_ANALYZE_DIFF_SHAPE_H

#include "analyze/diff/diff.h"
#include "ops/ops.h"

void diff_append_ops_shape(struct bytes *out, const struct ops *ops,
                           const struct op_description *description);

#endif
