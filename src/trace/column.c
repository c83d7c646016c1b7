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
#define MIN_ZSTD_BYTES 32u
#define SMALL_BYTES 2048u /* a frame this small costs more to open than its bytes: it must save 3/8 */
#define PADDING 8u
#define MAX_PATCHES(count) ((count) / 32)

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
    bytes_free(&codec->packed);
    bytes_free(&codec->patched);
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

static unsigned bits_of(uint32_t value)
{
    return value ? 32u - (unsigned)__builtin_clz(value) : 0;
}

static uint64_t load_u64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
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
            lanes[i] = hash_mix(lanes[i] ^ load_u64(data + at + 8 * i), k1) + k0;
    uint64_t hash = hash_bytes(data + at, length - at, COLUMN_HASH_SEED ^ length);
    for (unsigned i = 0; i < 4; i++)
        hash = hash_mix(hash ^ lanes[i], k1 + i) + k0;
    return hash_fold32(hash);
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

/* Kind, and for zstd the size, in front of the bytes of a packed plane, a varint stream or a blob. */
static int put_bytes(struct column_codec *codec, const uint8_t *data, size_t count, unsigned bits,
                     struct bytes *out)
{
    if (!codec->compressor)
        codec->compressor = ZSTD_createCCtx();
    if (!codec->compressor)
        return -ENOMEM;
    size_t bound = ZSTD_compressBound(count);
    if (!bytes_reserve(out, bound + 5))
        return -ENOMEM;
    uint8_t *head = out->data + out->length;
    size_t size = count;
    if (count > MIN_ZSTD_BYTES)
        size = ZSTD_compressCCtx(codec->compressor, head + 5, bound, data, count, ZSTD_LEVEL);
    if (ZSTD_isError(size) || size + 4 >= count || (count < SMALL_BYTES && size > count / 8 * 5)) {
        head[0] = (uint8_t)(PLANE_RAW | bits << 4);
        if (count)
            memcpy(head + 1, data, count);
        out->length += count + 1;
        return 0;
    }
    head[0] = (uint8_t)(PLANE_ZSTD | bits << 4);
    for (unsigned i = 0; i < 4; i++)
        head[1 + i] = (uint8_t)(size >> (8 * i));
    out->length += size + 5;
    return 0;
}

static size_t packed_size(size_t count, unsigned bits)
{
    return (count * bits + 7) / 8;
}

/* Packs in place; the bytes after the plane's end are read as zeros, so it is followed by PADDING of them. */
static void pack_plane(uint8_t *plane, size_t count, unsigned bits)
{
    size_t size = packed_size(count, bits);
    if (bits == 4)
        for (size_t i = 0; i < size; i++)
            plane[i] = (uint8_t)(plane[2 * i] | plane[2 * i + 1] << 4);
    else if (bits == 2)
        for (size_t i = 0; i < size; i++) {
            uint64_t four = load_u64(plane + 4 * i);
            plane[i] = (uint8_t)(four | four >> 6 | four >> 12 | four >> 18);
        }
    else
        for (size_t i = 0; i < size; i++)
            plane[i] = (uint8_t)(load_u64(plane + 8 * i) * UINT64_C(0x0102040810204080) >> 56);
}

static int put_plane(struct column_codec *codec, uint8_t *plane, size_t count, struct bytes *out)
{
    if (all_equal(plane, count)) {
        bytes_append_u8(out, PLANE_CONST);
        bytes_append_u8(out, plane[0]);
        return out->failed ? -ENOMEM : 0;
    }
    uint8_t any = 0;
    for (size_t i = 0; i < count; i++)
        any |= plane[i];
    unsigned bits = any < 2 ? 1 : any < 4 ? 2 : any < 16 ? 4 : 0;
    if (bits) {
        uint8_t after[PADDING]; /* the next plane begins there */
        memcpy(after, plane + count, PADDING);
        memset(plane + count, 0, PADDING);
        pack_plane(plane, count, bits);
        memcpy(plane + count, after, PADDING);
    }
    return put_bytes(codec, plane, bits ? packed_size(count, bits) : count, bits, out);
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
        int status = put_plane(codec, codec->planes.data + plane * count, count, out);
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
    return put_bytes(codec, raw, length, 0, out);
}

static int finish_column(struct column *column, struct bytes *out, size_t start)
{
    if (out->failed || out->length - start > UINT32_MAX)
        return -ENOMEM;
    column->size = (uint32_t)(out->length - start);
    column->hash = hash_stored(out->data ? out->data + start : NULL, column->size);
    return 0;
}

static void put_const(uint64_t value, struct bytes *out, struct column *column)
{
    column->encoding |= COLUMN_CONST;
    column->width = (uint8_t)width_of(value);
    for (unsigned i = 0; i < column->width; i++)
        bytes_append_u8(out, (uint8_t)(value >> (8 * i)));
}

