/* SPDX-License-Identifier: Apache-2.0 */
/* Everything in a trace as events, for the formats that can show everything: one loop over each kind of row,
 * the filter asked, the rows counted, memory events summed up to what is in use. Private to this folder. */
#ifndef OPSCOPE_PRESENT_EXPORT_EVENTS_H
#define OPSCOPE_PRESENT_EXPORT_EVENTS_H

#include "present/export/order.h"

/* Spans of a lane never overlap; lane 0 is the track's own row of ops or runs. */
struct export_span {
    uint64_t start_ns, end_ns;
    uint32_t lane;
    bool is_open;
};

struct export_events {
    void *context;
    struct export_visitor zones;
    int (*point)(void *context, const struct trace_point *point, uint64_t ns);
    int (*counter)(void *context, uint32_t process, const char *name, uint64_t ns, double value);
    int (*memory)(void *context, uint32_t process, const char *pool, uint64_t ns, uint64_t in_use_bytes);
    int (*op)(void *context, const struct trace_op *op, const struct export_span *span);
    int (*run)(void *context, const struct trace_run *run, const struct export_span *span);
    int (*loss)(void *context, const struct trace_loss *loss);
};

int export_each_event(struct export_job *job, const struct export_events *events);

/* Names for what is attached to one zone: "text", "value", "call", "colour"; those that come again are "text 2" ...,
 * so that none hides another. Begin with zeros for each zone. NULL: a kind that has no name. */
struct export_extra_names {
    uint32_t counts[4];
    char name[24];
};
const char *export_extra_name(struct export_extra_names *names, uint32_t kind);

/* --- lanes: each span goes to the first one that is free at its start --- */
struct export_lanes {
    struct export_lane_row {
        uint64_t *last_end_ns;
        size_t count, capacity;
    } * rows; /* by track */
    size_t row_count;
};
bool export_lanes_open(struct export_lanes *lanes, size_t row_count);
void export_lanes_close(struct export_lanes *lanes);
/* UINT32_MAX: no memory. */
uint32_t export_lanes_take(struct export_lanes *lanes, size_t row, uint64_t start_ns, uint64_t end_ns);

/* --- bytes in use by pool, from the memory events in order of time (memory.c) --- */
int export_each_memory(struct export_job *job, const struct export_events *events);

#endif
