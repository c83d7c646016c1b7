/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/count_of.h"

void model_free(struct model *model)
{
    intern_free(&model->texts);
    free(model->ops);
    free(model->values);
    free(model->uses);
    free(model->works);
    free(model->results);
    free(model->sizes);
    free(model->groups);
    *model = (struct model){0};
}

int model_check(const struct model *model, struct error *err)
{
    return model->failed ? error_no_memory(err, "the model") : 0;
}

uint32_t model_text(struct model *model, struct slice text)
{
    uint32_t id = intern_add(&model->texts, text.data ? text.data : "", text.length);
    if (id == INTERN_NONE)
        model->failed = true;
    return id;
}

/* The place of a new element; MODEL_NONE: no memory. */
static uint32_t add(struct model *model, void *array_pointer, size_t *count, size_t *capacity, size_t size,
                    const void *element)
{
    if (*count >= MODEL_NONE - 1 || !array_reserve(array_pointer, capacity, *count + 1, size)) {
        model->failed = true;
        return MODEL_NONE;
    }
    memcpy(*(char **)array_pointer + *count * size, element, size);
    return (uint32_t)(*count)++;
}

uint32_t model_add_value(struct model *model, const struct model_value *value, const uint64_t *sizes)
{
    struct model_value copy = *value;
    const struct model_value *last = model->value_count ? &model->values[model->value_count - 1] : NULL;
    bool is_known = last && last->rank == copy.rank && copy.rank &&
                    memcmp(model->sizes + last->first_size, sizes, copy.rank * sizeof sizes[0]) == 0;
    copy.first_size = is_known ? last->first_size : (uint32_t)model->size_count;
    if (copy.root == MODEL_NONE)
        copy.root = (uint32_t)model->value_count;
    for (uint32_t i = 0; i < copy.rank && !is_known; i++) {
        if (add(model, &model->sizes, &model->size_count, &model->size_capacity, sizeof sizes[0],
                &sizes[i]) == MODEL_NONE)
            return MODEL_NONE;
    }
    return add(model, &model->values, &model->value_count, &model->value_capacity, sizeof copy, &copy);
}

uint32_t model_add_op(struct model *model, const struct model_op *op)
{
    struct model_op copy = *op;
    copy.first_use = (uint32_t)model->use_count;
    copy.first_result = (uint32_t)model->result_count;
    copy.first_work = (uint32_t)model->work_count;
    copy.uses = copy.results = copy.works = 0;
    return add(model, &model->ops, &model->op_count, &model->op_capacity, sizeof copy, &copy);
}

uint32_t model_add_group(struct model *model, const struct model_group *group)
{
    return add(model, &model->groups, &model->group_count, &model->group_capacity, sizeof *group, group);
}

void model_add_use(struct model *model, uint32_t value, uint64_t bytes)
{
    struct model_use use = {value, bytes};
    if (value != MODEL_NONE && model->op_count &&
        add(model, &model->uses, &model->use_count, &model->use_capacity, sizeof use, &use) != MODEL_NONE)
        model->ops[model->op_count - 1].uses++;
}

void model_add_result(struct model *model, uint32_t value)
{
    if (value != MODEL_NONE && model->op_count &&
        add(model, &model->results, &model->result_count, &model->result_capacity, sizeof value, &value) !=
            MODEL_NONE)
        model->ops[model->op_count - 1].results++;
}

void model_add_work(struct model *model, enum model_work kind, uint64_t amount)
{
    struct model_work_amount work = {amount, kind};
    if (amount && model->op_count &&
        add(model, &model->works, &model->work_count, &model->work_capacity, sizeof work, &work) !=
            MODEL_NONE)
        model->ops[model->op_count - 1].works++;
}

const char *model_class_text(unsigned class)
{
    static const char *const texts[MODEL_CLASSES] = {
        [MODEL_FREE] = "FREE",
        [MODEL_FILL] = "MOVE",
        [MODEL_MOVE] = "MOVE",
        [MODEL_ELEMENTWISE] = "ELT",
        [MODEL_TRANSCENDENTAL] = "TRANS",
        [MODEL_REDUCTION] = "RED",
        [MODEL_POOL] = "RED",
        [MODEL_SOFTMAX] = "TRANS",
        [MODEL_MATMUL] = "MAC",
        [MODEL_CONV] = "CONV",
        [MODEL_DEPTHWISE] = "DW",
        [MODEL_UNKNOWN] = "MOVE",
    };
    return class < MODEL_CLASSES ? texts[class] : "";
}

const char *model_format_text(unsigned format)
{
    static const char *const texts[MODEL_FORMATS] = {[MODEL_INT8] = "int8",
                                                     [MODEL_INT] = "int",
                                                     [MODEL_REAL] = "float",
                                                     [MODEL_BF16] = "bf16",
                                                     [MODEL_F16] = "f16"};
    return format < MODEL_FORMATS ? texts[format] : "";
}

const char *model_type_text(unsigned number, unsigned bits)
{
    static const struct {
        uint8_t number, bits;
        const char *text;
    } types[] = {{MODEL_FLOAT, 8, "FLOAT8"},   {MODEL_FLOAT, 16, "FLOAT16"}, {MODEL_FLOAT, 32, "FLOAT32"},
                 {MODEL_FLOAT, 64, "FLOAT64"}, {MODEL_INTEGER, 1, "BOOL8"},  {MODEL_INTEGER, 4, "INT4"},
                 {MODEL_INTEGER, 8, "INT8"},   {MODEL_INTEGER, 16, "INT16"}, {MODEL_INTEGER, 32, "INT32"},
                 {MODEL_INTEGER, 64, "INT64"}};
    if (number == MODEL_BFLOAT)
        return "BFLOAT16";
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        if (types[i].number == number && types[i].bits == bits)
            return types[i].text;
    }
    return "";
}

const char *model_fault_text(unsigned fault)
{
    switch (fault) {
    case MODEL_UNKNOWN_OP:
        return "not in the table of ops: costed as data movement";
    case MODEL_DYNAMIC_SHAPE:
        return "a dimension is dynamic: --dim gives it a value";
    case MODEL_UNKNOWN_SHAPE:
        return "its shape cannot be read: no cost";
    case MODEL_COUNTED_ONCE:
        return "in a loop: counted once";
    default:
        return "";
    }
}
