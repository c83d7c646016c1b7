/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that run as one, with what they do together and what passes their border. */
#ifndef OPSCOPE_ANALYZE_ESTIMATE_GROUPS_H
#define OPSCOPE_ANALYZE_ESTIMATE_GROUPS_H

#include "analyze/estimate/target.h"
#include "ops/model.h"

struct estimate_group {
    uint32_t first_member, members; /* in groups.members: ops, in order */
    uint32_t root;                  /* the op that decides what the group is */
    uint32_t first_input, inputs;   /* in groups.inputs: what is read from outside, each value once */
    uint32_t first_output, outputs; /* in groups.outputs: values that leave it */
    uint8_t class;                  /* enum model_class, of the root */
    uint8_t number;                 /* enum model_number */
    uint8_t format;                 /* enum model_format */
    uint8_t fault;                  /* the worst of its ops */
    uint64_t macs, operations;
    uint64_t read_bytes, write_bytes;
};

struct estimate_groups {
    struct estimate_group *groups; /* in the order in which they run */
    size_t count;
    uint32_t *members;
    struct model_use *inputs;
    size_t input_count, input_capacity;
    uint32_t *outputs;
    size_t output_count, output_capacity;
    uint32_t *group_of; /* by op; MODEL_NONE: costs nothing */
    uint32_t *last_use; /* by value: the last group that reads it; MODEL_NONE */
};

int estimate_groups(struct estimate_groups *groups, const struct model *model, struct error *err);
void estimate_groups_free(struct estimate_groups *groups);

/* --- work.c --- */

/* Cycles that one engine needs for the compute of a group; below 0: no engine of the target can do it. */
double estimate_engine_cycles(const struct estimate_groups *groups, const struct estimate_group *group,
                              const struct model *model, const struct estimate_target *target);
/* MACs per cycle and engine of data of these widths; 0: none. */
double estimate_mac_rate(const struct estimate_target *target, unsigned number, unsigned data_bits,
                         unsigned weight_bits);
/* What measurements say a group of this kind takes, as a factor of the estimate: 1 without calibration. */
double estimate_scale(const struct estimate_target *target, unsigned class, unsigned format);

#endif
