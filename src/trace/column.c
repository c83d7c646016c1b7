/* SPDX-License-Identifier: Apache-2.0 */
/* How columns are read back. See column.h for the encodings, column_encode.c for the other way.
 *
 * The loops below are plain so that the compiler vectorises them; gcc does so at -O3 only. */
#include "trace/column.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

#include "base/checked.h"
#include "base/hash.h"
#include "trace/column_internal.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

#define COLUMN_HASH_SEED UINT64_C(0x6f70)

void column_codec_free(struct column_codec *codec)
{
    if (!codec)
        return;
    ZSTD_freeCCtx(codec->compressor);
    ZSTD_freeCCtx(codec->entropy_coder);
    ZSTD_freeDCtx(codec->decompressor);
    bytes_free(&codec->planes);
    bytes_free(&codec->numbers);
    bytes_free(&codec->narrow);
    bytes_free(&codec->packed);
    bytes_free(&codec->patched);
    *codec = (struct column_codec){0};
}

/* hash_bytes in four lanes, which do not wait for each other: word i goes to lane i % 4, the rest of less
 * than 32 bytes and the lanes' results are hashed plainly. Part of the format. */
static uint32_t hash_stored(const uint8_t *data, size_t length)
{
    const uint64_t k0 = UINT64_C(0x9e3779b97f4a7c15), k1 = UINT64_C(0xd6e8feb86659fd93);
    uint64_t lanes[4] = {k0, k1, k0 ^ k1, k0 + k1};
    size_t at = 0;
    if (length == 0)
        data = (const uint8_t *)""; /* a column of zeros may have no bytes at all */
    for (; length - at >= 32; at += 32)
        for (unsigned i = 0; i < 4; i++)
            lanes[i] = hash_mix(lanes[i] ^ column_load_u64(data + at + 8 * i), k1) + k0;
    uint64_t hash = hash_bytes(data + at, length - at, COLUMN_HASH_SEED ^ length);
    for (unsigned i = 0; i < 4; i++)
        hash = hash_mix(hash ^ lanes[i], k1 + i) + k0;
    return hash_fold32(hash);
}

/* The bytes of a packed plane, a varint stream or a blob, after their kind. */
static int take_bytes(struct column_codec *codec, struct cursor *in, unsigned kind, size_t count,
                      uint8_t *out)
{
    if (kind == PLANE_RAW) {
        const uint8_t *raw = cursor_take(in, count);
        if (!raw)
            return -EINVAL;
        memcpy(out, raw, count);
        return 0;
    }
    if (kind != PLANE_ZSTD)
        return -EINVAL;
    uint32_t size = cursor_u32(in);
    const uint8_t *frame = cursor_take(in, size);
    if (!frame)
        return -EINVAL;
    if (!codec->decompressor)
        codec->decompressor = ZSTD_createDCtx();
    if (!codec->decompressor)
        return -ENOMEM;
    return ZSTD_decompressDCtx(codec->decompressor, out, count, frame, size) == count ? 0 : -EINVAL;
}

/* Spreads packed values to one byte each; writes up to 7 bytes after the plane. */
static void unpack_plane(const uint8_t *packed, size_t count, unsigned bits, uint8_t *plane)
{
    size_t size = column_packed_size(count, bits);
    if (bits == 4)
        for (size_t i = 0; i < size; i++) {
            plane[2 * i] = packed[i] & 15;
            plane[2 * i + 1] = packed[i] >> 4;
        }
    else if (bits == 2)
        for (size_t i = 0; i < size; i++) {
            uint32_t four = packed[i];
            four = (four | four << 12) & 0x000f000f;
            four = (four | four << 6) & 0x03030303;
            memcpy(plane + 4 * i, &four, sizeof four);
        }
    else
        for (size_t i = 0; i < size; i++) {
            uint64_t eight = packed[i];
            eight = (eight | eight << 28) & UINT64_C(0x0000000f0000000f);
            eight = (eight | eight << 14) & UINT64_C(0x0003000300030003);
            eight = (eight | eight << 7) & UINT64_C(0x0101010101010101);
            memcpy(plane + 8 * i, &eight, sizeof eight);
        }
}

/* One plane of `count` bytes into out; may write COLUMN_PADDING bytes after it. */
static int take_plane(struct column_codec *codec, struct cursor *in, size_t count, uint8_t *out)
{
    uint8_t head = cursor_u8(in);
    unsigned kind = head & 15, bits = head >> 4;
    if (head == PLANE_CONST) {
        const uint8_t value = cursor_u8(in);
        memset(out, value, count);
        return in->failed ? -EINVAL : 0;
    }
    if (bits == 0)
        return take_bytes(codec, in, kind, count, out);
    if (bits != 1 && bits != 2 && bits != 4)
        return -EINVAL;
    uint8_t *packed = column_scratch(&codec->packed, column_packed_size(count, bits));
    if (!packed)
        return -ENOMEM;
    int status = take_bytes(codec, in, kind, column_packed_size(count, bits), packed);
    if (!status)
        unpack_plane(packed, count, bits, out);
    return status;
}

