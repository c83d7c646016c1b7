/* SPDX-License-Identifier: Apache-2.0 */
/* Columns: whatever goes in comes out, in every encoding; damaged ones fail and never overrun. */
#include "test_trace_support.h"

#include <math.h>

#include "trace/block.h"
#include "trace/column.h"

#define MAX_VALUES 20000u

/* Shapes that lead to each of the encodings. */
enum shape {
    EQUAL,
    BITS,
    CRUMBS,
    NIBBLES,
    BYTES,
    WIDE,
    HUGE_RANGE,
    OUTLIERS,
    HEAVY_TAIL,
    RISING,
    FULL_64,
    SHAPES
};

static uint64_t value_of(enum shape shape, size_t i)
{
    uint64_t r = random_u64();
    switch (shape) {
    case EQUAL:
        return 77;
    case BITS:
        return 1000 + (r & 1);
    case CRUMBS:
        return 5 + r % 4;
    case NIBBLES:
        return 100000 + r % 15;
    case BYTES:
        return r % 200;
    case WIDE:
        return r % 1000000;
    case HUGE_RANGE:
        return r & UINT32_MAX;
    case OUTLIERS:
        return r % 300 == 0 ? r >> 40 : 11 + r % 3;
    case HEAVY_TAIL:
        return (r & UINT32_MAX) >> (r >> 32) % 30;
    case RISING:
        return (UINT64_C(1) << 40) + i * 1000 + r % 100;
    default:
        return r;
    }
}

static void round_trip_u64(struct column_codec *codec, const uint64_t *values, size_t count, bool delta)
{
    static uint64_t out[MAX_VALUES + 8];
    struct bytes stored = {0};
    struct column column = {0};
    assert_int_equal(column_encode_u64(codec, values, count, delta, &stored, &column), 0);
    assert_int_equal(column.count, count);
    assert_int_equal(column.size, stored.length);
    assert_int_equal(column_decode_u64(codec, &column, stored.data, out), 0);
    if (count)
        assert_memory_equal(out, values, count * sizeof *out);
    bytes_free(&stored);
}

static void round_trip_u32(struct column_codec *codec, const uint32_t *values, size_t count)
{
    static uint32_t out[MAX_VALUES + 8];
    struct bytes stored = {0};
    struct column column = {0};
    assert_int_equal(column_encode_u32(codec, values, count, &stored, &column), 0);
    assert_int_equal(column_decode_u32(codec, &column, stored.data, out), 0);
    if (count)
        assert_memory_equal(out, values, count * sizeof *out);
    bytes_free(&stored);
}

static void test_round_trip(void **state)
{
    static uint64_t wide[MAX_VALUES];
    static uint32_t narrow[MAX_VALUES];
    struct column_codec codec = {0};
    (void)state;
    for (int shape = 0; shape < SHAPES; shape++)
        for (int round = 0; round < 40; round++) {
            size_t count = round < 20 ? (size_t)round : random_below(MAX_VALUES);
            for (size_t i = 0; i < count; i++)
                narrow[i] = (uint32_t)(wide[i] = value_of((enum shape)shape, i));
            round_trip_u64(&codec, wide, count, false);
            round_trip_u64(&codec, wide, count, true);
            round_trip_u32(&codec, narrow, count);
        }
    column_codec_free(&codec);
}

static void test_extreme_values(void **state)
{
    static const uint64_t values[] = {0, UINT64_MAX, 1, UINT64_MAX - 1, UINT64_C(1) << 63, 0, UINT32_MAX, 7};
    static const uint32_t narrow[] = {0, UINT32_MAX, 1, UINT32_MAX - 1, UINT32_C(1) << 31};
    struct column_codec codec = {0};
    (void)state;
    for (size_t count = 0; count <= 8; count++) {
        round_trip_u64(&codec, values, count, false);
        round_trip_u64(&codec, values, count, true);
    }
    round_trip_u32(&codec, narrow, 5);
    column_codec_free(&codec);
}

