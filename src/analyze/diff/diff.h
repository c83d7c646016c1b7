/* SPDX-License-Identifier: Apache-2.0 */
/* What changed between two runs: ops, zones, and host dispatch times.
 *
 *     diff_begin(&diff, &options);
 *     fill diff.runs[DIFF_A] and diff.runs[DIFF_B] with the diff_take_ functions below
 *     diff_finish(&diff, &err);            diff.rows, diff.groups, diff.totals
 *     diff_free(&diff);
 *
 * Ops are matched as sequences, thread by thread, by name, tensors and place in the source first, then by name and
 * tensors; equal ops in another order are paired as they come, the rest by name (match.c). A row is what equal ops have
 * in common: their name, their tensors and their place. Zones are matched by name, function and file; several of one
 * function in the order of their lines.
 *
 * A change of a row is called slower or faster when the middle of its pairs changed by more than the threshold and a
 * test says that it is not noise (stats.h): the signed-rank test over the matched pairs of an op, the rank-sum
 * test over the durations of a zone. Where there are too few for any test, all must agree; where there is one on each
 * side there is no spread, and the threshold alone decides. `evidence` says which it was.
 *
 * A side may have further runs (diff_keep_extra): then what changed is judged from the medians over the runs, and
 * tested from run to run (runs.c), which sees what the spread inside one run cannot. */
#ifndef OPSCOPE_ANALYZE_DIFF_DIFF_H
#define OPSCOPE_ANALYZE_DIFF_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/diff/align.h"
#include "analyze/nesting.h"
#include "analyze/window.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/intern.h"

struct slice;
struct ops;
struct trace;

enum { DIFF_A = 0, DIFF_B = 1, DIFF_SIDES = 2 };
#define DIFF_NO_TEXT INTERN_NONE
#define DIFF_RUNS_MAX 64u  /* of a side */
#define DIFF_SAMPLES 1024u /* durations kept of a zone, evenly spread over the run */

enum diff_group_by { DIFF_BY_OP, DIFF_BY_CATEGORY, DIFF_BY_LOCATION, DIFF_BY_LAYER };

/* A part of a run: the ops that begin in it and the zones that lie in it, in host times. */
struct diff_window {
    bool is_set;
    uint64_t since_ns, until_ns;
};

struct diff_options {
    double threshold_percent; /* smaller changes are none */
    double alpha_percent;     /* a test must be surer than this */
    enum diff_group_by group_by;
    bool ignore_location, ignore_shape;
    const char *start_signpost, *end_signpost; /* take the ops between the first of these */
    struct diff_window windows[DIFF_SIDES];    /* that were asked for */
    bool include_warm_up; /* else what is warm-up and start-up is left out: analyze/window.h */
};

/* What a run's figures are about. */
enum diff_part { DIFF_PART_WHOLE, DIFF_PART_ASKED, DIFF_PART_STEPS, DIFF_PART_SIGNPOST };

/* --- one run --- */

enum diff_op_kind { DIFF_DEVICE_OP, DIFF_HOST_OP, DIFF_SIGNPOST };

/* What ops have in common that are the same op. Texts are interned in diff.texts. */
struct diff_key {
    uint32_t name, shape, location, group;
    uint32_t kind; /* enum diff_op_kind */
};

struct diff_op {
    double time_ns; /* on the device; of a host op on the host; NAN: missing */
    double gap_ns;  /* the device waited before it; NAN: unknown */
    double host_ns; /* NAN: unknown */
    uint32_t key;   /* in diff.keys */
    uint32_t id;    /* its place among the run's rows, from 1 */
};

struct diff_zone {
    uint32_t name, function, file, line; /* file without its folder */
    uint32_t nth;                        /* of the zones of this name in this function */
    uint64_t count, total_ns, self_ns,
        max_ns; /* in the total, time in an outer zone of its kind counts once */
    struct nesting_depths depths;
    double *samples;
    size_t sample_count, sample_capacity;
    uint64_t stride; /* every nth duration is a sample */
};

