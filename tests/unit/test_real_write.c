/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as digits: the same bytes as printf, above all where two answers are equally near or nearly so. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "text/json/writer.h"
#include "text/real_write.h"

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void check_shortest(double value)
{
    char expected[40];
    struct bytes out = {0};
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(expected, sizeof expected, "%.*g", digits, value);
        if (strtod(expected, NULL) == value)
            break;
    }
    json_append_real(&out, value);
    assert_string_equal(bytes_text(&out), expected);
    bytes_free(&out);
}

static void check_fixed(double value)
{
    for (unsigned decimals = 0; decimals < 9; decimals++) {
        char expected[400], text[400], little[8], expected_little[8];
        int length = snprintf(expected, sizeof expected, "%.*f", (int)decimals, value);
        assert_int_equal(real_put_fixed(text, sizeof text, value, decimals), length);
        assert_string_equal(text, expected);
        snprintf(expected_little, sizeof expected_little, "%.*f", (int)decimals, value);
        assert_int_equal(real_put_fixed(little, sizeof little, value, decimals), length);
        assert_string_equal(little, expected_little);
    }
}

/* A number, its neighbours, and the negatives. */
static void check_around(double value)
{
    const double values[] = {value, nextafter(value, INFINITY), nextafter(value, 0), -value};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        check_shortest(values[i]);
        check_fixed(values[i]);
    }
}

static void test_powers(void **state)
{
    (void)state;
    check_around(0);
    for (int i = -1074; i < 1024; i++)
        check_around(ldexp(1, i));
    for (int i = -320; i < 309; i++) {
        char text[16];
        snprintf(text, sizeof text, "1e%d", i);
        check_around(strtod(text, NULL));
    }
}

/* k / 2^n has a decimal form that ends, often in a 5 that lies half-way. */
static void test_halves(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 24; n++) {
        for (unsigned k = 1; k < 200; k++)
            check_around(ldexp(k, -(int)n));
    }
    for (uint64_t i = 0; i < 2000;
         i++) /* whole numbers around 2^53, the odd half of which end in .5 or are even */
        check_around(ldexp((double)((UINT64_C(1) << 52) + i * 7919), i % 5 == 0 ? -1 : (int)(i % 5)));
}

static void test_random(void **state)
{
    uint64_t random = UINT64_C(88172645463325252);
    (void)state;
    for (unsigned i = 0; i < 30000; i++) {
        double value = ldexp((double)(next_random(&random) >> 11), -(int)(random % 110));
        check_shortest(value);
        check_fixed(value);
        value = (double)(next_random(&random) % 1000000007) / (i % 2 ? 1000 : 1e6);
        check_shortest(value);
        check_fixed(value);
    }
}

static void test_whole(void **state)
{
    uint64_t random = UINT64_C(88172645463325252);
    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t value = i < 2000 ? i : i == 2000 ? UINT64_MAX : next_random(&random) >> i % 64;
        char expected[24], text[24];
        int length = snprintf(expected, sizeof expected, "%llu", (unsigned long long)value);
        assert_int_equal(real_put_whole(text, value), length);
        assert_memory_equal(text, expected, (size_t)length);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_powers),
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
