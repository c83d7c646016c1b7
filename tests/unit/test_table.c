/* SPDX-License-Identifier: Apache-2.0 */
/* The table model and its writers: what is printed, byte for byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "present/format.h"
#include "present/table.h"
#include "text/utf8.h"

enum { NAME, COUNT, TOTAL, SHARE, MEAN, FILE_NAME, COLUMNS };

static const struct table_column columns[COLUMNS] = {
    [NAME] = {.key = "name", .title = "zone", .shrink = 10},
    [COUNT] = {.key = "count", .title = "count", .type = TABLE_INTEGER},
    [TOTAL] = {.key = "total", .title = "total", .type = TABLE_TIME, .drop = 1},
    [SHARE] = {.key = "share", .title = "share", .type = TABLE_PERCENT, .decimals = 1, .drop = 2},
    [MEAN] = {.key = "mean", .title = "mean", .type = TABLE_TIME, .drop = 3},
    [FILE_NAME] = {.key = "file", .shown = TABLE_DATA_ONLY},
};

static void fill(struct table *table)
{
    table_init(table, "zones", columns, COLUMNS);
    table_add_row(table);
    table_set_text(table, NAME, "load");
    table_set_unsigned(table, COUNT, 1234567);
    table_set_unsigned(table, TOTAL, 1234567);
    table_set_real(table, SHARE, 99.96);
    table_set_real(table, MEAN, 17.25);
    table_set_text(table, FILE_NAME, "a,b \"c\".c");
    table_add_row(table);
    table_set_text(table, NAME, "a_very_long_zone_name_that_goes_on");
    table_set_unsigned(table, COUNT, 2);
    table_set_unsigned(table, TOTAL, 999);
    table_set_real(table, SHARE, 0.01);
    table_add_row(table);
    table_set_text(table, NAME, "tab\there");
    table_set_integer(table, COUNT, -5);
}

static void assert_terminal(const struct table *table, struct table_look look, const char *expected)
{
    struct bytes out = {0};
    table_append_terminal(table, &look, &out);
    bytes_append_u8(&out, 0);
    assert_false(out.failed);
    assert_string_equal((const char *)out.data, expected);
    bytes_free(&out);
}

static void test_terminal_without_limit(void **state)
{
    struct table table;
    (void)state;
    fill(&table);
    assert_terminal(&table, (struct table_look){0},
                    "zone                                    count     total   share     mean\n"
                    "load                                1,234,567  1.235 ms  100.0%  17.2 ns\n"
                    "a_very_long_zone_name_that_goes_on          2    999 ns   <0.1%        -\n"
                    "tab\\there                                  -5         -       -        -\n");
    table_free(&table);
}

static void test_terminal_shortens_texts_first(void **state)
{
    struct table table;
    (void)state;
    fill(&table);
    assert_terminal(&table, (struct table_look){.width = 60},
                    "zone                        count     total   share     mean\n"
                    "load                    1,234,567  1.235 ms  100.0%  17.2 ns\n"
                    "a_very_lon..at_goes_on          2    999 ns   <0.1%        -\n"
                    "tab\\there                      -5         -       -        -\n");
    assert_terminal(&table, (struct table_look){.width = 60, .is_utf8 = true},
                    "zone                        count     total   share     mean\n"
                    "load                    1,234,567  1.235 ms  100.0%  17.2 ns\n"
                    "a_very_long\xe2\x80\xa6"
                    "at_goes_on          2    999 ns   <0.1%        -\n"
                    "tab\\there                      -5         -       -        -\n");
    table_free(&table);
}

static void test_terminal_drops_columns_and_says_so(void **state)
{
    struct table table;
    (void)state;
    fill(&table);
    assert_terminal(&table, (struct table_look){.width = 40},
                    "zone             count     total   share\n"
                    "load         1,234,567  1.235 ms  100.0%\n"
                    "a_ver..s_on          2    999 ns   <0.1%\n"
                    "tab\\there           -5         -       -\n"
                    "(1 column not shown: mean; --wide shows it)\n");
    assert_terminal(&table, (struct table_look){.width = 20},
                    "zone           count\n"
                    "load       1,234,567\n"
                    "a_ve.._on          2\n"
                    "tab\\there         -5\n"
                    "(3 columns not shown: total, share, mean; --wide shows them)\n");
    table_free(&table);
}

/* A wide text gives way before a heading is cut; only where nothing else helps it is. */
static void test_terminal_keeps_headings(void **state)
{
    static const struct table_column texts[] = {{.key = "a", .title = "long heading", .shrink = 10},
                                                {.key = "b", .title = "b", .shrink = 18}};
    struct table table;
    (void)state;
    table_init(&table, "texts", texts, 2);
    table_add_row(&table);
    table_set_text(&table, 0, "a_long_text_here");
    table_set_text(&table, 1, "another_long_text_here");
    assert_terminal(&table, (struct table_look){.width = 22},
                    "long heading  b\n"
                    "a_lon.._here  ano..ere\n");
    assert_terminal(&table, (struct table_look){.width = 14},
                    "long h..  b\n"
                    "a_l..ere  a..e\n");
    table_free(&table);
}

