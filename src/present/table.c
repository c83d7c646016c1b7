/* SPDX-License-Identifier: Apache-2.0 */
/* The table model: storage, sorting, and the text of a cell. */
#include "present/table.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/count_of.h"
#include "present/format.h"
#include "text/utf8.h"

void table_init(struct table *table, const char *name, const struct table_column *columns,
                size_t column_count)
{
    *table = (struct table){.name = name, .columns = columns, .column_count = column_count};
}

void table_free(struct table *table)
{
    if (!table)
        return;
    free(table->cells);
    free(table->own_columns);
    bytes_free(&table->texts);
    *table = (struct table){0};
}

/* The column as this table has it, to be changed; NULL: no memory. */
static struct table_column *own_column(struct table *table, size_t column)
{
    size_t size = table->column_count * sizeof table->columns[0];
    assert(column < table->column_count);
    if (!table->own_columns) {
        table->own_columns = malloc(size ? size : 1);
        if (!table->own_columns) {
            table->failed = true;
            return NULL;
        }
        memcpy(table->own_columns, table->columns, size);
        table->columns = table->own_columns;
    }
    return &table->own_columns[column];
}

void table_show_column(struct table *table, size_t column, enum table_shown shown)
{
    struct table_column *own = own_column(table, column);
    if (own)
        own->shown = shown;
}

void table_set_decimals(struct table *table, size_t column, unsigned decimals)
{
    struct table_column *own = own_column(table, column);
    if (own)
        own->decimals = decimals;
}

void table_add_row(struct table *table)
{
    size_t rows = table->row_count + 1, need;
    if (table->failed)
        return;
    if (!checked_mul_size(rows, table->column_count, &need) ||
        !array_reserve(&table->cells, &table->cell_capacity, need, sizeof table->cells[0])) {
        table->failed = true;
        return;
    }
    if (table->column_count) /* a table of ops may have none at all */
        memset(table->cells + table->row_count * table->column_count, 0,
               table->column_count * sizeof table->cells[0]);
    table->row_count = rows;
}

/* The cell of the newest row; a spare one after a failure, so that callers need not look. */
static struct table_cell *newest(struct table *table, size_t column)
{
    assert(column < table->column_count);
    if (table->failed || table->row_count == 0)
        return &table->spare;
    return &table->cells[(table->row_count - 1) * table->column_count + column];
}

void table_set_text_length(struct table *table, size_t column, const char *text, size_t length)
{
    struct table_cell *cell = newest(table, column);
    if (length > UINT32_MAX)
        length = UINT32_MAX;
    cell->kind = TABLE_CELL_TEXT;
    cell->text = table->texts.length;
    cell->text_length = (uint32_t)length;
    bytes_append(&table->texts, text, length);
    table->failed = table->failed || table->texts.failed;
}

void table_set_text(struct table *table, size_t column, const char *text)
{
    if (text)
        table_set_text_length(table, column, text, strlen(text));
}

void table_set_format(struct table *table, size_t column, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0) {
        table->failed = true;
        return;
    }
    table_set_text_length(table, column, text, (size_t)length);
    free(text);
}

void table_set_unsigned(struct table *table, size_t column, uint64_t value)
{
    struct table_cell *cell = newest(table, column);
    cell->kind = TABLE_CELL_INTEGER;
    cell->magnitude = value;
    cell->is_negative = false;
}

