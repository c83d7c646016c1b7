/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse matmuls of 1.4.1: the work is that of the batches that are not zero, which the op records as nnz, or whoever
 * asks gives as experts at work. */
#include "compat/tt_perf_report/ttpr.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_quote(char c)
{
    return c == '\'' || c == '"';
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* What stands after the next 'name': at or behind `*from`, which moves on; data NULL where there is none. */
static struct slice next_place(struct slice attributes, const char *name, size_t *from)
{
    size_t length = strlen(name);
    for (size_t i = *from; i + length + 2 <= attributes.length; i++) {
        const char *at = attributes.data + i;
        if (!is_quote(at[0]) || memcmp(at + 1, name, length) != 0 || !is_quote(at[length + 1]))
            continue;
        *from = i + 1;
        size_t end = i + length + 2;
        while (end < attributes.length && is_blank(attributes.data[end]))
            end++;
        if (end >= attributes.length || attributes.data[end] != ':')
            continue;
        for (end++; end < attributes.length && is_blank(attributes.data[end]);)
            end++;
        return slice_from(attributes.data + end, attributes.length - end);
    }
    return (struct slice){0};
}

/* 'name': 'value', first of all, else 'name': value. */
static struct slice attribute(struct slice attributes, const char *name)
{
    struct slice rest;
    for (size_t from = 0; (rest = next_place(attributes, name, &from)).data;) {
        size_t length = 0;
        if (!rest.length || !is_quote(rest.data[0]))
            continue;
        while (1 + length < rest.length && !is_quote(rest.data[1 + length]))
            length++;
        if (length && 1 + length < rest.length)
            return slice_from(rest.data + 1, length);
    }
    for (size_t from = 0; (rest = next_place(attributes, name, &from)).data;) {
        size_t length = 0;
        while (length < rest.length && !is_blank(rest.data[length]) && !strchr(";,}", rest.data[length]))
            length++;
        if (length)
            return slice_from(rest.data, length);
    }
    return (struct slice){0};
}

static bool is_true(struct slice value, bool fallback)
{
    return value.data ? value.length == 4 && strncasecmp(value.data, "true", 4) == 0 : fallback;
}

/* The number of batches that are not zero, as recorded; NaN where it is not a whole number. */
static double recorded_count(struct slice value)
{
    char text[24], *end;
    value = slice_trim(value);
    if (!value.data || !value.length || value.length >= sizeof text)
        return NAN;
    memcpy(text, value.data, value.length);
    text[value.length] = 0;
    errno = 0;
    long long count = strtoll(text, &end, 10);
    return errno || *end ? NAN : (double)count;
}

struct ttpr_batches ttpr_sparse_batches(const struct ttpr *perf, const struct ttpr_source *source)
{
    const struct ttpr_tensor *in0 = &source->tensors[TTPR_IN0], *in1 = &source->tensors[TTPR_IN1];
    double first = in0->w * in0->z, second = in1->w * in1->z;
    bool is_first_sparse = is_true(attribute(source->attributes, "is_input_a_sparse"), false);
    bool is_second_sparse = is_true(attribute(source->attributes, "is_input_b_sparse"), true);
    double groups = first;
    struct ttpr_batches batches = {.dense = is_second_sparse ? first * second : fmax(first, second)};
    if (is_first_sparse && is_second_sparse) {
        groups = 1;
        batches.dense = second;
    } else if (is_first_sparse) {
        groups = fmax(1, floor(first / second));
        batches.dense = groups * second;
    }
    batches.active = recorded_count(attribute(source->attributes, "nnz"));
    if (isnan(batches.active) && perf->request->active_experts)
        batches.active = (double)perf->request->active_experts * groups;
    return batches;
}
