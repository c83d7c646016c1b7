/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text_copy.h"
#include "text/python_text.h"
#include "base/keyed_text.h"
#include "base/slice.h"
#include "import/tenstorrent/trace.h"

#define LONGEST_TEXT_FIGURE 60000u /* a trace cuts longer names */
#define MAX_PARTS 60000u           /* of a description: a block holds no more */

/* --- tracks and clocks --- */

uint32_t tt_trace_thread_track(struct tt_trace_writer *w, uint32_t thread)
{
    uint32_t track = tt_map_get(&w->track_of_thread, thread);
    char name[32];
    if (track != TT_NONE)
        return track;
    snprintf(name, sizeof name, "thread %u", (unsigned)thread);
    track = trace_writer_track(w->writer, &(struct trace_track){.id = TRACE_NONE,
                                                                .process = w->process,
                                                                .parent = TRACE_NONE,
                                                                .kind = TRACE_TRACK_THREAD,
                                                                .clock = TRACE_HOST_CLOCK,
                                                                .number = thread,
                                                                .name = name});
    if (track == TRACE_NONE || !tt_map_put(&w->track_of_thread, thread, track))
        w->failed = true;
    return track;
}

uint32_t tt_trace_device_track(struct tt_trace_writer *w, uint32_t id)
{
    uint32_t track = tt_map_get(&w->track_of_device, id);
    char name[80];
    if (track != TT_NONE)
        return track;
    const struct tt_device *device = tt_device_get(w->model, id);
    struct slice arch = device && device->arch.data ? device->arch : slice_from("", 0);
    double mhz = device && device->frequency_mhz ? device->frequency_mhz : 1000;
    snprintf(name, sizeof name, "device %u", (unsigned)id);
    uint32_t clock = trace_writer_clock(
        w->writer, &(struct trace_clock){
                       .id = TRACE_NONE, .is_device = true, .ticks_per_second = mhz * 1e6, .name = name});
    snprintf(name, sizeof name, "device %u%s%.*s", (unsigned)id, arch.length ? " " : "",
             (int)(arch.length < 40 ? arch.length : 40), arch.data);
    track = trace_writer_track(w->writer, &(struct trace_track){.id = TRACE_NONE,
                                                                .process = w->process,
                                                                .parent = TRACE_NONE,
                                                                .kind = TRACE_TRACK_DEVICE,
                                                                .clock = clock,
                                                                .number = id,
                                                                .name = name});
    if (track == TRACE_NONE || !tt_map_put(&w->track_of_device, id, track) ||
        !tt_map_put(&w->clock_of_device, id, clock))
        w->failed = true;
    return track;
}

/* The latest host time that the device's clock may show, by each run of which the dispatch is known. */
static void write_clock_points(struct tt_trace_writer *w)
{
    struct tt_model *model = w->model;
    for (size_t d = 0; d < model->device_count; d++) {
        const struct tt_device *device = &model->devices[d];
        double mhz = device->frequency_mhz ? device->frequency_mhz : 1000;
        struct trace_clock_point best = {0};
        bool has_any = false, is_dispatched = false;
        double best_offset = 0;
        for (size_t i = 0; i < model->run_count; i++) {
            const struct tt_run *run = &model->runs[i];
            if (run->device != device->id || !run->has_cycles)
                continue;
            const struct tt_op *op = run->op == TT_NONE ? NULL : &model->ops[run->op];
            bool is_known =
                op && (run->session ? !(run->flags & TT_RUN_NO_REPLAY) : !(op->flags & TT_OP_NO_TIMES));
            uint64_t host_ns = !is_known ? 0 : run->session ? run->replay_ns : op->start_ns;
            double offset = (is_known ? (double)host_ns : 0) - (double)run->start_cycle * 1000 / mhz;
            if (has_any && (is_dispatched > is_known || (is_dispatched == is_known && offset <= best_offset)))
                continue;
            has_any = true;
            is_dispatched = is_known;
            best_offset = offset;
            best = (struct trace_clock_point){
                .ticks = run->start_cycle, .host_ns = host_ns, .uncertainty_ns = op ? op->duration_ns : 0};
        }
        if (!has_any)
            continue;
        tt_trace_device_track(w, device->id);
        best.clock = tt_map_get(&w->clock_of_device, device->id);
        trace_writer_clock_point(w->writer, &best);
    }
}

