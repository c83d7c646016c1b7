/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the seeds of fuzz_trace: small traces, one for each thing that a trace can hold, and three of programs as the
 * commands know them: ops on a device in steps, ops that the CPU computed, a log that was imported. The seeds of
 * fuzz_commands are the same with a byte in front (make_commands_corpus.py).
 *
 *     cc -std=gnu11 -D_GNU_SOURCE -Isrc tests/fuzz/make_trace_corpus.c build/libopscope_trace.a \
 *         build/libopscope_base.a -lzstd -lm -o make_trace_corpus && ./make_trace_corpus tests/fuzz/corpus/trace */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/writer.h"

static const char *folder;

static struct trace_writer *begin(const char *name, uint64_t max_size_bytes)
{
    char path[512];
    struct error err;
    struct trace_writer *w;
    struct trace_writer_options options = {
        .program = "seed", .command = "a command", .host = "host", .max_size_bytes = max_size_bytes};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (trace_writer_open(&w, path, &options, &err)) {
        fprintf(stderr, "make_trace_corpus: %s\n", err.message);
        exit(1);
    }
    return w;
}

static void end(struct trace_writer *w)
{
    struct error err;
    if (trace_writer_finish(w, &err)) {
        fprintf(stderr, "make_trace_corpus: %s\n", err.message);
        exit(1);
    }
}

static uint32_t add_track(struct trace_writer *w, uint32_t clock)
{
    struct trace_process process = {
        .id = TRACE_NONE, .parent = TRACE_NONE, .pid = 3, .key = 1, .command = "program", .host = "host"};
    struct trace_track track = {
        .id = TRACE_NONE, .parent = TRACE_NONE, .clock = clock, .name = "track", .key = 2};
    track.process = trace_writer_process(w, &process);
    return trace_writer_track(w, &track);
}

/* Nested zones of a few lengths, some carried, some with extras. */
static void add_zones(struct trace_writer *w, uint32_t track, uint64_t count)
{
    struct zone_sink *sink = trace_writer_sink(w, track);
    uint32_t names[3] = {trace_writer_name(w, "outer", "main", "a.c", 1, 0),
                         trace_writer_name(w, "inner", "work", "a.c", 2, 0xff0000), TRACE_NONE};
    uint64_t now = 1000;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t start = now;
        zone_sink_add(sink, 1, now + 5, now + 20 + i % 7, 0, names[1]);
        if (i % 9 == 0) {
            struct trace_extra extra = {.kind = TRACE_EXTRA_TEXT, .text = "some text", .text_length = 9};
            zone_sink_extra(sink, &extra);
        }
        now += 40 + (i % 50 == 49 ? UINT64_C(5000000000) : 0);
        zone_sink_add(sink, 0, start, now, 15 + i % 7, names[i % 3]);
    }
    zone_sink_add(sink, 2, 500, now, 0, names[0]);
}

static void list_open(void *context, struct trace_writer *w)
{
    struct trace_open_zone zone = {.track = *(uint32_t *)context, .depth = 0, .start = 900, .name = 0};
    trace_writer_open_zone(w, &zone);
}

static void add_rows(struct trace_writer *w, uint32_t track, uint32_t device)
{
    uint32_t name = trace_writer_name(w, "op", "", "", 0, 0), frames[3] = {name, name, 77};
    struct trace_part parts[2] = {{TRACE_PART_INPUT, SLICE("shape=2x2;dtype=BF16")},
                                  {TRACE_PART_KERNEL, SLICE("k.cpp")}};
    struct trace_run_part run_parts[2] = {{.name = name, .whole = 5},
                                          {.name = name, .kind = TRACE_FIGURE_REAL, .real = 0.5}};
    for (uint64_t i = 0; i < 4; i++) {
        struct trace_point point = {.track = track,
                                    .kind = 1 + (uint32_t)i % 3,
                                    .time = i,
                                    .header = "h",
                                    .text = "text",
                                    .text_length = 4};
        struct trace_counter counter = {.track = track, .name = name, .time = i, .value = 1.5 * (double)i};
        struct trace_memory memory = {
            .track = track, .pool = name, .time = i, .address = 4096 * i, .size = 64};
        struct trace_op op = {.call = i, .track = track, .name = name, .start_ns = i, .end_ns = i * 2};
        struct trace_run run = {
            .call = i, .track = device, .name = name, .part_count = 2, .parts = run_parts};
        struct trace_sample sample = {.track = track, .time = i, .frame_count = 3, .frames = frames};
        struct trace_loss loss = {.track = track, .reason = 1 + (uint32_t)i, .zones = i, .to_ns = 5};
        op.description = trace_writer_description(w, parts, 2);
        trace_writer_point(w, &point);
        trace_writer_counter(w, &counter);
        trace_writer_memory(w, &memory);
        trace_writer_op(w, &op);
        trace_writer_run(w, &run);
        trace_writer_sample(w, &sample);
        trace_writer_loss(w, &loss);
        trace_writer_lock(w, &(struct trace_lock){.track = track,
                                                  .name = name,
                                                  .kind = 1 + (uint32_t)i % 2,
                                                  .number = 4096 * i,
                                                  .start_ns = i,
                                                  .end_ns = 3 * i,
                                                  .is_shared = i == 3});
    }
}

