/* SPDX-License-Identifier: Apache-2.0 */
/* See cut.h. Definitions are made when the first row needs them. Zones of the window are gathered, put in the order of
 * their ends (which the writer wants) and written track by track: a window is small against memory, or it would be
 * looked at in the whole trace. Rows of device tracks keep their ticks, and their clock its points. */
#include "trace/cut.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/count_of.h"
#include "base/intern.h"
#include "trace/writer.h"

struct cut_zone {
    uint64_t start, end, child; /* of the track's clock */
    uint32_t track, name, depth;
    uint32_t extra_first, extra_count;
};

struct cutting {
    struct trace *trace;
    const struct trace_cut *cut;
    struct trace_writer *writer;
    uint32_t nesting;                              /* of processes and tracks that are being made */
    bool *process_wanted;                          /* by process id */
    uint32_t *names, *tracks, *processes, *clocks; /* ids of the new trace; TRACE_NONE = not made yet */
    struct cut_zone *zones;
    size_t zone_count, zone_capacity;
    struct trace_extra *extras; /* `text` is not set: value is its place in `texts` */
    size_t extra_count, extra_capacity;
    struct bytes texts;
};

static uint32_t *make_map(size_t count)
{
    uint32_t *map = malloc((count + 1) * sizeof *map);
    for (size_t i = 0; map && i <= count; i++)
        map[i] = TRACE_NONE;
    return map;
}

/* --- definitions --- */

static uint32_t map_name(struct cutting *c, uint32_t id)
{
    if (id >= trace_name_count(c->trace))
        return TRACE_NONE;
    if (c->names[id] == TRACE_NONE) {
        const struct trace_name *name = trace_get_name(c->trace, id);
        c->names[id] =
            trace_writer_name(c->writer, name->name, name->function, name->file, name->line, name->colour);
    }
    return c->names[id];
}

#define BEING_MADE (TRACE_NONE - 1) /* a damaged trace may say that a process descends from itself */
#define MOST_NESTED 1000u           /* or from more than this many: their parents are left out */

static uint32_t map_process(struct cutting *c, uint32_t id)
{
    const struct trace_process *process = trace_get_process(c->trace, id);
    if (!process || c->processes[id] == BEING_MADE)
        return TRACE_NONE;
    if (c->processes[id] != TRACE_NONE)
        return c->processes[id];
    struct trace_process copy = *process;
    copy.id = TRACE_NONE;
    c->processes[id] = BEING_MADE;
    c->nesting++;
    copy.parent = process->parent < trace_process_count(c->trace) && c->nesting < MOST_NESTED &&
                          c->process_wanted[process->parent]
                      ? map_process(c, process->parent)
                      : TRACE_NONE;
    c->nesting--;
    return c->processes[id] = trace_writer_process(c->writer, &copy);
}

static uint32_t map_clock(struct cutting *c, uint32_t id)
{
    const struct trace_clock *clock = trace_get_clock(c->trace, id);
    size_t count = 0;
    if (id == TRACE_HOST_CLOCK || !clock)
        return TRACE_HOST_CLOCK;
    if (c->clocks[id] != TRACE_NONE)
        return c->clocks[id];
    struct trace_clock copy = *clock;
    copy.id = TRACE_NONE;
    c->clocks[id] = trace_writer_clock(c->writer, &copy);
    const struct trace_clock_point *points = trace_get_clock_points(c->trace, &count);
    for (size_t i = 0; i < count; i++) {
        struct trace_clock_point point = points[i];
        point.clock = c->clocks[id];
        if (points[i].clock == id)
            trace_writer_clock_point(c->writer, &point);
    }
    return c->clocks[id];
}

static uint32_t map_track(struct cutting *c, uint32_t id)
{
    const struct trace_track *track = trace_get_track(c->trace, id);
    if (!track || c->tracks[id] != TRACE_NONE)
        return track ? c->tracks[id] : TRACE_NONE;
    struct trace_track copy = *track;
    copy.id = TRACE_NONE;
    copy.process = map_process(c, track->process);
    copy.clock = map_clock(c, track->clock);
    c->nesting++; /* parents are defined first */
    copy.parent = track->parent < id && c->nesting < MOST_NESTED ? map_track(c, track->parent) : TRACE_NONE;
    c->nesting--;
    return c->tracks[id] = trace_writer_track(c->writer, &copy);
}

static uint32_t map_description(struct cutting *c, uint32_t id)
{
    size_t count = 0;
    if (id == TRACE_NONE)
        return TRACE_NONE;
    const struct trace_part *parts = trace_get_description(c->trace, id, &count);
    return count ? trace_writer_description(c->writer, parts, count) : TRACE_NONE;
}

