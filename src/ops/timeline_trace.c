/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/timeline_trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "ops/known_figures.h"

struct writing {
    const struct timeline *timeline;
    struct trace_writer *writer;
    uint32_t process, clock, device, queue;
    uint64_t call;
    const struct timeline_trace *about;
    bool *is_run;    /* by unit */
    uint64_t *moved; /* by op: bytes of its transfers; NULL: nobody knows any */
};

static uint32_t track_kind(unsigned lane_kind)
{
    switch (lane_kind) {
    case TIMELINE_DMA_IN:
    case TIMELINE_DMA_OUT:
    case TIMELINE_COPY:
        return TRACE_TRACK_DMA;
    case TIMELINE_CORE:
        return TRACE_TRACK_PROCESSOR;
    case TIMELINE_HOST:
    case TIMELINE_HOST_COPY:
    case TIMELINE_DRIVER:
    case TIMELINE_PROGRAM:
        return TRACE_TRACK_OTHER;
    default:
        return TRACE_TRACK_CORE;
    }
}

static uint32_t add_track(struct writing *w, const char *name, uint32_t parent, uint32_t kind,
                          uint64_t number, const char *architecture)
{
    struct trace_track track = {.id = TRACE_NONE,
                                .process = w->process,
                                .parent = parent,
                                .kind = kind,
                                .clock = w->clock,
                                .number = number,
                                .name = name,
                                .architecture = architecture};
    return trace_writer_track(w->writer, &track);
}

static uint32_t unit_name(const struct writing *w, const struct timeline_unit *unit)
{
    const struct timeline *timeline = w->timeline;
    const char *name = unit->name != TIMELINE_NONE && *timeline_get_text(timeline, unit->name)
                           ? timeline_get_text(timeline, unit->name)
                           : timeline_get_text(timeline, timeline->lanes[unit->lane].name);
    return trace_writer_name(w->writer, name, "", timeline_get_text(timeline, unit->location), 0, 0);
}

/* --- ops and runs --- */

static bool computes(const struct timeline *timeline, const struct timeline_unit *unit)
{
    unsigned kind = timeline->lanes[unit->lane].kind;
    return kind == TIMELINE_SLICE || kind == TIMELINE_CORE;
}

/* Units that are runs of ops: of a run its programs; of an estimate all that an op does, transfers as well, since its
 * time is from the first of them to the last. */
static bool find_runs(struct writing *w)
{
    const struct timeline *timeline = w->timeline;
    bool has_compute = false;
    w->is_run = calloc(timeline->unit_count + 1, sizeof w->is_run[0]);
    if (!w->is_run)
        return false;
    for (size_t i = 0; i < timeline->unit_count; i++) {
        const struct timeline_unit *unit = &timeline->units[i];
        has_compute |= computes(timeline, unit);
    }
    for (size_t i = 0; i < timeline->unit_count; i++) {
        const struct timeline_unit *unit = &timeline->units[i];
        bool has_op = unit->op < timeline->op_count;
        w->is_run[i] = w->about->is_measured ? timeline->lanes[unit->lane].kind == TIMELINE_PROGRAM
                                             : computes(timeline, unit) || !has_compute || has_op;
    }
    return true;
}

static bool is_transfer(const struct timeline *timeline, const struct timeline_unit *unit)
{
    unsigned kind = timeline->lanes[unit->lane].kind;
    return (kind == TIMELINE_DMA_IN || kind == TIMELINE_DMA_OUT) && unit->bytes != UINT64_MAX;
}

/* An estimate of an engine that is fed by transfers knows what goes to memory and back, of all that an op reads and
 * writes: the rest stays on the chip. */
static bool sum_transfers(struct writing *w)
{
    const struct timeline *timeline = w->timeline;
    for (size_t i = 0; !w->about->is_measured && i < timeline->unit_count; i++) {
        const struct timeline_unit *unit = &timeline->units[i];
        if (!is_transfer(timeline, unit) || unit->op >= timeline->op_count)
            continue;
        if (!w->moved)
            w->moved = calloc(timeline->op_count, sizeof w->moved[0]);
        if (!w->moved)
            return false;
        w->moved[unit->op] += unit->bytes;
    }
    return true;
}

