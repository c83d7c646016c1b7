/* SPDX-License-Identifier: Apache-2.0 */
/* Op rows of a trace that opscope recorded: what its ops and runs tell, under the names that vendors' tables
 * have for it. Only columns that some row fills are there.
 *
 * An op with several runs (replay, several devices) has a row for each; gaps are from the end of one run to the
 * start of the next on the same track.
 *
 * A trace may hold millions of ops. What is kept of each is 112 bytes of numbers (op, run, row), and texts are kept
 * once for all ops that say the same (recorded_read.h); numbers become text when their row is asked for. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/recorded_read.h"
#include "import/tenstorrent/join.h"
#include "import/tenstorrent/row_writer.h"
#include "import/tenstorrent/trace.h"

struct op {
    uint64_t call, start_ns, duration_ns;
    uint32_t record;
    uint32_t run; /* the run on its own row; TT_NONE */
    uint32_t process;
    bool has_end;
};

struct run {
    uint64_t start, end; /* ticks */
    uint64_t duration_ns;
    int64_t gap_ns;
    uint32_t op, cores, session;
    bool has_gap;
};

/* A run whose op has a row already: a replay, another device. */
struct further_run {
    uint64_t call, start_ns;
    uint32_t run, session;
};

struct table {
    struct tt_model model; /* columns, texts, signposts, rows */
    struct recorded_records records;
    struct op *ops;
    size_t op_count, op_capacity;
    struct run *runs;
    size_t run_count, run_capacity;
    struct tt_row_writer row;
    size_t next_row;
};

struct end_of_track {
    uint64_t end_ns;
    bool has_end;
};

struct reader {
    struct table *table;
    struct trace *trace;
    struct recorded_calls calls;
    uint32_t last_op;          /* of the run before; TT_NONE */
    struct end_of_track *ends; /* by track */
    size_t track_count;
    struct further_run *further;
    size_t further_count, further_capacity;
};

/* --- from the trace --- */

static bool fail(struct reader *r)
{
    r->table->model.failed = true;
    return false;
}

static bool read_op(void *context, const struct trace_rows *rows, size_t i)
{
    struct reader *r = context;
    struct table *table = r->table;
    const struct trace_op *from = &rows->ops[i];
    struct tt_map *calls = recorded_calls_of(&r->calls, from->process);
    if (tt_map_get(calls, from->call) != TT_NONE)
        return true; /* a call number that comes again: damaged */
    if (table->op_count >= TT_NONE - 1 || !tt_map_put(calls, from->call, (uint32_t)table->op_count) ||
        !array_reserve(&table->ops, &table->op_capacity, table->op_count + 1, sizeof table->ops[0]))
        return fail(r);
    table->ops[table->op_count++] =
        (struct op){.call = from->call,
                    .start_ns = from->start_ns,
                    .duration_ns = from->end_ns > from->start_ns ? from->end_ns - from->start_ns : 0,
                    .record = recorded_record(&table->records, from),
                    .run = TT_NONE,
                    .process = from->process,
                    .has_end = from->end_ns != 0};
    return !table->model.failed;
}

/* Devices mostly run ops in the order in which they were called: the one behind the last is tried first. */
static uint32_t op_of(struct reader *r, const struct trace_run *run)
{
    const struct table *table = r->table;
    uint32_t next = r->last_op + 1;
    if (run->call == 0)
        return TT_NONE;
    if (next >= table->op_count || table->ops[next].call != run->call ||
        table->ops[next].process != run->process)
        next = tt_map_get(recorded_calls_of(&r->calls, run->process), run->call);
    r->last_op = next;
    return next;
}

static bool read_run(void *context, const struct trace_rows *rows, size_t i)
{
    struct reader *r = context;
    struct table *table = r->table;
    const struct trace_run *from = &rows->runs[i];
    const struct trace_track *track = trace_get_track(r->trace, from->track);
    uint32_t clock = track ? track->clock : TRACE_HOST_CLOCK, index = (uint32_t)table->run_count;
    uint64_t start_ns = trace_host_ns(r->trace, clock, from->start);
    uint64_t end_ns = trace_host_ns(r->trace, clock, from->start + from->duration);
    struct run run = {.start = from->start,
                      .end = from->start + from->duration,
                      .duration_ns = end_ns > start_ns ? end_ns - start_ns : 0,
                      .op = op_of(r, from),
                      .cores = from->cores,
                      .session = from->session};
    if (from->track < r->track_count) {
        struct end_of_track *last = &r->ends[from->track];
        run.has_gap = true;
        run.gap_ns = last->has_end ? (int64_t)(start_ns - last->end_ns) : 0;
        *last = (struct end_of_track){end_ns, true};
    }
    if (index >= TT_NONE - 1 ||
        !array_reserve(&table->runs, &table->run_capacity, table->run_count + 1, sizeof table->runs[0]))
        return fail(r);
    table->runs[table->run_count++] = run;
    if (run.op == TT_NONE)
        return true;
    if (!run.session && table->ops[run.op].run == TT_NONE) {
        table->ops[run.op].run = index;
        return true;
    }
    if (!array_reserve(&r->further, &r->further_capacity, r->further_count + 1, sizeof r->further[0]))
        return fail(r);
    r->further[r->further_count++] = (struct further_run){from->call, start_ns, index, run.session};
    return true;
}

