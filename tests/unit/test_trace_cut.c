/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a trace as a trace: what is in it, what is not, and that its zones are whole. */
#include "test_trace_support.h"
#include "trace/cut.h"

/* Process 1 has threads "main" and "other", its child 2 one thread and a device, process 3 is a stranger. The zone
 * "wanted" lies at depth 1 of main, from 1,000 to 2,000. */
static void write_whole_trace(const char *path)
{
    struct trace_writer *w = open_writer(path, 0);
    uint32_t parent = add_process(w, 1), stranger = add_process(w, 3);
    struct trace_process child_process = {.id = TRACE_NONE,
                                          .parent = parent,
                                          .pid = 2,
                                          .start_ns = 5,
                                          .exit_status = 0,
                                          .key = 20,
                                          .command = "child",
                                          .host = "box"};
    uint32_t child = trace_writer_process(w, &child_process);
    struct trace_clock clock = {
        .id = TRACE_NONE, .is_device = true, .ticks_per_second = 2e9, .name = "device"};
    uint32_t device_clock = trace_writer_clock(w, &clock);
    for (uint64_t i = 0; i < 2; i++) /* tick 0 is at 100 ns, two ticks a nanosecond */
        trace_writer_clock_point(w, &(struct trace_clock_point){.clock = device_clock,
                                                                .ticks = i * 20000,
                                                                .host_ns = 100 + i * 10000});
    uint32_t main_track = add_track(w, parent, "main", 0), other = add_track(w, parent, "other", 0);
    uint32_t in_child = add_track(w, child, "in child", 0), elsewhere = add_track(w, stranger, "stranger", 0);
    uint32_t device = add_track(w, child, "device", device_clock);
    struct zone_sink *sink = trace_writer_sink(w, main_track);
    zone_sink_add(sink, 2, 500, 600, 0, add_name(w, "before"));
    zone_sink_add(sink, 2, 1100, 1300, 0, add_name(w, "inner"));
    zone_sink_add(sink, 1, 1000, 2000, 200, add_name(w, "wanted"));
    zone_sink_extra(sink,
                    &(struct trace_extra){.kind = TRACE_EXTRA_TEXT, .text = "passed", .text_length = 6});
    zone_sink_add(sink, 1, 2500, 2600, 0, add_name(w, "after"));
    zone_sink_add(sink, 0, 10, 3000, 1200, add_name(w, "above"));
    sink = trace_writer_sink(w, other);
    zone_sink_add(sink, 0, 900, 1500, 500, add_name(w, "reaches in"));
    zone_sink_add(sink, 0, 1900, 2900, 100, add_name(w, "reaches out"));
    zone_sink_add(sink, 0, 2950, 2960, 0, add_name(w, "after"));
    sink = trace_writer_sink(w, in_child);
    zone_sink_add(sink, 0, 1200, 1250, 0, add_name(w, "child's"));
    sink = trace_writer_sink(w, elsewhere);
    zone_sink_add(sink, 0, 1200, 1250, 0, add_name(w, "stranger's"));
    sink = trace_writer_sink(w, device);
    zone_sink_add(sink, 0, 2000, 2200, 0, add_name(w, "on device")); /* 1,100 to 1,200 ns */
    zone_sink_add(sink, 0, 9000, 9100, 0, add_name(w, "later on device"));
    for (uint64_t time = 500; time <= 2500; time += 1000) {
        trace_writer_point(w, &(struct trace_point){.track = main_track,
                                                    .kind = TRACE_POINT_SIGNPOST,
                                                    .time = time,
                                                    .header = time == 1500 ? "inside" : "outside",
                                                    .text = ""});
        trace_writer_counter(
            w, &(struct trace_counter){
                   .track = other, .name = add_name(w, "queue"), .time = time, .value = (double)time});
    }
    struct trace_part part = {TRACE_PART_ATTRIBUTE, "key=value"};
    trace_writer_op(w, &(struct trace_op){.call = 7,
                                          .process = parent,
                                          .track = main_track,
                                          .name = add_name(w, "matmul"),
                                          .description = trace_writer_description(w, &part, 1),
                                          .start_ns = 1400,
                                          .end_ns = 1450});
    trace_writer_run(w, &(struct trace_run){.call = 7,
                                            .process = parent,
                                            .track = device,
                                            .name = add_name(w, "matmul"),
                                            .start = 2800,
                                            .duration = 40});
    assert_ok(trace_writer_finish(w, ERR));
}

static const struct ref_zone *find(const struct ref_zones *zones, struct trace *t, const char *name)
{
    for (size_t i = 0; i < zones->count; i++)
        if (strcmp(trace_get_name(t, zones->items[i].name)->name, name) == 0)
            return &zones->items[i];
    return NULL;
}

static struct trace *cut_and_open(void)
{
    struct trace *whole = NULL, *part = NULL;
    write_whole_trace(test_path("whole.opscope"));
    assert_ok(trace_open(&whole, test_path("whole.opscope"), 0, ERR));
    uint32_t track = TRACE_NONE;
    for (uint32_t i = 0; i < trace_track_count(whole); i++)
        if (strcmp(trace_get_track(whole, i)->name, "main") == 0)
            track = i;
    struct trace_cut cut = {
        .track = track, .depth = 1, .since_ns = 1000, .until_ns = 2000, .command = "a test"};
    assert_ok(trace_cut(whole, test_path("part.opscope"), &cut, ERR));
    trace_close(whole);
    assert_ok(trace_open(&part, test_path("part.opscope"), 0, ERR));
    return part;
}

