/* SPDX-License-Identifier: Apache-2.0 */
/* Two traces that are compared for the page: the question without a socket, windows, and the steps from A to B. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyze/diff/waterfall.h"
#include "serve/query/query.h"
#include "trace/writer.h"

struct made {
    char path[64];
    struct serve_trace st;
};

/* Ten calls of outer > inner, 1000 ns apart; inner takes `inner_ns`. Then one of itself inside itself. */
static void make(struct made *m, uint64_t inner_ns, const char *inner)
{
    struct error err = {0};
    struct trace_writer *w;
    *m = (struct made){.path = "/tmp/opscope-compare-XXXXXX"};
    int descriptor = mkstemp(m->path);
    assert_true(descriptor >= 0);
    close(descriptor);
    struct trace_writer_options options = {.program = "test", .command = "x", .host = "h"};
    assert_int_equal(trace_writer_open(&w, m->path, &options, &err), 0);
    uint32_t process = trace_writer_process(
        w, &(struct trace_process){
               .id = TRACE_NONE, .parent = TRACE_NONE, .pid = 1, .command = "x", .host = "h"});
    uint32_t track = trace_writer_track(
        w, &(struct trace_track){
               .id = TRACE_NONE, .process = process, .parent = TRACE_NONE, .number = 1, .name = "main"});
    uint32_t names[] = {trace_writer_name(w, "outer", "f", "a.c", 1, 0),
                        trace_writer_name(w, inner, "f", "a.c", 2, 0),
                        trace_writer_name(w, "again", "g", "a.c", 3, 0)};
    struct zone_sink *sink = trace_writer_sink(w, track);
    for (uint64_t i = 0; i < 10; i++) {
        uint64_t at = 1000 + 1000 * i;
        zone_sink_add(sink, 1, at + 10, at + 10 + inner_ns, 0, names[1]);
        zone_sink_add(sink, 0, at, at + 900, inner_ns, names[0]);
    }
    zone_sink_add(sink, 1, 12000, 13000, 0, names[2]);
    zone_sink_add(sink, 0, 11000, 15000, 1000, names[2]);
    assert_int_equal(trace_writer_finish(w, &err), 0);
    assert_int_equal(serve_trace_open(&m->st, m->path, &err), 0);
}

static void drop(struct made *m)
{
    serve_trace_close(&m->st);
    unlink(m->path);
}

static int ask(struct made *a, struct made *b, const char *target, struct bytes *out, struct error *err)
{
    static struct query query;
    assert_int_equal(query_parse(&query, target, strlen(target), err), 0);
    return query_compare(&a->st, &b->st, &query, out, err);
}

static void test_rows_and_steps(void **state)
{
    struct made a, b;
    struct bytes out = {0};
    struct error err = {0};
    (void)state;
    make(&a, 100, "inner");
    make(&b, 300, "inner");
    assert_int_equal(ask(&a, &b, "/api/compare?a=0&b=1", &out, &err), 0);
    const char *text = bytes_text(&out);
    assert_non_null(strstr(text, "\"basis\": \"own time of zones\""));
    /* What inner gained, outer lost of its own time. */
    assert_non_null(
        strstr(text, "\"name\": \"inner\", \"gap\": false, \"noise\": false, \"change_ns\": 2000}"));
    assert_non_null(
        strstr(text, "\"name\": \"outer\", \"gap\": false, \"noise\": true, \"change_ns\": -2000}"));
    assert_non_null(strstr(text, "\"a_total_ns\": 1000, \"b_total_ns\": 3000"));
    assert_non_null(strstr(text, "\"state\": \"slower\", \"name\": \"inner\""));
    assert_non_null(strstr(text, "B takes as long as A, "));
    bytes_free(&out);
    drop(&a);
    drop(&b);
}

