/* SPDX-License-Identifier: Apache-2.0 */
/* The session: the one contract between the recorder (inside profiled processes) and the collector.
 *
 * A session is a folder (mode 0700, on tmpfs where possible) with a control file, written once by the collector,
 * and one segment per process image, made by the recorder on its first event:
 *
 *   header | free map | taken | name table, level 0 | processes | chunk descriptors | late ends | name ids |
 *   name table, levels 1.. | names | chunks
 *
 * The file is sparse and has its full size from the start; nobody ever truncates it. Memory is committed in
 * steps before it is touched, so that a full tmpfs is an error and not a SIGBUS. All offsets follow from
 * chunk_count and is_small by segment_layout_of(), so a reader trusts no offset in the file.
 *
 * A thread owns one 16 KiB chunk at a time and fills it with 16-byte slots. Who writes what:
 *   - the owner: the slots, of each record the time and kind of its first slot last (release); the descriptor when it
 *     takes and when it seals the chunk;
 *   - the collector: reads records in their order up to the first whose time and kind are still zero (acquire), or, in
 *     a sealed chunk, as many slots as its descriptor says; when a sealed chunk is drained, state = FREE, then all of
 *     it zero, then the bit in the free map; heartbeat and state in the header.
 * A process that dies leaves its chunks OWNED; every record whose head is there is whole, and before a head that is not
 * the record's length may be. Descriptors are one array and not chunk headers because looking at 1,000 of them at a
 * 16 KiB stride costs 10-16 us (cache sets collide).
 *
 * Names (and other definitions) are interned by content: space is claimed with one atomic add, the entry written,
 * its offset stored in the id table (release), the id put into the hash table with one compare-and-swap. No locks are
 * shared between processes, and a death at any point leaves at most an unused entry. */
#ifndef OPSCOPE_SESSION_SESSION_H
#define OPSCOPE_SESSION_SESSION_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SESSION_VARIABLE "OPSCOPE_SESSION" /* PATH:ID, ID = 16 hex digits, must match the control file */
#define SESSION_CONTROL_FILE "control"
#define SESSION_SEGMENT_SUFFIX ".seg"
/* an empty file PREFIX<pid>-<errno>: a process that got no segment */
#define SESSION_REFUSAL_PREFIX "unrecorded-"

#define SESSION_REFUSAL_TOO_OLD EPROTONOSUPPORT /* as <errno>: the session wants a newer recorder */

/* Empty files PREFIX<0 to SPARES - 1> of the collector's: a process that cannot make the one above renames one. */
#define SESSION_SPARE_PREFIX "spare-"
#define SESSION_SPARES 4u

#define SESSION_LEDGER_CLOSED UINT64_MAX /* the trace was finished: whatever was taken is in it */

#define SESSION_VERSION 6u         /* of segments, and of what a recorder reads of the control file */
#define SESSION_CONTROL_VERSION 7u /* of all of that: what recover reads */
#define SESSION_CONTROL_MAGIC UINT64_C(0x314c54435350504f) /* "OPPSCTL1" */
#define SESSION_SEGMENT_MAGIC UINT64_C(0x314745535350504f) /* "OPPSSEG1" */

#define CHUNK_BYTES ((size_t)16 * 1024)
#define CHUNK_SLOTS 1024u
#define SESSION_MAX_CHUNKS 32768u /* 512 MiB of buffer */
#define SESSION_DEFAULT_BUFFER ((uint64_t)32 << 20)
#define SESSION_MAX_PROCESSES 65536u
#define SESSION_MAX_NAMES (4u << 20)
#define SESSION_NAMES_BYTES ((size_t)128 << 20)
#define SESSION_MAX_NAME_BYTES ((size_t)64 * 1024)
#define SESSION_NAME_LEVELS 7u
#define SESSION_NAME_PROBES 16u
#define SESSION_NAME_FULL 1u /* the id that stands for every name that found no room */
/* a collector whose heart has not beaten for this long is gone */
#define SESSION_STALE_NS UINT64_C(1000000000)
#define SESSION_PIECE_SLOTS 255u /* text slots after one record: 4,080 bytes */
/* A span whose number has this bit, and none above it, may end on another thread of its process. */
#define SESSION_SPAN_ANY_THREAD (UINT64_C(1) << 61)
#define SESSION_SPAN_LOCK (UINT64_C(1) << 63) /* and the number of the lock: the span of who holds it */
#define SESSION_PAGE ((size_t)4096)
#define SESSION_PATH_BYTES 1024u   /* of the folder, its end included */
#define SESSION_LATE_TRACKS 65536u /* threads whose ends can be reported late */

