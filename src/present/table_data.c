/* SPDX-License-Identifier: Apache-2.0 */
/* Tables for programs: CSV (RFC 4180, lines end in CR LF) and JSON. Exact numbers in base units. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "present/table.h"
#include "text/csv/writer.h"
#include "text/real_write.h"

#define KEY_SIZE 80

/* Without printf: JSON has it in each cell. */
static void column_key(const struct table_column *column, char out[KEY_SIZE])
{
    const char *unit = table_column_unit(column);
    size_t length = strnlen(column->key, KEY_SIZE - 1), rest = KEY_SIZE - 1 - length;
    memcpy(out, column->key, length);
    if (*unit && rest) {
        size_t more = strnlen(unit, rest - 1);
        out[length++] = '_';
        memcpy(out + length, unit, more);
        length += more;
    }
    out[length] = 0;
}

static void append_integer(struct bytes *out, const struct table_cell *cell)
{
    char digits[24] = "-";
    size_t sign = cell->is_negative;
    bytes_append(out, digits, sign + real_put_whole(digits + sign, cell->magnitude));
}

void table_append_csv(const struct table *table, struct bytes *out)
{
    table_append_csv_header(table, out);
    table_append_csv_rows(table, out);
}

void table_append_csv_header(const struct table *table, struct bytes *out)
{
    char key[KEY_SIZE];
    bool is_first = true;
    for (size_t c = 0; c < table->column_count; c++) {
        if (table->columns[c].shown == TABLE_TERMINAL_ONLY)
            continue;
        column_key(&table->columns[c], key);
        bytes_append_format(out, "%s%s", is_first ? "" : ",", key);
        is_first = false;
    }
    bytes_append_text(out, "\r\n");
}

void table_append_csv_rows(const struct table *table, struct bytes *out)
{
    for (size_t r = 0; r < table->row_count; r++) {
        bool is_first = true;
        for (size_t c = 0; c < table->column_count; c++) {
            const struct table_cell *cell = table_cell(table, r, c);
            if (table->columns[c].shown == TABLE_TERMINAL_ONLY)
                continue;
            if (!is_first)
                bytes_append_u8(out, ',');
            is_first = false;
            if (cell->kind == TABLE_CELL_TEXT)
                csv_append_text(out, table_cell_text(table, cell), cell->text_length);
            else if (cell->kind == TABLE_CELL_INTEGER)
                append_integer(out, cell);
            else if (cell->kind == TABLE_CELL_REAL)
                json_append_real(out, cell->real);
        }
        bytes_append_text(out, "\r\n");
    }
}

static void write_json_cell(const struct table *table, const struct table_cell *cell, struct json *json)
{
    switch (cell->kind) {
    case TABLE_CELL_TEXT:
        json_text_length(json, table_cell_text(table, cell), cell->text_length);
        break;
    case TABLE_CELL_INTEGER:
        if (cell->is_negative)
            json_integer(json, (int64_t)(0 - cell->magnitude));
        else
            json_unsigned(json, cell->magnitude);
        break;
    case TABLE_CELL_REAL:
        json_real(json, cell->real);
        break;
    default:
        json_null(json);
        break;
    }
}

void table_write_json_objects(const struct table *table, struct json *json)
{
    char key[KEY_SIZE];
    for (size_t r = 0; r < table->row_count; r++) {
        json_object(json, JSON_INLINE);
        for (size_t c = 0; c < table->column_count; c++) {
            if (table->columns[c].shown == TABLE_TERMINAL_ONLY)
                continue;
            column_key(&table->columns[c], key);
            json_key(json, key);
            write_json_cell(table, table_cell(table, r, c), json);
        }
        json_end(json);
    }
}

void table_write_json_rows(const struct table *table, struct json *json)
{
    json_array(json, JSON_LINES);
    table_write_json_objects(table, json);
    json_end(json);
}
