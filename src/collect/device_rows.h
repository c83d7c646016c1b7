/* SPDX-License-Identifier: Apache-2.0 */
/* Zones of a device that wait to be sorted: they come whole, in any order, and get their depth from how they contain
 * one another. What overlaps without that (kernels of one stream do) stands beside it. */
#ifndef OPSCOPE_COLLECT_DEVICE_ROWS_H
#define OPSCOPE_COLLECT_DEVICE_ROWS_H

#include "trace/writer.h"

struct device_row {
    uint64_t start, duration, call; /* call: of the op; 0 = none */
    uint32_t name;
    bool is_run; /* of a queue: it may overlap others, and is inside of none */
};

struct device_rows {
    struct device_row *rows;
    size_t count, capacity;
};

/* False: no memory. Many that wait are written at once. */
bool device_rows_add(struct device_rows *t, struct zone_sink *sink, const struct device_row *row);
void device_rows_flush(struct device_rows *t, struct zone_sink *sink);

#endif
