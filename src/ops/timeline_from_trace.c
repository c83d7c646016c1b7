/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/count_of.h"
#include "base/map.h"
#include "ops/timeline_trace.h"

#define ZONES_MAX 1000000u /* of tracks without runs, which are only drawn */

struct reading {
    struct timeline *timeline;
    struct trace *trace;
    enum timeline_runs wanted;
    struct intern calls;   /* process and number: in the order of timeline.ops */
    uint32_t *lanes;       /* by track; TIMELINE_NONE */
    bool *has_runs;        /* by track; of a device: any of its tracks */
    bool has_any;          /* runs, wanted or not */
    uint32_t clock;        /* that all runs are of; TRACE_HOST_CLOCK: times are ns */
    uint64_t drawn_zones;  /* of tracks without runs */
    struct map dispatches; /* by their numbers in the trace */
    uint64_t *cycles;      /* by op, as the estimate says; 0: from its runs */
    size_t cycle_capacity;
};

/* --- names --- */

static uint32_t text_of(struct reading *r, const char *text)
{
    return timeline_text(r->timeline, slice_of(text));
}

static enum timeline_lane_kind lane_kind(const struct trace_track *track)
{
    static const struct {
        uint32_t track;
        const char *beginning;
        enum timeline_lane_kind kind;
    } kinds[] = {
        {TRACE_TRACK_DMA, "CDMA", TIMELINE_COPY},        {TRACE_TRACK_DMA, "DMA Out", TIMELINE_DMA_OUT},
        {TRACE_TRACK_DMA, "", TIMELINE_DMA_IN},          {TRACE_TRACK_CORE, "", TIMELINE_SLICE},
        {TRACE_TRACK_PROCESSOR, "", TIMELINE_CORE},      {TRACE_TRACK_OTHER, "HAL", TIMELINE_DRIVER},
        {TRACE_TRACK_OTHER, "Runtime", TIMELINE_DRIVER}, {TRACE_TRACK_OTHER, "Host Copy", TIMELINE_HOST_COPY},
        {TRACE_TRACK_OTHER, "Host ", TIMELINE_HOST}};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (track->kind == kinds[i].track &&
            strncmp(track->name, kinds[i].beginning, strlen(kinds[i].beginning)) == 0)
            return kinds[i].kind;
    }
    return TIMELINE_PROGRAM;
}

static uint32_t lane_of(struct reading *r, uint32_t track)
{
    const struct trace_track *about = trace_get_track(r->trace, track);
    if (!about)
        return timeline_lane(r->timeline, "device", TIMELINE_PROGRAM, 0);
    if (r->lanes[track] == TIMELINE_NONE)
        r->lanes[track] = timeline_lane(r->timeline, *about->name ? about->name : "device", lane_kind(about),
                                        (uint32_t)about->number);
    return r->lanes[track];
}

static uint32_t dispatch_of(struct reading *r, const char *name, uint64_t number)
{
    struct timeline *t = r->timeline;
    uint32_t found = map_get(&r->dispatches, number);
    if (found != MAP_NONE)
        return found;
    struct timeline_dispatch *dispatch = timeline_add_dispatch(t);
    if (!dispatch)
        return TIMELINE_NONE;
    dispatch->name = text_of(r, name);
    t->failed |= !map_put(&r->dispatches, number, (uint32_t)t->dispatch_count - 1);
    return (uint32_t)t->dispatch_count - 1;
}

/* --- ops and runs --- */

