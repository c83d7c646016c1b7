/* SPDX-License-Identifier: Apache-2.0 */
/* Models that are not scheduled: types, amounts of ops, groups, and the estimate of each kind of target. Every figure
 * is computed by hand in the comment beside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/estimate/draw.h"
#include "analyze/estimate/estimate.h"
#include "import/mlir/model.h"
#include "import/mlir/types.h"

static struct mlir_shape shape_of(const char *type)
{
    struct mlir_shape shape;
    assert_int_equal(mlir_read_shape(slice_of(type), &shape), MLIR_SHAPE);
    return shape;
}

static void test_types(void **state)
{
    (void)state;
    struct mlir_shape shape = shape_of("tensor<1x3x224x224xi8>");
    assert_int_equal(shape.rank, 4);
    assert_int_equal(mlir_shape_bytes(&shape), 150528);
    shape = shape_of("tensor<f32>");
    assert_int_equal(shape.rank, 0);
    assert_int_equal(mlir_shape_bytes(&shape), 4);
    shape = shape_of("tensor<3x3xi1>");
    assert_int_equal(mlir_shape_bytes(&shape), 2); /* 9 bits */
    shape = shape_of("tensor<64x512xbf16, #encoding5>");
    assert_true(shape.element.is_bfloat);
    shape = shape_of("memref<2x8xi16, strided<[16, 1]>, #torq_hl<enc mem_space = lram>>");
    assert_int_equal(mlir_shape_elements(&shape), 16);
    shape = shape_of("tensor<4xcomplex<f32>>");
    assert_int_equal(mlir_shape_bytes(&shape), 32);
    shape = shape_of("tensor<2x!quant.uniform<i8:f32, 0.1:3>>");
    assert_int_equal(mlir_shape_bytes(&shape), 2);
    shape = shape_of("vector<2x[4]xf32>");
    assert_int_equal(mlir_shape_bytes(&shape), 32);
    shape = shape_of("!torch.vtensor<[1,3],si64>");
    assert_int_equal(mlir_shape_bytes(&shape), 24);
    shape = shape_of("!torch.vtensor<[],f32>");
    assert_int_equal(mlir_shape_elements(&shape), 1);
    shape = shape_of("!iree_tensor_ext.dispatch.tensor<readonly:tensor<1x64xf32>>");
    assert_int_equal(mlir_shape_bytes(&shape), 256);
    shape = shape_of("tensor<?x64xf32>{%0}");
    assert_true(shape.is_dynamic);
    assert_int_equal(mlir_shape_elements(&shape), 0);
    assert_int_equal(mlir_read_shape(slice_of("index"), &shape), MLIR_NO_SHAPE);
    assert_int_equal(mlir_read_shape(slice_of("tensor<*xf32>"), &shape), MLIR_SHAPE_UNREAD);
    assert_int_equal(mlir_read_shape(slice_of("!torch.vtensor<{shape},bf16>"), &shape), MLIR_SHAPE_UNREAD);
    assert_int_equal(
        mlir_read_shape(slice_of("tensor<4xcomplex<complex<complex<complex<complex<complex<f32>>>>>>>"),
                        &shape),
        MLIR_SHAPE_UNREAD);
}

static struct mlir *mlir;

static void read_model(struct model *model, const char *text, const struct mlir_dims *dims)
{
    struct error err = {0};
    if (mlir_read_text(&mlir, "t.mlir", text, strlen(text), &err) != 0 ||
        mlir_read_model(model, mlir, dims, &err) != 0)
        fail_msg("%s", err.message);
}

static void free_model(struct model *model)
{
    model_free(model);
    mlir_close(mlir);
}

/* The op of a function with one op that costs something. */
/* What the op of one_op does. */
static uint64_t one_work[MODEL_WORKS];

