/* SPDX-License-Identifier: Apache-2.0 */
/* Zones for an imported trace: what the processors recorded, and the host's functions under each op.
 *
 * A device log is ordered by core, processor and time, so that zones pair up on a stack while it is read; a log
 * that was written in several dumps comes back to a processor later, which its stack waits for. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/csv/reader.h"
#include "text/file_map.h"
#include "base/keyed_text.h"
#include "base/slice.h"
#include "import/tenstorrent/trace.h"

#define MAX_TRACKS 100000u
#define DEEPEST 256u

struct open_zone {
    uint64_t start, child;
    uint32_t name;
};

struct lane { /* a processor */
    struct zone_sink *sink;
    struct open_zone *stack;
    size_t depth, capacity;
};

struct lanes {
    struct tt_trace_writer *w;
    struct lane *items;
    size_t count, capacity;
    struct intern keys;      /* "device x y processor" as bytes */
    struct intern core_keys; /* "device x y" */
    uint32_t *core_tracks;
    size_t core_capacity;
    struct bytes scratch;
    struct slice last_processor, last_zone,
        last_rest; /* the marker before, to find its lane and name again */
    uint32_t last_device, last_x, last_y, last_lane, last_name;
};

struct place {
    uint32_t device, x, y;
};

static uint32_t core_track(struct lanes *lanes, const struct place *place)
{
    uint32_t known = (uint32_t)lanes->core_keys.count;
    uint32_t id = intern_add(&lanes->core_keys, place, sizeof *place);
    char name[48];
    if (id == INTERN_NONE || !array_reserve(&lanes->core_tracks, &lanes->core_capacity, (size_t)id + 1,
                                            sizeof lanes->core_tracks[0]))
        return TRACE_NONE;
    if (id < known)
        return lanes->core_tracks[id];
    uint32_t device = tt_trace_device_track(lanes->w, place->device);
    const struct trace_track *above = trace_writer_get_track(lanes->w->writer, device);
    snprintf(name, sizeof name, "core %u,%u", (unsigned)place->x, (unsigned)place->y);
    lanes->core_tracks[id] = trace_writer_track(
        lanes->w->writer, &(struct trace_track){.id = TRACE_NONE,
                                                .process = lanes->w->process,
                                                .parent = device,
                                                .kind = TRACE_TRACK_CORE,
                                                .clock = above ? above->clock : TRACE_HOST_CLOCK,
                                                .number = (uint64_t)place->x << 16 | place->y,
                                                .name = name});
    return lanes->core_tracks[id];
}

static uint32_t add_lane(struct lanes *lanes, const struct tt_marker *marker)
{
    struct place place = {marker->device, marker->x, marker->y};
    char name[64];
    size_t known = lanes->keys.count;
    bytes_clear(&lanes->scratch);
    bytes_append(&lanes->scratch, &place, sizeof place);
    bytes_append(&lanes->scratch, marker->processor.data, marker->processor.length);
    uint32_t id = lanes->scratch.failed
                      ? INTERN_NONE
                      : intern_add(&lanes->keys, lanes->scratch.data, lanes->scratch.length);
    if (id == INTERN_NONE || id < known)
        return id;
    uint32_t core = lanes->count < MAX_TRACKS ? core_track(lanes, &place) : TRACE_NONE;
    const struct trace_track *above =
        core == TRACE_NONE ? NULL : trace_writer_get_track(lanes->w->writer, core);
    snprintf(name, sizeof name, "%.*s", (int)(marker->processor.length < 60 ? marker->processor.length : 60),
             marker->processor.data);
    uint32_t track =
        above ? trace_writer_track(lanes->w->writer, &(struct trace_track){.id = TRACE_NONE,
                                                                           .process = lanes->w->process,
                                                                           .parent = core,
                                                                           .kind = TRACE_TRACK_PROCESSOR,
                                                                           .clock = above->clock,
                                                                           .number = id,
                                                                           .name = name})
              : TRACE_NONE;
    if (!array_reserve(&lanes->items, &lanes->capacity, lanes->count + 1, sizeof lanes->items[0]))
        return INTERN_NONE;
    lanes->items[lanes->count++] =
        (struct lane){.sink = track == TRACE_NONE ? NULL : trace_writer_sink(lanes->w->writer, track)};
    return id;
}

