/* SPDX-License-Identifier: Apache-2.0 */
/* The CSV reader: quotes, line ends, marks, sizes; and the rows of an ops CSV on top of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "text/csv/reader.h"
#include "import/op_rows.h"

/* The rows of a text as one line each: cells in <>, "line:" in front. */
static char *rendered(const char *text, size_t length)
{
    struct csv_reader reader;
    struct error err = {0};
    struct bytes out = {0};
    int status;
    assert_int_equal(csv_open_memory(&reader, "t.csv", text, length, &err), 0);
    while ((status = csv_next(&reader, &err)) > 0) {
        bytes_append_format(&out, "%llu:", (unsigned long long)reader.line);
        for (size_t i = 0; i < reader.cell_count; i++) {
            bytes_append_text(&out, "<");
            bytes_append(&out, reader.cells[i].data, reader.cells[i].length);
            bytes_append_text(&out, ">");
        }
        bytes_append_text(&out, reader.is_cut ? "|" : ";");
    }
    assert_int_equal(status, 0);
    if (reader.unclosed_line)
        bytes_append_format(&out, "unclosed %llu", (unsigned long long)reader.unclosed_line);
    csv_close(&reader);
    bytes_append_u8(&out, 0);
    return (char *)out.data;
}

static void check(const char *text, const char *expected)
{
    char *got = rendered(text, strlen(text));
    assert_string_equal(got, expected);
    free(got);
}

static void test_cells(void **state)
{
    (void)state;
    check("", "");
    check("a,b\n1,2\n", "1:<a><b>;2:<1><2>;");
    check("a,,\n,\n", "1:<a><><>;2:<><>;");
    check("a,b", "1:<a><b>|");
    check("a b , c\n", "1:<a b >< c>;");
}

static void test_line_ends(void **state)
{
    (void)state;
    check("a\r\nb\rc\nd\r", "1:<a>;2:<b>;3:<c>;4:<d>;");
    check("a\n\n \t\nb\n", "1:<a>;4:<b>;");
    check("\r\n\r\na\n", "3:<a>;");
}

static void test_quotes(void **state)
{
    (void)state;
    check("\"a,b\",c\n", "1:<a,b><c>;");
    check("\"a\"\"b\"\"\",c\n", "1:<a\"b\"><c>;");
    check("\"\",\"\"\n", "1:<><>;");
    check("\"a\"b\"c,d\n", "1:<ab\"c><d>;");
    check("a\"b,c\"\n", "1:<a\"b><c\">;");
    check("\"one\ntwo\r\nthree\",x\ny\n", "1:<one\ntwo\r\nthree><x>;4:<y>;");
    check("\"a\"", "1:<a>|");
    check("a\nb,\"c\nd", "1:<a>;unclosed 2");
    check("\"", "unclosed 1");
}

static void test_byte_order_mark(void **state)
{
    struct csv_reader reader;
    struct error err = {0};
    (void)state;
    check("\xef\xbb\xbfname,b\n", "1:<name><b>;");
    check("\xef\xbb", "1:<\xef\xbb>|");
    assert_true(csv_open_memory(&reader, "t.csv",
                                "\xff\xfe"
                                "a",
                                3, &err) < 0);
    assert_non_null(strstr(err.message, "UTF-16"));
}

static void test_nul_bytes_are_bytes(void **state)
{
    static const char text[] = "a\0b,c\n\0,\n";
    struct csv_reader reader;
    (void)state;
    assert_int_equal(csv_open_memory(&reader, "t.csv", text, sizeof text - 1, NULL), 0);
    assert_int_equal(csv_next(&reader, NULL), 1);
    assert_int_equal(reader.cells[0].length, 3);
    assert_memory_equal(reader.cells[0].data, "a\0b", 3);
    assert_int_equal(csv_next(&reader, NULL), 1);
    assert_int_equal(reader.cells[0].length, 1);
    csv_close(&reader);
}

/* Every position of a separator relative to the 64-byte blocks and to the buffer's end. */
static void test_every_alignment(void **state)
{
    (void)state;
    for (size_t length = 0; length < 200; length++) {
        struct bytes text = {0};
        struct csv_reader reader;
        for (unsigned row = 0; row < 3; row++) {
            for (size_t i = 0; i < length; i++)
                bytes_append_u8(&text, 'x');
            bytes_append_text(&text, ",\"y,\"\"\",z\r\n");
        }
        assert_int_equal(csv_open_memory(&reader, "t.csv", text.data, text.length, NULL), 0);
        for (unsigned row = 0; row < 3; row++) {
            assert_int_equal(csv_next(&reader, NULL), 1);
            assert_int_equal(reader.cell_count, 3);
            assert_int_equal(reader.cells[0].length, length);
            assert_int_equal(reader.cells[1].length, 3);
            assert_int_equal(reader.line, row + 1);
        }
        assert_int_equal(csv_next(&reader, NULL), 0);
        csv_close(&reader);
        bytes_free(&text);
    }
}