/* out = min + planes, for 32-bit and 64-bit results: the same loops, each vectorised for its type. */
#define DEFINE_MERGE(name, type)                                                                             \
    static void name(const uint8_t *restrict p, size_t count, type min, unsigned width, type *restrict out)  \
    {                                                                                                        \
        const uint8_t *restrict p1 = p + count, *restrict p2 = p + 2 * count, *restrict p3 = p + 3 * count;  \
        switch (width) {                                                                                     \
        case 1:                                                                                              \
            for (size_t i = 0; i < count; i++)                                                               \
                out[i] = min + p[i];                                                                         \
            break;                                                                                           \
        case 2:                                                                                              \
            for (size_t i = 0; i < count; i++)                                                               \
                out[i] = min + (uint32_t)(p[i] | (uint32_t)p1[i] << 8);                                      \
            break;                                                                                           \
        case 3:                                                                                              \
            for (size_t i = 0; i < count; i++)                                                               \
                out[i] = min + (uint32_t)(p[i] | (uint32_t)p1[i] << 8 | (uint32_t)p2[i] << 16);              \
            break;                                                                                           \
        default:                                                                                             \
            for (size_t i = 0; i < count; i++)                                                               \
                out[i] = min + (uint32_t)(p[i] | (uint32_t)p1[i] << 8 | (uint32_t)p2[i] << 16 |              \
                                          (uint32_t)p3[i] << 24);                                            \
        }                                                                                                    \
    }
DEFINE_MERGE(merge_u32, uint32_t)
DEFINE_MERGE(merge_u64, uint64_t)

static void merge_wide(const uint8_t *restrict p, size_t count, uint64_t min, unsigned width,
                       uint64_t *restrict out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = min;
    for (unsigned plane = 0; plane < width; plane++, p += count)
        for (size_t i = 0; i < count; i++)
            out[i] += (uint64_t)p[i] << (8 * plane);
}

static int take_planes(struct column_codec *codec, struct cursor *in, size_t count, unsigned width)
{
    uint8_t *planes = column_scratch(&codec->planes, count * width + COLUMN_PADDING);
    if (!planes)
        return -ENOMEM;
    for (unsigned plane = 0; plane < width; plane++) { /* in this order: one may spill over into the next */
        int status = take_plane(codec, in, count, planes + plane * count);
        if (status)
            return status;
    }
    return 0;
}

/* The patches in front of the planes, kept aside until the planes are merged. */
static int take_patches(struct column_codec *codec, struct cursor *in, size_t count, size_t *patches)
{
    uint64_t n = cursor_varint(in);
    if (in->failed || n > COLUMN_MAX_PATCHES(count))
        return -EINVAL;
    uint64_t *list = column_scratch(&codec->patched, (size_t)n * 2 * sizeof *list);
    if (!list)
        return -ENOMEM;
    uint64_t at = 0;
    for (size_t i = 0; i < n; i++) {
        at += cursor_varint(in);
        if (in->failed || at >= count)
            return -EINVAL;
        list[2 * i] = at;
        list[2 * i + 1] = cursor_varint(in);
    }
    *patches = (size_t)n;
    return in->failed ? -EINVAL : 0;
}

/* The varint stream into codec->planes; a varint of 32 bits has at most 5 bytes. */
static int take_varint_bytes(struct column_codec *codec, struct cursor *in, size_t count,
                             struct cursor *stream)
{
    uint32_t length = cursor_u32(in);
    if (in->failed || length < count || length > count * 5)
        return -EINVAL;
    uint8_t *raw = column_scratch(&codec->planes, length);
    if (!raw)
        return -ENOMEM;
    unsigned kind = cursor_u8(in);
    int status = take_bytes(codec, in, kind, length, raw);
    *stream = cursor_over(raw, length);
    return status;
}

static int decode_plain_u64(struct column_codec *codec, const struct column *column, struct cursor *in,
                            uint64_t *out)
{
    size_t count = column->count;
    unsigned encoding = column->encoding & (unsigned)~(COLUMN_DELTA | COLUMN_PATCHED);
    bool is_patched = column->encoding & COLUMN_PATCHED;
    size_t patches = 0;
    if (encoding == COLUMN_CONST) {
        uint64_t value = 0;
        for (unsigned i = 0; i < column->width; i++)
            value |= (uint64_t)cursor_u8(in) << (8 * i);
        for (size_t i = 0; i < count; i++)
            out[i] = value;
        return in->failed ? -EINVAL : 0;
    }
    uint64_t min = cursor_varint(in);
    struct cursor stream;
    if (in->failed || (encoding != COLUMN_PLANES && encoding != COLUMN_VARINT) || column->width == 0)
        return -EINVAL;
    int status = is_patched ? take_patches(codec, in, count, &patches) : 0;
    if (!status)
        status = encoding == COLUMN_PLANES ? take_planes(codec, in, count, column->width)
                                           : take_varint_bytes(codec, in, count, &stream);
    if (status)
        return status;
    if (encoding == COLUMN_VARINT) {
        for (size_t i = 0; i < count; i++)
            out[i] = min + cursor_varint(&stream);
        return stream.failed ? -EINVAL : 0;
    }
    if (column->width <= 4)
        merge_u64(codec->planes.data, count, min, column->width, out);
    else
        merge_wide(codec->planes.data, count, min, column->width, out);
    const uint64_t *list = (const uint64_t *)(const void *)codec->patched.data;
    for (size_t i = 0; i < patches; i++)
        out[list[2 * i]] = min + list[2 * i + 1];
    return 0;
}

