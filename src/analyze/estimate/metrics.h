/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time of a timeline goes: how long data moved, how long engines computed, how much of both at once. Times
 * of a kind are the length of the union of its intervals, so that what overlaps counts once. A unit lasts from the
 * start of the task that started it to the end of the task that waited for it. */
#ifndef OPSCOPE_ANALYZE_ESTIMATE_METRICS_H
#define OPSCOPE_ANALYZE_ESTIMATE_METRICS_H

#include "base/error.h"
#include "ops/timeline.h"

/* id, key in JSON, what it is for people */
#define TIMELINE_METRICS(X)                                                                                  \
    X(OVERALL, "OVERALL", "from the first start to the last end")                                            \
    X(DMA, "DMA", "transfers in or out")                                                                     \
    X(DMA_IN, "DMA_IN", "transfers in")                                                                      \
    X(DMA_OUT, "DMA_OUT", "transfers out")                                                                   \
    X(CDMA, "CDMA", "copies on the chip")                                                                    \
    X(DMA_COMBINED, "DMA_COMBINED", "any data movement")                                                     \
    X(SLICE, "SLICE", "compute slices")                                                                      \
    X(CSS, "CSS", "the processor beside the slices")                                                         \
    X(COMPUTE_COMBINED, "COMPUTE_COMBINED", "any computation")                                               \
    X(DMA_ONLY, "DMA_ONLY", "data movement while nothing computes")                                          \
    X(COMPUTE_ONLY, "COMPUTE_ONLY", "computation while nothing moves")                                       \
    X(OVERLAP, "DMA_COMPUTE_OVERLAP", "both at once")                                                        \
    X(IDLE, "IDLE", "neither")

enum timeline_metric {
#define X(id, key, what) TIMELINE_METRIC_##id,
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
const char *timeline_metric_text(unsigned metric);

#endif
