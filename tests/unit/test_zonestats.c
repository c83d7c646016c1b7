/* SPDX-License-Identifier: Apache-2.0 */
/* Zone statistics against a count by hand, from traces of many blocks. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/zones/histogram.h"
#include "analyze/zones/stats.h"
#include "zone_program.h"

struct expected {
    uint64_t *durations;
    size_t count, capacity, open;
    uint64_t sum, total, child;
};

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static bool is_inside_same_name(const struct zone_program *p, const struct made_zone *zone)
{
    for (size_t i = zone->parent; i != SIZE_MAX; i = p->zones[i].parent) {
        if (p->zones[i].name == zone->name)
            return true;
    }
    return false;
}

/* By hand: what a row for (name, thread or process) should say. UINT32_MAX = any. */
static void count_by_hand(const struct zone_program *p, uint32_t name, uint32_t thread, uint32_t process,
                          uint64_t since, uint64_t until, struct expected *e)
{
    *e = (struct expected){0};
    e->durations = malloc((p->count + 1) * sizeof *e->durations);
    assert_non_null(e->durations);
    for (size_t i = 0; i < p->count; i++) {
        const struct made_zone *zone = &p->zones[i];
        uint64_t part = made_part(p, zone, since, until);
        if ((thread != UINT32_MAX && zone->thread != thread) ||
            (process != UINT32_MAX && zone->thread % 2 != process) || !made_is_in(p, zone, since, until))
            continue;
        if (zone->parent != SIZE_MAX && p->zones[zone->parent].name == name)
            e->child += part;
        if (zone->name != name)
            continue;
        e->durations[e->count++] = part;
        e->sum += part;
        e->total += is_inside_same_name(p, zone) ? 0 : part;
        e->open += zone->end == 0;
    }
    qsort(e->durations, e->count, sizeof e->durations[0], compare_u64);
}

static void assert_percentile(const struct expected *e, unsigned percent, uint64_t value)
{
    uint64_t right = e->durations[(e->count * percent + 99) / 100 - 1];
    if (e->count <= ZONE_STATS_EXACT || right < 256)
        assert_int_equal(value, right);
    else
        assert_true(fabs((double)value - (double)right) <= 0.01 * (double)right);
}

static void assert_row(const struct zone_stats_row *row, const struct expected *e, uint64_t wall_ns)
{
    double mean = (double)e->sum / (double)e->count, squares = 0;
    assert_int_equal(row->count, e->count);
    assert_int_equal(row->open_count, e->open);
    assert_int_equal(row->total_ns, e->total);
    assert_int_equal(row->sum_ns, e->sum);
    assert_int_equal(row->self_ns, e->sum - e->child);
    assert_int_equal(row->min_ns, e->durations[0]);
    assert_int_equal(row->max_ns, e->durations[e->count - 1]);
    assert_true(row->mean_ns == mean);
    for (size_t i = 0; i < e->count; i++)
        squares += ((double)e->durations[i] - mean) * ((double)e->durations[i] - mean);
    double deviation = sqrt(squares / (double)e->count);
    assert_true(fabs(row->std_ns - deviation) <= 1e-9 * deviation + 1e-3);
    assert_true(fabs(row->wall_percent - 100.0 * (double)e->total / (double)wall_ns) <
                1e-9 * row->wall_percent);
    assert_percentile(e, 50, row->p50_ns);
    assert_percentile(e, 90, row->p90_ns);
    assert_percentile(e, 99, row->p99_ns);
}

static uint32_t name_index(const struct zone_program *p, uint32_t id)
{
    for (uint32_t i = 0; i < p->name_count; i++) {
        if (p->names[i] == id)
            return i;
    }
    fail();
    return 0;
}

/* Makes the statistics and holds every row against the count by hand; returns how many zones they have. */
static uint64_t check(const struct zone_program *p, const struct trace_filter_options *options,
                      enum zone_stats_by by, size_t *row_count)
{
    struct trace *trace = NULL;
    struct trace_filter filter;
    struct zone_stats stats;
    struct error err = {0};
    uint64_t zones = 0;
    assert_int_equal(trace_open(&trace, p->path, 0, &err), 0);
    assert_int_equal(trace_filter_resolve(&filter, trace, options, &err), 0);
    assert_int_equal(zone_stats_make(&stats, trace, &filter, by, &err), 0);
    for (size_t i = 0; i < stats.row_count; i++) {
        const struct zone_stats_row *row = &stats.rows[i];
        uint32_t thread = UINT32_MAX, process = UINT32_MAX;
        struct expected e;
        if (by == ZONE_STATS_BY_THREAD)
            thread = (uint32_t)(trace_get_track(trace, row->track)->number - 200);
        if (by == ZONE_STATS_BY_PROCESS)
            process = (uint32_t)(trace_get_process(trace, row->process)->pid - 100);
        count_by_hand(p, name_index(p, row->name), thread, process, filter.since_ns, filter.until_ns, &e);
        assert_row(row, &e, filter.until_ns - filter.since_ns);
        assert_true(i == 0 || row[-1].total_ns >= row->total_ns);
        zones += row->count - row->open_count;
        free(e.durations);
    }
    assert_int_equal(zones, stats.zone_count);
    *row_count = stats.row_count;
    zone_stats_free(&stats);
    trace_filter_free(&filter);
    trace_close(trace);
    return zones;
}

