/* SPDX-License-Identifier: Apache-2.0 */
/* A timeline of engines in cycles: what an estimate computes before a run, whatever the chip. Units of work stand on
 * lanes (a DMA direction, a compute slice, a core); tasks are what the chip's sequencer starts; actions are
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
    TIMELINE_HOST_COPY,
    TIMELINE_DRIVER,  /* of the runtime */
    TIMELINE_PROGRAM, /* of the sequencer, whatever it uses */
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
    uint32_t waiter;   /* in timeline.tasks: the one that waited for it; TIMELINE_NONE */
    uint32_t program;  /* text: the invocation that ran, "add_0"; TIMELINE_NONE */
    uint32_t op;       /* in timeline.ops: whose work it is; TIMELINE_NONE */
    uint32_t cores;    /* that worked on it at once; 0: not known */
};

enum timeline_bound {
    TIMELINE_BOUND_UNKNOWN,
    TIMELINE_BOUND_COMPUTE,
    TIMELINE_BOUND_MEMORY,
    TIMELINE_BOUND_LAUNCH
};

/* An op of the model, or a group of them that runs as one, with what it asks of the chip. Its units are those that
 * name it. */
struct timeline_op {
    uint32_t name;                /* text: "tosa.add" */
    uint32_t class;               /* text: "MAC", "ELT"; TIMELINE_NONE */
    uint32_t number;              /* text: model_format_text, what it computes with; TIMELINE_NONE */
    uint32_t type;                /* text: "FLOAT16", the same as traces call it; TIMELINE_NONE */
    uint32_t location;            /* text */
    uint32_t dispatch;            /* in timeline.dispatches */
    uint32_t source;              /* the caller's own handle */
    uint32_t bound;               /* enum timeline_bound */
    uint32_t note;                /* text: why its cost is uncertain or not known; TIMELINE_NONE */
    uint32_t tiles;               /* 0: not known */
    uint32_t first_place, places; /* in timeline.places: all ops that run as part of it */
    uint64_t start, end;          /* first start and last end of its units */
    uint64_t macs;
    uint64_t operations;                            /* element-wise ones; 0 for an op that only moves data */
    uint64_t read_bytes, write_bytes, weight_bytes; /* weights are part of what is read */
    uint64_t peak_bytes;                            /* of on-chip memory; 0: not known */
    double utilisation; /* of the engines' MACs, 0 to 1; below 0: does not apply */
};

/* Something that a reader of the estimate must know: an op without a cost, a dimension that was taken as 1. */
struct timeline_notice {
    uint32_t text;
    uint32_t source; /* TIMELINE_NONE: the whole */
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
    uint32_t first_task, tasks; /* that it ran */
    bool has_times;
};

struct timeline_dispatch {
    uint32_t name; /* text */
    uint64_t start, end;
    uint64_t peak_bytes; /* of on-chip memory: the highest that is reached; 0: not known */
    uint64_t used_bytes; /* the most that are in use at once; 0: not known */
    uint32_t source;     /* the caller's own handle */
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
    struct timeline_op *ops; /* in the order of the model */
    size_t op_count, op_capacity;
    uint32_t *places; /* as timeline_op.source: the caller's own handles */
    size_t place_count, place_capacity;
    struct timeline_notice *notices;
    size_t notice_count, notice_capacity;
    bool is_analytic; /* from op costs, not from scheduled IR */
    bool is_measured; /* a run, in ns */
    bool is_host_ns;  /* from a trace: times are ns of the host, not cycles of the device */
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
/* Each gives a place to be filled in; NULL: no memory. Zeroed, but links to texts, ops and tasks are TIMELINE_NONE.
 * Pointers are good until the next of the kind. */
struct timeline_unit *timeline_add_unit(struct timeline *timeline);
struct timeline_task *timeline_add_task(struct timeline *timeline);
struct timeline_action *timeline_add_action(struct timeline *timeline);
struct timeline_dispatch *timeline_add_dispatch(struct timeline *timeline);
struct timeline_op *timeline_add_op(struct timeline *timeline);
/* Of the op that was added last. */
void timeline_add_place(struct timeline *timeline, uint32_t source);
void timeline_add_notice(struct timeline *timeline, uint32_t source, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Makes an op of each unit that belongs to none and is on a lane of programs: all that is known of some runs. */
void timeline_programs_to_ops(struct timeline *timeline);
/* Leaves what is not between two times out, and begins with the first of them. */
void timeline_cut(struct timeline *timeline, uint64_t start, uint64_t end);
uint64_t timeline_start(const struct timeline *timeline); /* of its first unit */
/* The last moment of all: of tasks, and of units that nobody waited for. */
uint64_t timeline_end(const struct timeline *timeline);

#endif
