/* SPDX-License-Identifier: Apache-2.0 */
/* Amounts of ops that are loops around a body: linalg.generic and its shorter forms.
 *
 * The shapes of the operands and the indexing maps give the range of each loop; the product of the ranges is the number
 * of times that the body runs. What the body does, and which loops reduce, says what kind of op it is:
 *
 *     reduction, multiplies and adds     MACs: a convolution where a map adds loops (d1 * 2 + d3), else a matmul
 *     reduction over such a sum          a pool
 *     reduction                          a reduction
 *     no reduction, an empty body        movement
 *     no reduction                       element-wise */
#include <string.h>

#include "import/mlir/costs.h"
#include "import/mlir/scan.h"

#define LOOPS_MAX 16u

struct loops {
    uint64_t ranges[LOOPS_MAX];
    bool is_reduction[LOOPS_MAX];
    bool is_in_sum[LOOPS_MAX]; /* part of a sum of loops: a window */
    uint32_t count;
    /* the loop over the last dimension of the first input and of the result */
    uint32_t innermost_in, innermost_out;
    uint32_t loops_in; /* that the first input has a dimension of */
    bool has_window;
};

struct body {
    uint64_t work[MODEL_WORKS]; /* ops of each kind */
    uint64_t ops;
    bool multiplies, adds;
    bool has_index;    /* it computes with the place of an element: an argmax */
    uint32_t captured; /* tensor that it takes elements of */
};

/* The n-th piece of a list between commas; data is NULL after the last. */
static struct slice item_at(struct slice list, uint32_t n)
{
    for (;; n--) {
        size_t end = scan_until(list.data ? list.data : "", 0, list.length, ",");
        if (n == 0)
            return list.length ? slice_trim(slice_from(list.data, end)) : (struct slice){0};
        if (end >= list.length)
            return (struct slice){0};
        list = slice_from(list.data + end + 1, list.length - end - 1);
    }
}

static struct slice within(struct slice text, char open)
{
    const char *at = text.length ? memchr(text.data, open, text.length) : NULL;
    if (!at)
        return (struct slice){0};
    size_t begin = (size_t)(at - text.data) + 1;
    return slice_from(text.data + begin, scan_until(text.data, begin, text.length, "") - begin);
}

/* "d12" */
static bool read_loop(struct slice text, uint32_t *loop)
{
    return slice_begins(text, "d") && slice_unsigned32(slice_from(text.data + 1, text.length - 1), loop) &&
           *loop < LOOPS_MAX;
}

/* Loops that a compound expression names. */
static void mark_sum(struct loops *loops, struct slice text)
{
    bool is_sum = slice_has(text, "+");
    for (size_t i = 0; i < text.length; i++) {
        uint32_t loop;
        size_t begin = i;
        if (text.data[i] != 'd' || (i > 0 && scan_is_word(text.data[i - 1])))
            continue;
        i = scan_word(text.data, i, text.length);
        if (read_loop(slice_from(text.data + begin, i - begin), &loop) && is_sum)
            loops->is_in_sum[loop] = loops->has_window = true;
    }
}

static void read_map(struct mlir_costing *c, struct loops *loops, struct slice map, uint32_t operand)
{
    const struct model_value *value =
        operand < c->ins && c->in[operand] != MODEL_NONE ? &c->model->values[c->in[operand]] : NULL;
    struct slice results = within(slice_after(map, "->"), '(');
    for (uint32_t i = 0; i < LOOPS_MAX; i++) {
        struct slice item = item_at(results, i);
        uint32_t loop;
        if (!item.data)
            return;
        if (!read_loop(item, &loop)) {
            mark_sum(loops, item);
            continue;
        }
        if (value && i < value->rank)
            loops->ranges[loop] = c->model->sizes[value->first_size + i];
        if (operand == 0) {
            loops->innermost_in = loop;
            loops->loops_in++;
        }
        loops->innermost_out = loop;
    }
}

