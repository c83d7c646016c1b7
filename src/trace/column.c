/* SPDX-License-Identifier: Apache-2.0 */
/* How columns become bytes and back. See column.h for the encodings.
 *
 * Measured on a 16 Ki column: splitting and merging planes costs under 0.2 ns a value once vectorised, zstd
 * level 1 nearly all of the rest; level 3 gains 3 % of size. The loops below are plain so that the compiler
 * vectorises them; gcc does so at -O3 only. */
#include "trace/column.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

#include "base/checked.h"
#include "base/hash.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

#define ZSTD_LEVEL 1
#define COLUMN_HASH_SEED UINT64_C(0x6f70)
#define SAMPLE_VALUES 1024u

enum plane_kind { PLANE_RAW = 0, PLANE_ZSTD = 1, PLANE_CONST = 2 };

void column_codec_free(struct column_codec *codec)
{
    if (!codec)
        return;
    ZSTD_freeCCtx(codec->compressor);
    ZSTD_freeDCtx(codec->decompressor);
    bytes_free(&codec->planes);
    bytes_free(&codec->numbers);
    bytes_free(&codec->narrow);
    *codec = (struct column_codec){0};
}

/* Scratch memory of at least `size` bytes; what it holds is lost. */
static void *scratch(struct bytes *memory, size_t size)
{
    bytes_clear(memory);
    return bytes_reserve(memory, size ? size : 1) ? memory->data : NULL;
}

static unsigned width_of(uint64_t value)
{
    return value ? (71u - (unsigned)__builtin_clzll(value)) / 8u : 0;
}

/* --- encoding --- */

static bool all_equal(const uint8_t *plane, size_t count)
{
    uint8_t first = plane[0], differs = 0;
    for (size_t i = 0; i < count;) {
        size_t end = count - i < 1024 ? count : i + 1024;
        for (; i < end; i++)
            differs |= (uint8_t)(plane[i] ^ first);
        if (differs)
            return false;
    }
    return true;
}

/* Kind, and for zstd the size, in front of the bytes of a plane, a varint stream or a blob. */
static int put_bytes(struct column_codec *codec, const uint8_t *data, size_t count, struct bytes *out)
{
    if (count && all_equal(data, count)) {
        bytes_append_u8(out, PLANE_CONST);
        bytes_append_u8(out, data[0]);
        return out->failed ? -ENOMEM : 0;
    }
    if (!codec->compressor)
        codec->compressor = ZSTD_createCCtx();
    if (!codec->compressor)
        return -ENOMEM;
    size_t bound = ZSTD_compressBound(count);
    if (!bytes_reserve(out, bound + 5))
        return -ENOMEM;
    uint8_t *head = out->data + out->length;
    size_t size =
        count > 16 ? ZSTD_compressCCtx(codec->compressor, head + 5, bound, data, count, ZSTD_LEVEL) : count;
    if (ZSTD_isError(size) || size + 4 >= count) {
        head[0] = PLANE_RAW;
        if (count)
            memcpy(head + 1, data, count);
        out->length += count + 1;
        return 0;
    }
    head[0] = PLANE_ZSTD;
    for (unsigned i = 0; i < 4; i++)
        head[1 + i] = (uint8_t)(size >> (8 * i));
    out->length += size + 5;
    return 0;
}

static void split_planes(const uint32_t *restrict values, size_t count, uint32_t min, unsigned width,
                         uint8_t *restrict p)
{
    uint8_t *restrict p1 = p + count, *restrict p2 = p + 2 * count, *restrict p3 = p + 3 * count;
    switch (width) {
    case 1:
        for (size_t i = 0; i < count; i++)
            p[i] = (uint8_t)(values[i] - min);
        break;
    case 2:
        for (size_t i = 0; i < count; i++) {
            uint32_t v = values[i] - min;
            p[i] = (uint8_t)v;
            p1[i] = (uint8_t)(v >> 8);
        }
        break;
    case 3:
        for (size_t i = 0; i < count; i++) {
            uint32_t v = values[i] - min;
            p[i] = (uint8_t)v;
            p1[i] = (uint8_t)(v >> 8);
            p2[i] = (uint8_t)(v >> 16);
        }
        break;
    default:
        for (size_t i = 0; i < count; i++) {
            uint32_t v = values[i] - min;
            p[i] = (uint8_t)v;
            p1[i] = (uint8_t)(v >> 8);
            p2[i] = (uint8_t)(v >> 16);
            p3[i] = (uint8_t)(v >> 24);
        }
    }
}

static void split_planes_u64(const uint64_t *restrict values, size_t count, uint64_t min, unsigned width,
                             uint8_t *restrict p)
{
    for (unsigned plane = 0; plane < width; plane++, p += count)
        for (size_t i = 0; i < count; i++)
            p[i] = (uint8_t)((values[i] - min) >> (8 * plane));
}

