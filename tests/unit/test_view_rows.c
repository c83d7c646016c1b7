/* SPDX-License-Identifier: Apache-2.0 */
/* What views make of the smaller row types: messages in order, ops with their runs, losses, clock quality, and
 * what things are called. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyze/clockquality.h"
#include "analyze/labels.h"
#include "analyze/losses.h"
#include "analyze/pointlist.h"
#include "analyze/wantedops.h"
#include "trace/writer.h"

struct fixture {
    char path[64];
    struct trace_writer *writer;
    struct trace *trace;
    uint32_t processes[2], tracks[2];
    struct trace_filter_options options;
    struct trace_filter filter;
};

static void begin(struct fixture *f)
{
    struct error err = {0};
    *f = (struct fixture){.path = "/tmp/opscope-rows-XXXXXX"};
    int descriptor = mkstemp(f->path);
    assert_true(descriptor >= 0);
    close(descriptor);
    struct trace_writer_options options = {.program = "test", .command = "x", .host = "h"};
    assert_int_equal(trace_writer_open(&f->writer, f->path, &options, &err), 0);
    for (uint32_t i = 0; i < 2; i++) {
        f->processes[i] =
            trace_writer_process(f->writer, &(struct trace_process){.id = TRACE_NONE,
                                                                    .parent = TRACE_NONE,
                                                                    .pid = 100 + i,
                                                                    .key = i + 1,
                                                                    .command = i ? "./a.out -v" : "/bin/sh",
                                                                    .host = "h"});
        f->tracks[i] = trace_writer_track(f->writer, &(struct trace_track){.id = TRACE_NONE,
                                                                           .process = f->processes[i],
                                                                           .parent = TRACE_NONE,
                                                                           .number = 7 + i,
                                                                           .key = i + 1,
                                                                           .name = i ? "named" : ""});
    }
}

static void read_back(struct fixture *f)
{
    struct error err = {0};
    assert_int_equal(trace_writer_finish(f->writer, &err), 0);
    assert_int_equal(trace_open(&f->trace, f->path, 0, &err), 0);
    assert_int_equal(trace_filter_resolve(&f->filter, f->trace, &f->options, &err), 0);
}

static void end(struct fixture *f)
{
    trace_filter_free(&f->filter);
    trace_close(f->trace);
    unlink(f->path);
}

static void add_point(struct fixture *f, unsigned track, unsigned kind, uint64_t time, const char *header,
                      const char *text)
{
    trace_writer_point(f->writer, &(struct trace_point){.track = f->tracks[track],
                                                        .kind = kind,
                                                        .time = time,
                                                        .header = header,
                                                        .text = text,
                                                        .text_length = (uint32_t)strlen(text)});
}

static void test_messages_in_order(void **state)
{
    struct fixture f;
    struct point_list list;
    struct error err = {0};
    (void)state;
    begin(&f);
    add_point(&f, 0, TRACE_POINT_MESSAGE, 3000, "", "third");
    add_point(&f, 0, TRACE_POINT_FRAME, 4000, "frame", "");
    add_point(&f, 1, TRACE_POINT_MESSAGE, 1000, "", "first");
    add_point(&f, 1, TRACE_POINT_SIGNPOST, 2000, "phase", "second");
    read_back(&f);
    assert_int_equal(point_list_make(&list, f.trace, &f.filter, 0, &err), 0);
    assert_int_equal(list.count, 4);
    const char *const texts[] = {"first", "second", "third", ""};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(list.entries[i].time_ns, 1000 * (i + 1));
        assert_string_equal(point_list_text(&list, list.entries[i].text), texts[i]);
    }
    assert_string_equal(point_list_text(&list, list.entries[1].header), "phase");
    point_list_free(&list);

    assert_int_equal(point_list_make(&list, f.trace, &f.filter, 1u << TRACE_POINT_MESSAGE, &err), 0);
    assert_int_equal(list.count, 2);
    point_list_free(&list);

    /* A pattern looks at the header and at the text. */
    trace_filter_free(&f.filter);
    text_list_add(&f.options.names, "*ird");
    text_list_add(&f.options.names, "pha*");
    assert_int_equal(trace_filter_resolve(&f.filter, f.trace, &f.options, &err), 0);
    assert_int_equal(point_list_make(&list, f.trace, &f.filter, 0, &err), 0);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.entries[0].time_ns, 2000);
    assert_int_equal(list.entries[1].time_ns, 3000);
    point_list_free(&list);
    end(&f);
}

