/* SPDX-License-Identifier: Apache-2.0 */
/* A profile as a trace. By itself its times count from its first event, since the profile's clock has no anchor. */
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "import/iree/profile.h"
#include "trace/writer.h"

struct writing {
    const struct iree_profile *profile;
    struct trace_writer *writer;
    const struct profile_place *place;
    uint64_t first_ns; /* what times count from */
    uint32_t clock;
    uint32_t process, device, dispatches, queue;
    uint32_t tiles, tiles_ns, workgroups; /* names of figures */
};

static uint32_t add_track(struct writing *w, const char *name, uint32_t parent, uint32_t kind,
                          uint64_t number)
{
    struct trace_track track = {.id = TRACE_NONE,
                                .process = w->process,
                                .parent = parent,
                                .kind = kind,
                                .clock = w->clock,
                                .number = number,
                                .name = name,
                                .architecture = ""};
    return trace_writer_track(w->writer, &track);
}

static void write_dispatch(struct writing *w, const struct iree_event *event, uint64_t call)
{
    uint32_t name = trace_writer_name(w->writer, iree_text(w->profile, event->name), "", "", 0, 0);
    uint64_t start = event->start_ns - w->first_ns, end = event->end_ns - w->first_ns;
    uint64_t host_ns = w->place ? profile_place_host_ns(w->place, event->start_ns) : start;
    uint64_t groups = 1;
    for (unsigned i = 0; i < 3; i++)
        groups *= event->workgroups[i] ? event->workgroups[i] : 1;
    const struct trace_run_part parts[] = {
        {.name = w->tiles, .kind = TRACE_FIGURE_COUNT, .whole = event->tiles},
        {.name = w->tiles_ns, .kind = TRACE_FIGURE_NS, .whole = event->tiles_ns},
        {.name = w->workgroups, .kind = TRACE_FIGURE_COUNT, .whole = groups},
    };
    struct trace_op op = {.call = call,
                          .process = w->process,
                          .track = w->queue,
                          .name = name,
                          .type = TRACE_OP_DEVICE,
                          .device = w->place ? w->place->device : 0,
                          .description = TRACE_NONE,
                          .start_ns = host_ns,
                          .end_ns = host_ns};
    struct trace_run run = {.call = call,
                            .process = w->process,
                            .track = w->dispatches,
                            .name = name,
                            .part_count = COUNT_OF(parts),
                            .start = start,
                            .duration = end - start,
                            .parts = parts};
    trace_writer_op(w->writer, &op);
    trace_writer_run(w->writer, &run);
}

static int by_end(const void *left, const void *right)
{
    const struct iree_event *const *a = left, *const *b = right;
    return ((*a)->end_ns > (*b)->end_ns) - ((*a)->end_ns < (*b)->end_ns);
}

/* Zones of a track come in the order of their ends. */
static int write_zones(struct writing *w, bool dispatches, struct error *err)
{
    const struct iree_profile *profile = w->profile;
    const struct iree_event **order = malloc((profile->event_count + 1) * sizeof order[0]);
    size_t count = 0;
    if (!order)
        return error_no_memory(err, "the profile");
    for (size_t i = 0; i < profile->event_count; i++) {
        if (profile->events[i].is_dispatch == dispatches)
            order[count++] = &profile->events[i];
    }
    if (count)
        qsort(order, count, sizeof order[0], by_end);
    struct zone_sink *sink =
        count ? trace_writer_sink(w->writer, dispatches ? w->dispatches : w->queue) : NULL;
    for (size_t i = 0; i < count && sink; i++) {
        uint32_t name = trace_writer_name(w->writer, iree_text(profile, order[i]->name), "", "", 0, 0);
        zone_sink_add(sink, 0, order[i]->start_ns - w->first_ns, order[i]->end_ns - w->first_ns, 0, name);
        if (order[i]->bytes)
            zone_sink_extra(sink, &(struct trace_extra){.kind = TRACE_EXTRA_VALUE, .value = order[i]->bytes});
    }
    if (sink)
        trace_writer_close_sink(w->writer, sink);
    free(order);
    return 0;
}

static void write_memory(struct writing *w)
{
    for (size_t i = 0; i < w->profile->allocation_count; i++) {
        const struct iree_allocation *allocation = &w->profile->allocations[i];
        if (allocation->time_ns < w->first_ns)
            continue;
        struct trace_memory memory = {.track = w->queue,
                                      .pool = TRACE_NONE,
                                      .time = allocation->time_ns - w->first_ns,
                                      .address = allocation->id,
                                      .size = allocation->is_release ? 0 : allocation->bytes,
                                      .is_release = allocation->is_release};
        trace_writer_memory(w->writer, &memory);
    }
}

static void begin(struct writing *w, const char *source)
{
    const struct profile_place *place = w->place;
    struct trace_process process = {.id = TRACE_NONE,
                                    .parent = place ? place->parent : TRACE_NONE,
                                    .exit_status = TRACE_STATUS_UNKNOWN,
                                    .flags = place ? 0 : TRACE_PROCESS_ROOT,
                                    .command = source,
                                    .host = ""};
    w->process = trace_writer_process(w->writer, &process);
    w->clock = TRACE_HOST_CLOCK;
    if (place) {
        struct trace_clock clock = {
            .id = TRACE_NONE, .is_device = true, .ticks_per_second = 1e9, .name = place->clock};
        w->clock = trace_writer_clock(w->writer, &clock);
        for (unsigned i = 0; i < 2; i++) {
            struct trace_clock_point point = place->points[i];
            point.clock = w->clock;
            trace_writer_clock_point(w->writer, &point);
        }
    }
    w->device = add_track(w, "IREE device", TRACE_NONE, TRACE_TRACK_DEVICE, place ? place->device : 0);
    w->dispatches = add_track(w, "dispatches", w->device, TRACE_TRACK_CORE, 0);
    w->queue = add_track(w, "queue", w->device, TRACE_TRACK_QUEUE, 0);
    w->tiles = trace_writer_name(w->writer, "tiles", "", "", 0, 0);
    w->tiles_ns = trace_writer_name(w->writer, "tile time", "", "", 0, 0);
    w->workgroups = trace_writer_name(w->writer, "workgroups", "", "", 0, 0);
}

int iree_profile_to_trace(const struct iree_profile *profile, const char *source,
                          const struct profile_place *place, struct trace_writer *writer, struct error *err)
{
    struct writing w = {.profile = profile, .writer = writer, .place = place};
    uint64_t call = 0;
    if (!place)
        w.first_ns = iree_profile_start(profile);
    begin(&w, source);
    for (size_t i = 0; i < profile->event_count; i++) {
        if (profile->events[i].is_dispatch)
            write_dispatch(&w, &profile->events[i], ++call);
    }
    write_memory(&w);
    int status = write_zones(&w, false, err);
    return status ? status : write_zones(&w, true, err);
}
