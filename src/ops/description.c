/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/description.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "text/python_number.h"
#include "text/real_write.h"

/* --- tensors --- */

/* "1x32x64" to numbers. An empty text is the shape of a scalar. False: not sizes. */
static bool parse_sizes(struct slice text, int64_t *sizes, uint32_t *rank)
{
    *rank = 0;
    while (text.length) {
        struct slice size = slice_before(text, "x");
        uint64_t value;
        if (*rank == OPS_MAX_RANK || !slice_unsigned(size, &value) || value > INT64_MAX)
            return false;
        sizes[(*rank)++] = (int64_t)value;
        if (size.length == text.length)
            return true;
        text = slice_from(text.data + size.length + 1, text.length - size.length - 1);
        if (text.length == 0) /* "32x" */
            return false;
    }
    return true;
}

/* Takes sizes whose rank is that of the tensor, or sets it. False: keep the text. */
static bool take_sizes(struct ops *ops, struct op_tensor *tensor, struct slice value, uint32_t *place)
{
    int64_t sizes[OPS_MAX_RANK];
    uint32_t rank;
    bool has_rank = tensor->shape != OPS_NONE || tensor->padded != OPS_NONE || tensor->strides != OPS_NONE;
    if (*place != OPS_NONE || !parse_sizes(value, sizes, &rank) || (has_rank && rank != tensor->rank))
        return false;
    tensor->rank = rank;
    *place = ops_sizes(ops, sizes, rank);
    return true;
}

static bool take_pair(struct ops *ops, struct op_tensor *tensor, struct slice pair)
{
    static const struct {
        const char *key;
        size_t offset;
        bool is_sizes;
    } known[] = {{"shape=", offsetof(struct op_tensor, shape), true},
                 {"padded=", offsetof(struct op_tensor, padded), true},
                 {"strides=", offsetof(struct op_tensor, strides), true},
                 {"dtype=", offsetof(struct op_tensor, dtype), false},
                 {"layout=", offsetof(struct op_tensor, layout), false},
                 {"memory=", offsetof(struct op_tensor, memory), false}};
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        size_t length = strlen(known[i].key);
        if (!slice_begins(pair, known[i].key))
            continue;
        uint32_t *field = (uint32_t *)(void *)((char *)tensor + known[i].offset);
        struct slice value = slice_from(pair.data + length, pair.length - length);
        if (known[i].is_sizes)
            return take_sizes(ops, tensor, value, field);
        if (*field != OPS_NONE)
            return false;
        *field = ops_text(ops, value);
        return true;
    }
    return false;
}

static uint32_t parse_tensor(struct ops *ops, struct slice text)
{
    struct op_tensor tensor = {.shape = OPS_NONE,
                               .padded = OPS_NONE,
                               .strides = OPS_NONE,
                               .dtype = OPS_NONE,
                               .layout = OPS_NONE,
                               .memory = OPS_NONE,
                               .rest = OPS_NONE};
    struct bytes rest = {0};
    while (text.length) {
        struct slice pair = slice_before(text, ";");
        if (!take_pair(ops, &tensor, pair)) {
            bytes_append_text(&rest, rest.length ? ";" : "");
            bytes_append(&rest, pair.data, pair.length);
        }
        size_t taken = pair.length + (pair.length < text.length);
        text = slice_from(text.data + taken, text.length - taken);
    }
    if (rest.length)
        tensor.rest = ops_text(ops, slice_from((const char *)rest.data, rest.length));
    ops->failed |= rest.failed;
    bytes_free(&rest);
    return ops_tensor(ops, &tensor);
}

/* Few tensors, many descriptions. */
#define PARSED_MAX 4096u