/* --- figures --- */

static uint32_t name_of(struct tt_trace_writer *w, struct slice text)
{
    char *copy = text_copy(text.data, text.length);
    uint32_t id = copy ? trace_writer_name(w->writer, copy, "", "", 0, 0) : TRACE_NONE;
    if (!copy)
        w->failed = true;
    free(copy);
    return id;
}

struct run_column { /* what is asked of a column again and again */
    uint32_t name;
    enum op_column_kind kind;
    uint32_t figure; /* enum trace_figure_kind */
};

struct run_parts {
    struct trace_run_part *items;
    size_t count, capacity;
    struct bytes text;
    struct run_column *columns; /* by column of the model */
};

static void add_named_part(struct tt_trace_writer *w, struct run_parts *parts, struct trace_run_part part)
{
    if (!array_reserve(&parts->items, &parts->capacity, parts->count + 1, sizeof parts->items[0])) {
        w->failed = true;
        return;
    }
    parts->items[parts->count++] = part;
}

static void add_run_part(struct tt_trace_writer *w, struct run_parts *parts, const char *name,
                         enum trace_figure_kind kind, uint64_t value)
{
    uint32_t id = trace_writer_name(w->writer, name, "", "", 0, 0);
    add_named_part(w, parts, (struct trace_run_part){.name = id, .kind = kind, .whole = value});
}

/* The unit that the vendor's name of a column says. */
static uint32_t figure_kind_of(const char *name, enum op_column_kind kind)
{
    size_t length = strlen(name);
    if (kind == OP_COLUMN_TEXT)
        return TRACE_FIGURE_TEXT;
    if (kind == OP_COLUMN_REAL)
        return strstr(name, "(%)") || strstr(name, "UTIL") ? TRACE_FIGURE_PERCENT : TRACE_FIGURE_REAL;
    if (strstr(name, "[ns]"))
        return TRACE_FIGURE_NS;
    return length > 6 && strcmp(name + length - 6, " CYCLE") == 0 ? TRACE_FIGURE_TICKS : TRACE_FIGURE_COUNT;
}

/* Kinds and names of the columns that runs use. */
static bool find_run_columns(struct tt_trace_writer *w, struct run_parts *parts)
{
    const struct intern *names = &w->model->columns;
    bool *is_used = calloc(names->count + 1, sizeof is_used[0]);
    parts->columns = calloc(names->count + 1, sizeof parts->columns[0]);
    for (size_t i = 0; i < w->model->run_count && is_used; i++) {
        for (uint32_t k = 0; k < w->model->runs[i].cells.count; k++)
            is_used[w->model->runs[i].cells.items[k].column] = true;
    }
    for (size_t i = 0; i < w->model->record_count && is_used && w->model->is_table; i++) {
        for (uint32_t k = 0; k < w->model->records[i].cells.count; k++)
            is_used[w->model->records[i].cells.items[k].column] = true;
    }
    for (size_t i = 0; i < names->count && is_used && parts->columns; i++) {
        if (!is_used[i])
            continue;
        parts->columns[i].kind = op_column_kind_of(names->entries[i].data, names->entries[i].length);
        parts->columns[i].figure = figure_kind_of(names->entries[i].data, parts->columns[i].kind);
        parts->columns[i].name = trace_writer_name(w->writer, names->entries[i].data, "", "", 0, 0);
    }
    bool is_fine = is_used && parts->columns;
    free(is_used);
    return is_fine;
}

/* "12.5", "-0.0": a point, no zeros that could be left out, and so few digits that no other decimal of as many is the
 * same double. Such a text is the shortest for its double, and so what that prints as. */
