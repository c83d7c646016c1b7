/* SPDX-License-Identifier: Apache-2.0 */
/* What the device feed sends. Zones of a device come whole, in any order, in ticks of the device's clock; they wait
 * (device_rows.c) for up to 256 ms. Later ones still go into the trace, as carried rows that cost more bytes. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "collect/internal.h"

#define SORT_WINDOW_NS UINT64_C(256000000)
#define PARENT_LEVELS 16u
#define FAR_AHEAD_NS 60e9 /* no device says now what was lost later than this */

/* Puts the definition's text into the scratch buffer, with three NULs after it: a second or a third text that is not
 * there reads as empty. */
static bool read_definition(struct source *s, uint32_t id, uint32_t kind, struct segment_name *out)
{
    struct bytes *text = &s->collector->scratch;
    bytes_clear(text);
    if (!session_segment_definition(s->segment, id, out, text) || out->kind != kind)
        return false;
    for (int i = 0; i < 3; i++)
        bytes_append_u8(text, 0);
    return !text->failed;
}

/* Of a device that says which it is; 0: it does not. */
static uint64_t key_of(const char *identity)
{
    return *identity ? hash_bytes(identity, strlen(identity), 0) | 1 : 0;
}

static bool is_taken(const struct collector *c, uint32_t number)
{
    const struct trace_track *track;
    for (uint32_t id = 0; (track = trace_writer_get_track(c->writer, id)); id++) {
        if (track->kind == TRACE_TRACK_DEVICE && track->key && track->number == number)
            return true;
    }
    return false;
}

/* Each process counts its devices by itself: with CUDA_VISIBLE_DEVICES every one of them has a device 0. Which device
 * it is, its identity says, which is the key of its tracks, also for `recover`: one that is known keeps its number,
 * another one whose number is taken gets the next. */
static uint32_t number_of(const struct collector *c, uint64_t key, uint32_t number)
{
    const struct trace_track *known =
        key ? trace_writer_get_track(c->writer, trace_writer_find_track(c->writer, key)) : NULL;
    if (known)
        return (uint32_t)known->number;
    while (key && is_taken(c, number))
        number++;
    return number;
}

static struct device *find_device(struct source *s, uint32_t definition)
{
    for (size_t i = 0; i < s->device_count; i++) {
        if (s->devices[i].definition == definition)
            return &s->devices[i];
    }
    struct segment_name name;
    if (s->device_count >= MAX_DEVICE_TRACKS || !read_definition(s, definition, NAME_DEVICE, &name) ||
        !array_reserve(&s->devices, &s->device_capacity, s->device_count + 1, sizeof *s->devices))
        return NULL;
    double ticks_per_second;
    memcpy(&ticks_per_second, &name.value, sizeof ticks_per_second);
    if (!(ticks_per_second > 0) || ticks_per_second > 1e15)
        ticks_per_second = 1e9;
    struct trace_writer *w = s->collector->writer;
    const char *text = (const char *)s->collector->scratch.data;
    const char *architecture = text + strlen(text) + 1;
    uint64_t key = key_of(architecture + strlen(architecture) + 1);
    uint32_t number = number_of(s->collector, key, name.aux);
    uint32_t process = source_process_id(s, SESSION_OWNER_ROW(name.owner));
    struct trace_clock clock = {
        .id = TRACE_NONE, .is_device = true, .ticks_per_second = ticks_per_second, .name = text};
    struct device device = {.definition = definition,
                            .number = number,
                            .clock = trace_writer_clock(w, &clock),
                            .ns_per_tick = 1e9 / ticks_per_second};
    struct trace_track track = {.id = TRACE_NONE,
                                .process = process,
                                .parent = TRACE_NONE,
                                .kind = TRACE_TRACK_DEVICE,
                                .clock = device.clock,
                                .number = number,
                                .key = key,
                                .name = text,
                                .architecture = architecture};
    device.trace_id = trace_writer_track(w, &track);
    s->devices[s->device_count] = device;
    return &s->devices[s->device_count++];
}

/* Index of the track, or SIZE_MAX. Parents are older definitions, so the chain ends; but a hostile one may be of any
 * length: beyond some levels a track belongs to the device itself. */
static size_t find_track(struct source *s, uint32_t definition, uint32_t process_id, unsigned levels_left)
{
    for (size_t i = 0; i < s->device_track_count; i++) {
        if (s->device_tracks[i].definition == definition)
            return i;
    }
    struct segment_name name;
    if (s->device_track_count >= MAX_DEVICE_TRACKS ||
        !read_definition(s, definition, NAME_DEVICE_TRACK, &name))
        return SIZE_MAX;
    uint32_t parent_id = TRACE_NONE;
    if (name.parent && name.parent < definition && levels_left) {
        size_t parent = find_track(s, name.parent, process_id, levels_left - 1);
        parent_id = parent != SIZE_MAX ? s->device_tracks[parent].trace_id : TRACE_NONE;
    }
    struct device *device = find_device(s, name.owner);
    if (!device || !read_definition(s, definition, NAME_DEVICE_TRACK, &name) ||
        !array_reserve(&s->device_tracks, &s->device_track_capacity, s->device_track_count + 1,
                       sizeof *s->device_tracks))
        return SIZE_MAX;
    struct trace_track track = {
        .id = TRACE_NONE,
        .process = process_id,
        .parent = parent_id != TRACE_NONE ? parent_id : device->trace_id,
        .kind = name.aux <= TRACE_TRACK_OTHER ? name.aux : TRACE_TRACK_OTHER,
        .clock = device->clock,
        .number = name.value,
        .name = (const char *)s->collector->scratch.data,
    };
    struct device_track t = {.definition = definition, .process_id = process_id};
    t.trace_id = trace_writer_track(s->collector->writer, &track);
    t.sink = t.trace_id != TRACE_NONE ? trace_writer_sink(s->collector->writer, t.trace_id) : NULL;
    if (!t.sink)
        return SIZE_MAX;
    s->device_tracks[s->device_track_count] = t;
    return s->device_track_count++;
}