void table_set_integer(struct table *table, size_t column, int64_t value)
{
    table_set_unsigned(table, column, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
    newest(table, column)->is_negative = value < 0;
}

void table_set_real(struct table *table, size_t column, double value)
{
    struct table_cell *cell = newest(table, column);
    if (isnan(value))
        return;
    cell->kind = TABLE_CELL_REAL;
    cell->real = value;
}

void table_set_style(struct table *table, size_t column, enum table_style style)
{
    newest(table, column)->style = (uint8_t)style;
}

void table_set_indent(struct table *table, size_t column, unsigned levels)
{
    newest(table, column)->indent = (uint8_t)(levels < 255 ? levels : 255);
}

const struct table_cell *table_cell(const struct table *table, size_t row, size_t column)
{
    return &table->cells[row * table->column_count + column];
}

const char *table_cell_text(const struct table *table, const struct table_cell *cell)
{
    return cell->text_length ? (const char *)table->texts.data + cell->text : "";
}

size_t table_find_column(const struct table *table, const char *key)
{
    for (size_t i = 0; i < table->column_count; i++) {
        const char *name = table->columns[i].key, *unit = table_column_unit(&table->columns[i]);
        size_t length = strlen(name);
        if (strncmp(name, key, length) == 0 &&
            (key[length] == '\0' || (key[length] == '_' && *unit && strcmp(key + length + 1, unit) == 0)))
            return i;
    }
    return SIZE_MAX;
}

struct sort_context {
    const struct table *table;
    size_t column;
    bool is_descending;
};

static double cell_number(const struct table_cell *cell)
{
    if (cell->kind == TABLE_CELL_REAL)
        return cell->real;
    return cell->is_negative ? -(double)cell->magnitude : (double)cell->magnitude;
}

static int compare_values(const struct table *table, const struct table_cell *a, const struct table_cell *b)
{
    if (a->kind == TABLE_CELL_TEXT && b->kind == TABLE_CELL_TEXT) {
        uint32_t shorter = a->text_length < b->text_length ? a->text_length : b->text_length;
        int order = memcmp(table_cell_text(table, a), table_cell_text(table, b), shorter);
        return order ? order : (a->text_length > b->text_length) - (a->text_length < b->text_length);
    }
    if (a->kind != b->kind && (a->kind == TABLE_CELL_TEXT || b->kind == TABLE_CELL_TEXT))
        return a->kind == TABLE_CELL_TEXT ? 1 : -1;
    if (a->kind == TABLE_CELL_INTEGER && b->kind == TABLE_CELL_INTEGER && !a->is_negative && !b->is_negative)
        return (a->magnitude > b->magnitude) - (a->magnitude < b->magnitude);
    double x = cell_number(a), y = cell_number(b);
    return (x > y) - (x < y);
}

static int compare_rows(const void *left, const void *right, void *context_pointer)
{
    const struct sort_context *context = context_pointer;
    size_t x = *(const size_t *)left, y = *(const size_t *)right;
    const struct table_cell *a = table_cell(context->table, x, context->column);
    const struct table_cell *b = table_cell(context->table, y, context->column);
    int order;
    if (a->kind == TABLE_CELL_MISSING || b->kind == TABLE_CELL_MISSING)
        order = (a->kind == TABLE_CELL_MISSING) - (b->kind == TABLE_CELL_MISSING);
    else
        order = compare_values(context->table, a, b) * (context->is_descending ? -1 : 1);
    return order ? order : (x > y) - (x < y);
}

void table_sort(struct table *table, size_t column, bool is_descending)
{
    struct sort_context context = {table, column, is_descending};
    size_t count = table->row_count, width = table->column_count;
    if (count < 2)
        return;
    size_t *order = malloc(count * sizeof *order);
    struct table_cell *sorted = malloc(count * width * sizeof *sorted);
    if (!order || !sorted) {
        table->failed = true;
    } else {
        for (size_t i = 0; i < count; i++)
            order[i] = i;
        qsort_r(order, count, sizeof *order, compare_rows, &context);
        for (size_t i = 0; i < count; i++)
            memcpy(sorted + i * width, table->cells + order[i] * width, width * sizeof *sorted);
        free(table->cells);
        table->cells = sorted;
        table->cell_capacity = count * width;
        sorted = NULL;
    }
    free(order);
    free(sorted);
}

void table_truncate(struct table *table, size_t row_count)
{
    if (row_count < table->row_count)
        table->row_count = row_count;
}

void table_clear(struct table *table)
{
    table->row_count = 0;
    bytes_clear(&table->texts);
}

const char *table_column_unit(const struct table_column *column)
{
    switch (column->type) {
    case TABLE_TIME:
    case TABLE_INSTANT:
        return "ns";
    case TABLE_BYTES:
        return "bytes";
    case TABLE_PERCENT:
        return "percent";
    default:
        return "";
    }
}

const char *table_style_begin(unsigned style)
{
    static const char *const begins[] = {
        [TABLE_NORMAL] = "",      [TABLE_GOOD] = "\033[32m", [TABLE_WARN] = "\033[33m",
        [TABLE_BAD] = "\033[31m", [TABLE_DIM] = "\033[2m",   [TABLE_BOLD] = "\033[1m",
    };
    return style < COUNT_OF(begins) ? begins[style] : "";
}

static const char *integer_text(const struct table_column *column, uint64_t value, struct number_text *number)
{
    switch (column->type) {
    case TABLE_INTEGER:
        return format_count(number, value);
    case TABLE_TIME:
        return format_time(number, value);
    case TABLE_INSTANT:
        return format_instant(number, value);
    case TABLE_BYTES:
        return format_bytes(number, value);
    case TABLE_PERCENT:
        return format_percent(number, (double)value, column->decimals);
    default:
        snprintf(number->text, sizeof number->text, "%" PRIu64, value);
        return number->text;
    }
}

static const char *real_text(const struct table_column *column, double value, struct number_text *number)
{
    switch (column->type) {
    case TABLE_TIME:
        return format_time_real(number, value);
    case TABLE_PERCENT:
        return format_percent(number, value, column->decimals);
    default:
        snprintf(number->text, sizeof number->text, "%.*f", (int)column->decimals, value);
        return number->text;
    }
}

void table_append_cell(const struct table *table, const struct table_column *column,
                       const struct table_cell *cell, struct bytes *out)
{
    struct number_text number;
    switch (cell->kind) {
    case TABLE_CELL_TEXT:
        utf8_append_visible(out, table_cell_text(table, cell), cell->text_length);
        break;
    case TABLE_CELL_INTEGER:
        if (cell->is_negative)
            bytes_append_text(out, "-");
        bytes_append_text(out, integer_text(column, cell->magnitude, &number));
        break;
    case TABLE_CELL_REAL:
        bytes_append_text(out, column->is_change && cell->real > 0 ? "+" : "");
        bytes_append_text(out, real_text(column, cell->real, &number));
        break;
    default:
        bytes_append_text(out, "-");
        break;
    }
}
