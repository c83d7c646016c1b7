/* SPDX-License-Identifier: Apache-2.0 */
/* A model before it runs: its ops with the amounts of work and data that their shapes imply, and the values that pass
 * between them. Whoever reads a compiler's IR fills it, and an estimate is computed from it without knowing the IR.
 *
 *     struct model model = {0};
 *     mlir_read_model(&model, mlir, &dims, &err);                         (import/mlir/model.h)
 *     estimate_model(&timeline, &model, &target, &err);                  (analyze/estimate/estimate.h)
 *     model_free(&model);
 *
 * Amounts are counts, never times. An addition that finds no memory sets `failed`; callers check once. */
#ifndef OPSCOPE_OPS_MODEL_H
#define OPSCOPE_OPS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/slice.h"

#define MODEL_NONE UINT32_MAX

/* What an op does, as far as its cost is concerned. */
enum model_class {
    MODEL_FREE,           /* no work and no data: constants, reshapes, structure */
    MODEL_FILL,           /* one number everywhere: whoever reads it takes the number */
    MODEL_MOVE,           /* copies, slices, transposes, gathers */
    MODEL_ELEMENTWISE,    /* arithmetic per element */
    MODEL_TRANSCENDENTAL, /* exp, log, ... per element */
    MODEL_REDUCTION,
    MODEL_POOL, /* a reduction over windows */
    MODEL_SOFTMAX,
    MODEL_MATMUL,
    MODEL_CONV,
    MODEL_DEPTHWISE,
    MODEL_UNKNOWN, /* not in the table of ops: counted as movement, and reported */
    MODEL_CLASSES
};

static inline bool model_has_macs(unsigned class)
{
    return class == MODEL_MATMUL || class == MODEL_CONV || class == MODEL_DEPTHWISE;
}

/* What is computed per element; costs differ by target. */
enum model_work {
    MODEL_ARITHMETIC,
    MODEL_EXP,     /* exp, tanh, sigmoid, sin */
    MODEL_LOG,     /* log, erf, pow */
    MODEL_RSQRT,   /* roots, reciprocals, divisions */
    MODEL_REDUCED, /* points that a reduction visits */
    MODEL_WINDOW,  /* points that the windows of a pool visit */
    MODEL_SOFT,    /* elements of a softmax */
    MODEL_SHUFFLE, /* elements whose innermost dimension changes place */
    MODEL_WORKS
};

enum model_number { MODEL_INTEGER, MODEL_FLOAT, MODEL_BFLOAT };

/* Numbers for which compilers have code of their own: narrow integers are widened, or not, unlike others. */
enum model_format { MODEL_INT8, MODEL_INT, MODEL_REAL, MODEL_BF16, MODEL_F16, MODEL_FORMATS };

static inline unsigned model_format_of(unsigned number, unsigned bits)
{
    return number == MODEL_BFLOAT  ? MODEL_BF16
           : number == MODEL_FLOAT ? bits <= 16 ? MODEL_F16 : MODEL_REAL
           : bits <= 8             ? MODEL_INT8
                                   : MODEL_INT;
}

enum model_origin {
    MODEL_COMPUTED,
    MODEL_ARGUMENT,
    MODEL_WEIGHT, /* a constant with data of its own */
    MODEL_FILLED  /* one number everywhere: takes no memory */
};

enum model_fault {
    MODEL_FINE,
    MODEL_UNKNOWN_OP,    /* the table of ops lacks it: counted as movement */
    MODEL_DYNAMIC_SHAPE, /* a size is not known until it runs */
    MODEL_UNKNOWN_SHAPE, /* its type cannot be read */
    MODEL_COUNTED_ONCE   /* runs in a loop whose number of turns is not known */
};

struct model_value {
    uint64_t elements, bytes;
    uint32_t first_size, rank; /* in model.sizes */
    uint32_t maker;            /* op; MODEL_NONE */
    uint32_t root;  /* the value that this is another shape of, or itself; uses and results name roots */
    uint8_t origin; /* enum model_origin */
    uint8_t number; /* enum model_number */
    uint16_t bits;  /* of an element */
    bool is_result; /* leaves the model, or the dispatch that makes it */
    uint8_t fault;  /* enum model_fault: why its size is not known */
};

