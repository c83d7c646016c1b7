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
#include "analyze/report/order.h"

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
    machine_take(&machine, "link_gb_s", 10);
    assert_null(machine_missing(&machine));
    return (struct machine_set){.machines = &machine, .count = 1, .capacity = 1};
}

struct op {
    const char *name, *attributes, *fidelity, *duration, *gap, *cores, *device, *type, *host_start;
    const char *in0, *in1, *out; /* "W,Z,Y,X,TYPE,MEMORY" */
};

static void set(struct slice *cells, size_t column, const char *text)
{
    cells[column] = (struct slice){text, text ? strlen(text) : 0};
}

static void set_tensor(struct slice *cells, size_t tensor, const char *text)
{
    size_t column = PERF_TENSOR + tensor * PERF_TENSOR_CELLS;
    while (text && *text) {
        size_t length = strcspn(text, ",");
        cells[column++] = (struct slice){text, length};
        text += length + (text[length] == ',');
    }
}

static void start(struct perf *perf, struct perf_options options, struct machine_set *machines)
{
    bool has[PERF_COLUMNS];
    for (size_t i = 0; i < PERF_COLUMNS; i++)
        has[i] = true;
    *machines = test_machines();
    options.machines = machines;
    assert_int_equal(perf_begin(perf, &options, NULL), 0);
    assert_int_equal(perf_begin_file(perf, "t.csv", has, false, true, NULL), 0);
}

static void add(struct perf *perf, const struct op *op)
{
    struct slice cells[PERF_COLUMNS] = {{0}};
    set(cells, PERF_OP_CODE, op->name);
    set(cells, PERF_OP_TYPE, op->type ? op->type : "tt_dnn_device");
    set(cells, PERF_ARCH, "wormhole");
    set(cells, PERF_ATTRIBUTES, op->attributes);
    set(cells, PERF_FIDELITY, op->fidelity);
    set(cells, PERF_DURATION, op->duration);
    set(cells, PERF_GAP, op->gap);
    set(cells, PERF_CORES, op->cores);
    set(cells, PERF_DEVICE, op->device ? op->device : "0");
    set(cells, PERF_HOST_START, op->host_start);
    set_tensor(cells, 0, op->in0);
    set_tensor(cells, 1, op->in1);
    set_tensor(cells, PERF_INPUTS, op->out);
    assert_int_equal(perf_add_row(perf, cells, perf->row_count + 2, NULL), 0);
}

static void finish(struct perf *perf)
{
    struct error err = {0};
    assert_int_equal(perf_end_file(perf, NULL), 0);
    if (perf_finish(perf, &err) != 0)
        fail_msg("%s", err.message);
}

/* One op by itself. */
static struct perf_row figures_of(const struct op *op, struct perf_options options)
{
    struct perf perf;
    struct machine_set machines;
    start(&perf, options, &machines);
    add(&perf, op);
    finish(&perf);
    assert_int_equal(perf.count, 1);
    struct perf_row row = *perf_at(&perf, 0);
    perf_free(&perf);
    return row;
}

static struct perf_row figures(const struct op *op)
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
    struct perf_row row = figures(&op);
    near(row.flops, 402653184);
    near(row.dram_bytes, 6488064);
    near(row.dram_gb_s, 64.88064);
    near(row.dram_percent, 64.88064);
    near(row.tflops, 4.02653184);
    near(row.flops_percent, 40.2653184);
    near(row.ideal_us, 64.88064); /* DRAM is longer than 402,653,184 / (10 * 2 T) = 20.1 us */
    assert_int_equal(row.bound, PERF_BOUND_SLOW);
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
    struct perf_row row =
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
    struct perf_row row = figures(&op);
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
        struct perf_row row = figures(&op);
        near(row.flops, 2048 * cases[i].flops);
        near(row.flops_percent, 0.1 * cases[i].flops);
        near(row.dram_bytes, 2 * 2048 * 2);
    }
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
    struct perf_row row = figures(&gather);
    near(row.link_bytes, 12288);
    near(row.link_gb_s, 6.144);
    near(row.link_percent, 61.44);
    assert_int_equal(row.bound, PERF_BOUND_SLOW);
    gather.attributes = "{'num_links': '1'; 'topology': 'Topology::Linear'}";
    near(figures(&gather).link_percent, 122.88);
    assert_int_equal(figures(&gather).bound, PERF_BOUND_LINK);
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

