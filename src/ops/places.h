/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OPSCOPE_OPS_PLACES_H
#define OPSCOPE_OPS_PLACES_H

#include "ops/ops.h"
#include "trace/reader.h"

struct ops_link { /* of automatic differentiation: this call is the backward of that one */
    uint32_t call;
    uint64_t forward; /* number of a call in the same process */
};

struct ops_links { /* by call, in the order of the model */
    struct ops_link *items;
    size_t count, capacity;
};

/* Fills op_call.place for calls that do not say where they are from; the ops are those of this trace. */
int ops_find_places(struct ops *ops, struct trace *trace, const struct ops_links *links, struct error *err);

#endif