static void test_ops_and_runs(void **state)
{
    struct fixture f;
    struct ops ops;
    struct error err = {0};
    (void)state;
    begin(&f);
    const struct trace_part parts[] = {
        {TRACE_PART_INPUT, SLICE("dtype=BF16;shape=1x32;padded=32x32;memory=DRAM")},
        {TRACE_PART_INPUT, SLICE("something else")},
        {TRACE_PART_ATTRIBUTE, SLICE("transpose=true")},
    };
    uint32_t name = trace_writer_name(f.writer, "matmul", "", "", 0, 0);
    uint32_t description = trace_writer_description(f.writer, parts, 3);
    uint32_t clock = trace_writer_clock(
        f.writer, &(struct trace_clock){
                      .id = TRACE_NONE, .is_device = true, .ticks_per_second = 1e9, .name = "device"});
    trace_writer_clock_point(f.writer,
                             &(struct trace_clock_point){.clock = clock, .ticks = 0, .host_ns = 1000000});
    trace_writer_clock_point(
        f.writer, &(struct trace_clock_point){.clock = clock, .ticks = 500000, .host_ns = 2000000});
    uint32_t queue = trace_writer_track(f.writer, &(struct trace_track){.id = TRACE_NONE,
                                                                        .process = f.processes[0],
                                                                        .parent = TRACE_NONE,
                                                                        .kind = TRACE_TRACK_QUEUE,
                                                                        .clock = clock,
                                                                        .key = 9,
                                                                        .name = "queue"});
    struct trace_op op = {.call = 5,
                          .process = f.processes[0],
                          .track = f.tracks[0],
                          .name = name,
                          .device = 0,
                          .description = description,
                          .start_ns = 1200000,
                          .end_ns = 1300000};
    trace_writer_op(f.writer, &op);
    op.process = f.processes[1]; /* the same call number in another process is another op */
    op.track = f.tracks[1];
    op.start_ns = 1100000;
    op.end_ns = 0;
    op.description = TRACE_NONE;
    trace_writer_op(f.writer, &op);
    struct trace_run run = {.call = 5,
                            .process = f.processes[0],
                            .track = queue,
                            .name = name,
                            .cores = 8,
                            .start = 100000,
                            .duration = 10000};
    trace_writer_run(f.writer, &run);
    run.start = 50000; /* replayed; came late */
    run.cores = 16;
    trace_writer_run(f.writer, &run);
    run.call = 77;
    trace_writer_run(f.writer, &run);
    read_back(&f);

    ops_init(&ops);
    assert_int_equal(wanted_ops_read(&ops, f.trace, &f.filter, false, &err), 0);
    assert_int_equal(ops.line_count, 3);
    assert_int_equal(ops.run_count, 3);
    assert_int_equal(ops.unmatched_runs, 1);
    assert_int_equal(ops.calls[ops.lines[0].call].process, f.processes[1]);
    assert_int_equal(ops.calls[ops.lines[0].call].runs, 0);
    struct runs_of_call sum = runs_of_call_sum(&ops, &ops.calls[ops.lines[1].call]);
    assert_int_equal(sum.count, 2);
    assert_int_equal(sum.device_ns, 2 * 20000); /* a tick is 2 ns by the points, whatever is nominal */
    assert_int_equal(sum.start_ns, 1000000 + 100000);
    assert_int_equal(sum.cores, 16);
    ops_free(&ops);
    end(&f);
}

