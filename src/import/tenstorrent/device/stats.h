/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of a device log: for each device and each analysis, how long it took in cycles.
 *
 * An analysis gives durations for each op (or for each core of an op, or for each core over all ops). Medians are
 * medians of those inner series' medians, as the vendor's tool makes them. */
#ifndef OPSCOPE_IMPORT_TENSTORRENT_DEVICE_STATS_H
#define OPSCOPE_IMPORT_TENSTORRENT_DEVICE_STATS_H

#include "import/tenstorrent/device/ops.h"

struct tt_stat {
    uint32_t device;
    const char *analysis;
    uint64_t count, max, min, sum;
    double average, median;
};

struct tt_stats {
    /* device by device, analyses in a fixed order; those without values are left out */
    struct tt_stat *items;
    size_t count, capacity;
};

int tt_stats_make(struct tt_stats *stats, struct tt_log *log, struct error *err);
void tt_stats_free(struct tt_stats *stats);

/* The layout of the vendor's device_stats.txt. */
void tt_stats_append_text(const struct tt_stats *stats, struct bytes *out);

#endif
