/* SPDX-License-Identifier: Apache-2.0 */
#include "import/tenstorrent/recorded_cells.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "base/slice.h"
#include "ops/description.h"
#include "text/python_text.h"

enum { TEXT_ATTRIBUTES, TEXT_KERNELS, TEXT_FIDELITY, TEXT_MODULE, TEXT_LOCATION };

struct tensor_cells {
    uint32_t texts[OP_TENSOR_FIELDS]; /* in the op model; OPS_NONE */
};

void recorded_cells_free(struct recorded_cells *r)
{
    intern_free(&r->tensors);
    free(r->cells_of_tensor);
    for (size_t i = 0; i < 2; i++)
        free(r->columns[i]);
    for (size_t i = 0; i < RECORDED_TEXTS; i++)
        bytes_free(&r->texts[i]);
    bytes_free(&r->scratch);
}

/* The vendor's own tables have ';' for ',' in texts. */
static void replace_commas(struct bytes *text)
{
    for (size_t i = 0; i < text->length; i++) {
        if (text->data[i] == ',')
            text->data[i] = ';';
    }
}

/* --- tensors --- */

static uint32_t keep(struct recorded_cells *r)
{
    replace_commas(&r->scratch);
    uint32_t id = r->scratch.failed
                      ? OPS_NONE
                      : ops_text(r->ops, slice_from(r->scratch.length ? (char *)r->scratch.data : "",
                                                    r->scratch.length));
    r->model->failed |= r->scratch.failed || r->ops->failed;
    bytes_clear(&r->scratch);
    return id;
}

static void make_tensor(struct recorded_cells *r, const struct op_tensor *tensor, uint32_t device,
                        struct tensor_cells *cells)
{
    static const struct {
        const char *recorded, *vendor;
    } types[] = {{"BF16", "BFLOAT16"},
                 {"F32", "FLOAT32"},
                 {"FP32", "FLOAT32"},
                 {"BFP8", "BFLOAT8_B"},
                 {"BFP4", "BFLOAT4_B"}};
    const struct ops *ops = r->ops;
    struct slice layout = ops_get_slice(ops, tensor->layout), type = ops_get_slice(ops, tensor->dtype);
    struct slice memory = ops_get_slice(ops, tensor->memory);
    uint64_t logical[4], padded[4];
    bool has_shape = ops_four_sizes(ops, tensor->shape, tensor->rank, logical);
    bool has_padded = ops_four_sizes(ops, tensor->padded, tensor->rank, padded);
    memset(cells, 0xff, sizeof *cells);
    bytes_clear(&r->scratch);
    for (unsigned i = 0; i < 4 && (has_shape || has_padded); i++) {
        bytes_append_format(&r->scratch, "%" PRIu64 "[%" PRIu64 "]", has_padded ? padded[i] : logical[i],
                            has_shape ? logical[i] : padded[i]);
        cells->texts[i] = keep(r);
    }
    bytes_append(&r->scratch, layout.data, layout.length);
    if (layout.length)
        cells->texts[OP_TENSOR_LAYOUT] = keep(r);
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        if (slice_is(type, types[i].recorded))
            type = slice_of(types[i].vendor);
    }
    bytes_append(&r->scratch, type.data, type.length);
    if (type.length)
        cells->texts[OP_TENSOR_TYPE] = keep(r);
    if (memory.length && !slice_begins(memory, "DEV_") && !slice_is(memory, "HOST") && device != OPS_NONE)
        bytes_append_format(&r->scratch, "DEV_%u_", (unsigned)device);
    bytes_append(&r->scratch, memory.data, memory.length);
    if (memory.length)
        cells->texts[OP_TENSOR_MEMORY] = keep(r);
}

static const struct tensor_cells *cells_of(struct recorded_cells *r, uint32_t tensor, uint32_t device)
{
    const uint32_t key[] = {tensor, device};
    size_t known = r->tensors.count;
    uint32_t id = intern_add(&r->tensors, key, sizeof key);
    if (id == INTERN_NONE || !array_reserve(&r->cells_of_tensor, &r->tensor_capacity, (size_t)id + 1,
                                            sizeof r->cells_of_tensor[0])) {
        r->model->failed = true;
        return NULL;
    }
    if (id == known)
        make_tensor(r, &r->ops->tensors[tensor], device, &r->cells_of_tensor[id]);
    return &r->cells_of_tensor[id];
}

const struct tensor_columns *recorded_tensor_columns(struct recorded_cells *r, bool is_output, size_t index)
{
    size_t known = r->column_capacity[is_output];
    if (index >= known && !array_reserve(&r->columns[is_output], &r->column_capacity[is_output], index + 1,
                                         sizeof r->columns[0][0])) {
        r->model->failed = true;
        return NULL;
    }
    for (size_t i = known; i < r->column_capacity[is_output]; i++)
        r->columns[is_output][i].is_known = false;
    struct tensor_columns *columns = &r->columns[is_output][index];
    for (unsigned field = 0; !columns->is_known && field < OP_TENSOR_FIELDS; field++) {
        bytes_clear(&r->scratch);
        op_tensor_column(is_output, (uint32_t)index, (enum op_tensor_field)field, &r->scratch);
        columns->of_field[field] = tt_column(r->model, (const char *)r->scratch.data, r->scratch.length);
    }
    columns->is_known = true;
    return columns;
}

