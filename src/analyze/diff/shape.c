/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/diff/shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report/cell.h"
#include "base/keyed_text.h"

#define SIZES 4u
#define SIZES_TOLD 16u

struct shape_writer {
    struct bytes *out;
    size_t inputs, outputs;
};

static struct slice slice(const char *data, size_t length)
{
    return (struct slice){data, length};
}

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

void diff_append_cells_shape(struct bytes *out, const struct slice *cells)
{
    struct shape_writer w = {.out = out};
    for (size_t t = 0; t < PERF_TENSORS; t++) {
        const struct slice *tensor = cells + PERF_TENSOR + t * PERF_TENSOR_CELLS;
        bool has_sizes = !cell_is_missing(tensor[2]) || !cell_is_missing(tensor[3]);
        if (!has_sizes && cell_is_missing(tensor[4]))
            continue;
        begin_tensor(&w, t >= PERF_INPUTS);
        if (has_sizes)
            append_sizes(out, tensor);
        if (!cell_is_missing(tensor[4])) {
            bytes_append_text(out, has_sizes ? " " : "");
            append_cell(out, cell_short_type(tensor[4]));
        }
    }
}

static struct slice value_of(const char *text, const char *key)
{
    size_t length;
    const char *value = keyed_text_find(text, key, &length);
    return slice(value, length);
}

/* "2x3x32x64" to four sizes: what is in front of four is multiplied into the first, missing ones are 1. */
static bool parse_sizes(struct slice text, uint64_t sizes[SIZES])
{
    uint64_t all[SIZES_TOLD];
    size_t count = 0;
    const char *at = text.data, *end = text.data + text.length;
    while (text.length && at < end) {
        char *behind;
        if (count == SIZES_TOLD || *at < '0' || *at > '9')
            return false;
        all[count++] = strtoull(at, &behind, 10);
        if (behind < end && *behind != 'x')
            return false;
        at = behind + 1;
    }
    for (size_t i = 0; i < SIZES; i++)
        sizes[i] = 1;
    for (size_t i = 0; i < count; i++) {
        size_t from_end = count - 1 - i;
        uint64_t *size = &sizes[from_end >= SIZES ? 0 : SIZES - 1 - from_end];
        if (__builtin_mul_overflow(*size, all[i], size))
            return false;
    }
    return count > 0;
}

void diff_append_parts_shape(struct bytes *out, const struct trace_part *parts, size_t count)
{
    struct shape_writer w = {.out = out};
    size_t tensors[2] = {0};
    for (unsigned is_output = 0; is_output < 2; is_output++) {
        for (size_t i = 0; i < count; i++) {
            char texts[SIZES][48];
            uint64_t logical[SIZES], padded[SIZES];
            if (parts[i].role != (is_output ? (uint32_t)TRACE_PART_OUTPUT : (uint32_t)TRACE_PART_INPUT) ||
                tensors[is_output]++ >= (is_output ? PERF_OUTPUTS : PERF_INPUTS))
                continue;
            struct slice sizes[SIZES], type = value_of(parts[i].text, "dtype");
            bool has_logical = parse_sizes(value_of(parts[i].text, "shape"), logical);
            bool has_padded = parse_sizes(value_of(parts[i].text, "padded"), padded);
            if (!has_logical && !has_padded && !type.length)
                continue;
            begin_tensor(&w, is_output != 0);
            for (size_t k = 0; k < SIZES && (has_logical || has_padded); k++) {
                int n = snprintf(texts[k], sizeof texts[k], "%" PRIu64 "[%" PRIu64 "]",
                                 has_padded ? padded[k] : logical[k], has_logical ? logical[k] : padded[k]);
                sizes[k] = slice(texts[k], (size_t)n);
            }
            if (has_logical || has_padded)
                append_sizes(out, sizes);
            if (type.length) {
                bytes_append_text(out, has_logical || has_padded ? " " : "");
                append_cell(out, slice_is(type, "F32") ? slice("FP32", 4) : cell_short_type(type));
            }
        }
    }
}