/* --- what is wanted --- */

/* The process of the zone and those below it, through any number of parents. */
static void choose_processes(struct cutting *c, uint32_t root)
{
    size_t count = trace_process_count(c->trace);
    bool is_changed = root < count;
    if (root < count)
        c->process_wanted[root] = true;
    while (is_changed) {
        is_changed = false;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t parent = trace_get_process(c->trace, i)->parent;
            if (!c->process_wanted[i] && parent < count && c->process_wanted[parent])
                is_changed = c->process_wanted[i] = true;
        }
    }
}

static bool wants_track(const struct cutting *c, uint32_t id)
{
    const struct trace_track *track = trace_get_track(c->trace, id);
    return track && track->process < trace_process_count(c->trace) && c->process_wanted[track->process];
}

static bool is_inside(const struct cutting *c, uint64_t time_ns)
{
    return time_ns >= c->cut->since_ns && time_ns <= c->cut->until_ns;
}

/* --- zones --- */

static void keep_extras(struct cutting *c, const struct zone_rows *rows, size_t row, struct cut_zone *zone)
{
    const struct trace_extra *extras;
    size_t count = zone_rows_find_extras(rows, row, &extras);
    zone->extra_first = (uint32_t)c->extra_count;
    for (size_t i = 0; i < count; i++) {
        if (!array_reserve(&c->extras, &c->extra_capacity, c->extra_count + 1, sizeof c->extras[0])) {
            c->texts.failed = true;
            return;
        }
        struct trace_extra *extra = &c->extras[c->extra_count++];
        *extra = extras[i];
        extra->text = NULL;
        if (extra->kind == TRACE_EXTRA_TEXT) {
            extra->value = c->texts.length;
            bytes_append(&c->texts, extras[i].text, extra->text_length);
        }
        zone->extra_count++;
    }
}

/* Cuts a zone at the ends of the window; false when nothing is left, or it lies above the one that is wanted. */
static bool cut_row(const struct cutting *c, const struct trace_track *track, struct cut_zone *zone)
{
    uint64_t start_ns = trace_host_ns(c->trace, track->clock, zone->start);
    uint64_t end_ns = trace_host_ns(c->trace, track->clock, zone->end);
    if (end_ns < c->cut->since_ns || start_ns > c->cut->until_ns)
        return false;
    if (zone->track == c->cut->track) {
        if (zone->depth < c->cut->depth || start_ns < c->cut->since_ns || end_ns > c->cut->until_ns)
            return false;
        zone->depth -= c->cut->depth;
        return true;
    }
    if (track->clock != TRACE_HOST_CLOCK) /* device times are not cut: their clock has no exact inverse */
        return true;
    if (zone->start < c->cut->since_ns)
        zone->start = c->cut->since_ns;
    if (zone->end > c->cut->until_ns)
        zone->end = c->cut->until_ns;
    if (zone->child > zone->end - zone->start)
        zone->child = zone->end - zone->start;
    return true;
}

static int keep_zones(struct cutting *c, const struct zone_rows *rows, const struct zone_rows_group *group)
{
    const struct trace_track *track = trace_get_track(c->trace, group->track);
    for (size_t i = group->first; i < (size_t)group->first + group->count; i++) {
        struct cut_zone zone = {.start = rows->start[i],
                                .end = rows->start[i] + rows->duration[i],
                                .child = rows->child[i],
                                .track = group->track,
                                .name = rows->name[i],
                                .depth = group->depth};
        if (!cut_row(c, track, &zone))
            continue;
        keep_extras(c, rows, i, &zone);
        if (c->texts.failed ||
            !array_reserve(&c->zones, &c->zone_capacity, c->zone_count + 1, sizeof c->zones[0]))
            return -ENOMEM;
        c->zones[c->zone_count++] = zone;
    }
    return 0;
}

static int read_zones(struct cutting *c, struct error *err)
{
    struct trace_block_filter blocks = {
        .type = TRACE_BLOCK_ZONES, .since_ns = c->cut->since_ns, .until_ns = c->cut->until_ns};
    struct zone_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0;
    int result = 0;
    while (result == 0 && (block = trace_next_block(c->trace, &blocks, &position))) {
        if (block->track != TRACE_NONE && !wants_track(c, block->track))
            continue;
        result = trace_decode_zones(c->trace, block, TRACE_COLUMN_ALL | TRACE_COLUMN_RAW_TICKS, &rows, err);
        for (size_t g = 0; g < rows.group_count && result == 0; g++)
            if (wants_track(c, rows.groups[g].track) && (result = keep_zones(c, &rows, &rows.groups[g])) != 0)
                error_set_errno(err, -result, "%zu zones", c->zone_count);
    }
    zone_rows_free(&rows);
    return result;
}