static void describe_tensor(struct recorded_cells *r, uint32_t tensor, bool is_output, size_t index,
                            uint32_t device, recorded_cell_fn cell, void *context)
{
    const struct tensor_cells *cells = cells_of(r, tensor, device);
    const struct tensor_columns *columns = recorded_tensor_columns(r, is_output, index);
    for (unsigned field = 0; cells && columns && field < OP_TENSOR_FIELDS; field++) {
        if (cells->texts[field] != OPS_NONE)
            cell(context, columns->of_field[field], ops_get_slice(r->ops, cells->texts[field]));
    }
}

/* --- texts --- */

static void begin_list(struct bytes *text, const char *bracket)
{
    bytes_clear(text);
    bytes_append_text(text, bracket);
}

/* Attributes as the repr of a dict, kernels as the repr of a list. */
static void list_attributes(const struct ops *ops, const struct op_description *d, struct bytes *text)
{
    begin_list(text, "{");
    for (size_t i = 0; i < d->attributes; i++) {
        const struct op_attribute *attribute = &ops->attributes[ops_attributes(ops, d)[i]];
        struct slice key = ops_get_slice(ops, attribute->key), value = ops_get_slice(ops, attribute->value);
        bytes_append_text(text, i ? ", " : "");
        python_append_string(text, key.data, key.length);
        if (attribute->value == OPS_NONE)
            continue;
        bytes_append_text(text, ": ");
        python_append_string(text, value.data, value.length);
    }
    bytes_append_text(text, "}");
}

static void list_kernels(const struct ops *ops, const struct op_description *d, struct bytes *text)
{
    begin_list(text, "[");
    for (size_t i = 0; i < d->kernels; i++) {
        struct slice name = ops_get_slice(ops, ops->kernels[ops_kernels(ops, d)[i]].name);
        bytes_append_text(text, i ? ", " : "");
        python_append_string(text, name.data, name.length);
    }
    bytes_append_text(text, "]");
}

static void send(struct recorded_cells *r, unsigned text, uint32_t column, recorded_cell_fn cell,
                 void *context)
{
    struct bytes *made = &r->texts[text];
    r->model->failed |= made->failed;
    replace_commas(made);
    cell(context, column, slice_from(made->length ? (const char *)made->data : "", made->length));
}

static void send_text(struct recorded_cells *r, unsigned text, uint32_t id, uint32_t column,
                      recorded_cell_fn cell, void *context)
{
    struct slice value = ops_get_slice(r->ops, id);
    if (id == OPS_NONE)
        return;
    bytes_clear(&r->texts[text]);
    bytes_append(&r->texts[text], value.data, value.length);
    send(r, text, column, cell, context);
}

static void describe(struct recorded_cells *r, const struct op_description *d, uint32_t device,
                     recorded_cell_fn cell, void *context)
{
    const struct ops *ops = r->ops;
    for (size_t i = 0; i < d->inputs; i++)
        describe_tensor(r, ops_inputs(ops, d)[i], false, i, device, cell, context);
    for (size_t i = 0; i < d->outputs; i++)
        describe_tensor(r, ops_outputs(ops, d)[i], true, i, device, cell, context);
    send_text(r, TEXT_FIDELITY, d->fidelity, OP_COLUMN_ID_MATH_FIDELITY, cell, context);
    send_text(r, TEXT_MODULE, d->module, OP_COLUMN_ID_MODULE_PATH, cell, context);
    send_text(r, TEXT_LOCATION, d->location, OP_COLUMN_ID_LOC, cell, context);
    if (d->attributes) {
        list_attributes(ops, d, &r->texts[TEXT_ATTRIBUTES]);
        send(r, TEXT_ATTRIBUTES, OP_COLUMN_ID_ATTRIBUTES, cell, context);
    }
    if (d->kernels) {
        list_kernels(ops, d, &r->texts[TEXT_KERNELS]);
        send(r, TEXT_KERNELS, OP_COLUMN_ID_COMPUTE_SOURCE, cell, context);
    }
}

void recorded_describe(struct recorded_cells *r, const struct op_call *call, recorded_cell_fn cell,
                       void *context)
{
    static const char *const types[] = {"tt_dnn_device", "tt_dnn_cpu", "python_fallback"};
    uint32_t device = call->device == OPS_NONE ? OPS_NONE : r->ops->devices[call->device].number;
    struct slice name = ops_get_slice(r->ops, call->name);
    cell(context, OP_COLUMN_ID_OP_CODE, slice_from(name.length ? name.data : "", name.length));
    cell(context, OP_COLUMN_ID_OP_TYPE, slice_of(types[call->type < 3 ? call->type : 1]));
    describe(r, ops_get_description(r->ops, call->description), device, cell, context);
}

void recorded_mark_columns(struct recorded_cells *r, recorded_cell_fn cell, void *context)
{
    for (size_t i = 0; i < r->ops->description_count; i++)
        describe(r, &r->ops->descriptions[i], OPS_NONE, cell, context);
}