static bool is_plain_decimal(const struct tt_cell *cell)
{
    const char *at = cell->data, *end = cell->data + cell->length;
    at += at < end && *at == '-';
    const char *point = memchr(at, '.', (size_t)(end - at));
    if (!point || point == at || end - point < 2 || end - at > 16 || (at[0] == '0' && point - at > 1) ||
        (end[-1] == '0' && end - point > 2) ||
        (at[0] == '0' && end - point > 3 && memcmp(point, ".000", 4) == 0))
        return false;
    for (; at < end; at++) {
        if (at != point && (*at < '0' || *at > '9'))
            return false;
    }
    return true;
}

/* True when the cell is exactly what the double prints as. */
static bool is_real(const struct tt_cell *cell, struct bytes *scratch, double *value)
{
    char text[48], *end;
    if (cell->length == 0 || cell->length >= sizeof text || !memchr("0123456789-ni", cell->data[0], 13))
        return false;
    memcpy(text, cell->data, cell->length);
    text[cell->length] = 0;
    *value = strtod(text, &end);
    if (is_plain_decimal(cell))
        return true;
    bytes_clear(scratch);
    python_append_float(scratch, *value);
    return *end == 0 && scratch->length == cell->length && memcmp(scratch->data, text, cell->length) == 0;
}

static bool is_whole(const struct tt_cell *cell, uint64_t *value)
{
    struct slice text = slice_from(cell->data, cell->length);
    return (text.length == 1 || (text.length > 1 && text.data[0] != '0')) && slice_unsigned(text, value);
}

/* A cell that is exactly what its number prints as. */
static bool add_number_cell(struct tt_trace_writer *w, struct run_parts *parts, const struct tt_cell *cell)
{
    const struct run_column *column = &parts->columns[cell->column];
    struct trace_run_part part = {.name = column->name, .kind = column->figure};
    if (!(column->kind == OP_COLUMN_INTEGER && is_whole(cell, &part.whole)) &&
        !(column->kind == OP_COLUMN_REAL && is_real(cell, &parts->text, &part.real)))
        return false;
    add_named_part(w, parts, part);
    return true;
}

static void add_cell(struct tt_trace_writer *w, struct run_parts *parts, const struct tt_cell *cell)
{
    const struct run_column *column = &parts->columns[cell->column];
    uint32_t text = TRACE_NONE;
    if (add_number_cell(w, parts, cell))
        return;
    text = name_of(w, slice_from(cell->data, cell->length));
    add_named_part(w, parts,
                   (struct trace_run_part){.name = column->name, .kind = TRACE_FIGURE_TEXT, .whole = text});
}

/* A cell of a table, by what it is, whatever its column should hold. False: too long for a figure. */
static bool add_table_cell(struct tt_trace_writer *w, struct run_parts *parts, const struct tt_cell *cell)
{
    const struct run_column *column = &parts->columns[cell->column];
    bool is_integer = column->kind == OP_COLUMN_INTEGER, is_real_column = column->kind == OP_COLUMN_REAL;
    struct trace_run_part part = {.name = column->name};
    if (cell->length > LONGEST_TEXT_FIGURE)
        return false;
    if (is_whole(cell, &part.whole)) {
        part.kind = is_integer ? column->figure : (uint32_t)TRACE_FIGURE_COUNT;
    } else if (is_real(cell, &parts->text, &part.real)) {
        part.kind = is_real_column ? column->figure : (uint32_t)TRACE_FIGURE_REAL;
    } else {
        part.kind = TRACE_FIGURE_TEXT;
        part.whole = name_of(w, slice_from(cell->data, cell->length));
    }
    add_named_part(w, parts, part);
    return true;
}

/* --- ops --- */

struct parts {
    struct trace_part *items;
    size_t *offsets; /* of their texts, until all are there */
    size_t count, capacity, offset_capacity;
    struct bytes text;
};