uint32_t ops_parse_tensor(struct ops *ops, struct slice text)
{
    uint32_t place = intern_find(&ops->tensor_texts, text.data, text.length);
    if (place != INTERN_NONE)
        return ops->parsed_tensors[place];
    uint32_t id = parse_tensor(ops, text);
    if (ops->tensor_texts.count >= PARSED_MAX)
        return id;
    if (!array_reserve(&ops->parsed_tensors, &ops->parsed_tensor_capacity, ops->tensor_texts.count + 1,
                       sizeof *ops->parsed_tensors) ||
        (place = intern_add(&ops->tensor_texts, text.data, text.length)) == INTERN_NONE)
        ops->failed = true;
    else
        ops->parsed_tensors[place] = id;
    return id;
}

/* Without printf: this is asked for each tensor of each op. */
static void append_size(struct bytes *out, int64_t size, bool is_further)
{
    char text[24] = "x-";
    size_t length = is_further;
    text[length] = '-';
    length += size < 0;
    length += real_put_whole(text + length, size < 0 ? 0 - (uint64_t)size : (uint64_t)size);
    bytes_append(out, text, length);
}

static void append_sizes(const struct ops *ops, uint32_t sizes, uint32_t rank, struct bytes *out)
{
    for (uint32_t i = 0; sizes != OPS_NONE && i < rank; i++)
        append_size(out, ops->sizes[sizes + i], i > 0);
}

void ops_append_tensor_text(const struct ops *ops, const struct op_tensor *tensor, struct bytes *out)
{
    const struct {
        const char *key;
        uint32_t value;
        bool is_sizes;
    } fields[] = {{"shape", tensor->shape, true},     {"padded", tensor->padded, true},
                  {"strides", tensor->strides, true}, {"dtype", tensor->dtype, false},
                  {"layout", tensor->layout, false},  {"memory", tensor->memory, false}};
    bool has_any = false;
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        if (fields[i].value == OPS_NONE)
            continue;
        bytes_append_format(out, "%s%s=", has_any ? ";" : "", fields[i].key);
        has_any = true;
        if (fields[i].is_sizes)
            append_sizes(ops, fields[i].value, tensor->rank, out);
        else
            bytes_append_text(out, ops_get_text(ops, fields[i].value));
    }
    if (tensor->rest != OPS_NONE)
        bytes_append_format(out, "%s%s", has_any ? ";" : "", ops_get_text(ops, tensor->rest));
}

void ops_append_tensor(const struct ops *ops, const struct op_tensor *tensor, struct bytes *out)
{
    const uint32_t words[] = {tensor->dtype, tensor->layout, tensor->memory};
    size_t from = out->length;
    append_sizes(ops, tensor->shape, tensor->rank, out);
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        const char *word = ops_get_text(ops, words[i]);
        if (*word)
            bytes_append_format(out, "%s%s", out->length > from ? " " : "", word);
    }
    if (out->length == from && tensor->rest != OPS_NONE) /* nothing that is known: as it is */
        bytes_append_text(out, ops_get_text(ops, tensor->rest));
}

bool ops_four_sizes(const struct ops *ops, uint32_t sizes, uint32_t rank, uint64_t four[4])
{
    for (size_t i = 0; i < 4; i++)
        four[i] = 1;
    if (sizes == OPS_NONE || rank == 0)
        return false;
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t from_end = rank - 1 - i;
        uint64_t *size = &four[from_end > 3 ? 0 : 3 - from_end];
        if (ops->sizes[sizes + i] < 0 || __builtin_mul_overflow(*size, (uint64_t)ops->sizes[sizes + i], size))
            return false;
    }
    return true;
}

/* --- descriptions --- */

struct parsing {
    uint32_t *ids; /* one per part, in the order of their kinds */
    struct op_description description;
    struct bytes location;
};

