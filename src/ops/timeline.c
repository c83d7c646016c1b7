/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/timeline.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

void timeline_free(struct timeline *timeline)
{
    intern_free(&timeline->texts);
    free(timeline->lanes);
    free(timeline->units);
    free(timeline->tasks);
    free(timeline->actions);
    free(timeline->dispatches);
    free(timeline->ops);
    free(timeline->places);
    free(timeline->notices);
    *timeline = (struct timeline){0};
}

int timeline_check(const struct timeline *timeline, struct error *err)
{
    return timeline->failed ? error_no_memory(err, "the timeline") : 0;
}

uint32_t timeline_text(struct timeline *timeline, struct slice text)
{
    if (!text.data)
        return TIMELINE_NONE;
    uint32_t id = intern_add(&timeline->texts, text.data, text.length);
    if (id == INTERN_NONE)
        timeline->failed = true;
    return id;
}

/* One more element, zeroed; NULL: no memory. */
static void *add(struct timeline *timeline, void *array_pointer, size_t *count, size_t *capacity, size_t size)
{
    if (*count >= TIMELINE_NONE - 1 || !array_reserve(array_pointer, capacity, *count + 1, size)) {
        timeline->failed = true;
        return NULL;
    }
    char *place = *(char **)array_pointer + (*count)++ * size;
    memset(place, 0, size);
    return place;
}

uint32_t timeline_lane(struct timeline *timeline, const char *name, enum timeline_lane_kind kind,
                       uint32_t number)
{
    uint32_t text = timeline_text(timeline, slice_of(name));
    for (uint32_t i = 0; i < timeline->lane_count; i++) {
        if (timeline->lanes[i].name == text)
            return i;
    }
    struct timeline_lane *lane =
        add(timeline, &timeline->lanes, &timeline->lane_count, &timeline->lane_capacity, sizeof *lane);
    if (!lane)
        return TIMELINE_NONE;
    *lane = (struct timeline_lane){text, kind, number};
    return (uint32_t)timeline->lane_count - 1;
}

struct timeline_unit *timeline_add_unit(struct timeline *timeline)
{
    struct timeline_unit *unit = add(timeline, &timeline->units, &timeline->unit_count,
                                     &timeline->unit_capacity, sizeof timeline->units[0]);
    if (unit)
        unit->task = unit->name = unit->location = unit->source = unit->op = unit->waiter = unit->program =
            TIMELINE_NONE;
    return unit;
}

struct timeline_task *timeline_add_task(struct timeline *timeline)
{
    return add(timeline, &timeline->tasks, &timeline->task_count, &timeline->task_capacity,
               sizeof timeline->tasks[0]);
}

struct timeline_action *timeline_add_action(struct timeline *timeline)
{
    return add(timeline, &timeline->actions, &timeline->action_count, &timeline->action_capacity,
               sizeof timeline->actions[0]);
}

struct timeline_dispatch *timeline_add_dispatch(struct timeline *timeline)
{
    return add(timeline, &timeline->dispatches, &timeline->dispatch_count, &timeline->dispatch_capacity,
               sizeof timeline->dispatches[0]);
}

struct timeline_op *timeline_add_op(struct timeline *timeline)
{
    struct timeline_op *op =
        add(timeline, &timeline->ops, &timeline->op_count, &timeline->op_capacity, sizeof timeline->ops[0]);
    if (op) {
        op->name = op->class = op->number = op->type = op->location = op->source = op->note = TIMELINE_NONE;
        op->utilisation = -1;
    }
    return op;
}

void timeline_add_place(struct timeline *timeline, uint32_t source)
{
    uint32_t *place = timeline->op_count ? add(timeline, &timeline->places, &timeline->place_count,
                                               &timeline->place_capacity, sizeof *place)
                                         : NULL;
    if (!place)
        return;
    struct timeline_op *op = &timeline->ops[timeline->op_count - 1];
    *place = source;
    op->first_place = op->places ? op->first_place : (uint32_t)timeline->place_count - 1;
    op->places++;
}

void timeline_add_notice(struct timeline *timeline, uint32_t source, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    struct timeline_notice *notice = add(timeline, &timeline->notices, &timeline->notice_count,
                                         &timeline->notice_capacity, sizeof *notice);
    if (notice)
        *notice = (struct timeline_notice){timeline_text(timeline, slice_of(text)), source};
}

void timeline_programs_to_ops(struct timeline *timeline)
{
    for (size_t i = 0; i < timeline->unit_count && !timeline->failed; i++) {
        struct timeline_unit *unit = &timeline->units[i];
        if (unit->op != TIMELINE_NONE || timeline->lanes[unit->lane].kind != TIMELINE_PROGRAM)
            continue;
        struct timeline_op *op = timeline_add_op(timeline);
        if (!op)
            return;
        op->name = unit->name;
        op->location = unit->location;
        op->dispatch = unit->dispatch;
        op->start = unit->start;
        op->end = unit->end;
        unit->op = (uint32_t)timeline->op_count - 1;
    }
}

/* Ops and dispatches keep their place, since others refer to it; those outside have no time. */
static void cut_span(uint64_t *from, uint64_t *to, uint64_t start, uint64_t end)
{
    bool is_inside = *from >= start && *to <= end;
    *from = is_inside ? *from - start : 0;
    *to = is_inside ? *to - start : 0;
}

void timeline_cut(struct timeline *timeline, uint64_t start, uint64_t end)
{
    size_t kept = 0;
    for (size_t i = 0; i < timeline->unit_count; i++) {
        struct timeline_unit unit = timeline->units[i];
        if (unit.start < start || unit.end > end)
            continue;
        unit.start -= start;
        unit.end -= start;
        timeline->units[kept++] = unit;
    }
    timeline->unit_count = kept;
    for (size_t i = 0; i < timeline->op_count; i++)
        cut_span(&timeline->ops[i].start, &timeline->ops[i].end, start, end);
    for (size_t i = 0; i < timeline->dispatch_count; i++)
        cut_span(&timeline->dispatches[i].start, &timeline->dispatches[i].end, start, end);
}

uint64_t timeline_start(const struct timeline *timeline)
{
    uint64_t start = timeline->unit_count ? UINT64_MAX : 0;
    for (size_t i = 0; i < timeline->unit_count; i++)
        start = timeline->units[i].start < start ? timeline->units[i].start : start;
    return start;
}

uint64_t timeline_end(const struct timeline *timeline)
{
    uint64_t end = 0;
    for (size_t i = 0; i < timeline->dispatch_count; i++)
        end = timeline->dispatches[i].end > end ? timeline->dispatches[i].end : end;
    for (size_t i = 0; i < timeline->unit_count; i++)
        end = timeline->units[i].end > end ? timeline->units[i].end : end;
    return end;
}
