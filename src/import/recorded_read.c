/* SPDX-License-Identifier: Apache-2.0 */
#include "import/recorded_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/python_text.h"
#include "base/keyed_text.h"
#include "base/slice.h"

/* --- rows of the trace --- */

int recorded_each(struct trace *trace, uint32_t block_type, recorded_row_fn row, void *context,
                  struct error *err)
{
    struct trace_block_filter filter = {.type = block_type};
    struct trace_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0;
    bool goes_on = true;
    int result = 0;
    while (result == 0 && goes_on && (block = trace_next_block(trace, &filter, &position))) {
        result = trace_decode_rows(trace, block, &rows, err);
        for (size_t i = 0; result == 0 && goes_on && i < rows.count; i++)
            goes_on = row(context, &rows, i);
    }
    trace_rows_free(&rows);
    return result;
}

bool recorded_add_signpost(struct tt_model *model, const struct trace_point *point)
{
    size_t length = strlen(point->header);
    if (point->kind != TRACE_POINT_SIGNPOST)
        return true;
    if (!array_reserve(&model->signposts, &model->signpost_capacity, model->signpost_count + 1,
                       sizeof model->signposts[0]))
        model->failed = true;
    else
        model->signposts[model->signpost_count++] = (struct tt_signpost){
            point->time, slice_from(tt_keep(model, point->header, length), length),
            slice_from(tt_keep(model, point->text, point->text_length), point->text_length)};
    return !model->failed;
}

/* --- calls --- */

bool recorded_calls_init(struct recorded_calls *calls, const struct trace *trace)
{
    calls->process_count = trace_process_count(trace);
    calls->of_process = calloc(calls->process_count + 1, sizeof calls->of_process[0]);
    return calls->of_process != NULL;
}

void recorded_calls_free(struct recorded_calls *calls)
{
    for (size_t i = 0; calls->of_process && i <= calls->process_count; i++)
        tt_map_free(&calls->of_process[i]);
    free(calls->of_process);
    *calls = (struct recorded_calls){0};
}

/* --- pieces --- */

enum piece_kind { PIECE_OP, PIECE_INPUT, PIECE_OUTPUT, PIECE_ATTRIBUTE, PIECE_LOCATION };
struct piece_key {    /* what a piece is made of */
    const char *text; /* of the trace, which keeps each once */
    uint32_t kind;    /* enum piece_kind */
    uint32_t index;   /* among the op's inputs or outputs */
    uint32_t device, type;
};

/* The vendor's own tables have ';' for ',' in texts; names of ops stay what they are. */
static void add_text(struct recorded_records *r, uint32_t column)
{
    for (size_t i = 0; i < r->text.length && column != OP_COLUMN_ID_OP_CODE; i++) {
        if (r->text.data[i] == ',')
            r->text.data[i] = ';';
    }
    uint32_t id =
        r->text.failed
            ? INTERN_NONE
            : intern_add(&r->model->texts, r->text.length ? (const char *)r->text.data : "", r->text.length);
    if (id == INTERN_NONE)
        r->model->failed = true;
    else
        tt_cell_add(r->model, &r->cells, column, intern_text(&r->model->texts, id), r->text.length);
}

static void add_number(struct recorded_records *r, uint32_t column, uint64_t value)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%" PRIu64, value);
    tt_cell_copy(r->model, &r->cells, column, text, (size_t)n);
}

/* "2x3x32x64" to four sizes; what is in front of four is multiplied into the first, missing ones are 1. */
static bool parse_sizes(struct slice text, uint64_t sizes[4])
{
    uint64_t all[16];
    size_t count = 0;
    const char *at = text.data, *end = text.data + text.length;
    while (at < end) {
        const char *x = memchr(at, 'x', (size_t)(end - at));
        if (count == 16 || !slice_unsigned(slice_from(at, (size_t)((x ? x : end) - at)), &all[count++]))
            return false;
        at = x ? x + 1 : end;
    }
    for (size_t i = 0; i < 4; i++)
        sizes[i] = 1;
    for (size_t i = 0; i < count; i++) {
        size_t from_end = count - 1 - i;
        if (__builtin_mul_overflow(sizes[from_end > 3 ? 0 : 3 - from_end], all[i],
                                   &sizes[from_end > 3 ? 0 : 3 - from_end]))
            return false;
    }
    return count > 0;
}

static uint32_t tensor_column(struct recorded_records *r, bool is_output, uint32_t index, unsigned field)
{
    bytes_clear(&r->name);
    op_tensor_column(is_output, index, (enum op_tensor_field)field, &r->name);
    return tt_column(r->model, (const char *)r->name.data, r->name.length);
}

