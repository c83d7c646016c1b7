/* SPDX-License-Identifier: Apache-2.0 */
#include "import/tenstorrent/cells.h"

#include <stdlib.h>
#include <string.h>

#include "text/csv/cell.h"
#include "text/python_text.h"

/* --- figures --- */

/* The unit that the vendor's name of a column says. */
static uint8_t unit_of(const char *name, size_t length, enum op_column_kind kind)
{
    struct slice text = slice_from(name, length);
    if (kind == OP_COLUMN_TEXT)
        return OP_FIGURE_TEXT;
    if (kind == OP_COLUMN_REAL)
        return slice_has(text, "(%)") || slice_has(text, "UTIL") ? OP_FIGURE_PERCENT : OP_FIGURE_REAL;
    if (slice_has(text, "[ns]"))
        return OP_FIGURE_NS;
    return length > 6 && memcmp(name + length - 6, " CYCLE", 6) == 0 ? OP_FIGURE_TICKS : OP_FIGURE_COUNT;
}

struct tt_figure_column tt_figure_column(struct ops *ops, const char *name, size_t length)
{
    enum op_column_kind kind = op_column_kind_of(name, length);
    return (struct tt_figure_column){ops_text(ops, slice_from(name, length)), (uint8_t)kind,
                                     unit_of(name, length, kind)};
}

/* "12.5", "-0.0": a point, no zeros that could be left out, and so few digits that no other decimal of as many is the
 * same double. Such a text is the shortest for its double, and so what that prints as. */
static bool is_plain_decimal(struct slice cell)
{
    const char *at = cell.data, *end = cell.data + cell.length;
    at += at < end && *at == '-';
    const char *point = memchr(at, '.', (size_t)(end - at));
    if (!point || point == at || end - point < 2 || end - at > 16 || (at[0] == '0' && point - at > 1) ||
        (end[-1] == '0' && end - point > 2) ||
        (at[0] == '0' && end - point > 3 && memcmp(point, ".000", 4) == 0))
        return false;
    for (; at < end; at++) {
        if (at != point && (*at < '0' || *at > '9'))
            return false;
    }
    return true;
}

static bool is_real(struct slice cell, struct bytes *scratch, double *value)
{
    char text[48], *end;
    if (cell.length == 0 || cell.length >= sizeof text || !memchr("0123456789-ni", cell.data[0], 13))
        return false;
    memcpy(text, cell.data, cell.length);
    text[cell.length] = 0;
    *value = strtod(text, &end);
    if (is_plain_decimal(cell))
        return true;
    bytes_clear(scratch);
    python_append_float(scratch, *value);
    return *end == 0 && scratch->length == cell.length && memcmp(scratch->data, text, cell.length) == 0;
}

static bool is_whole(struct slice cell, uint64_t *value)
{
    return (cell.length == 1 || (cell.length > 1 && cell.data[0] != '0')) && slice_unsigned(cell, value);
}

bool tt_number_of_cell(const struct tt_figure_column *column, struct slice cell, struct bytes *scratch,
                       struct op_figure *figure)
{
    *figure = (struct op_figure){.name = column->name, .kind = column->unit};
    if (is_whole(cell, &figure->whole)) {
        if (column->kind != OP_COLUMN_INTEGER)
            figure->kind = OP_FIGURE_COUNT;
        return true;
    }
    if (!is_real(cell, scratch, &figure->real))
        return false;
    if (column->kind != OP_COLUMN_REAL)
        figure->kind = OP_FIGURE_REAL;
    return true;
}

/* --- tensors --- */

/* "64[50]" to 64 and 50, as they print. */
static bool split_size(struct slice cell, int64_t *padded, int64_t *logical)
{
    struct slice outer = slice_before(cell, "["), inner = slice_after(cell, "[");
    uint64_t values[2];
    if (inner.length < 2 || inner.data[inner.length - 1] != ']')
        return false;
    inner.length--;
    if (!is_whole(outer, &values[0]) || !is_whole(inner, &values[1]) || values[0] > INT64_MAX ||
        values[1] > INT64_MAX)
        return false;
    *padded = (int64_t)values[0];
    *logical = (int64_t)values[1];
    return true;
}

uint32_t tt_exact_tensor(struct ops *ops, const struct slice cells[OP_TENSOR_FIELDS])
{
    struct op_tensor tensor = {.rank = 4, .strides = OPS_NONE, .rest = OPS_NONE};
    int64_t padded[4], logical[4];
    for (unsigned i = 0; i < 4; i++) {
        if (!split_size(cells[i], &padded[i], &logical[i]))
            return OPS_NONE;
    }
    for (unsigned i = OP_TENSOR_LAYOUT; i < OP_TENSOR_FIELDS; i++) {
        if (!cells[i].data || (cells[i].length && (memchr(cells[i].data, ';', cells[i].length) ||
                                                   memchr(cells[i].data, 0, cells[i].length))))
            return OPS_NONE;
    }
    tensor.shape = ops_sizes(ops, logical, 4);
    tensor.padded = ops_sizes(ops, padded, 4);
    tensor.layout = ops_text(ops, cells[OP_TENSOR_LAYOUT]);
    tensor.dtype = ops_text(ops, cells[OP_TENSOR_TYPE]);
    tensor.memory = ops_text(ops, cells[OP_TENSOR_MEMORY]);
    return ops_tensor(ops, &tensor);
}
