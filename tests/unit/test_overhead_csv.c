/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of dispatch times: the vendor's rows, our own as our writer writes them, and what it refuses. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/overhead/overhead.h"
#include "import/overhead_csv.h"
#include "present/overhead/csv.h"

#define HEADING                                                                                              \
    "op,count,python min dispatch time (ms),python mean dispatch time(ms),python mean dispatch + sync time " \
    "(ms)\n"

static void test_vendor_rows(void **state)
{
    static const char text[] = HEADING "ttnn.add,800,0.021,0.024,0.11\nttnn.mul,800,0.0,0.03,1.0\n";
    struct overhead_csv *csv;
    struct overhead_csv_row row;
    (void)state;
    assert_int_equal(overhead_csv_open_memory(&csv, "r.csv", text, strlen(text), NULL), 0);
    assert_int_equal(overhead_csv_next(csv, &row, NULL), 1);
    assert_int_equal(row.name.length, 8);
    assert_memory_equal(row.name.data, "ttnn.add", 8);
    assert_int_equal(row.count, 800);
    assert_int_equal(row.line, 2);
    assert_float_equal(row.min_ns, 21000, 1e-6);
    assert_float_equal(row.rounding_ns, 500, 1e-6);
    assert_float_equal(row.mean_ns, 24000, 1e-6);
    assert_float_equal(row.mean_total_ns, 110000, 1e-6);
    assert_true(isnan(row.native_ns) && isnan(row.p50_ns));
    assert_int_equal(overhead_csv_next(csv, &row, NULL), 1);
    assert_true(row.min_ns == 0);
    assert_int_equal(overhead_csv_next(csv, &row, NULL), 0);
    overhead_csv_close(csv);
}

/* Columns in another order, spaces, unknown ones, a short row, a byte order mark. */
static void test_columns_are_found_by_name(void **state)
{
    static const char text[] = "\xef\xbb\xbf"
                               " python min dispatch time(ms) ,C++ operator() (us),op\r\n0.5,77, a b \r\n";
    struct overhead_csv *csv;
    struct overhead_csv_row row;
    (void)state;
    assert_int_equal(overhead_csv_open_memory(&csv, "r.csv", text, strlen(text), NULL), 0);
    assert_int_equal(overhead_csv_next(csv, &row, NULL), 1);
    assert_float_equal(row.min_ns, 500000, 1e-6);
    assert_int_equal(row.name.length, 3);
    assert_int_equal(row.count, 0);
    overhead_csv_close(csv);
}

/* What our writer writes comes back, to the digits it has. */
static void test_our_own_file(void **state)
{
    struct overhead_run run = {0};
    struct bytes text = {0};
    struct overhead_csv *csv;
    struct overhead_csv_row row;
    (void)state;
    struct overhead_op *op = overhead_run_add(&run, "a,\"b\"", "binary");
    for (int i = 0; i < 9; i++)
        overhead_op_add_repeat(op, 1033.25 + i, 2000.5 + i);
    op->count = 360;
    op->native_ns = 512.5;
    overhead_op_summarise(op);
    op = overhead_run_add(&run, "crash", "unary");
    op->state = OVERHEAD_CRASHED;
    overhead_set_text(&op->reason, "signal 11, \"segmentation\"");
    overhead_run_sort(&run);
    op = overhead_run_find(&run, "a,\"b\"");
    overhead_append_csv(&run, OVERHEAD_CSV_NATIVE | OVERHEAD_CSV_EXTENDED | OVERHEAD_CSV_CALIBRATION, &text);
    assert_int_equal(overhead_csv_open_memory(&csv, "r.csv", text.data, text.length, NULL), 0);
    assert_int_equal(overhead_csv_next(csv, &row, NULL), 1);
    assert_memory_equal(row.name.data, "a,\"b\"", row.name.length);
    assert_memory_equal(row.group.data, "binary", row.group.length);
    assert_memory_equal(row.state.data, "measured", row.state.length);
    assert_int_equal(row.state.length, 8);
    assert_int_equal(row.count, 360);
    assert_int_equal(row.repeats, 9);
    assert_float_equal(row.min_ns, op->min_ns, 0.051);
    assert_float_equal(row.floor_ns, op->floor_ns, 0.051);
    assert_true(row.rounding_ns == 0);
    assert_float_equal(row.mean_ns, op->mean_ns, 0.051);
    assert_float_equal(row.mean_total_ns, op->mean_total_ns, 0.051);
    assert_float_equal(row.native_ns, 512.5, 0.051);
    assert_float_equal(row.p50_ns, op->p50_ns, 0.051);
    assert_float_equal(row.p99_ns, op->p99_ns, 0.051);
    assert_float_equal(row.ci_low_ns, op->ci_low_ns, 0.051);
    assert_float_equal(row.ci_high_ns, op->ci_high_ns, 0.051);
    assert_int_equal(overhead_csv_next(csv, &row, NULL), 1);
    assert_memory_equal(row.state.data, "crashed", row.state.length);
    assert_memory_equal(row.reason.data, "signal 11, \"segmentation\"", row.reason.length);
    assert_true(isnan(row.min_ns));
    assert_int_equal(overhead_csv_next(csv, &row, NULL), 0);
    overhead_csv_close(csv);
    bytes_free(&text);
    overhead_run_free(&run);
}

