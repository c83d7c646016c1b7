/* SPDX-License-Identifier: Apache-2.0 */
/* An inference server as such servers are: a parent whose workers, one per device, serve the same steps side by side,
 * and that ends them with SIGKILL when it is done.
 *
 *     inference WORKERS STEPS [fork|exec]
 *
 * Each worker has a run that belongs to no op; each of its steps is one zone with LAYERS ops, each with two runs on its
 * device. Then it says "done" to the parent. The parent kills all of them
 * when all have said so: none has ended its zone "serve". */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <opscope/opscope.h>

#define LAYERS 4

static uint64_t run_layer(uint32_t track, int layer, uint64_t now)
{
    static const char *const kernels[] = {"gemm", "all_reduce"};
    char name[32];
    snprintf(name, sizeof name, "layer %d", layer);
    uint64_t call = opscope_op_begin(name, OPSCOPE_OP_DEVICE, 0);
    for (int i = 0; i < 2; i++, now += 1000) {
        struct opscope_run run = {.struct_size = sizeof run,
                                  .track = track,
                                  .op_call = call,
                                  .name = kernels[i],
                                  .start_ticks = now,
                                  .duration_ticks = i ? 300 : 700};
        opscope_device_run(&run);
    }
    opscope_op_end();
    return now;
}

static void serve(uint32_t rank, long steps, int done)
{
    uint32_t device = opscope_device_open("npu", rank, 1e9);
    uint32_t track = opscope_device_track(device, 0, OPSCOPE_TRACK_QUEUE, "queue", 0);
    uint64_t now = 1000000;
    uint32_t dma = opscope_device_track(device, 0, OPSCOPE_TRACK_DMA, "dma", 0);
    opscope_device_sync(device, opscope_now(), now, 10);
    struct opscope_run fetch = {/* of no op */
                                .struct_size = sizeof fetch,
                                .track = dma,
                                .name = "fetch weights",
                                .start_ticks = now,
                                .duration_ticks = 5000};
    opscope_device_run(&fetch);
    opscope_zone_begin("serve");
    for (long step = 0; step < steps; step++) {
        OPSCOPE_ZONE("step");
        for (int layer = 0; layer < LAYERS; layer++)
            now = run_layer(track, layer, now);
    }
    if (write(done, "d", 1) != 1)
        _exit(3);
    for (;;)
        pause();
}

static long number(const char *text)
{
    return strtol(text, NULL, 10);
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "worker") == 0)
        serve((uint32_t)number(argv[2]), number(argv[3]), (int)number(argv[4]));
    int workers = argc > 2 ? (int)number(argv[1]) : 0, done[2];
    long steps = workers ? number(argv[2]) : 0;
    int is_exec = argc > 3 && strcmp(argv[3], "exec") == 0;
    pid_t *pids = calloc((size_t)workers + 1, sizeof *pids);
    if (!workers || !pids || pipe(done) != 0)
        return 2;
    OPSCOPE_ZONE("schedule");
    for (int i = 0; i < workers; i++) {
        pids[i] = fork();
        if (pids[i] == 0 && !is_exec)
            serve((uint32_t)i, steps, done[1]);
        if (pids[i] == 0) {
            char rank[16], count[24], fd[16], word[] = "worker",
                                              *again[] = {argv[0], word, rank, count, fd, NULL};
            snprintf(rank, sizeof rank, "%d", i);
            snprintf(count, sizeof count, "%ld", steps);
            snprintf(fd, sizeof fd, "%d", done[1]);
            execv("/proc/self/exe", again);
            _exit(4);
        }
    }
    char byte;
    for (int i = 0; i < workers; i++)
        if (read(done[0], &byte, 1) != 1)
            return 5;
    for (int i = 0; i < workers; i++)
        kill(pids[i], SIGKILL);
    for (int i = 0; i < workers; i++)
        waitpid(pids[i], NULL, 0);
    free(pids);
    return 0;
}
