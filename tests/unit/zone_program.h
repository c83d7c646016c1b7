/* SPDX-License-Identifier: Apache-2.0 */
/* A made-up program for tests: threads that open and close nested zones at random (from a seed, so always the
 * same), written into a trace as the collector would, and kept in plain arrays to compare with. */
#ifndef OPSCOPE_TESTS_ZONE_PROGRAM_H
#define OPSCOPE_TESTS_ZONE_PROGRAM_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/reader.h"
#include "trace/writer.h"

struct made_zone {
    uint64_t start, end, child; /* end 0: never ended */
    size_t parent;              /* SIZE_MAX: none */
    uint32_t name;              /* index into zone_program.names */
    uint32_t thread, depth;
};

struct zone_program {
    uint64_t seed;
    unsigned thread_count, name_count, max_depth;
    uint64_t longest_ns; /* durations are spread over all magnitudes up to this */
    bool leaves_open;    /* the last zones of each thread do not end */

    struct made_zone *zones; /* in order of begin within a thread */
    size_t count, capacity;
    uint32_t names[64], tracks[16], processes[2];
    uint64_t last[16]; /* when each thread did something last */
    char path[64];
    struct trace_writer *writer;
};

static inline uint64_t made_random(struct zone_program *p)
{
    p->seed = p->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t x = p->seed ^ p->seed >> 33;
    return x * UINT64_C(0xff51afd7ed558ccd) >> 11;
}

/* All magnitudes are as likely. */
static inline uint64_t made_duration(struct zone_program *p)
{
    unsigned bits = 0;
    while (p->longest_ns >> bits > 1)
        bits++;
    uint64_t size = UINT64_C(1) << made_random(p) % (bits + 1);
    return 1 + made_random(p) % size;
}

/* When a zone ended, or its thread was last seen. */
static inline uint64_t made_zone_end(const struct zone_program *p, const struct made_zone *zone)
{
    return zone->end ? zone->end : p->last[zone->thread];
}

/* The part of a zone in a window. */
static inline uint64_t made_part(const struct zone_program *p, const struct made_zone *zone, uint64_t since,
                                 uint64_t until)
{
    uint64_t start = zone->start > since ? zone->start : since, end = made_zone_end(p, zone);
    end = end < until ? end : until;
    return end > start ? end - start : 0;
}

/* A zone that was begun at the last moment has no length, and is in the window all the same. */
static inline bool made_is_in(const struct zone_program *p, const struct made_zone *zone, uint64_t since,
                              uint64_t until)
{
    return made_part(p, zone, since, until) > 0 ||
           (made_zone_end(p, zone) == zone->start && zone->start >= since && zone->start <= until);
}

/* The time of the open zone that is directly inside this open one; 0 if there is none. */
static inline uint64_t made_open_child(const struct zone_program *p, size_t index)
{
    for (size_t i = index + 1; i < p->count; i++) {
        if (p->zones[i].parent == index && p->zones[i].end == 0)
            return p->last[p->zones[i].thread] - p->zones[i].start;
    }
    return 0;
}

static inline void made_list_open(void *context, struct trace_writer *writer)
{
    struct zone_program *p = context;
    for (size_t i = 0; i < p->count; i++) {
        const struct made_zone *zone = &p->zones[i];
        struct trace_open_zone open = {.track = p->tracks[zone->thread],
                                       .depth = zone->depth,
                                       .start = zone->start,
                                       .seen = p->last[zone->thread],
                                       .child = zone->child,
                                       .name = p->names[zone->name]};
        if (zone->end != 0)
            continue;
        open.child += made_open_child(p, i);
        trace_writer_open_zone(writer, &open);
    }
}

