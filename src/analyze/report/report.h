/* SPDX-License-Identifier: Apache-2.0 */
/* The performance report of a run's ops: how long each took on the device, how long the device waited before it, how
 * near it came to what the machine can do, and what keeps it from there.
 *
 *     perf_begin(&perf, &options, &ops);      a filled model, with its lines
 *     perf_add_path(&perf, path);             for each file that it was read from
 *     perf_finish(&perf, &err);               order, signposts, devices merged, figures, groups, advice
 *     for (i = 0; i < perf.count; i++) ... perf_at(&perf, i) is a row of the table ...
 *     perf_free(&perf);
 *
 * A row is what one line of the model adds to the report, in 48 bytes. What follows from an op's name and description
 * alone (its FLOPs, its bytes, the text that it is shown as) is found once for all lines that have them: a work. Shares
 * and rates follow from both, and are computed where they are shown: perf_figures. */
#ifndef OPSCOPE_ANALYZE_REPORT_REPORT_H
#define OPSCOPE_ANALYZE_REPORT_REPORT_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/machine.h"
#include "analyze/report/attributes.h"
#include "analyze/report/class.h"
#include "analyze/report/fidelity.h"
#include "analyze/report/group.h"
#include "analyze/report/notes.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/map.h"
#include "ops/ops.h"

/* --- what is asked for --- */

enum perf_group_by {
    PERF_BY_OP,
    PERF_BY_MEMORY,
    PERF_BY_CATEGORY,
    PERF_BY_SIGNPOST,
    PERF_BY_LOCATION,
    PERF_BY_LAYER
};

struct perf_options {
    const char *start_signpost, *end_signpost;
    bool ignore_signposts, print_signposts;
    struct perf_steps {   /* where the run has no signposts: ops of this time alone */
        const char *text; /* in words; NULL: all ops */
        uint64_t since_ns, until_ns;
    } steps;
    const char *id_range; /* "A-B", "A-", "-B" */
    const char *machine;  /* by name; NULL: what the devices say that they are */
    const struct machine_set *machines;
    bool is_in_file_order; /* ops stay in the order in which they were read */
    bool has_host_start;   /* ops say when they were called */
    bool no_host_ops, no_merge_devices;
    bool ids_are_lines; /* an op's number is its line, not its place in the table */
    enum perf_group_by group_by;
    uint64_t active_experts; /* 0: not given */
    double target_percent;   /* 0: the machine's threshold */
    double min_percent;
};

/* --- works --- */

/* How sure a figure is. */
enum perf_model_flag {
    PERF_FLOPS_AT_MOST = 1,  /* the model may count work that was not done (masks, sparsity) */
    PERF_FLOPS_AT_LEAST = 2, /* the op does more than is counted */
    PERF_BYTES_AT_MOST = 4,  /* not all of a tensor need have moved */
    PERF_BYTES_AT_LEAST = 8, /* tensors that are not described moved, too */
    PERF_LINK_ASSUMED = 16,  /* links or ring size were not recorded */
};

/* Why a share of a roofline is no verdict: nothing bounds such an op, and nothing is advised about it. A share that is
 * at most so much does not show that the roofline is reached; one above what can be measured, that the model of the op
 * does not hold. */
enum perf_doubt {
    PERF_NO_DOUBT,
    PERF_DOUBT_AT_MOST,   /* it need not do, or read, all that is counted */
    PERF_DOUBT_KV_CACHE,  /* attention: how much of the cache is used is not recorded */
    PERF_DOUBT_PADDING,   /* of tensors, which it need not read */
    PERF_DOUBT_NO_CACHES, /* it can have come from a cache that the machine file says nothing of */
    PERF_DOUBT_MEMORY,
    PERF_DOUBT_FLOPS,
    PERF_DOUBT_LINK,
    PERF_DOUBTS
};
/* More than this of a roofline is not what clocks and rounding do. */
#define PERF_MOST_PERCENT 105.0

struct perf_work {
    uint32_t name, shown; /* texts; `shown` has the shape after the name */
    uint32_t math, types[3],
        memory; /* fidelity and types for people; inputs 0, 1, output; where input 0 lies */
    float link_count;
    double flops;      /* NaN: no model */
    double dram_bytes; /* NaN: no model */
    double link_bytes;
    float unpadded; /* bytes without padding, as a share of dram_bytes; 1 where nothing is padded */
    int32_t block_w, subblock_h, subblock_w; /* of a matmul's program config; PERF_NO_NUMBER */
    uint8_t class_, category, fidelity, model_flags;
    uint8_t model; /* enum torch_model */
    bool is_matmul : 1, is_conv : 1, is_dram_sharded : 1;
    bool has_shape : 1;       /* the sizes that its model needs are there */
    bool is_torch : 1;        /* an op of PyTorch */
    bool is_without_work : 1; /* views, and ops that only call others: nothing bounds them */
};
/* There is one for each op where each has attributes of its own. */
_Static_assert(sizeof(struct perf_work) == 80, "no holes");

