/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/work/torch_ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report/attributes.h"
#include "base/count_of.h"
#include "ops/description.h"
#include "text/csv/cell.h"

/* --- names --- */

struct torch_op {
    const char *name; /* without "aten::" and the "_" of ops that work in place */
    uint8_t class_, model;
};

/* In order of name: bsearch. */
#define MATMUL PERF_CLASS_MATMUL
#define CONV PERF_CLASS_CONV
#define ATTENTION PERF_CLASS_ATTENTION
#define OTHER PERF_CLASS_OTHER
#define ELEMENTWISE PERF_CLASS_ELEMENTWISE
#define MOVE PERF_CLASS_MOVE
#define NORM PERF_CLASS_NORM
#define REDUCTION PERF_CLASS_REDUCTION
#define SOFTMAX PERF_CLASS_SOFTMAX
#define POOL PERF_CLASS_POOL
#define EMBEDDING PERF_CLASS_EMBEDDING
static const struct torch_op known_ops[] = {
    {"_addmm_activation", MATMUL, TORCH_ADD_PRODUCT},
    {"_amp_foreach_non_finite_check_and_unscale", ELEMENTWISE, TORCH_FOREACH},
    {"_batch_norm_impl_index", OTHER, TORCH_NOTHING},
    {"_cat", MOVE, TORCH_TWICE},
    {"_conv_depthwise2d", CONV, TORCH_CONV},
    {"_convolution", CONV, TORCH_CONV_EITHER}, /* oneDNN's transposed one is inside it, and no op */
    {"_convolution_mode", OTHER, TORCH_NOTHING},
    {"_cudnn_attention_backward", ATTENTION, TORCH_ATTENTION_BACKWARD},
    {"_cudnn_attention_forward", ATTENTION, TORCH_ATTENTION},
    {"_efficient_attention_backward", ATTENTION, TORCH_ATTENTION_BACKWARD_SWAPPED},
    {"_efficient_attention_forward", ATTENTION, TORCH_ATTENTION_SWAPPED},
    {"_flash_attention_backward", ATTENTION, TORCH_ATTENTION_BACKWARD_SWAPPED},
    {"_flash_attention_forward", ATTENTION, TORCH_ATTENTION_SWAPPED},
    {"_fused_adagrad", ELEMENTWISE, TORCH_OPTIMIZER},
    {"_fused_adam", ELEMENTWISE, TORCH_OPTIMIZER},
    {"_fused_adamw", ELEMENTWISE, TORCH_OPTIMIZER},
    {"_fused_dropout", ELEMENTWISE, TORCH_BY_CLASS},
    {"_fused_rms_norm", NORM, TORCH_BY_CLASS},
    {"_fused_sgd", ELEMENTWISE, TORCH_OPTIMIZER},
    {"_index_put_impl", MOVE, TORCH_PUT},
    {"_int_mm", MATMUL, TORCH_PRODUCT},
    {"_local_scalar_dense", OTHER, TORCH_NOTHING},
    {"_log_softmax", SOFTMAX, TORCH_BY_CLASS},
    {"_nested_tensor_from_mask", OTHER, TORCH_NOTHING},
    {"_reshape_alias", OTHER, TORCH_NOTHING},
    {"_scaled_dot_product_attention_math", OTHER, TORCH_NOTHING},
    {"_scaled_dot_product_cudnn_attention", ATTENTION, TORCH_ATTENTION},
    {"_scaled_dot_product_efficient_attention", OTHER, TORCH_NOTHING},
    {"_scaled_dot_product_flash_attention", OTHER, TORCH_NOTHING},
    {"_scaled_dot_product_flash_attention_for_cpu", ATTENTION, TORCH_ATTENTION},
    {"_scaled_mm", MATMUL, TORCH_PRODUCT},
    {"_slow_conv2d", CONV, TORCH_CONV},
    {"_softmax", SOFTMAX, TORCH_BY_CLASS},
    {"_thnn_fused_lstm_cell", ELEMENTWISE, TORCH_BY_CLASS},
    {"_to_copy", OTHER, TORCH_NOTHING},
    {"_unsafe_view", OTHER, TORCH_NOTHING},
    {"abs", ELEMENTWISE, TORCH_BY_CLASS},
    {"adaptive_avg_pool2d", POOL, TORCH_BY_CLASS},
    {"adaptive_max_pool2d", POOL, TORCH_BY_CLASS},
    {"add", ELEMENTWISE, TORCH_BY_CLASS},
    {"addbmm", MATMUL, TORCH_ADD_PRODUCT},
    {"addcdiv", ELEMENTWISE, TORCH_BY_CLASS},
    {"addcmul", ELEMENTWISE, TORCH_BY_CLASS},
    {"addmm", MATMUL, TORCH_ADD_PRODUCT},
    {"addmv", MATMUL, TORCH_ADD_PRODUCT},
    {"alias", OTHER, TORCH_NOTHING},
    {"all", REDUCTION, TORCH_BY_CLASS},
    {"amax", REDUCTION, TORCH_BY_CLASS},
    {"amin", REDUCTION, TORCH_BY_CLASS},
    {"any", REDUCTION, TORCH_BY_CLASS},
    {"arange", ELEMENTWISE, TORCH_WRITE},
    {"argmax", REDUCTION, TORCH_BY_CLASS},
    {"argmin", REDUCTION, TORCH_BY_CLASS},
    {"as_strided", OTHER, TORCH_NOTHING},
    {"avg_pool2d", POOL, TORCH_BY_CLASS},
    {"baddbmm", MATMUL, TORCH_ADD_PRODUCT},
    {"batch_norm", OTHER, TORCH_NOTHING},
    {"bernoulli", ELEMENTWISE, TORCH_WRITE},
    {"binary_cross_entropy", REDUCTION, TORCH_BY_CLASS},
    {"bitwise_and", ELEMENTWISE, TORCH_BY_CLASS},
    {"bitwise_not", ELEMENTWISE, TORCH_BY_CLASS},
    {"bitwise_or", ELEMENTWISE, TORCH_BY_CLASS},
    {"bmm", MATMUL, TORCH_PRODUCT},
    {"cat", MOVE, TORCH_TWICE},
    {"ceil", ELEMENTWISE, TORCH_BY_CLASS},
    {"chunk", OTHER, TORCH_NOTHING},
    {"clamp", ELEMENTWISE, TORCH_BY_CLASS},
    {"clamp_min", ELEMENTWISE, TORCH_BY_CLASS},
    {"clone", OTHER, TORCH_NOTHING},
    {"concat", OTHER, TORCH_NOTHING},
    {"constant_pad_nd", OTHER, TORCH_NOTHING},
    {"contiguous", OTHER, TORCH_NOTHING},
    {"conv1d", OTHER, TORCH_NOTHING},
    {"conv2d", OTHER, TORCH_NOTHING},
    {"conv3d", OTHER, TORCH_NOTHING},
    {"conv_depthwise3d", CONV, TORCH_CONV},
    {"conv_transpose1d", OTHER, TORCH_NOTHING},
    {"conv_transpose2d", OTHER, TORCH_NOTHING},
    {"conv_transpose3d", OTHER, TORCH_NOTHING},
    {"convolution", OTHER, TORCH_NOTHING},
    {"convolution_backward", CONV, TORCH_CONV_BACKWARD},
    {"convolution_overrideable", CONV, TORCH_CONV},
    {"copy", MOVE, TORCH_COPY},
    {"cos", ELEMENTWISE, TORCH_BY_CLASS},
    {"cross_entropy_loss", OTHER, TORCH_NOTHING},
    {"cudnn_batch_norm", NORM, TORCH_BY_CLASS},
    {"cudnn_convolution", CONV, TORCH_CONV},
    {"cudnn_convolution_add_relu", CONV, TORCH_CONV},
    {"cudnn_convolution_relu", CONV, TORCH_CONV},
    {"cudnn_convolution_transpose", CONV, TORCH_CONV_TRANSPOSED},
    {"cumsum", REDUCTION, TORCH_BY_CLASS},
    {"detach", OTHER, TORCH_NOTHING},
    {"diagonal", OTHER, TORCH_NOTHING},
    {"div", ELEMENTWISE, TORCH_BY_CLASS},
    {"dot", MATMUL, TORCH_PRODUCT},
    {"dropout", OTHER, TORCH_NOTHING},
    {"einsum", OTHER, TORCH_NOTHING},
    {"elu", ELEMENTWISE, TORCH_BY_CLASS},
    {"embedding", EMBEDDING, TORCH_LOOKUP},
    {"embedding_dense_backward", EMBEDDING, TORCH_SCATTER},
    {"empty", OTHER, TORCH_NOTHING},
    {"empty_like", OTHER, TORCH_NOTHING},
    {"empty_strided", OTHER, TORCH_NOTHING},
    {"eq", ELEMENTWISE, TORCH_BY_CLASS},
    {"erf", ELEMENTWISE, TORCH_BY_CLASS},
    {"exp", ELEMENTWISE, TORCH_BY_CLASS},
    {"expand", OTHER, TORCH_NOTHING},
    {"expand_as", OTHER, TORCH_NOTHING},
    {"exponential", ELEMENTWISE, TORCH_WRITE},
    {"fill", MOVE, TORCH_WRITE},
    {"flatten", OTHER, TORCH_NOTHING},
    {"floor", ELEMENTWISE, TORCH_BY_CLASS},
    {"full", OTHER, TORCH_NOTHING},
    {"full_like", OTHER, TORCH_NOTHING},
    {"gather", MOVE, TORCH_LOOKUP},
    {"ge", ELEMENTWISE, TORCH_BY_CLASS},
    {"gelu", ELEMENTWISE, TORCH_BY_CLASS},
    {"glu", ELEMENTWISE, TORCH_BY_CLASS},
    {"group_norm", OTHER, TORCH_NOTHING},
    {"gt", ELEMENTWISE, TORCH_BY_CLASS},
    {"hardswish", ELEMENTWISE, TORCH_BY_CLASS},
    {"hardtanh", ELEMENTWISE, TORCH_BY_CLASS},
    {"index", MOVE, TORCH_LOOKUP},
    {"index_add", MOVE, TORCH_PUT_ADDED},
    {"index_copy", MOVE, TORCH_PUT},
    {"index_put", MOVE, TORCH_PUT},
    {"index_select", MOVE, TORCH_LOOKUP},
    {"isnan", ELEMENTWISE, TORCH_BY_CLASS},
    {"item", OTHER, TORCH_NOTHING},
    {"layer_norm", OTHER, TORCH_NOTHING},
    {"le", ELEMENTWISE, TORCH_BY_CLASS},
    {"leaky_relu", ELEMENTWISE, TORCH_BY_CLASS},
    {"lerp", ELEMENTWISE, TORCH_BY_CLASS},
    {"lift", OTHER, TORCH_NOTHING},
    {"lift_fresh", OTHER, TORCH_NOTHING},
    {"linalg_vector_norm", REDUCTION, TORCH_BY_CLASS},
    {"linear", OTHER, TORCH_NOTHING},
    {"log", ELEMENTWISE, TORCH_BY_CLASS},
    {"log_softmax", OTHER, TORCH_NOTHING},
    {"logical_and", ELEMENTWISE, TORCH_BY_CLASS},
    {"logical_not", ELEMENTWISE, TORCH_BY_CLASS},
    {"lt", ELEMENTWISE, TORCH_BY_CLASS},
    {"masked_fill", ELEMENTWISE, TORCH_BY_CLASS},
    {"matmul", OTHER, TORCH_NOTHING},
    {"max", REDUCTION, TORCH_BY_CLASS},
    {"max_pool2d", OTHER, TORCH_NOTHING},
    {"max_pool2d_with_indices", POOL, TORCH_BY_CLASS},
    {"maximum", ELEMENTWISE, TORCH_BY_CLASS},
    {"mean", REDUCTION, TORCH_BY_CLASS},
    {"min", REDUCTION, TORCH_BY_CLASS},
    {"minimum", ELEMENTWISE, TORCH_BY_CLASS},
    {"miopen_convolution", CONV, TORCH_CONV},
    {"mkldnn_convolution", CONV, TORCH_CONV},
    {"mkldnn_linear", MATMUL, TORCH_LINEAR},
    {"mkldnn_rnn_layer", MATMUL, TORCH_RNN},
    {"mm", MATMUL, TORCH_PRODUCT},
    {"movedim", OTHER, TORCH_NOTHING},
    {"mse_loss", REDUCTION, TORCH_BY_CLASS},
    {"mul", ELEMENTWISE, TORCH_BY_CLASS},
    {"mv", MATMUL, TORCH_PRODUCT},
    {"narrow", OTHER, TORCH_NOTHING},
    {"native_batch_norm", NORM, TORCH_BY_CLASS},
    {"native_dropout", ELEMENTWISE, TORCH_BY_CLASS},
    {"native_group_norm", NORM, TORCH_BY_CLASS},
    {"native_layer_norm", NORM, TORCH_BY_CLASS},
    {"ne", ELEMENTWISE, TORCH_BY_CLASS},
    {"neg", ELEMENTWISE, TORCH_BY_CLASS},
    {"new_empty", OTHER, TORCH_NOTHING},
    {"new_empty_strided", OTHER, TORCH_NOTHING},
    {"new_zeros", OTHER, TORCH_NOTHING},
    {"nll_loss", OTHER, TORCH_NOTHING},
    {"nll_loss2d_backward", REDUCTION, TORCH_PICK_BACK},
    {"nll_loss2d_forward", REDUCTION, TORCH_PICK},
    {"nll_loss_backward", REDUCTION, TORCH_PICK_BACK},
    {"nll_loss_forward", REDUCTION, TORCH_PICK},
    {"nll_loss_nd", OTHER, TORCH_NOTHING},
    {"norm", REDUCTION, TORCH_BY_CLASS},
    {"normal", ELEMENTWISE, TORCH_WRITE},
    {"ones", OTHER, TORCH_NOTHING},
    {"ones_like", OTHER, TORCH_NOTHING},
    {"permute", OTHER, TORCH_NOTHING},
    {"pow", ELEMENTWISE, TORCH_BY_CLASS},
    {"prod", REDUCTION, TORCH_BY_CLASS},
    {"rand", OTHER, TORCH_NOTHING},
    {"randint", OTHER, TORCH_NOTHING},
    {"randn", OTHER, TORCH_NOTHING},
    {"random", ELEMENTWISE, TORCH_WRITE},
    {"reciprocal", ELEMENTWISE, TORCH_BY_CLASS},
    {"relu", OTHER, TORCH_NOTHING},
    {"repeat", OTHER, TORCH_NOTHING},
    {"reshape", OTHER, TORCH_NOTHING},
    {"resize", OTHER, TORCH_NOTHING},
    {"resolve_conj", OTHER, TORCH_NOTHING},
    {"resolve_neg", OTHER, TORCH_NOTHING},
    {"result_type", OTHER, TORCH_NOTHING},
    {"rms_norm", OTHER, TORCH_NOTHING},
    {"rsqrt", ELEMENTWISE, TORCH_BY_CLASS},
    {"scaled_dot_product_attention", OTHER, TORCH_NOTHING},
    {"scatter", MOVE, TORCH_PUT},
    {"scatter_add", MOVE, TORCH_PUT_ADDED},
    {"select", OTHER, TORCH_NOTHING},
    {"set", OTHER, TORCH_NOTHING},
    {"sigmoid", ELEMENTWISE, TORCH_BY_CLASS},
    {"silu", ELEMENTWISE, TORCH_BY_CLASS},
    {"sin", ELEMENTWISE, TORCH_BY_CLASS},
    {"slice", OTHER, TORCH_NOTHING},
    {"slice_backward", OTHER, TORCH_NOTHING},
    {"slow_conv3d", CONV, TORCH_CONV},
    {"slow_conv_dilated2d", CONV, TORCH_CONV},
    {"slow_conv_dilated3d", CONV, TORCH_CONV},
    {"slow_conv_transpose2d", CONV, TORCH_CONV_TRANSPOSED},
    {"slow_conv_transpose3d", CONV, TORCH_CONV_TRANSPOSED},
    {"softmax", OTHER, TORCH_NOTHING},
    {"softplus", ELEMENTWISE, TORCH_BY_CLASS},
    {"sort", REDUCTION, TORCH_BY_CLASS},
    {"split", OTHER, TORCH_NOTHING},
    {"split_with_sizes", OTHER, TORCH_NOTHING},
    {"sqrt", ELEMENTWISE, TORCH_BY_CLASS},
    {"square", OTHER, TORCH_NOTHING},
    {"squeeze", OTHER, TORCH_NOTHING},
    {"stack", OTHER, TORCH_NOTHING},
    {"std", REDUCTION, TORCH_BY_CLASS},
    {"sub", ELEMENTWISE, TORCH_BY_CLASS},
    {"sum", REDUCTION, TORCH_BY_CLASS},
    {"t", OTHER, TORCH_NOTHING},
    {"tanh", ELEMENTWISE, TORCH_BY_CLASS},
    {"thnn_conv2d", OTHER, TORCH_NOTHING},
    {"threshold", ELEMENTWISE, TORCH_BY_CLASS},
    {"to", OTHER, TORCH_NOTHING},
    {"topk", REDUCTION, TORCH_BY_CLASS},
    {"transpose", OTHER, TORCH_NOTHING},
    {"tril", ELEMENTWISE, TORCH_BY_CLASS},
    {"triu", ELEMENTWISE, TORCH_BY_CLASS},
    {"unbind", OTHER, TORCH_NOTHING},
    {"unflatten", OTHER, TORCH_NOTHING},
    {"uniform", ELEMENTWISE, TORCH_WRITE},
    {"unsafe_split", OTHER, TORCH_NOTHING},
    {"unsqueeze", OTHER, TORCH_NOTHING},
    {"upsample_bilinear2d", ELEMENTWISE, TORCH_BY_CLASS},
    {"upsample_nearest2d", ELEMENTWISE, TORCH_BY_CLASS},
    {"var", REDUCTION, TORCH_BY_CLASS},
    {"var_mean", REDUCTION, TORCH_BY_CLASS},
    {"vdot", MATMUL, TORCH_PRODUCT},
    {"view", OTHER, TORCH_NOTHING},
    {"view_as", OTHER, TORCH_NOTHING},
    {"where", ELEMENTWISE, TORCH_BY_CLASS},
    {"zero", OTHER, TORCH_NOTHING},
    {"zeros", OTHER, TORCH_NOTHING},
    {"zeros_like", OTHER, TORCH_NOTHING},
};

