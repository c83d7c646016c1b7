/* SPDX-License-Identifier: Apache-2.0 */
/* What the collector's files share. A source is one segment with everything known about it; a track is one thread
 * in it. */
#ifndef OPSCOPE_COLLECT_INTERNAL_H
#define OPSCOPE_COLLECT_INTERNAL_H

#include "base/bytes.h"
#include "base/clock.h"
#include "base/map.h"
#include "collect/clock_map.h"
#include "collect/collector.h"
#include "collect/device_rows.h"
#include "session/ledger_file.h"
#include "session/segment.h"

#define MAX_PENDING_TEXTS 16u /* texts in pieces, nested by signal handlers */
#define MAX_OP_PARTS 256u
#define MAX_TRACKS_PER_SOURCE (1u << 20)
#define MAX_DEVICE_TRACKS (1u << 16)
#define MAX_TASK_TRACKS 8192u /* of one thread */
#define MAX_TASKS_INSIDE 16u  /* one another: deeper ones stay on the track they are on */
#define MAX_DEAD_OPEN_ZONES (1u << 20)
#define MAX_REMEMBERED (1u << 16) /* processes and files that are counted once */

enum open_zone_kind { ZONE_PLAIN = 0, ZONE_OP = 1, ZONE_TASK = 2 };

struct open_zone {
    uint64_t start;
    uint64_t child;
    uint32_t name;
    uint32_t kind; /* enum open_zone_kind */
};

/* Where a thread's records go. Inside a turn of a task that is the task's track, of which the thread then makes the
 * rows; its zones there are counted from the task's zone on. */
struct track_lane {
    struct zone_sink *sink;
    uint32_t trace_id;
    uint32_t base; /* open zones that are not on it */
};

struct task_track {
    uint32_t definition; /* name id in the segment */
    struct track_lane lane;
};

struct open_span {
    uint64_t number, start;
    uint32_t name;
    uint32_t lane; /* index into span_lanes */
};

struct span_lane { /* a track for one span at a time */
    struct zone_sink *sink;
    uint32_t parent, trace_id;
    bool is_busy;
    uint64_t free_ns; /* the end of the last one, which another thread's record may have brought early */
};

struct open_lock { /* that the thread waits for, or holds */
    uint64_t number, start;
    uint32_t name, track;
    uint32_t kind; /* enum trace_lock_kind */
    bool is_shared;
};

struct early_end { /* of a span whose begin, on another thread, has not been read yet */
    uint64_t number, end_ns;
    uint32_t process;
};
#define MAX_EARLY_ENDS 256u /* the oldest are forgotten: their spans stay open */

struct pending_extra { /* text, value, colour or call of a zone that is still open */
    uint32_t depth;
    uint32_t kind;
    uint64_t value;
    char *text;
    uint32_t text_length;
};

struct pending_text { /* a text whose pieces are still coming */
    uint32_t kind, total, received;
    uint64_t time;
    char *data;
    bool was_taken; /* its first piece: the ledger has it */
};

struct open_op {
    uint64_t call, start;
    uint32_t depth, name, type, device;
    uint32_t part_count, part_capacity;
    uint64_t sequence, forward;
    bool has_sequence;
    bool was_taken; /* its begin: the ledger has it */
    struct op_part {
        uint32_t role, id;
    } * parts;
};

/* Damaged, unmatched, too deep, ended late: one row per chunk and reason, however often a program repeats it. */
#define TRACK_LOSS_REASONS 4u
#define MAX_WORKING_FOLDERS 16u

struct
    fiber { /* what one stack of a thread has open while another runs: the fields of struct track of that name */
    struct track_lane lane, outer[MAX_TASKS_INSIDE];
    uint32_t outer_count;
    struct open_zone *stack;
    uint32_t depth;
    size_t stack_capacity;
    uint32_t too_deep;
    struct pending_extra *extras;
    uint32_t extra_count;
    size_t extra_capacity;
    struct open_op *ops;
    uint32_t op_count;
    size_t op_capacity;
};