static struct model_op one_op(const char *arguments, const char *op)
{
    char text[2000];
    struct model model;
    snprintf(text, sizeof text,
             "#in = affine_map<(d0, d1, d2, d3, d4) -> (d0 * 2 + d3, d1 + d4, d2)>\n"
             "#w = affine_map<(d0, d1, d2, d3, d4) -> (d3, d4, d2)>\n"
             "#out = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>\n"
             "func.func @main(%s) {\n  %s\n  return\n}\n",
             arguments, op);
    read_model(&model, text, NULL);
    if (model.op_count != 1)
        fail_msg("%zu ops in %s", model.op_count, op);
    struct model_op made = model.ops[0];
    for (unsigned kind = 0; kind < MODEL_WORKS; kind++)
        one_work[kind] = model_work_of(&model, &made, (enum model_work)kind);
    free_model(&model);
    return made;
}

static void test_amounts(void **state)
{
    (void)state;
    struct model_op op =
        one_op("%x: tensor<1x8x8x4xi8>, %w: tensor<16x3x3x4xi8>",
               "%0 = tosa.conv2d %x, %w {stride = array<i64: 2, 1>, dilation = array<i64: 2, 1>} : "
               "(tensor<1x8x8x4xi8>, tensor<16x3x3x4xi8>) -> tensor<1x4x8x16xi32>");
    assert_int_equal(op.class, MODEL_CONV);
    assert_int_equal(op.macs, 4 * 8 * 16 * 36);
    assert_int_equal(op.window, 5); /* (3 - 1) * 2 + 1 rows of 8, 2 apart */
    assert_int_equal(op.stride, 2);
    assert_int_equal(op.rows, 8);
    assert_int_equal(op.data_bits, 8);
    op = one_op(
        "%x: tensor<1x8x8x4xi8>, %w: tensor<3x3x4x1xi8>",
        "%0 = tosa.depthwise_conv2d %x, %w : (tensor<1x8x8x4xi8>, tensor<3x3x4x1xi8>) -> tensor<1x8x8x4xi32>");
    assert_int_equal(op.class, MODEL_DEPTHWISE);
    assert_int_equal(op.macs, 256 * 9);
    op = one_op(
        "%x: !torch.vtensor<[1,32,16,16],bf16>, %w: !torch.vtensor<[32,1,3,3],bf16>",
        "%0 = torch.operator \"onnx.Conv\"(%x, %w) {torch.onnx.group = 32 : si64} : (!torch.vtensor<[1,32,16,16],"
        "bf16>, !torch.vtensor<[32,1,3,3],bf16>) -> !torch.vtensor<[1,32,16,16],bf16>");
    assert_int_equal(op.class, MODEL_DEPTHWISE);
    assert_int_equal(op.macs, 8192 * 9);
    assert_int_equal(op.number, MODEL_BFLOAT);
    op =
        one_op("%x: tensor<1x256x4x256xbf16>, %w: tensor<1x256x64xbf16>",
               "%0 = stablehlo.dot_general %x, %w, batching_dims = [0] x [0], contracting_dims = [3] x [1] : "
               "(tensor<1x256x4x256xbf16>, tensor<1x256x64xbf16>) -> tensor<1x256x4x64xbf16>");
    assert_int_equal(op.macs, 1024 * 64 * 256);
    assert_int_equal(op.n, 64);
    assert_int_equal(op.m, 1024);
    op = one_op(
        "%x: tensor<64x784xf32>, %w: tensor<512x784xf32>, %o: tensor<64x512xf32>",
        "%0 = linalg.matmul_transpose_b ins(%x, %w : tensor<64x784xf32>, tensor<512x784xf32>) outs(%o : "
        "tensor<64x512xf32>) -> tensor<64x512xf32>");
    assert_int_equal(op.macs, 64 * 512 * 784);
    op = one_op("%x: tensor<1x3x10xf32>, %w: tensor<8x3x5xf32>, %o: tensor<1x8x6xf32>",
                "%0 = linalg.conv_1d_ncw_fcw ins(%x, %w : tensor<1x3x10xf32>, tensor<8x3x5xf32>) outs(%o : "
                "tensor<1x8x6xf32>) -> tensor<1x8x6xf32>");
    assert_int_equal(op.macs, 48 * 15);
    op = one_op("%x: tensor<4x1x8xbf16>, %w: tensor<1x24x8xbf16>, %r: tensor<1x24x8xbf16>",
                "%0 = torch.operator \"onnx.GRU\"(%x, %w, %r) : (tensor<4x1x8xbf16>, tensor<1x24x8xbf16>, "
                "tensor<1x24x8xbf16>) -> tensor<4x1x1x8xbf16>");
    assert_int_equal(op.macs, 4 * 24 * 16);
    assert_int_equal(op.steps, 4);
    op = one_op("%x: tensor<1x8x8x4xi8>",
                "%0 = tosa.max_pool2d %x {kernel = array<i64: 2, 3>, stride = array<i64: 2, 2>} : "
                "(tensor<1x8x8x4xi8>) -> tensor<1x4x4x4xi8>");
    assert_int_equal(one_work[MODEL_WINDOW], 64 * 6);
    op = one_op(
        "%x: tensor<2x8x4xf32>, %o: tensor<2x4xf32>",
        "%0 = linalg.reduce { arith.addf } ins(%x : tensor<2x8x4xf32>) outs(%o : tensor<2x4xf32>) dimensions = [1]");
    assert_int_equal(op.class, MODEL_REDUCTION);
    assert_int_equal(one_work[MODEL_REDUCED], 64);
    assert_true(op.reduces_outer);
    op = one_op(
        "%x: tensor<9x6x2xf32>, %w: tensor<3x2x2xf32>, %o: tensor<4x5x2xf32>",
        "%0 = linalg.generic {indexing_maps = [#in, #w, #out], iterator_types = [\"parallel\", \"parallel\", "
        "\"parallel\", \"reduction\", \"reduction\"]} ins(%x, %w : tensor<9x6x2xf32>, tensor<3x2x2xf32>) outs(%o : "
        "tensor<4x5x2xf32>) {\n  ^bb0(%a: f32, %b: f32, %c: f32):\n    %m = arith.mulf %a, %b : f32\n    %s = "
        "arith.addf %c, %m : f32\n    linalg.yield %s : f32\n  } -> tensor<4x5x2xf32>");
    assert_int_equal(op.class, MODEL_DEPTHWISE); /* no reduction but over the window */
    assert_int_equal(op.macs, 4 * 5 * 2 * 3 * 2);
    op = one_op("%x: tensor<8x4xf32>",
                "%0 = \"tosa.transpose\"(%x) <{perms = array<i32: 1, 0>}> : (tensor<8x4xf32>) -> "
                "tensor<4x8xf32>");
    assert_int_equal(one_work[MODEL_SHUFFLE], 32);
    op = one_op("%x: tensor<8xf32>", "%0 = \"my.op\"(%x) : (tensor<8xf32>) -> tensor<8xf32>");
    assert_int_equal(op.class, MODEL_UNKNOWN);
    assert_int_equal(op.fault, MODEL_UNKNOWN_OP);
}

