/* SPDX-License-Identifier: Apache-2.0 */
/* How columns become bytes. See column.h for the encodings.
 *
 * Measured on a 16 Ki column of a tight loop: all passes over the values together cost 0.6 ns a value once
 * vectorised (gcc does so at -O3 only), the entropy coder of zstd 0.9 to 1.4, its search for repetitions 3 to 5 more,
 * and on such a column that search only makes the result larger: so it is asked for where there are repetitions. */
#include "trace/column.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <zstd.h>

#include "trace/column_internal.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

#define ZSTD_LEVEL 1
#define SAMPLE_VALUES 1024u
#define MIN_ZSTD_BYTES 32u
#define SMALL_BYTES 2048u /* a frame this small costs more to open than its bytes: it must save 3/8 */

static unsigned width_of(uint64_t value)
{
    return value ? (71u - (unsigned)__builtin_clzll(value)) / 8u : 0;
}

static unsigned bits_of(uint32_t value)
{
    return value ? 32u - (unsigned)__builtin_clz(value) : 0;
}

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

/* Whether 24 bytes in a row often occur again, in the first 16 KiB. Every 16th place is noted, and then looked for from
 * each of 256 places that follow one another, in two parts: whatever the distance, one in 16 is found. */
static bool has_repetitions(const uint8_t *data, size_t count)
{
    enum { LENGTH = 24, STEP = 16, PART = 128, WANTED = 3 };
    uint16_t places[512] = {0};
    size_t end = count < (16u << 10) ? count : 16u << 10, at = 0;
    unsigned found = 0;
    if (end < 2 * PART + LENGTH)
        return true;
    end -= LENGTH + PART;
    for (unsigned part = 1; part <= 2; part++) {
        size_t scan = end * part / 2;
        for (; at < scan; at += STEP)
            places[column_load_u64(data + at) * UINT64_C(0x9e3779b97f4a7c15) >> 55] = (uint16_t)at;
        for (size_t i = scan; i < scan + PART; i++) {
            size_t place = places[column_load_u64(data + i) * UINT64_C(0x9e3779b97f4a7c15) >> 55];
            found += memcmp(data + place, data + i, LENGTH) == 0;
        }
    }
    return found >= WANTED;
}

/* Whether all bytes are about equally frequent, by a sample: no code for single bytes then saves the 64th part that
 * zstd wants to save, and letting it find that out takes 1.3 ns a byte. The sum of the squares, divided by what it is
 * for bytes that are equally frequent, is 1 give or take 2 % for bytes at random, and at least 1.09 where a 64th can be
 * saved. */
static bool looks_random(const uint8_t *data, size_t count)
{
    uint16_t of_value[256] = {0};
    uint64_t squares = 0, n = 0;
    if (count < 4 * SAMPLE_VALUES)
        return false;
    for (size_t i = 0, step = count / SAMPLE_VALUES | 1; i < count; i += step, n++)
        of_value[data[i]]++;
    for (unsigned value = 0; value < 256; value++)
        squares += (uint32_t)of_value[value] * of_value[value];
    return (squares - n) * 256 * 100 < n * n * 107;
}

/* zstd that does nothing but code the bytes by how often they occur. */
static struct ZSTD_CCtx_s *new_entropy_coder(void)
{
    ZSTD_CCtx *coder = ZSTD_createCCtx();
    if (!coder)
        return NULL;
    ZSTD_CCtx_setParameter(coder, ZSTD_c_compressionLevel, ZSTD_LEVEL);
    ZSTD_CCtx_setParameter(coder, ZSTD_c_strategy, ZSTD_fast);
    ZSTD_CCtx_setParameter(coder, ZSTD_c_hashLog, ZSTD_cParam_getBounds(ZSTD_c_hashLog).lowerBound);
    ZSTD_CCtx_setParameter(coder, ZSTD_c_minMatch, ZSTD_cParam_getBounds(ZSTD_c_minMatch).upperBound);
    /* Literals are compressed (ZSTD_c_literalCompressionMode) although the step between two places that are looked at
     * is as wide as can be. A zstd that does not know the first goes without both: it searches a little. */
    if (!ZSTD_isError(ZSTD_CCtx_setParameter(coder, ZSTD_c_experimentalParam5, 1)))
        ZSTD_CCtx_setParameter(coder, ZSTD_c_targetLength,
                               ZSTD_cParam_getBounds(ZSTD_c_targetLength).upperBound);
    return coder;
}

