/* SPDX-License-Identifier: Apache-2.0 */
/* One program before and after a change, for `opscope diff` and `opscope check`.
 *
 * A block of a network runs on a simulated accelerator: the device is a queue whose clock this program keeps, and an
 * op takes as long as its arithmetic or its memory traffic at the chip's speed, and a little more or less each time. So
 * the times are the same on every machine, and what `diff` must find is known:
 *
 *     before   norm, matmul 512x2048, relu, matmul 2048x512, add
 *     after    norm, matmul 512x2048 at three quarters of its speed, gelu instead of relu, matmul 2048x512, add
 *
 *     opscope run -o before.opscope -- two_versions before
 *     opscope run -o after.opscope -- two_versions after
 *     opscope diff before.opscope after.opscope
 *     opscope check --baseline before.opscope after.opscope --max-regress 5%
 *
 * Usage: two_versions [before|after [steps]] */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <opscope/opscope.h>

#define TICKS_PER_SECOND 1e9
#define GFLOPS 20000.0
#define GB_PER_SECOND 200.0

struct op {
    const char *name;
    unsigned rows, inner, columns; /* columns 0: element by element */
};

static const struct op norm = {"norm", 128, 512, 0}, up = {"matmul", 128, 512, 2048},
                       relu = {"relu", 128, 2048, 0}, gelu = {"gelu", 128, 2048, 0},
                       down = {"matmul", 128, 2048, 512}, add = {"add", 128, 512, 0};

struct machine {
    uint32_t queue;
    uint64_t now; /* the device's clock */
    uint32_t noise;
};

static uint64_t duration_of(struct machine *m, const struct op *op, double speed)
{
    double columns = op->columns ? op->columns : 1;
    double flops = 2.0 * op->rows * op->inner * columns;
    double bytes = 2.0 * (op->rows * op->inner + op->inner * columns + op->rows * columns);
    double seconds = flops / (GFLOPS * 1e9 * speed), moving = bytes / (GB_PER_SECOND * 1e9);
    m->noise = m->noise * 1664525u + 1013904223u;
    double factor = 1 + ((double)(m->noise >> 16) / 65536.0 - 0.5) * 0.02;
    return (uint64_t)((seconds > moving ? seconds : moving) * factor * TICKS_PER_SECOND);
}

static void describe(const char *role, unsigned rows, unsigned columns)
{
    const int64_t shape[] = {1, 1, rows, columns};
    struct opscope_tensor tensor = {.struct_size = sizeof tensor,
                                    .rank = 4,
                                    .shape = shape,
                                    .dtype = "BF16",
                                    .layout = "TILE",
                                    .memory = "DRAM_INTERLEAVED"};
    if (strcmp(role, "output") == 0)
        opscope_op_output(&tensor);
    else
        opscope_op_input(&tensor);
}

static void launch(struct machine *m, const struct op *op, double speed)
{
    uint64_t call = opscope_op_begin(op->name, OPSCOPE_OP_DEVICE, 0);
    describe("input", op->rows, op->inner);
    if (op->columns)
        describe("input", op->inner, op->columns);
    describe("output", op->rows, op->columns ? op->columns : op->inner);
    opscope_op_end();
    struct opscope_run run = {.struct_size = sizeof run,
                              .track = m->queue,
                              .op_call = call,
                              .name = op->name,
                              .start_ticks = m->now,
                              .duration_ticks = duration_of(m, op, speed),
                              .cores = 16};
    opscope_device_run(&run);
    m->now += run.duration_ticks + 700; /* a gap until the next op starts */
}

int main(int argc, char **argv)
{
    bool is_after = argc > 1 && strcmp(argv[1], "after") == 0;
    int steps = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 40;
    if ((argc > 1 && !is_after && strcmp(argv[1], "before") != 0) || steps < 1) {
        fprintf(stderr, "usage: two_versions [before|after [steps]]\n");
        return 2;
    }
    struct machine m = {.now = 1000, .noise = is_after ? 17 : 4711};
    uint32_t device = opscope_device_open("simulated accelerator", 0, TICKS_PER_SECOND);
    m.queue = opscope_device_track(device, 0, OPSCOPE_TRACK_QUEUE, "queue", 0);
    opscope_device_sync(device, opscope_now(), m.now, 0);
    for (int step = 0; step < steps; step++) {
        launch(&m, &norm, 1);
        launch(&m, &up, is_after ? 0.75 : 1);
        launch(&m, is_after ? &gelu : &relu, 1);
        launch(&m, &down, 1);
        launch(&m, &add, 1);
    }
    printf("%d steps, %.1f us on the device\n", steps, (double)m.now / TICKS_PER_SECOND * 1e6);
    return 0;
}
