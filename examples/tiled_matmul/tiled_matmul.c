/* SPDX-License-Identifier: Apache-2.0 */
/* A tiled matrix multiply with a loader process: what `make demo` profiles.
 *
 * A loader process fills input matrices in shared memory, one step ahead of the workers. For each step a team of
 * threads multiplies tile by tile and then adds up a checksum. All of it is marked up with opscope: zones in
 * every thread and both processes, a counter, a signpost at each phase, one frame and one op per step with
 * its tensors.
 *
 * Usage: tiled_matmul [steps] [size] [threads] */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <opscope/opscope.h>

#define TILE 32
#define MAX_THREADS 16

struct batch { /* shared between loader and workers; two, used in turn */
    sem_t is_ready, is_free;
};

struct work {
    int steps, size, threads;
    struct batch *batches;
    float *inputs; /* [2][2][size * size]: batch, A or B */
    float *output;
    pthread_barrier_t barrier;
    int next_tile; /* handed out with an atomic add */
    double checksum;
};

static float *input(const struct work *w, int step, int which)
{
    size_t matrix = (size_t)w->size * (size_t)w->size;
    return w->inputs + ((size_t)(step % 2) * 2 + (size_t)which) * matrix;
}

static void load_matrix(float *out, int size, uint32_t seed)
{
    OPSCOPE_FUNCTION();
    for (int i = 0; i < size * size; i++) {
        seed = seed * 1664525u + 1013904223u;
        out[i] = (float)(seed >> 8) / 16777216.0f;
    }
}

static int run_loader(const struct work *w)
{
    opscope_thread_name("loader");
    for (int step = 0; step < w->steps; step++) {
        struct batch *batch = &w->batches[step % 2];
        {
            OPSCOPE_ZONE("wait for a free batch");
            sem_wait(&batch->is_free);
        }
        OPSCOPE_ZONE("load batch");
        opscope_zone_value((uint64_t)step);
        load_matrix(input(w, step, 0), w->size, (uint32_t)step * 2 + 1);
        load_matrix(input(w, step, 1), w->size, (uint32_t)step * 2 + 2);
        sem_post(&batch->is_ready);
    }
    return 0;
}

static void multiply_tile(const struct work *w, int step, int tile)
{
    OPSCOPE_FUNCTION();
    int across = w->size / TILE, row0 = tile / across * TILE, column0 = tile % across * TILE;
    const float *a = input(w, step, 0), *b = input(w, step, 1);
    float sum[TILE][TILE];
    memset(sum, 0, sizeof sum);
    for (int k = 0; k < w->size; k++) {
        for (int i = 0; i < TILE; i++) {
            float left = a[(size_t)(row0 + i) * (size_t)w->size + (size_t)k];
            for (int j = 0; j < TILE; j++)
                sum[i][j] += left * b[(size_t)k * (size_t)w->size + (size_t)(column0 + j)];
        }
    }
    for (int i = 0; i < TILE; i++)
        memcpy(&w->output[(size_t)(row0 + i) * (size_t)w->size + (size_t)column0], sum[i], sizeof sum[i]);
}

static void multiply_tiles(struct work *w, int step)
{
    OPSCOPE_ZONE("multiply");
    int tiles = (w->size / TILE) * (w->size / TILE);
    for (int tile; (tile = __atomic_fetch_add(&w->next_tile, 1, __ATOMIC_RELAXED)) < tiles;)
        multiply_tile(w, step, tile);
}

static void meet(struct work *w)
{
    OPSCOPE_ZONE("barrier");
    pthread_barrier_wait(&w->barrier);
}

static void *run_worker(void *context)
{
    struct work *w = context;
    opscope_thread_name("worker");
    for (int step = 0; step < w->steps; step++) {
        meet(w); /* until the batch is there */
        multiply_tiles(w, step);
        meet(w); /* until all tiles are done */
    }
    return NULL;
}

static void describe_op(const struct work *w)
{
    int64_t shape[2] = {w->size, w->size};
    struct opscope_tensor tensor = {.struct_size = sizeof tensor,
                                    .rank = 2,
                                    .shape = shape,
                                    .dtype = "FLOAT32",
                                    .layout = "ROW_MAJOR",
                                    .memory = "HOST"};
    opscope_op_input(&tensor);
    opscope_op_input(&tensor);
    opscope_op_output(&tensor);
    opscope_op_attribute("tile", "32x32");
}

static void run_step(struct work *w, int step)
{
    OPSCOPE_ZONE("step");
    struct batch *batch = &w->batches[step % 2];
    {
        OPSCOPE_ZONE("wait for a batch");
        sem_wait(&batch->is_ready);
    }
    w->next_tile = 0;
    opscope_op_begin("matmul", OPSCOPE_OP_HOST, 0);
    describe_op(w);
    meet(w);
    multiply_tiles(w, step);
    meet(w);
    opscope_op_end();
    sem_post(&batch->is_free);
    OPSCOPE_ZONE("checksum");
    double sum = 0;
    for (int i = 0; i < w->size * w->size; i++)
        sum += (double)w->output[i];
    w->checksum += sum;
    OPSCOPE_COUNTER("checksum", sum);
}

static int run_team(struct work *w)
{
    pthread_t team[MAX_THREADS];
    opscope_thread_name("main");
    opscope_signpost("start", "all threads are about to start");
    for (int i = 1; i < w->threads; i++)
        pthread_create(&team[i], NULL, run_worker, w);
    for (int step = 0; step < w->steps; step++) {
        run_step(w, step);
        OPSCOPE_FRAME("step");
    }
    for (int i = 1; i < w->threads; i++)
        pthread_join(team[i], NULL);
    opscope_signpost("stop", NULL);
    printf("%d steps of %d x %d on %d threads, checksum %.6e\n", w->steps, w->size, w->size, w->threads,
           w->checksum);
    return 0;
}

static int argument(int argc, char **argv, int index, int fallback, int most)
{
    long value = index < argc ? strtol(argv[index], NULL, 10) : fallback;
    return value < 1 ? 1 : value > most ? most : (int)value;
}

static void *shared_memory(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("tiled_matmul: mmap");
        exit(1);
    }
    return memory;
}

int main(int argc, char **argv)
{
    struct work w = {
        .steps = argument(argc, argv, 1, 12, 1000000),
        .size = argument(argc, argv, 2, 256, 4096) / TILE * TILE,
        .threads = argument(argc, argv, 3, 4, MAX_THREADS),
    };
    if (w.size < TILE)
        w.size = TILE;
    size_t matrix = (size_t)w.size * (size_t)w.size * sizeof(float);
    w.batches = shared_memory(2 * sizeof *w.batches);
    w.inputs = shared_memory(4 * matrix);
    w.output = shared_memory(matrix);
    for (int i = 0; i < 2; i++) {
        sem_init(&w.batches[i].is_ready, 1, 0);
        sem_init(&w.batches[i].is_free, 1, 1);
    }
    pthread_barrier_init(&w.barrier, NULL, (unsigned)w.threads);
    pid_t loader = fork();
    if (loader < 0) {
        perror("tiled_matmul: fork");
        return 1;
    }
    if (loader == 0)
        _exit(run_loader(&w));
    int status = run_team(&w), loader_status = 0;
    while (waitpid(loader, &loader_status, 0) < 0 && errno == EINTR)
        ;
    return status || loader_status ? 1 : 0;
}
