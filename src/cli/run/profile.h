/* SPDX-License-Identifier: Apache-2.0 */
/* `opscope run --device-profile FILE`: the profile that the command's runtime wrote while it was recorded becomes part
 * of the trace, and the time of each block is shown. */
#ifndef OPSCOPE_CLI_RUN_PROFILE_H
#define OPSCOPE_CLI_RUN_PROFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"
#include "trace/writer.h"

struct run_profile {
    const char *path; /* NULL: none was asked for, and nothing below does anything */
    struct stat before;
    bool was_there;
    struct trace_clock_point start; /* CLOCK_MONOTONIC when the run began */
    /* what came of it */
    bool is_added, is_aligned;
    uint32_t process; /* of the trace, whose tracks it is */
    uint64_t damaged;
    struct error err; /* why it was not added */
};

/* Before the command is started: what is at `path` now is not what the command will have written. -EISDIR, -EINVAL
 * where no file can be. */
int run_profile_begin(struct run_profile *profile, const char *path, struct error *err);
/* After the command has ended and all that it recorded is in the writer. `context` is the struct run_profile. */
void run_profile_add(void *context, struct trace_writer *writer);
/* What came of it: warnings always, the table of blocks unless is_quiet. */
void run_profile_show(const struct run_profile *profile, const char *trace_path, bool is_quiet);

#endif
