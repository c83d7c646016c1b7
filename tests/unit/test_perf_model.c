/* SPDX-License-Identifier: Apache-2.0 */
/* The roofline models, against cases computed by hand (each beside its numbers), the rules about times, windows and
 * devices, and the advice. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/report/report.h"
#include "analyze/report/advice.h"
#include "import/ops_csv/model.h"
#include "present/report/words.h"

/* A machine with round numbers: 100 GB/s, 10 cores, HiFi4 1 TFLOP/s a core, LoFi 4, vector 0.1, links of 10 GB/s. */
static struct machine_set test_machines(void)
{
    static struct machine machine;
    machine_defaults(&machine);
    memcpy(machine.name, "wormhole", 9);
    machine_take(&machine, "worker_cores", 10);
    machine_take(&machine, "dram_sharded_cores", 5);
    machine_take(&machine, "dram_gb_s", 100);
    machine_take(&machine, "tflops_per_core_lofi", 4);
    machine_take(&machine, "tflops_per_core_hifi2", 2);
    machine_take(&machine, "tflops_per_core_hifi3", 1.5);
    machine_take(&machine, "tflops_per_core_hifi4", 1);
    machine_take(&machine, "vector_tflops_per_core", 0.1);
    machine_take(&machine, "fp64_tflops_per_core", 0.02);
    machine_take(&machine, "link_gb_s", 10);
    assert_null(machine_missing(&machine));
    return (struct machine_set){.machines = &machine, .count = 1, .capacity = 1};
}

struct op {
    const char *name, *attributes, *fidelity, *duration, *gap, *cores, *device, *type, *host_start;
    const char *in0, *in1, *out; /* "W,Z,Y,X,TYPE,MEMORY" */
    const char *host_duration;
};

/* Caches of 1 kB at 1,000 GB/s and of 10 kB at 400 GB/s. */
static void add_caches(struct machine *machine)
{
    machine_take(machine, "l2_bytes", 1000);
    machine_take(machine, "l2_gb_s", 1000);
    machine_take(machine, "l3_bytes", 10000);
    machine_take(machine, "l3_gb_s", 400);
}

/* A report of ops that are written down as a table. */
struct report {
    struct bytes csv;
    struct ops ops;
    struct perf perf;
    struct perf_options options;
    struct machine_set machines;
};

static void append_tensor_header(struct bytes *csv, const char *tensor)
{
    static const char *const parts[] = {"W_PAD[LOGICAL]", "Z_PAD[LOGICAL]", "Y_PAD[LOGICAL]",
                                        "X_PAD[LOGICAL]", "DATATYPE",       "MEMORY"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        bytes_append_format(csv, ",%s_%s", tensor, parts[i]);
}

static void start(struct report *report, struct perf_options options)
{
    *report = (struct report){.options = options, .machines = test_machines()};
    report->options.machines = &report->machines;
    bytes_append_text(&report->csv,
                      "OP CODE,OP TYPE,DEVICE ARCH,ATTRIBUTES,MATH FIDELITY,DEVICE KERNEL DURATION "
                      "[ns],OP TO OP LATENCY [ns],CORE COUNT,DEVICE ID,HOST START TS,HOST DURATION [ns]");
    append_tensor_header(&report->csv, "INPUT_0");
    append_tensor_header(&report->csv, "INPUT_1");
    append_tensor_header(&report->csv, "OUTPUT_0");
    bytes_append_text(&report->csv, "\n");
}

static void add(struct report *report, const struct op *op)
{
    const char *const cells[] = {op->name,
                                 op->type ? op->type : "tt_dnn_device",
                                 "wormhole",
                                 op->attributes,
                                 op->fidelity,
                                 op->duration,
                                 op->gap,
                                 op->cores,
                                 op->device ? op->device : "0",
                                 op->host_start,
                                 op->host_duration};
    const char *const tensors[] = {op->in0, op->in1, op->out};
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++)
        bytes_append_format(&report->csv, "%s%s", i ? "," : "", cells[i] ? cells[i] : "");
    for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++)
        bytes_append_format(&report->csv, ",%s", tensors[i] ? tensors[i] : ",,,,,");
    bytes_append_text(&report->csv, "\n");
}

