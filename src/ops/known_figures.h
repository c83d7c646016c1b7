/* SPDX-License-Identifier: Apache-2.0 */
/* Names of figures that views look for, whoever recorded them. Others are shown under the names they have. */
#ifndef OPSCOPE_OPS_KNOWN_FIGURES_H
#define OPSCOPE_OPS_KNOWN_FIGURES_H

/* How many cores the op might have used, where that is not what its device has (0: not known). */
#define OPS_FIGURE_AVAILABLE_CORES "available cores"
/* Text: the part of the device that it ran on, beside ops on other parts. */
#define OPS_FIGURE_SUB_DEVICE "sub-device"
/* ns between start_ticks and end_ticks of the run, where the device does not say how fast it counts. */
#define OPS_FIGURE_TICKS_NS "time between ticks"

#endif
