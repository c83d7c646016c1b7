/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/timeline_trace.h"

#include <stdlib.h>

struct writing {
    const struct timeline *timeline;
    struct trace_writer *writer;
    uint32_t process, clock, device, queue;
    uint64_t call;
    const struct timeline_trace *about;
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

/* What computes is an op, whose run it is; what moves data is a zone alone. */
static void write_run(struct writing *w, const struct timeline_unit *unit, uint32_t track, uint32_t name)
{
    const struct timeline *timeline = w->timeline;
    const struct trace_part location = {TRACE_PART_LOCATION, timeline_get_text(timeline, unit->location)};
    unsigned kind = timeline->lanes[unit->lane].kind;
    if (kind != TIMELINE_SLICE && kind != TIMELINE_CORE &&
        !(kind == TIMELINE_PROGRAM && w->about->programs_are_ops))
        return;
    struct trace_op op = {.call = ++w->call,
                          .process = w->process,
                          .track = w->queue,
                          .name = name,
                          .type = TRACE_OP_DEVICE,
                          .device = w->about->place ? w->about->place->device : 0,
                          .description = trace_writer_description(w->writer, &location, 1),
                          .start_ns = 0,
                          .end_ns = 0};
    struct trace_run run = {.call = op.call,
                            .process = w->process,
                            .track = track,
                            .name = name,
                            .cores = 1,
                            .flags = w->about->is_measured ? 0 : TRACE_RUN_ESTIMATED,
                            .start = unit->start,
                            .duration = unit->end - unit->start};
    double ns_per_cycle = 1000 / timeline->clock_mhz;
    op.start_ns = w->about->place ? profile_place_host_ns(w->about->place, unit->start)
                                  : (uint64_t)((double)unit->start * ns_per_cycle);
    op.end_ns = op.start_ns;
    trace_writer_op(w->writer, &op);
    trace_writer_run(w->writer, &run);
}

static int by_end(const void *left, const void *right)
{
    const struct timeline_unit *a = left, *b = right;
    return (a->end > b->end) - (a->end < b->end);
}

static void write_lane(struct writing *w, uint32_t lane, struct timeline_unit *units, size_t count)
{
    const struct timeline *timeline = w->timeline;
    uint32_t track = add_track(w, timeline_get_text(timeline, timeline->lanes[lane].name), w->device,
                               track_kind(timeline->lanes[lane].kind), timeline->lanes[lane].number, "");
    struct zone_sink *sink = trace_writer_sink(w->writer, track);
    for (size_t i = 0; i < count && sink; i++) {
        uint32_t name = unit_name(w, &units[i]);
        zone_sink_add(sink, 0, units[i].start, units[i].end, 0, name);
        if (units[i].bytes != UINT64_MAX)
            zone_sink_extra(sink, &(struct trace_extra){.kind = TRACE_EXTRA_VALUE, .value = units[i].bytes});
        write_run(w, &units[i], track, name);
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
    struct timeline_unit *units = malloc((timeline->unit_count + 1) * sizeof units[0]);
    if (!units)
        return error_no_memory(err, about->source);
    for (uint32_t lane = 0; lane < timeline->lane_count; lane++) {
        size_t count = 0;
        for (size_t i = 0; i < timeline->unit_count; i++) {
            if (timeline->units[i].lane == lane)
                units[count++] = timeline->units[i];
        }
        if (count)
            qsort(units, count, sizeof units[0], by_end);
        write_lane(&w, lane, units, count);
    }
    free(units);
    return 0;
}
