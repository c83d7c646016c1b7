/* SPDX-License-Identifier: Apache-2.0 */
/* Scheduled hardware IR to a timeline: a small program of ours with overlapping units, its metrics and its tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyze/estimate/metrics.h"
#include "import/torq/torq.h"
#include "ops/timeline_trace.h"
#include "present/estimate/timeline_csv.h"
#include "trace/reader.h"

#define LRAM "#torq_hl<enc mem_space = lram>"

/* Two transfers in (the second while the slice computes), a slice of 500 cycles, a transfer out, a copy, a CSS program.
 * 4.754286 bytes a cycle: 1000 bytes take 211 cycles, 500 take 106. */
static const char program[] =
    "module @m {\n"
    "  builtin.module {\n"
    "    memref.global \"private\" @a : memref<1000xi8, " LRAM
    "> = uninitialized {lram_address = 1280 : i64}\n"
    "    memref.global \"private\" @b : memref<8x4xi32, " LRAM
    "> = uninitialized {lram_address = 4096 : i64}\n"
    "    func.func @dispatch_0() {\n"
    "      %p = torq_hl.program \"slice_program_torq_hl.mul_0\" : !torq_hl.program<slice> {\n"
    "      ^bb0(%x: memref<4xi8, " LRAM ">):\n"
    "        torq_hw.slice_task{\n"
    "        op : \"mul\"\n"
    "         D %x : memref<4xi8, " LRAM ">\n"
    "         CFG {act_mode = ACT,}\n"
    "         [{DEDR dims = [ B(L) [64, #map],  O(H) [100, #map]]}, {DEDR dims = [ O(H) [150, "
    "#map]]}, {REF dims = []}]\n"
    "         [{CEDR dims = [ T(H) [9, 0]]}, {CEDR dims = [ M(H) [50, 0],  T(H) [10, 0]]}]\n"
    "        }\n"
    "        torq_hl.return\n"
    "      }\n"
    "      %s, %code = torq_hl.descriptor \"slice_program_torq_hl.mul_0\" on 0 program %p : "
    "<slice> code [array<i8: 0>] : "
    "!torq_hl.invocation<slice>, memref<1xi8>\n"
    "      %n = torq_hl.program \"nss_program_0\" : !torq_hl.program<nss> {\n"
    "      ^bb0(%arg0: !torq_hl.invocation<slice>, %unused: i8):\n"
    "        torq_hw.nss_task {\"torq-task-id\" = 0 : i64}() {\n"
    "          torq_hw.dma_in_cfg {write_ndl = #torq_hw<dma_ndl{dims = [[100, 1], [10, 100]]}>}\n"
    "          torq_hw.dma_in_start\n"
    "          torq_hw.dma_in_wait\n"
    "        }\n"
    "        torq_hl.next %arg0 lram_area(%unused : i8) to ^bb1\n"
    "      ^bb1(%again: !torq_hl.invocation<slice>):\n"
    "        torq_hw.nss_task {\"torq-task-id\" = 1 : i64}() {\n"
    "          \"torq_hw.slice_start\"(%again) <{id = 1 : index}> : "
    "(!torq_hl.invocation<slice>) -> () loc(\"m.mlir\":7:3)\n"
    "          torq_hw.dma_in_cfg {write_ndl = #torq_hw<dma_ndl{dims = [[500, 1]]}>}\n"
    "          torq_hw.dma_in_start loc(\"m.mlir\":8:3)\n"
    "        }\n"
    "        torq_hw.nss_task {\"torq-task-id\" = 2 : i64}() {\n"
    "          torq_hw.dma_in_wait\n"
    "          \"torq_hw.slice_wait\"() <{id = 1 : index}> : () -> ()\n"
    "        }\n"
    "        torq_hw.nss_task {\"torq-task-id\" = 3 : i64}() {\n"
    "          torq_hw.cdma_start from %a : memref<8x4xi8, strided<[8, 1]>, " LRAM "> to %b : memref<32xi8, "
    "#torq_hl<enc mem_space = dtcm>>\n"
    "          torq_hw.cdma_wait\n"
    "          torq_hw.css_start %again : !torq_hl.invocation<css>\n"
    "        }\n"
    "        torq_hl.return\n"
    "      }\n"
    "      %i, %c = torq_hl.descriptor \"nss_program_0\" on 0 program %n : <nss> code [array<i8: 0>] : "
    "!torq_hl.invocation<nss>, memref<1xi8>\n"
    "      torq_hl.start_program %i : !torq_hl.invocation<nss> args(%s : !torq_hl.invocation<slice>) code(%c : i8) "
    "{\"torq-action-id\" = 0 : i32}\n"
    "      torq_hl.wait_program %i : !torq_hl.invocation<nss> {\"torq-action-id\" = 1 : i32}\n"
    "      return\n"
    "    }\n"
    "  }\n"
    "}\n";

