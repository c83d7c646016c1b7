/* SPDX-License-Identifier: Apache-2.0 */
/* A model as op rows: which columns its table has, and the cells of each row. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "import/python_text.h"
#include "import/tenstorrent.h"
#include "import/tenstorrent_parse.h"

struct state {
    struct tt_model model;
    const struct op_rows_source *source;
    uint32_t *place_of_column; /* model column to column of the table; TT_NONE */
    size_t next_row;
    struct bytes scratch; /* numbers and texts of the row that was given last */
    struct op_cell *cells;
};

/* --- columns --- */

struct column_order {
    uint64_t rank;
    const struct intern_entry *name;
    uint32_t column;
};

static int compare_columns(const void *left, const void *right)
{
    const struct column_order *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    size_t shorter = a->name->length < b->name->length ? a->name->length : b->name->length;
    int order = memcmp(a->name->data, b->name->data, shorter);
    if (order != 0)
        return order;
    return (a->name->length > b->name->length) - (a->name->length < b->name->length);
}

static void mark_cells(bool *is_used, const struct tt_cells *cells)
{
    for (uint32_t i = 0; i < cells->count; i++)
        is_used[cells->items[i].column] = true;
}

/* What rows fill beside their cells. */
static void mark_ops(const struct tt_model *model, bool *is_used)
{
    for (size_t i = 0; i < model->op_count; i++) {
        const struct tt_op *op = &model->ops[i];
        if (op->record != TT_NONE)
            mark_cells(is_used, &model->records[op->record].cells);
        if (!(op->flags & TT_OP_NO_TIMES))
            is_used[OP_COLUMN_ID_HOST_START] = is_used[OP_COLUMN_ID_HOST_END] =
                is_used[OP_COLUMN_ID_HOST_DURATION] = true;
    }
    for (size_t i = 0; i < model->run_count; i++)
        is_used[OP_COLUMN_ID_TRACE_SESSION] |= model->runs[i].session > 0 && !model->is_device_only;
    if (model->signpost_count && !model->is_device_only)
        is_used[OP_COLUMN_ID_OP_CODE] = is_used[OP_COLUMN_ID_OP_TYPE] = is_used[OP_COLUMN_ID_ATTRIBUTES] =
            is_used[OP_COLUMN_ID_HOST_START] = true;
}

/* The full table has every fixed column, the others those that some row fills. */
static void find_used(struct state *s, bool *is_used)
{
    const struct tt_model *model = &s->model;
    bool is_full = !model->is_device_only && !model->shows_used_only;
    for (size_t i = 0; i < model->run_count && !is_full; i++)
        mark_cells(is_used, &model->runs[i].cells);
    if (model->shows_used_only)
        mark_ops(model, is_used);
    is_used[OP_COLUMN_ID_CALL] = true;
    for (size_t i = 0; i < model->columns.count && is_full; i++) {
        unsigned flags = i < OP_FIXED_COLUMN_COUNT ? op_fixed_columns[i].flags : 0;
        is_used[i] = !(flags & OP_COLUMN_OWN);
    }
    for (size_t i = 0; i < OP_FIXED_COLUMN_COUNT; i++) {
        if (op_fixed_columns[i].flags & (model->is_quasar ? OP_COLUMN_NOT_QUASAR : OP_COLUMN_QUASAR))
            is_used[i] = false;
    }
    if (model->has_locations)
        is_used[OP_COLUMN_ID_LOC] = is_used[OP_COLUMN_ID_CONST_EVAL] =
            is_used[OP_COLUMN_ID_PROGRAM_METADATA] = true;
    for (size_t i = 0; i < model->row_count && !is_used[OP_COLUMN_ID_NOTE]; i++) {
        bytes_clear(&s->scratch);
        tt_row_note(model, &model->rows[i], &s->scratch);
        is_used[OP_COLUMN_ID_NOTE] = s->scratch.length > 0;
    }
}

