/* SPDX-License-Identifier: Apache-2.0 */
/* The front of all sources of op rows: columns by name, selection of cells, notices. Which source a path is: open.c. */
#include "import/op_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/intern.h"

#define NOTICES_MAX 64u

/* The cell of a selected name, and the column that it is from. */
struct selected {
    uint32_t cell, column;
};

struct op_rows {
    const struct op_rows_source *source;
    void *state;
    char *path;
    char **columns; /* names, NUL-terminated; NUL bytes inside a name end it */
    size_t column_count, column_capacity;
    struct intern names;     /* id i is the first column of that name ... */
    uint32_t *first_columns; /* ... and this is which */
    size_t first_capacity;
    struct selected *selected; /* the names that are there */
    size_t selected_count, present_count;
    bool is_selected;
    struct slice *row_cells, *selected_cells;
    uint64_t row_count;
    struct op_row_notice notices[NOTICES_MAX];
    size_t notice_count;
};

/* --- making one --- */

struct op_rows *op_rows_new(const struct op_rows_source *source, void *state, const char *path)
{
    struct op_rows *rows = calloc(1, sizeof *rows);
    if (rows)
        rows->path = strdup(path);
    if (!rows || !rows->path) {
        free(rows);
        source->close(state);
        return NULL;
    }
    rows->source = source;
    rows->state = state;
    return rows;
}

void op_rows_close(struct op_rows *rows)
{
    if (!rows)
        return;
    rows->source->close(rows->state);
    for (size_t i = 0; i < rows->column_count; i++)
        free(rows->columns[i]);
    for (size_t i = 0; i < rows->notice_count; i++)
        free((char *)(uintptr_t)rows->notices[i].text);
    free(rows->columns);
    intern_free(&rows->names);
    free(rows->first_columns);
    free(rows->selected);
    free(rows->row_cells);
    free(rows->selected_cells);
    free(rows->path);
    free(rows);
}

int op_rows_add_column(struct op_rows *rows, const char *name, size_t length, struct error *err)
{
    size_t known = rows->names.count;
    char *copy = malloc(length + 1);
    if (copy) {
        memcpy(copy, name, length);
        copy[length] = 0;
        uint32_t id = intern_add(&rows->names, copy, strlen(copy));
        if (id != INTERN_NONE && array_reserve(&rows->columns, &rows->column_capacity, rows->column_count + 1,
                                               sizeof *rows->columns)) {
            if (id == known) {
                if (!array_reserve(&rows->first_columns, &rows->first_capacity, known + 1,
                                   sizeof *rows->first_columns))
                    goto no_memory;
                rows->first_columns[id] = (uint32_t)rows->column_count;
            }
            rows->columns[rows->column_count++] = copy;
            return 0;
        }
    }
no_memory:
    free(copy);
    return error_set(err, ENOMEM, "%s: no memory for %zu columns", rows->path, rows->column_count);
}

void op_rows_add_notice(struct op_rows *rows, uint32_t kind, uint64_t line, const char *format, ...)
{
    char text[512];
    va_list args;
    for (size_t i = 0; i < rows->notice_count; i++) {
        if (rows->notices[i].kind == kind) {
            rows->notices[i].count++;
            return;
        }
    }
    if (rows->notice_count == NOTICES_MAX)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char *copy = strdup(text);
    if (copy)
        rows->notices[rows->notice_count++] =
            (struct op_row_notice){.text = copy, .count = 1, .first_line = line, .kind = kind};
}

/* --- asking it --- */

const char *op_rows_path(const struct op_rows *rows)
{
    return rows->path;
}

const char *op_rows_kind(const struct op_rows *rows)
{
    return rows->source->kind;
}

size_t op_rows_column_count(const struct op_rows *rows)
{
    return rows->column_count;
}

const char *op_rows_column_name(const struct op_rows *rows, size_t column)
{
    return column < rows->column_count ? rows->columns[column] : "";
}

size_t op_rows_find_column(const struct op_rows *rows, const char *name)
{
    uint32_t id = intern_find(&rows->names, name, strlen(name));
    return id == INTERN_NONE ? SIZE_MAX : rows->first_columns[id];
}

size_t op_rows_notice_count(const struct op_rows *rows)
{
    return rows->notice_count;
}

const struct op_row_notice *op_rows_notice(const struct op_rows *rows, size_t i)
{
    return i < rows->notice_count ? &rows->notices[i] : NULL;
}

void op_rows_append_notice(const struct op_rows *rows, const struct op_row_notice *notice, struct bytes *out)
{
    const char *text = notice->text;
    char place[32];
    int length = snprintf(place, sizeof place, "line %" PRIu64 ": ", notice->first_line);
    bytes_append_text(out, rows->path);
    if (strncmp(text, place, (size_t)length) == 0) {
        text += length;
        bytes_append_format(out, ":%" PRIu64, notice->first_line);
    }
    bytes_append_format(out, ": %s", text);
    if (notice->count > 1)
        bytes_append_format(out, " (%" PRIu64 " times in all)", notice->count);
}

/* --- reading --- */

int op_rows_select(struct op_rows *rows, const char *const *names, size_t count, struct error *err)
{
    struct selected *selected = calloc(count ? count : 1, sizeof *selected);
    struct slice *cells = calloc(count ? count : 1, sizeof *cells);
    if (!selected || !cells) {
        free(selected);
        free(cells);
        return error_set(err, ENOMEM, "%s: no memory for %zu cells", rows->path, count);
    }
    rows->present_count = 0;
    for (size_t i = 0; i < count; i++) {
        size_t column = op_rows_find_column(rows, names[i]);
        if (column != SIZE_MAX)
            selected[rows->present_count++] = (struct selected){(uint32_t)i, (uint32_t)column};
    }
    free(rows->selected);
    free(rows->selected_cells);
    rows->selected = selected;
    rows->selected_cells = cells;
    rows->selected_count = count;
    rows->is_selected = true;
    return 0;
}

int op_rows_next(struct op_rows *rows, struct op_row *row, struct error *err)
{
    uint64_t line = 0;
    if (!rows->row_cells)
        rows->row_cells = calloc(rows->column_count ? rows->column_count : 1, sizeof *rows->row_cells);
    if (!rows->row_cells)
        return error_set(err, ENOMEM, "%s: no memory for %zu cells", rows->path, rows->column_count);
    if (!rows->source->fills_all)
        memset(rows->row_cells, 0, rows->column_count * sizeof *rows->row_cells);
    int status = rows->source->next(rows->state, rows, rows->row_cells, &line, err);
    if (status <= 0)
        return status;
    *row = (struct op_row){rows->row_cells, rows->column_count, rows->row_count++, line};
    if (rows->is_selected) {
        for (size_t i = 0; i < rows->present_count; i++)
            rows->selected_cells[rows->selected[i].cell] = rows->row_cells[rows->selected[i].column];
        row->cells = rows->selected_cells;
        row->cell_count = rows->selected_count;
    }
    return 1;
}
