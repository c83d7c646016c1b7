/* SPDX-License-Identifier: Apache-2.0 */
/* The drawing of a performance report, as SVG: the time stacked by group. */
#ifndef OPSCOPE_PRESENT_REPORT_SVG_H
#define OPSCOPE_PRESENT_REPORT_SVG_H

#include <stdbool.h>
#include <stdio.h>

#include "analyze/report/report.h"
#include "base/error.h"

/* A file of its own. */
int perf_svg_write_groups(const struct perf_groups *groups, bool is_classic, FILE *out, struct error *err);

#endif
