/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_load.h"

#include <errno.h>
#include <string.h>

#include "analyze/report/host.h"
#include "import/op_rows.h"
#include "import/tenstorrent/trace.h"

/* 2024's headers call a size INPUT_0_W; newer ones INPUT_0_W_PAD[LOGICAL]. */
static bool has_padded_sizes(const struct op_rows *rows)
{
    for (size_t i = 0; i < op_rows_column_count(rows); i++) {
        if (strstr(op_rows_column_name(rows, i), "_PAD[LOGICAL]"))
            return true;
    }
    return false;
}

static int select_columns(struct op_rows *rows, struct perf *perf, const char *path, struct error *err)
{
    static char buffers[PERF_COLUMNS][40];
    const char *names[PERF_COLUMNS];
    bool has[PERF_COLUMNS];
    bool is_padded = has_padded_sizes(rows);
    for (size_t i = 0; i < PERF_COLUMNS; i++) {
        names[i] = perf_column_name(i, !is_padded, buffers[i], sizeof buffers[i]);
        has[i] = op_rows_find_column(rows, names[i]) != SIZE_MAX;
    }
    int status = perf_begin_file(perf, path, has, !is_padded, is_padded, err);
    if (status)
        return status;
    return op_rows_select(rows, names, PERF_COLUMNS, err);
}

static void take_notices(struct perf *perf, const struct op_rows *rows)
{
    const struct op_row_notice *notice;
    struct bytes text = {0};
    for (size_t i = 0; (notice = op_rows_notice(rows, i)); i++) {
        bytes_clear(&text);
        op_rows_append_notice(rows, notice, &text);
        perf_note(perf, PERF_NOTE_WARN, NULL, "%.*s", text.failed ? 0 : (int)text.length,
                  (const char *)text.data);
    }
    bytes_free(&text);
}

static int read_rows(struct perf *perf, struct op_rows *rows, struct error *err)
{
    struct slice cells[PERF_COLUMNS];
    struct op_row row;
    int status;
    while ((status = op_rows_next(rows, &row, err)) > 0) {
        for (size_t i = 0; i < PERF_COLUMNS; i++)
            cells[i] = (struct slice){row.cells[i].data, row.cells[i].length};
        status = perf_add_row(perf, cells, row.line, err);
        if (status)
            break;
    }
    return status;
}

int report_load(struct perf *perf, const char *path, struct trace **trace, struct error *err)
{
    struct op_rows *rows;
    int status = op_rows_open(&rows, path, err);
    *trace = NULL;
    if (status)
        return status;
    status = select_columns(rows, perf, path, err);
    if (!status)
        status = read_rows(perf, rows, err);
    if (!status)
        status = perf_end_file(perf, err);
    take_notices(perf, rows);
    *trace = op_rows_take_trace(rows);
    op_rows_close(rows);
    return status;
}

int report_find_host_zones(struct perf *perf, const char *path, struct trace *trace, struct error *err)
{
    struct trace *opened = NULL;
    if (!trace && (!tt_is_trace(path) || trace_open(&opened, path, 0, NULL) != 0))
        return 0;
    int status = perf_find_host_zones(perf, trace ? trace : opened, err);
    trace_close(opened);
    return status;
}
