/* SPDX-License-Identifier: Apache-2.0 */
/* Begins and ends in order, from traces with many blocks. The expectation is the program that was simulated:
 * what it began and ended, and when, in its own order. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "present/export/order.h"
#include "trace/writer.h"

/* --- a trace in the making --- */

struct fixture {
    char path[64];
    struct trace_writer *writer;
    struct trace *trace;
    struct trace_filter filter;
    struct trace_filter_options wanted;
    uint32_t process, names[4];
    struct trace_open_zone open[8];
    size_t open_count;
    enum export_extras_when extras;
};

static void list_open_zones(void *context, struct trace_writer *writer)
{
    struct fixture *f = context;
    for (size_t i = 0; i < f->open_count; i++)
        trace_writer_open_zone(writer, &f->open[i]);
}

static void begin(struct fixture *f)
{
    struct error err = {0};
    *f = (struct fixture){.path = "/tmp/opscope-export-XXXXXX", .extras = EXPORT_EXTRAS_AT_END};
    int file = mkstemp(f->path);
    assert_true(file >= 0);
    close(file);
    unlink(f->path);
    struct trace_writer_options options = {.program = "test", .command = "prog", .host = "here"};
    assert_int_equal(trace_writer_open(&f->writer, f->path, &options, &err), 0);
    trace_writer_set_open_zones(f->writer, list_open_zones, f);
    struct trace_process process = {
        .id = TRACE_NONE, .parent = TRACE_NONE, .pid = 100, .start_ns = 1, .command = "prog", .host = "here"};
    f->process = trace_writer_process(f->writer, &process);
    const char *names[] = {"a", "b", "c", "d"};
    for (unsigned i = 0; i < 4; i++)
        f->names[i] = trace_writer_name(f->writer, names[i], "", "", 0, 0);
}

static uint32_t add_track(struct fixture *f, uint32_t kind, uint64_t number)
{
    struct trace_track track = {.id = TRACE_NONE,
                                .process = f->process,
                                .parent = TRACE_NONE,
                                .kind = kind,
                                .number = number,
                                .name = ""};
    return trace_writer_track(f->writer, &track);
}

static void reopen(struct fixture *f)
{
    struct error err = {0};
    if (f->writer)
        assert_int_equal(trace_writer_finish(f->writer, &err), 0);
    f->writer = NULL;
    if (!f->trace)
        assert_int_equal(trace_open(&f->trace, f->path, 0, &err), 0);
    trace_filter_free(&f->filter);
    assert_int_equal(trace_filter_resolve(&f->filter, f->trace, &f->wanted, &err), 0);
}

static void end(struct fixture *f)
{
    trace_filter_free(&f->filter);
    trace_close(f->trace);
    unlink(f->path);
}

/* --- what comes out --- */

struct event {
    uint64_t ns;
    uint32_t name, depth;
    bool is_begin;
};

struct events {
    struct event *events;
    size_t count, capacity;
};

struct listener {
    struct events *tracks; /* by track * lanes + lane */
    uint32_t lanes;
    uint64_t child_ns, extra_count, extra_sum;
};

static void add_event(struct events *events, struct event event)
{
    assert_true(array_reserve(&events->events, &events->capacity, events->count + 1, sizeof *events->events));
    events->events[events->count++] = event;
}

static void hear_extras(struct listener *l, const struct export_zone_rest *rest)
{
    for (size_t i = 0; i < rest->extra_count; i++) {
        l->extra_count++;
        l->extra_sum += rest->extras[i].value;
    }
}

static int on_begin(void *context, const struct export_zone *zone, uint32_t lane,
                    const struct export_zone_rest *rest)
{
    struct listener *l = context;
    assert_true(lane < l->lanes);
    add_event(&l->tracks[zone->track * l->lanes + lane],
              (struct event){zone->start_ns, zone->name, zone->depth, true});
    hear_extras(l, rest);
    return 0;
}

