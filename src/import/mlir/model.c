/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the ops of MLIR in order and fills the model (model.h). No recursion: regions that are entered are frames of a
 * stack. Values get their place in the model when they are first asked for. */
#include "import/mlir/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "import/mlir/costs.h"
#include "import/mlir/types.h"

/* Dispatches of one large function from many places: more ops than this are refused. */
#define OPS_MAX 50000000u

struct frame {
    uint32_t next;  /* op */
    uint32_t group; /* around it */
    uint32_t site;  /* the dispatch whose function this is; MLIR_NONE */
    bool is_loop;
};

struct walk {
    const struct mlir *m;
    struct model *model;
    const struct mlir_dims *dims;
    uint32_t *values; /* by value of the IR: value of the model; MODEL_NONE: not asked for yet */
    struct frame *frames;
    size_t frame_count, frame_capacity;
    struct intern functions; /* symbols of functions that dispatches name */
    uint32_t *function_ops;  /* by id in functions */
    size_t function_capacity;
    bool has_functions;
    const struct mlir_cost **costs; /* by name of the IR */
    bool *is_looked_up;
    uint32_t *name_texts;  /* by name of the IR; MODEL_NONE: not asked for yet */
    uint32_t unknown_text; /* "loc(unknown)"; MODEL_NONE: not asked for yet */
    struct slice type;     /* that was read last, and what it says */
    struct mlir_shape shape;
    enum mlir_shape_status shape_status;
    uint32_t *in;
    size_t in_capacity;
    struct bytes text; /* of a location */
    struct mlir_lines lines;
    uint32_t group;
    unsigned loops; /* around the op */
    bool failed;
};

int mlir_dims_option(struct mlir_dims *dims, const char *text, struct error *err)
{
    struct slice all = slice_of(text), size = slice_after(all, "="), argument = slice_before(all, ":");
    uint32_t a, place;
    uint64_t value;
    if (!size.data && slice_unsigned(all, &value) && value) {
        dims->otherwise = value;
        return 0;
    }
    struct slice dimension = slice_before(slice_after(all, ":"), "=");
    if (!slice_unsigned32(argument, &a) || !slice_unsigned32(dimension, &place) ||
        !slice_unsigned(size, &value) || !value)
        return error_set(err, EINVAL, "'%s' is neither SIZE nor ARGUMENT:DIMENSION=SIZE", text);
    if (dims->count == MLIR_DIMS_MAX)
        return error_set(err, EINVAL, "more than %u dimensions", MLIR_DIMS_MAX);
    dims->list[dims->count].argument = a;
    dims->list[dims->count].place = place;
    dims->list[dims->count++].size = value;
    return 0;
}

/* --- values --- */

static uint32_t operand_at(const struct walk *w, uint32_t op, uint32_t i)
{
    const struct mlir_op *o = &w->m->ops[op];
    return i < o->operands ? w->m->operands[o->first_operand + i] : MLIR_NONE;
}

/* The type of a value; of a result that the text gives none, that of the operand it is written to. */
static struct slice type_of(const struct walk *w, uint32_t value)
{
    const struct mlir_value *v = &w->m->values[value];
    struct slice type = mlir_type(w->m, value);
    if (v->block != MLIR_NONE)
        return type;
    const struct mlir_op *o = &w->m->ops[v->op];
    bool is_tied = slice_begins(type, "%");
    bool is_written = strncmp(mlir_name(w->m, v->op), "linalg.", 7) == 0 && !slice_has(type, "<");
    if ((is_tied || is_written) && o->operands >= o->results - v->index) {
        uint32_t to = operand_at(w, v->op, o->operands - o->results + v->index);
        return to == MLIR_NONE || to >= value ? (struct slice){0} : mlir_type(w->m, to);
    }
    return type;
}

static uint64_t given_size(const struct walk *w, uint32_t value, uint32_t place)
{
    const struct mlir_value *v = &w->m->values[value];
    for (size_t i = 0; w->dims && v->block != MLIR_NONE && i < w->dims->count; i++) {
        if (w->dims->list[i].argument == v->index && w->dims->list[i].place == place)
            return w->dims->list[i].size;
    }
    return MLIR_DYNAMIC;
}