/* The encodings that the shapes are there for are indeed chosen, and small. */
static void test_choice(void **state)
{
    static uint64_t values[16384];
    struct column_codec codec = {0};
    struct {
        enum shape shape;
        unsigned encoding, max_bits;
    } expected[] = {{EQUAL, COLUMN_CONST, 0},
                    {BITS, COLUMN_PLANES, 9},
                    {CRUMBS, COLUMN_PLANES, 17},
                    {NIBBLES, COLUMN_PLANES, 33},
                    {OUTLIERS, COLUMN_PLANES | COLUMN_PATCHED, 18}};
    (void)state;
    for (size_t k = 0; k < sizeof expected / sizeof *expected; k++) {
        struct bytes stored = {0};
        struct column column = {0};
        for (size_t i = 0; i < 16384; i++)
            values[i] = value_of(expected[k].shape, i);
        assert_int_equal(column_encode_u64(&codec, values, 16384, false, &stored, &column), 0);
        assert_int_equal(column.encoding, expected[k].encoding);
        assert_true(column.size <= 16384 * expected[k].max_bits / 64 + 64);
        bytes_free(&stored);
    }
    column_codec_free(&codec);
}

static void test_bytes(void **state)
{
    static const char text[] = "to be, or not to be: to be, or not to be: to be, or not to be: that is it";
    struct column_codec codec = {0};
    (void)state;
    for (size_t length = 0; length < sizeof text; length++) {
        struct bytes stored = {0};
        struct column column = {0};
        uint8_t out[sizeof text];
        assert_int_equal(column_encode_bytes(&codec, text, length, &stored, &column), 0);
        assert_int_equal(column_decode_bytes(&codec, &column, stored.data, out), 0);
        assert_memory_equal(out, text, length);
        bytes_free(&stored);
    }
    column_codec_free(&codec);
}