static int on_end(void *context, const struct export_zone *zone, uint32_t lane,
                  const struct export_zone_rest *rest)
{
    struct listener *l = context;
    add_event(&l->tracks[zone->track * l->lanes + lane],
              (struct event){zone->end_ns, zone->name, zone->depth, false});
    l->child_ns += rest->child_ns;
    hear_extras(l, rest);
    return 0;
}

static void listen(struct fixture *f, struct listener *l, uint32_t lanes, struct export_counts *counts)
{
    struct error err = {0};
    struct export_options options = {0};
    struct export_job job = {.trace = f->trace,
                             .filter = &f->filter,
                             .options = &options,
                             .counts = counts,
                             .err = &err,
                             .stream = stderr};
    struct export_visitor visitor = {.context = l, .begin = on_begin, .end = on_end, .extras = f->extras};
    *l = (struct listener){.lanes = lanes};
    *counts = (struct export_counts){0};
    l->tracks = calloc(trace_track_count(f->trace) * lanes, sizeof *l->tracks);
    assert_non_null(l->tracks);
    assert_int_equal(export_job_open(&job), 0);
    int result = export_order_zones(&job, &visitor);
    if (result != 0)
        print_error("%s\n", err.message);
    assert_int_equal(result, 0);
    export_job_close(&job);
}

static void forget(struct fixture *f, struct listener *l)
{
    for (size_t i = 0; i < trace_track_count(f->trace) * l->lanes; i++)
        free(l->tracks[i].events);
    free(l->tracks);
}

/* "a10 b10 /b12 /a20": names, times, a slash for an end */
static void assert_events(const struct events *events, const char *want)
{
    struct bytes text = {0};
    for (size_t i = 0; i < events->count; i++)
        bytes_append_format(&text, "%s%s%c%llu", i ? " " : "", events->events[i].is_begin ? "" : "/",
                            (int)('a' + events->events[i].name), (unsigned long long)events->events[i].ns);
    bytes_append_u8(&text, 0);
    assert_string_equal((const char *)text.data, want);
    bytes_free(&text);
}

/* --- programs --- */

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

enum { DEEPEST = 3000 };

struct program { /* one thread: a stack of open zones, and what it did so far */
    struct zone_sink *sink;
    struct events did;
    uint64_t ns, start[DEEPEST], child[DEEPEST];
    uint32_t name[DEEPEST];
    unsigned depth;
    uint64_t zones, child_ns, extra_count, extra_sum;
};

static void program_begin(struct program *p, uint32_t name)
{
    p->start[p->depth] = p->ns;
    p->child[p->depth] = 0;
    p->name[p->depth] = name;
    add_event(&p->did, (struct event){p->ns, name, p->depth, true});
    p->depth++;
}

static void program_end(struct program *p, uint64_t value)
{
    unsigned depth = --p->depth;
    zone_sink_add(p->sink, depth, p->start[depth], p->ns, p->child[depth], p->name[depth]);
    if (value) {
        struct trace_extra extra = {.kind = TRACE_EXTRA_VALUE, .value = value};
        zone_sink_extra(p->sink, &extra);
        p->extra_count++;
        p->extra_sum += value;
    }
    add_event(&p->did, (struct event){p->ns, p->name[depth], depth, false});
    p->child_ns += p->child[depth];
    if (depth)
        p->child[depth - 1] += p->ns - p->start[depth];
    p->zones++;
}

/* A step up or down; `climb` of 16 steps go up. */
static void program_step(struct program *p, uint64_t *random, unsigned climb)
{
    uint64_t r = next_random(random);
    p->ns += 1 + (r >> 32) % 50;
    if (p->depth == 0 || (p->depth < DEEPEST && r % 16 < climb))
        program_begin(p, (uint32_t)(r >> 8) % 4);
    else
        program_end(p, r >> 16 & 255 ? 0 : 1 + (r >> 24) % 100);
}

static void assert_same_events(const struct events *got, const struct events *want)
{
    assert_int_equal(got->count, want->count);
    for (size_t i = 0; i < got->count; i++) {
        const struct event *g = &got->events[i], *w = &want->events[i];
        if (g->ns != w->ns || g->name != w->name || g->depth != w->depth || g->is_begin != w->is_begin)
            fail_msg("event %zu is %s of %u at %llu, depth %u", i, g->is_begin ? "begin" : "end", g->name,
                     (unsigned long long)g->ns, g->depth);
    }
}