static int compare_ops(const void *key, const void *op)
{
    return strcmp(key, ((const struct torch_op *)op)->name);
}

static const struct torch_op *find_op(const char *name)
{
    return bsearch(name, known_ops, COUNT_OF(known_ops), sizeof known_ops[0], compare_ops);
}

/* As it is; else without what ops in place, and the halves of a pass, have at their end. */
static const struct torch_op *find_known(const char *name)
{
    static const char *const endings[] = {"_", "_forward", "_backward", "_backward_data"};
    char text[64];
    size_t length = strlen(name);
    const struct torch_op *op = find_op(name);
    for (size_t i = 0; !op && i < COUNT_OF(endings); i++) {
        size_t ending = strlen(endings[i]);
        if (length <= ending || length >= sizeof text || strcmp(name + length - ending, endings[i]) != 0)
            continue;
        memcpy(text, name, length - ending);
        text[length - ending] = '\0';
        op = find_op(text);
    }
    return op;
}

/* The backward of attention and of convolutions has the same names with an ending; that of most others is like its
 * forward. */
static uint8_t model_of(const char *name, const struct torch_op *op)
{
    bool is_backward = strstr(name, "_backward") != NULL;
    return is_backward && op->model == TORCH_ATTENTION ? TORCH_ATTENTION_BACKWARD
           : is_backward && op->model == TORCH_CONV    ? TORCH_CONV_BACKWARD
           : is_backward && op->model == TORCH_RNN     ? TORCH_RNN_BACKWARD
                                                       : op->model;
}