/* Sizes that an operand of the same rank has at the same place are those of the result. */
static void fill_sizes(const struct walk *w, uint32_t value, struct mlir_shape *shape)
{
    const struct mlir_value *v = &w->m->values[value];
    uint32_t operands = v->block == MLIR_NONE ? w->m->ops[v->op].operands : 0;
    shape->is_dynamic = false;
    for (uint32_t place = 0; place < shape->rank; place++) {
        uint64_t *size = &shape->sizes[place];
        if (*size != MLIR_DYNAMIC)
            continue;
        *size = given_size(w, value, place);
        for (uint32_t i = 0; i < operands && *size == MLIR_DYNAMIC; i++) {
            uint32_t operand = operand_at(w, v->op, i);
            uint32_t known = operand == MLIR_NONE ? MODEL_NONE : w->values[operand];
            const struct model_value *like = known == MODEL_NONE ? NULL : &w->model->values[known];
            if (like && like->fault == MODEL_FINE && like->rank == shape->rank)
                *size = w->model->sizes[like->first_size + place];
        }
        if (*size == MLIR_DYNAMIC && w->dims && w->dims->otherwise)
            *size = w->dims->otherwise;
        shape->is_dynamic |= *size == MLIR_DYNAMIC;
    }
}

/* Neighbours have the same type, mostly: the last one is kept. */
static enum mlir_shape_status read_shape(struct walk *w, struct slice type, struct mlir_shape *shape)
{
    if (!w->type.data || !slice_equal(type, w->type)) {
        w->type = type;
        w->shape_status = mlir_read_shape(type, &w->shape);
    }
    *shape = w->shape;
    return w->shape_status;
}

/* The model's value of an IR value, made when new; MODEL_NONE where it has no shape. */
static uint32_t value_of(struct walk *w, uint32_t value)
{
    struct mlir_shape shape;
    if (value == MLIR_NONE)
        return MODEL_NONE;
    if (w->values[value] != MODEL_NONE)
        return w->values[value];
    enum mlir_shape_status status = read_shape(w, type_of(w, value), &shape);
    if (status == MLIR_NO_SHAPE)
        return MODEL_NONE;
    if (status == MLIR_SHAPE && shape.is_dynamic)
        fill_sizes(w, value, &shape);
    struct model_value made = {
        .maker = MODEL_NONE,
        .root = MODEL_NONE,
        .origin = MODEL_ARGUMENT,
        .number = shape.element.is_bfloat  ? MODEL_BFLOAT
                  : shape.element.is_float ? MODEL_FLOAT
                                           : MODEL_INTEGER,
        .bits = shape.element.bits,
        .rank = shape.rank,
        .fault = status != MLIR_SHAPE ? MODEL_UNKNOWN_SHAPE
                 : shape.is_dynamic   ? MODEL_DYNAMIC_SHAPE
                                      : MODEL_FINE,
    };
    if (made.fault == MODEL_FINE) {
        made.elements = mlir_shape_elements(&shape);
        made.bytes = mlir_shape_bytes(&shape);
    } else {
        made.rank = 0;
    }
    return w->values[value] = model_add_value(w->model, &made, shape.sizes);
}

static uint32_t first_result(struct walk *w, uint32_t op)
{
    const struct mlir_op *o = &w->m->ops[op];
    return o->results ? value_of(w, o->first_result) : MODEL_NONE;
}

static uint32_t root_of(const struct walk *w, uint32_t value)
{
    return value == MODEL_NONE ? MODEL_NONE : w->model->values[value].root;
}

/* The results of an op are another shape of a value. */
static void make_alias(struct walk *w, uint32_t op, uint32_t of)
{
    uint32_t result = first_result(w, op);
    if (result != MODEL_NONE && of != MODEL_NONE) {
        w->model->values[result].root = root_of(w, of);
        w->model->values[result].origin = w->model->values[of].origin;
    }
}

/* --- ops --- */

