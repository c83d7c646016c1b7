/* SPDX-License-Identifier: Apache-2.0 */
/* What the host did while the device waited: for a trace that holds host zones beside its ops.
 *
 * The longest gaps are looked at, at a few moments each, between the end of the op's predecessor on the host and its
 * own start: the innermost zone of each thread at that moment stands for its part of the gap. Memory follows the
 * number of moments and threads, not the zones. */
#ifndef OPSCOPE_ANALYZE_REPORT_HOST_H
#define OPSCOPE_ANALYZE_REPORT_HOST_H

#include "analyze/report/report.h"
#include "trace/reader.h"

/* Fills perf->host_zones, the longest first. Traces without host zones or without gaps leave it empty. */
int perf_find_host_zones(struct perf *perf, struct trace *trace, struct error *err);

#endif
