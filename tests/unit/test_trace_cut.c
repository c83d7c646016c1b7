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
    zone_sink_add(sink, 2, 500, 600, 0, trace_writer_name(w, "before", "", "left_out.c", 1, 0));
    zone_sink_add(sink, 2, 1100, 1300, 0, trace_writer_name(w, "inner", "", "kept.c", 1, 0));
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
    static const struct trace_source_part line = {1, 2, "x\n"};
    for (unsigned i = 0; i < 2; i++)
        trace_writer_sources(
            w,
            &(struct trace_source_file){
                .file = i ? "kept.c" : "left_out.c", .line_count = 1, .part_count = 1, .parts = &line},
            1);
    struct trace_part part = {TRACE_PART_ATTRIBUTE, SLICE("key=value")};
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
    assert_int_equal(trace_source_count(part), 1); /* of what is left */
    assert_non_null(trace_find_source(part, "kept.c"));
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
    assert_string_equal(parts[0].text.data, "key=value");
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

/* --- a window that holds everything --- */

/* A process with a child; a thread and a device, each with every type of row, zones and an open one. */
static void write_every_row(struct trace_writer *w, const uint32_t *processes, const uint32_t *tracks,
                            unsigned which)
{
    uint32_t process = processes[which], track = tracks[which];
    uint32_t name = add_name(w, which ? "of the device" : "of the thread");
    struct zone_sink *sink = trace_writer_sink(w, track);
    for (uint64_t time = 1000; time <= 5000; time += 1000) {
        zone_sink_add(sink, 0, time, time + 500, 0, name);
        zone_sink_extra(sink, &(struct trace_extra){.kind = TRACE_EXTRA_VALUE, .value = time});
        trace_writer_point(w, &(struct trace_point){.track = track,
                                                    .kind = TRACE_POINT_MESSAGE,
                                                    .time = time + 1,
                                                    .header = "h",
                                                    .text = "said",
                                                    .text_length = 4});
        trace_writer_counter(
            w, &(struct trace_counter){.track = track, .name = name, .time = time + 2, .value = 0.5});
        trace_writer_memory(w, &(struct trace_memory){.track = track,
                                                      .pool = time > 2000 ? name : TRACE_NONE,
                                                      .time = time + 3,
                                                      .address = time,
                                                      .size = 64});
        trace_writer_sample(
            w, &(struct trace_sample){.track = track, .time = time + 4, .frame_count = 1, .frames = &name});
        trace_writer_lock(w, &(struct trace_lock){.track = track,
                                                  .name = name,
                                                  .kind = TRACE_LOCK_HOLD,
                                                  .number = time << 32,
                                                  .start_ns = time + 5,
                                                  .end_ns = time + 400,
                                                  .is_shared = which});
    }
    struct trace_run_part figure = {.name = name, .kind = TRACE_FIGURE_COUNT, .whole = 9};
    if (which)
        trace_writer_run(w, &(struct trace_run){.call = 1,
                                                .process = process,
                                                .track = track,
                                                .name = name,
                                                .start = 1500,
                                                .duration = 41,
                                                .part_count = 1,
                                                .parts = &figure});
    else
        trace_writer_op(w, &(struct trace_op){.call = 1,
                                              .process = process,
                                              .track = track,
                                              .name = name,
                                              .description = TRACE_NONE,
                                              .start_ns = 1200,
                                              .end_ns = 1300,
                                              .part_count = 1,
                                              .parts = &figure});
    trace_writer_loss(w, &(struct trace_loss){.process = process,
                                              .track = track,
                                              .reason = TRACE_LOSS_BUFFER_FULL,
                                              .from_ns = 1100,
                                              .to_ns = 1200,
                                              .zones = 3,
                                              .records = 2});
}

struct open_zones {
    uint32_t tracks[2], name;
};

static void add_open_zones(void *context, struct trace_writer *w)
{
    const struct open_zones *open = context;
    for (size_t i = 0; i < 2; i++)
        trace_writer_open_zone(
            w, &(struct trace_open_zone){
                   .track = open->tracks[i], .start = 5601, .seen = 6001, .child = 7, .name = open->name});
}

static void write_everything(const char *path)
{
    struct trace_writer *w = open_writer(path, 0);
    uint32_t processes[2] = {add_process(w, 1)};
    struct trace_process child = {
        .id = TRACE_NONE, .parent = processes[0], .pid = 2, .command = "child", .host = "box"};
    processes[1] = trace_writer_process(w, &child);
    struct trace_clock clock = {
        .id = TRACE_NONE, .is_device = true, .ticks_per_second = 3e9, .name = "device"};
    uint32_t device_clock = trace_writer_clock(w, &clock);
    for (uint64_t i = 0; i < 2; i++) /* three ticks per nanosecond: no time has an exact inverse */
        trace_writer_clock_point(w, &(struct trace_clock_point){.clock = device_clock,
                                                                .ticks = i * 30000,
                                                                .host_ns = 100 + i * 10000});
    uint32_t tracks[2] = {add_track(w, processes[0], "main", 0),
                          add_track(w, processes[1], "device", device_clock)};
    struct open_zones open = {{tracks[0], tracks[1]}, add_name(w, "open")};
    trace_writer_set_open_zones(w, add_open_zones, &open);
    for (unsigned which = 0; which < 2; which++)
        write_every_row(w, processes, tracks, which);
    assert_ok(trace_writer_finish(w, ERR));
}

