/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu/metric.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PERCENT ".avg.pct_of_peak_sustained_elapsed"

/* All seven fit into one pass of a GH100. The first names of the tensor pipe are those that do: counted otherwise, it
 * takes two passes on some chips. */
const struct gpu_metric gpu_metrics_list[GPU_METRICS] = {
    {"DRAM read GB/s", {"dram__bytes_read.sum", "fbpa__dram_read_bytes.sum"}, true},
    {"DRAM write GB/s", {"dram__bytes_write.sum", "fbpa__dram_write_bytes.sum"}, true},
    {"tensor pipe %",
     {"TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime" PERCENT,
      "sm__pipe_tensor_cycles_active" PERCENT},
     false},
    {"SM active %", {"sm__cycles_active" PERCENT, NULL}, false},
    {"GPU active %", {"gr__cycles_active" PERCENT, NULL}, false},
    {"PCIe read GB/s", {"pcie__read_bytes.sum", "PCI.TriageCompute.pcie__read_bytes.sum"}, true},
    {"PCIe write GB/s", {"pcie__write_bytes.sum", "PCI.TriageCompute.pcie__write_bytes.sum"}, true},
};

int gpu_error(struct pm_library *library, int result, const char *chip, struct error *err)
{
    const char *text = NULL;
    if (library->cuptiGetResultString(result, &text) != PM_OK || !text)
        text = "unknown error";
    switch (result) {
    case PM_NO_PRIVILEGES:
    case PM_NO_VIRTUAL_PRIVILEGES:
        return error_set(
            err, EPERM,
            "the driver keeps them for administrators (%s): run as root, or have the administrator "
            "load the kernel module nvidia with NVreg_RestrictProfilingToAdminUsers=0",
            text);
    case PM_HARDWARE_BUSY:
        return error_set(err, EBUSY,
                         "another tool reads them (%s): end it (Nsight, ncu), or have it pause "
                         "(dcgmi profile --pause)",
                         text);
    case PM_NOT_INITIALIZED:
        return error_set(err, ENOENT,
                         "%s does not start (%s): libnvperf_host.so and libnvperf_target.so belong beside it",
                         library->path, text);
    case PM_NOT_SUPPORTED:
    case PM_UNKNOWN_CHIP:
        return error_set(
            err, ENOTSUP,
            "%s cannot sample %s (%s): a newer libcupti may (OPSCOPE_CUPTI); chips before Turing have "
            "no sampling",
            library->path, chip ? chip : "this GPU", text);
    default:
        return error_set(err, EIO, "CUPTI refuses: %s (%d)", text, result);
    }
}

/* The image for these metrics in a new host object; false where the chip has not all of them, or needs more than one
 * pass. *result: why there is no host object. */
static bool try_metrics(struct gpu_config *config, struct pm_library *l, const char *chip,
                        const uint8_t *availability, int *result)
{
    struct pm_host_initialize host = {
        .profiler = PM_PROFILER_SAMPLING, .chip = chip, .availability = availability};
    *result = PM_CALL(l, cuptiProfilerHostInitialize, &host);
    if (*result != PM_OK)
        return false;
    config->host = host.host;
    struct pm_add_metrics add = {.host = host.host, .names = config->names, .count = config->count};
    struct pm_config_size size = {.host = host.host};
    if (PM_CALL(l, cuptiProfilerHostConfigAddMetrics, &add) != PM_OK ||
        PM_CALL(l, cuptiProfilerHostGetConfigImageSize, &size) != PM_OK || !size.size)
        return false;
    config->size = size.size;
    config->image = calloc(1, size.size);
    struct pm_config_image image = {.host = host.host, .size = size.size, .image = config->image};
    struct pm_passes passes = {.size = size.size, .image = config->image};
    return config->image && PM_CALL(l, cuptiProfilerHostGetConfigImage, &image) == PM_OK &&
           PM_CALL(l, cuptiProfilerHostGetNumOfPasses, &passes) == PM_OK && passes.passes == 1;
}

void gpu_config_free(struct gpu_config *config, struct pm_library *library)
{
    struct pm_host host = {.host = config->host};
    if (config->host)
        PM_CALL(library, cuptiProfilerHostDeinitialize, &host);
    free(config->image);
    config->host = NULL;
    config->image = NULL;
    config->size = 0;
}

static void choose(struct gpu_config *config, uint32_t metric, unsigned name)
{
    config->names[config->count] = gpu_metrics_list[metric].names[name];
    config->which[config->count++] = metric;
}

int gpu_config_make(struct gpu_config *config, struct pm_library *l, const char *chip,
                    const uint8_t *availability, struct error *err)
{
    int result;
    *config = (struct gpu_config){0};
    for (uint32_t i = 0; i < GPU_METRICS; i++)
        choose(config, i, 0);
    if (try_metrics(config, l, chip, availability, &result))
        return 0;
    gpu_config_free(config, l);
    if (result == PM_INVALID_PARAMETER) /* what CUDA 12 says of a chip that it does not know */
        result = PM_UNKNOWN_CHIP;
    if (result != PM_OK)
        return gpu_error(l, result, chip, err);
    /* One after the other, as long as they fit. */
    config->count = 0;
    for (uint32_t i = 0; i < GPU_METRICS; i++) {
        bool is_taken = false;
        for (unsigned name = 0; name < 2 && gpu_metrics_list[i].names[name] && !is_taken; name++) {
            choose(config, i, name);
            is_taken = try_metrics(config, l, chip, availability, &result);
            gpu_config_free(config, l);
            config->count -= !is_taken;
        }
    }
    if (config->count && try_metrics(config, l, chip, availability, &result))
        return 0;
    gpu_config_free(config, l);
    return error_set(err, ENOTSUP, "%s knows none of the counters for %s", l->path, chip);
}