static const struct torq_target target = {.dma_bytes_per_cycle = 8,
                                          .dma_factor = 0.65,
                                          .dma_in_mtu = 4,
                                          .dma_out_mtu = 4,
                                          .dma_setup_beats = 1.5,
                                          .copy_bytes_per_cycle = 16,
                                          .copy_factor = 0.36,
                                          .css_cycles = 8000,
                                          .clock_mhz = 800};

static void execute(struct timeline *timeline, const char *text)
{
    struct mlir *mlir;
    struct error err = {0};
    if (mlir_read_text(&mlir, "t.mlir", text, strlen(text), &err) != 0 ||
        torq_execute(timeline, mlir, &target, NULL, &err) != 0)
        fail_msg("%s", err.message);
    assert_true(torq_is_scheduled(mlir));
    mlir_close(mlir);
}

static void test_execution(void **state)
{
    (void)state;
    struct timeline t;
    execute(&t, program);
    assert_int_equal(t.unit_count, 5);
    const struct timeline_unit *u = t.units;
    assert_int_equal(u[0].end, 211);
    assert_int_equal(u[1].start, 211); /* the slice: 500 cycles, its last CEDR against the sum of its DEDR */
    assert_int_equal(u[1].end, 711);
    assert_string_equal(timeline_get_text(&t, u[1].name), "mul");
    assert_int_equal(u[2].start, 212);
    assert_int_equal(u[2].end, 318);
    assert_int_equal(u[3].start, 711); /* 60 elements from the first to the last, 5.76 a cycle */
    assert_int_equal(u[3].end, 722);
    assert_int_equal(u[4].end, 8722); /* never waited for */
    assert_int_equal(t.tasks[3].end, 723);
    assert_int_equal(t.dispatches[0].end, 723);
    assert_int_equal(timeline_end(&t), 8722);
    assert_int_equal(t.dispatches[0].peak_bytes, 4096 + 8 * 4 * 4);
    assert_int_equal(t.action_count, 2);
    assert_int_equal(t.actions[1].end, 723);
    timeline_free(&t);
}