static bool is_communication(const char *name)
{
    static const char *const beginnings[] = {"c10d::", "_c10d_functional::", "c10d_functional::", "nccl",
                                             "record_param_comms"};
    for (size_t i = 0; i < COUNT_OF(beginnings); i++) {
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    }
    return false;
}

/* The engine of autograd and its nodes (AddmmBackward0) call what does the work. */
static bool is_engine(const char *name)
{
    size_t length = strlen(name), digits = 0;
    while (digits < length && name[length - digits - 1] >= '0' && name[length - digits - 1] <= '9')
        digits++;
    static const char ending[] = "Backward";
    size_t size = sizeof ending - 1;
    return strncmp(name, "autograd::", strlen("autograd::")) == 0 ||
           strncmp(name, "torch::autograd::", strlen("torch::autograd::")) == 0 ||
           strcmp(name, "detach") == 0 ||
           (length - digits > size && memcmp(name + length - digits - size, ending, size) == 0);
}

static uint16_t communication_parts(const char *name)
{
    static const struct {
        const char *text;
        uint16_t part;
    } parts[] = {{"all_gather", PERF_PART_ALL_GATHER},         {"allgather", PERF_PART_ALL_GATHER},
                 {"reduce_scatter", PERF_PART_REDUCE_SCATTER}, {"reducescatter", PERF_PART_REDUCE_SCATTER},
                 {"all_reduce", PERF_PART_ALL_REDUCE},         {"allreduce", PERF_PART_ALL_REDUCE}};
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        if (strcasestr(name, parts[i].text))
            return parts[i].part;
    }
    return 0;
}