/* One busy thread that climbs and falls by thousands of zones, so that whole blocks hold nothing but zones that
 * began in earlier ones, and small threads whose zones share packed blocks. */
static void test_order_is_the_programs(void **state)
{
    (void)state;
    enum { THREADS = 12, STEPS = 120000 };
    struct fixture f;
    struct program *programs = calloc(THREADS, sizeof *programs);
    struct error err = {0};
    uint64_t random = 88172645463325252u, zones = 0, child_ns = 0, extra_count = 0, extra_sum = 0;
    assert_non_null(programs);
    begin(&f);
    for (unsigned t = 0; t < THREADS; t++) {
        programs[t].sink = trace_writer_sink(f.writer, add_track(&f, TRACE_TRACK_THREAD, 100 + t));
        programs[t].ns = 1000;
        program_begin(&programs[t], 0); /* stays open until the last block */
    }
    for (unsigned i = 0; i < STEPS; i++) {
        unsigned climb = i / 9000 % 2 ? 3 : 13;
        program_step(&programs[0], &random, climb);
        if (programs[0].depth == 0)
            program_begin(&programs[0], 1);
        program_step(&programs[1 + i % (THREADS - 1)], &random, 8);
        if (i % 5000 == 0) /* time passes: blocks that are 2 s old are written, small ones packed */
            assert_int_equal(trace_writer_tick(f.writer, (uint64_t)(1 + i) * 1000000, &err), 0);
    }
    for (unsigned t = 0; t < THREADS; t++) {
        while (programs[t].depth) {
            programs[t].ns++;
            program_end(&programs[t], 0);
        }
        zones += programs[t].zones;
        child_ns += programs[t].child_ns;
        extra_count += programs[t].extra_count;
        extra_sum += programs[t].extra_sum;
    }
    reopen(&f);
    assert_true(trace_get_info(f.trace)->zone_blocks > 20);

    struct listener l;
    struct export_counts counts;
    assert_true(extra_count > 50);
    for (f.extras = EXPORT_EXTRAS_AT_BEGIN; f.extras <= EXPORT_EXTRAS_AT_END; f.extras++) {
        listen(&f, &l, 1, &counts);
        assert_int_equal(counts.zones, zones);
        assert_int_equal(counts.open_zones, 0);
        assert_int_equal(l.child_ns, child_ns);
        assert_int_equal(l.extra_count, extra_count);
        assert_int_equal(l.extra_sum, extra_sum);
        for (unsigned t = 0; t < THREADS; t++)
            assert_same_events(&l.tracks[t], &programs[t].did);
        forget(&f, &l);
    }
    for (unsigned t = 0; t < THREADS; t++)
        free(programs[t].did.events);
    free(programs);
    end(&f);
}

struct row {
    uint32_t depth, name;
    uint64_t start, end;
};

static void add_rows(struct fixture *f, uint32_t track, const struct row *rows, size_t count)
{
    struct zone_sink *sink = trace_writer_sink(f->writer, track);
    for (size_t i = 0; i < count; i++)
        zone_sink_add(sink, rows[i].depth, rows[i].start, rows[i].end, 0, f->names[rows[i].name]);
}

#define ADD_ROWS(f, track, ...)                                                                              \
    add_rows((f), (track), (const struct row[]){__VA_ARGS__},                                                \
             sizeof((const struct row[]){__VA_ARGS__}) / sizeof(struct row))

