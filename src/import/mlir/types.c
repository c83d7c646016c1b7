/* SPDX-License-Identifier: Apache-2.0 */
#include "import/mlir/types.h"

#include <string.h>

#include "base/count_of.h"
#include "import/mlir/scan.h"

#define BITS_MAX 65535u
#define ELEMENTS_DEEP_MAX 4u /* a vector of complex numbers of ... */

static enum mlir_shape_status read_builtin(struct slice text, struct mlir_shape *shape, unsigned depth);

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits at a place of the text; false where there are none. */
static bool read_number(struct slice text, size_t *at, uint64_t *value)
{
    size_t begin = *at;
    while (*at < text.length && is_digit(text.data[*at]))
        ++*at;
    return slice_unsigned(slice_from(text.data + begin, *at - begin), value);
}

static struct slice rest_from(struct slice text, size_t at)
{
    return at <= text.length ? slice_from(text.data + at, text.length - at) : (struct slice){0};
}

/* What stands inside the brackets that open at the end of `prefix`. */
static struct slice inside(struct slice text, const char *prefix)
{
    struct slice found = rest_from(text, strlen(prefix));
    return slice_from(found.data, scan_until(found.data, 0, found.length, ""));
}

static struct mlir_element read_element(struct slice text, unsigned depth)
{
    struct mlir_element element = {0};
    uint64_t number = 0;
    size_t at = 0;
    text = slice_trim(text);
    if (depth > ELEMENTS_DEEP_MAX)
        return element;
    if (slice_begins(text, "complex<")) {
        element = read_element(inside(text, "complex<"), depth + 1);
        element.bits = (uint16_t)(element.bits <= BITS_MAX / 2 ? element.bits * 2 : 0);
        return element;
    }
    if (slice_begins(text, "!quant.")) { /* stored as the first type that it names */
        struct slice stored = slice_after(text, "<");
        size_t end = stored.data ? scan_until(stored.data, 0, stored.length, ":,") : 0;
        return stored.data ? read_element(slice_from(stored.data, end), depth + 1) : element;
    }
    if (slice_begins(text, "vector<")) {
        struct mlir_shape shape = {0};
        if (read_builtin(inside(text, "vector<"), &shape, depth + 1) != MLIR_SHAPE)
            return element;
        uint64_t bits = mlir_shape_elements(&shape) * shape.element.bits;
        element = shape.element;
        element.bits = (uint16_t)(bits <= BITS_MAX ? bits : 0);
        return element;
    }
    if (slice_is(text, "index")) {
        element.bits = 64;
        return element;
    }
    bool is_signed = slice_begins(text, "si") || slice_begins(text, "ui");
    element.is_bfloat = slice_begins(text, "bf");
    element.is_float = element.is_bfloat || slice_begins(text, "f") || slice_begins(text, "tf");
    if (!element.is_float && !is_signed && !slice_begins(text, "i"))
        return element;
    at = is_signed || element.is_bfloat || slice_begins(text, "tf") ? 2 : 1;
    if (read_number(text, &at, &number) && number <= BITS_MAX)
        element.bits = slice_is(text, "tf32") ? 32 : (uint16_t)number;
    return element;
}

/* "1x8x?xi8" and what may follow after a comma. */
static enum mlir_shape_status read_builtin(struct slice text, struct mlir_shape *shape, unsigned depth)
{
    size_t at = 0;
    if (slice_begins(text, "*"))
        return MLIR_SHAPE_UNREAD;
    for (;;) {
        uint64_t size;
        size_t next = at;
        bool is_scalable = next < text.length && text.data[next] == '['; /* of a vector */
        next += is_scalable;
        if (next < text.length && text.data[next] == '?') {
            size = MLIR_DYNAMIC;
            next++;
        } else if (!read_number(text, &next, &size)) {
            break;
        }
        next += is_scalable && next < text.length && text.data[next] == ']';
        if (next >= text.length || text.data[next] != 'x' || shape->rank == MLIR_RANK_MAX)
            return MLIR_SHAPE_UNREAD;
        shape->is_dynamic |= size == MLIR_DYNAMIC;
        shape->sizes[shape->rank++] = size;
        at = next + 1;
    }
    struct slice element = rest_from(text, at);
    element = slice_from(element.data, scan_until(element.data, 0, element.length, ","));
    shape->element = read_element(element, depth);
    return shape->element.bits ? MLIR_SHAPE : MLIR_SHAPE_UNREAD;
}

/* "[1,3],f32" */
static enum mlir_shape_status read_torch(struct slice text, struct mlir_shape *shape)
{
    if (!slice_begins(text, "["))
        return MLIR_SHAPE_UNREAD;
    size_t end = scan_until(text.data, 1, text.length, "");
    struct slice list = slice_from(text.data + 1, end > 0 ? end - 1 : 0);
    while (slice_trim(list).length) {
        struct slice item = slice_trim(slice_before(list, ","));
        uint64_t size = MLIR_DYNAMIC;
        if (shape->rank == MLIR_RANK_MAX || (!slice_is(item, "?") && !slice_unsigned(item, &size)))
            return MLIR_SHAPE_UNREAD;
        shape->is_dynamic |= size == MLIR_DYNAMIC;
        shape->sizes[shape->rank++] = size;
        list = slice_after(list, ",");
    }
    struct slice element = slice_after(rest_from(text, end), ",");
    element = slice_from(element.data, element.data ? scan_until(element.data, 0, element.length, ",") : 0);
    shape->element = read_element(element, 0);
    return shape->element.bits ? MLIR_SHAPE : MLIR_SHAPE_UNREAD;
}

enum mlir_shape_status mlir_read_shape(struct slice type, struct mlir_shape *shape)
{
    static const char *const builtin[] = {"tensor<", "memref<", "vector<"};
    *shape = (struct mlir_shape){0};
    type = slice_trim(type);
    if (!type.length)
        return MLIR_NO_SHAPE;
    for (size_t i = 0; i < COUNT_OF(builtin); i++) {
        if (slice_begins(type, builtin[i]))
            return read_builtin(inside(type, builtin[i]), shape, 0);
    }
    if (slice_begins(type, "!torch.vtensor<"))
        return read_torch(inside(type, "!torch.vtensor<"), shape);
    if (slice_begins(type, "!torch.tensor<"))
        return read_torch(inside(type, "!torch.tensor<"), shape);
    if (slice_is(type, "!torch.vtensor") || slice_is(type, "!torch.tensor"))
        return MLIR_SHAPE_UNREAD;
    if (type.data[0] == '!') { /* a wrapper */
        struct slice body = slice_from(type.data, scan_until(type.data, 0, type.length, " ,"));
        struct slice colon = slice_after(body, ":tensor<");
        if (colon.data)
            return read_builtin(slice_from(colon.data, scan_until(colon.data, 0, colon.length, "")), shape,
                                0);
    }
    return MLIR_NO_SHAPE;
}

uint64_t mlir_shape_elements(const struct mlir_shape *shape)
{
    uint64_t product = 1;
    if (shape->is_dynamic)
        return 0;
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (__builtin_mul_overflow(product, shape->sizes[i], &product))
            return UINT64_MAX;
    }
    return product;
}

uint64_t mlir_shape_bytes(const struct mlir_shape *shape)
{
    uint64_t bits;
    if (__builtin_mul_overflow(mlir_shape_elements(shape), (uint64_t)shape->element.bits, &bits) ||
        bits > UINT64_MAX - 7)
        return UINT64_MAX;
    return (bits + 7) / 8;
}
