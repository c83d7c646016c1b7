/* SPDX-License-Identifier: Apache-2.0 */
/* Groups on engines beside a memory of their own (an NPU): data is cut into tiles that fit, and while one tile is
 * computed the next is transferred in and the one before out. Transfers in and out share the bandwidth.
 *
 * in(i) starts when the transfers in are free and compute(i - engines - 1) is done, since its buffer is needed;
 * compute(i) runs on the engine that is free first, after in(i) and out(i - engines - 1); out(i) follows compute(i).
 * The next moment at which anything changes is the earliest end of what is under way. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/estimate/draw.h"

#define TILES_MAX 512u /* that are drawn; more are drawn as so many larger ones */

struct tiling {
    uint32_t tiles;
    double in_bytes, out_bytes; /* in all, with what is read twice */
    double kept_bytes;          /* that stay while tiles pass: loaded with the first */
    double peak_bytes;
};

uint64_t estimate_code_bytes(const struct estimate_target *target, uint64_t transfers, uint64_t starts)
{
    double code = (double)transfers * target->code_dma_bytes + (double)starts * target->code_start_bytes;
    double room = target->code_block_max_bytes - target->code_block_bytes;
    double changes = code > 0 && room > 0 ? fmax(ceil(code / room) - 1, 0) : 0;
    return (uint64_t)(code + changes * target->code_block_bytes);
}

static double transfer_rate(const struct estimate_target *target)
{
    double beats = ldexp(1, (int)target->dma_in_mtu);
    return target->dma_bytes_per_cycle * target->dma_factor * beats / (beats + target->dma_setup_beats);
}

/* A matmul neither of whose operands fits: blocks of T x T results. Bytes read in all. */
static double blocked_bytes(const struct model_op *op, double left, double right, double room)
{
    double k_bytes = (double)op->k * (op->data_bits + op->weight_bits) / 8;
    double side = floor(room / 2 / fmax(k_bytes, 1));
    side = fmax(side, 1);
    return ceil((double)op->m / side) * right + ceil((double)op->n / side) * left;
}

/* Bytes that come from outside the chip, those that go there, and what of the inputs is already here. */
static void count_bytes(const struct estimate_drawing *d, const struct estimate_group *group,
                        struct tiling *t)
{
    for (uint32_t i = 0; i < group->inputs; i++) {
        const struct model_use *use = &d->groups->inputs[group->first_input + i];
        if (!d->is_resident[use->value])
            t->in_bytes += (double)use->bytes;
    }
    for (uint32_t i = 0; i < group->outputs; i++) {
        uint32_t value = d->groups->outputs[group->first_output + i];
        if (!d->is_resident[value])
            t->out_bytes += (double)d->model->values[value].bytes;
    }
}

static double input_bytes(const struct estimate_drawing *d, const struct model_op *op, uint32_t i)
{
    const struct model_use *use = i < op->uses ? &d->model->uses[op->first_use + i] : NULL;
    return use && !d->is_resident[use->value] && d->model->values[use->value].origin != MODEL_FILLED
               ? (double)use->bytes
               : 0;
}

static struct tiling tile(const struct estimate_drawing *d, uint32_t id)
{
    const struct estimate_group *group = &d->groups->groups[id];
    const struct estimate_target *target = d->target;
    const struct model_op *root = &d->model->ops[group->root];
    struct tiling t = {.tiles = 1};
    double resident = d->resident_bytes[id];
    double room =
        fmax(target->local_bytes - target->local_reserved_bytes - resident, target->local_bytes / 16);
    count_bytes(d, group, &t);
    double all = t.in_bytes + t.out_bytes;
    t.peak_bytes = resident + all;
    if (all <= room) {
        t.tiles = target->engines > 1 && target->split_bytes > 0 && all > target->split_bytes ? 2 : 1;
        return t;
    }
    double left = input_bytes(d, root, 0), right = input_bytes(d, root, 1), smaller = fmin(left, right);
    if (model_has_macs(group->class) && smaller > 0 && smaller <= room / 2)
        t.kept_bytes = smaller;
    else if (root->class == MODEL_MATMUL && smaller > 0)
        t.in_bytes += fmax(blocked_bytes(root, left, right, room) - left - right, 0);
    double streamed = t.in_bytes + t.out_bytes - t.kept_bytes;
    double tiles = fmax(ceil(2 * streamed / (room - t.kept_bytes)), 2);
    if (root->window > root->stride && root->rows) { /* rows at the border of two tiles are read twice */
        double halo = (double)(root->window - root->stride) * left / (double)root->rows;
        tiles = fmin(tiles, (double)root->rows);
        t.in_bytes += (tiles - 1) * halo;
        streamed += (tiles - 1) * halo;
    }
    t.tiles = (uint32_t)fmin(tiles, TILES_MAX);
    t.peak_bytes = resident + fmin(room, t.kept_bytes + 2 * streamed / tiles);
    return t;
}

