/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a trace with ops for the benchmarks of diff and report: bench_ops_trace FILE.opscope OPS [VARIANT].
 *
 * Ops of a transformer block in turn, each with three tensors and a run on a device. Variant 1 is the same program a
 * version later: the attention op is 8 % slower, the activation was replaced by another op, and every 997th op is
 * there twice, so that nothing after it lies at its old place. Variant 2 has the ops in random order: the worst that a
 * search for matching ops can meet. In variant 3 every op has an attribute that no other has. Made from arithmetic
 * alone. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/writer.h"

struct kind {
    const char *name;
    unsigned rows, inner, columns, duration_ns;
};

static const struct kind kinds[] = {
    {"rms_norm", 32, 4096, 4096, 21000},   {"matmul", 32, 4096, 12288, 190000},
    {"split_heads", 32, 6144, 6144, 4000}, {"rotary", 32, 4096, 4096, 5000},
    {"attention", 32, 4096, 1024, 48000},  {"matmul", 32, 4096, 4096, 90000},
    {"add", 32, 4096, 4096, 2500},         {"matmul", 32, 4096, 14336, 210000},
    {"silu", 32, 14336, 14336, 6000},      {"all_gather", 32, 4096, 4096, 25000},
};
#define KINDS (sizeof kinds / sizeof kinds[0])
#define SLOWER 4u
#define REPLACED 8u
#define REPEATED 997u

struct state {
    struct trace_writer *writer;
    uint32_t process, thread, queue;
    uint32_t names[KINDS], descriptions[KINDS];
    uint64_t call, time_ns;
    bool is_own;
};

/* `own`: an attribute of its own; "" for none. */
static uint32_t describe(struct state *s, size_t i, const char *own)
{
    char inputs[2][96], output[96];
    const struct kind *kind = &kinds[i];
    static const char form[] = "shape=1x1x%ux%u;dtype=BF16;layout=TILE;memory=DRAM_INTERLEAVED";
    snprintf(inputs[0], sizeof inputs[0], form, kind->rows, kind->inner);
    snprintf(inputs[1], sizeof inputs[1], form, kind->inner, kind->columns);
    snprintf(output, sizeof output, form, kind->rows, kind->columns);
    const struct trace_part parts[] = {{TRACE_PART_INPUT, slice_of(inputs[0])},
                                       {TRACE_PART_INPUT, slice_of(inputs[1])},
                                       {TRACE_PART_OUTPUT, slice_of(output)},
                                       {TRACE_PART_ATTRIBUTE, SLICE("math_fidelity=HiFi2")},
                                       {TRACE_PART_ATTRIBUTE, slice_of(own)}};
    return trace_writer_description(s->writer, parts, *own ? 5 : 4);
}

static void define(struct state *s, bool is_later)
{
    s->process = trace_writer_process(
        s->writer,
        &(struct trace_process){
            .id = TRACE_NONE, .parent = TRACE_NONE, .pid = 1, .command = "bench", .host = "bench"});
    s->thread = trace_writer_track(s->writer, &(struct trace_track){.id = TRACE_NONE,
                                                                    .process = s->process,
                                                                    .parent = TRACE_NONE,
                                                                    .number = 1,
                                                                    .key = 1,
                                                                    .name = "main"});
    s->queue = trace_writer_track(s->writer, &(struct trace_track){.id = TRACE_NONE,
                                                                   .process = s->process,
                                                                   .parent = TRACE_NONE,
                                                                   .kind = TRACE_TRACK_QUEUE,
                                                                   .number = 2,
                                                                   .key = 2,
                                                                   .name = "queue"});
    for (size_t i = 0; i < KINDS; i++) {
        s->descriptions[i] = describe(s, i, "");
        s->names[i] =
            trace_writer_name(s->writer, is_later && i == REPLACED ? "gelu" : kinds[i].name, "", "", 0, 0);
    }
}

/* Noise of up to an eighth, another in each variant. */
static uint64_t noise_of(uint64_t i, bool is_later, uint64_t most)
{
    uint64_t state = (i * 2 + is_later + 1) * UINT64_C(0x9e3779b97f4a7c15);
    state = (state ^ state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    state = (state ^ state >> 27) * UINT64_C(0x94d049bb133111eb);
    return (state ^ state >> 31) % most;
}

static void add_op(struct state *s, uint64_t i, bool is_later, bool is_random)
{
    size_t k = is_random ? noise_of(i, true, KINDS) : i % KINDS;
    uint64_t duration = kinds[k].duration_ns + noise_of(i, is_later, kinds[k].duration_ns / 8);
    if (is_later && k == SLOWER)
        duration += duration * 8 / 100;
    uint32_t description = s->descriptions[k];
    if (s->is_own) {
        char own[40];
        snprintf(own, sizeof own, "position=%" PRIu64, i);
        description = describe(s, k, own);
    }
    uint64_t start = s->time_ns, gap = 600 + i * 40503u % 900;
    s->time_ns += duration + gap;
    trace_writer_op(s->writer, &(struct trace_op){.call = ++s->call,
                                                  .process = s->process,
                                                  .track = s->thread,
                                                  .name = s->names[k],
                                                  .description = description,
                                                  .start_ns = start - 500,
                                                  .end_ns = start - 100});
    trace_writer_run(s->writer, &(struct trace_run){.call = s->call,
                                                    .process = s->process,
                                                    .track = s->queue,
                                                    .name = s->names[k],
                                                    .cores = 64,
                                                    .start = start,
                                                    .duration = duration});
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    bool is_later = argc > 3 && strcmp(argv[3], "1") == 0, is_random = argc > 3 && strcmp(argv[3], "2") == 0;
    struct trace_writer_options options = {.program = "bench", .command = "bench", .host = "bench"};
    struct state state = {.time_ns = UINT64_C(1000000000), .is_own = argc > 3 && strcmp(argv[3], "3") == 0};
    struct error err = {0};
    if (argc < 3 || trace_writer_open(&state.writer, argv[1], &options, &err) != 0) {
        fprintf(stderr, "bench_ops_trace: %s\n", argc < 3 ? "FILE OPS [VARIANT]" : err.message);
        return 1;
    }
    define(&state, is_later);
    for (uint64_t i = 0; i < count; i++) {
        add_op(&state, i, is_later, is_random);
        if (is_later && i % REPEATED == REPEATED - 1)
            add_op(&state, i, is_later, is_random);
        if (i % 65536 == 0)
            trace_writer_tick(state.writer, state.time_ns, &err);
    }
    if (trace_writer_finish(state.writer, &err) != 0) {
        fprintf(stderr, "bench_ops_trace: %s\n", err.message);
        return 1;
    }
    return 0;
}
