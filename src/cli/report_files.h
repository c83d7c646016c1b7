/* SPDX-License-Identifier: Apache-2.0 */
/* Files that `opscope report` writes beside what it shows. */
#ifndef OPSCOPE_CLI_REPORT_FILES_H
#define OPSCOPE_CLI_REPORT_FILES_H

#include <stdio.h>

#include "cli/report_view.h"

/* A writer of one file's content. */
typedef int report_writer(const struct perf *perf, const struct report_options *options, FILE *out,
                          struct error *err);

/* Writes to `path`, where the file appears when it is whole; NULL or "-" is standard output. */
int report_write_file(const char *path, report_writer *write, const struct perf *perf,
                      const struct report_options *options, struct error *err);

/* The grouped report as BASE.csv and BASE.svg, where BASE was given or goes with --csv; nothing otherwise. */
int report_write_groups(const struct perf *perf, const struct report_options *options,
                        report_writer *write_csv, struct error *err);
bool report_has_groups(const struct report_options *options);

#endif
