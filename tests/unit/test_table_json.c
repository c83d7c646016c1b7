/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON writer, the report and the output file. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "text/json/writer.h"
#include "present/document.h"

static void assert_json(struct json *json, const char *expected)
{
    bytes_append_u8(&json->buffer, 0);
    assert_string_equal((const char *)json->buffer.data, expected);
    bytes_free(&json->buffer);
}

static void test_layout(void **state)
{
    struct json json = {0};
    (void)state;
    json_object(&json, JSON_LINES);
    json_member_text(&json, "a", "x");
    json_key(&json, "list");
    json_array(&json, JSON_INLINE);
    json_unsigned(&json, 1);
    json_integer(&json, -2);
    json_null(&json);
    json_end(&json);
    json_key(&json, "empty");
    json_array(&json, JSON_LINES);
    json_end(&json);
    json_key(&json, "inner");
    json_object(&json, JSON_LINES);
    json_member_bool(&json, "yes", true);
    json_end(&json);
    json_end(&json);
    assert_json(&json, "{\n"
                       "  \"a\": \"x\",\n"
                       "  \"list\": [1, -2, null],\n"
                       "  \"empty\": [],\n"
                       "  \"inner\": {\n"
                       "    \"yes\": true\n"
                       "  }\n"
                       "}");
}

static void test_text_is_escaped(void **state)
{
    struct json json = {0};
    static const char text[] = "q\" b\\ n\n t\t z\0 \x1f \x7f \xc3\xa4 \xff \xf0\x9f\x98\x80 \xed\xa0\x80";
    (void)state;
    json_text_length(&json, text, sizeof text - 1);
    assert_json(&json,
                "\"q\\\" b\\\\ n\\n t\\t z\\u0000 \\u001f \\u007f \xc3\xa4 \xef\xbf\xbd \xf0\x9f\x98\x80 "
                "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void test_numbers_are_exact(void **state)
{
    struct json json = {0};
    (void)state;
    json_array(&json, JSON_INLINE);
    json_unsigned(&json, UINT64_MAX);
    json_integer(&json, INT64_MIN);
    json_real(&json, 0.1);
    json_real(&json, 1.0 / 3);
    json_real(&json, 1e300);
    json_real(&json, 5e-324);
    json_real(&json, NAN);
    json_real(&json, INFINITY);
    json_real(&json, 3);
    json_text(&json, NULL);
    json_end(&json);
    assert_json(&json, "[18446744073709551615, -9223372036854775808, 0.1, 0.3333333333333333, 1e+300, "
                       "4.94065645841247e-324, null, null, 3, null]");
}

/* More than the buffer holds: pieces are written as it goes and nothing is lost between them. */
static void test_long_output_is_streamed(void **state)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    struct json json = {.stream = stream};
    (void)state;
    json_array(&json, JSON_INLINE);
    for (unsigned i = 0; i < 100000; i++)
        json_unsigned(&json, i % 10);
    json_end(&json);
    assert_true(json.buffer.capacity < 200000);
    assert_int_equal(json_finish(&json), 0);
    fclose(stream);
    assert_int_equal(length, 100000 * 3 - 2 + 2 + 1);
    for (size_t i = 0; i < 100000; i++)
        assert_int_equal(text[1 + 3 * i], '0' + (int)(i % 10));
    free(text);
}

static const struct table_column columns[] = {{.key = "name", .title = "zone"}};

static char *report_as(enum output_format format)
{
    char *text = NULL;
    size_t length = 0;
    struct output output = {.stream = open_memstream(&text, &length), .format = format};
    struct report report;
    struct table table;
    struct error err = {0};
    table_init(&table, "zones", columns, 1);
    table_add_row(&table);
    table_set_text(&table, 0, "load");
    report_begin(&report, &output, "zones");
    report_text(&report, "host", "host", "h\n1");
    report_number(&report, "length", "length", TABLE_TIME, 1500);
    report_text(&report, "dropped", "dropped (--max-size)", "7 zones");
    report_bool(&report, "is_complete", NULL, true);
    report_heading(&report, "Zones");
    report_table(&report, "rows", &table);
    report_note(&report, TABLE_BAD, "lost: %d \"zones\"", 7);
    report_note(&report, TABLE_BAD, "second");
    assert_int_equal(report_finish(&report, &err), 0);
    if (format == OUTPUT_CSV)
        assert_int_equal(report.notes.length, strlen("lost: 7 \"zones\"\nsecond\n"));
    report_free(&report);
    table_free(&table);
    fclose(output.stream);
    return text;
}

static void test_report_formats(void **state)
{
    (void)state;
    char *text = report_as(OUTPUT_TERMINAL);
    assert_string_equal(text, "host          h\\n1\n"
                              "length        1.500 us\n"
                              "dropped (--max-size) 7 zones\n"
                              "\n"
                              "Zones\n"
                              "zone\n"
                              "load\n"
                              "lost: 7 \"zones\"\n"
                              "second\n");
    free(text);
    text = report_as(OUTPUT_CSV);
    assert_string_equal(text, "name\r\nload\r\n");
    free(text);
    text = report_as(OUTPUT_JSON);
    assert_string_equal(text, "{\n"
                              "  \"table\": \"zones\",\n"
                              "  \"host\": \"h\\n1\",\n"
                              "  \"length_ns\": 1500,\n"
                              "  \"dropped\": \"7 zones\",\n"
                              "  \"is_complete\": true,\n"
                              "  \"rows\": [\n"
                              "    {\"name\": \"load\"}\n"
                              "  ],\n"
                              "  \"notes\": [\n"
                              "    \"lost: 7 \\\"zones\\\"\",\n"
                              "    \"second\"\n"
                              "  ]\n"
                              "}\n");
    free(text);
}

static void test_file_appears_whole(void **state)
{
    char folder[] = "/tmp/opscope-test-XXXXXX", path[64], content[16] = "";
    struct output output;
    struct error err = {0};
    struct stat what;
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/out.csv", folder);
    struct output_options options = {.output = path, .csv = true};
    assert_int_equal(output_open(&output, &options, &err), 0);
    assert_int_equal(output.format, OUTPUT_CSV);
    fputs("whole", output.stream);
    assert_int_equal(stat(path, &what), -1);
    assert_int_equal(output_finish(&output, &err), 0);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fread(content, 1, sizeof content, file), 5);
    fclose(file);
    assert_string_equal(content, "whole");

    /* Given up: what was there stays, and nothing else is left behind. */
    assert_int_equal(output_open(&output, &options, &err), 0);
    fputs("half", output.stream);
    output_abandon(&output);
    assert_int_equal(stat(path, &what), 0);
    assert_int_equal(what.st_size, 5);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0); /* it is empty */
}

