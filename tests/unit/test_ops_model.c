/* SPDX-License-Identifier: Apache-2.0 */
/* The op model: descriptions parsed and written, calls joined with runs, gaps, wrong times, the order of lines, and all
 * of it from a trace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "ops/description.h"
#include "ops/finish.h"
#include "ops/from_trace.h"
#include "test_trace_support.h"
#include "trace/ids.h"

static struct error err;

/* --- descriptions --- */

static const char *text_of(struct bytes *text)
{
    bytes_append_u8(text, 0);
    return (const char *)text->data;
}

static void check_tensor(const char *text, const char *written, const char *shown)
{
    struct ops ops;
    struct bytes out = {0};
    ops_init(&ops);
    uint32_t id = ops_parse_tensor(&ops, slice_of(text));
    assert_int_equal(id, 0);
    ops_append_tensor_text(&ops, &ops.tensors[id], &out);
    assert_string_equal(text_of(&out), written);
    assert_int_equal(ops_parse_tensor(&ops, slice_of(written)), id); /* means the same */
    bytes_clear(&out);
    ops_append_tensor(&ops, &ops.tensors[id], &out);
    assert_string_equal(text_of(&out), shown);
    bytes_free(&out);
    ops_free(&ops);
}

static void test_tensors(void **state)
{
    static const char full[] =
        "shape=2x3x32x50;padded=2x3x32x64;strides=6144x2048x64x1;dtype=BF16;layout=TILE;memory=L1";
    (void)state;
    check_tensor(full, full, "2x3x32x50 BF16 TILE L1");
    check_tensor("memory=L1;dtype=BF16;shape=7", "shape=7;dtype=BF16;memory=L1", "7 BF16 L1");
    check_tensor("shape=;dtype=F32", "shape=;dtype=F32", "F32"); /* a scalar */
    check_tensor("something else", "something else", "something else");
    check_tensor("shape=?x32;dtype=F32;shard=4", "dtype=F32;shape=?x32;shard=4", "F32");
    check_tensor("shape=32x;dtype=F32", "dtype=F32;shape=32x", "F32");
    check_tensor("shape=32;padded=32x32", "shape=32;padded=32x32", "32"); /* of another rank: kept as it is */
    check_tensor("shape=99999999999999999999", "shape=99999999999999999999", "shape=99999999999999999999");
    check_tensor("dtype=A;dtype=B", "dtype=A;dtype=B", "A");
}

static void test_four_sizes(void **state)
{
    struct ops ops;
    uint64_t four[4];
    (void)state;
    ops_init(&ops);
    ops_parse_tensor(&ops, slice_of("shape=2x3x4x5x6"));
    const struct op_tensor *tensor = &ops.tensors[0];
    assert_true(ops_four_sizes(&ops, tensor->shape, tensor->rank, four));
    assert_true(four[0] == 6 && four[1] == 4 && four[2] == 5 && four[3] == 6);
    assert_false(ops_four_sizes(&ops, tensor->padded, tensor->rank, four));
    uint32_t wide = ops_parse_tensor(&ops, slice_of("shape=4294967296x4294967296x2x2x2x2"));
    assert_false(ops_four_sizes(&ops, ops.tensors[wide].shape, ops.tensors[wide].rank, four));
    ops_free(&ops);
}

static void test_parts(void **state)
{
    const struct trace_part parts[] = {{TRACE_PART_ATTRIBUTE, SLICE("transpose=a=b")},
                                       {TRACE_PART_OUTPUT, SLICE("shape=1")},
                                       {TRACE_PART_INPUT, SLICE("shape=2")},
                                       {TRACE_PART_ATTRIBUTE, SLICE("flag")},
                                       {TRACE_PART_KERNEL, SLICE("reader.cpp")},
                                       {TRACE_PART_ATTRIBUTE, SLICE("math_fidelity=HiFi2")},
                                       {TRACE_PART_ATTRIBUTE, SLICE("module=model.layers.0")},
                                       {TRACE_PART_LOCATION, SLICE("model.py:7")},
                                       {TRACE_PART_INPUT, SLICE("shape=3")}};
    struct ops ops;
    (void)state;
    ops_init(&ops);
    uint32_t id = ops_parse_parts(&ops, parts, 9);
    assert_int_equal(ops_parse_parts(&ops, parts, 9), id); /* once */
    assert_int_equal(ops_parse_parts(&ops, parts, 0), OPS_NONE);
    const struct op_description *d = ops_get_description(&ops, id);
    assert_int_equal(d->inputs, 2);
    assert_int_equal(d->outputs, 1);
    assert_int_equal(d->attributes, 4);
    assert_int_equal(d->kernels, 1);
    assert_int_equal(ops.sizes[ops.tensors[ops_inputs(&ops, d)[1]].shape], 3);
    assert_string_equal(ops_get_text(&ops, d->location), "model.py:7");
    assert_string_equal(ops_get_text(&ops, d->fidelity), "HiFi2");
    assert_string_equal(ops_get_text(&ops, d->module), "model.layers.0");
    assert_true(slice_is(ops_find_attribute(&ops, id, "transpose"), "a=b"));
    assert_null(ops_find_attribute(&ops, id, "flag").data);
    assert_null(ops_find_attribute(&ops, id, "no such").data);
    assert_int_equal(ops_get_description(&ops, OPS_NONE)->inputs, 0);
    ops_free(&ops);
}

