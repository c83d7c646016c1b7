/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of an estimate: which is whose. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/estimate/match.h"
#include "analyze/estimate/places.h"
#include "ops/timeline_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* An op on a lane of its own kind; times in ns. */
static void add(struct timeline *t, const char *name, const char *location, const char *dispatch,
                uint64_t start, uint64_t end)
{
    uint32_t own = TIMELINE_NONE, lane = timeline_lane(t, "Slice 0", TIMELINE_SLICE, 0);
    if (dispatch) {
        struct timeline_dispatch *d = timeline_add_dispatch(t);
        d->name = timeline_text(t, slice_of(dispatch));
        d->start = start;
        d->end = end;
        own = (uint32_t)t->dispatch_count - 1;
    }
    struct timeline_op *op = timeline_add_op(t);
    op->name = timeline_text(t, slice_of(name));
    op->location = location ? timeline_text(t, slice_of(location)) : TIMELINE_NONE;
    op->dispatch = own;
    op->start = start;
    op->end = end;
    struct timeline_unit *unit = timeline_add_unit(t);
    unit->lane = lane;
    unit->start = start;
    unit->end = end;
    unit->bytes = UINT64_MAX;
    unit->op = (uint32_t)t->op_count - 1;
    unit->name = op->name;
    unit->location = op->location;
    unit->dispatch = own == TIMELINE_NONE ? 0 : own;
    t->clock_mhz = 1000;
}

static void check_pair(const struct match *match, size_t at, double estimate, uint64_t runs, double least,
                       double most)
{
    assert_true(at < match->pair_count);
    const struct match_pair *pair = &match->pairs[at];
    if (pair->estimate_ns != estimate || pair->runs != runs || pair->least_ns != least ||
        pair->most_ns != most)
        fail_msg("pair %zu: estimate %g, %llu runs from %g to %g", at, pair->estimate_ns,
                 (unsigned long long)pair->runs, pair->least_ns, pair->most_ns);
}

static void test_places(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        {"loc(\"m.mlir\":5:10)", "loc(\"m.mlir\":5:10)", true},
        {"loc(\"m.mlir\":5:10)", "loc(\"m.mlir\":5:11)", false},
        {"loc(\"m.mlir\":5:10)", "loc(\"n.mlir\":5:10)", false},
        {"loc(\"m.mlir\":5:10)", "loc(\"a/b/m.mlir\":5:10)", true},
        {"loc(\"m.mlir\":5:10)", "@L5C10", true}, /* which names no file */
        {"loc(\"m.mlir\":5:10)", "@L4C1+@L5C10", true},
        {"loc(\"m.mlir\":5:10)", "loc(fused<\"x\">[\"y\"(\"m.mlir\":1:1), \"m.mlir\":5:10])", true},
        {"loc(callsite(\"m.mlir\":5:10 at \"m.mlir\":3:3))", "loc(\"m.mlir\":5:10)", true},
        {"loc(callsite(\"m.mlir\":5:10 at \"m.mlir\":3:3))", "loc(\"m.mlir\":3:3)", false},
        {"loc(callsite(callsite(\"a\":1:1 at \"b\":2:2) at fused[\"c\":3:3]))", "loc(\"c\":3:3)", false},
        {"loc(\"a \\\" b\":1:2)", "loc(\"a \\\" b\":1:2)", true},
        {"loc(\"a, at b\":1:2)", "loc(\"b\":1:2)", false},
        {"loc(unknown)", "loc(unknown)", false}, /* no place at all */
        {"loc(\"name\")", "loc(\"name\")", false},
        {"loc(\"open", "loc(\"open", false},
        {"", "", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct place_sets sets = {0};
        place_sets_add(&sets, cases[i].a);
        place_sets_add(&sets, cases[i].b);
        uint32_t a = place_sets_find(&sets, cases[i].a), b = place_sets_find(&sets, cases[i].b);
        if ((a != PLACE_NONE && a == b) != cases[i].same)
            fail_msg("case %zu: %s, %s", i, cases[i].a, cases[i].b);
        place_sets_free(&sets);
    }
}

