/* SPDX-License-Identifier: Apache-2.0 */
/* What the files share that make rows of events:
 *   trace.c        threads, fibers, zones
 *   late_names.c   names whose texts come later
 *   lanes.c        zones that do not nest, each on a track with room
 *   gpu.c          devices
 *   locks.c        locks
 *   listen.c       what somebody else wants to hear
 *   rows.c         everything else */
#ifndef OPSCOPE_COLLECT_TRACY_TRACE_INTERNAL_H
#define OPSCOPE_COLLECT_TRACY_TRACE_INTERNAL_H

#include "collect/device_rows.h"
#include "collect/tracy/trace/trace.h"

#define MAX_THREADS (1u << 16)
#define MAX_LOCKS (1u << 16)
#define MAX_LANES 256u           /* of one set */
#define MAX_GPU_ZONES (1u << 20) /* whose times have not come */
#define MAX_GPU_QUEUES (1u << 16)
#define MAX_PENDING_POINTS 65536u
#define MAX_ADDRESSES (1u << 18) /* in call stacks */
#define MAX_HEARD (1u << 16)     /* zones whose names are not known */

/* --- late_names.c --- */

struct late_name {      /* what a name in the trace is made of */
    const char *prefix; /* "" or what stands before the text */
    uint32_t source;    /* or TRACY_NONE */
    uint32_t name;      /* index of a name of the stream, where there is no source */
    uint32_t own;       /* text in late_names.texts that is used instead; TRACY_NONE: none */
    uint32_t trace_id;
};

struct late_names {
    struct intern texts;
    uint32_t *of_source, *of_name; /* by index: trace id + 1 */
    size_t source_capacity, name_capacity;
    struct map of_own; /* source and own text -> trace id */
    struct late_name *waiting;
    size_t count, capacity;
    uint64_t settled_answers; /* answers of the stream when `waiting` was last looked through */
    uint64_t unnamed;
};

uint32_t late_name_add_source(struct tracy_trace *t,
                              uint32_t source); /* the first time; else: late_name_of_source */
uint32_t late_name_of_text(struct tracy_trace *t, uint32_t name); /* of a plot, a pool, a thread */
uint32_t late_name_own(struct tracy_trace *t, uint32_t source, const char *text, size_t length);
uint32_t late_name_prefixed(struct tracy_trace *t, const char *prefix, uint32_t source, uint32_t own);
void late_names_settle(struct tracy_trace *t, bool is_final);
void late_names_free(struct late_names *names);
/* The text of a source location as a name; NULL while it is not known. */
const char *late_source_text(const struct tracy_trace *t, uint32_t source);

/* --- lanes.c --- */

struct lane {
    struct zone_sink *sink;
    uint32_t track, name;
    uint64_t key, start;
    bool is_busy;
    bool is_shared; /* of a lock */
};

struct lanes { /* tracks of one kind, each with one zone at a time */
    const char *name;
    uint32_t kind, parent; /* of the tracks */
    struct lane *lanes;
    size_t count, capacity;
};

/* NULL: no room. */
struct lane *lane_begin(struct tracy_trace *t, struct lanes *set, uint64_t key, uint64_t ns, uint32_t name);
/* Where the zone was, until the next begins; NULL: none is open under that key. */
const struct lane *lane_end(struct tracy_trace *t, struct lanes *set, uint64_t key, uint64_t ns);
void lanes_close(struct tracy_trace *t, struct lanes *set);
void lanes_list_open(const struct tracy_trace *t, const struct lanes *set, struct trace_writer *w);
void lanes_free(struct lanes *set);

/* --- trace.c --- */

struct open_zone {
    uint64_t start, child;
    uint32_t source, name; /* of the stream, of the trace */
};

struct zone_detail {
    uint32_t depth, kind; /* enum trace_extra_kind */
    uint64_t value;
    char *text;
    uint32_t text_length;
};

struct stack { /* of a thread or a fiber */
    struct zone_sink *sink;
    uint32_t track;
    uint32_t depth, too_deep;
    struct open_zone *zones;
    size_t capacity;
    struct zone_detail *details;
    size_t detail_count, detail_capacity;
    uint64_t last_ns;
    uint64_t turn_ns, turn_busy; /* of a fiber: when it was entered, time of its zones since */
    struct trace_loss unmatched, deep;
};

struct thread {
    uint32_t id;
    struct stack own;
    struct stack *now;         /* own, or that of the fiber that runs */
    struct lanes waits, holds; /* of locks */
};

struct pending_point { /* whose text is not known yet */
    uint32_t kind, track, name;
    uint64_t ns;
};

struct gpu_context {
    uint32_t track, clock;
    bool is_shared;                       /* zones of several threads */
    bool has_cores;                       /* which are cores of a device */
    uint64_t last_ticks, lap_ticks, laps; /* of its counter: the last time, and how often it began again */
    char name[64];
};

struct gpu_queue {
    struct device_rows rows;
    struct zone_sink *sink;
    uint32_t *stack; /* open zones: places in gpu_zones */
    uint32_t depth;
    size_t capacity;
};

