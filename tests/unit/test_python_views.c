/* SPDX-License-Identifier: Apache-2.0 */
/* Tests and lines as the Python package records them, from traces made by hand. */
#include "analyze/zones/lines.h"
#include "analyze/zones/testlist.h"
#include "test_trace_support.h"

static uint32_t place(struct trace_writer *w, const char *name, const char *function, uint32_t line)
{
    return trace_writer_name(w, name, function, "/src/a.py", line, 0);
}

static void add_text(struct zone_sink *sink, const char *text)
{
    zone_sink_extra(sink, &(struct trace_extra){
                              .kind = TRACE_EXTRA_TEXT, .text = text, .text_length = (uint32_t)strlen(text)});
}

/* A test from `start`: 10 ns of setup, 30 of call, 5 of teardown, with gaps of 2. */
static void put_test(struct trace_writer *w, struct zone_sink *sink, uint64_t start, const char *id,
                     const char *outcome)
{
    char name[64];
    uint64_t at = start + 2;
    static const struct {
        const char *phase, *function;
        uint64_t length;
    } phases[] = {
        {"setup", "pytest setup", 10}, {"call", "pytest call", 30}, {"teardown", "pytest teardown", 5}};
    for (size_t i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s %s", id, phases[i].phase);
        zone_sink_add(sink, 3, at, at + phases[i].length, 0, place(w, name, phases[i].function, 3));
        add_text(sink, "of a phase");
        at += phases[i].length + 2;
    }
    zone_sink_add(sink, 2, start, at, 45, place(w, id, "pytest test", 3));
    if (outcome)
        add_text(sink, outcome);
}

static struct trace *open_tests(void)
{
    struct trace_writer *w = open_writer(test_path("tests.opscope"), 0);
    uint32_t process = add_process(w, 7), worker = add_process(w, 8);
    struct zone_sink *first = trace_writer_sink(w, add_track(w, process, "main", 0));
    struct zone_sink *second = trace_writer_sink(w, add_track(w, worker, "worker", 0));
    put_test(w, first, 1000, "a.py::test_one", "passed");
    put_test(w, second, 1010, "a.py::test_two", "failed");
    put_test(w, first, 2000, "a.py::test_one", NULL);
    zone_sink_add(first, 2, 3000, 3100, 0,
                  place(w, "a.py::test_one call", "a function", 3)); /* only called so */
    assert_ok(trace_writer_finish(w, ERR));
    struct trace *trace = NULL;
    assert_ok(trace_open(&trace, test_path("tests.opscope"), 0, ERR));
    return trace;
}

static void tests_with_their_phases(void **state)
{
    (void)state;
    struct trace *trace = open_tests();
    struct trace_filter_options options = {0};
    struct trace_filter filter;
    struct test_list list;
    assert_ok(trace_filter_resolve(&filter, trace, &options, ERR));
    assert_ok(test_list_make(&list, trace, &filter, ERR));
    assert_int_equal(list.count, 3);
    static const char *const outcomes[] = {"passed", "", "failed"};
    for (size_t i = 0; i < list.count; i++) {
        const struct test_entry *entry = &list.entries[i];
        assert_string_equal(test_list_outcome(&list, entry), outcomes[i]);
        assert_int_equal(entry->end_ns - entry->start_ns, 53);
        assert_int_equal(entry->phase_ns[TEST_SETUP], 10);
        assert_int_equal(entry->phase_ns[TEST_CALL], 30);
        assert_int_equal(entry->phase_ns[TEST_TEARDOWN], 5);
        assert_int_equal(entry->depth, 2);
        assert_true(entry->has_ended);
    }
    test_list_free(&list);
    trace_filter_free(&filter);
    trace_close(trace);
}