enum session_on_full { SESSION_ON_FULL_DROP = 0, SESSION_ON_FULL_WAIT = 1 };

/* When to record, for sessions that begin paused (record/capture.c). */
enum session_capture_kind {
    CAPTURE_ALWAYS = 0,
    /* between the program's own calls that start and stop profilers: opscope_capture_ */
    CAPTURE_PROFILER_API = 1,
    CAPTURE_SIGNPOSTS = 2, /* from signpost `from` to signpost `to`; either may be empty */
    CAPTURE_ZONE = 3,      /* inside zones called `from` */
    CAPTURE_STEPS = 4,     /* frames first_step to last_step of each process */
};

/* The two values of the word at flag_address. */
#define SESSION_FLAG_RECORDING(kind) ((kind) == CAPTURE_ZONE ? 0u : 1u)
#define SESSION_FLAG_PAUSED(kind) ((kind) == CAPTURE_ZONE ? 1u : 2u)

struct session_capture {
    uint32_t kind; /* enum session_capture_kind */
    uint32_t reserved;
    uint64_t first_step, last_step; /* from 1 */
    char from[128], to[128];
};

#define SESSION_NO_SOURCE "no-source" /* this file in the folder: the trace gets no source lines */

struct session_control { /* the start of the control file; texts follow */
    uint64_t magic;
    uint32_t version;      /* of this layout */
    uint32_t min_recorder; /* oldest recorder layout that may write into this session */
    uint64_t session_id;
    uint32_t clock_source; /* enum clock_source */
    uint32_t on_full;      /* enum session_on_full */
    uint64_t buffer_bytes;
    uint64_t collector_pid;
    uint64_t start_ticks, start_raw_ns; /* one good pair of the session's clock, for recover */
    uint64_t max_size_bytes;            /* of the trace, likewise */
    uint32_t output_length;             /* absolute path of the trace, after this struct */
    uint32_t command_length;            /* follows the path */
    /* The collector's ledger, for recover: which of the zones that it took never reached the file? For each thread it
     * is in a file of its own (ledger_file.h). */
    uint64_t ledger_state;        /* 0, or SESSION_LEDGER_CLOSED */
    uint64_t threads_without_row; /* that were given chunks back, and there was no memory to say so */
    uint64_t reserved;
    /* How many rows it took that are not zones of threads and tasks: zones of devices and spans, and records. They
     * are added chunk by chunk, also in two steps: while taking_chunk is set, the sums of `taking` count if
     * taking_slots of that chunk are marked as taken. */
    struct session_rows {
        uint64_t zones, records;
    } taken, taking;
    uint64_t taking_chunk, taking_slots;
    uint64_t cgroup_signature; /* of the collector, if its memory is not limited; see cgroup.h */
    uint64_t min_duration_ns;  /* shorter zones are left out of the trace */
    /* Pausing. Whoever wants a change stores a request with another number; the collector makes it so and stores the
     * same word in pause_done. */
    uint64_t pause_request, pause_done; /* number << 1 | wants it paused */
    uint32_t is_paused;                 /* what processes that join now do */
    uint32_t unreachable;               /* processes that the last change did not reach */
    struct session_capture capture;
};

enum segment_state { SEGMENT_OPEN = 0, SEGMENT_CLOSED = 2 };

struct segment_header {
    /* written before the segment gets its name */
    uint64_t magic;
    uint32_t version;
    uint32_t chunk_count;
    uint64_t session_id;
    uint64_t segment_id; /* random */
    uint64_t total_bytes;
    uint32_t clock_source;
    uint32_t on_full;
    uint32_t pid; /* in its own PID namespace */
    uint32_t parent_pid;
    uint64_t pid_namespace; /* inode of /proc/self/ns/pid; 0 = unknown */
    uint32_t can_grow;      /* 0: everything was committed when the segment was made */
    uint32_t is_small;      /* few names and processes: a program with little address space */
    /* Where a process of this image keeps whether it records, for the collector to write to (collect/pause.c), and
     * the word that tells such an address space: it holds segment_id. */
    uint64_t flag_address, identity_address;
    uint64_t reserved1[5];
    /* the collector's line */
    uint64_t heartbeat_ns; /* CLOCK_MONOTONIC_RAW */
    uint32_t state;        /* enum segment_state */
    uint32_t is_paused;    /* what processes that join now do; also stored by one that pauses itself */
    uint64_t reserved3[6];
    /* the producers' lines */
    uint32_t chunks_committed; /* chunks [0, this) have memory */
    uint32_t track_count;
    uint32_t process_count;
    uint32_t name_count; /* ids handed out: 1 .. name_count */
    uint64_t names_used; /* bytes claimed */
    uint64_t names_committed;
    uint32_t levels_committed; /* one bit per level of the name table */
    uint32_t ids_committed;
    uint32_t processes_committed;
    uint32_t growth_failures; /* steps that found no memory */
    uint64_t chunks_taken;    /* by all threads together: does it still change? */
    uint64_t lost_zones;      /* of processes that found no row in the table, or no memory for a thread */
    uint64_t lost_records;
    uint64_t late_pages[2];  /* one bit per page of late ends that has memory */
    uint32_t processes_free; /* rows that may be used again: a hint */
    uint32_t reserved5;
    uint64_t pause_request; /* the last one of a process: session_pause_request */
    uint64_t reserved4[3];
    char command[2048]; /* /proc/self/cmdline as it was, NULs between the arguments */
    uint32_t command_length;
};

