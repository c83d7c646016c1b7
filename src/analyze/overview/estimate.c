/* SPDX-License-Identifier: Apache-2.0 */
/* The time of a modelled device: lanes that compute, lanes that move data, and neither. */
#include <stdlib.h>
#include <string.h>

#include "analyze/overview/internal.h"
#include "analyze/pointlist.h"
#include "analyze/zoneblocks.h"
#include "ops/timeline_trace.h"

struct lanes {
    struct time_spans compute, any;
};

static bool is_lane(const struct trace_track *track)
{
    return track && (track->kind == TRACE_TRACK_DMA || track->kind == TRACE_TRACK_CORE ||
                     track->kind == TRACE_TRACK_PROCESSOR);
}

static bool take_rows(struct lanes *lanes, const struct overview *o, const struct trace_filter *filter,
                      const struct zone_rows *rows)
{
    for (size_t g = 0; g < rows->group_count; g++) {
        const struct zone_rows_group *group = &rows->groups[g];
        const struct trace_track *track = trace_get_track(o->trace, group->track);
        if (group->depth || !is_lane(track) || !trace_filter_wants_track(filter, group->track))
            continue;
        for (size_t i = group->first; i < (size_t)group->first + group->count; i++) {
            uint64_t start = rows->start[i], end = start + rows->duration[i];
            start = start > o->from_ns ? start : o->from_ns;
            end = end < o->to_ns ? end : o->to_ns;
            if (!time_spans_add(&lanes->any, start, end) ||
                (track->kind != TRACE_TRACK_DMA && !time_spans_add(&lanes->compute, start, end)))
                return false;
        }
    }
    return true;
}

/* What the estimate says of itself. */
static int find_caveat(struct overview *o, const struct trace_filter *filter, struct error *err)
{
    struct point_list list = {0};
    int status = point_list_make(&list, o->trace, filter, 1u << TRACE_POINT_MESSAGE, err);
    for (size_t i = 0; i < list.count && !status && !o->caveat; i++) {
        if (strcmp(point_list_text(&list, list.entries[i].header), TIMELINE_CAVEAT) != 0)
            continue;
        o->caveat = strdup(point_list_text(&list, list.entries[i].text));
        if (!o->caveat)
            status = error_no_memory(err, "the messages of the estimate");
    }
    point_list_free(&list);
    return status;
}

int overview_estimate(struct overview *o, const struct trace_filter *filter, struct error *err)
{
    struct zone_blocks blocks = {0};
    struct zone_rows rows = {0};
    struct lanes lanes = {0};
    int status = zone_blocks_list(&blocks, o->trace, filter, err);
    for (size_t i = 0; i < blocks.count && !status; i++) {
        status = trace_decode_zones(o->trace, blocks.items[i], TRACE_COLUMN_START | TRACE_COLUMN_DURATION,
                                    &rows, err);
        if (!status && !take_rows(&lanes, o, filter, &rows))
            status = error_no_memory(err, "the lanes of the estimate");
    }
    time_spans_join(&lanes.compute);
    time_spans_join(&lanes.any);
    uint64_t compute = time_spans_total(&lanes.compute), any = time_spans_total(&lanes.any);
    o->is_device = true;
    overview_add_part(o, OVERVIEW_COMPUTE, compute);
    overview_add_part(o, OVERVIEW_DMA, any - compute);
    overview_add_part(o, OVERVIEW_IDLE, o->to_ns - o->from_ns - any);
    time_spans_free(&lanes.compute);
    time_spans_free(&lanes.any);
    zone_rows_free(&rows);
    zone_blocks_free(&blocks);
    return status ? status : find_caveat(o, filter, err);
}
