/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of ops.
 *
 * Where the compiler has grouped already (dispatches), those are the groups. Else an element-wise op joins every group
 * that makes a value which it alone reads, of as many elements as its own result, if that group is element-wise or has
 * MACs, and at most one op with MACs is in the whole. Only the last op of such a group has readers outside, so it
 * stands at the place of its last op and no cycle can come about. A chain i8 -> i32 -> ... -> i8 thereby is one
 * kernel. */
#include "analyze/estimate/groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

struct joining {
    const struct model *model;
    struct estimate_groups *out;
    uint32_t *parent;    /* by op: towards the last op of its group */
    bool *has_macs;      /* by op, right at the last one of a group */
    uint32_t *readers;   /* by value: ops that read it */
    uint32_t *last_seen; /* by value: the op or group that was there last */
    bool *is_outside;    /* by value: read by another group than the one that makes it */
};

void estimate_groups_free(struct estimate_groups *groups)
{
    free(groups->groups);
    free(groups->members);
    free(groups->inputs);
    free(groups->outputs);
    free(groups->group_of);
    free(groups->last_use);
    *groups = (struct estimate_groups){0};
}

/* Costs something: a fill alone does where its result is needed as data. */
static bool is_costed(const struct model *model, const struct model_op *op)
{
    if (op->class == MODEL_FREE)
        return false;
    for (uint32_t i = 0; op->class == MODEL_FILL && i < op->results; i++) {
        if (model->values[model->values[model->results[op->first_result + i]].root].is_result)
            return true;
    }
    return op->class != MODEL_FILL;
}

static bool is_pointwise(unsigned class)
{
    return class == MODEL_ELEMENTWISE || class == MODEL_TRANSCENDENTAL;
}

static uint32_t last_op(struct joining *j, uint32_t op)
{
    while (j->parent[op] != op)
        op = j->parent[op] = j->parent[j->parent[op]];
    return op;
}

static void count_readers(struct joining *j)
{
    const struct model *model = j->model;
    for (uint32_t op = 0; op < model->op_count; op++) {
        for (uint32_t i = 0; i < model->ops[op].uses; i++) {
            uint32_t value = model->uses[model->ops[op].first_use + i].value;
            j->readers[value] += j->last_seen[value] != op;
            j->last_seen[value] = op;
        }
    }
}

static bool may_join(struct joining *j, const struct model_op *op, uint32_t value, uint64_t elements)
{
    const struct model_value *v = &j->model->values[value];
    if (v->maker == MODEL_NONE || v->is_result || j->readers[value] != 1 || v->elements != elements)
        return false;
    const struct model_op *maker = &j->model->ops[v->maker];
    return maker->group == MODEL_NONE && maker->fault != MODEL_DYNAMIC_SHAPE && op->group == MODEL_NONE &&
           (is_pointwise(maker->class) || model_has_macs(maker->class));
}

static void join(struct joining *j, uint32_t id)
{
    const struct model *model = j->model;
    const struct model_op *op = &model->ops[id];
    if (!is_pointwise(op->class) || op->results != 1 || op->fault == MODEL_DYNAMIC_SHAPE)
        return;
    uint64_t elements = model->values[model->results[op->first_result]].elements;
    for (uint32_t i = 0; i < op->uses; i++) {
        uint32_t value = model->uses[op->first_use + i].value;
        if (!may_join(j, op, value, elements))
            continue;
        uint32_t other = last_op(j, model->values[value].maker);
        if (other == id || (j->has_macs[other] && j->has_macs[id]))
            continue;
        j->parent[other] = id;
        j->has_macs[id] |= j->has_macs[other];
    }
}

