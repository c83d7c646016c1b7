/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign text in each medium: terminal, CSV, JSON, HTML, XML. Nothing that a terminal, a spreadsheet or a browser
 * would act upon gets through; what is exact stays exact. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/count_of.h"
#include "text/csv/writer.h"
#include "text/json/writer.h"
#include "text/markup_write.h"
#include "text/source_file.h"
#include "text/source_text.h"
#include "text/utf8.h"

static void expect(struct bytes *b, const char *expected)
{
    assert_string_equal(bytes_text(b), expected);
    bytes_free(b);
}

/* ESC, the C1 CSI, a right-to-left override, an Arabic letter mark, a line separator, a broken byte. */
static const char hostile[] = "a\x1b[31m\xc2\x9b"
                              "b\xe2\x80\xae\xd8\x9c\xe2\x80\xa8\xff";

static void test_terminal(void **state)
{
    (void)state;
    struct bytes b = {0};
    utf8_append_visible(&b, hostile, strlen(hostile));
    expect(&b, "a\\x1b[31m\\x9bb\\u202e\\u061c\\u2028\xef\xbf\xbd");
    utf8_append_visible(&b, "1\n2\r\n3\t4\r5", 10);
    expect(&b, "1\\n2\\r\\n3\\t4\\r5");
    utf8_append_visible_lines(&b, "1\n2\r\n3\t4\r5\x1b\n", 12);
    expect(&b, "1\n2\r\n3\t4\\r5\\x1b\n");
}

static void test_csv(void **state)
{
    (void)state;
    static const struct {
        const char *text, *cell;
    } cases[] = {
        {"plain", "plain"},
        {"", ""},
        {"a,b", "\"a,b\""},
        {"say \"x\"", "\"say \"\"x\"\"\""},
        {"two\nlines", "\"two\nlines\""},
        {"two\r\nlines", "\"two\r\nlines\""},
        {"over\rwritten", "over\\rwritten"},
        {hostile, "a\\x1b[31m\\x9bb\\u202e\\u061c\\u2028\xef\xbf\xbd"},
        {"\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9"},
        {"=1+1", "'=1+1"},
        {"=HYPERLINK(\"x\",\"y\")", "\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\""},
        {"@SUM(A1)", "'@SUM(A1)"},
        {"+cmd|'/C calc'!A0", "'+cmd|'/C calc'!A0"},
        {"-f(x)", "'-f(x)"},
        {"\t=1", "'\t=1"},
        {"-12.5", "-12.5"}, /* a number is no formula */
        {"+7", "+7"},
        {"-", "-"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct bytes b = {0};
        csv_append_text(&b, cases[i].text, strlen(cases[i].text));
        expect(&b, cases[i].cell);
    }
}

static void test_csv_byte_for_byte(void **state)
{
    (void)state;
    struct bytes b = {0};
    csv_append_exact_text(&b, hostile);
    expect(&b, hostile);
    csv_append_exact_text(&b, "=1,\"2\"");
    expect(&b, "\"=1,\"\"2\"\"\"");
    csv_append_exact_text(&b, " x ");
    expect(&b, " x ");
}

static void test_json(void **state)
{
    (void)state;
    struct bytes b = {0};
    json_append_string(&b, hostile, strlen(hostile));
    expect(&b, "\"a\\u001b[31m\\u009bb\\u202e\\u061c\\u2028\xef\xbf\xbd\"");
    json_append_string(&b, "\xc2\x85\xc3\xa9", 4);
    expect(&b, "\"\\u0085\xc3\xa9\"");
}

static void test_html_and_xml(void **state)
{
    (void)state;
    struct bytes b = {0};
    html_append_text(&b, "<a href='x' & \"y\">\x1b\n");
    expect(&b, "&lt;a href=&#39;x&#39; &amp; &quot;y&quot;&gt;\\x1b\\n");
    html_append_text(&b, hostile);
    expect(&b, "a\\x1b[31m\\x9bb\\u202e\\u061c\\u2028\xef\xbf\xbd");
    xml_append_text(&b, "1\n2\t\x1b<", false);
    expect(&b, "1\n2\t\\x1b&lt;");
    xml_append_text(&b, "1\n2\t3\r\n", true);
    expect(&b, "1&#10;2&#9;3&#13;&#10;");
}

static void check_source(const char *bytes, const char *line)
{
    struct source_text source;
    assert_int_equal(source_text_parse(&source, bytes, strlen(bytes), NULL), 0);
    assert_string_equal(source_text_line(&source, (uint32_t)source.line_count), line);
    source_text_free(&source);
}

/* Stretches of a file: what is between them is not there. */
static void test_source_in_stretches(void **state)
{
    (void)state;
    struct source_text source = {0};
    assert_true(source_text_add(&source, 3, "three\nf\tour\n", 12));
    assert_true(source_text_add(&source, 9, "nine", 4));
    assert_null(source_text_line(&source, 2));
    assert_string_equal(source_text_line(&source, 3), "three");
    assert_string_equal(source_text_line(&source, 4), "f       our");
    assert_null(source_text_line(&source, 5));
    assert_string_equal(source_text_line(&source, 9), "nine");
    assert_null(source_text_line(&source, 10));
    source_text_free(&source);
}

static const char *write_in(const char *folder, const char *name, const char *text, size_t length)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    fclose(file);
    return path;
}