static void add_part(struct tt_trace_writer *w, struct parts *parts, uint32_t role, const char *key,
                     size_t key_length, const char *value, size_t length)
{
    if (!array_reserve(&parts->items, &parts->capacity, parts->count + 1, sizeof parts->items[0]) ||
        !array_reserve(&parts->offsets, &parts->offset_capacity, parts->count + 1,
                       sizeof parts->offsets[0])) {
        w->failed = true;
        return;
    }
    parts->offsets[parts->count] = parts->text.length;
    parts->items[parts->count++] = (struct trace_part){.role = role};
    if (key) {
        bytes_append(&parts->text, key, key_length);
        bytes_append_u8(&parts->text, '=');
    }
    bytes_append(&parts->text, value, length);
    bytes_append_u8(&parts->text, 0);
}

static uint32_t finish_parts(struct tt_trace_writer *w, struct parts *parts)
{
    if (parts->text.failed) {
        w->failed = true;
        return TRACE_NONE;
    }
    if (parts->count > MAX_PARTS) {
        tt_note(w->model, TT_DAMAGED_WIDE_OP, 0,
                "an op with more than %u cells: a trace holds the first of them", MAX_PARTS);
        parts->count = MAX_PARTS;
    }
    for (size_t i = 0; i < parts->count; i++)
        parts->items[i].text = (const char *)parts->text.data + parts->offsets[i];
    uint32_t id = parts->count ? trace_writer_description(w->writer, parts->items, parts->count) : TRACE_NONE;
    parts->count = 0;
    bytes_clear(&parts->text);
    return id;
}

static uint32_t role_of(uint32_t column)
{
    if (column >= OP_COLUMN_ID_COMPUTE_SOURCE && column <= OP_COLUMN_ID_DATA_HASH)
        return TRACE_PART_KERNEL;
    return column == OP_COLUMN_ID_LOC ? TRACE_PART_LOCATION : TRACE_PART_ATTRIBUTE;
}

/* "64[50]" to 64 and 50. */
static bool split_size(const struct tt_cell *cell, struct slice *padded, struct slice *logical)
{
    const char *bracket = cell->length ? memchr(cell->data, '[', cell->length) : NULL;
    uint64_t number;
    if (!bracket || cell->data[cell->length - 1] != ']')
        return false;
    *padded = slice_from(cell->data, (size_t)(bracket - cell->data));
    *logical = slice_from(bracket + 1, cell->length - padded->length - 2);
    return slice_unsigned(*padded, &number) && slice_unsigned(*logical, &number);
}

/* The seven cells of a tensor as one part, when they are such as can be given back from it. */
static bool add_tensor(struct tt_trace_writer *w, struct parts *parts, const struct tt_cell *cells,
                       bool is_output, struct bytes *scratch)
{
    static const char *const words[] = {"layout", "dtype", "memory"};
    struct slice padded[4], logical[4];
    bytes_clear(scratch);
    for (unsigned i = 0; i < 4; i++) {
        if (!split_size(&cells[i], &padded[i], &logical[i]))
            return false;
    }
    for (unsigned i = OP_TENSOR_LAYOUT; i < OP_TENSOR_FIELDS; i++) {
        if (cells[i].length &&
            (memchr(cells[i].data, ';', cells[i].length) || memchr(cells[i].data, 0, cells[i].length)))
            return false;
    }
    bytes_append_text(scratch, "shape=");
    for (unsigned i = 0; i < 4; i++) {
        bytes_append_text(scratch, i ? "x" : "");
        bytes_append(scratch, logical[i].data, logical[i].length);
    }
    bytes_append_text(scratch, ";padded=");
    for (unsigned i = 0; i < 4; i++) {
        bytes_append_text(scratch, i ? "x" : "");
        bytes_append(scratch, padded[i].data, padded[i].length);
    }
    for (unsigned i = OP_TENSOR_LAYOUT; i < OP_TENSOR_FIELDS; i++) {
        bytes_append_format(scratch, ";%s=", words[i - OP_TENSOR_LAYOUT]);
        bytes_append(scratch, cells[i].data, cells[i].length);
    }
    add_part(w, parts, is_output ? TRACE_PART_OUTPUT : TRACE_PART_INPUT, NULL, 0, (const char *)scratch->data,
             scratch->length);
    return true;
}

