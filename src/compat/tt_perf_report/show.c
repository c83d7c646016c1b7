/* SPDX-License-Identifier: Apache-2.0 */
/* From files to the report, and which of the original's outputs goes where. */
#include <errno.h>
#include <string.h>

#include "base/count_of.h"
#include "compat/tt_perf_report/ttpr.h"
#include "import/op_rows.h"
#include "present/output.h"
#include "present/report/files.h"

/* --- reading --- */

/* 2024's headers call a size INPUT_0_W; newer ones INPUT_0_W_PAD[LOGICAL]. */
static bool has_padded_sizes(const struct op_rows *rows)
{
    for (size_t i = 0; i < op_rows_column_count(rows); i++) {
        if (strstr(op_rows_column_name(rows, i), "_PAD[LOGICAL]"))
            return true;
    }
    return false;
}

static int select_columns(struct ttpr *perf, struct op_rows *rows, const char *path, struct error *err)
{
    char buffers[TTPR_COLUMNS][40];
    const char *names[TTPR_COLUMNS];
    bool has[TTPR_COLUMNS];
    bool is_old = !has_padded_sizes(rows);
    for (size_t i = 0; i < TTPR_COLUMNS; i++) {
        names[i] = ttpr_column_name(i, is_old, buffers[i], sizeof buffers[i]);
        has[i] = op_rows_find_column(rows, names[i]) != SIZE_MAX;
    }
    int status = ttpr_begin_file(perf, path, has, is_old, err);
    return status ? status : op_rows_select(rows, names, TTPR_COLUMNS, err);
}

static int read_file(struct ttpr *perf, const char *path, struct error *err)
{
    struct op_rows *rows;
    struct op_row row;
    struct bytes text = {0};
    const struct op_row_notice *notice;
    int status = op_rows_open(&rows, path, err);
    if (status)
        return status;
    status = select_columns(perf, rows, path, err);
    while (!status && (status = op_rows_next(rows, &row, err)) > 0)
        status = ttpr_add_row(perf, row.cells, row.line, err);
    if (!status)
        status = ttpr_end_file(perf, err);
    for (size_t i = 0; (notice = op_rows_notice(rows, i)); i++) {
        bytes_clear(&text);
        op_rows_append_notice(rows, notice, &text);
        ttpr_note(perf, PERF_NOTE_WARN, NULL, "%.*s", text.failed ? 0 : (int)text.length,
                  (const char *)text.data);
    }
    bytes_free(&text);
    op_rows_close(rows);
    return status;
}

static int make_report(struct ttpr *perf, struct error *err)
{
    int status = 0;
    for (size_t i = 0; i < perf->request->path_count && !status; i++)
        status = read_file(perf, perf->request->paths[i], err);
    if (!status)
        status = ttpr_sort_rows(perf, err);
    if (!status) {
        ttpr_apply_signposts(perf);
        status = ttpr_merge(perf, err);
    }
    if (!status)
        status = ttpr_fill_figures(perf, err);
    if (!status)
        status = ttpr_make_groups(perf, err);
    if (!status && (perf->failed || perf->notes->failed))
        status = error_set(err, ENOMEM, "no memory for the report of %zu ops", perf->row_count);
    return status;
}

/* --- writing --- */

static int write_ops_csv(const void *perf, FILE *out, struct error *err)
{
    return ttpr_write_csv(perf, out, err);
}

static int write_groups_csv(const void *perf, FILE *out, struct error *err)
{
    return ttpr_write_groups_csv(perf, out, err);
}

static int write_text(const void *context, FILE *out, struct error *err)
{
    const struct ttpr *perf = context;
    int status = ttpr_write_table(perf, output_may_colour(out, perf->request->colour), out, err);
    if (!status && perf->request->has_groups && perf->groups.count)
        status = ttpr_write_groups(perf, out, err);
    return status;
}

static int write_all(struct ttpr *perf, struct error *err)
{
    const struct ttpr_request *request = perf->request;
    const struct perf_files files = {request->paths, request->path_count};
    const struct perf_group_files group_files = {.base = request->summary_file,
                                                 .table = request->is_csv ? request->output : NULL,
                                                 .groups = &perf->groups,
                                                 .is_classic = request->has_classic_colours};
    int status = 0;
    if (request->is_csv)
        status = perf_write_file(&files, request->output, write_ops_csv, perf, err);
    if (status)
        return status;
    if (perf->count == 0) {
        perf_notes_add(perf->notes, PERF_NOTE_INFO, NULL, "no ops are left to show");
        return 0;
    }
    if (!request->is_csv)
        status = perf_write_file(&files, request->output, write_text, perf, err);
    if (!status && perf->groups.count && request->has_groups)
        status = perf_write_group_files(&files, &group_files, write_groups_csv, perf, err);
    else if (!status && request->has_groups)
        perf_notes_add(perf->notes, PERF_NOTE_INFO, NULL, "no ops to group");
    return status;
}

bool ttpr_version_of(const char *text, enum ttpr_version *version)
{
    static const char *const versions[] = {[TTPR_1_2_4] = "1.2.4", [TTPR_1_4_1] = "1.4.1"};
    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        if (strcmp(versions[i], text) == 0) {
            *version = (enum ttpr_version)i;
            return true;
        }
    }
    return false;
}

int ttpr_report(const struct ttpr_request *request, struct perf_notes *notes, struct error *err)
{
    struct ttpr perf = {
        .request = request, .notes = notes, .arch_text = TTPR_NO_TEXT, .devices_per_file = -1};
    int status = make_report(&perf, err);
    if (!status)
        status = write_all(&perf, err);
    ttpr_free(&perf);
    return status;
}