static struct slice location_text(const struct walk *w, uint32_t op, struct bytes *text)
{
    struct mlir_place place = mlir_place(w->m, op);
    bytes_clear(text);
    if (place.file.data) { /* what a call-site or fused location comes down to */
        bytes_append_text(text, "loc(");
        bytes_append(text, place.text.data, place.text.length);
        bytes_append_text(text, ")");
    } else {
        mlir_append_location(w->m, op, text);
    }
    return slice_from(bytes_text(text), text->length);
}

static uint32_t add_location(struct walk *w, uint32_t op)
{
    bool is_unknown = !w->m->ops[op].location.length;
    if (is_unknown && w->unknown_text != MODEL_NONE)
        return w->unknown_text;
    uint32_t id = model_text(w->model, location_text(w, op, &w->text));
    w->failed |= w->text.failed;
    w->unknown_text = is_unknown ? id : w->unknown_text;
    return id;
}

static uint32_t add_name(struct walk *w, uint32_t op, struct slice name)
{
    uint32_t *known = &w->name_texts[w->m->ops[op].name];
    if (name.data != mlir_name(w->m, op)) /* torch.operator "onnx.Add" */
        return model_text(w->model, name);
    if (*known == MODEL_NONE)
        *known = model_text(w->model, name);
    return *known;
}

/* Of an op that is reported: where it stands, at least. */
static uint32_t add_place(struct walk *w, uint32_t op)
{
    if (w->m->ops[op].location.length)
        return add_location(w, op);
    bytes_clear(&w->text);
    bytes_append_text(&w->text, "loc(");
    if (!mlir_append_own_place(w->m, &w->lines, op, &w->text))
        return add_location(w, op);
    bytes_append_text(&w->text, ")");
    w->failed |= w->text.failed || w->lines.failed;
    return model_text(w->model, slice_from(bytes_text(&w->text), w->text.length));
}

static void take_number(struct model_op *op, const struct model_value *value)
{
    if (value->number == MODEL_BFLOAT || (value->number == MODEL_FLOAT && op->number == MODEL_INTEGER)) {
        op->number_bits = op->number == value->number ? op->number_bits : 0;
        op->number = value->number;
    }
    if (value->number == op->number && value->bits > op->number_bits)
        op->number_bits = value->bits;
    if (value->bits > op->data_bits)
        op->data_bits = value->bits;
    if (value->fault != MODEL_FINE && op->fault == MODEL_FINE)
        op->fault = value->fault;
}

/* With what kind of numbers the op works: the widest of all, those that a MAC multiplies, or that a reduction reads. */
static void set_numbers(struct walk *w, struct model_op *made, uint32_t ins)
{
    const struct model *model = w->model;
    if (model_has_macs(made->class) && ins > 1 && w->in[0] != MODEL_NONE && w->in[1] != MODEL_NONE) {
        const struct model_value *data = &model->values[w->in[0]], *weights = &model->values[w->in[1]];
        made->data_bits = data->bits;
        made->weight_bits = weights->bits;
        made->number = data->number == MODEL_INTEGER ? weights->number : data->number;
        made->number_bits = data->number == made->number ? data->bits : weights->bits;
    }
    bool reduces = made->class == MODEL_REDUCTION || made->class == MODEL_POOL;
    if (reduces && ins && w->in[0] != MODEL_NONE)
        made->data_bits = model->values[w->in[0]].bits;
    if (reduces && ins && w->in[0] != MODEL_NONE && model->values[w->in[0]].number == made->number)
        made->number_bits = made->data_bits;
}

/* Adds what the op reads and writes. */
static void add_data(struct walk *w, uint32_t op, const struct mlir_cost *cost, const struct mlir_costing *c)
{
    struct model *model = w->model;
    const struct mlir_op *o = &w->m->ops[op];
    uint32_t id = (uint32_t)model->op_count - 1;
    uint64_t out_bytes = c->out == MODEL_NONE ? 0 : model->values[c->out].bytes;
    for (uint32_t i = 0; i < c->ins; i++) {
        if (w->in[i] == MODEL_NONE)
            continue;
        uint64_t bytes = model->values[w->in[i]].bytes;
        if (cost && cost->rule == RULE_PART && i == 0 && bytes > out_bytes)
            bytes = out_bytes;
        model_add_use(model, root_of(w, w->in[i]), bytes);
    }
    uint32_t captured = value_of(w, c->captured);
    if (captured != MODEL_NONE && c->out != MODEL_NONE) {
        uint64_t bytes =
            model_multiply(model->values[c->out].elements, (model->values[captured].bits + 7u) / 8u);
        model_add_use(model, root_of(w, captured),
                      bytes < model->values[captured].bytes ? bytes : model->values[captured].bytes);
    }
    for (uint32_t i = 0; i < o->results; i++) {
        uint32_t result = value_of(w, o->first_result + i);
        if (result == MODEL_NONE)
            continue;
        model->values[result].maker = id;
        model->values[result].origin = model->ops[id].class == MODEL_FILL ? MODEL_FILLED : MODEL_COMPUTED;
        model_add_result(model, result);
    }
}

