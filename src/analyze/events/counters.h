/* SPDX-License-Identifier: Apache-2.0 */
/* Counters: for each name in each process how many values, their extremes, mean, the last one and when the largest was.
 * The mean is that of the values, however long each was valid. Values that are not numbers are counted and left out. */
#ifndef OPSCOPE_ANALYZE_EVENTS_COUNTERS_H
#define OPSCOPE_ANALYZE_EVENTS_COUNTERS_H

#include "analyze/filter.h"

struct counter_row {
    uint32_t name, process;
    uint64_t count;       /* of the values that are numbers */
    uint64_t not_numbers; /* NaN */
    double min, max, sum, last;
    uint64_t peak_ns, last_ns; /* host times; peak: the first time the largest value was seen */
};

struct counter_stats {
    struct counter_row *rows; /* by process, then name */
    size_t row_count, capacity;
};

int counter_stats_make(struct counter_stats *stats, struct trace *trace, const struct trace_filter *filter,
                       struct error *err);
void counter_stats_free(struct counter_stats *stats);

#endif
