/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of PyTorch that the CPU computed, from a trace to the report: which time is a gap, what is counted once, and what
 * each op's work is (each beside its numbers). */
#include "test_trace_support.h"

#include <math.h>

#include "analyze/report/advice.h"
#include "analyze/report/report.h"
#include "ops/finish.h"
#include "ops/from_trace.h"
#include "present/report/words.h"

static struct error err;

/* Ops are given in the order in which they end, as a trace has them. */
struct cpu_op {
    const char *name;
    uint32_t thread;
    uint64_t start_us, end_us;
    const char *inputs, *outputs; /* "8x32 32x64", of floats */
    const char *attributes;       /* "args=... module=..." */
    uint64_t forward; /* number of the op that this is the backward of, which is its place + 1; 0 */
};

static const char *host = "here";

struct report {
    struct ops ops;
    struct perf perf;
    struct perf_options options;
    struct machine_set machines;
};

/* 100 GB/s, 1 TFLOP/s. */
static struct machine_set test_machines(void)
{
    static struct machine machine;
    machine_defaults(&machine);
    memcpy(machine.name, "round", 6);
    machine_take(&machine, "worker_cores", 1);
    machine_take(&machine, "dram_gb_s", 100);
    machine_take(&machine, "tflops_per_core_lofi", 1);
    machine_take(&machine, "tflops_per_core_hifi2", 1);
    machine_take(&machine, "tflops_per_core_hifi3", 1);
    machine_take(&machine, "tflops_per_core_hifi4", 1);
    machine_take(&machine, "vector_tflops_per_core", 1);
    return (struct machine_set){.machines = &machine, .count = 1, .capacity = 1};
}

static size_t add_parts(struct trace_part *parts, size_t count, struct bytes *texts, uint32_t role,
                        const char *words)
{
    char copy[512], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", words ? words : "");
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        parts[count] = (struct trace_part){.role = role};
        bytes_append_format(&texts[count],
                            role == TRACE_PART_ATTRIBUTE ? "%s" : "shape=%s;dtype=FLOAT32;memory=CPU_DRAM",
                            word);
        parts[count].text = slice_of(bytes_text(&texts[count]));
        count++;
    }
    return count;
}

static uint32_t describe(struct trace_writer *w, const struct cpu_op *op)
{
    struct trace_part parts[24];
    struct bytes texts[24] = {{0}};
    size_t count = add_parts(parts, 0, texts, TRACE_PART_INPUT, op->inputs);
    count = add_parts(parts, count, texts, TRACE_PART_OUTPUT, op->outputs);
    count = add_parts(parts, count, texts, TRACE_PART_ATTRIBUTE, op->attributes);
    uint32_t id = count ? trace_writer_description(w, parts, count) : TRACE_NONE;
    for (size_t i = 0; i < 24; i++)
        bytes_free(&texts[i]);
    return id;
}

static void write_ops(const char *path, const struct cpu_op *ops, size_t count)
{
    struct trace_writer_options options = {.program = "test", .command = "test", .host = host};
    struct trace_writer *w;
    uint32_t threads[4];
    assert_int_equal(trace_writer_open(&w, path, &options, &err), 0);
    uint32_t process = trace_writer_process(
        w, &(struct trace_process){.id = TRACE_NONE, .parent = TRACE_NONE, .command = "p", .host = ""});
    for (uint32_t i = 0; i < 4; i++)
        threads[i] = trace_writer_track(w, &(struct trace_track){.id = TRACE_NONE,
                                                                 .process = process,
                                                                 .parent = TRACE_NONE,
                                                                 .kind = TRACE_TRACK_THREAD,
                                                                 .clock = TRACE_HOST_CLOCK,
                                                                 .number = i,
                                                                 .name = "thread"});
    for (size_t i = 0; i < count; i++) {
        struct trace_run_part forward = {.name = trace_writer_name(w, TRACE_FIGURE_FORWARD, "", "", 0, 0),
                                         .kind = TRACE_FIGURE_COUNT,
                                         .whole = ops[i].forward};
        trace_writer_op(w, &(struct trace_op){.call = i + 1,
                                              .process = process,
                                              .track = threads[ops[i].thread],
                                              .name = trace_writer_name(w, ops[i].name, "", "", 0, 0),
                                              .type = TRACE_OP_CPU,
                                              .device = TRACE_NONE,
                                              .description = describe(w, &ops[i]),
                                              .start_ns = 1000000 + ops[i].start_us * 1000,
                                              .end_ns = 1000000 + ops[i].end_us * 1000,
                                              .part_count = ops[i].forward != 0,
                                              .parts = &forward});
    }
    assert_int_equal(trace_writer_finish(w, &err), 0);
}

