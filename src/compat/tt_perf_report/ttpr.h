/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of tt-perf-report's reproduction.
 *
 *     ttpr_begin_file; for each row: ttpr_add_row;      what a row's cells say, taken while they are there
 *     ttpr_sort_rows, ttpr_apply_signposts, ttpr_merge  which rows, in which order
 *     ttpr_fill_figures, ttpr_make_groups
 *     ttpr_write_table, ttpr_write_csv ...
 *
 * Where the versions differ, ttpr_is_1_4 decides. 1.4.1 takes a cell that cannot be what its column holds as missing,
 * where 1.2.4 computes with it; so its figures are blank, never "nan".
 */
#ifndef OPSCOPE_COMPAT_TT_PERF_REPORT_TTPR_H
#define OPSCOPE_COMPAT_TT_PERF_REPORT_TTPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/report/class.h"
#include "analyze/report/fidelity.h"
#include "analyze/report/group.h"
#include "analyze/report/notes.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/intern.h"
#include "compat/tt_perf_report/compat.h"
#include "text/csv/cell.h"

/* --- what is read of a row --- */

#define TTPR_TENSORS 3u      /* inputs 0 and 1, output 0 */
#define TTPR_TENSOR_CELLS 6u /* W, Z, Y, X, data type, memory */
enum { TTPR_IN0, TTPR_IN1, TTPR_OUT };

enum ttpr_column {
    TTPR_OP_CODE,
    TTPR_OP_TYPE,
    TTPR_CALL,
    TTPR_DEVICE,
    TTPR_ARCH,
    TTPR_ATTRIBUTES,
    TTPR_FIDELITY,
    TTPR_CORES,
    TTPR_AVAILABLE_CORES,
    TTPR_SUB_DEVICE, /* 1.4.1 */
    TTPR_HOST_START,
    TTPR_GAP,
    TTPR_DURATION,
    TTPR_TENSOR, /* the first of TTPR_TENSORS x TTPR_TENSOR_CELLS */
    TTPR_COLUMNS = TTPR_TENSOR + TTPR_TENSORS * TTPR_TENSOR_CELLS
};

/* The vendor's name of a column; older headers call the sizes of tensors differently. */
const char *ttpr_column_name(size_t column, bool is_old_header, char *buffer, size_t size);

struct ttpr_tensor {
    bool is_present; /* any of its cells has something */
    bool has_shape;  /* all four sizes are usable */
    double w, z, y, x;
    struct slice type, memory; /* length 0: missing */
};

struct ttpr_source {
    const struct slice *cells;
    struct slice op_code, attributes, fidelity; /* length 0: missing */
    struct ttpr_tensor tensors[TTPR_TENSORS];
};

/* --- a row of the report --- */

enum ttpr_kind { TTPR_DEVICE_OP, TTPR_HOST_OP, TTPR_SIGNPOST };

#define TTPR_NO_TEXT INTERN_NONE

struct ttpr_row {
    uint64_t line;              /* in its file */
    uint64_t source_index;      /* over all files; the ID is this + 2 */
    int64_t host_start_ns;      /* INT64_MAX: missing */
    uint64_t id;                /* shown */
    double duration_ns, gap_ns; /* NaN: missing */
    double cores, available_cores;
    double call; /* GLOBAL CALL COUNT; NaN: see call_text */
    double flops, dram_bytes;
    /* figures; NaN: blank */
    double time_us, shown_gap_us, total_percent;
    double dram_gb_s, dram_percent, tflops, flops_percent;
    uint32_t op_code, shown; /* interned; `shown` has the shape after the name */
    uint32_t fidelity_text, types[3], in0_memory, call_text, sub_device;
    int32_t device, block_w, subblock_h, subblock_w; /* PERF_NO_NUMBER: missing */
    uint32_t file;
    uint8_t kind, fidelity, category, bound;
    bool is_matmul, is_conv, is_dram_sharded, is_duration_missing;
    bool has_shape;               /* the sizes that its model needs were there */
    bool is_device_type;          /* OP TYPE says so: takes part in merging */
    bool is_sparse, lacks_active; /* a sparse matmul; how many of its experts work is not known */
};

struct ttpr {
    const struct ttpr_request *request;
    struct perf_notes *notes;
    struct intern texts;
    struct ttpr_row *rows; /* as they were read */
    size_t row_count, row_capacity;
    uint32_t *order; /* the table: which of the rows, in which order */
    size_t count;
    double worker_cores;
    /* what the sources had */
    uint32_t *paths; /* interned, one per file */
    size_t file_count, file_capacity;
    uint64_t source_row_count;
    bool has_host_start, has_arch_columns, has_old_header;
    bool call_is_float, cores_is_float; /* as pandas would type the column */
    uint32_t arch_text;                 /* the rows' own; TTPR_NO_TEXT */
    uint32_t arch_file;                 /* where it stands first */
    uint64_t arch_line;
    bool has_column[TTPR_COLUMNS]; /* of the file that is being read */
    size_t file_first_row;
    int64_t devices_per_file;
    double file_device_max;
    /* results */
    bool shows_sub_devices, shows_available_cores;           /* columns of the table */
    double all_dram_gb_s, all_dram_percent;                  /* of all rows; NaN: not shown */
    uint64_t device_op_count, host_op_count, signpost_count; /* before the last filters */
    double total_time_us, total_gap_us, total_us;
    struct perf_groups groups;
    struct bytes scratch;
    bool failed; /* no memory */
};