void column_rehash(struct column *column, const uint8_t *stored)
{
    column->hash = hash_stored(stored, column->size);
}

bool column_is_intact(const struct column *column, const uint8_t *stored)
{
    return column->width <= 8 && hash_stored(stored, column->size) == column->hash;
}

int column_decode_u64(struct column_codec *codec, const struct column *column, const uint8_t *stored,
                      uint64_t *out)
{
    if (!column_is_intact(column, stored))
        return -EINVAL;
    struct cursor in = cursor_over(stored, column->size);
    bool delta = column->encoding & COLUMN_DELTA;
    uint64_t value = delta ? cursor_varint(&in) : 0;
    int status = decode_plain_u64(codec, column, &in, out);
    if (status || !delta)
        return status;
    for (size_t i = 0; i < column->count; i++) {
        uint64_t z = out[i];
        value += (z >> 1) ^ (0 - (z & 1));
        out[i] = value;
    }
    return 0;
}

int column_decode_u32(struct column_codec *codec, const struct column *column, const uint8_t *stored,
                      uint32_t *out)
{
    size_t count = column->count;
    unsigned encoding = column->encoding & (unsigned)~COLUMN_PATCHED;
    if (encoding == COLUMN_PLANES && column->width <= 4 && column->width > 0) {
        if (!column_is_intact(column, stored))
            return -EINVAL;
        struct cursor in = cursor_over(stored, column->size);
        uint64_t min = cursor_varint(&in);
        size_t patches = 0;
        int status = column->encoding & COLUMN_PATCHED ? take_patches(codec, &in, count, &patches) : 0;
        if (in.failed || status)
            return status ? status : -EINVAL;
        status = take_planes(codec, &in, count, column->width);
        if (status)
            return status;
        merge_u32(codec->planes.data, count, (uint32_t)min, column->width, out);
        const uint64_t *list = (const uint64_t *)(const void *)codec->patched.data;
        for (size_t i = 0; i < patches; i++)
            out[list[2 * i]] = (uint32_t)(min + list[2 * i + 1]);
        return 0;
    }
    uint64_t *wide = column_scratch(&codec->numbers, count * sizeof *wide);
    if (!wide)
        return -ENOMEM;
    int status = column_decode_u64(codec, column, stored, wide);
    for (size_t i = 0; !status && i < count; i++)
        out[i] = (uint32_t)wide[i];
    return status;
}

int column_decode_index(struct column_codec *codec, const struct column *column, const uint8_t *stored,
                        size_t limit, uint16_t *out)
{
    size_t count = column->count;
    uint64_t most = 0, min = 0;
    if (column->encoding == COLUMN_PLANES && column->width == 1) { /* as they nearly always are */
        struct cursor in = cursor_over(stored, column->size);
        if (!column_is_intact(column, stored))
            return -EINVAL;
        min = cursor_varint(&in);
        int status = in.failed ? -EINVAL : take_planes(codec, &in, count, 1);
        if (status)
            return status;
        const uint8_t *restrict plane = codec->planes.data;
        uint8_t high = 0;
        for (size_t i = 0; i < count; i++) {
            out[i] = (uint16_t)((uint16_t)min + plane[i]);
            high = plane[i] > high ? plane[i] : high;
        }
        most = high;
    } else {
        uint32_t *values = column_scratch(&codec->narrow, count * sizeof *values);
        int status = values ? column_decode_u32(codec, column, stored, values) : -ENOMEM;
        if (status)
            return status;
        for (size_t i = 0; i < count; i++) {
            out[i] = (uint16_t)values[i];
            most = values[i] > most ? values[i] : most;
        }
    }
    return count == 0 || (min < limit && most < limit - min && limit <= (size_t)UINT16_MAX + 1) ? 0 : -EINVAL;
}

int column_decode_bytes(struct column_codec *codec, const struct column *column, const uint8_t *stored,
                        uint8_t *out)
{
    if (column->encoding != COLUMN_BLOB || !column_is_intact(column, stored))
        return -EINVAL;
    struct cursor in = cursor_over(stored, column->size);
    unsigned kind = cursor_u8(&in);
    return take_bytes(codec, &in, kind, column->count, out);
}
