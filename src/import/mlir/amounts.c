/* SPDX-License-Identifier: Apache-2.0 */
/* Amounts of work from shapes: one small function per rule of the table (costs.h). */
#include <string.h>

#include "base/count_of.h"
#include "import/mlir/costs.h"
#include "import/mlir/scan.h"
#include "import/mlir/types.h"

/* --- shapes of operands and results --- */

static const struct model_value *value_of(const struct mlir_costing *c, uint32_t value)
{
    return value == MODEL_NONE ? NULL : &c->model->values[value];
}

static const struct model_value *input(const struct mlir_costing *c, uint32_t i)
{
    return i < c->ins ? value_of(c, c->in[i]) : NULL;
}

static uint64_t elements(const struct model_value *value)
{
    return value ? value->elements : 0;
}

/* A size by its place, from the end below 0; 1 where there is none. */
static uint64_t size_at(const struct mlir_costing *c, const struct model_value *value, int place)
{
    int64_t i = value ? (place < 0 ? (int64_t)value->rank + place : place) : -1;
    return i >= 0 && i < (int64_t)value->rank ? c->model->sizes[value->first_size + (size_t)i] : 1;
}

static uint64_t at_least_1(uint64_t value)
{
    return value ? value : 1;
}

/* --- lists of integers in attributes: [1, 2], array<i64: 1, 2>, dense<[1, 2]> : tensor<2xi64>, [1 : si64] --- */

#define LIST_MAX 16u

static uint32_t read_list(struct slice text, uint64_t *list)
{
    uint32_t count = 0;
    struct slice colon = slice_after(text, "array<");
    text = colon.data ? slice_after(colon, ":") : text;
    for (size_t i = 0; text.data && i < text.length && count < LIST_MAX; i++) {
        uint64_t number;
        size_t begin = i;
        if (text.data[i] == ':') { /* a type follows */
            i = scan_until(text.data, i, text.length, ",") - 1;
            continue;
        }
        while (i < text.length && text.data[i] >= '0' && text.data[i] <= '9')
            i++;
        if (i > begin && slice_unsigned(slice_from(text.data + begin, i - begin), &number))
            list[count++] = number;
    }
    return count;
}

static uint32_t attribute_list(const struct mlir_costing *c, const char *key, uint64_t *list)
{
    struct slice value;
    if (mlir_attribute(c->mlir, c->op, key, &value))
        return read_list(mlir_resolve(c->mlir, value), list);
    /* custom syntax: `kernel = array<i64: 2, 2>`, `dimensions = [0]`, `kernel(2, 2)` */
    struct slice rest = mlir_head(c->mlir, c->op);
    size_t length = strlen(key);
    for (const char *at; (rest.length && (at = memmem(rest.data, rest.length, key, length)));) {
        size_t skip = (size_t)(at - rest.data);
        bool is_word = skip > 0 && !scan_is_word(at[-1]);
        rest = slice_from(at + length, rest.length - skip - length);
        struct slice after = slice_trim(rest);
        if (!is_word || !after.length || (after.data[0] != '=' && after.data[0] != '('))
            continue;
        if (after.data[0] == '=')
            after = slice_trim(slice_from(after.data + 1, after.length - 1));
        size_t open = 0;
        while (open < after.length && (scan_is_word(after.data[open])))
            open++;
        bool is_list = open < after.length && after.data[open] && strchr("[(<", after.data[open]);
        size_t end = is_list ? scan_until(after.data, open + 1, after.length, "") : open;
        return read_list(slice_from(after.data, end), list);
    }
    return 0;
}

/* --- matmuls and convolutions --- */

static bool set_matmul(struct mlir_costing *c, uint64_t k, uint64_t n)
{
    const struct model_value *out = value_of(c, c->out);
    if (!out || !k || !n)
        return false;
    c->to->macs = model_multiply(out->elements, k);
    c->to->k = k;
    c->to->n = n;
    c->to->m = at_least_1(out->elements / n);
    return true;
}

static bool rule_last(struct mlir_costing *c)
{
    const struct model_value *out = value_of(c, c->out), *right = input(c, 1);
    return input(c, 0) &&
           set_matmul(c, size_at(c, input(c, 0), -1), right && right->rank > 1 ? size_at(c, out, -1) : 1);
}

static bool rule_gemm(struct mlir_costing *c)
{
    const struct model_value *out = value_of(c, c->out);
    uint64_t rows = size_at(c, out, 0);
    return input(c, 0) && rows && set_matmul(c, elements(input(c, 0)) / rows, size_at(c, out, -1));
}