static void finish(struct report *report)
{
    struct error err = {0};
    struct op_rows *rows = NULL;
    struct ops_csv_summary summary;
    ops_init(&report->ops);
    assert_false(report->csv.failed);
    if (op_rows_open_memory(&rows, "t.csv", report->csv.data, report->csv.length, &err) != 0 ||
        ops_csv_to_model(&report->ops, rows, &(struct ops_csv_request){0}, &summary, &err) != 0)
        fail_msg("%s", err.message);
    op_rows_close(rows);
    report->options.has_host_start = summary.has_host_start;
    perf_begin(&report->perf, &report->options, &report->ops);
    assert_int_equal(perf_add_path(&report->perf, "t.csv", &err), 0);
    if (perf_finish(&report->perf, &err) != 0)
        fail_msg("%s", err.message);
}

static void end(struct report *report)
{
    perf_free(&report->perf);
    ops_free(&report->ops);
    bytes_free(&report->csv);
}

/* One op by itself. */
struct facts {
    double flops, dram_bytes, link_bytes, dram_gb_s, dram_percent, tflops, flops_percent, link_gb_s,
        link_percent;
    double ideal_us;
    unsigned bound, model_flags, doubt;
    double cache_percent;
};

static struct facts figures_of(const struct op *op, struct perf_options options)
{
    struct report report;
    start(&report, options);
    add(&report, op);
    finish(&report);
    assert_int_equal(report.perf.count, 1);
    const struct perf_row *row = perf_at(&report.perf, 0);
    const struct perf_work *work = perf_work_of(&report.perf, row);
    struct perf_figures figures = perf_figures(&report.perf, row);
    struct facts facts = {
        work->flops,    work->dram_bytes,      work->link_bytes,  figures.dram_gb_s,    figures.dram_percent,
        figures.tflops, figures.flops_percent, figures.link_gb_s, figures.link_percent, figures.ideal_us,
        row->bound,     work->model_flags,     row->doubt,        figures.cache_percent};
    end(&report);
    return facts;
}

static struct facts figures(const struct op *op)
{
    return figures_of(op, (struct perf_options){.ignore_signposts = true});
}

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * fabs(want)))
        fail_msg("%.12g, expected %.12g", got, want);
}

#define DRAM ",BFLOAT16,DEV_0_DRAM_INTERLEAVED"
#define L1 ",BFLOAT16,DEV_0_L1_INTERLEAVED"

static void test_matmul(void **state)
{
    /* FLOPs 2 * 32 * 1024 * 2048 * 3 = 402,653,184. DRAM: in0 3 * 32 * 1024 * 2 = 196,608, in1 3 * 1024 * 2048 * 1 =
     * 6,291,456, output in L1. In 100 us: 4.02653184 TFLOP/s of 5 cores * 2 = 10: 40.2653184 %; 64.88064 GB/s. */
    const struct op op = {.name = "MatmulDeviceOperation",
                          .fidelity = "HiFi2",
                          .duration = "100000",
                          .cores = "5",
                          .in0 = "1[1],3[3],32[17],1024[1024]" DRAM,
                          .in1 = "1[1],3[3],1024[1024],2048[2048],BFLOAT8_B,DEV_0_DRAM_INTERLEAVED",
                          .out = "1[1],3[3],32[32],2048[2048]" L1};
    (void)state;
    struct facts row = figures(&op);
    near(row.flops, 402653184);
    near(row.dram_bytes, 6488064);
    near(row.dram_gb_s, 64.88064);
    near(row.dram_percent, 64.88064);
    near(row.tflops, 4.02653184);
    near(row.flops_percent, 40.2653184);
    near(row.ideal_us, 64.88064); /* DRAM is longer than 402,653,184 / (10 * 2 T) = 20.1 us */
    assert_int_equal(row.bound, PERF_BOUND_SLOW);
}

/* Floats of 64 bits have a peak of their own, for matrix and other work; other types do not. */
static void test_fp64(void **state)
{
#define FP64 ",FLOAT64,DEV_0_L1_INTERLEAVED"
    /* 2 * 100^3 = 2,000,000 FLOPs in 100 us are 0.02 TFLOP/s, of 10 cores * 0.02 */
    struct op op = {.name = "Matmul",
                    .duration = "100000",
                    .in0 = "1,1,100,100" FP64,
                    .in1 = "1,1,100,100" FP64,
                    .out = "1,1,100,100" FP64};
    (void)state;
    near(figures(&op).flops_percent, 10);
    op.name = "Binary"; /* 10,000 FLOPs */
    near(figures(&op).flops_percent, 0.05);
    op.in0 = "1,1,100,100,INT64,DEV_0_L1_INTERLEAVED"; /* of 10 * 0.1 */
    near(figures(&op).flops_percent, 0.01);
}