/* An op that moves one number around makes no data. */
static bool is_filled(const struct walk *w, uint32_t ins)
{
    return ins && w->in[0] != MODEL_NONE && w->model->values[w->in[0]].origin == MODEL_FILLED;
}

static void add_op(struct walk *w, uint32_t op, const struct mlir_cost *cost, struct slice name)
{
    const struct mlir_op *o = &w->m->ops[op];
    bool has_shape = false;
    if (!array_reserve(&w->in, &w->in_capacity, (size_t)o->operands + 1, sizeof w->in[0])) {
        w->failed = true;
        return;
    }
    for (uint32_t i = 0; i < o->operands; i++) {
        w->in[i] = value_of(w, operand_at(w, op, i));
        has_shape |= w->in[i] != MODEL_NONE;
    }
    struct model_op made = {.name = add_name(w, op, name),
                            .location = MODEL_NONE,
                            .source = op,
                            .group = w->group,
                            .class = MODEL_UNKNOWN,
                            .fault = cost ? MODEL_FINE : MODEL_UNKNOWN_OP,
                            .steps = 1,
                            .window = 1,
                            .stride = 1};
    struct mlir_costing c = {.mlir = w->m,
                             .model = w->model,
                             .op = op,
                             .name = name,
                             .in = w->in,
                             .ins = o->operands,
                             .out = first_result(w, op),
                             .to = &made,
                             .captured = MLIR_NONE};
    has_shape |= c.out != MODEL_NONE;
    if (!has_shape)
        return;
    for (uint32_t i = 0; i < o->operands; i++) {
        if (w->in[i] != MODEL_NONE)
            take_number(&made, &w->model->values[w->in[i]]);
    }
    for (uint32_t i = 0; i < o->results; i++) {
        uint32_t result = value_of(w, o->first_result + i);
        if (result != MODEL_NONE)
            take_number(&made, &w->model->values[result]);
    }
    if (cost && made.fault == MODEL_FINE) {
        if (!mlir_cost_amounts(&c, cost)) {
            made.class = MODEL_UNKNOWN;
            made.fault = MODEL_UNKNOWN_OP;
        } else if (cost->rule == RULE_BROADCAST || (made.class == MODEL_MOVE && cost->rule == RULE_LOOPS)) {
            made.class = is_filled(w, o->operands) ? MODEL_FILL : made.class;
        }
        set_numbers(w, &made, o->operands);
    } else if (cost) {
        made.class = cost->class;
    }
    if (w->loops && made.fault == MODEL_FINE)
        made.fault = MODEL_COUNTED_ONCE;
    made.location = made.fault == MODEL_FINE ? add_location(w, op) : add_place(w, op);
    if (model_add_op(w->model, &made) == MODEL_NONE)
        return;
    for (unsigned kind = 0; kind < MODEL_WORKS; kind++)
        model_add_work(w->model, (enum model_work)kind, c.work[kind]);
    add_data(w, op, cost, &c);
}

static void add_constant(struct walk *w, uint32_t op)
{
    uint32_t result = first_result(w, op);
    if (result == MODEL_NONE)
        return;
    const struct mlir_op *o = &w->m->ops[op];
    struct slice text = slice_from(w->m->text + o->begin, o->end - o->begin),
                 dense = slice_after(text, "dense<");
    bool is_splat = dense.length && dense.data[0] != '[' && dense.data[0] != '"';
    w->model->values[result].origin = is_splat ? MODEL_FILLED : MODEL_WEIGHT;
}

