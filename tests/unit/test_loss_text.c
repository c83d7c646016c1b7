/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of a loss: each reason has its own advice, and nobody is sent to a setting that cannot help. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "present/loss_text.h"
#include "trace/model.h"

static void test_each_reason_has_its_advice(void **state)
{
    (void)state;
    for (uint32_t a = 1; a < TRACE_LOSS_REASONS; a++) {
        assert_string_not_equal(loss_advice(a), loss_advice(TRACE_LOSS_REASONS));
        for (uint32_t b = 1; b < a; b++)
            assert_string_not_equal(loss_advice(a), loss_advice(b));
    }
}

/* A larger buffer keeps what found no room in it, and nothing else: not zones nested too deep, nor those of a full disk
 * or of a process that could not be recorded. */
static void test_a_larger_buffer_is_for_full_buffers(void **state)
{
    (void)state;
    for (uint32_t reason = 1; reason < TRACE_LOSS_REASONS; reason++) {
        int is_buffer = reason == TRACE_LOSS_BUFFER_FULL || reason == TRACE_LOSS_LATE_ENDS;
        assert_int_equal(strstr(loss_advice(reason), "--buffer-size") != NULL, is_buffer);
    }
    assert_non_null(strstr(loss_advice(TRACE_LOSS_TOO_DEEP), "levels of zones"));
    assert_non_null(strstr(loss_advice(TRACE_LOSS_PROCESSES), "65,536"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_reason_has_its_advice),
        cmocka_unit_test(test_a_larger_buffer_is_for_full_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
