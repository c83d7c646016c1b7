/* SPDX-License-Identifier: Apache-2.0 */
/* What is drawn: at every zoom all zones are in it exactly once, with their time; few rows; single zones
 * exact. */
#include "test_trace_support.h"

struct made {
    struct ref_zones zones;
    struct trace *t;
    uint32_t tracks;
    uint64_t start, end;
};

/* Threads of very different density, short-lived ones in packed blocks, a zone over everything. */
static void make_trace(struct made *m, const char *path)
{
    struct trace_writer *w = open_writer(path, 0);
    uint32_t names[30], process = add_process(w, 1);
    struct call_maker makers[4];
    uint64_t steps[4] = {20, 300, 40000, 50000000};
    for (uint32_t i = 0; i < 30; i++) {
        char text[16];
        snprintf(text, sizeof text, "zone %u", i);
        names[i] = add_name(w, text);
    }
    for (uint32_t i = 0; i < 4; i++)
        makers[i] = (struct call_maker){.list = &m->zones,
                                        .sink = trace_writer_sink(w, add_track(w, process, "t", 0)),
                                        .names = names,
                                        .name_count = 30,
                                        .max_depth = 2 + i,
                                        .now = 1000000,
                                        .step = steps[i]};
    m->tracks = 4;
    for (uint64_t round = 0; round < 80; round++) {
        for (uint32_t i = 0; i < 4; i++)
            make_calls(&makers[i], 1, i == 0 ? 1500 : 40);
        struct zone_sink *brief = trace_writer_sink(w, add_track(w, process, "short", 0));
        for (uint64_t k = 0; k < 20; k++)
            put_zone(&m->zones, brief, 1, makers[1].now + k * 70, makers[1].now + k * 70 + 33, 0, names[k]);
        trace_writer_close_sink(w, brief);
        m->tracks++;
        assert_ok(trace_writer_tick(w, 1 + round * 400000000, ERR));
    }
    for (uint32_t i = 0; i < 4; i++)
        put_zone(&m->zones, makers[i].sink, 0, 999999, makers[i].now + 1, 0, names[i]);
    assert_ok(trace_writer_finish(w, ERR));
    ref_sort(&m->zones);
    m->t = open_trace(path, 0);
    m->start = trace_get_info(m->t)->start_ns;
    m->end = trace_get_info(m->t)->end_ns;
}

static void free_made(struct made *m)
{
    trace_close(m->t);
    ref_free(&m->zones);
}

struct sums {
    uint64_t count, busy, longest;
};

static struct sums expected_sums(const struct made *m, uint32_t track, uint32_t depth, uint64_t since,
                                 uint64_t until)
{
    struct sums s = {0};
    for (size_t i = 0; i < m->zones.count; i++) {
        const struct ref_zone *z = &m->zones.items[i];
        if (z->track != track || z->depth != depth || z->start > until || z->start + z->duration < since)
            continue;
        s.count++;
        s.busy += z->duration;
        s.longest = z->duration > s.longest ? z->duration : s.longest;
    }
    return s;
}

/* Sums of what is drawn; checks order and shape on the way. */
static struct sums drawn_sums(struct made *m, uint32_t track, uint32_t depth, uint64_t since, uint64_t until,
                              uint32_t pixels, struct lod_rows *rows)
{
    struct sums s = {0};
    assert_ok(trace_lod(m->t, track, depth, since, until, pixels, rows, ERR));
    for (size_t i = 0; i < rows->count; i++) {
        const struct lod_row *row = &rows->rows[i];
        assert_true(row->start_ns <= until && row->end_ns >= since);
        assert_true(row->end_ns >= row->start_ns && row->count > 0);
        assert_true(row->longest_ns <= row->end_ns - row->start_ns);
        assert_true(row->busy_ns <= row->end_ns - row->start_ns); /* host zones of one depth never overlap */
        if (row->count == 1)
            assert_true(row->busy_ns == row->end_ns - row->start_ns && row->longest_ns == row->busy_ns);
        if (i > 0)
            assert_true(row->start_ns >= row[-1].start_ns);
        s.count += row->count;
        s.busy += row->busy_ns;
        s.longest = row->longest_ns > s.longest ? row->longest_ns : s.longest;
    }
    return s;
}

