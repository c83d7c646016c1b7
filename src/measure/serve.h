/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's side, for ops that are C functions: a shared library's table, or a program that is run. The answers are
 * described in worker.h. */
#ifndef OPSCOPE_MEASURE_SERVE_H
#define OPSCOPE_MEASURE_SERVE_H

#include <stdint.h>

#include "base/error.h"
#include "opscope/overhead.h"

struct serve_options {
    int read_fd, write_fd;
    uint64_t memory_limit_bytes; /* above what is there once the ops are loaded */
    const char *provider;
    const char *version;
    const char *description;
    double loop_ns; /* NAN: measure it */
    const struct opscope_overhead_inputs *inputs;
    void (*signpost)(const char *header, const char *message); /* in a session; may be NULL */
    const char *(*reason)(int code);                           /* why a call failed; NULL: strerror */
    uint64_t (*delay_ns)(void); /* how long calls have waited for the CPU so far; NULL: this thread has */
};

/* Answers until it is asked to quit, or the pipe ends. */
int serve(const struct serve_options *options, const struct opscope_overhead_op *ops, size_t count);
/* Says that there are no ops, and why. */
void serve_failure(const struct serve_options *options, const char *message);

/* The two workers. Return the process's exit status. */
int serve_library(const struct serve_options *options, const char *path);
int serve_command(const struct serve_options *options, char **argv);

#endif
