/* SPDX-License-Identifier: Apache-2.0 */
/* Where ops were called from: the innermost zone around the call, on its own track, that has a place in the source. Of
 * a backward pass: where the op was called whose backward it is, for around it is what runs all of them, or nothing;
 * and the layer that this op was in, for a backward pass runs in none. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ops/description.h"
#include "ops/places.h"

struct placed { /* a call that does not say where it is from */
    uint64_t start_ns;
    uint32_t track, call;
    struct found {
        uint32_t depth; /* of the zone that was found, + 1; 0: none was */
        uint32_t name;  /* of that zone */
    } any, own;         /* own: outside of libraries */
};

struct places {
    struct ops *ops;
    struct trace *trace;
    struct placed *items; /* by track and time */
    size_t count;
    uint32_t *first; /* by track: its first one; one more at the end */
    size_t track_count;
    bool *has_place, *is_own; /* by name */
    size_t name_count;
};

static int compare(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

static bool is_in_order(const struct places *p)
{
    for (size_t i = 1; i < p->count; i++) {
        if (compare(&p->items[i - 1], &p->items[i]) > 0)
            return false;
    }
    return true;
}

static bool prepare(struct places *p)
{
    const struct ops *ops = p->ops;
    p->track_count = trace_track_count(p->trace);
    p->name_count = trace_name_count(p->trace);
    p->items = malloc((ops->call_count + 1) * sizeof *p->items);
    p->first = calloc(p->track_count + 2, sizeof *p->first);
    p->has_place = calloc(p->name_count + 1, sizeof *p->has_place);
    p->is_own = calloc(p->name_count + 1, sizeof *p->is_own);
    if (!p->items || !p->first || !p->has_place || !p->is_own)
        return false;
    for (uint32_t i = 0; i < ops->call_count; i++) {
        const struct op_call *call = &ops->calls[i];
        if (call->track < p->track_count && ops_location(ops, call) == OPS_NONE)
            p->items[p->count++] =
                (struct placed){.start_ns = call->start_ns, .track = call->track, .call = i};
    }
    if (!is_in_order(p)) /* qsort takes as much memory again */
        qsort(p->items, p->count, sizeof *p->items, compare);
    for (size_t i = 0; i < p->count; i++)
        p->first[p->items[i].track + 1]++;
    for (size_t track = 0; track < p->track_count; track++)
        p->first[track + 1] += p->first[track];
    for (uint32_t i = 0; i < p->name_count; i++) {
        const struct trace_name *name = trace_get_name(p->trace, i);
        p->has_place[i] = name->file[0] && name->line;
        p->is_own[i] = p->has_place[i] && !trace_file_is_library(name->file);
    }
    return true;
}

static void take(struct found *found, uint32_t depth, uint32_t name)
{
    if (found->depth <= depth)
        *found = (struct found){depth + 1, name};
}

/* A zone on one of the tracks. */
static void offer(struct places *p, uint32_t track, uint32_t depth, uint32_t name, uint64_t start_ns,
                  uint64_t end_ns)
{
    if (name >= p->name_count || !p->has_place[name])
        return;
    size_t low = p->first[track], high = p->first[track + 1], end = high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->items[middle].start_ns < start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < end && p->items[low].start_ns < end_ns; low++) {
        take(&p->items[low].any, depth, name);
        if (p->is_own[name])
            take(&p->items[low].own, depth, name);
    }
}

static bool has_calls(const struct places *p, uint32_t track)
{
    return track < p->track_count && p->first[track] < p->first[track + 1];
}

static int read_zones(struct places *p, struct error *err)
{
    struct trace_block_filter filter = {.type = TRACE_BLOCK_ZONES};
    struct zone_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0;
    int result = 0;
    while (result == 0 && (block = trace_next_block(p->trace, &filter, &position))) {
        if (block->track != TRACE_NONE && !has_calls(p, block->track))
            continue;
        result = trace_decode_zones(
            p->trace, block, TRACE_COLUMN_START | TRACE_COLUMN_DURATION | TRACE_COLUMN_NAME, &rows, err);
        for (size_t g = 0; result == 0 && g < rows.group_count; g++) {
            const struct zone_rows_group *group = &rows.groups[g];
            for (uint32_t i = group->first; has_calls(p, group->track) && i < group->first + group->count;
                 i++)
                offer(p, group->track, group->depth, rows.name[i], rows.start[i],
                      rows.start[i] + rows.duration[i]);
        }
    }
    zone_rows_free(&rows);
    return result;
}

