/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/work/source.h"

#include <math.h>
#include <strings.h>

#include "ops/description.h"
#include "text/csv/cell.h"

#define LARGEST_SIZE UINT64_C(4294967296)

/* --- tensors --- */

static double product_of(const struct ops *ops, const struct op_tensor *from, uint32_t sizes)
{
    double product = 1;
    for (uint32_t i = 0; i < from->rank; i++)
        product *= (double)ops->sizes[sizes + i];
    return product;
}

/* What has no stride in a dimension is there once, however often it is read. */
static double repeats_of(const struct ops *ops, const struct op_tensor *from)
{
    double repeats = 1;
    for (uint32_t i = 0; from->strides != OPS_NONE && from->shape != OPS_NONE && i < from->rank; i++) {
        if (ops->sizes[from->strides + i] == 0 && ops->sizes[from->shape + i] > 0)
            repeats *= (double)ops->sizes[from->shape + i];
    }
    return repeats;
}

static struct source_tensor tensor_of(const struct ops *ops, const struct op_tensor *from)
{
    struct source_tensor tensor = {.is_present = true,
                                   .repeats = repeats_of(ops, from),
                                   .unpadded = 1,
                                   .type = ops_get_slice(ops, from->dtype),
                                   .memory = ops_get_slice(ops, from->memory)};
    uint64_t sizes[4];
    tensor.has_shape =
        ops_four_sizes(ops, from->padded != OPS_NONE ? from->padded : from->shape, from->rank, sizes);
    for (unsigned i = 0; i < 4 && tensor.has_shape; i++)
        tensor.has_shape = sizes[i] <= LARGEST_SIZE;
    if (!tensor.has_shape)
        return tensor;
    tensor.w = (double)sizes[0];
    tensor.z = (double)sizes[1];
    tensor.y = (double)sizes[2];
    tensor.x = (double)sizes[3];
    if (tensor.w * tensor.z * tensor.y * tensor.x == 0)
        return (struct source_tensor){0}; /* an empty tensor: optional inputs are recorded so */
    if (from->padded != OPS_NONE && from->shape != OPS_NONE)
        tensor.unpadded = product_of(ops, from, from->shape) / product_of(ops, from, from->padded);
    return tensor;
}

void source_take_tensors(struct source *source)
{
    const struct ops *ops = source->perf->ops;
    const struct op_description *d = ops_get_description(ops, source->description);
    for (unsigned i = 0; i < d->inputs && i < SOURCE_INPUTS; i++)
        source->tensors[IN(i)] = tensor_of(ops, &ops->tensors[ops_inputs(ops, d)[i]]);
    for (unsigned i = 0; i < d->outputs && i < SOURCE_OUTPUTS; i++)
        source->tensors[OUT(i)] = tensor_of(ops, &ops->tensors[ops_outputs(ops, d)[i]]);
}

/* --- attributes --- */

size_t source_digits(struct slice text)
{
    size_t i = 0;
    while (i < text.length && text.data[i] >= '0' && text.data[i] <= '9')
        i++;
    return i;
}

/* A numeric attribute; NaN when there is none. */
double source_number(const struct source *source, enum perf_attribute name)
{
    struct perf_attribute_search search = {0};
    struct slice value;
    double number;
    while ((value = perf_next_attribute(source->perf->ops, source->description, name, &search)).data) {
        size_t digits = source_digits(value);
        if (digits && cell_number(slice_from(value.data, digits), &number) == NUMBER_WHOLE)
            return number;
    }
    return NAN;
}

int32_t source_int(const struct source *source, enum perf_attribute name)
{
    double number = source_number(source, name);
    return number < INT32_MAX ? (int32_t)number : PERF_NO_NUMBER;
}

struct slice source_text(const struct source *source, enum perf_attribute name)
{
    struct perf_attribute_search search = {0};
    return perf_next_attribute(source->perf->ops, source->description, name, &search);
}

bool source_is_true(const struct source *source, enum perf_attribute name)
{
    struct slice value = source_text(source, name);
    return value.length >= 4 && strncasecmp(value.data, "true", 4) == 0;
}

bool source_has_text(const struct source *source, enum perf_attribute text)
{
    return perf_attributes_have(source->perf->ops, source->description, text);
}
