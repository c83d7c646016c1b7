/* SPDX-License-Identifier: Apache-2.0 */
/* Zones through the writer and back: every zone exactly once, whatever its track, depth, length and order. */
#include "test_trace_support.h"
#include "trace/format.h"

static struct trace *finish_and_open(struct trace_writer *w, const char *path)
{
    assert_ok(trace_writer_finish(w, ERR));
    return open_trace(path, 0);
}

static void check_all(struct trace *t, struct ref_zones *expected, unsigned flags)
{
    struct ref_zones got = read_zones(t, NULL, flags);
    ref_sort(expected);
    assert_same_zones(&got, expected);
    assert_int_equal(trace_get_info(t)->zones, expected->count);
    uint64_t sum = 0;
    for (uint32_t track = 0; track < trace_track_count(t); track++) {
        uint64_t count = 0;
        uint32_t depths = 0;
        for (size_t i = 0; i < expected->count; i++)
            if (expected->items[i].track == track) {
                count++;
                depths = expected->items[i].depth >= depths ? expected->items[i].depth + 1 : depths;
            }
        assert_int_equal(trace_track_zone_count(t, track), count);
        assert_int_equal(trace_track_depth_count(t, track), depths);
        sum += count;
    }
    assert_int_equal(sum, expected->count);
    ref_free(&got);
}

/* Calls nested at random in several tracks, blocks cut by count, by age and at the end. */
static void test_nested_calls(void **state)
{
    const char *path = test_path("nested.opscope");
    struct trace_writer *w = open_writer(path, 0);
    struct ref_zones expected = {0};
    struct call_maker makers[5];
    uint32_t names[40], process = add_process(w, 1);
    (void)state;
    for (uint32_t i = 0; i < 40; i++) {
        char text[16];
        snprintf(text, sizeof text, "zone %u", i);
        names[i] = add_name(w, text);
    }
    for (uint32_t i = 0; i < 5; i++)
        makers[i] = (struct call_maker){.list = &expected,
                                        .sink = trace_writer_sink(w, add_track(w, process, "thread", 0)),
                                        .names = names,
                                        .name_count = 40,
                                        .max_depth = 3 * i,
                                        .now = 1000000,
                                        .step = i == 4 ? 3000000000 : 50 + 1000 * i};
    for (uint64_t round = 0; round < 120; round++) {
        for (uint32_t i = 0; i < 5; i++)
            make_calls(&makers[i], 0, (uint32_t)random_below(i == 0 ? 900 : 90));
        assert_ok(trace_writer_tick(w, round * 300000000, ERR));
    }
    struct trace *t = finish_and_open(w, path);
    check_all(t, &expected, 0);
    assert_true(trace_get_info(t)->is_complete);
    assert_true(trace_get_info(t)->zone_blocks > 5);
    trace_close(t);
    t = open_trace(path, TRACE_OPEN_SALVAGE); /* a scan finds the same */
    check_all(t, &expected, 0);
    assert_int_equal(trace_get_info(t)->damaged_blocks, 0);
    trace_close(t);
    ref_free(&expected);
}

/* Zones of seconds, hours and zero length; gaps beyond 32 bits; children beyond 32 bits. */
static void test_long_zones(void **state)
{
    const char *path = test_path("long.opscope");
    struct trace_writer *w = open_writer(path, 0);
    struct ref_zones expected = {0};
    uint32_t process = add_process(w, 1), name = add_name(w, "a"), other = add_name(w, "b");
    struct zone_sink *sink = trace_writer_sink(w, add_track(w, process, "main", 0));
    uint64_t now = UINT64_C(1) << 45;
    (void)state;
    for (int i = 0; i < 3000; i++) {
        uint64_t start = now;
        put_zone(&expected, sink, 2, now + 1, now + 1, 0, name); /* no length at all */
        put_zone(&expected, sink, 2, now + 2, now + 10, 0, other);
        now += i % 7 == 0 ? UINT64_C(5000000000) : i % 11 == 0 ? UINT64_C(4294967295) : 100;
        put_zone(&expected, sink, 1, start, now, now - start - 5, other);
        now += i % 5 == 0 ? UINT64_C(4294967296) : 3;
    }
    put_zone(&expected, sink, 0, UINT64_C(1) << 45, now, now - (UINT64_C(1) << 45),
             name); /* began before all */
    put_zone(&expected, sink, 0, now + 1, now + 1 + (UINT64_C(1) << 52), 17, name);
    struct trace *t = finish_and_open(w, path);
    check_all(t, &expected, 0);
    assert_int_equal(trace_get_info(t)->start_ns, UINT64_C(1) << 45);
    assert_int_equal(trace_get_info(t)->end_ns, now + 1 + (UINT64_C(1) << 52));
    trace_close(t);
    ref_free(&expected);
}

