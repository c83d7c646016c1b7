/* SPDX-License-Identifier: Apache-2.0 */
/* Writes dispatch times as the CSV of the vendor's host overhead profiler: its columns, its rounding. */
#ifndef OPSCOPE_PRESENT_OVERHEAD_CSV_H
#define OPSCOPE_PRESENT_OVERHEAD_CSV_H

#include "analyze/overhead/overhead.h"
#include "base/bytes.h"

enum overhead_csv_flag {
    OVERHEAD_CSV_NATIVE = 1,      /* the column of native times */
    OVERHEAD_CSV_EXTENDED = 2,    /* the columns of our own; ops that failed become rows */
    OVERHEAD_CSV_CALIBRATION = 4, /* calibration ops become rows: a reference */
};

/* In the order of the run (overhead_run_sort: by name). Lines end with \n, as the vendor's do. */
void overhead_append_csv(const struct overhead_run *run, unsigned flags, struct bytes *out);

#endif
