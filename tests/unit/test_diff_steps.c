/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a step takes longer: on a quiet machine, on one that was busy in one of the runs, and where a device and not
 * the CPU computes the ops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/diff/diff.h"

#define STEPS 40u
#define OPS 6u

struct made {       /* how a run went */
    double speed;   /* an op takes so many times as long */
    double unrest;  /* every other step takes so much longer than that */
    unsigned extra; /* ops that the other run does not have */
    bool is_cpu;
};

static uint32_t key_of(struct diff *diff, unsigned op)
{
    char text[16];
    int length = snprintf(text, sizeof text, "op%u", op);
    struct diff_key key = {.name = diff_intern(diff, text, (size_t)length),
                           .shape = diff_intern(diff, "", 0),
                           .location = DIFF_NO_TEXT,
                           .kind = DIFF_DEVICE_OP};
    key.group = key.name;
    return diff_find_key(diff, &key);
}

static void take(struct diff *diff, int side, const struct made *made)
{
    struct diff_run *run = &diff->runs[side];
    uint64_t at = 1000000;
    run->path = strdup("made up");
    run->kind = "trace";
    run->is_cpu = made->is_cpu;
    run->steps.name = strdup("step");
    run->steps.items = malloc(STEPS * sizeof *run->steps.items);
    run->steps.count = STEPS;
    for (unsigned step = 0; step < STEPS; step++) {
        double factor = made->speed * (step % 2 ? 1 + made->unrest : 1) * (1 + (step % 5) / 200.0);
        uint64_t length = 0;
        for (unsigned i = 0; i < OPS + made->extra; i++) {
            uint32_t key = key_of(diff, i);
            struct diff_op *op = diff_add_op(diff, side);
            op->key = key;
            op->time_ns = 10000 * factor;
            length += (uint64_t)op->time_ns;
        }
        run->steps.items[step] = (struct window_step){at, length, step + 1};
        at += length;
    }
}

static struct diff_step_test tested(struct made a, struct made b)
{
    struct diff diff;
    struct error err = {0};
    diff_begin(&diff, &(struct diff_options){.threshold_percent = 2, .alpha_percent = 1});
    take(&diff, DIFF_A, &a);
    take(&diff, DIFF_B, &b);
    assert_int_equal(diff_finish(&diff, &err), 0);
    assert_true(diff.is_per_step);
    assert_int_equal(diff.runs[DIFF_A].steps.count, STEPS);
    struct diff_step_test found = diff.step_test;
    diff_free(&diff);
    return found;
}

static void test_a_quiet_machine(void **state)
{
    (void)state;
    struct made quiet = {.speed = 1, .is_cpu = true}, slower = {.speed = 1.1, .is_cpu = true};
    assert_true(tested(quiet, quiet).is_noise);
    assert_false(tested(quiet, slower).is_noise); /* all ops alike: there it is the program */
    assert_false(tested(slower, quiet).is_noise);
}

static void test_a_busy_machine(void **state)
{
    (void)state;
    struct made quiet = {.speed = 1, .unrest = 0.1, .is_cpu = true};
    struct made busy = {.speed = 5, .unrest = 0.5, .is_cpu = true};
    struct made more = {.speed = 1, .unrest = 0.1, .extra = 3 * OPS, .is_cpu = true};
    assert_true(tested(quiet, busy).is_noise); /* five times as long, and all its ops */
    assert_true(tested(busy, quiet).is_noise);
    struct diff_step_test found = tested(busy, more); /* no longer, and four times the work */
    assert_false(found.is_noise);
    assert_true(found.at_speed > 3.9 && found.at_speed < 4.1);
}

/* Who else uses the host does not make a device slower. */
static void test_a_device(void **state)
{
    (void)state;
    struct made before = {.speed = 1, .unrest = 0.5}, now = {.speed = 4, .unrest = 0.5};
    assert_false(tested(before, now).is_noise);
    assert_true(tested(before, before).is_noise);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_quiet_machine),
        cmocka_unit_test(test_a_busy_machine),
        cmocka_unit_test(test_a_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
