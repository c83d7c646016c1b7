/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime with opscope's device feed in it. Every call of opscope is marked with the step of docs/new-chip.md that
 * explains it. Without `opscope run` around the program each of them is a load and a branch. */
#include "chip.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <opscope/opscope.h>

#include "chip_model.h"

#define BYTES_PER_ELEMENT 2u /* BFLOAT16 */
#define SYNC_NS 20000000u
#define SYNC_TRIES 16
#define CAPTURED_MAX 64u

enum engine { COMPUTE, DMA_IN, DMA_OUT, ENGINES };

struct command {
    enum engine engine;
    const char *name;
    uint64_t call; /* of the op that it belongs to */
    uint64_t ticks, matrix_ticks, vector_ticks;
    uint64_t bytes;
    uint32_t cores;
};

struct chip {
    uint64_t opened_ns, synced_ns;
    uint64_t free_at[ENGINES]; /* ticks */
    struct command captured[CAPTURED_MAX];
    uint32_t captured_count, replays;
    int is_capturing;
    /* opscope's ids */
    uint32_t device, tracks[ENGINES], cores[CHIP_CORES];
};

/* --- the chip: its clock, and time --- */

static uint64_t host_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A register of the chip: counts from power-on, at its own rate. */
static uint64_t read_ticks(const struct chip *chip)
{
    double seconds = (double)(host_ns() - chip->opened_ns) / 1e9;
    return CHIP_TICKS_AT_START + (uint64_t)(seconds * CHIP_HZ * (1 + CHIP_DRIFT));
}

/* --- step 5: clocks --- */

static void sync_clock(struct chip *chip)
{
    uint64_t best_before = 0, best_after = 0, best_ticks = 0, best_ns = UINT64_MAX;
    if (!opscope_is_recording())
        return;
    for (int i = 0; i < SYNC_TRIES; i++) {
        uint64_t begin_ns = host_ns(), before = opscope_now(), ticks = read_ticks(chip),
                 after = opscope_now();
        uint64_t took_ns = host_ns() - begin_ns;
        if (took_ns < best_ns) {
            best_ns = took_ns;
            best_before = before;
            best_after = after;
            best_ticks = ticks;
        }
    }
    opscope_device_sync(chip->device, best_before + (best_after - best_before) / 2, best_ticks,
                        best_ns / 2 + 1);
    chip->synced_ns = host_ns();
}

/* --- steps 1 and 2: the device and its tracks --- */

static void tell_of_device(struct chip *chip)
{
    static const struct {
        const char *name;
        enum opscope_track_kind kind;
    } engines[ENGINES] = {{"compute queue", OPSCOPE_TRACK_QUEUE},
                          {"DMA in", OPSCOPE_TRACK_DMA},
                          {"DMA out", OPSCOPE_TRACK_DMA}};
    struct opscope_device about = {.struct_size = sizeof about,
                                   .number = 0,
                                   .name = "Acme X1",
                                   .architecture = "acme_x1",
                                   .ticks_per_second = CHIP_HZ};
    chip->device = opscope_device_open_as(&about);
    for (uint32_t i = 0; i < ENGINES; i++)
        chip->tracks[i] = opscope_device_track(chip->device, 0, engines[i].kind, engines[i].name, i);
    for (uint32_t i = 0; i < CHIP_CORES; i++) {
        char name[16];
        snprintf(name, sizeof name, "core %u", i);
        chip->cores[i] = opscope_device_track(chip->device, 0, OPSCOPE_TRACK_CORE, name, i);
    }
}

struct chip *chip_open(void)
{
    struct chip *chip = calloc(1, sizeof *chip);
    if (!chip)
        return NULL;
    chip->opened_ns = host_ns();
    tell_of_device(chip);
    sync_clock(chip);
    return chip;
}

/* --- step 4: what the device measured --- */

/* A real runtime reads these times from a buffer that the chip writes; here they are known when a command starts. */
static void tell_of_run(struct chip *chip, const struct command *c, uint64_t start, uint32_t session)
{
    struct opscope_run_part parts[] = {{"MATRIX [ticks]", c->matrix_ticks},
                                       {"VECTOR [ticks]", c->vector_ticks}};
    struct opscope_figure figure = {
        .name = "BYTES", .kind = OPSCOPE_FIGURE_BYTES, .value = {.whole = c->bytes}};
    struct opscope_run run = {.struct_size = sizeof run,
                              .track = chip->tracks[c->engine],
                              .op_call = c->call,
                              .name = c->name,
                              .start_ticks = start,
                              .duration_ticks = c->ticks,
                              .cores = c->cores,
                              .session = session,
                              .part_count = c->engine == COMPUTE ? 2 : 0,
                              .parts = parts,
                              .figures = &figure,
                              .figure_count = 1};
    if (!opscope_is_recording())
        return;
    opscope_device_run(&run);
    for (uint32_t i = 0; i < c->cores; i++) { /* cores start one after another */
        uint64_t late = (uint64_t)i * 100u;
        opscope_device_zone(chip->cores[i], c->name, start + late, c->ticks > late ? c->ticks - late : 0);
    }
}

