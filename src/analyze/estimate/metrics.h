/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time of a timeline goes: how long data moved, how long engines computed, how much of both at once. Times
 * of a kind are the length of the union of its intervals, so that what overlaps counts once. A unit lasts from the
 * start of the task that started it to the end of the task that waited for it. */
#ifndef OPSCOPE_ANALYZE_ESTIMATE_METRICS_H
#define OPSCOPE_ANALYZE_ESTIMATE_METRICS_H

#include "base/error.h"
#include "ops/timeline.h"

/* id, key of an estimate, key of a measured run, what it is for people */
#define TIMELINE_METRICS(X)                                                                                  \
    X(OVERALL, "OVERALL", "total_duration", "from the first start to the last end")                          \
    X(NPU, "TOTAL_NPU_OPERATIONS", "total_npu_operations", "the same without the driver and the host")       \
    X(DMA, "DMA", "dma_time", "transfers in or out")                                                         \
    X(DMA_IN, "DMA_IN", "dma_in_time", "transfers in")                                                       \
    X(DMA_OUT, "DMA_OUT", "dma_out_time", "transfers out")                                                   \
    X(CDMA, "CDMA", "cdma_time", "copies on the chip")                                                       \
    X(DMA_COMBINED, "DMA_COMBINED", "dma_total_time", "any data movement")                                   \
    X(SLICE, "SLICE", "slice_time", "compute slices")                                                        \
    X(SLICE_0, "SLICE_0", "slice_0_time", "compute slice 0")                                                 \
    X(SLICE_1, "SLICE_1", "slice_1_time", "compute slice 1")                                                 \
    X(CSS, "CSS", "css_time", "the processor beside the slices")                                             \
    X(COMPUTE_COMBINED, "COMPUTE_COMBINED", "compute_time", "any computation")                               \
    X(DMA_ONLY, "DMA_ONLY", "dma_only_time", "data movement while nothing computes")                         \
    X(COMPUTE_ONLY, "COMPUTE_ONLY", "compute_only_time", "computation while nothing moves")                  \
    X(OVERLAP, "DMA_COMPUTE_OVERLAP", "overlap_time", "both at once")                                        \
    X(IDLE, "IDLE", "idle_time", "nothing of all that")                                                      \
    X(HAL, "HAL", "hal_time", "the driver")                                                                  \
    X(HOST, "HOST", "host_time", "programs of the host")                                                     \
    X(HOST_COPY, "HOST_COPY", "host_copy_time", "copies by the host")

enum timeline_metric {
#define X(id, key, run_key, what) TIMELINE_METRIC_##id,
    TIMELINE_METRICS(X)
#undef X
        TIMELINE_METRIC_COUNT
};

struct timeline_metrics {
    uint64_t cycles[TIMELINE_METRIC_COUNT];
};

/* Of one dispatch, or of all (TIMELINE_NONE). */
int timeline_measure(const struct timeline *timeline, uint32_t dispatch, struct timeline_metrics *metrics,
                     struct error *err);
const char *timeline_metric_key(unsigned metric);
const char *timeline_metric_run_key(unsigned metric); /* as dashboards of measured runs name it */
const char *timeline_metric_text(unsigned metric);

#endif
