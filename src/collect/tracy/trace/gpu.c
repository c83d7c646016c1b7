/* SPDX-License-Identifier: Apache-2.0 */
/* GPU contexts: a device with a clock, and a queue below it for each thread that feeds it; of the fork, a core and its
 * processor, which the number of the thread tells. A zone begins and ends with
 * the number of a query each; the device's times for the queries come later, and then the numbers are free again. */
#include <stdio.h>
#include <stdlib.h>

#include "base/count_of.h"
#include "collect/tracy/trace/internal.h"

#define LARGE_STEP (UINT64_C(1) << 31) /* back in time: more than queries that come out of order */

static const char *const types[] = {"GPU",   "OpenGL", "Vulkan", "OpenCL", "Direct3D 12", "Direct3D 11",
                                    "Metal", "custom", "CUDA",   "ROCm",   "WebGPU"};

/* In the fork the numbers of its own type of context are those of other types here. */
static bool has_cores(const struct tracy_trace *t, const struct tracy_event *announced)
{
    return announced && announced->thread == 0 && (announced->value == 6 || announced->value == 10) &&
           tracy_stream_dialect(t->stream).has_wide_contexts;
}

static void add_point(struct tracy_trace *t, const struct gpu_context *context, int64_t gpu_time,
                      int64_t ticks)
{
    if (gpu_time >= 0)
        trace_writer_clock_point(t->writer, &(struct trace_clock_point){.clock = context->clock,
                                                                        .ticks = (uint64_t)gpu_time,
                                                                        .host_ns = trace_ns(t, ticks)});
}

/* A context that was not announced yet is one all the same. */
static struct gpu_context *find_context(struct tracy_trace *t, uint32_t number,
                                        const struct tracy_event *announced)
{
    uint32_t index = map_get(&t->context_of, number);
    if (index != MAP_NONE)
        return &t->contexts[index];
    if (!array_reserve(&t->contexts, &t->context_capacity, t->context_count + 1, sizeof *t->contexts))
        return NULL;
    struct gpu_context *context = &t->contexts[t->context_count];
    double period = announced ? announced->real : 1;
    uint64_t type = announced ? announced->value : 0;
    *context = (struct gpu_context){.is_shared = !announced || announced->thread == 0,
                                    .has_cores = has_cores(t, announced)};
    snprintf(context->name, sizeof context->name, "%s context %u",
             context->has_cores ? "device" : types[type < COUNT_OF(types) ? type : 0], number);
    if (!(period > 1e-6 && period < 1e6))
        period = 1;
    context->clock = trace_writer_clock(t->writer, &(struct trace_clock){.id = TRACE_NONE,
                                                                         .is_device = true,
                                                                         .ticks_per_second = 1e9 / period,
                                                                         .name = context->name});
    context->track = trace_track(t, TRACE_TRACK_DEVICE, TRACE_NONE, context->name, number, context->clock);
    if (context->track == TRACE_NONE || !map_put(&t->context_of, number, (uint32_t)t->context_count))
        return NULL;
    t->context_count++;
    return context;
}

static void name_context(struct tracy_trace *t, const struct tracy_event *event)
{
    struct gpu_context *context = find_context(t, event->number, NULL);
    const struct trace_track *known = context ? trace_writer_get_track(t->writer, context->track) : NULL;
    if (!known)
        return;
    struct trace_track track = *known;
    track.name = event->text;
    trace_writer_track(t->writer, &track);
}

/* As the fork packs it: processor, x, y, chip, from the low bits on. */
static uint32_t processor_track(struct tracy_trace *t, uint32_t number, const struct gpu_context *context,
                                uint32_t thread)
{
    static const char *const processors[] = {"BRISC",   "NCRISC", "TRISC_0",         "TRISC_1",
                                             "TRISC_2", "ERISC",  "TENSIX_RISC_AGG", "processor 7"};
    uint32_t x = thread >> 3 & 15, y = thread >> 7 & 15;
    uint64_t key = (uint64_t)number << 32 | thread >> 3;
    uint32_t core = map_get(&t->core_of, key);
    char name[32];
    if (core == MAP_NONE) {
        snprintf(name, sizeof name, "core %u,%u", (unsigned)x, (unsigned)y);
        core = trace_track(t, TRACE_TRACK_CORE, context->track, name, (uint64_t)x << 16 | y, context->clock);
        if (core == TRACE_NONE || !map_put(&t->core_of, key, core))
            return TRACE_NONE;
    }
    return trace_track(t, TRACE_TRACK_PROCESSOR, core, processors[thread & 7], thread, context->clock);
}