static uint64_t ended(const struct zone_program *p, uint64_t since, uint64_t until)
{
    uint64_t count = 0;
    for (size_t i = 0; i < p->count; i++)
        count += p->zones[i].end != 0 && made_is_in(p, &p->zones[i], since, until);
    return count;
}

static void test_every_grouping(void **state)
{
    struct zone_program p = {
        .seed = 1, .thread_count = 3, .name_count = 5, .max_depth = 6, .longest_ns = 1 << 20};
    struct trace_filter_options all = {0};
    size_t rows;
    (void)state;
    assert_true(made_program(&p, 40000)); /* some blocks a thread */
    assert_int_equal(check(&p, &all, ZONE_STATS_BY_NAME, &rows), p.count);
    assert_int_equal(rows, 5);
    assert_int_equal(check(&p, &all, ZONE_STATS_BY_LOCATION, &rows), p.count);
    assert_int_equal(rows, 5);
    assert_int_equal(check(&p, &all, ZONE_STATS_BY_THREAD, &rows), p.count);
    assert_int_equal(rows, 15);
    assert_int_equal(check(&p, &all, ZONE_STATS_BY_PROCESS, &rows), p.count);
    assert_int_equal(rows, 10);
    made_free(&p);
}

/* Few zones a row: percentiles are exact; the border between the two ways is in it. */
static void test_few_zones_are_exact(void **state)
{
    struct trace_filter_options all = {0};
    size_t rows;
    (void)state;
    for (size_t count = 1; count <= 2 * ZONE_STATS_EXACT; count = count < 4 ? count + 1 : 2 * count) {
        for (size_t more = 0; more < 2; more++) {
            struct zone_program p = {
                .seed = count, .thread_count = 1, .name_count = 1, .max_depth = 2, .longest_ns = 1 << 30};
            assert_true(made_program(&p, count + more));
            assert_int_equal(check(&p, &all, ZONE_STATS_BY_NAME, &rows), count + more);
            made_free(&p);
        }
    }
}

/* Zones of hours beside zones of nanoseconds: rows with absolute times, and a variance that doubles would lose. */
static void test_long_zones(void **state)
{
    struct zone_program p = {
        .seed = 3, .thread_count = 2, .name_count = 2, .max_depth = 4, .longest_ns = UINT64_C(1) << 43};
    struct trace_filter_options all = {0};
    size_t rows;
    (void)state;
    assert_true(made_program(&p, 20000));
    assert_int_equal(check(&p, &all, ZONE_STATS_BY_NAME, &rows), p.count);
    made_free(&p);
}

static void test_window(void **state)
{
    struct zone_program p = {.seed = 4,
                             .thread_count = 2,
                             .name_count = 3,
                             .max_depth = 8,
                             .longest_ns = 1 << 16,
                             .leaves_open = true};
    struct error err = {0};
    struct trace *trace = NULL;
    size_t rows;
    (void)state;
    assert_true(made_program(&p, 50000));
    assert_int_equal(trace_open(&trace, p.path, 0, &err), 0);
    uint64_t start = trace_get_info(trace)->start_ns, length = trace_get_info(trace)->end_ns - start;
    trace_close(trace);
    for (unsigned i = 0; i < 8; i++) {
        uint64_t since = length * i / 8, until = since + 1 + length / (i + 1) / 3;
        struct trace_filter_options window = {
            .since = {TRACE_TIME_NS, since, 0},
            .until = {TRACE_TIME_NS, until, 0},
        };
        assert_int_equal(check(&p, &window, ZONE_STATS_BY_THREAD, &rows),
                         ended(&p, start + since, start + until));
    }
    struct trace_filter_options half = {.until = {TRACE_TIME_PERCENT, 0, 50}};
    assert_int_equal(check(&p, &half, ZONE_STATS_BY_NAME, &rows),
                     ended(&p, start, start + (uint64_t)((double)length * 50 / 100.0)));
    made_free(&p);
}

static void test_filters(void **state)
{
    struct zone_program p = {
        .seed = 5, .thread_count = 4, .name_count = 10, .max_depth = 3, .longest_ns = 1000};
    size_t rows;
    uint64_t expected = 0;
    (void)state;
    assert_true(made_program(&p, 2000));
    struct trace_filter_options some = {0};
    text_list_add(&some.names, "lo*"); /* load, load_8 */
    text_list_add(&some.names, "wait");
    text_list_add(&some.processes, "child");
    text_list_add(&some.threads, "203");
    for (size_t i = 0; i < p.count; i++)
        expected +=
            p.zones[i].thread == 3 && (p.zones[i].name == 0 || p.zones[i].name == 8 || p.zones[i].name == 5);
    assert_int_equal(check(&p, &some, ZONE_STATS_BY_THREAD, &rows), expected);
    assert_int_equal(rows, 3);
    struct trace_filter_options nothing = {0};
    text_list_add(&nothing.names, "nobody");
    assert_int_equal(check(&p, &nothing, ZONE_STATS_BY_NAME, &rows), 0);
    made_free(&p);
}