/* Zones that reach out of a window are left out, and so is what they hold of themselves. */
static void test_windows(void **state)
{
    struct made a, b;
    struct bytes out = {0};
    struct error err = {0};
    (void)state;
    make(&a, 100, "inner");
    make(&b, 100, "inner");
    assert_int_equal(ask(&a, &b, "/api/compare?a_to=2000&b_from=10500&b_to=12500", &out, &err), 0);
    const char *text = bytes_text(&out);
    assert_non_null(strstr(text, "\"from\": 10500"));
    /* Of A two calls of inner; of B the inner one of again alone, whose outer one reaches out. */
    assert_non_null(strstr(text, "\"state\": \"gone\", \"name\": \"inner\""));
    assert_non_null(strstr(text, "\"a_count\": 2, \"b_count\": 0"));
    assert_non_null(strstr(text, "\"state\": \"new\", \"name\": \"again\""));
    assert_non_null(strstr(text, "\"a_total_ns\": null, \"b_total_ns\": 1000"));
    bytes_free(&out);
    /* Of the whole trace time in both counts once. */
    assert_int_equal(ask(&a, &b, "/api/compare", &out, &err), 0);
    assert_non_null(strstr(bytes_text(&out), "\"a_total_ns\": 4000, \"b_total_ns\": 4000"));
    bytes_free(&out);
    drop(&a);
    drop(&b);
}

static void test_refusals(void **state)
{
    static const char *const targets[] = {"/?a_from=9&a_to=3", "/?b_to=x",         "/?group=1",
                                          "/?only=1",          "/?top=many",       "/?a_from=&b_to=1",
                                          "/?a_from=5&a_to=6", "/?b_from=1&b_to=1"};
    struct made a;
    struct bytes out = {0};
    struct error err = {0};
    (void)state;
    make(&a, 100, "<b>\xe2\x80\xae\"");
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        assert_int_equal(ask(&a, &a, targets[i], &out, &err), -QUERY_REFUSED);
        assert_int_equal(err.code, QUERY_REFUSED);
        assert_true(err.message[0] != '\0');
        bytes_free(&out);
    }
    assert_int_equal(ask(&a, &a, "/?a_from=-5&b_to=99999999999999999999999&top=0", &out, &err), 0);
    assert_null(strstr(bytes_text(&out), "b>\"\""));
    bytes_free(&out);
    drop(&a);
}

/* More changes than steps: the smallest are the rest, and it adds up. */
static void test_waterfall(void **state)
{
    struct diff_group groups[12];
    struct diff diff = {.has_ops = true, .groups = groups, .group_count = 12};
    struct diff_waterfall w;
    double a = 0, b = 0;
    (void)state;
    for (size_t i = 0; i < 12; i++) {
        groups[i] = (struct diff_group){.name = (uint32_t)i,
                                        .time_ns = {100, 100 + (i % 2 ? -1.0 : 1.0) * (double)(i + 1)}};
        a += groups[i].time_ns[DIFF_A];
        b += groups[i].time_ns[DIFF_B];
    }
    diff.totals[DIFF_GAP] = (struct diff_total){.is_there = true, .values = {50, 90}, .change = 40};
    diff.totals[DIFF_TOTAL] = (struct diff_total){.is_there = true, .values = {a + 50, b + 90}};
    diff_make_waterfall(&diff, &w);
    assert_int_equal(w.basis, DIFF_OF_DEVICE);
    assert_int_equal(w.count, DIFF_STEPS);
    assert_true(w.steps[0].is_gap);
    assert_int_equal(w.steps[1].name, 11);
    assert_int_equal(w.steps[7].name, 5);
    assert_int_equal(w.rest_count, 5);
    double sum = w.from_ns + w.rest_ns;
    for (size_t i = 0; i < w.count; i++)
        sum += w.steps[i].change_ns;
    assert_float_equal(sum, w.to_ns, 1e-6);
    assert_float_equal(w.rest_ns, 1 - 2 + 3 - 4 + 5, 1e-6);
    diff = (struct diff){0};
    diff_make_waterfall(&diff, &w);
    assert_int_equal(w.basis, DIFF_OF_NOTHING);
    assert_int_equal(w.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_and_steps),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_waterfall),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
