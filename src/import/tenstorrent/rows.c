/* SPDX-License-Identifier: Apache-2.0 */
/* A model as op rows: which columns its table has, and the cells of each row. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "text/python_text.h"
#include "import/tenstorrent/tenstorrent.h"
#include "base/keyed_text.h"
#include "base/slice.h"
#include "import/tenstorrent/row_writer.h"

struct state {
    struct tt_model model;
    const struct op_rows_source *source;
    struct tt_row_writer row;
    size_t next_row;
};

/* --- columns --- */

/* The full table has every column of the vendor's; others are there where some row fills them. */
static void find_used(struct state *s, bool *is_used)
{
    const struct tt_model *model = &s->model;
    bool is_full = !model->is_device_only;
    for (size_t i = 0; i < model->run_count && !is_full; i++)
        tt_row_mark_cells(is_used, &model->runs[i].cells);
    is_used[OP_COLUMN_ID_CALL] = true;
    for (size_t i = 0; i < model->columns.count && is_full; i++) {
        unsigned flags = i < OP_FIXED_COLUMN_COUNT ? op_fixed_columns[i].flags : 0;
        is_used[i] = !(flags & OP_COLUMN_OWN);
    }
    for (size_t i = 0; i < model->record_count && is_full; i++)
        tt_row_mark_cells(is_used, &model->records[i].cells);
    for (size_t i = 0; i < OP_FIXED_COLUMN_COUNT; i++) {
        if (op_fixed_columns[i].flags & (model->is_quasar ? OP_COLUMN_NOT_QUASAR : OP_COLUMN_QUASAR))
            is_used[i] = false;
    }
    if (model->has_locations)
        is_used[OP_COLUMN_ID_LOC] = is_used[OP_COLUMN_ID_CONST_EVAL] =
            is_used[OP_COLUMN_ID_PROGRAM_METADATA] = true;
    for (size_t i = 0; i < model->row_count && !is_used[OP_COLUMN_ID_NOTE]; i++) {
        bytes_clear(&s->row.scratch);
        tt_row_note(model, &model->rows[i], &s->row.scratch);
        is_used[OP_COLUMN_ID_NOTE] = s->row.scratch.length > 0;
    }
}

static int declare_columns(struct op_rows *rows, struct state *s, struct error *err)
{
    bool *is_used = calloc(s->model.columns.count, sizeof is_used[0]);
    if (!is_used)
        return error_set_errno(err, ENOMEM, "%zu columns", s->model.columns.count);
    find_used(s, is_used);
    int result = tt_row_declare(&s->row, rows, &s->model.columns, is_used, err);
    free(is_used);
    return result;
}

/* --- cells --- */

static void set_interned(struct state *s, uint32_t column, uint32_t text, const char *otherwise)
{
    if (text == TT_NONE) {
        tt_row_set_cell(&s->row, column, otherwise, strlen(otherwise));
        return;
    }
    const struct intern_entry *entry = &s->model.texts.entries[text];
    tt_row_set_text(&s->row, column, entry->data, entry->length);
}

static void set_op(struct state *s, const struct tt_op *op)
{
    if (op->record != TT_NONE) {
        tt_row_set_cells(&s->row, &s->model.records[op->record].cells, true);
    } else {
        tt_row_set_text(&s->row, OP_COLUMN_ID_OP_CODE, op->name.data, op->name.length);
        tt_row_set_cell(&s->row, OP_COLUMN_ID_OP_TYPE, "tt_dnn_device", op->device != TT_NONE ? 13 : 0);
        if (op->device != TT_NONE)
            tt_row_set_number(&s->row, OP_COLUMN_ID_DEVICE_ID, op->device);
        if (op->hash.length)
            tt_row_set_cell(&s->row, OP_COLUMN_ID_PROGRAM_HASH, op->hash.data, op->hash.length);
    }
    tt_row_set_number(&s->row, OP_COLUMN_ID_CALL, op->id);
    if (op->cache_hit >= 0)
        tt_row_set_cell(&s->row, OP_COLUMN_ID_CACHE_HIT, op->cache_hit ? "True" : "False",
                        op->cache_hit ? 4 : 5);
    if (!(op->flags & TT_OP_NO_TIMES)) {
        tt_row_set_number(&s->row, OP_COLUMN_ID_HOST_START, op->start_ns);
        tt_row_set_number(&s->row, OP_COLUMN_ID_HOST_END, op->start_ns + op->duration_ns);
        tt_row_set_number(&s->row, OP_COLUMN_ID_HOST_DURATION, op->duration_ns);
    }
    for (uint32_t i = op->children; i != TT_NONE; i = s->model.children[i].next)
        tt_row_set_number(&s->row, s->model.children[i].column, s->model.children[i].sum_ns);
    if (s->model.has_locations && op->device != TT_NONE) {
        set_interned(s, OP_COLUMN_ID_LOC, op->location, "loc(unknown)");
        set_interned(s, OP_COLUMN_ID_CONST_EVAL, op->const_eval, "false");
        set_interned(s, OP_COLUMN_ID_PROGRAM_METADATA, op->metadata, "{}");
    }
}

static void set_run(struct state *s, const struct tt_run *run, const struct tt_op *op)
{
    const struct tt_record *record = op && op->record != TT_NONE ? &s->model.records[op->record] : NULL;
    tt_row_set_cells(&s->row, &run->cells, false);
    if (!op)
        tt_row_set_number(&s->row, OP_COLUMN_ID_CALL, run->id);
    if (run->session > 0 && !s->model.is_device_only) {
        if (run->trace != TT_NO_TRACE)
            tt_row_set_number(&s->row, OP_COLUMN_ID_TRACE_ID, (uint64_t)run->trace);
        tt_row_set_number(&s->row, OP_COLUMN_ID_TRACE_SESSION, run->session);
    }
    if (record && record->has_model && run->has_kernel) {
        double share = run->kernel_ns ? 100.0 * (double)record->pm_compute_ns / (double)run->kernel_ns : 0.0;
        size_t from = s->row.scratch.length;
        python_append_float(&s->row.scratch, python_round_3(share));
        tt_row_set_cell(&s->row, OP_COLUMN_ID_PM_FPU_UTIL, (const char *)s->row.scratch.data + from,
                        s->row.scratch.length - from);
    }
}

