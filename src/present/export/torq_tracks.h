/* SPDX-License-Identifier: Apache-2.0 */
/* A measured run of Torq for ui.perfetto.dev, with the tracks that Torq's own tools have:
 *
 *     Host                      HAL, NSS Programs, Host Programs, Host Copy
 *     NPU Task Breakdown        NSS CFG Tasks, CDMA, NDMA In, NDMA Out, Slice 0, Slice 1, CSS; nothing is measured
 *     NPU Task Measurements     DMA In Used ... CSS Used: each program on the tracks of what it used
 *     NPU Task Breakdown        the same tracks, "(Compile)": the estimate of each program, from when it ran on
 *     Compiler Input Locations  the same by place in the source and kind, with its metrics
 *     Operator Type Totals      bars, the longest first
 *     Runtime Overview          16 bars, "00 OVERVIEW DMA COMBINED" to "15 OVERALL"
 */
#ifndef OPSCOPE_PRESENT_EXPORT_TORQ_TRACKS_H
#define OPSCOPE_PRESENT_EXPORT_TORQ_TRACKS_H

#include "base/bytes.h"
#include "ops/measured.h"

/* Both as import/torq/join.h made them. */
int torq_tracks_append(const struct measured *measured, const struct timeline *estimate, struct bytes *out,
                       struct error *err);

#endif