/* --- a row of the report --- */

enum perf_kind { PERF_DEVICE_OP, PERF_HOST_OP, PERF_SIGNPOST };

struct perf_row {
    uint32_t line;        /* in ops.lines */
    uint32_t work;        /* in works; OPS_NONE for signposts */
    double duration_ns;   /* NaN: missing; the mean of several devices where is_averaged */
    double shown_gap_us;  /* NaN: blank */
    float overlap_us;     /* with ops on other sub-devices; NaN: none */
    float advice_gain_us; /* what the ranked advice says its time could lose ... */
    float gap_gain_us;    /* ... and the gap before it */
    uint32_t id;          /* shown */
    uint8_t kind, bound;
    uint8_t advice_rule_plus_1; /* 0: no advice about its time */
    uint8_t doubt;              /* enum perf_doubt */
    uint8_t cache_plus_1; /* the level of the machine's caches that its data can have been in; 0: none */
    bool is_averaged : 1, is_duration_invalid : 1;
    bool is_merged : 1; /* not shown: an op of another device stands for it */
};

/* Rates and shares; NaN: none. Of an op in doubt they are what the model says, and there is no ideal time. */
struct perf_figures {
    double dram_gb_s, dram_percent, tflops, flops_percent, link_gb_s, link_percent;
    double cache_percent; /* instead of dram_percent, where its data can have been in a cache */
    double ideal_us;      /* the longest of its rooflines */
};

/* --- advice: what to change, ranked by what it would save --- */

struct perf_advice {
    uint32_t rule;  /* enum perf_rule_id: index in perf_rules */
    uint32_t shown; /* the op or the group of equal ops */
    uint32_t row;   /* of the table: the op with the largest gain, whose figures are shown */
    uint32_t count; /* ops that it is about */
    double gain_us, gain_percent, time_us;
    double weight_percent; /* by which it is shown at all: of the gain, or of the time that is in doubt */
    double fastest_us;     /* the shortest run of any equal op; NaN: of gaps */
};

/* A zone of the host that filled gaps (host.h). */
struct perf_host_zone {
    uint32_t name, thread; /* texts */
    double covered_us, percent;
    size_t last_moment; /* while they are found */
};

/* Which lines of the model came from which file. */
struct perf_file {
    const char *path;
    size_t end_line;
};

/* What the name of an op says, kept for the next work of that name. */
#define PERF_KNOWN_NAMES 256u
struct perf_known_name {
    uint32_t text_plus_1; /* 0: nothing here yet */
    struct perf_name name;
};

/* The work of a name and a description, kept for the next op that has them. */
#define PERF_KNOWN_WORKS 1024u
#define PERF_KNOWN_MIX UINT64_C(0x9e3779b97f4a7c15)
struct perf_known_work {
    uint64_t key; /* 0: nothing here yet */
    uint32_t work;
};

struct perf {
    struct perf_options options;
    struct ops *ops;
    struct perf_file *files;
    size_t file_count, file_capacity;
    struct perf_row *rows; /* one per line of the model */
    size_t row_count;
    uint32_t *order; /* the table: which of the rows, in which order */
    size_t count;
    struct perf_work *works;
    size_t work_count, work_capacity;
    struct intern work_index; /* by all that it is made from */
    struct bytes work_key;
    struct perf_attribute_marks attributes;
    struct perf_known_work known_works[PERF_KNOWN_WORKS]; /* by a hash of their keys */
    struct perf_known_name known_names[PERF_KNOWN_NAMES]; /* by the last digits of their ids */
    uint32_t available_cores, sub_device, ticks_ns;       /* names of figures; OPS_NONE: no run has it */
    const struct machine *machine; /* never NULL: machine_unknown has the marks alone */
    bool has_machine;              /* it is known what the machine can do: there are rooflines */
    uint32_t device_text;          /* what the device is called, or says that it is; OPS_NONE */
    double worker_cores;           /* of the run; 0: not known */
    bool budgets_vary, has_sub_devices;
    /* results */
    uint64_t device_op_count, host_op_count, signpost_count;
    double total_time_us, total_gap_us, busy_us, overlap_us;
    double total_us;             /* what shares of the run are of: the time in which ops ran, and the gaps */
    bool is_estimate;            /* all that ran is from a model: no host makes it wait */
    bool gaps_dominate;          /* nearly all of the time is gaps: shares are of the device time */
    bool looks_like_compilation; /* ... and the gaps are too long for anything else */
    uint32_t window;             /* which ops of the run the table has, in words; OPS_NONE: all */
    bool has_window_end;         /* ops after it are left out */
    uint64_t read_op_count;      /* all of them */
    double total_flops, total_dram_bytes;
    uint64_t invalid_count;
    uint64_t doubt_count; /* ops in doubt */
    struct perf_groups groups;
    struct perf_advice *advice;
    size_t advice_count, advice_capacity;
    double advice_gain_us, advice_gap_gain_us; /* of all; of gaps alone */
    struct perf_host_zone *host_zones;
    size_t host_zone_count, host_zone_capacity;
    struct perf_notes notes;
    struct bytes scratch;
    bool failed; /* no memory */
};

