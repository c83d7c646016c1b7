/* SPDX-License-Identifier: Apache-2.0 */
#include "present/estimate/timeline_csv.h"

#include <inttypes.h>
#include <math.h>

#include "base/count_of.h"
#include "present/table.h"

/* Kinds of lanes in the order of the rows. */
static const unsigned task_groups[] = {1u << TIMELINE_DMA_IN | 1u << TIMELINE_DMA_OUT | 1u << TIMELINE_COPY,
                                       1u << TIMELINE_SLICE, 1u << TIMELINE_CORE};
static const unsigned unit_groups[] = {1u << TIMELINE_DMA_IN | 1u << TIMELINE_DMA_OUT, 1u << TIMELINE_SLICE};

struct numbers { /* of the rows so far */
    uint64_t in, out, slices;
};

static void append_task_row(const struct timeline *timeline, const struct timeline_unit *unit,
                            uint64_t origin, struct bytes *out)
{
    int64_t task = unit->task < timeline->task_count ? timeline->tasks[unit->task].number : -1;
    bytes_append_format(out, "%" PRId64 ",%" PRIu64 ",%" PRIu64 ",%s,%s,", task, unit->end - unit->start,
                        unit->start - origin, timeline_get_text(timeline, timeline->lanes[unit->lane].name),
                        timeline_get_text(timeline, unit->location));
    if (unit->bytes != UINT64_MAX)
        bytes_append_format(out, "%" PRIu64, unit->bytes);
    bytes_append_text(out, "\n");
}

static void append_unit_row(const struct timeline *timeline, const struct timeline_unit *unit,
                            uint64_t origin, struct numbers *numbers, struct bytes *out)
{
    unsigned kind = timeline->lanes[unit->lane].kind;
    const char *id = kind == TIMELINE_DMA_IN ? "DI" : kind == TIMELINE_DMA_OUT ? "DO" : "S";
    uint64_t *number = kind == TIMELINE_DMA_IN    ? &numbers->in
                       : kind == TIMELINE_DMA_OUT ? &numbers->out
                                                  : &numbers->slices;
    const char *type = kind == TIMELINE_DMA_IN    ? "DMA_IN"
                       : kind == TIMELINE_DMA_OUT ? "DMA_OUT"
                                                  : timeline_get_text(timeline, unit->name);
    bytes_append_format(out, "%s%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s,%s\n", id, (*number)++,
                        unit->start - origin, unit->end - origin, timeline_get_text(timeline, unit->location),
                        type);
}

enum {
    ALL_DISPATCH,
    ALL_LANE,
    ALL_TASK,
    ALL_START,
    ALL_END,
    ALL_START_NS,
    ALL_END_NS,
    ALL_BYTES,
    ALL_OP,
    ALL_TYPE,
    ALL_LOCATION,
    ALL_COLUMNS
};

static const struct table_column all_columns[ALL_COLUMNS] = {
    [ALL_DISPATCH] = {.key = "dispatch"},
    [ALL_LANE] = {.key = "lane"},
    [ALL_TASK] = {.key = "task", .type = TABLE_IDENTIFIER},
    [ALL_START] = {.key = "start_cycles", .type = TABLE_INTEGER},
    [ALL_END] = {.key = "end_cycles", .type = TABLE_INTEGER},
    [ALL_START_NS] = {.key = "start_ns", .type = TABLE_REAL},
    [ALL_END_NS] = {.key = "end_ns", .type = TABLE_REAL},
    [ALL_BYTES] = {.key = "bytes", .type = TABLE_INTEGER},
    [ALL_OP] = {.key = "op"},
    [ALL_TYPE] = {.key = "op_type"},
    [ALL_LOCATION] = {.key = "location"},
};

static void append_all(const struct timeline *timeline, uint32_t dispatch, uint64_t origin, struct bytes *out)
{
    struct table table;
    double ns = timeline->clock_mhz > 0 ? 1000 / timeline->clock_mhz : NAN;
    table_init(&table, "units", all_columns, ALL_COLUMNS);
    for (size_t i = 0; i < timeline->unit_count; i++) {
        const struct timeline_unit *unit = &timeline->units[i];
        if (dispatch != TIMELINE_NONE && unit->dispatch != dispatch)
            continue;
        table_add_row(&table);
        table_set_text(&table, ALL_DISPATCH,
                       timeline_get_text(timeline, timeline->dispatches[unit->dispatch].name));
        table_set_text(&table, ALL_LANE, timeline_get_text(timeline, timeline->lanes[unit->lane].name));
        if (unit->task < timeline->task_count)
            table_set_integer(&table, ALL_TASK, timeline->tasks[unit->task].number);
        table_set_unsigned(&table, ALL_START, unit->start - origin);
        table_set_unsigned(&table, ALL_END, unit->end - origin);
        table_set_real(&table, ALL_START_NS, (double)(unit->start - origin) * ns);
        table_set_real(&table, ALL_END_NS, (double)(unit->end - origin) * ns);
        if (unit->bytes != UINT64_MAX)
            table_set_unsigned(&table, ALL_BYTES, unit->bytes);
        if (unit->op < timeline->op_count)
            table_set_text(&table, ALL_OP, timeline_get_text(timeline, timeline->ops[unit->op].name));
        table_set_text(&table, ALL_TYPE, timeline_get_text(timeline, unit->name));
        table_set_text(&table, ALL_LOCATION, timeline_get_text(timeline, unit->location));
    }
    table_append_csv(&table, out);
    out->failed |= table.failed;
    table_free(&table);
}

void timeline_append_csv(const struct timeline *timeline, uint32_t dispatch, enum timeline_csv_form form,
                         struct bytes *out)
{
    bool is_tasks = form == TIMELINE_CSV_TASKS;
    const unsigned *groups = is_tasks ? task_groups : unit_groups;
    size_t group_count = is_tasks ? COUNT_OF(task_groups) : COUNT_OF(unit_groups);
    struct numbers numbers = {0};
    uint64_t origin = dispatch < timeline->dispatch_count ? timeline->dispatches[dispatch].start : 0;
    if (form == TIMELINE_CSV_ALL) {
        append_all(timeline, dispatch, origin, out);
        return;
    }
    bytes_append_text(out, is_tasks ? "taskId, elapsed_time(us), timestamp(us), event, location, bytes\n"
                                    : "ID,Start,End,Location,Op Type\n");
    for (size_t group = 0; group < group_count; group++) {
        for (size_t i = 0; i < timeline->unit_count; i++) {
            const struct timeline_unit *unit = &timeline->units[i];
            if ((dispatch != TIMELINE_NONE && unit->dispatch != dispatch) ||
                !(groups[group] >> timeline->lanes[unit->lane].kind & 1u))
                continue;
            if (is_tasks)
                append_task_row(timeline, unit, origin, out);
            else
                append_unit_row(timeline, unit, origin, &numbers, out);
        }
    }
}