/* An ops CSV's own columns, in its order. */
static int declare_table_columns(struct op_rows *rows, struct state *s, struct error *err)
{
    const struct tt_model *model = &s->model;
    int result = 0;
    s->place_of_column = malloc(model->columns.count * sizeof s->place_of_column[0]);
    if (!s->place_of_column)
        return error_set_errno(err, ENOMEM, "%zu columns", model->columns.count);
    memset(s->place_of_column, 0xff, model->columns.count * sizeof s->place_of_column[0]);
    for (size_t i = 0; i < model->table_column_count && result == 0; i++) {
        const struct intern_entry *name = &model->columns.entries[model->table_columns[i]];
        s->place_of_column[model->table_columns[i]] = (uint32_t)i;
        const char *again = memchr(name->data, TT_COLUMN_AGAIN, name->length);
        result =
            op_rows_add_column(rows, name->data, again ? (size_t)(again - name->data) : name->length, err);
    }
    return result;
}

static int declare_columns(struct op_rows *rows, struct state *s, struct error *err)
{
    const struct intern *names = &s->model.columns;
    bool *is_used = calloc(names->count, sizeof is_used[0]);
    struct column_order *order = calloc(names->count, sizeof order[0]);
    s->place_of_column = malloc(names->count * sizeof s->place_of_column[0]);
    int result = 0;
    if (!is_used || !order || !s->place_of_column) {
        result = error_set_errno(err, ENOMEM, "%zu columns", names->count);
    } else {
        size_t count = 0;
        find_used(s, is_used);
        for (uint32_t i = 0; i < names->count; i++) {
            const struct intern_entry *name = &names->entries[i];
            s->place_of_column[i] = TT_NONE;
            if (is_used[i])
                order[count++] = (struct column_order){op_column_rank(name->data, name->length), name, i};
        }
        qsort(order, count, sizeof order[0], compare_columns);
        for (size_t i = 0; i < count && result == 0; i++) {
            s->place_of_column[order[i].column] = (uint32_t)i;
            result = op_rows_add_column(rows, order[i].name->data, order[i].name->length, err);
        }
    }
    free(is_used);
    free(order);
    return result;
}

/* --- cells --- */

static void set_cell(struct state *s, uint32_t column, const char *data, size_t length)
{
    if (s->place_of_column[column] != TT_NONE)
        s->cells[s->place_of_column[column]] = cell_of(length ? data : "", length);
}

/* Writes into the scratch, which has room: cells that point there must not move. */
static void set_text(struct state *s, uint32_t column, const char *text, size_t length)
{
    size_t from = s->scratch.length;
    bytes_append(&s->scratch, text, length);
    for (size_t i = from; i < s->scratch.length; i++) {
        if (s->scratch.data[i] == ',')
            s->scratch.data[i] = ';';
    }
    set_cell(s, column, (const char *)s->scratch.data + from, s->scratch.length - from);
}

static void set_number(struct state *s, uint32_t column, uint64_t value)
{
    char digits[24];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    set_text(s, column, digits + at, sizeof digits - at);
}

static void set_cells(struct state *s, const struct tt_cells *cells, bool may_replace)
{
    for (uint32_t i = 0; i < cells->count; i++) {
        const struct tt_cell *cell = &cells->items[i];
        uint32_t place = s->place_of_column[cell->column];
        if (place != TT_NONE && (may_replace || !s->cells[place].data))
            s->cells[place] = cell_of(cell->length ? cell->data : "", cell->length);
    }
}

static void set_interned(struct state *s, uint32_t column, uint32_t text, const char *otherwise)
{
    if (text == TT_NONE) {
        set_cell(s, column, otherwise, strlen(otherwise));
        return;
    }
    const struct intern_entry *entry = &s->model.texts.entries[text];
    set_text(s, column, entry->data, entry->length);
}

static void set_op(struct state *s, const struct tt_op *op)
{
    if (op->record != TT_NONE) {
        set_cells(s, &s->model.records[op->record].cells, true);
        if (s->model.is_table)
            return;
    } else {
        set_text(s, OP_COLUMN_ID_OP_CODE, op->name.data, op->name.length);
        set_cell(s, OP_COLUMN_ID_OP_TYPE, "tt_dnn_device", op->device != TT_NONE ? 13 : 0);
        if (op->device != TT_NONE)
            set_number(s, OP_COLUMN_ID_DEVICE_ID, op->device);
        if (op->hash.length)
            set_cell(s, OP_COLUMN_ID_PROGRAM_HASH, op->hash.data, op->hash.length);
    }
    set_number(s, OP_COLUMN_ID_CALL, op->id);
    if (op->cache_hit >= 0)
        set_cell(s, OP_COLUMN_ID_CACHE_HIT, op->cache_hit ? "True" : "False", op->cache_hit ? 4 : 5);
    if (!(op->flags & TT_OP_NO_TIMES)) {
        set_number(s, OP_COLUMN_ID_HOST_START, op->start_ns);
        set_number(s, OP_COLUMN_ID_HOST_END, op->start_ns + op->duration_ns);
        set_number(s, OP_COLUMN_ID_HOST_DURATION, op->duration_ns);
    }
    for (uint32_t i = op->children; i != TT_NONE; i = s->model.children[i].next)
        set_number(s, s->model.children[i].column, s->model.children[i].sum_ns);
    if (s->model.has_locations && op->device != TT_NONE) {
        set_interned(s, OP_COLUMN_ID_LOC, op->location, "loc(unknown)");
        set_interned(s, OP_COLUMN_ID_CONST_EVAL, op->const_eval, "false");
        set_interned(s, OP_COLUMN_ID_PROGRAM_METADATA, op->metadata, "{}");
    }
}

