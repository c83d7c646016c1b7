/* SPDX-License-Identifier: Apache-2.0 */
/* One 64-bit hash for interning and for guarding stored bytes (not against an adversary). The value is part
 * of the trace format: it must never change. */
#ifndef OPSCOPE_BASE_HASH_H
#define OPSCOPE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The trace format is little-endian; this hash and the columns of a block copy numbers as they lie in memory. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "opscope needs a little-endian machine");

static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
    __uint128_t product = (__uint128_t)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Reads 8 bytes at a time, folds with a 64 x 64 -> 128 bit multiplication; little-endian by definition. */
static inline uint64_t hash_bytes(const void *data, size_t length, uint64_t seed)
{
    const uint64_t k0 = UINT64_C(0x9e3779b97f4a7c15), k1 = UINT64_C(0xd6e8feb86659fd93);
    const unsigned char *at = (const unsigned char *)data;
    uint64_t h = hash_mix(seed ^ k0, (uint64_t)length ^ k1);
    while (length >= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        h = hash_mix(h ^ word, k1) + k0;
        at += 8;
        length -= 8;
    }
    uint64_t tail = 0;
    for (size_t i = 0; i < length; i++)
        tail |= (uint64_t)at[i] << (8 * i);
    return hash_mix(h ^ tail, k0 ^ (h >> 32));
}

static inline uint32_t hash_fold32(uint64_t h)
{
    return (uint32_t)(h ^ (h >> 32));
}

#endif
