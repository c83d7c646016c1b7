/* SPDX-License-Identifier: Apache-2.0 */
#include "load/estimate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "analyze/machine_files.h"
#include "base/count_of.h"
#include "base/map.h"
#include "analyze/estimate/estimate.h"
#include "import/mlir/edit.h"
#include "import/mlir/folder.h"
#include "import/mlir/model.h"
#include "import/torq/torq.h"
#include "ops/timeline_trace.h"

#define UNKNOWN "loc(unknown)"

double estimate_clock_of(const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || !(value > 0))
        return -1;
    if (*end == 0 || strcasecmp(end, "MHz") == 0)
        return value;
    return strcasecmp(end, "GHz") == 0 ? value * 1000 : -1;
}

int load_target(struct machine_set *machines, const char *name, const struct machine **machine,
                struct error *err)
{
    int status = machine_files_read(machines, name, err);
    if (status)
        return status;
    *machine = machine_file_is_path(name) ? &machines->machines[machines->newest]
                                          : machine_find(machines, name, strlen(name));
    if (!*machine)
        return error_set(err, EINVAL, "there is no machine '%s' (opscope machine list)%s%s", name,
                         machines->left_out ? "; left out: " : "", machines->why_not);
    return (*machine)->estimate.kind == ESTIMATE_NO_TARGET
               ? error_set(err, EINVAL, "the machine '%s' has no section \"estimate\": it cannot be a target",
                           name)
               : 0;
}

static int find_target(struct estimate *estimate, const struct estimate_request *request, struct error *err)
{
    const char *target = request->target                     ? request->target
                         : torq_is_scheduled(estimate->mlir) ? "sl2610"
                                                             : "cpu";
    int status = load_target(&estimate->machines, target, &estimate->machine, err);
    if (status)
        return status;
    estimate->target = estimate->machine->estimate;
    for (size_t i = 0; request->options && i < request->options->count; i++) {
        status = estimate_target_option(&estimate->target, request->options->items[i], err);
        if (status) {
            error_prefix(err, "--target-option");
            return status;
        }
    }
    if (request->clock_mhz > 0)
        estimate->target.clock_mhz = request->clock_mhz;
    const char *missing = estimate_target_missing(&estimate->target);
    return missing ? error_set(err, EINVAL, "the target's %s is 0", missing) : 0;
}

/* A burst is 2^mtu beats: beyond this it would not be a number. */
static unsigned burst(double mtu)
{
    return mtu < 0 ? 0 : mtu > 30 ? 30 : (unsigned)mtu;
}

static int execute_scheduled(struct estimate *estimate, const struct estimate_request *request,
                             struct error *err)
{
    const struct estimate_target *target = &estimate->target;
    const struct torq_target units = {.dma_bytes_per_cycle = target->dma_bytes_per_cycle,
                                      .dma_factor = target->dma_factor,
                                      .dma_in_mtu = burst(target->dma_in_mtu),
                                      .dma_out_mtu = burst(target->dma_out_mtu),
                                      .dma_setup_beats = target->dma_setup_beats,
                                      .copy_bytes_per_cycle = target->copy_bytes_per_cycle,
                                      .copy_factor = target->copy_factor,
                                      .css_cycles = (uint64_t)target->processor_cycles,
                                      .clock_mhz = target->clock_mhz};
    if (target->kind != ESTIMATE_DMA)
        return error_set(err, EINVAL, "%s holds a schedule for an NPU with DMA, and the target '%s' has none",
                         request->path, target->name);
    return torq_execute(&estimate->timeline, estimate->mlir, &units, request->default_location, err);
}

/* Ops that have no location get the one of the request, or where they stand in the file. */
static void place_ops(struct estimate *estimate, const struct estimate_request *request)
{
    struct timeline *t = &estimate->timeline;
    struct mlir_lines lines = {0};
    struct bytes text = {0};
    uint32_t unknown = intern_find(&t->texts, UNKNOWN, strlen(UNKNOWN));
    if (unknown == INTERN_NONE)
        return;
    for (size_t i = 0; i < t->op_count && !t->failed; i++) {
        struct timeline_op *op = &t->ops[i];
        if (op->location != unknown || op->source >= estimate->mlir->op_count)
            continue;
        bytes_clear(&text);
        bytes_append_text(&text, "loc(");
        if (request->default_location)
            op->location = timeline_text(t, slice_of(request->default_location));
        else if (mlir_append_own_place(estimate->mlir, &lines, op->source, &text)) {
            bytes_append_text(&text, ")");
            op->location = timeline_text(t, slice_from(bytes_text(&text), text.length));
        }
    }
    for (size_t i = 0; i < t->unit_count; i++) {
        if (t->units[i].op < t->op_count)
            t->units[i].location = t->ops[t->units[i].op].location;
    }
    t->failed |= text.failed || lines.failed;
    mlir_lines_free(&lines);
    bytes_free(&text);
}

static int estimate_unscheduled(struct estimate *estimate, const struct estimate_request *request,
                                struct error *err)
{
    struct model model = {0};
    struct mlir_dims dims = {0};
    for (size_t i = 0; request->dims && i < request->dims->count; i++) {
        int status = mlir_dims_option(&dims, request->dims->items[i], err);
        if (status)
            return status;
    }
    int status = mlir_read_model(&model, estimate->mlir, &dims, err);
    mlir_rest(estimate->mlir);
    if (status == 0)
        status = estimate_model(&estimate->timeline, &model, &estimate->target, err);
    estimate->timeline.is_analytic = true;
    if (status == 0 && !estimate->timeline.op_count)
        timeline_add_notice(
            &estimate->timeline, TIMELINE_NONE,
            "no op of this model costs anything: it only passes on, names and reshapes what it gets");
    model_free(&model);
    if (status == 0) {
        place_ops(estimate, request);
        status = timeline_check(&estimate->timeline, err);
    }
    return status;
}