static enum perf_category category_of(unsigned class_)
{
    return class_ == OTHER ? PERF_OTHER : class_ == MOVE ? PERF_DM : PERF_COMPUTE;
}

bool torch_name_of(const char *name, struct perf_name *known)
{
    static const char space[] = "aten::";
    *known = (struct perf_name){.class_ = OTHER, .category = PERF_OTHER, .is_torch = true};
    if (is_communication(name)) {
        *known = (struct perf_name){.class_ = PERF_CLASS_COLLECTIVE,
                                    .category = PERF_CCL,
                                    .is_torch = true,
                                    .parts = communication_parts(name)};
        return true;
    }
    if (is_engine(name)) {
        known->model = TORCH_NOTHING;
        return true;
    }
    if (strncmp(name, space, sizeof space - 1) != 0)
        return false;
    name += sizeof space - 1;
    static const struct torch_op foreach = {NULL, ELEMENTWISE, TORCH_FOREACH};
    const struct torch_op *op = find_known(name);
    if (strncmp(name, "_foreach_", strlen("_foreach_")) == 0)
        op = &foreach;
    if (!op)
        return true;
    known->class_ = op->class_;
    known->category = (uint8_t)category_of(op->class_);
    known->model = model_of(name, op);
    known->parts = strstr(name, "rms") ? PERF_PART_RMS : 0;
    return true;
}