/* A stack 2,000 deep, entered and left several times. */
static void test_deep_stack(void **state)
{
    const char *path = test_path("deep.opscope");
    struct trace_writer *w = open_writer(path, 0);
    struct ref_zones expected = {0};
    uint32_t process = add_process(w, 1), name = add_name(w, "recurse");
    struct zone_sink *sink = trace_writer_sink(w, add_track(w, process, "main", 0));
    (void)state;
    for (uint64_t round = 0; round < 12; round++)
        for (uint32_t depth = 2000; depth-- > 0;)
            put_zone(&expected, sink, depth, round * 100000 + depth, round * 100000 + 90000 - depth,
                     depth < 1999 ? 90000 - 2 * depth - 2 : 0, name);
    put_zone(&expected, sink, TRACE_MAX_DEPTH - 1, 2000000, 2000001, 0, name);
    zone_sink_add(sink, TRACE_MAX_DEPTH, 2000002, 2000003, 0, name); /* too deep: counted */
    struct trace *t = finish_and_open(w, path);
    check_all(t, &expected, 0);
    size_t losses;
    const struct trace_loss *loss = trace_get_losses(t, &losses);
    assert_int_equal(losses, 1);
    assert_int_equal(loss->reason, TRACE_LOSS_TOO_DEEP);
    assert_int_equal(loss->zones, 1);
    assert_int_equal(trace_get_info(t)->lost_zones, 1);
    trace_close(t);
    ref_free(&expected);
}

/* 10,000 short threads beside 1,000 that live on: packed blocks, and few of them. */
static void test_many_threads(void **state)
{
    const char *path = test_path("threads.opscope");
    struct trace_writer *w = open_writer(path, 0);
    struct ref_zones expected = {0};
    uint32_t process = add_process(w, 1), name = add_name(w, "work");
    static struct zone_sink *live[1000];
    (void)state;
    for (uint32_t i = 0; i < 1000; i++)
        live[i] = trace_writer_sink(w, add_track(w, process, "live", 0));
    for (uint64_t i = 0; i < 10000; i++) {
        struct zone_sink *sink = trace_writer_sink(w, add_track(w, process, "short", 0));
        for (uint64_t k = 0; k < 10; k++)
            put_zone(&expected, sink, k % 2 ? 0 : 1, i * 1000 + k * 50, i * 1000 + k * 50 + 40, 0, name);
        trace_writer_close_sink(w, sink);
        put_zone(&expected, live[i % 1000], 0, i * 1000, i * 1000 + 77, 0, name);
        if (i % 500 == 0)
            assert_ok(trace_writer_tick(w, 1 + i * 2000000, ERR));
    }
    struct trace *t = finish_and_open(w, path);
    check_all(t, &expected, 0);
    assert_true(trace_get_info(t)->zone_blocks < 60);
    assert_true(trace_get_info(t)->zone_bytes / expected.count < 5);
    trace_close(t);
    ref_free(&expected);
}

/* More open rows than the budget of memory: blocks are written early, nothing is lost. */
static void test_memory_budget(void **state)
{
    const char *path = test_path("budget.opscope");
    struct trace_writer *w = open_writer(path, 0);
    uint32_t process = add_process(w, 1), name = add_name(w, "work");
    static struct zone_sink *sinks[700];
    uint64_t per_track = 15000; /* 700 x 16 Ki rows of 16 bytes would be 175 MiB, and never a full block */
    (void)state;
    for (uint32_t i = 0; i < 700; i++)
        sinks[i] = trace_writer_sink(w, add_track(w, process, "t", 0));
    for (uint64_t k = 0; k < per_track; k++)
        for (uint32_t i = 0; i < 700; i++)
            zone_sink_add(sinks[i], 0, k * 100 + i, k * 100 + i + 50, 0, name);
    assert_true(trace_writer_zone_count(w) > 0); /* some had to go */
    struct trace *t = finish_and_open(w, path);
    assert_int_equal(trace_get_info(t)->zones, 700 * per_track);
    for (uint32_t i = 0; i < 700; i++)
        assert_int_equal(trace_track_zone_count(t, i), per_track);
    trace_close(t);
}