/* TRACE_NONE: no room. */
static uint32_t find_queue(struct tracy_trace *t, uint32_t number, uint32_t thread)
{
    const struct gpu_context *context = find_context(t, number, NULL);
    uint64_t key = (uint64_t)number << 32 | (context && context->is_shared ? thread : 0);
    uint32_t index = map_get(&t->queue_of, key);
    if (index != MAP_NONE || !context)
        return index;
    if (t->queue_count >= MAX_GPU_QUEUES ||
        !array_reserve(&t->queues, &t->queue_capacity, t->queue_count + 1, sizeof *t->queues))
        return TRACE_NONE;
    struct gpu_queue queue = {0};
    uint32_t track = context->has_cores ? processor_track(t, number, context, thread)
                                        : trace_track(t, TRACE_TRACK_QUEUE, context->track, "queue",
                                                      (uint32_t)key, context->clock);
    queue.sink = track == TRACE_NONE ? NULL : trace_writer_sink(t->writer, track);
    if (!queue.sink || !map_put(&t->queue_of, key, (uint32_t)t->queue_count))
        return TRACE_NONE;
    t->queues[t->queue_count] = queue;
    return (uint32_t)t->queue_count++;
}

static void add_zone(struct tracy_trace *t, uint32_t queue, uint64_t start, uint64_t end, uint32_t name)
{
    struct device_row row = {.start = start, .duration = end > start ? end - start : 0, .name = name};
    if (device_rows_add(&t->queues[queue].rows, t->queues[queue].sink, &row))
        t->stats.gpu_zones++;
}

static uint64_t query_key(uint32_t context, uint16_t query)
{
    return (uint64_t)context << 16 | query;
}

static uint32_t take_place(struct tracy_trace *t)
{
    uint32_t place = t->free_gpu_zone;
    if (place != TRACE_NONE) {
        t->free_gpu_zone = t->gpu_zones[place].name;
        return place;
    }
    if (t->gpu_zone_count >= MAX_GPU_ZONES ||
        !array_reserve(&t->gpu_zones, &t->gpu_zone_capacity, t->gpu_zone_count + 1, sizeof *t->gpu_zones))
        return TRACE_NONE;
    return (uint32_t)t->gpu_zone_count++;
}

static void begin_zone(struct tracy_trace *t, const struct tracy_event *event)
{
    uint32_t index = find_queue(t, event->number, event->thread);
    struct gpu_queue *queue = index == TRACE_NONE ? NULL : &t->queues[index];
    if (!queue ||
        !array_reserve(&queue->stack, &queue->capacity, (size_t)queue->depth + 1, sizeof *queue->stack)) {
        t->stats.lost_zones++;
        return;
    }
    uint32_t place = take_place(t);
    queue->stack[queue->depth++] = place; /* also one that is not there, so that its end finds it */
    if (place == TRACE_NONE) {
        t->stats.lost_zones++;
        return;
    }
    t->gpu_zones[place] = (struct gpu_zone){.queue = index, .name = late_name_of_source(t, event->source)};
    map_put(&t->query_of, query_key(event->number, event->query), place * 2);
}

static void end_zone(struct tracy_trace *t, const struct tracy_event *event)
{
    uint32_t index = find_queue(t, event->number, event->thread);
    struct gpu_queue *queue = index == TRACE_NONE ? NULL : &t->queues[index];
    if (!queue || !queue->depth) {
        t->stats.lost_zones++;
        return;
    }
    uint32_t place = queue->stack[--queue->depth];
    if (place != TRACE_NONE)
        map_put(&t->query_of, query_key(event->number, event->query), place * 2 + 1);
}

/* Counters of some devices have fewer than 64 bits and begin again. A time far below the last one tells, and the next
 * power of two how many bits there are. In the dialect with wide contexts the times are whole, and those of one core
 * come after all of another: there a step back is none of the counter. */