static void test_dynamic(void **state)
{
    (void)state;
    static const char text[] = "func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {\n"
                               "  %0 = tosa.abs %x : (tensor<?x4xf32>) -> tensor<?x4xf32>\n"
                               "  %1 = tosa.exp %0 : (tensor<?x4xf32>) -> tensor<?x4xf32>\n"
                               "  return %1 : tensor<?x4xf32>\n}\n";
    struct model model;
    struct mlir_dims dims = {0};
    struct error err = {0};
    read_model(&model, text, NULL);
    assert_int_equal(model.ops[0].fault, MODEL_DYNAMIC_SHAPE);
    assert_int_equal(model.ops[1].fault, MODEL_DYNAMIC_SHAPE);
    free_model(&model);
    assert_int_equal(mlir_dims_option(&dims, "0:0=16", &err), 0);
    read_model(&model, text, &dims);
    assert_int_equal(model.ops[1].fault, MODEL_FINE);
    assert_int_equal(model_work_of(&model, &model.ops[1], MODEL_EXP), 64); /* the size passes from op to op */
    free_model(&model);
    assert_int_equal(mlir_dims_option(&dims, "8", &err), 0);
    assert_int_equal(dims.otherwise, 8);
    assert_int_not_equal(mlir_dims_option(&dims, "0=8", &err), 0);
    assert_int_not_equal(mlir_dims_option(&dims, "0", &err), 0);
}