static uint32_t add_device(struct trace_writer *w)
{
    struct trace_clock clock = {.id = TRACE_NONE, .is_device = true, .ticks_per_second = 1e9, .name = "chip"};
    uint32_t id = trace_writer_clock(w, &clock);
    for (uint64_t i = 0; i < 3; i++) {
        struct trace_clock_point point = {
            .clock = id, .ticks = i * 1000, .host_ns = i * 1100, .is_break = i == 2};
        trace_writer_clock_point(w, &point);
    }
    return add_track(w, id);
}

/* --- programs --- */

struct program {
    struct trace_writer *w;
    uint32_t process, thread, device, queue, clock;
};

static uint32_t define_track(struct program *p, uint32_t kind, uint32_t parent, uint32_t clock,
                             const char *name)
{
    static uint64_t key = 100;
    struct trace_track track = {.id = TRACE_NONE,
                                .process = p->process,
                                .parent = parent,
                                .kind = kind,
                                .clock = clock,
                                .number = kind == TRACE_TRACK_DEVICE ? 0 : key,
                                .key = key,
                                .name = name,
                                .architecture = kind == TRACE_TRACK_DEVICE ? "wormhole_b0" : ""};
    key++;
    return trace_writer_track(p->w, &track);
}

static struct program begin_program(const char *name)
{
    struct program p = {.w = begin(name, 0)};
    struct trace_process process = {.id = TRACE_NONE,
                                    .parent = TRACE_NONE,
                                    .pid = 7,
                                    .start_ns = 1000000000,
                                    .end_ns = 1400000000,
                                    .key = 9,
                                    .command = "python train.py",
                                    .host = "host"};
    struct trace_clock clock = {.id = TRACE_NONE, .is_device = true, .ticks_per_second = 1e9, .name = "chip"};
    p.process = trace_writer_process(p.w, &process);
    p.clock = trace_writer_clock(p.w, &clock);
    for (uint64_t i = 0; i < 2; i++)
        trace_writer_clock_point(p.w, &(struct trace_clock_point){.clock = p.clock,
                                                                  .ticks = i * 400000000,
                                                                  .host_ns = 1000000000 + i * 400000000});
    p.thread = define_track(&p, TRACE_TRACK_THREAD, TRACE_NONE, TRACE_HOST_CLOCK, "main");
    p.device = define_track(&p, TRACE_TRACK_DEVICE, TRACE_NONE, p.clock, "chip 0");
    p.queue = define_track(&p, TRACE_TRACK_QUEUE, p.device, p.clock, "queue 0");
    return p;
}

static void add_call(struct program *p, uint64_t call, uint32_t type, uint64_t start_ns)
{
    static const char *const names[] = {"ttnn::matmul", "Softmax", "BinaryDeviceOperation"};
    struct trace_part parts[] = {
        {TRACE_PART_INPUT, SLICE("shape=1x1x64x128;dtype=BF16;layout=TILE;memory=DRAM_INTERLEAVED")},
        {TRACE_PART_INPUT, SLICE("shape=1x1x128x32;dtype=BFP8;layout=TILE;memory=L1_BLOCK_SHARDED")},
        {TRACE_PART_OUTPUT, SLICE("shape=1x1x64x32;dtype=BF16;layout=TILE")},
        {TRACE_PART_ATTRIBUTE, SLICE("math_fidelity=HiFi2")},
        {TRACE_PART_KERNEL, SLICE("reader.cpp")},
        {TRACE_PART_LOCATION, SLICE("model.py:20")}};
    struct trace_run_part figures[] = {{.name = trace_writer_name(p->w, TRACE_FIGURE_SEQUENCE, "", "", 0, 0),
                                        .kind = TRACE_FIGURE_COUNT,
                                        .whole = call},
                                       {.name = trace_writer_name(p->w, TRACE_FIGURE_FORWARD, "", "", 0, 0),
                                        .kind = TRACE_FIGURE_COUNT,
                                        .whole = call - 1}};
    trace_writer_op(p->w,
                    &(struct trace_op){.call = call,
                                       .process = p->process,
                                       .track = p->thread,
                                       .name = trace_writer_name(p->w, names[call % 3], "", "", 0, 0),
                                       .type = type,
                                       .device = type == TRACE_OP_CPU ? TRACE_NONE : 0,
                                       .description = trace_writer_description(p->w, parts, 3 + call % 4),
                                       .start_ns = start_ns,
                                       .end_ns = start_ns + 40000,
                                       .part_count = call % 3,
                                       .parts = figures});
}