/* Buffers that share bytes: a and b one after the other, d beside a, c beside b. */
static const char buffers[] =
    "module {\n"
    "  memref.global \"private\" @a : memref<1000xi8, " LRAM "> = uninitialized {lram_address = 1000 : i64}\n"
    "  memref.global \"private\" @b : memref<1000xi8, " LRAM "> = uninitialized {lram_address = 1500 : i64}\n"
    "  memref.global \"private\" @c : memref<100xi8, " LRAM "> = uninitialized {lram_address = 5000 : i64}\n"
    "  memref.global \"private\" constant @w : memref<9000xi8> = dense<1> {xram_address = 9000 : i64}\n"
    "  func.func @dispatch_0() {\n"
    "    %n = torq_hl.program \"nss_program_0\" : !torq_hl.program<nss> {\n"
    "    ^bb0(%x: memref<1000xi8>):\n"
    "      %a = memref.get_global @a : memref<1000xi8, " LRAM ">\n"
    "      %b = memref.get_global @b : memref<1000xi8, " LRAM ">\n"
    "      %c = memref.get_global @c : memref<100xi8, " LRAM ">\n"
    "      %v = memref.subview %b[0] [500] [1] : memref<1000xi8, " LRAM
    "> to memref<500xi8, strided<[1]>, " LRAM ">\n"
    "      %d = memref.alloc() {lram_address = 1900 : i64} : memref<300xi8, " LRAM ">\n"
    "      torq_hw.nss_task() {\n"
    "        torq_hw.dma_in_cfg from %x : memref<1000xi8> to %a : memref<1000xi8, " LRAM
    "> {write_ndl = #torq_hw<dma_ndl{dims = [[1000, 1]]}>}\n"
    "        torq_hw.dma_in_start\n"
    "        torq_hw.dma_in_wait\n"
    "      }\n"
    "      memref.dealloc %d : memref<300xi8, " LRAM ">\n"
    "      torq_hw.nss_task() {\n"
    "        torq_hw.dma_in_cfg from %x : memref<1000xi8> to %v : memref<500xi8, " LRAM
    "> {write_ndl = #torq_hw<dma_ndl{dims = [[500, 1]]}>}\n"
    "        torq_hw.dma_in_start\n"
    "        torq_hw.dma_in_wait\n"
    "        torq_hw.dma_in_cfg from %x : memref<1000xi8> to %c : memref<100xi8, " LRAM
    "> {write_ndl = #torq_hw<dma_ndl{dims = [[100, 1]]}>}\n"
    "        torq_hw.dma_in_start\n"
    "        torq_hw.dma_in_wait\n"
    "        torq_hw.dma_out_cfg from %b : memref<1000xi8, " LRAM
    "> to %x : memref<1000xi8> {read_ndl = #torq_hw<dma_ndl{dims = [[1000, 1]]}>}\n"
    "        torq_hw.dma_out_start\n"
    "        torq_hw.dma_out_wait\n"
    "        %s\n"
    "      }\n"
    "      torq_hl.return\n"
    "    }\n"
    "    %x = \"torq_hl.map_binding\"() : () -> memref<1000xi8>\n"
    "    %i, %c = torq_hl.descriptor \"nss_program_0\" on 0 program %n : <nss> code [array<i8: 0>] : "
    "!torq_hl.invocation<nss>, memref<1xi8>\n"
    "    torq_hl.start_program %i : !torq_hl.invocation<nss> args(%x : memref<1000xi8>) "
    "{\"torq-action-id\" = 0 : i32}\n"
    "    return\n"
    "  }\n"
    "}\n";

static void assert_footprint(const char *text, uint64_t peak, uint64_t used)
{
    struct timeline t;
    execute(&t, text);
    assert_int_equal(t.dispatches[0].peak_bytes, peak);
    assert_int_equal(t.dispatches[0].used_bytes, used);
    timeline_free(&t);
}

/* The program with these ops at the end of its last task. */
static char *with_last(const char *ops)
{
    const char *place = strstr(buffers, "%s\n");
    char *text;
    assert_true(asprintf(&text, "%.*s%s%s", (int)(place - buffers), buffers, ops, place + 2) > 0);
    return text;
}

static void test_memory(void **state)
{
    (void)state;
    static const char again[] =
        "torq_hw.dma_out_cfg from %a : memref<1000xi8> to %x : memref<1000xi8> {read_ndl = "
        "#torq_hw<dma_ndl{dims = [[4, 1]]}>}\ntorq_hw.dma_out_start";
    static const char late[] =
        "torq_hw.dma_out_cfg from %d : memref<300xi8> to %x : memref<1000xi8> {read_ndl = "
        "#torq_hw<dma_ndl{dims = [[4, 1]]}>}\ntorq_hw.dma_out_start";
    char *text = with_last("");
    assert_footprint(text, 5100, 1200); /* a and d, [1000, 2200): later only b and c, 1100 */
    free(text);
    text = with_last(again); /* a lives to the end: a and b are [1000, 2500), and c */
    assert_footprint(text, 5100, 1600);
    free(text);
    text = with_last(late); /* d lives to the end too, but inside b */
    assert_footprint(text, 5100, 1200);
    free(text);
    assert_footprint(program, 4224, 1128); /* nothing names its buffers: they are there all the time */
}