static void add_tensor(struct recorded_records *r, bool is_output, uint32_t index, const char *text,
                       uint32_t device)
{
    static const struct {
        const char *told, *vendor;
    } types[] = {{"BF16", "BFLOAT16"},
                 {"F32", "FLOAT32"},
                 {"FP32", "FLOAT32"},
                 {"BFP8", "BFLOAT8_B"},
                 {"BFP4", "BFLOAT4_B"}};
    struct slice shape = slice_of_key(text, "shape"), padded = slice_of_key(text, "padded");
    struct slice layout = slice_of_key(text, "layout"), type = slice_of_key(text, "dtype"),
                 memory = slice_of_key(text, "memory");
    uint64_t logical[4], physical[4];
    bool has_shape = parse_sizes(shape, logical), has_padded = parse_sizes(padded, physical);
    for (unsigned i = 0; i < 4 && (has_shape || has_padded); i++) {
        bytes_clear(&r->text);
        bytes_append_format(&r->text, "%" PRIu64 "[%" PRIu64 "]", has_padded ? physical[i] : logical[i],
                            has_shape ? logical[i] : physical[i]);
        add_text(r, tensor_column(r, is_output, index, i));
    }
    bytes_clear(&r->text);
    bytes_append(&r->text, layout.data, layout.length);
    if (layout.length)
        add_text(r, tensor_column(r, is_output, index, OP_TENSOR_LAYOUT));
    bytes_clear(&r->text);
    bytes_append(&r->text, type.data, type.length);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (slice_is(type, types[i].told)) {
            bytes_clear(&r->text);
            bytes_append_text(&r->text, types[i].vendor);
        }
    }
    if (type.length)
        add_text(r, tensor_column(r, is_output, index, OP_TENSOR_TYPE));
    bytes_clear(&r->text);
    if (!slice_begins(memory, "DEV_") && !slice_is(memory, "HOST") && device != TRACE_NONE)
        bytes_append_format(&r->text, "DEV_%u_", (unsigned)device);
    bytes_append(&r->text, memory.data, memory.length);
    if (memory.length)
        add_text(r, tensor_column(r, is_output, index, OP_TENSOR_MEMORY));
}

/* Attributes as the repr of a dict, kernels as the repr of a list. */
static void add_list(struct recorded_records *r, const struct trace_part *parts, size_t count, uint32_t role,
                     uint32_t column)
{
    size_t found = 0;
    bytes_clear(&r->text);
    bytes_append_text(&r->text, role == TRACE_PART_ATTRIBUTE ? "{" : "[");
    for (size_t i = 0; i < count; i++) {
        if (parts[i].role != role)
            continue;
        if (found++)
            bytes_append_text(&r->text, ", ");
        const char *equals = role == TRACE_PART_ATTRIBUTE ? strchr(parts[i].text, '=') : NULL;
        if (equals) {
            python_append_string(&r->text, parts[i].text, (size_t)(equals - parts[i].text));
            bytes_append_text(&r->text, ": ");
        }
        const char *value = equals ? equals + 1 : parts[i].text;
        python_append_string(&r->text, value, strlen(value));
    }
    bytes_append_text(&r->text, role == TRACE_PART_ATTRIBUTE ? "}" : "]");
    if (found)
        add_text(r, column);
}

/* The column of its own that an attribute has, and its value there; TT_NONE. */
static uint32_t attribute_column(const char *text, const char **value)
{
    static const struct {
        const char *key;
        enum op_fixed_column column;
    } known[] = {{"fidelity", OP_COLUMN_ID_MATH_FIDELITY},
                 {"math_fidelity", OP_COLUMN_ID_MATH_FIDELITY},
                 {"module", OP_COLUMN_ID_MODULE_PATH},
                 {"module_path", OP_COLUMN_ID_MODULE_PATH}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        size_t length = strlen(known[i].key);
        if (strncmp(text, known[i].key, length) != 0 || text[length] != '=')
            continue;
        *value = text + length + 1;
        return known[i].column;
    }
    return TT_NONE;
}

/* What lies in r->cells becomes a piece. */
static uint32_t finish_piece(struct recorded_records *r)
{
    if (r->piece_count == UINT32_MAX ||
        !array_reserve(&r->pieces, &r->piece_capacity, r->piece_count + 1, sizeof r->pieces[0])) {
        r->model->failed = true;
        return 0;
    }
    r->pieces[r->piece_count] = tt_cells_finish(r->model, &r->cells);
    return (uint32_t)r->piece_count++;
}

static void add_to_record(struct recorded_records *r, uint32_t piece)
{
    if (r->piece_id_count < UINT32_MAX &&
        array_reserve(&r->piece_ids, &r->piece_id_capacity, r->piece_id_count + 1, sizeof r->piece_ids[0]))
        r->piece_ids[r->piece_id_count++] = piece;
    else
        r->model->failed = true;
}

