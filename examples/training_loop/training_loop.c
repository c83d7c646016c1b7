/* SPDX-License-Identifier: Apache-2.0 */
/* A training loop on a simulated accelerator, with the usual troubles: the loader is a little slower than a step, and
 * the optimizer launches many small kernels. It shows how the runtime of a chip hands over what it measured (device,
 * queues, runs in the device's ticks), beside zones, frames and ops of the host:
 *
 *     opscope run -o training.opscope -- training_loop
 *     opscope view training.opscope
 *
 * No chip is needed: the device is two queues whose clock is the host's. An op takes as long as its arithmetic or its
 * memory traffic at two thirds of what the machine file of that architecture says, and starts when its queue is free.
 *
 * Usage: training_loop [steps] */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <opscope/opscope.h>

#define ARCHITECTURE "h100"
#define FLOPS_PER_SECOND (989e12 * 0.66)
#define BYTES_PER_SECOND (3350e9 * 0.66)
#define LAUNCH_NS 4000u     /* until the device has heard of an op */
#define BETWEEN_NS 900u     /* from one op to the next */
#define LOAD_NS 21000000u   /* for one batch, on the loader's thread */
#define OPTIMIZER_NS 15000u /* of the host for each parameter */

enum { LAYERS = 6, PARAMETERS = 48, TOKENS = 4096, WIDTH = 2048, INNER = 8192 };

struct op {
    const char *name;
    int64_t rows, inner, columns; /* columns 0: element by element */
};

struct queue {
    uint32_t track;
    uint64_t free_at; /* the device's clock */
};

static struct queue compute, copies;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int ready, taken;
} batches = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};

