/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of the op table: their order, names and kinds; metrics of hardware counters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "import/tenstorrent/device/counters.h"

static uint64_t rank(const char *name)
{
    return op_column_rank(name, strlen(name));
}

static void test_order(void **state)
{
    (void)state;
    static const char *const in_order[] = {
        "OP CODE",
        "DISPATCH GO SEND WAIT TIME [ns]",
        "INPUT_0_W_PAD[LOGICAL]",
        "INPUT_0_MEMORY",
        "INPUT_1_W_PAD[LOGICAL]",
        "INPUT_10_W_PAD[LOGICAL]",
        "OUTPUT_0_X_PAD[LOGICAL]",
        "METAL TRACE ID",
        "PROGRAM CACHE HIT",
        "TENSIX DM 0 MAX KERNEL SIZE [B]",
        "TENSIX DM 1 MAX KERNEL SIZE [B]",
        "TENSIX COMPUTE 0 MAX KERNEL SIZE [B]",
        "ACTIVE ETH DM 0 MAX KERNEL SIZE [B]",
        "IDLE ETH DM 1 MAX KERNEL SIZE [B]",
        "MARTIAN 0 MAX KERNEL SIZE [B]",
        "PM IDEAL [ns]",
        "NPE CONG IMPACT (%)",
        "SFPU Util Min (%)",
        "Avg SFPU util on full grid (%)",
        "FPU Util Min (%)",
        "Avg HF Cycles Per Instrn Avg",
        "Compute-to-Unpack Ratio Avg (%)",
        "CompileProgram_TT_HOST_FUNC [ns]",
        "SOMETHING ELSE",
        "LOC",
        "NOTE",
    };
    for (size_t i = 1; i < sizeof in_order / sizeof in_order[0]; i++)
        assert_true(rank(in_order[i - 1]) < rank(in_order[i]));
    assert_true(rank("A_TT_HOST_FUNC [ns]") == rank("B_TT_HOST_FUNC [ns]"));
}

static void check_v1(const char *name, const char *expected, bool expect_padded)
{
    struct bytes out = {0};
    bool is_padded_only;
    bool has = op_column_v1_name(name, strlen(name), &out, &is_padded_only);
    assert_int_equal(has, expected != NULL);
    if (expected) {
        bytes_append_u8(&out, 0);
        assert_string_equal((const char *)out.data, expected);
        assert_int_equal(is_padded_only, expect_padded);
    }
    bytes_free(&out);
}

static void test_header_of_2024(void **state)
{
    (void)state;
    check_v1("OP CODE", "OP CODE", false);
    check_v1("INPUT_3_Y_PAD[LOGICAL]", "INPUT_3_Y", true);
    check_v1("OUTPUT_0_LAYOUT", "OUTPUT_0_LAYOUT", false);
    check_v1("TENSIX DM 1 MAX KERNEL SIZE [B]", "NCRISC MAX KERNEL SIZE [B]", false);
    check_v1("TENSIX COMPUTE 2 MAX KERNEL SIZE [B]", "TRISC 2 MAX KERNEL SIZE [B]", false);
    check_v1("ACTIVE ETH DM 0 MAX KERNEL SIZE [B]", "ERISC MAX KERNEL SIZE [B]", false);
    check_v1("ACTIVE ETH DM 1 MAX KERNEL SIZE [B]", NULL, false);
    check_v1("IDLE ETH DM 0 MAX KERNEL SIZE [B]", NULL, false);
    check_v1("DEVICE ARCH", NULL, false);
    check_v1("AVAILABLE WORKER CORE COUNT", NULL, false);
    check_v1("NOTE", NULL, false);
    check_v1("CompileProgram_TT_HOST_FUNC [ns]", "CompileProgram_TT_HOST_FUNC [ns]", false);
}

