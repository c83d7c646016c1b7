/* SPDX-License-Identifier: Apache-2.0 */
/* analyze/overhead/overhead.c: the record of a measurement and its statistics. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/overhead/overhead.h"
#include "analyze/overhead/native.h"
#include "present/overhead/csv.h"

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

static void add_zone(struct overhead_zones *zones, size_t window, uint64_t start, uint64_t duration,
                     uint64_t child, const char *name)
{
    zones->items[zones->count++] =
        (struct overhead_zone){window, start, duration, child, intern_add(&zones->names, name, strlen(name))};
}

/* Two bursts of two calls: nested zones count once, what is left of the window is the calls' own. */
static void test_native_time_is_that_of_the_outermost_zones(void **state)
{
    (void)state;
    struct overhead_run run = {0};
    overhead_run_add(&run, "b", "");
    overhead_run_add(&run, "a", "");
    overhead_run_add(&run, "calibration.x", "calibration")->is_calibration = true;
    overhead_run_sort(&run);
    const struct overhead_window windows[] = {
        {.op = "a", .start_ns = 1000, .end_ns = 2000, .calls = 2},
        {.op = "b", .start_ns = 3000, .end_ns = 3100, .calls = 2},
        {.op = "a", .start_ns = 5000, .end_ns = 5800, .calls = 2},
        {.op = "calibration.x", .start_ns = 6000, .end_ns = 6100, .calls = 2},
        {.op = "gone", .start_ns = 7000, .end_ns = 7100, .calls = 2},
    };
    struct overhead_zones zones = {.items = calloc(16, sizeof(struct overhead_zone)), .capacity = 16};
    add_zone(&zones, 2, 5100, 500, 0, "outer"); /* in no order */
    add_zone(&zones, 0, 1150, 100, 0, "inner");
    add_zone(&zones, 0, 1100, 300, 150, "outer");
    add_zone(&zones, 0, 1250, 50, 0, "inner"); /* begins where the other ends */
    add_zone(&zones, 0, 1500, 300, 0, "outer");
    add_zone(&zones, 3, 6010, 50, 0, "outer");
    assert_int_equal(overhead_native_fill(&run, windows, 5, &zones, NULL), 0);
    const struct overhead_op *a = overhead_run_find(&run, "a"), *b = overhead_run_find(&run, "b");
    assert_true(a->native_ns == (300 + 300 + 500) / 4.0);
    assert_true(a->call_ns == 200 ||
                a->call_ns == 150); /* (1000 - 600) / 2 and (800 - 500) / 2: one of the two */
    assert_int_equal(a->native_count, 2);
    for (size_t i = 0; i < 2; i++) {
        bool is_outer = strcmp(a->native[i].zone, "outer") == 0;
        assert_int_equal(a->native[i].count, is_outer ? 3 : 2);
        assert_true(a->native[i].mean_ns == (is_outer ? 1100 / 4.0 : 150 / 4.0));
        assert_true(a->native[i].self_ns == (is_outer ? 950 / 4.0 : 150 / 4.0));
    }
    assert_true(isnan(b->native_ns) && isnan(b->call_ns)); /* no zone in it: not known, rather than nothing */
    assert_true(isnan(overhead_run_find(&run, "calibration.x")->native_ns));
    overhead_zones_free(&zones);
    overhead_run_free(&run);
}

static void assert_csv(const struct overhead_run *run, unsigned flags, const char *expected)
{
    struct bytes out = {0};
    overhead_append_csv(run, flags, &out);
    bytes_append_u8(&out, 0);
    assert_false(out.failed);
    assert_string_equal((const char *)out.data, expected);
    bytes_free(&out);
}

/* The cell of a row below a column's name. */
static void assert_cell(const char *header, const char *row, const char *column, const char *expected)
{
    const char *found = strstr(header, column);
    size_t commas = 0;
    assert_non_null(found);
    for (const char *c = header; c < found; c++)
        commas += *c == ',';
    for (; commas; commas--) {
        row = strchr(row, ',');
        assert_non_null(row);
        row++;
    }
    assert_int_equal(strcspn(row, ","), strlen(expected));
    assert_memory_equal(row, expected, strlen(expected));
}

#define PLAIN                                                                                                \
    "op,count,python min dispatch time (ms),python mean dispatch time(ms),python mean dispatch + sync time " \
    "(ms)"

static void test_csv(void **state)
{
    (void)state;
    struct overhead_run run = {0};
    struct overhead_op *op = overhead_run_add(&run, "a,\"b\"", "binary");
    op->count = 800;
    op->min_ns = 10000;        /* 0.01 */
    op->mean_ns = 1000000;     /* 1.0 */
    op->mean_total_ns = 12500; /* 0.0125 is a little more than it says: 0.013 */
    op->native_ns = 2500;      /* 0.0025 likewise */
    struct overhead_op *failed = overhead_run_add(&run, "c", "");
    failed->state = OVERHEAD_CRASHED;
    overhead_set_text(&failed->reason, "signal 11");
    struct overhead_op *fixed = overhead_run_add(&run, "calibration.integer", "calibration");
    fixed->is_calibration = true;
    fixed->min_ns = fixed->mean_ns = fixed->mean_total_ns = 500; /* 0.0005: 0.001, as round() has it */
    assert_csv(&run, 0, PLAIN "\n\"a,\"\"b\"\"\",800,0.01,1.0,0.013\n");
    assert_csv(&run, OVERHEAD_CSV_NATIVE | OVERHEAD_CSV_CALIBRATION,
               PLAIN ",C++ mean dispatch time (ms)\n\"a,\"\"b\"\"\",800,0.01,1.0,0.013,0.003\n"
                     "calibration.integer,0,0.001,0.001,0.001,\n");
    struct bytes out = {0};
    overhead_append_csv(&run, OVERHEAD_CSV_EXTENDED, &out);
    bytes_append_u8(&out, 0);
    char *text = (char *)out.data, *first = strchr(text, '\n') + 1, *second = strchr(first, '\n') + 1;
    first[-1] = second[-1] = '\0';
    assert_int_equal(strncmp(text, PLAIN ",group,state,reason,", strlen(PLAIN ",group,state,reason,")), 0);
    first += strlen("\"a,\"\"b\"\"\""); /* no commas but those between cells */
    assert_cell(text, first, "state", "measured");
    assert_cell(text, first, "mean (ns)", "1000000.0");
    assert_cell(text, first, "p50 (ns)", "");
    assert_cell(text, first, "native (ns)", "2500.0");
    assert_cell(text, second, "state", "crashed");
    assert_cell(text, second, "reason", "signal 11");
    assert_cell(text, second, "min (ns)", "");
    assert_cell(text, second, "native breakdown", "\n"); /* the last */
    bytes_free(&out);
    overhead_run_free(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_add_find_sort),
        cmocka_unit_test(test_summary_is_that_of_the_repeats),
        cmocka_unit_test(test_interval_ranks),
        cmocka_unit_test(test_interval_covers),
        cmocka_unit_test(test_native_time_is_that_of_the_outermost_zones),
        cmocka_unit_test(test_csv),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