/* Transfers belong to the op that needs or makes their data: without locations to the program next to them. */
static void test_ops(void **state)
{
    (void)state;
    struct timeline t;
    execute(&t, program);
    assert_int_equal(t.op_count, 2);
    assert_string_equal(timeline_get_text(&t, t.ops[0].name), "mul_0");
    assert_int_equal(t.ops[0].read_bytes, 1000);
    assert_int_equal(t.ops[0].start, 0);
    assert_int_equal(t.ops[0].end, 711);
    assert_int_equal(t.ops[1].read_bytes, 500); /* started after the slice: for what comes next */
    assert_int_equal(t.units[3].op, 1);         /* the copy to the processor's memory */
    assert_int_equal(t.ops[1].end, 8722);
    timeline_free(&t);
}

static void test_metrics(void **state)
{
    (void)state;
    struct timeline t;
    struct timeline_metrics m;
    execute(&t, program);
    assert_int_equal(timeline_measure(&t, TIMELINE_NONE, &m, NULL), 0);
    assert_int_equal(m.cycles[TIMELINE_METRIC_DMA_IN],
                     211 + 107); /* from the start of its task to its wait */
    assert_int_equal(m.cycles[TIMELINE_METRIC_SLICE], 500);
    assert_int_equal(m.cycles[TIMELINE_METRIC_OVERLAP], 107 + 11);
    assert_int_equal(m.cycles[TIMELINE_METRIC_OVERALL], 8722);
    assert_int_equal(m.cycles[TIMELINE_METRIC_IDLE], 0);
    timeline_free(&t);
}

static void add_unit(struct timeline *t, uint32_t lane, uint64_t start, uint64_t end)
{
    struct timeline_unit *unit = timeline_add_unit(t);
    assert_non_null(unit);
    unit->lane = lane;
    unit->start = start;
    unit->end = end;
}

/* Units in no order, some inside others, of many kinds at once. */
static void test_metrics_of_any_order(void **state)
{
    (void)state;
    struct timeline t = {0};
    struct timeline_metrics m;
    uint32_t in = timeline_lane(&t, "in", TIMELINE_DMA_IN, 0),
             out = timeline_lane(&t, "out", TIMELINE_DMA_OUT, 0);
    uint32_t slice = timeline_lane(&t, "s", TIMELINE_SLICE, 0),
             third = timeline_lane(&t, "t", TIMELINE_SLICE, 2);
    uint32_t driver = timeline_lane(&t, "d", TIMELINE_DRIVER, 0),
             host = timeline_lane(&t, "h", TIMELINE_HOST, 0);
    add_unit(&t, in, 50, 60);
    add_unit(&t, in, 10, 30);
    add_unit(&t, in, 20, 25); /* inside the one before */
    add_unit(&t, in, 30, 40); /* touches it */
    add_unit(&t, out, 35, 55);
    add_unit(&t, slice, 38, 52);
    add_unit(&t, third, 45, 70);
    add_unit(&t, host, 65, 90);
    add_unit(&t, driver, 0, 5);
    assert_int_equal(timeline_measure(&t, TIMELINE_NONE, &m, NULL), 0);
    assert_int_equal(m.cycles[TIMELINE_METRIC_OVERALL], 90);
    assert_int_equal(m.cycles[TIMELINE_METRIC_DMA_IN], 40);
    assert_int_equal(m.cycles[TIMELINE_METRIC_DMA], 50);
    assert_int_equal(m.cycles[TIMELINE_METRIC_SLICE], 32);
    assert_int_equal(m.cycles[TIMELINE_METRIC_SLICE_0], 14);
    assert_int_equal(m.cycles[TIMELINE_METRIC_SLICE_1], 0);
    assert_int_equal(m.cycles[TIMELINE_METRIC_OVERLAP], 22);
    assert_int_equal(m.cycles[TIMELINE_METRIC_DMA_ONLY], 28);
    assert_int_equal(m.cycles[TIMELINE_METRIC_COMPUTE_ONLY], 10);
    assert_int_equal(m.cycles[TIMELINE_METRIC_HAL], 5);
    assert_int_equal(m.cycles[TIMELINE_METRIC_IDLE], 5);
    assert_int_equal(m.cycles[TIMELINE_METRIC_NPU], 80 - 20); /* from 10 to 90, of which the host alone 20 */
    timeline_free(&t);
}

