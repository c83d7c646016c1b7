/* SPDX-License-Identifier: Apache-2.0 */
/* Messages, frames, plots, memory, samples, sections, what runs on which CPU. */
#include <inttypes.h>
#include <stdio.h>

#include "collect/tracy/trace/internal.h"

#define SOURCE_TRACY 1u /* low half of a message's tag: who speaks */
#define MAX_FRAMES 256u

static uint32_t thread_track(struct tracy_trace *t, uint32_t id)
{
    const struct thread *thread = trace_thread(t, id);
    return thread ? thread->now->track : TRACE_NONE;
}

static uint32_t own_track(struct tracy_trace *t, uint32_t *track, const char *name)
{
    if (*track == TRACE_NONE)
        *track = trace_track(t, TRACE_TRACK_OTHER, TRACE_NONE, name, 0, TRACE_HOST_CLOCK);
    return *track;
}

/* --- points, whose texts must be there when they are written --- */

static void write_point(struct tracy_trace *t, const struct pending_point *point, const char *text,
                        size_t length)
{
    bool is_frame = point->kind == TRACE_POINT_FRAME;
    trace_writer_point(t->writer, &(struct trace_point){.track = point->track,
                                                        .kind = point->kind,
                                                        .time = point->ns,
                                                        .header = is_frame ? text : "",
                                                        .text = is_frame ? "" : text,
                                                        .text_length = is_frame ? 0 : (uint32_t)length});
    if (point->kind == TRACE_POINT_MESSAGE)
        trace_listen_message(t, point->track, point->ns, text, length);
    t->stats.records++;
}

static void write_address(struct tracy_trace *t, const struct pending_point *point)
{
    char text[32];
    int length = snprintf(text, sizeof text, "0x%" PRIx64, t->names->names[point->name].address);
    write_point(t, point, text, (size_t)length);
}

void trace_points_settle(struct tracy_trace *t, bool is_final)
{
    size_t kept = 0;
    if (!t->point_count || (!is_final && t->settled_answers == t->names->answered))
        return;
    t->settled_answers = t->names->answered;
    for (size_t i = 0; i < t->point_count; i++) {
        const struct pending_point point = t->points[i];
        const char *text = tracy_names_text(t->names, point.name);
        if (text)
            write_point(t, &point, text, strlen(text));
        else if (is_final)
            write_address(t, &point);
        else
            t->points[kept++] = point;
    }
    t->point_count = kept;
}

/* A point with a text whose address is known. */
static void point_by_name(struct tracy_trace *t, uint32_t kind, uint32_t track, uint64_t ns, uint32_t name)
{
    struct pending_point point = {kind, track, name, ns};
    const char *text = tracy_names_text(t->names, name);
    if (name == TRACY_NONE)
        text = kind == TRACE_POINT_FRAME ? "frame" : "?";
    if (text)
        write_point(t, &point, text, strlen(text));
    else if (t->point_count < MAX_PENDING_POINTS &&
             array_reserve(&t->points, &t->point_capacity, t->point_count + 1, sizeof *t->points))
        t->points[t->point_count++] = point;
    else
        write_address(t, &point);
}

static void message(struct tracy_trace *t, const struct tracy_event *event)
{
    if ((event->number & 15) == SOURCE_TRACY) {
        t->stats.own_messages++;
        return;
    }
    uint32_t track = thread_track(t, event->thread);
    uint64_t ns = trace_ns(t, event->time);
    if (event->text)
        write_point(t, &(struct pending_point){TRACE_POINT_MESSAGE, track, TRACY_NONE, ns}, event->text,
                    event->text_length);
    else
        point_by_name(t, TRACE_POINT_MESSAGE, track, ns, event->name);
}

/* --- the rest --- */

static void frame(struct tracy_trace *t, const struct tracy_event *event)
{
    uint64_t ns = trace_ns(t, event->time);
    if (event->kind == TRACY_EVENT_FRAME)
        point_by_name(t, TRACE_POINT_FRAME, own_track(t, &t->frame_track, "frame marks"), ns, event->name);
    else if (event->kind == TRACY_EVENT_FRAME_START)
        lane_begin(t, &t->frames, event->name, ns, late_name_of_text(t, event->name));
    else if (lane_end(t, &t->frames, event->name, ns))
        t->stats.other_zones++;
}

static void counter(struct tracy_trace *t, const struct tracy_event *event, uint32_t name)
{
    trace_writer_counter(t->writer, &(struct trace_counter){.track = own_track(t, &t->plot_track, "plots"),
                                                            .name = name,
                                                            .time = trace_ns(t, event->time),
                                                            .value = event->real});
    t->stats.records++;
}

