/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the writer share:
 *   writer.c       open, tick, finish
 *   file.c         segment files: header, slots, blocks, checkpoints, trailer, a full disk
 *   flight.c       rotating segments of the flight recorder
 *   definitions.c  names, processes, tracks, clocks, descriptions
 *   sources.c      lines of source files
 *   rows.c         points, counters, memory, ops, runs, samples, losses
 *   zones.c        sinks;  blocks.c  zone blocks out of them
 *   lod.c          levels of detail above the block
 *   resume.c       trace_writer_resume */
#ifndef OPSCOPE_TRACE_WRITER_INTERNAL_H
#define OPSCOPE_TRACE_WRITER_INTERNAL_H

#include "base/bytes.h"
#include "base/intern.h"
#include "base/map.h"
#include "trace/block.h"
#include "trace/format.h"
#include "trace/lod.h"
#include "trace/reader.h"
#include "trace/writer.h"

#define OPEN_BLOCKS_BUDGET ((size_t)96 << 20)
#define BLOCK_AGE_NS UINT64_C(2000000000)
#define CHECKPOINT_AGE_NS UINT64_C(10000000000)
#define CHECKPOINT_BYTES ((uint64_t)64 << 20)
#define AGE_SCAN_NS UINT64_C(100000000)
#define FOLLOWED_SCAN_NS UINT64_C(50000000)
#define FULL_INDEX_ENTRIES 262144u

struct index_entry {                 /* a block that is in the segment */
    uint64_t offset, size, sequence; /* offset from the segment's start */
    uint64_t t_first, t_last, min_start;
    uint32_t track, clock, count, prefix_size;
    uint16_t type;
    uint8_t lod_level;
};

struct id_list {
    uint32_t *ids;
    size_t count, capacity;
};

struct writer_name {
    const char *name, *function, *file; /* in the intern table */
    uint32_t line, colour;
    uint32_t segment; /* 1 + the segment that has it; 0 = none */
    uint32_t same;    /* 1 + the name that has the same texts, of one that was named late; 0 = none */
};

struct writer_process {
    struct trace_process process;
    uint32_t segment;
};

struct writer_track {
    struct trace_track track;
    uint32_t segment;
    uint32_t depths;           /* deepest zone + 1 */
    uint64_t zones;            /* in the whole file */
    uint64_t segment_zones;    /* in this segment */
    uint64_t checkpoint_zones; /* since the last checkpoint */
    uint64_t t_last;           /* end of its newest block */
    struct sink *sink;
};

struct writer_clock {
    struct trace_clock clock;
    uint32_t segment;
};

struct writer_definitions {
    struct intern texts; /* strings of processes, tracks, clocks */
    struct intern name_keys;
    struct writer_name *names;
    size_t name_capacity;
    struct writer_process *processes;
    size_t process_count, process_capacity;
    /* From the keys of processes and tracks to their ids; of several with one key, the newest. */
    struct map process_keys, track_keys;
    struct writer_track *tracks;
    size_t track_count, track_capacity;
    struct writer_clock *clocks;
    size_t clock_count, clock_capacity;
    struct trace_clock_point *points;
    size_t point_count, point_capacity, points_written;
    struct intern descriptions; /* serialised parts */
    uint32_t *description_segment;
    size_t description_capacity;
    struct id_list new_names, new_processes, new_tracks, new_clocks, new_descriptions;
    struct bytes key; /* scratch */
    struct block_builder builder;
};

/* The names that one block uses, in order of first use; rows hold indexes into it. */
struct name_list {
    uint64_t *marks; /* of each name id: number of the block that uses it << 32 | place in its list */
    size_t mark_capacity;
    uint32_t number; /* of the block */
    uint32_t *names;
    size_t count, capacity;
    bool failed;
};

#define ROW_COLUMNS 23u
struct row_buffer { /* rows of one type and clock that are not yet written */
    struct row_buffer *next;
    uint32_t type, clock;
    uint64_t opened_at_ns;
    size_t count, part_count, figure_count;
    uint64_t t_first, t_last;
    struct {
        uint64_t *values;
        size_t capacity;
    } columns[ROW_COLUMNS];
    struct bytes text;
};

struct lod_run { /* nodes of one track and depth, in order of start, as a block handed them over */
    uint64_t start;
    size_t first, count;
    uint32_t track;
    uint16_t depth;
    uint8_t level;
};

struct lod_node { /* while LOD blocks are made */
    struct node node;
    uint32_t track;
    uint16_t depth;
    uint8_t level; /* at which it enters */
};

struct writer_lod { /* nodes waiting for the next LOD blocks */
    struct node *nodes;
    size_t count, capacity;
    struct lod_run *runs;
    size_t run_count, run_capacity;
    struct lod_node *work;
    size_t work_count, work_capacity;
    uint64_t from_sequence; /* first block that the nodes may stem from */
    struct name_list names;
};

