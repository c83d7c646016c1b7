/* SPDX-License-Identifier: Apache-2.0 */
/* The block format: a token holds the number of literals (high half) and the length of a match less 4 (low half); 15
 * means that bytes follow which are added, up to the first that is not 255. The last sequence has literals alone. */
#include "collect/tracy/lz4.h"

#include <stdbool.h>
#include <string.h>

#define LEAST_MATCH 4u
#define STEP 16u /* bytes that are copied at once, where there is room for that */
#define WORD 8u
#define SHORT_MATCH 18u /* the longest that a token alone says */
#define SHORT_INPUT 16  /* more than a short sequence has, and a literal after it */
#define SHORT_OUTPUT 32 /* more than it writes */

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

/* Sequences of few literals and a short match that is not too near, which most are, without a look at the lengths:
 * where the next one begins is all that each waits for. Eight bytes at once: more of what was just stored could not be
 * loaded yet. Stops at the first other sequence, and near the end of the block or the room. */
static inline void take_short(const uint8_t **at_block, const uint8_t *end, uint8_t **at_out,
                              const uint8_t *limit, const uint8_t *first)
{
    const uint8_t *at = *at_block;
    uint8_t *to = *at_out;
    if (end - at < SHORT_INPUT || limit - to < SHORT_OUTPUT)
        return;
    const uint8_t *last_at = end - SHORT_INPUT, *last_to = limit - SHORT_OUTPUT;
    while (at <= last_at && to <= last_to) {
        size_t token = *at, literals = token >> 4, match = token & 15;
        if (match == 15 || literals > WORD)
            break;
        memcpy(to, at + 1, WORD);
        const uint8_t *next = at + literals + 3;
        uint8_t *target = to + literals;
        uint16_t offset;
        memcpy(&offset, at + 1 + literals, sizeof offset);
        if (__builtin_expect(offset < WORD || offset > (size_t)(target - first), 0))
            break;
        const uint8_t *from = target - offset;
        memcpy(target, from, WORD);
        memcpy(target + WORD, from + WORD, WORD);
        if (__builtin_expect(match > 2 * WORD - LEAST_MATCH, 0))
            memcpy(target + 2 * WORD, from + 2 * WORD, SHORT_MATCH - 2 * WORD);
        to = target + match + LEAST_MATCH;
        at = next;
    }
    *at_block = at;
    *at_out = to;
}

ptrdiff_t lz4_decode(const uint8_t *block, size_t length, uint8_t *out, size_t room, size_t history)
{
    const uint8_t *at = block, *end = block + length;
    uint8_t *to = out, *limit = out + room;
    while (at < end) {
        take_short(&at, end, &to, limit, out - history);
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
