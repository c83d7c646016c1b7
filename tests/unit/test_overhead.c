/* SPDX-License-Identifier: Apache-2.0 */
/* analyze/overhead.c: the record of a measurement and its statistics. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyze/overhead.h"

static void test_add_find_sort(void **state)
{
    (void)state;
    static const char *const names[] = {"torch.sub", "torch.add", "torch.mul"};
    struct overhead_run run = {0};
    for (size_t i = 0; i < 3; i++)
        assert_non_null(overhead_run_add(&run, names[i], i ? "binary" : NULL));
    assert_string_equal(overhead_run_find(&run, "torch.sub")->group, "");
    overhead_run_sort(&run);
    assert_string_equal(run.ops[0].name, "torch.add");
    assert_string_equal(run.ops[2].name, "torch.sub");
    assert_ptr_equal(overhead_run_find(&run, "torch.mul"), &run.ops[1]);
    assert_null(overhead_run_find(&run, "torch.div"));
    assert_non_null(overhead_run_add(&run, "torch.abs", "unary"));
    assert_string_equal(overhead_run_find(&run, "torch.abs")->group, "unary"); /* not sorted any more */
    assert_true(isnan(run.ops[0].min_ns) && isnan(run.ops[0].native_ns));
    overhead_run_free(&run);
    assert_null(overhead_run_find(&run, "torch.add"));
    overhead_run_sort(&run);
    assert_null(overhead_run_find(&run, "torch.add"));
    overhead_run_free(NULL);
}

static void test_summary_is_that_of_the_repeats(void **state)
{
    (void)state;
    struct overhead_run run = {0};
    struct overhead_op *op = overhead_run_add(&run, "a", "");
    overhead_op_summarise(op);
    assert_true(isnan(op->mean_ns));
    for (int i = 20; i >= 1; i--) /* 1..19 and one that was interrupted */
        assert_true(overhead_op_add_repeat(op, i == 20 ? 1000 : i, 2.0 * i));
    overhead_op_summarise(op);
    assert_int_equal(op->repeat_count, 20);
    assert_float_equal(op->min_ns, 1, 0);
    assert_float_equal(op->mean_ns, 59.5, 1e-9);
    assert_float_equal(op->mean_total_ns, 21, 1e-9);
    assert_float_equal(op->p50_ns, 10.5, 1e-9);
    assert_true(fabs(op->p99_ns - (19 + 0.81 * 981)) < 1e-9); /* between the two largest */
    /* 20 values: the 6th and the 15th (P = 95.9 %) */
    assert_float_equal(op->ci_low_ns, 6, 0);
    assert_float_equal(op->ci_high_ns, 15, 0);
    overhead_run_free(&run);
}

/* The ranks of the interval, from a table of the binomial distribution. */
static void test_interval_ranks(void **state)
{
    (void)state;
    static const struct {
        size_t count;
        double low, high; /* ranks: the values are 1, 2, 3 ... */
    } cases[] = {{1, 1, 1}, {5, 1, 5}, {6, 1, 6}, {9, 2, 8}, {10, 2, 9}, {50, 18, 33}, {100, 40, 61}};
    double values[5000];
    for (size_t i = 0; i < 5000; i++)
        values[i] = (double)(i + 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double low, high;
        overhead_median_interval(values, cases[i].count, &low, &high);
        assert_float_equal(low, cases[i].low, 0);
        assert_float_equal(high, cases[i].high, 0);
    }
    double low, high;
    overhead_median_interval(values, 5000, &low, &high); /* 2^-5000 is no double; about 1.96 sqrt(n) wide */
    assert_in_range((uint64_t)(high - low), 136, 142);
    overhead_median_interval(values, 0, &low, &high);
    assert_true(isnan(low) && isnan(high));
    assert_true(isnan(overhead_quantile(values, 0, 0.5)));
    assert_float_equal(overhead_quantile(values, 1, 0.99), 1, 0);
    assert_float_equal(overhead_quantile(values, 3, 1), 3, 0);
}

/* The interval holds the median as often as it says: 2,000 samples of a skewed distribution. */
static void test_interval_covers(void **state)
{
    (void)state;
    uint64_t seed = 12345;
    unsigned inside = 0;
    for (unsigned sample = 0; sample < 2000; sample++) {
        double values[20], low, high;
        for (size_t i = 0; i < 20; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            values[i] = -log(((double)(seed >> 11) + 1) / 9007199254740993.0); /* exponential: median ln 2 */
        }
        overhead_sort_values(values, 20);
        overhead_median_interval(values, 20, &low, &high);
        inside += low <= log(2) && log(2) <= high;
    }
    assert_in_range(inside, 1880, 1960); /* 95.9 % of 2,000, fixed seed */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_add_find_sort),
        cmocka_unit_test(test_summary_is_that_of_the_repeats),
        cmocka_unit_test(test_interval_ranks),
        cmocka_unit_test(test_interval_covers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
