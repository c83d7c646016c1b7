/* SPDX-License-Identifier: Apache-2.0 */
/* One zone: where it is, what it carries, what is around it, and its source. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "serve/query/query.h"

/* children are counted exactly in this many blocks, else from the levels of detail */
#define CHILD_BLOCKS 64u

struct found_zone {
    uint64_t start, duration, child;
    uint32_t name;
    bool is_open, is_found;
    struct json *extras; /* where texts and values go; NULL: not wanted */
};

/* --- finding --- */

static bool contains(uint64_t start, uint64_t duration, uint64_t at)
{
    return start <= at && (at - start < duration || (duration == 0 && at == start));
}

static void put_extras(struct json *j, const struct zone_rows *rows, size_t row)
{
    const struct trace_extra *extra;
    size_t count = zone_rows_find_extras(rows, row, &extra);
    json_key(j, "texts");
    json_array(j, JSON_INLINE);
    for (size_t i = 0; i < count; i++) {
        if (extra[i].kind == TRACE_EXTRA_TEXT)
            json_text_length(j, extra[i].text, extra[i].text_length);
    }
    json_end(j);
    json_key(j, "value");
    for (size_t i = 0; i < count; i++) {
        if (extra[i].kind == TRACE_EXTRA_VALUE) {
            json_unsigned(j, extra[i].value);
            return;
        }
    }
    json_null(j);
}

/* The row of this depth that contains the moment; one that begins at it rather than one that ends there. */
static void look_in_rows(const struct zone_rows *rows, uint32_t track, uint32_t depth, uint64_t at,
                         struct found_zone *found)
{
    for (size_t g = 0; g < rows->group_count && !found->is_found; g++) {
        const struct zone_rows_group *group = &rows->groups[g];
        if (group->track != track || group->depth != depth)
            continue;
        for (size_t i = group->first; i < (size_t)group->first + group->count; i++) {
            if (!contains(rows->start[i], rows->duration[i], at))
                continue;
            found->start = rows->start[i];
            found->duration = rows->duration[i];
            found->child = rows->child[i];
            found->name = rows->name[i];
            found->is_found = true;
            if (found->extras)
                put_extras(found->extras, rows, i);
            break;
        }
    }
}

static void look_in_open(const struct serve_trace *st, uint32_t track, uint32_t depth, uint64_t at,
                         struct found_zone *found)
{
    size_t count;
    const struct trace_open_zone *open = trace_get_open_zones(st->trace, &count);
    for (size_t i = 0; i < count && !found->is_found; i++) {
        uint64_t length = open[i].seen > open[i].start ? open[i].seen - open[i].start : 0;
        if (open[i].track != track || open[i].depth != depth || open[i].start > at ||
            at - open[i].start > length)
            continue;
        *found = (struct found_zone){.start = open[i].start,
                                     .duration = length,
                                     .child = open[i].child,
                                     .name = open[i].name,
                                     .is_open = true,
                                     .is_found = true,
                                     .extras = found->extras};
        if (found->extras) {
            json_key(found->extras, "texts");
            json_array(found->extras, JSON_INLINE);
            json_end(found->extras);
            json_key(found->extras, "value");
            json_null(found->extras);
        }
    }
}

/* `found` has a place for each depth from `first` to `last`. */
static int find_zones(struct serve_trace *st, uint32_t track, uint32_t first, uint32_t last, uint64_t at,
                      struct found_zone *found, struct error *err)
{
    const struct trace_block_filter filter = {
        .type = TRACE_BLOCK_ZONES, .track_plus_1 = track + 1, .since_ns = at, .until_ns = at ? at : 1};
    const struct trace_block *block;
    struct zone_rows rows = {0};
    size_t position = 0;
    int status = 0;
    for (uint32_t depth = first; depth <= last; depth++)
        look_in_open(st, track, depth, at, &found[depth - first]);
    while (!status && (block = trace_next_block(st->trace, &filter, &position))) {
        status = trace_decode_zones(st->trace, block, TRACE_COLUMN_ALL, &rows, err);
        for (uint32_t depth = first; depth <= last && !status; depth++)
            look_in_rows(&rows, track, depth, at, &found[depth - first]);
    }
    zone_rows_free(&rows);
    return status;
}

/* --- what is around --- */

