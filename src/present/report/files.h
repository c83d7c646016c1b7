/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a performance report writes beside what it shows. */
#ifndef OPSCOPE_PRESENT_REPORT_FILES_H
#define OPSCOPE_PRESENT_REPORT_FILES_H

#include <stdbool.h>
#include <stdio.h>

#include "analyze/report/group.h"
#include "base/error.h"
#include "present/output.h"

/* Where files may go, and where they come from. */
struct perf_files {
    const char *const *inputs; /* are never written over */
    size_t input_count;
};

/* Writes to `path`, where the file appears when it is whole; NULL or "-" is standard output. */
int perf_write_file(const struct perf_files *files, const char *path, output_writer *write,
                    const void *context, struct error *err);

/* The groups as BASE.csv and BASE.svg, where BASE is `base`, or goes with the table's own file: table.csv and
 * table_stacked.csv. Nothing where neither is given. */
struct perf_group_files {
    const char *base;  /* NULL: not given */
    const char *table; /* NULL or "-": standard output */
    const struct perf_groups *groups;
    bool is_classic; /* colours one by one, not by category */
};
int perf_write_group_files(const struct perf_files *files, const struct perf_group_files *wanted,
                           output_writer *write_csv, const void *context, struct error *err);

#endif