/* Of what a group reads, bytes of constants. */
static uint64_t weight_bytes(const struct model *model, const struct estimate_groups *groups, uint32_t id)
{
    const struct estimate_group *group = &groups->groups[id];
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < group->inputs; i++) {
        const struct model_use *input = &groups->inputs[group->first_input + i];
        bytes += model->values[input->value].origin == MODEL_WEIGHT ? input->bytes : 0;
    }
    return bytes;
}

/* Two matmuls with element-wise ops after each; the second has a constant weight. */
static const char program[] =
    "func.func @main(%x: tensor<1x64x32xf32>, %w: tensor<1x32x16xf32>) -> tensor<1x64x16xf32> {\n"
    "  %b = \"tosa.const\"() <{values = dense<[[[1.0, 2.0]]]> : tensor<1x1x16xf32>}> : () -> tensor<1x1x16xf32>\n"
    "  %z = \"tosa.const\"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>\n"
    "  %v = \"tosa.const\"() <{values = dense<\"0x00\"> : tensor<1x16x16xf32>}> : () -> tensor<1x16x16xf32>\n"
    "  %0 = tosa.matmul %x, %w, %z, %z : (tensor<1x64x32xf32>, tensor<1x32x16xf32>, tensor<1xf32>, tensor<1xf32>) -> "
    "tensor<1x64x16xf32>\n"
    "  %1 = tosa.add %0, %b : (tensor<1x64x16xf32>, tensor<1x1x16xf32>) -> tensor<1x64x16xf32>\n"
    "  %2 = tosa.tanh %1 : (tensor<1x64x16xf32>) -> tensor<1x64x16xf32>\n"
    "  %3 = tosa.matmul %2, %v, %z, %z : (tensor<1x64x16xf32>, tensor<1x16x16xf32>, tensor<1xf32>, tensor<1xf32>) -> "
    "tensor<1x64x16xf32>\n"
    "  %4 = tosa.add %3, %2 : (tensor<1x64x16xf32>, tensor<1x64x16xf32>) -> tensor<1x64x16xf32>\n"
    "  return %4 : tensor<1x64x16xf32>\n"
    "}\n";

static void test_groups(void **state)
{
    (void)state;
    struct model model;
    struct estimate_groups groups;
    struct error err = {0};
    read_model(&model, program, NULL);
    assert_int_equal(estimate_groups(&groups, &model, &err), 0);
    assert_int_equal(groups.count, 2); /* tanh has two readers: the second matmul is a group of its own */
    assert_int_equal(groups.groups[0].members, 3);
    assert_int_equal(groups.groups[0].class, MODEL_MATMUL);
    assert_int_equal(groups.groups[0].macs, 64 * 16 * 32);
    assert_int_equal(groups.groups[0].operations, 2 * 1024);
    assert_int_equal(groups.groups[0].read_bytes, 8192 + 2048 + 64); /* the zero points are one number */
    assert_int_equal(weight_bytes(&model, &groups, 0), 64);
    assert_int_equal(groups.groups[0].write_bytes, 4096);
    assert_int_equal(groups.groups[1].read_bytes, 4096 + 1024); /* the tanh is read once by both ops */
    assert_int_equal(weight_bytes(&model, &groups, 1), 1024);
    estimate_groups_free(&groups);
    free_model(&model);
}

