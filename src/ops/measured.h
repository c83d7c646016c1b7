/* SPDX-License-Identifier: Apache-2.0 */
/* A measured run of a compiled model, joined to the compiler's IR: one row per action of the host in each invocation,
 * with what its program used, and the same as a timeline in ns. */
#ifndef OPSCOPE_OPS_MEASURED_H
#define OPSCOPE_OPS_MEASURED_H

#include "ops/timeline.h"

enum measured_use { USED_SLICE_0, USED_SLICE_1, USED_DMA_IN, USED_DMA_OUT, USED_COPY, USED_CORE, USED_KINDS };

struct measured_row {
    int64_t action;  /* -1: of the driver */
    int64_t job;     /* -1: none */
    int64_t program; /* number of the sequencer's program in its dispatch; -1: none */
    uint32_t operation, invocations, operators, location; /* texts of the timeline; TIMELINE_NONE: empty */
    uint32_t dispatch;                                    /* text */
    int64_t slice;                                        /* -1: does not apply */
    unsigned used;                                        /* bits of enum measured_use */
    bool has_use;                                         /* it is part of a program */
    bool has_times;
    double start_us, end_us;
};

struct measured {
    struct timeline timeline; /* of the run, in ns: clock_mhz is 1000; texts of the rows, notices */
    struct measured_row *rows;
    size_t row_count, row_capacity;
    bool is_by_program; /* the older form: rows are ops of programs, times those of the programs */
};

void measured_free(struct measured *measured);
struct measured_row *measured_add(struct measured *measured); /* NULL: no memory, which the timeline keeps */

#endif
