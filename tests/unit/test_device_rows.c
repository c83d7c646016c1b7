/* SPDX-License-Identifier: Apache-2.0 */
/* Points, counters and memory events on the track of a device: whoever shows them shows the host's time, once
 * converted. */
#include "test_trace_support.h"

#include "analyze/events/counters.h"
#include "analyze/events/memory_use.h"
#include "analyze/pointlist.h"
#include "present/export/export.h"

/* 2 ticks are 1 ns; tick 1,000 was at 5,000 ns. */
#define HOST_NS(ticks) (UINT64_C(5000) + ((ticks)-UINT64_C(1000)) / 2)

static struct trace *trace;

static int set_up(void **state)
{
    struct trace_writer *w;
    struct error err = {0};
    struct trace_writer_options options = {.program = "test", .command = "made by hand"};
    const char *path;
    if (make_folder(state))
        return -1;
    path = test_path("device.opscope");
    if (trace_writer_open(&w, path, &options, &err))
        return -1;
    struct trace_process process = {.id = TRACE_NONE, .parent = TRACE_NONE, .pid = 1, .command = "made"};
    struct trace_clock clock = {.id = TRACE_NONE, .is_device = true, .ticks_per_second = 2e9, .name = "chip"};
    uint32_t chip = trace_writer_clock(w, &clock), owner = trace_writer_process(w, &process);
    for (uint64_t ticks = 1000; ticks <= 9000; ticks += 4000) {
        struct trace_clock_point point = {.clock = chip, .ticks = ticks, .host_ns = HOST_NS(ticks)};
        trace_writer_clock_point(w, &point);
    }
    struct trace_track core = {.id = TRACE_NONE,
                               .process = owner,
                               .parent = TRACE_NONE,
                               .kind = TRACE_TRACK_CORE,
                               .clock = chip,
                               .name = "core"};
    uint32_t track = trace_writer_track(w, &core), name = trace_writer_name(w, "load", "", "", 0, 0);
    zone_sink_add(trace_writer_sink(w, track), 0, 1000, 8000, 0, name);
    struct trace_point signpost = {
        .track = track, .kind = TRACE_POINT_SIGNPOST, .time = 3214, .header = "here", .text = ""};
    struct trace_counter counter = {.track = track, .name = name, .time = 4222, .value = 7};
    struct trace_memory memory = {
        .track = track, .pool = TRACE_NONE, .time = 6446, .address = 64, .size = 128};
    trace_writer_point(w, &signpost);
    trace_writer_counter(w, &counter);
    trace_writer_memory(w, &memory);
    return trace_writer_finish(w, &err) || trace_open(&trace, path, 0, &err);
}

static int tear_down(void **state)
{
    trace_close(trace);
    return remove_folder(state);
}

static struct trace_filter resolve(const char *start_signpost)
{
    static struct trace_filter_options options; /* the filter keeps a pointer to it */
    struct trace_filter filter;
    options = (struct trace_filter_options){.start_signpost = start_signpost};
    assert_ok(trace_filter_resolve(&filter, trace, &options, ERR));
    return filter;
}

static void test_points(void **state)
{
    (void)state;
    struct trace_filter filter = resolve(NULL), after = resolve("here");
    struct point_list list;
    assert_ok(point_list_make(&list, trace, &filter, 0, ERR));
    assert_int_equal(list.count, 1);
    assert_int_equal(list.entries[0].time_ns, HOST_NS(3214));
    assert_int_equal(after.since_ns, HOST_NS(3214));
    point_list_free(&list);
    trace_filter_free(&filter);
    trace_filter_free(&after);
}

static void test_counters(void **state)
{
    (void)state;
    struct trace_filter filter = resolve(NULL);
    struct counter_stats stats;
    assert_ok(counter_stats_make(&stats, trace, &filter, ERR));
    assert_int_equal(stats.row_count, 1);
    assert_int_equal(stats.rows[0].peak_ns, HOST_NS(4222));
    counter_stats_free(&stats);
    trace_filter_free(&filter);
}

static int keep_time(void *context, const struct memory_change *change)
{
    *(uint64_t *)context = change->ns;
    return 0;
}

static void test_memory(void **state)
{
    (void)state;
    struct trace_filter filter = resolve(NULL);
    uint64_t time_ns = 0;
    struct memory_live *live = NULL;
    size_t count = 0;
    struct memory_reader reader = {
        .trace = trace, .filter = &filter, .visit = keep_time, .context = &time_ns};
    assert_ok(memory_use_read(&reader, &live, &count, ERR));
    assert_int_equal(time_ns, HOST_NS(6446));
    assert_int_equal(count, 1);
    free(live);
    trace_filter_free(&filter);
}

static void assert_exported(const struct export_options *options, uint64_t ticks, double unit_ns)
{
    struct trace_filter filter = resolve(NULL);
    struct export_counts counts;
    char *text = NULL, wanted[64];
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    assert_non_null(stream);
    assert_ok(export_trace(trace, &filter, options, stream, &counts, ERR));
    fclose(stream);
    snprintf(wanted, sizeof wanted, "%g",
             (double)(HOST_NS(ticks) - trace_get_info(trace)->start_ns) / unit_ns);
    assert_non_null(strstr(text, wanted));
    free(text);
    trace_filter_free(&filter);
}

static void test_exports(void **state)
{
    (void)state;
    struct export_options options = {.format = EXPORT_CSV, .rows = EXPORT_ROWS_MESSAGES};
    assert_exported(&options, 3214, 1);
    options.rows = EXPORT_ROWS_COUNTERS;
    assert_exported(&options, 4222, 1);
    options.rows = EXPORT_ROWS_MEMORY;
    assert_exported(&options, 6446, 1);
    options = (struct export_options){.format = EXPORT_CHROME};
    assert_exported(&options, 3214, 1000);
    assert_exported(&options, 4222, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_points), cmocka_unit_test(test_counters),
                                       cmocka_unit_test(test_memory), cmocka_unit_test(test_exports)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