/* --- joining --- */

static uint32_t add_call(struct ops *ops, uint64_t number, uint64_t start_ns, uint8_t type)
{
    return ops_add_call(ops, &(struct op_call){.number = number,
                                               .start_ns = start_ns,
                                               .end_ns = start_ns + 10,
                                               .process = 0,
                                               .track = OPS_NONE,
                                               .name = OPS_NONE,
                                               .description = OPS_NONE,
                                               .device = OPS_NONE,
                                               .type = type});
}

static uint32_t add_run(struct ops *ops, uint64_t number, uint64_t start_ns, uint64_t duration_ns,
                        uint32_t session)
{
    return ops_add_run(ops, &(struct op_run){.start_ns = start_ns,
                                             .duration_ns = duration_ns,
                                             .gap_ns = OPS_NO_GAP,
                                             .call = ops_find_call(ops, 0, number),
                                             .track = 3,
                                             .session = session,
                                             .device = OPS_NO_DEVICE});
}

static void check_line(const struct ops *ops, size_t i, uint32_t call, uint32_t run, uint32_t signpost)
{
    assert_true(i < ops->line_count);
    assert_int_equal(ops->lines[i].call, call);
    assert_int_equal(ops->lines[i].run, run);
    assert_int_equal(ops->lines[i].signpost, signpost);
}

/* What is equal is one, however many there are, and also after the model was finished. */
static void test_descriptions_and_attributes_are_kept_once(void **state)
{
    (void)state;
    struct ops ops;
    ops_init(&ops);
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 1000; i++) {
            uint32_t ids[2] = {i, i % 7};
            assert_int_equal(ops_attribute(&ops, i % 10, i / 10), i);
            struct op_description d = {
                .attributes = 2, .location = i % 3, .module = OPS_NONE, .fidelity = OPS_NONE};
            assert_int_equal(ops_description(&ops, &d, ids), 2 * i);
            d.attributes = 1; /* the same ids, fewer of them */
            assert_int_equal(ops_description(&ops, &d, ids), 2 * i + 1);
        }
        assert_int_equal(ops.attribute_count, 1000);
        assert_int_equal(ops.description_count, 2000);
        assert_int_equal(ops.list_count, 3000);
        assert_int_equal(ops_finish(&ops, &err), 0);
    }
    uint32_t none = ops_description(&ops, &(struct op_description){.location = 9}, NULL);
    assert_int_equal(none, 2000);
    assert_int_equal(ops_description(&ops, &(struct op_description){.location = 9}, NULL), none);
    ops_free(&ops);
}

