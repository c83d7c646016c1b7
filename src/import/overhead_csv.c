/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of dispatch times, on top of csv/reader.h. A table says of each column what it is called and what
 * its cells are; the columns' places are looked up once, in the heading. */
#include "import/overhead_csv.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "ops/overhead_columns.h"
#include "text/csv/reader.h"

#define LONGEST_NUMBER 64u
#define LONGEST_SHOWN 40 /* of a cell in a message */
#define VENDOR_ROUNDING_MS 0.0005
#define NS_PER_MS 1e6

enum column {
    COLUMN_OP,
    COLUMN_COUNT,
    COLUMN_MIN,
    COLUMN_MEAN,
    COLUMN_TOTAL,
    COLUMN_NATIVE,
    COLUMN_GROUP,
    COLUMN_STATE,
    COLUMN_REASON,
    COLUMN_REPEATS,
    COLUMN_MIN_NS,
    COLUMN_FLOOR_NS,
    COLUMN_MEAN_NS,
    COLUMN_TOTAL_NS,
    COLUMN_P50_NS,
    COLUMN_P99_NS,
    COLUMN_CI_LOW_NS,
    COLUMN_CI_HIGH_NS,
    COLUMN_NATIVE_NS,
    COLUMNS
};

enum cell_kind { CELL_TEXT, CELL_COUNT, CELL_TIME };

static const struct {
    const char *name;
    enum cell_kind kind;
    double unit_ns;
    size_t offset; /* in struct overhead_csv_row */
} columns[COLUMNS] = {
#define FIELD(field) offsetof(struct overhead_csv_row, field)
    [COLUMN_OP] = {OVERHEAD_COLUMN_OP, CELL_TEXT, 0, FIELD(name)},
    [COLUMN_COUNT] = {OVERHEAD_COLUMN_COUNT, CELL_COUNT, 0, FIELD(count)},
    [COLUMN_MIN] = {OVERHEAD_COLUMN_MIN, CELL_TIME, NS_PER_MS, FIELD(min_ns)},
    [COLUMN_MEAN] = {OVERHEAD_COLUMN_MEAN, CELL_TIME, NS_PER_MS, FIELD(mean_ns)},
    [COLUMN_TOTAL] = {OVERHEAD_COLUMN_TOTAL, CELL_TIME, NS_PER_MS, FIELD(mean_total_ns)},
    [COLUMN_NATIVE] = {OVERHEAD_COLUMN_NATIVE, CELL_TIME, NS_PER_MS, FIELD(native_ns)},
    [COLUMN_GROUP] = {OVERHEAD_COLUMN_GROUP, CELL_TEXT, 0, FIELD(group)},
    [COLUMN_STATE] = {OVERHEAD_COLUMN_STATE, CELL_TEXT, 0, FIELD(state)},
    [COLUMN_REASON] = {OVERHEAD_COLUMN_REASON, CELL_TEXT, 0, FIELD(reason)},
    [COLUMN_REPEATS] = {OVERHEAD_COLUMN_REPEATS, CELL_COUNT, 0, FIELD(repeats)},
    /* The exact ones come after the rounded ones and take their place. */
    [COLUMN_MIN_NS] = {OVERHEAD_COLUMN_MIN_NS, CELL_TIME, 1, FIELD(min_ns)},
    [COLUMN_FLOOR_NS] = {OVERHEAD_COLUMN_FLOOR_NS, CELL_TIME, 1, FIELD(floor_ns)},
    [COLUMN_MEAN_NS] = {OVERHEAD_COLUMN_MEAN_NS, CELL_TIME, 1, FIELD(mean_ns)},
    [COLUMN_TOTAL_NS] = {OVERHEAD_COLUMN_TOTAL_NS, CELL_TIME, 1, FIELD(mean_total_ns)},
    [COLUMN_P50_NS] = {OVERHEAD_COLUMN_P50_NS, CELL_TIME, 1, FIELD(p50_ns)},
    [COLUMN_P99_NS] = {OVERHEAD_COLUMN_P99_NS, CELL_TIME, 1, FIELD(p99_ns)},
    [COLUMN_CI_LOW_NS] = {OVERHEAD_COLUMN_CI_LOW_NS, CELL_TIME, 1, FIELD(ci_low_ns)},
    [COLUMN_CI_HIGH_NS] = {OVERHEAD_COLUMN_CI_HIGH_NS, CELL_TIME, 1, FIELD(ci_high_ns)},
    [COLUMN_NATIVE_NS] = {OVERHEAD_COLUMN_NATIVE_NS, CELL_TIME, 1, FIELD(native_ns)},
#undef FIELD
};