static void test_sparse_matmul(void **state)
{
    /* 3 of 8 blocks: 2 * 32 * 64 * 128 * 3 = 1,572,864 FLOPs. */
    const struct op op = {.name = "SparseMatmulDeviceOperation",
                          .attributes = "{'nnz': '3'}",
                          .fidelity = "HiFi4",
                          .duration = "1000",
                          .cores = "10",
                          .in0 = "1,2,32,64" L1,
                          .in1 = "1,4,64,128" L1,
                          .out = "1,8,32,128" L1};
    struct op unknown = op;
    (void)state;
    near(figures(&op).flops, 1572864);
    unknown.attributes = "{}";
    assert_true(isnan(figures(&unknown).flops));
    /* 2 experts of each of the two batches of input 0 */
    struct facts row =
        figures_of(&unknown, (struct perf_options){.active_experts = 2, .ignore_signposts = true});
    near(row.flops, 2.0 * 32 * 64 * 128 * 4);
}

static void test_conv(void **state)
{
    /* M 3136, K 64 * 3 * 3 = 576, N 64: 2 * 3136 * 576 * 64 = 231,211,008; on the row's own 5 cores at LoFi 4. */
    struct op op = {.name = "Conv2dDeviceOperation",
                    .attributes = "{'w': 'SlidingWindow(window_hw=(3;3); stride_hw=(1;1))'}",
                    .fidelity = "LoFi",
                    .duration = "100000",
                    .cores = "5",
                    .in0 = "1,1,3136,64" L1,
                    .in1 = "1,1,576,64" DRAM,
                    .out = "1,1,3136,64" L1};
    (void)state;
    struct facts row = figures(&op);
    near(row.flops, 231211008);
    near(row.flops_percent, 2.31211008 / 20 * 100);
    near(row.dram_bytes, 576 * 64 * 2);
    op.attributes = "{'w': 'SlidingWindow(window_hw=(3;3); stride_hw=(1;1))'; 'groups': '64'}";
    near(figures(&op).flops, 231211008.0 / 64);
}

static void test_attention(void **state)
{
    /* Q 1 x 8 x 128 x 64, K 1 x 2 x 256 x 64: 4 * 65,536 * 256 = 67,108,864; half of it when causal. */
    struct op op = {.name = "ScaledDotProductAttention",
                    .fidelity = "HiFi2",
                    .duration = "10000",
                    .cores = "10",
                    .in0 = "1,8,128,64" L1,
                    .in1 = "1,2,256,64" L1,
                    .out = "1,8,128,64" L1};
    (void)state;
    near(figures(&op).flops, 67108864);
    op.attributes = "{'is_causal': 'true'}";
    near(figures(&op).flops, 33554432);
    assert_false(figures(&op).model_flags & PERF_FLOPS_AT_MOST);
    op.name = "ScaledDotProductAttentionDecode";
    assert_true(figures(&op).model_flags & PERF_FLOPS_AT_MOST);
}

