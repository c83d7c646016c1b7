/* SPDX-License-Identifier: Apache-2.0 */
/* Which reader a file needs, and from its rows to what is compared. */
#include "cli/diff_load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report/report.h"
#include "analyze/machine_files.h"
#include "cli/overhead_load.h"
#include "import/op_rows.h"
#include "import/overhead_csv.h"
#include "import/tenstorrent/trace.h"
#include "ops/finish.h"
#include "ops/from_trace.h"
#include "trace/reader.h"

int diff_sources_begin(struct diff_sources *sources, struct error *err)
{
    *sources = (struct diff_sources){0};
    return machine_files_read(&sources->machines, NULL, err);
}

void diff_sources_free(struct diff_sources *sources)
{
    machine_set_free(&sources->machines);
    bytes_free(&sources->notes);
}

static void note(struct diff_sources *sources, const char *path, const char *text, uint64_t count)
{
    bool has_path = path && strncmp(text, path, strlen(path)) == 0;
    if (path && !has_path)
        bytes_append_format(&sources->notes, "%s: ", path);
    bytes_append_text(&sources->notes, text);
    if (count > 1)
        bytes_append_format(&sources->notes, " (%llu times in all)", (unsigned long long)count);
    bytes_append_text(&sources->notes, "\n");
}

/* --- tables --- */

static bool has_padded_sizes(const struct op_rows *rows)
{
    for (size_t i = 0; i < op_rows_column_count(rows); i++) {
        if (strstr(op_rows_column_name(rows, i), "_PAD[LOGICAL]"))
            return true;
    }
    return false;
}

/* What a comparison looks at; the rest of the report's columns need not be there, and nothing is said about them. */
static bool is_needed(size_t column)
{
    static const size_t fixed[] = {PERF_OP_CODE,    PERF_OP_TYPE,       PERF_DEVICE,
                                   PERF_HOST_START, PERF_HOST_DURATION, PERF_GAP,
                                   PERF_DURATION,   PERF_LOCATION,      PERF_LAYER};
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        if (column == fixed[i])
            return true;
    }
    return column >= PERF_TENSOR &&
           (column - PERF_TENSOR) % PERF_TENSOR_CELLS < 5; /* sizes and type, not memory */
}

struct columns {
    size_t of_cell[PERF_COLUMNS]; /* the report's column of each selected cell */
    size_t count;
};

static int select_columns(struct op_rows *rows, struct perf *perf, const char *path, struct columns *columns,
                          struct error *err)
{
    char buffers[PERF_COLUMNS][40];
    const char *names[PERF_COLUMNS];
    bool has[PERF_COLUMNS] = {0};
    bool is_padded = has_padded_sizes(rows);
    columns->count = 0;
    for (size_t i = 0; i < PERF_COLUMNS; i++) {
        const char *name = perf_column_name(i, !is_padded, buffers[i], sizeof buffers[i]);
        if (!is_needed(i))
            continue;
        has[i] = op_rows_find_column(rows, name) != SIZE_MAX;
        names[columns->count] = name;
        columns->of_cell[columns->count++] = i;
    }
    int status = perf_begin_file(perf, path, has, !is_padded, is_padded, err);
    return status ? status : op_rows_select(rows, names, columns->count, err);
}

static int read_rows(struct diff *diff, struct perf *perf, struct op_rows *rows,
                     const struct columns *columns, uint32_t **shapes, struct error *err)
{
    struct slice cells[PERF_COLUMNS] = {{0}};
    struct op_row row;
    size_t capacity = 0;
    int status;
    while ((status = op_rows_next(rows, &row, err)) > 0) {
        for (size_t i = 0; i < columns->count; i++)
            cells[columns->of_cell[i]] = (struct slice){row.cells[i].data, row.cells[i].length};
        if (!array_reserve(shapes, &capacity, perf->row_count + 1, sizeof **shapes))
            return error_set(err, ENOMEM, "no memory for %zu ops", perf->row_count);
        (*shapes)[perf->row_count] = diff_shape_of_cells(diff, cells);
        status = perf_add_row(perf, cells, row.line, err);
        if (status)
            break;
    }
    return status;
}

static const char no_column[] = "line 1: no column", duration_column[] = "DEVICE KERNEL DURATION [ns]";

static int load_table(struct diff *diff, int side, const char *path, struct diff_sources *sources,
                      struct error *err)
{
    bool has_window = diff->options.start_signpost || diff->options.end_signpost;
    struct perf_options options = {
        .machines = &sources->machines,
        .ignore_signposts = !has_window,
        .print_signposts = true, /* they hold the two runs together */
        .start_signpost = diff->options.start_signpost,
        .end_signpost = diff->options.end_signpost,
    };
    struct perf perf;
    struct op_rows *rows = NULL;
    struct columns columns;
    uint32_t *shapes = NULL;
    int status = perf_begin(&perf, &options, err);
    if (!status)
        status = op_rows_open(&rows, path, err);
    if (!status)
        status = select_columns(rows, &perf, path, &columns, err);
    if (!status)
        status = read_rows(diff, &perf, rows, &columns, &shapes, err);
    if (!status)
        status = perf_end_file(&perf, err);
    if (!status)
        status = diff_take_perf(diff, side, &perf, shapes, err);
    for (size_t i = 0; rows && i < op_rows_notice_count(rows); i++) {
        const struct op_row_notice *notice = op_rows_notice(rows, i);
        if (strncmp(notice->text, no_column, strlen(no_column)) != 0) /* said below, of what matters here */
            note(sources, path, notice->text, notice->count);
    }
    if (rows && op_rows_find_column(rows, duration_column) == SIZE_MAX && !status)
        note(sources, path, "line 1: no column 'DEVICE KERNEL DURATION [ns]': no op has a time on the device",
             1);
    for (size_t i = 0; i < perf.note_count; i++) {
        if (perf.notes[i].level == PERF_NOTE_WARN)
            note(sources, path, perf.notes[i].text, perf.notes[i].count);
    }
    if (rows && !diff->runs[side].kind)
        diff->runs[side].kind = strcmp(op_rows_kind(rows), "log folder") == 0 ? "log folder" : "ops CSV";
    op_rows_close(rows);
    perf_free(&perf);
    free(shapes);
    return status;
}

