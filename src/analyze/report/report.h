/* SPDX-License-Identifier: Apache-2.0 */
/* The performance report of a run's ops: how long each took on the device, how long the device waited before
 * it, how near it came to what the machine can do, and what keeps it from there.
 *
 *     perf_begin(&perf, &options);
 *     for each source: perf_begin_file(&perf, path, has_column);  for each row: perf_add_row(&perf, cells, line);
 *     perf_finish(&perf, &err);       order, signposts, devices merged, figures, groups, advice
 *     for (i = 0; i < perf.count; i++) ... perf_at(&perf, i) is a row of the table ...
 *     perf_free(&perf);
 *
 * A row is kept as numbers and interned texts, about 300 bytes of memory; what the models need of tensors and
 * attributes is taken out while the row's cells are at hand. Rows are never trusted: a cell that is not what
 * its column should hold is a missing value, counted and named in the notes.
 *
 * options.compat gives the numbers and the order of tt-perf-report 1.2.4, whose rules differ in many places
 * (perf_compat.c); everything else here is shared. */
#ifndef OPSCOPE_ANALYZE_REPORT_REPORT_H
#define OPSCOPE_ANALYZE_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/machine.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/slice.h"
#include "base/intern.h"

/* --- what is read of a row --- */

#define PERF_INPUTS 8u
#define PERF_OUTPUTS 4u
#define PERF_TENSORS (PERF_INPUTS + PERF_OUTPUTS)
#define PERF_TENSOR_CELLS 6u /* W, Z, Y, X, data type, memory */

enum perf_column {
    PERF_OP_CODE,
    PERF_OP_TYPE,
    PERF_CALL,
    PERF_DEVICE,
    PERF_ARCH,
    PERF_ATTRIBUTES,
    PERF_FIDELITY,
    PERF_CORES,
    PERF_AVAILABLE_CORES,
    PERF_HOST_START,
    PERF_HOST_DURATION,
    PERF_GAP,
    PERF_DURATION,
    PERF_SUB_DEVICE,
    PERF_FW_START,
    PERF_FW_END,
    PERF_FW_DURATION,
    PERF_LOCATION,
    PERF_LAYER,
    PERF_TRACE,
    PERF_SESSION,
    PERF_TENSOR, /* the first of PERF_TENSORS x PERF_TENSOR_CELLS */
    PERF_COLUMNS = PERF_TENSOR + PERF_TENSORS * PERF_TENSOR_CELLS
};

/* The vendor's name of a column; older headers call the sizes of tensors differently. */
const char *perf_column_name(size_t column, bool is_old_header, char *buffer, size_t size);

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
    bool compat; /* the rules of tt-perf-report 1.2.4 */
    const char *start_signpost, *end_signpost;
    bool ignore_signposts, print_signposts;
    const char *id_range; /* "A-B", "A-", "-B" */
    const char *arch;     /* machine by name; NULL: what the rows say */
    const struct machine_set *machines;
    bool tracing_mode, no_host_ops, no_merge_devices;
    bool ids_are_lines; /* an op's number is its line, not its place in the table */
    enum perf_group_by group_by;
    uint64_t active_experts; /* 0: not said */
    double target_percent;   /* 0: the machine's threshold */
    double min_percent;
};

/* --- a row of the report --- */

enum perf_kind { PERF_DEVICE_OP, PERF_HOST_OP, PERF_SIGNPOST };
enum perf_bound {
    PERF_BOUND_NONE,
    PERF_BOUND_DRAM,
    PERF_BOUND_FLOP,
    PERF_BOUND_BOTH,
    PERF_BOUND_SLOW,
    PERF_BOUND_HOST,
    PERF_BOUND_LINK,
    PERF_BOUND_GAP,
};
enum perf_fidelity { PERF_LOFI, PERF_HIFI2, PERF_HIFI3, PERF_HIFI4, PERF_FIDELITY_UNKNOWN };

