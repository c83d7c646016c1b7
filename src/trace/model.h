/* SPDX-License-Identifier: Apache-2.0 */
/* The record model: the few row types that every source becomes and every view reads.
 *
 * Times are nanoseconds of the host's CLOCK_MONOTONIC_RAW, except where a clock id says otherwise: rows of a
 * device track carry ticks of that device's clock, and the reader converts them with the clock's sync points.
 * Ids are dense, given by the writer, unique within a trace. TRACE_NONE means "no such thing". */
#ifndef OPSCOPE_TRACE_MODEL_H
#define OPSCOPE_TRACE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/slice.h"

#define TRACE_NONE UINT32_MAX
#define TRACE_HOST_CLOCK 0u /* clock id of host nanoseconds; always defined */
#define TRACE_STATUS_UNKNOWN INT32_MIN
#define TRACE_MAX_DEPTH 65535u
#define TRACE_MAX_TEXT ((size_t)1 << 20) /* bytes of text in one record */

enum trace_process_flag {
    TRACE_PROCESS_ROOT = 1,           /* the command that opscope run started */
    TRACE_PROCESS_RUNNING_AT_END = 2, /* outlived the recording */
    TRACE_PROCESS_FORKED = 4,         /* shares its parent's image (fork without exec) */
};

struct trace_process {
    uint32_t id;
    uint32_t parent; /* process id in this trace, or TRACE_NONE */
    int64_t pid;
    uint64_t start_ns;
    uint64_t end_ns;     /* 0 = not known to have ended */
    int32_t exit_status; /* as from wait(); TRACE_STATUS_UNKNOWN when we are not the parent */
    uint32_t flags;      /* enum trace_process_flag */
    uint64_t key;        /* the writer's own handle to find it again (recover) */
    const char *command; /* argv joined by spaces */
    const char *host;
};

enum trace_track_kind {
    TRACE_TRACK_THREAD = 0,
    TRACE_TRACK_TASK = 1, /* a coroutine, fiber, asyncio task */
    TRACE_TRACK_DEVICE = 2,
    TRACE_TRACK_QUEUE = 3,
    TRACE_TRACK_CORE = 4,
    TRACE_TRACK_PROCESSOR = 5,
    TRACE_TRACK_DMA = 6,
    TRACE_TRACK_OTHER = 7,
    /* zones of its parent, a thread or a task, that do not nest with the others: one at a time */
    TRACE_TRACK_SPAN = 8,
};

struct trace_track {
    uint32_t id;
    uint32_t process;
    uint32_t parent; /* track id, or TRACE_NONE */
    uint32_t kind;   /* enum trace_track_kind */
    uint32_t clock;
    uint64_t number; /* thread id, core number, queue number */
    uint64_t key;
    const char *name;
    /* of a device: what it says that it is; "" when unknown (to a writer also NULL) */
    const char *architecture;
};

struct trace_clock {
    uint32_t id;
    bool is_device;
    double ticks_per_second; /* nominal */
    const char *name;
};

struct trace_clock_point {
    uint32_t clock;
    uint64_t ticks;
    uint64_t host_ns;
    uint64_t uncertainty_ns;
    uint64_t realtime_ns; /* 0 when not sampled */
    uint64_t boottime_ns;
    bool is_break; /* the clock jumped here: do not interpolate across */
};

struct trace_name {
    uint32_t id;
    uint32_t line;
    uint32_t colour; /* 0xRRGGBB; 0 = none */
    const char *name;
    const char *function; /* "" when unknown */
    const char *file;
};
/* Where it is, as people are shown it: the file, else a function that is not its name (a domain of NVTX); "". */
static inline const char *trace_name_place(const struct trace_name *name)
{
    return name->file[0] || strcmp(name->function, name->name) == 0 ? name->file : name->function;
}

/* A zone belongs to the block in which it ends. child = time spent in direct children on the same track (of a task's
 * turn: on the task's track), so self time is duration - child. */
struct trace_zone {
    uint64_t start;
    uint64_t duration;
    uint64_t child;
    uint32_t name;
    uint32_t depth;
};

enum trace_extra_kind {
    TRACE_EXTRA_TEXT = 1,
    TRACE_EXTRA_VALUE = 2,
    TRACE_EXTRA_COLOUR = 3,
    TRACE_EXTRA_CALL = 4
};