static struct estimate_target cpu(void)
{
    struct estimate_target target;
    estimate_target_defaults(&target);
    target.kind = ESTIMATE_CACHE;
    target.clock_mhz = 1000; /* a cycle is a nanosecond */
    target.engines = 1;
    target.macs_f32 = 16;
    target.vector_bytes = 64;
    target.vector_factor = 0.5;
    target.matmul_factor = 0.5;
    target.exp_per_cycle = 1;
    target.local_bytes = 1 << 19;
    target.core_gb_s = 20;
    target.cache_bytes = 1 << 24;
    target.cache_gb_s = 100;
    target.dram_gb_s = 40;
    target.launch_us = 0.3;
    target.floor_ns = 60;
    return target;
}

static void test_cache(void **state)
{
    (void)state;
    struct model model;
    struct timeline t;
    struct error err = {0};
    struct estimate_target target = cpu();
    read_model(&model, program, NULL);
    assert_int_equal(estimate_model(&t, &model, &target, &err), 0);
    assert_int_equal(t.op_count, 2);
    /* 32768 MACs at 8 a cycle, 1024 adds at 8, 1024 tanh at 1: 4096 + 128 + 1024; memory 14400 bytes at 20 */
    assert_int_equal(t.ops[0].start, 300);
    assert_int_equal(t.ops[0].end, 300 + 5248);
    assert_int_equal(t.ops[0].bound, TIMELINE_BOUND_COMPUTE);
    assert_true(t.ops[0].utilisation > 0.3902 && t.ops[0].utilisation < 0.3903); /* 32768 / (16 * 5248) */
    /* 16384 / 8 + 1024 / 8 after another launch */
    assert_int_equal(t.ops[1].end - t.ops[1].start, 2176);
    assert_int_equal(timeline_end(&t), 300 + 5248 + 300 + 2176);
    /* x 8192, w 2048, b 64, v 1024 all along, and the tanh 4096, the result 4096 at the end */
    assert_int_equal(t.dispatches[0].peak_bytes, 8192 + 2048 + 64 + 1024 + 4096 + 4096);
    timeline_free(&t);
    target.scale_matmul_float = 2; /* calibrated: matmuls take twice as long */
    free_model(&model);
    read_model(&model, program, NULL);
    assert_int_equal(estimate_model(&t, &model, &target, &err), 0);
    assert_int_equal(t.ops[0].end - t.ops[0].start, 2 * 5248);
    timeline_free(&t);
    free_model(&model);
}

static struct estimate_target npu(void)
{
    struct estimate_target target;
    estimate_target_defaults(&target);
    target.kind = ESTIMATE_DMA;
    target.clock_mhz = 800;
    target.engines = 2;
    target.macs_i8 = 256;
    target.macs_i16 = 64;
    target.vector_bytes = 64;
    target.vector_results = 16;
    target.local_bytes = 1024;
    target.dma_bytes_per_cycle = 4;
    target.dma_setup_beats = 0;
    return target;
}

static const char add[] = "func.func @main(%x: tensor<512xi8>, %y: tensor<512xi8>) -> tensor<512xi8> {\n"
                          "  %0 = tosa.add %x, %y : (tensor<512xi8>, tensor<512xi8>) -> tensor<512xi8>\n"
                          "  return %0 : tensor<512xi8>\n}\n";