static void add_run(struct program *p, uint64_t call, uint64_t ticks)
{
    static const uint32_t kinds[] = {TRACE_FIGURE_TICKS, TRACE_FIGURE_NS, TRACE_FIGURE_BYTES,
                                     TRACE_FIGURE_PERCENT};
    struct trace_run_part figures[5];
    for (uint32_t i = 0; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof name, "figure %u", (unsigned)i);
        figures[i] = (struct trace_run_part){
            .name = trace_writer_name(p->w, name, "", "", 0, 0), .kind = kinds[i], .whole = 100 * call};
    }
    figures[3].real = 61.5;
    figures[4] = (struct trace_run_part){.name = trace_writer_name(p->w, "text", "", "", 0, 0),
                                         .kind = TRACE_FIGURE_TEXT,
                                         .whole = trace_writer_name(p->w, "HiFi2", "", "", 0, 0)};
    trace_writer_run(p->w, &(struct trace_run){.call = call,
                                               .process = p->process,
                                               .track = p->queue,
                                               .name = trace_writer_name(p->w, "kernel", "", "m.mlir", 3, 0),
                                               .session = call % 5 == 4,
                                               .cores = 64,
                                               .flags = call % 7 == 6 ? TRACE_RUN_ESTIMATED : 0,
                                               .part_count = 5,
                                               .start = ticks,
                                               .duration = 20000 + 500 * call,
                                               .parts = figures});
}

static void add_point(struct program *p, uint32_t kind, uint64_t ns, const char *header)
{
    trace_writer_point(p->w, &(struct trace_point){.track = p->thread,
                                                   .kind = kind,
                                                   .time = ns,
                                                   .header = header,
                                                   .text = "step",
                                                   .text_length = 4});
}

/* Steps of a training: zones of the host, calls within them, runs on the device, memory, a counter, a lock. */
static void add_steps(struct program *p, uint32_t type)
{
    struct zone_sink *sink = trace_writer_sink(p->w, p->thread);
    uint32_t step = trace_writer_name(p->w, "train_step", "loop", "train.py", 10, 0),
             load = trace_writer_name(p->w, "load", "next", "data.py", 3, 0),
             wait = trace_writer_name(p->w, "synchronize", "wait", "train.py", 22, 0);
    for (uint64_t i = 0; i < 8; i++) {
        uint64_t at = 1010000000 + i * 1000000;
        add_point(p, TRACE_POINT_FRAME, at, "step");
        if (i == 2)
            add_point(p, TRACE_POINT_SIGNPOST, at, "warm");
        zone_sink_add(sink, 1, at + 1000, at + 200000, 0, load);
        for (uint64_t k = 0; k < 3; k++) {
            add_call(p, 3 * i + k + 1, type, at + 210000 + k * 50000);
            if (type != TRACE_OP_CPU)
                add_run(p, 3 * i + k + 1, at + 230000 + k * 60000 - 1000000000);
        }
        zone_sink_add(sink, 1, at + 400000, at + 600000, 0, wait);
        zone_sink_add(sink, 0, at, at + 900000, 399000, step);
        trace_writer_memory(p->w, &(struct trace_memory){.track = p->thread,
                                                         .pool = i % 2 ? TRACE_NONE : load,
                                                         .time = at + 1500,
                                                         .address = 4096 * (1 + i / 2),
                                                         .size = 100 + i,
                                                         .is_release = i % 2});
        trace_writer_counter(p->w,
                             &(struct trace_counter){
                                 .track = p->thread, .name = wait, .time = at + 5, .value = 0.5 * (double)i});
        trace_writer_lock(p->w, &(struct trace_lock){.track = p->thread,
                                                     .name = wait,
                                                     .kind = 1 + (uint32_t)i % 2,
                                                     .number = 1,
                                                     .start_ns = at + 10,
                                                     .end_ns = at + 90});
    }
}