/* Whatever the width, no line of the table itself is wider, as long as the numbers that must stay fit. */
static void test_terminal_fits_every_width(void **state)
{
    struct table table;
    (void)state;
    fill(&table);
    for (unsigned width = 16; width < 90; width++) {
        struct bytes out = {0};
        struct table_look look = {.width = width, .is_utf8 = true};
        table_append_terminal(&table, &look, &out);
        size_t start = 0, lines = 0;
        for (size_t i = 0; i < out.length; i++) {
            if (out.data[i] != '\n')
                continue;
            if (out.data[start] != '(')
                assert_true(utf8_width((const char *)out.data + start, i - start) <= width);
            start = i + 1;
            lines++;
        }
        assert_true(lines >= 4);
        bytes_free(&out);
    }
    table_free(&table);
}

static void test_terminal_colours(void **state)
{
    struct table table;
    (void)state;
    table_init(&table, "t", columns, 2);
    table_add_row(&table);
    table_set_text(&table, NAME, "slow");
    table_set_style(&table, NAME, TABLE_BAD);
    table_set_unsigned(&table, COUNT, 1);
    table_add_row(&table);
    table_set_text(&table, NAME, "x");
    assert_terminal(&table, (struct table_look){.is_coloured = true},
                    "\033[1mzone  count\033[0m\n"
                    "\033[31mslow\033[0m      1\n"
                    "x     \033[2m    -\033[0m\n");
    table_free(&table);
}

static void test_terminal_indents_and_aligns_wide_characters(void **state)
{
    static const struct table_column two[] = {
        {.key = "name", .title = "name", .shrink = 8},
        {.key = "pid", .title = "pid", .type = TABLE_IDENTIFIER},
    };
    struct table table;
    (void)state;
    table_init(&table, "t", two, 2);
    table_add_row(&table);
    table_set_text(&table, 0, "\xe6\xbc\xa2\xe5\xad\x97"); /* two characters, four columns */
    table_set_unsigned(&table, 1, 1234);
    table_add_row(&table);
    table_set_text(&table, 0, "cafe\xcc\x81"); /* a combining accent */
    table_set_indent(&table, 0, 2);
    table_set_unsigned(&table, 1, 5);
    assert_terminal(&table, (struct table_look){0},
                    "name       pid\n"
                    "\xe6\xbc\xa2\xe5\xad\x97      1234\n"
                    "    cafe\xcc\x81     5\n");
    table_free(&table);
}

static void test_terminal_empty(void **state)
{
    struct table table;
    (void)state;
    table_init(&table, "t", columns, COLUMNS);
    assert_terminal(&table, (struct table_look){.width = 80}, "zone  count  total  share  mean\n");
    table_free(&table);
}

static void test_csv(void **state)
{
    struct table table;
    struct bytes out = {0};
    (void)state;
    fill(&table);
    table_add_row(&table);
    table_set_text(&table, NAME, "two\nlines");
    table_set_unsigned(&table, COUNT, UINT64_MAX);
    table_set_real(&table, SHARE, 1.0 / 3);
    table_append_csv(&table, &out);
    bytes_append_u8(&out, 0);
    assert_string_equal((const char *)out.data,
                        "name,count,total_ns,share_percent,mean_ns,file\r\n"
                        "load,1234567,1234567,99.96,17.25,\"a,b \"\"c\"\".c\"\r\n"
                        "a_very_long_zone_name_that_goes_on,2,999,0.01,,\r\n"
                        "tab\there,-5,,,,\r\n"
                        "\"two\nlines\",18446744073709551615,,0.3333333333333333,,\r\n");
    bytes_free(&out);
    table_free(&table);
}

static void test_json_rows(void **state)
{
    struct table table;
    struct json json = {0};
    (void)state;
    fill(&table);
    table_write_json_rows(&table, &json);
    bytes_append_u8(&json.buffer, 0);
    assert_string_equal(
        (const char *)json.buffer.data,
        "[\n"
        "  {\"name\": \"load\", \"count\": 1234567, \"total_ns\": 1234567, \"share_percent\": 99.96, "
        "\"mean_ns\": 17.25, \"file\": \"a,b \\\"c\\\".c\"},\n"
        "  {\"name\": \"a_very_long_zone_name_that_goes_on\", \"count\": 2, \"total_ns\": 999, "
        "\"share_percent\": 0.01, \"mean_ns\": null, \"file\": null},\n"
        "  {\"name\": \"tab\\there\", \"count\": -5, \"total_ns\": null, \"share_percent\": null, "
        "\"mean_ns\": null, \"file\": null}\n"
        "]");
    bytes_free(&json.buffer);
    table_free(&table);
}

