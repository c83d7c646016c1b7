/* SPDX-License-Identifier: Apache-2.0 */
/* Where the runs of the model are in the trace. Runs that were recorded know it; those of another tool's table were
 * read with that tool's figures, and are found again by their device and first tick. */
#include <stdlib.h>

#include "analyze/overview/internal.h"
#include "base/map.h"

#define TICK_BITS 50u

struct found_run {
    uint32_t track;
    uint64_t start_ns;
};

struct finding {
    struct map index; /* by device and tick */
    struct found_run *runs;
    size_t count, capacity;
};

static bool key_of(uint64_t device, uint64_t ticks, uint64_t *key)
{
    *key = device << TICK_BITS | ticks;
    return ticks >> TICK_BITS == 0 && device >> (64 - TICK_BITS) == 0;
}

/* The device that a track is, or is a part of. */
static const struct trace_track *device_of(const struct trace *trace, const struct trace_track *track)
{
    for (unsigned depth = 0; track && track->kind != TRACE_TRACK_DEVICE && depth < 8; depth++)
        track = track->parent == TRACE_NONE ? NULL : trace_get_track(trace, track->parent);
    return track;
}

static bool add_runs(struct finding *f, const struct trace *trace, const struct trace_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct trace_run *run = &rows->runs[i];
        const struct trace_track *track = trace_get_track(trace, run->track);
        const struct trace_track *device = device_of(trace, track);
        uint64_t key;
        if (!device || !key_of(device->number, run->start, &key))
            continue;
        if (!array_reserve(&f->runs, &f->capacity, f->count + 1, sizeof f->runs[0]) ||
            !map_put(&f->index, key, (uint32_t)f->count))
            return false;
        f->runs[f->count++] = (struct found_run){run->track, trace_host_ns(trace, track->clock, run->start)};
    }
    return true;
}

static int find_runs(struct finding *f, struct trace *trace, struct error *err)
{
    struct trace_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0;
    int status = 0;
    while (!status && (block = trace_next_block(trace, &(struct trace_block_filter){.type = TRACE_BLOCK_RUNS},
                                                &position))) {
        status = trace_decode_rows(trace, block, &rows, err);
        if (!status && !add_runs(f, trace, &rows))
            status = error_no_memory(err, "the runs of ops");
    }
    trace_rows_free(&rows);
    return status;
}

int overview_place_runs(struct overview *o, const struct ops *ops, struct error *err)
{
    struct finding f = {0};
    bool is_any_missing = false;
    int status = 0;
    o->places = malloc((ops->run_count + 1) * sizeof o->places[0]);
    if (!o->places)
        return error_no_memory(err, "the runs of ops");
    for (size_t i = 0; i < ops->run_count; i++)
        is_any_missing |= ops->runs[i].track == OPS_NONE;
    if (is_any_missing)
        status = find_runs(&f, o->trace, err);
    for (size_t i = 0; i < ops->run_count; i++) {
        const struct op_run *run = &ops->runs[i];
        uint64_t key;
        uint32_t id = MAP_NONE;
        struct op_ticks at = ops_ticks(ops, run);
        if (run->track == OPS_NONE && at.end > at.start && run->device < ops->device_count &&
            key_of(ops->devices[run->device].number, at.start, &key))
            id = map_get(&f.index, key);
        o->places[i] = run->track != OPS_NONE ? (struct overview_place){run->track, run->start_ns}
                       : id != MAP_NONE       ? (struct overview_place){f.runs[id].track, f.runs[id].start_ns}
                                              : (struct overview_place){TRACE_NONE, UINT64_MAX};
    }
    map_free(&f.index);
    free(f.runs);
    return status;
}

struct overview_place overview_place_of(const struct overview *o, const struct perf_row *row)
{
    uint32_t run = perf_line(&o->perf, row)->run;
    const struct op_call *call = perf_call(&o->perf, row);
    if (run != OPS_NONE && o->places[run].track != TRACE_NONE)
        return o->places[run];
    if (call && !(call->faults & OP_FAULT_NO_HOST_TIME) && call->track != OPS_NONE)
        return (struct overview_place){call->track, call->start_ns};
    return (struct overview_place){TRACE_NONE, UINT64_MAX};
}
