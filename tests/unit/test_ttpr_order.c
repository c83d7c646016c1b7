/* SPDX-License-Identifier: Apache-2.0 */
/* The order of equal keys that report --compat reproduces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "compat/tt_perf_report/order.h"

/* Sorted by key whatever the size, every index once; with up to 256 keys equal ones stay where a network that never
 * swaps equals leaves them: for 8 equal keys that is their own order. */
static void test_order(void **state)
{
    static int64_t keys[3000];
    static uint32_t order[3000];
    (void)state;
    for (size_t count = 1; count <= 3000; count = count * 3 / 2 + 1) {
        bool seen[3000] = {false};
        for (size_t i = 0; i < count; i++) {
            keys[i] = (int64_t)(i * 7919 % (count / 2 + 1)) - 5;
            order[i] = (uint32_t)i;
        }
        ttpr_order_sort(keys, order, count);
        for (size_t i = 0; i < count; i++) {
            assert_false(seen[order[i]]);
            seen[order[i]] = true;
            assert_true(i == 0 || keys[order[i - 1]] <= keys[order[i]]);
        }
    }
    for (uint32_t i = 0; i < 8; i++) {
        keys[i] = 1;
        order[i] = i;
    }
    ttpr_order_sort(keys, order, 8);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(order[i], i);
    assert_true(ttpr_order_key(-2.5) < ttpr_order_key(-1) && ttpr_order_key(-1) < ttpr_order_key(0));
    assert_true(ttpr_order_key(-0.0) == ttpr_order_key(0) && ttpr_order_key(0) < ttpr_order_key(1e-300));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
