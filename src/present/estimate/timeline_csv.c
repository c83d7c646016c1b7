/* SPDX-License-Identifier: Apache-2.0 */
#include "present/estimate/timeline_csv.h"

#include <inttypes.h>

/* Kinds of lanes in the order of the rows. */
static const unsigned task_groups[] = {1u << TIMELINE_DMA_IN | 1u << TIMELINE_DMA_OUT | 1u << TIMELINE_COPY,
                                       1u << TIMELINE_SLICE, 1u << TIMELINE_CORE};
static const unsigned unit_groups[] = {1u << TIMELINE_DMA_IN | 1u << TIMELINE_DMA_OUT, 1u << TIMELINE_SLICE};

struct numbers { /* of the rows so far */
    uint64_t in, out, slices;
};

static void append_task_row(const struct timeline *timeline, const struct timeline_unit *unit,
                            struct bytes *out)
{
    int64_t task = unit->task < timeline->task_count ? timeline->tasks[unit->task].number : -1;
    bytes_append_format(out, "%" PRId64 ",%" PRIu64 ",%" PRIu64 ",%s,%s,", task, unit->end - unit->start,
                        unit->start - timeline->dispatches[unit->dispatch].start,
                        timeline_get_text(timeline, timeline->lanes[unit->lane].name),
                        timeline_get_text(timeline, unit->location));
    if (unit->bytes != UINT64_MAX)
        bytes_append_format(out, "%" PRIu64, unit->bytes);
    bytes_append_text(out, "\n");
}

static void append_unit_row(const struct timeline *timeline, const struct timeline_unit *unit,
                            struct numbers *numbers, struct bytes *out)
{
    unsigned kind = timeline->lanes[unit->lane].kind;
    const char *id = kind == TIMELINE_DMA_IN ? "DI" : kind == TIMELINE_DMA_OUT ? "DO" : "S";
    uint64_t *number = kind == TIMELINE_DMA_IN    ? &numbers->in
                       : kind == TIMELINE_DMA_OUT ? &numbers->out
                                                  : &numbers->slices;
    const char *type = kind == TIMELINE_DMA_IN    ? "DMA_IN"
                       : kind == TIMELINE_DMA_OUT ? "DMA_OUT"
                                                  : timeline_get_text(timeline, unit->name);
    uint64_t origin = timeline->dispatches[unit->dispatch].start;
    bytes_append_format(out, "%s%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s,%s\n", id, (*number)++,
                        unit->start - origin, unit->end - origin, timeline_get_text(timeline, unit->location),
                        type);
}

void timeline_append_csv(const struct timeline *timeline, uint32_t dispatch, enum timeline_csv_form form,
                         struct bytes *out)
{
    bool is_tasks = form == TIMELINE_CSV_TASKS;
    const unsigned *groups = is_tasks ? task_groups : unit_groups;
    size_t group_count =
        is_tasks ? sizeof task_groups / sizeof task_groups[0] : sizeof unit_groups / sizeof unit_groups[0];
    struct numbers numbers = {0};
    bytes_append_text(out, is_tasks ? "taskId, elapsed_time(us), timestamp(us), event, location, bytes\n"
                                    : "ID,Start,End,Location,Op Type\n");
    for (size_t group = 0; group < group_count; group++) {
        for (size_t i = 0; i < timeline->unit_count; i++) {
            const struct timeline_unit *unit = &timeline->units[i];
            if ((dispatch != TIMELINE_NONE && unit->dispatch != dispatch) ||
                !(groups[group] >> timeline->lanes[unit->lane].kind & 1u))
                continue;
            if (is_tasks)
                append_task_row(timeline, unit, out);
            else
                append_unit_row(timeline, unit, &numbers, out);
        }
    }
}
