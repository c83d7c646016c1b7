/* SPDX-License-Identifier: Apache-2.0 */
/* The tests of significance, held against what counting every case gives, and against each other where the exact
 * distribution ends. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/diff/stats.h"

static uint64_t random_state = 4711;

static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % limit;
}

static double midrank(const double *values, size_t count, double value)
{
    double below = 0, equal = 0;
    for (size_t i = 0; i < count; i++) {
        below += values[i] < value;
        equal += values[i] == value;
    }
    return below + (equal + 1) / 2;
}

/* All 2^count choices of signs. */
static double every_sign(const double *differences, size_t count)
{
    double sizes[16], ranks[16], positive = 0, total = 0;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (differences[i] != 0)
            sizes[n++] = fabs(differences[i]);
    }
    for (size_t i = 0, k = 0; i < count; i++) {
        if (differences[i] == 0)
            continue;
        ranks[k] = midrank(sizes, n, sizes[k]);
        total += ranks[k];
        positive += differences[i] > 0 ? ranks[k] : 0;
        k++;
    }
    double distance = fabs(positive - total / 2), extreme = 0;
    for (uint32_t signs = 0; signs < 1u << n; signs++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += signs >> i & 1 ? ranks[i] : 0;
        extreme += fabs(sum - total / 2) >= distance - 1e-9;
    }
    return extreme / (double)(1u << n);
}

static void test_signed_rank_is_exact(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 300; round++) {
        double differences[12], copy[12];
        size_t count = 1 + random_below(12);
        for (size_t i = 0; i < count; i++)
            differences[i] = (double)random_below(round % 2 ? 9 : 1000) - (round % 2 ? 4 : 400);
        memcpy(copy, differences, sizeof copy);
        double expected = every_sign(differences, count), p = stats_signed_rank(copy, count);
        assert_true(fabs(p - fmin(1, expected)) < 1e-9);
    }
}

/* All choices of a_count values out of both samples. */
static double every_choice(const double *a, size_t a_count, const double *b, size_t b_count)
{
    double all[12], ranks[12], sum = 0, extreme = 0, every = 0;
    size_t n = a_count + b_count;
    memcpy(all, a, a_count * sizeof *a);
    memcpy(all + a_count, b, b_count * sizeof *b);
    for (size_t i = 0; i < n; i++) {
        ranks[i] = midrank(all, n, all[i]);
        sum += i < a_count ? ranks[i] : 0;
    }
    double mean = (double)a_count * (double)(n + 1) / 2, distance = fabs(sum - mean);
    for (uint32_t chosen = 0; chosen < 1u << n; chosen++) {
        double other = 0;
        if ((size_t)__builtin_popcount(chosen) != a_count)
            continue;
        for (size_t i = 0; i < n; i++)
            other += chosen >> i & 1 ? ranks[i] : 0;
        every++;
        extreme += fabs(other - mean) >= distance - 1e-9;
    }
    return extreme / every;
}

static void test_rank_sum_is_exact(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 150; round++) {
        double a[6], b[6];
        size_t a_count = 1 + random_below(6), b_count = 1 + random_below(6);
        for (size_t i = 0; i < 6; i++) {
            a[i] = random_below(round % 2 ? 5 : 1000);
            b[i] = random_below(round % 2 ? 5 : 1000) + (round % 3 ? 0 : 300);
        }
        double expected = every_choice(a, a_count, b, b_count), p = stats_rank_sum(a, a_count, b, b_count);
        assert_true(fabs(p - expected) < 1e-9);
    }
}

static void test_least(void **state)
{
    double up[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const double a[] = {1, 2, 3, 4, 5}, b[] = {6, 7, 8, 9, 10};
    (void)state;
    assert_true(fabs(stats_signed_rank(up, 8) - stats_signed_rank_least(8)) < 1e-12);
    assert_true(stats_signed_rank_least(7) > 0.01 && stats_signed_rank_least(8) < 0.01);
    assert_true(fabs(stats_rank_sum(a, 5, b, 5) - stats_rank_sum_least(5, 5)) < 1e-12);
    assert_true(stats_rank_sum_least(4, 4) > 0.01 && stats_rank_sum_least(5, 5) < 0.01);
    assert_true(stats_rank_sum(a, 0, b, 5) == 1);
}

/* Where the exact distribution ends the normal one must go on about the same. */
static void test_many(void **state)
{
    double differences[400], a[400], b[400];
    (void)state;
    for (size_t i = 0; i < 400; i++) {
        a[i] = 1000 + random_below(100);
        b[i] = 1000 + random_below(100);
        differences[i] = b[i] - a[i];
    }
    for (size_t n = 29; n < 34; n++) {
        double copy[40];
        memcpy(copy, differences, n * sizeof *copy);
        double p = stats_signed_rank(copy, n), sum = stats_rank_sum(a, n - 10, b, n - 10);
        assert_true(p > 0.001 && p <= 1 && sum > 0.001 && sum <= 1);
    }
    assert_true(stats_rank_sum(a, 400, b, 400) > 0.01);
    for (size_t i = 0; i < 400; i++) {
        b[i] += 20;
        differences[i] += 20;
    }
    assert_true(stats_rank_sum(a, 400, b, 400) < 1e-6);
    assert_true(stats_signed_rank(differences, 400) < 1e-6);
    for (size_t i = 0; i < 400; i++)
        differences[i] = 0;
    assert_true(stats_signed_rank(differences, 400) == 1);
}

/* A few values that are far off decide nothing. */
static void test_outliers(void **state)
{
    double differences[40];
    (void)state;
    for (size_t i = 0; i < 40; i++)
        differences[i] = (i % 2 ? 1.0 : -1.0) * (double)(i + 1);
    differences[7] = 1e9;
    differences[9] = 1e9;
    assert_true(stats_signed_rank(differences, 40) > 0.05);
}

static void test_median(void **state)
{
    double odd[] = {5, 1, 3}, even[] = {4, 1, 3, 2};
    (void)state;
    assert_true(stats_median(odd, 3) == 3);
    assert_true(stats_median(even, 4) == 2.5);
    assert_true(isnan(stats_median(odd, 0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signed_rank_is_exact),
        cmocka_unit_test(test_rank_sum_is_exact),
        cmocka_unit_test(test_least),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_outliers),
        cmocka_unit_test(test_median),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