static void test_whole_trace(void **state)
{
    static const uint32_t pixels[] = {1, 3, 50, 400, 2000, 30000, 4000000};
    struct made m = {0};
    struct lod_rows rows = {0};
    (void)state;
    make_trace(&m, test_path("lod.opscope"));
    for (uint32_t track = 0; track < m.tracks; track++)
        for (uint32_t depth = 0; depth < trace_track_depth_count(m.t, track); depth++)
            for (size_t p = 0; p < sizeof pixels / sizeof *pixels; p++) {
                struct sums want = expected_sums(&m, track, depth, m.start, m.end);
                struct sums got = drawn_sums(&m, track, depth, m.start, m.end, pixels[p], &rows);
                assert_int_equal(got.count, want.count);
                assert_int_equal(got.busy, want.busy);
                assert_int_equal(got.longest, want.longest);
                assert_true(rows.count <= 2 * (size_t)pixels[p] + 2);
            }
    lod_rows_free(&rows);
    free_made(&m);
}

/* Any window: everything that touches it is in; what is there beyond lies within a few pixels of its edges. */
static void test_windows(void **state)
{
    struct made m = {0};
    struct lod_rows rows = {0};
    size_t single = 0;
    (void)state;
    make_trace(&m, test_path("windows.opscope"));
    for (int round = 0; round < 600; round++) {
        uint32_t track = (uint32_t)random_below(round % 3 ? 4 : m.tracks),
                 pixels = 1 + (uint32_t)random_below(3000);
        uint32_t depth = (uint32_t)random_below(trace_track_depth_count(m.t, track));
        uint64_t length = ((m.end - m.start) >> random_below(30)) + 1;
        uint64_t since = m.start + random_below(m.end - m.start), until = since + length;
        uint64_t margin = 20 * (length / pixels + 1);
        uint64_t wide_since = since > margin ? since - margin : 0;
        struct sums got = drawn_sums(&m, track, depth, since, until, pixels, &rows);
        struct sums least = expected_sums(&m, track, depth, since, until);
        struct sums most = expected_sums(&m, track, depth, wide_since, until + margin);
        assert_true(got.count >= least.count && got.count <= most.count);
        assert_true(got.busy >= least.busy && got.busy <= most.busy);
        assert_true(got.longest >= least.longest && got.longest <= most.longest);
        assert_true(rows.count <= 2 * (size_t)pixels + 2);
        for (size_t i = 0; i < rows.count; i++) { /* a row of one zone is that zone */
            if (rows.rows[i].count != 1)
                continue;
            bool is_found = false;
            for (size_t k = 0; k < m.zones.count && !is_found; k++) {
                const struct ref_zone *z = &m.zones.items[k];
                is_found = z->track == track && z->depth == depth && z->start == rows.rows[i].start_ns &&
                           z->duration == rows.rows[i].busy_ns && z->name == rows.rows[i].name;
            }
            assert_true(is_found);
            if (++single % 50 == 0)
                break; /* a linear search each: some will do */
        }
    }
    assert_true(single > 300);
    lod_rows_free(&rows);
    free_made(&m);
}