static void test_lines(void **state)
{
    struct ops ops;
    (void)state;
    ops_init(&ops);
    add_call(&ops, 20, 2000, OP_TYPE_DEVICE); /* 0: replayed alone */
    add_call(&ops, 10, 1000, OP_TYPE_DEVICE); /* 1: earlier, two runs */
    add_call(&ops, 30, 2000, OP_TYPE_HOST);   /* 2 */
    add_run(&ops, 10, 1500, 100, 0);          /* 0 */
    add_run(&ops, 20, 9000, 100, 2);          /* 1 */
    add_run(&ops, 20, 8000, 100, 1);          /* 2 */
    add_run(&ops, 10, 1700, 100, 0);          /* 3: another device */
    add_run(&ops, 77, 1800, 100, 0);          /* 4: of no call */
    ops_add_signpost(&ops, 2000, slice_of("start"), slice_of(""));
    assert_int_equal(ops_finish(&ops, &err), 0);
    assert_int_equal(ops.line_count, 7);
    check_line(&ops, 0, 1, 0, OPS_NONE);
    check_line(&ops, 1, 1, 3, OPS_NONE);
    check_line(&ops, 2, OPS_NONE, OPS_NONE, 0); /* before what begins at its time */
    check_line(&ops, 3, 0, OPS_NONE, OPS_NONE);
    check_line(&ops, 4, 2, OPS_NONE, OPS_NONE);
    check_line(&ops, 5, 0, 2, OPS_NONE);
    check_line(&ops, 6, 0, 1, OPS_NONE);
    assert_int_equal(ops.unmatched_runs, 1);
    assert_int_equal(ops.runs[4].faults, OP_FAULT_NO_CALL);
    assert_int_equal(ops.calls[1].runs, 2);
    assert_true(ops_line_is_first(&ops, &ops.lines[0]) && !ops_line_is_first(&ops, &ops.lines[1]));
    assert_true(ops_line_is_first(&ops, &ops.lines[3]) && !ops_line_is_first(&ops, &ops.lines[5]));
    assert_int_equal(ops_finish(&ops, &err), 0); /* again gives the same */
    assert_int_equal(ops.line_count, 7);
    ops_free(&ops);
}

static void test_runs_without_calls(void **state)
{
    struct ops ops;
    (void)state;
    ops_init(&ops);
    add_run(&ops, 1, 500, 10, 0);
    add_run(&ops, 2, 300, 10, 0);
    assert_int_equal(ops_finish(&ops, &err), 0);
    assert_int_equal(ops.line_count, 2);
    check_line(&ops, 0, OPS_NONE, 0, OPS_NONE);
    check_line(&ops, 1, OPS_NONE, 1, OPS_NONE);
    ops_free(&ops);
}

static void test_gaps_and_stale_times(void **state)
{
    const uint64_t ms = 1000000;
    struct ops ops;
    (void)state;
    ops_init(&ops);
    for (uint64_t i = 1; i <= 5; i++)
        add_call(&ops, i, 99 * ms + i * 100, OP_TYPE_DEVICE);
    add_run(&ops, 1, 100 * ms, 10, 0);
    add_run(&ops, 2, 100 * ms + 40, 10, 0);
    add_run(&ops, 3, 20 * ms, 10, 0); /* the device gave an old time: before the call */
    add_run(&ops, 4, 101 * ms, 10, 0);
    add_run(&ops, 5, 101 * ms + 15, 10, 0);
    assert_int_equal(ops_finish(&ops, &err), 0);
    assert_int_equal(ops.runs[0].gap_ns, 0);
    assert_int_equal(ops.runs[1].gap_ns, 30);
    assert_true(ops_has_gap(&ops.runs[0]) && ops_has_gap(&ops.runs[1]) && ops_has_gap(&ops.runs[4]));
    assert_int_equal(ops.runs[2].faults, OP_FAULT_STALE);
    assert_int_equal(ops.runs[1].faults | ops.runs[3].faults, 0);
    assert_false(ops_has_gap(&ops.runs[2]) || ops_has_gap(&ops.runs[3])); /* both sides of the wrong time */
    ops_free(&ops);
}

/* What two threads put into one queue may be reported one thread after the other. */
static void test_gaps_of_runs_reported_out_of_order(void **state)
{
    const uint64_t ms = 1000000;
    struct ops ops;
    (void)state;
    ops_init(&ops);
    for (uint64_t i = 1; i <= 5; i++)
        add_call(&ops, i, i * 100, OP_TYPE_DEVICE);
    add_run(&ops, 1, 10 * ms, 1 * ms, 0);
    add_run(&ops, 4, 40 * ms, 1 * ms, 0);
    add_run(&ops, 2, 20 * ms, 5 * ms, 0);
    add_run(&ops, 3, 30 * ms, 1 * ms, 0);
    add_run(&ops, 5, 50 * ms, 1 * ms, 0);
    assert_int_equal(ops_finish(&ops, &err), 0);
    const int64_t gaps[] = {0, 9, 9, 5, 9}; /* as they are stored */
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(ops.runs[i].faults, 0);
        assert_int_equal(ops.runs[i].gap_ns, gaps[i] * (int64_t)ms);
        assert_true(ops_has_gap(&ops.runs[i]));
    }
    ops_free(&ops);
}