/* What timeline_to_trace wrote. */
static void read_figures(struct reading *r, const struct trace_op *from, struct timeline_op *op)
{
    const struct {
        const char *name;
        uint64_t *value;
    } numbers[] = {{TIMELINE_FIGURE_CYCLES, &r->cycles[r->timeline->op_count - 1]},
                   {TIMELINE_FIGURE_MACS, &op->macs},
                   {TIMELINE_FIGURE_READ, &op->read_bytes},
                   {TIMELINE_FIGURE_WRITTEN, &op->write_bytes}};
    const char *dispatch = NULL;
    uint64_t number = 0;
    for (uint32_t i = 0; i < from->part_count; i++) {
        const struct trace_run_part *figure = &from->parts[i];
        const char *name = trace_get_name(r->trace, figure->name)->name;
        bool is_text = figure->kind == TRACE_FIGURE_TEXT,
             is_whole = !is_text && !trace_figure_is_real(figure->kind);
        const char *text = is_text ? trace_get_name(r->trace, (uint32_t)figure->whole)->name : "";
        if (is_text && strcmp(name, TIMELINE_FIGURE_CLASS) == 0)
            op->class = text_of(r, text);
        if (is_text && strcmp(name, TIMELINE_FIGURE_DISPATCH) == 0)
            dispatch = text;
        if (is_whole && strcmp(name, TIMELINE_FIGURE_NUMBER) == 0)
            number = figure->whole;
        for (size_t k = 0; is_whole && k < COUNT_OF(numbers); k++) {
            if (strcmp(name, numbers[k].name) == 0)
                *numbers[k].value = figure->whole;
        }
    }
    if (dispatch)
        op->dispatch = dispatch_of(r, dispatch, number);
}

static void read_op(struct reading *r, const struct trace_op *from)
{
    uint64_t key[2] = {from->process, from->call};
    size_t parts = 0;
    const struct trace_part *description = trace_get_description(r->trace, from->description, &parts);
    if (intern_find(&r->calls, key, sizeof key) != INTERN_NONE)
        return; /* a number that was given twice: the first counts */
    struct timeline_op *op = timeline_add_op(r->timeline);
    if (!op)
        return;
    if (!array_reserve(&r->cycles, &r->cycle_capacity, r->timeline->op_count, sizeof r->cycles[0])) {
        r->timeline->failed = true;
        return;
    }
    r->cycles[r->timeline->op_count - 1] = 0;
    r->timeline->failed |= intern_add(&r->calls, key, sizeof key) == INTERN_NONE;
    op->dispatch = TIMELINE_NONE;
    op->start = UINT64_MAX;
    op->utilisation = -1;
    op->name = text_of(r, trace_get_name(r->trace, from->name)->name);
    for (size_t i = 0; i < parts; i++) {
        if (description[i].role == TRACE_PART_LOCATION)
            op->location = timeline_text(r->timeline, description[i].text);
    }
    read_figures(r, from, op);
}

static bool is_wanted(const struct reading *r, const struct trace_run *run)
{
    return ((run->flags & TRACE_RUN_ESTIMATED) != 0) == (r->wanted == TIMELINE_ESTIMATED);
}

/* Where the runs are, and by which clock. */
static void look_at_run(struct reading *r, const struct trace_run *run)
{
    const struct trace_track *track = trace_get_track(r->trace, run->track);
    uint32_t clock = track ? track->clock : TRACE_HOST_CLOCK;
    r->has_any = true;
    if (!is_wanted(r, run))
        return;
    r->clock = r->clock == TRACE_NONE || r->clock == clock ? clock : TRACE_HOST_CLOCK;
    for (unsigned depth = 0; track && depth < 16; depth++) {
        r->has_runs[track->id] = true;
        track = trace_get_track(r->trace, track->parent);
    }
}

static uint64_t time_of(const struct reading *r, uint32_t clock, uint64_t ticks)
{
    return r->clock == TRACE_HOST_CLOCK ? trace_host_ns(r->trace, clock, ticks) : ticks;
}

static struct timeline_unit *add_unit(struct reading *r, uint32_t track, uint64_t start, uint64_t end)
{
    uint32_t lane = lane_of(r, track);
    struct timeline_unit *unit = timeline_add_unit(r->timeline);
    if (!unit)
        return NULL;
    unit->lane = lane;
    unit->source = track;
    unit->start = start;
    unit->end = end > start ? end : start;
    unit->bytes = UINT64_MAX;
    return unit;
}