/* --- amounts --- */

struct operands {
    const struct ops *ops;
    const struct op_description *d;
    uint32_t description;
};

static const struct op_tensor *input(const struct operands *o, unsigned i)
{
    return i < o->d->inputs ? &o->ops->tensors[ops_inputs(o->ops, o->d)[i]] : NULL;
}

static const struct op_tensor *output(const struct operands *o, unsigned i)
{
    return i < o->d->outputs ? &o->ops->tensors[ops_outputs(o->ops, o->d)[i]] : NULL;
}

static bool is_there(const struct op_tensor *tensor)
{
    return tensor && tensor->shape != OPS_NONE;
}

/* Sizes count from the end where `i` is negative; NaN where there is none. */
static double size_of(const struct operands *o, const struct op_tensor *tensor, int i)
{
    int rank = is_there(tensor) ? (int)tensor->rank : 0, at = i < 0 ? rank + i : i;
    return at >= 0 && at < rank ? (double)o->ops->sizes[tensor->shape + (uint32_t)at] : NAN;
}

static double elements_from(const struct operands *o, const struct op_tensor *tensor, int first)
{
    double count = is_there(tensor) ? 1 : NAN;
    for (int i = first; is_there(tensor) && i < (int)tensor->rank; i++)
        count *= size_of(o, tensor, i);
    return count;
}