/* A short step back is an overlap of two queues, not a wrong time. */
static void test_overlap_is_not_stale(void **state)
{
    struct ops ops;
    (void)state;
    ops_init(&ops);
    add_call(&ops, 1, 100, OP_TYPE_DEVICE);
    add_call(&ops, 2, 200, OP_TYPE_DEVICE);
    add_call(&ops, 3, 300, OP_TYPE_DEVICE);
    add_run(&ops, 1, 10000000, 8000000, 0);
    add_run(&ops, 2, 17500000, 100, 0);
    add_run(&ops, 3, 12000000, 20000000, 0); /* 5.5 ms back, of 20 ms */
    assert_int_equal(ops_finish(&ops, &err), 0);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(ops.runs[i].faults, 0);
    assert_int_equal(ops.runs[2].gap_ns, -6000000); /* by their times: the first, the third, the second */
    assert_int_equal(ops.runs[1].gap_ns, -14500000);
    ops_free(&ops);
}

/* Replays of what was captured are lines of one call, each with its own kernels. */
static void test_runs_of_lines(void **state)
{
    enum { REPLAYS = 70000 }; /* more than 16 bits can count */
    struct ops ops;
    (void)state;
    ops_init(&ops);
    add_call(&ops, 1, 100, OP_TYPE_HOST);
    add_call(&ops, 2, 200, OP_TYPE_HOST);
    for (uint32_t i = 0; i < REPLAYS; i++) {
        for (uint32_t kernel = 0; kernel < 3; kernel++)
            ops_add_run(&ops, &(struct op_run){.call = kernel == 1,
                                               .session = i + 1,
                                               .start_ns = 1000ull * i + 100 * kernel,
                                               .duration_ns = i + kernel,
                                               .gap_ns = kernel,
                                               .track = OPS_NONE,
                                               .device = 0});
    }
    assert_int_equal(ops_finish(&ops, &err), 0);
    assert_int_equal(ops.line_count, 2 * REPLAYS);
    for (uint32_t i = 0; i < 2 * REPLAYS; i++) {
        const uint32_t *runs, first = ops.lines[i].run, is_second = ops.lines[i].call;
        size_t count = ops_line_runs(&ops, &ops.lines[i], &runs);
        struct op_line_sum sum = ops_sum_line(&ops, &ops.lines[i]);
        assert_int_equal(count, is_second ? 1 : 2);
        assert_int_equal(runs[0], first);
        assert_int_equal(runs[count - 1], is_second ? first : first + 2);
        assert_int_equal(sum.runs, count);
        assert_int_equal(sum.duration_ns, is_second ? first / 3 + 1 : 2 * (first / 3) + 2);
        assert_int_equal(sum.gap_ns, is_second ? 1 : 2);
    }
    ops_free(&ops);
}

/* A gap is of the device: while one of its tracks works there is none, whatever the others wait for. One run of no op
 * changes nothing. */
static void test_gaps_of_a_device_with_several_tracks(void **state)
{
    static const struct {
        uint32_t track, start_ns, duration_ns, session;
        int32_t gap_ns;
    } runs[] = {{3, 1000, 100, 0, 0},    {3, 1100, 500, 0, 0},        {4, 1150, 100, 0, -450},
                {4, 1700, 50, 0, 50},    {3, 1760, 40, 0, 10},        {5, 1500, 150, 0, -100},
                {5, 1800, 10, 1, 0},     {5, 3000000, 9, 2, 2998190}, {6, 1200000, 10, 0, 0},
                {6, 1200110, 10, 0, 100}};
    enum { COUNT = sizeof runs / sizeof runs[0], OF_DEVICE = 8, OF_NO_OP = 4 };
    struct ops ops;
    (void)state;
    ops_init(&ops);
    ops.is_recorded = true;
    for (uint64_t i = 0; i < COUNT; i++)
        add_call(&ops, i + 1, i + 1, OP_TYPE_DEVICE);
    for (uint64_t i = 0; i < COUNT; i++)
        ops_add_run(&ops, &(struct op_run){.start_ns = runs[i].start_ns,
                                           .duration_ns = runs[i].duration_ns,
                                           .gap_ns = OPS_NO_GAP,
                                           .call = i == OF_NO_OP ? OPS_NONE : ops_find_call(&ops, 0, i + 1),
                                           .track = runs[i].track,
                                           .session = runs[i].session,
                                           .device = i >= OF_DEVICE});
    assert_int_equal(ops_finish(&ops, &err), 0);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(ops.runs[i].gap_ns, runs[i].gap_ns);
        assert_int_equal(ops.runs[i].faults, i == OF_NO_OP ? OP_FAULT_NO_CALL : 0);
        assert_true(ops_has_gap(&ops.runs[i])); /* also beside an op that ran in replays alone */
    }
    ops_free(&ops);
}

