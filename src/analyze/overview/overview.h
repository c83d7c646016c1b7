/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time of a trace went, in figures: the first panel of every trace, and `opscope summary`.
 *
 *     overview_make(&overview, trace, &ops, &options, &err);     ops: the trace's ops, joined, with their lines
 *     ... present/overview/ has the words, the JSON and the screen ...
 *     overview_free(&overview);
 *
 * The parts are a partition: they add up to total_ns exactly. What they are parts of depends on what the trace holds.
 * Where host zones and device runs share a clock, it is the wall time of the window, device first: time in which any
 * device ran an op is busy whatever the host did, and idle time is what the launching threads did meanwhile. Where only
 * ops are there, as in a table that another tool wrote, it is the time of the report: the ops' device times and the
 * gaps between them. Without ops it is the wall time of the main thread.
 *
 * The window is the one that was asked for, else what matters (analyze/window.h). */
#ifndef OPSCOPE_ANALYZE_OVERVIEW_OVERVIEW_H
#define OPSCOPE_ANALYZE_OVERVIEW_OVERVIEW_H

#include "analyze/filter.h"
#include "analyze/report/report.h"
#include "base/error.h"
#include "ops/ops.h"

enum overview_kind {
    OVERVIEW_EMPTY,    /* nothing was recorded */
    OVERVIEW_PROGRAM,  /* zones of a compiled program */
    OVERVIEW_PYTHON,   /* zones of Python code */
    OVERVIEW_OPS,      /* ops without host zones */
    OVERVIEW_GPU,      /* ops, and zones of the host that launched them */
    OVERVIEW_ESTIMATE, /* a model of the device made it */
};

enum overview_key {
    OVERVIEW_BUSY,
    OVERVIEW_IDLE_HOST_WORKING,
    OVERVIEW_IDLE_HOST_WAITING,
    OVERVIEW_IDLE_HOST_UNKNOWN,
    OVERVIEW_COMPUTE,
    OVERVIEW_DMA, /* and nothing else */
    OVERVIEW_IDLE,
    OVERVIEW_WORKING,
    OVERVIEW_WAITING,
    OVERVIEW_IMPORTS,
    OVERVIEW_PAUSED,
    OVERVIEW_NOTHING, /* recorded */
    OVERVIEW_KEYS
};

#define OVERVIEW_PARTS 5u
struct overview_part {
    enum overview_key key;
    uint64_t ns;
};

/* A name of zones, over all threads of the host. */
struct overview_function {
    uint32_t name;        /* id */
    uint32_t place_count; /* in the source */
    uint64_t self_ns, total_ns, count;
};

/* What the host did during a gap: the innermost zone of a launching thread. */
#define OVERVIEW_HOST_NAMES 5u
struct overview_host {
    uint32_t name; /* id; TRACE_NONE: nothing was recorded */
    uint64_t ns;
};

enum overview_class { OVERVIEW_HOST_UNKNOWN, OVERVIEW_HOST_WORKING, OVERVIEW_HOST_WAITING };

struct overview_gap {
    uint64_t start_ns, duration_ns; /* start: UINT64_MAX where it is not known */
    uint32_t track;                 /* of the device that ran next; TRACE_NONE */
    uint32_t before;                /* text of the ops: what ran next; OPS_NONE */
    enum overview_class class_;
    uint64_t working_ns, waiting_ns;                /* of it the host; of the rest nothing is known */
    struct overview_host host[OVERVIEW_HOST_NAMES]; /* longest first */
    size_t host_count;
};

/* Where the time of an idle part is; the three add up to it. */
#define OVERVIEW_IDLE_PARTS 3u
struct overview_idle {
    enum overview_key key;
    uint64_t gaps_ns;  /* in gaps that are longer than the machine's mark */
    uint64_t short_ns; /* in shorter ones */
    uint64_t end_ns;   /* after the last op of the window */
};

/* Gaps of similar lengths, those below the mark as well. */
#define OVERVIEW_BINS 24u
struct overview_bin {
    uint64_t from_ns, to_ns; /* from <= length < to */
    uint64_t count, sum_ns;
};

/* Ops that are one row of a table; see overview_group_ops. */
struct overview_op {
    uint32_t name;                /* text of the ops */
    uint8_t class_, bound, doubt; /* doubt: of any of them, enum perf_doubt */
    bool is_host;
    uint64_t count;
    double device_ns, alone_ns; /* alone: no other run was on the device; NaN: not known */
    double share;               /* of the device time of all */
    double mean_ns, p50_ns, p99_ns, gap_ns;
    double dram_percent, flops_percent; /* by time, of those not in doubt; NaN */
    uint32_t row;                       /* of the report's table: the costliest */
};

struct overview_ops {
    struct overview_op *items; /* by device time, longest first */
    size_t count;
};

/* Where a run is in the trace, or the call of an op that no device ran. Several runs of a track may begin at one time:
 * the lane tells them apart. Who draws them gives them lanes (overview_set_lanes). */
