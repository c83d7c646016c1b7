/* SPDX-License-Identifier: Apache-2.0 */
/* What is reported of cells that are not what their column should hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "import/op_check.h"

static void check(const char *column, const char *cell, const char *expected)
{
    const char *told = op_check_cell(op_check_of(column), (struct slice){cell, strlen(cell)});
    if (expected == NULL && told)
        fail_msg("%s: '%s': %s", column, cell, told);
    if (expected && (!told || strcmp(told, expected) != 0))
        fail_msg("%s: '%s': %s, not %s", column, cell, told ? told : "nothing", expected);
}

static void test_numbers(void **state)
{
    static const char gap[] = "OP TO OP LATENCY [ns]", duration[] = "DEVICE KERNEL DURATION [ns]";
    static const char *const good[] = {"",     "0",   "-12", "64.0", ".5",   "1.5e3",
                                       "1e-3", "nan", "N/A", "+7",   "1e19", "18446744073709551615"};
    static const char *const bad[] = {"fast", "-", "1e", "0x10", "inf", "1.2.3", "1 2", ".", "e5", "1,5"};
    static const char *const beyond[] = {"18446744073709551616", "1e300", "99999999999999999999999",
                                         "18446744073709551616.0"};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        check(gap, good[i], NULL);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        check(gap, bad[i], "is not a number");
    for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++)
        check(gap, beyond[i], "is beyond 64 bits");
    check(gap, "000000000000000000000000007", NULL);
    check(duration, "-5", "is not a duration");
    check(duration, "-0", NULL);
}

static void test_counts(void **state)
{
    (void)state;
    check("CORE COUNT", "64", NULL);
    check("CORE COUNT", "64.0", NULL);
    check("CORE COUNT", "0", "is not a count");
    check("CORE COUNT", "3.5", "is not a whole number");
    check("DEVICE ID", "0", NULL);
    check("DEVICE ID", "-1", "is not a whole number");
    check("GLOBAL CALL COUNT", "x", "is not a number");
}

static void test_sizes(void **state)
{
    static const char *const columns[] = {"INPUT_0_Y_PAD[LOGICAL]", "OUTPUT_12_X_PAD[LOGICAL]", "INPUT_3_W"};
    static const char *const good[] = {"", "32", "32[17]", "0[0]"};
    static const char *const bad[] = {"abc", "32[32", "32[]", "[32]", "-1", "1.5", "99999999999999999999",
                                      "32]"};
    (void)state;
    for (size_t c = 0; c < 3; c++) {
        for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
            check(columns[c], good[i], NULL);
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
            check(columns[c], bad[i], "is not a size");
    }
    check("INPUT_0_LAYOUT", "abc", NULL);
    check("INPUT_X_Y", "abc", NULL);
}

static void test_names(void **state)
{
    (void)state;
    check("OP CODE", "", "names no op");
    check("OP CODE", "nan", "names no op");
    check("OP CODE", "123", NULL);
    check("OP CODE", "Caf\xc3\xa9", NULL);
    check("OP CODE", "Caf\xe9", "is not UTF-8");
    assert_string_equal(op_check_cell(OP_CHECK_NAME, (struct slice){"a\0b", 3}), "holds a NUL byte");
    check("SOME COLUMN OF ANOTHER TOOL", "anything", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