static void cpu_load(struct tracy_trace *t, const struct tracy_event *event)
{
    if (t->load_name == TRACE_NONE)
        t->load_name = trace_writer_name(t->writer, "CPU load (%)", "", "", 0, 0);
    counter(t, event, t->load_name);
}

static void memory(struct tracy_trace *t, const struct tracy_event *event)
{
    trace_writer_memory(t->writer, &(struct trace_memory){.track = thread_track(t, event->thread),
                                                          .pool = event->name == TRACY_NONE
                                                                      ? TRACE_NONE
                                                                      : late_name_of_text(t, event->name),
                                                          .time = trace_ns(t, event->time),
                                                          .address = event->address,
                                                          .size = event->value,
                                                          .is_release = event->kind != TRACY_EVENT_ALLOC,
                                                          .is_all = event->kind == TRACY_EVENT_FREE_ALL});
    t->stats.records++;
}

static void section(struct tracy_trace *t, const struct tracy_event *event)
{
    uint64_t ns = trace_ns(t, event->time);
    if (event->kind == TRACY_EVENT_SECTION_ENTER)
        lane_begin(t, &t->sections, event->number, ns,
                   late_name_own(t, TRACY_NONE, event->text, event->text_length));
    else if (lane_end(t, &t->sections, event->number, ns))
        t->stats.other_zones++;
    else
        t->stats.lost_zones++;
}

static uint32_t address_name(struct tracy_trace *t, uint64_t address)
{
    uint32_t asked = map_get(&t->names->name_of, tracy_names_key(TRACY_ASK_CODE, address));
    uint32_t name = map_get(&t->address_names, address);
    char text[32];
    if (asked != MAP_NONE)
        return late_name_of_text(t, asked);
    if (name != MAP_NONE || t->address_names.count >= MAX_ADDRESSES)
        return name;
    snprintf(text, sizeof text, "0x%" PRIx64, address);
    name = trace_writer_name(t->writer, text, "", "", 0, 0);
    map_put(&t->address_names, address, name);
    return name;
}

static void sample(struct tracy_trace *t, const struct tracy_event *event)
{
    uint32_t frames[MAX_FRAMES], count = 0;
    if (event->time < tracy_stream_welcome(t->stream)->first_tick) { /* its client cannot say when: 0 */
        t->stats.lost_records++;
        return;
    }
    for (uint32_t at = 0; at + 8 <= event->text_length && count < MAX_FRAMES; at += 8)
        frames[count++] = address_name(t, tracy_u64((const uint8_t *)event->text + at));
    if (!count)
        return;
    trace_writer_sample(t->writer, &(struct trace_sample){.track = thread_track(t, event->thread),
                                                          .time = trace_ns(t, event->time),
                                                          .frame_count = count,
                                                          .frames = frames});
    t->stats.records++;
}

/* Only threads that have a name, that is those of the client, are shown. */
static void context_switch(struct tracy_trace *t, const struct tracy_event *event)
{
    uint64_t ns = trace_ns(t, event->time);
    uint32_t starts = (uint32_t)event->value;
    uint32_t name = map_get(&t->names->name_of, tracy_names_key(TRACY_ASK_THREAD, starts));
    if (lane_end(t, &t->cpus, event->number, ns))
        t->stats.other_zones++;
    if (starts && name != MAP_NONE)
        lane_begin(t, &t->cpus, event->number, ns, late_name_of_text(t, name));
}

void trace_row_event(struct tracy_trace *t, const struct tracy_event *event)
{
    switch (event->kind) {
    case TRACY_EVENT_MESSAGE:
    case TRACY_EVENT_APP_INFO:
    case TRACY_EVENT_CRASH:
        message(t, event);
        break;
    case TRACY_EVENT_FRAME:
    case TRACY_EVENT_FRAME_START:
    case TRACY_EVENT_FRAME_END:
        frame(t, event);
        break;
    case TRACY_EVENT_PLOT:
        counter(t, event, late_name_of_text(t, event->name));
        break;
    case TRACY_EVENT_CPU_LOAD:
        cpu_load(t, event);
        break;
    case TRACY_EVENT_ALLOC:
    case TRACY_EVENT_FREE:
    case TRACY_EVENT_FREE_ALL:
        memory(t, event);
        break;
    case TRACY_EVENT_SECTION_ENTER:
    case TRACY_EVENT_SECTION_LEAVE:
        section(t, event);
        break;
    case TRACY_EVENT_SAMPLE:
        sample(t, event);
        break;
    case TRACY_EVENT_CONTEXT_SWITCH:
        context_switch(t, event);
        break;
    default:
        break;
    }
}