static struct lane *lane_of(struct lanes *lanes, const struct tt_marker *marker)
{
    if (lanes->last_processor.data && lanes->last_device == marker->device && lanes->last_x == marker->x &&
        lanes->last_y == marker->y && lanes->last_processor.length == marker->processor.length &&
        memcmp(lanes->last_processor.data, marker->processor.data, marker->processor.length) == 0)
        return &lanes->items[lanes->last_lane];
    uint32_t id = add_lane(lanes, marker);
    if (id == INTERN_NONE || id >= lanes->count) {
        lanes->w->failed = true;
        return NULL;
    }
    lanes->last_processor = marker->processor;
    lanes->last_device = marker->device;
    lanes->last_x = marker->x;
    lanes->last_y = marker->y;
    lanes->last_lane = id;
    return &lanes->items[id];
}

static uint32_t zone_name(struct lanes *lanes, const struct tt_marker *marker)
{
    struct tt_marker_rest rest = tt_marker_rest(marker);
    uint32_t line = 0;
    struct bytes *text = &lanes->scratch;
    slice_unsigned32(rest.line, &line);
    bytes_clear(text);
    bytes_append(text, marker->zone.data, marker->zone.length);
    bytes_append_u8(text, 0);
    bytes_append(text, rest.file.data, rest.file.length);
    bytes_append_u8(text, 0);
    if (text->failed)
        return 0;
    const char *zone = marker->zone.length ? (const char *)text->data : "?";
    return trace_writer_name(lanes->w->writer, zone, "", (const char *)text->data + marker->zone.length + 1,
                             line, 0);
}

static void end_zone(struct lanes *lanes, struct lane *lane, uint64_t time)
{
    struct open_zone zone = lane->stack[--lane->depth];
    uint64_t end = time > zone.start ? time : zone.start;
    zone_sink_add(lane->sink, (uint32_t)lane->depth, zone.start, end, zone.child, zone.name);
    if (lane->depth > 0)
        lane->stack[lane->depth - 1].child += end - zone.start;
    (void)lanes;
}

static void add_marker(struct lanes *lanes, const struct tt_marker *marker)
{
    if (marker->type != TT_MARKER_START && marker->type != TT_MARKER_END)
        return;
    struct lane *lane = lane_of(lanes, marker);
    if (!lane || !lane->sink)
        return;
    uint32_t name = zone_name(lanes, marker);
    if (marker->type == TT_MARKER_START) {
        if (lane->depth >= DEEPEST ||
            !array_reserve(&lane->stack, &lane->capacity, lane->depth + 1, sizeof lane->stack[0])) {
            lanes->w->lost_zones++;
            return;
        }
        lane->stack[lane->depth++] = (struct open_zone){marker->time, 0, name};
        return;
    }
    size_t at = lane->depth;
    while (at > 0 && lane->stack[at - 1].name != name)
        at--;
    if (at == 0) { /* its start was not recorded */
        lanes->w->lost_zones++;
        return;
    }
    while (lane->depth > at) { /* zones inside whose ends were not recorded */
        lane->depth--;
        lanes->w->lost_zones++;
    }
    end_zone(lanes, lane, marker->time);
}

static int write_device_zones(struct tt_trace_writer *w, const struct tt_files *files, struct error *err)
{
    struct lanes lanes = {.w = w};
    struct tt_log_reader reader;
    struct tt_marker marker;
    struct file_map map;
    uint64_t count = 0;
    int result = file_map_open(&map, (const char *)files->log.data, err);
    if (result != 0) /* reported when the ops were read */
        return result == -ENOMEM ? result : 0;
    tt_log_reader_init(&reader, map.data, map.length);
    while (result == 0 && !w->failed && tt_log_next(&reader, &marker)) {
        if (marker.timer != 0 && marker.device < TT_MAX_DEVICES)
            add_marker(&lanes, &marker);
        if (++count % 1000000 == 0)
            result = trace_writer_tick(w->writer, 0, err);
    }
    for (size_t i = 0; i < lanes.count; i++) {
        w->lost_zones += lanes.items[i].depth;
        if (lanes.items[i].sink)
            trace_writer_close_sink(w->writer, lanes.items[i].sink);
        free(lanes.items[i].stack);
    }
    free(lanes.items);
    free(lanes.core_tracks);
    intern_free(&lanes.keys);
    intern_free(&lanes.core_keys);
    bytes_free(&lanes.scratch);
    file_map_close(&map);
    return result;
}

/* --- the host's functions --- */

struct host_zone {
    uint64_t start, end;
    uint32_t thread, name;
    uint32_t order;
};

struct host_zones {
    struct host_zone *items;
    size_t count, capacity;
};

