/* SPDX-License-Identifier: Apache-2.0 */
#include "import/op_rows_join.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct source {
    struct op_rows *rows;
    size_t *places; /* of its columns among all; SIZE_MAX: of a name that it has twice, the second */
    size_t device;  /* its column */
};

struct join {
    struct source *sources;
    size_t count, at;
    uint32_t devices;
    char device[16]; /* the cell of the row that was given last */
};

static void close_join(void *state)
{
    struct join *join = state;
    for (size_t i = 0; i < join->count; i++) {
        op_rows_close(join->sources[i].rows);
        free(join->sources[i].places);
    }
    free(join->sources);
    free(join);
}

/* What could not be read of a source that has ended. */
static void add_notices(const struct join *join, struct op_rows *rows)
{
    const struct op_rows *of = join->sources[join->at].rows;
    for (size_t i = 0; i < op_rows_notice_count(of); i++) {
        struct bytes text = {0};
        op_rows_append_notice(of, op_rows_notice(of, i), &text);
        op_rows_add_notice(rows, (uint32_t)(join->at << 8 | i), 0, "%s", bytes_text(&text));
        bytes_free(&text);
    }
}

static int next_row(void *state, struct op_rows *rows, struct slice *cells, uint64_t *line, struct error *err)
{
    struct join *join = state;
    struct op_row row;
    int status = 0;
    while (join->at < join->count && (status = op_rows_next(join->sources[join->at].rows, &row, err)) == 0) {
        add_notices(join, rows);
        join->at++;
    }
    if (status <= 0)
        return status;
    const struct source *source = &join->sources[join->at];
    uint64_t device;
    for (size_t i = 0; i < row.cell_count; i++) {
        if (source->places[i] != SIZE_MAX)
            cells[source->places[i]] = row.cells[i];
    }
    if (source->device < row.cell_count && row.cells[source->device].data &&
        slice_unsigned(slice_trim(row.cells[source->device]), &device) && device < UINT32_MAX) {
        int length = snprintf(join->device, sizeof join->device, "%" PRIu32,
                              (uint32_t)(device + join->at * join->devices));
        cells[source->places[source->device]] = slice_from(join->device, (size_t)length);
    }
    *line = row.line;
    return 1;
}

static int add_columns(struct op_rows *rows, struct source *source, struct error *err)
{
    size_t count = op_rows_column_count(source->rows);
    source->places = malloc((count + 1) * sizeof source->places[0]);
    int status = source->places ? 0 : error_no_memory(err, op_rows_path(source->rows));
    for (size_t i = 0; i < count && !status; i++) {
        const char *name = op_rows_column_name(source->rows, i);
        if (op_rows_find_column(rows, name) == SIZE_MAX)
            status = op_rows_add_column(rows, name, strlen(name), err);
        source->places[i] =
            op_rows_find_column(source->rows, name) == i ? op_rows_find_column(rows, name) : SIZE_MAX;
    }
    source->device = op_rows_find_column(source->rows, "DEVICE ID");
    return status;
}

int op_rows_join(struct op_rows **rows, const char *const *paths, size_t count, uint32_t devices,
                 struct error *err)
{
    static const struct op_rows_source source = {
        .kind = "ops of several files", .next = next_row, .close = close_join};
    struct join *join = calloc(1, sizeof *join);
    *rows = NULL;
    if (join)
        join->sources = calloc(count + 1, sizeof join->sources[0]);
    if (!join || !join->sources) {
        free(join);
        return error_no_memory(err, paths[0]);
    }
    join->devices = devices;
    *rows = op_rows_new(&source, join, paths[0]);
    int status = *rows ? 0 : error_no_memory(err, paths[0]);
    for (; !status && join->count < count; join->count++) {
        status = op_rows_open(&join->sources[join->count].rows, paths[join->count], err);
        if (status)
            break;
        status = add_columns(*rows, &join->sources[join->count], err);
    }
    if (status) {
        op_rows_close(*rows);
        *rows = NULL;
    }
    return status;
}
