/* SPDX-License-Identifier: Apache-2.0 */
/* Groups on engines that load and store themselves (a CPU, a GPU): one after the other, each on as many engines as its
 * work pays for. A group takes as long as the slower of its compute and its traffic; a value is read from the shared
 * cache if what was touched since its last use fits there. */
#include <math.h>

#include "analyze/estimate/draw.h"

#define NS_PER_US 1000.0

static double engines_for(const struct estimate_target *target, double bytes, double macs)
{
    double wanted = floor((bytes + macs / 16) / fmax(target->bytes_per_engine, 1));
    return fmax(1, fmin(target->engines, wanted));
}

/* Nanoseconds of the traffic, as the shared levels limit it. */
static double shared_ns(struct estimate_drawing *d, const struct estimate_group *group)
{
    double cached = 0, far = 0;
    for (uint32_t i = 0; i < group->inputs; i++) {
        const struct model_use *use = &d->groups->inputs[group->first_input + i];
        bool is_new = d->touched[use->value] < 0;
        bool is_cached = is_new ? d->is_warm : d->traffic - d->touched[use->value] <= d->target->cache_bytes;
        *(is_cached ? &cached : &far) += (double)use->bytes;
        d->traffic += (double)use->bytes;
        d->touched[use->value] = d->traffic;
    }
    for (uint32_t i = 0; i < group->outputs; i++) {
        uint32_t value = d->groups->outputs[group->first_output + i];
        double bytes = (double)d->model->values[value].bytes;
        *(bytes <= d->target->cache_bytes ? &cached : &far) += bytes;
        d->traffic += bytes;
        d->touched[value] = d->traffic;
    }
    return cached / d->target->cache_gb_s + far / d->target->dram_gb_s;
}

void estimate_draw_cache(struct estimate_drawing *d, uint32_t id)
{
    const struct estimate_group *group = &d->groups->groups[id];
    const struct estimate_target *target = d->target;
    struct timeline_op *op = &d->timeline->ops[id];
    double cycles_per_ns = target->clock_mhz / 1000,
           bytes = (double)group->read_bytes + (double)group->write_bytes;
    double engines = engines_for(target, bytes, (double)group->macs);
    double one = estimate_engine_cycles(d->groups, group, d->model, target);
    if (one < 0) /* no instructions for it: element by element */
        one = (double)group->macs + (double)group->operations;
    double compute_ns = one / cycles_per_ns / engines;
    double memory_ns = fmax(bytes / (engines * target->core_gb_s), shared_ns(d, group));
    double scale = estimate_scale(target, group->class, group->format);
    double ns = fmax(fmax(compute_ns, memory_ns) * scale, target->floor_ns);
    double start =
        d->now + (engines > 1 ? target->fork_join_us : target->launch_us) * NS_PER_US * cycles_per_ns;
    double end = start + ns * cycles_per_ns;
    op->bound = ns <= target->floor_ns    ? TIMELINE_BOUND_LAUNCH
                : compute_ns >= memory_ns ? TIMELINE_BOUND_COMPUTE
                                          : TIMELINE_BOUND_MEMORY;
    double tiles = ceil(bytes / fmax(target->local_bytes / 2, 1));
    op->tiles = (uint32_t)fmin(fmax(tiles, 1), UINT32_MAX);
    op->peak_bytes = (uint64_t)fmin(bytes, target->local_bytes);
    double rate = estimate_mac_rate(target, group->number, d->model->ops[group->root].data_bits,
                                    d->model->ops[group->root].weight_bits);
    if (group->macs && rate > 0 && end > start)
        op->utilisation = (double)group->macs / (rate * target->engines * (end - start));
    if (d->in_lane == TIMELINE_NONE) {
        d->engine_lanes[0] = timeline_lane(d->timeline, "engines", TIMELINE_SLICE, 0);
        d->in_lane = timeline_lane(d->timeline, "memory", TIMELINE_DMA_IN, 0);
    }
    estimate_add_unit(d, id, d->engine_lanes[0], start, end, UINT64_MAX);
    if (bytes > 0)
        estimate_add_unit(d, id, d->in_lane, start, fmin(end, start + memory_ns * scale * cycles_per_ns),
                          (uint64_t)bytes);
    d->now = end;
}