static void test_dispatches_take_turns(void **state)
{
    (void)state;
    struct timeline estimate = {0}, run = {0};
    struct match match;
    add(&estimate, "matmul", NULL, "f", 0, 10);
    add(&estimate, "matmul", NULL, "f", 10, 30);
    add(&estimate, "add", NULL, "g", 30, 31);
    for (uint64_t i = 0; i < 2; i++) {
        add(&run, "f", NULL, NULL, i * 100, i * 100 + 40 - i * 10);
        add(&run, "f", NULL, NULL, i * 100 + 40, i * 100 + 60);
        add(&run, "h", NULL, NULL, i * 100 + 60, i * 100 + 61);
    }
    assert_int_equal(match_runs(&match, &estimate, &run, NULL), 0);
    assert_int_equal(match.by, MATCH_DISPATCH);
    assert_int_equal(match.pair_count, 3);
    check_pair(&match, 0, 10, 2, 30, 40);
    check_pair(&match, 1, 20, 2, 20, 20);
    check_pair(&match, 2, 1, 0, 0, 0);
    assert_int_equal(match.unknown, 2);
    assert_int_equal(match.whole_runs, 2);
    assert_int_equal(match.shortest_start, 0);
    match_free(&match);
    add(&run, "f", NULL, NULL, 300, 305); /* cut off: they cannot be shared out */
    assert_int_equal(match_runs(&match, &estimate, &run, NULL), 0);
    check_pair(&match, 0, 10, 5, 5, 40);
    check_pair(&match, 1, 20, 5, 5, 40);
    assert_int_equal(match.whole_runs, 1);
    match_free(&match);
    timeline_free(&estimate);
    timeline_free(&run);
}

static void test_places_are_summed(void **state)
{
    (void)state;
    struct timeline estimate = {0}, run = {0};
    struct match match;
    add(&estimate, "tosa.conv2d", "loc(\"m\":1:1)", NULL, 0, 100);
    add(&estimate, "tosa.clamp", "loc(\"m\":2:1)", NULL, 100, 110);
    add(&estimate, "tosa.exp", "loc(\"m\":3:1)", NULL, 110, 130);
    add(&estimate, "tosa.log", "loc(\"m\":4:1)", NULL, 130, 150);
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t at = i * 1000;
        add(&run, "d0", "loc(fused[\"m\":1:1, \"m\":2:1])", NULL, at, at + 200 + i);
        add(&run, "d1", "loc(\"m\":3:1)", NULL, at + 300, at + 310);
        add(&run, "d1", "loc(\"m\":3:1)", NULL, at + 310, at + 325 - i);
    }
    assert_int_equal(match_runs(&match, &estimate, &run, NULL), 0);
    assert_int_equal(match.by, MATCH_PLACE);
    assert_int_equal(match.whole_runs, 3);
    assert_int_equal(match.pair_count, 3);
    check_pair(&match, 0, 110, 3, 200, 202);
    assert_int_equal(match.pairs[0].ops, 2);
    check_pair(&match, 1, 20, 3, 23, 25);
    check_pair(&match, 2, 20, 0, 0, 0);
    assert_int_equal(match.uneven, 2);
    match_free(&match);
    timeline_free(&estimate);
    timeline_free(&run);
}

static void test_names_tell_ops_of_a_place_apart(void **state)
{
    (void)state;
    struct timeline estimate = {0}, run = {0};
    struct match match;
    add(&estimate, "conv", "@L1C1", NULL, 0, 100);
    add(&estimate, "clamp", "@L1C1", NULL, 100, 110);
    for (uint64_t i = 0; i < 2; i++) {
        add(&run, "clamp", "@L1C1", NULL, i * 50, i * 50 + 5);
        add(&run, "conv", "@L1C1", NULL, i * 50 + 5, i * 50 + 50);
    }
    assert_int_equal(match_runs(&match, &estimate, &run, NULL), 0);
    check_pair(&match, 0, 100, 2, 45, 45);
    check_pair(&match, 1, 10, 2, 5, 5);
    match_free(&match);
    timeline_free(&run);
    run = (struct timeline){0};
    add(&run, "relu", NULL, NULL, 0, 5);
    assert_int_equal(match_runs(&match, &estimate, &run, NULL), 0);
    assert_int_equal(match.by, MATCH_NONE);
    match_free(&match);
    add(&run, "conv", NULL, NULL, 5, 9);
    assert_int_equal(match_runs(&match, &estimate, &run, NULL), 0);
    assert_int_equal(match.by, MATCH_NAME);
    check_pair(&match, 0, 100, 1, 4, 4);
    assert_int_equal(match.unknown, 1);
    match_free(&match);
    timeline_free(&estimate);
    timeline_free(&run);
}

