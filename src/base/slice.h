/* SPDX-License-Identifier: Apache-2.0 */
/* A piece of text that belongs to somebody else: not NUL-terminated, valid as long as what it points into. data is
 * NULL where there is no such text at all, which is not the same as an empty one. */
#ifndef OPSCOPE_BASE_SLICE_H
#define OPSCOPE_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
    const char *data;
    size_t length;
};

/* As an initialiser: a literal, whose length the compiler knows. */
#define SLICE(literal)                                                                                       \
    {                                                                                                        \
        literal, sizeof(literal) - 1                                                                         \
    }

static inline struct slice slice_from(const char *data, size_t length)
{
    return (struct slice){data, length};
}

static inline struct slice slice_of(const char *text)
{
    return (struct slice){text, text ? strlen(text) : 0};
}

static inline bool slice_is(struct slice slice, const char *text)
{
    size_t length = strlen(text);
    return slice.length == length && (length == 0 || memcmp(slice.data, text, length) == 0);
}

static inline bool slice_equal(struct slice a, struct slice b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

static inline bool slice_begins(struct slice slice, const char *text)
{
    size_t length = strlen(text);
    return slice.length >= length && (length == 0 || memcmp(slice.data, text, length) == 0);
}

static inline bool slice_has(struct slice slice, const char *text)
{
    return slice.length && memmem(slice.data, slice.length, text, strlen(text)) != NULL;
}

/* What follows the first `text`; data is NULL when it is not there. */
static inline struct slice slice_after(struct slice slice, const char *text)
{
    size_t length = strlen(text);
    const char *at = slice.length ? memmem(slice.data, slice.length, text, length) : NULL;
    if (!at)
        return (struct slice){0};
    return (struct slice){at + length, slice.length - (size_t)(at + length - slice.data)};
}

/* What lies before the first `text`, or all of it. */
static inline struct slice slice_before(struct slice slice, const char *text)
{
    const char *at = slice.length ? memmem(slice.data, slice.length, text, strlen(text)) : NULL;
    if (at)
        slice.length = (size_t)(at - slice.data);
    return slice;
}

/* Without spaces and tabs at both ends, nor a carriage return at the second. */
static inline struct slice slice_trim(struct slice slice)
{
    while (slice.length && (slice.data[0] == ' ' || slice.data[0] == '\t')) {
        slice.data++;
        slice.length--;
    }
    while (slice.length && memchr(" \t\r", slice.data[slice.length - 1], 3))
        slice.length--;
    return slice;
}

/* Decimal digits alone, at least one, that fit. */
static inline bool slice_unsigned(struct slice slice, uint64_t *value)
{
    uint64_t sum = 0;
    if (slice.length == 0)
        return false;
    for (size_t i = 0; i < slice.length; i++) {
        char c = slice.data[i];
        if (c < '0' || c > '9' || __builtin_mul_overflow(sum, 10u, &sum) ||
            __builtin_add_overflow(sum, (uint64_t)(c - '0'), &sum))
            return false;
    }
    *value = sum;
    return true;
}

/* The same below UINT32_MAX, which stands for "none" in many places. */
static inline bool slice_unsigned32(struct slice slice, uint32_t *value)
{
    uint64_t wide;
    if (!slice_unsigned(slice, &wide) || wide >= UINT32_MAX)
        return false;
    *value = (uint32_t)wide;
    return true;
}

#endif