/* Rows, columns and batches are those of the result, however the operands lie: k = left * n / out. */
static bool rule_contraction(struct mlir_costing *c)
{
    const struct model_value *left = input(c, 0), *right = input(c, 1), *out = value_of(c, c->out);
    struct slice op = slice_after(c->name, ".");
    if (!left || !right || !out || !out->elements)
        return false;
    if (slice_has(op, "mmt4d")) { /* B? M N m n, tiles: both operands end in the tile of k */
        uint64_t k = model_multiply(size_at(c, left, -3), size_at(c, left, -1));
        return set_matmul(c, k, model_multiply(size_at(c, out, -3), size_at(c, out, -1)));
    }
    bool is_row = slice_is(op, "matvec") || slice_is(op, "batch_matvec") || slice_is(op, "dot");
    uint64_t n = is_row ? 1 : size_at(c, out, -1);
    if (slice_is(op, "batch_reduce_matmul"))
        return set_matmul(c, model_multiply(size_at(c, left, 0), size_at(c, left, -1)), n);
    return set_matmul(c, model_multiply(left->elements, n) / out->elements, n);
}

/* contracting_dims = [3] x [1], or #stablehlo.dot<lhs_contracting_dimensions = [3], ..> */
static bool rule_dot_general(struct mlir_costing *c)
{
    const struct model_value *left = input(c, 0), *right = input(c, 1);
    struct slice head = mlir_head(c->mlir, c->op), list = slice_after(head, "contracting_dims = ");
    uint64_t dims[LIST_MAX], k = 1, batch = 1;
    struct slice batching = slice_after(head, "batching_dims = ");
    if (!list.data) {
        list = slice_after(head, "lhs_contracting_dimensions = ");
        batching = slice_after(head, "lhs_batching_dimensions = ");
    }
    if (!left || !right || !list.data)
        return false;
    uint32_t count = read_list(slice_before(list, "]"), dims);
    for (uint32_t i = 0; i < count; i++)
        k = model_multiply(k, dims[i] < left->rank ? size_at(c, left, (int)dims[i]) : 1);
    count = batching.data ? read_list(slice_before(batching, "]"), dims) : 0;
    for (uint32_t i = 0; i < count; i++)
        batch = model_multiply(batch, dims[i] < left->rank ? size_at(c, left, (int)dims[i]) : 1);
    return k && set_matmul(c, k, at_least_1(right->elements / at_least_1(model_multiply(k, batch))));
}

/* A window of `rows` rows, and which dimension of the input rows are. */
static void set_window(struct mlir_costing *c, uint64_t rows, int rows_at)
{
    uint64_t strides[LIST_MAX] = {0}, dilations[LIST_MAX] = {0};
    if (!attribute_list(c, "stride", strides) && !attribute_list(c, "torch.onnx.strides", strides))
        attribute_list(c, "strides", strides);
    if (!attribute_list(c, "dilation", dilations) && !attribute_list(c, "torch.onnx.dilations", dilations))
        attribute_list(c, "dilations", dilations);
    uint64_t dilation = dilations[0] ? dilations[0] : 1;
    uint64_t window = rows ? model_sum(model_multiply(rows - 1, dilation), 1) : 1;
    c->to->window = (uint32_t)(window < UINT32_MAX ? window : UINT32_MAX);
    uint64_t input_rows = size_at(c, input(c, 0), rows_at);
    c->to->rows = (uint32_t)(input_rows < UINT32_MAX ? input_rows : UINT32_MAX);
    c->to->stride = (uint32_t)(strides[0] && strides[0] < UINT32_MAX ? strides[0] : 1);
}

/* The MACs of each element of `of`; the rest of the weights are channels. */
static bool set_conv(struct mlir_costing *c, const struct model_value *of, uint64_t macs_each,
                     uint64_t channels)
{
    if (!of || !input(c, 1) || !macs_each)
        return false;
    c->to->macs = model_multiply(of->elements, macs_each);
    c->to->k = macs_each;
    c->to->n = at_least_1(channels);
    c->to->m = at_least_1(of->elements / c->to->n);
    return true;
}