static inline size_t made_begin(struct zone_program *p, unsigned thread, size_t parent, uint64_t now)
{
    if (p->count == p->capacity) {
        p->capacity = p->capacity ? 2 * p->capacity : 1024;
        p->zones = realloc(p->zones, p->capacity * sizeof p->zones[0]);
        if (!p->zones)
            abort();
    }
    p->zones[p->count] = (struct made_zone){
        .start = now,
        .parent = parent,
        .name = (uint32_t)(made_random(p) % p->name_count),
        .thread = thread,
        .depth = parent == SIZE_MAX ? 0 : p->zones[parent].depth + 1,
    };
    return p->count++;
}

static inline size_t made_end(struct zone_program *p, struct zone_sink *sink, size_t index, uint64_t now)
{
    struct made_zone *zone = &p->zones[index];
    zone->end = now;
    if (zone->parent != SIZE_MAX)
        p->zones[zone->parent].child += now - zone->start;
    zone_sink_add(sink, zone->depth, zone->start, now, zone->child, p->names[zone->name]);
    return zone->parent;
}

/* One thread's life: `count` zones. Every instant is used once, so that order in time is order in the program. */
static inline void made_thread(struct zone_program *p, unsigned thread, size_t count, uint64_t start)
{
    struct zone_sink *sink = trace_writer_sink(p->writer, p->tracks[thread]);
    size_t open = SIZE_MAX, begun = 0;
    uint64_t now = start;
    while (begun < count || (open != SIZE_MAX && !p->leaves_open)) {
        now += made_duration(p);
        bool may_begin = begun < count && (open == SIZE_MAX || p->zones[open].depth + 1 < p->max_depth);
        if (may_begin && (open == SIZE_MAX || made_random(p) % 2)) {
            open = made_begin(p, thread, open, now);
            begun++;
        } else {
            open = made_end(p, sink, open, now);
        }
        p->last[thread] = now;
        if (begun % 4096 == 0)
            trace_writer_tick(p->writer, now, NULL);
    }
}

/* Writes the trace; the caller reads p->path and calls made_free. False when it could not be written. */
static inline bool made_program(struct zone_program *p, size_t zones_a_thread)
{
    static const char *const words[] = {"load",  "decode", "matmul", "softmax",
                                        "store", "wait",   "copy",   "reduce"};
    struct error err = {0};
    snprintf(p->path, sizeof p->path, "/tmp/opscope-made-%d-XXXXXX", (int)getpid());
    int descriptor = mkstemp(p->path);
    if (descriptor < 0)
        return false;
    close(descriptor);
    if (trace_writer_open(&p->writer, p->path,
                          &(struct trace_writer_options){.command = "made", .host = "here"}, &err) != 0)
        return false;
    trace_writer_set_open_zones(p->writer, made_list_open, p);
    for (unsigned i = 0; i < p->name_count; i++) {
        char name[32];
        snprintf(name, sizeof name, i < 8 ? "%s" : "%s_%u", words[i % 8], i);
        p->names[i] = trace_writer_name(p->writer, name, "function", "file.c", i + 1, 0);
    }
    for (unsigned i = 0; i < 2; i++)
        p->processes[i] = trace_writer_process(
            p->writer, &(struct trace_process){.id = TRACE_NONE,
                                               .parent = TRACE_NONE,
                                               .pid = 100 + i,
                                               .start_ns = 1,
                                               .key = i + 1,
                                               .exit_status = TRACE_STATUS_UNKNOWN,
                                               .command = i ? "/usr/bin/child --flag" : "/bin/parent x",
                                               .host = "here"});
    for (unsigned i = 0; i < p->thread_count; i++)
        p->tracks[i] = trace_writer_track(p->writer, &(struct trace_track){.id = TRACE_NONE,
                                                                           .process = p->processes[i % 2],
                                                                           .parent = TRACE_NONE,
                                                                           .number = 200 + i,
                                                                           .key = 10 + i,
                                                                           .name = i ? "" : "main"});
    for (unsigned i = 0; i < p->thread_count; i++)
        made_thread(p, i, zones_a_thread, 1000000 + 7 * i);
    return trace_writer_finish(p->writer, &err) == 0;
}

static inline void made_free(struct zone_program *p)
{
    unlink(p->path);
    free(p->zones);
}

#endif
