/* SPDX-License-Identifier: Apache-2.0 */
/* opscope ops for sources that have the vendor's columns: log folders, ops CSVs, traces made of either. */
#ifndef OPSCOPE_CLI_OPS_ROWS_H
#define OPSCOPE_CLI_OPS_ROWS_H

#include "cli/command/command.h"

enum { OPS_SOURCE_AUTO, OPS_SOURCE_REPORT, OPS_SOURCE_LOG };

struct ops_options {
    struct trace_filter_options filter;
    struct output_options output;
    uint64_t limit;
    const char *columns; /* tt, v1, compact, all, or names with commas between; NULL: as the output needs */
    bool per_core;
    bool device_only;
    unsigned device_source; /* OPS_SOURCE_ */
    const char *trace;      /* what opscope recorded of the same run as a folder of logs; NULL */
};

/* The op table; the exit status. `opened`: the path, where it is a trace that is open already, which is taken over; or
 * NULL. */
int ops_rows_run(const struct command *command, const char *path, struct trace *opened,
                 const struct ops_options *options);
/* The times between ops of each core; the exit status. */
int ops_per_core_run(const struct command *command, const char *path, const struct ops_options *options);

#endif