struct track {
    uint64_t key;        /* in the trace and in the ledger */
    uint32_t number;     /* in its segment */
    uint32_t trace_id;   /* in the trace */
    uint32_t process;    /* slot in its segment */
    uint32_t process_id; /* in the trace */
    uint64_t next_sequence;
    uint64_t unseen_sequence; /* of the first chunk of which no record has been seen */
    uint64_t last_ns;
    struct track_lane own;  /* its own track */
    struct track_lane lane; /* where its records go now */
    /* and after the open turns of tasks; the first is its own track */
    struct track_lane outer[MAX_TASKS_INSIDE];
    uint32_t outer_count;
    struct task_track *tasks; /* in order of definition */
    size_t task_count, task_capacity;
    struct fiber *fibers; /* none for a thread that has one stack */
    size_t fiber_count, fiber_capacity;
    struct map fiber_of;   /* name id in the segment -> index */
    uint32_t fiber;        /* the one that runs */
    uint64_t parked_zones; /* open in the others */
    struct open_span *spans;
    size_t span_count, span_capacity;
    struct span_lane *span_lanes;
    size_t span_lane_count, span_lane_capacity;
    struct open_lock *locks;
    size_t lock_count, lock_capacity;
    struct open_zone *stack;
    uint32_t depth;
    size_t stack_capacity;
    uint32_t too_deep; /* open zones beyond TRACE_MAX_DEPTH: not recorded */
    uint64_t zones_begun, zones_too_deep;
    uint64_t ends_to_skip;              /* recover: these zones are in the file already */
    uint64_t reported_ends, taken_ends; /* recover, of a thread with tasks: zones in the file, and taken */
    uint32_t lost_zones, lost_records;  /* last figures of its descriptor */
    struct trace_loss pending_loss;     /* becomes a record when its end is known */
    struct trace_loss losses[TRACK_LOSS_REASONS]; /* what was wrong with records of this chunk, by reason */
    struct pending_extra *extras;
    uint32_t extra_count;
    size_t extra_capacity;
    struct pending_text texts[MAX_PENDING_TEXTS];
    uint32_t text_count;
    struct open_op *ops;
    uint32_t op_count;
    size_t op_capacity;
    bool has_tasks;      /* recover: the file has tracks of its tasks */
    bool is_dead;        /* its thread is gone: what it left is final */
    uint32_t ledger_row; /* + 1; 0: none yet */
    bool is_muted;       /* recover: records that the dead collector took are not written again */
};

enum pause_change { PAUSE_GOES_ON, PAUSE_STOPS, PAUSE_ENDS }; /* the last: the process does */

struct pause_edge {
    uint64_t ns, number;
    uint32_t process; /* that went on or stopped by itself; TRACE_NONE: all were told to */
    enum pause_change change;
};

struct source_process {
    uint32_t trace_id; /* TRACE_NONE: not seen yet */
    bool is_dead;
    bool is_replaced;  /* its pid has a newer image (exec): signs of life are those of that one */
    uint64_t alive_ns; /* when it was last seen alive; 0 = never looked */
    uint64_t lost_zones, lost_records; /* last figures */
};

struct device_track {
    uint32_t definition; /* name id in the segment */
    uint32_t trace_id;
    uint32_t process_id;
    struct zone_sink *sink;
    struct device_rows rows;
    uint64_t oldest_ns; /* when the first of them came */
};

struct device {
    uint32_t definition;
    uint32_t trace_id; /* of the device's own track */
    uint32_t clock;
    uint32_t number;
    double ns_per_tick;               /* nominal */
    uint64_t synced_ns, synced_ticks; /* the point of its clock that came last; 0: none did */
};

struct source {
    struct collector *collector;
    struct session_segment *segment;
    bool is_local;   /* same PID namespace: deaths can be seen */
    bool is_closed;  /* its last writer has left */
    uint32_t *names; /* segment name id -> trace name id + 1 */
    size_t name_capacity;
    struct source_process *processes;
    size_t process_count, process_capacity;
    struct track **tracks; /* open addressing by number */
    size_t track_slots, track_count;
    struct early_end early_ends[MAX_EARLY_ENDS];
    uint32_t early_end_count, early_end_next;
    uint64_t zones_without_track; /* lost, and counted, since there was no track for their thread */
    struct device_track *device_tracks;
    size_t device_track_count, device_track_capacity;
    struct device *devices;
    size_t device_count, device_capacity;
    struct { /* the run that came last */
        uint64_t start, duration;
        uint32_t definition;
    } last_run;
    uint64_t pause_request;  /* the last that was seen */
    struct map descriptions; /* of ops that have two lists of parts at most: their ids to the trace's */
    uint32_t sequence_name, forward_name; /* of figures, where has_figure_names */
    bool has_figure_names;
};