static int put_planes(struct column_codec *codec, size_t count, unsigned width, struct bytes *out)
{
    for (unsigned plane = 0; plane < width; plane++) {
        int status = put_bytes(codec, codec->planes.data + plane * count, count, out);
        if (status)
            return status;
    }
    return 0;
}

/* Varints pay when the top plane is nearly empty and most values are short: a sample decides. A plane costs
 * about a byte for each value that reaches it and a little for telling which; a varint's continuation bits
 * compress to about half. */
static bool varint_pays(const uint32_t *values, size_t count, uint32_t min, unsigned width)
{
    if (width < 2 || count < 64)
        return false;
    size_t step = count / SAMPLE_VALUES + 1, sampled = 0;
    size_t at_least[5] = {0}, varint_bytes = 0;
    for (size_t i = 0; i < count; i += step) {
        uint32_t v = values[i] - min;
        unsigned bits = v ? 32u - (unsigned)__builtin_clz(v) : 1;
        at_least[(bits + 7) / 8]++;
        varint_bytes += (bits + 6) / 7;
        sampled++;
    }
    for (unsigned w = 3; w >= 1; w--)
        at_least[w] += at_least[w + 1];
    if (at_least[width] * 4 > sampled || at_least[width] * 64 < sampled)
        return false; /* top plane well used, or so rarely that it compresses away */
    size_t plane_bytes = 0;
    for (unsigned w = 1; w <= width; w++)
        plane_bytes += at_least[w] + (w > 1 ? sampled / 8 : 0);
    return varint_bytes * 15 / 16 < plane_bytes * 9 / 10;
}

static int put_varints(struct column_codec *codec, const uint32_t *values, size_t count, uint32_t min,
                       struct bytes *out)
{
    uint8_t *raw = scratch(&codec->planes, count * 5);
    if (!raw)
        return -ENOMEM;
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t v = values[i] - min;
        while (v >= 0x80) {
            raw[length++] = (uint8_t)(v | 0x80);
            v >>= 7;
        }
        raw[length++] = (uint8_t)v;
    }
    bytes_append_u32(out, (uint32_t)length);
    return put_bytes(codec, raw, length, out);
}

static int finish_column(struct column *column, struct bytes *out, size_t start)
{
    if (out->failed || out->length - start > UINT32_MAX)
        return -ENOMEM;
    column->size = (uint32_t)(out->length - start);
    column->hash = hash_fold32(hash_bytes(out->data + start, column->size, COLUMN_HASH_SEED));
    return 0;
}

static void put_const(uint64_t value, struct bytes *out, struct column *column)
{
    column->encoding |= COLUMN_CONST;
    column->width = (uint8_t)width_of(value);
    for (unsigned i = 0; i < column->width; i++)
        bytes_append_u8(out, (uint8_t)(value >> (8 * i)));
}

static void min_max_u32(const uint32_t *values, size_t count, uint32_t *min_out, uint32_t *max_out)
{
    uint32_t min = UINT32_MAX, max = 0;
    for (size_t i = 0; i < count; i++) {
        min = values[i] < min ? values[i] : min;
        max = values[i] > max ? values[i] : max;
    }
    *min_out = min;
    *max_out = max;
}

/* 32-bit values that stand for base + value. */
static int encode_small(struct column_codec *codec, const uint32_t *values, size_t count, uint64_t base,
                        struct bytes *out, struct column *column)
{
    uint32_t min = 0, max = 0;
    if (count)
        min_max_u32(values, count, &min, &max);
    if (min == max) {
        put_const(base + min, out, column);
        return 0;
    }
    unsigned width = width_of(max - min);
    column->width = (uint8_t)width;
    bytes_append_varint(out, base + min);
    if (varint_pays(values, count, min, width)) {
        column->encoding |= COLUMN_VARINT;
        return put_varints(codec, values, count, min, out);
    }
    column->encoding |= COLUMN_PLANES;
    uint8_t *planes = scratch(&codec->planes, count * 4);
    if (!planes)
        return -ENOMEM;
    split_planes(values, count, min, width, planes);
    return put_planes(codec, count, width, out);
}

int column_encode_u32(struct column_codec *codec, const uint32_t *values, size_t count, struct bytes *out,
                      struct column *column)
{
    size_t start = out->length;
    column->encoding = 0;
    column->count = (uint32_t)count;
    int status = encode_small(codec, values, count, 0, out, column);
    return status ? status : finish_column(column, out, start);
}

/* Zigzag differences, so that a small step in either direction is a small number. Returns the first value,
 * whose place takes 0. */
static uint64_t make_deltas(const uint64_t *values, size_t count, uint64_t *deltas)
{
    deltas[0] = 0;
    for (size_t i = 1; i < count; i++) {
        uint64_t d = values[i] - values[i - 1];
        deltas[i] = (d << 1) ^ (0 - (d >> 63));
    }
    return values[0];
}