static void test_dma(void **state)
{
    (void)state;
    struct model model;
    struct timeline t;
    struct error err = {0};
    struct estimate_target target = npu();
    read_model(&model, add, NULL);
    target.local_bytes = 1 << 20;
    assert_int_equal(estimate_model(&t, &model, &target, &err), 0);
    /* one tile: 1024 bytes in at 4 a cycle, 512 / 16 results, 512 bytes out */
    assert_int_equal(t.ops[0].tiles, 1);
    assert_int_equal(timeline_end(&t), 256 + 32 + 128);
    assert_int_equal(t.ops[0].bound, TIMELINE_BOUND_MEMORY);
    assert_int_equal(t.dispatches[0].peak_bytes, 1536);
    timeline_free(&t);
    /* 1536 bytes in 1024: ceil(2 * 1536 / 1024) = 3 tiles of 341.3 in (85.3 cycles), 10.67 cycles, 170.7 out (42.7).
     * In alone until 85.3; the first result goes out from 96 on, at half the rate while the second comes in. The
     * transfers are never idle but for the first and the last compute: 1536 / 4 cycles and 10.67 at the end, since
     * the last tile is computed while nothing is left to transfer once the second is out. */
    target.local_bytes = 1024;
    free_model(&model);
    read_model(&model, add, NULL);
    assert_int_equal(estimate_model(&t, &model, &target, &err), 0);
    assert_int_equal(t.ops[0].tiles, 3);
    assert_int_equal(t.unit_count, 9);
    assert_in_range(timeline_end(&t), 384, 384 + 22);
    uint64_t in = 0, out = 0;
    for (size_t i = 0; i < t.unit_count; i++) {
        const struct timeline_unit *unit = &t.units[i];
        unsigned kind = t.lanes[unit->lane].kind;
        in += kind == TIMELINE_DMA_IN ? unit->bytes : 0;
        out += kind == TIMELINE_DMA_OUT ? unit->bytes : 0;
        assert_true(unit->start < unit->end && unit->end <= timeline_end(&t));
    }
    assert_int_equal(in, 3 * 341); /* whole bytes of each tile */
    assert_int_equal(out, 3 * 170);
    timeline_free(&t);
    target.dma_duplex = 2; /* in and out have the full rate each: never slower */
    uint64_t shared = 384;
    free_model(&model);
    read_model(&model, add, NULL);
    assert_int_equal(estimate_model(&t, &model, &target, &err), 0);
    assert_true(timeline_end(&t) < shared);
    timeline_free(&t);
    free_model(&model);
    /* 7 transfers and a slice: 7 * 72 + 44 and one change of blocks of at most 400 bytes */
    target.code_dma_bytes = 72;
    target.code_start_bytes = 44;
    target.code_block_bytes = 4;
    target.code_block_max_bytes = 400;
    assert_int_equal(estimate_code_bytes(&target, 7, 1), 552);
    /* i16 by i8: half of i8, as byte lanes go */
    assert_true(estimate_mac_rate(&target, MODEL_INTEGER, 16, 8) == 128);
}

static const char unknown[] = "func.func @main(%x: tensor<2000xf32>) -> tensor<2000xf32> {\n"
                              "  %0 = tosa.abs %x : (tensor<2000xf32>) -> tensor<2000xf32>\n"
                              "  %1 = \"my.op\"(%0) : (tensor<2000xf32>) -> tensor<2000xf32>\n"
                              "  return %1 : tensor<2000xf32>\n}\n";

static void test_processor(void **state)
{
    (void)state;
    struct model model;
    struct timeline t;
    struct error err = {0};
    struct estimate_target target = npu(); /* that has no floats */
    target.processor_cycles = 8000;
    target.processor_cycles_per_element = 8;
    target.processor_memory_bytes = 32768;
    read_model(&model, unknown, NULL);
    assert_int_equal(estimate_model(&t, &model, &target, &err), 0);
    assert_int_equal(t.ops[0].end, 16000); /* 8 cycles an element are more than 8000 */
    assert_int_equal(t.notice_count, 1);
    assert_non_null(strstr(timeline_get_text(&t, t.notices[0].text), "my.op"));
    assert_int_equal(t.ops[1].read_bytes, 8000); /* costed as movement */
    assert_true(t.ops[1].end > t.ops[1].start);
    timeline_free(&t);
    target.processor_memory_bytes = 1000; /* too small: the host, 1 ns an element and 16000 bytes at 2 GB/s */
    free_model(&model);
    read_model(&model, unknown, NULL);
    assert_int_equal(estimate_model(&t, &model, &target, &err), 0);
    assert_int_equal(t.ops[0].end, 8000); /* (2000 + 8000) ns at 800 MHz */
    timeline_free(&t);
    free_model(&model);
}