/* A device: ticks of its own clock, zones out of order and overlapping, sync points that come late. */
static void test_device_clock(void **state)
{
    const char *path = test_path("device.opscope");
    struct trace_writer *w = open_writer(path, 0);
    struct ref_zones expected = {0}, converted = {0};
    struct trace_clock clock = {
        .id = TRACE_NONE, .is_device = true, .ticks_per_second = 1.0e9, .name = "chip 0"};
    uint32_t id = trace_writer_clock(w, &clock), process = add_process(w, 1);
    uint32_t track = add_track(w, process, "core 3", id), name = add_name(w, "kernel");
    struct zone_sink *sink = trace_writer_sink(w, track);
    (void)state;
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t start = 1000000 + i * 1000 + random_below(50000);
        put_zone(&expected, sink, (uint32_t)(i % 3), start, start + random_below(5000), random_below(100),
                 name);
    }
    /* 1 tick = 2 ns up to 10,000,000 ticks, then 3 ns. */
    struct trace_clock_point points[] = {{.clock = id, .ticks = 10000000, .host_ns = 120000000},
                                         {.clock = id, .ticks = 0, .host_ns = 100000000},
                                         {.clock = id, .ticks = 20000000, .host_ns = 150000000}};
    for (size_t i = 0; i < 3; i++)
        trace_writer_clock_point(w, &points[i]);
    struct trace *t = finish_and_open(w, path);
    check_all(t, &expected, TRACE_COLUMN_RAW_TICKS);
    assert_int_equal(trace_host_ns(t, id, 0), 100000000);
    assert_int_equal(trace_host_ns(t, id, 5000000), 110000000);
    assert_int_equal(trace_host_ns(t, id, 15000000), 135000000);
    assert_int_equal(trace_host_ns(t, id, 30000000), 180000000);
    assert_int_equal(trace_host_ns(t, TRACE_HOST_CLOCK, 30000000), 30000000);
    struct ref_zones got = read_zones(t, NULL, 0);
    for (size_t i = 0; i < expected.count; i++) {
        struct ref_zone zone = expected.items[i];
        uint64_t ticks = zone.duration, start = trace_host_ns(t, id, zone.start);
        zone.duration = trace_host_ns(t, id, zone.start + ticks) - start;
        zone.start = start;
        if (ticks)
            zone.child = zone.child * zone.duration / ticks;
        ref_add(&converted, zone);
    }
    ref_sort(&converted);
    assert_same_zones(&got, &converted);
    ref_free(&got);
    ref_free(&converted);
    ref_free(&expected);
    trace_close(t);
}

/* Texts, values, colours and calls stay with their zones, carried ones too, over blocks. */
static void test_extras(void **state)
{
    const char *path = test_path("extras.opscope");
    struct trace_writer *w = open_writer(path, 0);
    uint32_t process = add_process(w, 1), name = add_name(w, "work");
    struct zone_sink *sinks[2];
    struct zone_rows rows = {0};
    struct trace_block_filter filter = {.type = TRACE_BLOCK_ZONES};
    size_t position = 0, found = 0;
    (void)state;
    for (uint32_t i = 0; i < 2; i++)
        sinks[i] = trace_writer_sink(w, add_track(w, process, "t", 0));
    char *large = malloc(TRACE_MAX_TEXT + 10);
    assert_non_null(large);
    memset(large, 'x', TRACE_MAX_TEXT + 10);
    for (uint64_t i = 0; i < 40000; i++) {
        struct zone_sink *sink = sinks[i % 2];
        bool is_carried = i % 1000 == 500; /* it began before the block did */
        zone_sink_add(sink, (uint32_t)(i % 3), is_carried ? 1 : i * 100, i * 100 + 50, 0, name);
        if (i % 100 != 0)
            continue;
        char text[64];
        struct trace_extra extra = {.kind = TRACE_EXTRA_TEXT, .text = text};
        extra.text_length =
            (uint32_t)snprintf(text, sizeof text, "ends at %llu", (unsigned long long)(i * 100 + 50));
        zone_sink_extra(sink, &extra);
        extra = (struct trace_extra){.kind = TRACE_EXTRA_VALUE, .value = i};
        zone_sink_extra(sink, &extra);
    }
    zone_sink_add(sinks[0], 0, 5000000, 5000001, 0, name);
    struct trace_extra huge = {.kind = TRACE_EXTRA_TEXT, .text = large, .text_length = TRACE_MAX_TEXT + 10};
    zone_sink_extra(sinks[0], &huge); /* cut at the limit */
    struct trace *t = finish_and_open(w, path);
    const struct trace_block *block;
    bool found_huge = false;
    uint64_t read = 0;
    assert_int_equal(trace_zones_read(t), 0);
    while ((block = trace_next_block(t, &filter, &position))) {
        assert_ok(trace_decode_zones(t, block, TRACE_COLUMN_ALL, &rows, ERR));
        read += rows.count;
        assert_int_equal(trace_zones_read(t), read);
        for (size_t i = 0; i < rows.extra_count; i++) {
            const struct trace_extra *extra = &rows.extras[i];
            uint64_t end = rows.start[extra->row] + rows.duration[extra->row];
            char text[64];
            if (i > 0)
                assert_true(extra->row >= extra[-1].row);
            if (extra->kind == TRACE_EXTRA_VALUE) {
                assert_int_equal(extra->value * 100 + 50, end);
                found++;
            } else if (extra->text_length == TRACE_MAX_TEXT) {
                assert_int_equal(end, 5000001);
                found_huge = true;
            } else {
                assert_int_equal(snprintf(text, sizeof text, "ends at %llu", (unsigned long long)end),
                                 (int)extra->text_length);
                assert_memory_equal(text, extra->text, extra->text_length);
                found++;
            }
        }
    }
    assert_int_equal(found, 800);
    assert_int_equal(read, trace_get_info(t)->zones);
    assert_true(found_huge);
    zone_rows_free(&rows);
    trace_close(t);
    free(large);
}