static int steps = 10;

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t time_ns)
{
    struct timespec until = {.tv_sec = (time_t)(time_ns / 1000000000u),
                             .tv_nsec = (long)(time_ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) {
    }
}

static void work_for(uint64_t ns)
{
    uint64_t end = clock_ns() + ns;
    while (clock_ns() < end) {
    }
}

/* --- the device --- */

static void describe(int is_output, int64_t rows, int64_t columns)
{
    const int64_t shape[] = {1, 1, rows, columns};
    struct opscope_tensor tensor = {.struct_size = sizeof tensor,
                                    .rank = 4,
                                    .shape = shape,
                                    .dtype = "BFLOAT16",
                                    .layout = "ROW_MAJOR",
                                    .memory = "DRAM"};
    if (is_output)
        opscope_op_output(&tensor);
    else
        opscope_op_input(&tensor);
}

static uint64_t duration_of(const struct op *op)
{
    double rows = (double)op->rows, inner = (double)op->inner, columns = (double)op->columns;
    double flops = op->columns ? 2 * rows * inner * columns : rows * inner;
    double bytes = op->columns ? 2 * (rows * inner + inner * columns + rows * columns) : 4 * rows * inner;
    double computing = flops / FLOPS_PER_SECOND, moving = bytes / BYTES_PER_SECOND;
    return 2500 + (uint64_t)((computing > moving ? computing : moving) * 1e9);
}

static void launch(struct queue *queue, const struct op *op)
{
    uint64_t call = opscope_op_begin(op->name, OPSCOPE_OP_DEVICE, 0);
    describe(0, op->rows, op->inner);
    if (op->columns)
        describe(0, op->inner, op->columns);
    describe(1, op->rows, op->columns ? op->columns : op->inner);
    uint64_t heard = clock_ns() + LAUNCH_NS;
    opscope_op_end();
    struct opscope_run run = {.struct_size = sizeof run,
                              .track = queue->track,
                              .op_call = call,
                              .name = op->name,
                              .start_ticks = heard > queue->free_at ? heard : queue->free_at,
                              .duration_ticks = duration_of(op),
                              .cores = 132};
    opscope_device_run(&run);
    queue->free_at = run.start_ticks + run.duration_ticks + BETWEEN_NS;
}

/* --- the model --- */

static const struct op norm = {"layer_norm", TOKENS, WIDTH, 0}, qkv = {"matmul", TOKENS, WIDTH, 3 * WIDTH},
                       attention = {"attention", TOKENS, INNER * 4, 0},
                       out = {"matmul", TOKENS, WIDTH, WIDTH}, up = {"matmul", TOKENS, WIDTH, INNER},
                       gelu = {"eltwise_gelu", TOKENS, INNER, 0}, down = {"matmul", TOKENS, INNER, WIDTH},
                       add = {"eltwise_add", TOKENS, WIDTH, 0}, gather = {"allreduce", TOKENS, INNER, 0},
                       copy = {"copy", TOKENS, INNER * 4, 0}, adam = {"eltwise_adam", WIDTH, 512, 0};

static void layer(int times)
{
    OPSCOPE_BEGIN("layer");
    const struct op *const ops[] = {&norm, &qkv, &attention, &out, &add, &norm, &up, &gelu, &down, &add};
    for (int i = 0; i < times; i++) {
        for (size_t k = 0; k < sizeof ops / sizeof ops[0]; k++)
            launch(&compute, ops[k]);
    }
    OPSCOPE_END();
}

static void forward(void)
{
    OPSCOPE_BEGIN("forward");
    for (int i = 0; i < LAYERS; i++)
        layer(1);
    OPSCOPE_END();
}

static void backward(void)
{
    OPSCOPE_BEGIN("backward");
    for (int i = 0; i < LAYERS; i++) {
        layer(2);
        if (copies.free_at < compute.free_at)
            copies.free_at = compute.free_at; /* gradients are there when the layer has run */
        launch(&copies, &gather);
    }
    OPSCOPE_END();
}

static void optimizer(void)
{
    OPSCOPE_BEGIN("optimizer");
    OPSCOPE_BEGIN("wait for gradients");
    sleep_until(copies.free_at > compute.free_at ? copies.free_at : compute.free_at);
    OPSCOPE_END();
    for (int i = 0; i < PARAMETERS; i++) {
        OPSCOPE_BEGIN("step of a parameter");
        work_for(OPTIMIZER_NS);
        launch(&compute, &adam);
        OPSCOPE_END();
    }
    OPSCOPE_END();
}

/* --- batches --- */

static void *load(void *unused)
{
    opscope_thread_name("loader");
    for (int i = 0; i < steps; i++) {
        OPSCOPE_BEGIN("read and decode");
        work_for(LOAD_NS / 3);
        sleep_until(clock_ns() + LOAD_NS * 2 / 3); /* the rest is the disk's */
        OPSCOPE_END();
        pthread_mutex_lock(&batches.lock);
        batches.ready++;
        pthread_cond_broadcast(&batches.changed);
        pthread_mutex_unlock(&batches.lock);
    }
    return unused;
}

static void next_batch(void)
{
    OPSCOPE_BEGIN("next_batch");
    OPSCOPE_BEGIN("wait for the loader");
    pthread_mutex_lock(&batches.lock);
    while (batches.ready <= batches.taken)
        pthread_cond_wait(&batches.changed, &batches.lock);
    batches.taken++;
    pthread_mutex_unlock(&batches.lock);
    OPSCOPE_END();
    launch(&copies, &copy);
    compute.free_at = copies.free_at > compute.free_at ? copies.free_at : compute.free_at;
    OPSCOPE_END();
}

int main(int argc, char **argv)
{
    steps = argc > 1 ? (int)strtol(argv[1], NULL, 10) : steps;
    if (steps < 1 || steps > 10000) {
        fprintf(stderr, "usage: training_loop [steps]\n");
        return 2;
    }
    const struct opscope_device what = {.struct_size = sizeof what,
                                        .name = "simulated GPU",
                                        .architecture = ARCHITECTURE,
                                        .ticks_per_second = 1e9};
    uint32_t device = opscope_device_open_as(&what);
    compute.track = opscope_device_track(device, 0, OPSCOPE_TRACK_QUEUE, "compute", 0);
    copies.track = opscope_device_track(device, 0, OPSCOPE_TRACK_QUEUE, "copies", 1);
    opscope_device_sync(device, opscope_now(), clock_ns(), 0);
    opscope_thread_name("main");
    pthread_t loader;
    if (pthread_create(&loader, NULL, load, NULL) != 0)
        return 1;
    for (int i = 0; i < steps; i++) {
        OPSCOPE_FRAME("step");
        OPSCOPE_BEGIN("train_step");
        next_batch();
        forward();
        backward();
        optimizer();
        OPSCOPE_BEGIN("wait for the loss");
        sleep_until(compute.free_at);
        OPSCOPE_END();
        OPSCOPE_END();
        opscope_counter("loss", 4.0 / (1 + 0.35 * i));
    }
    pthread_join(loader, NULL);
    printf("%d steps\n", steps);
    return 0;
}
