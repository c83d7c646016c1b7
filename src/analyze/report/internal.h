/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of the performance report. */
#ifndef OPSCOPE_ANALYZE_REPORT_INTERNAL_H
#define OPSCOPE_ANALYZE_REPORT_INTERNAL_H

#include "analyze/report/report.h"
#include "analyze/report/cell.h"

struct perf_tensor {
    bool is_present; /* any of its cells has something */
    bool has_shape;  /* all four sizes are usable */
    double w, z, y, x;
    struct slice type, memory; /* length 0: missing */
};

/* A row's cells, as far as the models look at them. */
struct perf_source {
    const struct slice *cells;
    struct slice op_code, attributes, fidelity; /* length 0: missing */
    struct perf_tensor tensors[PERF_TENSORS];   /* inputs, then outputs */
};

/* Words in an op's name that change its model. */
enum perf_part {
    PERF_PART_DECODE = 1, /* or paged, chunked: a cache that need not be full */
    PERF_PART_JOINT = 2,  /* or ring: other devices' data comes in */
    PERF_PART_RMS = 4,
    PERF_PART_ROTARY = 8,
    PERF_PART_ALL_GATHER = 16,
    PERF_PART_REDUCE_SCATTER = 32,
    PERF_PART_ALL_REDUCE = 64,
    PERF_PART_COMBINE = 128,
    PERF_PART_SLICE = 256, /* or split */
    PERF_PART_CACHE = 512, /* writes into a cache in place */
    PERF_PART_HALO = 1024,
    PERF_PART_COPY = 2048, /* into a tensor that is listed among the inputs, too */
};

/* What the name of an op says; an unknown name where there is no memory. */
struct perf_name perf_name_of(struct perf *perf, uint32_t op_code);

#define PERF_IN(i) (i)
#define PERF_OUT(i) (PERF_INPUTS + (i))

uint32_t perf_intern(struct perf *perf, const void *data, size_t length); /* sets failed */
static inline uint32_t perf_intern_cell(struct perf *perf, struct slice cell)
{
    return cell.length ? perf_intern(perf, cell.data, cell.length) : PERF_NO_TEXT;
}

/* The place for the text made from these six numbers: is_used where it is there, else the caller makes it and fills
 * `text` and is_used in. */
struct perf_made_text *perf_find_made(struct perf *perf, const uint64_t key[6]);

/* perf_notes.c: what is wrong with a cell, said once for each column, with how many more there are. */
void perf_note_bad_cell(struct perf *perf, size_t column, struct slice cell, uint64_t line,
                        const char *expected);
void perf_note_kept_cell(struct perf *perf, size_t column, struct slice cell, uint64_t line,
                         const char *expected);
void perf_note_name(struct perf *perf, struct slice name, uint64_t line);
void perf_note_missing_cells(struct perf *perf, const struct perf_row *row, const struct perf_source *source);
bool perf_is_stale(const struct perf_row *row);
void perf_note_stale(struct perf *perf, const struct perf_row *row);

/* What the row says of its work, taken while its cells are there. */
void perf_compat_take(struct perf *perf, struct perf_row *row, const struct perf_source *source);
void perf_model_take(struct perf *perf, struct perf_row *row, const struct perf_source *source);
/* "3136 x 576 x 64 [ABH=5|7 ADB]" and the like, appended to the scratch text. */
void perf_append_conv_marks(struct perf *perf, struct slice attributes);
void perf_append_halo(struct perf *perf, struct slice attributes);
bool perf_conv_window(struct slice attributes, double *height, double *width);
/* What an op's name and data types are shown as, when no model has its own form. */
uint32_t perf_types_text(struct perf *perf, const struct perf_row *row, const struct perf_source *source);
uint32_t perf_matmul_types_text(struct perf *perf, const struct perf_row *row,
                                const struct perf_source *source);
void perf_take_program_config(struct perf_row *row, struct slice attributes);

/* perf_window.c: which rows, in which order. */
int perf_sort_rows(struct perf *perf, struct error *err);
int perf_apply_signposts(struct perf *perf, struct error *err);
int perf_merge_devices(struct perf *perf, struct error *err);
int perf_apply_id_range(struct perf *perf, struct error *err);
void perf_drop_host_ops(struct perf *perf);

/* Figures. */
int perf_compat_figures(struct perf *perf, struct error *err);
int perf_model_figures(struct perf *perf, struct error *err);
int perf_make_groups(struct perf *perf, struct error *err);
int perf_make_advice(struct perf *perf, struct error *err);

/* What the row could do at most on so many cores, and how many it may use. */
double perf_peak_tflops(const struct perf *perf, const struct perf_row *row, double cores);

enum perf_category perf_category_of(const struct perf *perf, const char *name, unsigned class_);

#endif