static void test_per_element(void **state)
{
    /* 32 * 64 = 2048 elements; vector peak 10 cores * 0.1 = 1 TFLOP/s; 2.048 us -> 1 FLOP each is 0.001 TFLOP/s. */
    static const struct {
        const char *name;
        double flops;
    } cases[] = {{"LayerNormDeviceOperation", 7}, {"RMSNorm", 4},
                 {"SoftmaxDeviceOperation", 5},   {"BinaryNgDeviceOperation", 1},
                 {"RotaryEmbeddingLlama", 3},     {"ReduceDeviceOperation", 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct op op = {.name = cases[i].name,
                        .duration = "2048",
                        .cores = "10",
                        .in0 = "1,1,32,64" DRAM,
                        .out = "1,1,32,64" DRAM};
        struct facts row = figures(&op);
        near(row.flops, 2048 * cases[i].flops);
        near(row.flops_percent, 0.1 * cases[i].flops);
        near(row.dram_bytes, 2 * 2048 * 2);
    }
}

/* 64 positions of 2 heads of a cache of 1,024: K and V of 2 * 64 * 64 * 2 bytes each, Q and the output in L1. */
static void test_what_a_decode_step_reads(void **state)
{
    struct op op = {.name = "SdpaDecodeDeviceOperation",
                    .attributes = "{'cur_pos': '{63}'; 'sliding_window_size': 'std::nullopt'}",
                    .fidelity = "HiFi2",
                    .duration = "10000",
                    .cores = "10",
                    .in0 = "1,1,8,64" L1,
                    .in1 = "1,2,1024,64" DRAM,
                    .out = "1,1,8,64" L1};
    (void)state;
    struct facts row = figures(&op);
    near(row.dram_bytes, 2 * 64 * 64 * 2);
    near(row.flops, 4.0 * 8 * 64 * 64);
    assert_int_equal(row.model_flags, 0);
    assert_int_equal(row.bound, PERF_BOUND_SLOW);
    /* a user without a position, another at 127: half of the cache of the two */
    op.attributes = "{'cur_pos': '{-1; 127}'}";
    op.in1 = "2,2,128,64" DRAM;
    near(figures(&op).dram_bytes, 2 * 128 * 64 * 2);
    near(figures(&op).flops, 4.0 * 8 * 64 * 64);
    /* Not recorded: all of it at most. 262,144 bytes in 3 us are 87 GB/s of 100: no verdict, as are 262. */
    op.attributes = "{'cur_pos': '{}'}";
    op.in1 = "1,2,1024,64" DRAM;
    op.duration = "3000";
    row = figures(&op);
    near(row.dram_bytes, 2 * 1024 * 64 * 2);
    assert_int_equal(row.bound, PERF_BOUND_NONE);
    assert_int_equal(row.doubt, PERF_DOUBT_KV_CACHE);
    op.duration = "1000";
    assert_int_equal(figures(&op).doubt, PERF_DOUBT_KV_CACHE);
    assert_int_equal(figures(&op).bound, PERF_BOUND_NONE);
}

static const struct perf_row *row_at(const struct report *report, size_t i)
{
    return perf_at(&report->perf, i);
}

/* A figure above what clocks and rounding do has no bound, no ideal time and no advice, and says why. */
static void test_no_verdict_above_what_can_be(void **state)
{
    struct op copy = {.name = "CopyDeviceOperation", .in0 = "1,1,250,100" DRAM, .out = "1,1,250,100" DRAM};
    struct op padded = {.name = "UnaryDeviceOperation",
                        .duration = "500",
                        .in0 = "1,1,32[4],100" DRAM,
                        .out = "1,1,32[4],100" DRAM};
    struct bytes text = {0};
    struct report report;
    (void)state;
    copy.duration = "980"; /* 100,000 bytes: 102.04 GB/s of 100 */
    assert_int_equal(figures(&copy).bound, PERF_BOUND_DRAM);
    copy.duration = "900";
    assert_int_equal(figures(&copy).bound, PERF_BOUND_NONE);
    assert_int_equal(figures(&copy).doubt, PERF_DOUBT_MEMORY);
    assert_true(isnan(figures(&copy).ideal_us));
    assert_true(figures(&copy).dram_percent > 111);
    padded.duration = "100"; /* 12,800 bytes, 1,600 without padding */
    assert_int_equal(figures(&padded).doubt, PERF_DOUBT_PADDING);
    start(&report, (struct perf_options){.ignore_signposts = true});
    add(&report, &copy);
    finish(&report);
    assert_int_equal(report.perf.doubt_count, 1);
    assert_int_equal(report.perf.advice_count, 0);
    near(report.perf.total_dram_bytes, 0);
    perf_append_row_advice(&report.perf, 0, &text);
    assert_non_null(strstr(bytes_text(&text), "not modelled: it moved less"));
    assert_non_null(strstr(perf_no_advice_text(&report.perf), "the model of no op holds"));
    bytes_free(&text);
    end(&report);
}

/* Held against a cache is what fits there and can be there: 800 bytes the second time; 8,000 in the larger one. */
static void test_caches(void **state)
{
    struct op op = {
        .name = "CopyDeviceOperation", .duration = "10", .in0 = "1,1,10,20" DRAM, .out = "1,1,10,20" DRAM};
    struct report report;
    (void)state;
    start(&report, (struct perf_options){.ignore_signposts = true});
    add_caches(&report.machines.machines[0]);
    add(&report, &op); /* 80 GB/s: from DRAM */
    add(&report, &op); /* 80 GB/s, and of L2's 1,000 */
    op.duration = "1";
    add(&report, &op); /* 800 */
    op.in0 = op.out = "1,1,100,20" DRAM;
    op.duration = "25"; /* 8,000 bytes at 320 GB/s: faster than DRAM, so in L3 the first time */
    add(&report, &op);
    op.in0 = op.out = "1,1,200,20" DRAM;
    add(&report, &op); /* 16,000 bytes at 640: in none */
    op.in0 = op.out = "1,1,10,20" DRAM;
    op.duration = "9"; /* 88.9 GB/s: 16,000 bytes went through the caches since */
    add(&report, &op);
    finish(&report);
    static const struct {
        unsigned bound, doubt, cache_plus_1;
    } wanted[] = {{PERF_BOUND_DRAM, 0, 0}, {PERF_BOUND_SLOW, 0, 1},   {PERF_BOUND_L2, 0, 1},
                  {PERF_BOUND_L3, 0, 2},   {0, PERF_DOUBT_MEMORY, 0}, {PERF_BOUND_DRAM, 0, 0}};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        assert_int_equal(row_at(&report, i)->bound, wanted[i].bound);
        assert_int_equal(row_at(&report, i)->doubt, wanted[i].doubt);
        assert_int_equal(row_at(&report, i)->cache_plus_1, wanted[i].cache_plus_1);
    }
    struct perf_figures third = perf_figures(&report.perf, row_at(&report, 2));
    near(third.cache_percent, 80);
    assert_true(isnan(third.dram_percent));
    near(third.ideal_us, 0.0008);
    near(report.perf.total_dram_bytes, 1600); /* the first and the last */
    assert_string_equal(perf_bound_text(PERF_BOUND_L2), "L2");
    end(&report);
}