static void launch(struct chip *chip, const struct command *command, uint32_t session)
{
    uint64_t heard = read_ticks(chip) + CHIP_LAUNCH_TICKS, *free_at = &chip->free_at[command->engine];
    uint64_t start = *free_at > heard ? *free_at : heard;
    if (command->engine == COMPUTE && chip->free_at[DMA_IN] > start)
        start = chip->free_at[DMA_IN]; /* its inputs */
    if (command->engine == DMA_OUT && chip->free_at[COMPUTE] > start)
        start = chip->free_at[COMPUTE]; /* its result */
    *free_at = start + command->ticks;
    tell_of_run(chip, command, start, session);
    if (host_ns() - chip->synced_ns > SYNC_NS)
        sync_clock(chip);
}

static void submit(struct chip *chip, const struct command *command)
{
    if (chip->is_capturing && chip->captured_count < CAPTURED_MAX)
        chip->captured[chip->captured_count++] = *command;
    else
        launch(chip, command, 0);
}

/* --- step 3: ops --- */

static void tell_of_tensor(void (*tell)(const struct opscope_tensor *), const struct chip_tensor *t)
{
    const int64_t shape[] = {t->rows, t->columns};
    struct opscope_tensor tensor = {.struct_size = sizeof tensor,
                                    .rank = 2,
                                    .shape = shape,
                                    .dtype = "BFLOAT16",
                                    .layout = "ROW_MAJOR",
                                    .memory = "DEV_0_DRAM"};
    tell(&tensor);
}

static uint64_t bytes_of(const struct chip_tensor *t)
{
    return (uint64_t)(t->rows * t->columns) * BYTES_PER_ELEMENT;
}

static void copy(struct chip *chip, const char *name, enum engine engine, const struct chip_tensor *t)
{
    struct command c = {.engine = engine, .name = name, .bytes = bytes_of(t)};
    c.ticks = (uint64_t)((double)c.bytes / CHIP_DMA_PER_TICK);
    c.call = opscope_op_begin(name, OPSCOPE_OP_DEVICE, 0);
    tell_of_tensor(engine == DMA_IN ? opscope_op_output : opscope_op_input, t);
    opscope_op_attribute("tensor", t->name);
    submit(chip, &c);
    opscope_op_end();
}

void chip_copy_in(struct chip *chip, const struct chip_tensor *t)
{
    copy(chip, "copy in", DMA_IN, t);
}

void chip_copy_out(struct chip *chip, const struct chip_tensor *t)
{
    copy(chip, "copy out", DMA_OUT, t);
}

void chip_matmul(struct chip *chip, const struct chip_tensor *a, const struct chip_tensor *b,
                 const struct chip_tensor *c)
{
    double flops = 2.0 * (double)a->rows * (double)a->columns * (double)b->columns;
    struct command command = {.engine = COMPUTE, .name = "matmul", .cores = CHIP_CORES};
    command.bytes = bytes_of(a) + bytes_of(b) + bytes_of(c);
    command.matrix_ticks = (uint64_t)(flops / CHIP_FLOPS_PER_TICK / CHIP_CORES);
    command.ticks = (uint64_t)((double)command.matrix_ticks / CHIP_MATMUL_SHARE);
    command.call = opscope_op_begin("matmul", OPSCOPE_OP_DEVICE, 0);
    tell_of_tensor(opscope_op_input, a);
    tell_of_tensor(opscope_op_input, b);
    tell_of_tensor(opscope_op_output, c);
    opscope_op_kernel("acme_matmul_bf16");
    submit(chip, &command);
    opscope_op_end();
}

void chip_relu(struct chip *chip, const struct chip_tensor *a, const struct chip_tensor *b)
{
    double elements = (double)(a->rows * a->columns);
    struct command command = {.engine = COMPUTE, .name = "relu", .cores = CHIP_CORES / 2};
    command.bytes = bytes_of(a) + bytes_of(b);
    command.vector_ticks = (uint64_t)(elements / CHIP_VECTOR_PER_TICK / command.cores);
    double memory_ticks = (double)command.bytes / CHIP_DRAM_PER_TICK;
    command.ticks =
        (double)command.vector_ticks > memory_ticks ? command.vector_ticks : (uint64_t)memory_ticks;
    command.call = opscope_op_begin("UnaryOp relu", OPSCOPE_OP_DEVICE, 0);
    tell_of_tensor(opscope_op_input, a);
    tell_of_tensor(opscope_op_output, b);
    opscope_op_kernel("acme_relu_bf16");
    submit(chip, &command);
    opscope_op_end();
}

/* --- step 6: replays --- */

void chip_capture_begin(struct chip *chip)
{
    chip->is_capturing = 1;
    chip->captured_count = 0;
}

void chip_capture_end(struct chip *chip)
{
    chip->is_capturing = 0;
}

/* The runs of a replay belong to the ops that were captured; the number of the replay tells them apart. */
void chip_replay(struct chip *chip)
{
    OPSCOPE_ZONE("chip_replay");
    chip->replays++;
    for (uint32_t i = 0; i < chip->captured_count; i++)
        launch(chip, &chip->captured[i], chip->replays);
}

/* --- the end --- */

void chip_wait(struct chip *chip)
{
    OPSCOPE_ZONE("chip_wait");
    uint64_t end = 0;
    for (uint32_t i = 0; i < ENGINES; i++)
        end = chip->free_at[i] > end ? chip->free_at[i] : end;
    while (read_ticks(chip) < end)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

void chip_close(struct chip *chip)
{
    if (!chip)
        return;
    sync_clock(chip);
    free(chip);
}
