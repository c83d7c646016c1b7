/* SPDX-License-Identifier: Apache-2.0 */
/* The report in the layout of tt-perf-report 1.2.4: op table, advice and stacked report as text, both tables as
 * CSV. Numbers, columns and their order are the original's to the byte; advice is in our own words. */
#ifndef OPSCOPE_COMPAT_TT_PERF_REPORT_1_2_4_COMPAT_H
#define OPSCOPE_COMPAT_TT_PERF_REPORT_1_2_4_COMPAT_H

#include <stdbool.h>
#include <stdio.h>

#include "analyze/report/report.h"
#include "base/error.h"

struct perf_compat_look {
    bool is_coloured;
    bool has_advice;
    bool has_raw_op_codes; /* CSV */
    double min_percent;    /* rows below are grey */
};

int perf_compat_write_table(const struct perf *perf, const struct perf_compat_look *look, FILE *out,
                            struct error *err);
int perf_compat_write_groups(const struct perf *perf, FILE *out, struct error *err);
int perf_compat_write_csv(const struct perf *perf, const struct perf_compat_look *look, FILE *out,
                          struct error *err);
int perf_compat_write_groups_csv(const struct perf *perf, FILE *out, struct error *err);

#endif
