/* SPDX-License-Identifier: Apache-2.0 */
/* The table of ops: what each does, and by which rule its shapes give its amounts of work and data. */
#ifndef OPSCOPE_IMPORT_MLIR_COSTS_H
#define OPSCOPE_IMPORT_MLIR_COSTS_H

#include "import/mlir/mlir.h"
#include "ops/model.h"

enum mlir_rule {
    RULE_NONE,      /* nothing: structure */
    RULE_ENTER,     /* structure whose regions hold ops of the model */
    RULE_LOOP,      /* the same, run an unknown number of times */
    RULE_RESULT,    /* its operands leave the model */
    RULE_CONSTANT,  /* data, or one number everywhere */
    RULE_FILLED,    /* one number everywhere, or nothing yet */
    RULE_ALIAS,     /* operand 0 by another shape */
    RULE_MOVE,      /* reads all operands, writes its results */
    RULE_PART,      /* reads as much of operand 0 as it writes */
    RULE_BROADCAST, /* one number stays one number */
    RULE_TRANSPOSE, /* moves; elements change place where the innermost dimension does */
    RULE_ELEMENTS,  /* once per element of the result */
    RULE_INPUTS,    /* once per element of operand 0 */
    RULE_NORM,      /* four times per element of operand 0 */
    RULE_POOL, /* once per element of the result and of the window in attribute `kernel` or `kernel_shape` */
    RULE_LAST, /* matmul over the last dimension of operand 0 */
    RULE_GEMM, /* matmul over what operand 0 has beyond the rows of the result */
    RULE_CONTRACTION, /* named contraction of linalg: rows and columns are those of the result */
    RULE_DOT_GENERAL, /* matmul over the dimensions that it lists */
    RULE_FILTER,      /* convolution: weights begin with the output channels */
    RULE_DEPTHWISE,   /* weights begin with the window, two dimensions */
    RULE_TRANSPOSED,  /* transposed convolution: weights begin with the input channels */
    RULE_SCATTERED,   /* the same, weights end with the input channels */
    RULE_DIMENSIONS,  /* convolution whose attribute names the dimensions of the weights */
    RULE_LETTERS,     /* convolution of linalg: the letters of its name are the dimensions */
    RULE_WINDOW,      /* pool of linalg: operand 1 has the shape of the window */
    RULE_RECURRENT,   /* x, W, R: steps follow one another */
    RULE_LOOPS,       /* linalg.generic and the like: indexing maps, iterators and a body */
    RULE_REDUCE,      /* linalg.reduce, stablehlo.reduce: `dimensions` and a body */
    RULE_MAP,         /* linalg.map: a body per element */
    RULE_LOAD,        /* into a dispatch: part or all of what its argument stands for */
    RULE_STORE,       /* out of a dispatch */
    RULE_BINDING,     /* a view of what a dispatch was given */
    RULE_DISPATCH,    /* runs an executable */
    RULE_REGION       /* a dispatch whose body stands in place */
};

struct mlir_cost {
    uint8_t class; /* enum model_class */
    uint8_t rule;  /* enum mlir_rule */
    uint8_t work;  /* enum model_work, of each element */
};

/* Of an op by its name; NULL: not in the table. */
const struct mlir_cost *mlir_cost_find(struct slice name);
/* The name that counts: `torch.operator "onnx.Add"` is an onnx.Add. */
struct slice mlir_cost_name(const struct mlir *mlir, uint32_t op);

/* --- amounts (amounts.c) --- */

/* An op of the IR that is being added: its shaped operands and result are values of the model. */
struct mlir_costing {
    const struct mlir *mlir;
    struct model *model;
    uint32_t op;        /* of the IR */
    struct slice name;  /* that counts */
    const uint32_t *in; /* values; MODEL_NONE: an operand without a shape */
    uint32_t ins;
    uint32_t out; /* the first result; MODEL_NONE */
    struct model_op *to;
    uint64_t work[MODEL_WORKS];
    uint32_t captured; /* a tensor of the IR that a body reads one element of per point; MLIR_NONE */
};

/* Fills in class and MACs of to, and work; false: its attributes or shapes are not those of such an op. */
bool mlir_cost_amounts(struct mlir_costing *costing, const struct mlir_cost *cost);
/* The same for what has loops and a body: linalg.generic, linalg.reduce, linalg.map (loops.c). */
bool mlir_cost_loops(struct mlir_costing *costing, const struct mlir_cost *cost);

#endif
