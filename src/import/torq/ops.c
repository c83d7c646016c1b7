/* SPDX-License-Identifier: Apache-2.0 */
/* The ops of a model in its scheduled form: every program that an engine runs computes (a part of) one, and transfers
 * belong to the program that needs their data or made it. With locations, programs of one location and kind are parts
 * of one op (tiles); without, each program is an op of its own. */
#include "import/torq/ops.h"

#include <string.h>

#include "base/map.h"

#define PROGRAM_PREFIX "slice_program_torq_hl."

void torq_ops_free(struct torq_ops *ops)
{
    intern_free(&ops->keys);
}

uint32_t torq_op_of(struct torq_ops *ops, struct timeline *timeline, const struct torq_op_key *key)
{
    struct bytes text = {0};
    const char *location = timeline_get_text(timeline, key->location);
    if (key->has_location)
        bytes_append_format(&text, "%u %s %s", key->dispatch, location,
                            timeline_get_text(timeline, key->name));
    else
        bytes_append_format(&text, "%u #%u", key->dispatch, key->program);
    uint32_t id = text.failed ? INTERN_NONE : intern_add(&ops->keys, text.data, text.length);
    bytes_free(&text);
    if (id == INTERN_NONE) {
        timeline->failed = true;
        return TIMELINE_NONE;
    }
    if (id < timeline->op_count)
        return id;
    struct timeline_op *op = timeline_add_op(timeline);
    if (!op)
        return TIMELINE_NONE;
    op->name = key->name;
    op->location = key->location;
    op->dispatch = key->dispatch;
    op->source = key->program;
    op->start = UINT64_MAX;
    return id;
}

static bool computes(const struct timeline *timeline, const struct timeline_unit *unit)
{
    unsigned kind = timeline->lanes[unit->lane].kind;
    return kind == TIMELINE_SLICE || kind == TIMELINE_CORE;
}

static void add_unit(struct timeline *timeline, const struct timeline_unit *unit)
{
    if (unit->op == TIMELINE_NONE)
        return;
    struct timeline_op *op = &timeline->ops[unit->op];
    unsigned kind = timeline->lanes[unit->lane].kind;
    op->start = unit->start < op->start ? unit->start : op->start;
    op->end = unit->end > op->end ? unit->end : op->end;
    if (kind == TIMELINE_DMA_IN)
        op->read_bytes += unit->bytes;
    else if (kind == TIMELINE_DMA_OUT)
        op->write_bytes += unit->bytes;
    else if (computes(timeline, unit))
        op->tiles++;
}

/* Of the op at the transfer's own location, else `near`, the program next to it in the order of starts. */
static void give_transfer(struct timeline_unit *unit, const struct map *by_location, uint32_t near)
{
    uint32_t op = map_get(by_location, unit->location);
    unit->op = op != MAP_NONE ? op : near;
}

void torq_ops_finish(struct timeline *timeline, uint32_t dispatch, size_t first_unit)
{
    struct map by_location = {0};
    struct timeline_unit *units = timeline->units;
    uint32_t near = TIMELINE_NONE;
    for (size_t i = first_unit; i < timeline->unit_count; i++) {
        if (computes(timeline, &units[i]))
            near = units[i].op;
        else if (timeline->lanes[units[i].lane].kind == TIMELINE_DMA_OUT)
            units[i].op = near;
    }
    for (size_t i = timeline->unit_count;
         i-- > first_unit;) { /* data that comes in is for what starts next */
        if (computes(timeline, &units[i])) {
            near = units[i].op;
            timeline->failed |= !map_put(&by_location, units[i].location, near);
        } else if (units[i].op == TIMELINE_NONE) {
            give_transfer(&units[i], &by_location, near);
        }
    }
    for (size_t i = first_unit; i < timeline->unit_count; i++) {
        if (units[i].dispatch == dispatch)
            add_unit(timeline, &units[i]);
    }
    map_free(&by_location);
}

struct slice torq_program_name(struct slice head)
{
    struct slice name = slice_before(slice_after(head, "\""), "\"");
    if (slice_begins(name, PROGRAM_PREFIX))
        name = slice_from(name.data + strlen(PROGRAM_PREFIX), name.length - strlen(PROGRAM_PREFIX));
    return name;
}