static void start_grouped(struct report *report, const struct cpu_op *ops, size_t count,
                          enum perf_group_by group_by)
{
    const char *path = test_path("cpu.opscope");
    const struct ops_wanted all = {.figures = true, .signposts = true, .places = true};
    struct trace *trace;
    write_ops(path, ops, count);
    *report = (struct report){.options = {.machine = "round",
                                          .ignore_signposts = true,
                                          .has_host_start = true,
                                          .group_by = group_by},
                              .machines = test_machines()};
    report->options.machines = &report->machines;
    ops_init(&report->ops);
    assert_int_equal(trace_open(&trace, path, 0, &err), 0);
    assert_int_equal(ops_from_trace(&report->ops, trace, &all, &err), 0);
    assert_int_equal(ops_finish(&report->ops, &err), 0);
    trace_close(trace);
    perf_begin(&report->perf, &report->options, &report->ops);
    assert_int_equal(perf_add_path(&report->perf, path, &err), 0);
    if (perf_finish(&report->perf, &err) != 0)
        fail_msg("%s", err.message);
}

#define start(report, ops) start_grouped(report, ops, sizeof(ops) / sizeof((ops)[0]), PERF_BY_OP)

static void end(struct report *report)
{
    perf_free(&report->perf);
    ops_free(&report->ops);
}

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * fabs(want)))
        fail_msg("%.12g, expected %.12g", got, want);
}

/* The only row of this name. */
static const struct perf_row *row_of(const struct report *report, const char *name)
{
    const struct perf_row *found = NULL;
    for (size_t i = 0; i < report->perf.count; i++) {
        const struct perf_row *row = perf_at(&report->perf, i);
        if (strcmp(perf_text(&report->perf, perf_work_of(&report->perf, row)->name), name) == 0) {
            assert_null(found);
            found = row;
        }
    }
    if (!found)
        fail_msg("no %s", name);
    return found;
}

/* --- gaps --- */

/*      0   10   20        100  110  120     130  200
 * 0    [mm ]                             [mm    ]
 * 1         [relu]                  [relu]
 * 2                       [tanh]                       Idle: 20 to 100, 110 to 115, 125 to 130. */
static const struct cpu_op three_threads[] = {
    {"aten::mm", 0, 0, 10, "8x8 8x8", "8x8", NULL, 0},
    {"aten::relu", 1, 5, 20, NULL, NULL, NULL, 0},
    {"aten::tanh", 2, 100, 110, "8x8", "8x8", NULL, 0},
    {"aten::sigmoid", 1, 115, 125, "8x8", "8x8", NULL, 0},
    {"aten::addmm", 0, 130, 200, "8 8x8 8x8", "8x8", NULL, 0},
};

static void test_a_gap_is_when_nobody_works(void **state)
{
    struct report report;
    (void)state;
    start(&report, three_threads);
    assert_true(perf_is_cpu(&report.perf));
    assert_true(isnan(row_of(&report, "aten::mm")->shown_gap_us));
    near(row_of(&report, "aten::relu")->shown_gap_us, 0); /* the first of its thread, beside another */
    near(row_of(&report, "aten::tanh")->shown_gap_us, 80);
    near(row_of(&report, "aten::sigmoid")->shown_gap_us, 5); /* and not 95 */
    near(row_of(&report, "aten::addmm")->shown_gap_us, 5);   /* and not 120 */
    near(report.perf.total_gap_us, 90);
    near(report.perf.total_time_us, 115);
    near(report.perf.busy_us, 110);  /* two at once from 5 to 10 */
    near(report.perf.total_us, 200); /* from the first op to the end of the last */
    for (size_t i = 0; i < report.perf.advice_count; i++)
        assert_true(report.perf.advice[i].gain_us <= 200);
    end(&report);
}