struct diff_call { /* dispatch of an op on the host */
    uint32_t name, group;
    uint64_t count;
    double mean_ns, min_ns;
    double p50_ns, low_ns, high_ns; /* NAN: a file without them */
    double rounding_ns;             /* the figures may be so much more or less; 0: exact */
    bool is_measured;
};

struct diff_run {
    char *path;
    struct diff_window window; /* of the ops and zones that were taken */
    enum diff_part part;
    char *part_name;           /* of DIFF_PART_SIGNPOST, in words; NULL */
    struct window_steps steps; /* in that window; none: nothing marks any, or they are not most of it */
    const char *kind;          /* "trace", "ops CSV", "log folder", "overhead CSV" */
    struct diff_op *ops;
    size_t op_count, op_capacity;
    uint32_t *
        roles; /* by op: which thread of which process called it, as two runs number them; NULL: there is one */
    bool is_cpu; /* the host's CPU computed the ops: who else uses it makes them slower */
    uint64_t device_op_count, host_op_count, signpost_count, untimed_count;
    double device_ns, gap_ns, host_ns; /* host_ns: of all ops that have a time on the host */
    struct diff_zone *zones;
    size_t zone_count, zone_capacity;
    uint64_t zones_total; /* zones that ran */
    uint64_t wall_ns;     /* of a trace; 0: unknown */
    uint64_t lost_zones, lost_records;
    struct diff_call *calls;
    size_t call_count, call_capacity;
};

/* --- the result --- */

enum diff_row_kind { DIFF_OP_ROW, DIFF_ZONE_ROW, DIFF_CALL_ROW };

enum diff_state {
    DIFF_SAME,     /* below the threshold */
    DIFF_NOISE,    /* above it, but no more than the times vary anyway */
    DIFF_OUTLIERS, /* the sum is above it, most calls are not: a few long ones made it */
    DIFF_SLOWER,   /* of those below, what is reported first */
    DIFF_FASTER,
    DIFF_NEW,
    DIFF_GONE,
    DIFF_MORE, /* called more often, and that is what changed its sum */
    DIFF_FEWER,
    DIFF_RESHAPED, /* the same op with other tensors: its times say nothing of speed */
    DIFF_MIXED,    /* most calls changed one way, their sum the other */
    DIFF_STATES
};

enum diff_evidence {
    DIFF_NO_SPREAD, /* one on each side: nothing is known about noise */
    DIFF_TESTED,    /* `p` is the chance that it is noise */
    DIFF_TOO_FEW,   /* for a test at this level: slower or faster only where all agree */
    DIFF_INTERVALS, /* do the 95 % intervals of the medians overlap? */
    DIFF_RUNS,      /* rank-sum test over several runs of each side: `p`; too few for it: a t-test */
    DIFF_ROUNDED,   /* no spread, and only this many digits: is it more than rounding? */
};

struct diff_row {
    uint8_t kind, state, evidence;
    uint32_t name, location, group; /* location: of a zone "function file:line" */
    uint32_t shapes[DIFF_SIDES];
    uint64_t counts[DIFF_SIDES];
    uint64_t matched;              /* pairs of ops; of zones and calls: 1 */
    double total_ns[DIFF_SIDES];   /* of all, matched or not; of a call: its mean */
    double self_ns[DIFF_SIDES];    /* of a zone; NAN */
    double typical_ns[DIFF_SIDES]; /* the median of one; NAN: none */
    double change_ns;              /* of the total; of a zone of its own time */
    double change_percent;         /* of the total; NAN: there was none */
    double typical_percent;        /* the median of how much each pair changed; NAN */
    double p;                      /* NAN */
    uint32_t zones[DIFF_SIDES];    /* of a zone row: places in the runs' zones; UINT32_MAX: none */
    double variance;               /* of the sum of what an op's pairs changed; NAN: fewer than two */
};

struct diff_group {
    uint32_t name;
    uint64_t counts[DIFF_SIDES];
    double time_ns[DIFF_SIDES], gap_ns[DIFF_SIDES];
    double change_ns, change_percent;
};

