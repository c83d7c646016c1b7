/* SPDX-License-Identifier: Apache-2.0 */
/* What column_encode.c and column.c share. */
#ifndef OPSCOPE_TRACE_COLUMN_INTERNAL_H
#define OPSCOPE_TRACE_COLUMN_INTERNAL_H

#include <string.h>

#include "trace/column.h"

#define COLUMN_PADDING 8u /* bytes that packing and unpacking may touch after a plane */
#define COLUMN_MAX_PATCHES(count) ((count) / 32)

enum plane_kind { PLANE_RAW = 0, PLANE_ZSTD = 1, PLANE_CONST = 2 };

/* Scratch memory of at least `size` bytes; what it holds is lost. */
static inline void *column_scratch(struct bytes *memory, size_t size)
{
    bytes_clear(memory);
    return bytes_reserve(memory, size ? size : 1) ? memory->data : NULL;
}

static inline size_t column_packed_size(size_t count, unsigned bits)
{
    return (count * bits + 7) / 8;
}

static inline uint64_t column_load_u64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

#endif