static const struct {
    uint32_t flag;
    const char *text;
} op_notes[] = {
    {TT_OP_CUT, "message cut"},          {TT_OP_NO_RECORD, "program not described"},
    {TT_OP_NO_MESSAGE, "no message"},    {TT_OP_REPEATED, "id repeated"},
    {TT_OP_NO_DEVICE, "no device data"}, {TT_OP_NOT_REPLAYED, "no replay recorded"},
};

static void append_note(struct bytes *out, const char *text)
{
    bytes_append_format(out, "%s%s", out->length ? "; " : "", text);
}

void tt_row_note(const struct tt_model *model, const struct tt_row *row, struct bytes *out)
{
    const struct tt_op *op = row->op == TT_NONE ? NULL : &model->ops[row->op];
    const struct tt_run *run = row->run == TT_NONE ? NULL : &model->runs[row->run];
    for (size_t i = 0; op && i < sizeof op_notes / sizeof op_notes[0]; i++) {
        if (op->flags & op_notes[i].flag)
            append_note(out, op_notes[i].text);
    }
    if (op && (op->flags & TT_OP_NO_TIMES) && !(op->flags & TT_OP_NO_MESSAGE))
        append_note(out, "no host times");
    if (run && (run->flags & TT_RUN_INCOMPLETE))
        append_note(out, "device markers missing");
    if (run && (run->flags & TT_RUN_NO_REPLAY))
        append_note(out, "no replay message");
}

/* An upper bound of what a row writes into the scratch. */
static size_t scratch_need(const struct state *s, const struct tt_row *row)
{
    size_t need = 1024;
    if (row->op != TT_NONE) {
        const struct tt_op *op = &s->model.ops[row->op];
        need += op->name.length;
        for (uint32_t i = op->children; i != TT_NONE; i = s->model.children[i].next)
            need += 24;
        const uint32_t texts[] = {op->location, op->const_eval, op->metadata};
        for (size_t i = 0; i < 3; i++)
            need += texts[i] == TT_NONE ? 0 : s->model.texts.entries[texts[i]].length;
    }
    if (row->signpost != TT_NONE)
        need +=
            s->model.signposts[row->signpost].header.length + s->model.signposts[row->signpost].text.length;
    return need;
}

static int next(void *state, struct op_rows *rows, struct slice *cells, uint64_t *line, struct error *err)
{
    struct state *s = state;
    (void)rows;
    (void)line;
    if (s->next_row >= s->model.row_count)
        return 0;
    const struct tt_row *row = &s->model.rows[s->next_row++];
    const struct tt_op *op = row->op == TT_NONE ? NULL : &s->model.ops[row->op];
    if (!tt_row_begin(&s->row, cells, scratch_need(s, row)))
        return error_set_errno(err, ENOMEM, "row %zu", s->next_row);
    if (row->signpost != TT_NONE)
        tt_row_set_signpost(&s->row, &s->model.signposts[row->signpost]);
    if (op)
        set_op(s, op);
    if (row->run != TT_NONE)
        set_run(s, &s->model.runs[row->run], op);
    if (s->row.place_of_column[OP_COLUMN_ID_NOTE] != TT_NONE) {
        size_t from = s->row.scratch.length;
        struct bytes note = {0};
        tt_row_note(&s->model, row, &note);
        bytes_append(&s->row.scratch, note.data, note.length);
        tt_row_set_cell(&s->row, OP_COLUMN_ID_NOTE, (const char *)s->row.scratch.data + from,
                        s->row.scratch.length - from);
        bytes_free(&note);
    }
    return 1;
}

static void close_state(void *state)
{
    struct state *s = state;
    tt_model_free(&s->model);
    tt_row_writer_free(&s->row);
    free(s);
}

static struct trace *take_trace(void *state)
{
    struct state *s = state;
    struct trace *trace = s->model.trace;
    s->model.trace = NULL;
    return trace;
}

static const struct op_rows_source folder_source = {.kind = "log folder", .next = next, .close = close_state};
static const struct op_rows_source trace_source = {
    .kind = "trace", .next = next, .take_trace = take_trace, .close = close_state};

int tt_rows_open_model(struct op_rows **rows, const char *path, const char *kind, struct tt_model *model,
                       struct error *err)
{
    struct state *s = calloc(1, sizeof *s);
    *rows = NULL;
    if (!s) {
        tt_model_free(model);
        return error_set_errno(err, ENOMEM, "%s", path);
    }
    s->model = *model;
    *model = (struct tt_model){0};
    *rows = op_rows_new(strcmp(kind, "trace") == 0 ? &trace_source : &folder_source, s, path);
    if (!*rows)
        return error_set_errno(err, ENOMEM, "%s", path);
    int result = declare_columns(*rows, s, err);
    for (size_t i = 0; i < s->model.note_count && result == 0; i++) {
        const struct tt_note *note = &s->model.notes[i];
        for (uint64_t k = 0; k < note->count; k++)
            op_rows_add_notice(*rows, note->kind, note->line, "%s", note->text ? note->text : "");
    }
    if (result != 0) {
        op_rows_close(*rows);
        *rows = NULL;
    }
    return result;
}
