/* SPDX-License-Identifier: Apache-2.0 */
/* Drawing groups on a timeline, one after the other: what the two kinds of target have in common. */
#ifndef OPSCOPE_ANALYZE_ESTIMATE_DRAW_H
#define OPSCOPE_ANALYZE_ESTIMATE_DRAW_H

#include "analyze/estimate/groups.h"
#include "ops/timeline.h"

#define ESTIMATE_ENGINES_MAX 64u /* that are drawn; more work with them on the same tile */
#define ESTIMATE_RING 128u       /* more than ESTIMATE_ENGINES_MAX + 2 tiles are never under way */

struct estimate_drawing {
    struct timeline *timeline;
    const struct model *model;
    const struct estimate_groups *groups;
    const struct estimate_target *target;
    double now;        /* cycles */
    uint32_t dispatch; /* in timeline.dispatches */
    /* Lanes, and texts of classes and formats, once they are known: TIMELINE_NONE before. */
    uint32_t in_lane, out_lane, engine_lanes[ESTIMATE_ENGINES_MAX];
    uint32_t class_texts[MODEL_CLASSES], format_texts[MODEL_FORMATS];
    /* cache.c: bytes that were touched before a value was last, by value; below 0: never */
    double *touched;
    double traffic;
    bool is_warm; /* all arguments and weights stay in the cache from one run to the next */
    /* dma.c: values that stay on the chip */
    bool *is_resident;
    double *resident_bytes;                                              /* by group */
    double engine_end[ESTIMATE_ENGINES_MAX], compute_end[ESTIMATE_RING]; /* of the group that is drawn */
};

/* A group's place in timeline.ops is the same as its place among the groups. Each draws the group from `now` on,
 * fills in the timeline's op and moves `now` to its end. */
void estimate_draw_cache(struct estimate_drawing *drawing, uint32_t group);
void estimate_draw_dma(struct estimate_drawing *drawing, uint32_t group);

/* A piece of a group's work on a lane. */
void estimate_add_unit(struct estimate_drawing *drawing, uint32_t group, uint32_t lane, double start,
                       double end, uint64_t bytes);

/* Bytes of code for a sequencer that starts this many transfers and engines: itself transferred. */
uint64_t estimate_code_bytes(const struct estimate_target *target, uint64_t transfers, uint64_t starts);

#endif
