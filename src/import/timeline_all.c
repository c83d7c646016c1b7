/* SPDX-License-Identifier: Apache-2.0 */
/* The form `all` of a timeline: every unit with its dispatch, its op and both kinds of times, quoted where needed. */
#include <errno.h>

#include "base/count_of.h"
#include "import/timeline_csv.h"
#include "text/csv/cell.h"
#include "text/csv/reader.h"

enum column { DISPATCH, LANE, TASK, START, END, END_NS, BYTES, OP, TYPE, LOCATION, COLUMNS };

static const char *const names[COLUMNS] = {
    [DISPATCH] = "dispatch", [LANE] = "lane",        [TASK] = "task",   [START] = "start_cycles",
    [END] = "end_cycles",    [END_NS] = "end_ns",    [BYTES] = "bytes", [OP] = "op",
    [TYPE] = "op_type",      [LOCATION] = "location"};

struct reading {
    struct timeline *timeline;
    struct csv_reader csv;
    size_t at[COLUMNS];  /* where each stands; SIZE_MAX: nowhere */
    struct intern ops;   /* dispatch, name and location of each op */
    struct intern tasks; /* dispatch and number */
    struct bytes key;
    double last_ns;
    uint64_t last_cycles;
};

bool timeline_all_is_one(struct slice beginning)
{
    return slice_begins(beginning, "dispatch,lane,task,start_cycles,end_cycles,");
}

static struct slice cell(const struct reading *r, enum column column)
{
    return r->at[column] < r->csv.cell_count ? r->csv.cells[r->at[column]] : (struct slice){0};
}

static void find_columns(struct reading *r)
{
    for (size_t column = 0; column < COLUMNS; column++) {
        r->at[column] = SIZE_MAX;
        for (size_t i = 0; i < r->csv.cell_count; i++) {
            if (slice_is(r->csv.cells[i], names[column]))
                r->at[column] = i;
        }
    }
}

/* What follows one another under one name is one dispatch. */
static uint32_t dispatch_of(struct reading *r, const struct timeline_unit *unit)
{
    struct timeline *t = r->timeline;
    struct slice name = cell(r, DISPATCH);
    uint32_t text = timeline_text(t, slice_from(name.data ? name.data : "", name.length));
    struct timeline_dispatch *last = t->dispatch_count ? &t->dispatches[t->dispatch_count - 1] : NULL;
    if (!last || last->name != text) {
        last = timeline_add_dispatch(t);
        if (!last)
            return TIMELINE_NONE;
        *last = (struct timeline_dispatch){.name = text, .start = unit->start, .end = unit->end};
    }
    last->start = unit->start < last->start ? unit->start : last->start;
    last->end = unit->end > last->end ? unit->end : last->end;
    return (uint32_t)t->dispatch_count - 1;
}

/* The id of a dispatch and a text in a set; INTERN_NONE: no memory. */
static uint32_t id_of(struct reading *r, struct intern *set, uint32_t dispatch, struct slice text)
{
    bytes_clear(&r->key);
    bytes_append_format(&r->key, "%u ", dispatch);
    bytes_append(&r->key, text.data, text.length);
    uint32_t id = r->key.failed ? INTERN_NONE : intern_add(set, r->key.data, r->key.length);
    r->timeline->failed |= id == INTERN_NONE;
    return id;
}

/* An op has one name and, if it has any, one location in its dispatch. */
static uint32_t op_of(struct reading *r, const struct timeline_unit *unit)
{
    struct timeline *t = r->timeline;
    struct slice name = cell(r, OP);
    if (!name.length)
        return TIMELINE_NONE;
    uint32_t id = id_of(r, &r->ops, unit->dispatch, name);
    if (id == t->op_count) {
        struct timeline_op *op = timeline_add_op(t);
        if (!op)
            return TIMELINE_NONE;
        op->name = timeline_text(t, name);
        op->location = unit->location;
        op->dispatch = unit->dispatch;
        op->start = unit->start;
    }
    struct timeline_op *op = id < t->op_count ? &t->ops[id] : NULL;
    if (!op)
        return TIMELINE_NONE;
    op->start = unit->start < op->start ? unit->start : op->start;
    op->end = unit->end > op->end ? unit->end : op->end;
    bool is_transfer =
        unit->bytes != UINT64_MAX && slice_begins(cell(r, LANE), "DMA "); /* in or out, not both */
    if (is_transfer && t->lanes[unit->lane].kind == TIMELINE_DMA_IN)
        op->read_bytes += unit->bytes;
    else if (is_transfer)
        op->write_bytes += unit->bytes;
    return id;
}

