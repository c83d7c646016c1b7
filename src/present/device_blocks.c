/* SPDX-License-Identifier: Apache-2.0 */
#include "present/device_blocks.h"

#include <string.h>

#include "analyze/labels.h"
#include "analyze/zones/stats.h"

enum {
    COLUMN_TRACK,
    COLUMN_BLOCK,
    COLUMN_LOCATION,
    COLUMN_RUNS,
    COLUMN_TOTAL,
    COLUMN_SHARE,
    COLUMN_MEAN,
    COLUMN_MIN,
    COLUMN_MAX,
    COLUMNS
};

static const struct table_column columns[COLUMNS] = {
    [COLUMN_TRACK] = {.key = "track", .title = "on", .shrink = 8},
    [COLUMN_BLOCK] = {.key = "block", .title = "block", .shrink = 16},
    [COLUMN_LOCATION] = {.key = "location", .title = "location", .shrink = 12, .drop = 4},
    [COLUMN_RUNS] = {.key = "runs", .title = "runs", .type = TABLE_INTEGER},
    [COLUMN_TOTAL] = {.key = "total", .title = "total", .type = TABLE_TIME},
    [COLUMN_SHARE] = {.key = "share", .title = "share", .type = TABLE_PERCENT, .decimals = 1},
    [COLUMN_MEAN] = {.key = "mean", .title = "mean", .type = TABLE_TIME, .drop = 1},
    [COLUMN_MIN] = {.key = "min", .title = "min", .type = TABLE_TIME, .drop = 2},
    [COLUMN_MAX] = {.key = "max", .title = "max", .type = TABLE_TIME, .drop = 3},
};

static void add_row(struct table *table, const struct trace *trace, uint32_t track,
                    const struct zone_stats_row *row, uint64_t total_ns)
{
    const struct trace_name *name = trace_get_name(trace, row->name);
    char buffer[256], place[4200];
    table_add_row(table);
    table_set_text(table, COLUMN_TRACK, label_track(trace, track, buffer, sizeof buffer));
    table_set_text(table, COLUMN_BLOCK, name->name);
    const char *location = label_location(name, place, sizeof place);
    table_set_text(table, COLUMN_LOCATION, *location ? location : NULL);
    table_set_unsigned(table, COLUMN_RUNS, row->count);
    table_set_unsigned(table, COLUMN_TOTAL, row->sum_ns);
    if (total_ns)
        table_set_real(table, COLUMN_SHARE, 100 * (double)row->sum_ns / (double)total_ns);
    table_set_real(table, COLUMN_MEAN, row->mean_ns);
    table_set_unsigned(table, COLUMN_MIN, row->min_ns);
    table_set_unsigned(table, COLUMN_MAX, row->max_ns);
}

static int add_track(struct table *table, struct trace *trace, struct trace_filter *filter, uint32_t track,
                     size_t limit, size_t *left_out, struct error *err)
{
    struct zone_stats stats;
    uint64_t total_ns = 0;
    filter->track_wanted[track] = true;
    int status = zone_stats_make(&stats, trace, filter, ZONE_STATS_BY_LOCATION, err);
    filter->track_wanted[track] = false;
    if (status)
        return status;
    for (size_t i = 0; i < stats.row_count; i++)
        total_ns += stats.rows[i].sum_ns;
    for (size_t i = 0; i < stats.row_count && i < limit; i++)
        add_row(table, trace, track, &stats.rows[i], total_ns);
    *left_out += stats.row_count > limit ? stats.row_count - limit : 0;
    zone_stats_free(&stats);
    return 0;
}

int device_blocks_make(struct table *table, struct trace *trace, uint32_t process, size_t limit,
                       size_t *left_out, struct error *err)
{
    static const struct trace_filter_options everything = {0};
    struct trace_filter filter = {0};
    *left_out = 0;
    table_init(table, "blocks", columns, COLUMNS);
    int status = trace_filter_resolve(&filter, trace, &everything, err);
    if (status)
        return status;
    filter.is_everything = false;
    filter.has_tracks = true;
    memset(filter.track_wanted, 0, filter.track_count * sizeof filter.track_wanted[0]);
    for (uint32_t i = 0; i < trace_track_count(trace) && i < filter.track_count && status == 0; i++) {
        const struct trace_track *track = trace_get_track(trace, i);
        if (track && track->process == process && track->kind != TRACE_TRACK_DEVICE)
            status = add_track(table, trace, &filter, i, limit, left_out, err);
    }
    trace_filter_free(&filter);
    return status;
}