/* By track, by end; of those that end together the inner ones first. */
static int compare_zones(const void *left, const void *right)
{
    const struct cut_zone *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    if (a->depth != b->depth)
        return a->depth > b->depth ? -1 : 1;
    return (a->start > b->start) - (a->start < b->start);
}

static int write_zones(struct cutting *c, struct error *err)
{
    struct zone_sink *sink = NULL;
    uint32_t track = TRACE_NONE;
    if (c->zone_count > 1)
        qsort(c->zones, c->zone_count, sizeof c->zones[0], compare_zones);
    for (size_t i = 0; i < c->zone_count; i++) {
        const struct cut_zone *zone = &c->zones[i];
        if (!sink || zone->track != track) {
            if (sink)
                trace_writer_close_sink(c->writer, sink);
            track = zone->track;
            sink = trace_writer_sink(c->writer, map_track(c, track));
            if (!sink)
                return error_set_errno(err, ENOMEM, "%zu zones", c->zone_count);
        }
        zone_sink_add(sink, zone->depth, zone->start, zone->end, zone->child, map_name(c, zone->name));
        for (size_t e = zone->extra_first; e < (size_t)zone->extra_first + zone->extra_count; e++) {
            struct trace_extra extra = c->extras[e];
            if (extra.kind == TRACE_EXTRA_TEXT)
                extra.text = (const char *)c->texts.data + extra.value;
            zone_sink_extra(sink, &extra);
        }
    }
    if (sink)
        trace_writer_close_sink(c->writer, sink);
    return 0;
}

/* What the writer wants: ticks. Host times are cut at the ends of the window. */
static void cut_open_zone(const struct cutting *c, struct trace_open_zone *zone)
{
    if (trace_get_track(c->trace, zone->track)->clock != TRACE_HOST_CLOCK) {
        zone->start = zone->start_ticks;
        zone->seen = zone->seen_ticks;
        return;
    }
    if (zone->start < c->cut->since_ns)
        zone->start = c->cut->since_ns;
    if (zone->seen > c->cut->until_ns)
        zone->seen = c->cut->until_ns;
    if (zone->child > zone->seen - zone->start)
        zone->child = zone->seen - zone->start;
}

static void write_open_zones(void *context, struct trace_writer *writer)
{
    struct cutting *c = context;
    size_t count = 0;
    const struct trace_open_zone *zones = trace_get_open_zones(c->trace, &count);
    for (size_t i = 0; i < count; i++) {
        struct trace_open_zone zone = zones[i];
        if (!wants_track(c, zone.track) || zone.start > c->cut->until_ns || zone.seen < c->cut->since_ns ||
            (zone.track == c->cut->track && zone.depth < c->cut->depth))
            continue;
        if (zone.track == c->cut->track)
            zone.depth -= c->cut->depth;
        cut_open_zone(c, &zone);
        zone.track = map_track(c, zone.track);
        zone.name = map_name(c, zone.name);
        trace_writer_open_zone(writer, &zone);
    }
}

/* --- other rows --- */

/* Of a track that is wanted, at a moment in the window; then its track is that of the new trace and its time what the
 * writer wants: ticks of the track's clock. */
static bool takes(struct cutting *c, uint32_t *track, uint64_t *time, uint64_t ticks)
{
    if (!is_inside(c, *time) || !wants_track(c, *track))
        return false;
    *track = map_track(c, *track);
    *time = ticks;
    return true;
}

static struct trace_run_part map_figure(struct cutting *c, const struct trace_run_part *figure)
{
    struct trace_run_part copy = *figure;
    copy.name = map_name(c, figure->name);
    if (figure->kind == TRACE_FIGURE_TEXT)
        copy.whole = map_name(c, (uint32_t)figure->whole);
    return copy;
}

/* A copy for the writer; NULL without figures or without memory, and the count says so. */
static struct trace_run_part *map_figures(struct cutting *c, const struct trace_run_part *figures,
                                          uint32_t *count)
{
    struct trace_run_part *copy = *count ? calloc(*count, sizeof *copy) : NULL;
    for (uint32_t i = 0; copy && i < *count; i++)
        copy[i] = map_figure(c, &figures[i]);
    *count = copy ? *count : 0;
    return copy;
}

