/* SPDX-License-Identifier: Apache-2.0 */
#include "import/mlir/costs.h"

#include <string.h>

#include "base/count_of.h"

/* Names of one dialect that cost alike, with blanks around each. */
struct row {
    const char *dialect;
    const char *names;
    struct mlir_cost cost;
};

#define FREE                                                                                                 \
    {                                                                                                        \
        MODEL_FREE, RULE_NONE, 0                                                                             \
    }
#define ENTER                                                                                                \
    {                                                                                                        \
        MODEL_FREE, RULE_ENTER, 0                                                                            \
    }
#define ALIAS                                                                                                \
    {                                                                                                        \
        MODEL_FREE, RULE_ALIAS, 0                                                                            \
    }
#define CONSTANT                                                                                             \
    {                                                                                                        \
        MODEL_FREE, RULE_CONSTANT, 0                                                                         \
    }
#define MOVE                                                                                                 \
    {                                                                                                        \
        MODEL_MOVE, RULE_MOVE, 0                                                                             \
    }
#define PART                                                                                                 \
    {                                                                                                        \
        MODEL_MOVE, RULE_PART, 0                                                                             \
    }
#define TRANSPOSE                                                                                            \
    {                                                                                                        \
        MODEL_MOVE, RULE_TRANSPOSE, 0                                                                        \
    }
#define BROADCAST                                                                                            \
    {                                                                                                        \
        MODEL_MOVE, RULE_BROADCAST, 0                                                                        \
    }
#define ELEMENTS                                                                                             \
    {                                                                                                        \
        MODEL_ELEMENTWISE, RULE_ELEMENTS, MODEL_ARITHMETIC                                                   \
    }
#define EXP                                                                                                  \
    {                                                                                                        \
        MODEL_TRANSCENDENTAL, RULE_ELEMENTS, MODEL_EXP                                                       \
    }
#define LOG                                                                                                  \
    {                                                                                                        \
        MODEL_TRANSCENDENTAL, RULE_ELEMENTS, MODEL_LOG                                                       \
    }
#define RSQRT                                                                                                \
    {                                                                                                        \
        MODEL_TRANSCENDENTAL, RULE_ELEMENTS, MODEL_RSQRT                                                     \
    }
#define REDUCED                                                                                              \
    {                                                                                                        \
        MODEL_REDUCTION, RULE_INPUTS, MODEL_REDUCED                                                          \
    }
#define POOL                                                                                                 \
    {                                                                                                        \
        MODEL_POOL, RULE_POOL, MODEL_WINDOW                                                                  \
    }
#define SOFT                                                                                                 \
    {                                                                                                        \
        MODEL_SOFTMAX, RULE_INPUTS, MODEL_SOFT                                                               \
    }
#define NORM                                                                                                 \
    {                                                                                                        \
        MODEL_REDUCTION, RULE_NORM, MODEL_ARITHMETIC                                                         \
    }
#define MATMUL(rule)                                                                                         \
    {                                                                                                        \
        MODEL_MATMUL, rule, 0                                                                                \
    }
#define CONV(rule)                                                                                           \
    {                                                                                                        \
        MODEL_CONV, rule, 0                                                                                  \
    }