/* True when seven cells from here on are those of tensor `index`. */
static bool is_tensor_at(const struct tt_model *model, const struct tt_cells *cells, uint32_t at,
                         bool is_output, uint32_t index, struct bytes *scratch)
{
    if (cells->count - at < OP_TENSOR_FIELDS || cells->items[at].column < OP_FIXED_COLUMN_COUNT)
        return false;
    for (unsigned i = 0; i < OP_TENSOR_FIELDS; i++) {
        const struct intern_entry *name = &model->columns.entries[cells->items[at + i].column];
        bytes_clear(scratch);
        op_tensor_column(is_output, index, (enum op_tensor_field)i, scratch);
        if (name->length != scratch->length || memcmp(name->data, scratch->data, name->length) != 0)
            return false;
    }
    return true;
}

static void add_record(struct tt_trace_writer *w, struct parts *parts, struct run_parts *figures,
                       const struct tt_record *record, struct bytes *scratch)
{
    uint32_t counts[2] = {0};
    for (uint32_t i = 0; i < record->cells.count;) {
        const struct tt_cell *cell = &record->cells.items[i];
        bool is_tensor = false;
        for (unsigned side = 0; side < 2 && !w->model->is_table && !is_tensor; side++) {
            is_tensor = is_tensor_at(w->model, &record->cells, i, side, counts[side], scratch) &&
                        add_tensor(w, parts, cell, side, scratch);
            counts[side] += is_tensor;
        }
        i += is_tensor ? OP_TENSOR_FIELDS : 1;
        if (is_tensor || (cell->column == OP_COLUMN_ID_OP_CODE && !w->model->is_table))
            continue;
        if (w->model->is_table && add_table_cell(w, figures, cell))
            continue;
        const struct intern_entry *name = &w->model->columns.entries[cell->column];
        add_part(w, parts, role_of(cell->column), name->data, name->length, cell->data, cell->length);
    }
}

static void add_text_part(struct tt_trace_writer *w, struct parts *parts, uint32_t column, uint32_t text)
{
    if (text == TT_NONE)
        return;
    const struct intern_entry *entry = &w->model->texts.entries[text];
    const char *name = op_fixed_columns[column].name;
    add_part(w, parts, role_of(column), name, strlen(name), entry->data, entry->length);
}

static void add_number_part(struct tt_trace_writer *w, struct parts *parts, const char *key,
                            size_t key_length, uint64_t value)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%" PRIu64, value);
    add_part(w, parts, TRACE_PART_ATTRIBUTE, key, key_length, text, (size_t)n);
}

static struct slice find_cell(const struct tt_record *record, uint32_t column)
{
    for (uint32_t i = 0; record && i < record->cells.count; i++) {
        if (record->cells.items[i].column == column)
            return slice_from(record->cells.items[i].data, record->cells.items[i].length);
    }
    return slice_from("", 0);
}

static void describe_op(struct tt_trace_writer *w, const struct tt_op *op, struct parts *parts,
                        struct run_parts *figures, struct bytes *scratch)
{
    const char *hit = op_fixed_columns[OP_COLUMN_ID_CACHE_HIT].name,
               *hash = op_fixed_columns[OP_COLUMN_ID_PROGRAM_HASH].name;
    if (op->record != TT_NONE)
        add_record(w, parts, figures, &w->model->records[op->record], scratch);
    else if (op->hash.length)
        add_part(w, parts, TRACE_PART_ATTRIBUTE, hash, strlen(hash), op->hash.data, op->hash.length);
    if (w->model->is_table)
        return;
    if (op->cache_hit >= 0)
        add_part(w, parts, TRACE_PART_ATTRIBUTE, hit, strlen(hit), op->cache_hit ? "True" : "False",
                 op->cache_hit ? 4 : 5);
    add_text_part(w, parts, OP_COLUMN_ID_LOC, op->location);
    add_text_part(w, parts, OP_COLUMN_ID_CONST_EVAL, op->const_eval);
    add_text_part(w, parts, OP_COLUMN_ID_PROGRAM_METADATA, op->metadata);
    for (uint32_t i = op->children; i != TT_NONE; i = w->model->children[i].next) {
        const struct intern_entry *name = &w->model->columns.entries[w->model->children[i].column];
        add_run_part(w, figures, name->data, TRACE_FIGURE_NS, w->model->children[i].sum_ns);
    }
    if (op->trace != TT_NO_TRACE)
        add_number_part(w, parts, TT_PART_TRACE, strlen(TT_PART_TRACE), (uint64_t)op->trace);
    if (op->record == TT_NONE || op->flags)
        add_number_part(w, parts, TT_PART_FLAGS, strlen(TT_PART_FLAGS),
                        op->flags | (op->record == TT_NONE ? TT_OP_NO_RECORD_AT_ALL : 0));
}

