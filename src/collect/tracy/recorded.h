/* SPDX-License-Identifier: Apache-2.0 */
/* A recorded stream: all bytes that a client sent over one connection, in a file. */
#ifndef OPSCOPE_COLLECT_TRACY_RECORDED_H
#define OPSCOPE_COLLECT_TRACY_RECORDED_H

#include "collect/tracy/trace/trace.h"

struct tracy_recorded {
    struct tracy_dialect dialect;
    struct tracy_counts counts;
    struct tracy_trace_stats stats;
    char program[65];
    bool is_cut;         /* the program had not ended, or the last frame is not whole */
    struct error damage; /* why the rest was not read; code 0: nothing is wrong */
    uint64_t locations, asked, answered;
};

struct tracy_recorded_options {
    const struct tracy_dialect *dialect; /* NULL: the first that reads all of it */
    const struct trace_listener *listener;
    void (*before_finish)(void *context,
                          struct trace_writer *writer); /* as in struct launch_options; or NULL */
    void *finish_context;
};

/* Makes the trace `output` of the stream. What is damaged is read up to
 * there; an error only where nothing can be read. */
int tracy_recorded_import(const char *path, const char *output, const struct tracy_recorded_options *options,
                          struct tracy_recorded *result, struct error *err);

#endif