/* --- the pipeline of one group --- */

struct pipeline {
    struct estimate_drawing *d;
    uint32_t id;
    struct tiling tiling;
    double compute;           /* cycles of one tile */
    double in_each, out_each; /* bytes of one tile */
    double rate, duplex;
    unsigned engines;
    uint32_t ins, computes, outs;                /* started */
    uint32_t ins_done, computes_done, outs_done; /* in order */
    double in_left, out_left, in_start, out_start;
    bool in_is_active, out_is_active;
    double *engine_end;  /* when it is free */
    double *compute_end; /* by tile, in a ring */
};

static void start_what_can(struct pipeline *p)
{
    struct estimate_drawing *d = p->d;
    uint32_t depth = p->engines + 1, tiles = p->tiling.tiles;
    if (!p->in_is_active && p->ins < tiles && p->ins < p->computes_done + depth) {
        p->in_left = p->in_each + (p->ins == 0 ? p->tiling.kept_bytes : 0);
        p->in_start = d->now;
        p->in_is_active = true;
        p->ins++;
    }
    while (p->computes < p->ins_done && p->computes < p->outs_done + depth) {
        unsigned best = 0;
        for (unsigned i = 1; i < p->engines; i++)
            best = p->engine_end[i] < p->engine_end[best] ? i : best;
        if (p->engine_end[best] > d->now)
            break;
        double start = d->now + d->target->start_cycles, end = start + p->compute;
        if (p->compute > 0)
            estimate_add_unit(d, p->id, d->engine_lanes[best], d->now, end, UINT64_MAX);
        p->engine_end[best] = p->compute_end[p->computes % ESTIMATE_RING] = p->compute > 0 ? end : d->now;
        p->computes++;
    }
    if (!p->out_is_active && p->outs < p->computes_done) {
        p->out_left = p->out_each;
        p->out_start = d->now;
        p->out_is_active = true;
        p->outs++;
    }
}

static void finish_what_is_done(struct pipeline *p)
{
    struct estimate_drawing *d = p->d;
    if (p->in_is_active && p->in_left <= 1e-6) {
        double bytes = p->in_each + (p->ins == 1 ? p->tiling.kept_bytes : 0);
        p->in_is_active = false;
        p->ins_done++;
        if (bytes > 0)
            estimate_add_unit(d, p->id, d->in_lane, p->in_start, d->now, (uint64_t)bytes);
    }
    while (p->computes_done < p->computes &&
           p->compute_end[p->computes_done % ESTIMATE_RING] <= d->now + 1e-6)
        p->computes_done++;
    if (p->out_is_active && p->out_left <= 1e-6) {
        p->out_is_active = false;
        p->outs_done++;
        if (p->out_each > 0)
            estimate_add_unit(d, p->id, d->out_lane, p->out_start, d->now, (uint64_t)p->out_each);
    }
}

/* To the next end of anything; false: nothing is under way. */
static bool advance(struct pipeline *p)
{
    struct estimate_drawing *d = p->d;
    bool both = p->in_is_active && p->out_is_active && p->in_left > 0 && p->out_left > 0;
    double each = both ? p->rate * fmin(1, p->duplex / 2) : p->rate, step = INFINITY;
    if (p->in_is_active)
        step = fmin(step, p->in_left / each);
    if (p->out_is_active)
        step = fmin(step, p->out_left / each);
    for (uint32_t i = p->computes_done; i < p->computes; i++)
        step = fmin(step, fmax(p->compute_end[i % ESTIMATE_RING] - d->now, 0));
    if (!isfinite(step))
        return false;
    d->now += step;
    if (p->in_is_active)
        p->in_left -= step * each;
    if (p->out_is_active)
        p->out_left -= step * each;
    return true;
}

static void set_lanes(struct estimate_drawing *d, unsigned engines)
{
    if (d->in_lane != TIMELINE_NONE)
        return;
    d->in_lane = timeline_lane(d->timeline, "DMA In", TIMELINE_DMA_IN, 0);
    d->out_lane = timeline_lane(d->timeline, "DMA Out", TIMELINE_DMA_OUT, 0);
    for (unsigned i = 0; i < engines; i++) {
        char name[32];
        snprintf(name, sizeof name, "Slice %u", i);
        d->engine_lanes[i] = timeline_lane(d->timeline, name, TIMELINE_SLICE, i);
    }
}

static void run_tiles(struct pipeline *p)
{
    while (p->outs_done < p->tiling.tiles) {
        start_what_can(p);
        if (!advance(p))
            break;
        finish_what_is_done(p);
    }
}

