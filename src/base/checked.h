/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on sizes and counts that come from input: each returns false on overflow. */
#ifndef OPSCOPE_BASE_CHECKED_H
#define OPSCOPE_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool checked_add_size(size_t a, size_t b, size_t *sum)
{
    return !__builtin_add_overflow(a, b, sum);
}

static inline bool checked_mul_size(size_t a, size_t b, size_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

/* a + b, or the largest value when that does not fit. */
static inline uint64_t saturating_add_u64(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* True when [offset, offset + length) lies inside a buffer of `size` bytes. */
static inline bool range_is_inside(size_t offset, size_t length, size_t size)
{
    return offset <= size && length <= size - offset;
}

#endif