/* The report's words for the classes of a model (model_class_text). */
static const char *report_class(const char *class)
{
    static const struct {
        const char *class, *text;
    } words[] = {{"MAC", "matmul"},        {"CONV", "conv"},     {"DW", "conv"},  {"ELT", "elementwise"},
                 {"TRANS", "elementwise"}, {"RED", "reduction"}, {"MOVE", "move"}};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (strcmp(words[i].class, class) == 0)
            return words[i].text;
    }
    return "";
}

/* Where an op is in the source, and what it does, as far as is known. `op` NULL: nothing of that. */
static uint32_t describe(struct writing *w, uint32_t location, const struct timeline_op *op)
{
    char flops[64], bytes[64], dtype[40], class[40];
    struct trace_part parts[5] = {{TRACE_PART_LOCATION, slice_of(timeline_get_text(w->timeline, location))}};
    size_t count = 1;
    if (op && (op->macs || op->operations || op->read_bytes || op->write_bytes)) {
        const char *type = op->type == TIMELINE_NONE ? "" : timeline_get_text(w->timeline, op->type);
        snprintf(dtype, sizeof dtype, "dtype=%s", type);
        if (*type)
            parts[count++] = (struct trace_part){TRACE_PART_INPUT, slice_of(dtype)};
        snprintf(flops, sizeof flops, OPS_ATTRIBUTE_FLOPS "=%" PRIu64, 2 * op->macs + op->operations);
        snprintf(bytes, sizeof bytes, OPS_ATTRIBUTE_BYTES "=%" PRIu64,
                 w->moved ? w->moved[op - w->timeline->ops] : op->read_bytes + op->write_bytes);
        if (op->macs || op->operations) /* 0 of both: nothing but moving data, or not known */
            parts[count++] = (struct trace_part){TRACE_PART_ATTRIBUTE, slice_of(flops)};
        parts[count++] = (struct trace_part){TRACE_PART_ATTRIBUTE, slice_of(bytes)};
        const char *word =
            op->class == TIMELINE_NONE ? "" : report_class(timeline_get_text(w->timeline, op->class));
        snprintf(class, sizeof class, OPS_ATTRIBUTE_CLASS "=%s", word);
        if (*word)
            parts[count++] = (struct trace_part){TRACE_PART_ATTRIBUTE, slice_of(class)};
    }
    return trace_writer_description(w->writer, parts, count);
}

static void write_call(struct writing *w, uint64_t call, uint32_t name, uint32_t description, uint64_t start,
                       const struct trace_run_part *parts, uint32_t part_count)
{
    struct trace_op op = {.call = call,
                          .process = w->process,
                          .track = w->queue,
                          .name = name,
                          .type = TRACE_OP_DEVICE,
                          .device = w->about->place ? w->about->place->device : 0,
                          .description = description,
                          .part_count = part_count,
                          .parts = parts};
    op.start_ns = w->about->place ? profile_place_host_ns(w->about->place, start)
                                  : (uint64_t)((double)start * 1000 / w->timeline->clock_mhz);
    op.end_ns = op.start_ns;
    trace_writer_op(w->writer, &op);
}

static uint32_t add_name(struct writing *w, const char *name)
{
    return trace_writer_name(w->writer, name, "", "", 0, 0);
}

static void add_text_figure(struct writing *w, const char *name, uint32_t text, struct trace_run_part *parts,
                            uint32_t *count)
{
    if (text == TIMELINE_NONE || !*timeline_get_text(w->timeline, text))
        return;
    parts[(*count)++] = (struct trace_run_part){.name = add_name(w, name),
                                                .kind = TRACE_FIGURE_TEXT,
                                                .whole = add_name(w, timeline_get_text(w->timeline, text))};
}

static void add_dispatch_figures(struct writing *w, uint32_t dispatch, struct trace_run_part *parts,
                                 uint32_t *count)
{
    if (dispatch >= w->timeline->dispatch_count)
        return;
    add_text_figure(w, TIMELINE_FIGURE_DISPATCH, w->timeline->dispatches[dispatch].name, parts, count);
    parts[(*count)++] = (struct trace_run_part){
        .name = add_name(w, TIMELINE_FIGURE_NUMBER), .kind = TRACE_FIGURE_COUNT, .whole = dispatch};
}

