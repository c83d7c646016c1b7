/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the alignment: the bytes are two sequences of keys, coarser ones for a second pass, and how often they are
 * repeated; matches must join equal keys in ascending order. */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "analyze/diff/align.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define KEYS 256u

static uint32_t *make_keys(const uint8_t *data, size_t size, size_t times, uint32_t mask)
{
    uint32_t *keys = malloc((size * times + 1) * sizeof *keys);
    for (size_t i = 0; keys && i < size * times; i++)
        keys[i] = data[i % size] & mask;
    return keys;
}

static void check(const struct align *align, const uint32_t *a, const uint32_t *b)
{
    size_t matched = 0, next = 0;
    for (size_t i = 0; i < align->a_count; i++) {
        uint32_t at = align->b_of_a[i];
        if (at == ALIGN_NONE)
            continue;
        assert(at >= next && at < align->b_count && a[i] == b[at]);
        next = (size_t)at + 1;
        matched++;
    }
    assert(matched == align->matched);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct align align;
    if (size < 4 || size > 1024)
        return 0;
    size_t times = 1 + data[0] % 4, cut = 2 + (size_t)data[1] * (size - 2) / 256;
    size_t a_size = cut - 2, b_size = size - cut;
    uint32_t *a = make_keys(data + 2, a_size, times, 0xff), *b = make_keys(data + cut, b_size, times, 0xff);
    uint32_t *rough_a = make_keys(data + 2, a_size, times, 0x0f),
             *rough_b = make_keys(data + cut, b_size, times, 0x0f);
    if (a && b && rough_a && rough_b && align_begin(&align, a_size * times, b_size * times, NULL) == 0) {
        if (align_by(&align, a, b, KEYS, NULL) == 0) {
            check(&align, a, b);
            if (align_by(&align, rough_a, rough_b, KEYS, NULL) == 0)
                check(&align, rough_a, rough_b);
        }
        align_free(&align);
    }
    free(a);
    free(b);
    free(rough_a);
    free(rough_b);
    return 0;
}
