/* SPDX-License-Identifier: Apache-2.0 */
/* Host dispatch times of ops: what one measurement, or one CSV of an earlier one, says about each.
 *
 * A repeat is a burst of calls; its figure is the mean time of a call in ns, the cost of the calling loop taken off.
 * All statistics go over the repeats. What is not known is NAN: a CSV of another tool has no repeats, and one written
 * without --extended no percentiles. */
#ifndef OPSCOPE_ANALYZE_OVERHEAD_OVERHEAD_H
#define OPSCOPE_ANALYZE_OVERHEAD_OVERHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OVERHEAD_CALIBRATION_PREFIX "calibration." /* names of calibration ops begin so */

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
    double *dispatch_ns; /* one figure per repeat; NULL when it came from a file */
    double *total_ns;    /* with synchronisation, likewise */
    size_t repeat_count;
    double min_ns, mean_ns, mean_total_ns;
    double floor_ns;    /* what a call takes when nothing disturbs it: overhead_op_summarise */
    double rounding_ns; /* min_ns came rounded from a file: it may be so much more or less; 0: exact */
    double p50_ns, p99_ns, ci_low_ns, ci_high_ns; /* 95 % interval of the median */
    double native_ns;                             /* "C++ mean dispatch time"; NAN without --trace */
    double call_ns; /* what a call took outside native zones: entering it, mostly; the middle burst's */
    struct overhead_native *native;
    size_t native_count;
};

struct overhead_run {
    char *source; /* a path, or "measured" */
    char *provider, *provider_version, *machine;
    struct overhead_op *ops;
    size_t op_count, op_capacity;
    bool is_sorted; /* by name, with overhead_run_sort: finding is quick then */
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
/* Adds a repeat's figures; false when there is no memory. */
bool overhead_op_add_repeat(struct overhead_op *op, double dispatch_ns, double total_ns);
/* Replaces a text of an op or a run (name, reason, provider ...); false when there is no memory. */
bool overhead_set_text(char **field, const char *text);
/* min, mean ... of an op from its repeats; NAN where there are none. */
void overhead_op_summarise(struct overhead_op *op);
/* "measured", "raised", "hung", "crashed", "out of memory", "left out" */
const char *overhead_state_name(enum overhead_state state);

/* --- the statistics by themselves --- */

/* Ascending order. */
void overhead_sort_values(double *values, size_t count);
/* The p-th quantile (0 to 1) of ascending values, interpolated between neighbours; NAN without values. */
double overhead_quantile(const double *sorted, size_t count, double p);
/* The interval of the median that holds it with at least 95 % whatever the distribution: two order statistics, their
 * ranks from the binomial distribution. Below six values it is all of them, which is less than 95 %. */
void overhead_median_interval(const double *sorted, size_t count, double *low, double *high);

#endif
