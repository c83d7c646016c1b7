/* SPDX-License-Identifier: Apache-2.0 */
/* A small trace with zones, points, counters and memory, for fuzz targets that ask about one. */
#ifndef OPSCOPE_TESTS_FUZZ_SMALL_TRACE_H
#define OPSCOPE_TESTS_FUZZ_SMALL_TRACE_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace/writer.h"

struct small_trace {
    char folder[64], path[96];
};

static inline void small_trace_write_rows(struct trace_writer *w, uint32_t track, uint32_t name)
{
    trace_writer_point(w, &(struct trace_point){.track = track,
                                                .kind = TRACE_POINT_MESSAGE,
                                                .time = 1500,
                                                .header = "",
                                                .text = "hello",
                                                .text_length = 5});
    trace_writer_counter(w, &(struct trace_counter){.track = track, .name = name, .time = 1200, .value = 3});
    trace_writer_memory(w,
                        &(struct trace_memory){
                            .track = track, .pool = TRACE_NONE, .time = 1300, .address = 4096, .size = 100});
    trace_writer_memory(
        w, &(struct trace_memory){
               .track = track, .pool = TRACE_NONE, .time = 1800, .address = 4096, .is_release = true});
}

static inline void small_trace_write(const char *path)
{
    struct trace_writer_options options = {.program = "fuzz", .command = "fuzz"};
    struct trace_process process = {
        .id = TRACE_NONE, .parent = TRACE_NONE, .pid = 1, .command = "c", .host = ""};
    struct trace_writer *w;
    if (trace_writer_open(&w, path, &options, NULL) != 0)
        abort();
    uint32_t process_id = trace_writer_process(w, &process);
    for (uint32_t i = 0; i < 3; i++) {
        struct trace_track track = {
            .id = TRACE_NONE, .process = process_id, .parent = TRACE_NONE, .number = i, .name = "t"};
        uint32_t id = trace_writer_track(w, &track), name = trace_writer_name(w, "wait", "f", "a.c", i, 0);
        struct zone_sink *sink = trace_writer_sink(w, id);
        for (uint64_t k = 0; k < 200; k++) {
            zone_sink_add(sink, 1, 1000 + 10 * k, 1003 + 10 * k, 0, name);
            zone_sink_add(sink, 0, 999 + 10 * k, 1005 + 10 * k, 3, name);
        }
        small_trace_write_rows(w, id, name);
    }
    if (trace_writer_finish(w, NULL) != 0)
        abort();
}

static inline void small_trace_make(struct small_trace *made)
{
    snprintf(made->folder, sizeof made->folder, "/tmp/opscope-fuzz-XXXXXX");
    if (!mkdtemp(made->folder))
        abort();
    snprintf(made->path, sizeof made->path, "%s/t.opscope", made->folder);
    small_trace_write(made->path);
}

/* What is open stays open. */
static inline void small_trace_remove(const struct small_trace *made)
{
    unlink(made->path);
    rmdir(made->folder);
}

#endif
