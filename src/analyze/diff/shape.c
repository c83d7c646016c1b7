/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/diff/shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ops/description.h"
#include "text/csv/cell.h"

#define SIZES 4u

struct shape_writer {
    struct bytes *out;
    size_t inputs, outputs;
};

static void append_cell(struct bytes *out, struct slice cell)
{
    bytes_append(out, cell.data, cell.length);
}

static void begin_tensor(struct shape_writer *w, bool is_output)
{
    if (is_output)
        bytes_append_text(w->out, w->outputs ? ", " : w->inputs ? " -> " : "-> ");
    else if (w->inputs)
        bytes_append_text(w->out, ", ");
    w->inputs += !is_output;
    w->outputs += is_output;
}

static void append_sizes(struct bytes *out, const struct slice sizes[SIZES])
{
    bool has_any = false;
    for (size_t i = 0; i < SIZES; i++) {
        struct slice padded = slice_before(sizes[i], "["), logical = slice_after(sizes[i], "[");
        if (logical.length && logical.data[logical.length - 1] == ']')
            logical.length--;
        bool is_same = !logical.length || (logical.length == padded.length &&
                                           memcmp(logical.data, padded.data, padded.length) == 0);
        if (!has_any && i + 1 < SIZES && is_same && slice_is(padded, "1"))
            continue;
        if (has_any)
            bytes_append_text(out, "x");
        append_cell(out, is_same ? padded : sizes[i]);
        has_any = true;
    }
}

static void append_tensor(struct shape_writer *w, const struct ops *ops, const struct op_tensor *tensor,
                          bool is_output)
{
    char texts[SIZES][48];
    uint64_t logical[SIZES], padded[SIZES];
    struct slice sizes[SIZES], type = ops_get_slice(ops, tensor->dtype);
    bool has_logical = ops_four_sizes(ops, tensor->shape, tensor->rank, logical);
    bool has_padded = ops_four_sizes(ops, tensor->padded, tensor->rank, padded);
    if (!has_logical && !has_padded && !type.length)
        return;
    begin_tensor(w, is_output);
    for (size_t k = 0; k < SIZES && (has_logical || has_padded); k++) {
        int n = snprintf(texts[k], sizeof texts[k], "%" PRIu64 "[%" PRIu64 "]",
                         has_padded ? padded[k] : logical[k], has_logical ? logical[k] : padded[k]);
        sizes[k] = slice_from(texts[k], (size_t)n);
    }
    if (has_logical || has_padded)
        append_sizes(w->out, sizes);
    if (type.length) {
        bytes_append_text(w->out, has_logical || has_padded ? " " : "");
        append_cell(w->out, slice_is(type, "F32") ? slice_of("FP32") : cell_type_name(type));
    }
}

void diff_append_ops_shape(struct bytes *out, const struct ops *ops, const struct op_description *d)
{
    struct shape_writer w = {.out = out};
    for (size_t i = 0; i < d->inputs; i++)
        append_tensor(&w, ops, &ops->tensors[ops_inputs(ops, d)[i]], false);
    for (size_t i = 0; i < d->outputs; i++)
        append_tensor(&w, ops, &ops->tensors[ops_outputs(ops, d)[i]], true);
}