static uint32_t add_attribute(struct ops *ops, struct parsing *p, const char *text)
{
    const char *equals = strchr(text, '=');
    struct slice key = equals ? slice_from(text, (size_t)(equals - text)) : slice_of(text);
    uint32_t value = equals ? ops_text(ops, slice_of(equals + 1)) : OPS_NONE;
    struct op_description *d = &p->description;
    if (d->fidelity == OPS_NONE && (slice_is(key, "fidelity") || slice_is(key, "math_fidelity")))
        d->fidelity = value;
    if (d->module == OPS_NONE && (slice_is(key, "module") || slice_is(key, "module_path")))
        d->module = value;
    return ops_attribute(ops, ops_text(ops, key), value);
}

static uint32_t add_kernel(struct ops *ops, struct slice text)
{
    struct op_kernel kernel = {
        .name = ops_text(ops, text), .source = OPS_NONE, .hash = OPS_NONE, .role = OPS_NONE};
    return ops_kernel(ops, &kernel);
}

static size_t add_role(struct ops *ops, struct parsing *p, const struct trace_part *parts, size_t count,
                       uint32_t role, size_t at)
{
    size_t from = at;
    for (size_t i = 0; i < count; i++) {
        if (parts[i].role != role || at - from == UINT16_MAX)
            continue;
        if (role == TRACE_PART_LOCATION)
            bytes_append_format(&p->location, "%s%s", p->location.length ? "; " : "", parts[i].text.data);
        else
            p->ids[at++] = role == TRACE_PART_ATTRIBUTE ? add_attribute(ops, p, parts[i].text.data)
                           : role == TRACE_PART_KERNEL  ? add_kernel(ops, parts[i].text)
                                                        : ops_parse_tensor(ops, parts[i].text);
    }
    return at - from;
}

uint32_t ops_parse_parts(struct ops *ops, const struct trace_part *parts, size_t count)
{
    struct parsing p = {
        .ids = calloc(count + 1, sizeof *p.ids),
        .description = {.location = OPS_NONE, .module = OPS_NONE, .fidelity = OPS_NONE},
    };
    struct op_description *d = &p.description;
    uint32_t id = OPS_NONE;
    if (!p.ids)
        ops->failed = true;
    if (p.ids && count) {
        size_t at = d->inputs = (uint16_t)add_role(ops, &p, parts, count, TRACE_PART_INPUT, 0);
        at += d->outputs = (uint16_t)add_role(ops, &p, parts, count, TRACE_PART_OUTPUT, at);
        at += d->attributes = (uint16_t)add_role(ops, &p, parts, count, TRACE_PART_ATTRIBUTE, at);
        d->kernels = (uint16_t)add_role(ops, &p, parts, count, TRACE_PART_KERNEL, at);
        add_role(ops, &p, parts, count, TRACE_PART_LOCATION, 0);
        if (p.location.length)
            d->location = ops_text(ops, slice_from((const char *)p.location.data, p.location.length));
        ops->failed |= p.location.failed;
        id = ops_description(ops, d, p.ids);
    }
    bytes_free(&p.location);
    free(p.ids);
    return id;
}

struct slice ops_find_attribute(const struct ops *ops, uint32_t description, const char *key)
{
    const struct op_description *d = ops_get_description(ops, description);
    const uint32_t *ids = d->attributes ? ops_attributes(ops, d) : NULL;
    uint32_t wanted = intern_find(&ops->texts, key, strlen(key));
    for (size_t i = 0; wanted != INTERN_NONE && i < d->attributes; i++) {
        if (ops->attributes[ids[i]].key == wanted)
            return ops_get_slice(ops, ops->attributes[ids[i]].value);
    }
    return slice_from(NULL, 0);
}

/* --- figures --- */

void ops_append_figure(const struct ops *ops, const struct op_figure *figure, struct bytes *out)
{
    bytes_append_format(out, "%s=", ops_get_text(ops, figure->name));
    if (figure->kind == OP_FIGURE_TEXT)
        bytes_append_text(out, ops_get_text(ops, (uint32_t)figure->whole));
    else if (op_figure_is_real(figure->kind))
        python_append_float(out, figure->real);
    else
        bytes_append_format(out, "%" PRIu64, figure->whole);
}