/* Rows of processes that are gone and that lost nothing are used again, so that the table is as long as there were
 * processes at the same time. */
enum process_row_state {
    PROCESS_EMPTY = 0,
    PROCESS_VALID = 1, /* stored last */
    PROCESS_FREE = 2,  /* by the collector */
    PROCESS_TAKEN = 3, /* by a process that has not filled it in yet */
    /* valid; it has paused itself, or gone on: what other processes do does not change it */
    PROCESS_ALONE = 4,
};

struct session_process {
    uint32_t state; /* enum process_row_state */
    uint32_t pid;
    uint32_t parent_pid;
    uint32_t generation; /* how many had the row before */
    uint64_t start_ticks;
    uint64_t start_raw_ns;
    uint64_t lost_zones; /* of threads that never got a chunk */
    uint64_t lost_records;
    char comm[16];
};

enum chunk_state { CHUNK_FREE = 0, CHUNK_OWNED = 1, CHUNK_SEALED = 2 };
enum chunk_flag {
    CHUNK_LAST = 1,        /* its thread has ended */
    CHUNK_LOST_NESTED = 2, /* some of the losses were signal handlers that met a chunk switch */
    CHUNK_LOST_FULL = 4,   /* some were for want of a free chunk */
};

struct chunk_descriptor {
    uint32_t state;    /* enum chunk_state */
    uint32_t slots;    /* that hold records, once it is sealed */
    uint32_t process;  /* index into the process table */
    uint32_t track;    /* number of the thread in this segment */
    uint64_t sequence; /* of this chunk in its track, from 0 */
    uint64_t base_ticks;
    uint64_t base_raw_ns;  /* taken together with base_ticks */
    uint64_t zones_before; /* zones this track began in earlier chunks */
    uint32_t thread_id;
    uint16_t depth_at_start;
    uint16_t flags;        /* enum chunk_flag */
    uint32_t lost_zones;   /* by this track since it began, modulo 2^32 */
    uint32_t lost_records; /* likewise, records other than zones */
};

/* Zones of one thread that ended while it had no chunk to record that in. Once it gets one, a RECORD_LATE_ENDS in the
 * first slot says the same; so this counts only as long as no record of chunk `sequence` has been seen. */
struct late_ends {
    uint32_t count;
    uint32_t sequence; /* low bits: of the thread's next chunk */
};

struct slot {
    uint64_t time_kind; /* ticks << 8 | kind */
    uint64_t word;      /* id | payload << 32 */
};

