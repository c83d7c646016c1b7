/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the questions that `opscope view` answers: the target of a request, decoded and answered on a small trace with
 * zones, open zones, points, counters and memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/count_of.h"
#include "serve/query/query.h"
#include "trace/writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct serve_trace served;

static void write_rows(struct trace_writer *w, uint32_t track, uint32_t name)
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

static void write_trace(const char *path)
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
        write_rows(w, id, name);
    }
    if (trace_writer_finish(w, NULL) != 0)
        abort();
}

static void open_served(void)
{
    char folder[] = "/tmp/opscope-fuzz-XXXXXX", path[64];
    if (!mkdtemp(folder))
        abort();
    snprintf(path, sizeof path, "%s/t.opscope", folder);
    write_trace(path);
    if (serve_trace_open(&served, path, NULL) != 0)
        abort();
    unlink(path);
    rmdir(folder);
}

/* Each question with the parameters of the input; the path does not matter here. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct query query;
    struct error err = {0};
    if (size < 2 || size > QUERY_TARGET_MAX + 100)
        return 0;
    if (!served.trace)
        open_served();
    if (query_parse(&query, (const char *)data + 1, size - 1, &err) != 0)
        return 0;
    const struct query_entry *entry = &query_entries[data[0] % query_entry_count];
    struct bytes out = {0};
    int status = entry->answer(&served, &query, &out, &err);
    if (status == 0 && out.length > 2 * QUERY_ANSWER_MAX)
        abort();
    bytes_free(&out);
    return 0;
}
