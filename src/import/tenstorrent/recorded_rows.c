/* SPDX-License-Identifier: Apache-2.0 */
/* Op rows of a trace that opscope recorded: the lines of the op model, under the names that the vendor's table has for
 * what they say. Only columns that some row fills are there. Numbers and texts are made when their row is asked for. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/tenstorrent/recorded_cells.h"
#include "import/tenstorrent/row_writer.h"
#include "import/tenstorrent/trace.h"
#include "ops/finish.h"
#include "ops/from_trace.h"

struct table {
    struct tt_model model; /* columns */
    struct ops ops;
    struct recorded_cells cells;
    struct tt_row_writer row;
    size_t next_line;
};

/* --- columns --- */

static void mark(void *context, uint32_t column, struct slice text)
{
    struct bytes *is_used = context; /* columns may be new: one byte each */
    (void)text;
    while (is_used->length <= column && !is_used->failed)
        bytes_append_u8(is_used, 0);
    if (!is_used->failed)
        is_used->data[column] = 1;
}

static void mark_if(struct bytes *is_used, uint32_t column, bool is_filled)
{
    if (is_filled)
        mark(is_used, column, slice_of(""));
}

static void find_used(struct table *table, struct bytes *is_used)
{
    const struct ops *ops = &table->ops;
    bool has_signposts = ops->signpost_count > 0, has_ended = false, is_open = false, has_device = false;
    bool has_cores = false, has_gap = false, has_session = false;
    for (size_t i = 0; i < ops->call_count; i++) {
        bool has_end = !(ops->calls[i].faults & OP_FAULT_OPEN);
        has_ended |= has_end;
        is_open |= !has_end;
        has_device |= ops->calls[i].device != OPS_NONE;
    }
    for (size_t i = 0; i < ops->run_count; i++) {
        has_cores |= ops->runs[i].cores > 0;
        has_gap |= ops->runs[i].gap_ns != OPS_NO_GAP;
        has_session |= ops->runs[i].session > 0;
    }
    recorded_mark_columns(&table->cells, mark, is_used);
    mark_if(is_used, OP_COLUMN_ID_CALL, true);
    mark_if(is_used, OP_COLUMN_ID_OP_CODE, ops->call_count || has_signposts);
    mark_if(is_used, OP_COLUMN_ID_OP_TYPE, ops->call_count || has_signposts);
    mark_if(is_used, OP_COLUMN_ID_ATTRIBUTES, has_signposts);
    mark_if(is_used, OP_COLUMN_ID_DEVICE_ID, has_device);
    mark_if(is_used, OP_COLUMN_ID_HOST_START, has_ended || has_signposts);
    mark_if(is_used, OP_COLUMN_ID_HOST_END, has_ended);
    mark_if(is_used, OP_COLUMN_ID_HOST_DURATION, has_ended);
    mark_if(is_used, OP_COLUMN_ID_NOTE, is_open);
    mark_if(is_used, OP_COLUMN_ID_FW_START, ops->run_count);
    mark_if(is_used, OP_COLUMN_ID_FW_END, ops->run_count);
    mark_if(is_used, OP_COLUMN_ID_FW, ops->run_count);
    mark_if(is_used, OP_COLUMN_ID_KERNEL, ops->run_count);
    mark_if(is_used, OP_COLUMN_ID_CORE_COUNT, has_cores);
    mark_if(is_used, OP_COLUMN_ID_OP_TO_OP, has_gap);
    mark_if(is_used, OP_COLUMN_ID_TRACE_SESSION, has_session);
}

static int declare_columns(struct table *table, struct op_rows *rows, struct error *err)
{
    struct bytes is_used = {0};
    find_used(table, &is_used);
    mark_if(&is_used, (uint32_t)table->model.columns.count, true); /* as long as there are columns */
    int result =
        is_used.failed || table->model.failed
            ? error_set_errno(err, ENOMEM, "%zu columns", table->model.columns.count)
            : tt_row_declare(&table->row, rows, &table->model.columns, (const bool *)is_used.data, err);
    bytes_free(&is_used);
    return result;
}

/* --- rows --- */

static void set_cell(void *context, uint32_t column, struct slice text)
{
    tt_row_set_cell(context, column, text.data, text.length);
}

static void set_call(struct table *table, const struct op_call *call)
{
    static const char no_times[] = "no host times";
    struct tt_row_writer *row = &table->row;
    bool has_end = !(call->faults & OP_FAULT_OPEN);
    recorded_describe(&table->cells, call, set_cell, row);
    tt_row_set_number(row, OP_COLUMN_ID_CALL, call->number);
    if (call->device != OPS_NONE)
        tt_row_set_number(row, OP_COLUMN_ID_DEVICE_ID, table->ops.devices[call->device].number);
    if (has_end) {
        tt_row_set_number(row, OP_COLUMN_ID_HOST_START, call->start_ns);
        tt_row_set_number(row, OP_COLUMN_ID_HOST_END, call->end_ns);
        tt_row_set_number(row, OP_COLUMN_ID_HOST_DURATION, call->end_ns - call->start_ns);
    }
    tt_row_set_cell(row, OP_COLUMN_ID_NOTE, no_times, has_end ? 0 : sizeof no_times - 1);
}