/* Zones of one name inside each other, over many blocks and on several threads: their time counts once. */
static void test_recursion_counts_once(void **state)
{
    static const unsigned depths[] = {1, 2, 40, 2000};
    struct trace_filter_options all = {0}, half = {.since = {TRACE_TIME_PERCENT, 0, 40}};
    size_t rows;
    (void)state;
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        struct zone_program p = {.seed = 7 + i,
                                 .thread_count = 2,
                                 .name_count = 2,
                                 .max_depth = depths[i],
                                 .longest_ns = 1 << 12,
                                 .leaves_open = i % 2};
        assert_true(made_program(&p, 40000));
        assert_int_equal(check(&p, &all, ZONE_STATS_BY_NAME, &rows), ended(&p, 0, UINT64_MAX));
        assert_int_equal(check(&p, &all, ZONE_STATS_BY_THREAD, &rows), ended(&p, 0, UINT64_MAX));
        check(&p, &half, ZONE_STATS_BY_PROCESS, &rows);
        made_free(&p);
    }
}

/* A name that is defined twice, as one whose text comes late is, has one place; written in two files it has two. */
static void test_places_are_counted_not_names(void **state)
{
    struct zone_program p = {.seed = 1, .thread_count = 1, .name_count = 1, .max_depth = 1, .longest_ns = 1};
    struct error err = {0};
    struct trace *trace = NULL;
    struct trace_filter filter;
    struct zone_stats stats;
    (void)state;
    assert_true(made_program(&p, 1)); /* for the path */
    assert_int_equal(
        trace_writer_open(&p.writer, p.path, &(struct trace_writer_options){.command = ""}, &err), 0);
    const uint32_t names[] = {trace_writer_name(p.writer, "work", "f", "a.c", 7, 0),
                              trace_writer_name(p.writer, "work", "f", "a.c", 7, 0x112233),
                              trace_writer_name(p.writer, "load", "g", "a.c", 8, 0),
                              trace_writer_name(p.writer, "load", "h", "b.c", 8, 0)};
    assert_int_not_equal(names[0], names[1]);
    uint32_t process = trace_writer_process(
        p.writer, &(struct trace_process){.id = TRACE_NONE, .parent = TRACE_NONE, .command = "", .host = ""});
    uint32_t track = trace_writer_track(
        p.writer,
        &(struct trace_track){.id = TRACE_NONE, .process = process, .parent = TRACE_NONE, .name = ""});
    struct zone_sink *sink = trace_writer_sink(p.writer, track);
    for (uint32_t i = 0; i < 4; i++)
        zone_sink_add(sink, 0, 1000 + 100 * i, 1050 + 100 * i, 0, names[i]);
    assert_int_equal(trace_writer_finish(p.writer, &err), 0);
    assert_int_equal(trace_open(&trace, p.path, 0, &err), 0);
    assert_int_equal(trace_filter_resolve(&filter, trace, &(struct trace_filter_options){0}, &err), 0);
    for (unsigned by = ZONE_STATS_BY_NAME; by <= ZONE_STATS_BY_LOCATION; by++) {
        assert_int_equal(zone_stats_make(&stats, trace, &filter, by, &err), 0);
        assert_int_equal(stats.row_count, by == ZONE_STATS_BY_NAME ? 2 : 3);
        for (size_t i = 0; i < stats.row_count; i++) {
            bool is_work = stats.rows[i].name <= names[1];
            assert_int_equal(stats.rows[i].name_count, is_work || by == ZONE_STATS_BY_LOCATION ? 1 : 2);
        }
        zone_stats_free(&stats);
    }
    trace_filter_free(&filter);
    trace_close(trace);
    p.writer = NULL;
    made_free(&p);
}

/* Every value lies in a bucket whose middle is within 0.4 %. */
static void test_histogram_error(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < 64; bit++) {
        for (uint64_t offset = 0; offset < 5; offset++) {
            uint64_t value = (UINT64_C(1) << bit) - 2 + offset * (bit < 8 ? 1 : (UINT64_C(1) << bit) / 5);
            struct histogram h = {0};
            assert_true(histogram_add(&h, value));
            uint64_t got = histogram_value_at(&h, 1);
            double off = fabs((double)got - (double)value);
            assert_true(value < 256 ? got == value : off <= 0.004 * (double)value);
            assert_int_equal(histogram_value_at(&h, 2), 0);
            histogram_free(&h);
        }
    }
    struct histogram h = {0};
    assert_true(histogram_add(&h, UINT64_MAX));
    assert_true((double)histogram_value_at(&h, 1) > 0.99 * 0x1p64);
    histogram_free(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_grouping),
        cmocka_unit_test(test_few_zones_are_exact),
        cmocka_unit_test(test_long_zones),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_histogram_error),
        cmocka_unit_test(test_recursion_counts_once),
        cmocka_unit_test(test_places_are_counted_not_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