static bool all_equal_u32(const uint32_t *values, size_t count)
{
    for (size_t i = 0; i < count;) {
        size_t end = count - i < 1024 ? count : i + 1024;
        uint32_t differs = 0;
        for (; i < end; i++)
            differs |= values[i] ^ values[0];
        if (differs)
            return false;
    }
    return true;
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

/* How many bits to keep in the planes: the number that costs least when larger values are patched, by a
 * sample. A patch takes about 5 bytes. */
static unsigned choose_bits(const uint32_t *values, size_t count, uint32_t min, uint32_t max)
{
    unsigned all = bits_of(max - min), best = all;
    size_t step = count / SAMPLE_VALUES + 1, sampled = 0, longer = 0;
    size_t of_length[33] = {0};
    for (size_t i = 0; i < count; i += step, sampled++)
        of_length[bits_of(values[i] - min)]++;
    size_t best_cost = sampled * all;
    for (unsigned bits = all - 1; bits >= 1; bits--) {
        longer += of_length[bits + 1];
        if (longer > MAX_PATCHES(sampled))
            break;
        size_t cost = sampled * bits + longer * 40;
        if (cost < best_cost) {
            best_cost = cost;
            best = bits;
        }
    }
    return best;
}

static size_t count_above(const uint32_t *values, size_t count, uint32_t min, uint32_t limit)
{
    uint32_t above = 0;
    for (size_t i = 0; i < count; i++)
        above += values[i] - min > limit;
    return above;
}

/* Lists the values above the limit and puts the smallest value in their place, in a copy. */
static const uint32_t *put_patches(struct column_codec *codec, const uint32_t *values, size_t count,
                                   uint32_t min, uint32_t limit, struct bytes *out)
{
    uint32_t *copy = scratch(&codec->patched, count * sizeof *copy);
    if (!copy)
        return NULL;
    size_t last = 0;
    for (size_t i = 0; i < count; i++)
        copy[i] = values[i] - min > limit ? min : values[i];
    for (size_t i = 0; i < count; i++) {
        if (copy[i] == values[i])
            continue;
        bytes_append_varint(out, i - last);
        bytes_append_varint(out, values[i] - min);
        last = i;
    }
    return copy;
}

/* 32-bit values that stand for base + value. */
static int encode_small(struct column_codec *codec, const uint32_t *values, size_t count, uint64_t base,
                        struct bytes *out, struct column *column)
{
    uint32_t min = 0, max = 0;
    if (all_equal_u32(values, count)) {
        put_const(base + (count ? values[0] : 0), out, column);
        return 0;
    }
    min_max_u32(values, count, &min, &max);
    column->width = (uint8_t)width_of(max - min);
    bytes_append_varint(out, base + min);
    if (varint_pays(values, count, min, column->width)) {
        column->encoding |= COLUMN_VARINT;
        return put_varints(codec, values, count, min, out);
    }
    column->encoding |= COLUMN_PLANES;
    unsigned bits = choose_bits(values, count, min, max);
    uint32_t limit = bits < 32 ? (UINT32_C(1) << bits) - 1 : UINT32_MAX;
    size_t patches = limit < max - min ? count_above(values, count, min, limit) : 0;
    if (patches && patches <= MAX_PATCHES(count)) {
        column->encoding |= COLUMN_PATCHED;
        column->width = (uint8_t)((bits + 7) / 8);
        bytes_append_varint(out, patches);
        values = put_patches(codec, values, count, min, limit, out);
    }
    uint8_t *planes = values ? scratch(&codec->planes, count * 4 + PADDING) : NULL;
    if (!planes)
        return -ENOMEM;
    split_planes(values, count, min, column->width, planes);
    return put_planes(codec, count, column->width, out);
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
    uint8_t *planes = scratch(&codec->planes, count * column->width + PADDING);
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
    int status = put_bytes(codec, data, length, 0, out);
    return status ? status : finish_column(column, out, start);
}

/* --- decoding --- */

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
    size_t size = packed_size(count, bits);
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

/* One plane of `count` bytes into out; may write PADDING bytes after it. */
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
    uint8_t *packed = scratch(&codec->packed, packed_size(count, bits));
    if (!packed)
        return -ENOMEM;
    int status = take_bytes(codec, in, kind, packed_size(count, bits), packed);
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
    uint8_t *planes = scratch(&codec->planes, count * width + PADDING);
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
    if (in->failed || n > MAX_PATCHES(count))
        return -EINVAL;
    uint64_t *list = scratch(&codec->patched, (size_t)n * 2 * sizeof *list);
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
    uint8_t *raw = scratch(&codec->planes, length);
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
    unsigned kind = cursor_u8(&in);
    return take_bytes(codec, &in, kind, column->count, out);
}
