/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of zones as a tree, for collapsed stacks and flame graphs: nodes are found by their parent and frame, so that
 * memory grows with the number of different stacks, not of zones. The outermost frames are the program and its thread.
 * Private to this folder.
 *
 * A window cuts zones, or with has_device_time runs, at its borders. Zones that the filter leaves out are left out of
 * the stacks: their time is self time of what encloses them. */
#ifndef OPSCOPE_PRESENT_EXPORT_STACKS_H
#define OPSCOPE_PRESENT_EXPORT_STACKS_H

#include "base/intern.h"
#include "base/map.h"
#include "present/export/order.h"

#define STACK_NONE UINT32_MAX

struct stack_node {
    uint32_t parent; /* STACK_NONE: a program */
    uint32_t frame;  /* in `frames` */
    uint32_t name;   /* id; TRACE_NONE: a program or a thread */
    uint32_t track;  /* of a thread's node; else TRACE_NONE */
    uint64_t self_ns, count;
    uint64_t device_ns, device_count; /* of runs that were launched just there */
};

struct stack_launch { /* of runs on a device */
    uint64_t call, start_ns, device_ns, device_count;
    uint32_t process, track, name;
    bool is_wanted; /* the track that it ran on is */
};

struct stacks_options {
    bool is_semicolon_separated; /* ';' and line ends cannot be in frames */
    bool has_places;             /* frames of one name at two places are two */
    bool is_host_only;           /* no zones of devices, unless there are no others */
    bool has_device_time;        /* device_ns is filled; runs that nobody launched are below their device */
};

struct stacks {
    struct export_job *job;
    struct stacks_options options;
    struct intern frames;  /* texts, safe to show; with has_places the place after a line end */
    uint32_t *name_frames; /* by name id: frame + 1 */
    size_t name_count;
    struct stack_node *nodes; /* parents before children */
    size_t node_count, node_capacity;
    struct map children; /* from parent and frame to the node */
    struct stack_track *tracks;
    struct trace_filter callers;   /* of what launched runs: on any thread, at any time */
    struct stack_launch *launches; /* by track and time */
    size_t launch_count, launch_capacity;
    struct bytes scratch;
};

/* The caller frees them, whatever is returned. */
int stacks_make(struct stacks *stacks, struct export_job *job, const struct stacks_options *options);
void stacks_free(struct stacks *stacks);

/* launches.c: who launched the runs that the filter wants, in order of track and time; those that nobody did have no
 * track. */
int stacks_find_launches(struct stacks *stacks);

#endif