struct gpu_zone {
    uint64_t start, end;
    uint32_t queue, name; /* of a free place: the next one */
    bool has_start, has_end;
};

struct lock {
    uint32_t source, own_name; /* text in late_names.texts */
    uint32_t name, wait_name;  /* in the trace */
    uint32_t owner;
};

/* Of the listener, by source location. From WISH_WAITING on: its name was not known after this many answers. */
enum wish { WISH_UNKNOWN, WISH_NO, WISH_YES, WISH_WAITING };

struct heard_zone { /* that may be wanted */
    uint64_t start, end;
    uint32_t source, track, text_length;
    char *text;
};

struct tracy_trace {
    struct tracy_trace_options options;
    struct trace_writer *writer;
    struct tracy_stream *stream;
    const struct tracy_names *names;
    const struct clock_map *clock; /* NULL: times are those of the client, which begin at origin_ns */
    struct clock_piece piece;      /* of it, that the last time was in */
    uint64_t origin_ns, first_tick;
    double ns_per_tick;
    uint32_t process;
    uint64_t last_ns;
    struct late_names late;
    struct thread **threads;
    size_t thread_count, thread_capacity;
    struct thread *recent; /* the last that had an event */
    struct map thread_of;  /* id -> index */
    struct stack **fibers;
    size_t fiber_count, fiber_capacity;
    struct map fiber_of; /* name -> index */
    struct gpu_context *contexts;
    size_t context_count, context_capacity;
    struct map context_of, queue_of; /* number; number and thread */
    struct map core_of;              /* number and core -> track */
    struct gpu_queue *queues;
    size_t queue_count, queue_capacity;
    struct gpu_zone *gpu_zones;
    size_t gpu_zone_count, gpu_zone_capacity;
    uint32_t free_gpu_zone; /* TRACE_NONE: none */
    struct map query_of;    /* context and query -> place * 2 + is end */
    struct lock **locks;
    size_t lock_count, lock_capacity;
    struct map lock_of;
    struct lanes frames, sections, cpus;
    uint32_t frame_track, plot_track, load_name; /* TRACE_NONE: none yet */
    struct pending_point *points;
    size_t point_count, point_capacity;
    uint64_t settled_answers; /* when the points were last looked through */
    uint32_t *wishes;         /* enum wish, by source location */
    size_t wish_capacity;
    struct heard_zone *heard;
    size_t heard_count, heard_capacity;
    uint64_t heard_answers;   /* as settled_answers */
    struct map address_names; /* address in a call stack -> name in the trace */
    struct bytes scratch;
    struct tracy_trace_stats stats;
    bool has_time; /* choose_time was called */
    bool is_closed;
};

static inline uint32_t late_name_of_source(struct tracy_trace *t, uint32_t source)
{
    uint32_t known = source < t->late.source_capacity ? t->late.of_source[source] : 0;
    return __builtin_expect(known != 0, 1) ? known - 1 : late_name_add_source(t, source);
}

uint64_t trace_ns(struct tracy_trace *t, int64_t ticks);
/* NULL: there are too many. */
struct thread *trace_thread(struct tracy_trace *t, uint32_t id);
uint32_t trace_track(struct tracy_trace *t, uint32_t kind, uint32_t parent, const char *name, uint64_t number,
                     uint32_t clock);

/* --- listen.c --- */

void trace_listen_message(struct tracy_trace *t, uint32_t track, uint64_t ns, const char *text,
                          size_t length);
/* Of the zone that was at the top of the stack; its details are still there. */
void trace_listen_zone(struct tracy_trace *t, const struct stack *stack, uint64_t end_ns);
void trace_listen_settle(struct tracy_trace *t, bool is_final);
void trace_listen_free(struct tracy_trace *t);

/* The wish for a name that has just been looked for in vain. */
static inline uint32_t trace_waiting_wish(const struct tracy_trace *t)
{
    return WISH_WAITING + (uint32_t)(t->names->answered & INT32_MAX);
}

/* Like WISH_NO: until the next answer, zones of unknown names are not kept when as many are as can be. */
static inline uint32_t trace_vain_wish(const struct tracy_trace *t)
{
    return t->heard_count < MAX_HEARD ? WISH_NO : trace_waiting_wish(t);
}

static inline bool trace_may_listen(const struct tracy_trace *t, uint32_t source)
{
    uint32_t wish = source < t->wish_capacity ? t->wishes[source] : WISH_UNKNOWN;
    return t->options.listener && wish != WISH_NO && wish != trace_vain_wish(t);
}

/* gpu.c, locks.c, rows.c */
void trace_gpu_event(struct tracy_trace *t, const struct tracy_event *event);
void trace_gpu_close(struct tracy_trace *t);
void trace_gpu_free(struct tracy_trace *t);
void trace_lock_event(struct tracy_trace *t, const struct tracy_event *event);
void trace_locks_close(struct tracy_trace *t);
void trace_locks_free(struct tracy_trace *t);
void trace_row_event(struct tracy_trace *t, const struct tracy_event *event);
void trace_points_settle(struct tracy_trace *t, bool is_final);

#endif
