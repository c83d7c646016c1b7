/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of zones: for each name, place, thread or process one row.
 *
 * One pass over the zone blocks; the inner loop touches one accumulator per zone (count, sums, extremes, exact
 * sum of squares, a histogram bucket). Percentiles are exact up to ZONE_STATS_EXACT zones per row and for
 * durations below 256 ns, else within 0.4 % (the buckets'; we promise 1 %). The p-th percentile is the smallest
 * duration that is not exceeded by p % of the zones (nearest rank).
 *
 * The total of a row counts time inside an outer zone of the same row and track once (nesting.h); names that occur at
 * several depths cost a second pass. The sum counts every zone.
 *
 * Time spent waiting is the own time of zones whose names say that they wait, in whatever they are called from; it
 * costs another pass where there are such zones.
 *
 * Zones that never ended count as well, with the time until their thread was last seen. With a window, zones that reach
 * out of it count with the part inside, in every figure. */
#ifndef OPSCOPE_ANALYZE_ZONES_STATS_H
#define OPSCOPE_ANALYZE_ZONES_STATS_H

#include "analyze/filter.h"

#define ZONE_STATS_EXACT 512u

enum zone_stats_by {
    ZONE_STATS_BY_NAME = 0, /* functions of one name apart: NAMES_BY_ZONE */
    ZONE_STATS_BY_LOCATION = 1,
    ZONE_STATS_BY_THREAD = 2,  /* name and track */
    ZONE_STATS_BY_PROCESS = 3, /* name and process */
    ZONE_STATS_BY_TEXT = 4,    /* one row per name, whatever has it */
    ZONE_STATS_WAITING = 8,    /* added to one of the above: find the time spent waiting, too */
};

struct zone_stats_row {
    uint32_t name;       /* a name id of this row's zones */
    uint32_t name_count; /* how many places in the source are in it */
    uint32_t track;      /* ZONE_STATS_BY_THREAD, else TRACE_NONE */
    uint32_t process;    /* ZONE_STATS_BY_THREAD and _PROCESS, else TRACE_NONE */
    uint64_t count;      /* those that never ended included */
    uint64_t open_count; /* of which never ended */
    uint64_t total_ns;   /* time inside an outer zone of this row counts once */
    uint64_t sum_ns;     /* of all durations */
    uint64_t self_ns, min_ns, max_ns;
    /* of the total, in zones that wait (waiting.h); 0 unless ZONE_STATS_WAITING was asked for */
    uint64_t waiting_ns;
    uint64_t p50_ns, p90_ns, p99_ns;
    double mean_ns, std_ns; /* of the whole population */
    double wall_percent;    /* total of the time from the start to the end of the window */
};

struct zone_stats {
    struct zone_stats_row *rows; /* in order of total, largest first */
    size_t row_count;
    uint64_t zone_count; /* those that ended */
    uint64_t wall_ns;
};

/* `by` is an enum zone_stats_by, with or without ZONE_STATS_WAITING. */
int zone_stats_make(struct zone_stats *stats, struct trace *trace, const struct trace_filter *filter,
                    unsigned by, struct error *err);
void zone_stats_free(struct zone_stats *stats);

#endif