static inline bool ttpr_is_1_4(const struct ttpr *perf)
{
    return perf->request->version == TTPR_1_4_1;
}
static inline struct ttpr_row *ttpr_at(const struct ttpr *perf, size_t i)
{
    return &perf->rows[perf->order[i]];
}
const char *ttpr_text(const struct ttpr *perf, uint32_t id);              /* "" for none */
uint32_t ttpr_intern(struct ttpr *perf, const void *data, size_t length); /* sets failed */
static inline uint32_t ttpr_intern_cell(struct ttpr *perf, struct slice cell)
{
    return cell.length ? ttpr_intern(perf, cell.data, cell.length) : TTPR_NO_TEXT;
}
void ttpr_note(struct ttpr *perf, enum perf_note_level level, const void *kind, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* load.c */
int ttpr_begin_file(struct ttpr *perf, const char *path, const bool *has, bool is_old_header,
                    struct error *err);
int ttpr_add_row(struct ttpr *perf, const struct slice *cells, uint64_t line, struct error *err);
int ttpr_end_file(struct ttpr *perf, struct error *err);
void ttpr_free(struct ttpr *perf);

/* notes.c: what is wrong with a cell, said once for each column, with how many more there are. */
void ttpr_note_bad_cell(struct ttpr *perf, size_t column, struct slice cell, uint64_t line,
                        const char *expected);
void ttpr_note_kept_cell(struct ttpr *perf, size_t column, struct slice cell, uint64_t line,
                         const char *expected);
void ttpr_note_name(struct ttpr *perf, struct slice name, uint64_t line);
void ttpr_note_missing_cells(struct ttpr *perf, const struct ttpr_row *row, const struct ttpr_source *source);
void ttpr_note_if_stale(struct ttpr *perf, const struct ttpr_row *row);

/* figures.c */
/* 1.4.1: the time that figures are made of; NaN where it, or the gap before it, cannot be. */
double ttpr_usable_duration(const struct ttpr_row *row);
void ttpr_take_work(struct ttpr *perf, struct ttpr_row *row, const struct ttpr_source *source);
int ttpr_fill_figures(struct ttpr *perf, struct error *err);
struct perf_matmul ttpr_matmul_of(const struct ttpr *perf, const struct ttpr_row *row);

/* sparse.c: how many of a sparse matmul's batches are multiplied. */
struct ttpr_batches {
    double active, dense; /* active NaN: not recorded, and not given */
};
struct ttpr_batches ttpr_sparse_batches(const struct ttpr *perf, const struct ttpr_source *source);

/* shape.c: "3136 x 576 x 64 [ABH=5|7 ADB]" and the like, appended to the scratch text. */
void ttpr_append_conv_marks(struct ttpr *perf, struct slice attributes);
void ttpr_append_halo(struct ttpr *perf, struct slice attributes);
bool ttpr_conv_window(struct slice attributes, double *height, double *width);
uint32_t ttpr_types_text(struct ttpr *perf, const struct ttpr_source *source);
uint32_t ttpr_matmul_types_text(struct ttpr *perf, const struct ttpr_source *source);
void ttpr_take_program_config(struct ttpr_row *row, struct slice attributes);

/* window.c */
int ttpr_sort_rows(struct ttpr *perf, struct error *err);
void ttpr_apply_signposts(struct ttpr *perf);
int ttpr_merge(struct ttpr *perf, struct error *err);
int ttpr_apply_id_range(struct ttpr *perf, struct error *err);
void ttpr_drop_host_ops(struct ttpr *perf);

/* groups.c */
enum perf_category ttpr_category_of(const struct ttpr *perf, const char *name);
int ttpr_make_groups(struct ttpr *perf, struct error *err);

#define TTPR_LACKS_ACTIVE                                                                                    \
    "how many experts are at work is not recorded (nnz): --active-experts K makes figures of this matmul"
/* text.c, csv.c */
int ttpr_write_table(const struct ttpr *perf, bool is_coloured, FILE *out, struct error *err);
int ttpr_write_groups(const struct ttpr *perf, FILE *out, struct error *err);
int ttpr_write_csv(const struct ttpr *perf, FILE *out, struct error *err);
int ttpr_write_groups_csv(const struct ttpr *perf, FILE *out, struct error *err);

#endif
