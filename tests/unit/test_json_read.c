/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON reader: what it takes, what it refuses, and that numbers and texts stay exact. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "text/json/reader.h"
#include "import/tenstorrent/record.h"

static struct json_document document;

static int read_text(const char *text)
{
    struct error err = {0};
    int result = json_read(&document, text, strlen(text), &err);
    if (result != 0)
        assert_true(strlen(err.message) > 10);
    return result;
}

static void assert_text(const struct json_node *node, const char *text)
{
    assert_non_null(node);
    assert_int_equal(node->length, strlen(text));
    assert_memory_equal(node->text, text, node->length);
}

static void test_values(void **state)
{
    uint64_t number;
    (void)state;
    assert_int_equal(
        read_text(
            " {\"a\": [1, -2.5e3, true, null, \"x\"], \"b\": {\"c\": 18446744073709551615}, \"a2\": {}}"),
        0);
    const struct json_node *root = json_root(&document), *a = json_find(&document, root, "a");
    const struct json_node *item = json_first(&document, a);
    assert_text(item, "1");
    item = json_next(&document, a, item);
    assert_text(item, "-2.5e3");
    item = json_next(&document, a, item);
    assert_int_equal(item->kind, JSON_TRUE);
    item = json_next(&document, a, item);
    assert_int_equal(item->kind, JSON_NULL);
    item = json_next(&document, a, item);
    assert_true(json_text_is(item, "x"));
    assert_null(json_next(&document, a, item));
    assert_true(json_unsigned_value(json_find(&document, json_find(&document, root, "b"), "c"), &number));
    assert_true(number == UINT64_MAX);
    assert_null(json_find(&document, root, "missing"));
    assert_null(json_first(&document, json_find(&document, root, "a2")));
    assert_null(json_find(&document, a, "a"));
    assert_null(json_find(&document, NULL, "a"));
}

static void test_strings(void **state)
{
    (void)state;
    assert_int_equal(
        read_text(
            "[\"\", \"a\\\"\\\\\\/\\b\\f\\n\\r\\tz\", \"\\u00e9\\u20ac\\ud83d\\ude00\", \"\\ud83d!\", \"\\udc00\"]"),
        0);
    const struct json_node *root = json_root(&document), *item = json_first(&document, root);
    assert_text(item, "");
    item = json_next(&document, root, item);
    assert_text(item, "a\"\\/\b\f\n\r\tz");
    item = json_next(&document, root, item);
    assert_text(item, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    item = json_next(&document, root, item);
    assert_text(item, "\xef\xbf\xbd!");
    item = json_next(&document, root, item);
    assert_text(item, "\xef\xbf\xbd");
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",           " ",       "{",
        "[",          "[1",      "[1,",
        "[1,]",       "{\"a\"}", "{\"a\":}",
        "{\"a\":1,}", "{1:2}",   "\"a",
        "\"\\",       "\"\\x\"", "\"\\u12\"",
        "tru",        "nul",     "01",
        "-",          "1.",      "1e",
        "1e+",        "[1] 2",   "[1}",
        "{\"a\":1]",  "+1",      ".5",
        "NaN",        "'a'",     "{\"a\" 1}",
        "[1 2]",      "\"a\\u",  "[\"a\\ud83d\\u\"]",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_not_equal(read_text(bad[i]), 0);
    char deep[400];
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    assert_int_not_equal(read_text(deep), 0);
}

static void test_any_cut_is_refused(void **state)
{
    (void)state;
    const char *whole = "{\"k\": [1, {\"x\": \"a\\u00e9\"}, true], \"z\": -1.5e10}";
    struct error err;
    for (size_t length = 0; length < strlen(whole); length++)
        assert_int_not_equal(json_read(&document, whole, length, &err), 0);
    assert_int_equal(json_read(&document, whole, strlen(whole), &err), 0);
}

static void test_as_python_prints_it(void **state)
{
    (void)state;
    struct bytes out = {0};
    assert_int_equal(
        read_text(
            "{\"a\": \"x, y\", \"b\": [1.50, 2, -0], \"c\": {\"d\": true, \"e\": null}, \"f\": \"it's\"}"),
        0);
    tt_append_value(&out, &document, json_root(&document));
    bytes_append_u8(&out, 0);
    assert_string_equal((const char *)out.data,
                        "{'a': 'x; y'; 'b': [1.5; 2; 0]; 'c': {'d': True; 'e': None}; 'f': \"it's\"}");
    bytes_free(&out);
}

static int free_document(void **state)
{
    (void)state;
    json_document_free(&document);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_any_cut_is_refused),
        cmocka_unit_test(test_as_python_prints_it),
    };
    return cmocka_run_group_tests(tests, NULL, free_document);
}
