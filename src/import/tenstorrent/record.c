/* SPDX-License-Identifier: Apache-2.0 */
/* Cells are interned: most programs share their kernels, layouts and shapes with others. */
#include "import/tenstorrent/record.h"

#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "base/text_copy.h"
#include "text/python_text.h"

#define MAX_TENSORS 4096u

struct builder {
    struct tt_model *model;
    const struct json_document *document;
    struct tt_cell_builder cells;
    struct bytes text, name;
};

static bool is_integer(const struct json_node *node)
{
    for (uint32_t i = 0; i < node->length; i++) {
        if (node->text[i] == '.' || node->text[i] == 'e' || node->text[i] == 'E')
            return false;
    }
    return true;
}

static void append_number(struct bytes *out, const struct json_node *node)
{
    char buffer[64];
    if (is_integer(node)) {
        bool is_minus_0 = node->length == 2 && memcmp(node->text, "-0", 2) == 0;
        bytes_append(out, is_minus_0 ? "0" : node->text, is_minus_0 ? 1 : node->length);
        return;
    }
    if (node->length < sizeof buffer) {
        memcpy(buffer, node->text, node->length);
        buffer[node->length] = 0;
        python_append_float(out, strtod(buffer, NULL));
        return;
    }
    char *copy = text_copy(node->text, node->length);
    if (copy)
        python_append_float(out, strtod(copy, NULL));
    else
        out->failed = true;
    free(copy);
}

/* repr() of a value: strings in quotes. Recursion is as deep as the reader lets documents be. */
static void append_repr(struct bytes *out, const struct json_document *document, const struct json_node *node)
{
    static const char *const words[] = {"None", "False", "True"};
    bool is_object = node->kind == JSON_OBJECT;
    switch (node->kind) {
    case JSON_NUMBER:
        append_number(out, node);
        break;
    case JSON_STRING:
        python_append_string(out, node->text, node->length);
        break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        bytes_append_text(out, is_object ? "{" : "[");
        for (const struct json_node *n = json_first(document, node); n; n = json_next(document, node, n)) {
            if (n != node + 1)
                bytes_append_text(out, ", ");
            if (is_object) {
                python_append_string(out, n->key, n->key_length);
                bytes_append_text(out, ": ");
            }
            append_repr(out, document, n);
        }
        bytes_append_text(out, is_object ? "}" : "]");
        break;
    default:
        bytes_append_text(out, words[node->kind]);
    }
}

static void commas_to_semicolons(struct bytes *text, size_t from)
{
    for (size_t i = from; i < text->length; i++) {
        if (text->data[i] == ',')
            text->data[i] = ';';
    }
}

void tt_append_value(struct bytes *out, const struct json_document *document, const struct json_node *node)
{
    size_t from = out->length;
    if (node->kind == JSON_STRING)
        bytes_append(out, node->text, node->length);
    else
        append_repr(out, document, node);
    commas_to_semicolons(out, from);
}

static void add_text(struct builder *b, uint32_t column)
{
    uint32_t id =
        b->text.failed
            ? INTERN_NONE
            : intern_add(&b->model->texts, b->text.length ? (const char *)b->text.data : "", b->text.length);
    if (id == INTERN_NONE) {
        b->model->failed = true;
        return;
    }
    const struct intern_entry *entry = &b->model->texts.entries[id];
    tt_cell_add(b->model, &b->cells, column, entry->data, entry->length);
}

static void add_value(struct builder *b, uint32_t column, const struct json_node *node)
{
    if (!node)
        return;
    bytes_clear(&b->text);
    tt_append_value(&b->text, b->document, node);
    add_text(b, column);
}

static void upper_words(struct bytes *out, const char *key, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        char c = key[i] == '_' ? ' ' : key[i] >= 'a' && key[i] <= 'z' ? (char)(key[i] - 32) : key[i];
        bytes_append(out, &c, 1);
    }
}