struct carried_row {
    uint64_t start, duration, child;
    uint32_t depth, name;
    uint32_t order; /* place among the rows as they came: extras refer to it */
};

struct extra_row {
    uint64_t value;
    uint32_t row; /* in its group, or of the carried rows */
    uint32_t depth;
    uint32_t kind, text_length;
    size_t text_offset;
    bool is_carried;
};

struct rebase { /* the row of this depth that begins a new run: its gap did not fit 32 bits */
    uint64_t start;
    uint32_t depth, row;
};

/* A sink: the public half, then what the inline function does not need. */
struct sink {
    struct zone_sink zones;
    struct trace_writer *writer;
    struct sink *next, *previous;
    struct carried_row *carried;
    size_t carried_count, carried_capacity;
    struct rebase *rebases; /* in order of row within a depth */
    size_t rebase_count, rebase_capacity;
    struct extra_row *extras;
    size_t extra_count, extra_capacity;
    struct bytes text;
    uint64_t t_first; /* where the open block begins */
    uint64_t opened_at_ns;
    size_t group_capacity;
    size_t memory_bytes;
    bool has_begun; /* t_first is known */
    bool is_closed; /* its thread is gone, its rows wait for a packed block */
};

struct block_scratch; /* blocks.c */

struct segment_file { /* flight recorder: a finished segment */
    uint32_t number;
    uint64_t size, zones, records;
    uint64_t first_ns, last_ns;
    struct trace_loss *losses;
    size_t loss_count;
};

struct trace_writer {
    char *path;
    char *partial_path; /* of the file that grows now */
    int fd;
    int reserve_fd;
    bool is_discarded; /* the output is the null device */
    uint64_t max_size_bytes;
    uint64_t begun_unix_ns; /* when its first segment was */
    char *program, *command, *host;
    uint8_t source[SOURCE_BYTES];
    uint64_t sequence;
    uint64_t now_ns;

    uint32_t segment_number; /* counts from 0 */
    uint64_t segment_start;  /* in the file */
    uint64_t end;            /* of the file */
    uint64_t allocated_to;   /* space held by fallocate */
    uint64_t size_limit;     /* RLIMIT_FSIZE */
    uint64_t reserve_bytes;
    bool can_allocate;
    bool is_full;    /* of the disk: no more rows are written */
    int full_status; /* why */
    uint64_t slot_sequence;
    uint64_t last_checkpoint, last_checkpoint_size; /* offset in the segment; 0 = none */
    uint64_t checkpoint_at_ns, checkpoint_at_bytes;
    struct index_entry *entries;
    size_t entry_count, entry_capacity, checkpoint_entry;

    int first_error;
    struct error error;

    struct writer_definitions definitions;
    struct row_buffer *rows;
    struct trace_loss *losses; /* waiting */
    size_t loss_count, loss_capacity;
    struct intern loss_keys; /* process, track and reason of those that melt ... */
    uint32_t *loss_of_key;   /* ... and which they are */
    size_t loss_of_key_capacity;
    struct trace_loss *segment_losses; /* written in this segment; kept by the flight recorder alone */
    size_t segment_loss_count, segment_loss_capacity;
    struct sink *sinks;
    size_t open_bytes;
    size_t closed_rows; /* rows of closed sinks */
    uint64_t age_scan_ns, loss_flush_ns;
    bool is_followed;    /* somebody looks at the file as it grows: what is there is written at each scan */
    uint32_t zone_limit; /* rows per block */
    uint64_t zone_count, record_count; /* in the whole file */
    struct block_builder builder;
    struct block_scratch *scratch;
    struct writer_lod lod;
    trace_open_zones_fn list_open_zones;
    void *open_zones_context;
    struct trace_open_zone *open_zones;
    size_t open_zone_count, open_zone_capacity;
    uint64_t open_zones_left_out, open_zones_lost; /* of the last list; already counted as lost */

    struct segment_file *finished; /* flight recorder */
    size_t finished_count, finished_capacity;
    uint64_t dropped_zones, dropped_records; /* not yet reported */
    uint64_t dropped_from_ns, dropped_to_ns;
    uint64_t segment_zones, segment_records;
};

/* writer.c */
void writer_fail(struct trace_writer *w, int status, const struct error *err);
void writer_free(struct trace_writer *w);
/* The last step: what is whole gets its name. */
int writer_rename(struct trace_writer *w, const char *from, struct error *err);
struct trace_writer *writer_new(const char *path);
void writer_set_max_size(struct trace_writer *w, uint64_t max_size_bytes);