static void test_sort_is_stable_and_keeps_missing_last(void **state)
{
    struct table table;
    (void)state;
    const uint64_t counts[] = {5, 9, 5, UINT64_MAX, 9};
    table_init(&table, "t", columns, COLUMNS);
    for (size_t i = 0; i < 5; i++) {
        table_add_row(&table);
        table_set_unsigned(&table, TOTAL, i);
        table_set_unsigned(&table, COUNT, counts[i]);
    }
    table_add_row(&table);
    table_set_unsigned(&table, TOTAL, 5);
    assert_int_equal(table_find_column(&table, "total_ns"), TOTAL);
    assert_int_equal(table_find_column(&table, "total"), TOTAL);
    assert_true(table_find_column(&table, "tot") == SIZE_MAX);
    const uint64_t down[] = {3, 1, 4, 0, 2, 5}, up[] = {0, 2, 1, 4, 3, 5};
    table_sort(&table, COUNT, true);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(table_cell(&table, i, TOTAL)->magnitude, down[i]);
    table_sort(&table, TOTAL, false);
    table_sort(&table, COUNT, false);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(table_cell(&table, i, TOTAL)->magnitude, up[i]);
    table_truncate(&table, 2);
    assert_int_equal(table.row_count, 2);
    table_free(&table);
}

static void test_times(void **state)
{
    static const struct {
        uint64_t ns;
        const char *text;
    } cases[] = {
        {0, "0 ns"},
        {999, "999 ns"},
        {1000, "1.000 us"},
        {999499, "999.499 us"},
        {999999, "999.999 us"},
        {999999499, "999.999 ms"},
        {999999500, "1.000 s"},
        {1000000, "1.000 ms"},
        {59999999999, "60.000 s"},
        {9999999000000, "9999.999 s"},
        {36000000000000, "10.000 h"},
        {UINT64_MAX, "5124095.576 h"},
    };
    struct number_text number;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(format_time(&number, cases[i].ns), cases[i].text);
    assert_string_equal(format_time_real(&number, 17.26), "17.3 ns");
    assert_string_equal(format_time_real(&number, 999.96), "1.000 us");
    assert_string_equal(format_time_real(&number, -1500), "-1.500 us");
}

static void test_other_numbers(void **state)
{
    struct number_text number;
    (void)state;
    assert_string_equal(format_count(&number, 0), "0");
    assert_string_equal(format_count(&number, 999), "999");
    assert_string_equal(format_count(&number, 1000), "1,000");
    assert_string_equal(format_count(&number, UINT64_MAX), "18,446,744,073,709,551,615");
    assert_string_equal(format_bytes(&number, 1023), "1023 B");
    assert_string_equal(format_bytes(&number, 1024), "1.0 KiB");
    assert_string_equal(format_bytes(&number, 1048575), "1.0 MiB");
    assert_string_equal(format_bytes(&number, UINT64_MAX), "16.0 EiB");
    assert_string_equal(format_percent(&number, 0, 1), "0.0%");
    assert_string_equal(format_percent(&number, 0.04, 1), "<0.1%");
    assert_string_equal(format_percent(&number, 0.05, 1), "0.1%");
    assert_string_equal(format_percent(&number, 250, 0), "250%");
    assert_string_equal(format_instant(&number, 1999999600), "2.000000 s");
    assert_string_equal(format_instant(&number, 1234), "0.000001 s");
}

static void assert_visible(const char *text, size_t length, const char *expected)
{
    struct bytes out = {0};
    utf8_append_visible(&out, text, length);
    bytes_append_u8(&out, 0);
    assert_string_equal((const char *)out.data, expected);
    bytes_free(&out);
}

static void test_text_is_safe_for_a_terminal(void **state)
{
    (void)state;
    assert_visible("a\033[31mb", 7, "a\\x1b[31mb");
    assert_visible("a\nb\tc\r", 6, "a\\nb\\tc\\r");
    assert_visible("\xc2\x9b", 2, "\\x9b"); /* a control sequence introducer in one character */
    assert_visible("\xe2\x80\xae"
                   "x",
                   4, "\\u202ex"); /* turns the line around */
    assert_visible("\xff"
                   "a\xc3",
                   3,
                   "\xef\xbf\xbd"
                   "a\xef\xbf\xbd");                                           /* not UTF-8 */
    assert_visible("\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* a surrogate */
    assert_visible("\xe2\x82", 2, "\xef\xbf\xbd");                             /* cut in the middle */
    assert_visible("\xc3\xa4", 2, "\xc3\xa4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_terminal_without_limit),
        cmocka_unit_test(test_terminal_shortens_texts_first),
        cmocka_unit_test(test_terminal_drops_columns_and_says_so),
        cmocka_unit_test(test_terminal_keeps_headings),
        cmocka_unit_test(test_terminal_fits_every_width),
        cmocka_unit_test(test_terminal_colours),
        cmocka_unit_test(test_terminal_indents_and_aligns_wide_characters),
        cmocka_unit_test(test_terminal_empty),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_json_rows),
        cmocka_unit_test(test_sort_is_stable_and_keeps_missing_last),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_other_numbers),
        cmocka_unit_test(test_text_is_safe_for_a_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