/* Ops of the model, with what is known of each: timeline_from_trace reads it again. */
static void write_ops(struct writing *w)
{
    const struct timeline *timeline = w->timeline;
    for (uint32_t i = 0; i < timeline->op_count; i++) {
        const struct timeline_op *op = &timeline->ops[i];
        struct trace_run_part parts[8];
        uint32_t count = 0;
        if (op->end <= op->start)
            continue; /* its cost is not known */
        parts[count++] = (struct trace_run_part){.name = add_name(w, TIMELINE_FIGURE_CYCLES),
                                                 .kind = TRACE_FIGURE_TICKS,
                                                 .whole = op->end - op->start};
        if (op->macs)
            parts[count++] = (struct trace_run_part){
                .name = add_name(w, TIMELINE_FIGURE_MACS), .kind = TRACE_FIGURE_COUNT, .whole = op->macs};
        if (op->read_bytes || op->write_bytes) {
            parts[count++] = (struct trace_run_part){.name = add_name(w, TIMELINE_FIGURE_READ),
                                                     .kind = TRACE_FIGURE_BYTES,
                                                     .whole = op->read_bytes};
            parts[count++] = (struct trace_run_part){.name = add_name(w, TIMELINE_FIGURE_WRITTEN),
                                                     .kind = TRACE_FIGURE_BYTES,
                                                     .whole = op->write_bytes};
        }
        add_text_figure(w, TIMELINE_FIGURE_CLASS, op->class, parts, &count);
        add_dispatch_figures(w, op->dispatch, parts, &count);
        write_call(w, i + 1, add_name(w, timeline_get_text(timeline, op->name)),
                   describe(w, op->location, op), op->start, parts, count);
    }
    w->call = timeline->op_count;
}

static void write_run(struct writing *w, const struct timeline_unit *unit, uint32_t track, uint32_t name)
{
    const struct timeline *timeline = w->timeline;
    uint64_t call = unit->op < timeline->op_count ? unit->op + 1ull : ++w->call;
    if (unit->op >= timeline->op_count) {
        struct trace_run_part parts[2];
        uint32_t count = 0;
        add_dispatch_figures(w, unit->dispatch, parts, &count);
        write_call(w, call, name, describe(w, unit->location, NULL), unit->start, parts, count);
    }
    struct trace_run run = {.call = call,
                            .process = w->process,
                            .track = track,
                            .name = name,
                            .cores = w->about->is_measured ? unit->cores
                                                           : 0, /* an estimate spreads work as it sees fit */
                            .flags = w->about->is_measured ? 0 : TRACE_RUN_ESTIMATED,
                            .start = unit->start,
                            .duration = unit->end - unit->start};
    trace_writer_run(w->writer, &run);
}

/* --- tracks --- */

static int by_end(const void *left, const void *right)
{
    const struct timeline_unit *a = *(const struct timeline_unit *const *)left,
                               *b = *(const struct timeline_unit *const *)right;
    return (a->end > b->end) - (a->end < b->end);
}

static void write_lane(struct writing *w, uint32_t lane, const struct timeline_unit *const *units,
                       size_t count)
{
    const struct timeline *timeline = w->timeline;
    uint32_t track = add_track(w, timeline_get_text(timeline, timeline->lanes[lane].name), w->device,
                               track_kind(timeline->lanes[lane].kind), timeline->lanes[lane].number, "");
    struct zone_sink *sink = trace_writer_sink(w->writer, track);
    for (size_t i = 0; i < count && sink; i++) {
        uint32_t name = unit_name(w, units[i]);
        zone_sink_add(sink, 0, units[i]->start, units[i]->end, 0, name);
        if (units[i]->bytes != UINT64_MAX)
            zone_sink_extra(sink, &(struct trace_extra){.kind = TRACE_EXTRA_VALUE, .value = units[i]->bytes});
        if (w->is_run[units[i] - timeline->units])
            write_run(w, units[i], track, name);
    }
    if (sink)
        trace_writer_close_sink(w->writer, sink);
}

