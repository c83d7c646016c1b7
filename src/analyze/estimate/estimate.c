/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/estimate/estimate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/estimate/draw.h"
#include "base/bytes.h"

#define CYCLES_MAX 9e18 /* what a timeline can hold */

static uint64_t cycle(double value)
{
    return value < CYCLES_MAX ? (uint64_t)llround(value) : (uint64_t)CYCLES_MAX;
}

/* A text that many ops have; `known` is where it is kept. */
static uint32_t shared_text(struct estimate_drawing *d, uint32_t *known, const char *text)
{
    if (*known == TIMELINE_NONE)
        *known = timeline_text(d->timeline, slice_of(text));
    return *known;
}

void estimate_add_unit(struct estimate_drawing *d, uint32_t group, uint32_t lane, double start, double end,
                       uint64_t bytes)
{
    const struct model_op *root = &d->model->ops[d->groups->groups[group].root];
    struct timeline_op *op = &d->timeline->ops[group];
    struct timeline_unit *unit = timeline_add_unit(d->timeline);
    if (!unit)
        return;
    unit->start = cycle(start);
    unit->end = cycle(end);
    unit->ready = unit->end;
    unit->bytes = bytes;
    unit->lane = lane;
    unit->dispatch = d->dispatch;
    unit->name = op->name;
    unit->location = op->location;
    unit->source = root->source;
    unit->op = group;
    op->start = op->start < unit->start ? op->start : unit->start;
    op->end = op->end > unit->end ? op->end : unit->end;
}

/* "with tosa.rescale, tosa.clamp": what else runs as part of a group. */
static uint32_t fused_text(struct estimate_drawing *d, const struct estimate_group *group)
{
    struct bytes text = {0};
    uint32_t shown = 0;
    for (uint32_t i = 0; i < group->members; i++) {
        uint32_t op = d->groups->members[group->first_member + i];
        if (op == group->root)
            continue;
        if (shown++ < 8)
            bytes_append_format(&text, "%s%s", shown == 1 ? "with " : ", ",
                                timeline_get_text(d->timeline, d->model->ops[op].name));
    }
    if (shown > 8)
        bytes_append_format(&text, " and %u more", shown - 8);
    uint32_t id = shown ? timeline_text(d->timeline, slice_of(bytes_text(&text))) : TIMELINE_NONE;
    d->timeline->failed |= text.failed;
    bytes_free(&text);
    return id;
}

static void add_op(struct estimate_drawing *d, const struct estimate_group *group)
{
    const struct model_op *root = &d->model->ops[group->root];
    uint32_t fused = fused_text(d, group);
    struct timeline_op *op = timeline_add_op(d->timeline);
    if (!op)
        return;
    op->name = root->name;
    op->class = shared_text(d, &d->class_texts[group->class], model_class_text(group->class));
    op->number = shared_text(d, &d->format_texts[group->format], model_format_text(group->format));
    op->type = timeline_text(d->timeline, slice_of(model_type_text(root->number, root->number_bits)));
    op->location = root->location;
    op->dispatch = d->dispatch;
    op->source = root->source;
    op->macs = group->macs;
    op->operations = group->operations;
    op->read_bytes = group->read_bytes;
    op->write_bytes = group->write_bytes;
    for (uint32_t i = 0; i < group->inputs; i++) {
        const struct model_use *input = &d->groups->inputs[group->first_input + i];
        if (d->model->values[input->value].origin == MODEL_WEIGHT)
            op->weight_bytes = model_sum(op->weight_bytes, input->bytes);
    }
    op->note = group->fault != MODEL_FINE
                   ? timeline_text(d->timeline, slice_of(model_fault_text(group->fault)))
                   : fused;
    op->start = UINT64_MAX; /* until it has units */
    for (uint32_t i = 0; i < group->members; i++) {
        uint32_t member = d->groups->members[group->first_member + i];
        timeline_add_place(d->timeline, d->model->ops[member].source);
    }
}

/* One notice per op that is unknown, or whose sizes are. */
static void add_notices(struct estimate_drawing *d)
{
    for (uint32_t i = 0; i < d->model->op_count; i++) {
        const struct model_op *op = &d->model->ops[i];
        if (op->fault != MODEL_FINE && op->class != MODEL_FREE)
            timeline_add_notice(d->timeline, op->source, "%s at %s: %s",
                                timeline_get_text(d->timeline, op->name),
                                timeline_get_text(d->timeline, op->location), model_fault_text(op->fault));
    }
}

static void begin_dispatch(struct estimate_drawing *d, const struct estimate_group *group)
{
    bool is_first = d->timeline->dispatch_count == 0;
    uint32_t id = d->model->ops[group->root].group;
    if (!is_first && id == MODEL_NONE)
        return;
    uint32_t name =
        id == MODEL_NONE ? timeline_text(d->timeline, slice_of("model")) : d->model->groups[id].name;
    struct timeline_dispatch *dispatch = timeline_add_dispatch(d->timeline);
    if (dispatch)
        *dispatch = (struct timeline_dispatch){.name = name, .start = cycle(d->now), .end = cycle(d->now)};
    d->dispatch = (uint32_t)d->timeline->dispatch_count - 1;
}

static bool has_cost(const struct estimate_group *group)
{
    return group->fault != MODEL_DYNAMIC_SHAPE && group->fault != MODEL_UNKNOWN_SHAPE;
}