/* --- from a trace --- */

static bool wants_odd(void *context, const struct trace_op *op)
{
    (void)context;
    return op->call % 2;
}

static const char *write_trace(void)
{
    const char *path = test_path("model.opscope");
    struct trace_writer *w = open_writer(path, 0);
    struct trace_clock clock = {.id = TRACE_NONE, .is_device = true, .ticks_per_second = 1e9, .name = "chip"};
    uint32_t process = add_process(w, 1), host = add_track(w, process, "t", 0);
    struct trace_part parts[] = {{TRACE_PART_INPUT, SLICE("shape=1x32;dtype=BF16")}};
    uint32_t description = trace_writer_description(w, parts, 1);
    uint32_t chip = trace_writer_clock(w, &clock);
    struct trace_track device = {.id = TRACE_NONE,
                                 .process = process,
                                 .parent = TRACE_NONE,
                                 .kind = TRACE_TRACK_DEVICE,
                                 .clock = chip,
                                 .number = 5,
                                 .key = 50,
                                 .name = "chip 5",
                                 .architecture = "made up"};
    struct trace_track queue = device;
    queue.parent = trace_writer_track(w, &device);
    queue.kind = TRACE_TRACK_QUEUE;
    queue.number = 0;
    queue.key = 51;
    uint32_t track = trace_writer_track(w, &queue), name = add_name(w, "matmul, fused"),
             busy = add_name(w, "busy");
    trace_writer_clock_point(w, &(struct trace_clock_point){.clock = chip, .ticks = 0, .host_ns = 1000000});
    trace_writer_clock_point(w,
                             &(struct trace_clock_point){.clock = chip, .ticks = 500000, .host_ns = 2000000});
    for (uint64_t i = 1; i <= 4; i++) {
        struct trace_op op = {.call = i == 4 ? 3 : i, /* the last number comes again */
                              .process = process,
                              .track = host,
                              .name = name,
                              .device = 5,
                              .description = description,
                              .start_ns = 1000000 + i * 100,
                              .end_ns = i == 2 ? 0 : 1000000 + i * 100 + 60};
        struct trace_run_part figure = {.name = busy, .kind = TRACE_FIGURE_PERCENT, .real = 62.5};
        struct trace_run run = {.call = i,
                                .process = process,
                                .track = track,
                                .name = name,
                                .cores = 64,
                                .flags = i == 1 ? TRACE_RUN_ESTIMATED : 0,
                                .part_count = 1,
                                .start = i * 1000,
                                .duration = 500,
                                .parts = &figure};
        trace_writer_op(w, &op);
        trace_writer_run(w, &run);
    }
    trace_writer_point(w, &(struct trace_point){
                              .track = host, .kind = TRACE_POINT_SIGNPOST, .time = 1000050, .header = "go"});
    assert_ok(trace_writer_finish(w, ERR));
    return path;
}

static void test_from_trace(void **state)
{
    struct ops ops;
    struct ops_wanted wanted = {.figures = true, .signposts = true};
    (void)state;
    struct trace *t = open_trace(write_trace(), 0);
    ops_init(&ops);
    assert_int_equal(ops_from_trace(&ops, t, &wanted, &err), 0);
    assert_int_equal(ops_finish(&ops, &err), 0);
    assert_int_equal(ops.call_count, 3);
    assert_int_equal(ops.notice_count, 1); /* call 3 comes again */
    assert_int_equal(ops.notices[0].kind, OP_NOTICE_KIND_REPEATED);
    assert_int_equal(ops.unmatched_runs, 1);
    assert_int_equal(ops.description_count, 1);
    assert_int_equal(ops.calls[1].faults, OP_FAULT_OPEN);
    assert_string_equal(ops_get_text(&ops, ops.calls[0].name), "matmul, fused"); /* a comma stays one */
    assert_int_equal(ops.device_count, 1);
    assert_int_equal(ops.devices[0].number, 5);
    assert_string_equal(ops_get_text(&ops, ops.devices[0].architecture), "made up");
    assert_int_equal(ops.runs[0].device, 0);
    assert_int_equal(ops.runs[0].duration_ns, 1000); /* a tick is 2 ns by the points, whatever is nominal */
    assert_int_equal(ops.runs[1].gap_ns, 1000);
    assert_int_equal(ops.runs[0].flags, OP_RUN_ESTIMATED);
    assert_int_equal(ops.runs[0].figures, 1);
    assert_true(ops.figures[ops.runs[2].first_figure].real == 62.5);
    check_line(&ops, 0, OPS_NONE, OPS_NONE, 0);
    check_line(&ops, 1, 0, 0, OPS_NONE);
    ops_free(&ops);

    wanted = (struct ops_wanted){.wants_call = wants_odd};
    ops_init(&ops);
    assert_int_equal(ops_from_trace(&ops, t, &wanted, &err), 0);
    assert_int_equal(ops_finish(&ops, &err), 0);
    assert_int_equal(ops.call_count, 2);
    assert_int_equal(ops.unmatched_runs, 2);
    assert_int_equal(ops.figure_count + ops.signpost_count, 0);
    ops_free(&ops);
    trace_close(t);
}