static void test_equal_times_nest(void **state)
{
    (void)state;
    struct fixture f;
    struct listener l;
    struct export_counts counts;
    begin(&f);
    uint32_t same = add_track(&f, TRACE_TRACK_THREAD, 1), empty = add_track(&f, TRACE_TRACK_THREAD, 2),
             border = add_track(&f, TRACE_TRACK_THREAD, 3), all = add_track(&f, TRACE_TRACK_THREAD, 4),
             late = add_track(&f, TRACE_TRACK_QUEUE, 5);
    /* child begins with its parent and ends with it */
    ADD_ROWS(&f, same, {1, 1, 10, 20}, {0, 0, 10, 20}, {0, 2, 20, 30});
    /* an empty zone, then one that begins at the same time, on the same level */
    ADD_ROWS(&f, empty, {0, 0, 10, 10}, {0, 1, 10, 20}, {0, 2, 20, 20});
    /* an empty zone between two others */
    ADD_ROWS(&f, border, {0, 0, 10, 20}, {1, 3, 20, 20}, {0, 1, 20, 30});
    /* everything at one moment */
    ADD_ROWS(&f, all, {2, 2, 10, 10}, {1, 1, 10, 10}, {0, 0, 10, 10});
    /* an empty zone that was delivered after the one that follows it */
    ADD_ROWS(&f, late, {0, 1, 10, 20}, {0, 0, 10, 10});
    reopen(&f);
    listen(&f, &l, 1, &counts);
    assert_events(&l.tracks[late], "a10 /a10 b10 /b20");
    assert_events(&l.tracks[same], "a10 b10 /b20 /a20 c20 /c30");
    assert_events(&l.tracks[empty], "a10 /a10 b10 /b20 c20 /c20");
    assert_events(&l.tracks[border], "a10 /a20 b20 d20 /d20 /b30");
    assert_events(&l.tracks[all], "a10 b10 c10 /c10 /b10 /a10");
    forget(&f, &l);
    end(&f);
}

/* The parent is not in the trace (the flight recorder dropped it, or it never ended and is not known). */
static void test_missing_parent(void **state)
{
    (void)state;
    struct fixture f;
    struct listener l;
    struct export_counts counts;
    begin(&f);
    uint32_t track = add_track(&f, TRACE_TRACK_THREAD, 1);
    ADD_ROWS(&f, track, {0, 0, 10, 20}, {3, 1, 30, 40}, {0, 2, 50, 60});
    reopen(&f);
    listen(&f, &l, 1, &counts);
    assert_events(&l.tracks[track], "a10 /a20 b30 /b40 c50 /c60");
    forget(&f, &l);
    end(&f);
}

static void test_open_zones_end_with_the_trace(void **state)
{
    (void)state;
    struct fixture f;
    struct listener l;
    struct export_counts counts;
    begin(&f);
    uint32_t track = add_track(&f, TRACE_TRACK_THREAD, 1), other = add_track(&f, TRACE_TRACK_THREAD, 2);
    ADD_ROWS(&f, track, {2, 2, 12, 14}, {2, 3, 15, 17});
    ADD_ROWS(&f, other, {0, 0, 1, 90});
    f.open[0] = (struct trace_open_zone){.track = track, .depth = 0, .start = 10, .name = f.names[0]};
    f.open[1] = (struct trace_open_zone){.track = track, .depth = 1, .start = 11, .name = f.names[1]};
    f.open_count = 2;
    reopen(&f);
    listen(&f, &l, 1, &counts);
    assert_events(&l.tracks[track], "a10 b11 c12 /c14 d15 /d17 /b90 /a90");
    assert_int_equal(counts.open_zones, 2);
    assert_int_equal(counts.zones, 3);
    forget(&f, &l);
    end(&f);
}

/* Device zones overlap and come late; each lane must nest, and nothing may be missing. */
static void test_overlap_goes_to_lanes(void **state)
{
    (void)state;
    struct fixture f;
    struct listener l;
    struct export_counts counts;
    begin(&f);
    uint32_t track = add_track(&f, TRACE_TRACK_QUEUE, 0);
    ADD_ROWS(&f, track, {0, 0, 10, 20}, {1, 1, 15, 25}, {0, 2, 20, 40}, {0, 3, 22, 30}, {0, 1, 2, 5});
    reopen(&f);
    listen(&f, &l, 2, &counts);
    assert_events(&l.tracks[2 * track], "b2 /b5 a10 /a20 c20 d22 /d30 /c40");
    assert_events(&l.tracks[2 * track + 1], "b15 /b25");
    assert_int_equal(counts.zones, 5);
    forget(&f, &l);
    end(&f);
}

