/* SPDX-License-Identifier: Apache-2.0 */
/* From the cells of an ops CSV (or of a source that shows itself as one) to the model of ops. */
#ifndef OPSCOPE_IMPORT_OPS_CSV_MODEL_H
#define OPSCOPE_IMPORT_OPS_CSV_MODEL_H

#include "import/op_rows.h"
#include "ops/ops.h"

struct ops_csv_summary {
    uint32_t devices;    /* the largest device number + 1; 0: no op names a device */
    bool has_host_start; /* ops say when they were called */
};

struct ops_csv_request {
    uint32_t first_device; /* hosts of one run have files of their own, each of which counts from 0 */
    bool times_only;       /* names, tensors, times and places alone; nothing is said about the rest */
};

/* Adds all rows to the model, with lines in their order. A cell that is not what its column should hold is a missing
 * value and a notice. The caller closes `rows`. */
int ops_csv_to_model(struct ops *ops, struct op_rows *rows, const struct ops_csv_request *request,
                     struct ops_csv_summary *summary, struct error *err);

/* The attributes that a cell of the column ATTRIBUTES holds; at most `room` ids. */
size_t ops_csv_attributes(struct ops *ops, struct slice text, uint32_t *ids, size_t room);

/* The tensor that cells say (OPS_CSV_TENSOR_CELLS of them), with whatever can be read; OPS_NONE where they say nothing.
 * `wrong` gets bit i for a size that is not one. */
uint32_t ops_csv_tensor(struct ops *ops, const struct slice *cells, unsigned *wrong);

#endif
