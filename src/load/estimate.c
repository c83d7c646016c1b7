/* SPDX-License-Identifier: Apache-2.0 */
#include "load/estimate.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analyze/machine_files.h"
#include "import/torq/torq.h"

static int find_target(struct estimate *estimate, const struct estimate_request *request, struct error *err)
{
    const char *name = request->target;
    int status = machine_files_read(&estimate->machines, name, err);
    if (status)
        return status;
    estimate->machine = machine_file_is_path(name) ? &estimate->machines.machines[estimate->machines.newest]
                                                   : machine_find(&estimate->machines, name, strlen(name));
    if (!estimate->machine)
        return error_set(err, EINVAL, "there is no machine '%s' (opscope machine list)", name);
    if (estimate->machine->estimate.kind == ESTIMATE_NO_TARGET)
        return error_set(err, EINVAL, "the machine '%s' has no section \"estimate\": it is no target", name);
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

int load_estimate(struct estimate *estimate, const struct estimate_request *request, struct error *err)
{
    *estimate = (struct estimate){0};
    int status = find_target(estimate, request, err);
    if (status == 0)
        status = mlir_open(&estimate->mlir, request->path, err);
    if (status)
        return status;
    if (torq_is_scheduled(estimate->mlir))
        status = execute_scheduled(estimate, request, err);
    else
        return error_set(err, EINVAL,
                         "%s holds no scheduled program (a dump of the phase executable-targets)",
                         request->path);
    if (status == 0 && estimate->mlir->left_out)
        timeline_add_notice(&estimate->timeline, TIMELINE_NONE,
                            "%" PRIu64
                            " ops of the bytecode have properties that only their dialect can read",
                            estimate->mlir->left_out);
    return status;
}

void estimate_free(struct estimate *estimate)
{
    timeline_free(&estimate->timeline);
    mlir_close(estimate->mlir);
    machine_set_free(&estimate->machines);
    *estimate = (struct estimate){0};
}
