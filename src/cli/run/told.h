/* SPDX-License-Identifier: Apache-2.0 */
/* The ops that recorded programs tell of, and the devices' files that they leave: into the trace, for run, attach and
 * import alike. */
#ifndef OPSCOPE_CLI_RUN_TOLD_H
#define OPSCOPE_CLI_RUN_TOLD_H

#include <stdbool.h>

#include "import/told.h"

struct run_told {
    struct ops_told *told; /* NULL: nobody listens */
    struct trace_listener listener;
    struct import_counts counts;
    struct error err; /* why there are no ops; code 0: nothing is wrong */
};

/* `folder` as in ops_told_new. */
void run_told_begin(struct run_told *told, const char *folder);
/* As before_finish of struct launch_options; `context` is the struct run_told. */
void run_told_add(void *context, struct trace_writer *writer);
/* A line about what came of it. `who` begins it. */
void run_told_show(const struct run_told *told, const char *who, const char *trace_path, bool is_quiet);
void run_told_end(struct run_told *told);

#endif