static void test_pool(void **state)
{
    const struct op op = {.name = "Pool2D",
                          .attributes = "{'w': 'x(window_hw=(2;3); a)'}",
                          .duration = "1000",
                          .in0 = "1,1,64,32" L1,
                          .out = "1,1,16,32" L1};
    (void)state;
    near(figures(&op).flops, 16 * 32 * 6);
}

static void test_collectives(void **state)
{
    /* Gather: 4,096 bytes each of 4 devices: 16,384 * 3/4 = 12,288 over 1 link of 10 GB/s; twice that on a line. */
    struct op gather = {.name = "AllGatherAsyncDeviceOperation",
                        .attributes = "{'num_links': '1'; 'topology': 'Topology::Ring'}",
                        .duration = "2000",
                        .in0 = "1,1,32,64" L1,
                        .out = "1,1,32,256" L1};
    struct op scatter = gather;
    (void)state;
    struct facts row = figures(&gather);
    near(row.link_bytes, 12288);
    near(row.link_gb_s, 6.144);
    near(row.link_percent, 61.44);
    assert_int_equal(row.bound, PERF_BOUND_SLOW);
    gather.attributes = "{'num_links': '1'; 'topology': 'Topology::Linear'}";
    near(figures(&gather).link_percent, 122.88); /* no verdict */
    assert_int_equal(figures(&gather).bound, PERF_BOUND_NONE);
    assert_int_equal(figures(&gather).doubt, PERF_DOUBT_LINK);
    gather.duration = "2400";
    near(figures(&gather).link_percent, 102.4);
    assert_int_equal(figures(&gather).bound, PERF_BOUND_LINK);
    gather.duration = "2000";
    gather.attributes = "{'num_links': '2'; 'topology': 'Topology::Linear'}";
    near(figures(&gather).link_percent, 61.44);
    scatter.name = "ReduceScatterMinimalAsync";
    scatter.in0 = gather.out;
    scatter.out = gather.in0;
    near(figures(&scatter).link_bytes, 12288);
}

