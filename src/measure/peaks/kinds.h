/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that reach a CPU's peak of one kind of number, where it has the instructions. */
#ifndef OPSCOPE_MEASURE_PEAKS_KINDS_H
#define OPSCOPE_MEASURE_PEAKS_KINDS_H

#include "measure/peaks/peaks.h"

struct peak_kind {
    enum peak_type type;
    double (*calculate)(uint64_t n); /* n rounds of work; the operations that they were */
    const char *what, *by;           /* "BF16", "AMX" */
};

#define PEAK_KINDS_LATE 4u
/* Of what processors got late: FP16 of AVX-512, and AMX, which the kernel is asked for. Returns how many. */
size_t peak_kinds_late(struct peak_kind kinds[PEAK_KINDS_LATE]);

#endif
