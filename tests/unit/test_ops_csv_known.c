/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that share a description: found as pieces of the file, as cells where quotes lie between them, and never mixed
 * up with others whose bytes look alike. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "import/ops_csv/reader.h"
#include "import/ops_csv/model.h"

#define HEADER                                                                                               \
    "OP CODE,OP TYPE,MATH FIDELITY,ATTRIBUTES,CORE COUNT,LOC,MODULE PATH,DEVICE KERNEL DURATION [ns]\n"
#define TYPE "tt_dnn_device"

static struct ops ops;

static int begin(void **state)
{
    (void)state;
    ops_init(&ops);
    return 0;
}

static int end(void **state)
{
    (void)state;
    ops_free(&ops);
    return 0;
}

static void read_table(const char *text)
{
    struct op_rows *rows;
    struct error err = {0};
    struct ops_csv_request request = {0};
    struct ops_csv_summary summary;
    assert_int_equal(ops_csv_open_memory(&rows, "t.csv", text, strlen(text), &err), 0);
    assert_int_equal(ops_csv_to_model(&ops, rows, &request, &summary, &err), 0);
    op_rows_close(rows);
}

static uint32_t description_of(size_t call)
{
    return ops.calls[call].description;
}

static void check_texts(size_t call, const char *fidelity, const char *location, const char *module)
{
    const struct op_description *d = &ops.descriptions[description_of(call)];
    assert_string_equal(ops_get_text(&ops, d->fidelity), fidelity);
    assert_string_equal(ops_get_text(&ops, d->location), location);
    assert_string_equal(ops_get_text(&ops, d->module), module);
}

/* The same two descriptions in a loop, with and without quotes: cells decide, not how they are written. */
static void test_quotes_do_not_matter(void **state)
{
    (void)state;
    read_table(HEADER "a," TYPE ",HiFi2,{'k': '1'},8,x.py:1,m.a,100\n"
                      "b," TYPE ",LoFi,{'k': '2'},8,x.py:2,m.b,100\n"
                      "a," TYPE ",HiFi2,{'k': '1'},8,x.py:1,m.a,101\n"
                      "b," TYPE ",\"LoFi\",{'k': '2'},8,\"x.py:2\",\"m.b\",101\n"
                      "a,\"" TYPE "\",HiFi2,\"{'k': '1'}\",8,x.py:1,m.a,102\n"
                      "b," TYPE ",LoFi,{'k': '2'},9,x.py:2,m.b,102\n"
                      "a," TYPE ",HiFi2,{'k': '1'},9,x.py:1,m.b,103\n");
    assert_int_equal(ops.call_count, 7);
    assert_int_equal(ops.description_count, 3);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(description_of(i), description_of(i % 2));
    check_texts(0, "HiFi2", "x.py:1", "m.a");
    check_texts(3, "LoFi", "x.py:2", "m.b");
    check_texts(6, "HiFi2", "x.py:1", "m.b");
}

/* Cells whose bytes are the same one after the other, cut at different places. */
static void test_cells_are_not_mixed_up(void **state)
{
    (void)state;
    read_table(HEADER "a," TYPE ",\"F\",,8,\"p,q\",r,1\n"
                      "a," TYPE ",\"F\",,8,p,\"q,r\",1\n"
                      "a," TYPE ",F,,8,pq,r,1\n"
                      "a," TYPE ",F,,8,p,qr,1\n"
                      "a," TYPE ",F,,8,,pqr,1\n"
                      "a," TYPE ",F,,8,\"p\nq\",r,1\n"
                      "a," TYPE ",F,,8,p,\"q\nr\",1\n"
                      "a," TYPE ",F,,8,\"p\"\"\",r,1\n"
                      "a," TYPE ",F,,8,p\",r,1\n"
                      "a," TYPE ",F,,8\n");
    assert_int_equal(ops.call_count, 10);
    check_texts(0, "F", "p,q", "r");
    check_texts(1, "F", "p", "q,r");
    check_texts(2, "F", "pq", "r");
    check_texts(3, "F", "p", "qr");
    check_texts(4, "F", "", "pqr");
    check_texts(5, "F", "p\nq", "r");
    check_texts(6, "F", "p", "q\nr");
    check_texts(7, "F", "p\"", "r");
    assert_int_equal(description_of(8), description_of(7));
    check_texts(9, "F", "", "");
}

/* More descriptions than are remembered, twice: each row has its own. */
static void test_more_than_are_remembered(void **state)
{
    struct bytes text = {0};
    const unsigned count = 20000;
    (void)state;
    bytes_append_text(&text, HEADER);
    for (unsigned i = 0; i < 2 * count; i++)
        bytes_append_format(&text, "a," TYPE ",F,{'n': '%u'},8,x.py:%u,m,1\n", i % count, i % count);
    read_table(bytes_text(&text));
    bytes_free(&text);
    assert_int_equal(ops.description_count, count);
    for (unsigned i = 0; i < 2 * count; i++) {
        char location[32];
        snprintf(location, sizeof location, "x.py:%u", i % count);
        check_texts(i, "F", location, "m");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_quotes_do_not_matter, begin, end),
        cmocka_unit_test_setup_teardown(test_cells_are_not_mixed_up, begin, end),
        cmocka_unit_test_setup_teardown(test_more_than_are_remembered, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