static void test_file_errors(void **state)
{
    struct output output;
    struct error err = {0};
    (void)state;
    struct output_options both = {.json = true, .csv = true};
    assert_int_equal(output_open(&output, &both, &err), -EINVAL);
    struct output_options nowhere = {.output = "/nonexistent-folder/x"};
    assert_int_equal(output_open(&output, &nowhere, &err), -ENOENT);
    assert_string_equal(err.message, "cannot write /nonexistent-folder/x: No such file or directory");
    struct output_options folder = {.output = "/tmp"};
    assert_int_equal(output_open(&output, &folder, &err), -EISDIR);
    struct output_options full = {.output = "/dev/full"};
    assert_int_equal(output_open(&output, &full, &err), 0);
    fputs("x", output.stream);
    assert_int_equal(output_finish(&output, &err), -ENOSPC);
}

static void test_width_and_colour(void **state)
{
    struct output output;
    struct error err = {0};
    struct output_options options = {0};
    (void)state;
    setenv("COLUMNS", "123", 1);
    assert_int_equal(output_terminal_width(-1), 123);
    assert_int_equal(output_open(&output, &options, &err), 0);
    assert_int_equal(output.width, 123);
    options.wide = true;
    assert_int_equal(output_open(&output, &options, &err), 0);
    assert_int_equal(output.width, 0);
    setenv("COLUMNS", "12x", 1);
    assert_int_equal(output_terminal_width(-1), 80);
    unsetenv("COLUMNS");
    assert_true(output_may_colour(stdout, OUTPUT_COLOR_ALWAYS));
    assert_false(output_may_colour(stdout, OUTPUT_COLOR_NEVER));
    setenv("NO_COLOR", "1", 1);
    assert_false(output_may_colour(stdout, OUTPUT_COLOR_AUTO));
    unsetenv("NO_COLOR");
}

