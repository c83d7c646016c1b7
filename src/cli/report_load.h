/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the ops of a file, a folder or a trace into a performance report. */
#ifndef OPSCOPE_CLI_REPORT_LOAD_H
#define OPSCOPE_CLI_REPORT_LOAD_H

#include "analyze/report/report.h"
#include "base/error.h"

struct trace;

/* *trace is the file's, where it is a trace that was left open (opening a large one takes a while), else NULL. */
int report_load(struct perf *perf, const char *path, struct trace **trace, struct error *err);
/* For a trace, behind perf_finish: which zones of the host fill the gaps. Nothing for other files. `trace` as
 * report_load gave it. */
int report_find_host_zones(struct perf *perf, const char *path, struct trace *trace, struct error *err);

#endif