struct overview_place {
    uint32_t track;            /* TRACE_NONE: not known */
    uint32_t lane;             /* OVERVIEW_NO_LANE: not known, or no run of a device */
    uint64_t start_ns, end_ns; /* UINT64_MAX */
    bool is_call;              /* on the host */
};
#define OVERVIEW_NO_LANE UINT32_MAX

enum overview_group { OVERVIEW_BY_SHAPE, OVERVIEW_BY_OP, OVERVIEW_BY_KIND, OVERVIEW_BY_NOTHING };

enum overview_source { OVERVIEW_WHOLE, OVERVIEW_ASKED, OVERVIEW_STEPS, OVERVIEW_SIGNPOST };

struct overview_options {
    const struct trace_filter *filter; /* processes, tracks, the window that was asked for */
    bool include_warm_up;              /* the whole trace, unless a window was asked for */
    const char *machine;               /* by name; NULL: what the devices say that they are */
    const struct machine_set *machines;
    bool has_host_start;               /* ops say when they were called */
    const char *path;                  /* of the trace; must stay */
    const struct perf_options *report; /* which ops, where a report chose them: instead of steps; NULL */
};

struct overview {
    enum overview_kind kind;
    struct trace *trace;
    const char *path;
    /* the window */
    uint64_t from_ns, to_ns; /* host times */
    enum overview_source source;
    char *step_name; /* frames: NULL where none are in the trace */
    uint64_t first_step, last_step, left_out_steps;
    uint64_t step_median_ns, longest_left_out_ns;
    /* where the time went */
    struct overview_part parts[OVERVIEW_PARTS];
    size_t part_count;
    uint64_t total_ns;
    bool is_device; /* parts of a device's time, not of the main thread's */
    uint32_t main_track;
    struct overview_function main_wait; /* what the main thread waited in longest; count 0: in nothing */
    uint32_t device_count;
    /* functions of the host, by their own time: those that work, those that wait */
    struct overview_function *working, *waiting;
    size_t working_count, waiting_count;
    /* ops */
    struct perf perf; /* of the window; count 0 where there are none */
    struct overview_ops ops;
    double *alone;                 /* by run of the model: the share of its time; NaN */
    struct overview_place *places; /* likewise */
    uint32_t *names;               /* by row of the report: what it is called by op and shape */
    /* gaps: times in which no device ran anything, longer than the machine's mark */
    struct overview_gap *gaps; /* longest first */
    size_t gap_count;
    uint64_t gap_sum_ns;
    uint64_t short_gap_count; /* below the mark */
    struct overview_idle idle[OVERVIEW_IDLE_PARTS];
    size_t idle_count;
    struct overview_bin bins[OVERVIEW_BINS];
    size_t bin_count;
    struct overview_host gap_host[OVERVIEW_HOST_NAMES]; /* of all gaps that were looked at */
    size_t gap_host_count;
    uint64_t open_zones; /* in the window */
    char *caveat;        /* how far an estimate can be trusted, in a sentence; NULL */
};

/* `ops` is changed: lines outside of the window are taken out; it must live as long as the overview. */
int overview_make(struct overview *overview, struct trace *trace, struct ops *ops,
                  const struct overview_options *options, struct error *err);
void overview_free(struct overview *overview);

/* Ops of the window by something else than their shapes; the caller frees them. */
int overview_group_ops(const struct overview *overview, enum overview_group by, struct overview_ops *groups,
                       struct error *err);
void overview_ops_free(struct overview_ops *groups);
/* The rows of the report's table that are in the group of this name, the costliest first; the caller frees them. NULL:
 * no memory. */
uint32_t *overview_rows_of(const struct overview *overview, enum overview_group by, const char *name,
                           size_t *count);

/* Of a row of the report: what it is called where ops are told apart by their shapes; a text of the ops. */
uint32_t overview_row_name(const struct overview *overview, const struct perf_row *row);
/* Of a row of the report: where its run is, else its call. What the CPU computed is where it was called: its runs are
 * its own time, put in order. */
struct overview_place overview_place_of(const struct overview *overview, const struct perf_row *row);
/* Asks for the lane of each run: `find` says where one of this name begins on its track, and when it ends there. */
typedef bool overview_find_lane(const void *context, const char *name, struct overview_place *place);
void overview_set_lanes(struct overview *overview, overview_find_lane *find, const void *context);
/* What a run that is drawn at a place is in the tables. Its time there need not be that from its first tick to its
 * last: a table may count its kernel alone, several kernels of a call together, or the mean of several devices. */
struct overview_counted {
    double ns;        /* NaN: the tables do not have it */
    uint32_t name;    /* text of the ops; OPS_NONE: no row of this window begins with this run */
    uint32_t kernels; /* together */
    bool is_averaged; /* over devices */
};
struct overview_counted overview_find_counted(const struct overview *overview,
                                              const struct overview_place *place);
/* The gap that ends where a place begins; NULL. */
const struct overview_gap *overview_gap_before(const struct overview *overview,
                                               const struct overview_place *place);
uint64_t overview_part_ns(const struct overview *overview, enum overview_key key); /* 0 where there is none */

#endif
