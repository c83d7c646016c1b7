/* SPDX-License-Identifier: Apache-2.0 */
/* What a folder of Tenstorrent logs says, before it is joined: ops that the host dispatched, runs that devices
 * recorded, signposts, and notes of what did not fit together.
 *
 *     tracy_ops_data.csv          -> ops, records (what a program is), replays, signposts   tenstorrent_messages
 *     tracy_ops_times.csv         -> host times of ops, functions under them                tenstorrent_times
 *     cpp_device_perf_report.csv  -> runs                                                   tenstorrent_report
 *     profile_log_device.csv      -> runs                                                   tenstorrent_device_ops
 *
 * to_ops.c makes the op model of it. Texts are slices of memory that the model keeps until it is freed. */
#ifndef OPSCOPE_IMPORT_TENSTORRENT_MODEL_H
#define OPSCOPE_IMPORT_TENSTORRENT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/map.h"
#include "import/ops_csv/layout.h"
#include "import/op_rows.h"
#include "ops/ops.h"

#define TT_NONE UINT32_MAX
#define TT_NO_TRACE (-1)
#define TT_COLUMN_AGAIN '\x01' /* after the name of a column that an ops CSV has twice; not shown */
#define TT_MAX_DEVICES 4096u   /* ids have ten bits; more is damage */

/* Columns are numbers: the fixed ones by enum op_fixed_column, the others in order of first sight. */
struct tt_cell {
    const char *data;
    uint32_t length;
    uint32_t column;
};

struct tt_cells {
    struct tt_cell *items;
    uint32_t count;
};

/* What a program is: described once in full, then referred to by its hash. */
struct tt_record {
    struct tt_cells cells;
    uint64_t pm_compute_ns;
    bool has_model;
};

enum tt_op_flag {
    TT_OP_CUT = 1,        /* its message ended early or was damaged: only its header is known */
    TT_OP_NO_RECORD = 2,  /* refers to a program that was never described */
    TT_OP_NO_MESSAGE = 4, /* host times alone */
    TT_OP_NO_TIMES = 8,
    TT_OP_REPEATED = 16,  /* the id was already taken by another op */
    TT_OP_NO_DEVICE = 32, /* a device op of which no device recorded anything */
    TT_OP_NOT_REPLAYED = 64,
    TT_OP_HAS_REPLAYS = 128,
};

struct tt_child { /* a host function under an op, summed */
    uint32_t column;
    uint32_t next; /* TT_NONE at the end */
    uint64_t sum_ns;
};

struct tt_op {
    uint64_t id; /* global call count */
    struct slice name;
    struct slice hash;
    uint32_t record; /* TT_NONE */
    uint32_t device; /* TT_NONE: a host op */
    int64_t trace;   /* captured in this trace; TT_NO_TRACE */
    uint64_t message_ns, start_ns, duration_ns;
    uint32_t children;                       /* TT_NONE */
    uint32_t run;                            /* the run on its own row; TT_NONE */
    uint32_t flags;                          /* enum tt_op_flag */
    uint32_t location, const_eval, metadata; /* in `texts`; TT_NONE */
    int8_t cache_hit;                        /* -1: not known */
    bool has_marked_id;                      /* a recorded op whose program gave it a number: */
    uint64_t marked_id;
    uint32_t thread;
};

enum tt_run_flag {
    TT_RUN_INCOMPLETE = 1, /* some core's end was not recorded */
    TT_RUN_ANOTHER = 4,    /* its op has a run before it and is not a replay: a row of its own */
    TT_RUN_NO_REPLAY = 2,  /* the message of its replay is missing */
};

struct tt_run {
    uint64_t id;
    uint32_t device;
    uint32_t session; /* 0: not a replay */
    int64_t trace;
    uint32_t op; /* TT_NONE: no such op */
    uint32_t cores;
    uint32_t flags; /* enum tt_run_flag */
    uint64_t start_cycle, end_cycle;
    uint64_t kernel_ns; /* for PM FPU UTIL; 0 when not known */
    bool has_cycles, has_kernel;
    uint64_t replay_ns;
    struct tt_cells cells;
};

struct tt_signpost {
    uint64_t time_ns;
    struct slice header, text;
};

struct tt_replay { /* messages of one trace on one device */
    uint32_t device;
    int64_t trace;
    uint64_t *times_ns;
    size_t count, capacity;
};