static void write_dispatches(struct writing *w)
{
    const struct timeline *timeline = w->timeline;
    struct zone_sink *sink = trace_writer_sink(w->writer, w->queue);
    for (size_t i = 0; i < timeline->dispatch_count && sink; i++) {
        const struct timeline_dispatch *dispatch = &timeline->dispatches[i];
        if (w->about->is_measured && dispatch->end <= dispatch->start)
            continue; /* loaded, not run */
        uint32_t name =
            trace_writer_name(w->writer, timeline_get_text(timeline, dispatch->name), "", "", 0, 0);
        zone_sink_add(sink, 0, dispatch->start, dispatch->end, 0, name);
    }
    if (sink)
        trace_writer_close_sink(w->writer, sink);
}

static void write_clock(struct writing *w)
{
    const struct profile_place *place = w->about->place;
    double clock_mhz = w->timeline->clock_mhz;
    uint64_t end = timeline_end(w->timeline);
    struct trace_clock_point points[2] = {
        {0}, {.ticks = end, .host_ns = (uint64_t)((double)end * 1000 / clock_mhz)}};
    struct trace_clock clock = {.id = TRACE_NONE,
                                .is_device = true,
                                .ticks_per_second = clock_mhz * 1e6,
                                .name = place                   ? place->clock
                                        : w->about->is_measured ? "run"
                                                                : "estimated cycles"};
    w->clock = trace_writer_clock(w->writer, &clock);
    for (unsigned i = 0; i < 2; i++) {
        struct trace_clock_point point = place ? place->points[i] : points[i];
        point.clock = w->clock;
        trace_writer_clock_point(w->writer, &point);
    }
}

static void write_message(const struct writing *w, const struct timeline_message *message)
{
    trace_writer_point(w->writer, &(struct trace_point){.track = w->device,
                                                        .kind = TRACE_POINT_MESSAGE,
                                                        .header = message->header,
                                                        .text = message->text,
                                                        .text_length = (uint32_t)strlen(message->text)});
}

int timeline_to_trace(const struct timeline *timeline, const struct timeline_trace *about,
                      struct trace_writer *writer, struct error *err)
{
    struct writing w = {.timeline = timeline, .writer = writer, .about = about};
    struct trace_process process = {.id = TRACE_NONE,
                                    .parent = about->place ? about->place->parent : TRACE_NONE,
                                    .exit_status = TRACE_STATUS_UNKNOWN,
                                    .flags = about->place ? 0 : TRACE_PROCESS_ROOT,
                                    .command = about->source,
                                    .host = ""};
    w.process = trace_writer_process(writer, &process);
    write_clock(&w);
    w.device =
        add_track(&w, about->device, TRACE_NONE, TRACE_TRACK_DEVICE, about->place ? about->place->device : 0,
                  about->architecture ? about->architecture : "");
    w.queue = add_track(&w, "dispatches", w.device, TRACE_TRACK_QUEUE, 0, "");
    write_dispatches(&w);
    if (about->caveat)
        write_message(&w, &(struct timeline_message){TIMELINE_CAVEAT, about->caveat});
    for (size_t i = 0; i < about->message_count; i++)
        write_message(&w, &about->messages[i]);
    const struct timeline_unit **units = malloc((timeline->unit_count + 1) * sizeof units[0]);
    bool failed = !units || !find_runs(&w) || !sum_transfers(&w);
    if (!failed)
        write_ops(&w);
    for (uint32_t lane = 0; lane < timeline->lane_count && !failed; lane++) {
        size_t count = 0;
        for (size_t i = 0; i < timeline->unit_count; i++) {
            if (timeline->units[i].lane == lane)
                units[count++] = &timeline->units[i];
        }
        if (count)
            qsort(units, count, sizeof units[0], by_end);
        write_lane(&w, lane, units, count);
    }
    free(units);
    free(w.is_run);
    free(w.moved);
    return failed ? error_no_memory(err, about->source) : 0;
}
