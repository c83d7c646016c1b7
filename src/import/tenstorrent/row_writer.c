/* SPDX-License-Identifier: Apache-2.0 */
#include "import/tenstorrent/row_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/keyed_text.h"
#include "base/slice.h"

/* --- columns --- */

struct column_order {
    uint64_t rank;
    const struct intern_entry *name;
    uint32_t column;
};

static int compare_columns(const void *left, const void *right)
{
    const struct column_order *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    size_t shorter = a->name->length < b->name->length ? a->name->length : b->name->length;
    int order = memcmp(a->name->data, b->name->data, shorter);
    if (order != 0)
        return order;
    return (a->name->length > b->name->length) - (a->name->length < b->name->length);
}

int tt_row_declare(struct tt_row_writer *row, struct op_rows *rows, const struct intern *names,
                   const bool *is_used, struct error *err)
{
    struct column_order *order = calloc(names->count, sizeof order[0]);
    size_t count = 0;
    int result = 0;
    row->place_of_column = malloc(names->count * sizeof row->place_of_column[0]);
    row->column_count = names->count;
    if (!order || !row->place_of_column) {
        free(order);
        return error_set_errno(err, ENOMEM, "%zu columns", names->count);
    }
    for (uint32_t i = 0; i < names->count; i++) {
        const struct intern_entry *name = &names->entries[i];
        row->place_of_column[i] = TT_NONE;
        if (is_used[i])
            order[count++] = (struct column_order){op_column_rank(name->data, name->length), name, i};
    }
    qsort(order, count, sizeof order[0], compare_columns);
    for (size_t i = 0; i < count && result == 0; i++) {
        row->place_of_column[order[i].column] = (uint32_t)i;
        result = op_rows_add_column(rows, order[i].name->data, order[i].name->length, err);
    }
    free(order);
    return result;
}

void tt_row_writer_free(struct tt_row_writer *row)
{
    free(row->place_of_column);
    bytes_free(&row->scratch);
    *row = (struct tt_row_writer){0};
}

/* --- cells --- */

bool tt_row_begin(struct tt_row_writer *row, struct slice *cells, size_t size)
{
    row->cells = cells;
    bytes_clear(&row->scratch);
    return bytes_reserve(&row->scratch, size);
}

void tt_row_set_cell(struct tt_row_writer *row, uint32_t column, const char *data, size_t length)
{
    uint32_t place = tt_row_place(row, column);
    if (place != TT_NONE)
        row->cells[place] = slice_from(length ? data : "", length);
}

void tt_row_set_text(struct tt_row_writer *row, uint32_t column, const char *text, size_t length)
{
    size_t from = row->scratch.length;
    bytes_append(&row->scratch, text, length);
    for (size_t i = from; i < row->scratch.length; i++) {
        if (row->scratch.data[i] == ',')
            row->scratch.data[i] = ';';
    }
    tt_row_set_cell(row, column, (const char *)row->scratch.data + from, row->scratch.length - from);
}

void tt_row_set_number(struct tt_row_writer *row, uint32_t column, uint64_t value)
{
    char digits[24];
    size_t at = sizeof digits, from = row->scratch.length;
    if (tt_row_place(row, column) == TT_NONE)
        return;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    bytes_append(&row->scratch, digits + at, sizeof digits - at);
    tt_row_set_cell(row, column, (const char *)row->scratch.data + from, sizeof digits - at);
}

void tt_row_set_signpost(struct tt_row_writer *row, const struct tt_signpost *signpost)
{
    tt_row_set_text(row, OP_COLUMN_ID_OP_CODE, signpost->header.data, signpost->header.length);
    tt_row_set_cell(row, OP_COLUMN_ID_OP_TYPE, "signpost", 8);
    tt_row_set_text(row, OP_COLUMN_ID_ATTRIBUTES, signpost->text.data, signpost->text.length);
    tt_row_set_number(row, OP_COLUMN_ID_HOST_START, signpost->time_ns);
}
