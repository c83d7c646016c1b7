/* SPDX-License-Identifier: Apache-2.0 */
/* Something of everything an export has to show, in known numbers (test_export.py has them, too): two processes,
 * two named threads, several blocks of zones with deep recursion, texts with every kind of character, messages,
 * counters, memory that another thread releases, ops with tensors, a device whose runs overlap, and a process
 * that dies in the middle of a zone. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <opscope/opscope.h>

enum { STEPS = 1500, DEPTH = 12, ALLOCATIONS = 50, OPS = 20, CHILD_ZONES = 100 };

static char memory[ALLOCATIONS];

static void recurse(unsigned depth)
{
    OPSCOPE_ZONE("recurse");
    if (depth > 1)
        recurse(depth - 1);
}

static void *work(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;
    opscope_thread_name(seed ? "worker; \"two\"" : "worker one");
    OPSCOPE_ZONE("work"); /* open until the last block */
    for (unsigned i = 0; i < STEPS; i++) {
        OPSCOPE_ZONE("step");
        recurse(DEPTH);
        if (i % 100 == 0) {
            char text[64];
            snprintf(text, sizeof text, "step %u, \"quoted\"\n\ttab \x01 \xc3\xa4 \xff;", i);
            opscope_zone_text(text);
            opscope_zone_value(UINT64_C(1) << 60 | i);
        }
    }
    if (seed) {
        for (unsigned i = 0; i < ALLOCATIONS; i++)
            opscope_free(&memory[i], "pool");
    }
    return NULL;
}

static void run_ops(void)
{
    uint32_t device = opscope_device_open("chip", 0, 1e9);
    uint32_t queue = opscope_device_track(device, 0, OPSCOPE_TRACK_QUEUE, "queue 0", 0);
    uint32_t core = opscope_device_track(device, queue, OPSCOPE_TRACK_CORE, "core 1,2", 12);
    const int64_t shape[] = {1, 32, 64};
    struct opscope_tensor tensor = {.struct_size = sizeof tensor,
                                    .rank = 3,
                                    .shape = shape,
                                    .dtype = "BFLOAT16",
                                    .layout = "TILE",
                                    .memory = "DRAM"};
    uint64_t base = 1000000;
    opscope_device_sync(device, opscope_now(), base, 10);
    for (unsigned i = 0; i < OPS; i++) {
        uint64_t call = opscope_op_begin("matmul", OPSCOPE_OP_DEVICE, 0);
        opscope_op_input(&tensor);
        opscope_op_input(&tensor);
        opscope_op_output(&tensor);
        opscope_op_attribute("transpose", i % 2 ? "true" : "false");
        opscope_op_kernel("reader.cpp");
        opscope_op_end();
        struct opscope_run_part parts[] = {{"BRISC", 400 + i}, {"NCRISC", 300}};
        struct opscope_run run = {.struct_size = sizeof run,
                                  .track = queue,
                                  .op_call = call,
                                  .name = "matmul",
                                  .start_ticks = base + i * UINT64_C(1000),
                                  .duration_ticks = i % 4 ? 800 : 1500, /* every fourth overlaps the next */
                                  .cores = 64,
                                  .part_count = 2,
                                  .parts = parts};
        opscope_device_run(&run);
        opscope_device_zone(core, "kernel", base + i * UINT64_C(1000) + 10, 100);
    }
    opscope_device_sync(device, opscope_now(), base + 1000000, 10);
}

static void be_a_child(void)
{
    for (unsigned i = 0; i < CHILD_ZONES; i++) {
        OPSCOPE_ZONE("child work");
    }
    OPSCOPE_BEGIN("never ends");
    OPSCOPE_BEGIN("nor this");
    kill(getpid(), SIGKILL);
}

int main(void)
{
    pthread_t threads[2];
    OPSCOPE_ZONE("main");
    opscope_signpost("start", "with text");
    opscope_signpost("bare", NULL);
    opscope_message("a message, with \"quotes\" and a\nline break");
    for (unsigned i = 0; i < 10; i++) {
        OPSCOPE_COUNTER("queue; length", i * 0.5);
        OPSCOPE_FRAME("frame");
    }
    for (unsigned i = 0; i < ALLOCATIONS; i++)
        opscope_alloc(&memory[i], 16, "pool");
    for (uintptr_t i = 0; i < 2; i++) {
        if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
            return 1;
    }
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    run_ops();
    pid_t child = fork();
    if (child == 0)
        be_a_child();
    if (child < 0 || waitpid(child, NULL, 0) != child)
        return 1;
    return 0;
}