enum diff_total_kind {
    DIFF_STEP, /* the mean time of a step */
    DIFF_DEVICE_TIME,
    DIFF_GAP,
    DIFF_TOTAL, /* both; of runs that have neither, the time from the first to the last record */
    DIFF_HOST_TIME,
    DIFF_OP_COUNT,
    DIFF_WALL,
    DIFF_ZONE_COUNT,
    DIFF_DISPATCH, /* the sum of the ops' means, of those in both */
    DIFF_TOTALS
};

struct diff_total {
    bool is_there, is_time;
    double values[DIFF_SIDES];
    double change, change_percent; /* percent NAN: there was none */
    double margin; /* the change is sure to 99 % within this, from the spread of equal ops; NAN: no spread */
    double structure; /* the part of the change that new and gone ops make */
    double covered;   /* the share of the time whose spread is known */
};

/* A further run of a side: of its ops only the sums are kept. */
struct diff_extra {
    struct diff_run run;
    struct diff_key_sum *sums; /* by key */
    size_t sum_count;
};

struct diff_key_sum {
    double time_ns, host_ns;
    uint64_t count;
};

#define DIFF_MORE_WORK 2.0 /* times as much, at equal speed: not noise on any machine */

/* Is what a step takes longer or shorter by more than steps vary? */
struct diff_step_test {
    double medians[DIFF_SIDES];
    double p; /* rank-sum test over the steps */
    double
        share; /* of all pairs of a step of A and one of B: the one of B takes longer; equal ones count half */
    /* of ops that the host's CPU computed, on a machine that was busy: how much more they took in B, at the speed that
     * the ops show that both have; NAN: not known */
    double at_speed;
    bool is_noise;
};

struct diff {
    struct diff_options options;
    bool is_per_step; /* all times are of one step: sums are divided by how many the run has */
    struct diff_step_test step_test;
    struct diff_common {   /* of the first runs */
        bool has_no_steps; /* one has steps, the other has not: both are taken as a whole */
        bool is_set;       /* numbers of the steps that they share */
        uint64_t from, to;
    } common;
    struct intern texts, key_index;
    struct diff_key *keys;
    size_t key_count, key_capacity;
    struct diff_run runs[DIFF_SIDES]; /* the first of each side: these are matched */
    struct diff_extra *extras[DIFF_SIDES];
    size_t extra_count[DIFF_SIDES], extra_capacity[DIFF_SIDES];
    /* while rows are in the order in which they were made; UINT32_MAX: none */
    uint32_t *row_of_key[DIFF_SIDES];
    struct align align;
    uint32_t *a_of_b;      /* the other way round */
    struct diff_row *rows; /* ops, then zones, then calls; each by how much changed, most first */
    size_t row_count, row_capacity;
    struct diff_group *groups; /* by how much changed */
    size_t group_count, group_capacity;
    struct diff_total totals[DIFF_TOTALS];
    uint64_t matched, reshaped, added, removed; /* ops */
    bool has_ops, has_zones, has_calls;
    bool is_location_moved; /* too many places differ: they were not compared */
    bool is_host_time;      /* neither run has times of a device: those of the host are compared */
    struct bytes scratch;
};

void diff_begin(struct diff *diff, const struct diff_options *options);
int diff_finish(struct diff *diff, struct error *err);
void diff_free(struct diff *diff);

/* Ops of a finished model, which are taken out of it.
 * DIFF_SEVERAL_DEVICES when they have to be merged first (load/diff.h). */
#define DIFF_SEVERAL_DEVICES 1
int diff_take_ops(struct diff *diff, int side, struct ops *ops, struct error *err);
struct diff_trace {
    struct trace *trace;
    bool has_ops; /* of which not all need lie in steps */
};
/* Before a side is taken: its steps, and its window, where it is one of steps or was asked for. */
int diff_find_window(struct diff *diff, int side, const struct diff_trace *from, struct error *err);
/* The same for the part between signposts, from the ops. */
int diff_find_block(struct diff *diff, int side, const struct ops *ops, struct error *err);
/* Before either is found: which steps both runs have. */
int diff_find_common(struct diff *diff, const struct diff_trace traces[DIFF_SIDES], struct error *err);
/* Leaves the lines out that do not begin in the side's window. */
void diff_cut_lines(const struct diff *diff, int side, struct ops *ops);
/* Leaves out ops of PyTorch that ran nothing on a device, where others did: views, and ops that call others, whose
 * times on the host contain each other's. How many. */