/* An op reads this much of a value. */
struct __attribute__((packed, aligned(4))) model_use { /* there are many */
    uint32_t value;
    uint64_t bytes;
};

struct __attribute__((packed, aligned(4))) model_work_amount {
    uint64_t amount;
    uint32_t kind; /* enum model_work */
};

struct model_op {
    uint32_t name, location; /* texts */
    uint32_t source;         /* the caller's own handle */
    uint32_t group;          /* in model.groups: what the compiler runs as one; MODEL_NONE */
    uint32_t first_use, uses;
    uint32_t first_result, results; /* in model.results: values */
    uint8_t class;                  /* enum model_class */
    uint8_t fault;                  /* enum model_fault */
    uint8_t number;                 /* of the data that it computes with */
    bool reduces_outer;             /* the reduction is not over the innermost dimension */
    bool is_scalar;                 /* one element after the other: an argmax */
    uint8_t works;                  /* kinds of work that it does */
    uint16_t data_bits, weight_bits;
    uint16_t
        number_bits; /* of the widest data that is of its number: an index of 64 bits makes no float wider */
    uint32_t first_work; /* in model.works */
    uint32_t steps;      /* that follow one another: of a recurrent layer; 1 */
    uint32_t window,
        stride;    /* rows of the input that a row of the output needs, and how far apart they begin */
    uint32_t rows; /* of the input; 0: not known */
    uint64_t macs;
    uint64_t m, n, k; /* of a matmul; batches are part of m. Of a reduction: k elements become one */
};

/* What a compiler runs as one: a dispatch. */
struct model_group {
    uint32_t name, location; /* texts */
    uint32_t source;
};

struct model {
    struct intern texts;
    struct model_op *ops; /* in the order of the program */
    size_t op_count, op_capacity;
    struct model_value *values;
    size_t value_count, value_capacity;
    struct model_use *uses;
    size_t use_count, use_capacity;
    struct model_work_amount *works;
    size_t work_count, work_capacity;
    uint32_t *results;
    size_t result_count, result_capacity;
    uint64_t *sizes;
    size_t size_count, size_capacity;
    struct model_group *groups;
    size_t group_count, group_capacity;
    bool failed;
};

void model_free(struct model *model);
int model_check(const struct model *model, struct error *err); /* -ENOMEM when something failed */
uint32_t model_text(struct model *model, struct slice text);
/* Each gives the id of a new one, or MODEL_NONE. */
uint32_t model_add_value(struct model *model, const struct model_value *value, const uint64_t *sizes);
uint32_t model_add_op(struct model *model, const struct model_op *op);
uint32_t model_add_group(struct model *model, const struct model_group *group);
/* Of the op that was added last. */
void model_add_use(struct model *model, uint32_t value, uint64_t bytes);
void model_add_result(struct model *model, uint32_t value);
void model_add_work(struct model *model, enum model_work kind, uint64_t amount); /* 0: nothing */

/* How much of one kind an op does. */
static inline uint64_t model_work_of(const struct model *model, const struct model_op *op,
                                     enum model_work kind)
{
    for (uint32_t i = 0; i < op->works; i++) {
        if (model->works[op->first_work + i].kind == kind)
            return model->works[op->first_work + i].amount;
    }
    return 0;
}

const char *model_class_text(unsigned class);   /* "MAC", "ELT" ...: what reports and calibrations call it */
const char *model_format_text(unsigned format); /* "int8", "int", "float", "bf16", "f16" */
/* "FLOAT16", "INT32", "BOOL8": as traces call what an op computes with. Static; "" where it is not known. */
const char *model_type_text(unsigned number, unsigned bits);
const char *model_fault_text(unsigned fault);

static inline uint64_t model_multiply(uint64_t a, uint64_t b) /* saturating */
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}
static inline uint64_t model_sum(uint64_t a, uint64_t b) /* saturating */
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

#endif
