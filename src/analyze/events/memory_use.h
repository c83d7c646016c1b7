/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations and releases in the order of time, each release with the allocation that it ends.
 *
 * A release has only a pool and an address, and another thread may make it than the allocation; threads are collected
 * one after the other, so that the file has them in no common order. So the events are put in order of time: blocks are
 * read by their first time, rows wait in a heap until no unread block can begin before them. In practice two or three
 * blocks overlap. All events of the wanted processes are seen, whatever threads were asked for, from the start of the
 * trace to the end of the window: what is in use at any time does not depend on where somebody looks. */
#ifndef OPSCOPE_ANALYZE_EVENTS_MEMORY_USE_H
#define OPSCOPE_ANALYZE_EVENTS_MEMORY_USE_H

#include "analyze/filter.h"

enum memory_change_kind {
    MEMORY_ALLOCATED,
    MEMORY_RELEASED,
    MEMORY_REPLACED,  /* its address was allocated again: the release is not in the trace */
    MEMORY_UNMATCHED, /* a release of what was allocated before the recording, or whose record was lost */
};

struct memory_change {
    enum memory_change_kind kind;
    uint64_t ns, address;
    uint64_t size;         /* of the allocation; 0 when unmatched */
    uint64_t in_use_bytes; /* of the pool, after this */
    uint32_t process, track;
    uint32_t pool; /* a number: one per process and pool, in the order in which they were first seen */
    const char *pool_name; /* "" for the default pool */
};

struct memory_live { /* was not released */
    uint64_t ns, address, size;
    uint32_t process, track, pool;
};

struct memory_reader {
    struct trace *trace;
    const struct trace_filter *filter;
    int (*visit)(void *context, const struct memory_change *change); /* not 0: stop and return that */
    void *context;
};

/* What is live at the end is put into *live (the caller frees it) unless that is NULL. */
int memory_use_read(const struct memory_reader *reader, struct memory_live **live, size_t *live_count,
                    struct error *err);

#endif
