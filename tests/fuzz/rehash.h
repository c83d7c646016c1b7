/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the hashes of a trace right again after its bytes were changed, so that the damage gets behind them: what
 * somebody who wants to break a reader would do. */
#ifndef OPSCOPE_TESTS_FUZZ_REHASH_H
#define OPSCOPE_TESTS_FUZZ_REHASH_H

#include <string.h>

#include "base/hash.h"
#include "trace/block.h"
#include "trace/format.h"

static inline void rehash_segment(uint8_t *header)
{
    uint8_t copy[SEGMENT_HEADER_BYTES];
    memcpy(copy, header, sizeof copy);
    memset(copy + SEGMENT_SLOT_OFFSET, 0, 2 * SEGMENT_SLOT_BYTES);
    put_u32(copy + SEGMENT_HASH_OFFSET, 0);
    put_u32(header + SEGMENT_HASH_OFFSET, hash_fold32(hash_bytes(copy, sizeof copy, SEGMENT_HASH_SEED)));
    for (unsigned i = 0; i < 2; i++) {
        uint8_t *slot = header + SEGMENT_SLOT_OFFSET + i * SEGMENT_SLOT_BYTES;
        put_u32(slot + 60, hash_fold32(hash_bytes(slot, 60, SEGMENT_HASH_SEED)));
    }
}

static inline void rehash(uint8_t *data, size_t size)
{
    for (size_t at = 0; at + 8 <= size; at++) {
        if (get_u32(data + at) == BLOCK_MAGIC)
            block_rehash(data + at, size - at);
        else if (size - at >= SEGMENT_HEADER_BYTES && memcmp(data + at, SEGMENT_MAGIC, MAGIC_BYTES) == 0)
            rehash_segment(data + at);
    }
}

#endif