/* Where zones are wider than pixels every one of them is a row. */
static void test_close_up(void **state)
{
    struct made m = {0};
    struct lod_rows rows = {0};
    (void)state;
    make_trace(&m, test_path("close.opscope"));
    for (int round = 0; round < 200; round++) {
        uint32_t track = (uint32_t)random_below(4);
        uint64_t since = m.zones.items[random_below(m.zones.count)].start, until = since + 2000;
        size_t at = 0;
        assert_ok(trace_lod(m.t, track, 1, since, until, 1000000, &rows, ERR));
        for (size_t i = 0; i < m.zones.count; i++) {
            const struct ref_zone *z = &m.zones.items[i];
            if (z->track != track || z->depth != 1 || z->start > until || z->start + z->duration < since ||
                z->duration == 0)
                continue;
            while (at < rows.count && rows.rows[at].end_ns == rows.rows[at].start_ns)
                at++; /* zones without a length may share a row */
            assert_true(at < rows.count);
            assert_int_equal(rows.rows[at].start_ns, z->start);
            assert_int_equal(rows.rows[at].end_ns, z->start + z->duration);
            assert_int_equal(rows.rows[at].name, z->name);
            at++;
        }
    }
    lod_rows_free(&rows);
    free_made(&m);
}

/* A device track: host times come out, overlapping zones are all counted. */
static void test_device_track(void **state)
{
    const char *path = test_path("lod-device.opscope");
    struct trace_writer *w = open_writer(path, 0);
    struct trace_clock clock = {.id = TRACE_NONE, .is_device = true, .ticks_per_second = 5e8, .name = "chip"};
    uint32_t id = trace_writer_clock(w, &clock), process = add_process(w, 1), name = add_name(w, "kernel");
    struct zone_sink *sink = trace_writer_sink(w, add_track(w, process, "core", id));
    struct trace_clock_point points[2] = {{.clock = id, .ticks = 0, .host_ns = 1000000},
                                          {.clock = id, .ticks = 500000000, .host_ns = 1001000000}};
    struct lod_rows rows = {0};
    uint64_t count, busy;
    (void)state;
    trace_writer_clock_point(w, &points[0]);
    trace_writer_clock_point(w, &points[1]);
    for (uint64_t i = 0; i < 100000; i++) { /* each one begins before the one before it ended, now and then */
        uint64_t start = i * 1000 + random_below(1500);
        zone_sink_add(sink, 0, start, start + 500, 0, name);
    }
    assert_ok(trace_writer_finish(w, ERR));
    struct trace *t = open_trace(path, 0);
    for (uint32_t pixels = 10; pixels <= 1000000; pixels *= 10) {
        assert_ok(trace_lod(t, 0, 0, 0, 2000000000, pixels, &rows, ERR));
        count = busy = 0;
        for (size_t i = 0; i < rows.count; i++) {
            count += rows.rows[i].count;
            busy += rows.rows[i].busy_ns;
        }
        assert_int_equal(count, 100000);
        assert_in_range(busy, 100000ull * 1000 - rows.count - 100,
                        100000ull * 1000 + 100); /* 500 ticks = 1 us */
        assert_in_range(rows.rows[0].start_ns, 1000000, 1004000);
    }
    lod_rows_free(&rows);
    trace_close(t);
}

static void test_bad_windows(void **state)
{
    struct made m = {0};
    struct lod_rows rows = {0};
    struct error err = {0};
    (void)state;
    make_trace(&m, test_path("bad.opscope"));
    assert_int_equal(trace_lod(m.t, 100000, 0, 0, 10, 10, &rows, &err), -EINVAL);
    assert_int_equal(trace_lod(m.t, 0, 0, 10, 0, 10, &rows, &err), -EINVAL);
    assert_int_equal(trace_lod(m.t, 0, 0, 0, 10, 0, &rows, &err), -EINVAL);
    assert_ok(trace_lod(m.t, 0, 60000, 0, UINT64_MAX, 10, &rows, ERR)); /* no such depth */
    assert_int_equal(rows.count, 0);
    assert_ok(trace_lod(m.t, 0, 0, m.end + 5, UINT64_MAX, 10, &rows, ERR));
    assert_int_equal(rows.count, 0);
    assert_ok(trace_lod(m.t, 0, 1, m.start, m.start, 1, &rows, ERR)); /* a window without length */
    lod_rows_free(&rows);
    free_made(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_trace), cmocka_unit_test(test_windows),
        cmocka_unit_test(test_close_up),    cmocka_unit_test(test_device_track),
        cmocka_unit_test(test_bad_windows),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