/* What is there only once is moved once: a dimension without a stride repeats what is there. */
static double bytes_of(const struct operands *o, const struct op_tensor *tensor)
{
    double count = elements_from(o, tensor, 0);
    if (!is_there(tensor))
        return 0;
    for (uint32_t i = 0; tensor->strides != OPS_NONE && i < tensor->rank; i++) {
        if (o->ops->sizes[tensor->strides + i] == 0 && o->ops->sizes[tensor->shape + i] > 0)
            count /= (double)o->ops->sizes[tensor->shape + i];
    }
    struct slice type = ops_get_slice(o->ops, tensor->dtype);
    return type.length ? count * cell_type_bytes(type) : NAN;
}

static double all_bytes(const struct operands *o)
{
    double bytes = 0;
    for (unsigned i = 0; i < o->d->inputs; i++)
        bytes += bytes_of(o, input(o, i));
    for (unsigned i = 0; i < o->d->outputs; i++)
        bytes += bytes_of(o, output(o, i));
    return bytes;
}

/* Of one class for each target; of a gradient the others are zeroed by another op. */
static double picked_bytes(const struct operands *o, const struct op_tensor *classes,
                           const struct op_tensor *targets)
{
    double all = elements_from(o, classes, 0);
    return bytes_of(o, targets) + (all > 0 ? bytes_of(o, classes) / all * elements_from(o, targets, 0) : NAN);
}