static void print_row(struct bytes *out, struct trace *t, uint32_t type, const struct trace_rows *rows,
                      size_t i)
{
    bytes_append_format(out, "%u at %llu ", type, (unsigned long long)rows->ticks[i]);
    if (type == TRACE_BLOCK_POINTS) {
        const struct trace_point *row = &rows->points[i];
        bytes_append_format(out, "%s %u %llu %s %.*s\n", trace_get_track(t, row->track)->name, row->kind,
                            (unsigned long long)row->time, row->header, (int)row->text_length, row->text);
    } else if (type == TRACE_BLOCK_COUNTERS) {
        const struct trace_counter *row = &rows->counters[i];
        bytes_append_format(out, "%s %s %llu %g\n", trace_get_track(t, row->track)->name,
                            trace_get_name(t, row->name)->name, (unsigned long long)row->time, row->value);
    } else if (type == TRACE_BLOCK_MEMORY) {
        const struct trace_memory *row = &rows->memory[i];
        bytes_append_format(out, "%s %s %llu %llu %llu %d\n", trace_get_track(t, row->track)->name,
                            trace_get_name(t, row->pool)->name, (unsigned long long)row->time,
                            (unsigned long long)row->address, (unsigned long long)row->size, row->is_release);
    } else if (type == TRACE_BLOCK_OPS) {
        const struct trace_op *row = &rows->ops[i];
        bytes_append_format(out, "%s %s %llu %llu %llu\n", trace_get_track(t, row->track)->name,
                            trace_get_name(t, row->name)->name, (unsigned long long)row->call,
                            (unsigned long long)row->end_ns, (unsigned long long)row->parts[0].whole);
    } else if (type == TRACE_BLOCK_RUNS) {
        const struct trace_run *row = &rows->runs[i];
        bytes_append_format(out, "%s %s %llu %llu %llu\n", trace_get_track(t, row->track)->name,
                            trace_get_name(t, row->name)->name, (unsigned long long)row->start,
                            (unsigned long long)row->duration, (unsigned long long)row->parts[0].whole);
    } else if (type == TRACE_BLOCK_SAMPLES) {
        const struct trace_sample *row = &rows->samples[i];
        bytes_append_format(out, "%s %s %llu\n", trace_get_track(t, row->track)->name,
                            trace_get_name(t, row->frames[0])->name, (unsigned long long)row->time);
    } else if (type == TRACE_BLOCK_LOCKS) {
        const struct trace_lock *row = &rows->locks[i];
        bytes_append_format(out, "%s %s %u %llu %llu %llu %d %d\n", trace_get_track(t, row->track)->name,
                            trace_get_name(t, row->name)->name, row->kind, (unsigned long long)row->number,
                            (unsigned long long)row->start_ns, (unsigned long long)row->end_ns,
                            row->is_shared, row->is_open);
    }
}

/* Everything that the trace holds, by name: ids may differ. */
static struct bytes print_trace(struct trace *t)
{
    struct bytes out = {0};
    struct trace_rows rows = {0};
    size_t count;
    for (uint32_t track = 0; track < trace_track_count(t); track++)
        bytes_append_format(&out, "%s of %s\n", trace_get_track(t, track)->name,
                            trace_get_process(t, trace_get_track(t, track)->process)->command);
    struct ref_zones zones = read_zones(t, NULL, TRACE_COLUMN_RAW_TICKS);
    for (size_t i = 0; i < zones.count; i++)
        bytes_append_format(
            &out, "zone %s %s %u %llu %llu %llu\n", trace_get_track(t, zones.items[i].track)->name,
            trace_get_name(t, zones.items[i].name)->name, zones.items[i].depth,
            (unsigned long long)zones.items[i].start, (unsigned long long)zones.items[i].duration,
            (unsigned long long)zones.items[i].child);
    ref_free(&zones);
    for (uint32_t type = TRACE_BLOCK_POINTS; type <= TRACE_BLOCK_LOCKS; type++) {
        const struct trace_block *block;
        struct trace_block_filter filter = {.type = type};
        for (int of_device = 0; of_device < 2 && trace_block_has_rows(type); of_device++)
            for (size_t position = 0; (block = trace_next_block(t, &filter, &position));) {
                if ((block->clock != TRACE_HOST_CLOCK) != (of_device != 0))
                    continue;
                assert_ok(trace_decode_rows(t, block, &rows, ERR));
                for (size_t i = 0; i < rows.count; i++)
                    print_row(&out, t, type, &rows, i);
            }
    }
    trace_rows_free(&rows);
    const struct trace_open_zone *open = trace_get_open_zones(t, &count);
    for (size_t i = 0; i < count; i++)
        bytes_append_format(&out, "open %s %s %llu %llu %llu\n", trace_get_track(t, open[i].track)->name,
                            trace_get_name(t, open[i].name)->name, (unsigned long long)open[i].start,
                            (unsigned long long)open[i].seen, (unsigned long long)open[i].child);
    const struct trace_loss *losses = trace_get_losses(t, &count);
    for (size_t i = 0; i < count; i++)
        bytes_append_format(&out, "loss %s %u %llu %llu\n", trace_get_track(t, losses[i].track)->name,
                            losses[i].reason, (unsigned long long)losses[i].zones,
                            (unsigned long long)losses[i].records);
    assert_false(out.failed);
    return out;
}