int load_estimate(struct estimate *estimate, const struct estimate_request *request, struct error *err)
{
    *estimate = (struct estimate){0};
    struct stat info;
    bool is_folder = stat(request->path, &info) == 0 && S_ISDIR(info.st_mode);
    int status = is_folder ? mlir_open_folder(&estimate->mlir, request->path, err)
                           : mlir_open(&estimate->mlir, request->path, err);
    if (status)
        return status;
    if (!estimate->mlir->op_count)
        return error_set(err, EINVAL, "%s holds no op: it is no MLIR", request->path);
    status = find_target(estimate, request, err);
    if (status)
        return status;
    status = torq_is_scheduled(estimate->mlir) ? execute_scheduled(estimate, request, err)
                                               : estimate_unscheduled(estimate, request, err);
    if (status == 0 && estimate->mlir->left_out)
        timeline_add_notice(&estimate->timeline, TIMELINE_NONE,
                            "%" PRIu64
                            " ops of the bytecode have properties that only their dialect can read",
                            estimate->mlir->left_out);
    return status;
}

static void annotate_op(const struct timeline_op *op, enum estimate_step step, struct mlir_edits *edits)
{
    char texts[6][40];
    struct mlir_new_attribute attributes[6];
    size_t count = 0;
    const struct {
        const char *key;
        uint64_t value;
        enum estimate_step step;
    } figures[] = {{"opscope.end_cycles", op->end, ESTIMATE_SCHEDULED},
                   {"opscope.macs", op->macs, ESTIMATE_COSTED},
                   {"opscope.read_bytes", op->read_bytes, ESTIMATE_COSTED},
                   {"opscope.start_cycles", op->start, ESTIMATE_SCHEDULED},
                   {"opscope.tiles", op->tiles, ESTIMATE_TILED},
                   {"opscope.written_bytes", op->write_bytes, ESTIMATE_COSTED}};
    for (size_t i = 0; i < COUNT_OF(figures); i++) {
        if (figures[i].step > step)
            continue;
        snprintf(texts[count], sizeof texts[0], "%" PRIu64 " : i64", figures[i].value);
        attributes[count] = (struct mlir_new_attribute){figures[i].key, texts[count]};
        count++;
    }
    mlir_edit_attributes(edits, op->source, attributes, count);
}

static void add_places(const struct estimate *estimate, struct mlir_edits *edits)
{
    struct mlir_lines lines = {0};
    const struct timeline *timeline = &estimate->timeline;
    struct map done = {0};
    for (size_t i = 0; i < timeline->place_count; i++) {
        uint32_t op = timeline->places[i];
        if (op >= estimate->mlir->op_count || map_get(&done, op) != MAP_NONE)
            continue;
        edits->failed |= !map_put(&done, op, 1);
        mlir_edit_place(edits, &lines, op);
    }
    mlir_lines_free(&lines);
    map_free(&done);
}

int estimate_annotate(const struct estimate *estimate, const struct estimate_annotating *how,
                      struct bytes *out, struct error *err)
{
    const struct timeline *timeline = &estimate->timeline;
    struct mlir_edits edits = {.mlir = estimate->mlir};
    struct map done = {0};
    if (!timeline->is_analytic && how->step != ESTIMATE_READ)
        return torq_annotate(estimate->mlir, timeline, !how->is_exact, out, err);
    for (size_t i = 0; i < timeline->op_count && how->step != ESTIMATE_READ; i++) {
        uint32_t source = timeline->ops[i].source;
        if (source >= estimate->mlir->op_count || map_get(&done, source) != MAP_NONE)
            continue;
        edits.failed |= !map_put(&done, source, 1);
        annotate_op(&timeline->ops[i], how->step, &edits);
    }
    if (how->has_places && timeline->is_analytic)
        add_places(estimate, &edits);
    int status = mlir_edits_append(&edits, out, err);
    mlir_edits_free(&edits);
    map_free(&done);
    return status;
}

const char *estimate_caveat(const struct estimate *estimate)
{
    if (!estimate->timeline.is_analytic)
        return "From the schedule in the file: starts and waits as the compiler ordered them, without contention.";
    return estimate_target_is_calibrated(&estimate->target)
               ? "From shapes and the target's figures, which were fitted to measured runs."
               : "From shapes and the target's figures: uncalibrated, an order of magnitude.";
}

int estimate_write_trace(const struct estimate *estimate, const char *source, const char *path,
                         struct error *err)
{
    struct trace_writer *writer;
    char device[100];
    const char *machine = estimate->machine ? estimate->machine->name : NULL;
    snprintf(device, sizeof device, "%s (estimated)", machine ? machine : "device");
    int status = trace_writer_open(&writer, path, &(struct trace_writer_options){0}, err);
    if (status)
        return status;
    status = timeline_to_trace(
        &estimate->timeline,
        &(struct timeline_trace){
            .source = source, .device = device, .architecture = machine, .caveat = estimate_caveat(estimate)},
        writer, err);
    if (status) {
        trace_writer_discard(writer);
        return status;
    }
    return trace_writer_finish(writer, err);
}

void estimate_free(struct estimate *estimate)
{
    timeline_free(&estimate->timeline);
    mlir_close(estimate->mlir);
    machine_set_free(&estimate->machines);
    *estimate = (struct estimate){0};
}