static void write_op(struct cutting *c, const struct trace_op *op)
{
    struct trace_op copy = *op;
    if (!is_inside(c, op->start_ns) || !wants_track(c, op->track))
        return;
    copy.process = map_process(c, op->process);
    copy.track = map_track(c, op->track);
    copy.name = map_name(c, op->name);
    copy.description = map_description(c, op->description);
    struct trace_run_part *parts = map_figures(c, op->parts, &copy.part_count);
    copy.parts = parts;
    trace_writer_op(c->writer, &copy);
    free(parts);
}

static void write_run(struct cutting *c, const struct trace_run *run)
{
    const struct trace_track *track = trace_get_track(c->trace, run->track);
    struct trace_run copy = *run;
    if (!track || !wants_track(c, run->track) ||
        !is_inside(c, trace_host_ns(c->trace, track->clock, run->start)))
        return;
    copy.process = map_process(c, run->process);
    copy.track = map_track(c, run->track);
    copy.name = map_name(c, run->name);
    struct trace_run_part *parts = map_figures(c, run->parts, &copy.part_count);
    copy.parts = parts;
    trace_writer_run(c->writer, &copy);
    free(parts);
}

static void write_sample(struct cutting *c, const struct trace_sample *sample, uint64_t ticks)
{
    struct trace_sample copy = *sample;
    uint32_t *frames = malloc(((size_t)sample->frame_count + 1) * sizeof *frames);
    if (frames && takes(c, &copy.track, &copy.time, ticks)) {
        for (uint32_t i = 0; i < sample->frame_count; i++)
            frames[i] = map_name(c, sample->frames[i]);
        copy.frames = frames;
        trace_writer_sample(c->writer, &copy);
    }
    free(frames);
}

/* Those that overlap the window, cut as zones are. */
static void write_lock(struct cutting *c, const struct trace_lock *lock)
{
    struct trace_lock copy = *lock;
    if (!wants_track(c, lock->track) || lock->end_ns < c->cut->since_ns || lock->start_ns > c->cut->until_ns)
        return;
    copy.start_ns = lock->start_ns > c->cut->since_ns ? lock->start_ns : c->cut->since_ns;
    copy.end_ns = lock->end_ns < c->cut->until_ns ? lock->end_ns : c->cut->until_ns;
    copy.track = map_track(c, lock->track);
    copy.name = map_name(c, lock->name);
    trace_writer_lock(c->writer, &copy);
}

static void write_rows(struct cutting *c, uint32_t type, const struct trace_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        uint64_t ticks = rows->ticks[i];
        if (type == TRACE_BLOCK_POINTS) {
            struct trace_point point = rows->points[i];
            if (takes(c, &point.track, &point.time, ticks))
                trace_writer_point(c->writer, &point);
        } else if (type == TRACE_BLOCK_COUNTERS) {
            struct trace_counter counter = rows->counters[i];
            if (takes(c, &counter.track, &counter.time, ticks)) {
                counter.name = map_name(c, counter.name);
                trace_writer_counter(c->writer, &counter);
            }
        } else if (type == TRACE_BLOCK_MEMORY) {
            struct trace_memory memory = rows->memory[i];
            if (takes(c, &memory.track, &memory.time, ticks)) {
                memory.pool = map_name(c, memory.pool);
                trace_writer_memory(c->writer, &memory);
            }
        } else if (type == TRACE_BLOCK_OPS) {
            write_op(c, &rows->ops[i]);
        } else if (type == TRACE_BLOCK_RUNS) {
            write_run(c, &rows->runs[i]);
        } else if (type == TRACE_BLOCK_SAMPLES) {
            write_sample(c, &rows->samples[i], ticks);
        } else if (type == TRACE_BLOCK_LOCKS) {
            write_lock(c, &rows->locks[i]);
        }
    }
}

static int copy_rows(struct cutting *c, struct error *err)
{
    static const uint32_t types[] = {TRACE_BLOCK_POINTS, TRACE_BLOCK_COUNTERS, TRACE_BLOCK_MEMORY,
                                     TRACE_BLOCK_OPS,    TRACE_BLOCK_RUNS,     TRACE_BLOCK_SAMPLES,
                                     TRACE_BLOCK_LOCKS};
    struct trace_rows rows = {0};
    int result = 0;
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        struct trace_block_filter blocks = {
            .type = types[i], .since_ns = c->cut->since_ns, .until_ns = c->cut->until_ns};
        const struct trace_block *block;
        size_t position = 0;
        while (result == 0 && (block = trace_next_block(c->trace, &blocks, &position))) {
            result = trace_decode_rows(c->trace, block, &rows, err);
            if (result == 0)
                write_rows(c, types[i], &rows);
        }
    }
    trace_rows_free(&rows);
    return result;
}