/* A dialect may have several rows; the first that has the name counts, and the name "*" is all that are left. */
static const struct row table[] = {
    {"builtin", " module unrealized_conversion_cast ", ENTER},
    {"func", " func ", ENTER},
    {"func", " return ", {MODEL_FREE, RULE_RESULT, 0}},
    {"func", " * ", FREE},
    {"util", " func initializer ", ENTER},
    {"util", " return ", {MODEL_FREE, RULE_RESULT, 0}},
    {"util", " optimization_barrier assume.int ", ALIAS},
    {"util", " * ", FREE},
    {"ml_program", " func subgraph ", ENTER},
    {"ml_program", " return output ", {MODEL_FREE, RULE_RESULT, 0}},
    {"ml_program", " global_load global_load_const ", CONSTANT},
    {"ml_program", " * ", FREE},
    {"scf", " for while parallel forall ", {MODEL_FREE, RULE_LOOP, 0}},
    {"scf", " * ", ENTER},
    {"affine", " for parallel ", {MODEL_FREE, RULE_LOOP, 0}},
    {"affine", " * ", ENTER},
    {"cf", " * ", FREE},
    {"shape", " * ", FREE},
    {"hal", " tensor.import tensor.alias tensor.barrier ", FREE},
    {"hal", " tensor.export ", {MODEL_FREE, RULE_RESULT, 0}},
    {"hal", " * ", ENTER},
    {"flow", " dispatch.workgroups dispatch.region ", {MODEL_FREE, RULE_REGION, 0}},
    {"flow", " dispatch.tensor.load ", {MODEL_FREE, RULE_LOAD, 0}},
    {"flow", " dispatch.tensor.store ", {MODEL_FREE, RULE_STORE, 0}},
    {"flow", " tensor.reshape tensor.bitcast tensor.barrier tensor.transfer tensor.clone ", ALIAS},
    {"flow", " tensor.splat tensor.empty tensor.alloca ", {MODEL_FILL, RULE_FILLED, 0}},
    {"flow", " tensor.slice ", PART},
    {"flow", " tensor.constant ", CONSTANT},
    {"flow", " tensor.update tensor.store tensor.encode ", MOVE},
    {"flow", " dispatch ", {MODEL_FREE, RULE_DISPATCH, 0}},
    {"flow", " * ", FREE}, /* executables are entered from where they are dispatched */
    {"stream", " cmd.dispatch ", {MODEL_FREE, RULE_DISPATCH, 0}},
    {"stream", " binding.subspan ", {MODEL_FREE, RULE_BINDING, 0}},
    {"stream", " cmd.execute cmd.concurrent cmd.serial async.execute async.concurrent ", ENTER},
    {"stream", " * ", FREE},
    {"iree_tensor_ext", " dispatch.tensor.load ", {MODEL_FREE, RULE_LOAD, 0}},
    {"iree_tensor_ext", " dispatch.tensor.store ", {MODEL_FREE, RULE_STORE, 0}},
    {"iree_tensor_ext", " bitcast compute_barrier.start compute_barrier.end ", ALIAS},
    {"iree_tensor_ext", " * ", FREE},
    {"iree_encoding", " set_encoding unset_encoding ", MOVE},
    {"iree_linalg_ext", " softmax attention online_attention ", SOFT},
    {"iree_linalg_ext", " pack unpack gather scatter im2col ", MOVE},
    {"iree_codegen", " load_from_buffer ", {MODEL_FREE, RULE_LOAD, 0}},
    {"iree_codegen", " store_to_buffer ", {MODEL_FREE, RULE_STORE, 0}},
    {"iree_codegen", " * ", FREE},

    {"arith", " constant ", CONSTANT},
    {"arith", " bitcast ", ALIAS},
    {"arith", " * ", ELEMENTS},
    {"math", " exp exp2 expm1 tanh sin cos tan sinh cosh atan atan2 asin acos ", EXP},
    {"math", " log log2 log10 log1p erf erfc powf fpowi ", LOG},
    {"math", " sqrt rsqrt cbrt ", RSQRT},
    {"math", " * ", ELEMENTS},
    {"complex", " constant ", CONSTANT},
    {"complex", " exp tanh sin cos log pow sqrt rsqrt abs angle ", LOG},
    {"complex", " * ", ELEMENTS},

    {"tensor", " empty ", {MODEL_FREE, RULE_FILLED, 0}},
    {"tensor", " splat ", {MODEL_FILL, RULE_FILLED, 0}},
    {"tensor", " cast collapse_shape expand_shape reshape bitcast ", ALIAS},
    {"tensor", " extract_slice gather extract ", PART},
    {"tensor", " concat pad scatter pack unpack insert insert_slice parallel_insert_slice ", MOVE},
    {"tensor", " generate from_elements ", ELEMENTS},
    {"tensor", " dim rank yield ", FREE},
    {"memref", " alloc alloca ", {MODEL_FREE, RULE_FILLED, 0}},
    {"memref", " copy ", MOVE},
    {"memref", " global get_global ", CONSTANT},
    {"memref", " * ", ALIAS},
    {"bufferization", " alloc_tensor ", {MODEL_FREE, RULE_FILLED, 0}},
    {"bufferization", " * ", ALIAS},
    {"vector", " * ", ELEMENTS},

    {"linalg", " yield index ", FREE},
    {"linalg", " fill fill_rng_2d ", {MODEL_FILL, RULE_FILLED, 0}},
    {"linalg", " generic contract elementwise ", {MODEL_ELEMENTWISE, RULE_LOOPS, MODEL_ARITHMETIC}},
    {"linalg", " map ", {MODEL_ELEMENTWISE, RULE_MAP, MODEL_ARITHMETIC}},
    {"linalg", " reduce ", {MODEL_REDUCTION, RULE_REDUCE, MODEL_REDUCED}},
    {"linalg", " transpose ", TRANSPOSE},
    {"linalg", " broadcast ", BROADCAST},
    {"linalg", " copy pack unpack ", MOVE},
    {"linalg", " softmax ", SOFT},
    {"linalg",
     " add sub mul div div_unsigned max min abs ceil floor negf round select square elemwise_binary "
     "elemwise_unary ",
     ELEMENTS},
    {"linalg", " exp tanh ", EXP},
    {"linalg", " log erf powf ", LOG},
    {"linalg", " sqrt rsqrt reciprocal ", RSQRT},
    {"linalg",
     " matmul batch_matmul quantized_matmul quantized_batch_matmul matvec vecmat batch_matvec "
     "batch_vecmat dot matmul_transpose_a matmul_transpose_b batch_matmul_transpose_a "
     "batch_matmul_transpose_b batch_reduce_matmul mmt4d batch_mmt4d ",
     MATMUL(RULE_CONTRACTION)},
    {"linalg", " conv_* ", CONV(RULE_LETTERS)},
    {"linalg", " depthwise_conv_* ", {MODEL_DEPTHWISE, RULE_LETTERS, 0}},
    {"linalg", " pooling_* ", {MODEL_POOL, RULE_WINDOW, MODEL_WINDOW}},

    {"tosa", " const const_shape variable_read ", CONSTANT},
    {"tosa", " variable variable_write yield concat_shape apply_scale ", FREE},
    {"tosa", " reshape identity ", ALIAS},
    {"tosa", " cond_if ", ENTER},
    {"tosa", " while_loop ", {MODEL_FREE, RULE_LOOP, 0}},
    {"tosa",
     " rescale cast add sub mul abs clamp negate bitwise_and bitwise_or bitwise_xor bitwise_not equal greater "
     "greater_equal logical_and logical_or logical_xor logical_not logical_left_shift logical_right_shift "
     "arithmetic_right_shift maximum minimum select clz ceil floor intdiv ",
     ELEMENTS},
    {"tosa", " exp tanh sigmoid sin cos ", EXP},
    {"tosa", " log erf pow ", LOG},
    {"tosa", " rsqrt reciprocal table ", RSQRT},
    {"tosa", " reduce_sum reduce_max reduce_min reduce_product reduce_all reduce_any argmax ", REDUCED},
    {"tosa", " max_pool2d avg_pool2d ", POOL},
    {"tosa", " transpose ", TRANSPOSE},
    {"tosa", " gather slice ", PART},
    {"tosa", " concat pad scatter tile reverse resize ", MOVE},
    {"tosa", " matmul fully_connected matmul_t_block_scaled ", MATMUL(RULE_LAST)},
    {"tosa", " conv2d conv3d ", CONV(RULE_FILTER)},
    {"tosa", " depthwise_conv2d ", {MODEL_DEPTHWISE, RULE_DEPTHWISE, 0}},
    {"tosa", " transpose_conv2d ", CONV(RULE_SCATTERED)},

    {"stablehlo", " constant ", CONSTANT},
    {"stablehlo", " reshape bitcast_convert optimization_barrier get_tuple_element tuple ", ALIAS},
    {"stablehlo", " return ", FREE},
    {"stablehlo", " while ", {MODEL_FREE, RULE_LOOP, 0}},
    {"stablehlo", " if case ", ENTER},
    {"stablehlo", " broadcast broadcast_in_dim dynamic_broadcast_in_dim ", BROADCAST},
    {"stablehlo", " iota ", {MODEL_FILL, RULE_FILLED, 0}},
    {"stablehlo",
     " abs add and atan2 ceil clamp compare complex convert count_leading_zeros divide floor imag is_finite "
     "maximum minimum multiply negate not or popcnt real reduce_precision remainder round_nearest_afz "
     "round_nearest_even select shift_left shift_right_arithmetic shift_right_logical sign subtract xor "
     "uniform_quantize uniform_dequantize map rng ",
     ELEMENTS},
    {"stablehlo", " exponential exponential_minus_one tanh logistic cosine sine tan ", EXP},
    {"stablehlo", " log log_plus_one power ", LOG},
    {"stablehlo", " sqrt rsqrt cbrt ", RSQRT},
    {"stablehlo", " reduce ", {MODEL_REDUCTION, RULE_REDUCE, MODEL_REDUCED}},
    {"stablehlo", " reduce_window select_and_scatter ", POOL},
    {"stablehlo", " batch_norm_inference batch_norm_training ", NORM},
    {"stablehlo", " transpose ", TRANSPOSE},
    {"stablehlo", " slice dynamic_slice real_dynamic_slice gather dynamic_gather ", PART},
    {"stablehlo", " concatenate pad dynamic_pad scatter sort reverse dynamic_update_slice ", MOVE},
    {"stablehlo", " dot ", MATMUL(RULE_LAST)},
    {"stablehlo", " dot_general ", MATMUL(RULE_DOT_GENERAL)},
    {"stablehlo", " convolution ", CONV(RULE_DIMENSIONS)},
    {"chlo", " constant constant_like ", CONSTANT},
    {"chlo",
     " square broadcast_add broadcast_subtract broadcast_multiply broadcast_divide broadcast_maximum "
     "broadcast_minimum broadcast_compare broadcast_select broadcast_and broadcast_or ",
     ELEMENTS},
    {"chlo", " erf erfc lgamma digamma broadcast_power asin acos atan acosh asinh atanh ", LOG},
    {"chlo", " sinh cosh tan ", EXP},

    {"torch", " constant.* vtensor.literal prim.ListConstruct prim.TupleConstruct ", CONSTANT},
    {"torch",
     " aten.view aten.reshape aten.squeeze aten.unsqueeze aten.flatten aten.contiguous aten.detach "
     "aten.alias aten.unflatten aten._unsafe_view aten.clone copy.to_tensor copy.to_vtensor "
     "tensor_static_info_cast overwrite.tensor.contents ",
     ALIAS},
    {"torch", " aten.permute aten.transpose aten.t aten.numpy_T ", TRANSPOSE},
    {"torch", " aten.slice aten.select aten.narrow aten.index_select aten.gather aten.embedding aten.index ",
     PART},
    {"torch", " aten.cat aten.stack aten.pad aten.constant_pad_nd aten.repeat aten.roll aten.flip ", MOVE},
    {"torch", " aten.expand aten.broadcast_to aten.expand_as ", BROADCAST},
    {"torch",
     " aten.zeros aten.ones aten.full aten.empty aten.zeros_like aten.ones_like aten.full_like ",
     {MODEL_FILL, RULE_FILLED, 0}},
    {"torch",
     " aten.add aten.sub aten.rsub aten.mul aten.div aten.relu aten.relu6 aten.leaky_relu aten.hardtanh "
     "aten.clamp aten.abs aten.neg aten.maximum aten.minimum aten.where aten.to aten.eq aten.ne aten.lt aten.le "
     "aten.gt aten.ge aten.logical_and aten.logical_or aten.logical_not aten.bitwise_and aten.bitwise_or "
     "aten.floor aten.ceil aten.round aten.square aten.remainder aten.quantize_per_tensor "
     "aten.dequantize aten.hardswish aten.hardsigmoid aten.masked_fill ",
     ELEMENTS},
    {"torch", " aten.exp aten.tanh aten.sigmoid aten.silu aten.sin aten.cos ", EXP},
    {"torch", " aten.log aten.erf aten.pow aten.gelu ", LOG},
    {"torch", " aten.sqrt aten.rsqrt aten.reciprocal ", RSQRT},
    {"torch",
     " aten.sum aten.mean aten.amax aten.amin aten.max aten.min aten.argmax aten.argmin aten.prod aten.all "
     "aten.any aten.var aten.std aten.cumsum aten.norm aten.linalg_vector_norm ",
     REDUCED},
    {"torch", " aten.max_pool2d aten.avg_pool2d aten.max_pool1d aten.avg_pool1d aten.adaptive_avg_pool2d ",
     POOL},
    {"torch", " aten.softmax aten._softmax aten.log_softmax aten._log_softmax ", SOFT},
    {"torch",
     " aten.layer_norm aten.native_layer_norm aten.batch_norm aten.group_norm aten.native_group_norm ", NORM},
    {"torch", " aten.mm aten.bmm aten.matmul aten.linear aten.mv aten.dot aten.einsum ", MATMUL(RULE_LAST)},
    {"torch", " aten.convolution aten.conv1d aten.conv2d aten.conv3d aten._convolution ", CONV(RULE_FILTER)},
    {"torch", " aten.conv_transpose1d aten.conv_transpose2d aten.conv_transpose3d ", CONV(RULE_TRANSPOSED)},
    {"torch", " aten.size aten.dim aten.item runtime.assert symbolic_int bind_symbolic_shape ", FREE},

    {"onnx", " Constant ConstantOfShape Shape Size Range EyeLike ", CONSTANT},
    {"onnx", " Reshape Squeeze Unsqueeze Flatten Identity Dropout ", ALIAS},
    {"onnx",
     " Add Sub Mul Div Mod Neg Abs Ceil Floor Round Clip Cast CastLike Relu LeakyRelu PRelu ThresholdedRelu Equal "
     "Greater GreaterOrEqual Less LessOrEqual And Or Xor Not BitwiseAnd BitwiseOr BitwiseXor BitwiseNot BitShift "
     "Max Min Mean Sum Where Sign HardSigmoid HardSwish QuantizeLinear DequantizeLinear IsNaN IsInf ",
     ELEMENTS},
    {"onnx", " Exp Tanh Sigmoid Sin Cos Tan Elu Selu Celu Softsign Mish Swish ", EXP},
    {"onnx", " Log Erf Pow Gelu Softplus ", LOG},
    {"onnx", " Sqrt Reciprocal ", RSQRT},
    {"onnx",
     " ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum "
     "ReduceLogSumExp ArgMax ArgMin CumSum GlobalAveragePool GlobalMaxPool DynamicQuantizeLinear ",
     REDUCED},
    {"onnx", " MaxPool AveragePool LpPool ", POOL},
    {"onnx", " Softmax LogSoftmax Hardmax ", SOFT},
    {"onnx",
     " InstanceNormalization LayerNormalization BatchNormalization GroupNormalization RMSNormalization LRN "
     "MeanVarianceNormalization ",
     NORM},
    {"onnx", " Transpose ", TRANSPOSE},
    {"onnx", " Slice Gather GatherElements GatherND Split ", PART},
    {"onnx",
     " Concat Pad Tile Resize Upsample ScatterElements ScatterND Scatter DepthToSpace SpaceToDepth TopK "
     "NonZero Trilu OneHot ReverseSequence ",
     MOVE},
    {"onnx", " Expand ", BROADCAST},
    {"onnx", " MatMul MatMulInteger QLinearMatMul ", MATMUL(RULE_LAST)},
    {"onnx", " Gemm ", MATMUL(RULE_GEMM)},
    {"onnx", " Conv ConvInteger QLinearConv ", CONV(RULE_FILTER)},
    {"onnx", " ConvTranspose ", CONV(RULE_TRANSPOSED)},
    {"onnx", " RNN GRU LSTM ", MATMUL(RULE_RECURRENT)},
};