/* Of ops inside each other, the gap is that of the outermost, whatever the other threads' order in the trace. */
static void test_gaps_of_nested_ops(void **state)
{
    static const struct cpu_op ops[] = {
        {"aten::t", 0, 52, 54, NULL, NULL, NULL, 0},      {"aten::addmm", 0, 54, 58, NULL, NULL, NULL, 0},
        {"aten::linear", 0, 50, 60, NULL, NULL, NULL, 0}, {"aten::mm", 1, 0, 30, NULL, NULL, NULL, 0},
        {"aten::relu", 1, 70, 75, NULL, NULL, NULL, 0},
    };
    struct report report;
    (void)state;
    start(&report, ops);
    near(row_of(&report, "aten::linear")->shown_gap_us, 20);
    near(row_of(&report, "aten::t")->shown_gap_us, 0);
    near(row_of(&report, "aten::addmm")->shown_gap_us, 0);
    near(row_of(&report, "aten::relu")->shown_gap_us, 10);
    near(report.perf.total_us, 75);
    end(&report);
}

/* --- work --- */

static void assert_work(const struct report *report, const char *name, double flops, double bytes)
{
    const struct perf_work *work = perf_work_of(&report->perf, row_of(report, name));
    if (isnan(flops) != isnan(work->flops) || isnan(bytes) != isnan(work->dram_bytes))
        fail_msg("%s: %.12g FLOPs, %.12g bytes, expected %.12g, %.12g", name, work->flops, work->dram_bytes,
                 flops, bytes);
    if (!isnan(flops))
        near(work->flops, flops);
    if (!isnan(bytes))
        near(work->dram_bytes, bytes);
}

/* The inner op has the time, and the work. */
static void test_work_is_counted_once(void **state)
{
    static const struct cpu_op ops[] = {
        {"aten::sum", 0, 1, 9, "100x10", "1", NULL, 0},
        {"aten::div_", 0, 9, 10, "1", "1", NULL, 0},
        {"aten::mean", 0, 0, 11, "100x10", "1", NULL, 0}, /* a reduction that calls one */
        {"aten::empty", 0, 21, 22, NULL, "100", NULL, 0},
        {"aten::addmv_", 0, 22, 29, "100 100x10 10", "100", NULL, 0},
        {"aten::mv", 0, 20, 30, "100x10 10", "100", NULL, 0},
        {"aten::copy_", 0, 41, 42, "10x20 20", "10x20", NULL, 0},
        {"aten::addmm", 0, 40, 50, "20 10x30 30x20", "10x20", NULL, 0}, /* calls only what is no product */
        {"aten::fill_", 0, 61, 62, "12x12", "12x12", NULL, 0},
        {"aten::strange_pad", 0, 60, 70, "10x10", "12x12", NULL, 0}, /* known to no model */
        {"aten::view", 0, 81, 82, "10x10", "100", NULL, 0},
        {"aten::strange", 0, 80, 90, "10x10", "10x10", NULL, 0},
        {"aten::index_select", 0, 101, 109, "1000x64 8", "8x64", NULL, 0},
        {"aten::embedding", 0, 100, 110, "1000x64 8", "8x64", NULL, 0},
    };
    struct report report;
    (void)state;
    start(&report, ops);
    assert_work(&report, "aten::mean", NAN, NAN);
    assert_work(&report, "aten::sum", 1000, 4 * 1001);
    assert_work(&report, "aten::mv", NAN, NAN);
    assert_work(&report, "aten::addmv_", 2 * 1000, 4 * (100 + 1000 + 10 + 100));
    assert_work(&report, "aten::addmm", 2 * 10 * 30 * 20, 4 * (20 + 300 + 600 + 200));
    assert_work(&report, "aten::copy_", NAN, 4 * (200 + 20));
    assert_work(&report, "aten::strange_pad", NAN, NAN);
    assert_work(&report, "aten::fill_", NAN, 4 * 144);
    assert_work(&report, "aten::strange", NAN, 4 * 200); /* what it called does nothing */
    assert_work(&report, "aten::embedding", NAN, NAN);
    assert_work(&report, "aten::index_select", NAN, 4 * (8 + 2 * 8 * 64));
    assert_int_equal(row_of(&report, "aten::mean")->bound, PERF_BOUND_NONE);
    end(&report);
}