/* Numbers the groups in the order of their last ops, or of the compiler's dispatches. */
static int number_groups(struct joining *j, struct error *err)
{
    const struct model *model = j->model;
    struct estimate_groups *out = j->out;
    uint32_t *of_dispatch = malloc((model->group_count + 1) * sizeof of_dispatch[0]);
    if (!of_dispatch)
        return error_no_memory(err, "the estimate");
    memset(of_dispatch, 0xff, (model->group_count + 1) * sizeof of_dispatch[0]);
    for (uint32_t op = 0; op < model->op_count; op++) {
        uint32_t dispatch = model->ops[op].group;
        out->group_of[op] = MODEL_NONE;
        if (!is_costed(model, &model->ops[op]))
            continue;
        if (dispatch != MODEL_NONE) {
            if (of_dispatch[dispatch] == MODEL_NONE)
                of_dispatch[dispatch] = (uint32_t)out->count++;
            out->group_of[op] = of_dispatch[dispatch];
        } else if (last_op(j, op) == op) {
            out->group_of[op] = (uint32_t)out->count++;
        }
    }
    for (uint32_t op = 0; op < model->op_count; op++) {
        if (out->group_of[op] == MODEL_NONE && is_costed(model, &model->ops[op]))
            out->group_of[op] = out->group_of[last_op(j, op)];
    }
    free(of_dispatch);
    return 0;
}

static int list_members(struct joining *j, struct error *err)
{
    struct estimate_groups *out = j->out;
    size_t ops = j->model->op_count;
    out->groups = calloc(out->count + 1, sizeof out->groups[0]);
    out->members = malloc((ops + 1) * sizeof out->members[0]);
    if (!out->groups || !out->members)
        return error_no_memory(err, "the estimate");
    for (uint32_t op = 0; op < ops; op++) {
        if (out->group_of[op] != MODEL_NONE)
            out->groups[out->group_of[op]].members++;
    }
    uint32_t first = 0;
    for (size_t i = 0; i < out->count; i++) {
        out->groups[i].first_member = first;
        first += out->groups[i].members;
        out->groups[i].members = 0;
    }
    for (uint32_t op = 0; op < ops; op++) {
        if (out->group_of[op] != MODEL_NONE) {
            struct estimate_group *group = &out->groups[out->group_of[op]];
            out->members[group->first_member + group->members++] = op;
        }
    }
    return 0;
}

/* MACs decide what a group is, then what is slow per element, then the rest. */
static unsigned rank_of(unsigned class)
{
    static const uint8_t ranks[MODEL_CLASSES] = {
        [MODEL_FILL] = 1,      [MODEL_MOVE] = 2, [MODEL_UNKNOWN] = 2,        [MODEL_ELEMENTWISE] = 3,
        [MODEL_REDUCTION] = 4, [MODEL_POOL] = 4, [MODEL_TRANSCENDENTAL] = 5, [MODEL_SOFTMAX] = 5,
        [MODEL_DEPTHWISE] = 6, [MODEL_CONV] = 6, [MODEL_MATMUL] = 6,
    };
    return ranks[class];
}

static void sum_up(struct estimate_group *group, const struct model *model, const uint32_t *members)
{
    group->root = members[0];
    for (uint32_t i = 0; i < group->members; i++) {
        const struct model_op *op = &model->ops[members[i]], *root = &model->ops[group->root];
        group->macs = model_sum(group->macs, op->macs);
        for (uint32_t k = 0; k < op->works; k++) {
            const struct model_work_amount *work = &model->works[op->first_work + k];
            if (work->kind != MODEL_SHUFFLE)
                group->operations = model_sum(group->operations, work->amount);
        }
        bool is_heavier = rank_of(op->class) > rank_of(root->class) ||
                          (rank_of(op->class) == rank_of(root->class) && op->macs > root->macs);
        if (is_heavier)
            group->root = members[i];
        if (op->fault != MODEL_FINE && group->fault != MODEL_DYNAMIC_SHAPE &&
            group->fault != MODEL_UNKNOWN_SHAPE)
            group->fault = op->fault;
    }
    group->class = model->ops[group->root].class;
    group->number = model->ops[group->root].number;
    group->format = (uint8_t)model_format_of(group->number, model->ops[group->root].number_bits);
}

static int add_input(struct joining *j, struct estimate_group *group, uint32_t id, struct model_use use)
{
    struct estimate_groups *out = j->out;
    const struct model_value *value = &j->model->values[use.value];
    if (value->origin == MODEL_FILLED)
        return 0;
    uint32_t maker = value->maker;
    if (maker != MODEL_NONE && out->group_of[maker] == id)
        return 0;
    out->last_use[use.value] = id;
    for (uint32_t i = 0; j->last_seen[use.value] == id && i < group->inputs; i++) {
        struct model_use *known = &out->inputs[group->first_input + i];
        if (known->value == use.value) {
            known->bytes = known->bytes > use.bytes ? known->bytes : use.bytes;
            return 0;
        }
    }
    j->last_seen[use.value] = id;
    if (!array_reserve(&out->inputs, &out->input_capacity, out->input_count + 1, sizeof use))
        return -1;
    out->inputs[out->input_count++] = use;
    group->inputs++;
    return 0;
}