struct collector {
    struct session_folder *folder;
    struct trace_writer *writer;
    unsigned flags;
    struct clock_map clock;
    uint32_t clock_id;
    uint64_t min_duration_ns; /* shorter zones are left out */
    size_t max_tracks;        /* live threads of one segment */
    struct source **sources;
    size_t source_count, source_capacity;
    struct trace_open_zone *dead_open; /* stacks of tracks that ended inside zones */
    size_t dead_open_count, dead_open_capacity;
    uint64_t next_liveness_ns;
    uint64_t own_namespace;
    uint32_t root_id;
    int64_t root_pid;
    uint64_t root_alive_ns;   /* when the command was last seen alive */
    struct map newest_of_pid; /* pid -> process in the trace */
    uint64_t next_peek_ns;    /* at unsealed chunks */
    struct {
        bool is_paused;           /* what the processes do */
        bool is_open;             /* a span of the trace in which nothing is recorded */
        uint64_t since_ns;        /* its begin */
        uint64_t written_ns;      /* recover: the end of the last such span that the file has */
        uint64_t request;         /* the last of the control file that was seen */
        struct pause_edge *edges; /* that have not made a span yet: one before them may still come */
        size_t edge_count, edge_capacity;
        uint64_t edges_seen;
        struct map going_on; /* processes that go on by themselves */
    } pause;
    struct ledger_rows ledger_rows;
    /* Rows taken so far, but for zones of threads and tasks. What begins and ends counts from its begin on. */
    struct session_rows taken;
    /* recover: */
    struct reported *reported; /* losses that the file has, in order of key */
    size_t reported_count;
    uint64_t *file_zones; /* of each thread that the file has, its tasks' included */
    size_t file_track_count;
    bool rows_are_missing;                                /* threads that the ledger does not tell of */
    struct map row_of_key;                                /* thread -> index of its row in the ledger */
    struct session_rows known_rows;                       /* of `taken`, that the file has or will have */
    bool taking_is_undone;                                /* the ledger's taking_chunk was not marked */
    struct map seen_refusals, seen_broken, seen_segments; /* pids, hashes of file names, ids */
    struct map foreign_names;           /* of segments of another user, by their id in the trace */
    bool has_foreign;                   /* there were such */
    char *folders[MAX_WORKING_FOLDERS]; /* in which processes worked when they were first seen */
    size_t folder_count;
    char host[256];
    struct bytes scratch;
    struct collector_stats stats;
    trace_open_zones_fn list_more_open; /* NULL: none */
    void *more_open_context;
};

/* sourcelines.c */
void sources_note_folder(struct collector *c, const struct session_segment *segment); /* of a new segment */

/* collector.c: counts a loss, and writes it. What a segment claims may be anything: more than can have been lost since
 * the session began is an unknown number of damaged data. */
void collector_lose(struct collector *c, struct trace_loss loss);
void collector_doubt(const struct collector *c, struct trace_loss *loss); /* without writing it */

/* processes.c */
uint32_t collector_define_process(struct collector *c, const struct trace_process *process);
void process_end(struct collector *c, uint32_t id, int32_t status, uint32_t flags);
bool process_is_gone(uint32_t pid); /* or a zombie */
/* The same of a pid of another PID namespace; it is gone as well where we see nothing of that namespace. Goes through
 * all processes. */
bool process_is_gone_inside(uint64_t pid_namespace, uint32_t pid);

/* collector.c */
/* True once for each key, as long as there are not too many to remember. */
bool collector_is_first(struct map *seen, uint64_t key);

/* source.c: what a segment's numbers mean in the trace */
struct source *source_new(struct collector *c, struct session_segment *segment);
void source_close(struct source *s);
uint32_t source_name(struct source *s, uint32_t id);
struct track *source_track(struct source *s, const struct segment_chunk *chunk);
void source_forget_track(struct source *s, struct track *t);
uint32_t source_process_id(struct source *s, uint32_t slot);
/* It is gone, and everything of it was taken: another process may have its row, here and in the segment. One that
 * lost something keeps it, for `recover` may have to count that. */
void source_forget_process(struct source *s, uint32_t slot);
uint64_t source_seen_ns(const struct source *s, const struct track *t); /* when a live thread was last seen */
uint64_t source_key(const struct source *s, uint64_t kind, uint64_t number); /* of a row in the trace */

/* fibers.c: stacks that a thread runs in turn */
void fiber_switch(struct source *s, struct track *t, uint32_t definition, uint64_t ns);
void fiber_show(const struct fiber *fiber,
                struct track *t); /* its fields into those of a copy of the track */
bool fiber_drop(struct track *t); /* at the end of the thread; false after the last */

/* spans.c: zones that last over turns of other tasks */
void span_begin(struct source *s, struct track *t, uint32_t name, uint64_t number, uint64_t start_ns);
void span_from_zone(struct source *s, struct track *t, uint32_t part_name, uint64_t number);
void span_end(struct source *s, struct track *t, uint64_t number, uint64_t end_ns);
struct trace_open_zone span_open_zone(const struct track *t, size_t i, uint64_t seen_ns);
void spans_close(struct source *s, struct track *t); /* with its thread */
void spans_free(struct track *t);

/* locks.c */
void lock_step(struct source *s, struct track *t, uint64_t word, uint64_t number, uint64_t ns);
void locks_close(struct source *s, struct track *t, uint64_t seen_ns); /* with its thread */

/* ledger.c: what recover needs to know of a collector that died */
void ledger_note(struct collector *c, struct track *t);   /* before a chunk of it goes back */
void ledger_finish(struct collector *c, struct track *t); /* its thread is gone */
void ledger_consume(struct source *s,
                    const struct segment_chunk *chunk); /* everything in it was taken: marks it */