/* Ops that follow each other, or are of other threads, are not inside each other. */
static void test_work_of_neighbours(void **state)
{
    static const struct cpu_op ops[] = {
        {"aten::sum", 0, 0, 10, "100", "1", NULL, 0},
        {"aten::amax", 1, 12, 18, "100", "1", NULL, 0},
        {"aten::prod", 0, 10, 20, "100", "1", NULL, 0},
    };
    struct report report;
    (void)state;
    start(&report, ops);
    near(report.perf.total_flops, 300);
    near(report.perf.total_dram_bytes, 3 * 404);
    end(&report);
}

/* Batch 2, 3 channels of 8 x 8 to 4 of 6 x 6: 2 * 2 * 36 * 4 * 3 * 9 FLOPs forward, twice that for both gradients. */
static void test_backward_of_a_convolution(void **state)
{
    static const struct cpu_op ops[] = {
        {"aten::_slow_conv2d_backward", 0, 1, 9, "2x4x6x6 2x3x8x8 4x3x3x3", "2x3x8x8 4x3x3x3 4",
         "args=T,T,T,[3,3],[1,1],[0,0],[True,True,True]", 0},
        {"aten::convolution_backward", 0, 0, 10, "2x4x6x6 2x3x8x8 4x3x3x3", "2x3x8x8 4x3x3x3 4",
         "args=T,T,T,[4],[1,1],[0,0],[1,1],False,[0,0],1,[True,True,True]", 0},
    };
    struct report report;
    (void)state;
    start(&report, ops);
    assert_work(&report, "aten::convolution_backward", NAN, NAN);
    near(perf_work_of(&report.perf, row_of(&report, "aten::_slow_conv2d_backward"))->flops,
         2 * (2 * 2 * 36 * 4 * 3 * 9));
    end(&report);
}

/* Each input position of each sample with the whole weight: 2 * 2 * (5 * 5) * 3 * 4 * 16 FLOPs for 3 channels of 5 x 5
 * to 4 of 10 x 10; not the output's positions, which are four times as many. */
static void test_transposed_convolutions(void **state)
{
    static const struct cpu_op ops[] = {
        {"aten::_convolution", 0, 0, 10, "2x3x5x5 3x4x4x4", "2x4x10x10",
         "args=T,T,-,[2,2],[1,1],[1,1],True,[0,0],1,False,False,True,True", 0},
        {"aten::slow_conv_transpose3d", 0, 11, 12, "2x3x5x5x5 3x4x4x4x4", "2x4x10x10x10", NULL, 0},
        {"aten::slow_conv_dilated3d", 0, 12, 13, "2x3x9x9x9 4x3x3x3x3", "2x4x5x5x5", NULL, 0},
        {"aten::slow_conv_transpose2d", 1, 1, 9, "2x3x5x5 3x4x4x4", "2x4x10x10", NULL, 0},
        {"aten::_convolution_mode", 1, 0, 10, "2x3x5x5 3x4x4x4", "2x4x10x10", NULL, 0},
    };
    static const char *const backward[] = {
        "args=T,T,T,[4],[2,2],[1,1],[1,1],True,[0,0],1,[True,True,False]",
        "args=T,T,T,-,[2,2],[1,1],[1,1],True,[0,0],1,[True,True,False]",
        "args=T,T,T,[2,2],[1,1],[1,1],True,[0,0],1,[True,True,False]",
    };
    const double once = 2 * 2 * 25 * 3 * 4 * 16;
    struct report report;
    (void)state;
    start(&report, ops);
    near(perf_work_of(&report.perf, row_of(&report, "aten::_convolution"))->flops, once);
    near(perf_work_of(&report.perf, row_of(&report, "aten::slow_conv_transpose2d"))->flops, once);
    near(perf_work_of(&report.perf, row_of(&report, "aten::slow_conv_transpose3d"))->flops, once * 5 * 4);
    near(perf_work_of(&report.perf, row_of(&report, "aten::slow_conv_dilated3d"))->flops,
         2 * 2 * 125 * 4 * 3 * 27);
    end(&report);
    for (size_t i = 0; i < sizeof backward / sizeof backward[0]; i++) {
        const struct cpu_op op[] = {{"aten::convolution_backward", 0, 0, 10, "2x4x10x10 2x3x5x5 3x4x4x4",
                                     "2x3x5x5 3x4x4x4", backward[i], 0}};
        start(&report, op);
        near(perf_work_of(&report.perf, row_of(&report, "aten::convolution_backward"))->flops, 2 * once);
        end(&report);
    }
}

