/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/attributes.h"

#include <string.h>

#include "ops/description.h"
#include "ops/known_figures.h"

const char *const perf_attribute_names[PERF_ATTRIBUTES] = {
    [PERF_ATTRIBUTE_WINDOW] = "window_hw",
    [PERF_ATTRIBUTE_PROGRAM_CONFIG] = "program_config",
    [PERF_ATTRIBUTE_BLOCK_W] = "in0_block_w",
    [PERF_ATTRIBUTE_SUBBLOCK_H] = "out_subblock_h",
    [PERF_ATTRIBUTE_SUBBLOCK_W] = "out_subblock_w",
    [PERF_ATTRIBUTE_OUT_HEIGHT] = "per_core_out_matrix_height_ntile",
    [PERF_ATTRIBUTE_ACT_BLOCK_H] = "act_block_h_ntiles",
    [PERF_ATTRIBUTE_ACT_DOUBLE_BUFFER] = "enable_act_double_buffer",
    [PERF_ATTRIBUTE_SPLIT_READER] = "enable_split_reader",
    [PERF_ATTRIBUTE_STRIDE] = "stride_hw",
    [PERF_ATTRIBUTE_PADDING] = "padding",
    [PERF_ATTRIBUTE_DILATION] = "dilation_hw",
    [PERF_ATTRIBUTE_MEMORY_LAYOUT] = "memory_layout",
    [PERF_ATTRIBUTE_DRAM_SHARDED] = "MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig",
    [PERF_ATTRIBUTE_A_SPARSE] = "is_input_a_sparse",
    [PERF_ATTRIBUTE_B_SPARSE] = "is_input_b_sparse",
    [PERF_ATTRIBUTE_ACTIVE] = "nnz",
    [PERF_ATTRIBUTE_GROUPS] = "groups",
    [PERF_ATTRIBUTE_CAUSAL] = "is_causal",
    [PERF_ATTRIBUTE_PAGED] = "paged_attention",
    [PERF_ATTRIBUTE_POSITIONS] = "cur_pos",
    [PERF_ATTRIBUTE_SLIDING_WINDOW] = "sliding_window_size",
    [PERF_ATTRIBUTE_LINEAR] = "Topology::Linear",
    [PERF_ATTRIBUTE_LINKS] = "num_links",
    [PERF_ATTRIBUTE_DISPATCH_GROUP] = "dispatch_group_size",
    [PERF_ATTRIBUTE_EXPERTS_PER_TOKEN] = "num_experts_per_tok",
    [PERF_ATTRIBUTE_ROUTED_EXPERTS] = "num_routed_experts",
    [PERF_ATTRIBUTE_FLOPS] = OPS_ATTRIBUTE_FLOPS,
    [PERF_ATTRIBUTE_BYTES] = OPS_ATTRIBUTE_BYTES,
    [PERF_ATTRIBUTE_CLASS] = OPS_ATTRIBUTE_CLASS,
    [PERF_ATTRIBUTE_ARGUMENTS] = "args",
    [PERF_ATTRIBUTE_LISTS] = "lists",
};

struct slice perf_next_attribute(const struct ops *ops, uint32_t description, enum perf_attribute name,
                                 struct perf_attribute_search *search)
{
    const struct op_description *d = ops_get_description(ops, description);
    const char *wanted = perf_attribute_names[name];
    for (;;) {
        struct slice found = slice_after(search->rest, wanted);
        if (found.data) {
            search->rest = found;
            size_t skip = 0;
            while (skip < found.length && strchr("'\":= ", found.data[skip]))
                skip++;
            if (skip)
                return slice_from(found.data + skip, found.length - skip);
            continue;
        }
        if (search->next >= d->attributes)
            return slice_from(NULL, 0);
        const struct op_attribute *attribute = &ops->attributes[ops_attributes(ops, d)[search->next++]];
        search->rest = ops_get_slice(ops, attribute->value);
        if (slice_is(ops_get_slice(ops, attribute->key), wanted))
            return search->rest;
    }
}

bool perf_attributes_have(const struct ops *ops, uint32_t description, enum perf_attribute text)
{
    const struct op_description *d = ops_get_description(ops, description);
    for (size_t i = 0; i < d->attributes; i++) {
        if (slice_has(ops_get_slice(ops, ops->attributes[ops_attributes(ops, d)[i]].value),
                      perf_attribute_names[text]))
            return true;
    }
    return false;
}

/* --- which matter --- */

enum { NOT_KNOWN, MATTERS, MATTERS_NOT };

/* Numbers, which most values are that every op has its own of, need no search: all names have letters. */
static bool has_letter(struct slice text)
{
    for (size_t i = 0; i < text.length; i++) {
        if ((unsigned char)((text.data[i] | 0x20) - 'a') < 26)
            return true;
    }
    return false;
}

static bool can_matter(const struct ops *ops, const struct op_attribute *attribute)
{
    struct slice key = ops_get_slice(ops, attribute->key), value = ops_get_slice(ops, attribute->value);
    bool may_hold = has_letter(value);
    for (size_t i = 0; i < PERF_ATTRIBUTES; i++) {
        if (slice_is(key, perf_attribute_names[i]) || (may_hold && slice_has(value, perf_attribute_names[i])))
            return true;
    }
    return false;
}

bool perf_attribute_matters(struct perf_attribute_marks *marks, const struct ops *ops, uint32_t attribute)
{
    size_t before = marks->capacity;
    if (!array_reserve(&marks->marks, &marks->capacity, ops->attribute_count, sizeof *marks->marks)) {
        marks->failed = true;
        return true;
    }
    memset(marks->marks + before, NOT_KNOWN, marks->capacity - before);
    uint8_t *mark = &marks->marks[attribute];
    if (*mark == NOT_KNOWN)
        *mark = can_matter(ops, &ops->attributes[attribute]) ? MATTERS : MATTERS_NOT;
    return *mark == MATTERS;
}
