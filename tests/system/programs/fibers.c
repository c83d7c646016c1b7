/* SPDX-License-Identifier: Apache-2.0 */
/* Two fibers that a thread runs in turns, each on a track of its own. */
#include <opscope/opscope.h>
#include <stddef.h>
#include <ucontext.h>

enum { TURNS = 3, STACK_BYTES = 256 * 1024 };

static ucontext_t scheduler, contexts[2];
static char stacks[2][STACK_BYTES];
static const char *const names[2] = {"first", "second"};

static void work(int number)
{
    OPSCOPE_ZONE("work");
    opscope_message(names[number]);
}

static void fiber(int number)
{
    for (int i = 0; i < TURNS; i++) {
        work(number);
        swapcontext(&contexts[number], &scheduler);
    }
}

static void turn(int number)
{
    OPSCOPE_ZONE("schedule");
    opscope_task_begin(names[number], (uint64_t)number + 1);
    swapcontext(&scheduler, &contexts[number]);
    opscope_task_end();
}

int main(void)
{
    for (volatile int i = 0; i < 2; i++) { /* the compiler knows that getcontext may return twice */
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = stacks[i];
        contexts[i].uc_stack.ss_size = STACK_BYTES;
        contexts[i].uc_link = &scheduler;
        makecontext(&contexts[i], (void (*)(void))fiber, 1, i);
    }
    for (int i = 0; i < TURNS; i++) {
        turn(0);
        turn(1);
    }
    opscope_message("no task");
    return 0;
}