/* Any flipped bit of the stored bytes is found by the hash. */
static void test_damage_is_found(void **state)
{
    uint64_t values[500], out[500];
    struct column_codec codec = {0};
    struct bytes stored = {0};
    struct column column = {0};
    (void)state;
    for (size_t i = 0; i < 500; i++)
        values[i] = value_of(WIDE, i);
    assert_int_equal(column_encode_u64(&codec, values, 500, false, &stored, &column), 0);
    for (size_t bit = 0; bit < stored.length * 8; bit++) {
        stored.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(column_decode_u64(&codec, &column, stored.data, out), -EINVAL);
        stored.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    bytes_free(&stored);
    column_codec_free(&codec);
}

/* With the right hash over wrong bytes, decoding fails or gives some values, within its memory. */
static void test_hostile_bytes(void **state)
{
    static uint64_t values[4000], *out;
    static uint32_t *out32;
    struct column_codec codec = {0};
    size_t failed = 0;
    (void)state;
    for (int round = 0; round < 3000; round++) {
        struct bytes stored = {0};
        struct column column = {0};
        size_t count = 1 + random_below(300);
        for (size_t i = 0; i < count; i++)
            values[i] = value_of((enum shape)(round % SHAPES), i);
        assert_int_equal(column_encode_u64(&codec, values, count, round & 1, &stored, &column), 0);
        for (uint64_t k = random_below(6); k > 0 && stored.length; k--)
            stored.data[random_below(stored.length)] = (uint8_t)random_u64();
        if (random_below(4) == 0)
            column.count = (uint32_t)random_below(400);
        if (random_below(8) == 0)
            column.encoding = (uint8_t)random_u64();
        if (random_below(8) == 0)
            column.width = (uint8_t)random_below(9);
        if (random_below(8) == 0 && column.size)
            column.size = (uint32_t)random_below(column.size);
        column_rehash(&column, stored.data);
        out = malloc(column.count * sizeof *out + 1); /* of the exact size, so that a sanitizer sees */
        out32 = malloc(column.count * sizeof *out32 + 1);
        assert_true(out && out32);
        failed += column_decode_u64(&codec, &column, stored.data, out) != 0;
        failed += column_decode_u32(&codec, &column, stored.data, out32) != 0;
        free(out);
        free(out32);
        bytes_free(&stored);
    }
    assert_true(failed > 100 && failed < 6000);
    column_codec_free(&codec);
}

/* --- blocks --- */

static const uint8_t *build_block(struct block_builder *builder, struct block_header *header, size_t *length)
{
    static const uint32_t some[] = {1, 2, 3, 70000}, zeros[] = {0, 0, 0};
    static const uint64_t times[] = {5, 10, 7, UINT64_C(1) << 50};
    block_begin(builder);
    block_add_u32(builder, 1, some, 4);
    block_add_u32(builder, 2, zeros, 3); /* left out */
    block_mark_prefix(builder);
    block_add_delta(builder, 3, times, 4);
    block_add_bytes(builder, 4, "hello", 5);
    *header = (struct block_header){.type = 999,
                                    .sequence = 42,
                                    .track = 3,
                                    .clock = 1,
                                    .count = 4,
                                    .t_first = 5,
                                    .t_last = 9,
                                    .min_start = 2,
                                    .depth_count = 7,
                                    .lod_level = 11};
    memset(header->source, 0xab, sizeof header->source);
    return block_finish(builder, header, length);
}

static void test_block(void **state)
{
    struct block_builder builder = {0};
    struct block_header header;
    struct block_view view;
    size_t length;
    uint32_t u32[4];
    uint64_t u64[4];
    uint8_t text[5];
    (void)state;
    const uint8_t *data = build_block(&builder, &header, &length);
    assert_non_null(data);
    assert_int_equal(length % BLOCK_ALIGNMENT, 0);
    assert_int_equal(block_open(&view, data, length), 0);
    assert_true(block_is_intact(&view));
    assert_int_equal(view.column_count, 3);
    assert_int_equal(view.header.type, 999);
    assert_int_equal(view.header.sequence, 42);
    assert_int_equal(view.header.track, 3);
    assert_int_equal(view.header.min_start, 2);
    assert_int_equal(view.header.depth_count, 7);
    assert_int_equal(view.header.lod_level, 11);
    assert_int_equal(view.header.total_size, length);
    assert_int_equal(block_decode_u32(&view, &builder.codec, 1, u32, 4), 0);
    assert_int_equal(u32[3], 70000);
    assert_int_equal(block_decode_u32(&view, &builder.codec, 2, u32, 3), 0);
    assert_int_equal(u32[0] | u32[1] | u32[2], 0);
    assert_int_equal(block_decode_u64(&view, &builder.codec, 3, u64, 4), 0);
    assert_true(u64[3] == UINT64_C(1) << 50 && u64[2] == 7);
    assert_int_equal(block_decode_u64(&view, &builder.codec, 3, u64, 3),
                     -EINVAL); /* another number of values */
    assert_int_equal(block_decode_bytes(&view, &builder.codec, 4, text, 5), 0);
    assert_memory_equal(text, "hello", 5);
    /* The prefix alone: its columns can be read, the others cannot. */
    assert_int_equal(block_open(&view, data, header.prefix_size), 0);
    assert_int_equal(block_decode_u32(&view, &builder.codec, 1, u32, 4), 0);
    assert_int_equal(block_decode_u64(&view, &builder.codec, 3, u64, 4), -EINVAL);
    assert_false(block_is_intact(&view));
    block_builder_free(&builder);
}

static void test_block_damage(void **state)
{
    struct block_builder builder = {0};
    struct block_header header;
    struct block_view view;
    size_t length, payload = 0;
    (void)state;
    const uint8_t *built = build_block(&builder, &header, &length);
    uint8_t *copy = malloc(length);
    assert_non_null(copy);
    memcpy(copy, built, length);
    assert_int_equal(block_open(&view, copy, length), 0);
    for (unsigned i = 0; i < view.column_count; i++)
        payload += view.columns[i].size;
    for (size_t bit = 0; bit < (header.header_size + payload) * 8; bit++) {
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(block_open(&view, copy, length) == 0 && block_is_intact(&view));
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t cut = 0; cut < header.header_size; cut++)
        assert_int_equal(block_open(&view, copy, cut), -EINVAL);
    free(copy);
    block_builder_free(&builder);
}

/* Indexes come out as they went in, whatever their encoding, and one beyond the list is found. */
static void test_indexes(void **state)
{
    (void)state;
    static uint32_t values[MAX_VALUES];
    static uint16_t out[MAX_VALUES + 8];
    struct column_codec codec = {0};
    static const uint32_t limits[] = {1, 2, 3, 16, 100, 256, 257, 5000, 16384};
    for (size_t n = 0; n < sizeof limits / sizeof *limits; n++)
        for (uint32_t base = 0; base <= 300; base += 150) {
            struct bytes stored = {0};
            struct column column = {0};
            uint32_t most = 0;
            for (size_t i = 0; i < MAX_VALUES; i++) {
                values[i] = base + (uint32_t)random_below(limits[n]);
                most = values[i] > most ? values[i] : most;
            }
            assert_int_equal(column_encode_u32(&codec, values, MAX_VALUES, &stored, &column), 0);
            assert_int_equal(column_decode_index(&codec, &column, stored.data, most + 1, out), 0);
            for (size_t i = 0; i < MAX_VALUES; i++)
                assert_int_equal(out[i], values[i]);
            assert_int_equal(column_decode_index(&codec, &column, stored.data, most, out), -EINVAL);
            assert_int_equal(column_decode_index(&codec, &column, stored.data, 0, out), -EINVAL);
            if (column.size)
                stored.data[column.size - 1] ^= 1;
            if (column.size)
                assert_int_equal(column_decode_index(&codec, &column, stored.data, most + 1, out), -EINVAL);
            bytes_free(&stored);
        }
    column_codec_free(&codec);
}

static double bits_stored(struct column_codec *codec, const uint32_t *values, size_t count)
{
    struct bytes stored = {0};
    struct column column = {0};
    assert_int_equal(column_encode_u32(codec, values, count, &stored, &column), 0);
    bytes_free(&stored);
    return 8.0 * column.size / (double)count;
}

/* The jitter of a clock: whatever else is tried, it takes its entropy and hardly more. Something that repeats, at any
 * distance, takes much less. */
static void test_sizes(void **state)
{
    (void)state;
    enum { COUNT = 16384 };
    static uint32_t values[COUNT];
    struct column_codec codec = {0};
    double counts[31] = {0}, entropy = log2(COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        unsigned jitter = (unsigned)__builtin_popcountll(random_u64() & 0x3fffffff);
        values[i] = 23 + jitter;
        counts[jitter]++;
    }
    for (unsigned i = 0; i < 31; i++)
        entropy -= counts[i] > 0 ? counts[i] * log2(counts[i]) / COUNT : 0;
    assert_true(bits_stored(&codec, values, COUNT) < 1.04 * entropy);
    for (size_t i = 0; i < COUNT; i++) /* a few values, one in 500 from afar */
        values[i] = random_u64() % 500 ? 11 + (uint32_t)(random_u64() % 3) : 5000;
    assert_true(bits_stored(&codec, values, COUNT) < 1.15 * log2(3.0));
    for (size_t i = 0; i < COUNT; i++) /* any byte, one of them more often: 7.82 bits */
        values[i] = random_u64() % 16 ? (uint32_t)(random_u64() % 256) : 7;
    assert_true(bits_stored(&codec, values, COUNT) < 7.9);
    for (size_t i = 0; i < COUNT; i++) /* any byte: nothing to be saved, and nothing added */
        values[i] = (uint32_t)(random_u64() % 256);
    assert_true(bits_stored(&codec, values, COUNT) < 8.01);
    for (size_t period = 3; period < COUNT / 2; period = period * 5 + 1) {
        for (size_t i = 0; i < COUNT; i++)
            values[i] = i < period ? (uint32_t)(random_u64() % 100) : values[i - period];
        assert_true(bits_stored(&codec, values, COUNT) < 0.4 + 8.0 * (double)period / COUNT);
    }
    column_codec_free(&codec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),      cmocka_unit_test(test_extreme_values),
        cmocka_unit_test(test_choice),          cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_damage_is_found), cmocka_unit_test(test_hostile_bytes),
        cmocka_unit_test(test_block),           cmocka_unit_test(test_block_damage),
        cmocka_unit_test(test_indexes),         cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