struct overhead_csv {
    struct csv_reader reader;
    size_t places[COLUMNS]; /* SIZE_MAX: not there */
    size_t cell_count;      /* of the heading */
    struct intern names;
    uint64_t *lines; /* by name id: where it came first */
    size_t line_capacity;
};

/* Equal but for spaces: the vendor puts one before some brackets and none before others. */
static bool is_called(struct slice cell, const char *name)
{
    size_t at = 0;
    for (;;) {
        while (at < cell.length && (cell.data[at] == ' ' || cell.data[at] == '\t'))
            at++;
        while (*name == ' ')
            name++;
        if (at == cell.length || !*name)
            return at == cell.length && !*name;
        if (cell.data[at++] != *name++)
            return false;
    }
}

static int refuse(const struct overhead_csv *csv, enum column column, const char *what, struct slice cell,
                  struct error *err)
{
    int shown = cell.length > LONGEST_SHOWN ? LONGEST_SHOWN : (int)cell.length;
    return error_set(err, EINVAL, "%s:%" PRIu64 ":%zu: %s: %s \"%.*s\"", csv->reader.path, csv->reader.line,
                     csv->places[column] + 1, columns[column].name, what, shown, cell.data ? cell.data : "");
}

static int read_heading(struct overhead_csv *csv, struct error *err)
{
    int status = csv_next(&csv->reader, err);
    if (status < 0)
        return status;
    if (status == 0)
        return error_set(err, EINVAL, "%s: empty: a heading with op and %s was expected", csv->reader.path,
                         columns[COLUMN_MIN].name);
    csv->cell_count = csv->reader.cell_count;
    for (size_t c = 0; c < COLUMNS; c++) {
        csv->places[c] = SIZE_MAX;
        for (size_t i = 0; i < csv->cell_count; i++) {
            if (!is_called(csv->reader.cells[i], columns[c].name))
                continue;
            if (csv->places[c] != SIZE_MAX)
                return error_set(err, EINVAL, "%s:%" PRIu64 ":%zu: a second column \"%s\"", csv->reader.path,
                                 csv->reader.line, i + 1, columns[c].name);
            csv->places[c] = i;
        }
    }
    if (csv->places[COLUMN_OP] == SIZE_MAX)
        return error_set(err, EINVAL, "%s:%" PRIu64 ": no column \"op\": not a CSV of dispatch times",
                         csv->reader.path, csv->reader.line);
    if (csv->places[COLUMN_MIN] == SIZE_MAX && csv->places[COLUMN_MIN_NS] == SIZE_MAX)
        return error_set(err, EINVAL, "%s:%" PRIu64 ": no column \"%s\": there is nothing to compare with",
                         csv->reader.path, csv->reader.line, columns[COLUMN_MIN].name);
    return 0;
}

static int make(struct overhead_csv **out, struct error *err)
{
    *out = calloc(1, sizeof **out);
    return *out ? 0 : error_set(err, ENOMEM, "no memory to read dispatch times");
}

static int begin(struct overhead_csv **out, int status, struct error *err)
{
    if (!status)
        status = read_heading(*out, err);
    if (status) {
        overhead_csv_close(*out);
        *out = NULL;
    }
    return status;
}

int overhead_csv_open(struct overhead_csv **out, const char *path, struct error *err)
{
    int status = make(out, err);
    return status ? status : begin(out, csv_open(&(*out)->reader, path, err), err);
}

int overhead_csv_open_memory(struct overhead_csv **out, const char *path, const void *data, size_t length,
                             struct error *err)
{
    int status = make(out, err);
    return status ? status : begin(out, csv_open_memory(&(*out)->reader, path, data, length, err), err);
}

void overhead_csv_close(struct overhead_csv *csv)
{
    if (!csv)
        return;
    csv_close(&csv->reader);
    intern_free(&csv->names);
    free(csv->lines);
    free(csv);
}

bool overhead_csv_is_one(const char *path)
{
    struct overhead_csv *csv;
    if (overhead_csv_open(&csv, path, NULL) != 0)
        return false;
    overhead_csv_close(csv);
    return true;
}

/* A decimal number and nothing else: strtod alone would take "0x1" and "nan". */
static bool read_number(struct slice cell, double *value)
{
    char text[LONGEST_NUMBER + 1], *end;
    if (cell.length == 0 || cell.length > LONGEST_NUMBER)
        return false;
    memcpy(text, cell.data, cell.length);
    text[cell.length] = '\0';
    if (strspn(text, "+-.0123456789eE") != cell.length)
        return false;
    *value = strtod(text, &end);
    return end == text + cell.length && isfinite(*value);
}

