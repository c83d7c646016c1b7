/* SPDX-License-Identifier: Apache-2.0 */
/* The ops that recorded programs tell of, and the devices' files that they leave: into the trace, for run, attach and
 * import alike. */
#ifndef OPSCOPE_CLI_RUN_REPORTED_H
#define OPSCOPE_CLI_RUN_REPORTED_H

#include <stdbool.h>

#include "import/reported.h"

struct run_reported {
    struct ops_reported *reported; /* NULL: nobody listens */
    struct trace_listener listener;
    struct import_counts counts;
    struct error err; /* why there are no ops; code 0: nothing is wrong */
};

/* `folder` as in ops_reported_new. */
void run_reported_begin(struct run_reported *reported, const char *folder);
/* As before_finish of struct launch_options; `context` is the struct run_reported. */
void run_reported_add(void *context, struct trace_writer *writer);
/* A line about what came of it. `who` begins it. */
void run_reported_show(const struct run_reported *reported, const char *who, const char *trace_path,
                       bool is_quiet);
void run_reported_end(struct run_reported *reported);

#endif
