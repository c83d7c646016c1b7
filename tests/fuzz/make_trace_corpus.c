/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the seeds of fuzz_trace: small traces, one for each thing that a trace can hold.
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
    w = begin("segments", 128 << 10);
    track = add_track(w, 0);
    for (uint64_t i = 0; i < 12; i++)
        add_zones(w, track, 4000);
    end(w);
    return 0;
}
