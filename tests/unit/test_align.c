/* SPDX-License-Identifier: Apache-2.0 */
/* The alignment: held against the textbook's longest common subsequence on short sequences, and to what it must find
 * on long ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/diff/align.h"

#define SHORT_MAX 90u

static uint64_t random_state = 88172645463325252u;

static uint32_t random_below(uint32_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state * UINT64_C(0x2545f4914f6cdd1d)) >> 32) % limit;
}

static size_t longest_common(const uint32_t *a, size_t a_count, const uint32_t *b, size_t b_count)
{
    static size_t rows[2][SHORT_MAX + 1];
    memset(rows, 0, sizeof rows);
    for (size_t i = 1; i <= a_count; i++) {
        size_t *above = rows[(i - 1) & 1], *row = rows[i & 1];
        for (size_t k = 1; k <= b_count; k++) {
            size_t best = above[k] > row[k - 1] ? above[k] : row[k - 1];
            row[k] = a[i - 1] == b[k - 1] ? above[k - 1] + 1 : best;
        }
    }
    return rows[a_count & 1][b_count];
}

/* Every match joins equal keys, each element once, in order; the count is right. */
static void check_order(const struct align *align, const uint32_t *a, const uint32_t *b)
{
    size_t matched = 0;
    uint32_t last = 0;
    for (size_t i = 0; i < align->a_count; i++) {
        uint32_t at = align->b_of_a[i];
        if (at == ALIGN_NONE)
            continue;
        assert_true(at < align->b_count);
        assert_true(matched == 0 || at > last);
        assert_int_equal(a[i], b[at]);
        last = at;
        matched++;
    }
    assert_int_equal(matched, align->matched);
}

static struct align aligned(const uint32_t *a, size_t a_count, const uint32_t *b, size_t b_count, size_t keys)
{
    struct align align;
    assert_int_equal(align_begin(&align, a_count, b_count, NULL), 0);
    assert_int_equal(align_by(&align, a, b, keys, NULL), 0);
    check_order(&align, a, b);
    return align;
}

static void test_short_is_longest(void **state)
{
    uint32_t a[SHORT_MAX], b[SHORT_MAX];
    (void)state;
    for (unsigned round = 0; round < 6000; round++) {
        uint32_t keys = 1 + random_below(12);
        size_t a_count = random_below(SHORT_MAX + 1), b_count = random_below(SHORT_MAX + 1);
        for (size_t i = 0; i < a_count; i++)
            a[i] = random_below(keys);
        for (size_t i = 0; i < b_count; i++)
            b[i] = random_below(keys);
        struct align align = aligned(a, a_count, b, b_count, keys);
        assert_int_equal(align.matched, longest_common(a, a_count, b, b_count));
        assert_int_equal(align.cut_count, 0);
        align_free(&align);
    }
}

/* An edited copy: at least what was left alone must be found. */
static void test_edited_copies(void **state)
{
    enum { COUNT = 30000 };
    static uint32_t a[COUNT], b[2 * COUNT + 1];
    (void)state;
    for (unsigned round = 0; round < 24; round++) {
        uint32_t period = 1 + random_below(300), rarity = 3 + random_below(400);
        size_t b_count = 0, kept = 0;
        for (size_t i = 0; i < COUNT; i++)
            a[i] = round % 3 == 0 ? random_below(period) : (uint32_t)(i % period);
        for (size_t i = 0; i < COUNT; i++) {
            uint32_t what = random_below(rarity);
            if (what == 0)
                continue;
            if (what == 1)
                b[b_count++] = random_below(period + 10);
            b[b_count++] = a[i];
            kept++;
        }
        struct align align = aligned(a, COUNT, b, b_count, period + 10);
        /* A bounded search may miss a little; it must not lose its way. */
        assert_true(align.matched * 100 >= kept * (align.cut_count ? 97 : 99));
        align_free(&align);
    }
}