static int compare_zones(const void *left, const void *right)
{
    const struct host_zone *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

static size_t column(const struct csv_reader *csv, const char *name)
{
    for (size_t i = 0; i < csv->cell_count; i++) {
        if (slice_is(slice_trim(csv->cells[i]), name))
            return i;
    }
    return SIZE_MAX;
}

static struct slice cell_at(const struct csv_reader *csv, size_t i)
{
    return i < csv->cell_count ? slice_trim(csv->cells[i]) : slice_from("", 0);
}

static int read_host_zones(struct tt_trace_writer *w, struct csv_reader *csv, struct host_zones *zones,
                           struct error *err)
{
    int status = csv_next(csv, err);
    if (status <= 0)
        return status;
    size_t name = column(csv, "name"), file = column(csv, "src_file"), line = column(csv, "src_line"),
           start = column(csv, "ns_since_start"), duration = column(csv, "exec_time_ns"),
           thread = column(csv, "thread");
    struct bytes text = {0};
    while ((status = csv_next(csv, err)) > 0) {
        struct host_zone zone = {.order = (uint32_t)zones->count};
        uint64_t length;
        uint32_t line_number = 0;
        if (!slice_unsigned(cell_at(csv, start), &zone.start) ||
            !slice_unsigned(cell_at(csv, duration), &length) ||
            __builtin_add_overflow(zone.start, length, &zone.end))
            continue;
        struct slice title = cell_at(csv, name), source = cell_at(csv, file);
        slice_unsigned32(cell_at(csv, thread), &zone.thread);
        slice_unsigned32(cell_at(csv, line), &line_number);
        bytes_clear(&text);
        bytes_append(&text, title.data, title.length);
        bytes_append_u8(&text, 0);
        bytes_append(&text, source.data, source.length);
        bytes_append_u8(&text, 0);
        if (text.failed || zones->count >= UINT32_MAX ||
            !array_reserve(&zones->items, &zones->capacity, zones->count + 1, sizeof zones->items[0])) {
            status = error_set_errno(err, ENOMEM, "%zu zones", zones->count);
            break;
        }
        zone.name = trace_writer_name(w->writer, (const char *)text.data, "",
                                      (const char *)text.data + title.length + 1, line_number, 0);
        zones->items[zones->count++] = zone;
    }
    bytes_free(&text);
    return status < 0 ? status : 0;
}

/* Zones of one thread, in order of start, longest first: nested where one lies in the other. */
static void write_thread(struct tt_trace_writer *w, const struct host_zone *zones, size_t count)
{
    struct zone_sink *sink = trace_writer_sink(w->writer, tt_trace_thread_track(w, zones[0].thread));
    struct {
        uint64_t start, end, child;
        uint32_t name;
    } stack[DEEPEST];
    uint32_t depth = 0;
    if (!sink) {
        w->failed = true;
        return;
    }
    for (size_t i = 0; i <= count; i++) {
        while (depth > 0 && (i == count || stack[depth - 1].end <= zones[i].start)) {
            depth--;
            zone_sink_add(sink, depth, stack[depth].start, stack[depth].end, stack[depth].child,
                          stack[depth].name);
            if (depth > 0)
                stack[depth - 1].child += stack[depth].end - stack[depth].start;
        }
        if (i == count)
            break;
        if (depth == DEEPEST) {
            w->lost_zones++;
            continue;
        }
        uint64_t end = depth > 0 && zones[i].end > stack[depth - 1].end ? stack[depth - 1].end : zones[i].end;
        stack[depth].start = zones[i].start;
        stack[depth].end = end;
        stack[depth].child = 0;
        stack[depth++].name = zones[i].name;
    }
    trace_writer_close_sink(w->writer, sink);
}

static int write_host_zones(struct tt_trace_writer *w, const struct tt_files *files, struct error *err)
{
    struct host_zones zones = {0};
    struct csv_reader csv;
    int result = csv_open(&csv, (const char *)files->times.data, err);
    if (result == 0) {
        result = read_host_zones(w, &csv, &zones, err);
        csv_close(&csv);
    }
    if (result != -ENOMEM) /* reported when the ops were read */
        result = 0;
    if (zones.count)
        qsort(zones.items, zones.count, sizeof zones.items[0], compare_zones);
    for (size_t i = 0; i < zones.count && result == 0 && !w->failed;) {
        size_t from = i;
        while (i < zones.count && zones.items[i].thread == zones.items[from].thread)
            i++;
        write_thread(w, zones.items + from, i - from);
    }
    free(zones.items);
    return result;
}

int tt_trace_write_zones(struct tt_trace_writer *w, const struct tt_files *files, struct error *err)
{
    int result = files->times.length && !w->model->is_device_only ? write_host_zones(w, files, err) : 0;
    if (result == 0 && files->log.length)
        result = write_device_zones(w, files, err);
    return result;
}
