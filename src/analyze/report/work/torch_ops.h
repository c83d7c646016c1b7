/* SPDX-License-Identifier: Apache-2.0 */
/* The ops of PyTorch: what they do, by name, and how much of it, by their tensors. The FLOPs of products, convolutions
 * and attention are those that torch.utils.flop_counter counts. docs/pytorch.md has the table in words. */
#ifndef OPSCOPE_ANALYZE_REPORT_WORK_TORCH_OPS_H
#define OPSCOPE_ANALYZE_REPORT_WORK_TORCH_OPS_H

#include "analyze/report/class.h"
#include "ops/ops.h"

enum torch_model {
    TORCH_BY_CLASS,    /* as any op of its class */
    TORCH_NOTHING,     /* a view, an allocation, or an op that only calls others: no work of its own */
    TORCH_PRODUCT,     /* of the first two inputs */
    TORCH_ADD_PRODUCT, /* of the second and the third */
    TORCH_LINEAR,      /* the second is a weight: rows are outputs */
    TORCH_CONV,
    TORCH_CONV_TRANSPOSED,
    TORCH_CONV_EITHER, /* its arguments say whether it is transposed */
    TORCH_CONV_BACKWARD,
    TORCH_RNN, /* a layer: input, weights of the input, weights of the state */
    TORCH_RNN_BACKWARD,
    TORCH_ATTENTION,          /* batch, heads, positions, size */
    TORCH_ATTENTION_SWAPPED,  /* batch, positions, heads, size */
    TORCH_ATTENTION_BACKWARD, /* gradient of the output first */
    TORCH_ATTENTION_BACKWARD_SWAPPED,
    TORCH_COPY,    /* of the second input into the first */
    TORCH_WRITE,   /* of the output alone */
    TORCH_LOOKUP,  /* rows of the first input, by the second */
    TORCH_SCATTER, /* the gradient of that: the first input, to the rows of the output that the second names */
    TORCH_PUT,     /* the last input, to the places in the first that those between them name */
    TORCH_PUT_ADDED, /* the same, added to what is there */
    TORCH_PICK,      /* one element of the first input for each of the second */
    TORCH_PICK_BACK, /* the gradient of that: one of the second input's for each of the third */
    TORCH_TWICE,     /* lists of tensors that are read and written once: cat */
    TORCH_FOREACH,   /* lists of tensors: the first is also written */
    TORCH_OPTIMIZER, /* lists of tensors: all but the gradients, which are second, are also written */
};

/* False for names of other frameworks. */
bool torch_name_of(const char *name, struct perf_name *known);

struct torch_amounts { /* NaN: not known */
    double flops, bytes;
    double batch, m, k, n; /* of a product; 0: it is none */
};
/* Of an op whose model is not TORCH_BY_CLASS. */
struct torch_amounts torch_amounts(const struct ops *ops, unsigned model, uint32_t description);

#endif
