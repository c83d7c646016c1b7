/* SPDX-License-Identifier: Apache-2.0 */
/* Values as Python prints them. The expectations were taken from CPython 3.11. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "text/python_text.h"

static void check(struct bytes *out, const char *expected)
{
    bytes_append_u8(out, 0);
    assert_string_equal((const char *)out->data, expected);
    bytes_free(out);
}

static void test_floats(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1.0, "1.0"},
        {0.1, "0.1"},
        {292.5, "292.5"},
        {100.0, "100.0"},
        {1e15, "1000000000000000.0"},
        {1e16, "1e+16"},
        {1.5e300, "1.5e+300"},
        {0.0001, "0.0001"},
        {0.00001234, "1.234e-05"},
        {5e-324, "5e-324"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3.0, "0.3333333333333333"},
        {123456789.123456789, "123456789.12345679"},
        {9007199254740993.0, "9007199254740992.0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bytes out = {0};
        python_append_float(&out, cases[i].value);
        check(&out, cases[i].text);
    }
    struct bytes out = {0};
    python_append_float(&out, NAN);
    python_append_float(&out, -INFINITY);
    check(&out, "nan-inf");
}

static void test_floats_read_back(void **state)
{
    (void)state;
    uint64_t bits = 88172645463325252u;
    for (unsigned i = 0; i < 20000; i++) {
        double value;
        struct bytes out = {0};
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        python_append_float(&out, value);
        bytes_append_u8(&out, 0);
        assert_true(strtod((const char *)out.data, NULL) == value);
        bytes_free(&out);
    }
}

static void test_strings(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"", "''"},
        {"plain", "'plain'"},
        {"it's", "\"it's\""},
        {"\"it's\"", "'\"it\\'s\"'"},
        {"a\\b\n\t\r\x01", "'a\\\\b\\n\\t\\r\\x01'"},
        {"\x7f", "'\\x7f'"},
        {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "'\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80'"},
        {"\xc2\xa0", "'\\xa0'"},
        {"\xe2\x80\xa8", "'\\u2028'"},
        {"\xff\xfe", "'\xff\xfe'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bytes out = {0};
        python_append_string(&out, cases[i].text, strlen(cases[i].text));
        check(&out, cases[i].expected);
    }
}

static void test_rounding(void **state)
{
    (void)state;
    struct bytes out = {0};
    python_append_whole(&out, 0.5);
    bytes_append_u8(&out, ' ');
    python_append_whole(&out, 1.5);
    bytes_append_u8(&out, ' ');
    python_append_whole(&out, 2.5);
    bytes_append_u8(&out, ' ');
    python_append_whole(&out, -0.4);
    bytes_append_u8(&out, ' ');
    python_append_whole(&out, -266380.7);
    check(&out, "0 2 2 0 -266381");
    assert_true(python_round_3(2.0005) == 2.001); /* 2.0005 is above: 2.000500000000000078 */
    assert_true(python_round_3(0.0015) == 0.002); /* 0.0015000000000000000312 */
    assert_true(python_round_3(1.0005) == 1.0);   /* 1.000499999999999900 */
    assert_true(python_round_3(0.0625) == 0.062); /* exact: to even */
    assert_true(isnan(python_round_3(NAN)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_floats_read_back),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_rounding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
