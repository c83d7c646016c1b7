/* SPDX-License-Identifier: Apache-2.0 */
/* The block format: a token holds the number of literals (high half) and the length of a match less 4 (low half); 15
 * means that bytes follow which are added, up to the first that is not 255. The last sequence has literals alone. */
#include "collect/tracy/lz4.h"

#include <stdbool.h>
#include <string.h>

#define LEAST_MATCH 4u
#define STEP 16u /* bytes that are copied at once, where there is room for that */

/* What follows a half token of 15; false at the end of the block, or when it is longer than anything could be. */
static bool read_length(const uint8_t **at, const uint8_t *end, size_t *length)
{
    uint8_t byte;
    do {
        if (*at >= end || *length > (SIZE_MAX >> 1))
            return false;
        byte = *(*at)++;
        *length += byte;
    } while (byte == 255);
    return true;
}

/* The bytes may overlap with those that they are copied from: then they repeat. Where there is room, whole steps are
 * copied; what is too much is overwritten later. */
static void copy_match(uint8_t *to, size_t offset, size_t length, const uint8_t *limit)
{
    const uint8_t *from = to - offset;
    uint8_t *end = to + length, repeated[STEP];
    if ((size_t)(limit - end) < STEP) {
        while (to < end)
            *to++ = *from++;
        return;
    }
    if (offset >= STEP) {
        for (; to < end; to += STEP, from += STEP)
            memcpy(to, from, STEP);
        return;
    }
    for (size_t i = 0, k = 0; i < STEP; i++, k = k + 1 == offset ? 0 : k + 1)
        repeated[i] = from[k];
    for (size_t step = STEP - STEP % offset; to < end; to += step)
        memcpy(to, repeated, STEP);
}

ptrdiff_t lz4_decode(const uint8_t *block, size_t length, uint8_t *out, size_t room, size_t history)
{
    const uint8_t *at = block, *end = block + length;
    uint8_t *to = out, *limit = out + room;
    while (at < end) {
        uint8_t token = *at++;
        size_t literals = token >> 4;
        if (literals == 15 && !read_length(&at, end, &literals))
            return -1;
        if (literals > (size_t)(end - at) || literals > (size_t)(limit - to))
            return -1;
        if (literals <= STEP && (size_t)(end - at) >= STEP && (size_t)(limit - to) >= STEP)
            memcpy(to, at, STEP);
        else
            memcpy(to, at, literals);
        to += literals;
        at += literals;
        if (at == end)
            return to - out;
        if (end - at < 2)
            return -1;
        size_t offset = (size_t)at[0] | (size_t)at[1] << 8, match = token & 15;
        at += 2;
        if (match == 15 && !read_length(&at, end, &match))
            return -1;
        match += LEAST_MATCH;
        if (!offset || offset > (size_t)(to - out) + history || match > (size_t)(limit - to))
            return -1;
        copy_match(to, offset, match, limit);
        to += match;
    }
    return length ? -1 : 0; /* the last sequence has no match */
}