static struct torch_amounts product(const struct operands *o, unsigned first, bool is_linear)
{
    const struct op_tensor *a = input(o, first), *b = input(o, first + 1);
    double count = elements_from(o, a, 0), k = size_of(o, a, -1);
    double n = is_linear ? size_of(o, b, 0) : is_there(b) && b->rank > 1 ? size_of(o, b, -1) : 1;
    double batch = is_there(a) && a->rank == 3 && !is_linear ? size_of(o, a, 0) : 1;
    return (struct torch_amounts){.flops = 2 * count * n,
                                  .bytes = all_bytes(o),
                                  .batch = batch,
                                  .m = k > 0 ? count / k / batch : NAN,
                                  .k = k,
                                  .n = n};
}

/* For each position of the output (of the input where it is transposed) and each sample, the whole weight. */
static double conv_flops(const struct operands *o, const struct op_tensor *positions,
                         const struct op_tensor *weight)
{
    return 2 * size_of(o, positions, 0) * elements_from(o, positions, 2) * elements_from(o, weight, 0);
}

/* Arguments stand in one attribute, "T,T,T,[1,1],[0,0],[1,1],False,...": tensors (or "-") first, then sizes, then this.
 * How many lists there are differs: a backward pass has the sizes of the bias, too, or "-". */
static bool is_transposed(const struct operands *o)
{
    struct slice rest =
        ops_find_attribute(o->ops, o->description, perf_attribute_names[PERF_ATTRIBUTE_ARGUMENTS]);
    for (;;) {
        if (slice_begins(rest, "["))
            rest = slice_after(rest, "],");
        else if (slice_begins(rest, "T,") || slice_begins(rest, "-,"))
            rest = slice_from(rest.data + 2, rest.length - 2);
        else
            return rest.data && slice_begins(rest, "True");
    }
}

/* The gradient of the output, the input, the weight; a convolution for each gradient that is asked for. */
static struct torch_amounts conv_backward(const struct operands *o)
{
    const struct op_tensor *gradient = input(o, 0), *in = input(o, 1), *weight = input(o, 2);
    double once = conv_flops(o, is_transposed(o) ? in : gradient, weight);
    double gradients = 0;
    for (unsigned i = 0; i < 2; i++)
        gradients += is_there(output(o, i)) ? 1 : 0;
    return (struct torch_amounts){.flops = o->d->outputs ? gradients * once : NAN, .bytes = all_bytes(o)};
}

/* Steps, batch, size; the weights of the input and of the state, which have rows for each gate. Backward: a gradient of
 * each. Without the weights nothing is said: bytes alone would be next to nothing of it. */
static struct torch_amounts rnn(const struct operands *o, double passes)
{
    const struct op_tensor *in = input(o, 0);
    double rows = elements_from(o, in, 0) / size_of(o, in, -1);
    double weights = elements_from(o, input(o, 1), 0) + elements_from(o, input(o, 2), 0);
    double flops = passes * 2 * rows * weights;
    return (struct torch_amounts){.flops = flops, .bytes = flops >= 0 ? all_bytes(o) : NAN};
}

/* Scores, and their product with the values; backward: the scores again, and four products. */
static struct torch_amounts attention(const struct operands *o, unsigned first, bool is_swapped)
{
    const struct op_tensor *q = input(o, first), *k = input(o, first + 1), *v = input(o, first + 2);
    int place = is_swapped ? 1 : 2;
    double heads = size_of(o, q, 0) * size_of(o, q, 3 - place);
    double scores = 2 * heads * size_of(o, q, place) * size_of(o, k, place);
    double size = size_of(o, q, 3), value_size = size_of(o, v, 3);
    double each = first ? 3 * size + 2 * value_size : size + value_size;
    return (struct torch_amounts){.flops = scores * each, .bytes = all_bytes(o)};
}

/* "148:1234:4936 ..." is a list of 148 tensors with 4,936 bytes. Of all, of the first and of the second list. */
struct list_bytes {
    double all, first, second;
};

static struct list_bytes list_bytes(const struct operands *o)
{
    struct list_bytes sum = {0, 0, 0};
    struct slice rest =
        ops_find_attribute(o->ops, o->description, perf_attribute_names[PERF_ATTRIBUTE_LISTS]);
    for (unsigned i = 0; rest.length; i++) {
        struct slice list = slice_before(rest, " "), bytes = slice_after(slice_after(list, ":"), ":");
        double count = NAN;
        if (!bytes.data || cell_number(bytes, &count) != NUMBER_WHOLE)
            return (struct list_bytes){NAN, NAN, NAN};
        sum.all += count;
        sum.first += i == 0 ? count : 0;
        sum.second += i == 1 ? count : 0;
        size_t taken = list.length + (list.length < rest.length);
        rest = slice_from(rest.data + taken, rest.length - taken);
    }
    return sum;
}

