/* SPDX-License-Identifier: Apache-2.0 */
/* The building blocks of base/: hash map, byte buffer, errors; and counted words (present/format.h). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/map.h"
#include "present/format.h"

static void test_map_of_nothing(void **state)
{
    (void)state;
    struct map map = {0};
    assert_int_equal(map_get(&map, 7), MAP_NONE);
    assert_int_equal(map_remove(&map, 7), MAP_NONE);
    map_free(&map);
    map_free(NULL);
}

/* Held against an array, with keys that collide and keys at the ends of the range. */
static void test_map_puts_gets_and_removes(void **state)
{
    (void)state;
    enum { KEYS = 4096 };
    static uint32_t expected[KEYS];
    struct map map = {0};
    uint64_t random = 1;
    size_t count = 0;
    for (size_t i = 0; i < KEYS; i++)
        expected[i] = MAP_NONE;
    for (unsigned step = 0; step < 200000; step++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        size_t i = (size_t)(random >> 40) % KEYS;
        uint64_t key = i == 0 ? UINT64_MAX : i == 1 ? 0 : (uint64_t)i << 52;
        if (random >> 33 & 1) {
            assert_true(map_put(&map, key, step));
            count += expected[i] == MAP_NONE;
            expected[i] = step;
        } else {
            assert_int_equal(map_remove(&map, key), expected[i]);
            count -= expected[i] != MAP_NONE;
            expected[i] = MAP_NONE;
        }
        assert_int_equal(map_get(&map, key), expected[i]);
        assert_int_equal(map.count, count);
    }
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(map_get(&map, i == 0 ? UINT64_MAX : i == 1 ? 0 : (uint64_t)i << 52), expected[i]);
    uint64_t sum = 0, expected_sum = 0;
    uint32_t value;
    for (size_t at = 0; (value = map_next(&map, &at)) != MAP_NONE; count--)
        sum += value;
    for (size_t i = 0; i < KEYS; i++)
        expected_sum += expected[i] == MAP_NONE ? 0 : expected[i];
    assert_int_equal(count, 0);
    assert_int_equal(sum, expected_sum);
    map_free(&map);
}

static void test_bytes_end_with_a_nul(void **state)
{
    (void)state;
    struct bytes b = {0};
    assert_string_equal(bytes_text(&b), "");
    for (size_t i = 0; i < 100; i++) { /* over the borders where it grows */
        bytes_append_u8(&b, 'x');
        assert_true(b.length < b.capacity);
        assert_int_equal(strlen(bytes_text(&b)), i + 1);
        assert_int_equal(b.length, i + 1);
    }
    bytes_clear(&b);
    assert_string_equal(bytes_text(&b), "");
    bytes_append_format(&b, "%016d", 7); /* as long as the least capacity */
    assert_string_equal(bytes_text(&b), "0000000000000007");
    bytes_free(&b);
}

static void test_no_memory_is_said_in_one_way(void **state)
{
    (void)state;
    struct error err = {0};
    assert_int_equal(error_no_memory(&err, "the page"), -ENOMEM);
    assert_int_equal(err.code, ENOMEM);
    assert_string_equal(err.message, "no memory for the page");
    assert_int_equal(error_no_memory(NULL, "the page"), -ENOMEM);
}

static void test_an_empty_text_is_interned(void **state)
{
    (void)state;
    struct intern table = {0};
    uint32_t id = intern_add(&table, NULL, 0);
    assert_int_equal(id, 0);
    assert_int_equal(intern_add(&table, NULL, 0), id);
    assert_int_equal(intern_find(&table, "", 0), id);
    intern_free(&table);
}

static void test_texts_are_known_again_after_their_index_was_freed(void **state)
{
    (void)state;
    struct intern table = {0};
    char text[16];
    for (uint32_t i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "text %u", i);
        assert_int_equal(intern_add(&table, text, strlen(text)), i);
    }
    intern_forget_index(&table);
    assert_string_equal(intern_text(&table, 999), "text 999");
    assert_int_equal(intern_find(&table, "text 7", 6), INTERN_NONE);
    assert_int_equal(intern_add(&table, "text 7", 6), 7);
    assert_int_equal(intern_add(&table, "new", 3), 1000);
    assert_int_equal(intern_find(&table, "text 999", 8), 999);
    intern_free(&table);
}

static void test_one_thing_and_many(void **state)
{
    (void)state;
    static const struct {
        uint64_t value;
        const char *one, *expected;
    } cases[] = {
        {0, "zone", "0 zones"},
        {1, "zone", "1 zone"},
        {2, "zone", "2 zones"},
        {1234567, "op", "1,234,567 ops"},
        {1, "process", "1 process"},
        {3, "process", "3 processes"},
        {2, "entry", "2 entries"},
        {2, "day", "2 days"},
        {2, "device op", "2 device ops"},
        {UINT64_MAX, "device run", "18,446,744,073,709,551,615 device runs"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct number_text text;
        assert_string_equal(format_things(&text, cases[i].value, cases[i].one), cases[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map_of_nothing),
        cmocka_unit_test(test_map_puts_gets_and_removes),
        cmocka_unit_test(test_bytes_end_with_a_nul),
        cmocka_unit_test(test_no_memory_is_said_in_one_way),
        cmocka_unit_test(test_an_empty_text_is_interned),
        cmocka_unit_test(test_texts_are_known_again_after_their_index_was_freed),
        cmocka_unit_test(test_one_thing_and_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
