/* SPDX-License-Identifier: Apache-2.0 */
/* Names of figures that views look for, whoever recorded them. Others are shown under the names they have. */
#ifndef OPSCOPE_OPS_KNOWN_FIGURES_H
#define OPSCOPE_OPS_KNOWN_FIGURES_H

/* How many cores the op might have used, where that is not what its device has (0: not known). */
#define OPS_FIGURE_AVAILABLE_CORES "available cores"
/* Text: the part of the device that it ran on, beside ops on other parts. */
#define OPS_FIGURE_SUB_DEVICE "sub-device"
/* ns between the ticks of the run (ops_ticks), where the device does not say how fast it counts. */
#define OPS_FIGURE_TICKS_NS "time between ticks"

/* Of a call or a run: enum op_fault, where it does not follow from the rest. */
#define OPS_FIGURE_FAULTS "faults"
/* Of a run: its place among the runs of all devices. */
#define OPS_FIGURE_ORDER "order"
/* Of a run without a call: the number that its call had. */
#define OPS_FIGURE_NUMBER "id"
/* Which captured sequence of calls it belongs to, and when the host asked for this replay of it. */
#define OPS_FIGURE_CAPTURE "trace"
#define OPS_FIGURE_REPLAY_NS "replay ns"

/* Attributes of an op: how many floating-point (or integer) operations it does, and how many bytes it reads and writes,
 * where whoever recorded it knows. They stand in for what would be computed from its tensors. */
#define OPS_ATTRIBUTE_FLOPS "opscope.flops"
#define OPS_ATTRIBUTE_BYTES "opscope.dram_bytes"
/* What kind of op it is ("matmul", "conv" ...), where its name does not say. */
#define OPS_ATTRIBUTE_CLASS "opscope.class"

/* What the host's CPU is called where ops were computed by it (ops/cpu_runs.h). */
#define OPS_CPU_DEVICE "host CPU"
/* What it says that it is, with the host's name: a machine file that was measured there has it among its names. */
#define OPS_CPU_ARCHITECTURE "cpu@%.59s" /* in 64 bytes: pods of one job differ at the end of their names */

/* --- what importers say of the whole --- */

/* They leave it on a track of this ending, whose name is the fact "import". */
#define OPS_IMPORT_TRACK_ENDING " import"
#define OPS_FACT_IMPORT "import track"
/* Of tables. Other imports of version 1 had figures without a kind: percentages are the bits of a double, texts stand
 * in the name, "key=text". */
#define OPS_TABLE_TRACK_ENDING " table import"
/* Points with this header are notices, others facts. */
#define OPS_REMARK_NOTICE "import"

#endif