static uint64_t whole_ticks(struct tracy_trace *t, uint32_t number, int64_t gpu_time)
{
    uint64_t ticks = gpu_time > 0 ? (uint64_t)gpu_time : 0;
    struct gpu_context *context = find_context(t, number, NULL);
    if (!context || tracy_stream_dialect(t->stream).has_wide_contexts)
        return ticks;
    if (ticks < context->last_ticks && context->last_ticks - ticks > LARGE_STEP) {
        if (!context->lap_ticks)
            context->lap_ticks = UINT64_C(1) << (64 - __builtin_clzll(context->last_ticks));
        context->laps++;
    }
    context->last_ticks = ticks;
    return ticks + context->laps * context->lap_ticks;
}

static void take_time(struct tracy_trace *t, const struct tracy_event *event)
{
    uint32_t found = map_remove(&t->query_of, query_key(event->number, event->query));
    uint64_t ticks = whole_ticks(t, event->number, event->gpu_time);
    if (found == MAP_NONE) {
        t->stats.lost_records++;
        return;
    }
    struct gpu_zone *zone = &t->gpu_zones[found / 2];
    if (found & 1) {
        zone->end = ticks;
        zone->has_end = true;
    } else {
        zone->start = ticks;
        zone->has_start = true;
    }
    if (!zone->has_start || !zone->has_end)
        return;
    add_zone(t, zone->queue, zone->start, zone->end, zone->name);
    *zone = (struct gpu_zone){.name = t->free_gpu_zone};
    t->free_gpu_zone = found / 2;
}

void trace_gpu_event(struct tracy_trace *t, const struct tracy_event *event)
{
    struct gpu_context *context;
    uint32_t queue;
    switch (event->kind) {
    case TRACY_EVENT_GPU_CONTEXT:
        context = find_context(t, event->number, event);
        if (context)
            add_point(t, context, event->gpu_time, event->time);
        break;
    case TRACY_EVENT_GPU_CONTEXT_NAME:
        name_context(t, event);
        break;
    case TRACY_EVENT_GPU_BEGIN:
        begin_zone(t, event);
        break;
    case TRACY_EVENT_GPU_END:
        end_zone(t, event);
        break;
    case TRACY_EVENT_GPU_TIME:
        take_time(t, event);
        break;
    case TRACY_EVENT_GPU_SYNC:
        context = find_context(t, event->number, NULL);
        if (context)
            add_point(t, context, event->gpu_time, event->time);
        break;
    default: /* TRACY_EVENT_GPU_ZONE */
        queue = find_queue(t, event->number, event->thread);
        if (queue != TRACE_NONE && event->gpu_time >= 0)
            add_zone(t, queue, (uint64_t)event->gpu_time, event->value,
                     late_name_of_source(t, event->source));
        break;
    }
}

/* Zones whose times never came are lost. */
void trace_gpu_close(struct tracy_trace *t)
{
    uint64_t lost = t->gpu_zone_count;
    for (uint32_t place = t->free_gpu_zone; place != TRACE_NONE; place = t->gpu_zones[place].name)
        lost--;
    if (lost)
        trace_writer_loss(t->writer, &(struct trace_loss){.process = t->process,
                                                          .track = TRACE_NONE,
                                                          .reason = TRACE_LOSS_UNMATCHED,
                                                          .from_ns = t->last_ns,
                                                          .to_ns = t->last_ns,
                                                          .zones = lost});
    t->stats.lost_zones += lost;
    for (size_t i = 0; i < t->queue_count; i++) {
        device_rows_flush(&t->queues[i].rows, t->queues[i].sink);
        trace_writer_close_sink(t->writer, t->queues[i].sink);
    }
}

void trace_gpu_free(struct tracy_trace *t)
{
    for (size_t i = 0; i < t->queue_count; i++) {
        free(t->queues[i].rows.rows);
        free(t->queues[i].stack);
    }
    free(t->queues);
    free(t->contexts);
    free(t->gpu_zones);
    map_free(&t->context_of);
    map_free(&t->queue_of);
    map_free(&t->core_of);
    map_free(&t->query_of);
}
