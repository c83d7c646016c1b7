/* SPDX-License-Identifier: Apache-2.0 */
/* The performance report as tables: ops, groups, advice. */
#ifndef OPSCOPE_PRESENT_REPORT_TABLE_H
#define OPSCOPE_PRESENT_REPORT_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/report/report.h"
#include "present/table.h"

/* Which ops of the report are shown one by one. */
struct perf_selection {
    bool *is_shown; /* one for each row of the report */
    size_t shown_count;
    size_t folded_count; /* ops that are not */
    double folded_us, folded_percent;
};

/* The `top` longest (0: all) that are not below min_percent; signposts and host ops stay unless `top` is given. */
int perf_select(const struct perf *perf, uint64_t top, double min_percent, struct perf_selection *selection,
                struct error *err);
void perf_selection_free(struct perf_selection *selection);

/* `selection` NULL: all rows. For programs it has columns that people do not see, and no styles. The caller frees the
 * table. */
enum perf_table_use { PERF_FOR_PEOPLE, PERF_FOR_PROGRAMS, PERF_FOR_PROGRAMS_WITHOUT_ADVICE };
void perf_make_ops_table(const struct perf *perf, const struct perf_selection *selection,
                         enum perf_table_use use, struct table *table);
void perf_make_groups_table(const struct perf *perf, uint64_t top, struct table *table);
void perf_make_advice_table(const struct perf *perf, uint64_t top, struct table *table);

/* Every op and column as CSV, under the names that JSON has for them, piece by piece. */
int perf_write_csv(const struct perf *perf, enum perf_table_use use, FILE *out, struct error *err);
int perf_write_groups_csv(const struct perf *perf, FILE *out, struct error *err);

#endif
