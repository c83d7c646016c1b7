/* SPDX-License-Identifier: Apache-2.0 */
#include "load/side.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "import/timeline_csv.h"
#include "import/torq/rows_csv.h"
#include "load/measured.h"
#include "load/profile.h"
#include "ops/timeline_trace.h"

/* --- what a file is --- */

#define BLOCKS_MAX 8u /* of runs that are looked at: what a long trace is, its beginning says */

struct side_kind side_kind_of_trace(struct trace *trace)
{
    struct side_kind kind = {.file = IMPORT_TRACE};
    struct error err = {0};
    struct trace_block_filter filter = {.type = TRACE_BLOCK_RUNS};
    struct trace_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0, blocks = 0;
    while (!(kind.is_estimate && kind.is_run) && blocks++ < BLOCKS_MAX &&
           (block = trace_next_block(trace, &filter, &position)) &&
           trace_decode_rows(trace, block, &rows, &err) == 0) {
        for (size_t i = 0; i < rows.count; i++) {
            bool is_estimated = (rows.runs[i].flags & TRACE_RUN_ESTIMATED) != 0;
            kind.is_estimate |= is_estimated;
            kind.is_run |= !is_estimated;
        }
    }
    for (uint32_t i = 0; !kind.is_estimate && !kind.is_run && i < trace_name_count(trace); i++)
        kind.is_run = strncmp(trace_get_name(trace, i)->file, "loc(", 4) == 0;
    trace_rows_free(&rows);
    return kind;
}

static void look_at_trace(const char *path, struct side_kind *kind)
{
    struct trace *trace;
    struct error err = {0};
    kind->is_damaged = trace_open(&trace, path, 0, &err) != 0;
    if (kind->is_damaged)
        return;
    *kind = side_kind_of_trace(trace);
    trace_close(trace);
}

struct side_kind side_kind_of(const char *path)
{
    struct side_kind kind = {.file = import_guess(path)};
    if (kind.file == IMPORT_TRACE)
        look_at_trace(path, &kind);
    kind.is_estimate |= kind.file == IMPORT_MODEL || kind.file == IMPORT_TIMELINE_CSV;
    kind.is_run |= kind.file == IMPORT_IREE || kind.file == IMPORT_TORQ_RUN || kind.file == IMPORT_TORQ_ROWS;
    return kind;
}

const char *side_kind_text(struct side_kind kind)
{
    switch (kind.file) {
    case IMPORT_MODEL:
        return "a model (MLIR)";
    case IMPORT_TIMELINE_CSV:
        return "a timeline in cycles (an estimate)";
    case IMPORT_IREE:
        return "a device profile of IREE";
    case IMPORT_TORQ_RUN:
        return "a profile of Torq's runtime";
    case IMPORT_TORQ_ROWS:
        return "an annotated profile of Torq's runtime";
    case IMPORT_TRACE:
        return kind.is_estimate ? "the trace of an estimate"
               : kind.is_run    ? "the trace of a run"
                                : "a trace without device runs";
    default:
        return "neither an estimate nor a run of a compiled model";
    }
}

/* --- estimates --- */

static int read_trace(struct timeline *timeline, const char *path, enum timeline_runs runs, struct error *err)
{
    struct trace *trace;
    *timeline = (struct timeline){0};
    int status = trace_open(&trace, path, 0, err);
    if (status)
        return status;
    status = timeline_from_trace(timeline, trace, runs, err);
    trace_close(trace);
    return status;
}

static int read_timeline(struct estimate *estimate, const struct estimate_request *request, struct error *err)
{
    struct timeline_csv_faults faults;
    struct timeline *timeline = &estimate->timeline;
    int status = load_target(&estimate->machines, request->target ? request->target : "sl2610",
                             &estimate->machine, err);
    if (status == 0)
        status = timeline_csv_read(timeline, request->path, &faults, err);
    if (status)
        return status;
    estimate->target = estimate->machine->estimate;
    if (timeline->clock_mhz <= 0)
        timeline->clock_mhz = estimate->target.clock_mhz;
    timeline_csv_make_ops(timeline);
    if (faults.rows)
        timeline_add_notice(timeline, TIMELINE_NONE,
                            "%" PRIu64 " row%s of the estimate cannot be read (the first in line %" PRIu64
                            ")",
                            faults.rows, faults.rows == 1 ? "" : "s", faults.first_line);
    return timeline_check(timeline, err);
}

static void append_place(const struct mlir *mlir, struct mlir_lines *lines, uint32_t op, struct bytes *text)
{
    struct mlir_place place = mlir_place(mlir, op);
    if (place.file.data) {
        bytes_append(text, place.text.data, place.text.length);
        return;
    }
    if (!mlir->ops[op].location.length)
        mlir_append_own_place(mlir, lines, op, text);
}

/* Where the ops that run as one are in the source: a fused location of more than one. Ops of a source that has no
 * locations are where they stand in it: there compilers say that they come from. */