/* What timeline_to_trace writes, timeline_from_trace reads: the ops, and whether they are estimates. */
static void test_through_a_trace(void **state)
{
    (void)state;
    char folder[] = "/tmp/opscope-match-XXXXXX", file[64];
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/t.opscope", folder);
    for (int is_measured = 0; is_measured < 2; is_measured++) {
        struct timeline t = {0}, back;
        struct trace_writer *writer;
        struct trace *trace;
        add(&t, "conv", "loc(\"m\":1:1)", "f", 7, 100);
        add(&t, "clamp", "loc(\"m\":2:1)", "f", 100, 110);
        t.clock_mhz = 800;
        t.ops[0].class = timeline_text(&t, slice_of("CONV"));
        t.ops[0].macs = 12;
        t.lanes[0].kind = is_measured ? TIMELINE_PROGRAM : TIMELINE_SLICE;
        assert_int_equal(trace_writer_open(&writer, file, &(struct trace_writer_options){0}, NULL), 0);
        assert_int_equal(
            timeline_to_trace(
                &t, &(struct timeline_trace){.source = "m", .device = "d", .is_measured = is_measured},
                writer, NULL),
            0);
        assert_int_equal(trace_writer_finish(writer, NULL), 0);
        assert_int_equal(trace_open(&trace, file, 0, NULL), 0);
        assert_int_equal(
            timeline_from_trace(&back, trace, is_measured ? TIMELINE_ESTIMATED : TIMELINE_MEASURED, NULL), 0);
        assert_int_equal(back.op_count, 0);
        timeline_free(&back);
        assert_int_equal(
            timeline_from_trace(&back, trace, is_measured ? TIMELINE_MEASURED : TIMELINE_ESTIMATED, NULL), 0);
        assert_int_equal(back.op_count, 2);
        assert_true(back.clock_mhz == 800);
        assert_string_equal(timeline_get_text(&back, back.ops[0].name), "conv");
        assert_string_equal(timeline_get_text(&back, back.ops[0].location), "loc(\"m\":1:1)");
        assert_string_equal(timeline_get_text(&back, back.ops[0].class), "CONV");
        assert_int_equal(back.ops[0].start, 7);
        assert_int_equal(back.ops[0].end, 100);
        assert_int_equal(back.ops[0].macs, 12);
        assert_int_equal(back.dispatch_count, 2); /* of one name */
        assert_int_not_equal(back.ops[0].dispatch, back.ops[1].dispatch);
        timeline_free(&back);
        trace_close(trace);
        timeline_free(&t);
    }
    unlink(file);
    rmdir(folder);
}

static void test_a_cut_begins_at_its_start(void **state)
{
    (void)state;
    struct timeline t = {0};
    add(&t, "first", NULL, "f", 1000, 1100);
    add(&t, "second", NULL, "f", 2000, 2300);
    timeline_cut(&t, 2000, UINT64_MAX);
    assert_int_equal(t.unit_count, 1);
    assert_int_equal(t.units[0].end, 300);
    assert_int_equal(t.op_count, 2); /* units refer to them by their number */
    assert_int_equal(t.ops[0].end, 0);
    assert_int_equal(t.ops[1].start, 0);
    assert_int_equal(t.ops[1].end, 300);
    assert_int_equal(t.dispatches[0].end, 0);
    assert_int_equal(t.dispatches[1].end, 300);
    timeline_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_a_cut_begins_at_its_start),
        cmocka_unit_test(test_dispatches_take_turns),
        cmocka_unit_test(test_places_are_summed),
        cmocka_unit_test(test_names_tell_ops_of_a_place_apart),
        cmocka_unit_test(test_through_a_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
