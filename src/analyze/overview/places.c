/* SPDX-License-Identifier: Apache-2.0 */
/* Where the runs of the model are in the trace. Runs that were recorded know it; those of another tool's table were
 * read with that tool's figures, and are found again by their device and first tick. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/overview/internal.h"
#include "base/checked.h"
#include "base/map.h"
#include "ops/finish.h"

#define TICK_BITS 50u

struct found_run {
    uint32_t track, name, next; /* next: another one that begins then on the device; MAP_NONE */
    uint64_t start_ns, end_ns, end_ticks;
};

struct finding {
    const struct trace *trace;
    const struct ops *ops;
    struct map index; /* by device and first tick: the newest */
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
        uint64_t end_ticks = saturating_add_u64(run->start, run->duration);
        uint32_t next = map_get(&f->index, key);
        if (!array_reserve(&f->runs, &f->capacity, f->count + 1, sizeof f->runs[0]) ||
            !map_put(&f->index, key, (uint32_t)f->count))
            return false;
        f->runs[f->count++] = (struct found_run){.track = run->track,
                                                 .name = run->name,
                                                 .next = next,
                                                 .start_ns = trace_host_ns(trace, track->clock, run->start),
                                                 .end_ns = trace_host_ns(trace, track->clock, end_ticks),
                                                 .end_ticks = end_ticks};
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

static const char *name_of(const struct ops *ops, const struct op_run *run)
{
    if (run->name != OPS_NONE)
        return ops_get_text(ops, run->name);
    return run->call < ops->call_count ? ops_get_text(ops, ops->calls[run->call].name) : "";
}

/* Of several that begin together: the one that also ends with it, else the one that is called the same. */
static const struct found_run *find_run(const struct finding *f, const struct op_run *run)
{
    struct op_ticks at = ops_ticks(f->ops, run);
    const struct found_run *best = NULL;
    int best_points = -1;
    uint64_t key;
    if (at.end <= at.start || run->device >= f->ops->device_count ||
        !key_of(f->ops->devices[run->device].number, at.start, &key))
        return NULL;
    const char *name = name_of(f->ops, run);
    for (uint32_t id = map_get(&f->index, key); id != MAP_NONE; id = f->runs[id].next) {
        const struct found_run *found = &f->runs[id];
        int points = 2 * (found->end_ticks == at.end) +
                     (strcmp(trace_get_name(f->trace, found->name)->name, name) == 0);
        if (points > best_points) {
            best = found;
            best_points = points;
        }
    }
    return best;
}

static struct overview_place place_of_run(const struct finding *f, const struct op_run *run)
{
    struct overview_place place = {TRACE_NONE, OVERVIEW_NO_LANE, UINT64_MAX, UINT64_MAX, false};
    const struct found_run *found = run->track == OPS_NONE ? find_run(f, run) : NULL;
    if (run->track != OPS_NONE) {
        place.track = run->track;
        place.start_ns = run->start_ns;
        place.end_ns = run->duration_ns == OPS_NO_DURATION
                           ? run->start_ns
                           : saturating_add_u64(run->start_ns, run->duration_ns);
    } else if (found) {
        place.track = found->track;
        place.start_ns = found->start_ns;
        place.end_ns = found->end_ns;
    }
    return place;
}

int overview_place_runs(struct overview *o, const struct ops *ops, struct error *err)
{
    struct finding f = {.trace = o->trace, .ops = ops};
    bool is_any_missing = false;
    int status = 0;
    o->places = malloc((ops->run_count + 1) * sizeof o->places[0]);
    if (!o->places)
        return error_no_memory(err, "the runs of ops");
    for (size_t i = 0; i < ops->run_count; i++)
        is_any_missing |= ops->runs[i].track == OPS_NONE;
    if (is_any_missing)
        status = find_runs(&f, o->trace, err);
    for (size_t i = 0; i < ops->run_count; i++)
        o->places[i] = place_of_run(&f, &ops->runs[i]);
    map_free(&f.index);
    free(f.runs);
    return status;
}

void overview_set_lanes(struct overview *o, overview_find_lane *find, const void *context)
{
    const struct ops *ops = o->perf.ops;
    for (size_t i = 0; o->places && ops && i < ops->run_count; i++) {
        struct overview_place *place = &o->places[i];
        if (place->track != TRACE_NONE && !find(context, name_of(ops, &ops->runs[i]), place))
            place->lane = OVERVIEW_NO_LANE;
    }
}

static bool is_on_host(const struct overview *o, uint32_t track)
{
    const struct trace_track *about = trace_get_track(o->trace, track);
    return about && overview_is_host(about);
}

struct overview_place overview_place_of(const struct overview *o, const struct perf_row *row)
{
    uint32_t run = perf_line(&o->perf, row)->run;
    const struct op_call *call = perf_call(&o->perf, row);
    bool has_run = run != OPS_NONE && o->places[run].track != TRACE_NONE;
    if (has_run && !is_on_host(o, o->places[run].track))
        return o->places[run];
    if (call && !(call->faults & OP_FAULT_NO_HOST_TIME) && call->track != OPS_NONE)
        return (struct overview_place){call->track, OVERVIEW_NO_LANE, call->start_ns,
                                       call->end_ns > call->start_ns ? call->end_ns : call->start_ns, true};
    if (has_run)
        return o->places[run];
    return (struct overview_place){TRACE_NONE, OVERVIEW_NO_LANE, UINT64_MAX, UINT64_MAX, false};
}

static bool is_same(const struct overview_place *a, const struct overview_place *b)
{
    return a->track == b->track && a->start_ns == b->start_ns && a->lane == b->lane && a->end_ns == b->end_ns;
}

struct overview_counted overview_find_counted(const struct overview *o, const struct overview_place *place)
{
    const struct ops *ops = o->perf.ops;
    struct overview_counted counted = {.ns = NAN, .name = OPS_NONE, .kernels = 1};
    for (size_t i = 0; i < o->perf.count; i++) {
        const struct perf_row *row = perf_at(&o->perf, i);
        uint32_t run = perf_line(&o->perf, row)->run;
        if (run == OPS_NONE || !is_same(&o->places[run], place))
            continue;
        counted.ns = perf_time_us(row) * 1000;
        counted.name = overview_row_name(o, row);
        counted.kernels = ops_sum_line(ops, perf_line(&o->perf, row)).runs;
        counted.is_averaged = row->is_averaged;
        return counted;
    }
    for (size_t i = 0; o->places && ops && i < ops->run_count; i++) {
        if (!is_same(&o->places[i], place) || ops->runs[i].duration_ns == OPS_NO_DURATION)
            continue;
        counted.ns = (double)ops->runs[i].duration_ns;
        return counted;
    }
    return counted;
}

const struct overview_gap *overview_gap_before(const struct overview *o, const struct overview_place *place)
{
    for (size_t i = 0; i < o->gap_count && place->track != TRACE_NONE; i++) {
        const struct overview_gap *gap = &o->gaps[i];
        if (gap->track == place->track && gap->start_ns != UINT64_MAX &&
            gap->start_ns + gap->duration_ns == place->start_ns)
            return gap;
    }
    return NULL;
}