static uint32_t why_there_is_no_track(const struct source *s)
{
    return s->device_track_count >= MAX_DEVICE_TRACKS ? TRACE_LOSS_DEVICE : TRACE_LOSS_DAMAGED;
}

uint32_t device_trace_track(struct source *s, uint32_t process_id, uint32_t definition)
{
    size_t index = find_track(s, definition, process_id, PARENT_LEVELS);
    return index != SIZE_MAX ? s->device_tracks[index].trace_id : TRACE_NONE;
}

uint32_t device_zone(struct source *s, uint32_t process_id, uint32_t definition, const struct device_row *row)
{
    size_t index = find_track(s, definition, process_id, PARENT_LEVELS);
    if (index == SIZE_MAX)
        return why_there_is_no_track(s);
    struct device_track *t = &s->device_tracks[index];
    if (t->rows.count == 0)
        t->oldest_ns = clock_raw_ns();
    if (device_rows_add(&t->rows, t->sink, row))
        s->collector->taken.zones++;
    return 0;
}

uint32_t device_run(struct source *s, uint32_t process_id, uint32_t definition, struct trace_run *run)
{
    size_t index = find_track(s, definition, process_id, PARENT_LEVELS);
    if (index == SIZE_MAX)
        return why_there_is_no_track(s);
    s->last_run.definition = definition;
    s->last_run.start = run->start;
    s->last_run.duration = run->duration;
    run->track = s->device_tracks[index].trace_id;
    trace_writer_run(s->collector->writer, run);
    s->collector->taken.records++;
    return device_zone(s, process_id, definition,
                       &(struct device_row){run->start, run->duration, run->call, run->name, true});
}

bool device_run_is_last(const struct source *s, uint32_t definition, uint64_t start, uint64_t duration)
{
    return s->last_run.definition == definition && s->last_run.start == start &&
           s->last_run.duration == duration;
}

void device_sync(struct source *s, uint32_t definition, uint64_t host_ns, uint64_t device_ticks,
                 uint64_t uncertainty_ns)
{
    struct device *device = find_device(s, definition);
    if (!device)
        return;
    struct trace_clock_point point = {
        .clock = device->clock, .ticks = device_ticks, .host_ns = host_ns, .uncertainty_ns = uncertainty_ns};
    trace_writer_clock_point(s->collector->writer, &point);
    device->synced_ns = host_ns;
    device->synced_ticks = device_ticks;
}

/* By the nominal rate, from the last point: it says when events are missing, not how long something took. */
static uint64_t host_time(const struct device *device, uint64_t ticks, uint64_t now_ns)
{
    double apart = (double)(int64_t)(ticks - device->synced_ticks) * device->ns_per_tick;
    double ns = (double)device->synced_ns + apart;
    if (!device->synced_ns || !(ns > 0) || ns > (double)now_ns + FAR_AHEAD_NS)
        return now_ns;
    return (uint64_t)ns;
}

static struct device *device_of_track(struct source *s, uint32_t definition)
{
    struct segment_name name;
    return read_definition(s, definition, NAME_DEVICE_TRACK, &name) ? find_device(s, name.owner) : NULL;
}

void device_lost(struct source *s, struct track *t, uint32_t definition, const uint64_t ticks[2],
                 uint64_t events, uint64_t host_ns)
{
    uint32_t track = device_trace_track(s, t->process_id, definition);
    struct device *device = track != TRACE_NONE ? device_of_track(s, definition) : find_device(s, definition);
    struct trace_loss loss = {.process = t->process_id,
                              .track = device && track == TRACE_NONE ? device->trace_id : track,
                              .reason = TRACE_LOSS_DEVICE,
                              .from_ns = host_ns,
                              .to_ns = host_ns,
                              .records = events};
    if (device && (ticks[0] || ticks[1])) {
        loss.from_ns = host_time(device, ticks[0], host_ns);
        loss.to_ns = host_time(device, ticks[1], host_ns);
    }
    if (loss.to_ns < loss.from_ns)
        loss.to_ns = loss.from_ns;
    collector_lose(s->collector, loss);
}

void device_flush(struct source *s, uint64_t now_ns, bool is_final)
{
    for (size_t i = 0; i < s->device_track_count; i++) {
        struct device_track *t = &s->device_tracks[i];
        if (t->rows.count && (is_final || now_ns - t->oldest_ns > SORT_WINDOW_NS))
            device_rows_flush(&t->rows, t->sink);
        if (is_final && t->sink) {
            trace_writer_close_sink(s->collector->writer, t->sink);
            t->sink = NULL;
        }
    }
}