static void test_inserted_block(void **state)
{
    enum { COUNT = 100000, BLOCK = 20000 };
    uint32_t *a = malloc(COUNT * sizeof *a), *b = malloc((COUNT + BLOCK) * sizeof *b);
    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        a[i] = (uint32_t)(i % 10 + i / 1000 % 7);
    memcpy(b, a, 40000 * sizeof *a);
    for (size_t i = 0; i < BLOCK; i++)
        b[40000 + i] = 100 + (uint32_t)(i % 5); /* ops that the first run does not have */
    memcpy(b + 40000 + BLOCK, a + 40000, (COUNT - 40000) * sizeof *a);
    struct align align = aligned(a, COUNT, b, COUNT + BLOCK, 200);
    assert_int_equal(align.matched, COUNT);
    assert_int_equal(align.b_of_a[50000], 50000 + BLOCK);
    align_free(&align);
    free(a);
    free(b);
}

/* One op of ten was replaced everywhere, and the second run goes on longer. */
static void test_replaced_everywhere(void **state)
{
    enum { COUNT = 200000 };
    uint32_t *a = malloc(COUNT * sizeof *a), *b = malloc((COUNT + 500) * sizeof *b);
    (void)state;
    for (size_t i = 0; i < COUNT + 500; i++) {
        b[i] = i % 10 == 3 ? 11 : (uint32_t)(i % 10);
        if (i < COUNT)
            a[i] = (uint32_t)(i % 10);
    }
    struct align align = aligned(a, COUNT, b, COUNT + 500, 12);
    assert_int_equal(align.matched, COUNT / 10 * 9);
    align_free(&align);
    free(a);
    free(b);
}

/* Nothing fits: the effort is bounded, said, and what is found is still in order. */
static void test_hopeless(void **state)
{
    enum { COUNT = 60000 };
    uint32_t *a = malloc(COUNT * sizeof *a), *b = malloc(COUNT * sizeof *b);
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        a[i] = random_below(50);
        b[i] = random_below(50);
    }
    struct align align = aligned(a, COUNT, b, COUNT, 50);
    assert_true(align.cut_count > 0);
    assert_true(align.matched > COUNT / 8);
    align_free(&align);
    free(a);
    free(b);
}

static void test_coarser_keys_fill_gaps(void **state)
{
    /* matmul with two shapes: the third got another shape, the fourth is gone. */
    static const uint32_t fine_a[] = {1, 2, 3, 4, 5}, fine_b[] = {1, 2, 9, 5};
    static const uint32_t coarse_a[] = {1, 2, 1, 6, 2}, coarse_b[] = {1, 2, 1, 2};
    struct align align;
    (void)state;
    assert_int_equal(align_begin(&align, 5, 4, NULL), 0);
    assert_int_equal(align_by(&align, fine_a, fine_b, 10, NULL), 0);
    assert_int_equal(align.b_of_a[2], ALIGN_NONE);
    assert_int_equal(align_by(&align, coarse_a, coarse_b, 10, NULL), 0);
    assert_int_equal(align.b_of_a[2], 2);
    assert_int_equal(align.b_of_a[3], ALIGN_NONE);
    assert_int_equal(align.b_of_a[4], 3);
    assert_int_equal(align.matched, 4);
    align_free(&align);
}

static void test_empty(void **state)
{
    static const uint32_t some[] = {0, 1};
    (void)state;
    struct align align = aligned(some, 0, some, 2, 2);
    assert_int_equal(align.matched, 0);
    align_free(&align);
    align = aligned(some, 2, some, 0, 2);
    assert_int_equal(align.matched, 0);
    assert_int_equal(align.b_of_a[1], ALIGN_NONE);
    align_free(&align);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_is_longest),
        cmocka_unit_test(test_edited_copies),
        cmocka_unit_test(test_inserted_block),
        cmocka_unit_test(test_replaced_everywhere),
        cmocka_unit_test(test_hopeless),
        cmocka_unit_test(test_coarser_keys_fill_gaps),
        cmocka_unit_test(test_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