/* Members that are called like a column. */
static void add_members(struct builder *b, const struct json_node *root)
{
    for (const struct json_node *n = json_first(b->document, root); n; n = json_next(b->document, root, n)) {
        bytes_clear(&b->name);
        upper_words(&b->name, n->key, n->key_length);
        enum op_fixed_column column = op_column_find((const char *)b->name.data, b->name.length);
        if (column < OP_FIXED_COLUMN_COUNT && column != OP_COLUMN_ID_CALL &&
            column != OP_COLUMN_ID_CACHE_HIT && column != OP_COLUMN_ID_TRACE_ID &&
            column != OP_COLUMN_ID_TRACE_SESSION)
            add_value(b, column, n);
    }
}

/* A list of what each kernel says under `key`. */
static void add_kernel_list(struct builder *b, uint32_t column, const struct json_node *kernels,
                            const char *key)
{
    bool is_first = true;
    if (!kernels)
        return;
    bytes_clear(&b->text);
    bytes_append_text(&b->text, "[");
    for (const struct json_node *n = json_first(b->document, kernels); n;
         n = json_next(b->document, kernels, n)) {
        const struct json_node *value = json_find(b->document, n, key);
        if (!value)
            continue;
        if (!is_first)
            bytes_append_text(&b->text, ", ");
        append_repr(&b->text, b->document, value);
        is_first = false;
    }
    bytes_append_text(&b->text, "]");
    commas_to_semicolons(&b->text, 0);
    add_text(b, column);
}

static void add_kernels(struct builder *b, const struct json_node *root)
{
    const struct json_node *info = json_find(b->document, root, "kernel_info");
    const struct json_node *compute = json_find(b->document, info, "compute_kernels");
    const struct json_node *data = json_find(b->document, info, "datamovement_kernels");
    const struct json_node *sizes = json_find(b->document, info, "kernel_sizes");
    const struct json_node *fidelity = NULL;
    for (const struct json_node *n = json_first(b->document, compute); n;
         n = json_next(b->document, compute, n)) {
        const struct json_node *given = json_find(b->document, n, "math_fidelity");
        fidelity = given ? given : fidelity;
    }
    add_value(b, OP_COLUMN_ID_MATH_FIDELITY, fidelity);
    add_kernel_list(b, OP_COLUMN_ID_COMPUTE_SOURCE, compute, "source");
    add_kernel_list(b, OP_COLUMN_ID_COMPUTE_HASH, compute, "name");
    add_kernel_list(b, OP_COLUMN_ID_DATA_SOURCE, data, "source");
    add_kernel_list(b, OP_COLUMN_ID_DATA_HASH, data, "name");
    if (!sizes || sizes->kind != JSON_OBJECT)
        return;
    for (const struct json_node *n = json_first(b->document, sizes); n;
         n = json_next(b->document, sizes, n)) {
        bytes_clear(&b->name);
        upper_words(&b->name, n->key, n->key_length);
        bytes_append_text(&b->name, " [B]");
        if (b->name.failed)
            b->model->failed = true;
        else
            add_value(b, tt_column(b->model, (const char *)b->name.data, b->name.length), n);
    }
}

static void append_memory(struct builder *b, const struct json_node *storage)
{
    const struct json_node *config = json_find(b->document, storage, "memory_config");
    const struct json_node *device = json_find(b->document, storage, "device_id");
    const struct json_node *type = json_find(b->document, config, "buffer_type");
    const struct json_node *layout = json_find(b->document, config, "memory_layout");
    size_t from = b->text.length;
    if (storage->kind != JSON_OBJECT) {
        tt_append_value(&b->text, b->document, storage);
        return;
    }
    bytes_append_text(&b->text, "DEV_");
    if (device)
        tt_append_value(&b->text, b->document, device);
    bytes_append_text(&b->text, "_");
    if (type)
        tt_append_value(&b->text, b->document, type);
    bytes_append_text(&b->text, "_");
    if (layout)
        tt_append_value(&b->text, b->document, layout);
    for (size_t i = from; i < b->text.length; i++) {
        if (b->text.data[i] >= 'a' && b->text.data[i] <= 'z')
            b->text.data[i] = (uint8_t)(b->text.data[i] - 32);
    }
}

