/* SPDX-License-Identifier: Apache-2.0 */
/* The counters that are read, and the configuration image that selects them on a chip. */
#ifndef OPSCOPE_COLLECT_GPU_METRIC_H
#define OPSCOPE_COLLECT_GPU_METRIC_H

#include <stdbool.h>

#include "collect/gpu/library.h"
#include "collect/gpu/wire.h"

struct gpu_metric {
    const char *title;    /* in the trace: "DRAM read GB/s" */
    const char *names[2]; /* CUPTI's; the first that the chip has */
    bool is_bytes;        /* the trace has GB/s */
};
extern const struct gpu_metric gpu_metrics_list[GPU_METRICS];

struct gpu_config {
    void *host;
    const char *names[GPU_METRICS]; /* those that fit into one pass */
    uint32_t which[GPU_METRICS];    /* the metric of each */
    size_t count;
    uint8_t *image;
    size_t size;
};

/* `availability`: as in struct pm_host_initialize. */
int gpu_config_make(struct gpu_config *config, struct pm_library *library, const char *chip,
                    const uint8_t *availability, struct error *err);
void gpu_config_free(struct gpu_config *config, struct pm_library *library);

/* What a result of CUPTI means, and what to do. `chip`: NULL where it is not known yet. */
int gpu_error(struct pm_library *library, int result, const char *chip, struct error *err);

#endif
