/* SPDX-License-Identifier: Apache-2.0 */
#include "import/ops_csv/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/count_of.h"
#include "text/csv/reader.h"

struct ops_csv {
    struct csv_reader reader;
    size_t column_count;
};

enum notice { EXTRA_CELLS, SHORT_ROWS, CUT, UNCLOSED_QUOTE, MISSING_COLUMNS, REPEATED_COLUMNS };

static void note_row(struct ops_csv *csv, struct op_rows *rows, size_t cell_count)
{
    const struct csv_reader *r = &csv->reader;
    size_t columns = csv->column_count;
    if (cell_count > columns)
        op_rows_add_notice(rows, EXTRA_CELLS, r->line,
                           "line %" PRIu64
                           ": %zu cells under %zu columns; the cells after the last column are left out",
                           r->line, cell_count, columns);
    else if (cell_count < columns && r->is_cut)
        op_rows_add_notice(rows, CUT, r->line,
                           "line %" PRIu64
                           ": the file ends inside this row, in column '%s'; that cell and those after "
                           "it are missing",
                           r->line, op_rows_column_name(rows, cell_count - 1));
    else if (cell_count < columns)
        op_rows_add_notice(rows, SHORT_ROWS, r->line,
                           "line %" PRIu64
                           ": %zu cells under %zu columns; the cells from column '%s' on are missing",
                           r->line, cell_count, columns, op_rows_column_name(rows, cell_count));
}

static int next(void *state, struct op_rows *rows, struct slice *cells, uint64_t *line, struct error *err)
{
    struct ops_csv *csv = state;
    int status = csv_next(&csv->reader, err);
    if (status <= 0) {
        if (status == 0 && csv->reader.unclosed_line)
            op_rows_add_notice(rows, UNCLOSED_QUOTE, csv->reader.unclosed_line,
                               "line %" PRIu64
                               ": a quoted cell of this row is not closed before the end of the file; the "
                               "row is left out",
                               csv->reader.unclosed_line);
        return status;
    }
    size_t count = csv->reader.cell_count;
    if (__builtin_expect(count != csv->column_count, 0)) {
        note_row(csv, rows, count);
        if (count < csv->column_count && csv->reader.is_cut)
            count--; /* half a number is a wrong number */
        if (count > csv->column_count)
            count = csv->column_count;
    }
    memcpy(cells, csv->reader.cells, count * sizeof *cells);
    if (count < csv->column_count)
        memset(cells + count, 0, (csv->column_count - count) * sizeof *cells);
    *line = csv->reader.line;
    return 1;
}

static void close_state(void *state)
{
    struct ops_csv *csv = state;
    csv_close(&csv->reader);
    free(csv);
}

static const struct op_rows_source source = {
    .kind = "ops CSV", .next = next, .close = close_state, .fills_all = true};

/* The two columns without which no row means anything. */
static int check_header(const struct op_rows *rows, struct error *err)
{
    const char *path = op_rows_path(rows);
    if (op_rows_column_count(rows) == 1 && strstr(op_rows_column_name(rows, 0), "OP CODE;"))
        return error_set(err, EINVAL, "%s:1: the columns are separated by ';', not by ','", path);
    if (op_rows_find_column(rows, "OP CODE") == SIZE_MAX)
        return error_set(
            err, EINVAL,
            "%s:1: this is not an ops CSV: its first line has no column 'OP CODE'; nor is it a trace", path);
    return 0;
}

static bool has_column(const struct op_rows *rows, const char *name)
{
    return op_rows_find_column(rows, name) != SIZE_MAX;
}

static void append_missing(struct bytes *text, const char *name)
{
    bytes_append_format(text, "%s'%s'", text->length ? ", " : "", name);
}

/* A tensor that is there in part lacks the rest; one that is not there at all is one name. */
static void append_missing_of_tensor(const struct op_rows *rows, const char *tensor, bool is_old,
                                     struct bytes *text)
{
    static const char *const parts[] = {"W", "Z", "Y", "X", "DATATYPE", "MEMORY"};
    const size_t count = COUNT_OF(parts);
    char names[6][48], all[48];
    size_t missing = 0;
    for (size_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "%s_%s%s", tensor, parts[i],
                 i < 4 && !is_old ? "_PAD[LOGICAL]" : "");
        missing += !has_column(rows, names[i]);
    }
    snprintf(all, sizeof all, "%s_*", tensor);
    if (missing == count)
        append_missing(text, all);
    for (size_t i = 0; i < count && missing < count; i++) {
        if (!has_column(rows, names[i]))
            append_missing(text, names[i]);
    }
}