static bool rule_filter(struct mlir_costing *c)
{
    const struct model_value *weights = input(c, 1);
    uint64_t channels = size_at(c, weights, 0), groups[LIST_MAX] = {1};
    if (!weights || !channels)
        return false;
    bool is_tosa = slice_begins(c->name, "tosa.");
    if (!is_tosa) {
        attribute_list(c, "torch.onnx.group", groups);
        if (groups[0] > 1 && size_at(c, weights, 1) == 1)
            c->to->class = MODEL_DEPTHWISE;
    }
    set_window(c, size_at(c, weights, is_tosa ? 1 : 2), is_tosa ? 1 : 2);
    return set_conv(c, value_of(c, c->out), weights->elements / channels, channels);
}

static bool rule_depthwise(struct mlir_costing *c)
{
    const struct model_value *weights = input(c, 1);
    set_window(c, size_at(c, weights, 0), 1);
    return weights && set_conv(c, value_of(c, c->out),
                               model_multiply(size_at(c, weights, 0), size_at(c, weights, 1)), 1);
}

static bool rule_transposed(struct mlir_costing *c, int channels_at)
{
    const struct model_value *weights = input(c, 1);
    uint64_t channels = size_at(c, weights, channels_at);
    return weights && channels && set_conv(c, input(c, 0), weights->elements / channels, channels);
}

/* dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]: the weights' place of "o" */
static bool rule_dimensions(struct mlir_costing *c)
{
    const struct model_value *weights = input(c, 1);
    struct slice head = mlir_head(c->mlir, c->op), list = slice_after(slice_after(head, "[b, "), "x[");
    if (!list.data)
        list = slice_after(slice_after(head, "#stablehlo.conv<"), "x[");
    if (!list.data || !weights)
        return false;
    list = slice_before(list, "]");
    int place = 0;
    for (struct slice rest = list; rest.data && !slice_is(slice_trim(slice_before(rest, ",")), "o"); place++)
        rest = slice_after(rest, ",");
    uint64_t channels = size_at(c, weights, place), groups[LIST_MAX] = {1};
    attribute_list(c, "feature_group_count", groups);
    if (groups[0] > 1 && groups[0] == channels)
        c->to->class = MODEL_DEPTHWISE;
    return channels && set_conv(c, value_of(c, c->out), weights->elements / channels, channels);
}

/* conv_2d_nhwc_hwcf: of the weights, f (and g, m, and a depthwise one's c) are the results' channels. */
static bool rule_letters(struct mlir_costing *c)
{
    const struct model_value *weights = input(c, 1);
    bool is_depthwise = c->to->class == MODEL_DEPTHWISE;
    uint64_t macs = 1, channels = 1, rows = 0;
    if (!weights)
        return false;
    size_t end = c->name.length, begin = end;
    while (begin > 0 && c->name.data[begin - 1] != '_')
        begin--;
    if (slice_has(slice_from(c->name.data + begin, end - begin), "q")) { /* ..._hwcf_q: quantised */
        end = begin - 1;
        for (begin = end; begin > 0 && c->name.data[begin - 1] != '_';)
            begin--;
    }
    bool has_letters = end - begin == weights->rank && c->name.data[begin] >= 'a';
    for (uint32_t i = 0; i < weights->rank; i++) {
        char letter = has_letters ? c->name.data[begin + i] : 'h';
        uint64_t size = size_at(c, weights, (int)i);
        bool is_channel = letter == 'f' || letter == 'g' || letter == 'm' || (letter == 'c' && is_depthwise);
        if (is_channel)
            channels = model_multiply(channels, size);
        else
            macs = model_multiply(macs, size);
        if (!is_channel && letter != 'c' && !rows)
            rows = size;
    }
    set_window(c, rows, slice_has(c->name, "_nc") ? 2 : 1);
    return set_conv(c, value_of(c, c->out), macs, is_depthwise ? 1 : channels);
}

/* --- recurrent layers: x [S, B, I], W [D, gates * H, I], R [D, gates * H, H] --- */

static bool rule_recurrent(struct mlir_costing *c)
{
    const struct model_value *x = input(c, 0), *w = input(c, 1), *r = input(c, 2);
    if (!x || !w || !r || x->rank != 3 || w->rank != 3 || r->rank != 3)
        return false;
    uint64_t steps = size_at(c, x, 0), batch = size_at(c, x, 1),
             rows = model_multiply(size_at(c, w, 0), size_at(c, w, 1));
    uint64_t k = model_sum(size_at(c, w, 2), size_at(c, r, 2));
    c->to->macs = model_multiply(model_multiply(steps, batch), model_multiply(rows, k));
    c->to->m = batch;
    c->to->n = rows;
    c->to->k = k;
    c->to->steps = (uint32_t)(steps && steps < UINT32_MAX ? steps : 1);
    c->work[MODEL_EXP] = model_multiply(model_multiply(steps, batch), rows);
    return true;
}

