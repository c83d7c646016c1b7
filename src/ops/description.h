/* SPDX-License-Identifier: Apache-2.0 */
/* Between the texts in which a trace describes ops and the typed model: the only parser of
 * "shape=1x32x64;padded=...;dtype=BF16;layout=TILE;memory=DRAM", of "key=value" attributes, kernels and places, and the
 * only writer of them. */
#ifndef OPSCOPE_OPS_DESCRIPTION_H
#define OPSCOPE_OPS_DESCRIPTION_H

#include "ops/ops.h"
#include "trace/model.h"

#define OPS_MAX_RANK 32u

/* The id of a tensor that is described so. What is not one of the known keys, or has a value that they cannot have
 * ("shape=?x32"), is kept in `rest`; a text without any key is `rest` as a whole. */
uint32_t ops_parse_tensor(struct ops *ops, struct slice text);
/* The id of the description that these parts are; OPS_NONE without parts. */
uint32_t ops_parse_parts(struct ops *ops, const struct trace_part *parts, size_t count);

/* As parse_tensor reads it. */
void ops_append_tensor_text(const struct ops *ops, const struct op_tensor *tensor, struct bytes *out);
/* For people: "1x32x64 BF16 TILE DRAM", as far as these are known. */
void ops_append_tensor(const struct ops *ops, const struct op_tensor *tensor, struct bytes *out);
/* "DRAM read=4096", by kind. */
void ops_append_figure(const struct ops *ops, const struct op_figure *figure, struct bytes *out);

/* Four sizes of a tensor of any rank: what stands before the last four is multiplied into the first, missing ones are
 * 1. False when the sizes are not known, negative, or too large. */
bool ops_four_sizes(const struct ops *ops, uint32_t sizes, uint32_t rank, uint64_t four[4]);

/* The value of an attribute; without data where the description has none of that key. */
struct slice ops_find_attribute(const struct ops *ops, uint32_t description, const char *key);

/* What all calls of one description have in common; an empty one for OPS_NONE. */
static inline const struct op_description *ops_get_description(const struct ops *ops, uint32_t description)
{
    static const struct op_description nothing = {
        .location = OPS_NONE, .module = OPS_NONE, .fidelity = OPS_NONE};
    return description < ops->description_count ? &ops->descriptions[description] : &nothing;
}

/* Where a call is from, as far as it is known: text, or OPS_NONE. */
static inline uint32_t ops_location(const struct ops *ops, const struct op_call *call)
{
    uint32_t said = ops_get_description(ops, call->description)->location;
    return said != OPS_NONE ? said : call->place;
}

/* Where that is in a library: the innermost place around it in somebody's own code (trace_file_is_library). OPS_NONE:
 * there is none, or the call itself is made there. */
static inline uint32_t ops_own_place(const struct ops *ops, const struct op_call *call) /* one of ops.calls */
{
    size_t i = (size_t)(call - ops->calls);
    return i < ops->own_place_count ? ops->own_places[i] : OPS_NONE;
}

#endif