static void read_run(struct reading *r, const struct trace_run *run)
{
    struct timeline *t = r->timeline;
    uint64_t key[2] = {run->process, run->call};
    const struct trace_track *track = trace_get_track(r->trace, run->track);
    uint32_t clock = track ? track->clock : TRACE_HOST_CLOCK;
    if (!is_wanted(r, run))
        return;
    uint32_t own = run->call ? intern_find(&r->calls, key, sizeof key) : INTERN_NONE;
    uint32_t name = text_of(r, trace_get_name(r->trace, run->name)->name);
    if (own == INTERN_NONE || own >= t->op_count) {
        struct timeline_op *op = timeline_add_op(t);
        if (!op)
            return;
        op->start = UINT64_MAX;
        op->dispatch = TIMELINE_NONE;
        op->utilisation = -1;
        op->name = name;
        own = (uint32_t)t->op_count - 1;
    }
    struct timeline_unit *unit =
        add_unit(r, run->track, time_of(r, clock, run->start), time_of(r, clock, run->start + run->duration));
    if (!unit)
        return;
    struct timeline_op *op = &t->ops[own];
    unit->op = own;
    unit->name = name;
    unit->location = op->location;
    op->start = unit->start < op->start ? unit->start : op->start;
    op->end = unit->end > op->end ? unit->end : op->end;
}

static int read_rows(struct reading *r, uint32_t type,
                     void (*read)(struct reading *, const struct trace_rows *), struct error *err)
{
    struct trace_block_filter filter = {.type = type};
    struct trace_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0;
    int status = 0;
    while (!status && !r->timeline->failed && (block = trace_next_block(r->trace, &filter, &position))) {
        status = trace_decode_rows(r->trace, block, &rows, err);
        if (!status)
            read(r, &rows);
    }
    trace_rows_free(&rows);
    return status;
}

static void read_ops(struct reading *r, const struct trace_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        read_op(r, &rows->ops[i]);
}

static void look_at_runs(struct reading *r, const struct trace_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        look_at_run(r, &rows->runs[i]);
}

static void read_runs(struct reading *r, const struct trace_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        read_run(r, &rows->runs[i]);
}

/* --- zones --- */

/* Zones that name a place of a compiler's source are ops where nothing else is. */
static void add_zone_op(struct reading *r, const struct trace_name *name, struct timeline_unit *unit)
{
    struct timeline_op *op = timeline_add_op(r->timeline);
    if (!op)
        return;
    op->name = unit->name;
    op->location = text_of(r, name->file);
    op->dispatch = TIMELINE_NONE;
    op->utilisation = -1;
    op->start = unit->start;
    op->end = unit->end;
    unit->location = op->location;
    unit->op = (uint32_t)r->timeline->op_count - 1;
}

static void read_zones(struct reading *r, const struct zone_rows *rows, const struct zone_rows_group *group,
                       bool are_ops)
{
    for (uint32_t i = group->first; i < group->first + group->count; i++) {
        const struct trace_name *name = trace_get_name(r->trace, rows->name[i]);
        bool has_place = strncmp(name->file, "loc(", 4) == 0;
        if (are_ops && !has_place)
            continue;
        if (!are_ops && r->drawn_zones++ >= ZONES_MAX)
            continue;
        struct timeline_unit *unit =
            add_unit(r, group->track, rows->start[i], rows->start[i] + rows->duration[i]);
        if (!unit)
            return;
        unit->name = text_of(r, name->name);
        if (are_ops)
            add_zone_op(r, name, unit);
        else if (has_place)
            unit->location = text_of(r, name->file);
    }
}

/* A track beside those of the runs, on the same device. */
static bool is_drawn(const struct reading *r, uint32_t id)
{
    const struct trace_track *track = trace_get_track(r->trace, id);
    const struct trace_track *parent = track ? trace_get_track(r->trace, track->parent) : NULL;
    return parent && !r->has_runs[id] && r->has_runs[parent->id] && track->kind != TRACE_TRACK_QUEUE &&
           track->clock == r->clock;
}

static int read_zone_blocks(struct reading *r, bool are_ops, struct error *err)
{
    struct trace_block_filter filter = {.type = TRACE_BLOCK_ZONES};
    struct zone_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0;
    int status = 0;
    unsigned columns = TRACE_COLUMN_START | TRACE_COLUMN_DURATION | TRACE_COLUMN_NAME |
                       (r->clock == TRACE_HOST_CLOCK ? 0u : (unsigned)TRACE_COLUMN_RAW_TICKS);
    while (!status && !r->timeline->failed && (block = trace_next_block(r->trace, &filter, &position))) {
        if (!are_ops && block->track != TRACE_NONE && !is_drawn(r, block->track))
            continue;
        status = trace_decode_zones(r->trace, block, columns, &rows, err);
        for (size_t i = 0; !status && i < rows.group_count; i++) {
            if (are_ops || is_drawn(r, rows.groups[i].track))
                read_zones(r, &rows, &rows.groups[i], are_ops);
        }
    }
    zone_rows_free(&rows);
    return status;
}