static void test_moves_count_what_moves(void **state)
{
    const struct op slice = {.name = "SliceDeviceOperation",
                             .duration = "1000",
                             .in0 = "1,1,1024,64" DRAM,
                             .out = "1,1,32,64" DRAM};
    const struct op cache = {.name = "UpdateKVCacheOperation",
                             .duration = "1000",
                             .in0 = "1,1,4096,64" DRAM,
                             .in1 = "1,1,32,64" DRAM,
                             .out = "1,1,4096,64" DRAM};
    const struct op lookup = {.name = "EmbeddingsDeviceOperation",
                              .duration = "1000",
                              .in0 = "1,1,1,32,UINT32,DEV_0_DRAM_INTERLEAVED",
                              .in1 = "1,1,50000,64" DRAM,
                              .out = "1,1,32,64" DRAM};
    (void)state;
    near(figures(&slice).dram_bytes, 2 * 32 * 64 * 2);
    near(figures(&cache).dram_bytes, 2 * 32 * 64 * 2);
    near(figures(&lookup).dram_bytes, 32 * 4 + 2 * 32 * 64 * 2);
}

/* Attributes that no model looks at do not make works of their own; those that one does, keep them apart. */
static void test_works_are_shared(void **state)
{
    static const char *const attributes[] = {"{'position': '1'; 'num_links': '1'}",
                                             "{'position': '2'; 'num_links': '1'}",
                                             "{'note': 'any text'; 'num_links': '1'}",
                                             "{'position': '1'; 'num_links': '2'}",
                                             "{'position': '1'; 'config': 'Config(a=1;num_links=4)'}",
                                             "{'position': '3'; 'config': 'Config(a=1;num_links=4)'}"};
    static const double links[] = {1, 1, 1, 2, 4, 4};
    struct report report;
    (void)state;
    start(&report, (struct perf_options){0});
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
        struct op op = {.name = "AllGatherAsync",
                        .attributes = attributes[i],
                        .duration = "100000",
                        .in0 = "1,1,32,64,BFLOAT16,DRAM",
                        .out = "1,1,32,256,BFLOAT16,DRAM"};
        add(&report, &op);
    }
    finish(&report);
    assert_int_equal(report.ops.description_count, 6);
    assert_int_equal(report.perf.work_count, 3);
    for (size_t i = 0; i < report.perf.count; i++)
        near((double)perf_work_of(&report.perf, perf_at(&report.perf, i))->link_count, links[i]);
    end(&report);
}

static void test_bounds(void **state)
{
    /* 100 KB in 1 us is 100 GB/s: all of DRAM's. */
    struct op op = {.name = "CopyDeviceOperation",
                    .duration = "1000",
                    .gap = "0",
                    .in0 = "1,1,250,100" DRAM,
                    .out = "1,1,250,100" DRAM};
    struct report report;
    (void)state;
    near(figures(&op).dram_percent, 100);
    assert_int_equal(figures(&op).bound, PERF_BOUND_DRAM);
    start(&report, (struct perf_options){.ignore_signposts = true});
    add(&report, &op);
    op.gap = "7000"; /* over the mark of 6.5 us and longer than the op */
    add(&report, &op);
    op.type = "python_fallback";
    op.name = "(torch) add";
    add(&report, &op);
    finish(&report);
    assert_int_equal(perf_at(&report.perf, 0)->bound, PERF_BOUND_DRAM);
    assert_int_equal(perf_at(&report.perf, 1)->bound, PERF_BOUND_GAP);
    assert_int_equal(perf_at(&report.perf, 2)->bound, PERF_BOUND_HOST);
    end(&report);
}

static void test_times_that_cannot_be(void **state)
{
    struct op op = {.name = "CopyDeviceOperation", .duration = "1000", .gap = "-200"};
    struct report report;
    (void)state;
    start(&report, (struct perf_options){.ignore_signposts = true});
    add(&report, &op);
    add(&report, &op); /* its negative gap is shown and counts as nothing */
    op.duration = "6900000000";
    op.gap = "-6900000000";
    add(&report, &op);
    op.duration = "1000";
    op.gap = "6900000000"; /* the other side of the same jump */
    add(&report, &op);
    op.duration = "-5";
    add(&report, &op);
    finish(&report);
    near(perf_at(&report.perf, 1)->shown_gap_us, -0.2);
    assert_true(isnan(perf_time_us(perf_at(&report.perf, 2))) &&
                isnan(perf_at(&report.perf, 2)->shown_gap_us));
    assert_true(isnan(perf_at(&report.perf, 3)->shown_gap_us));
    assert_int_equal(report.perf.invalid_count, 2);
    near(report.perf.total_us, 3);
    end(&report);
}