/* --- regions and dispatches --- */

static void push(struct walk *w, uint32_t first, uint32_t site, bool is_loop)
{
    if (first == MLIR_NONE)
        return;
    if (!array_reserve(&w->frames, &w->frame_capacity, w->frame_count + 1, sizeof w->frames[0])) {
        w->failed = true;
        return;
    }
    w->frames[w->frame_count++] = (struct frame){first, w->group, site, is_loop};
    w->loops += is_loop;
}

/* Every block of every region, the first on top. */
static void enter(struct walk *w, uint32_t op, bool is_loop)
{
    size_t bottom = w->frame_count;
    for (uint32_t region = w->m->ops[op].first_region; region != MLIR_NONE;
         region = w->m->regions[region].next) {
        for (uint32_t block = w->m->regions[region].first_block; block != MLIR_NONE;
             block = w->m->blocks[block].next)
            push(w, w->m->blocks[block].first_op, MLIR_NONE, is_loop);
    }
    for (size_t low = bottom, high = w->frame_count; low + 1 < high; low++) {
        struct frame frame = w->frames[low];
        w->frames[low] = w->frames[--high];
        w->frames[high] = frame;
    }
}

static bool index_functions(struct walk *w)
{
    for (uint32_t op = 0; op < w->m->op_count && !w->has_functions; op++) {
        struct slice symbol = mlir_slice(w->m, w->m->ops[op].symbol);
        if (!symbol.length || strcmp(mlir_name(w->m, op), "func.func") != 0)
            continue;
        uint32_t id = intern_add(&w->functions, symbol.data, symbol.length);
        if (id == INTERN_NONE || !array_reserve(&w->function_ops, &w->function_capacity, (size_t)id + 1,
                                                sizeof w->function_ops[0]))
            return false;
        w->function_ops[id] = op;
    }
    w->has_functions = true;
    return true;
}

/* The function that "@exe::@name(" runs; MLIR_NONE. */
static uint32_t function_of(struct walk *w, struct slice name)
{
    if (!index_functions(w)) {
        w->failed = true;
        return MLIR_NONE;
    }
    uint32_t id = intern_find(&w->functions, name.data, name.length);
    return id == INTERN_NONE ? MLIR_NONE : w->function_ops[id];
}

/* Operands before the list of arguments: "@f[%workload](" */
static uint32_t count_workload(struct slice rest)
{
    uint32_t count = 0;
    struct slice workload = slice_before(rest, "(");
    for (size_t i = 0; i < workload.length; i++)
        count += workload.data[i] == '%';
    return count;
}

static void new_group(struct walk *w, uint32_t op, struct slice name)
{
    struct model_group group = {model_text(w->model, name), add_location(w, op), op};
    w->group = model_add_group(w->model, &group);
}

static void enter_dispatch(struct walk *w, uint32_t op)
{
    struct slice rest = slice_after(mlir_head(w->m, op), "::@");
    size_t length = 0;
    while (length < rest.length && !memchr("([{ ,:\n", rest.data[length], 7))
        length++;
    struct slice name = slice_from(rest.data, length);
    uint32_t function = length && w->group == MODEL_NONE ? function_of(w, name) : MLIR_NONE;
    uint32_t region = function == MLIR_NONE ? MLIR_NONE : w->m->ops[function].first_region;
    uint32_t block = region == MLIR_NONE ? MLIR_NONE : w->m->regions[region].first_block;
    const struct mlir_cost unknown = {MODEL_UNKNOWN, RULE_MOVE, 0};
    if (block == MLIR_NONE) { /* an executable that is not in the file */
        add_op(w, op, w->group == MODEL_NONE ? NULL : &unknown, mlir_cost_name(w->m, op));
        return;
    }
    const struct mlir_block *b = &w->m->blocks[block];
    bool is_flow = strncmp(mlir_name(w->m, op), "flow.", 5) == 0;
    uint32_t skip = count_workload(slice_from(rest.data + length, rest.length - length));
    for (uint32_t op_in = b->first_op; op_in != MLIR_NONE; op_in = w->m->ops[op_in].next) {
        for (uint32_t i = 0; i < w->m->ops[op_in].results; i++) /* another site may have been here before */
            w->values[w->m->ops[op_in].first_result + i] = MODEL_NONE;
    }
    for (uint32_t i = 0; i < b->arguments; i++) {
        uint32_t given = is_flow ? operand_at(w, op, skip + i) : MLIR_NONE;
        w->values[b->first_argument + i] = i < w->m->ops[op].operands ? value_of(w, given) : MODEL_NONE;
    }
    new_group(w, op, name);
    push(w, b->first_op, op, false);
    w->frames[w->frame_count - 1].group = MODEL_NONE;
}