/* Rows whose ids nothing was defined with, as where a block of definitions is damaged. */
static struct trace *open_trace_of_missing_ids(void)
{
    const char *path = test_path("missing.opscope");
    struct trace_writer *w = open_writer(path, 0);
    struct trace_run_part figures[] = {{.name = TRACE_NONE, .kind = TRACE_FIGURE_COUNT, .whole = 7},
                                       {.name = 70000000, .kind = TRACE_FIGURE_TEXT, .whole = TRACE_NONE},
                                       {.name = TRACE_NONE, .kind = TRACE_FIGURE_TEXT, .whole = 70000001}};
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t id = i ? 4000000000 + i : TRACE_NONE;
        trace_writer_op(w, &(struct trace_op){.call = i,
                                              .process = id,
                                              .track = id,
                                              .name = id,
                                              .type = i + 1,
                                              .device = TRACE_NONE,
                                              .description = id,
                                              .start_ns = 1000,
                                              .end_ns = 1010,
                                              .part_count = 3,
                                              .parts = figures});
        trace_writer_run(w, &(struct trace_run){.call = i,
                                                .process = id,
                                                .track = id,
                                                .name = id,
                                                .part_count = 3,
                                                .start = 1000,
                                                .duration = 5,
                                                .parts = figures});
    }
    assert_ok(trace_writer_finish(w, ERR));
    return open_trace(path, 0);
}

/* An id of 32 bits that nothing was defined with takes no table of 16 GiB, nor a link from op to op. */
static void test_ids_of_nothing(void **state)
{
    struct rlimit before, limit;
    struct ops ops;
    struct ops_wanted wanted = {.figures = true, .signposts = true, .places = true};
    (void)state;
    struct trace *t = open_trace_of_missing_ids();
    struct trace_ids ids = {0};
    assert_true(trace_ids_make(&ids, t, TRACE_ID_NAME, 5));
    assert_int_equal(ids.count, trace_name_count(t));
    assert_null(trace_ids_at(&ids, TRACE_NONE));
    assert_null(trace_ids_at(&ids, (uint32_t)ids.count));
    trace_ids_free(&ids);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    limit = before;
#ifndef __SANITIZE_ADDRESS__ /* which maps terabytes */
    limit.rlim_cur = (rlim_t)1 << 30;
#endif
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    ops_init(&ops);
    assert_int_equal(ops_from_trace(&ops, t, &wanted, &err), 0);
    assert_int_equal(ops_finish(&ops, &err), 0);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(ops.call_count, 3);
    assert_int_equal(ops.run_count, 3);
    for (size_t i = 0; i < ops.call_count; i++) {
        assert_int_equal(ops.calls[i].name, OPS_NONE);
        assert_int_equal(ops.calls[i].description, OPS_NONE);
        assert_int_equal(ops.calls[i].place, OPS_NONE);
    }
    assert_null(ops_inputs(&ops, ops_get_description(&ops, OPS_NONE)));
    ops_free(&ops);
    trace_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_four_sizes),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_descriptions_and_attributes_are_kept_once),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_ids_of_nothing),
        cmocka_unit_test(test_runs_without_calls),
        cmocka_unit_test(test_gaps_and_stale_times),
        cmocka_unit_test(test_gaps_of_runs_reported_out_of_order),
        cmocka_unit_test(test_overlap_is_not_stale),
        cmocka_unit_test(test_runs_of_lines),
        cmocka_unit_test(test_gaps_of_a_device_with_several_tracks),
        cmocka_unit_test(test_from_trace),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