/* A dispatch that is run twice, as the flow phase writes it. */
static const char flow[] =
    "module @m {\n"
    "  flow.executable private @e {\n"
    "    flow.executable.export public @f workgroups() -> (index, index, index) {\n"
    "      %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice()\n"
    "      flow.return %x, %y, %z : index, index, index\n"
    "    }\n"
    "    builtin.module {\n"
    "      func.func @f(%arg0: !iree_tensor_ext.dispatch.tensor<readonly:tensor<8x4xf32>>, %arg1: "
    "!iree_tensor_ext.dispatch.tensor<writeonly:tensor<8x4xf32>>) {\n"
    "        %0 = iree_tensor_ext.dispatch.tensor.load %arg0, offsets = [0, 0], sizes = [8, 4], strides = [1, 1] : "
    "!iree_tensor_ext.dispatch.tensor<readonly:tensor<8x4xf32>> -> tensor<8x4xf32>\n"
    "        %1 = tensor.empty() : tensor<8x4xf32>\n"
    "        %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, "
    "affine_map<(d0, d1) -> (d0, d1)>], "
    "iterator_types = [\"parallel\", \"parallel\"]} ins(%0 : tensor<8x4xf32>) outs(%1 : tensor<8x4xf32>) {\n"
    "        ^bb0(%in: f32, %out: f32):\n"
    "          %3 = arith.addf %in, %in : f32\n"
    "          linalg.yield %3 : f32\n"
    "        } -> tensor<8x4xf32>\n"
    "        iree_tensor_ext.dispatch.tensor.store %2, %arg1, offsets = [0, 0], sizes = [8, 4], strides = [1, 1] : "
    "tensor<8x4xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<8x4xf32>>\n"
    "        return\n"
    "      }\n"
    "    }\n"
    "  }\n"
    "  util.func public @main(%arg0: !hal.buffer_view) -> !hal.buffer_view {\n"
    "    %0 = hal.tensor.import %arg0 \"input0\" : !hal.buffer_view -> tensor<8x4xf32>\n"
    "    %1 = flow.dispatch @e::@f(%0) : (tensor<8x4xf32>) -> tensor<8x4xf32> loc(\"m.mlir\":3:1)\n"
    "    %2 = flow.dispatch @e::@f(%1) : (tensor<8x4xf32>) -> tensor<8x4xf32> loc(\"m.mlir\":4:1)\n"
    "    %3 = hal.tensor.export %2 \"output0\" : tensor<8x4xf32> -> !hal.buffer_view\n"
    "    util.return %3 : !hal.buffer_view\n"
    "  }\n"
    "}\n";

static void test_dispatches(void **state)
{
    (void)state;
    struct model model;
    struct timeline t;
    struct error err = {0};
    struct estimate_target target = cpu();
    read_model(&model, flow, NULL);
    assert_int_equal(model.group_count, 2);
    assert_int_equal(model.op_count, 2);
    /* the second reads what the first wrote */
    assert_int_equal(model.values[model.uses[model.ops[1].first_use].value].maker, 0);
    assert_int_equal(estimate_model(&t, &model, &target, &err), 0);
    assert_int_equal(t.dispatch_count, 2);
    assert_string_equal(timeline_get_text(&t, t.dispatches[1].name), "f");
    assert_int_equal(t.ops[0].read_bytes, 128);
    assert_int_equal(t.ops[1].write_bytes, 128);
    assert_int_equal(t.ops[0].end - t.ops[0].start, 60); /* the floor */
    assert_int_equal(t.ops[0].bound, TIMELINE_BOUND_LAUNCH);
    timeline_free(&t);
    free_model(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),     cmocka_unit_test(test_amounts),    cmocka_unit_test(test_dynamic),
        cmocka_unit_test(test_groups),    cmocka_unit_test(test_cache),      cmocka_unit_test(test_dma),
        cmocka_unit_test(test_processor), cmocka_unit_test(test_dispatches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