/* Columns that were not asked for are not there; those asked for are the same. */
static void test_columns(void **state)
{
    const char *path = test_path("columns.opscope");
    struct trace_writer *w = open_writer(path, 0);
    struct ref_zones expected = {0};
    uint32_t process = add_process(w, 1), names[2] = {add_name(w, "a"), add_name(w, "b")};
    struct call_maker maker = {.list = &expected,
                               .sink = trace_writer_sink(w, add_track(w, process, "t", 0)),
                               .names = names,
                               .name_count = 2,
                               .max_depth = 4,
                               .now = 500,
                               .step = 100};
    struct zone_rows all = {0}, some = {0};
    struct trace_block_filter filter = {.type = TRACE_BLOCK_ZONES};
    const struct trace_block *block;
    size_t position = 0;
    (void)state;
    make_calls(&maker, 0, 3000);
    struct trace *t = finish_and_open(w, path);
    while ((block = trace_next_block(t, &filter, &position))) {
        assert_ok(trace_decode_zones(t, block, TRACE_COLUMN_ALL, &all, ERR));
        for (unsigned columns = 0; columns < 16; columns++) {
            assert_ok(trace_decode_zones(t, block, columns, &some, ERR));
            assert_int_equal(some.count, all.count);
            assert_int_equal(some.group_count, all.group_count);
            assert_int_equal(some.start != NULL, (columns & TRACE_COLUMN_START) != 0);
            assert_int_equal(some.duration != NULL, (columns & TRACE_COLUMN_DURATION) != 0);
            assert_int_equal(some.child != NULL, (columns & TRACE_COLUMN_CHILD) != 0);
            assert_int_equal(some.name != NULL, (columns & TRACE_COLUMN_NAME) != 0);
            if (some.start)
                assert_memory_equal(some.start, all.start, all.count * 8);
            if (some.duration)
                assert_memory_equal(some.duration, all.duration, all.count * 8);
            if (some.child)
                assert_memory_equal(some.child, all.child, all.count * 8);
            if (some.name)
                assert_memory_equal(some.name, all.name, all.count * 4);
        }
    }
    zone_rows_free(&all);
    zone_rows_free(&some);
    trace_close(t);
    ref_free(&expected);
}

