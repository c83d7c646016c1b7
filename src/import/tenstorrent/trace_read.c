/* SPDX-License-Identifier: Apache-2.0 */
/* The model of an op table, from a trace that was made of one, or from the rows of an ops CSV. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/python_text.h"
#include "import/tenstorrent/join.h"
#include "base/keyed_text.h"
#include "base/slice.h"
#include "import/tenstorrent/trace.h"

static const struct trace_track *import_track(const struct trace *trace)
{
    for (size_t i = 0; i < trace_track_count(trace); i++) {
        const struct trace_track *track = trace_get_track(trace, (uint32_t)i);
        if (track && track->kind == TRACE_TRACK_OTHER &&
            (strcmp(track->name, TT_TRACK_FOLDER) == 0 || strcmp(track->name, TT_TRACK_TABLE) == 0))
            return track;
    }
    return NULL;
}

bool tt_trace_has_table(const struct trace *trace)
{
    return import_track(trace) != NULL;
}

int tt_trace_notes(struct trace *trace, void (*note)(void *context, const char *text), void *context,
                   struct error *err)
{
    struct trace_block_filter filter = {.type = TRACE_BLOCK_POINTS};
    const struct trace_track *track = import_track(trace);
    struct trace_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0;
    int result = 0;
    while (track && result == 0 && (block = trace_next_block(trace, &filter, &position))) {
        result = trace_decode_rows(trace, block, &rows, err);
        for (size_t i = 0; result == 0 && i < rows.count; i++) {
            if (rows.points[i].track == track->id && rows.points[i].kind == TRACE_POINT_MESSAGE &&
                strcmp(rows.points[i].header, "import") == 0)
                note(context, rows.points[i].text);
        }
    }
    trace_rows_free(&rows);
    return result;
}

/* --- ops --- */

struct part_name {
    bool is_known;
    enum op_column_kind kind;
    uint32_t column;
};

struct reader {
    struct part_name *part_names; /* by name id */
    size_t part_capacity;
    struct tt_model *model;
    struct trace *trace;
    struct tt_cell_builder cells;
    struct bytes text, name;
};

static uint32_t intern_value(struct reader *r, struct slice value)
{
    uint32_t id = intern_add(&r->model->texts, value.length ? value.data : "", value.length);
    if (id == INTERN_NONE)
        r->model->failed = true;
    return id;
}

/* The n-th size of "1x32x64x128". */
static struct slice size_at(struct slice sizes, unsigned n)
{
    const char *at = sizes.data, *end = sizes.data + sizes.length;
    for (; n > 0 && at < end; n--) {
        const char *x = memchr(at, 'x', (size_t)(end - at));
        at = x ? x + 1 : end;
    }
    const char *x = at < end ? memchr(at, 'x', (size_t)(end - at)) : NULL;
    return slice_from(at, (size_t)((x ? x : end) - at));
}

static void read_tensor(struct reader *r, bool is_output, uint32_t index, const char *text)
{
    static const char *const words[] = {"layout", "dtype", "memory"};
    struct slice logical = slice_of_key(text, "shape"), padded = slice_of_key(text, "padded");
    for (unsigned field = 0; field < OP_TENSOR_FIELDS; field++) {
        struct slice value;
        if (field <= OP_TENSOR_X) {
            struct slice outer = size_at(padded, field), inner = size_at(logical, field);
            bytes_clear(&r->text);
            bytes_append(&r->text, outer.data, outer.length);
            bytes_append_u8(&r->text, '[');
            bytes_append(&r->text, inner.data, inner.length);
            bytes_append_u8(&r->text, ']');
            value.length = r->text.length;
            value.data = intern_text(&r->model->texts,
                                     intern_value(r, slice_from((const char *)r->text.data, value.length)));
        } else {
            value = slice_of_key(text, words[field - OP_TENSOR_LAYOUT]);
        }
        bytes_clear(&r->name);
        op_tensor_column(is_output, index, (enum op_tensor_field)field, &r->name);
        uint32_t column = tt_column(r->model, (const char *)r->name.data, r->name.length);
        tt_cell_add(r->model, &r->cells, column, value.data, value.length);
    }
}

static void add_child(struct reader *r, struct tt_op *op, uint32_t column, uint64_t sum_ns)
{
    struct tt_model *model = r->model;
    if (!array_reserve(&model->children, &model->child_capacity, model->child_count + 1,
                       sizeof model->children[0])) {
        model->failed = true;
        return;
    }
    model->children[model->child_count] = (struct tt_child){column, op->children, sum_ns};
    op->children = (uint32_t)model->child_count++;
}