static void add_tensor(struct builder *b, bool is_output, uint32_t index, const struct json_node *tensor)
{
    static const char *const dimensions[] = {"W", "Z", "Y", "X"};
    const struct json_node *shape = json_find(b->document, tensor, "shape");
    for (unsigned field = 0; field < OP_TENSOR_FIELDS; field++) {
        const struct json_node *value = field <= OP_TENSOR_X
                                            ? json_find(b->document, shape, dimensions[field])
                                        : field == OP_TENSOR_LAYOUT ? json_find(b->document, tensor, "layout")
                                        : field == OP_TENSOR_TYPE   ? json_find(b->document, tensor, "dtype")
                                                                    : NULL;
        bytes_clear(&b->name);
        op_tensor_column(is_output, index, (enum op_tensor_field)field, &b->name);
        uint32_t column = tt_column(b->model, (const char *)b->name.data, b->name.length);
        if (field != OP_TENSOR_MEMORY) {
            add_value(b, column, value);
            continue;
        }
        const struct json_node *storage = json_find(b->document, tensor, "storage_type");
        if (storage) {
            bytes_clear(&b->text);
            append_memory(b, storage);
            add_text(b, column);
        }
    }
}

static void add_tensors(struct builder *b, const struct json_node *root)
{
    static const struct {
        const char *key;
        bool is_output;
    } lists[] = {{"input_tensors", false}, {"optional_input_tensors", false}, {"output_tensors", true}};
    uint32_t counts[2] = {0};
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        const struct json_node *list = json_find(b->document, root, lists[i].key);
        for (const struct json_node *n = json_first(b->document, list); n;
             n = json_next(b->document, list, n)) {
            if (counts[lists[i].is_output] == MAX_TENSORS) {
                tt_note(b->model, TT_DAMAGED_TENSORS, 0,
                        "an op with more than %u tensors: the others are left out", MAX_TENSORS);
                break;
            }
            add_tensor(b, lists[i].is_output, counts[lists[i].is_output]++, n);
        }
    }
}

uint32_t tt_record_add(struct tt_model *model, const struct json_document *document)
{
    struct builder b = {.model = model, .document = document};
    const struct json_node *root = json_root(document);
    const struct json_node *performance = json_find(document, root, "performance_model");
    struct tt_record record = {0};
    add_members(&b, root);
    add_value(&b, OP_COLUMN_ID_PROGRAM_HASH, json_find(document, root, "op_hash"));
    add_kernels(&b, root);
    add_tensors(&b, root);
    add_value(&b, OP_COLUMN_ID_PM_IDEAL, json_find(document, performance, "ideal_ns"));
    add_value(&b, OP_COLUMN_ID_PM_COMPUTE, json_find(document, performance, "compute_ns"));
    add_value(&b, OP_COLUMN_ID_PM_BANDWIDTH, json_find(document, performance, "bandwidth_ns"));
    add_value(&b, OP_COLUMN_ID_PM_INPUT_BW, json_find(document, performance, "input_bws"));
    add_value(&b, OP_COLUMN_ID_PM_OUTPUT_BW, json_find(document, performance, "output_bws"));
    record.has_model =
        json_unsigned_value(json_find(document, performance, "compute_ns"), &record.pm_compute_ns);
    record.cells = tt_cells_finish(model, &b.cells);
    free(b.cells.items);
    bytes_free(&b.text);
    bytes_free(&b.name);
    if (model->record_count >= TT_NONE - 1 ||
        !array_reserve(&model->records, &model->record_capacity, model->record_count + 1,
                       sizeof model->records[0])) {
        model->failed = true;
        return TT_NONE;
    }
    model->records[model->record_count] = record;
    return (uint32_t)model->record_count++;
}
