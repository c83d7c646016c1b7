/* SPDX-License-Identifier: Apache-2.0 */
/* A model out of MLIR that is not scheduled yet: TOSA, linalg, StableHLO, torch and ONNX ops, upstream forms, and the
 * flow and stream phases of IREE, whose dispatches are groups of the model.
 *
 * Functions are read in the order of the file; regions of control flow are entered, and what stands in a loop is
 * counted once. An op that the table of ops (costs.h) lacks is an op of the model all the same, marked as unknown; so
 * is one whose sizes are not known. Only what has no tensor at all costs nothing. */
#ifndef OPSCOPE_IMPORT_MLIR_MODEL_H
#define OPSCOPE_IMPORT_MLIR_MODEL_H

#include "import/mlir/mlir.h"
#include "ops/model.h"

#define MLIR_DIMS_MAX 64u

/* Sizes for dynamic dimensions. */
struct mlir_dims {
    uint64_t otherwise; /* of all that are not listed; 0: they are not known */
    struct {
        uint32_t argument, place;
        uint64_t size;
    } list[MLIR_DIMS_MAX];
    size_t count;
};

/* "16": of every dynamic dimension. "0:1=16": of dimension 1 of argument 0. */
int mlir_dims_option(struct mlir_dims *dims, const char *text, struct error *err);

/* `dims` may be NULL. model_op.source is the op of the IR. */
int mlir_read_model(struct model *model, const struct mlir *mlir, const struct mlir_dims *dims,
                    struct error *err);

#endif