/* Where an op inside it is a convolution, aten::_convolution only calls it; where it is not transposed, the output's
 * positions count. */
static void test_convolution_that_calls_others(void **state)
{
    static const struct cpu_op ops[] = {
        {"aten::mkldnn_convolution", 0, 1, 9, "2x3x8x8 4x3x3x3", "2x4x6x6", NULL, 0},
        {"aten::_convolution", 0, 0, 10, "2x3x8x8 4x3x3x3", "2x4x6x6",
         "args=T,T,-,[1,1],[0,0],[1,1],False,[0,0],1,False,False,True,True", 0},
    };
    struct report report;
    (void)state;
    start(&report, ops);
    assert_work(&report, "aten::_convolution", NAN, NAN);
    near(report.perf.total_flops, 2 * 2 * 36 * 4 * 3 * 9);
    end(&report);
    start_grouped(&report, ops + 1, 1, PERF_BY_OP);
    near(report.perf.total_flops, 2 * 2 * 36 * 4 * 3 * 9);
    end(&report);
}

/* What is written to a table is charged, not the table. */
static void test_scatters(void **state)
{
    static const struct cpu_op ops[] = {
        {"aten::index_add_", 0, 0, 1, "50000x64 100 100x64", "50000x64", NULL, 0},
        {"aten::scatter_add_", 0, 1, 2, "50000x64 100x64 100x64", "50000x64", NULL, 0},
        {"aten::_index_put_impl_", 0, 2, 3, "50000x64 100 100x64", "50000x64", "lists=1:100:400", 0},
        {"aten::index_put_", 0, 3, 4, "500x64 10 10 10", "500x64", "lists=2:20:80", 0},
        {"aten::index_copy_", 0, 4, 5, "50000x64 100 100x64", "50000x64", NULL, 0},
        {"aten::scatter_", 0, 5, 6, "50000x64 100x64", "50000x64", NULL, 0}, /* of a number */
        {"aten::embedding_dense_backward", 0, 6, 7, "100x64 100", "50000x64", NULL, 0},
    };
    struct report report;
    (void)state;
    start(&report, ops);
    assert_work(&report, "aten::index_add_", NAN, 4 * (100 + 3 * 6400));
    assert_work(&report, "aten::scatter_add_", NAN, 4 * (6400 + 3 * 6400));
    assert_work(&report, "aten::_index_put_impl_", NAN, 4 * (100 + 2 * 6400));
    assert_work(&report, "aten::index_put_", NAN, 4 * (20 + 2 * 10));
    assert_work(&report, "aten::index_copy_", NAN, 4 * (100 + 2 * 6400));
    assert_work(&report, "aten::scatter_", NAN, 4 * (6400 + 6400));
    assert_work(&report, "aten::embedding_dense_backward", NAN, 4 * (3200000 + 100 + 2 * 6400));
    end(&report);
}

/* Lists of tensors have their bytes in an attribute, and only the first tensors are listed: lists that begin alike are
 * other work. Ops of lists have no shape to be unknown. */