static void test_large_cells_and_many_columns(void **state)
{
    struct bytes text = {0};
    struct csv_reader reader;
    const size_t cell = (size_t)10 << 20, columns = 1000000;
    (void)state;
    bytes_append_text(&text, "a,\"");
    assert_true(bytes_reserve(&text, cell));
    memset(text.data + text.length, 'q', cell);
    text.length += cell;
    bytes_append_text(&text, "\"\n");
    for (size_t i = 0; i + 1 < columns; i++)
        bytes_append_text(&text, "1,");
    bytes_append_text(&text, "1\n");
    assert_int_equal(csv_open_memory(&reader, "t.csv", text.data, text.length, NULL), 0);
    assert_int_equal(csv_next(&reader, NULL), 1);
    assert_int_equal(reader.cells[1].length, cell);
    assert_int_equal(csv_next(&reader, NULL), 1);
    assert_int_equal(reader.cell_count, columns);
    assert_int_equal(csv_next(&reader, NULL), 0);
    csv_close(&reader);
    bytes_free(&text);
}

static void assert_cell(struct slice cell, const char *text)
{
    assert_non_null(cell.data);
    assert_int_equal(cell.length, strlen(text));
    assert_memory_equal(cell.data, text, cell.length);
}

static void assert_notice(const struct op_rows *rows, size_t i, const char *expected)
{
    struct bytes text = {0};
    assert_true(i < op_rows_notice_count(rows));
    op_rows_append_notice(rows, op_rows_notice(rows, i), &text);
    bytes_append_u8(&text, 0);
    assert_string_equal((const char *)text.data, expected);
    bytes_free(&text);
}

static void test_rows_by_name(void **state)
{
    static const char text[] = "B,OP CODE,A,B\n1,op,2,3\n4,other\n5,x,6,7,8,9\n";
    static const char *const names[] = {"A", "none", "B", "OP CODE"};
    struct op_rows *rows;
    struct op_row row;
    struct error err = {0};
    (void)state;
    assert_int_equal(op_rows_open_memory(&rows, "t.csv", text, sizeof text - 1, &err), 0);
    assert_string_equal(op_rows_kind(rows), "ops CSV");
    assert_int_equal(op_rows_column_count(rows), 4);
    assert_int_equal(op_rows_find_column(rows, "B"), 0);
    assert_int_equal(op_rows_select(rows, names, 4, &err), 0);
    assert_int_equal(op_rows_next(rows, &row, &err), 1);
    assert_cell(row.cells[0], "2");
    assert_null(row.cells[1].data);
    assert_cell(row.cells[2], "1");
    assert_cell(row.cells[3], "op");
    assert_int_equal(op_rows_next(rows, &row, &err), 1);
    assert_null(row.cells[0].data);
    assert_int_equal(row.line, 3);
    assert_int_equal(row.index, 1);
    assert_int_equal(op_rows_next(rows, &row, &err), 1);
    assert_cell(row.cells[0], "6");
    assert_int_equal(op_rows_next(rows, &row, &err), 0);
    assert_notice(rows, 0, "t.csv:1: column 'B' comes twice, as column 1 and 4; the first counts");
    assert_notice(rows, 1,
                  "t.csv:1: no column 'OP TYPE', 'GLOBAL CALL COUNT', 'DEVICE ID', 'ATTRIBUTES', "
                  "'MATH FIDELITY', 'CORE COUNT', 'HOST START TS', 'OP TO OP LATENCY [ns]', "
                  "'DEVICE KERNEL DURATION [ns]', 'INPUT_0_*', 'INPUT_1_*', 'OUTPUT_0_*'; its values are "
                  "missing");
    assert_notice(rows, 2, "t.csv:3: 2 cells under 4 columns; the cells from column 'A' on are missing");
    assert_notice(rows, 3, "t.csv:4: 6 cells under 4 columns; the cells after the last column are left out");
    assert_int_equal(op_rows_notice_count(rows), 4);
    op_rows_close(rows);
}

static void test_cut_row_loses_its_last_cell(void **state)
{
    static const char text[] = "OP CODE,A,B\nop,1,2\nop,12";
    struct op_rows *rows;
    struct op_row row;
    (void)state;
    assert_int_equal(op_rows_open_memory(&rows, "t.csv", text, sizeof text - 1, NULL), 0);
    assert_int_equal(op_rows_next(rows, &row, NULL), 1);
    assert_int_equal(op_rows_next(rows, &row, NULL), 1);
    assert_cell(row.cells[0], "op");
    assert_null(row.cells[1].data);
    assert_int_equal(op_rows_next(rows, &row, NULL), 0);
    assert_notice(rows, 1,
                  "t.csv:3: the file ends inside this row, in column 'A'; that cell and those after it are "
                  "missing");
    op_rows_close(rows);
}

static void test_refuses_what_is_no_ops_csv(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "t.csv:1: the file is empty"},
        {"OP CODE;OP TYPE\n", "t.csv:1: the columns are separated by ';'"},
        {"# comment\nOP CODE\n", "t.csv:1: this is not an ops CSV"},
        {"\"OP CODE", "t.csv:1: a quoted column name is not closed"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct op_rows *rows;
        struct error err = {0};
        assert_true(op_rows_open_memory(&rows, "t.csv", cases[i].text, strlen(cases[i].text), &err) < 0);
        assert_null(rows);
        assert_non_null(strstr(err.message, cases[i].message));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_line_ends),
        cmocka_unit_test(test_quotes),
        cmocka_unit_test(test_byte_order_mark),
        cmocka_unit_test(test_nul_bytes_are_bytes),
        cmocka_unit_test(test_every_alignment),
        cmocka_unit_test(test_large_cells_and_many_columns),
        cmocka_unit_test(test_rows_by_name),
        cmocka_unit_test(test_cut_row_loses_its_last_cell),
        cmocka_unit_test(test_refuses_what_is_no_ops_csv),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