static void copy_losses(struct cutting *c)
{
    size_t count = 0;
    const struct trace_loss *losses = trace_get_losses(c->trace, &count);
    for (size_t i = 0; i < count; i++) {
        struct trace_loss loss = losses[i];
        bool is_wanted = loss.process == TRACE_NONE ||
                         (loss.process < trace_process_count(c->trace) && c->process_wanted[loss.process]);
        if (!is_wanted || loss.to_ns < c->cut->since_ns || loss.from_ns > c->cut->until_ns)
            continue;
        loss.process = map_process(c, loss.process);
        loss.track = map_track(c, loss.track);
        trace_writer_loss(c->writer, &loss);
    }
}

/* Lines of the files in which what is left of the trace is. */
static void copy_sources(struct cutting *c)
{
    struct intern files = {0};
    size_t names = trace_name_count(c->trace), count = trace_source_count(c->trace);
    for (uint32_t id = 0; id < names && count; id++) {
        const char *file = trace_get_name(c->trace, id)->file;
        if (c->names[id] != TRACE_NONE)
            intern_add(&files, file, strlen(file));
    }
    for (size_t i = 0; i < count; i++) {
        const struct trace_source_file *file = trace_get_source(c->trace, i);
        if (intern_find(&files, file->file, strlen(file->file)) != INTERN_NONE)
            trace_writer_sources(c->writer, file, 1);
    }
    intern_free(&files);
}

/* The host's clocks tell what time of day it was. */
static void copy_host_clocks(struct cutting *c)
{
    size_t count = 0;
    const struct trace_clock_point *points = trace_get_clock_points(c->trace, &count);
    for (size_t i = 0; i < count; i++)
        if (points[i].clock == TRACE_HOST_CLOCK)
            trace_writer_clock_point(c->writer, &points[i]);
    for (uint32_t i = 0; i < trace_clock_count(c->trace); i++)
        if (!trace_get_clock(c->trace, i)->is_device)
            map_clock(c, i);
}

static int write_all(struct cutting *c, const char *path, struct error *err)
{
    const struct trace_info *info = trace_get_info(c->trace);
    struct trace_writer_options options = {
        .program = info->program, .command = c->cut->command, .host = info->host};
    int result = trace_writer_open(&c->writer, path, &options, err);
    if (result != 0)
        return result;
    copy_host_clocks(c);
    map_track(c, c->cut->track);
    trace_writer_set_open_zones(c->writer, write_open_zones, c);
    result = write_zones(c, err);
    if (result == 0)
        result = copy_rows(c, err);
    if (result == 0) {
        copy_losses(c);
        copy_sources(c);
        return trace_writer_finish(c->writer, err);
    }
    trace_writer_abandon(c->writer);
    return result;
}

/* The writer leaves PATH.partial behind when it fails. */
static void remove_partial(const char *path)
{
    struct bytes name = {0};
    bytes_append_format(&name, "%s.partial", path);
    if (!name.failed)
        unlink(bytes_text(&name));
    bytes_free(&name);
}

int trace_cut(struct trace *trace, const char *path, const struct trace_cut *cut, struct error *err)
{
    struct cutting c = {.trace = trace, .cut = cut};
    const struct trace_track *track = trace_get_track(trace, cut->track);
    int result = 0;
    if (!track)
        return error_set(err, EINVAL, "%s: no such track", path);
    c.process_wanted = calloc(trace_process_count(trace) + 1, sizeof(bool));
    c.names = make_map(trace_name_count(trace));
    c.tracks = make_map(trace_track_count(trace));
    c.processes = make_map(trace_process_count(trace));
    c.clocks = make_map(trace_clock_count(trace));
    if (!c.process_wanted || !c.names || !c.tracks || !c.processes || !c.clocks) {
        result = error_set_errno(err, ENOMEM, "%s", path);
    } else {
        choose_processes(&c, track->process);
        result = read_zones(&c, err);
        if (result == 0)
            result = write_all(&c, path, err);
        if (result != 0)
            remove_partial(path);
    }
    free(c.process_wanted);
    free(c.names);
    free(c.tracks);
    free(c.processes);
    free(c.clocks);
    free(c.zones);
    free(c.extras);
    bytes_free(&c.texts);
    return result;
}
