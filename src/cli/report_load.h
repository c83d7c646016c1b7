/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the ops of a file, a folder or a trace into a performance report. */
#ifndef OPSCOPE_CLI_REPORT_LOAD_H
#define OPSCOPE_CLI_REPORT_LOAD_H

#include "analyze/perf.h"
#include "base/error.h"

int report_load(struct perf *perf, const char *path, struct error *err);
/* For a trace, behind perf_finish: which zones of the host fill the gaps. Nothing for other files. */
int report_find_host_zones(struct perf *perf, const char *path, struct error *err);

#endif
