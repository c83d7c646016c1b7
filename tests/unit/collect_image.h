/* SPDX-License-Identifier: Apache-2.0 */
/* The collector over segments made by hand (segment_image.h): no files of a session, no processes, the real draining
 * and the real trace writer. For test_collect*.c and tests/fuzz/fuzz_session.c. */
#ifndef OPSCOPE_TESTS_COLLECT_IMAGE_H
#define OPSCOPE_TESTS_COLLECT_IMAGE_H

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "collect/internal.h"
#include "segment_image.h"

struct collection {
    struct session_folder folder; /* an empty one */
    struct trace_writer *writer;
    struct collector *collector;
    char path[256]; /* of the trace */
};

/* Starts a collector in an empty folder; 0 or a negative error. */
static inline int collection_open(struct collection *c, const char *folder, unsigned flags)
{
    struct trace_writer_options options = {.program = "test", .command = "made by hand", .host = "host"};
    *c = (struct collection){.folder = {.control_fd = -1,
                                        .control = {.session_id = IMAGE_SESSION,
                                                    .clock_source = CLOCK_SOURCE_RAW,
                                                    .start_ticks = 1,
                                                    .start_raw_ns = 1}}};
    c->folder.fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(c->path, sizeof c->path, "%s/t.opscope", folder);
    snprintf(c->folder.output, sizeof c->folder.output, "%s", c->path);
    int status = trace_writer_open(&c->writer, c->path, &options, NULL);
    if (!status)
        status = collector_create(&c->collector, &c->folder, c->writer, flags, NULL);
    return status;
}

/* Adds a segment that lies in memory; false when its header is refused. */
static inline bool collection_add(struct collection *c, void *memory, size_t length)
{
    struct session_segment *segment;
    struct collector *collector = c->collector;
    if (session_segment_open_memory(&segment, memory, length, IMAGE_SESSION, NULL) != 0)
        return false;
    struct source *source = source_new(collector, segment);
    if (!source)
        session_segment_close(segment);
    if (!source || !array_reserve(&collector->sources, &collector->source_capacity,
                                  collector->source_count + 1, sizeof(struct source *)))
        return false;
    collector->sources[collector->source_count++] = source;
    return true;
}

/* Takes what is left, finishes the trace, frees everything but the file. */
static inline int collection_finish(struct collection *c, struct collector_stats *stats)
{
    struct error err = {0};
    collector_finish(c->collector);
    if (stats)
        *stats = *collector_get_stats(c->collector);
    int status = trace_writer_finish(c->writer, &err);
    collector_free(c->collector);
    close(c->folder.fd);
    return status;
}

#endif
