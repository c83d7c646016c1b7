/* SPDX-License-Identifier: Apache-2.0 */
/* The ops of a timeline of scheduled IR; used by the execution alone. */
#ifndef OPSCOPE_IMPORT_TORQ_OPS_H
#define OPSCOPE_IMPORT_TORQ_OPS_H

#include "base/bytes.h"
#include "base/intern.h"
#include "ops/timeline.h"

struct torq_ops {
    struct intern keys; /* by op of the timeline */
};

struct torq_op_key {
    uint32_t dispatch, program; /* the op of the IR */
    uint32_t name, location;    /* texts */
    bool has_location;          /* of the program's own, not a default */
};

void torq_ops_free(struct torq_ops *ops);
/* The op that a program computes, added when new. */
uint32_t torq_op_of(struct torq_ops *ops, struct timeline *timeline, const struct torq_op_key *key);
/* Gives the transfers of a dispatch, whose units begin at `first_unit`, to its ops, and adds up what these take. */
void torq_ops_finish(struct timeline *timeline, uint32_t dispatch, size_t first_unit);
/* The name of a program or an invocation without what all of them begin with: "add_0". */
struct slice torq_program_name(struct slice head);

#endif