static int encode_large(struct column_codec *codec, const uint64_t *values, size_t count, struct bytes *out,
                        struct column *column)
{
    uint64_t min = UINT64_MAX, max = 0;
    for (size_t i = 0; i < count; i++) {
        min = values[i] < min ? values[i] : min;
        max = values[i] > max ? values[i] : max;
    }
    if (max - min <= UINT32_MAX) {
        uint32_t *narrow = scratch(&codec->narrow, count * sizeof *narrow);
        if (!narrow)
            return -ENOMEM;
        for (size_t i = 0; i < count; i++)
            narrow[i] = (uint32_t)(values[i] - min);
        return encode_small(codec, narrow, count, min, out, column);
    }
    column->encoding |= COLUMN_PLANES;
    column->width = (uint8_t)width_of(max - min);
    bytes_append_varint(out, min);
    uint8_t *planes = scratch(&codec->planes, count * column->width);
    if (!planes)
        return -ENOMEM;
    split_planes_u64(values, count, min, column->width, planes);
    return put_planes(codec, count, column->width, out);
}

int column_encode_u64(struct column_codec *codec, const uint64_t *values, size_t count, bool delta,
                      struct bytes *out, struct column *column)
{
    size_t start = out->length;
    column->encoding = 0;
    column->count = (uint32_t)count;
    int status = 0;
    if (count == 0) {
        put_const(0, out, column);
    } else if (delta) {
        uint64_t *deltas = scratch(&codec->numbers, count * sizeof *deltas);
        if (!deltas)
            return -ENOMEM;
        bytes_append_varint(out, make_deltas(values, count, deltas));
        column->encoding = COLUMN_DELTA;
        status = encode_large(codec, deltas, count, out, column);
    } else {
        status = encode_large(codec, values, count, out, column);
    }
    return status ? status : finish_column(column, out, start);
}

int column_encode_bytes(struct column_codec *codec, const void *data, size_t length, struct bytes *out,
                        struct column *column)
{
    size_t start = out->length;
    column->encoding = COLUMN_BLOB;
    column->width = 1;
    column->count = (uint32_t)length;
    int status = put_bytes(codec, data, length, out);
    return status ? status : finish_column(column, out, start);
}

/* --- decoding --- */

/* One plane, varint stream or blob of `count` bytes into out. */
static int take_bytes(struct column_codec *codec, struct cursor *in, size_t count, uint8_t *out)
{
    uint8_t kind = cursor_u8(in);
    if (kind == PLANE_CONST) {
        const uint8_t value = cursor_u8(in);
        if (in->failed)
            return -EINVAL;
        memset(out, value, count);
        return 0;
    }
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
    uint8_t *planes = scratch(&codec->planes, count * width);
    if (!planes)
        return -ENOMEM;
    for (unsigned plane = 0; plane < width; plane++) {
        int status = take_bytes(codec, in, count, planes + plane * count);
        if (status)
            return status;
    }
    return 0;
}

/* The varint stream into codec->planes; a varint of 32 bits has at most 5 bytes. */
static int take_varint_bytes(struct column_codec *codec, struct cursor *in, size_t count,
                             struct cursor *stream)
{
    uint32_t length = cursor_u32(in);
    if (in->failed || length < count || length > count * 5)
        return -EINVAL;
    uint8_t *raw = scratch(&codec->planes, length);
    if (!raw)
        return -ENOMEM;
    int status = take_bytes(codec, in, length, raw);
    *stream = cursor_over(raw, length);
    return status;
}

static int decode_plain_u64(struct column_codec *codec, const struct column *column, struct cursor *in,
                            uint64_t *out)
{
    size_t count = column->count;
    unsigned encoding = column->encoding & (unsigned)~COLUMN_DELTA;
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
    int status = encoding == COLUMN_PLANES ? take_planes(codec, in, count, column->width)
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
    return 0;
}

bool column_is_intact(const struct column *column, const uint8_t *stored)
{
    return column->width <= 8 &&
           hash_fold32(hash_bytes(stored, column->size, COLUMN_HASH_SEED)) == column->hash;
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
    if (column->encoding == COLUMN_PLANES && column->width <= 4 && column->width > 0) {
        if (!column_is_intact(column, stored))
            return -EINVAL;
        struct cursor in = cursor_over(stored, column->size);
        uint64_t min = cursor_varint(&in);
        int status = in.failed ? -EINVAL : take_planes(codec, &in, count, column->width);
        if (!status)
            merge_u32(codec->planes.data, count, (uint32_t)min, column->width, out);
        return status;
    }
    uint64_t *wide = scratch(&codec->numbers, count * sizeof *wide);
    if (!wide)
        return -ENOMEM;
    int status = column_decode_u64(codec, column, stored, wide);
    for (size_t i = 0; !status && i < count; i++)
        out[i] = (uint32_t)wide[i];
    return status;
}

int column_decode_bytes(struct column_codec *codec, const struct column *column, const uint8_t *stored,
                        uint8_t *out)
{
    if (column->encoding != COLUMN_BLOB || !column_is_intact(column, stored))
        return -EINVAL;
    struct cursor in = cursor_over(stored, column->size);
    return take_bytes(codec, &in, column->count, out);
}