static void enter_region(struct walk *w, uint32_t op)
{
    uint32_t region = w->m->ops[op].first_region;
    uint32_t block = region == MLIR_NONE ? MLIR_NONE : w->m->regions[region].first_block;
    if (block == MLIR_NONE || w->group != MODEL_NONE) {
        enter(w, op, false);
        return;
    }
    const struct mlir_block *b = &w->m->blocks[block];
    for (uint32_t i = 0; i < b->arguments; i++)
        w->values[b->first_argument + i] = value_of(w, operand_at(w, op, i));
    new_group(w, op, slice_of(mlir_name(w->m, op)));
    push(w, b->first_op, MLIR_NONE, false);
    w->frames[w->frame_count - 1].group = MODEL_NONE;
}

static void load(struct walk *w, uint32_t op)
{
    uint32_t from = value_of(w, operand_at(w, op, 0)), result = first_result(w, op);
    if (from == MODEL_NONE || result == MODEL_NONE)
        return;
    if (w->model->values[from].elements == w->model->values[result].elements)
        make_alias(w, op, from);
}

/* What is stored leaves the dispatch; what was only loaded is copied. */
static void store(struct walk *w, uint32_t op, uint32_t site)
{
    static const struct mlir_cost copy = {MODEL_MOVE, RULE_MOVE, 0};
    uint32_t value = value_of(w, operand_at(w, op, 0)), root = root_of(w, value);
    if (value == MODEL_NONE)
        return;
    uint32_t maker = w->model->values[root].maker;
    bool is_made_here = maker != MODEL_NONE && w->model->ops[maker].group == w->group;
    if (!is_made_here) {
        struct model_op made = {.name = model_text(w->model, slice_of(mlir_name(w->m, op))),
                                .location = add_location(w, op),
                                .source = op,
                                .group = w->group,
                                .class = copy.class,
                                .number = w->model->values[value].number,
                                .data_bits = w->model->values[value].bits,
                                .number_bits = w->model->values[value].bits,
                                .fault = w->model->values[value].fault,
                                .steps = 1,
                                .window = 1,
                                .stride = 1};
        struct model_value moved = w->model->values[value];
        uint64_t sizes[MLIR_RANK_MAX];
        for (uint32_t i = 0; i < moved.rank; i++)
            sizes[i] = w->model->sizes[moved.first_size + i];
        uint32_t id = model_add_op(w->model, &made);
        model_add_use(w->model, root, moved.bytes);
        moved.root = MODEL_NONE;
        moved.maker = id;
        moved.origin = MODEL_COMPUTED;
        value = root = model_add_value(w->model, &moved, sizes);
        model_add_result(w->model, value);
    }
    if (value == MODEL_NONE)
        return;
    w->model->values[root].is_result = true;
    /* The site's result is what was stored, if it was stored whole. */
    for (uint32_t i = 0; site != MLIR_NONE && i < w->m->ops[site].results; i++) {
        uint32_t result = value_of(w, w->m->ops[site].first_result + i);
        if (result != MODEL_NONE && w->model->values[result].maker == MODEL_NONE &&
            w->model->values[result].root == result &&
            w->model->values[result].elements == w->model->values[value].elements) {
            w->model->values[result].root = root;
            break;
        }
    }
}

/* --- the walk --- */