static void check_refused(const char *text, const char *message)
{
    struct overhead_csv *csv;
    struct overhead_csv_row row;
    struct error err = {0};
    int status = overhead_csv_open_memory(&csv, "r.csv", text, strlen(text), &err);
    while (status == 0) {
        status = overhead_csv_next(csv, &row, &err);
        if (status == 0)
            fail_msg("was accepted: %s", text);
        status = status < 0 ? status : 0;
    }
    overhead_csv_close(csv);
    assert_string_equal(err.message, message);
}

static void test_refused(void **state)
{
    (void)state;
    check_refused("", "r.csv: empty: a heading with op and python min dispatch time (ms) was expected");
    check_refused("name,count\n", "r.csv:1: no column \"op\": not a CSV of dispatch times");
    check_refused("op,count\na,1\n", "r.csv:1: no column \"python min dispatch time (ms)\": there is nothing "
                                     "to compare with");
    check_refused("op,op,min (ns)\n", "r.csv:1:2: a second column \"op\"");
    check_refused(HEADING "a,1,-0.5,1,1\n",
                  "r.csv:2:3: python min dispatch time (ms): a negative value cannot be: \"-0.5\"");
    check_refused(HEADING "a,1,nan,1,1\n", "r.csv:2:3: python min dispatch time (ms): not a number: \"nan\"");
    check_refused(HEADING "a,1,1e999,1,1\n",
                  "r.csv:2:3: python min dispatch time (ms): not a number: \"1e999\"");
    check_refused(HEADING "a,1,0x10,1,1\n",
                  "r.csv:2:3: python min dispatch time (ms): not a number: \"0x10\"");
    check_refused(HEADING "a,1.5,1,1,1\n", "r.csv:2:2: count: not a count: \"1.5\"");
    check_refused(HEADING "a,1,,1,1\n", "r.csv:2:3: python min dispatch time (ms): no time for op \"a\"");
    check_refused(HEADING "a\n", "r.csv:2:3: python min dispatch time (ms): no time for op \"a\"");
    check_refused(HEADING ",1,1,1,1\n", "r.csv:2:1: op: an op without a name: \"\"");
    check_refused(HEADING "a,1,1,1,1,9\n", "r.csv:2:6: more cells than the heading has columns");
    check_refused(HEADING "a,1,1,1,1\n\nb,1,1,1,1\na,2,2,2,2\n",
                  "r.csv:5:1: op \"a\" was there on line 2 already: keep one of the two");
    check_refused(HEADING "a,1,1,1,1\n\"b,1,1,1,1\n", "r.csv:3: a quote that is never closed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vendor_rows),
        cmocka_unit_test(test_columns_are_found_by_name),
        cmocka_unit_test(test_our_own_file),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
