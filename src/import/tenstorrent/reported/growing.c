/* SPDX-License-Identifier: Apache-2.0 */
#include "import/tenstorrent/reported/growing.h"

#include <stdlib.h>

#include "import/tenstorrent/model.h"
#include "ops/from_trace.h"

struct reading {
    struct trace *trace;
    struct trace_listener listener;
    uint32_t first_process, first_track;
    bool *is_wanted; /* by name: zones */
    size_t name_count;
};

/* The thread, or its fiber, of a program that tells; NULL for others. What opscope's own recorder writes has a key. */
static const struct trace_track *teller(const struct trace *trace, uint32_t id)
{
    const struct trace_track *track = trace_get_track(trace, id);
    return track && !track->key && (track->kind == TRACE_TRACK_THREAD || track->kind == TRACE_TRACK_TASK)
               ? track
               : NULL;
}

static bool is_op(const struct trace *trace, const struct trace_point *point)
{
    return point->kind == TRACE_POINT_MESSAGE && teller(trace, point->track) &&
           tt_reported_is_op(slice_from(point->text, point->text_length));
}

bool tt_reported_is_in(struct trace *trace)
{
    const struct trace_block_filter filter = {.type = TRACE_BLOCK_POINTS};
    const struct trace_info *info = trace_get_info(trace);
    const struct trace_block *block;
    struct trace_rows rows = {0};
    struct error err;
    size_t position = 0;
    bool is_found = false;
    if ((info->is_complete && !info->is_recovered) || info->is_salvaged || ops_import_track(trace))
        return false; /* what was salvaged may lack the track and have the records */
    while (!is_found && (block = trace_next_block(trace, &filter, &position))) {
        if (trace_decode_rows(trace, block, &rows, &err) != 0)
            continue; /* whoever reads it all says so */
        for (size_t i = 0; i < rows.count && !is_found; i++)
            is_found = is_op(trace, &rows.points[i]);
    }
    trace_rows_free(&rows);
    return is_found;
}

/* Where the program's own times begin is not in the trace yet: they are counted from its start. */
static void tell(const struct reading *r, const struct trace_track *track, struct trace_reported said)
{
    const struct trace_process *process = trace_get_process(r->trace, track->process);
    said.process = track->process + r->first_process;
    said.track = track->id + r->first_track;
    said.origin_ns = process ? process->start_ns : 0;
    r->listener.tell(r->listener.context, &said);
}

static int read_messages(const struct reading *r, struct error *err)
{
    const struct trace_block_filter filter = {.type = TRACE_BLOCK_POINTS};
    const struct trace_block *block;
    struct trace_rows rows = {0};
    size_t position = 0;
    int result = 0;
    while (result == 0 && (block = trace_next_block(r->trace, &filter, &position))) {
        result = trace_decode_rows(r->trace, block, &rows, err);
        for (size_t i = 0; result == 0 && i < rows.count; i++) {
            const struct trace_point *point = &rows.points[i];
            const struct trace_track *track = teller(r->trace, point->track);
            if (track && point->kind == TRACE_POINT_MESSAGE)
                tell(r, track,
                     (struct trace_reported){.start_ns = point->time,
                                             .end_ns = point->time,
                                             .text = point->text,
                                             .length = point->text_length});
        }
    }
    trace_rows_free(&rows);
    return result;
}

static void tell_zone(const struct reading *r, const struct trace_track *track, const struct zone_rows *rows,
                      size_t row)
{
    const struct trace_extra *extras;
    size_t count = zone_rows_find_extras(rows, row, &extras);
    struct trace_reported said = {.start_ns = rows->start[row],
                                  .end_ns = rows->start[row] + rows->duration[row],
                                  .name = trace_get_name(r->trace, rows->name[row])->name};
    for (size_t i = 0; i < count; i++) {
        if (extras[i].kind == TRACE_EXTRA_TEXT) {
            said.text = extras[i].text;
            said.length = extras[i].text_length;
        }
    }
    tell(r, track, said);
}

/* Inner zones first, as they are reported when they end: groups are in order of depth. */
static void tell_zones(const struct reading *r, const struct zone_rows *rows)
{
    for (size_t g = rows->group_count; g-- > 0;) {
        const struct zone_rows_group *group = &rows->groups[g];
        const struct trace_track *track = teller(r->trace, group->track);
        for (size_t i = group->first; track && i < (size_t)group->first + group->count; i++) {
            if (rows->name[i] < r->name_count && r->is_wanted[rows->name[i]])
                tell_zone(r, track, rows, i);
        }
    }
}

/* False: none has a name that is wanted. */
static bool find_names(struct reading *r)
{
    bool has_any = false;
    for (uint32_t i = 0; i < r->name_count; i++) {
        r->is_wanted[i] = r->listener.wants_zone(trace_get_name(r->trace, i)->name);
        has_any |= r->is_wanted[i];
    }
    return has_any;
}

static int read_zones(struct reading *r, struct error *err)
{
    const struct trace_block_filter filter = {.type = TRACE_BLOCK_ZONES};
    const unsigned columns =
        TRACE_COLUMN_START | TRACE_COLUMN_DURATION | TRACE_COLUMN_NAME | TRACE_COLUMN_EXTRA;
    const struct trace_block *block;
    struct zone_rows rows = {0};
    size_t position = 0;
    int result = 0;
    r->name_count = trace_name_count(r->trace);
    r->is_wanted = calloc(r->name_count + 1, sizeof *r->is_wanted);
    if (!r->is_wanted)
        return error_no_memory(err, "ops");
    bool has_any = find_names(r);
    while (has_any && result == 0 && (block = trace_next_block(r->trace, &filter, &position))) {
        if (block->track != TRACE_NONE && !teller(r->trace, block->track))
            continue;
        result = trace_decode_zones(r->trace, block, columns, &rows, err);
        if (result == 0)
            tell_zones(r, &rows);
    }
    zone_rows_free(&rows);
    free(r->is_wanted);
    return result;
}

int tt_reported_read(struct ops *ops, struct trace *trace, struct tt_fields *fields, uint32_t first_process,
                     uint32_t first_track, struct error *err)
{
    struct ops_reported *reported = tt_reported_new();
    struct reading r = {.trace = trace, .first_process = first_process, .first_track = first_track};
    if (!reported)
        return error_no_memory(err, "ops");
    ops_reported_listener(reported, &r.listener);
    int result = read_messages(&r, err);
    if (result == 0)
        result = read_zones(&r, err);
    if (result == 0)
        result = tt_reported_to_ops(reported, ops, fields, err);
    if (result == 0)
        ops_add_notice(
            ops, OP_NOTICE_KIND_OWN + TT_INFO_GROWING, OP_NOTICE_INFO, 0,
            "the trace is unfinished: its ops are what the program has reported so far; what devices did "
            "is joined when it ends");
    ops_reported_free(reported);
    return result;
}