/* Kinds from 128 on take further slots; how many is in the top byte of the payload. */
enum record_kind {
    RECORD_NONE = 0,       /* not written yet, or never: by a handler that was left by siglongjmp */
    RECORD_ZONE_BEGIN = 1, /* id: name; payload: colour */
    RECORD_ZONE_END = 2,
    RECORD_FRAME = 3,       /* id: name */
    RECORD_ZONE_COLOUR = 4, /* payload: colour */
    RECORD_OP_PART = 5,     /* id: text; payload: enum record_part */
    RECORD_LATE_ENDS = 6,   /* id: this many zones ended before this while there was no room to record it */
    /* id: name; payload: 0, or the track of a device that has this name from now on */
    RECORD_THREAD_NAME = 7,
    RECORD_TASK_BEGIN = 8, /* id: NAME_TASK; a zone, inside which everything is on that task's track */
    /* id: NAME_TASK, or 0 for the thread's own: what follows is of that stack: fibers.c */
    RECORD_TASK_SWITCH = 9,
    RECORD_NOTHING = 10,     /* a slot that was given back */
    RECORD_PAUSE = 11,       /* id: 1 = recording was paused, 0 = it goes on, by the process itself */
    RECORD_COUNTER = 128,    /* id: name; + {double, -} */
    RECORD_ZONE_VALUE = 129, /* + {value, -} */
    RECORD_MEMORY = 130,     /* id: pool; payload bit 0: release, bit 1: of all in it; + {address, size} */
    RECORD_OP_BEGIN = 131, /* id: name; payload low 24: type; + {call, device | PART_LIST << 32}, and perhaps
                               * {autograd's sequence number, call of the forward op or 0}; ended by RECORD_ZONE_END */
    RECORD_DEVICE_ZONE = 132, /* time: device ticks, whose top byte has a place of its own (slot_high_ticks);
                               * id: name; payload low 24: track; + {duration, call | top byte << 56} */
    RECORD_DEVICE_RUN = 133,  /* likewise; + {duration, call} {cores | session << 32, flags | top byte << 56}
                               * {part name, ticks}... */
    RECORD_CLOCK_SYNC = 134,  /* time: host; id: device; + {device ticks, uncertainty ns} */
    RECORD_ZONE_TEXT = 135,   /* the three texts: id: total bytes; payload low 24: offset of this piece */
    RECORD_MESSAGE = 136,
    RECORD_SIGNPOST = 137, /* header, NUL, message */
    /* id: name; + {number, -}; a zone that need not end where it began: collect/spans.c */
    RECORD_SPAN_BEGIN = 138,
    RECORD_SPAN_END = 139, /* + {number, -} */
    /* the innermost zone goes on as that span; id: name of what ends now; + {number, -} */
    RECORD_ZONE_SUSPEND = 140,
    /* time: host; id: device, or a track of it; + {from, to: device ticks} {events, -} */
    RECORD_DEVICE_LOST = 142,
    RECORD_LOCK = 141, /* id: name of the lock, of the first two; payload: enum record_lock; + {number, -} */
};

/* RECORD_LOCK's payload: what the thread did, and perhaps RECORD_LOCK_SHARED. */
enum record_lock {
    RECORD_LOCK_WAIT = 0,
    RECORD_LOCK_OBTAINED = 1, /* whether it waited or not */
    RECORD_LOCK_RELEASED = 2,
    RECORD_LOCK_GAVE_UP = 3, /* it waits no longer */
    RECORD_LOCK_STEPS = 3,   /* the bits of these */
    RECORD_LOCK_SHARED = 4,
};

/* RECORD_OP_PART's payload. */
enum record_part {
    PART_INPUT = 1,
    PART_OUTPUT = 2,
    PART_ATTRIBUTE = 3, /* the text is key, NUL, value */
    PART_KERNEL = 4,
    PART_LIST = 16, /* several of the above: a byte that says which, the text, a NUL, and so on */
};

enum name_kind {
    NAME_TEXT = 1,
    NAME_SITE = 2, /* name, NUL, function, NUL, file; aux = line, value = colour */
    /* name, or name, NUL, architecture; aux = number, value = double ticks per second, owner = process */
    NAME_DEVICE = 3,
    NAME_DEVICE_TRACK = 4, /* name; aux = kind, value = number, owner = device, parent = track or 0 */
    NAME_TASK = 5,         /* name; value = number, owner = process */
};

struct name_entry { /* 8-byte aligned; the bytes follow */
    uint32_t length;
    uint32_t hash;
    uint32_t kind; /* enum name_kind */
    uint32_t aux;
    uint64_t value;
    uint32_t owner;
    uint32_t parent;
};

_Static_assert(sizeof(struct slot) == 16, "slot");
_Static_assert(sizeof(struct late_ends) == 8, "written with one store");
_Static_assert(SESSION_LATE_TRACKS * sizeof(struct late_ends) <= 128 * SESSION_PAGE, "late_pages");
_Static_assert(sizeof(struct chunk_descriptor) == 64, "descriptor");
_Static_assert(sizeof(struct session_process) == 64, "process");
_Static_assert(sizeof(struct name_entry) == 32, "name entry");
_Static_assert(sizeof(struct segment_header) <= SESSION_PAGE, "header");
_Static_assert(offsetof(struct segment_header, heartbeat_ns) % 64 == 0, "collector's line");
_Static_assert(offsetof(struct segment_header, chunks_committed) % 64 == 0, "producers' line");

