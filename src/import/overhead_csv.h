/* SPDX-License-Identifier: Apache-2.0 */
/* Reads CSVs of host dispatch times: the vendor's format, and ours, which has more columns.
 *
 *     op,count,python min dispatch time (ms),python mean dispatch time(ms),python mean dispatch + sync time (ms)
 *
 * Columns are found by their names, in any order, spaces aside; `op` and the minimum must be there, what is not known
 * is skipped. The file may be a reference that decides whether a build passes, so nothing in it is guessed: a time that
 * is not a number, negative or not finite, an op without a name or one that comes twice is refused, with file, line and
 * column. Times of the vendor's columns are rounded to a microsecond: a minimum of 0 is one below half of that.
 *
 * Assumes some thousand rows: the names are kept to find the ones that come twice. */
#ifndef OPSCOPE_IMPORT_OVERHEAD_CSV_H
#define OPSCOPE_IMPORT_OVERHEAD_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/slice.h"

struct overhead_csv_row {
    struct slice name, group, state, reason; /* length 0 when the file lacks them */
    uint64_t count, repeats;                 /* 0 when unknown */
    /* NAN when the file lacks them or the cell is empty; exact where the file has that, too. */
    double min_ns, floor_ns, mean_ns, mean_total_ns, native_ns, p50_ns, p99_ns, ci_low_ns, ci_high_ns;
    double rounding_ns; /* the minimum may be so much more or less than min_ns */
    uint64_t line;
};

struct overhead_csv;

int overhead_csv_open(struct overhead_csv **out, const char *path, struct error *err); /* "-": stdin */
int overhead_csv_open_memory(struct overhead_csv **out, const char *path, const void *data, size_t length,
                             struct error *err);
void overhead_csv_close(struct overhead_csv *csv);

/* 1 with a row, 0 at the end, negative when the file cannot be used. */
int overhead_csv_next(struct overhead_csv *csv, struct overhead_csv_row *row, struct error *err);

/* Does the file at `path` begin as such a CSV? For commands that take several kinds of files. */
bool overhead_csv_is_one(const char *path);

#endif
