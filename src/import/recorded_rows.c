/* SPDX-License-Identifier: Apache-2.0 */
/* Op rows of a trace that opscope recorded: what its ops and runs tell, under the names that vendors' tables
 * have for it. Only columns that some row fills are there.
 *
 * An op with several runs (replay, several devices) has a row for each; gaps are from the end of one run to the
 * start of the next on the same track. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/python_text.h"
#include "import/recorded_join.h"
#include "import/tenstorrent_join.h"
#include "import/tenstorrent_parse.h"
#include "import/tenstorrent_trace.h"

struct reader {
    struct tt_model *model;
    struct trace *trace;
    struct tt_cell_builder cells;
    struct bytes text, name;
    struct intern ops; /* process and call of each op, in the model's order */
};

struct op_key {
    uint64_t call;
    uint64_t process;
};

static void add_text(struct reader *r, uint32_t column)
{
    for (size_t i = 0; i < r->text.length; i++) {
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

static void add_number(struct reader *r, uint32_t column, uint64_t value)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%" PRIu64, value);
    tt_cell_copy(r->model, &r->cells, column, text, (size_t)n);
}

static struct op_cell tensor_value(const char *text, const char *key)
{
    size_t key_length = strlen(key);
    while (*text) {
        size_t length = strcspn(text, ";");
        if (length > key_length && text[key_length] == '=' && memcmp(text, key, key_length) == 0)
            return cell_of(text + key_length + 1, length - key_length - 1);
        text += length + (text[length] == ';');
    }
    return cell_of("", 0);
}

/* "2x3x32x64" to four sizes; what is in front of four is multiplied into the first, missing ones are 1. */
static bool parse_sizes(struct op_cell text, uint64_t sizes[4])
{
    uint64_t all[16];
    size_t count = 0;
    const char *at = text.data, *end = text.data + text.length;
    while (at < end) {
        const char *x = memchr(at, 'x', (size_t)(end - at));
        if (count == 16 || !cell_unsigned(cell_of(at, (size_t)((x ? x : end) - at)), &all[count++]))
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

static uint32_t tensor_column(struct reader *r, bool is_output, uint32_t index, unsigned field)
{
    bytes_clear(&r->name);
    op_tensor_column(is_output, index, (enum op_tensor_field)field, &r->name);
    return tt_column(r->model, (const char *)r->name.data, r->name.length);
}

static void add_tensor(struct reader *r, bool is_output, uint32_t index, const char *text, uint32_t device)
{
    static const struct {
        const char *told, *vendor;
    } types[] = {{"BF16", "BFLOAT16"},
                 {"F32", "FLOAT32"},
                 {"FP32", "FLOAT32"},
                 {"BFP8", "BFLOAT8_B"},
                 {"BFP4", "BFLOAT4_B"}};
    struct op_cell shape = tensor_value(text, "shape"), padded = tensor_value(text, "padded");
    struct op_cell layout = tensor_value(text, "layout"), type = tensor_value(text, "dtype"),
                   memory = tensor_value(text, "memory");
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
        if (cell_is(type, types[i].told)) {
            bytes_clear(&r->text);
            bytes_append_text(&r->text, types[i].vendor);
        }
    }
    if (type.length)
        add_text(r, tensor_column(r, is_output, index, OP_TENSOR_TYPE));
    bytes_clear(&r->text);
    if (!cell_begins(memory, "DEV_") && !cell_is(memory, "HOST") && device != TRACE_NONE)
        bytes_append_format(&r->text, "DEV_%u_", (unsigned)device);
    bytes_append(&r->text, memory.data, memory.length);
    if (memory.length)
        add_text(r, tensor_column(r, is_output, index, OP_TENSOR_MEMORY));
}

/* Attributes as the repr of a dict, kernels as the repr of a list. */
static void add_list(struct reader *r, const struct trace_part *parts, size_t count, uint32_t role,
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

/* Attributes that have a column of their own; the first of each counts. */
static void add_attribute(struct reader *r, const char *text, uint32_t *taken)
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
        uint32_t bit = known[i].column == OP_COLUMN_ID_MODULE_PATH ? 1 : 2;
        if ((*taken & bit) || strncmp(text, known[i].key, length) != 0 || text[length] != '=')
            continue;
        *taken |= bit;
        bytes_clear(&r->text);
        bytes_append_text(&r->text, text + length + 1);
        add_text(r, known[i].column);
    }
}

static void describe(struct reader *r, const struct trace_op *row)
{
    size_t count = 0;
    uint32_t tensors[2] = {0}, taken = 0;
    const struct trace_part *parts = trace_get_description(r->trace, row->description, &count);
    for (size_t i = 0; i < count; i++) {
        bool is_output = parts[i].role == TRACE_PART_OUTPUT;
        if (is_output || parts[i].role == TRACE_PART_INPUT)
            add_tensor(r, is_output, tensors[is_output]++, parts[i].text, row->device);
        if (parts[i].role == TRACE_PART_ATTRIBUTE)
            add_attribute(r, parts[i].text, &taken);
        if (parts[i].role == TRACE_PART_LOCATION) {
            bytes_clear(&r->text);
            bytes_append_text(&r->text, parts[i].text);
            add_text(r, OP_COLUMN_ID_LOC);
        }
    }
    add_list(r, parts, count, TRACE_PART_ATTRIBUTE, OP_COLUMN_ID_ATTRIBUTES);
    add_list(r, parts, count, TRACE_PART_KERNEL, OP_COLUMN_ID_COMPUTE_SOURCE);
}

static void read_op(struct reader *r, const struct trace_op *row)
{
    static const char *const types[] = {"tt_dnn_device", "tt_dnn_cpu", "python_fallback"};
    struct tt_model *model = r->model;
    struct op_key key = {row->call, row->process};
    const char *name = trace_get_name(r->trace, row->name)->name;
    if (intern_find(&r->ops, &key, sizeof key) != INTERN_NONE)
        return; /* a call number that comes again: damaged */
    uint32_t index = intern_add(&r->ops, &key, sizeof key);
    struct tt_op *op = tt_op_add(model, index);
    if (index == INTERN_NONE || !op ||
        !array_reserve(&model->records, &model->record_capacity, model->record_count + 1,
                       sizeof model->records[0])) {
        model->failed = true;
        return;
    }
    op->id = row->call;
    op->device = row->device == TRACE_NONE ? TT_NONE : row->device;
    op->start_ns = op->message_ns = row->start_ns;
    if (row->end_ns) {
        op->flags &= ~(uint32_t)TT_OP_NO_TIMES;
        op->duration_ns = row->end_ns > row->start_ns ? row->end_ns - row->start_ns : 0;
    }
    bytes_clear(&r->text);
    bytes_append_text(&r->text, name);
    add_text(r, OP_COLUMN_ID_OP_CODE);
    const char *type = types[row->type < 3 ? row->type : 1];
    tt_cell_add(model, &r->cells, OP_COLUMN_ID_OP_TYPE, type, strlen(type));
    if (row->device != TRACE_NONE)
        add_number(r, OP_COLUMN_ID_DEVICE_ID, row->device);
    if (row->description != TRACE_NONE)
        describe(r, row);
    op->record = (uint32_t)model->record_count;
    model->records[model->record_count++] = (struct tt_record){.cells = tt_cells_finish(model, &r->cells)};
}

struct end_of_track {
    uint64_t end_ns;
    bool has_end;
};

static void read_run(struct reader *r, const struct trace_run *row, struct end_of_track *ends,
                     size_t track_count)
{
    struct tt_model *model = r->model;
    struct op_key key = {row->call, row->process};
    uint32_t op = row->call ? intern_find(&r->ops, &key, sizeof key) : INTERN_NONE;
    const struct trace_track *track = trace_get_track(r->trace, row->track);
    uint32_t clock = track ? track->clock : TRACE_HOST_CLOCK;
    uint64_t start_ns = trace_host_ns(r->trace, clock, row->start);
    uint64_t end_ns = trace_host_ns(r->trace, clock, row->start + row->duration);
    struct tt_run *run = tt_run_add(model);
    if (!run)
        return;
    run->id = row->call;
    run->op = op == INTERN_NONE ? TT_NONE : op;
    run->session = row->session;
    run->replay_ns = start_ns;
    add_number(r, OP_COLUMN_ID_FW_START, row->start);
    add_number(r, OP_COLUMN_ID_FW_END, row->start + row->duration);
    add_number(r, OP_COLUMN_ID_FW, end_ns > start_ns ? end_ns - start_ns : 0);
    add_number(r, OP_COLUMN_ID_KERNEL, end_ns > start_ns ? end_ns - start_ns : 0);
    if (row->cores)
        add_number(r, OP_COLUMN_ID_CORE_COUNT, row->cores);
    if (row->track < track_count) {
        struct end_of_track *last = &ends[row->track];
        bytes_clear(&r->text);
        bytes_append_format(&r->text, "%" PRId64, last->has_end ? (int64_t)(start_ns - last->end_ns) : 0);
        add_text(r, OP_COLUMN_ID_OP_TO_OP);
        *last = (struct end_of_track){end_ns, true};
    }
    run->cells = tt_cells_finish(model, &r->cells);
    if (run->op == TT_NONE)
        return;
    if (model->ops[op].run == TT_NONE && !run->session)
        model->ops[op].run = (uint32_t)(model->run_count - 1);
    else if (!run->session) {
        run->flags |= TT_RUN_ANOTHER;
    }
}

static void read_signpost(struct reader *r, const struct trace_point *point)
{
    struct tt_model *model = r->model;
    size_t length = strlen(point->header);
    if (point->kind != TRACE_POINT_SIGNPOST)
        return;
    if (!array_reserve(&model->signposts, &model->signpost_capacity, model->signpost_count + 1,
                       sizeof model->signposts[0])) {
        model->failed = true;
        return;
    }
    model->signposts[model->signpost_count++] =
        (struct tt_signpost){point->time, cell_of(tt_keep(model, point->header, length), length),
                             cell_of(tt_keep(model, point->text, point->text_length), point->text_length)};
}

static int read_blocks(struct reader *r, uint32_t type, struct error *err)
{
    struct trace_block_filter filter = {.type = type};
    struct trace_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0, tracks = trace_track_count(r->trace);
    struct end_of_track *ends = calloc(tracks + 1, sizeof ends[0]);
    int result = ends ? 0 : error_set_errno(err, ENOMEM, "%zu tracks", tracks);
    while (result == 0 && !r->model->failed && (block = trace_next_block(r->trace, &filter, &position))) {
        result = trace_decode_rows(r->trace, block, &rows, err);
        for (size_t i = 0; result == 0 && i < rows.count && !r->model->failed; i++) {
            if (type == TRACE_BLOCK_OPS)
                read_op(r, &rows.ops[i]);
            else if (type == TRACE_BLOCK_RUNS)
                read_run(r, &rows.runs[i], ends, tracks);
            else
                read_signpost(r, &rows.points[i]);
        }
    }
    trace_rows_free(&rows);
    free(ends);
    return result;
}

static int read_all(struct tt_model *model, struct trace *trace, bool with_runs, struct error *err)
{
    struct reader reader = {.model = model, .trace = trace};
    int result = read_blocks(&reader, TRACE_BLOCK_OPS, err);
    if (result == 0 && with_runs)
        result = read_blocks(&reader, TRACE_BLOCK_RUNS, err);
    if (result == 0)
        result = read_blocks(&reader, TRACE_BLOCK_POINTS, err);
    free(reader.cells.items);
    bytes_free(&reader.text);
    bytes_free(&reader.name);
    intern_free(&reader.ops);
    return result == 0 ? tt_model_check(model, err) : result;
}

int tt_model_from_recorded(struct tt_model *model, struct trace *trace, struct error *err)
{
    model->shows_used_only = true;
    int result = read_all(model, trace, true, err);
    return result == 0 ? tt_rows_from_trace(model, err) : result;
}

/* A host op is of no device, whatever it says: the device's files know nothing of it. */
int recorded_read_ops(struct tt_model *model, struct trace *trace, struct error *err)
{
    int result = read_all(model, trace, false, err);
    for (size_t i = 0; result == 0 && i < model->op_count; i++) {
        struct tt_op *op = &model->ops[i];
        const struct tt_cells *cells = &model->records[op->record].cells;
        for (uint32_t k = 0; op->record != TT_NONE && k < cells->count; k++)
            if (cells->items[k].column == OP_COLUMN_ID_OP_TYPE &&
                !cell_is(cell_of(cells->items[k].data, cells->items[k].length), "tt_dnn_device"))
                op->device = TT_NONE;
    }
    return result;
}