/* What a window's blocks hold includes every zone that touches the window. */
static void test_window_blocks(void **state)
{
    const char *path = test_path("window.opscope");
    struct trace_writer *w = open_writer(path, 0);
    struct ref_zones expected = {0};
    uint32_t process = add_process(w, 1), names[3] = {add_name(w, "a"), add_name(w, "b"), add_name(w, "c")};
    struct call_maker makers[3];
    size_t skipped = 0;
    (void)state;
    for (uint32_t i = 0; i < 3; i++)
        makers[i] = (struct call_maker){.list = &expected,
                                        .sink = trace_writer_sink(w, add_track(w, process, "t", 0)),
                                        .names = names,
                                        .name_count = 3,
                                        .max_depth = 6,
                                        .now = 1000,
                                        .step = 1000};
    for (uint64_t round = 0; round < 100; round++) {
        for (uint32_t i = 0; i < 3; i++)
            make_calls(&makers[i], 0, 300);
        assert_ok(trace_writer_tick(w, 1 + round * 500000000, ERR));
    }
    struct trace *t = finish_and_open(w, path);
    uint64_t end = trace_get_info(t)->end_ns;
    ref_sort(&expected);
    for (int round = 0; round < 60; round++) {
        uint64_t since = random_below(end), until = since + random_below(end >> random_below(12)) + 1;
        uint32_t track = (uint32_t)random_below(4);
        struct trace_block_filter filter = {
            .since_ns = since, .until_ns = until, .track_plus_1 = track == 3 ? 0 : track + 1};
        struct ref_zones got = read_zones(t, &filter, 0), inside = {0}, wanted = {0};
        for (size_t i = 0; i < got.count; i++) {
            const struct ref_zone *z = &got.items[i];
            if (z->start <= until && z->start + z->duration >= since && (track == 3 || z->track == track))
                ref_add(&inside, *z);
        }
        for (size_t i = 0; i < expected.count; i++) {
            const struct ref_zone *z = &expected.items[i];
            if (z->start <= until && z->start + z->duration >= since && (track == 3 || z->track == track))
                ref_add(&wanted, *z);
        }
        assert_same_zones(&inside, &wanted);
        skipped += expected.count - got.count;
        ref_free(&got);
        ref_free(&inside);
        ref_free(&wanted);
    }
    assert_true(skipped > expected.count * 10); /* the filter does leave blocks out */
    trace_close(t);
    ref_free(&expected);
}

static void list_too_many(void *context, struct trace_writer *w)
{
    struct trace_open_zone zone = *(const struct trace_open_zone *)context;
    for (uint32_t i = 0; i < BLOCK_MAX_ROWS + 3; i++) {
        zone.depth = i % TRACE_MAX_DEPTH;
        trace_writer_open_zone(w, &zone);
    }
}

/* Depths that no zone has: tables by depth would be of gigabytes. */
static void list_too_deep(void *context, struct trace_writer *w)
{
    struct trace_open_zone zone = *(const struct trace_open_zone *)context;
    static const uint32_t depths[] = {2, TRACE_MAX_DEPTH + 1, UINT32_MAX - 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        zone.depth = depths[i];
        trace_writer_open_zone(w, &zone);
    }
}

static void test_open_zones_too_deep_are_none(void **state)
{
    const char *path = test_path("deep.opscope");
    struct trace_writer *w = open_writer(path, 0);
    struct trace_open_zone zone = {.start = 4000, .seen = 4000};
    size_t count;
    (void)state;
    zone.track = add_track(w, add_process(w, 1), "main", 0);
    zone.name = add_name(w, "work");
    trace_writer_set_open_zones(w, list_too_deep, &zone);
    assert_ok(trace_writer_finish(w, ERR));
    struct trace *t = open_trace(path, 0);
    const struct trace_open_zone *zones = trace_get_open_zones(t, &count);
    assert_int_equal(count, 1);
    assert_int_equal(zones[0].depth, 2);
    assert_int_equal(trace_track_all_depths(t, 0), 3);
    trace_close(t);
}

static void test_open_zones_without_room_are_lost(void **state)
{
    const char *path = test_path("open.opscope");
    struct trace_writer *w = open_writer(path, 0);
    struct trace_open_zone zone = {.start = 4000, .seen = 4000};
    size_t count;
    (void)state;
    zone.track = add_track(w, add_process(w, 1), "main", 0);
    zone.name = add_name(w, "work");
    trace_writer_set_open_zones(w, list_too_many, &zone);
    assert_ok(trace_writer_finish(w, ERR));
    struct trace *t = open_trace(path, 0);
    trace_get_open_zones(t, &count);
    assert_int_equal(count, BLOCK_MAX_ROWS);
    assert_int_equal(trace_get_info(t)->lost_zones, 3);
    trace_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open_zones_too_deep_are_none),
        cmocka_unit_test(test_open_zones_without_room_are_lost),
        cmocka_unit_test(test_nested_calls),
        cmocka_unit_test(test_long_zones),
        cmocka_unit_test(test_deep_stack),
        cmocka_unit_test(test_many_threads),
        cmocka_unit_test(test_memory_budget),
        cmocka_unit_test(test_device_clock),
        cmocka_unit_test(test_extras),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_window_blocks),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