static void test_lists_that_begin_alike(void **state)
{
    static const struct cpu_op ops[] = {
        {"aten::_foreach_lerp_", 0, 0, 1, "64 64", NULL, "lists=2:100:400", 0},
        {"aten::_foreach_lerp_", 0, 1, 2, "64 64", NULL, "lists=3:300:1200", 0},
    };
    struct report report;
    (void)state;
    start(&report, ops);
    near(perf_work_of(&report.perf, perf_at(&report.perf, 0))->dram_bytes, 2 * 400);
    near(perf_work_of(&report.perf, perf_at(&report.perf, 1))->dram_bytes, 2 * 1200);
    const struct perf_work *work = perf_work_of(&report.perf, perf_at(&report.perf, 0));
    assert_string_equal(perf_text(&report.perf, work->shown), "aten::_foreach_lerp_");
    assert_int_equal(work->class_, PERF_CLASS_ELEMENTWISE);
    end(&report);
}

/* 5 steps of 4 samples, 16 in and 32 out: an LSTM has 4 gates, a GRU 3. */
static void test_recurrent_layers(void **state)
{
    static const struct cpu_op ops[] = {
        {"aten::mkldnn_rnn_layer", 0, 0, 10, "5x4x16 128x16 128x32 128 128 4x32 4x32", "5x4x32 4x32 4x32",
         NULL, 0},
        {"aten::mkldnn_rnn_layer_backward", 0, 10, 20, "5x4x16 128x16 128x32 128 128 4x32 4x32", "5x4x16",
         NULL, 0},
    };
    static const struct cpu_op gru[] = {
        {"aten::mkldnn_rnn_layer", 0, 0, 10, "5x4x16 96x16 96x32", "5x4x32", NULL, 0}};
    static const struct cpu_op unknown[] = {
        {"aten::mkldnn_rnn_layer", 0, 0, 10, "5x4x16", "5x4x32", NULL, 0}};
    struct report report;
    (void)state;
    start(&report, ops);
    near(perf_work_of(&report.perf, row_of(&report, "aten::mkldnn_rnn_layer"))->flops,
         2 * 5 * 4 * (16 + 32) * 4 * 32);
    near(perf_work_of(&report.perf, row_of(&report, "aten::mkldnn_rnn_layer_backward"))->flops,
         2 * 2 * 5 * 4 * (16 + 32) * 4 * 32);
    end(&report);
    start(&report, gru);
    near(report.perf.total_flops, 2 * 5 * 4 * (16 + 32) * 3 * 32);
    end(&report);
    start(&report, unknown);
    assert_int_equal(row_of(&report, "aten::mkldnn_rnn_layer")->bound, PERF_BOUND_NONE);
    assert_int_equal(report.perf.advice_count, 0);
    end(&report);
}

/* Nothing bounds an op of which nothing is known, and a report of nothing else is one of the CPU. */
static void test_nothing_is_known(void **state)
{
    static const struct cpu_op ops[] = {
        {"Torch-Compiled Region: 0/0", 0, 0, 1000, NULL, NULL, NULL, 0},
        {"TorchDynamo Cache Lookup", 0, 3000, 3900, NULL, NULL, NULL, 0},
    };
    struct report report;
    struct bytes text = {0};
    (void)state;
    start(&report, ops);
    assert_true(perf_is_cpu(&report.perf));
    assert_int_equal(row_of(&report, ops[0].name)->bound, PERF_BOUND_NONE);
    assert_int_equal(report.perf.advice_count, 1);
    perf_append_action(&report.perf, &report.perf.advice[0], &text);
    assert_non_null(strstr(bytes_text(&text), "between ops the CPU runs Python and torch"));
    bytes_free(&text);
    end(&report);
}

static bool is_said(const struct report *report, const char *text)
{
    bool is_found = false;
    for (size_t i = 0; i < report->perf.notes.count; i++)
        is_found |= strstr(report->perf.notes.items[i].text, text) != NULL;
    return is_found;
}