/* What an op does, for its roofline (perf_class.c; docs/roofline.md). */
enum perf_class {
    PERF_CLASS_OTHER,
    PERF_CLASS_MATMUL,
    PERF_CLASS_SPARSE_MATMUL,
    PERF_CLASS_CONV,
    PERF_CLASS_ATTENTION,
    PERF_CLASS_NORM,
    PERF_CLASS_SOFTMAX,
    PERF_CLASS_ELEMENTWISE,
    PERF_CLASS_REDUCTION,
    PERF_CLASS_POOL,
    PERF_CLASS_COLLECTIVE,
    PERF_CLASS_EMBEDDING,
    PERF_CLASS_MOVE, /* data movement: copies, layout changes, slices */
    PERF_CLASSES
};
enum perf_category {
    PERF_COMPUTE,
    PERF_CCL,
    PERF_TM,
    PERF_DM,
    PERF_HOST,
    PERF_OTHER,
    PERF_CATEGORIES,
};

/* How sure a figure is. */
enum perf_model_flag {
    PERF_FLOPS_AT_MOST = 1,  /* the model may count work that was not done (masks, sparsity) */
    PERF_FLOPS_AT_LEAST = 2, /* the op does more than is counted */
    PERF_BYTES_AT_MOST = 4,  /* not all of a tensor need have moved */
    PERF_BYTES_AT_LEAST = 8, /* tensors that the row does not name moved, too */
    PERF_LINK_ASSUMED = 16,  /* links or ring size were not recorded */
};

#define PERF_NO_TEXT INTERN_NONE
#define PERF_NO_NUMBER INT32_MIN

struct perf_row {
    uint64_t line;                                /* in its file */
    uint64_t source_index;                        /* over all files; tt-perf-report's ID is this + 2 */
    int64_t host_start_ns;                        /* INT64_MAX: missing */
    uint64_t id;                                  /* shown */
    double duration_ns, gap_ns, host_duration_ns; /* NaN: missing */
    double cores, available_cores;                /* NaN: missing */
    double call;                                  /* GLOBAL CALL COUNT; NaN: see call_text */
    double fw_start_cycle, fw_end_cycle, fw_duration_ns;
    /* work, from the cells */
    double flops;      /* NaN: no model */
    double dram_bytes; /* NaN: no model */
    double link_bytes, link_count;
    /* figures; NaN: blank */
    double time_us, shown_gap_us, total_percent, overlap_us;
    double dram_gb_s, dram_percent, tflops, flops_percent, link_gb_s, link_percent;
    double ideal_us;         /* the longest of its rooflines */
    float advice_gain_us;    /* what the ranked advice says its time could lose ... */
    float gap_gain_us;       /* ... and the gap before it */
    uint32_t op_code, shown; /* interned; `shown` has the shape behind the name */
    uint32_t fidelity_text, types[3], in0_memory, call_text, sub_device, location, layer, group;
    int32_t device, block_w, subblock_h, subblock_w; /* PERF_NO_NUMBER: missing */
    uint32_t file;
    uint8_t kind, fidelity, class_, category, bound, model_flags;
    uint8_t advice_rule_plus_1; /* 0: no advice about its time */
    bool is_matmul, is_conv, is_dram_sharded, is_duration_missing, is_duration_invalid, is_averaged;
    bool has_shape;      /* the sizes that its model needs were there */
    bool is_device_type; /* OP TYPE says so: takes part in merging */
    bool is_host_type;
};

/* --- groups: the stacked report --- */

struct perf_group {
    uint32_t key; /* interned */
    int32_t device;
    uint32_t category;
    uint64_t count;
    double time_us, percent, gap_us;
    double flops_min, flops_max, flops_mean, flops_std, flops_weighted; /* NaN: none */
    double ideal_us;
};

/* --- notes: what a person should know; the compat mode's messages --- */

enum perf_note_level { PERF_NOTE_INFO, PERF_NOTE_WARN };
struct perf_note {
    enum perf_note_level level;
    char *text;
    const void *kind; /* notes of the same kind are one, counted */
    uint64_t count;
};

/* --- advice: what to change, ranked by what it would save --- */

struct perf_advice {
    uint32_t rule;  /* enum perf_rule_id: index in perf_rules */
    uint32_t shown; /* the op or the group of equal ops */
    uint32_t row;   /* of the table: the op with the largest gain, whose figures are shown */
    uint32_t count; /* ops that it is about */
    double gain_us, gain_percent, time_us;
};