/* Is the name one of " a b c.* "? Of an overloaded one ("aten.add.Tensor") the head counts. */
static bool has_name(const char *names, struct slice name)
{
    for (const char *word = names + 1; *word;) {
        size_t length = strcspn(word, " ");
        bool is_prefix = word[length - 1] == '*';
        size_t known = length - is_prefix;
        if (name.length >= known && memcmp(name.data, word, known) == 0 &&
            (is_prefix || name.length == known || name.data[known] == '.'))
            return true;
        word += length + 1;
    }
    return false;
}

const struct mlir_cost *mlir_cost_find(struct slice name)
{
    static const struct mlir_cost enter = ENTER, result = {MODEL_FREE, RULE_RESULT, 0}, nothing = FREE;
    struct slice dialect = slice_before(name, "."), op = slice_after(name, ".");
    if (!op.data) /* without a dialect */
        return slice_is(name, "module") ? &enter : slice_is(name, "return") ? &result : &nothing;
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        if (slice_is(dialect, table[i].dialect) && op.length && has_name(table[i].names, op))
            return &table[i].cost;
    }
    return NULL;
}

struct slice mlir_cost_name(const struct mlir *mlir, uint32_t op)
{
    const char *name = mlir_name(mlir, op);
    if (strcmp(name, "torch.operator") != 0)
        return slice_of(name);
    struct slice value = slice_after(mlir_head(mlir, op), "\"");
    if (slice_begins(value, "torch.operator")) { /* the generic form: the name is a property */
        if (!mlir_attribute(mlir, op, "name", &value))
            return slice_of(name);
        value = slice_after(value, "\"");
    }
    value = slice_before(value, "\"");
    return value.length ? value : slice_of(name);
}