void ledger_open(struct collector *c);                  /* recover: before the segments are read */
void ledger_open_track(struct source *s, struct track *t, const struct segment_chunk *chunk); /* likewise */
void ledger_take_late_ends(struct source *s); /* recover: of threads that have no chunk */
void ledger_close(struct collector *c);       /* recover: counts what was lost of those */
void ledger_free(struct collector *c);
void ledger_open_process(struct source *s, uint32_t slot, uint64_t key); /* likewise */
uint32_t ledger_replay(struct source *s, struct track *t, const struct segment_chunk *chunk);

/* track.c: the hot loop */
void track_drain(struct source *s, struct track *t, const struct segment_chunk *chunk);
void track_note_loss(struct source *s, struct track *t, const struct chunk_descriptor *d);
void track_flush_loss(struct source *s, struct track *t, uint64_t until_ns);
void track_lose(struct track *t, uint32_t reason, uint64_t from_ns, uint64_t to_ns, uint64_t zones,
                uint64_t records);
void track_flush_losses(struct source *s, struct track *t); /* what track_lose has put together */
void track_end_zone(struct source *s, struct track *t, uint64_t end_ns);
bool track_push(struct track *t, uint64_t start, uint32_t name, uint32_t kind);
struct trace_open_zone track_open_zone(const struct track *t, uint32_t depth, uint64_t seen_ns);
/* Its thread is gone, and was last seen at seen_ns; frees it. */
void track_finish(struct source *s, struct track *t, uint64_t seen_ns);

/* tasks.c: turns of tasks, which are zones that send what is inside them to another track */
void task_begin(struct source *s, struct track *t, uint32_t definition, uint64_t ns);
/* The lane of a task, without entering it; false: no room for another. */
bool task_lane(struct source *s, struct track *t, uint32_t definition, struct track_lane *lane);
void task_leave(struct track *t); /* its zone has been taken off the stack */
void task_close_all(struct source *s, struct track *t);

/* records.c: everything that is not a zone. Returns the slots used. */
uint32_t record_take(struct source *s, struct track *t, const struct slot *slots, uint32_t available,
                     uint64_t time_kind, uint64_t word, uint64_t ns);
void record_zone_extras(struct source *s, struct track *t, uint32_t depth);
void record_end_op(struct source *s, struct track *t, uint32_t depth, uint64_t end_ns);
void record_drop_zone(struct track *t, uint32_t depth,
                      bool is_op); /* what belongs to a zone that is not written */
void record_free(struct track *t);

/* pause.c: stopping and going on, for all processes */
void pause_open(struct collector *c);
void pause_source(struct source *s); /* a new one */
void pause_poll(struct collector *c);
void pause_take_request(struct source *s); /* also of one whose processes have ended since */
void pause_note(struct collector *c, uint32_t process, enum pause_change change,
                uint64_t ns);                              /* a process has paused itself, or goes on */
void pause_settle(struct collector *c, uint64_t until_ns); /* all that happened until then has been read */
bool pause_has_many_edges(const struct collector *c);      /* that are not settled */
void pause_close(struct collector *c);

/* devices.c; 0, or why it was lost (its track is not defined, or one too many): TRACE_LOSS_... */
uint32_t device_zone(struct source *s, uint32_t process_id, uint32_t definition,
                     const struct device_row *row);
uint32_t device_run(struct source *s, uint32_t process_id, uint32_t definition, struct trace_run *run);
void device_sync(struct source *s, uint32_t definition, uint64_t host_ns, uint64_t device_ticks,
                 uint64_t uncertainty_ns);
/* So many events were lost between two times of the device, or of the device that the track is of. */
void device_lost(struct source *s, struct track *t, uint32_t definition, const uint64_t ticks[2],
                 uint64_t events, uint64_t host_ns);
/* Is this the run that came last? */
uint32_t device_trace_track(struct source *s, uint32_t process_id, uint32_t definition); /* or TRACE_NONE */
bool device_run_is_last(const struct source *s, uint32_t definition, uint64_t start, uint64_t duration);
void device_flush(struct source *s, uint64_t now_ns, bool is_final);

/* cuda.c: what a process that has ended left in its file of CUDA records */
void cuda_take(struct source *s, uint32_t slot);

static inline uint64_t collector_ns(const struct collector *c, uint64_t ticks)
{
    return clock_map_ns(&c->clock, ticks);
}

/* Times of RAW that are not long ago, as the trace has them: after a sleep of the machine they may be far apart. */
static inline uint64_t collector_raw_ns(const struct collector *c, uint64_t raw_ns)
{
    return raw_ns + c->clock.ahead_ns;
}

static inline uint64_t collector_now_ns(const struct collector *c)
{
    return collector_raw_ns(c, clock_raw_ns());
}

#endif