void perf_begin(struct perf *perf, const struct perf_options *options, struct ops *ops);
/* The lines that the model has now and that came since the last call are from this file; the path must stay. */
int perf_add_path(struct perf *perf, const char *path, struct error *err);
int perf_finish(struct perf *perf, struct error *err);
/* The same without groups and advice: which ops, in which order, with their times. */
int perf_finish_times(struct perf *perf, struct error *err);
void perf_free(struct perf *perf);

static inline struct perf_row *perf_at(const struct perf *perf, size_t i)
{
    return &perf->rows[perf->order[i]];
}

/* --- of a row --- */

static inline const struct op_line *perf_line(const struct perf *perf, const struct perf_row *row)
{
    return &perf->ops->lines[row->line];
}
/* NULL where it has none. */
static inline const struct op_call *perf_call(const struct perf *perf, const struct perf_row *row)
{
    uint32_t call = perf_line(perf, row)->call;
    return call == OPS_NONE ? NULL : &perf->ops->calls[call];
}
uint32_t perf_location(const struct perf *perf, const struct perf_row *row);  /* text; OPS_NONE: not known */
uint32_t perf_own_place(const struct perf *perf, const struct perf_row *row); /* likewise: ops_own_place */
const struct op_description *perf_description(const struct perf *perf,
                                              const struct perf_row *row); /* never NULL */
static inline const struct op_run *perf_run(const struct perf *perf, const struct perf_row *row)
{
    uint32_t run = perf_line(perf, row)->run;
    return run == OPS_NONE ? NULL : &perf->ops->runs[run];
}
/* Its times are what a model says: no host made it wait. */
static inline bool perf_is_estimated(const struct perf *perf, const struct perf_row *row)
{
    const struct op_run *run = perf_run(perf, row);
    return run && run->flags & OP_RUN_ESTIMATED;
}
/* What ran of it are the replays of the sequence that it is part of, which have rows of their own. */
static inline bool perf_is_captured(const struct perf *perf, const struct perf_row *row)
{
    const struct op_call *call = perf_call(perf, row);
    return call && call->runs && !perf_run(perf, row);
}
extern const struct perf_work perf_no_work;
static inline const struct perf_work *perf_work_of(const struct perf *perf, const struct perf_row *row)
{
    return row->work < perf->work_count ? &perf->works[row->work] : &perf_no_work; /* never NULL */
}

struct perf_figures perf_figures(const struct perf *perf, const struct perf_row *row);
/* What its bytes take from DRAM, or from the cache that it is held against; 0: none are known. */
double perf_memory_us(const struct perf *perf, const struct perf_row *row);
double perf_total_percent(const struct perf *perf, const struct perf_row *row); /* NaN: blank */
static inline double perf_time_us(const struct perf_row *row)
{
    return row->kind != PERF_DEVICE_OP || row->is_duration_invalid ? NAN : row->duration_ns / 1000;
}
static inline double perf_cores(const struct perf *perf, const struct perf_row *row) /* NaN: not known */
{
    const struct op_run *run = perf_run(perf, row);
    return run && run->cores ? (double)run->cores : NAN;
}
double perf_available_cores(const struct perf *perf, const struct perf_row *row); /* NaN: not known */
double perf_host_ns(const struct perf *perf, const struct perf_row *row);         /* of its call; NaN */
double perf_gap_ns(const struct perf *perf, const struct perf_row *row);          /* as recorded; NaN */
int32_t perf_device(const struct perf *perf, const struct perf_row *row);         /* PERF_NO_NUMBER */
uint32_t perf_sub_device(const struct perf *perf, const struct perf_row *row);    /* a text; OPS_NONE */
uint32_t perf_category(const struct perf *perf, const struct perf_row *row);
/* How many cores the op may use; 0: not known. */
double perf_core_budget(const struct perf *perf, const struct perf_row *row);
struct perf_matmul perf_matmul_of(const struct perf *perf, const struct perf_row *row);
/* The file that a row is from. */
const char *perf_path_of(const struct perf *perf, const struct perf_row *row);

/* The host's CPU computed the ops itself: nothing runs ahead of the host. */
bool perf_is_cpu(const struct perf *perf);

static inline const char *perf_text(const struct perf *perf, uint32_t id) /* "" for none */
{
    return ops_get_text(perf->ops, id);
}
/* Which devices there are and how they were merged, in words; NULL: there is one at most. */
const char *perf_devices_text(const struct perf *perf);
void perf_note(struct perf *perf, enum perf_note_level level, const void *kind, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

const char *perf_group_by_text(unsigned group_by);
/* Why, as a clause without an end; "" for none. */
const char *perf_doubt_text(unsigned doubt);

#endif