static void write_point(struct tt_trace_writer *w, uint32_t kind, uint64_t time, struct slice header,
                        struct slice text)
{
    char *own_header = text_copy(header.data, header.length), *own_text = text_copy(text.data, text.length);
    if (own_header && own_text)
        trace_writer_point(w->writer, &(struct trace_point){.track = w->import_track,
                                                            .kind = kind,
                                                            .time = time,
                                                            .header = own_header,
                                                            .text = own_text,
                                                            .text_length = (uint32_t)strlen(own_text)});
    else
        w->failed = true;
    free(own_header);
    free(own_text);
}

static void write_ops(struct tt_trace_writer *w)
{
    struct tt_model *model = w->model;
    struct parts parts = {0};
    struct run_parts figures = {0};
    struct bytes scratch = {0};
    if (!find_run_columns(w, &figures))
        w->failed = true;
    for (size_t i = 0; i < model->op_count && !w->failed; i++) {
        const struct tt_op *op = &model->ops[i];
        const struct tt_record *record = op->record == TT_NONE ? NULL : &model->records[op->record];
        struct slice code = record ? find_cell(record, OP_COLUMN_ID_OP_CODE) : op->name;
        struct slice type = find_cell(record, OP_COLUMN_ID_OP_TYPE);
        bool has_times = !(op->flags & TT_OP_NO_TIMES);
        if (model->is_table && slice_is(type, "signpost")) {
            write_point(w, TRACE_POINT_SIGNPOST, op->start_ns, code,
                        find_cell(record, OP_COLUMN_ID_ATTRIBUTES));
            w->counts->signposts++;
        }
        figures.count = 0;
        describe_op(w, op, &parts, &figures, &scratch);
        trace_writer_op(w->writer,
                        &(struct trace_op){.call = model->is_table ? i + 1 : op->id,
                                           .process = w->process,
                                           .track = tt_trace_thread_track(w, op->thread),
                                           .name = name_of(w, code),
                                           .type = slice_is(type, "python_fallback") ? TRACE_OP_FALLBACK
                                                   : op->device == TT_NONE           ? TRACE_OP_HOST
                                                                                     : TRACE_OP_DEVICE,
                                           .device = op->device == TT_NONE ? TRACE_NONE : op->device,
                                           .description = finish_parts(w, &parts),
                                           .start_ns = has_times ? op->start_ns : op->message_ns,
                                           .end_ns = has_times ? op->start_ns + op->duration_ns : 0,
                                           .part_count = (uint32_t)figures.count,
                                           .parts = figures.items});
        w->counts->ops++;
    }
    free(figures.columns);
    free(figures.items);
    bytes_free(&figures.text);
    free(parts.items);
    free(parts.offsets);
    bytes_free(&parts.text);
    bytes_free(&scratch);
}

/* --- runs --- */

