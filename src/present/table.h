/* SPDX-License-Identifier: Apache-2.0 */
/* The one table model: columns declared once, rows of typed cells, and a writer for each kind of output. The
 * cells hold exact numbers in base units (ns, bytes); rounding, colours, shortening and leaving columns out are
 * the terminal writer's business.
 *
 *     table_init(&table, "zones", columns, COLUMN_COUNT);
 *     table_add_row(&table);
 *     table_set_text(&table, COLUMN_NAME, name);
 *     table_set_unsigned(&table, COLUMN_TOTAL, total_ns);
 *
 * Cells that were not set are missing: "-" on a terminal, empty in CSV, null in JSON. Memory that cannot be had
 * sets `failed`, which the writers report: callers check once, at the end. */
#ifndef OPSCOPE_PRESENT_TABLE_H
#define OPSCOPE_PRESENT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/error.h"
#include "text/json/writer.h"

enum table_type {
    TABLE_TEXT,
    TABLE_INTEGER,    /* a count: 1,234 */
    TABLE_IDENTIFIER, /* a number that is not a quantity: pid, line */
    TABLE_REAL,
    TABLE_TIME,    /* ns: 1.234 ms */
    TABLE_INSTANT, /* ns since the start: 12.345678 s */
    TABLE_BYTES,
    TABLE_PERCENT,
};

enum table_shown { TABLE_EVERYWHERE = 0, TABLE_DATA_ONLY = 1 /* CSV, JSON */, TABLE_TERMINAL_ONLY = 2 };

struct table_column {
    const char *key;   /* in CSV and JSON, followed by the unit: total -> total_ns */
    const char *title; /* on the terminal */
    enum table_type type;
    enum table_shown shown;
    unsigned decimals; /* TABLE_REAL, TABLE_PERCENT on the terminal */
    unsigned drop;     /* 0 = stays; else the highest is left out first where there is no room */
    unsigned shrink;   /* TABLE_TEXT: may be shortened down to this many columns; 0 = not */
    bool is_change;    /* for people a number above 0 has its sign: +12.5% */
};

enum table_style { TABLE_NORMAL = 0, TABLE_GOOD, TABLE_WARN, TABLE_BAD, TABLE_DIM, TABLE_BOLD };

enum table_cell_kind { TABLE_CELL_MISSING = 0, TABLE_CELL_TEXT, TABLE_CELL_INTEGER, TABLE_CELL_REAL };

struct table_cell {
    union {
        uint64_t magnitude; /* TABLE_CELL_INTEGER */
        double real;
        uint64_t text; /* offset in the table's texts */
    };
    uint32_t text_length;
    uint8_t kind; /* enum table_cell_kind */
    uint8_t style;
    uint8_t is_negative;
    uint8_t indent; /* TABLE_CELL_TEXT: levels, two columns each, on the terminal */
};

struct table {
    const char *name;
    const struct table_column *columns;
    struct table_column *own_columns; /* a copy, once a column of this table was changed */
    size_t column_count;
    struct table_cell *cells; /* row by row */
    size_t cell_capacity;
    size_t row_count;
    struct bytes texts;
    struct table_cell spare; /* takes what is set after a failure */
    bool failed;
};

void table_init(struct table *table, const char *name, const struct table_column *columns,
                size_t column_count);
void table_free(struct table *table);

/* Changes a column of this table alone; what it was declared with stays as it is. */
void table_show_column(struct table *table, size_t column, enum table_shown shown);
void table_set_decimals(struct table *table, size_t column, unsigned decimals);

/* Cells are set in the newest row. */
void table_add_row(struct table *table);
void table_set_text(struct table *table, size_t column, const char *text); /* NULL: stays missing */
void table_set_text_length(struct table *table, size_t column, const char *text, size_t length);
void table_set_format(struct table *table, size_t column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void table_set_unsigned(struct table *table, size_t column, uint64_t value);
void table_set_integer(struct table *table, size_t column, int64_t value);
void table_set_real(struct table *table, size_t column, double value); /* NaN: stays missing */
void table_set_style(struct table *table, size_t column, enum table_style style);
void table_set_indent(struct table *table, size_t column, unsigned levels);

const struct table_cell *table_cell(const struct table *table, size_t row, size_t column);
const char *table_cell_text(const struct table *table, const struct table_cell *cell);

/* The column of this key, with or without its unit; SIZE_MAX when there is none. */
size_t table_find_column(const struct table *table, const char *key);
/* Stable; missing cells go last either way. */
void table_sort(struct table *table, size_t column, bool is_descending);
void table_truncate(struct table *table, size_t row_count);
void table_clear(struct table *table); /* no rows; what memory it has is kept */

struct table_look {
    unsigned width; /* 0 = no limit */
    bool is_coloured;
    bool is_utf8; /* may use … */
};

/* The writers. The terminal one says in a last line which columns it left out. */
void table_append_terminal(const struct table *table, const struct table_look *look, struct bytes *out);
void table_append_csv(const struct table *table, struct bytes *out);
/* The same in two parts, for tables that are written piece by piece. */
void table_append_csv_header(const struct table *table, struct bytes *out);
void table_append_csv_rows(const struct table *table, struct bytes *out);
void table_write_json_rows(const struct table *table, struct json *json);    /* an array of objects */
void table_write_json_objects(const struct table *table, struct json *json); /* these alone */

/* --- for writers of further formats --- */
const char *table_style_begin(unsigned style); /* the terminal's escape sequence; "" for normal */
const char *table_column_unit(const struct table_column *column); /* "ns", "bytes", "percent"; "" */
/* The cell as a person reads it, without shortening. */
void table_append_cell(const struct table *table, const struct table_column *column,
                       const struct table_cell *cell, struct bytes *out);

#endif
