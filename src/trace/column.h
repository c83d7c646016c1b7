/* SPDX-License-Identifier: Apache-2.0 */
/* Columns: arrays of unsigned integers, or of bytes, as they are stored in a block.
 *
 * CONST   all values are equal: `width` bytes of it. PLANES  the smallest value, then value - smallest cut
 * into `width` byte planes, low byte first. A plane whose
 *         bytes need only 1, 2 or 4 bits is packed, so that a byte holds 8, 4 or 2 of them; then it is a zstd
 *         frame, or plain bytes when that is not smaller. A plane of equal bytes is one byte.
 * VARINT  the smallest value, then LEB128 of value - smallest, zstd or plain. BLOB    bytes, zstd or plain.
 * With COLUMN_DELTA the numbers stored are zigzag differences from the value before. With COLUMN_PATCHED a
 * few values that are much larger than the rest are listed in front of the planes, which hold 0 in their
 * place.
 *
 * Planes decode twice as fast as varints and hug the entropy of noisy columns; the compressor sees one kind
 * of byte at a time. Packing lets it see several values in a byte: the jitter of a tight loop (a few values,
 * an outlier in 50,000) takes 0.10 to 0.17 bytes a value instead of 0.19 to 0.23, at a quarter of the time.
 * Decoders take any input: they fail, never overrun. */
#ifndef OPSCOPE_TRACE_COLUMN_H
#define OPSCOPE_TRACE_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

enum column_encoding {
    COLUMN_CONST = 0,
    COLUMN_PLANES = 1,
    COLUMN_VARINT = 2,
    COLUMN_BLOB = 3,
    COLUMN_PATCHED = 0x40, /* flag, with PLANES */
    COLUMN_DELTA = 0x80,   /* flag */
};

struct column { /* an entry of a block's column table */
    uint16_t id;
    uint8_t encoding;
    uint8_t width;
    uint32_t count; /* values; of a blob: bytes */
    uint32_t size;  /* bytes stored */
    uint32_t hash;  /* of the bytes stored */
};

/* Compressor, decompressor and scratch memory, made when first needed. Zero-initialise. */
struct column_codec {
    struct ZSTD_CCtx_s *compressor;
    struct ZSTD_CCtx_s *entropy_coder; /* the same without the search for repetitions */
    struct ZSTD_DCtx_s *decompressor;
    struct bytes planes;
    struct bytes numbers;
    struct bytes narrow;
    struct bytes packed;
    struct bytes patched;
};

void column_codec_free(struct column_codec *codec);

/* Append the stored form to `out` and fill encoding, width, count, size and hash of `column`.
 * Return 0 or -ENOMEM. */
int column_encode_u32(struct column_codec *codec, const uint32_t *values, size_t count, struct bytes *out,
                      struct column *column);
int column_encode_u64(struct column_codec *codec, const uint64_t *values, size_t count, bool delta,
                      struct bytes *out, struct column *column);
int column_encode_bytes(struct column_codec *codec, const void *data, size_t length, struct bytes *out,
                        struct column *column);

/* True when the stored bytes have the hash that the column table says. */
bool column_is_intact(const struct column *column, const uint8_t *stored);
void column_rehash(struct column *column, const uint8_t *stored); /* for tests that change the bytes */

/* Decode column->count values from column->size bytes into `out`, after checking the hash. The caller has
 * bounded the count. Values that do not fit 32 bits are cut. Return 0, -EINVAL (damaged) or -ENOMEM. */
int column_decode_u32(struct column_codec *codec, const struct column *column, const uint8_t *stored,
                      uint32_t *out);
int column_decode_u64(struct column_codec *codec, const struct column *column, const uint8_t *stored,
                      uint64_t *out);
/* The same for indexes into a list of at most 65,536: -EINVAL, too, when one of them is `limit` or more. */
int column_decode_index(struct column_codec *codec, const struct column *column, const uint8_t *stored,
                        size_t limit, uint16_t *out);
int column_decode_bytes(struct column_codec *codec, const struct column *column, const uint8_t *stored,
                        uint8_t *out);

#endif