/* What a few zones carry beside their times. */
struct trace_extra {
    uint32_t row;  /* row in its block */
    uint32_t kind; /* enum trace_extra_kind */
    uint64_t value;
    const char *text; /* TRACE_EXTRA_TEXT: not NUL-terminated */
    uint32_t text_length;
};

/* Begun, but not ended when its thread ended, its process died or the recording stopped. To the writer, times are ticks
 * of the track's clock; the reader hands out host ns. */
struct trace_open_zone {
    uint32_t track;
    uint32_t depth;
    uint64_t start;
    /* When its thread was last seen: its last record, or the last moment at which it was known to live. The
     * zone is shown to last until then. To the writer, 0 = not known; the reader fills it in. */
    uint64_t seen;
    uint64_t child; /* time spent in direct children, as in a zone */
    uint32_t name;
    uint64_t start_ticks, seen_ticks; /* from the reader: `start` and `seen` as the writer got them */
};

/* Lines of a source file that a recording has taken along. */
enum trace_source_state {
    TRACE_SOURCE_READ = 0,
    TRACE_SOURCE_CHANGED = 1, /* was newer than the beginning of the recording: it has no lines */
};

struct trace_source_part {
    uint32_t first_line; /* from 1 on */
    uint32_t length;     /* bytes of text: UTF-8, each line ended by \n */
    const char *text;
};

struct trace_source_file {
    const char *file; /* as names have it */
    uint32_t state;   /* enum trace_source_state */
    uint32_t line_count;
    uint32_t part_count;
    const struct trace_source_part *parts; /* in order of line */
};

/* The times of points, counters, memory events and samples: to the writer ticks of the track's clock, from the reader
 * host ns. */
enum trace_point_kind { TRACE_POINT_SIGNPOST = 1, TRACE_POINT_MESSAGE = 2, TRACE_POINT_FRAME = 3 };

struct trace_point {
    uint32_t track;
    uint32_t kind; /* enum trace_point_kind */
    uint64_t time;
    const char *header; /* signpost header, frame name; NUL-terminated */
    const char *text;   /* message text; NUL-terminated, may hold anything else */
    uint32_t text_length;
};

struct trace_counter {
    uint32_t track;
    uint32_t name;
    uint64_t time;
    double value;
};

struct trace_memory {
    uint32_t track;
    uint32_t pool; /* name id, TRACE_NONE = the default pool */
    uint64_t time;
    uint64_t address;
    uint64_t size; /* 0 for a release */
    bool is_release;
    bool is_all; /* with is_release: of all that the pool holds; no address */
};

enum trace_op_type { TRACE_OP_DEVICE = 0, TRACE_OP_HOST = 1, TRACE_OP_FALLBACK = 2, TRACE_OP_CPU = 3 };
enum trace_part_role {
    TRACE_PART_INPUT = 1,
    TRACE_PART_OUTPUT = 2,
    TRACE_PART_ATTRIBUTE = 3, /* "key=value" */
    TRACE_PART_KERNEL = 4,
    TRACE_PART_LOCATION = 5,
};

/* A tensor's text is "key=value" pairs joined by ';': shape=1x32x128x128;padded=...;dtype=BF16;layout=TILE;
 * memory=DRAM_INTERLEAVED. Unknown keys are kept. */
struct trace_part {
    uint32_t role;     /* enum trace_part_role */
    struct slice text; /* from the reader: up to a NUL */
};

enum trace_figure_kind {
    TRACE_FIGURE_TICKS = 0, /* of the track's clock: the time of one processor */
    TRACE_FIGURE_NS = 1,
    TRACE_FIGURE_COUNT = 2,
    TRACE_FIGURE_BYTES = 3, /* memory traffic */
    TRACE_FIGURE_REAL = 4,
    TRACE_FIGURE_PERCENT = 5, /* real, 100 is all */
    TRACE_FIGURE_TEXT = 6,    /* whole is a name id */
    TRACE_FIGURE_KINDS        /* one past the last */
};

struct trace_run_part { /* a named figure of a run, or of an op */
    uint32_t name;
    uint32_t kind; /* enum trace_figure_kind */
    union {
        uint64_t whole;
        double real; /* TRACE_FIGURE_REAL, TRACE_FIGURE_PERCENT */
    };
};

static inline bool trace_figure_is_real(uint32_t kind)
{
    return kind == TRACE_FIGURE_REAL || kind == TRACE_FIGURE_PERCENT;
}

/* Figures of an op that a framework with automatic differentiation called: the number that it counts by, and the call
 * of the op that this one is the backward of. */
