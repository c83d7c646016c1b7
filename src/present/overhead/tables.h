/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatch times and the gate's verdicts as tables, for terminal, CSV and JSON. */
#ifndef OPSCOPE_PRESENT_OVERHEAD_TABLES_H
#define OPSCOPE_PRESENT_OVERHEAD_TABLES_H

#include <stdbool.h>

#include "analyze/overhead/overhead.h"
#include "analyze/overhead/gate.h"
#include "present/table.h"

/* One row for each verdict, the worst first; with `all` unchanged ops as well. */
void overhead_make_gate_table(const struct overhead_gate *gate, bool all, struct table *table);
void overhead_make_calibration_table(const struct overhead_gate *gate, struct table *table);

/* The order of rows of the ranked table: indexes of ops other than calibration ops, the slowest dispatch first, those
 * without a time last. The caller frees it; NULL when there is no memory. */
size_t *overhead_rank(const struct overhead_run *run, size_t *count);
enum overhead_times_column {
    OVERHEAD_TIMES_OP,
    OVERHEAD_TIMES_GROUP,
    OVERHEAD_TIMES_MIN,
    OVERHEAD_TIMES_P50,
    OVERHEAD_TIMES_P99,
    OVERHEAD_TIMES_MEAN,
    OVERHEAD_TIMES_TOTAL,
    OVERHEAD_TIMES_NATIVE,
    OVERHEAD_TIMES_COUNT,
    OVERHEAD_TIMES_STATE,
    OVERHEAD_TIMES_REASON,
    OVERHEAD_TIMES_COLUMNS
};

/* Columns in which no op has anything are left to CSV and JSON. */
struct overhead_times {
    struct table table;
    struct table_column columns[OVERHEAD_TIMES_COLUMNS];
};

void overhead_make_times_table(const struct overhead_run *run, const size_t *order, size_t count,
                               struct overhead_times *times);

#endif
