/* SPDX-License-Identifier: Apache-2.0 */
/* One client's events as rows of a trace: a process with its threads, devices and locks. Live clients and recorded
 * streams use the same. */
#ifndef OPSCOPE_COLLECT_TRACY_TRACE_TRACE_H
#define OPSCOPE_COLLECT_TRACY_TRACE_TRACE_H

#include "collect/clock_map.h"
#include "collect/tracy/stream.h"
#include "trace/listener.h"
#include "trace/writer.h"

struct tracy_trace;

enum tracy_time {
    TRACY_TIME_OWN,    /* the client's, from 0 on */
    TRACY_TIME_LOCAL,  /* this machine's: the client reads the same counter, or the same clock, as we do */
    TRACY_TIME_REMOTE, /* another machine's: placed by the wall clock, to a second or so */
};

/* The process of a client in the trace; TRACE_NONE: it gets a row of its own. */
typedef uint32_t (*tracy_process_fn)(void *context, int64_t pid, uint64_t start_ns);

struct tracy_trace_options {
    uint32_t version;
    enum tracy_wide wide;
    struct trace_writer *writer;
    enum tracy_time time;
    const struct clock_map *clock; /* of the CPU's counter, for TRACY_TIME_LOCAL */
    tracy_process_fn process;      /* NULL: always a row of its own */
    void *context;
    uint64_t min_duration_ns;
    const struct trace_listener *listener; /* NULL: none */
};

struct tracy_trace_stats {
    uint64_t zones; /* of threads and fibers */
    uint64_t gpu_zones;
    uint64_t lock_zones;  /* waits and holds */
    uint64_t other_zones; /* sections, frames with a start and an end, turns of fibers, CPUs */
    uint64_t records;     /* other than zones */
    uint64_t open_zones;
    uint64_t lost_zones, lost_records;
    uint64_t unused;       /* of kinds that a trace cannot show */
    uint64_t own_messages; /* of Tracy itself; left out */
    uint64_t unnamed;      /* names that were not answered */
    uint32_t threads;
};

/* NULL: no memory, or a version that is not known. */
struct tracy_trace *tracy_trace_new(const struct tracy_trace_options *options);
/* As tracy_stream_feed; what an error cuts off is a Loss record. */
int tracy_trace_feed(struct tracy_trace *t, const void *data, size_t length, struct error *err);
struct tracy_stream *tracy_trace_stream(struct tracy_trace *t);
uint64_t tracy_trace_last_ns(const struct tracy_trace *t); /* of its newest event; 0: none yet */
/* The client is gone, with what it had not sent: a Loss record says so. */
void tracy_trace_lose_contact(struct tracy_trace *t);
/* Nothing more comes: names that are not known get what is known of them. Zones that are open stay so. */
void tracy_trace_close(struct tracy_trace *t);
/* For trace_writer_set_open_zones; also after tracy_trace_close. */
void tracy_trace_list_open(const struct tracy_trace *t, struct trace_writer *w);
void tracy_trace_free(struct tracy_trace *t);
void tracy_trace_get_stats(const struct tracy_trace *t, struct tracy_trace_stats *stats);

#endif