/* Code for the sequencer and the engines comes before the data. */
static void transfer_code(struct pipeline *p)
{
    const struct estimate_group *group = &p->d->groups->groups[p->id];
    uint64_t transfers = (uint64_t)p->tiling.tiles * (group->inputs + group->outputs) + 1;
    double bytes = (double)estimate_code_bytes(p->d->target, transfers, p->tiling.tiles);
    bytes += p->compute > 0 ? p->d->target->code_program_bytes : 0;
    if (bytes <= 0)
        return;
    double start = p->d->now;
    p->d->now += ceil(bytes / p->rate);
    estimate_add_unit(p->d, p->id, p->d->in_lane, start, p->d->now, (uint64_t)bytes);
}

/* --- what no engine can do --- */

static void draw_processor(struct estimate_drawing *d, uint32_t id)
{
    const struct estimate_group *group = &d->groups->groups[id];
    const struct estimate_target *target = d->target;
    double elements = (double)group->operations + (double)group->macs;
    double bytes = (double)group->read_bytes + (double)group->write_bytes;
    bool is_host = target->processor_memory_bytes <= 0 || bytes > target->processor_memory_bytes;
    double cycles_per_ns = target->clock_mhz / 1000;
    double cycles = fmax(target->processor_cycles, elements * target->processor_cycles_per_element);
    if (is_host)
        cycles = (elements * target->host_ns_per_element + bytes / target->host_gb_s) * cycles_per_ns;
    uint32_t lane = is_host ? timeline_lane(d->timeline, "Host", TIMELINE_HOST, 0)
                            : timeline_lane(d->timeline, "CSS", TIMELINE_CORE, 0);
    d->timeline->ops[id].bound = TIMELINE_BOUND_COMPUTE;
    double end = d->now + cycles * estimate_scale(target, group->class, group->format);
    estimate_add_unit(d, id, lane, d->now, end, UINT64_MAX);
    d->now = end;
}

/* Outputs that are only read soon, and leave half of the memory free until then, stay on the chip. */
static void keep_outputs(struct estimate_drawing *d, uint32_t id)
{
    const struct estimate_group *group = &d->groups->groups[id];
    const uint32_t horizon = 64;
    double limit = (d->target->local_bytes - d->target->local_reserved_bytes) / 2;
    for (uint32_t i = 0; i < group->outputs; i++) {
        uint32_t value = d->groups->outputs[group->first_output + i], last = d->groups->last_use[value];
        double bytes = (double)d->model->values[value].bytes;
        bool fits =
            last != MODEL_NONE && last > id && last - id <= horizon && !d->model->values[value].is_result;
        for (uint32_t g = id; fits && g <= last; g++)
            fits = d->resident_bytes[g] + bytes <= limit;
        for (uint32_t g = id; fits && g <= last; g++)
            d->resident_bytes[g] += bytes;
        d->is_resident[value] = fits;
    }
}

void estimate_draw_dma(struct estimate_drawing *d, uint32_t id)
{
    const struct estimate_group *group = &d->groups->groups[id];
    const struct estimate_target *target = d->target;
    struct timeline_op *op = &d->timeline->ops[id];
    double cycles = estimate_engine_cycles(d->groups, group, d->model, target), start = d->now;
    if (cycles < 0) {
        draw_processor(d, id);
        return;
    }
    keep_outputs(d, id);
    struct pipeline p = {.d = d,
                         .id = id,
                         .tiling = tile(d, id),
                         .rate = transfer_rate(target),
                         .duplex = fmax(target->dma_duplex, 1),
                         .engine_end = d->engine_end,
                         .compute_end = d->compute_end};
    p.engines = (unsigned)fmin(fmax(target->engines, 1), ESTIMATE_ENGINES_MAX);
    /* Engines beyond those that are drawn work with them on the same tile. */
    double scale = estimate_scale(target, group->class, group->format);
    double steps = d->model->ops[group->root].steps; /* of a recurrent layer, which one engine does */
    p.compute = cycles * scale / p.tiling.tiles / (target->engines / p.engines);
    p.in_each = (p.tiling.in_bytes - p.tiling.kept_bytes) / p.tiling.tiles;
    p.out_each = p.tiling.out_bytes / p.tiling.tiles;
    if (steps > 1)
        p.compute = cycles * scale + steps * target->start_cycles;
    for (unsigned i = 0; i < p.engines; i++)
        p.engine_end[i] = start;
    set_lanes(d, p.engines);
    transfer_code(&p);
    run_tiles(&p);
    d->now = ceil(d->now);
    double moving = (p.tiling.in_bytes + p.tiling.out_bytes) / p.rate,
           computing = cycles * scale / target->engines;
    op->bound = moving >= computing ? TIMELINE_BOUND_MEMORY : TIMELINE_BOUND_COMPUTE;
    op->tiles = p.tiling.tiles;
    op->peak_bytes = (uint64_t)(target->local_reserved_bytes + p.tiling.peak_bytes);
    const struct model_op *root = &d->model->ops[group->root];
    double rate = estimate_mac_rate(target, root->number, root->data_bits, root->weight_bits);
    if (group->macs && rate > 0 && d->now > start)
        op->utilisation = (double)group->macs / (rate * target->engines * (d->now - start));
}
