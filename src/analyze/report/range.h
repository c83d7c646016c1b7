/* SPDX-License-Identifier: Apache-2.0 */
/* A range of row numbers as people type it. */
#ifndef OPSCOPE_ANALYZE_REPORT_RANGE_H
#define OPSCOPE_ANALYZE_REPORT_RANGE_H

#include <stdint.h>

#include "base/error.h"

struct perf_range {
    uint64_t first, last;
};

/* "A-B", "A-", "-B"; commas inside numbers are left out. -EINVAL. */
int perf_range_parse(struct perf_range *range, const char *text, struct error *err);

#endif