/* An attribute that belongs to the op rather than to its program. True when it was one. */
static bool read_own_part(struct reader *r, struct tt_op *op, struct slice key, struct slice value)
{
    static const char child_suffix[] = "_TT_HOST_FUNC [ns]";
    uint64_t number = 0;
    bool is_number = slice_unsigned(value, &number);
    size_t suffix = sizeof child_suffix - 1;
    if (slice_is(key, "PROGRAM CACHE HIT"))
        op->cache_hit = slice_is(value, "True");
    else if (slice_is(key, "LOC"))
        op->location = intern_value(r, value);
    else if (slice_is(key, "CONST_EVAL_OP"))
        op->const_eval = intern_value(r, value);
    else if (slice_is(key, "PROGRAM_METADATA"))
        op->metadata = intern_value(r, value);
    else if (is_number && slice_is(key, TT_PART_TRACE))
        op->trace = number < UINT32_MAX ? (int64_t)number : TT_NO_TRACE;
    else if (is_number && slice_is(key, TT_PART_FLAGS))
        op->flags |= (uint32_t)number;
    else if (is_number && key.length > suffix &&
             memcmp(key.data + key.length - suffix, child_suffix, suffix) == 0)
        add_child(r, op, tt_column(r->model, key.data, key.length), number);
    else
        return false;
    return true;
}

static void read_description(struct reader *r, struct tt_op *op, uint32_t description,
                             struct tt_record *record)
{
    size_t count = 0;
    uint32_t tensors[2] = {0};
    const struct trace_part *parts = trace_get_description(r->trace, description, &count);
    for (size_t i = 0; i < count; i++) {
        if (parts[i].role == TRACE_PART_INPUT || parts[i].role == TRACE_PART_OUTPUT) {
            bool is_output = parts[i].role == TRACE_PART_OUTPUT;
            read_tensor(r, is_output, tensors[is_output]++, parts[i].text);
            continue;
        }
        const char *equals = strchr(parts[i].text, '=');
        if (!equals)
            continue;
        struct slice key = slice_from(parts[i].text, (size_t)(equals - parts[i].text));
        struct slice value = slice_from(equals + 1, strlen(equals + 1));
        if (read_own_part(r, op, key, value))
            continue;
        uint32_t column = tt_column(r->model, key.data, key.length);
        if (column == OP_COLUMN_ID_PM_COMPUTE)
            record->has_model = slice_unsigned(value, &record->pm_compute_ns);
        if (column == OP_COLUMN_ID_PROGRAM_HASH && !op->hash.data)
            op->hash = value;
        tt_cell_add(r->model, &r->cells, column, value.data, value.length);
    }
}

static void read_op(struct reader *r, const struct trace_op *row)
{
    struct tt_model *model = r->model;
    struct tt_op *op = tt_op_add(model, row->call);
    struct tt_record record = {0};
    if (!op)
        return;
    const char *name = trace_get_name(r->trace, row->name)->name;
    const struct trace_track *track = trace_get_track(r->trace, row->track);
    op->name = slice_from(name, strlen(name));
    op->device = row->device == TRACE_NONE ? TT_NONE : row->device;
    op->thread = track ? (uint32_t)track->number : 0;
    op->start_ns = op->message_ns = row->start_ns;
    if (row->end_ns) {
        op->flags &= ~(uint32_t)TT_OP_NO_TIMES;
        op->duration_ns = row->end_ns - row->start_ns;
    }
    for (uint32_t i = 0; i < row->part_count; i++) { /* times of host functions */
        const char *part = trace_get_name(r->trace, row->parts[i].name)->name;
        add_child(r, op, tt_column(model, part, strlen(part)), row->parts[i].whole);
    }
    tt_cell_add(model, &r->cells, OP_COLUMN_ID_OP_CODE, op->name.data, op->name.length);
    if (row->description != TRACE_NONE)
        read_description(r, op, row->description, &record);
    record.cells = tt_cells_finish(model, &r->cells);
    if (op->flags & TT_OP_NO_RECORD_AT_ALL)
        return;
    if (!array_reserve(&model->records, &model->record_capacity, model->record_count + 1,
                       sizeof model->records[0])) {
        model->failed = true;
        return;
    }
    op->record = (uint32_t)model->record_count;
    model->records[model->record_count++] = record;
}

