/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/from_trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ops/description.h"

_Static_assert((unsigned)OP_FIGURE_TICKS == TRACE_FIGURE_TICKS && (unsigned)OP_FIGURE_NS == TRACE_FIGURE_NS &&
                   (unsigned)OP_FIGURE_COUNT == TRACE_FIGURE_COUNT &&
                   (unsigned)OP_FIGURE_BYTES == TRACE_FIGURE_BYTES &&
                   (unsigned)OP_FIGURE_REAL == TRACE_FIGURE_REAL &&
                   (unsigned)OP_FIGURE_PERCENT == TRACE_FIGURE_PERCENT &&
                   (unsigned)OP_FIGURE_TEXT == TRACE_FIGURE_TEXT &&
                   (unsigned)OP_FIGURE_KINDS == TRACE_FIGURE_KINDS,
               "figures have the same kinds in a trace");
_Static_assert((unsigned)OP_TYPE_DEVICE == TRACE_OP_DEVICE && (unsigned)OP_TYPE_HOST == TRACE_OP_HOST &&
                   (unsigned)OP_TYPE_FALLBACK == TRACE_OP_FALLBACK,
               "ops have the same types in a trace");
_Static_assert((unsigned)OP_RUN_ESTIMATED == TRACE_RUN_ESTIMATED, "runs have the same flags in a trace");

struct ids { /* of the trace to those of the model; UNKNOWN where it was not asked for yet */
    uint32_t *items;
    size_t count;
};
#define UNKNOWN (UINT32_MAX - 1)

struct reading {
    struct ops *ops;
    struct trace *trace;
    const struct ops_wanted *wanted;
    struct ids names, descriptions, devices; /* devices: by track */
    uint32_t last_call;                      /* of the run before */
};

static uint32_t *id_at(struct reading *r, struct ids *ids, uint32_t id)
{
    size_t known = ids->count;
    if (id >= ids->count && !array_reserve(&ids->items, &ids->count, (size_t)id + 1, sizeof ids->items[0])) {
        r->ops->failed = true;
        return NULL;
    }
    for (size_t i = known; i < ids->count; i++)
        ids->items[i] = UNKNOWN;
    return &ids->items[id];
}

static uint32_t name_of(struct reading *r, uint32_t name)
{
    uint32_t *id = name == TRACE_NONE ? NULL : id_at(r, &r->names, name);
    if (id && *id == UNKNOWN)
        *id = ops_text(r->ops, slice_of(trace_get_name(r->trace, name)->name));
    return id ? *id : OPS_NONE;
}

static uint32_t description_of(struct reading *r, uint32_t description)
{
    size_t count = 0;
    const struct trace_part *parts =
        description == TRACE_NONE ? NULL : trace_get_description(r->trace, description, &count);
    uint32_t *id = parts ? id_at(r, &r->descriptions, description) : NULL;
    if (id && *id == UNKNOWN)
        *id = ops_parse_parts(r->ops, parts, count);
    return id ? *id : OPS_NONE;
}

/* The device on whose track, or below it, something ran. */
static uint32_t device_of(struct reading *r, uint32_t track)
{
    const struct trace_track *at = trace_get_track(r->trace, track), *device = NULL;
    uint32_t *id = at ? id_at(r, &r->devices, track) : NULL;
    if (!id || *id != UNKNOWN)
        return id ? *id : OPS_NONE;
    *id = OPS_NONE;
    for (unsigned steps = 0; at && steps < 64; steps++) { /* a damaged trace may have parents in a circle */
        if (at->kind == TRACE_TRACK_DEVICE)
            device = at;
        at = at->parent == TRACE_NONE ? NULL : trace_get_track(r->trace, at->parent);
    }
    if (!device || device->number > UINT32_MAX - 1)
        return OPS_NONE;
    *id = ops_device(r->ops, (uint32_t)device->number);
    if (*id == OPS_NONE)
        return OPS_NONE;
    struct op_device *known = &r->ops->devices[*id];
    const struct trace_clock *clock = trace_get_clock(r->trace, device->clock);
    if (known->name == OPS_NONE)
        known->name = ops_text(r->ops, slice_of(device->name));
    if (known->architecture == OPS_NONE && device->architecture && device->architecture[0])
        known->architecture = ops_text(r->ops, slice_of(device->architecture));
    if (clock && clock->is_device && known->ticks_per_second == 0)
        known->ticks_per_second = clock->ticks_per_second;
    return *id;
}