/* The peak of a dispatch is that of the model: bytes of values and weights that are alive at once, at most. */
static int set_live_bytes(struct estimate_drawing *d, struct error *err)
{
    const struct model *model = d->model;
    double now = 0, peak = 0;
    size_t count = d->groups->count;
    double *change = calloc(count + 2, sizeof change[0]);
    if (!change)
        return error_no_memory(err, "the estimate");
    for (uint32_t v = 0; v < model->value_count; v++) {
        const struct model_value *value = &model->values[v];
        uint32_t maker = value->maker == MODEL_NONE ? MODEL_NONE : d->groups->group_of[value->maker];
        uint32_t last = d->groups->last_use[v];
        bool is_needed = last != MODEL_NONE || value->is_result;
        if (value->root != v || value->origin == MODEL_FILLED || !is_needed ||
            (value->origin == MODEL_COMPUTED && maker == MODEL_NONE))
            continue;
        bool stays = value->origin != MODEL_COMPUTED || value->is_result || last == MODEL_NONE;
        change[value->origin == MODEL_COMPUTED && maker != MODEL_NONE ? maker : 0] += (double)value->bytes;
        change[stays ? count : last + 1u] -= (double)value->bytes;
    }
    for (size_t i = 0; i < count; i++) {
        now += change[i];
        peak = fmax(peak, now);
    }
    free(change);
    for (size_t i = 0; i < d->timeline->dispatch_count; i++)
        d->timeline->dispatches[i].peak_bytes = cycle(peak);
    return 0;
}

static bool is_warm(const struct model *model, const struct estimate_target *target)
{
    double bytes = 0;
    for (uint32_t v = 0; v < model->value_count; v++) {
        const struct model_value *value = &model->values[v];
        if (value->root == v && (value->origin == MODEL_ARGUMENT || value->origin == MODEL_WEIGHT))
            bytes += (double)value->bytes;
    }
    return bytes <= target->cache_bytes;
}

static void draw_all(struct estimate_drawing *d)
{
    const struct estimate_groups *groups = d->groups;
    for (uint32_t id = 0; id < groups->count && !d->timeline->failed; id++) {
        const struct estimate_group *group = &groups->groups[id];
        begin_dispatch(d, group);
        add_op(d, group);
        if (d->timeline->failed)
            return;
        if (has_cost(group)) {
            if (d->target->kind == ESTIMATE_DMA)
                estimate_draw_dma(d, id);
            else
                estimate_draw_cache(d, id);
        }
        struct timeline_dispatch *dispatch = &d->timeline->dispatches[d->dispatch];
        struct timeline_op *op = &d->timeline->ops[id];
        if (op->start == UINT64_MAX)
            op->start = op->end = cycle(d->now);
        if (d->model->ops[group->root].group != MODEL_NONE) /* a gap before it is not part of it */
            dispatch->start = op->start;
        dispatch->end = cycle(d->now);
        if (op->peak_bytes > dispatch->peak_bytes)
            dispatch->peak_bytes = op->peak_bytes;
    }
}

static void begin(struct estimate_drawing *d, struct model *model)
{
    d->timeline->texts = model->texts;
    model->texts = (struct intern){0};
    d->in_lane = d->out_lane = TIMELINE_NONE;
    memset(d->class_texts, 0xff, sizeof d->class_texts); /* TIMELINE_NONE */
    memset(d->format_texts, 0xff, sizeof d->format_texts);
}

static int begin_cache(struct estimate_drawing *d, struct error *err)
{
    d->touched = malloc((d->model->value_count + 1) * sizeof d->touched[0]);
    if (!d->touched)
        return error_no_memory(err, "the estimate");
    for (size_t i = 0; i < d->model->value_count; i++)
        d->touched[i] = -1;
    d->is_warm = is_warm(d->model, d->target);
    return 0;
}

static int begin_dma(struct estimate_drawing *d, struct error *err)
{
    d->is_resident = calloc(d->model->value_count + 1, sizeof d->is_resident[0]);
    d->resident_bytes = calloc(d->groups->count + 1, sizeof d->resident_bytes[0]);
    return d->is_resident && d->resident_bytes ? 0 : error_no_memory(err, "the estimate");
}

int estimate_model(struct timeline *timeline, struct model *model, const struct estimate_target *target,
                   struct error *err)
{
    struct estimate_groups groups = {0};
    struct estimate_drawing d = {.timeline = timeline, .model = model, .groups = &groups, .target = target};
    *timeline = (struct timeline){.is_analytic = true, .clock_mhz = target->clock_mhz};
    if (target->kind == ESTIMATE_NO_TARGET)
        return error_set(err, EINVAL, "%s has no figures for estimates", target->name);
    int status = estimate_groups(&groups, model, err);
    if (status)
        return status;
    begin(&d, model);
    status = target->kind == ESTIMATE_CACHE ? begin_cache(&d, err) : begin_dma(&d, err);
    if (status == 0) {
        add_notices(&d);
        draw_all(&d);
        if (target->kind == ESTIMATE_CACHE)
            status = set_live_bytes(&d, err);
        if (status == 0)
            status = timeline_check(timeline, err);
    }
    free(d.touched);
    free(d.is_resident);
    free(d.resident_bytes);
    estimate_groups_free(&groups);
    return status;
}