/* --- all of it --- */

static int by_start(const void *left, const void *right)
{
    const struct timeline_op *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

/* Ops that nothing ran for are left out, the others come in the order in which they ran. */
static void finish_ops(struct reading *r)
{
    struct timeline *t = r->timeline;
    size_t kept = 0;
    uint32_t *now = malloc((t->op_count + 1) * sizeof now[0]);
    if (!now) {
        t->failed = true;
        return;
    }
    for (size_t i = 0; i < t->op_count; i++) {
        struct timeline_op op = t->ops[i];
        if (op.start == UINT64_MAX)
            continue;
        if (i < r->calls.count && r->cycles[i] && r->wanted == TIMELINE_ESTIMATED)
            op.end = op.start + r->cycles[i];
        op.source = (uint32_t)i;
        t->ops[kept++] = op;
    }
    t->op_count = kept;
    if (kept)
        qsort(t->ops, kept, sizeof t->ops[0], by_start);
    for (uint32_t i = 0; i < kept; i++)
        now[t->ops[i].source] = i;
    for (size_t i = 0; i < t->unit_count; i++) {
        if (t->units[i].op != TIMELINE_NONE)
            t->units[i].op = now[t->units[i].op];
    }
    free(now);
    for (size_t i = 0; i < kept; i++) {
        struct timeline_dispatch *d =
            t->ops[i].dispatch < t->dispatch_count ? &t->dispatches[t->ops[i].dispatch] : NULL;
        if (!d)
            continue;
        d->start = d->end ? (t->ops[i].start < d->start ? t->ops[i].start : d->start) : t->ops[i].start;
        d->end = t->ops[i].end > d->end ? t->ops[i].end : d->end;
    }
}

static int read_trace(struct reading *r, struct error *err)
{
    int status = read_rows(r, TRACE_BLOCK_RUNS, look_at_runs, err);
    bool has_runs = r->clock != TRACE_NONE;
    const struct trace_clock *clock = has_runs ? trace_get_clock(r->trace, r->clock) : NULL;
    if (!clock || !clock->is_device || !(clock->ticks_per_second > 0))
        r->clock = TRACE_HOST_CLOCK;
    r->timeline->is_host_ns = r->clock == TRACE_HOST_CLOCK;
    r->timeline->clock_mhz = r->clock == TRACE_HOST_CLOCK ? 1000 : clock->ticks_per_second / 1e6;
    if (!status && has_runs)
        status = read_rows(r, TRACE_BLOCK_OPS, read_ops, err);
    if (!status && has_runs)
        status = read_rows(r, TRACE_BLOCK_RUNS, read_runs, err);
    if (!status && (has_runs || (r->wanted == TIMELINE_MEASURED && !r->has_any)))
        status = read_zone_blocks(r, !has_runs, err);
    return status;
}

int timeline_from_trace(struct timeline *timeline, struct trace *trace, enum timeline_runs runs,
                        struct error *err)
{
    size_t tracks = trace_track_count(trace);
    struct reading r = {.timeline = timeline, .trace = trace, .wanted = runs, .clock = TRACE_NONE};
    *timeline = (struct timeline){0};
    r.lanes = malloc((tracks + 1) * sizeof r.lanes[0]);
    r.has_runs = calloc(tracks + 1, sizeof r.has_runs[0]);
    int status = r.lanes && r.has_runs ? 0 : error_no_memory(err, "the runs of a trace");
    for (size_t i = 0; i < tracks && !status; i++)
        r.lanes[i] = TIMELINE_NONE;
    if (!status)
        status = read_trace(&r, err);
    if (!status && !timeline->failed)
        finish_ops(&r);
    free(r.lanes);
    free(r.has_runs);
    free(r.cycles);
    map_free(&r.dispatches);
    intern_free(&r.calls);
    return status ? status : timeline_check(timeline, err);
}