static void test_losses(void **state)
{
    struct fixture f;
    struct loss_sums sums;
    struct error err = {0};
    (void)state;
    begin(&f);
    add_point(&f, 0, TRACE_POINT_FRAME, 1000, "f", "");
    const struct trace_loss losses[] = {
        {f.processes[0], f.tracks[0], TRACE_LOSS_BUFFER_FULL, 1, 2, 10, 1},
        {f.processes[0], f.tracks[0], TRACE_LOSS_BUFFER_FULL, 3, 4, 20, 2},
        {f.processes[1], f.tracks[1], TRACE_LOSS_NESTED, 3, 4, 5, 0},
        {TRACE_NONE, TRACE_NONE, TRACE_LOSS_COLLECTOR, 3, 4, 100, 0},
        {f.processes[0], f.tracks[0], TRACE_LOSS_LATE_ENDS, 3, 4, 7, 0},
        {f.processes[0], f.tracks[0], TRACE_LOSS_DROPPED_OLD, 3, 4, 1000, 0},
    };
    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++)
        trace_writer_loss(f.writer, &losses[i]);
    read_back(&f);
    loss_sums_make(&sums, f.trace, &f.filter);
    assert_true(sums.has_any);
    assert_int_equal(sums.lost.zones, 135);
    assert_int_equal(sums.lost.records, 3);
    assert_int_equal(sums.by_reason[TRACE_LOSS_BUFFER_FULL].zones, 30);
    assert_int_equal(sums.late_ends.zones, 7);
    assert_int_equal(sums.old.zones, 1000);
    assert_int_equal(trace_get_info(f.trace)->lost_zones, sums.lost.zones);

    /* Of one process: its own, and what cannot be assigned. */
    trace_filter_free(&f.filter);
    text_list_add(&f.options.processes, "101");
    assert_int_equal(trace_filter_resolve(&f.filter, f.trace, &f.options, &err), 0);
    loss_sums_make(&sums, f.trace, &f.filter);
    assert_int_equal(sums.lost.zones, 105);
    end(&f);
}

static void test_clock_quality(void **state)
{
    struct fixture f;
    struct clock_quality quality;
    (void)state;
    begin(&f);
    add_point(&f, 0, TRACE_POINT_FRAME, 1000, "f", "");
    uint32_t clock = trace_writer_clock(f.writer, &(struct trace_clock){.id = TRACE_NONE, .name = "c"});
    const struct trace_clock_point points[] = {
        {.clock = clock, .ticks = 0, .host_ns = 1000, .uncertainty_ns = 5, .realtime_ns = 501000},
        {.clock = clock, .ticks = 1000, .host_ns = 2020, .uncertainty_ns = 9}, /* 20 off the line */
        {.clock = clock, .ticks = 2000, .host_ns = 3000, .uncertainty_ns = 3, .realtime_ns = 503000},
        {.clock = clock, .ticks = 2100, .host_ns = 9000, .is_break = true},
        {.clock = clock, .ticks = 8000, .host_ns = 17000},
    };
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++)
        trace_writer_clock_point(f.writer, &points[i]);
    read_back(&f);
    clock_quality_make(&quality, f.trace, clock);
    assert_int_equal(quality.points, 5);
    assert_int_equal(quality.breaks, 1);
    assert_int_equal(quality.max_uncertainty_ns, 9);
    assert_int_equal(quality.max_residual_ns, 20); /* lines across the break do not count */
    assert_true(quality.ticks_per_second > 0.4999e9 && quality.ticks_per_second < 0.5001e9);
    assert_int_equal(clock_quality_realtime(f.trace, 2900), 502900);
    assert_int_equal(clock_quality_realtime(f.trace, 500), 500500);
    clock_quality_make(&quality, f.trace, clock + 1);
    assert_int_equal(quality.points, 0);
    end(&f);
}

static void test_labels(void **state)
{
    struct fixture f;
    char buffer[64];
    (void)state;
    begin(&f);
    uint32_t name = trace_writer_name(f.writer, "z", "main", "dir/x.c", 12, 0);
    add_point(&f, 0, TRACE_POINT_FRAME, 1000, "f", "");
    read_back(&f);
    assert_string_equal(label_track(f.trace, f.tracks[0], buffer, sizeof buffer), "thread 7");
    assert_string_equal(label_track(f.trace, f.tracks[1], buffer, sizeof buffer), "named");
    assert_string_equal(label_track(f.trace, TRACE_NONE, buffer, sizeof buffer), "?");
    assert_string_equal(label_program(trace_get_process(f.trace, f.processes[0]), buffer, sizeof buffer),
                        "sh");
    assert_string_equal(label_program(trace_get_process(f.trace, f.processes[1]), buffer, sizeof buffer),
                        "a.out");
    assert_string_equal(label_program(NULL, buffer, sizeof buffer), "?");
    assert_string_equal(label_location(trace_get_name(f.trace, name), buffer, sizeof buffer), "dir/x.c:12");
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_in_order),
        cmocka_unit_test(test_ops_and_runs),
        cmocka_unit_test(test_losses),
        cmocka_unit_test(test_clock_quality),
        cmocka_unit_test(test_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