/* --- runs --- */

/* What a part's name says, found once for each. */
static const struct part_name *part_name_of(struct reader *r, uint32_t id, const char *name, size_t length)
{
    size_t had = r->part_capacity;
    if (!array_reserve(&r->part_names, &r->part_capacity, (size_t)id + 1, sizeof r->part_names[0])) {
        r->model->failed = true;
        return NULL;
    }
    if (r->part_capacity > had)
        memset(r->part_names + had, 0, (r->part_capacity - had) * sizeof r->part_names[0]);
    struct part_name *part = &r->part_names[id];
    if (!part->is_known) {
        *part = (struct part_name){.is_known = true,
                                   .column = tt_column(r->model, name, length),
                                   .kind = op_column_kind_of(name, length)};
    }
    return part;
}

/* Traces of version 1 have a text inside the name of its part, and the bits of a real among the ticks. */
static void add_run_cell(struct reader *r, const struct trace_run_part *from, const char *name)
{
    const char *equals = from->kind == TRACE_FIGURE_TICKS ? strchr(name, '=') : NULL;
    const struct part_name *part =
        part_name_of(r, from->name, name, equals ? (size_t)(equals - name) : strlen(name));
    if (!part)
        return;
    uint32_t column = part->column;
    bytes_clear(&r->text);
    if (equals || from->kind == TRACE_FIGURE_TEXT) {
        const char *text = equals ? equals + 1 : trace_get_name(r->trace, (uint32_t)from->whole)->name;
        tt_cell_add(r->model, &r->cells, column, text, strlen(text));
        return;
    }
    if (trace_figure_is_real(from->kind) ||
        (from->kind == TRACE_FIGURE_TICKS && part->kind == OP_COLUMN_REAL))
        python_append_float(&r->text, from->real);
    else
        bytes_append_format(&r->text, "%" PRIu64, from->whole);
    if (column == OP_COLUMN_ID_KERNEL && r->model->run_count) {
        r->model->runs[r->model->run_count - 1].has_kernel = true;
        r->model->runs[r->model->run_count - 1].kernel_ns = from->whole;
    }
    tt_cell_copy(r->model, &r->cells, column, r->text.length ? (const char *)r->text.data : "",
                 r->text.length);
}

static void read_run(struct reader *r, const struct trace_run *row, uint64_t *order)
{
    struct tt_model *model = r->model;
    struct tt_run *run = tt_run_add(model);
    const struct trace_track *track = trace_get_track(r->trace, row->track);
    if (!run)
        return;
    run->id = row->call;
    run->device = track ? (uint32_t)track->number : 0;
    run->session = row->session;
    run->cores = row->cores;
    run->start_cycle = row->start;
    run->end_cycle = row->start + row->duration;
    run->op = row->call ? tt_map_get(&model->op_of_id, row->call) : TT_NONE;
    *order = 0;
    for (uint32_t i = 0; i < row->part_count; i++) {
        const char *name = trace_get_name(r->trace, row->parts[i].name)->name;
        uint64_t value = row->parts[i].whole;
        if (strcmp(name, TT_PART_TRACE) == 0)
            run->trace = value < UINT32_MAX ? (int64_t)value : TT_NO_TRACE;
        else if (strcmp(name, TT_PART_REPLAY_NS) == 0)
            run->replay_ns = value;
        else if (strcmp(name, TT_PART_FLAGS) == 0)
            run->flags = (uint32_t)value;
        else if (strcmp(name, TT_PART_ID) == 0)
            run->id = value;
        else if (strcmp(name, TT_PART_ORDER) == 0)
            *order = value;
        else
            add_run_cell(r, &row->parts[i], name);
    }
    run->cells = tt_cells_finish(model, &r->cells);
    if (run->op == TT_NONE)
        return;
    if (run->session)
        model->ops[run->op].flags |= TT_OP_HAS_REPLAYS;
    else
        model->ops[run->op].run = (uint32_t)(model->run_count - 1);
}

/* --- points --- */

