/* SPDX-License-Identifier: Apache-2.0 */
/* `opscope attach --tracy`: one client that is already running, until it ends or we are asked to stop. */
#ifndef OPSCOPE_COLLECT_TRACY_ATTACH_H
#define OPSCOPE_COLLECT_TRACY_ATTACH_H

#include "collect/tracy/hub.h"

struct tracy_attach_options {
    const char *target; /* PID, HOST, HOST:PORT, [ADDRESS]:PORT */
    const char *output;
    const char *program;                 /* "opscope 0.1.0" */
    const struct tracy_dialect *dialect; /* NULL: found by trying */
    uint64_t duration_ns;                /* 0: until the client ends */
    uint64_t max_size_bytes, min_duration_ns;
    void (*notice)(void *context, const char *text);
    void *context;
    const struct trace_listener *listener;                             /* NULL: none */
    void (*before_finish)(void *context, struct trace_writer *writer); /* as in struct launch_options */
    void *finish_context;
};

struct tracy_attach_result {
    struct tracy_hub_stats stats;
    uint64_t size_bytes;
    struct error trace_error; /* what went wrong with writing the trace; code 0: nothing */
};

/* An error when nothing was recorded; no trace is left then. */
int tracy_attach(const struct tracy_attach_options *options, struct tracy_attach_result *result,
                 struct error *err);

#endif