/* A test that runs a session of its own: each has its own phases. */
static void tests_in_tests(void **state)
{
    (void)state;
    struct trace_writer *w = open_writer(test_path("nested.opscope"), 0);
    struct zone_sink *sink = trace_writer_sink(w, add_track(w, add_process(w, 7), "main", 0));
    zone_sink_add(sink, 3, 1002, 1012, 0, place(w, "outer setup", "pytest setup", 3));
    zone_sink_add(sink, 5, 1102, 1103, 0, place(w, "inner setup", "pytest setup", 3));
    zone_sink_add(sink, 5, 1104, 1134, 0, place(w, "inner call", "pytest call", 3));
    zone_sink_add(sink, 5, 1136, 1138, 0, place(w, "inner teardown", "pytest teardown", 3));
    zone_sink_add(sink, 4, 1100, 1140, 33, place(w, "inner", "pytest test", 3));
    zone_sink_add(sink, 3, 1014, 1800, 40, place(w, "outer call", "pytest call", 3));
    zone_sink_add(sink, 3, 1802, 1807, 0, place(w, "outer teardown", "pytest teardown", 3));
    zone_sink_add(sink, 2, 1000, 1810, 801, place(w, "outer", "pytest test", 3));
    assert_ok(trace_writer_finish(w, ERR));
    struct trace *trace = NULL;
    struct trace_filter_options options = {0};
    struct trace_filter filter;
    struct test_list list;
    assert_ok(trace_open(&trace, test_path("nested.opscope"), 0, ERR));
    assert_ok(trace_filter_resolve(&filter, trace, &options, ERR));
    assert_ok(test_list_make(&list, trace, &filter, ERR));
    assert_int_equal(list.count, 2);
    static const uint64_t phases[2][TEST_PHASES] = {{10, 786, 5}, {1, 30, 2}};
    for (size_t i = 0; i < list.count; i++)
        for (size_t k = 0; k < TEST_PHASES; k++)
            assert_int_equal(list.entries[i].phase_ns[k], phases[i][k]);
    test_list_free(&list);
    trace_filter_free(&filter);
    trace_close(trace);
}

static void tests_that_are_wanted(void **state)
{
    (void)state;
    struct trace *trace = open_tests();
    struct trace_filter_options options = {0};
    assert_true(text_list_add(&options.names, "*two"));
    struct trace_filter filter;
    struct test_list list;
    assert_ok(trace_filter_resolve(&filter, trace, &options, ERR));
    assert_ok(test_list_make(&list, trace, &filter, ERR));
    assert_int_equal(list.count, 1);
    assert_int_equal(list.entries[0].phase_ns[TEST_CALL], 30);
    test_list_free(&list);
    trace_filter_free(&filter);
    trace_close(trace);
}

/* Two lambdas in one file, of which the second is called twice; a line without its function's zone. */
static void lines_of_functions(void **state)
{
    (void)state;
    struct trace_writer *w = open_writer(test_path("lines.opscope"), 0);
    struct zone_sink *sink = trace_writer_sink(w, add_track(w, add_process(w, 7), "main", 0));
    zone_sink_add(sink, 1, 100, 140, 10, place(w, "<lambda>:4", "<lambda>", 4));
    zone_sink_add(sink, 0, 90, 150, 40, place(w, "<lambda>", "<lambda>", 4));
    for (uint64_t i = 0; i < 2; i++) {
        uint64_t at = 200 + 100 * i;
        zone_sink_add(sink, 1, at + 10, at + 30, 0, place(w, "<lambda>:9", "<lambda>", 9));
        zone_sink_add(sink, 1, at + 30, at + 80, 0, place(w, "<lambda>:10", "<lambda>", 10));
        zone_sink_add(sink, 0, at, at + 90, 70, place(w, "<lambda>", "<lambda>", 9));
    }
    zone_sink_add(sink, 0, 500, 501, 0, place(w, "alone:20", "alone", 20));
    zone_sink_add(sink, 0, 600, 700, 0, place(w, "like:21", "unlike", 21)); /* not a line: another's name */
    assert_ok(trace_writer_finish(w, ERR));
    struct trace *trace = NULL;
    assert_ok(trace_open(&trace, test_path("lines.opscope"), 0, ERR));
    struct trace_filter_options options = {0};
    struct trace_filter filter;
    struct line_stats stats;
    assert_ok(trace_filter_resolve(&filter, trace, &options, ERR));
    assert_ok(line_stats_make(&stats, trace, &filter, ERR));
    static const struct {
        uint32_t first_line;
        size_t rows;
        uint64_t calls, total;
    } expected[] = {{9, 2, 2, 140}, {4, 1, 1, 40}, {20, 1, 0, 1}};
    assert_int_equal(stats.function_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(stats.functions[i].first_line, expected[i].first_line);
        assert_int_equal(stats.functions[i].row_count, expected[i].rows);
        assert_int_equal(stats.functions[i].calls, expected[i].calls);
        assert_int_equal(stats.functions[i].total_ns, expected[i].total);
    }
    const struct line_row *row = &stats.rows[stats.functions[0].row];
    assert_int_equal(row[0].line, 9);
    assert_int_equal(row[1].line, 10);
    assert_int_equal(row[1].hits, 2);
    assert_int_equal(stats.rows[stats.functions[1].row].self_ns, 30);
    line_stats_free(&stats);
    trace_filter_free(&filter);
    trace_close(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tests_with_their_phases),
        cmocka_unit_test(tests_in_tests),
        cmocka_unit_test(tests_that_are_wanted),
        cmocka_unit_test(lines_of_functions),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