/* An attribute that holds a list; also where the op names an alias of its attributes: linalg.generic #attributes */
static bool read_attribute(struct mlir_costing *c, const char *key, struct slice *value)
{
    if (mlir_attribute(c->mlir, c->op, key, value))
        return true;
    struct slice rest = slice_after(mlir_head(c->mlir, c->op), "#");
    if (!rest.data)
        return false;
    size_t length = scan_name(rest.data, 0, rest.length);
    struct slice dictionary = mlir_resolve(c->mlir, slice_from(rest.data - 1, length + 1));
    *value = slice_begins(dictionary, "{") ? slice_after(dictionary, key) : (struct slice){0};
    return value->data != NULL;
}

static bool read_loops(struct mlir_costing *c, struct loops *loops)
{
    struct slice maps, iterators;
    if (!read_attribute(c, "indexing_maps", &maps) || !read_attribute(c, "iterator_types", &iterators))
        return false;
    maps = within(mlir_resolve(c->mlir, maps), '[');
    iterators = within(mlir_resolve(c->mlir, iterators), '[');
    for (uint32_t i = 0; i < LOOPS_MAX; i++) {
        struct slice item = item_at(iterators, i);
        if (!item.data)
            break;
        loops->is_reduction[i] = slice_has(mlir_resolve(c->mlir, item), "reduction");
        loops->count = i + 1;
    }
    for (uint32_t i = 0; i < c->ins; i++) {
        struct slice map = item_at(maps, i);
        if (!map.data)
            break;
        read_map(c, loops, mlir_resolve(c->mlir, map), i);
    }
    return true;
}

static void read_body(const struct mlir *m, uint32_t op, struct body *body)
{
    uint32_t region = m->ops[op].first_region;
    uint32_t block = region == MLIR_NONE ? MLIR_NONE : m->regions[region].first_block;
    body->captured = MLIR_NONE;
    for (uint32_t i = block == MLIR_NONE ? MLIR_NONE : m->blocks[block].first_op; i != MLIR_NONE;
         i = m->ops[i].next) {
        struct slice name = slice_of(mlir_name(m, i));
        const struct mlir_cost *cost = mlir_cost_find(name);
        if (slice_is(name, "tensor.extract") && m->ops[i].operands)
            body->captured = m->operands[m->ops[i].first_operand];
        body->has_index |= slice_is(name, "linalg.index");
        if (!cost || cost->class == MODEL_FREE || cost->class == MODEL_MOVE)
            continue;
        body->multiplies |= slice_begins(name, "arith.mul") || slice_is(name, "stablehlo.multiply");
        body->adds |= slice_begins(name, "arith.add") || slice_is(name, "stablehlo.add");
        body->work[cost->work]++;
        body->ops++;
    }
}

static bool is_transcendental(const struct body *body)
{
    return body->work[MODEL_EXP] || body->work[MODEL_LOG] || body->work[MODEL_RSQRT];
}

static void add_work(struct mlir_costing *c, const struct body *body, uint64_t points)
{
    static const uint8_t kinds[] = {MODEL_ARITHMETIC, MODEL_EXP, MODEL_LOG, MODEL_RSQRT};
    for (size_t i = 0; i < sizeof kinds; i++)
        c->work[kinds[i]] = model_multiply(points, body->work[kinds[i]]);
}

/* A reduction: its points, and what its body does beyond one op before it and the one that reduces. */
static void set_reduction(struct mlir_costing *c, const struct loops *loops, struct body *body,
                          uint64_t points)
{
    bool is_pool = loops->has_window;
    c->to->class = is_pool ? MODEL_POOL : MODEL_REDUCTION;
    c->to->reduces_outer = !is_pool && !loops->is_reduction[loops->innermost_in];
    c->to->is_scalar = body->has_index;
    uint64_t results = c->out == MODEL_NONE ? 0 : c->model->values[c->out].elements;
    c->to->k = results ? points / results : points;
    body->work[MODEL_ARITHMETIC] -= body->work[MODEL_ARITHMETIC] < 2 ? body->work[MODEL_ARITHMETIC] : 2;
    add_work(c, body, points);
    c->work[is_pool ? MODEL_WINDOW : MODEL_REDUCED] = points;
    if (is_transcendental(body))
        c->to->class = MODEL_TRANSCENDENTAL;
}