/* What is not a source file is not even opened: a pipe would wait, /dev/zero never end. */
static void test_only_source_files_are_read(void **state)
{
    (void)state;
    char folder[] = "/tmp/opscope-source-XXXXXX", path[300];
    struct bytes data = {0};
    struct stat info;
    assert_non_null(mkdtemp(folder));
    assert_true(source_file_read(AT_FDCWD, write_in(folder, "a.py", "x = 1\n", 6), &data, &info));
    assert_string_equal(bytes_text(&data), "x = 1\n");
    assert_true(source_file_find(folder, "/elsewhere/b/a.py", &data));
    assert_false(source_file_find(folder, "/elsewhere/b/../a.c", &data));
    assert_false(source_file_read(AT_FDCWD, write_in(folder, "nul.c", "a\0b", 3), &data, &info));
    assert_false(source_file_read(AT_FDCWD, write_in(folder, "empty.c", "", 0), &data, &info));
    assert_false(source_file_read(AT_FDCWD, write_in(folder, "secret.txt", "key", 3), &data, &info));
    assert_false(source_file_read(AT_FDCWD, write_in(folder, ".env", "key", 3), &data, &info));
    assert_false(source_file_read(AT_FDCWD, write_in(folder, ".py", "key", 3), &data, &info));
    snprintf(path, sizeof path, "%s/link.c", folder); /* its real name is no source's */
    assert_int_equal(symlink("secret.txt", path), 0);
    assert_false(source_file_read(AT_FDCWD, path, &data, &info));
    snprintf(path, sizeof path, "%s/fifo.c", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(source_file_read(AT_FDCWD, path, &data, &info));
    assert_false(source_file_find(folder, "fifo.c", &data));
    snprintf(path, sizeof path, "%s/zero.c", folder);
    assert_int_equal(symlink("/dev/zero", path), 0);
    assert_false(source_file_read(AT_FDCWD, path, &data, &info));
    snprintf(path, sizeof path, "%s/inside.py", folder); /* a link that would do elsewhere */
    assert_int_equal(symlink("a.py", path), 0);
    assert_true(source_file_read(AT_FDCWD, path, &data, &info));
    assert_false(source_file_find(folder, "inside.py", &data));
    assert_false(source_file_read(AT_FDCWD, "/etc/passwd", &data, &info));
    bytes_free(&data);
    snprintf(path, sizeof path, "rm -rf '%s'", folder);
    assert_int_equal(system(path), 0);
}

static void test_source_is_utf8_or_latin1(void **state)
{
    (void)state;
    check_source("x = '\xc3\xa9'", "x = '\xc3\xa9'");
    check_source("x = '\xe9'", "x = '\xc3\xa9'"); /* not UTF-8: Latin-1, and no line lost */
    check_source("# -*- coding: latin-1 -*-\nx = '\xc3\xa9'", "x = '\xc3\x83\xc2\xa9'");
    check_source("#!/bin/x\n# coding=ISO_8859-1\nx = '\xe9'", "x = '\xc3\xa9'");
    check_source("# coding: utf-8\nx = '\xc3\xa9\xff'", "x = '\xc3\xa9\xc3\xbf'");
    check_source("\xef\xbb\xbf# coding: latin-1\nx = '\xc3\xa9'", "x = '\xc3\xa9'"); /* the mark decides */
    check_source("x = '\xef\xbf\xbd'", "x = '\xef\xbf\xbd'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_terminal),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_csv_byte_for_byte),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_html_and_xml),
        cmocka_unit_test(test_source_is_utf8_or_latin1),
        cmocka_unit_test(test_source_in_stretches),
        cmocka_unit_test(test_only_source_files_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