static void the_whole_window_is_the_whole_trace(void **state)
{
    (void)state;
    write_everything(test_path("all.opscope"));
    struct trace *whole = open_trace(test_path("all.opscope"), 0);
    const struct trace_info *info = trace_get_info(whole);
    assert_int_equal(info->points, 10);
    assert_int_equal(info->memory_events, 10);
    assert_int_equal(info->locks, 10);
    assert_string_equal(trace_get_track(whole, 0)->name, "main");
    struct trace_cut cut = {
        .track = 0, .since_ns = info->start_ns, .until_ns = info->end_ns, .command = "sh -c true"};
    assert_ok(trace_cut(whole, test_path("all of it.opscope"), &cut, ERR));
    struct trace *part = open_trace(test_path("all of it.opscope"), 0);
    struct bytes before = print_trace(whole), after = print_trace(part);
    assert_string_equal(bytes_text(&after), bytes_text(&before));
    bytes_free(&before);
    bytes_free(&after);
    trace_close(part);
    trace_close(whole);
}

/* An open zone that reaches into the window stays in it, as one that ended does. */
static void open_zones_are_cut(void **state)
{
    (void)state;
    size_t count = 0;
    write_everything(test_path("all.opscope"));
    struct trace *whole = open_trace(test_path("all.opscope"), 0);
    struct trace_cut cut = {.track = 0, .since_ns = 5700, .until_ns = 5800, .command = "x"};
    assert_ok(trace_cut(whole, test_path("late.opscope"), &cut, ERR));
    struct trace *part = open_trace(test_path("late.opscope"), 0);
    const struct trace_open_zone *open = trace_get_open_zones(part, &count);
    assert_int_equal(count, 1); /* the device's began at 1,967 ns and was last seen at 2,100 */
    assert_int_equal(open[0].start, 5700);
    assert_int_equal(open[0].seen, 5800);
    trace_close(part);
    trace_close(whole);
}

/* Waits and holds as well: those that only touch the window from outside are not in it. */
static void locks_are_cut(void **state)
{
    (void)state;
    struct trace_rows rows = {0};
    size_t position = 0;
    write_everything(test_path("all.opscope"));
    struct trace *whole = open_trace(test_path("all.opscope"), 0);
    struct trace_cut cut = {.track = 0, .since_ns = 2300, .until_ns = 3100, .command = "x"};
    assert_ok(trace_cut(whole, test_path("locks.opscope"), &cut, ERR));
    struct trace *part = open_trace(test_path("locks.opscope"), 0);
    struct trace_block_filter filter = {.type = TRACE_BLOCK_LOCKS};
    const struct trace_block *block = trace_next_block(part, &filter, &position);
    assert_non_null(block);
    assert_ok(trace_decode_rows(part, block, &rows, ERR));
    static const uint64_t times[2][2] = {{2300, 2400}, {3005, 3100}};
    assert_int_equal(rows.count, 4); /* of two threads */
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(rows.locks[i].start_ns, times[i % 2][0]);
        assert_int_equal(rows.locks[i].end_ns, times[i % 2][1]);
        assert_int_equal(rows.locks[i].number, (uint64_t)(i % 2 ? 3000 : 2000) << 32);
        assert_int_equal(rows.locks[i].is_shared, i > 1);
    }
    assert_null(trace_next_block(part, &filter, &position));
    trace_rows_free(&rows);
    trace_close(part);
    trace_close(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zones_of_the_window),
        cmocka_unit_test(the_text_of_a_zone),
        cmocka_unit_test(rows_of_the_window),
        cmocka_unit_test(nothing_is_left_of_a_failure),
        cmocka_unit_test(the_whole_window_is_the_whole_trace),
        cmocka_unit_test(open_zones_are_cut),
        cmocka_unit_test(locks_are_cut),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
