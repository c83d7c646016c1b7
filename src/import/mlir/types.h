/* SPDX-License-Identifier: Apache-2.0 */
/* Shaped types of MLIR: tensor<1x8x?xi8>, tensor<4x4xf32, #encoding>, memref<2xi8, strided<[8]>>, vector<4x[8]xf32>,
 * !torch.vtensor<[1,3],f32>, and what wraps one of them (!iree_tensor_ext.dispatch.tensor<readonly:tensor<..>>). */
#ifndef OPSCOPE_IMPORT_MLIR_TYPES_H
#define OPSCOPE_IMPORT_MLIR_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

#define MLIR_RANK_MAX 16u
#define MLIR_DYNAMIC UINT64_MAX

enum mlir_shape_status {
    MLIR_NO_SHAPE,    /* no shaped type: a scalar, an index, something else */
    MLIR_SHAPE,       /* read; sizes may be MLIR_DYNAMIC */
    MLIR_SHAPE_UNREAD /* shaped, but not understood: unranked, a template's placeholder, too many dimensions */
};

struct mlir_element {
    uint16_t bits; /* 0: not known */
    bool is_float, is_bfloat;
};

struct mlir_shape {
    uint64_t sizes[MLIR_RANK_MAX];
    uint32_t rank;
    bool is_dynamic;
    struct mlir_element element;
};

enum mlir_shape_status mlir_read_shape(struct slice type, struct mlir_shape *shape);
/* Saturating; 0 for a dynamic shape. */
uint64_t mlir_shape_elements(const struct mlir_shape *shape);
uint64_t mlir_shape_bytes(const struct mlir_shape *shape);

#endif