static bool read_point(void *context, const struct trace_rows *rows, size_t i)
{
    struct reader *r = context;
    return recorded_add_signpost(&r->table->model, &rows->points[i]);
}

static int compare_further(const void *left, const void *right)
{
    const struct further_run *a = left, *b = right;
    if (a->call != b->call)
        return a->call < b->call ? -1 : 1;
    if (a->session != b->session)
        return a->session < b->session ? -1 : 1;
    return (a->run > b->run) - (a->run < b->run);
}

/* Ops, further runs, signposts; then by time. */
static void make_rows(struct reader *r)
{
    struct table *table = r->table;
    struct tt_model *model = &table->model;
    size_t count = table->op_count + r->further_count + model->signpost_count;
    if (!array_reserve(&model->rows, &model->row_capacity, count + 1, sizeof model->rows[0])) {
        model->failed = true;
        return;
    }
    for (uint32_t i = 0; i < table->op_count; i++)
        model->rows[model->row_count++] =
            (struct tt_row){table->ops[i].start_ns, i, table->ops[i].run, TT_NONE};
    if (r->further_count)
        qsort(r->further, r->further_count, sizeof r->further[0], compare_further);
    for (size_t i = 0; i < r->further_count; i++) {
        uint32_t run = r->further[i].run;
        model->rows[model->row_count++] =
            (struct tt_row){r->further[i].start_ns, table->runs[run].op, run, TT_NONE};
    }
    for (uint32_t i = 0; i < model->signpost_count; i++)
        model->rows[model->row_count++] = (struct tt_row){model->signposts[i].time_ns, TT_NONE, TT_NONE, i};
    tt_sort_rows(model);
}

static int read_all(struct table *table, struct trace *trace, struct error *err)
{
    struct reader reader = {
        .table = table, .trace = trace, .last_op = TT_NONE, .track_count = trace_track_count(trace)};
    int result = 0;
    table->records = (struct recorded_records){.model = &table->model, .trace = trace};
    reader.ends = calloc(reader.track_count + 1, sizeof reader.ends[0]);
    if (!recorded_calls_init(&reader.calls, trace) || !reader.ends)
        fail(&reader);
    else
        result = recorded_each(trace, TRACE_BLOCK_OPS, read_op, &reader, err);
    if (result == 0 && !table->model.failed)
        result = recorded_each(trace, TRACE_BLOCK_RUNS, read_run, &reader, err);
    if (result == 0 && !table->model.failed)
        result = recorded_each(trace, TRACE_BLOCK_POINTS, read_point, &reader, err);
    recorded_calls_free(&reader.calls);
    recorded_end_reading(&table->records);
    if (result == 0 && !table->model.failed)
        make_rows(&reader);
    free(reader.ends);
    free(reader.further);
    return result == 0 ? tt_model_check(&table->model, err) : result;
}

/* --- columns --- */

static void find_used(const struct table *table, bool *is_used)
{
    const struct tt_model *model = &table->model;
    is_used[OP_COLUMN_ID_CALL] = true;
    for (size_t i = 0; i < table->records.piece_count; i++)
        tt_row_mark_cells(is_used, &table->records.pieces[i]);
    for (size_t i = 0; i < table->op_count; i++)
        is_used[table->ops[i].has_end ? OP_COLUMN_ID_HOST_START : OP_COLUMN_ID_NOTE] = true;
    is_used[OP_COLUMN_ID_HOST_END] = is_used[OP_COLUMN_ID_HOST_DURATION] = is_used[OP_COLUMN_ID_HOST_START];
    if (table->run_count)
        is_used[OP_COLUMN_ID_FW_START] = is_used[OP_COLUMN_ID_FW_END] = is_used[OP_COLUMN_ID_FW] =
            is_used[OP_COLUMN_ID_KERNEL] = true;
    for (size_t i = 0; i < table->run_count; i++) {
        is_used[OP_COLUMN_ID_CORE_COUNT] |= table->runs[i].cores > 0;
        is_used[OP_COLUMN_ID_OP_TO_OP] |= table->runs[i].has_gap;
        is_used[OP_COLUMN_ID_TRACE_SESSION] |= table->runs[i].session > 0;
    }
    if (model->signpost_count)
        is_used[OP_COLUMN_ID_OP_CODE] = is_used[OP_COLUMN_ID_OP_TYPE] = is_used[OP_COLUMN_ID_ATTRIBUTES] =
            is_used[OP_COLUMN_ID_HOST_START] = true;
}