/* --- traces --- */

static void note_state(struct diff_sources *sources, const char *path, const struct trace_info *info)
{
    char text[200];
    if (info->lost_zones || info->lost_records) {
        snprintf(text, sizeof text, "%llu zones and %llu other records were lost while it was recorded",
                 (unsigned long long)info->lost_zones, (unsigned long long)info->lost_records);
        note(sources, path, text, 1);
    }
    if (info->damaged_blocks) {
        snprintf(text, sizeof text, "%llu blocks are damaged and left out",
                 (unsigned long long)info->damaged_blocks);
        note(sources, path, text, 1);
    }
    if (!info->is_complete && !info->is_salvaged)
        note(sources, path, "this trace is still being written, or its collector died (see opscope recover)",
             1);
}

static int take_ops(struct diff *diff, int side, struct trace *trace, struct error *err)
{
    struct ops ops;
    ops_init(&ops);
    int status = ops_from_trace(&ops, trace, &(struct ops_wanted){.signposts = true}, err);
    if (!status)
        status = ops_finish(&ops, err);
    if (!status)
        status = diff_take_ops(diff, side, &ops, err);
    ops_free(&ops);
    return status;
}

static int load_trace(struct diff *diff, int side, const char *path, struct diff_sources *sources,
                      struct error *err)
{
    struct trace *trace;
    int status = trace_open(&trace, path, sources->salvage ? TRACE_OPEN_SALVAGE : 0, err);
    if (status)
        return status;
    diff->runs[side].kind = "trace";
    bool is_table = tt_trace_has_table(trace);
    status = is_table ? 0 : take_ops(diff, side, trace, err);
    if (status > 0 || (is_table && !status))
        status = load_table(diff, side, path, sources, err);
    if (!status)
        status = diff_take_zones(diff, side, trace, err);
    if (!status)
        note_state(sources, path, trace_get_info(trace));
    trace_close(trace);
    return status;
}

static int load_overhead(struct diff *diff, int side, const char *path, struct error *err)
{
    struct overhead_run run;
    int status = overhead_load(&run, path, err);
    diff->runs[side].kind = "overhead CSV";
    if (!status)
        status = diff_take_overhead(diff, side, &run, err);
    overhead_run_free(&run);
    return status;
}

int diff_load(struct diff *diff, int side, const char *path, struct diff_sources *sources, struct error *err)
{
    diff->runs[side].path = strdup(path);
    if (!diff->runs[side].path)
        return error_set(err, ENOMEM, "no memory for a path");
    int status = tt_is_trace(path) ? load_trace(diff, side, path, sources, err)
                 : strcmp(path, "-") != 0 && overhead_csv_is_one(path)
                     ? load_overhead(diff, side, path, err)
                     : load_table(diff, side, path, sources, err);
    if (!status)
        diff_sum_run(diff, side);
    return status;
}

int diff_load_side(struct diff *diff, int side, char *const *paths, size_t count,
                   struct diff_sources *sources, struct error *err)
{
    int status = diff_load(diff, side, paths[0], sources, err);
    for (size_t i = 1; i < count && !status; i++) {
        struct diff_run first = diff->runs[side];
        diff->runs[side] = (struct diff_run){0};
        status = diff_load(diff, side, paths[i], sources, err);
        if (!status && strcmp(diff->runs[side].kind, first.kind) != 0)
            status = error_set(err, EINVAL, "%s is a %s, %s a %s: runs of one side must be alike", paths[i],
                               diff->runs[side].kind, first.path, first.kind);
        if (!status) {
            status = diff_keep_extra(diff, side, &first, err);
        } else {
            diff_free_run(&diff->runs[side]);
            diff->runs[side] = first;
        }
    }
    return status;
}

static bool run_has_ops(const struct diff_run *run)
{
    return run->device_op_count + run->host_op_count > 0;
}

int diff_check_kinds(const struct diff *diff, struct error *err)
{
    const struct diff_run *a = &diff->runs[DIFF_A], *b = &diff->runs[DIFF_B];
    bool is_call[2] = {strcmp(a->kind, "overhead CSV") == 0, strcmp(b->kind, "overhead CSV") == 0};
    if (is_call[0] != is_call[1])
        return error_set(
            err, EINVAL,
            "%s holds host dispatch times (an overhead CSV), %s ops (a %s): compare like with like",
            is_call[0] ? a->path : b->path, is_call[0] ? b->path : a->path, is_call[0] ? b->kind : a->kind);
    if (is_call[0])
        return 0;
    for (int side = 0; side < DIFF_SIDES; side++) {
        const struct diff_run *run = &diff->runs[side];
        if (!run_has_ops(run) && !run->zone_count)
            return error_set(err, EINVAL, "%s (%s) has neither ops nor zones: there is nothing to compare",
                             run->path, run->kind);
    }
    if (!(run_has_ops(a) && run_has_ops(b)) && !(a->zone_count && b->zone_count))
        return error_set(err, EINVAL, "%s has only %s, %s only %s: there is nothing to compare", a->path,
                         run_has_ops(a) ? "ops" : "zones", b->path, run_has_ops(b) ? "ops" : "zones");
    return 0;
}