static void add_sources(struct program *p)
{
    static const char first[] = "def loop():\n    for batch in data:\n", second[] = "        wait()\n";
    const struct trace_source_part parts[] = {{9, sizeof first - 1, first}, {22, sizeof second - 1, second}};
    const struct trace_source_file files[] = {
        {.file = "train.py", .state = TRACE_SOURCE_READ, .line_count = 40, .part_count = 2, .parts = parts},
        {.file = "data.py", .state = TRACE_SOURCE_CHANGED}};
    trace_writer_sources(p->w, files, 2);
}

static void end_program(struct program *p)
{
    add_sources(p);
    trace_writer_set_open_zones(p->w, list_open, &p->thread);
    trace_writer_loss(p->w, &(struct trace_loss){.process = p->process,
                                                 .track = p->thread,
                                                 .reason = TRACE_LOSS_BUFFER_FULL,
                                                 .from_ns = 1010000000,
                                                 .to_ns = 1011000000,
                                                 .zones = 5});
    end(p->w);
}

static void write_programs(void)
{
    struct program p = begin_program("model");
    uint32_t core = define_track(&p, TRACE_TRACK_CORE, p.device, p.clock, "core 1,1");
    struct zone_sink *sink = trace_writer_sink(p.w, core);
    uint32_t firmware = trace_writer_name(p.w, "BRISC-FW", "", "brisc.cc", 5, 0);
    for (uint64_t i = 0; i < 20; i++)
        zone_sink_add(sink, 0, 11000000 + i * 30000, 11020000 + i * 30000, 0, firmware);
    add_steps(&p, TRACE_OP_DEVICE);
    end_program(&p);
    p = begin_program("cpu_ops");
    add_steps(&p, TRACE_OP_CPU);
    end_program(&p);
    p = begin_program("imported");
    uint32_t import =
        define_track(&p, TRACE_TRACK_OTHER, TRACE_NONE, TRACE_HOST_CLOCK, "made up table import");
    trace_writer_point(p.w, &(struct trace_point){.track = import,
                                                  .kind = TRACE_POINT_MESSAGE,
                                                  .time = 1010000000,
                                                  .header = "import",
                                                  .text = "3 ops left out",
                                                  .text_length = 14});
    add_steps(&p, TRACE_OP_HOST);
    end_program(&p);
}

int main(int argc, char **argv)
{
    struct error err;
    if (argc != 2)
        return 2;
    folder = argv[1];
    end(begin("empty", 0));
    struct trace_writer *w = begin("zones", 0);
    add_zones(w, add_track(w, 0), 60);
    end(w);
    w = begin("many_zones", 0); /* with nodes inside and above the blocks */
    add_zones(w, add_track(w, 0), 9000);
    end(w);
    w = begin("rows", 0);
    add_rows(w, add_track(w, 0), add_device(w));
    end(w);
    w = begin("device", 0);
    add_zones(w, add_device(w), 100);
    end(w);
    w = begin("packed", 0);
    for (int i = 0; i < 5; i++)
        add_zones(w, add_track(w, 0), 3);
    end(w);
    w = begin("sources", 0);
    add_zones(w, add_track(w, 0), 3);
    static const struct trace_source_part parts[] = {{1, 20, "first line\nand next\n"}, {7, 3, "x;\n"}};
    static const struct trace_source_file files[] = {
        {.file = "a.c", .line_count = 9, .part_count = 2, .parts = parts},
        {.file = "b.py", .state = TRACE_SOURCE_CHANGED}};
    trace_writer_sources(w, files, 2);
    end(w);
    w = begin("growing", 0); /* stays growing.partial */
    uint32_t track = add_track(w, 0);
    trace_writer_set_open_zones(w, list_open, &track);
    for (uint64_t i = 0; i < 4; i++) {
        add_zones(w, track, 20);
        if (trace_writer_tick(w, 1 + i * 6000000000, &err))
            return 1;
    }
    trace_writer_abandon(w);
    write_programs();
    w = begin("segments", 128 << 10);
    track = add_track(w, 0);
    for (uint64_t i = 0; i < 12; i++)
        add_zones(w, track, 4000);
    end(w);
    return 0;
}