static const struct mlir_cost *cost_of(struct walk *w, uint32_t op, struct slice *name)
{
    uint32_t id = w->m->ops[op].name;
    *name = mlir_cost_name(w->m, op);
    if (!slice_is(*name, mlir_name(w->m, op)))
        return mlir_cost_find(*name);
    if (!w->is_looked_up[id]) {
        w->is_looked_up[id] = true;
        w->costs[id] = mlir_cost_find(*name);
    }
    return w->costs[id];
}

static void visit(struct walk *w, uint32_t op, uint32_t site)
{
    struct slice name;
    const struct mlir_cost *cost = cost_of(w, op, &name);
    const struct mlir_op *o = &w->m->ops[op];
    switch (cost ? cost->rule : RULE_MOVE) {
    case RULE_NONE:
        break;
    case RULE_ENTER:
    case RULE_LOOP:
        enter(w, op, cost->rule == RULE_LOOP);
        break;
    case RULE_RESULT:
        for (uint32_t i = 0; i < o->operands; i++) {
            uint32_t value = root_of(w, value_of(w, operand_at(w, op, i)));
            if (value != MODEL_NONE)
                w->model->values[value].is_result = true;
        }
        break;
    case RULE_CONSTANT:
        add_constant(w, op);
        break;
    case RULE_FILLED:
        if (cost->class == MODEL_FILL)
            add_op(w, op, cost, name);
        else if (first_result(w, op) != MODEL_NONE)
            w->model->values[first_result(w, op)].origin = MODEL_FILLED;
        break;
    case RULE_ALIAS:
        make_alias(w, op, value_of(w, operand_at(w, op, 0)));
        break;
    case RULE_LOAD:
        load(w, op);
        break;
    case RULE_STORE:
        store(w, op, site);
        break;
    case RULE_BINDING:
        break;
    case RULE_DISPATCH:
        enter_dispatch(w, op);
        break;
    case RULE_REGION:
        enter_region(w, op);
        break;
    default:
        add_op(w, op, cost, name);
        if (!cost)
            enter(w, op, false);
        break;
    }
}

static int walk_all(struct walk *w, struct error *err)
{
    push(w, w->m->first_op, MLIR_NONE, false);
    while (w->frame_count && !w->failed && !w->model->failed) {
        struct frame *top = &w->frames[w->frame_count - 1];
        if (top->next == MLIR_NONE) {
            w->group = top->group;
            w->loops -= top->is_loop;
            w->frame_count--;
            continue;
        }
        uint32_t op = top->next, site = top->site;
        top->next = w->m->ops[op].next;
        if (w->model->op_count > OPS_MAX)
            return mlir_error(w->m, w->m->ops[op].begin, err, "more than %u ops to estimate", OPS_MAX);
        visit(w, op, site);
    }
    return w->failed ? error_no_memory(err, w->m->path) : model_check(w->model, err);
}

int mlir_read_model(struct model *model, const struct mlir *mlir, const struct mlir_dims *dims,
                    struct error *err)
{
    struct walk w = {
        .m = mlir, .model = model, .dims = dims, .group = MODEL_NONE, .unknown_text = MODEL_NONE};
    size_t names = mlir->names.count + 1;
    *model = (struct model){0};
    w.values = malloc((mlir->value_count + 1) * sizeof w.values[0]);
    w.costs = calloc(names, sizeof w.costs[0]);
    w.is_looked_up = calloc(names, sizeof w.is_looked_up[0]);
    w.name_texts = malloc(names * sizeof w.name_texts[0]);
    bool has_all = w.values && w.costs && w.is_looked_up && w.name_texts;
    int status = has_all ? 0 : error_no_memory(err, mlir->path);
    if (status == 0) {
        memset(w.name_texts, 0xff, names * sizeof w.name_texts[0]);     /* MODEL_NONE */
        memset(w.values, 0xff, mlir->value_count * sizeof w.values[0]); /* MODEL_NONE */
        status = walk_all(&w, err);
    }
    intern_free(&w.functions);
    free(w.function_ops);
    free(w.values);
    free(w.costs);
    free(w.is_looked_up);
    free(w.name_texts);
    free(w.frames);
    free(w.in);
    bytes_free(&w.text);
    mlir_lines_free(&w.lines);
    if (status)
        model_free(model);
    return status;
}