/* The owner of a name: the row of its process, and which of those that had the row. */
#define SESSION_OWNER_ROW(owner) ((owner)&0xffffu)
#define SESSION_OWNER(row, generation) ((generation) << 16 | (row))
_Static_assert(SESSION_MAX_PROCESSES <= 0x10000, "SESSION_OWNER");

/* segment_header.pause_request: each has another number; the row of the process that made it. Bits of the segment's id
 * tell it from what a program that has gone wild may have written there: it concerns other programs. */
static inline uint64_t session_pause_request(uint64_t last, uint32_t row, bool is_paused, uint64_t segment_id)
{
    return segment_id >> 40 << 40 | (((last >> 17) + 1) & 0x7fffff) << 17 | (uint64_t)(row & 0xffff) << 1 |
           is_paused;
}
static inline bool session_pause_is_request(uint64_t request, uint64_t segment_id)
{
    return request && request >> 40 == segment_id >> 40;
}

/* Where everything is, and how much of it there can be, from the number of chunks and one bit alone. */
struct segment_layout {
    uint32_t chunk_count, process_count, name_count, late_count, level_count;
    size_t names_bytes;
    size_t free_map, taken, processes, descriptors, late, name_ids, names, chunks, total;
    size_t levels[SESSION_NAME_LEVELS];
};

static inline size_t segment_page_up(size_t n)
{
    return (n + SESSION_PAGE - 1) & ~(SESSION_PAGE - 1);
}

/* The page of a track's late ends, a bit of late_pages. */
static inline uint32_t segment_late_page(uint32_t track)
{
    return (uint32_t)(track * sizeof(struct late_ends) / SESSION_PAGE);
}

static inline size_t segment_level_slots(uint32_t level)
{
    return (size_t)1024 << (2 * level);
}

static inline struct segment_layout segment_layout_of(uint32_t chunk_count, bool is_small)
{
    struct segment_layout l = {
        .chunk_count = chunk_count,
        .process_count = is_small ? 1024 : SESSION_MAX_PROCESSES,
        .name_count = is_small ? 65536 : SESSION_MAX_NAMES,
        .late_count = is_small ? 4096 : SESSION_LATE_TRACKS,
        .level_count = is_small ? 4 : SESSION_NAME_LEVELS,
        .names_bytes = is_small ? (size_t)4 << 20 : SESSION_NAMES_BYTES,
    };
    size_t at = (sizeof(struct segment_header) + 63) & ~(size_t)63;
    l.free_map = at;
    at += ((size_t)chunk_count + 511) / 512 * sizeof(uint64_t[8]);
    l.taken =
        at; /* one uint16_t per chunk: slots that the collector has taken from it before it was sealed */
    at = segment_page_up(at + (size_t)chunk_count * sizeof(uint16_t));
    l.levels[0] = at;
    at += segment_level_slots(0) * sizeof(uint32_t);
    l.processes = at;
    at += l.process_count * sizeof(struct session_process);
    l.descriptors = at;
    at += segment_page_up((size_t)chunk_count * sizeof(struct chunk_descriptor));
    l.late = at;
    at += l.late_count * sizeof(struct late_ends);
    l.name_ids = at;
    at += ((size_t)l.name_count + 1) * sizeof(uint32_t);
    at = segment_page_up(at);
    for (uint32_t i = 1; i < l.level_count; i++) {
        l.levels[i] = at;
        at += segment_level_slots(i) * sizeof(uint32_t);
    }
    l.names = at;
    at += l.names_bytes;
    l.chunks = at;
    l.total = at + (size_t)chunk_count * CHUNK_BYTES;
    return l;
}

static inline struct segment_layout segment_layout(uint32_t chunk_count)
{
    return segment_layout_of(chunk_count, false);
}

static inline uint64_t slot_time_kind(uint64_t ticks, unsigned kind)
{
    return ticks << 8 | kind;
}

/* The clock of a device may count from anywhere: eight bits more than a slot's head has room for. */
#define SLOT_LOW_BITS ((UINT64_C(1) << 56) - 1)

static inline uint64_t slot_high_ticks(uint64_t ticks)
{
    return ticks & ~SLOT_LOW_BITS;
}

static inline uint64_t slot_device_ticks(uint64_t time_kind, uint64_t word)
{
    return time_kind >> 8 | slot_high_ticks(word);
}

/* How many slots follow the first one of a record. */
static inline uint32_t slot_more(uint64_t time_kind, uint64_t word)
{
    unsigned kind = (unsigned)(time_kind & 0xff);
    return kind >= 128 || kind == RECORD_NONE ? (uint32_t)(word >> 56) : 0;
}

#endif