static int add_output(struct joining *j, struct estimate_group *group, uint32_t result)
{
    struct estimate_groups *out = j->out;
    uint32_t root = j->model->values[result].root;
    const struct model_value *value = &j->model->values[root];
    bool leaves = value->is_result || j->is_outside[root] || !j->readers[root];
    if (!leaves || (value->origin == MODEL_FILLED && !value->is_result))
        return 0;
    if (!array_reserve(&out->outputs, &out->output_capacity, out->output_count + 1, sizeof root))
        return -1;
    out->outputs[out->output_count++] = root;
    group->outputs++;
    group->write_bytes = model_sum(group->write_bytes, value->bytes);
    return 0;
}

static int find_borders(struct joining *j, struct error *err)
{
    const struct model *model = j->model;
    struct estimate_groups *out = j->out;
    memset(j->last_seen, 0xff, (model->value_count + 1) * sizeof j->last_seen[0]);
    for (uint32_t op = 0; op < model->op_count; op++) {
        for (uint32_t i = 0; i < model->ops[op].uses; i++) {
            uint32_t value = model->uses[model->ops[op].first_use + i].value,
                     maker = model->values[value].maker;
            if (maker != MODEL_NONE && out->group_of[maker] != out->group_of[op])
                j->is_outside[value] = true;
        }
    }
    int status = 0;
    for (uint32_t id = 0; id < out->count && status == 0; id++) {
        struct estimate_group *group = &out->groups[id];
        const uint32_t *members = out->members + group->first_member;
        sum_up(group, model, members);
        group->first_input = (uint32_t)out->input_count;
        group->first_output = (uint32_t)out->output_count;
        for (uint32_t m = 0; m < group->members && status == 0; m++) {
            const struct model_op *op = &model->ops[members[m]];
            for (uint32_t i = 0; i < op->uses && status == 0; i++)
                status = add_input(j, group, id, model->uses[op->first_use + i]);
            for (uint32_t i = 0; i < op->results && status == 0; i++)
                status = add_output(j, group, model->results[op->first_result + i]);
        }
        for (uint32_t i = 0; i < group->inputs; i++) {
            group->read_bytes = model_sum(group->read_bytes, out->inputs[group->first_input + i].bytes);
        }
    }
    return status ? error_no_memory(err, "the estimate") : 0;
}

int estimate_groups(struct estimate_groups *groups, const struct model *model, struct error *err)
{
    struct joining j = {.model = model, .out = groups};
    size_t ops = model->op_count + 1, values = model->value_count + 1;
    *groups = (struct estimate_groups){0};
    j.parent = malloc(ops * sizeof j.parent[0]);
    j.has_macs = calloc(ops, sizeof j.has_macs[0]);
    j.readers = calloc(values, sizeof j.readers[0]);
    j.last_seen = malloc(values * sizeof j.last_seen[0]);
    j.is_outside = calloc(values, sizeof j.is_outside[0]);
    groups->group_of = malloc(ops * sizeof groups->group_of[0]);
    groups->last_use = malloc(values * sizeof groups->last_use[0]);
    int status = j.parent && j.has_macs && j.readers && j.last_seen && j.is_outside && groups->group_of &&
                         groups->last_use
                     ? 0
                     : error_no_memory(err, "the estimate");
    if (status == 0) {
        memset(j.last_seen, 0xff, values * sizeof j.last_seen[0]);
        memset(groups->last_use, 0xff, values * sizeof groups->last_use[0]);
        count_readers(&j);
        for (uint32_t op = 0; op < model->op_count; op++) {
            j.parent[op] = op;
            j.has_macs[op] = model_has_macs(model->ops[op].class);
            join(&j, op);
        }
        status = number_groups(&j, err);
    }
    if (status == 0)
        status = list_members(&j, err);
    if (status == 0)
        status = find_borders(&j, err);
    free(j.parent);
    free(j.has_macs);
    free(j.readers);
    free(j.last_seen);
    free(j.is_outside);
    if (status)
        estimate_groups_free(groups);
    return status;
}