static void test_bounds(void **state)
{
    /* 100 KB in 1 us is 100 GB/s: all of DRAM's. */
    struct op op = {.name = "CopyDeviceOperation",
                    .duration = "1000",
                    .gap = "0",
                    .in0 = "1,1,250,100" DRAM,
                    .out = "1,1,250,100" DRAM};
    struct perf perf;
    struct machine_set machines;
    (void)state;
    near(figures(&op).dram_percent, 100);
    assert_int_equal(figures(&op).bound, PERF_BOUND_DRAM);
    start(&perf, (struct perf_options){.ignore_signposts = true}, &machines);
    add(&perf, &op);
    op.gap = "7000"; /* over the mark of 6.5 us and longer than the op */
    add(&perf, &op);
    op.type = "python_fallback";
    op.name = "(torch) add";
    add(&perf, &op);
    finish(&perf);
    assert_int_equal(perf_at(&perf, 0)->bound, PERF_BOUND_DRAM);
    assert_int_equal(perf_at(&perf, 1)->bound, PERF_BOUND_GAP);
    assert_int_equal(perf_at(&perf, 2)->bound, PERF_BOUND_HOST);
    perf_free(&perf);
}

static void test_times_that_cannot_be(void **state)
{
    struct op op = {.name = "CopyDeviceOperation", .duration = "1000", .gap = "-200"};
    struct perf perf;
    struct machine_set machines;
    (void)state;
    start(&perf, (struct perf_options){.ignore_signposts = true}, &machines);
    add(&perf, &op);
    add(&perf, &op); /* its negative gap is shown and counts as nothing */
    op.duration = "6900000000";
    op.gap = "-6900000000";
    add(&perf, &op);
    op.duration = "1000";
    op.gap = "6900000000"; /* the other side of the same jump */
    add(&perf, &op);
    op.duration = "-5";
    add(&perf, &op);
    finish(&perf);
    near(perf_at(&perf, 1)->shown_gap_us, -0.2);
    assert_true(isnan(perf_at(&perf, 2)->time_us) && isnan(perf_at(&perf, 2)->shown_gap_us));
    assert_true(isnan(perf_at(&perf, 3)->shown_gap_us));
    assert_int_equal(perf.invalid_count, 2);
    near(perf.total_us, 3);
    perf_free(&perf);
}

static void test_devices_merge(void **state)
{
    static const char *const devices[] = {"0", "1"}, *const durations[] = {"1000", "3000"};
    struct perf perf;
    struct machine_set machines;
    (void)state;
    start(&perf, (struct perf_options){.ignore_signposts = true}, &machines);
    for (unsigned i = 0; i < 2; i++)
        add(&perf,
            &(struct op){.name = "CopyDeviceOperation", .duration = durations[i], .device = devices[i]});
    for (unsigned i = 0; i < 2; i++)
        add(&perf, &(struct op){.name = "AllReduceAsync", .duration = durations[i], .device = devices[i]});
    finish(&perf);
    assert_int_equal(perf.count, 2);
    near(perf_at(&perf, 0)->time_us, 3); /* the slowest */
    assert_int_equal(perf_at(&perf, 0)->device, 1);
    near(perf_at(&perf, 1)->time_us, 2); /* the mean */
    perf_free(&perf);
}