static void write_runs(struct tt_trace_writer *w)
{
    struct tt_model *model = w->model;
    struct run_parts parts = {0};
    if (!find_run_columns(w, &parts))
        w->failed = true;
    for (size_t i = 0; i < model->run_count && !w->failed; i++) {
        const struct tt_run *run = &model->runs[i];
        const struct tt_op *op = run->op == TT_NONE ? NULL : &model->ops[run->op];
        const struct tt_record *record = op && op->record != TT_NONE ? &model->records[op->record] : NULL;
        parts.count = 0;
        for (uint32_t k = 0; k < run->cells.count; k++)
            add_cell(w, &parts, &run->cells.items[k]);
        if (run->trace != TT_NO_TRACE)
            add_run_part(w, &parts, TT_PART_TRACE, TRACE_FIGURE_COUNT, (uint64_t)run->trace);
        if (run->session)
            add_run_part(w, &parts, TT_PART_REPLAY_NS, TRACE_FIGURE_NS, run->replay_ns);
        if (run->flags)
            add_run_part(w, &parts, TT_PART_FLAGS, TRACE_FIGURE_COUNT, run->flags);
        if (!op)
            add_run_part(w, &parts, TT_PART_ID, TRACE_FIGURE_COUNT, run->id);
        add_run_part(w, &parts, TT_PART_ORDER, TRACE_FIGURE_COUNT, i);
        struct slice code = record ? find_cell(record, OP_COLUMN_ID_OP_CODE)
                            : op   ? op->name
                                   : slice_from("", 0);
        char unnamed[40];
        if (code.length == 0)
            code = slice_from(unnamed, (size_t)snprintf(unnamed, sizeof unnamed, "op %" PRIu64, run->id));
        trace_writer_run(w->writer, &(struct trace_run){
                                        .call = !op               ? 0
                                                : model->is_table ? (uint64_t)run->op + 1
                                                                  : run->id,
                                        .process = w->process,
                                        .track = tt_trace_device_track(w, run->device),
                                        .name = name_of(w, code),
                                        .session = run->session,
                                        .cores = run->cores,
                                        .part_count = (uint32_t)parts.count,
                                        .start = run->has_cycles ? run->start_cycle : 0,
                                        .duration = run->has_cycles ? run->end_cycle - run->start_cycle : 0,
                                        .parts = parts.items});
        w->counts->runs++;
    }
    free(parts.columns);
    free(parts.items);
    bytes_free(&parts.text);
}

/* --- signposts, notes, losses --- */

/* What could not be joined is still there: it is reported, but not lost. */
static uint32_t loss_reason(uint8_t severity)
{
    return severity == OP_NOTICE_DAMAGED ? TRACE_LOSS_DAMAGED
           : severity == OP_NOTICE_LOST  ? TRACE_LOSS_BUFFER_FULL
                                         : 0;
}

static void write_notes(struct tt_trace_writer *w)
{
    struct tt_model *model = w->model;
    struct bytes text = {0};
    for (size_t i = 0; i < model->note_count; i++) {
        const struct tt_note *note = &model->notes[i];
        uint32_t reason = loss_reason(note->severity);
        bytes_clear(&text);
        bytes_append_text(&text, note->text ? note->text : "");
        if (note->count > 1)
            bytes_append_format(&text, " (%" PRIu64 " times)", note->count);
        write_point(w, TRACE_POINT_MESSAGE, 0, slice_from("import", 6),
                    slice_from((const char *)text.data, text.length));
        w->counts->notes++;
        if (note->severity != OP_NOTICE_INFO)
            w->counts->faults += note->count;
        if (reason == 0)
            continue;
        trace_writer_loss(w->writer, &(struct trace_loss){.process = w->process,
                                                          .track = w->import_track,
                                                          .reason = reason,
                                                          .records = note->count});
    }
    if (w->lost_zones)
        trace_writer_loss(w->writer, &(struct trace_loss){.process = w->process,
                                                          .track = w->import_track,
                                                          .reason = TRACE_LOSS_UNMATCHED,
                                                          .zones = w->lost_zones});
    bytes_free(&text);
}

/* The columns of an ops CSV, a message each: their order is part of the table. */
static void write_columns(struct tt_trace_writer *w)
{
    for (size_t i = 0; i < w->model->table_column_count; i++) {
        const struct intern_entry *name = &w->model->columns.entries[w->model->table_columns[i]];
        write_point(w, TRACE_POINT_MESSAGE, 0, slice_from("column", 6), slice_from(name->data, name->length));
    }
}