static struct torch_amounts of_lists(const struct operands *o, unsigned model)
{
    struct list_bytes lists = list_bytes(o);
    double written = model == TORCH_OPTIMIZER ? lists.all - lists.second : lists.first;
    return (struct torch_amounts){.flops = NAN, .bytes = lists.all + written};
}

/* A table, its indexes, and what goes there, in this order; where it is a number, as many as the index has. Of the
 * table no more moves than that: it is written, and read before where something is added to it. */
static double put_bytes(const struct operands *o, bool is_added)
{
    unsigned last = 0;
    double indexes = 0;
    for (unsigned i = 1; i < o->d->inputs; i++)
        last = is_there(input(o, i)) ? i : last;
    bool has_source = last > 1;
    for (unsigned i = 1; i < (has_source ? last : last + 1); i++)
        indexes += bytes_of(o, input(o, i));
    if (has_source)
        return indexes + (is_added ? 3 : 2) * bytes_of(o, input(o, last));
    double all = elements_from(o, input(o, 0), 0);
    double each = all > 0 ? bytes_of(o, input(o, 0)) / all : NAN;
    return indexes + (is_added ? 2 : 1) * each * elements_from(o, input(o, 1), 0);
}

struct torch_amounts torch_amounts(const struct ops *ops, unsigned model, uint32_t description)
{
    const struct operands o = {ops, ops_get_description(ops, description), description};
    struct torch_amounts amounts = {.flops = NAN, .bytes = NAN};
    const struct op_tensor *out = output(&o, 0);
    switch ((enum torch_model)model) {
    case TORCH_BY_CLASS:
    case TORCH_NOTHING:
        return amounts;
    case TORCH_PRODUCT:
        return product(&o, 0, false);
    case TORCH_ADD_PRODUCT:
        return product(&o, 1, false);
    case TORCH_LINEAR:
        return product(&o, 0, true);
    case TORCH_CONV:
    case TORCH_CONV_TRANSPOSED:
    case TORCH_CONV_EITHER: {
        bool is_back = model == TORCH_CONV_TRANSPOSED || (model == TORCH_CONV_EITHER && is_transposed(&o));
        amounts.flops = conv_flops(&o, is_back ? input(&o, 0) : out, input(&o, 1));
        amounts.bytes = all_bytes(&o);
        return amounts;
    }
    case TORCH_CONV_BACKWARD:
        return conv_backward(&o);
    case TORCH_RNN:
    case TORCH_RNN_BACKWARD:
        return rnn(&o, model == TORCH_RNN ? 1 : 2);
    case TORCH_ATTENTION:
    case TORCH_ATTENTION_SWAPPED:
        return attention(&o, 0, model == TORCH_ATTENTION_SWAPPED);
    case TORCH_ATTENTION_BACKWARD:
    case TORCH_ATTENTION_BACKWARD_SWAPPED:
        return attention(&o, 1, model == TORCH_ATTENTION_BACKWARD_SWAPPED);
    case TORCH_COPY:
        amounts.bytes = bytes_of(&o, input(&o, 1)) + bytes_of(&o, input(&o, 0));
        return amounts;
    case TORCH_WRITE:
        amounts.bytes = bytes_of(&o, out);
        return amounts;
    case TORCH_LOOKUP:
        amounts.bytes = bytes_of(&o, input(&o, 1)) + 2 * bytes_of(&o, out);
        return amounts;
    case TORCH_SCATTER: /* what is added is read, and the places that it goes to are read and written */
        amounts.bytes = bytes_of(&o, out) + bytes_of(&o, input(&o, 1)) + 2 * bytes_of(&o, input(&o, 0));
        return amounts;
    case TORCH_PUT:
    case TORCH_PUT_ADDED:
        amounts.bytes = put_bytes(&o, model == TORCH_PUT_ADDED);
        return amounts;
    case TORCH_PICK:
        amounts.bytes = picked_bytes(&o, input(&o, 0), input(&o, 1));
        return amounts;
    case TORCH_PICK_BACK:
        amounts.bytes = picked_bytes(&o, input(&o, 1), input(&o, 2));
        return amounts;
    case TORCH_TWICE:
    case TORCH_FOREACH:
    case TORCH_OPTIMIZER:
        return of_lists(&o, model);
    }
    return amounts;
}