/* Columns that every published table has: what is made from them is missing everywhere. */
static void note_missing_columns(struct op_rows *rows)
{
    static const char *const wanted[] = {
        "OP TYPE",       "GLOBAL CALL COUNT",     "DEVICE ID",
        "ATTRIBUTES",    "MATH FIDELITY",         "CORE COUNT",
        "HOST START TS", "OP TO OP LATENCY [ns]", "DEVICE KERNEL DURATION [ns]"};
    bool is_old = !has_column(rows, "INPUT_0_X_PAD[LOGICAL]") && has_column(rows, "INPUT_0_X");
    struct bytes text = {0};
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        if (!has_column(rows, wanted[i]))
            append_missing(&text, wanted[i]);
    }
    bool has_arch = has_column(rows, "DEVICE ARCH"),
         has_workers = has_column(rows, "AVAILABLE WORKER CORE COUNT");
    if (has_arch != has_workers) /* the oldest tables have neither */
        append_missing(&text, has_arch ? "AVAILABLE WORKER CORE COUNT" : "DEVICE ARCH");
    append_missing_of_tensor(rows, "INPUT_0", is_old, &text);
    append_missing_of_tensor(rows, "INPUT_1", is_old, &text);
    append_missing_of_tensor(rows, "OUTPUT_0", is_old, &text);
    if (text.length && !text.failed)
        op_rows_add_notice(rows, MISSING_COLUMNS, 1, "line 1: no column %.*s; its values are missing",
                           (int)text.length, (const char *)text.data);
    bytes_free(&text);
}

static void note_repeated_columns(struct op_rows *rows)
{
    for (size_t i = 0; i < op_rows_column_count(rows); i++) {
        const char *name = op_rows_column_name(rows, i);
        size_t first = *name ? op_rows_find_column(rows, name) : i;
        if (first != i)
            op_rows_add_notice(rows, REPEATED_COLUMNS, 1,
                               "line 1: column '%.60s' comes twice, as column %zu and %zu; the first counts",
                               name, first + 1, i + 1);
    }
}

static int read_header(struct op_rows **out, struct ops_csv *csv, const char *path, struct error *err)
{
    int status = csv_next(&csv->reader, err);
    if (status <= 0) {
        if (status == 0)
            status = csv->reader.unclosed_line
                         ? error_set(err, EINVAL, "%s:%" PRIu64 ": a quoted column name is not closed", path,
                                     csv->reader.unclosed_line)
                         : error_set(err, EINVAL, "%s:1: the file is empty: no header, no rows", path);
        close_state(csv);
        return status;
    }
    struct op_rows *rows = op_rows_new(&source, csv, path);
    if (!rows)
        return error_set(err, ENOMEM, "no memory to read %s", path);
    csv->column_count = csv->reader.cell_count;
    for (size_t i = 0; i < csv->column_count && status >= 0; i++)
        status = op_rows_add_column(rows, csv->reader.cells[i].data, csv->reader.cells[i].length, err);
    if (status >= 0)
        status = check_header(rows, err);
    if (status < 0) {
        op_rows_close(rows);
        return status;
    }
    note_repeated_columns(rows);
    note_missing_columns(rows);
    *out = rows;
    return 0;
}

int ops_csv_open(struct op_rows **rows, const char *path, struct error *err)
{
    struct ops_csv *csv = calloc(1, sizeof *csv);
    if (!csv)
        return error_set(err, ENOMEM, "no memory to read %s", path);
    int status = csv_open(&csv->reader, path, err);
    if (status) {
        free(csv);
        return status;
    }
    return read_header(rows, csv, csv->reader.path, err);
}

int ops_csv_open_memory(struct op_rows **rows, const char *path, const void *data, size_t length,
                        struct error *err)
{
    struct ops_csv *csv = calloc(1, sizeof *csv);
    if (!csv)
        return error_set(err, ENOMEM, "no memory to read %s", path);
    int status = csv_open_memory(&csv->reader, path, data, length, err);
    if (status) {
        free(csv);
        return status;
    }
    return read_header(rows, csv, path, err);
}
