/* SPDX-License-Identifier: Apache-2.0 */
/* What the models of ops look for in attributes. All names are in one list, since it also decides which attributes make
 * no difference to an op's work. */
#ifndef OPSCOPE_ANALYZE_REPORT_ATTRIBUTES_H
#define OPSCOPE_ANALYZE_REPORT_ATTRIBUTES_H

#include "ops/ops.h"

enum perf_attribute {
    PERF_ATTRIBUTE_WINDOW,
    PERF_ATTRIBUTE_PROGRAM_CONFIG,
    PERF_ATTRIBUTE_BLOCK_W,
    PERF_ATTRIBUTE_SUBBLOCK_H,
    PERF_ATTRIBUTE_SUBBLOCK_W,
    PERF_ATTRIBUTE_OUT_HEIGHT,
    PERF_ATTRIBUTE_ACT_BLOCK_H,
    PERF_ATTRIBUTE_ACT_DOUBLE_BUFFER,
    PERF_ATTRIBUTE_SPLIT_READER,
    PERF_ATTRIBUTE_STRIDE,
    PERF_ATTRIBUTE_PADDING,
    PERF_ATTRIBUTE_DILATION,
    PERF_ATTRIBUTE_MEMORY_LAYOUT,
    PERF_ATTRIBUTE_DRAM_SHARDED,
    PERF_ATTRIBUTE_A_SPARSE,
    PERF_ATTRIBUTE_B_SPARSE,
    PERF_ATTRIBUTE_ACTIVE,
    PERF_ATTRIBUTE_GROUPS,
    PERF_ATTRIBUTE_CAUSAL,
    PERF_ATTRIBUTE_PAGED,
    PERF_ATTRIBUTE_POSITIONS,
    PERF_ATTRIBUTE_SLIDING_WINDOW,
    PERF_ATTRIBUTE_LINEAR,
    PERF_ATTRIBUTE_LINKS,
    PERF_ATTRIBUTE_DISPATCH_GROUP,
    PERF_ATTRIBUTE_EXPERTS_PER_TOKEN,
    PERF_ATTRIBUTE_ROUTED_EXPERTS,
    PERF_ATTRIBUTE_FLOPS,
    PERF_ATTRIBUTE_BYTES,
    PERF_ATTRIBUTE_CLASS,
    PERF_ATTRIBUTE_ARGUMENTS, /* of an op of PyTorch */
    PERF_ATTRIBUTE_LISTS,
    PERF_ATTRIBUTES
};
extern const char *const perf_attribute_names[PERF_ATTRIBUTES];

/* Which value, in which attribute, is looked at: configurations nest further "name=value" in theirs. */
struct perf_attribute_search {
    size_t next;
    struct slice rest;
};

/* The next text that follows the name of an attribute, or that name inside a value; without data after the last. */
struct slice perf_next_attribute(const struct ops *ops, uint32_t description, enum perf_attribute name,
                                 struct perf_attribute_search *search);
/* Whether a value of an attribute has this text in it. */
bool perf_attributes_have(const struct ops *ops, uint32_t description, enum perf_attribute text);

/* For each attribute of a model whether any of the above can find something in it; found once. */
struct perf_attribute_marks {
    uint8_t *marks;
    size_t capacity;
    bool failed;
};
bool perf_attribute_matters(struct perf_attribute_marks *marks, const struct ops *ops, uint32_t attribute);

#endif
