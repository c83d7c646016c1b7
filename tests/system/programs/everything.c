/* SPDX-License-Identifier: Apache-2.0 */
/* One of each call of opscope.h, with texts and numbers that test_api.py looks for. */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include <opscope/opscope.h>

static void zones(void)
{
    OPSCOPE_FUNCTION();
    {
        OPSCOPE_ZONE("scoped");
        opscope_zone_text("text of scoped");
        opscope_zone_text("and more of it");
        opscope_zone_value(42);
        opscope_zone_colour(0x00ff00);
    }
    {
        OPSCOPE_ZONE_COLOUR("coloured", 0x123456);
    }
    OPSCOPE_BEGIN("explicit");
    for (int i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "made at run time %d", i);
        opscope_zone_begin(name);
        opscope_zone_value((uint64_t)i);
        opscope_zone_end();
    }
    OPSCOPE_END();
    opscope_zone_end(); /* ends the function's zone; its scope then ends nothing */
    opscope_zone_end(); /* one too many: ignored */
    opscope_zone_begin(NULL);
    opscope_zone_text(NULL);
    opscope_zone_end();
    opscope_zone_begin("");
    opscope_zone_end();
}

static void moments(void)
{
    opscope_signpost("start of training", "epoch 1");
    opscope_signpost("bare", NULL);
    opscope_signpost(NULL, "no header");
    opscope_message("hello");
    opscope_message("");
    opscope_message(NULL);
    opscope_message("\xc3\xa4 \"quoted\"\ttab\nline \xff");
    for (int i = 0; i < 4; i++)
        OPSCOPE_FRAME("frame");
    OPSCOPE_COUNTER("queue length", 3);
    OPSCOPE_COUNTER("queue length", -1.5);
    OPSCOPE_COUNTER("queue length", NAN);
    opscope_counter("at run time", 1e300);
}

static void memory(void)
{
    static char block[2];
    opscope_alloc(&block[0], 1024, "pool");
    opscope_alloc(&block[1], SIZE_MAX, NULL);
    opscope_free(&block[0], "pool");
    opscope_free(&block[1], NULL);
    opscope_alloc(&block[0], 100, "arena");
    opscope_alloc(&block[1], 200, "arena");
    opscope_alloc(&block[0], 1, "other"); /* pools may lie in each other */
    opscope_free_all("arena");
    opscope_alloc(&block[1], 300, "arena");
}

static void *named_thread(void *unused)
{
    opscope_thread_name("loader \xc3\xa4");
    OPSCOPE_ZONE("in the loader");
    return unused;
}

static void ops(void)
{
    const int64_t shape[] = {1, 32, 64}, padded[] = {1, 32, 128};
    struct opscope_tensor in = {.struct_size = sizeof in,
                                .rank = 3,
                                .shape = shape,
                                .padded_shape = padded,
                                .dtype = "BFLOAT16",
                                .layout = "TILE",
                                .memory = "DRAM"};
    struct opscope_tensor out = {.struct_size = sizeof out, .rank = 2, .shape = shape, .dtype = "FLOAT32"};
    uint32_t device =
        opscope_device_open_as(&(struct opscope_device){.struct_size = sizeof(struct opscope_device),
                                                        .number = 3,
                                                        .name = "chip",
                                                        .architecture = "chip_b0",
                                                        .ticks_per_second = 1e9});
    uint32_t queue = opscope_device_track(device, 0, OPSCOPE_TRACK_QUEUE, "queue 0", 0);
    uint32_t core = opscope_device_track(device, queue, OPSCOPE_TRACK_CORE, "core 1-2", 12);
    opscope_device_sync(device, opscope_now(), 1000000, 10);
    uint64_t call = opscope_op_begin("matmul", OPSCOPE_OP_DEVICE, 3);
    opscope_op_input(&in);
    opscope_op_input(&out);
    opscope_op_output(&out);
    opscope_op_attribute("fidelity", "HiFi4");
    opscope_op_attribute("empty", "");
    opscope_op_kernel("matmul_kernel.cpp");
    {
        OPSCOPE_ZONE("inside the op");
    }
    opscope_op_end();
    opscope_op_begin("tokenize", OPSCOPE_OP_HOST, 0);
    opscope_op_end();
    opscope_op_begin("gelu", OPSCOPE_OP_FALLBACK, 0);
    opscope_op_end();
    struct opscope_run_part parts[] = {{"BRISC", 400}, {"NCRISC", 300}};
    struct opscope_figure figures[] = {
        {.name = "DRAM read", .kind = OPSCOPE_FIGURE_BYTES, .value.whole = 4096},
        {.name = "stalled", .kind = OPSCOPE_FIGURE_NS, .value.whole = 77},
        {.name = "tiles", .kind = OPSCOPE_FIGURE_COUNT, .value.whole = 9},
        {.name = "intensity", .kind = OPSCOPE_FIGURE_REAL, .value.real = 3.0},
        {.name = "busy", .kind = OPSCOPE_FIGURE_PERCENT, .value.real = 62.5},
        {.name = "kernel", .kind = OPSCOPE_FIGURE_TEXT, .value.text = "matmul, 2 cores; fast"}};
    struct opscope_run run = {.struct_size = sizeof run,
                              .figures = figures,
                              .figure_count = 6,
                              .track = queue,
                              .op_call = call,
                              .name = "matmul",
                              .start_ticks = 1000000,
                              .duration_ticks = 500,
                              .cores = 64,
                              .part_count = 2,
                              .parts = parts};
    opscope_device_run(&run);
    opscope_device_zone(core, "outer kernel", 1000000, 400);
    opscope_device_zone(core, "inner kernel", 1000100, 100);
    opscope_device_zone(0, "nowhere", 1, 1);
}

int main(void)
{
    pthread_t thread;
    zones();
    moments();
    memory();
    if (pthread_create(&thread, NULL, named_thread, NULL) != 0)
        return 1;
    pthread_join(thread, NULL);
    ops();
    return 0;
}