static void test_devices_merge(void **state)
{
    static const char *const devices[] = {"0", "1"}, *const durations[] = {"1000", "3000"};
    struct report report;
    (void)state;
    start(&report, (struct perf_options){.ignore_signposts = true});
    for (unsigned i = 0; i < 2; i++)
        add(&report,
            &(struct op){.name = "CopyDeviceOperation", .duration = durations[i], .device = devices[i]});
    for (unsigned i = 0; i < 2; i++)
        add(&report, &(struct op){.name = "AllReduceAsync", .duration = durations[i], .device = devices[i]});
    finish(&report);
    assert_int_equal(report.perf.count, 2);
    near(perf_time_us(perf_at(&report.perf, 0)), 3); /* the slowest */
    assert_int_equal(perf_device(&report.perf, perf_at(&report.perf, 0)), 1);
    near(perf_time_us(perf_at(&report.perf, 1)), 2); /* the mean */
    end(&report);
}

static void test_signposts(void **state)
{
    static const char *const names[] = {"a", "op1", "b", "op2", "a", "op3", "end"};
    struct report report;
    (void)state;
    for (unsigned pass = 0; pass < 3; pass++) {
        struct perf_options options = {0};
        if (pass > 0)
            options.start_signpost = "a";
        if (pass == 2)
            options.end_signpost = "a";
        start(&report, options);
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            add(&report, &(struct op){.name = names[i],
                                      .duration = "1000",
                                      .type = names[i][0] == 'o' ? NULL : "signpost"});
        finish(&report);
        /* The last signpost with ops after it; after the first "a"; between the first two "a". */
        assert_int_equal(report.perf.count, pass == 0 ? 1 : pass == 1 ? 3 : 2);
        assert_string_equal(
            perf_text(&report.perf, perf_work_of(&report.perf, perf_at(&report.perf, 0))->name),
            pass == 0 ? "op3" : "op1");
        assert_int_equal(perf_at(&report.perf, 0)->id, 1);
        end(&report);
    }
}

static const struct perf_advice *advice_of(const struct perf *perf, const char *rule)
{
    for (size_t i = 0; i < perf->advice_count; i++) {
        if (strcmp(perf_rules[perf->advice[i].rule].name, rule) == 0)
            return &perf->advice[i];
    }
    return NULL;
}

static void test_advice(void **state)
{
    struct op copy = {.name = "CopyDeviceOperation",
                      .duration = "10000",
                      .gap = "106000",
                      .in0 = "1,1,250,100" DRAM,
                      .out = "1,1,250,100" DRAM};
    /* LoFi keeps all of BFP4's bits: 4 times as fast as HiFi4. 2 * 1000^3 in 250 us: 80 % of 10 TFLOP/s. */
    struct op matmul = {.name = "MatmulDeviceOperation",
                        .fidelity = "HiFi4",
                        .duration = "250000",
                        .gap = "0",
                        .cores = "10",
                        .in0 = "1,1,1000,1000,BFLOAT8_B,L1",
                        .in1 = "1,1,1000,1000,BFLOAT4_B,L1",
                        .out = "1,1,1000,1000,BFLOAT8_B,L1"};
    struct op narrow = {.name = "BinaryNgDeviceOperation",
                        .duration = "10000",
                        .gap = "0",
                        .cores = "1",
                        .in0 = "1,1,250,100" DRAM,
                        .out = "1,1,250,100" DRAM};
    struct report report;
    (void)state;
    start(&report, (struct perf_options){.ignore_signposts = true, .target_percent = 50});
    add(&report, &matmul);
    add(&report, &copy);
    add(&report, &copy);
    add(&report, &narrow);
    finish(&report);
    near(advice_of(&report.perf, "gap")->gain_us, 200);             /* 2 * (106 - 6) */
    near(advice_of(&report.perf, "fidelity")->gain_us, 187.5);      /* 250 * (1 - 1/4) */
    near(advice_of(&report.perf, "layout")->gain_us, 2 * (10 - 2)); /* 1 us of DRAM at 50 % */
    near(advice_of(&report.perf, "cores")->gain_us, 10 - 2);
    assert_int_equal(advice_of(&report.perf, "layout")->count, 2);
    assert_ptr_equal(advice_of(&report.perf, "gap"), &report.perf.advice[0]); /* by gain */
    near(report.perf.advice_gain_us, 200 + 187.5 + 16 + 8);
    near(report.perf.advice[0].gain_percent, 200 / (250 + 10 + 10 + 10 + 212.0) * 100);
    end(&report);
}

