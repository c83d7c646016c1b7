/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from an op's name alone: what it does, for its roofline (docs/roofline.md), and its category. */
#ifndef OPSCOPE_ANALYZE_REPORT_CLASS_H
#define OPSCOPE_ANALYZE_REPORT_CLASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum perf_class {
    PERF_CLASS_OTHER,
    PERF_CLASS_MATMUL,
    PERF_CLASS_SPARSE_MATMUL,
    PERF_CLASS_CONV,
    PERF_CLASS_ATTENTION,
    PERF_CLASS_NORM,
    PERF_CLASS_SOFTMAX,
    PERF_CLASS_ELEMENTWISE,
    PERF_CLASS_REDUCTION,
    PERF_CLASS_POOL,
    PERF_CLASS_COLLECTIVE,
    PERF_CLASS_EMBEDDING,
    PERF_CLASS_MOVE, /* data movement: copies, layout changes, slices */
    PERF_CLASSES
};
enum perf_category {
    PERF_COMPUTE,
    PERF_CCL,
    PERF_TM,
    PERF_DM,
    PERF_HOST,
    PERF_OTHER,
    PERF_CATEGORIES,
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

struct perf_name {
    uint8_t class_, category; /* enum perf_class, enum perf_category */
    uint16_t parts;           /* enum perf_part */
    uint8_t model;            /* enum torch_model */
    bool is_torch;            /* an op of PyTorch */
};

/* Why ops of a framework are left out that ran nothing on a device themselves. */
#define PERF_IDLE_OPS_TEXT                                                                                   \
    "of PyTorch that ran nothing on a device (views, ops that call others, work of the CPU)"

struct perf_name perf_name_of(const char *name);
enum perf_category perf_category_of(const char *name, unsigned class_);
/* By the list of names alone; PERF_OTHER for what is not in it. `word` is the first word of an op's name. */
enum perf_category perf_known_category(const char *word, size_t length);
/* The name as it is, or with "DeviceOperation" after it. */
bool perf_is_op(const char *known, const char *word, size_t length);

/* The category of an op of this name, as the report shows it ("Compute", "DM" ...). */
const char *perf_category_by_name(const char *name, bool is_host);

const char *perf_class_text(unsigned class_);
const char *perf_category_text(unsigned category);

#endif