static void test_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum op_column_kind kind;
    } cases[] = {
        {"OP CODE", OP_COLUMN_TEXT},
        {"HOST START TS", OP_COLUMN_INTEGER},
        {"INPUT_0_W_PAD[LOGICAL]", OP_COLUMN_TEXT},
        {"INPUT_0_W", OP_COLUMN_INTEGER},
        {"PM FPU UTIL (%)", OP_COLUMN_REAL},
        {"T0 Instrn Issue Rate Median", OP_COLUMN_REAL},
        {"x_TT_HOST_FUNC [ns]", OP_COLUMN_INTEGER},
        {"INPUT_999999999999_W", OP_COLUMN_TEXT},
        {"INPUT_", OP_COLUMN_TEXT},
        {"", OP_COLUMN_TEXT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(op_column_kind_of(cases[i].name, strlen(cases[i].name)), cases[i].kind);
}

static void set(struct tt_core_counters *core, enum tt_counter counter, uint64_t value, uint64_t reference)
{
    core->value[counter] = value;
    core->reference[counter] = reference;
    core->is_set[counter] = true;
}

static void test_counter_metrics(void **state)
{
    (void)state;
    static struct tt_core_counters one, two;
    static struct tt_counter_sums sums;
    const struct tt_core_counters *cores[] = {&one, &two};
    double scratch[2], out[OP_METRIC_STATISTICS];
    struct tt_metric_input input = {.cores = cores,
                                    .core_count = 2,
                                    .sums = &sums,
                                    .max_compute_cores = 64,
                                    .kernel_duration_cycles = 1000};
    set(&one, TT_COUNTER_FPU_COUNTER, 250, 1000);
    set(&two, TT_COUNTER_FPU_COUNTER, 750, 1000);
    assert_true(tt_metric(OP_METRIC_FPU_UTIL, &input, scratch, out));
    assert_true(out[OP_METRIC_MIN] == 25 && out[OP_METRIC_MAX] == 75 && out[OP_METRIC_MEDIAN] == 50);
    assert_true(out[OP_METRIC_AVG] == 1000.0 / 64 / 1000 * 100); /* cores that did nothing count as well */

    assert_false(tt_metric(OP_METRIC_SFPU_UTIL, &input, scratch, out)); /* nobody counted it */
    set(&one, TT_COUNTER_SRCA_WRITE_AVAILABLE, 0, 1000);
    set(&one, TT_COUNTER_SRCA_WRITE_ACTUAL, 5, 1000);
    assert_false(tt_metric(OP_METRIC_SRCA_WRITE_ACTUAL_EFFICIENCY, &input, scratch, out)); /* 5 / 0 */

    set(&two, TT_COUNTER_SRCA_WRITE_AVAILABLE, 100, 1000);
    set(&two, TT_COUNTER_SRCA_WRITE_ACTUAL, 120, 1000);
    assert_true(tt_metric(OP_METRIC_SRCA_WRITE_ACTUAL_EFFICIENCY, &input, scratch, out));
    assert_true(out[OP_METRIC_AVG] == 120); /* of the core that can tell; not clipped */
    assert_true(tt_metric(OP_METRIC_SRCA_WRITE_PORT_BLOCKED_RATE, &input, scratch, out));
    assert_true(out[OP_METRIC_AVG] == 0); /* clipped */

    set(&one, TT_COUNTER_MATH_INSTRN_HF_1_CYCLE, 10, 1000);
    set(&one, TT_COUNTER_MATH_INSTRN_HF_2_CYCLE, 20, 1000);
    set(&one, TT_COUNTER_MATH_INSTRN_HF_4_CYCLE, 10, 1000);
    assert_true(tt_metric(OP_METRIC_AVG_HF_CYCLES_PER_INSTRN, &input, scratch, out));
    assert_true(out[OP_METRIC_MEDIAN] == 90.0 / 40);

    set(&one, TT_COUNTER_MATH_COUNTER, 30, 1000);
    set(&one, TT_COUNTER_UNPACK0_BUSY_THREAD0, 20, 1000);
    set(&one, TT_COUNTER_UNPACK1_BUSY_THREAD0, 40, 1000);
    assert_false(
        tt_metric(OP_METRIC_COMPUTE_TO_UNPACK_RATIO, &input, scratch, out)); /* device-only report's */
    input.is_device_only = true;
    assert_true(tt_metric(OP_METRIC_COMPUTE_TO_UNPACK_RATIO, &input, scratch, out));
    assert_true(out[OP_METRIC_AVG] == 50);
}

static void test_counter_names(void **state)
{
    (void)state;
    assert_int_equal(tt_counter_find("ANY_THREAD_STALL", 16), 180);
    assert_int_equal(tt_counter_find("FPU_COUNTER", 11), 1);
    assert_int_equal(tt_counter_find("FPU_COUNTE", 10), TT_COUNTER_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),         cmocka_unit_test(test_header_of_2024),
        cmocka_unit_test(test_kinds),         cmocka_unit_test(test_counter_metrics),
        cmocka_unit_test(test_counter_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