/* A host op fills the gap after it, but for one that launched what comes after the gap. */
static void test_host_ops_that_launch(void **state)
{
    struct op region = {
        .name = "Region", .type = "python_fallback", .host_start = "1000", .host_duration = "50000"};
    struct op copy = {.name = "CopyDeviceOperation",
                      .duration = "1000",
                      .gap = "0",
                      .host_start = "500",
                      .in0 = "1,1,250,100" DRAM};
    struct report report;
    (void)state;
    for (unsigned is_inside = 0; is_inside < 2; is_inside++) {
        start(&report, (struct perf_options){.ignore_signposts = true});
        struct op after = copy;
        after.gap = "46000";
        after.host_start = is_inside ? "2000" : "60000";
        add(&report, &copy);
        add(&report, &region);
        add(&report, &after);
        finish(&report);
        assert_true((advice_of(&report.perf, "host") == NULL) == (is_inside == 1));
        near(advice_of(&report.perf, is_inside ? "gap" : "host")->gain_us, 40);
        end(&report);
    }
}

static void test_groups(void **state)
{
    struct op op = {.name = "CopyDeviceOperation", .duration = "1000", .in0 = "1,1,2,2" DRAM};
    struct report report;
    (void)state;
    start(&report, (struct perf_options){.ignore_signposts = true, .group_by = PERF_BY_MEMORY});
    add(&report, &op);
    op.in0 = "1,1,2,2" L1;
    op.duration = "4000";
    add(&report, &op);
    add(&report, &op);
    finish(&report);
    assert_int_equal(report.perf.groups.count, 2);
    assert_string_equal(perf_text(&report.perf, report.perf.groups.items[0].key),
                        "CopyDeviceOperation (in0:l1_interleaved)");
    assert_int_equal(report.perf.groups.items[0].count, 2);
    near(report.perf.groups.items[0].time_us, 8);
    near(report.perf.groups.items[0].percent, 800.0 / 9);
    assert_string_equal(perf_text(&report.perf, report.perf.groups.items[1].key),
                        "CopyDeviceOperation (in0:dram_interleaved)");
    end(&report);
}

/* What ran at the same time may save more than the run took: no share of it says anything then. */
static void test_no_share_above_all(void **state)
{
    struct perf perf = {.advice_gain_us = 29, .total_us = 100, .total_time_us = 100};
    struct bytes out = {0};
    (void)state;
    perf_append_advice_sum(&perf, &out);
    assert_non_null(strstr(bytes_text(&out), "29.0 %"));
    bytes_clear(&out);
    perf.advice_gain_us = 195.8;
    perf_append_advice_sum(&perf, &out);
    assert_null(strstr(bytes_text(&out), "%"));
    assert_non_null(strstr(bytes_text(&out), "of ops that ran at the same time"));
    bytes_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matmul),
        cmocka_unit_test(test_fp64),
        cmocka_unit_test(test_sparse_matmul),
        cmocka_unit_test(test_conv),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_per_element),
        cmocka_unit_test(test_what_a_decode_step_reads),
        cmocka_unit_test(test_no_verdict_above_what_can_be),
        cmocka_unit_test(test_caches),
        cmocka_unit_test(test_pool),
        cmocka_unit_test(test_collectives),
        cmocka_unit_test(test_moves_count_what_moves),
        cmocka_unit_test(test_works_are_shared),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_times_that_cannot_be),
        cmocka_unit_test(test_devices_merge),
        cmocka_unit_test(test_signposts),
        cmocka_unit_test(test_advice),
        cmocka_unit_test(test_no_share_above_all),
        cmocka_unit_test(test_host_ops_that_launch),
        cmocka_unit_test(test_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