static int declare_columns(struct table *table, struct op_rows *rows, struct error *err)
{
    const struct intern *columns = &table->model.columns;
    bool *is_used = calloc(columns->count, sizeof is_used[0]);
    if (!is_used)
        return error_set_errno(err, ENOMEM, "%zu columns", columns->count);
    find_used(table, is_used);
    int result = tt_row_declare(&table->row, rows, columns, is_used, err);
    free(is_used);
    return result;
}

/* --- rows --- */

static void set_op(struct table *table, const struct op *op)
{
    static const char no_times[] = "no host times";
    struct tt_row_writer *row = &table->row;
    const struct recorded_record *record = &table->records.records[op->record];
    const uint32_t *pieces = table->records.piece_ids + record->first;
    for (uint32_t i = 0; i < record->count; i++)
        tt_row_set_cells(row, &table->records.pieces[pieces[i]], true);
    tt_row_set_number(row, OP_COLUMN_ID_CALL, op->call);
    if (op->has_end) {
        tt_row_set_number(row, OP_COLUMN_ID_HOST_START, op->start_ns);
        tt_row_set_number(row, OP_COLUMN_ID_HOST_END, op->start_ns + op->duration_ns);
        tt_row_set_number(row, OP_COLUMN_ID_HOST_DURATION, op->duration_ns);
    }
    tt_row_set_cell(row, OP_COLUMN_ID_NOTE, no_times, op->has_end ? 0 : sizeof no_times - 1);
}

static void set_run(struct table *table, const struct run *run)
{
    struct tt_row_writer *row = &table->row;
    tt_row_set_number(row, OP_COLUMN_ID_FW_START, run->start);
    tt_row_set_number(row, OP_COLUMN_ID_FW_END, run->end);
    tt_row_set_number(row, OP_COLUMN_ID_FW, run->duration_ns);
    tt_row_set_number(row, OP_COLUMN_ID_KERNEL, run->duration_ns);
    if (run->cores)
        tt_row_set_number(row, OP_COLUMN_ID_CORE_COUNT, run->cores);
    if (run->has_gap && run->gap_ns >= 0) {
        tt_row_set_number(row, OP_COLUMN_ID_OP_TO_OP, (uint64_t)run->gap_ns);
    } else if (run->has_gap) {
        char text[24];
        int length = snprintf(text, sizeof text, "%" PRId64, run->gap_ns);
        tt_row_set_text(row, OP_COLUMN_ID_OP_TO_OP, text, (size_t)length);
    }
    if (run->session)
        tt_row_set_number(row, OP_COLUMN_ID_TRACE_SESSION, run->session);
}

static int next(void *state, struct op_rows *rows, struct slice *cells, uint64_t *line, struct error *err)
{
    const size_t numbers_bytes = 16 * 24; /* more than there are, with all their digits */
    struct table *table = state;
    (void)rows;
    (void)line;
    if (table->next_row >= table->model.row_count)
        return 0;
    const struct tt_row *row = &table->model.rows[table->next_row++];
    const struct tt_signpost *signpost =
        row->signpost == TT_NONE ? NULL : &table->model.signposts[row->signpost];
    size_t need = numbers_bytes + (signpost ? signpost->header.length + signpost->text.length : 0);
    if (!tt_row_begin(&table->row, cells, need))
        return error_set_errno(err, ENOMEM, "row %zu", table->next_row);
    if (signpost) {
        tt_row_set_signpost(&table->row, signpost);
        tt_row_set_cell(&table->row, OP_COLUMN_ID_OP_CODE, signpost->header.data, signpost->header.length);
        tt_row_set_cell(&table->row, OP_COLUMN_ID_NOTE, "", 0);
    }
    if (row->op != TT_NONE)
        set_op(table, &table->ops[row->op]);
    if (row->run != TT_NONE)
        set_run(table, &table->runs[row->run]);
    return 1;
}

static void close_table(void *state)
{
    struct table *table = state;
    tt_model_free(&table->model);
    recorded_records_free(&table->records);
    tt_row_writer_free(&table->row);
    free(table->ops);
    free(table->runs);
    free(table);
}

int recorded_rows_open(struct op_rows **rows, const char *path, struct trace *trace, struct error *err)
{
    static const struct op_rows_source source = {.kind = "trace", .next = next, .close = close_table};
    struct table *table = calloc(1, sizeof *table);
    *rows = NULL;
    if (!table)
        return error_set_errno(err, ENOMEM, "%s", path);
    tt_model_init(&table->model);
    int result = read_all(table, trace, err);
    if (result != 0) {
        close_table(table);
        error_prefix(err, "%s", path);
        return result;
    }
    *rows = op_rows_new(&source, table, path);
    result = *rows ? declare_columns(table, *rows, err) : error_set_errno(err, ENOMEM, "%s", path);
    if (result != 0) {
        op_rows_close(*rows);
        *rows = NULL;
    }
    return result;
}