static int count_children(struct serve_trace *st, uint32_t track, uint32_t depth,
                          const struct found_zone *zone, uint64_t *count, struct error *err)
{
    const struct trace_block_filter filter = {.type = TRACE_BLOCK_ZONES,
                                              .track_plus_1 = track + 1,
                                              .since_ns = zone->start,
                                              .until_ns = zone->start + zone->duration};
    const struct trace_block *block;
    struct zone_rows rows = {0};
    size_t position = 0, blocks = 0;
    uint64_t end = zone->start + zone->duration;
    int status = 0;
    *count = 0;
    while (trace_next_block(st->trace, &filter, &position))
        blocks++;
    if (blocks > CHILD_BLOCKS) {
        status = trace_lod(st->trace, track, depth, zone->start, end, 4096, &st->rows, err);
        for (size_t i = 0; i < st->rows.count && !status; i++)
            *count += st->rows.rows[i].count;
        return status;
    }
    position = 0;
    while (!status && (block = trace_next_block(st->trace, &filter, &position))) {
        status = trace_decode_zones(st->trace, block, TRACE_COLUMN_START | TRACE_COLUMN_DURATION, &rows, err);
        for (size_t g = 0; g < rows.group_count && !status; g++) {
            const struct zone_rows_group *group = &rows.groups[g];
            if (group->track != track || group->depth != depth)
                continue;
            for (size_t i = group->first; i < (size_t)group->first + group->count; i++)
                *count += rows.start[i] >= zone->start && rows.start[i] + rows.duration[i] <= end;
        }
    }
    zone_rows_free(&rows);
    return status;
}

static void put_parents(struct json *j, const struct serve_trace *st, const struct found_zone *parents,
                        uint32_t depth)
{
    json_key(j, "parents");
    json_array(j, JSON_INLINE);
    for (uint32_t i = 0; i < depth; i++) {
        if (!parents[i].is_found)
            continue;
        json_object(j, JSON_INLINE);
        json_member_unsigned(j, "name", parents[i].name);
        json_member_unsigned(j, "depth", i);
        json_member_unsigned(j, "start", serve_since(st, parents[i].start));
        json_member_unsigned(j, "duration", parents[i].duration);
        json_end(j);
    }
    json_end(j);
}

/* --- the question --- */

static int put_zone(struct serve_trace *st, struct json *j, uint32_t track, uint32_t depth, uint64_t at,
                    struct error *err)
{
    struct found_zone zone = {.extras = j};
    struct found_zone *parents = calloc(depth + 1u, sizeof *parents);
    uint64_t children = 0;
    if (!parents)
        return error_no_memory(err, "the zone");
    int status = find_zones(st, track, depth, depth, at, &zone, err);
    if (!status && !zone.is_found)
        status = error_set(err, ENOENT, "there is no zone of depth %" PRIu32 " there", depth);
    if (!status && depth)
        status = find_zones(st, track, 0, depth - 1, zone.start, parents, err);
    if (!status)
        status = count_children(st, track, depth + 1, &zone, &children, err);
    if (!status) {
        json_member_unsigned(j, "name", zone.name);
        json_member_unsigned(j, "track", track);
        json_member_unsigned(j, "depth", depth);
        json_member_unsigned(j, "start", serve_since(st, zone.start));
        json_member_unsigned(j, "duration", zone.duration);
        json_member_unsigned(j, "self", zone.duration > zone.child ? zone.duration - zone.child : 0);
        json_member_bool(j, "open", zone.is_open);
        json_member_unsigned(j, "children", children);
        put_parents(j, st, parents, depth);
        query_put_source(j, st, trace_get_name(st->trace, zone.name));
    }
    free(parents);
    return status;
}

static int find_innermost(struct serve_trace *st, uint32_t track, uint64_t at, uint64_t *depth,
                          struct error *err)
{
    uint32_t depths = trace_track_all_depths(st->trace, track);
    struct found_zone *found = calloc(depths + 1u, sizeof *found);
    if (!found)
        return error_no_memory(err, "the zone");
    int status = depths ? find_zones(st, track, 0, depths - 1, at, found, err) : 0;
    for (uint32_t i = 0; i < depths; i++) {
        if (found[i].is_found)
            *depth = i;
    }
    free(found);
    return status;
}

int query_zone(struct serve_trace *st, const struct query *q, struct bytes *out, struct error *err)
{
    uint32_t track;
    uint64_t depth = 0, at = 0;
    int status = query_track(q, st, &track, err);
    const char *wanted = query_text(q, "depth");
    bool is_innermost = wanted && strcmp(wanted, "innermost") == 0;
    if (!status && !is_innermost)
        status = query_unsigned(q, "depth", TRACE_MAX_DEPTH, &depth, err);
    if (!status)
        status = query_unsigned(q, "at", st->end_ns - st->start_ns, &at, err);
    if (!status && is_innermost)
        status = find_innermost(st, track, st->start_ns + at, &depth, err);
    if (status)
        return status;
    struct json j = query_json(out);
    json_object(&j, JSON_LINES);
    status = put_zone(st, &j, track, (uint32_t)depth, st->start_ns + at, err);
    if (status == 0)
        json_end(&j);
    int ended = query_json_end(&j, out, err);
    return status ? status : ended;
}
