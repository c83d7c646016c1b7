/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of ops from any source, one after the other: a vendor's ops CSV, a folder of device logs, a trace.
 *
 * A row is cells under the vendor's column names ("GLOBAL CALL COUNT", "DEVICE KERNEL DURATION [ns]" ...). A cell is a
 * slice of bytes as the source has them: not NUL-terminated, perhaps not UTF-8, valid until the next call. A
 * column that the source lacks, and a cell after the end of a short row, is missing: data == NULL. An empty
 * cell has length 0 and data that is not NULL.
 *
 *     struct op_rows *rows;
 *     op_rows_open(&rows, path, &err);
 *     op_rows_select(rows, names, count, &err);       cells come in this order from now on
 *     while ((status = op_rows_next(rows, &row, &err)) > 0)
 *         ... row.cells[k] is the cell of names[k] ...
 *     op_rows_close(rows);
 *
 * What a source could not read or join does not end the reading: it is kept where there is something to keep,
 * and counted in the notices, which are complete once op_rows_next has returned 0. */
#ifndef OPSCOPE_IMPORT_OP_ROWS_H
#define OPSCOPE_IMPORT_OP_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/slice.h"

struct op_row {
    const struct slice *cells;
    size_t cell_count; /* as many as were selected, else as there are columns */
    uint64_t index;    /* 0, 1, 2 ... among the rows of this source */
    uint64_t line;     /* where the row begins in `path`; 0 where a source has no lines */
};

/* Something that could not be read or joined: one sentence for all places where it happened. */
struct op_row_notice {
    const char *text;    /* of the first: "line 17: 2 cells more than the header has columns" */
    uint64_t count;      /* how often */
    uint64_t first_line; /* 0: no line */
    uint32_t kind;       /* the source's own number: notices of one kind are one */
};

struct op_rows;

/* By content: a trace, a folder of logs or its parent, a CSV with the vendor's header; "-" is a CSV on stdin.
 * The error names the file and what is wrong with it. */
int op_rows_open(struct op_rows **rows, const char *path, struct error *err);
/* The same for a CSV that lies in memory, which must stay; `path` is for messages. */
int op_rows_open_memory(struct op_rows **rows, const char *path, const void *data, size_t length,
                        struct error *err);
void op_rows_close(struct op_rows *rows); /* NULL is allowed */

const char *op_rows_path(const struct op_rows *rows);
/* What kind of source it is, for people: "ops CSV", "log folder", "trace". */
const char *op_rows_kind(const struct op_rows *rows);

/* The source's own columns, in its order. A name that comes twice is found at its first place. */
size_t op_rows_column_count(const struct op_rows *rows);
const char *op_rows_column_name(const struct op_rows *rows, size_t column);
size_t op_rows_find_column(const struct op_rows *rows, const char *name); /* SIZE_MAX: it lacks it */

/* From now on a row has the cells of these columns, in this order; the names are copied. */
int op_rows_select(struct op_rows *rows, const char *const *names, size_t count, struct error *err);

/* 1 with a row, 0 at the end, negative when reading failed. */
int op_rows_next(struct op_rows *rows, struct op_row *row, struct error *err);

size_t op_rows_notice_count(const struct op_rows *rows);
const struct op_row_notice *op_rows_notice(const struct op_rows *rows, size_t i);
/* For people: "t.csv:17: 2 cells more than the header has columns (3 times in all)". */
void op_rows_append_notice(const struct op_rows *rows, const struct op_row_notice *notice, struct bytes *out);

/* --- for the sources --- */

/* What a source does. `open` functions of sources call op_rows_new, declare the columns, and return. */
struct op_rows_source {
    const char *kind;
    /* Fills row->line and `cells`, which has one element for each of the source's columns, all missing. Gives
     * 1, 0 at the end, or a negative code. */
    int (*next)(void *state, struct op_rows *rows, struct slice *cells, uint64_t *line, struct error *err);
    void (*close)(void *state); /* frees the state */
    bool fills_all;             /* `next` sets every cell: they need not be made missing before */
};

/* Takes the state over: closes it when there is no memory (and returns NULL). */
struct op_rows *op_rows_new(const struct op_rows_source *source, void *state, const char *path);
int op_rows_add_column(struct op_rows *rows, const char *name, size_t length, struct error *err);
/* Counts one more of `kind`; the text is made for the first one only. */
#define OP_ROWS_NOTICE_READER 100000u /* kinds of those who read the rows begin here */
void op_rows_add_notice(struct op_rows *rows, uint32_t kind, uint64_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