static void read_point(struct reader *r, const struct trace_point *point)
{
    struct tt_model *model = r->model;
    struct slice text = slice_from(point->text, point->text_length);
    if (point->kind == TRACE_POINT_SIGNPOST) {
        if (!array_reserve(&model->signposts, &model->signpost_capacity, model->signpost_count + 1,
                           sizeof model->signposts[0])) {
            model->failed = true;
            return;
        }
        size_t length = strlen(point->header);
        model->signposts[model->signpost_count++] =
            (struct tt_signpost){point->time, slice_from(tt_keep(model, point->header, length), length),
                                 slice_from(tt_keep(model, text.data, text.length), text.length)};
    } else if (strcmp(point->header, "kind") == 0) {
        model->is_device_only |= slice_is(text, "device only");
        model->is_quasar |= slice_is(text, "quasar");
        model->has_locations |= slice_is(text, "locations");
    } else if (strcmp(point->header, "import") == 0) {
        /* each note was written once, with its count in the text */
        tt_note_again(model, OP_NOTICE_INFO, 0, 1, point->text);
    }
}

struct run_order {
    uint64_t order;
    struct tt_run run;
};

static int compare_runs(const void *left, const void *right)
{
    const struct run_order *a = left, *b = right;
    return (a->order > b->order) - (a->order < b->order);
}

/* Blocks are told apart by clock: runs of several devices come back one device after the other. */
static void restore_order(struct tt_model *model, const uint64_t *orders)
{
    struct run_order *runs = calloc(model->run_count + 1, sizeof runs[0]);
    if (!runs) {
        model->failed = true;
        return;
    }
    for (size_t i = 0; i < model->run_count; i++)
        runs[i] = (struct run_order){orders[i], model->runs[i]};
    qsort(runs, model->run_count, sizeof runs[0], compare_runs);
    for (size_t i = 0; i < model->run_count; i++) {
        model->runs[i] = runs[i].run;
        if (runs[i].run.op != TT_NONE && !runs[i].run.session)
            model->ops[runs[i].run.op].run = (uint32_t)i;
    }
    free(runs);
}

static int read_blocks(struct reader *r, uint32_t type, uint64_t **orders, struct error *err)
{
    struct trace_block_filter filter = {.type = type};
    struct trace_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0, capacity = 0;
    int result = 0;
    while (result == 0 && !r->model->failed && (block = trace_next_block(r->trace, &filter, &position))) {
        result = trace_decode_rows(r->trace, block, &rows, err);
        for (size_t i = 0; result == 0 && i < rows.count && !r->model->failed; i++) {
            if (type == TRACE_BLOCK_POINTS) {
                read_point(r, &rows.points[i]);
            } else if (type == TRACE_BLOCK_OPS) {
                read_op(r, &rows.ops[i]);
            } else if (array_reserve(orders, &capacity, r->model->run_count + 1, sizeof **orders)) {
                read_run(r, &rows.runs[i], *orders + r->model->run_count);
            } else {
                r->model->failed = true;
            }
        }
    }
    trace_rows_free(&rows);
    return result;
}

int tt_model_from_trace(struct tt_model *model, struct trace *trace, struct error *err)
{
    struct reader reader = {.model = model, .trace = trace};
    uint64_t *orders = NULL;
    if (!import_track(trace))
        return error_set(err, EINVAL, "this trace was not made of a vendor's op table");
    int result = read_blocks(&reader, TRACE_BLOCK_POINTS, NULL, err);
    if (result == 0)
        result = read_blocks(&reader, TRACE_BLOCK_OPS, NULL, err);
    if (result == 0)
        result = read_blocks(&reader, TRACE_BLOCK_RUNS, &orders, err);
    if (result == 0 && orders && !model->failed)
        restore_order(model, orders);
    if (result == 0 && !model->failed)
        result = tt_rows_from_trace(model, err);
    free(orders);
    free(reader.part_names);
    free(reader.cells.items);
    bytes_free(&reader.text);
    bytes_free(&reader.name);
    return result == 0 ? tt_model_check(model, err) : result;
}

int tt_trace_rows_open(struct op_rows **rows, const char *path, struct error *err)
{
    struct trace *trace;
    struct tt_model model;
    *rows = NULL;
    int result = trace_open(&trace, path, 0, err);
    if (result != 0)
        return result;
    if (!tt_trace_has_table(trace)) {
        result = recorded_rows_open(rows, path, trace, err);
        trace_close(trace);
        return result;
    }
    if (strcmp(import_track(trace)->name, TT_TRACK_TABLE) == 0)
        return table_rows_open(rows, path, trace, err);
    tt_model_init(&model);
    model.trace = trace;
    result = tt_model_from_trace(&model, trace, err);
    if (result != 0) {
        tt_model_free(&model);
        error_prefix(err, "%s", path);
        return result;
    }
    return tt_rows_open_model(rows, path, "trace", &model, err);
}