void side_place_ops(struct timeline *t, const struct mlir *mlir)
{
    struct mlir_lines lines = {0};
    struct bytes text = {0};
    if (!strstr(phase_of(mlir), "input"))
        return;
    for (size_t i = 0; i < t->op_count && !t->failed; i++) {
        struct timeline_op *op = &t->ops[i];
        uint32_t placed = 0;
        bytes_clear(&text);
        bytes_append_text(&text, "loc(fused[");
        for (uint32_t k = 0; k < op->places; k++) {
            size_t before = text.length;
            bytes_append_text(&text, placed ? ", " : "");
            size_t empty = text.length;
            append_place(mlir, &lines, t->places[op->first_place + k], &text);
            placed += text.length > empty;
            text.length = text.length > empty ? text.length : before;
        }
        if (!placed)
            continue;
        bytes_append_text(&text, "])");
        const char *whole = bytes_text(&text);
        if (placed > 1)
            op->location = timeline_text(t, slice_of(whole));
        else { /* without fused[ ] around it */
            size_t begin = strlen("loc(fused["), length = text.length - begin - 2;
            struct bytes one = {0};
            bytes_append_format(&one, "loc(%.*s)", (int)length, whole + begin);
            op->location = timeline_text(t, slice_of(bytes_text(&one)));
            t->failed |= one.failed;
            bytes_free(&one);
        }
    }
    t->failed |= text.failed || lines.failed;
    bytes_free(&text);
    mlir_lines_free(&lines);
}

int load_estimate_side(struct estimate *estimate, const struct estimate_request *request, struct error *err)
{
    enum import_kind kind = import_guess(request->path);
    if (kind != IMPORT_TIMELINE_CSV && kind != IMPORT_TRACE) {
        int status = load_estimate(estimate, request, err);
        if (status == 0 && !request->default_location)
            side_place_ops(&estimate->timeline, estimate->mlir);
        return status ? status : timeline_check(&estimate->timeline, err);
    }
    *estimate = (struct estimate){0};
    if (kind == IMPORT_TIMELINE_CSV)
        return read_timeline(estimate, request, err);
    return read_trace(&estimate->timeline, request->path, TIMELINE_ESTIMATED, err);
}

/* --- runs --- */

/* Every place of the source that the function around an op names, as one fused location. */
static void append_places(const struct mlir *mlir, uint32_t op, struct bytes *out)
{
    uint32_t first = op;
    while (strcmp(mlir_name(mlir, first), "func.func") != 0) {
        uint32_t block = mlir->ops[first].block;
        if (block == MLIR_NONE) {
            first = op;
            break;
        }
        first = mlir->regions[mlir->blocks[block].region].op;
    }
    struct mlir_place last = {0};
    bytes_append_text(out, "loc(fused[");
    for (uint32_t i = first; i < mlir->op_count && mlir->ops[i].begin < mlir->ops[first].end; i++) {
        struct mlir_place place = mlir_place(mlir, i);
        if (!place.file.data || (place.line == last.line && place.column == last.column))
            continue;
        bytes_append_format(out, "%s\"%.*s\":%u:%u", last.file.data ? ", " : "", (int)place.file.length,
                            place.file.data, place.line, place.column);
        last = place;
    }
    bytes_append_text(out, "])");
}

static int add_places(struct timeline *timeline, const char *phase, struct error *err)
{
    struct estimate estimate;
    struct map by_name = {0};
    struct bytes text = {0};
    int status = load_estimate(&estimate, &(struct estimate_request){.path = phase}, err);
    for (uint32_t i = 0; status == 0 && i < estimate.timeline.op_count; i++) {
        const struct timeline *t = &estimate.timeline;
        const struct timeline_op *op = &t->ops[i];
        if (op->dispatch >= t->dispatch_count || op->source >= estimate.mlir->op_count)
            continue;
        uint32_t name =
            timeline_text(timeline, slice_of(timeline_get_text(t, t->dispatches[op->dispatch].name)));
        if (map_get(&by_name, name) != MAP_NONE)
            continue;
        text.length = 0;
        append_places(estimate.mlir, op->source, &text);
        timeline->failed |=
            text.failed || !map_put(&by_name, name, timeline_text(timeline, slice_of(bytes_text(&text))));
    }
    size_t placed = 0;
    for (size_t i = 0; i < timeline->op_count && status == 0; i++) {
        uint32_t location = map_get(&by_name, timeline->ops[i].name);
        if (location == MAP_NONE || timeline->ops[i].location != TIMELINE_NONE)
            continue;
        timeline->ops[i].location = location;
        placed++;
    }
    if (status == 0 && !placed)
        status = error_set(err, EINVAL, "--phase %s: no dispatch of it was run", phase);
    bytes_free(&text);
    map_free(&by_name);
    estimate_free(&estimate);
    return status;
}

static int read_profile(struct timeline *timeline, const char *path, struct error *err)
{
    struct device_profile profile;
    int status = device_profile_open(&profile, path, err);
    if (status == 0) {
        *timeline = profile.blocks;
        profile.blocks = (struct timeline){0};
        if (profile.damaged)
            timeline_add_notice(timeline, TIMELINE_NONE,
                                "%" PRIu64 " row%s or record%s of the profile cannot be used: damaged, "
                                "without an end, or with the end before the begin",
                                profile.damaged, profile.damaged == 1 ? "" : "s",
                                profile.damaged == 1 ? "" : "s");
    }
    device_profile_free(&profile);
    return status;
}

int load_run_side(struct timeline *timeline, const char *path, const char *phase, struct error *err)
{
    enum import_kind kind = import_guess(path);
    *timeline = (struct timeline){0};
    int status = kind == IMPORT_TRACE       ? read_trace(timeline, path, TIMELINE_MEASURED, err)
                 : kind == IMPORT_TORQ_ROWS ? torq_rows_read(timeline, path, err)
                                            : read_profile(timeline, path, err);
    if (status == 0 && kind != IMPORT_TRACE)
        timeline_programs_to_ops(timeline);
    if (status == 0 && phase)
        status = add_places(timeline, phase, err);
    return status ? status : timeline_check(timeline, err);
}
