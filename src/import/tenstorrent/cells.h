/* SPDX-License-Identifier: Apache-2.0 */
/* Between cells of the vendor's table and the op model: figures with the unit that a column's name says, tensors, and
 * which columns say what views ask for. */
#ifndef OPSCOPE_IMPORT_TENSTORRENT_CELLS_H
#define OPSCOPE_IMPORT_TENSTORRENT_CELLS_H

#include "import/ops_csv/layout.h"
#include "ops/from_trace.h"
#include "ops/ops.h"
#include "text/python_text.h"

/* Tracks by which imported traces are known: of a folder, and of a table (once with another spelling, before tensors
 * and texts were descriptions). */
#define TT_TRACK_FOLDER "tenstorrent import"
#define TT_TRACK_TABLE "ops table import"
#define TT_TRACK_OLD_TABLE "op table import"

/* What such a trace says of a process that was recorded live: "PROCESS NS", where its own times begin. The vendor's
 * table has those. */
#define TT_FACT_ORIGIN "own times begin"

/* --- figures --- */

struct tt_figure_column {
    uint32_t name; /* text of the model */
    uint8_t kind;  /* enum op_column_kind */
    uint8_t unit;  /* enum op_figure_kind, of a number that its kind allows */
};
struct tt_figure_column tt_figure_column(struct ops *ops, const char *name, size_t length);
/* True when the cell is exactly what a number prints as, whatever its column should hold. */
bool tt_number_of_cell(const struct tt_figure_column *column, struct slice cell, struct bytes *scratch,
                       struct op_figure *figure);

/* PM FPU UTIL: how much of its kernel's time the vendor's model says an op should have taken. */
static inline double tt_share_of_compute(uint64_t compute_ns, uint64_t kernel_ns)
{
    return python_round_3(kernel_ns ? 100.0 * (double)compute_ns / (double)kernel_ns : 0.0);
}

/* --- tensors --- */

/* The id of the tensor that has these cells (enum op_tensor_field); OPS_NONE where they would not all come back as they
 * are. */
uint32_t tt_exact_tensor(struct ops *ops, const struct slice cells[OP_TENSOR_FIELDS]);

/* --- what views ask for --- */

/* What the figures of one run, or of one row of a table, say. */
struct tt_fields {
    struct ops *ops;
    uint32_t first_device; /* the file's device 0 is this one */
    uint32_t has;          /* one bit per role */
    int64_t values[12];
    uint32_t sub_device, architecture; /* texts */
    size_t first_call;                 /* of this file in the model */
    bool adds_calls, has_sub_devices;
    bool is_table;           /* every call has its row: with a run, and a line in the order of the file */
    uint8_t *types;          /* by description, + 1 */
    uint32_t *architectures; /* by description; OPS_NONE */
    size_t type_capacity, architecture_capacity;
    uint32_t names[3]; /* of figures that views know */
    uint32_t op_type, device_arch;
};
void tt_fields_begin(struct tt_fields *fields, struct ops *ops, bool is_table);
void tt_fields_free(struct tt_fields *fields);

/* For struct ops_wanted, with the fields as context. */
uint32_t tt_field_role(void *fields, const char *name);
void tt_field_take(void *fields, uint32_t role, const struct trace_run_part *figure, const char *text);
void tt_field_call(void *fields, struct ops *ops);
void tt_field_run(void *fields, struct ops *ops);
/* Descriptions from `first` on, whose attributes are cells, say it in the model's own words from now on. */
void tt_fields_end(struct tt_fields *fields, size_t first);

#endif