#define TRACE_FIGURE_SEQUENCE "sequence number"
#define TRACE_FIGURE_FORWARD "forward op"

struct trace_op {
    uint64_t call; /* unique in its process */
    uint32_t process;
    uint32_t track;
    uint32_t name;
    uint32_t type;        /* enum trace_op_type */
    uint32_t device;      /* device number; TRACE_NONE when unknown */
    uint32_t description; /* interned list of parts; TRACE_NONE = none */
    uint64_t start_ns;
    uint64_t end_ns; /* 0 = still open at the end */
    uint32_t part_count;
    const struct trace_run_part *parts; /* what is known of the call itself: times of host functions ... */
};

enum trace_run_flag {
    TRACE_RUN_ESTIMATED = 1, /* from a model of the device, not measured on one */
};

struct trace_run {
    uint64_t call; /* of the op in the same process; 0 = not known */
    uint32_t process;
    uint32_t track;
    uint32_t name;
    uint32_t session; /* trace replay session; 0 = none */
    uint32_t cores;
    uint32_t flags; /* enum trace_run_flag */
    uint32_t part_count;
    uint64_t start; /* ticks of the track's clock */
    uint64_t duration;
    const struct trace_run_part *parts;
};

enum trace_loss_reason {
    TRACE_LOSS_BUFFER_FULL = 1, /* no free chunk in the session */
    TRACE_LOSS_NO_MEMORY = 2,   /* the session could not grow: tmpfs or cgroup full */
    TRACE_LOSS_NESTED = 3,      /* a signal handler interrupted a chunk switch */
    TRACE_LOSS_COLLECTOR = 4,   /* the collector died with data in its memory */
    TRACE_LOSS_DISK_FULL = 5,
    TRACE_LOSS_DAMAGED = 6, /* session or trace data that could not be read */
    TRACE_LOSS_TOO_DEEP = 7,
    TRACE_LOSS_LATE_ENDS = 8,   /* zones kept, but closed later than they ended */
    TRACE_LOSS_DROPPED_OLD = 9, /* flight recorder: older than --max-size holds */
    TRACE_LOSS_UNMATCHED = 10,  /* ends whose begin was not seen */
    TRACE_LOSS_CLOCK = 11,
    TRACE_LOSS_PROCESSES = 12,  /* the segment's process table is full */
    TRACE_LOSS_UNRECORDED = 13, /* a process that got no segment: how much is not known */
    TRACE_LOSS_NO_END = 14,     /* launched on a device, and not known to have ended when the process did */
    TRACE_LOSS_DEVICE = 15,     /* dropped by a device or its runtime */
    TRACE_LOSS_PAUSED = 16,     /* nothing was to be recorded then */
    TRACE_LOSS_REASONS          /* one past the last */
};

struct trace_loss {
    uint32_t process; /* TRACE_NONE when unknown */
    uint32_t track;   /* TRACE_NONE when it concerns the whole process */
    uint32_t reason;  /* enum trace_loss_reason */
    uint64_t from_ns;
    uint64_t to_ns;
    uint64_t zones;
    uint64_t records; /* other than zones */
};

struct trace_sample {
    uint32_t track;
    uint64_t time;
    uint32_t frame_count;
    const uint32_t *frames; /* name ids, innermost first */
};

enum trace_lock_kind { TRACE_LOCK_WAIT = 1, TRACE_LOCK_HOLD = 2 };

/* A thread or task waited for a lock, or held it. */
struct trace_lock {
    uint32_t track;
    uint32_t name;   /* of the lock */
    uint32_t kind;   /* enum trace_lock_kind */
    uint64_t number; /* which lock of the process it was: names may be shared */
    uint64_t start_ns, end_ns;
    bool is_shared; /* others may hold it as well, so long as theirs are shared, too */
    bool is_open;   /* had not ended when its thread, its process or the recording did, at end_ns */
};

/* Words for the enums above, declared once for every view. */
const char *trace_track_kind_text(uint32_t kind);
const char *trace_point_kind_text(uint32_t kind);
const char *trace_loss_reason_text(uint32_t reason);
/* False for what is kept, was dropped because that was asked for, or was not to be recorded. */
bool trace_loss_is_lost(uint32_t reason);
const char *trace_op_type_text(uint32_t type);
/* Is a source file nobody's own code: of an installed module, the interpreter's own, or made while it ran? */
bool trace_file_is_library(const char *file);
const char *trace_part_role_text(uint32_t role);

#endif