/* --- per element --- */

static bool rule_elements(struct mlir_costing *c, const struct mlir_cost *cost)
{
    const struct model_value *out = value_of(c, c->out);
    for (uint32_t i = 0; !out && i < c->ins; i++)
        out = input(c, i);
    c->work[cost->work] = elements(out);
    return true;
}

static bool rule_inputs(struct mlir_costing *c, const struct mlir_cost *cost, uint64_t times)
{
    uint64_t axis[LIST_MAX];
    const struct model_value *in = input(c, 0);
    c->work[cost->work] = model_multiply(elements(in), times);
    bool has_axis = attribute_list(c, "axis", axis) > 0;
    c->to->reduces_outer = in && has_axis && axis[0] + 1 < in->rank;
    c->to->is_scalar = slice_has(c->name, "arg") || slice_has(c->name, "Arg");
    c->to->k = elements(in) / at_least_1(elements(value_of(c, c->out)));
    return in != NULL;
}

static bool rule_pool(struct mlir_costing *c)
{
    uint64_t kernel[LIST_MAX], window = 1;
    static const char *const keys[] = {"kernel", "torch.onnx.kernel_shape", "kernel_shape",
                                       "window_dimensions"};
    uint32_t count = 0;
    for (size_t i = 0; i < COUNT_OF(keys) && !count; i++)
        count = attribute_list(c, keys[i], kernel);
    for (uint32_t i = 0; i < count; i++)
        window = model_multiply(window, kernel[i]);
    if (!count && value_of(c, c->out)) /* without a kernel: each element once */
        window = elements(input(c, 0)) / at_least_1(elements(value_of(c, c->out)));
    set_window(c, count ? kernel[0] : 1, slice_begins(c->name, "tosa.") ? 1 : 2);
    c->work[MODEL_WINDOW] = model_multiply(elements(value_of(c, c->out)), at_least_1(window));
    return input(c, 0) != NULL;
}

static bool rule_transpose(struct mlir_costing *c)
{
    uint64_t order[LIST_MAX];
    static const char *const keys[] = {"perms", "permutation", "torch.onnx.perm", "dims"};
    const struct model_value *out = value_of(c, c->out);
    uint32_t count = 0;
    for (size_t i = 0; i < COUNT_OF(keys) && !count; i++)
        count = attribute_list(c, keys[i], order);
    bool keeps_innermost = count > 0 && order[count - 1] == count - 1;
    c->work[MODEL_SHUFFLE] = keeps_innermost ? 0 : elements(out);
    return true;
}

bool mlir_cost_amounts(struct mlir_costing *c, const struct mlir_cost *cost)
{
    c->to->class = cost->class;
    switch (cost->rule) {
    case RULE_ELEMENTS:
        return rule_elements(c, cost);
    case RULE_INPUTS:
        return rule_inputs(c, cost, 1);
    case RULE_NORM:
        return rule_inputs(c, cost, 4);
    case RULE_POOL:
        return rule_pool(c);
    case RULE_WINDOW:
        c->work[MODEL_WINDOW] =
            model_multiply(elements(value_of(c, c->out)), at_least_1(elements(input(c, 1))));
        set_window(c, size_at(c, input(c, 1), 0), slice_has(c->name, "_nc") ? 2 : 1);
        return input(c, 0) != NULL;
    case RULE_TRANSPOSE:
        return rule_transpose(c);
    case RULE_LAST:
        return rule_last(c);
    case RULE_GEMM:
        return rule_gemm(c);
    case RULE_CONTRACTION:
        return rule_contraction(c);
    case RULE_DOT_GENERAL:
        return rule_dot_general(c);
    case RULE_FILTER:
        return rule_filter(c);
    case RULE_DEPTHWISE:
        return rule_depthwise(c);
    case RULE_TRANSPOSED:
        return rule_transposed(c, 0);
    case RULE_SCATTERED:
        return rule_transposed(c, -1);
    case RULE_DIMENSIONS:
        return rule_dimensions(c);
    case RULE_LETTERS:
        return rule_letters(c);
    case RULE_RECURRENT:
        return rule_recurrent(c);
    case RULE_LOOPS:
    case RULE_REDUCE:
    case RULE_MAP:
        return mlir_cost_loops(c, cost);
    default:
        return true;
    }
}