static int read_cell(const struct overhead_csv *csv, enum column column, struct slice cell,
                     struct overhead_csv_row *row, struct error *err)
{
    char *field = (char *)row + columns[column].offset;
    double value;
    if (columns[column].kind == CELL_TEXT) {
        struct slice text = {cell.data, cell.length};
        memcpy(field, &text, sizeof text);
        return 0;
    }
    if (cell.length == 0)
        return 0;
    if (!read_number(cell, &value))
        return refuse(csv, column, "not a number:", cell, err);
    if (value < 0)
        return refuse(csv, column, "a negative value cannot be:", cell, err);
    if (columns[column].kind == CELL_COUNT) {
        if (value != floor(value) || value > 9e15)
            return refuse(csv, column, "not a count:", cell, err);
        uint64_t count = (uint64_t)value;
        memcpy(field, &count, sizeof count);
        return 0;
    }
    value = rint(value * columns[column].unit_ns * 1e3) / 1e3; /* 4.02 ms are 4020000 ns, not a digit less */
    memcpy(field, &value, sizeof value);
    if (column == COLUMN_MIN)
        row->rounding_ns = VENDOR_ROUNDING_MS * NS_PER_MS;
    else if (column == COLUMN_MIN_NS)
        row->rounding_ns = 0;
    return 0;
}

/* The op's name: there, and only once. */
static int take_name(struct overhead_csv *csv, struct slice cell, struct error *err)
{
    size_t known = csv->names.count;
    if (cell.length == 0)
        return refuse(csv, COLUMN_OP, "an op without a name:", cell, err);
    if (memchr(cell.data, '\0', cell.length))
        return refuse(csv, COLUMN_OP, "a NUL byte in the name of an op:", cell, err);
    uint32_t id = intern_add(&csv->names, cell.data, cell.length);
    if (id == INTERN_NONE ||
        !array_reserve(&csv->lines, &csv->line_capacity, csv->names.count, sizeof *csv->lines))
        return error_set(err, ENOMEM, "no memory for the names in %s", csv->reader.path);
    if (id < known) {
        int shown = cell.length > LONGEST_SHOWN ? LONGEST_SHOWN : (int)cell.length;
        return error_set(
            err, EINVAL,
            "%s:%" PRIu64 ":%zu: op \"%.*s\" was there on line %" PRIu64 " already: keep one of the two",
            csv->reader.path, csv->reader.line, csv->places[COLUMN_OP] + 1, shown, cell.data, csv->lines[id]);
    }
    csv->lines[id] = csv->reader.line;
    return 0;
}

/* A row of an op that could not be measured has no times; any other must have one. */
static int check_row(const struct overhead_csv *csv, const struct overhead_csv_row *row, struct error *err)
{
    static const char measured[] = "measured";
    bool is_measured =
        row->state.length == 0 || (row->state.length == sizeof measured - 1 &&
                                   memcmp(row->state.data, measured, sizeof measured - 1) == 0);
    enum column column = csv->places[COLUMN_MIN] != SIZE_MAX ? COLUMN_MIN : COLUMN_MIN_NS;
    if (is_measured && isnan(row->min_ns))
        return refuse(csv, column, "no time for op", (struct slice){row->name.data, row->name.length}, err);
    return 0;
}

int overhead_csv_next(struct overhead_csv *csv, struct overhead_csv_row *row, struct error *err)
{
    int status = csv_next(&csv->reader, err);
    *row = (struct overhead_csv_row){.min_ns = NAN,
                                     .floor_ns = NAN,
                                     .mean_ns = NAN,
                                     .mean_total_ns = NAN,
                                     .native_ns = NAN,
                                     .p50_ns = NAN,
                                     .p99_ns = NAN,
                                     .ci_low_ns = NAN,
                                     .ci_high_ns = NAN};
    if (status == 0 && csv->reader.unclosed_line)
        return error_set(err, EINVAL, "%s:%" PRIu64 ": a quote that is never closed", csv->reader.path,
                         csv->reader.unclosed_line);
    if (status <= 0)
        return status;
    row->line = csv->reader.line;
    if (csv->reader.cell_count > csv->cell_count)
        return error_set(err, EINVAL, "%s:%" PRIu64 ":%zu: more cells than the heading has columns",
                         csv->reader.path, csv->reader.line, csv->cell_count + 1);
    for (size_t c = 0; c < COLUMNS; c++) {
        if (csv->places[c] == SIZE_MAX || csv->places[c] >= csv->reader.cell_count)
            continue;
        struct slice cell = slice_trim(csv->reader.cells[csv->places[c]]);
        status = read_cell(csv, (enum column)c, cell, row, err);
        if (status)
            return status;
    }
    status = take_name(csv, (struct slice){row->name.data, row->name.length}, err);
    if (!status)
        status = check_row(csv, row, err);
    return status ? status : 1;
}
