/* SPDX-License-Identifier: Apache-2.0 */
/* Taking off the time that other processes had the CPU for: the arithmetic, and a stretch where one really had it. */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/run_delay.h"

static void test_only_what_is_certain(void **state)
{
    (void)state;
    assert_int_equal(run_delay_less(1000, 0, 10), 1000);
    assert_int_equal(run_delay_less(1000, 400, 10), 610);
    assert_int_equal(run_delay_less(1000, 400, 400), 1000); /* all of it may have been while reading */
    assert_int_equal(run_delay_less(1000, -50, 10), 1000);  /* threads of one's own ran */
    assert_int_equal(run_delay_less(1000, 5000, 10), 1000); /* cannot be: leave it */
}

/* Pins the process; false where that is forbidden. */
static bool pin(void)
{
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return false;
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &all)) {
            CPU_SET(i, &one);
            break;
        }
    }
    return sched_setaffinity(0, sizeof one, &one) == 0;
}

/* A kernel without the accounting has a file of zeros, however long one runs; the first figure comes with a tick. */
static bool kernel_counts(void)
{
    unsigned long long ran_ns = 0;
    uint64_t begin_ns = clock_raw_ns();
    while (ran_ns == 0 && clock_raw_ns() - begin_ns < UINT64_C(5000000000)) {
        FILE *file = fopen("/proc/thread-self/schedstat", "re");
        if (!file || fscanf(file, "%llu", &ran_ns) != 1)
            ran_ns = 0;
        if (!file)
            return false;
        fclose(file);
    }
    return ran_ns > 0;
}

/* Two processes on one CPU, both busy: sooner or later one waits for the other, and the reading says so. */
static void test_waiting_is_seen(void **state)
{
    (void)state;
    if (!kernel_counts() || !pin()) {
        print_message("SKIP: the kernel does not count waiting, or processes cannot be pinned\n");
        skip();
    }
    int descriptor = run_delay_open();
    pid_t child = fork();
    if (child == 0) {
        for (;;)
            __asm__ volatile("");
    }
    assert_true(child > 0);
    uint64_t begin_ns = clock_raw_ns();
    int64_t before_ns = run_delay_ns(descriptor), delay_ns = 0;
    while (delay_ns < 1000000 && clock_raw_ns() - begin_ns < UINT64_C(60000000000))
        delay_ns = run_delay_ns(descriptor) - before_ns;
    uint64_t wall_ns = clock_raw_ns() - begin_ns;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(descriptor);
    assert_true(delay_ns >= 1000000);
    assert_true((uint64_t)delay_ns <= wall_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_what_is_certain),
        cmocka_unit_test(test_waiting_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