/* --- an ops CSV --- */

static bool number_of(const struct op_row *row, size_t column, uint64_t *value)
{
    return column < row->cell_count && row->cells[column].data &&
           slice_unsigned(slice_trim(row->cells[column]), value);
}

struct table_places {
    size_t device, host_start, host_duration, fw_start, fw_end, session, cores;
};

static void add_table_row(struct tt_model *model, const struct op_row *row, const struct table_places *at,
                          struct tt_cell_builder *cells)
{
    struct tt_op *op = tt_op_add(model, model->op_count + 1);
    uint64_t number = 0, end = 0;
    if (!op || !array_reserve(&model->records, &model->record_capacity, model->record_count + 1,
                              sizeof model->records[0])) {
        model->failed = true;
        return;
    }
    for (size_t i = 0; i < row->cell_count; i++) {
        if (row->cells[i].length)
            tt_cell_copy(model, cells, model->table_columns[i], row->cells[i].data, row->cells[i].length);
    }
    op->record = (uint32_t)model->record_count;
    model->records[model->record_count++] = (struct tt_record){.cells = tt_cells_finish(model, cells)};
    if (number_of(row, at->device, &number) && number < TT_MAX_DEVICES)
        op->device = (uint32_t)number;
    if (number_of(row, at->host_start, &op->start_ns)) {
        op->flags &= ~(uint32_t)TT_OP_NO_TIMES;
        number_of(row, at->host_duration, &op->duration_ns);
    }
    if (op->device == TT_NONE || !number_of(row, at->fw_start, &number) ||
        !number_of(row, at->fw_end, &end) || end < number || !tt_device_get(model, op->device))
        return;
    struct tt_run *run = tt_run_add(model);
    if (!run)
        return;
    run->id = op->id;
    run->op = (uint32_t)(op - model->ops);
    run->device = op->device;
    run->has_cycles = true;
    run->start_cycle = number;
    run->end_cycle = end;
    if (number_of(row, at->session, &number) && number < UINT32_MAX)
        run->session = (uint32_t)number;
    if (number_of(row, at->cores, &number) && number < UINT32_MAX)
        run->cores = (uint32_t)number;
}

int tt_model_from_rows(struct tt_model *model, struct op_rows *rows, struct error *err)
{
    struct tt_cell_builder cells = {0};
    struct bytes unique = {0};
    struct op_row row;
    int status = 0;
    size_t count = op_rows_column_count(rows);
    model->is_table = true;
    if (!array_reserve(&model->table_columns, &model->table_column_capacity, count + 1,
                       sizeof model->table_columns[0]))
        return error_set_errno(err, ENOMEM, "%zu columns", count);
    for (size_t i = 0; i < count; i++) {
        const char *name = op_rows_column_name(rows, i);
        bytes_clear(&unique);
        bytes_append_text(&unique, name);
        if (op_rows_find_column(rows, name) != i) /* a name that comes again is kept apart by its number */
            bytes_append_format(&unique, "%c%zu", TT_COLUMN_AGAIN, i);
        if (unique.failed)
            model->failed = true;
        else
            model->table_columns[model->table_column_count++] =
                tt_column(model, unique.length ? (const char *)unique.data : "", unique.length);
    }
    bytes_free(&unique);
    struct table_places at = {.device = op_rows_find_column(rows, "DEVICE ID"),
                              .host_start = op_rows_find_column(rows, "HOST START TS"),
                              .host_duration = op_rows_find_column(rows, "HOST DURATION [ns]"),
                              .fw_start = op_rows_find_column(rows, "DEVICE FW START CYCLE"),
                              .fw_end = op_rows_find_column(rows, "DEVICE FW END CYCLE"),
                              .session = op_rows_find_column(rows, "METAL TRACE REPLAY SESSION ID"),
                              .cores = op_rows_find_column(rows, "CORE COUNT")};
    while (!model->failed && (status = op_rows_next(rows, &row, err)) > 0)
        add_table_row(model, &row, &at, &cells);
    free(cells.items);
    for (size_t i = 0; i < op_rows_notice_count(rows) && status == 0; i++) {
        const struct op_row_notice *notice = op_rows_notice(rows, i);
        tt_note_again(model, OP_NOTICE_DAMAGED, notice->first_line, notice->count, notice->text);
    }
    return status < 0 ? status : tt_model_check(model, err);
}