static void write_begin(struct tt_trace_writer *w, const char *path)
{
    struct bytes command = {0};
    bytes_append_format(&command, "import %s", path);
    bytes_append_u8(&command, 0);
    w->process =
        trace_writer_process(w->writer, &(struct trace_process){.id = TRACE_NONE,
                                                                .parent = TRACE_NONE,
                                                                .exit_status = TRACE_STATUS_UNKNOWN,
                                                                .command = (const char *)command.data,
                                                                .host = ""});
    w->import_track = trace_writer_track(
        w->writer, &(struct trace_track){.id = TRACE_NONE,
                                         .process = w->process,
                                         .parent = TRACE_NONE,
                                         .kind = TRACE_TRACK_OTHER,
                                         .clock = TRACE_HOST_CLOCK,
                                         .name = w->model->is_table ? TT_TRACK_TABLE : TT_TRACK_FOLDER});
    if (w->model->is_device_only) /* not to be told from the ops alone: there may be signposts */
        write_point(w, TRACE_POINT_MESSAGE, 0, slice_from("kind", 4), slice_from("device only", 11));
    if (w->model->is_quasar)
        write_point(w, TRACE_POINT_MESSAGE, 0, slice_from("kind", 4), slice_from("quasar", 6));
    if (w->model->has_locations)
        write_point(w, TRACE_POINT_MESSAGE, 0, slice_from("kind", 4), slice_from("locations", 9));
    w->failed |= command.failed || w->process == TRACE_NONE || w->import_track == TRACE_NONE;
    bytes_free(&command);
}

static int load(struct tt_model *model, const char *path, const struct import_options *options,
                struct tt_files *files, struct error *err)
{
    struct op_rows *rows;
    if (tt_is_source(path)) {
        int found = tt_files_find(files, path, err);
        return found != 0 ? found : tt_load(model, files, options, err);
    }
    int result = op_rows_open(&rows, path, err);
    if (result == 0)
        result = tt_model_from_rows(model, rows, err);
    op_rows_close(rows);
    return result;
}

/* A trace that could not be finished helps nobody: it can be made again. */
static void remove_partial(const char *output)
{
    struct bytes path = {0};
    bytes_append_format(&path, "%s.partial", output);
    bytes_append_u8(&path, 0);
    if (!path.failed)
        unlink((const char *)path.data);
    bytes_free(&path);
}

int tt_import(const char *path, const char *output, const struct import_options *options,
              struct import_counts *counts, struct error *err)
{
    struct tt_model model;
    struct tt_files files = {0};
    struct tt_trace_writer w = {.model = &model, .counts = counts};
    struct trace_writer_options about = {.program = "opscope " OPSCOPE_VERSION, .command = path, .host = ""};
    *counts = (struct import_counts){0};
    tt_model_init(&model);
    int result = load(&model, path, options, &files, err);
    if (result == 0)
        result = trace_writer_open(&w.writer, output, &about, err);
    if (result == 0) {
        write_begin(&w, path);
        write_clock_points(&w);
        write_ops(&w);
        write_runs(&w);
        write_columns(&w);
        for (size_t i = 0; i < model.signpost_count; i++)
            write_point(&w, TRACE_POINT_SIGNPOST, model.signposts[i].time_ns, model.signposts[i].header,
                        model.signposts[i].text);
        counts->signposts += model.signpost_count;
        if (!model.is_table)
            result = tt_trace_write_zones(&w, &files, err);
        write_notes(&w);
        if (result == 0 && w.failed)
            result = error_set_errno(err, ENOMEM, "%s", output);
        counts->zones = trace_writer_zone_count(w.writer);
        if (result == 0)
            result = trace_writer_finish(w.writer, err);
        else
            trace_writer_discard(w.writer);
        if (result != 0)
            remove_partial(output);
    }
    tt_map_free(&w.track_of_thread);
    tt_map_free(&w.track_of_device);
    tt_map_free(&w.clock_of_device);
    tt_files_free(&files);
    tt_model_free(&model);
    return result;
}