static size_t compress(struct column_codec *codec, const uint8_t *data, size_t count, bool is_text,
                       uint8_t *out, size_t bound)
{
    if (is_text || has_repetitions(data, count))
        return ZSTD_compressCCtx(codec->compressor, out, bound, data, count, ZSTD_LEVEL);
    if (looks_random(data, count))
        return count;
    return ZSTD_compress2(codec->entropy_coder, out, bound, data, count);
}

/* Kind, and for zstd the size, in front of the bytes of a packed plane, a varint stream or a blob. */
static int put_bytes(struct column_codec *codec, const uint8_t *data, size_t count, unsigned bits,
                     bool is_text, struct bytes *out)
{
    if (!codec->compressor)
        codec->compressor = ZSTD_createCCtx();
    if (!codec->entropy_coder)
        codec->entropy_coder = new_entropy_coder();
    if (!codec->compressor || !codec->entropy_coder)
        return -ENOMEM;
    size_t bound = ZSTD_compressBound(count);
    if (!bytes_reserve(out, bound + 5))
        return -ENOMEM;
    uint8_t *head = out->data + out->length;
    size_t size = count > MIN_ZSTD_BYTES ? compress(codec, data, count, is_text, head + 5, bound) : count;
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

/* Packs in place; the bytes after the plane's end are read as zeros, so it is followed by COLUMN_PADDING of them. */
static void pack_plane(uint8_t *plane, size_t count, unsigned bits)
{
    size_t size = column_packed_size(count, bits);
    if (bits == 4)
        for (size_t i = 0; i < size; i++)
            plane[i] = (uint8_t)(plane[2 * i] | plane[2 * i + 1] << 4);
    else if (bits == 2)
        for (size_t i = 0; i < size; i++) {
            uint64_t four = column_load_u64(plane + 4 * i);
            plane[i] = (uint8_t)(four | four >> 6 | four >> 12 | four >> 18);
        }
    else
        for (size_t i = 0; i < size; i++)
            plane[i] = (uint8_t)(column_load_u64(plane + 8 * i) * UINT64_C(0x0102040810204080) >> 56);
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
        uint8_t after[COLUMN_PADDING]; /* the next plane begins there */
        memcpy(after, plane + count, COLUMN_PADDING);
        memset(plane + count, 0, COLUMN_PADDING);
        pack_plane(plane, count, bits);
        memcpy(plane + count, after, COLUMN_PADDING);
    }
    return put_bytes(codec, plane, bits ? column_packed_size(count, bits) : count, bits, false, out);
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

/* What some of the values look like, less the smallest: how many there are of each length in bits, and of each value
 * below 256. */
struct sample {
    uint32_t count;
    uint32_t of_length[33];
    uint32_t of_value[256];
};

static void take_sample(const uint32_t *values, size_t count, uint32_t min, struct sample *sample)
{
    *sample = (struct sample){0};
    size_t step = count / SAMPLE_VALUES + 1;
    for (size_t i = 0; i < count; i += step) {
        uint32_t v = values[i] - min;
        sample->of_length[bits_of(v)]++;
        sample->of_value[v & 255] += v < 256;
        sample->count++;
    }
}

/* Varints pay when the top plane is nearly empty and most values are short. A plane costs about a byte for each value
 * that reaches it and a little for telling which; a varint's continuation bits compress to about half. */
static bool varint_pays(const struct sample *sample, size_t count, unsigned width)
{
    if (width < 2 || count < 64)
        return false;
    size_t at_least[6] = {0}, varint_bytes = 0, sampled = sample->count;
    for (unsigned length = 0; length <= 32; length++) {
        unsigned bits = length ? length : 1;
        at_least[(bits + 7) / 8] += sample->of_length[length];
        varint_bytes += (size_t)sample->of_length[length] * ((bits + 6) / 7);
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
    uint8_t *raw = column_scratch(&codec->planes, count * 5);
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
    return put_bytes(codec, raw, length, 0, false, out);
}

static int finish_column(struct column *column, struct bytes *out, size_t start)
{
    if (out->failed || out->length - start > UINT32_MAX)
        return -ENOMEM;
    column->size = (uint32_t)(out->length - start);
    column_rehash(column, out->data ? out->data + start : NULL);
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

static float weighted_log2(uint32_t n)
{
    return n > 1 ? (float)n * log2f((float)n) : 0.0f;
}

/* Bits that one plane takes, packed to `bits` a value: its entropy, of which a code of whole bits for each byte misses
 * some, at least a bit for each byte, and 24 bits for each value that has to be patched. */
static float plane_cost(const struct sample *sample, unsigned bits, float logs, uint32_t longer)
{
    float n = (float)sample->count, bytes = n * (float)bits / 8.0f;
    float entropy = weighted_log2(sample->count) - logs - weighted_log2(sample->of_value[0] + longer);
    return (entropy > bytes ? entropy : bytes) + 0.12f * bytes + 24.0f * (float)longer;
}

/* How many bits to keep in the planes: the number that costs least when larger values are patched. */
static unsigned choose_bits(const struct sample *sample, unsigned all)
{
    uint32_t most = (uint32_t)COLUMN_MAX_PATCHES(sample->count),
             longer = sample->count - sample->of_length[0];
    unsigned best = all, bits = 0, v = 1;
    float best_cost = (float)all * (float)sample->count, logs = 0;
    for (unsigned packed = 1; packed <= 8 && bits < all; packed *= 2) {
        for (; v < 1u << packed; v++)
            logs += weighted_log2(sample->of_value[v]);
        while (bits < packed)
            longer -= sample->of_length[++bits];
        if (longer > most)
            continue;
        float cost = plane_cost(sample, packed, logs, longer);
        if (cost < best_cost) {
            best_cost = cost;
            best = packed < all ? packed : all;
        }
    }
    for (; bits < all; longer -= sample->of_length[++bits]) { /* more than one plane */
        float cost = (float)bits * (float)sample->count + 40.0f * (float)longer;
        if (longer <= most && bits > 8 && cost < best_cost) {
            best_cost = cost;
            best = bits;
        }
    }
    return best;
}

struct patch {
    uint32_t at, value;
};

/* Lists the values above the limit in codec->patched. Their number, or SIZE_MAX when there are too many of them or
 * there is no memory. */
static size_t find_patches(struct column_codec *codec, const uint32_t *values, size_t count, uint32_t min,
                           uint32_t limit)
{
    size_t most = COLUMN_MAX_PATCHES(count), found = 0;
    struct patch *list = column_scratch(&codec->patched, most * sizeof *list);
    if (!list)
        return SIZE_MAX;
    for (size_t first = 0; first < count; first += 32) {
        size_t end = count - first < 32 ? count : first + 32;
        uint32_t above = 0;
        for (size_t i = first; i < end; i++)
            above += values[i] - min > limit;
        for (size_t i = first; above; i++) {
            if (values[i] - min <= limit)
                continue;
            if (found == most)
                return SIZE_MAX;
            list[found++] = (struct patch){(uint32_t)i, values[i] - min};
            above--;
        }
    }
    return found;
}

static void put_patches(const struct patch *list, size_t patches, struct bytes *out)
{
    uint32_t last = 0;
    bytes_append_varint(out, patches);
    for (size_t i = 0; i < patches; i++) {
        bytes_append_varint(out, list[i].at - last);
        bytes_append_varint(out, list[i].value);
        last = list[i].at;
    }
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
    struct sample sample;
    take_sample(values, count, min, &sample);
    if (varint_pays(&sample, count, column->width)) {
        column->encoding |= COLUMN_VARINT;
        return put_varints(codec, values, count, min, out);
    }
    column->encoding |= COLUMN_PLANES;
    unsigned all = bits_of(max - min), bits = choose_bits(&sample, all);
    size_t patches = bits < all ? find_patches(codec, values, count, min, (UINT32_C(1) << bits) - 1) : 0;
    patches = patches == SIZE_MAX ? 0 : patches;
    const struct patch *list = (const struct patch *)(const void *)codec->patched.data;
    if (patches) {
        column->encoding |= COLUMN_PATCHED;
        column->width = (uint8_t)((bits + 7) / 8);
        put_patches(list, patches, out);
    }
    uint8_t *planes = column_scratch(&codec->planes, count * 4 + COLUMN_PADDING);
    if (!planes)
        return -ENOMEM;
    split_planes(values, count, min, column->width, planes);
    for (size_t i = 0; i < patches; i++)
        for (unsigned plane = 0; plane < column->width; plane++)
            planes[plane * count + list[i].at] = 0;
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
        uint32_t *narrow = column_scratch(&codec->narrow, count * sizeof *narrow);
        if (!narrow)
            return -ENOMEM;
        for (size_t i = 0; i < count; i++)
            narrow[i] = (uint32_t)(values[i] - min);
        return encode_small(codec, narrow, count, min, out, column);
    }
    column->encoding |= COLUMN_PLANES;
    column->width = (uint8_t)width_of(max - min);
    bytes_append_varint(out, min);
    uint8_t *planes = column_scratch(&codec->planes, count * column->width + COLUMN_PADDING);
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
        uint64_t *deltas = column_scratch(&codec->numbers, count * sizeof *deltas);
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
    int status = put_bytes(codec, data, length, 0, true, out);
    return status ? status : finish_column(column, out, start);
}