static uint32_t task_of(struct reading *r, const struct timeline_unit *unit)
{
    struct timeline *t = r->timeline;
    int64_t number;
    if (!cell_int64(cell(r, TASK), &number))
        return TIMELINE_NONE;
    uint32_t id = id_of(r, &r->tasks, unit->dispatch, cell(r, TASK));
    if (id == t->task_count) {
        struct timeline_task *task = timeline_add_task(t);
        if (task)
            *task = (struct timeline_task){
                .start = unit->start, .number = number, .dispatch = unit->dispatch, .source = TIMELINE_NONE};
    }
    if (id >= t->task_count)
        return TIMELINE_NONE;
    t->tasks[id].end = unit->end > t->tasks[id].end ? unit->end : t->tasks[id].end;
    return id;
}

static bool read_row(struct reading *r)
{
    struct timeline *t = r->timeline;
    struct timeline_unit unit = {.bytes = UINT64_MAX};
    struct slice bytes = cell(r, BYTES), lane = cell(r, LANE), type = cell(r, TYPE);
    double end_ns;
    if (!timeline_csv_cycles(cell(r, START), &unit.start) || !timeline_csv_cycles(cell(r, END), &unit.end) ||
        unit.end < unit.start || !lane.length || (bytes.length && !slice_unsigned(bytes, &unit.bytes)) ||
        !timeline_csv_lane(t, lane, &unit.lane))
        return false;
    if (unit.end > r->last_cycles && cell_number(cell(r, END_NS), &end_ns) <= NUMBER_REAL && end_ns > 0) {
        r->last_cycles = unit.end;
        r->last_ns = end_ns;
    }
    struct slice location = cell(r, LOCATION);
    unit.location = timeline_text(t, slice_from(location.data ? location.data : "", location.length));
    unit.dispatch = dispatch_of(r, &unit);
    struct timeline_unit *added = unit.dispatch == TIMELINE_NONE ? NULL : timeline_add_unit(t);
    if (!added)
        return true; /* no memory: `failed` is set */
    uint32_t op = op_of(r, &unit), task = task_of(r, &unit);
    unit.name = type.length ? timeline_text(t, type) : TIMELINE_NONE;
    unit.source = unit.waiter = unit.program = TIMELINE_NONE;
    unit.op = op;
    unit.task = task;
    *added = unit;
    return true;
}

int timeline_all_read(struct timeline *timeline, const char *path, struct slice text,
                      struct timeline_csv_faults *faults, struct error *err)
{
    struct reading r = {.timeline = timeline};
    int status = csv_open_memory(&r.csv, path, text.data, text.length, err);
    if (status)
        return status;
    bool is_header = true;
    while (!timeline->failed && (status = csv_next(&r.csv, err)) > 0) {
        if (is_header)
            find_columns(&r);
        else if (!read_row(&r) && !faults->rows++)
            faults->first_line = r.csv.line;
        is_header = false;
    }
    if (r.csv.unclosed_line && !faults->rows++)
        faults->first_line = r.csv.unclosed_line;
    if (r.last_ns > 0)
        timeline->clock_mhz = (double)r.last_cycles * 1000 / r.last_ns;
    csv_close(&r.csv);
    intern_free(&r.ops);
    intern_free(&r.tasks);
    bytes_free(&r.key);
    return status < 0 ? status : 0;
}
