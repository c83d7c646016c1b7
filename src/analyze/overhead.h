/* SPDX-License-Identifier: Apache-2.0 */
/* Host dispatch times of ops: what one measurement, or one CSV of an earlier one, says about each.
 *
 * A repeat is a burst of calls; its figure is the mean time of a call in ns, the cost of the calling loop taken off.
 * All statistics go over the repeats. What is not known is NAN: a CSV of another tool has no repeats, and one written
 * without --extended no percentiles. */
#ifndef OPSCOPE_ANALYZE_OVERHEAD_H
#define OPSCOPE_ANALYZE_OVERHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum overhead_state {
    OVERHEAD_MEASURED = 0,
    OVERHEAD_RAISED,        /* the op reported an error: `reason` */
    OVERHEAD_HUNG,          /* stopped at the time limit */
    OVERHEAD_CRASHED,       /* the process died in it */
    OVERHEAD_OUT_OF_MEMORY, /* it allocated past the limit */
    OVERHEAD_LEFT_OUT,      /* the provider cannot call it here: `reason` */
};

/* Where the dispatch time goes: a native zone, or an op record, inside the measured calls. */
struct overhead_native {
    char *zone;
    uint64_t count; /* in all calls */
    double mean_ns; /* a call of the op: its total over the calls */
    double self_ns; /* likewise without the zones inside */
};

struct overhead_op {
    char *name;
    char *group;  /* "binary"; "" */
    char *reason; /* "" when measured */
    enum overhead_state state;
    bool is_calibration; /* not an op: how fast this machine is */
    bool is_early;       /* returned before its work was done: sync time is apart from dispatch time */
    uint64_t count;      /* calls in all, with and without synchronisation, as the vendor counts them */
    double *dispatch_ns; /* a figure a repeat; NULL when it came from a file */
    double *total_ns;    /* with synchronisation, likewise */
    size_t repeat_count;
    double min_ns, mean_ns, mean_total_ns;
    double p50_ns, p99_ns, ci_low_ns, ci_high_ns; /* 95 % interval of the median */
    double native_ns;                             /* "C++ mean dispatch time"; NAN without --trace */
    struct overhead_native *native;
    size_t native_count;
};

struct overhead_run {
    char *source; /* a path, or "measured" */
    char *provider, *provider_version, *machine;
    struct overhead_op *ops; /* by name */
    size_t op_count;
    double loop_ns; /* what a call of nothing costs: taken off already; NAN when unknown */
    double noise;   /* relative spread of the calibration ops; NAN when unknown */
    bool is_noisy;
};

void overhead_run_free(struct overhead_run *run);
/* NULL when it lacks it. */
struct overhead_op *overhead_run_find(const struct overhead_run *run, const char *name);
/* Adds an op, all unknown; NULL when there is no memory. The pointers of earlier ones end with it. */
struct overhead_op *overhead_run_add(struct overhead_run *run, const char *name, const char *group);
void overhead_run_sort(struct overhead_run *run);
/* min, mean ... of an op from its repeats. */
void overhead_op_summarise(struct overhead_op *op);

#endif