/* What may be wrong with logs, and what it costs. */
#define TT_NOTICES(X)                                                                                        \
    X(DAMAGED, CORES)                                                                                        \
    X(DAMAGED, COUNTER)                                                                                      \
    X(DAMAGED, RUN_ID)                                                                                       \
    X(DAMAGED, LOG_HEADER)                                                                                   \
    X(DAMAGED, LOG_COLUMNS)                                                                                  \
    X(DAMAGED, LOG_LINE)                                                                                     \
    X(DAMAGED, DISPATCH_ID)                                                                                  \
    X(DAMAGED, UNCLOSED)                                                                                     \
    X(DAMAGED, MESSAGES_FILE)                                                                                \
    X(DAMAGED, TIMES_FILE)                                                                                   \
    X(DAMAGED, REPORT_FILE)                                                                                  \
    X(DAMAGED, LOG_FILE)                                                                                     \
    X(DAMAGED, TIMES)                                                                                        \
    X(DAMAGED, TIMES_HEADER)                                                                                 \
    X(DAMAGED, REPORT_ROW)                                                                                   \
    X(DAMAGED, REPORT_HEADER)                                                                                \
    X(DAMAGED, MESSAGE)                                                                                      \
    X(DAMAGED, CUT)                                                                                          \
    X(DAMAGED, HEADER)                                                                                       \
    X(DAMAGED, HOST_OP)                                                                                      \
    X(DAMAGED, TRACE_MESSAGE)                                                                                \
    X(DAMAGED, DEVICES)                                                                                      \
    X(DAMAGED, TENSORS)                                                                                      \
    X(DAMAGED, RECORDED_TRACE)                                                                               \
    X(DAMAGED, WIDE_OP)                                                                                      \
    X(DAMAGED, ROW)                                                                                          \
    X(UNMATCHED, DISPATCH)                                                                                   \
    X(UNMATCHED, TIMES)                                                                                      \
    X(UNMATCHED, RUN_AGAIN)                                                                                  \
    X(UNMATCHED, REPLAY)                                                                                     \
    X(UNMATCHED, OP)                                                                                         \
    X(UNMATCHED, CAPTURED_OP)                                                                                \
    X(UNMATCHED, NO_TIMES)                                                                                   \
    X(UNMATCHED, RUN)                                                                                        \
    X(UNMATCHED, ID_AGAIN)                                                                                   \
    X(UNMATCHED, PROGRAM)                                                                                    \
    X(UNMATCHED, TRACE_END)                                                                                  \
    X(UNMATCHED, RECORDED_SIGNPOSTS)                                                                         \
    X(UNMATCHED, EARLY_SIGNPOSTS)                                                                            \
    X(UNMATCHED, RECORDED_OPS)                                                                               \
    X(UNMATCHED, UNMARKED_RUNS)                                                                              \
    X(LOST, MARKERS)                                                                                         \
    X(INFO, SUB_DEVICE)                                                                                      \
    X(INFO, FREQUENCY)                                                                                       \
    X(INFO, RESTARTED)                                                                                       \
    X(INFO, UNFINISHED)                                                                                      \
    X(INFO, GO_SIGNALS)                                                                                      \
    X(INFO, NO_DEVICE_FILES)                                                                                 \
    X(INFO, NO_HOST_OPS)                                                                                     \
    X(INFO, LACKS_FILE)                                                                                      \
    X(INFO, REPLAY_TWICE)                                                                                    \
    X(INFO, RECORDED_OPS)                                                                                    \
    X(INFO, GROWING)

enum tt_notice {
#define X(severity, name) TT_##severity##_##name,
    TT_NOTICES(X)
#undef X
        TT_NOTICE_KINDS
};

struct tt_note {
    uint32_t kind;    /* enum tt_notice: notes of one kind are one */
    uint8_t severity; /* enum op_notice_severity */
    uint64_t count;
    uint64_t line;
    char *text;
};

struct tt_device { /* of the device log or the report */
    uint32_t id;
    uint32_t frequency_mhz; /* 0: not known */
    struct slice arch;
};

struct tt_model {
    struct intern columns;
    struct intern texts;
    struct tt_page *pages;
    struct tt_record *records;
    size_t record_count, record_capacity;
    struct tt_op *ops;
    size_t op_count, op_capacity;
    struct map op_of_id;
    struct tt_child *children;
    size_t child_count, child_capacity;
    struct map child_of_key; /* op and column */
    struct tt_run *runs;
    size_t run_count, run_capacity;
    struct tt_signpost *signposts;
    size_t signpost_count, signpost_capacity;
    struct tt_replay *replays;
    size_t replay_count, replay_capacity;
    struct map replay_of_key;
    struct tt_note *notes;
    size_t note_count, note_capacity;
    struct tt_device *devices;
    size_t device_count, device_capacity;
    uint64_t origin_ns; /* where the program's own times begin in those of the model */
    bool has_origin;
    bool is_growing; /* more is to come: a zone whose op is not known yet is none that lacks its message */
    bool is_device_only; /* no host ops: the table of what devices recorded */
    bool has_locations;  /* messages of a compiler say where ops come from */
    bool is_quasar;
    bool failed; /* no memory somewhere: checked at the end of each step */
};

void tt_model_init(struct tt_model *model);
void tt_model_free(struct tt_model *model);
int tt_model_check(const struct tt_model *model, struct error *err); /* -ENOMEM when something failed */

const char *tt_keep(struct tt_model *model, const char *data, size_t length);
uint32_t tt_column(struct tt_model *model, const char *name, size_t length);
void tt_note(struct tt_model *model, enum tt_notice kind, uint64_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A list of cells being made; tt_cells_finish moves it into the model. */
struct tt_cell_builder {
    struct tt_cell *items;
    size_t count, capacity;
};
void tt_cell_add(struct tt_model *model, struct tt_cell_builder *builder, uint32_t column, const char *data,
                 size_t length); /* the bytes are kept by the caller */
void tt_cell_copy(struct tt_model *model, struct tt_cell_builder *builder, uint32_t column, const char *data,
                  size_t length);
struct tt_cells tt_cells_finish(struct tt_model *model, struct tt_cell_builder *builder);

struct tt_op *tt_op_add(struct tt_model *model, uint64_t id);
struct tt_run *tt_run_add(struct tt_model *model);
struct tt_device *tt_device_get(struct tt_model *model, uint32_t id); /* added when new; NULL: too many */
struct tt_replay *tt_replay_find(struct tt_model *model, uint32_t device, int64_t trace, bool add);

#endif