/* file.c */
int file_create(struct trace_writer *w, const char *path, struct error *err);
int file_open(struct trace_writer *w, int flags, struct error *err); /* w->partial_path, w->end are set */
/* Opens a regular file, not through a symbolic link, without waiting. A descriptor, or a negative code. */
int file_open_regular(const char *path, int flags, struct error *err);
int file_begin_segment(struct trace_writer *w, uint32_t flags, struct error *err);
int file_end_segment(struct trace_writer *w, struct error *err);
/* Writes what the builder holds. 0, or an error that is kept for trace_writer_tick: the rows are lost then. */
int file_write_block(struct trace_writer *w, struct block_builder *builder, struct block_header *header);
int file_checkpoint(struct trace_writer *w, bool is_last);
bool file_is_followed(const struct trace_writer *w); /* trace_follow */
/* Whether rows may still be written; makes room (the flight recorder's next segment) when needed. */
bool file_accepts_rows(struct trace_writer *w);
/* Whether so many bytes can be written without the disk, or the limit of a file's size, being full. */
bool file_has_room(struct trace_writer *w, size_t length);
void file_close(struct trace_writer *w);

/* flight.c */
int flight_rotate(struct trace_writer *w, struct error *err);
int flight_keep_segment(struct trace_writer *w, struct error *err);
int flight_end_segment(struct trace_writer *w, struct error *err);
int flight_begin_segment(struct trace_writer *w, uint32_t flags, struct error *err);
/* Numbers of the files PATH.partial.NNN, ascending; the caller frees them. */
int flight_list_segments(const char *path, uint32_t **numbers, size_t *count, struct error *err);
/* Whether a new recording may take this name: -EBUSY when a writer lives, -EEXIST where a dead one left something. */
int flight_clear(const struct trace_writer *w, struct error *err);
void flight_release_name(const struct trace_writer *w);
char *flight_joined_path(const struct trace_writer *w);
int flight_finish(struct trace_writer *w, struct error *err);
void flight_remove_segments(const struct trace_writer *w);
char *flight_segment_path(const struct trace_writer *w, uint32_t number);

/* definitions.c */
void definitions_free(struct writer_definitions *d);
int definitions_init(struct trace_writer *w);
void definitions_need_name(struct trace_writer *w, uint32_t id);
/* The name to write instead of one that was named late; else the name itself. */
uint32_t definitions_same_name(const struct trace_writer *w, uint32_t id);
void definitions_need_track(struct trace_writer *w, uint32_t id);
void definitions_need_process(struct trace_writer *w, uint32_t id);
void definitions_need_description(struct trace_writer *w, uint32_t id);
int definitions_flush(struct trace_writer *w);
void definitions_new_segment(struct trace_writer *w);
/* The disk is full: names and descriptions that no row will use are not written any more. */
void definitions_drop_unused(struct trace_writer *w);
size_t definitions_name_count(const struct writer_definitions *d);
bool definitions_restore_name(struct trace_writer *w, uint32_t id, const struct trace_name *name);

bool name_list_begin(const struct trace_writer *w, struct name_list *list);
uint32_t name_list_add(struct trace_writer *w, struct name_list *list, uint32_t name);
void name_list_free(struct name_list *list);

static inline uint32_t name_list_index(struct trace_writer *w, struct name_list *list, uint32_t name)
{
    if (name < list->mark_capacity && list->marks[name] >> 32 == list->number)
        return (uint32_t)list->marks[name];
    return name_list_add(w, list, name);
}

/* rows.c */
void rows_free(struct trace_writer *w);
int rows_flush(struct trace_writer *w, bool only_aged);
int losses_flush(struct trace_writer *w);

/* zones.c */
void sinks_flush(struct trace_writer *w);
void sinks_flush_aged(struct trace_writer *w);
void sinks_keep_budget(struct trace_writer *w);
void sinks_free(struct trace_writer *w);

/* blocks.c: one block out of one sink, or a packed one out of several of the same clock */
int zones_write_block(struct trace_writer *w, struct sink *const *sinks, size_t count);
void block_scratch_free(struct block_scratch *scratch);

/* lod.c */
/* Nodes of one track and depth, in order of start, to be merged into nodes of `level`. */
void lod_add(struct trace_writer *w, uint32_t track, uint32_t depth, unsigned level, const struct node *nodes,
             size_t count);
/* The nodes of `count` columns of a LOD section; name is an index into the block's list. */
void lod_put_groups(struct block_builder *builder, const uint32_t *group_nodes, size_t group_count);
void lod_put_nodes(struct block_builder *builder, const struct node *nodes, const uint32_t *group_nodes,
                   size_t group_count, uint64_t min_start, uint64_t *values);
int lod_flush(struct trace_writer *w);
void lod_free(struct writer_lod *lod);
#define LOD_FLUSH_NODES 65536u /* waiting nodes at which LOD blocks are written */

#endif