static void set_macs(struct mlir_costing *c, const struct loops *loops, uint64_t points)
{
    uint64_t k = 1, outputs = c->out == MODEL_NONE ? 1 : c->model->values[c->out].elements;
    bool has_channels = false;
    for (uint32_t i = 0; i < loops->count; i++) {
        if (loops->is_reduction[i]) {
            k = model_multiply(k, loops->ranges[i]);
            has_channels |= !loops->is_in_sum[i];
        }
    }
    c->to->class = !loops->has_window ? MODEL_MATMUL : has_channels ? MODEL_CONV : MODEL_DEPTHWISE;
    c->to->macs = points;
    c->to->k = k;
    c->to->n = loops->innermost_out < LOOPS_MAX ? loops->ranges[loops->innermost_out] : 1;
    c->to->n = c->to->n ? c->to->n : 1;
    c->to->m = outputs / c->to->n ? outputs / c->to->n : 1;
}

static bool cost_generic(struct mlir_costing *c)
{
    struct loops loops = {.innermost_in = 0, .innermost_out = 0};
    struct body body = {0};
    uint64_t points = 1;
    bool reduces = false;
    for (uint32_t i = 0; i < LOOPS_MAX; i++)
        loops.ranges[i] = 1;
    if (!read_loops(c, &loops))
        return false;
    read_body(c->mlir, c->op, &body);
    for (uint32_t i = 0; i < loops.count; i++) {
        points = model_multiply(points, loops.ranges[i]);
        reduces |= loops.is_reduction[i];
    }
    c->captured = body.captured;
    bool is_contraction = slice_is(c->name, "linalg.contract");
    if (is_contraction || (reduces && body.multiplies && body.adds && c->ins > 2)) {
        set_macs(c, &loops, points);
    } else if (reduces) {
        set_reduction(c, &loops, &body, points);
    } else if (body.ops == 0 && c->mlir->ops[c->op].first_region != MLIR_NONE) {
        c->to->class = MODEL_MOVE;
        bool is_permuted =
            c->ins > 1 && loops.loops_in == loops.count && loops.innermost_in != loops.innermost_out;
        c->work[MODEL_SHUFFLE] = is_permuted ? points : 0;
    } else {
        body.ops += body.ops == 0; /* linalg.elementwise: an op without a body */
        body.work[MODEL_ARITHMETIC] +=
            body.ops == 1 && !is_transcendental(&body) && !body.work[MODEL_ARITHMETIC];
        add_work(c, &body, points);
        c->to->class = is_transcendental(&body) ? MODEL_TRANSCENDENTAL : MODEL_ELEMENTWISE;
    }
    return true;
}

bool mlir_cost_loops(struct mlir_costing *c, const struct mlir_cost *cost)
{
    struct body body = {0};
    const struct model_value *in = c->ins && c->in[0] != MODEL_NONE ? &c->model->values[c->in[0]] : NULL;
    if (cost->rule == RULE_LOOPS)
        return cost_generic(c);
    if (!in)
        return false;
    read_body(c->mlir, c->op, &body);
    if (cost->rule == RULE_MAP) {
        body.work[MODEL_ARITHMETIC] += body.ops == 0;
        add_work(c, &body, in->elements);
        c->to->class = is_transcendental(&body) ? MODEL_TRANSCENDENTAL : MODEL_ELEMENTWISE;
        return true;
    }
    struct loops loops = {0};
    struct slice dimensions = slice_after(slice_after(mlir_head(c->mlir, c->op), "dimensions"), "[");
    if (!dimensions
             .data) { /* after the body: %r = linalg.reduce ins(..) outs(..) dimensions = [0] comes before it */
        const struct mlir_op *o = &c->mlir->ops[c->op];
        dimensions = slice_after(
            slice_after(slice_from(c->mlir->text + o->begin, o->end - o->begin), "dimensions"), "[");
    }
    for (uint32_t i = 0; i < LOOPS_MAX; i++) {
        uint32_t dimension;
        struct slice item = item_at(slice_before(dimensions, "]"), i);
        if (item.data && slice_unsigned32(item, &dimension) && dimension < LOOPS_MAX)
            loops.is_reduction[dimension] = true;
    }
    loops.innermost_in = in->rank && in->rank <= LOOPS_MAX ? in->rank - 1 : 0;
    set_reduction(c, &loops, &body, in->elements);
    return true;
}
