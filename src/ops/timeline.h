/* SPDX-License-Identifier: Apache-2.0 */
/* A timeline of engines in cycles: what an estimate computes before a run, whatever the chip. Units of work stand on
 * lanes (a DMA direction, a compute slice, a core); tasks are what the chip's sequencer was told to do; actions are
 * steps of the host. Times are cycles from the start of the timeline; dispatches follow one another. */
#ifndef OPSCOPE_OPS_TIMELINE_H
#define OPSCOPE_OPS_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/slice.h"

#define TIMELINE_NONE UINT32_MAX

enum timeline_lane_kind {
    TIMELINE_DMA_IN,
    TIMELINE_DMA_OUT,
    TIMELINE_COPY, /* between memories on the chip */
    TIMELINE_SLICE,
    TIMELINE_CORE, /* a processor beside the slices */
    TIMELINE_HOST,
    TIMELINE_LANE_KINDS
};

struct timeline_lane {
    uint32_t name;   /* text */
    uint32_t kind;   /* enum timeline_lane_kind */
    uint32_t number; /* of the slice, of the direction of a copy */
};

struct timeline_unit {
    uint64_t start, end; /* end - start is how long it takes, whether or not anybody waits for it */
    uint64_t ready;      /* when who waits for it goes on; 0: nobody did */
    uint64_t bytes;      /* moved; UINT64_MAX: does not apply */
    uint32_t lane, dispatch;
    uint32_t task;     /* in timeline.tasks: the one that started it; TIMELINE_NONE */
    uint32_t name;     /* text: what it computes; TIMELINE_NONE */
    uint32_t location; /* text: as the compiler's IR has it */
    uint32_t source;   /* the caller's own handle: an op of the IR */
};

struct timeline_task {
    uint64_t start, end;
    int64_t number; /* as the IR numbers it, else as it was run */
    uint32_t dispatch;
    uint32_t source;
};

struct timeline_action {
    uint64_t start, end;
    int64_t number;
    uint32_t dispatch;
    uint32_t name; /* text */
    uint32_t source;
    bool has_times;
};

struct timeline_dispatch {
    uint32_t name; /* text */
    uint64_t start, end;
    uint64_t peak_bytes; /* of on-chip memory; 0: not known */
};

struct timeline {
    struct intern texts;
    struct timeline_lane *lanes;
    size_t lane_count, lane_capacity;
    struct timeline_unit *units; /* in the order in which they were started */
    size_t unit_count, unit_capacity;
    struct timeline_task *tasks;
    size_t task_count, task_capacity;
    struct timeline_action *actions;
    size_t action_count, action_capacity;
    struct timeline_dispatch *dispatches;
    size_t dispatch_count, dispatch_capacity;
    double clock_mhz; /* cycles to time; 0: not known */
    bool failed;
};

void timeline_free(struct timeline *timeline);
int timeline_check(const struct timeline *timeline, struct error *err); /* -ENOMEM when something failed */
uint32_t timeline_text(struct timeline *timeline, struct slice text);   /* TIMELINE_NONE without data */
static inline const char *timeline_get_text(const struct timeline *timeline, uint32_t text)
{
    return intern_text(&timeline->texts, text);
}
/* The lane of this name, added when new. */
uint32_t timeline_lane(struct timeline *timeline, const char *name, enum timeline_lane_kind kind,
                       uint32_t number);
/* Each gives a place to be filled in, zeroed; NULL: no memory. Pointers are good until the next of the kind. */
struct timeline_unit *timeline_add_unit(struct timeline *timeline);
struct timeline_task *timeline_add_task(struct timeline *timeline);
struct timeline_action *timeline_add_action(struct timeline *timeline);
struct timeline_dispatch *timeline_add_dispatch(struct timeline *timeline);
/* The last moment of all: of tasks, and of units that nobody waited for. */
uint64_t timeline_end(const struct timeline *timeline);

#endif