static void test_signposts(void **state)
{
    static const char *const names[] = {"a", "op1", "b", "op2", "a", "op3", "end"};
    struct perf perf;
    struct machine_set machines;
    (void)state;
    for (unsigned pass = 0; pass < 3; pass++) {
        struct perf_options options = {0};
        if (pass > 0)
            options.start_signpost = "a";
        if (pass == 2)
            options.end_signpost = "a";
        start(&perf, options, &machines);
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            add(&perf, &(struct op){.name = names[i],
                                    .duration = "1000",
                                    .type = names[i][0] == 'o' ? NULL : "signpost"});
        finish(&perf);
        /* The last signpost with ops after it; after the first "a"; between the first two "a". */
        assert_int_equal(perf.count, pass == 0 ? 1 : pass == 1 ? 3 : 2);
        assert_string_equal(perf_text(&perf, perf_at(&perf, 0)->op_code), pass == 0 ? "op3" : "op1");
        assert_int_equal(perf_at(&perf, 0)->id, 1);
        perf_free(&perf);
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
    struct perf perf;
    struct machine_set machines;
    (void)state;
    start(&perf, (struct perf_options){.ignore_signposts = true, .target_percent = 50}, &machines);
    add(&perf, &matmul);
    add(&perf, &copy);
    add(&perf, &copy);
    add(&perf, &narrow);
    finish(&perf);
    near(advice_of(&perf, "gap")->gain_us, 200);             /* 2 * (106 - 6) */
    near(advice_of(&perf, "fidelity")->gain_us, 187.5);      /* 250 * (1 - 1/4) */
    near(advice_of(&perf, "layout")->gain_us, 2 * (10 - 2)); /* 1 us of DRAM at 50 % */
    near(advice_of(&perf, "cores")->gain_us, 10 - 2);
    assert_int_equal(advice_of(&perf, "layout")->count, 2);
    assert_ptr_equal(advice_of(&perf, "gap"), &perf.advice[0]); /* by gain */
    near(perf.advice_gain_us, 200 + 187.5 + 16 + 8);
    near(perf.advice[0].gain_percent, 200 / (250 + 10 + 10 + 10 + 212.0) * 100);
    perf_free(&perf);
}

static void test_groups(void **state)
{
    struct op op = {.name = "CopyDeviceOperation", .duration = "1000", .in0 = "1,1,2,2" DRAM};
    struct perf perf;
    struct machine_set machines;
    (void)state;
    start(&perf, (struct perf_options){.ignore_signposts = true, .group_by = PERF_BY_MEMORY}, &machines);
    add(&perf, &op);
    op.in0 = "1,1,2,2" L1;
    op.duration = "4000";
    add(&perf, &op);
    add(&perf, &op);
    finish(&perf);
    assert_int_equal(perf.group_count, 2);
    assert_string_equal(perf_text(&perf, perf.groups[0].key), "CopyDeviceOperation (in0:l1_interleaved)");
    assert_int_equal(perf.groups[0].count, 2);
    near(perf.groups[0].time_us, 8);
    near(perf.groups[0].percent, 800.0 / 9);
    assert_string_equal(perf_text(&perf, perf.groups[1].key), "CopyDeviceOperation (in0:dram_interleaved)");
    perf_free(&perf);
}

/* Sorted by key whatever the size, every index once; with up to 256 keys equal ones stay where a network that never
 * swaps equals leaves them: for 8 equal keys that is their own order. */
static void test_order(void **state)
{
    static int64_t keys[3000];
    static uint32_t order[3000];
    (void)state;
    for (size_t count = 1; count <= 3000; count = count * 3 / 2 + 1) {
        bool seen[3000] = {false};
        for (size_t i = 0; i < count; i++) {
            keys[i] = (int64_t)(i * 7919 % (count / 2 + 1)) - 5;
            order[i] = (uint32_t)i;
        }
        perf_order_sort(keys, order, count);
        for (size_t i = 0; i < count; i++) {
            assert_false(seen[order[i]]);
            seen[order[i]] = true;
            assert_true(i == 0 || keys[order[i - 1]] <= keys[order[i]]);
        }
    }
    for (uint32_t i = 0; i < 8; i++) {
        keys[i] = 1;
        order[i] = i;
    }
    perf_order_sort(keys, order, 8);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(order[i], i);
    assert_true(perf_order_key(-2.5) < perf_order_key(-1) && perf_order_key(-1) < perf_order_key(0));
    assert_true(perf_order_key(-0.0) == perf_order_key(0) && perf_order_key(0) < perf_order_key(1e-300));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matmul),        cmocka_unit_test(test_sparse_matmul),
        cmocka_unit_test(test_conv),          cmocka_unit_test(test_attention),
        cmocka_unit_test(test_per_element),   cmocka_unit_test(test_pool),
        cmocka_unit_test(test_collectives),   cmocka_unit_test(test_moves_count_what_moves),
        cmocka_unit_test(test_bounds),        cmocka_unit_test(test_times_that_cannot_be),
        cmocka_unit_test(test_devices_merge), cmocka_unit_test(test_signposts),
        cmocka_unit_test(test_advice),        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