static void set_run(struct table *table, const struct op_run *run)
{
    struct tt_row_writer *row = &table->row;
    tt_row_set_number(row, OP_COLUMN_ID_FW_START, run->start_ticks);
    tt_row_set_number(row, OP_COLUMN_ID_FW_END, run->end_ticks);
    tt_row_set_number(row, OP_COLUMN_ID_FW, run->duration_ns);
    tt_row_set_number(row, OP_COLUMN_ID_KERNEL, run->duration_ns);
    if (run->cores)
        tt_row_set_number(row, OP_COLUMN_ID_CORE_COUNT, run->cores);
    if (run->gap_ns != OPS_NO_GAP && run->gap_ns >= 0) {
        tt_row_set_number(row, OP_COLUMN_ID_OP_TO_OP, (uint64_t)run->gap_ns);
    } else if (run->gap_ns != OPS_NO_GAP) {
        char text[24];
        int length = snprintf(text, sizeof text, "%" PRId64, run->gap_ns);
        tt_row_set_text(row, OP_COLUMN_ID_OP_TO_OP, text, (size_t)length);
    }
    if (run->session)
        tt_row_set_number(row, OP_COLUMN_ID_TRACE_SESSION, run->session);
}

static void set_signpost(struct table *table, const struct op_signpost *signpost)
{
    struct slice header = ops_get_slice(&table->ops, signpost->header);
    tt_row_set_signpost(&table->row, &(struct tt_signpost){signpost->time_ns, header,
                                                           ops_get_slice(&table->ops, signpost->text)});
    tt_row_set_cell(&table->row, OP_COLUMN_ID_OP_CODE, header.data, header.length); /* a comma stays one */
    tt_row_set_cell(&table->row, OP_COLUMN_ID_NOTE, "", 0);
}

static int next(void *state, struct op_rows *rows, struct slice *cells, uint64_t *line, struct error *err)
{
    const size_t numbers_bytes = 16 * 24; /* more than there are, with all their digits */
    struct table *table = state;
    const struct ops *ops = &table->ops;
    (void)rows;
    (void)line;
    if (table->next_line >= ops->line_count)
        return 0;
    const struct op_line *at = &ops->lines[table->next_line++];
    const struct op_signpost *signpost = at->signpost == OPS_NONE ? NULL : &ops->signposts[at->signpost];
    size_t texts =
        signpost ? ops_get_slice(ops, signpost->header).length + ops_get_slice(ops, signpost->text).length
                 : 0;
    if (!tt_row_begin(&table->row, cells, numbers_bytes + texts))
        return error_set_errno(err, ENOMEM, "row %zu", table->next_line);
    if (signpost)
        set_signpost(table, signpost);
    if (at->call != OPS_NONE)
        set_call(table, &ops->calls[at->call]);
    if (at->run != OPS_NONE)
        set_run(table, &ops->runs[at->run]);
    return table->model.failed ? error_set_errno(err, ENOMEM, "row %zu", table->next_line) : 1;
}

static void close_table(void *state)
{
    struct table *table = state;
    recorded_cells_free(&table->cells);
    tt_model_free(&table->model);
    tt_row_writer_free(&table->row);
    ops_free(&table->ops);
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
    ops_init(&table->ops);
    table->cells = (struct recorded_cells){.model = &table->model, .ops = &table->ops};
    int result = ops_from_trace(&table->ops, trace, &(struct ops_wanted){.signposts = true}, err);
    if (result == 0)
        result = ops_finish(&table->ops, err);
    if (result == 0 && table->ops.call_count == 0)
        table->ops.line_count = table->ops.signpost_count; /* runs of no call have no row */
    if (result != 0) {
        close_table(table);
        error_prefix(err, "%s", path);
        return result;
    }
    *rows = op_rows_new(&source, table, path);
    result = *rows ? declare_columns(table, *rows, err) : error_set_errno(err, ENOMEM, "%s", path);
    for (size_t i = 0; result == 0 && i < table->ops.notice_count; i++) {
        const struct op_notice *notice = &table->ops.notices[i];
        for (uint64_t k = 0; k < notice->count; k++)
            op_rows_add_notice(*rows, notice->kind, 0, "%s", ops_get_text(&table->ops, notice->text));
    }
    if (result != 0) {
        op_rows_close(*rows);
        *rows = NULL;
    }
    return result;
}