static void test_tables(void **state)
{
    (void)state;
    struct timeline t;
    struct bytes text = {0};
    execute(&t, program);
    timeline_append_csv(&t, 0, TIMELINE_CSV_TASKS, &text);
    assert_string_equal(bytes_text(&text), "taskId, elapsed_time(us), timestamp(us), event, location, bytes\n"
                                           "0,211,0,DMA In,loc(unknown),1000\n"
                                           "1,106,212,DMA In,loc(\"m.mlir\":8:3),500\n"
                                           "3,11,711,CDMA LRAM to DTCM,loc(unknown),60\n"
                                           "1,500,211,Slice 1,loc(unknown),\n"
                                           "3,8000,722,CSS,loc(unknown),\n");
    bytes_clear(&text);
    timeline_append_csv(&t, TIMELINE_NONE, TIMELINE_CSV_UNITS, &text);
    assert_string_equal(bytes_text(&text), "ID,Start,End,Location,Op Type\n"
                                           "DI0,0,211,loc(unknown),DMA_IN\n"
                                           "DI1,212,318,loc(\"m.mlir\":8:3),DMA_IN\n"
                                           "S0,211,711,loc(unknown),mul\n");
    bytes_free(&text);
    timeline_free(&t);
}

static void test_trace(void **state)
{
    (void)state;
    char path[] = "/tmp/opscope-estimate-XXXXXX", file[64];
    struct timeline t;
    struct trace_writer *writer;
    struct trace *trace;
    assert_non_null(mkdtemp(path));
    snprintf(file, sizeof file, "%s/e.opscope", path);
    execute(&t, program);
    assert_int_equal(trace_writer_open(&writer, file, &(struct trace_writer_options){0}, NULL), 0);
    assert_int_equal(
        timeline_to_trace(
            &t, &(struct timeline_trace){.source = "m.mlir", .device = "chip", .architecture = "sl2610"},
            writer, NULL),
        0);
    assert_int_equal(trace_writer_finish(writer, NULL), 0);
    assert_int_equal(trace_open(&trace, file, 0, NULL), 0);
    const struct trace_info *info = trace_get_info(trace);
    assert_int_equal(info->zones, 6); /* five units, one dispatch */
    assert_int_equal(info->runs, 5);  /* transfers, copy, slice and processor */
    assert_int_equal(info->ops, 2);
    assert_int_equal(info->end_ns - info->start_ns, 8722 * 1000 / 800);
    trace_close(trace);
    timeline_free(&t);
    unlink(file);
    rmdir(path);
}

static void refused(const char *from, const char *to, const char *message)
{
    struct bytes text = {0};
    struct timeline t;
    struct mlir *mlir;
    struct error err = {0};
    const char *at = strstr(program, from);
    assert_non_null(at);
    bytes_append(&text, program, (size_t)(at - program));
    bytes_append_text(&text, to);
    bytes_append_text(&text, at + strlen(from));
    assert_int_equal(mlir_read_text(&mlir, "t.mlir", bytes_text(&text), text.length, &err), 0);
    assert_int_not_equal(torq_execute(&t, mlir, &target, NULL, &err), 0);
    if (!strstr(err.message, message))
        fail_msg("'%s' does not say '%s'", err.message, message);
    timeline_free(&t);
    mlir_close(mlir);
    bytes_free(&text);
}

static void test_what_is_not_understood(void **state)
{
    (void)state;
    refused("torq_hw.css_start %again", "torq_hw.launch %again", "torq_hw.launch: has no place in a task");
    refused("to ^bb1", "to ^bb9", "the block that it goes on with cannot be found");
    refused("to ^bb1", "to ^bb0", "the program does not come to an end");
    refused("program %p : <slice>", "program %q : <slice>", "the program that it starts cannot be found");
    refused("O(H) [150, #map]", "O(H) [many, #map]", "the dimensions of DEDR are not understood");
    refused("dims = [[500, 1]]", "dims = [[x, 1]]", "its list of dimensions is not there or not understood");
    refused("id = 1 : index", "id = 99 : index", "there is no such slice");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_execution),
        cmocka_unit_test(test_ops),
        cmocka_unit_test(test_metrics),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_trace),
        cmocka_unit_test(test_what_is_not_understood),
        cmocka_unit_test(test_metrics_of_any_order),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