size_t diff_drop_idle_ops(struct ops *ops);
int diff_take_zones(struct diff *diff, int side, struct trace *trace, struct error *err);
/* Dispatch times, in any order. */
void diff_sort_calls(struct diff_run *run);

/* What was loaded as this side's run becomes a further run of it; `first` is put (back) in its place. */
int diff_keep_extra(struct diff *diff, int side, struct diff_run *first, struct error *err);
static inline size_t diff_run_count(const struct diff *diff, int side)
{
    return 1 + diff->extra_count[side];
}

const char *diff_text(const struct diff *diff, uint32_t id); /* "" for none */
const char *diff_state_text(unsigned state);
const char *diff_evidence_text(unsigned evidence);
const char *diff_group_by_text(unsigned group_by);
const char *diff_total_text(unsigned total);

/* The op time that is compared: the device's, or the host's where there is none. */
static inline double diff_op_time(const struct diff *diff, const struct diff_op *op)
{
    return diff->is_host_time ? op->host_ns : op->time_ns;
}

/* --- between the files --- */
uint32_t diff_intern(struct diff *diff, const void *data, size_t length);
uint32_t diff_find_key(struct diff *diff, const struct diff_key *key); /* adds it */
struct diff_op *diff_add_op(struct diff *diff, int side);              /* NULL: no memory */
/* So many, which the caller fills in; not more memory than they need. */
struct diff_op *diff_add_ops(struct diff *diff, int side, size_t count);
struct diff_row *diff_add_row(struct diff *diff);
void diff_sum_run(struct diff *diff, int side);
int diff_no_signpost(const struct diff *diff, int side, const char *name, struct error *err);
int diff_match_ops(struct diff *diff, struct error *err);
int diff_compare_ops(struct diff *diff, struct error *err);
/* basis.c: are all figures of a step? Then sums become those of one. */
int diff_find_basis(struct diff *diff, struct error *err);
void diff_apply_basis(struct diff *diff);
double diff_mean_step(const struct diff_run *run);
static inline double diff_per(const struct diff *diff, const struct diff_run *run)
{
    return diff->is_per_step ? (double)run->steps.count : 1;
}
/* Were there more in B, less (-1), or as many, for each step? */
int diff_compare_counts(const struct diff *diff, const struct diff_row *row);
int diff_drop_op_zones(struct diff *diff, struct error *err);
int diff_compare_zones(struct diff *diff, struct error *err);
int diff_compare_calls(struct diff *diff, struct error *err);
void diff_free_run(struct diff_run *run);
int diff_apply_runs(struct diff *diff, struct error *err);
/* 99 % interval of the change of the mean over runs (Student); NAN: one run on each side. */
double diff_runs_margin(const double *before, size_t before_count, const double *now, size_t now_count);
/* One figure for each run of a side that has it; `out` has room for DIFF_RUNS_MAX. */
size_t diff_runs_op_sums(const struct diff *diff, int side, const char *name, double *out);
int diff_runs_zone_medians(const struct diff *diff, int side, const char *name, double *out, size_t *count,
                           struct error *err);
/* The durations that were kept of all zones of this name; NULL: no memory. */
double *diff_zone_samples(const struct diff *diff, const struct diff_run *run, const char *name,
                          size_t *count);
const struct diff_zone *diff_find_zone(const struct diff_run *run, const struct diff_zone *like);
/* State from typical_percent, p, evidence, counts. `agree`: all pairs went the same way. */
void diff_judge(const struct diff *diff, struct diff_row *row, bool agree);

#endif
