/* SPDX-License-Identifier: Apache-2.0 */
/* Small pieces that the readers of Tenstorrent's logs share. All of them look at bounded slices. */
#ifndef OPSCOPE_IMPORT_TENSTORRENT_PARSE_H
#define OPSCOPE_IMPORT_TENSTORRENT_PARSE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/keyed_text.h"
#include "import/op_rows.h"

static inline struct op_cell cell_of(const char *data, size_t length)
{
    return (struct op_cell){data, length};
}

static inline struct op_cell cell_trim(struct op_cell cell)
{
    while (cell.length > 0 && (cell.data[0] == ' ' || cell.data[0] == '\t')) {
        cell.data++;
        cell.length--;
    }
    while (cell.length > 0 && (cell.data[cell.length - 1] == ' ' || cell.data[cell.length - 1] == '\t' ||
                               cell.data[cell.length - 1] == '\r'))
        cell.length--;
    return cell;
}

static inline bool cell_is(struct op_cell cell, const char *text)
{
    return cell.length == strlen(text) && (cell.length == 0 || memcmp(cell.data, text, cell.length) == 0);
}

static inline bool cell_begins(struct op_cell cell, const char *text)
{
    size_t length = strlen(text);
    return cell.length >= length && memcmp(cell.data, text, length) == 0;
}

static inline bool cell_contains(struct op_cell cell, const char *text)
{
    return cell.length > 0 && memmem(cell.data, cell.length, text, strlen(text)) != NULL;
}

/* The value behind "key=" of a text whose parts are parted by semicolons. */
static inline struct op_cell cell_of_key(const char *text, const char *key)
{
    size_t length;
    const char *value = keyed_text_find(text, key, &length);
    return cell_of(value, length);
}

/* Decimal digits alone, at least one, that fit. */
static inline bool cell_unsigned(struct op_cell cell, uint64_t *value)
{
    uint64_t sum = 0;
    if (cell.length == 0)
        return false;
    for (size_t i = 0; i < cell.length; i++) {
        char c = cell.data[i];
        if (c < '0' || c > '9' || __builtin_mul_overflow(sum, 10u, &sum) ||
            __builtin_add_overflow(sum, (uint64_t)(c - '0'), &sum))
            return false;
    }
    *value = sum;
    return true;
}

static inline bool cell_unsigned32(struct op_cell cell, uint32_t *value)
{
    uint64_t wide;
    if (!cell_unsigned(cell, &wide) || wide >= UINT32_MAX)
        return false;
    *value = (uint32_t)wide;
    return true;
}

#endif