static uint32_t text_of(const struct places *p, const struct found *found, struct bytes *text)
{
    if (!found->depth)
        return OPS_NONE;
    const struct trace_name *name = trace_get_name(p->trace, found->name);
    bytes_clear(text);
    bytes_append_format(text, "%s:%u", name->file, (unsigned)name->line);
    p->ops->failed |= text->failed;
    return ops_text(p->ops, slice_from((const char *)text->data, text->length));
}

static void set_own(struct ops *ops, uint32_t call, uint32_t place)
{
    if (place == OPS_NONE && call >= ops->own_place_count)
        return;
    if (!array_reserve(&ops->own_places, &ops->own_place_capacity, (size_t)call + 1,
                       sizeof ops->own_places[0])) {
        ops->failed = true;
        return;
    }
    while (ops->own_place_count <= call)
        ops->own_places[ops->own_place_count++] = OPS_NONE;
    ops->own_places[call] = place;
}

static void set_places(struct places *p)
{
    struct bytes text = {0};
    for (size_t i = 0; i < p->count && !p->ops->failed; i++) {
        const struct placed *item = &p->items[i];
        p->ops->calls[item->call].place = text_of(p, &item->any, &text);
        if (item->own.depth != item->any.depth)
            set_own(p->ops, item->call, text_of(p, &item->own, &text));
    }
    bytes_free(&text);
}

/* What this call is the backward of; OPS_NONE. */
static uint32_t find_forward(const struct places *p, const struct ops_links *links, uint32_t call)
{
    size_t low = 0, high = links->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (links->items[middle].call < call)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == links->count || links->items[low].call != call)
        return OPS_NONE;
    return ops_find_call(p->ops, p->ops->calls[call].process, links->items[low].forward);
}

/* The same but for the layer, which it does not name. */
static uint32_t in_module(struct ops *ops, uint32_t description, uint32_t module)
{
    struct op_description d = *ops_get_description(ops, description);
    size_t count = (size_t)d.inputs + d.outputs + d.attributes + d.kernels;
    uint32_t *ids = malloc((count + 1) * sizeof *ids); /* the model's list may move while it is added to */
    uint32_t id = OPS_NONE;
    ops->failed |= !ids;
    if (ids && d.module != OPS_NONE) {
        id = description;
    } else if (ids) {
        if (count)
            memcpy(ids, ops->lists + d.first, count * sizeof *ids);
        d.first = 0;
        d.module = module;
        id = ops_description(ops, &d, ids);
    }
    free(ids);
    return id;
}

/* One of the ops inside an outermost one says which op they all belong to: what adds up a gradient stands beside it. */
static void follow_links(struct places *p, const struct ops_links *links)
{
    struct op_call *calls = p->ops->calls;
    for (size_t first = 0, next; first < p->count; first = next) {
        const struct op_call *outer = &calls[p->items[first].call];
        uint32_t place = OPS_NONE, own = OPS_NONE, module = OPS_NONE;
        for (next = first; next < p->count && p->items[next].track == p->items[first].track &&
                           (next == first || p->items[next].start_ns < outer->end_ns);
             next++) {
            uint32_t forward =
                place == OPS_NONE ? find_forward(p, links, p->items[next].call) : (uint32_t)OPS_NONE;
            if (forward == OPS_NONE)
                continue;
            place = ops_location(p->ops, &calls[forward]);
            own = ops_own_place(p->ops, &calls[forward]);
            module = ops_get_description(p->ops, calls[forward].description)->module;
        }
        for (size_t i = first; i < next && place != OPS_NONE; i++) {
            calls[p->items[i].call].place = place;
            set_own(p->ops, p->items[i].call, own);
        }
        for (size_t i = first; i < next && module != OPS_NONE; i++) {
            struct op_call *call = &calls[p->items[i].call];
            call->description = in_module(p->ops, call->description, module);
        }
    }
}

int ops_find_places(struct ops *ops, struct trace *trace, const struct ops_links *links, struct error *err)
{
    struct places p = {.ops = ops, .trace = trace};
    int result = prepare(&p) ? 0 : error_set_errno(err, ENOMEM, "places of ops");
    if (result == 0 && p.count)
        result = read_zones(&p, err);
    size_t open_count = 0;
    const struct trace_open_zone *open = trace_get_open_zones(trace, &open_count);
    for (size_t i = 0; result == 0 && i < open_count; i++)
        if (has_calls(&p, open[i].track))
            offer(&p, open[i].track, open[i].depth, open[i].name, open[i].start, open[i].seen + 1);
    if (result == 0)
        set_places(&p);
    if (result == 0 && links->count)
        follow_links(&p, links);
    free(p.items);
    free(p.first);
    free(p.has_place);
    free(p.is_own);
    return result;
}