static void set_run(struct state *s, const struct tt_run *run, const struct tt_op *op)
{
    const struct tt_record *record = op && op->record != TT_NONE ? &s->model.records[op->record] : NULL;
    set_cells(s, &run->cells, false);
    if (!op)
        set_number(s, OP_COLUMN_ID_CALL, run->id);
    if (run->session > 0 && !s->model.is_device_only) {
        if (run->trace != TT_NO_TRACE)
            set_number(s, OP_COLUMN_ID_TRACE_ID, (uint64_t)run->trace);
        set_number(s, OP_COLUMN_ID_TRACE_SESSION, run->session);
    }
    if (record && record->has_model && run->has_kernel) {
        double share = run->kernel_ns ? 100.0 * (double)record->pm_compute_ns / (double)run->kernel_ns : 0.0;
        size_t from = s->scratch.length;
        python_append_float(&s->scratch, python_round_3(share));
        set_cell(s, OP_COLUMN_ID_PM_FPU_UTIL, (const char *)s->scratch.data + from, s->scratch.length - from);
    }
}

static void set_signpost(struct state *s, const struct tt_signpost *signpost)
{
    set_text(s, OP_COLUMN_ID_OP_CODE, signpost->header.data, signpost->header.length);
    set_cell(s, OP_COLUMN_ID_OP_TYPE, "signpost", 8);
    set_text(s, OP_COLUMN_ID_ATTRIBUTES, signpost->text.data, signpost->text.length);
    set_number(s, OP_COLUMN_ID_HOST_START, signpost->time_ns);
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

static int next(void *state, struct op_rows *rows, struct op_cell *cells, uint64_t *line, struct error *err)
{
    struct state *s = state;
    (void)rows;
    (void)line;
    if (s->next_row >= s->model.row_count)
        return 0;
    const struct tt_row *row = &s->model.rows[s->next_row++];
    const struct tt_op *op = row->op == TT_NONE ? NULL : &s->model.ops[row->op];
    bytes_clear(&s->scratch);
    if (!bytes_reserve(&s->scratch, scratch_need(s, row)))
        return error_set_errno(err, ENOMEM, "row %zu", s->next_row);
    s->cells = cells;
    if (row->signpost != TT_NONE)
        set_signpost(s, &s->model.signposts[row->signpost]);
    if (op)
        set_op(s, op);
    if (row->run != TT_NONE)
        set_run(s, &s->model.runs[row->run], op);
    if (!s->model.is_table && s->place_of_column[OP_COLUMN_ID_NOTE] != TT_NONE) {
        size_t from = s->scratch.length;
        struct bytes note = {0};
        tt_row_note(&s->model, row, &note);
        bytes_append(&s->scratch, note.data, note.length);
        set_cell(s, OP_COLUMN_ID_NOTE, (const char *)s->scratch.data + from, s->scratch.length - from);
        bytes_free(&note);
    }
    return 1;
}

static void close_state(void *state)
{
    struct state *s = state;
    tt_model_free(&s->model);
    free(s->place_of_column);
    bytes_free(&s->scratch);
    free(s);
}

static const struct op_rows_source folder_source = {.kind = "log folder", .next = next, .close = close_state};
static const struct op_rows_source trace_source = {.kind = "trace", .next = next, .close = close_state};

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
    int result = s->model.is_table ? declare_table_columns(*rows, s, err) : declare_columns(*rows, s, err);
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