static void make_piece(struct recorded_records *r, const struct piece_key *key)
{
    static const char *const types[] = {"tt_dnn_device", "tt_dnn_cpu", "python_fallback"};
    const char *type = types[key->type < 3 ? key->type : 1], *text = key->text;
    uint32_t column = OP_COLUMN_ID_OP_CODE;
    if (key->kind == PIECE_INPUT || key->kind == PIECE_OUTPUT) {
        add_tensor(r, key->kind == PIECE_OUTPUT, key->index, text, key->device);
        return;
    }
    if (key->kind == PIECE_ATTRIBUTE)
        column = attribute_column(key->text, &text);
    else if (key->kind == PIECE_LOCATION)
        column = OP_COLUMN_ID_LOC;
    bytes_clear(&r->text);
    bytes_append_text(&r->text, text);
    add_text(r, column);
    if (key->kind == PIECE_OP) {
        tt_cell_add(r->model, &r->cells, OP_COLUMN_ID_OP_TYPE, type, strlen(type));
        if (key->device != TRACE_NONE)
            add_number(r, OP_COLUMN_ID_DEVICE_ID, key->device);
    }
}

static void add_piece(struct recorded_records *r, const struct trace_op *op, enum piece_kind kind,
                      const char *text, uint32_t index)
{
    struct piece_key key = {text, kind, index, op->device, op->type};
    size_t known = r->keys.count;
    uint32_t id = intern_add(&r->keys, &key, sizeof key);
    if (id == INTERN_NONE ||
        !array_reserve(&r->piece_of_key, &r->key_capacity, (size_t)id + 1, sizeof r->piece_of_key[0])) {
        r->model->failed = true;
        return;
    }
    if (id == known) {
        make_piece(r, &key);
        r->piece_of_key[id] = finish_piece(r);
    }
    add_to_record(r, r->piece_of_key[id]);
}

/* --- records --- */

struct record_key { /* all that a record is made of */
    uint32_t name, type, device, description;
};

/* Of attributes that have a column of their own the first of each counts. */
static void describe(struct recorded_records *r, const struct trace_op *op)
{
    size_t count = 0;
    uint32_t tensors[2] = {0};
    bool has_module = false, has_fidelity = false;
    const char *value;
    const struct trace_part *parts = trace_get_description(r->trace, op->description, &count);
    for (size_t i = 0; i < count; i++) {
        bool is_output = parts[i].role == TRACE_PART_OUTPUT;
        if (is_output || parts[i].role == TRACE_PART_INPUT)
            add_piece(r, op, is_output ? PIECE_OUTPUT : PIECE_INPUT, parts[i].text, tensors[is_output]++);
        if (parts[i].role == TRACE_PART_ATTRIBUTE) {
            uint32_t column = attribute_column(parts[i].text, &value);
            bool *has = column == OP_COLUMN_ID_MODULE_PATH ? &has_module : &has_fidelity;
            if (column != TT_NONE && !*has)
                add_piece(r, op, PIECE_ATTRIBUTE, parts[i].text, 0);
            *has |= column != TT_NONE;
        }
        if (parts[i].role == TRACE_PART_LOCATION)
            add_piece(r, op, PIECE_LOCATION, parts[i].text, 0);
    }
    add_list(r, parts, count, TRACE_PART_ATTRIBUTE, OP_COLUMN_ID_ATTRIBUTES);
    add_list(r, parts, count, TRACE_PART_KERNEL, OP_COLUMN_ID_COMPUTE_SOURCE);
    if (r->cells.count)
        add_to_record(r, finish_piece(r));
}

uint32_t recorded_record(struct recorded_records *r, const struct trace_op *op)
{
    struct record_key key = {op->name, op->type, op->device, op->description};
    size_t known = r->known.count;
    uint32_t id = intern_add(&r->known, &key, sizeof key);
    if (id == INTERN_NONE ||
        !array_reserve(&r->records, &r->record_capacity, (size_t)id + 1, sizeof r->records[0])) {
        r->model->failed = true;
        return TT_NONE;
    }
    if (id < known)
        return id;
    struct recorded_record *record = &r->records[id];
    record->first = (uint32_t)r->piece_id_count;
    add_piece(r, op, PIECE_OP, trace_get_name(r->trace, op->name)->name, 0);
    if (op->description != TRACE_NONE)
        describe(r, op);
    record->count = (uint32_t)r->piece_id_count - record->first;
    return id;
}

void recorded_end_reading(struct recorded_records *r)
{
    intern_free(&r->known);
    intern_free(&r->keys);
    free(r->piece_of_key);
    free(r->cells.items);
    bytes_free(&r->text);
    bytes_free(&r->name);
    r->piece_of_key = NULL;
    r->cells = (struct tt_cell_builder){0};
}

void recorded_records_free(struct recorded_records *r)
{
    recorded_end_reading(r);
    free(r->pieces);
    free(r->piece_ids);
    free(r->records);
}
