/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of ops: sums over rows of the same key. The keys are the caller's: ids of texts.
 *
 * Times are summed with Kahan's compensation: they are whole nanoseconds divided by 1000, so that sums often end in
 * exactly half of the last shown digit, and a plain sum would round the other way. */
#ifndef OPSCOPE_ANALYZE_REPORT_GROUP_H
#define OPSCOPE_ANALYZE_REPORT_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/intern.h"

struct perf_group {
    uint32_t key;   /* a text */
    int32_t device; /* PERF_NO_NUMBER where groups are over all devices */
    uint32_t category;
    uint64_t count;
    double time_us, percent, gap_us;
    double flops_min, flops_max, flops_mean, flops_std, flops_weighted; /* NaN: none */
    double ideal_us;
};

struct perf_groups {
    struct perf_group *items;
    size_t count, capacity;
    const struct intern *texts; /* of the keys */
};

/* What a row adds to its group; NaN: nothing. */
struct perf_group_values {
    double time_us, gap_us, ideal_us, flops_percent;
    uint32_t category;
};

struct perf_group_member {
    uint32_t key;
    int32_t device;
    uint32_t row;
};

struct perf_group_rows {
    const struct perf_group_member *members; /* rows in order */
    size_t count;
    bool is_by_device;
    struct perf_group_values (*values)(const void *context, uint32_t row);
    const void *context;
};

/* Groups in no particular order, without their percentages. groups->texts is set. -ENOMEM. */
int perf_groups_make(struct perf_groups *groups, const struct perf_group_rows *rows, struct error *err);
/* The longest first. */
void perf_groups_sort(struct perf_groups *groups);
int perf_groups_compare_keys(const void *a, const void *b,
                             void *groups); /* for qsort_r: by key, then device */
/* Shares of the whole, or of each device's own time. */
void perf_groups_fill_percent(struct perf_groups *groups, bool is_by_device);
void perf_groups_free(struct perf_groups *groups);

/* The key of an op by its name and where its first input lies: "Matmul (in0:dram_interleaved)"; memory may be "". */
void perf_append_group_key(struct bytes *out, const char *name, const char *memory);

#endif
