/* SPDX-License-Identifier: Apache-2.0 */
/* What a recorded op says of itself, as cells under the names that the vendor's table has for it. Shared by the op
 * table of a recorded trace (table.c) and by the join with the vendor's logs (recorded_join.c). They are made when a
 * row is asked for, so that a million ops cost no text. */
#ifndef OPSCOPE_IMPORT_TENSTORRENT_RECORDED_CELLS_H
#define OPSCOPE_IMPORT_TENSTORRENT_RECORDED_CELLS_H

#include "import/tenstorrent/model.h"
#include "ops/ops.h"

#define RECORDED_TEXTS 5u

struct recorded_cells {     /* zero-initialised, but for model and ops */
    struct tt_model *model; /* gets columns */
    struct ops *ops;        /* finished; gets texts of tensors */
    struct intern tensors;  /* known by tensor and device ... */
    struct tensor_cells *cells_of_tensor;
    size_t tensor_capacity;
    struct tensor_columns *columns[2]; /* of inputs, of outputs */
    size_t column_capacity[2];
    struct bytes texts[RECORDED_TEXTS]; /* of the op that was asked for last */
    struct bytes scratch;
};
void recorded_cells_free(struct recorded_cells *cells);

struct tensor_columns {
    bool is_known;
    uint32_t of_field[OP_TENSOR_FIELDS];
};
/* NULL: no memory. */
const struct tensor_columns *recorded_tensor_columns(struct recorded_cells *cells, bool is_output,
                                                     size_t index);

/* Calls `cell` with each cell of the op that is not a time; the bytes stay until the next call. */
typedef void (*recorded_cell_fn)(void *context, uint32_t column, struct slice text);
void recorded_describe(struct recorded_cells *cells, const struct op_call *call, recorded_cell_fn cell,
                       void *context);
/* Marks the columns that some op of the model fills, but for those that every op has. */
void recorded_mark_columns(struct recorded_cells *cells, recorded_cell_fn cell, void *context);

#endif
