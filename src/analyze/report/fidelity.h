/* SPDX-License-Identifier: Apache-2.0 */
/* Math fidelity against data types, and what can be done about a matmul.
 *
 * A multiplication takes as many passes as its fidelity says (LoFi 1, HiFi2 2, HiFi3 3, HiFi4 4), each with a few bits
 * of the operands' mantissas. Mantissas that the data types do not have need no pass. */
#ifndef OPSCOPE_ANALYZE_REPORT_FIDELITY_H
#define OPSCOPE_ANALYZE_REPORT_FIDELITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

enum perf_fidelity { PERF_LOFI, PERF_HIFI2, PERF_HIFI3, PERF_HIFI4, PERF_FIDELITY_UNKNOWN };
enum perf_verdict { PERF_VERDICT_NONE, PERF_VERDICT_SUFFICIENT, PERF_VERDICT_TOO_HIGH, PERF_VERDICT_TOO_LOW };
enum perf_bound {
    PERF_BOUND_NONE,
    PERF_BOUND_DRAM,
    PERF_BOUND_FLOP,
    PERF_BOUND_BOTH,
    PERF_BOUND_SLOW,
    PERF_BOUND_HOST,
    PERF_BOUND_LINK,
    PERF_BOUND_GAP,
    PERF_BOUND_L2, /* a cache of the machine, where its data can have been */
    PERF_BOUND_L3,
    PERF_BOUNDS
};
#define PERF_NO_NUMBER INT32_MIN

enum perf_fidelity perf_fidelity_of(struct slice name);
const char *perf_bound_text(unsigned bound);

/* What is known of a matmul. */
struct perf_matmul {
    const char *types[3];                    /* of inputs 0 and 1 and of the output; "" where not known */
    const char *in0_memory;                  /* "" likewise */
    unsigned fidelity;                       /* enum perf_fidelity */
    unsigned bound;                          /* enum perf_bound */
    int32_t block_w, subblock_h, subblock_w; /* of its program config; PERF_NO_NUMBER */
    double cores, flops_percent;
    double available_cores; /* 0: not known */
    bool is_dram_sharded, is_sparse;
};

/* Whether a fidelity is right for the data types. `text`, where not NULL, is set to what one could do; NULL when there
 * is nothing to do. */
enum perf_verdict perf_fidelity_verdict(const struct perf_matmul *matmul, const char **text);

#define PERF_MATMUL_ADVICE 6u
struct perf_matmul_advice {
    char texts[PERF_MATMUL_ADVICE][240];
    size_t count;
};

/* What to do by what bounds it. */
void perf_advise_matmul(const struct perf_matmul *matmul, struct perf_matmul_advice *advice);

#endif
