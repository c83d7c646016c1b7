/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration reader: what it takes, and where it says that something is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "text/toml.h"

static const struct toml_node *toml_get(const struct toml_node *table, const char *key)
{
    for (size_t i = 0; table && table->type == TOML_TABLE && i < table->child_count; i++) {
        if (strcmp(table->children[i].key, key) == 0)
            return &table->children[i];
    }
    return NULL;
}

static struct toml toml;
static struct error err;

static int parse(const char *text)
{
    memset(&err, 0, sizeof err);
    return toml_parse(&toml, "t.toml", text, strlen(text), &err);
}

static void test_values(void **state)
{
    static const char text[] = "# a comment\r\n"
                               "title = \"a \\\"b\\\" \\u00e9\\n\" # behind\n"
                               "plain = 'C:\\no escapes'\n"
                               "count = -1_000\n"
                               "share = 2.5e1\n"
                               "is-on = true\n"
                               "\"quoted key\" = false\n"
                               "list = [ 1, 'two', # three follows\n  [3, 4,],\n]\n"
                               "a.b.c = 7\n"
                               "a.b.d = 8\n";
    (void)state;
    assert_int_equal(parse(text), 0);
    assert_string_equal(toml_get(&toml.root, "title")->text, "a \"b\" \xc3\xa9\n");
    assert_string_equal(toml_get(&toml.root, "plain")->text, "C:\\no escapes");
    assert_int_equal(toml_get(&toml.root, "count")->integer, -1000);
    assert_true(toml_get(&toml.root, "share")->real == 25);
    assert_true(toml_get(&toml.root, "is-on")->boolean);
    assert_int_equal(toml_get(&toml.root, "quoted key")->type, TOML_BOOL);
    const struct toml_node *list = toml_get(&toml.root, "list");
    assert_int_equal(list->child_count, 3);
    assert_int_equal(list->children[2].children[1].integer, 4);
    assert_int_equal(list->children[1].line, 8);
    assert_int_equal(list->children[1].column, 13);
    const struct toml_node *b = toml_get(toml_get(&toml.root, "a"), "b");
    assert_int_equal(toml_get(b, "d")->integer, 8);
    assert_null(toml_get(b, "e"));
    assert_null(toml_get(list, "e"));
    toml_free(&toml);
}

static void test_tables(void **state)
{
    (void)state;
    assert_int_equal(parse("[check]\nmax = 1\n[[check.budget]]\nzone = 'a'\n[check.budget.more]\nx = 1\n"
                           "[[check.budget]]\nzone = 'b'\n[other.deep]\ny = 2\n[other]\nz = 3\n"),
                     0);
    const struct toml_node *budgets = toml_get(toml_get(&toml.root, "check"), "budget");
    assert_int_equal(budgets->type, TOML_ARRAY);
    assert_int_equal(budgets->child_count, 2);
    assert_int_equal(toml_get(toml_get(&budgets->children[0], "more"), "x")->integer, 1);
    assert_string_equal(toml_get(&budgets->children[1], "zone")->text, "b");
    assert_int_equal(budgets->children[1].line, 7);
    assert_int_equal(toml_get(toml_get(&toml.root, "other"), "z")->integer, 3);
    toml_free(&toml);
    assert_int_equal(parse(""), 0);
    assert_int_equal(toml.root.child_count, 0);
    toml_free(&toml);
}

static void test_errors_say_where(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"a = 1\nb = \n", "t.toml:2:5: a value is missing"},
        {"a = 5%\n", "t.toml:1:6: not a value: a text needs quotes"},
        {"a = abc\n", "t.toml:1:5: not a value: a text needs quotes"},
        {"a = \"abc\n", "t.toml:1:9: the text is not closed"},
        {"a = 'x' y\n", "t.toml:1:9: the line should end here"},
        {"a = 1\n  a = 2\n", "t.toml:2:3: 'a' comes twice (first in line 1)"},
        {"[t]\n[t]\n", "t.toml:2:2: 't' comes twice (first in line 1)"},
        {"[t\n", "t.toml:1:3: the header should end with ]"},
        {"[[t]\n", "t.toml:1:4: the header should end with ]]"},
        {"t = 1\n[t]\n", "t.toml:2:2: 't' comes twice (first in line 1)"},
        {"t = 1\n[[t]]\n", "t.toml:2:3: 't' is a whole number already (line 1)"},
        {"t = 1\nt.a = 1\n", "t.toml:2:1: 't' is a whole number already (line 1)"},
        {"[t]\nx = 1\n[u]\n[t.x]\n", "t.toml:4:2: 'x' comes twice (first in line 2)"},
        {"[[t]]\n[t]\n", "t.toml:2:2: 't' comes twice (first in line 1)"},
        {"a = [1 2]\n", "t.toml:1:8: a comma or ] should stand here"},
        {"a = [,1]\n", "t.toml:1:6: a value should stand here"},
        {"a = [1,\n", "t.toml:2:1: the array that begins in line 1 is not closed"},
        {"a\n", "t.toml:1:2: 'a' should be followed by ="},
        {"= 1\n", "t.toml:1:1: a key is missing here"},
        {"a = \"\\q\"\n", "t.toml:1:7: not an escape"},
        {"a = \"\\u12\"\n", "t.toml:1:10: \\u needs 4 hexadecimal digits"},
        {"a = \"\\ud800\"\n", "t.toml:1:12: not a character that a text can hold: U+D800"},
        {"a = \"\"\"x\"\"\"\n", "t.toml:1:5: texts over several lines are not supported"},
        {"a = {b = 1}\n", "t.toml:1:5: tables in braces are not supported"},
        {"a = 2026-01-01\n", "t.toml:1:9: not a value"},
        {"a = 0x10\n", "t.toml:1:6: not a value"},
        {"a = 007\n", "t.toml:1:8: a number does not begin with 0"},
        {"a = 1__0\n", "t.toml:1:7: not a value"},
        {"a = 99999999999999999999\n", "t.toml:1:25: a number that does not fit"},
        {"a = truely\n", "t.toml:1:9: not a value"},
        {"a = \"\x01\"\n", "t.toml:1:6: a control character (0x01)"},
        {"# \x02\n", "t.toml:1:3: a control character (0x02)"},
        {"a = 1\nb = \"\xff\"\n", "t.toml:3:1: this line, or one before it, is not UTF-8"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (parse(cases[i].text) == 0 ||
            strncmp(err.message, cases[i].message, strlen(cases[i].message)) != 0)
            fail_msg("%s\nsays '%s', not '%s'", cases[i].text, err.message, cases[i].message);
        toml_free(&toml);
    }
}

static void test_bounds(void **state)
{
    char text[400] = "a = ";
    (void)state;
    memset(text + 4, '[', 200);
    assert_int_not_equal(parse(text), 0);
    assert_non_null(strstr(err.message, "arrays inside each other"));
    toml_free(&toml);
    memset(text, 'k', 300);
    memcpy(text + 300, " = 1", 5);
    assert_int_not_equal(parse(text), 0);
    assert_non_null(strstr(err.message, "a key of 300 bytes"));
    toml_free(&toml);
    assert_int_not_equal(parse("a.b.c.d.e.f.g.h.i = 1"), 0);
    assert_non_null(strstr(err.message, "more than 8 parts"));
    toml_free(&toml);
    assert_int_not_equal(toml_read(&toml, "/nonexistent/opscope.toml", &err), 0);
    assert_non_null(strstr(err.message, "/nonexistent/opscope.toml"));
    toml_free(&toml);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_errors_say_where),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