static void zones_of_the_window(void **state)
{
    (void)state;
    struct trace *part = cut_and_open();
    struct ref_zones zones = read_zones(part, NULL, 0);
    static const struct {
        const char *name;
        uint32_t depth;
        uint64_t start, duration, child;
    } expected[] = {
        {"wanted", 0, 1000, 1000, 200},     {"inner", 1, 1100, 200, 0},  {"reaches in", 0, 1000, 500, 500},
        {"reaches out", 0, 1900, 100, 100}, {"child's", 0, 1200, 50, 0}, {"on device", 0, 1100, 100, 0},
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const struct ref_zone *zone = find(&zones, part, expected[i].name);
        assert_non_null(zone);
        assert_int_equal(zone->depth, expected[i].depth);
        assert_int_equal(zone->start, expected[i].start);
        assert_int_equal(zone->duration, expected[i].duration);
        assert_int_equal(zone->child, expected[i].child);
    }
    assert_int_equal(zones.count, sizeof expected / sizeof expected[0]);
    const struct trace_name *name = trace_get_name(part, find(&zones, part, "wanted")->name);
    assert_string_equal(name->file, "file.c");
    assert_int_equal(name->line, 7);
    assert_string_equal(trace_get_info(part)->command, "a test");
    assert_int_equal(trace_process_count(part), 2);
    ref_free(&zones);
    trace_close(part);
}

static void the_text_of_a_zone(void **state)
{
    (void)state;
    struct trace *part = cut_and_open();
    struct trace_block_filter blocks = {.type = TRACE_BLOCK_ZONES};
    const struct trace_block *block;
    struct zone_rows rows = {0};
    size_t position = 0, found = 0;
    while ((block = trace_next_block(part, &blocks, &position))) {
        assert_ok(trace_decode_zones(part, block, TRACE_COLUMN_ALL, &rows, ERR));
        for (size_t i = 0; i < rows.extra_count; i++) {
            assert_string_equal(trace_get_name(part, rows.name[rows.extras[i].row])->name, "wanted");
            assert_int_equal(rows.extras[i].text_length, 6);
            assert_memory_equal(rows.extras[i].text, "passed", 6);
            found++;
        }
    }
    assert_int_equal(found, 1);
    zone_rows_free(&rows);
    trace_close(part);
}

static void rows_of_the_window(void **state)
{
    (void)state;
    struct trace *part = cut_and_open();
    const struct trace_info *info = trace_get_info(part);
    struct trace_rows rows = {0};
    size_t position = 0;
    assert_int_equal(info->points, 1);
    assert_int_equal(info->counters, 1);
    assert_int_equal(info->ops, 1);
    assert_int_equal(info->runs, 1);
    const struct trace_block *block =
        trace_next_block(part, &(struct trace_block_filter){.type = TRACE_BLOCK_OPS}, &position);
    assert_non_null(block);
    assert_ok(trace_decode_rows(part, block, &rows, ERR));
    size_t count = 0;
    const struct trace_part *parts = trace_get_description(part, rows.ops[0].description, &count);
    assert_int_equal(count, 1);
    assert_string_equal(parts[0].text, "key=value");
    uint32_t process = rows.ops[0].process;
    position = 0;
    block = trace_next_block(part, &(struct trace_block_filter){.type = TRACE_BLOCK_RUNS}, &position);
    assert_ok(trace_decode_rows(part, block, &rows, ERR));
    assert_int_equal(rows.runs[0].process, process);
    assert_int_equal(rows.runs[0].call, 7);
    uint32_t clock = trace_get_track(part, rows.runs[0].track)->clock;
    assert_int_equal(trace_host_ns(part, clock, rows.runs[0].start), 1500);
    trace_rows_free(&rows);
    trace_close(part);
}

static void nothing_is_left_of_a_failure(void **state)
{
    (void)state;
    struct trace *whole = NULL;
    struct error err = {0};
    write_whole_trace(test_path("whole.opscope"));
    assert_ok(trace_open(&whole, test_path("whole.opscope"), 0, ERR));
    struct trace_cut cut = {.track = 0, .since_ns = 1, .until_ns = 2, .command = "x"};
    assert_true(trace_cut(whole, test_path("no-such-folder/part.opscope"), &cut, &err) < 0);
    cut.track = 1000;
    assert_true(trace_cut(whole, test_path("bad.opscope"), &cut, &err) < 0);
    assert_int_equal(access(test_path("bad.opscope"), F_OK), -1);
    assert_int_equal(access(test_path("bad.opscope.partial"), F_OK), -1);
    trace_close(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zones_of_the_window),
        cmocka_unit_test(the_text_of_a_zone),
        cmocka_unit_test(rows_of_the_window),
        cmocka_unit_test(nothing_is_left_of_a_failure),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