/* A hundred thousand device zones, a tenth of them delivered after the ten thousand that follow them. */
static void test_late_rows_find_their_place(void **state)
{
    (void)state;
    enum { ZONES = 100000, DELAY = 10000 };
    struct fixture f;
    struct listener l;
    struct export_counts counts;
    uint64_t extra_sum = 0;
    begin(&f);
    uint32_t track = add_track(&f, TRACE_TRACK_QUEUE, 0);
    struct zone_sink *sink = trace_writer_sink(f.writer, track);
    for (unsigned i = 0; i < ZONES + DELAY; i++) {
        if (i < ZONES && i % 10 != 3)
            zone_sink_add(sink, 0, 100 + (uint64_t)i * 10, 105 + (uint64_t)i * 10, 0, f.names[i % 3]);
        unsigned late = i - DELAY;
        if (i >= DELAY && late % 10 == 3) {
            struct trace_extra extra = {.kind = TRACE_EXTRA_VALUE, .value = late};
            zone_sink_add(sink, 0, 100 + (uint64_t)late * 10, 105 + (uint64_t)late * 10, 0,
                          f.names[late % 3]);
            zone_sink_extra(sink, &extra);
            extra_sum += late;
        }
    }
    reopen(&f);
    listen(&f, &l, 1, &counts);
    assert_int_equal(counts.zones, ZONES);
    assert_int_equal(l.tracks[track].count, 2 * ZONES);
    for (unsigned i = 0; i < ZONES; i++) {
        const struct event *pair = &l.tracks[track].events[2 * i];
        assert_true(pair[0].is_begin && !pair[1].is_begin);
        assert_int_equal(pair[0].ns, 100 + (uint64_t)i * 10);
        assert_int_equal(pair[1].ns, 105 + (uint64_t)i * 10);
        assert_int_equal(pair[0].name, i % 3);
    }
    assert_int_equal(l.extra_sum, extra_sum);
    forget(&f, &l);
    end(&f);
}

static void test_window_and_names(void **state)
{
    (void)state;
    struct fixture f;
    struct listener l;
    struct export_counts counts;
    begin(&f);
    uint32_t track = add_track(&f, TRACE_TRACK_THREAD, 1);
    ADD_ROWS(&f, track, {2, 2, 110, 120}, {2, 2, 130, 140}, {1, 1, 105, 150}, {1, 1, 160, 170},
             {0, 0, 100, 200});
    /* times that are asked for count from the start of the trace, 100 */
    f.wanted.since = (struct trace_time){.kind = TRACE_TIME_NS, .ns = 35};
    f.wanted.until = (struct trace_time){.kind = TRACE_TIME_NS, .ns = 55};
    reopen(&f);
    listen(&f, &l, 1, &counts); /* cut at its borders */
    assert_events(&l.tracks[track], "a135 b135 c135 /c140 /b150 /a155");
    assert_int_equal(counts.zones, 3);
    assert_int_equal(l.child_ns, (140 - 135) + (150 - 135));
    forget(&f, &l);

    f.wanted = (struct trace_filter_options){0};
    assert_true(text_list_add(&f.wanted.names, "a"));
    assert_true(text_list_add(&f.wanted.names, "c"));
    reopen(&f);
    listen(&f, &l, 1, &counts);
    assert_events(&l.tracks[track], "a100 c110 /c120 c130 /c140 /a200");
    assert_int_equal(l.child_ns, 20); /* of a: both c, which now lie directly in it */
    forget(&f, &l);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_is_the_programs), cmocka_unit_test(test_equal_times_nest),
        cmocka_unit_test(test_missing_parent),        cmocka_unit_test(test_open_zones_end_with_the_trace),
        cmocka_unit_test(test_overlap_goes_to_lanes), cmocka_unit_test(test_late_rows_find_their_place),
        cmocka_unit_test(test_window_and_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