/* A zone of the host that filled gaps (perf_host.h). */
struct perf_host_zone {
    uint32_t name, thread; /* interned */
    double covered_us, percent;
};

/* What follows from an op's name alone. */
struct perf_name {
    bool is_known;
    uint8_t class_, category;
    uint16_t parts; /* perf_internal.h: enum perf_part */
};

/* Texts that were made from the same few numbers before: what comes again and again need not be formatted again. */
#define PERF_MADE_TEXTS 512u
struct perf_made_text {
    uint64_t key[6];
    uint32_t text;
    bool is_used;
};

struct perf {
    struct perf_options options;
    struct intern texts;
    struct perf_row *rows; /* as they were read */
    size_t row_count, row_capacity;
    uint32_t *order; /* the table: which of the rows, in which order */
    size_t count;
    const struct machine *machine; /* never NULL: machine_unknown has the marks alone */
    bool has_machine;              /* it is known what the machine can do: there are rooflines */
    double worker_cores;           /* of the run; 0: not known */
    bool budgets_vary, has_sub_devices;
    /* what the sources had */
    uint32_t *paths; /* interned, one a file */
    size_t file_count, file_capacity;
    uint64_t source_row_count;
    bool reads_cycles; /* they matter only beside sub-devices */
    bool has_host_start, has_arch_columns, has_old_header, has_padded_header;
    bool call_is_float, cores_is_float; /* as pandas would type the column (compat) */
    uint32_t arch_text;                 /* the rows' own; PERF_NO_TEXT */
    uint32_t arch_file;                 /* where it stands first */
    uint64_t arch_line;
    bool has_column[PERF_COLUMNS]; /* of the file that is being read */
    size_t file_first_row;
    int64_t device_base, devices_per_file;
    double file_device_max;
    /* results */
    uint64_t device_op_count, host_op_count, signpost_count; /* compat: before the last filters */
    double total_time_us, total_gap_us, total_us, busy_us, overlap_us;
    bool gaps_dominate;          /* nearly all of the time is gaps: shares are of the device time */
    bool looks_like_compilation; /* ... and the gaps are too long for anything else */
    uint32_t window;             /* which ops of the run the table has, in words; PERF_NO_TEXT: all */
    uint64_t read_op_count;      /* all of them */
    double total_flops, total_dram_bytes;
    uint64_t invalid_count;
    struct perf_group *groups;
    size_t group_count, group_capacity;
    struct perf_advice *advice;
    size_t advice_count, advice_capacity;
    double advice_gain_us, advice_gap_gain_us; /* of all; of gaps alone */
    struct perf_host_zone *host_zones;
    size_t host_zone_count, host_zone_capacity;
    struct perf_note *notes;
    size_t note_count, note_capacity;
    struct perf_name *names; /* by id of the text: what its ops are; filled when first asked */
    size_t name_capacity;
    struct perf_made_text made_texts[PERF_MADE_TEXTS];
    struct bytes scratch, name;
    bool failed; /* no memory */
};

int perf_begin(struct perf *perf, const struct perf_options *options, struct error *err);
/* `has` says which of the PERF_COLUMNS the source has. */
int perf_begin_file(struct perf *perf, const char *path, const bool *has, bool is_old_header,
                    bool is_padded_header, struct error *err);
/* `cells` has PERF_COLUMNS elements. -ENOMEM. */
int perf_add_row(struct perf *perf, const struct slice *cells, uint64_t line, struct error *err);
int perf_end_file(struct perf *perf, struct error *err);
int perf_finish(struct perf *perf, struct error *err);
void perf_free(struct perf *perf);

static inline struct perf_row *perf_at(const struct perf *perf, size_t i)
{
    return &perf->rows[perf->order[i]];
}

const char *perf_text(const struct perf *perf, uint32_t id); /* "" for none */
void perf_note(struct perf *perf, enum perf_note_level level, const void *kind, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* How many cores the op may use; 0: not known. */
double perf_core_budget(const struct perf *perf, const struct perf_row *row);

const char *perf_bound_text(unsigned bound);
const char *perf_category_text(unsigned category);
const char *perf_class_text(unsigned class_);
const char *perf_group_by_text(unsigned group_by);

#endif