static size_t write_report(struct report *report, struct output *output, struct table *table,
                           const struct table *rows, bool is_in_parts, char **written)
{
    struct error err = {0};
    size_t most = 0;
    output->stream = tmpfile();
    assert_non_null(output->stream);
    report_begin(report, output, "test");
    for (unsigned i = 0; i < 5000; i++) {
        table_add_row(table);
        table_set_unsigned(table, 0, i);
        table_set_format(table, 1, "row %u, \"quoted\"", i);
        if (is_in_parts)
            report_table_part(report, "rows", table);
        most = table->row_count > most ? table->row_count : most;
    }
    report_table(report, "rows", table);
    report_table(report, "more", rows);
    assert_int_equal(report_finish(report, &err), 0);
    report_free(report);
    long length = ftell(output->stream);
    assert_true(length > 0);
    *written = calloc((size_t)length + 1, 1);
    assert_non_null(*written);
    rewind(output->stream);
    assert_int_equal(fread(*written, 1, (size_t)length, output->stream), length);
    fclose(output->stream);
    return most;
}

/* A long table that goes out in parts is the same file as one that was kept whole, and a table after it has its own
 * header or key. */
static void test_tables_in_parts(void **state)
{
    static const struct table_column long_columns[] = {{.key = "n", .title = "n", .type = TABLE_INTEGER},
                                                       {.key = "text", .title = "text"}};
    static const enum output_format formats[] = {OUTPUT_CSV, OUTPUT_JSON};
    struct table few;
    (void)state;
    table_init(&few, "f", long_columns, 2);
    table_add_row(&few);
    table_set_text(&few, 1, "one");
    for (size_t i = 0; i < 2; i++) {
        struct output output = {.format = formats[i]};
        struct report report;
        struct table whole, parts;
        char *expected, *written;
        table_init(&whole, "t", long_columns, 2);
        table_init(&parts, "t", long_columns, 2);
        assert_int_equal(write_report(&report, &output, &whole, &few, false, &expected), 5000);
        assert_true(write_report(&report, &output, &parts, &few, true, &written) < 2000);
        assert_non_null(strstr(expected, "row 4999"));
        assert_string_equal(written, expected);
        free(written);
        free(expected);
        table_free(&whole);
        table_free(&parts);
    }
    table_free(&few);
}

/* The fewest of 15, 16 or 17 digits that read back as the same number, whichever way they are found. */
static void test_reals_have_the_fewest_digits(void **state)
{
    uint64_t random = UINT64_C(88172645463325252);
    struct bytes out = {0};
    (void)state;
    for (unsigned i = 0; i < 400000; i++) {
        char expected[40];
        double value;
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        if (i % 5 == 0)
            value = (double)(random % 100000000) / 1000;
        else if (i % 5 == 1)
            value = -(double)(random % 1000000) / (double)(i + 1);
        else if (i % 5 == 2)
            memcpy(&value, &random, sizeof value);
        else
            value = ldexp((double)(random >> 11), -(int)(random % 80));
        if (!isfinite(value))
            continue;
        for (int digits = 15; digits <= 17; digits++) {
            snprintf(expected, sizeof expected, "%.*g", digits, value);
            if (strtod(expected, NULL) == value)
                break;
        }
        bytes_clear(&out);
        json_append_real(&out, value);
        bytes_append_u8(&out, 0);
        assert_string_equal((const char *)out.data, expected);
    }
    bytes_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reals_have_the_fewest_digits),
        cmocka_unit_test(test_tables_in_parts),
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_text_is_escaped),
        cmocka_unit_test(test_numbers_are_exact),
        cmocka_unit_test(test_long_output_is_streamed),
        cmocka_unit_test(test_report_formats),
        cmocka_unit_test(test_file_appears_whole),
        cmocka_unit_test(test_file_errors),
        cmocka_unit_test(test_width_and_colour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