static void read_op(struct reading *r, const struct trace_op *op)
{
    struct ops *ops = r->ops;
    if (r->wanted->wants_call && !r->wanted->wants_call(r->wanted->context, op))
        return;
    if (ops_find_call(ops, op->process, op->call) != OPS_NONE) {
        ops_add_notice(ops, OP_NOTICE_KIND_REPEATED, OP_NOTICE_DAMAGED, 0,
                       "call %" PRIu64 " comes again: the second is left out", op->call);
        return;
    }
    ops_add_call(
        ops, &(struct op_call){.number = op->call,
                               .start_ns = op->start_ns,
                               .end_ns = op->end_ns > op->start_ns || !op->end_ns ? op->end_ns : op->start_ns,
                               .process = op->process,
                               .track = op->track,
                               .name = name_of(r, op->name),
                               .description = description_of(r, op->description),
                               .device = op->device == TRACE_NONE ? OPS_NONE : ops_device(ops, op->device),
                               .faults = op->end_ns ? 0 : OP_FAULT_OPEN,
                               .type = op->type <= TRACE_OP_FALLBACK ? (uint8_t)op->type : OP_TYPE_HOST});
}

/* Devices mostly run ops in the order in which they were called: the call after the last one is tried first. */
static uint32_t call_of(struct reading *r, const struct trace_run *run)
{
    const struct ops *ops = r->ops;
    uint32_t next = r->last_call + 1;
    if (run->call == 0)
        return OPS_NONE;
    if (next >= ops->call_count || ops->calls[next].number != run->call ||
        ops->calls[next].process != run->process)
        next = ops_find_call(ops, run->process, run->call);
    r->last_call = next;
    return next;
}

static void read_run(struct reading *r, const struct trace_run *run)
{
    const struct trace_track *track = trace_get_track(r->trace, run->track);
    uint32_t clock = track ? track->clock : TRACE_HOST_CLOCK, device = device_of(r, run->track);
    uint64_t start_ns = trace_host_ns(r->trace, clock, run->start);
    uint64_t end_ns = trace_host_ns(r->trace, clock, run->start + run->duration);
    ops_add_run(r->ops, &(struct op_run){.start_ticks = run->start,
                                         .end_ticks = run->start + run->duration,
                                         .start_ns = start_ns,
                                         .duration_ns = end_ns > start_ns ? end_ns - start_ns : 0,
                                         .gap_ns = OPS_NO_GAP,
                                         .call = call_of(r, run),
                                         .track = track ? run->track : OPS_NONE,
                                         .session = run->session,
                                         .cores = run->cores,
                                         .device = device == OPS_NONE ? OPS_NO_DEVICE : (uint16_t)device,
                                         .flags = (uint16_t)(run->flags & TRACE_RUN_ESTIMATED)});
    for (uint32_t i = 0; r->wanted->figures && i < run->part_count; i++) {
        const struct trace_run_part *part = &run->parts[i];
        struct op_figure figure = {.name = name_of(r, part->name), .kind = part->kind, .whole = part->whole};
        if (part->kind == TRACE_FIGURE_TEXT)
            figure.whole = name_of(r, (uint32_t)part->whole);
        ops_add_figure(r->ops, figure);
    }
}

static void read_point(struct reading *r, const struct trace_point *point)
{
    if (point->kind != TRACE_POINT_SIGNPOST ||
        (r->wanted->wants_point && !r->wanted->wants_point(r->wanted->context, point)))
        return;
    ops_add_signpost(r->ops, point->time, slice_of(point->header),
                     slice_from(point->text, point->text_length));
    if (!r->ops->failed)
        r->ops->signposts[r->ops->signpost_count - 1].track = point->track;
}

static int read_blocks(struct reading *r, uint32_t type, struct error *err)
{
    struct trace_block_filter filter = {.type = type};
    struct trace_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0;
    int result = 0;
    while (result == 0 && !r->ops->failed && (block = trace_next_block(r->trace, &filter, &position))) {
        result = trace_decode_rows(r->trace, block, &rows, err);
        for (size_t i = 0; result == 0 && i < rows.count && !r->ops->failed; i++) {
            if (type == TRACE_BLOCK_OPS)
                read_op(r, &rows.ops[i]);
            else if (type == TRACE_BLOCK_RUNS)
                read_run(r, &rows.runs[i]);
            else
                read_point(r, &rows.points[i]);
        }
    }
    trace_rows_free(&rows);
    return result;
}

int ops_from_trace(struct ops *ops, struct trace *trace, const struct ops_wanted *wanted, struct error *err)
{
    static const struct ops_wanted everything = {0};
    struct reading r = {
        .ops = ops, .trace = trace, .wanted = wanted ? wanted : &everything, .last_call = OPS_NONE};
    int result = read_blocks(&r, TRACE_BLOCK_OPS, err);
    if (result == 0)
        result = read_blocks(&r, TRACE_BLOCK_RUNS, err);
    if (result == 0 && r.wanted->signposts)
        result = read_blocks(&r, TRACE_BLOCK_POINTS, err);
    free(r.names.items);
    free(r.descriptions.items);
    free(r.devices.items);
    return result ? result : ops_check(ops, err);
}