/* 128 MB in 20 us, which is in a cache; 1.2 GB in 20 us, which is in none. */
static void test_what_fits_a_cache(void **state)
{
    static const struct cpu_op small[] = {{"aten::relu_", 0, 0, 20, NULL, NULL, NULL, 0},
                                          {"aten::tanh", 0, 20, 40, "4000x4000", "4000x4000", NULL, 0}};
    static const struct cpu_op large[] = {{"aten::tanh", 0, 20, 40, "40000x4000", "40000x4000", NULL, 0}};
    struct report report;
    (void)state;
    start(&report, small);
    assert_true(is_said(&report, "its data fits in a cache, and the machine file says nothing of caches"));
    end(&report);
    start(&report, large);
    assert_false(is_said(&report, "caches"));
    assert_true(is_said(&report, "it moved less than the model counts"));
    end(&report);
}

/* --- layers --- */

/* What runs a backward pass runs in no layer: its ops are in that of the op whose backward they are. */
static void test_layers_of_a_backward_pass(void **state)
{
    static const struct cpu_op ops[] = {
        {"aten::addmm", 0, 0, 10, "64 8x32 32x64", "8x64", "module=Net.first", 0},
        {"aten::relu", 0, 10, 20, "8x64", "8x64", "module=Net.second", 0},
        {"ReluBackward0", 0, 31, 39, "8x64", "8x64", NULL, 2},
        {"evaluate_function: ReluBackward0", 0, 30, 40, NULL, NULL, NULL, 0},
        {"aten::mm", 0, 42, 47, "32x8 8x64", "32x64", NULL, 0},
        {"AddmmBackward0", 0, 41, 48, "8x64", "32x64", NULL, 1},
        {"evaluate_function: AddmmBackward0", 0, 40, 50, NULL, NULL, NULL, 0},
        {"aten::add_", 0, 60, 70, "8x64", "8x64", NULL, 0},
    };
    struct report report;
    double found = 0;
    (void)state;
    start_grouped(&report, ops, sizeof ops / sizeof ops[0], PERF_BY_LAYER);
    assert_int_equal(report.perf.groups.count, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct perf_group *group = &report.perf.groups.items[i];
        const char *name = perf_text(&report.perf, group->key);
        found += strcmp(name, "Net.first") == 0    ? group->time_us == 20
                 : strcmp(name, "Net.second") == 0 ? group->time_us == 20
                                                   : strcmp(name, "(no layer)") == 0 && group->time_us == 10;
    }
    near(found, 3);
    assert_work(&report, "aten::mm", 2 * 32 * 8 * 64, 4 * (256 + 512 + 2048));
    end(&report);
}

/* Which a machine file of the host has among its names: whole, since the pods of a job differ at the end. */
static void test_name_of_the_host(void **state)
{
    const struct cpu_op ops[] = {{"aten::relu", 0, 0, 10, "1x2", "1x2", NULL, 0}};
    struct report report;
    (void)state;
    host = "training-job-of-somebody-worker-0";
    start(&report, ops);
    host = "here";
    assert_int_equal(report.ops.device_count, 1);
    assert_string_equal(ops_get_text(&report.ops, report.ops.devices[0].architecture),
                        "cpu@training-job-of-somebody-worker-0");
    end(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_gap_is_when_nobody_works),
        cmocka_unit_test(test_gaps_of_nested_ops),
        cmocka_unit_test(test_layers_of_a_backward_pass),
        cmocka_unit_test(test_work_is_counted_once),
        cmocka_unit_test(test_work_of_neighbours),
        cmocka_unit_test(test_backward_of_a_convolution),
        cmocka_unit_test(test_what_fits_a_cache),
        cmocka_unit_test(test_lists_that_begin_alike),
        cmocka_unit_test(test_recurrent_layers),
        cmocka_unit_test(test_nothing_is_known),
        cmocka_unit_test(test_name_of_the_host),
        cmocka_unit_test(test_scatters),
        cmocka_unit_test(test_transposed_convolutions),
        cmocka_unit_test(test_convolution_that_calls_others),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
