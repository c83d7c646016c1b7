/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the reader share:
 *   reader.c       open, close, the plain questions
 *   index.c        segments, checkpoints, the tail of a growing file
 *   salvage.c      the index by a scan, whatever is broken
 *   definitions.c  tables of definitions, ids of several sources made one
 *   ids.c          an id of the file, checked, to that of the trace
 *   clock.c        device ticks to host times
 *   zones.c        zone blocks;  rows.c  the other rows
 *   sources.c      lines of source files
 *   lod.c          what to draw;  lod_index.c  where it is;  cache.c  decoded blocks kept for it */
#ifndef OPSCOPE_TRACE_READER_INTERNAL_H
#define OPSCOPE_TRACE_READER_INTERNAL_H

#include "base/bytes.h"
#include "base/intern.h"
#include "trace/block.h"
#include "trace/format.h"
#include "trace/lod.h"
#include "trace/ids.h"
#include "trace/reader.h"

struct entry {                /* a block in the index */
    struct trace_block block; /* first: the API hands out pointers to it; ids are global */
    uint64_t sequence;
    uint64_t first_ns, last_ns, min_start_ns; /* the block's times as host times */
    uint32_t prefix_size;
    uint32_t source;
    uint32_t stored_track, stored_clock; /* ids of the source */
    uint8_t lod_level;
    bool is_duplicate;
    bool is_damaged;          /* found by a scan: becomes a loss */
    struct cached *cached[2]; /* by enum cache_kind */
};

/* From the ids of a source to those of the trace. */
struct id_map {
    bool is_identity; /* ids below `count` stay */
    uint32_t base;    /* else: base + place in `ids`, which is sorted */
    uint32_t *ids;
    size_t count;
    /* of names: the first one with the same texts, by place; NULL: none was defined more than once */
    uint32_t *same;
};

struct track_total {
    uint32_t track;
    uint32_t depths;
    uint32_t open_depths; /* of a track of the trace: of its open zones */
    uint64_t zones;
    uint64_t seen_ns; /* of a track of the trace with open zones: when its thread was last seen */
};

struct description {
    uint32_t id;
    uint32_t part_count;
    size_t first_part;
};

struct stored_part { /* there may be millions: half of a struct trace_part */
    uint32_t role, text;
};

struct vector { /* of anything */
    void *items;
    size_t count, capacity;
};

struct source {
    uint8_t id[SOURCE_BYTES];
    struct id_map ids[TRACE_ID_KINDS];
    /* While the file is opened: definitions as they come, with the ids of the source. */
    struct vector new_names, new_processes, new_tracks, new_clocks, new_points, new_descriptions;
    struct vector totals;
    struct vector open_zones; /* of the newest checkpoint */
    bool has_checkpoint;
    uint64_t checkpoint_sequence;
    uint64_t last_sequence; /* highest that was seen */
};

struct clock_piece { /* host = host_ns + (ticks - ticks0) * slope */
    uint64_t ticks, host_ns;
    uint64_t run_ticks, run_ns; /* slope = run_ns / run_ticks */
};

struct clock_map {
    struct clock_piece *pieces;
    size_t count, capacity;
};

struct cache;
struct lod_index;

struct trace {
    char *path;
    int fd;
    const uint8_t *memory;
    uint64_t size;
    unsigned flags;
    struct trace_info info;
    char *program, *command, *host;
    struct bytes buffer; /* what is read from the file */
    struct column_codec codec;
    struct intern texts;
    struct source *sources;
    size_t source_count, source_capacity;
    struct entry *entries;
    size_t entry_count, entry_capacity;

    struct trace_process *processes;
    struct trace_track *tracks;
    struct track_total *track_totals; /* as many as tracks */
    struct trace_name *names;
    struct trace_clock *clocks;
    size_t process_count, track_count, name_count, clock_count;
    struct clock_map *clock_maps;
    struct trace_clock_point *points;
    size_t point_count;
    struct trace_loss *losses;
    size_t loss_count, loss_capacity;
    struct trace_open_zone *open_zones;
    size_t open_zone_count;
    struct stored_part *parts; /* of all descriptions */
    size_t part_count, part_capacity;
    struct trace_part *shown_parts; /* those of one description: reader_parts */
    size_t most_parts;              /* of one */
    struct description *descriptions;
    size_t description_count;

    struct cache *cache;
    struct lod_index *lod;
    struct source_files *source_files; /* NULL: nobody has asked yet */

    /* Where the file ends as far as it is whole; for trace_writer_resume. */
    uint64_t last_segment_offset, whole_length;
    uint64_t max_size_bytes;
    uint64_t begun_unix_ns; /* when the first segment was */
    uint64_t zones_read;    /* so far; atomic */
    const bool *stop;       /* trace_set_stop */
};

/* reader.c */
bool vector_add(struct vector *vector, const void *item, size_t size);
void *vector_grow(struct vector *vector, size_t more, size_t size); /* room for more, not counted yet */
/* Bytes of the file; valid until the next call. NULL when they are not there (err is filled). */
const uint8_t *reader_bytes(struct trace *t, uint64_t offset, size_t length, struct error *err);
/* As many of them as the file has, at least one. */
const uint8_t *reader_bytes_up_to(struct trace *t, uint64_t offset, size_t *length, struct error *err);
void reader_update_size(struct trace *t);
/* Reads and checks a block of the index: the whole of it or its prefix. */
int reader_open_block(struct trace *t, const struct entry *entry, bool whole, struct block_view *view,
                      struct error *err);
int reader_damaged(const struct trace *t, uint64_t offset, const char *what, struct error *err);
/* Turns the -EINVAL or -ENOMEM of a decoder into a message. */
int reader_decode_error(const struct trace *t, const struct entry *entry, int status, struct error *err);
const struct entry *reader_entry(const struct trace *t, const struct trace_block *block);
uint32_t reader_source(struct trace *t, const uint8_t *id); /* index; UINT32_MAX: no memory */

/* index.c */
int index_load(struct trace *t, struct error *err);
int index_add_block(struct trace *t, uint64_t offset, const struct block_header *header);
/* Rows of this type happened at a time that the header says. */
bool index_has_times(uint32_t type);
int index_load_open_zones(struct trace *t, const struct block_view *view);
int index_read_segment_header(struct trace *t, uint64_t offset, const uint8_t *header, struct error *err);
int index_add_totals_of_block(struct trace *t, const struct block_view *view);
struct slot {
    uint64_t sequence, checkpoint_offset, checkpoint_size, length;
    uint32_t state;
};
bool index_read_slots(const uint8_t *header, struct slot *slot);

/* salvage.c */
int salvage_index(struct trace *t, struct error *err);

/* definitions.c */
/* Flag of trace_open for trace_writer_resume: the definitions of a source stay as they came. */
#define READER_KEEP_DEFINITIONS 0x100u
/* The parts of a description; valid until the next call. */
const struct trace_part *reader_parts(const struct trace *t, const struct description *description);
int definitions_load(struct trace *t, struct error *err);
void source_free(struct source *source);

/* ids.c: an id as it is in the file, to that of the trace. Everything that the reader gives out went through it: an id
 * below the count of its kind (trace_id_count), or TRACE_NONE for one that nothing was defined with. */
uint32_t reader_id(const struct source *source, enum trace_id_kind kind, uint64_t stored);

/* clock.c */
int clocks_prepare(struct trace *t);
void clocks_free(struct trace *t);

/* zones.c: columns of a block's groups */
struct groups {
    uint32_t *track, *depth, *count; /* the block's groups, then the carried ones */
    uint64_t *base;
    size_t normal_count, count_all;
    size_t normal_rows, carried_rows;
    struct bytes memory;
};
/* With source == NULL the ids stay as they are in the file. */
int groups_decode(struct trace *t, const struct source *source, const struct block_view *view,
                  struct groups *groups);
void groups_free(struct groups *groups);
/* Global ids of the block's name list into memory that is reused. */
int names_decode(struct trace *t, const struct entry *entry, const struct block_view *view,
                 struct bytes *memory, size_t *count);

/* sources.c */
void source_files_free(struct source_files *files);

/* cache.c: decoded blocks, kept for the next drawing */
enum cache_kind {
    CACHE_NODES = 0, /* level-of-detail nodes of a zone block or a LOD block */
    CACHE_ZONES = 1,
};
/* every ANCHOR_ROWS rows of a group the start is kept; between them gaps are summed */
#define ANCHOR_ROWS 64u
struct cached_group {
    uint32_t track, depth;
    uint32_t first, count; /* of the nodes, or of the rows */
    uint32_t first_anchor;
    bool has_nodes;
};
struct cached {
    struct cached *newer, *older; /* of the same size class */
    struct entry *entry;
    enum cache_kind kind;
    unsigned size_class;
    size_t group_count, node_count;
    struct cached_group *groups;
    struct node *nodes; /* in order of start within a group; names are indexes */
    uint64_t *reach;    /* largest end among the nodes of the group so far */
    uint64_t *anchors;  /* starts of rows */
    uint32_t *gap, *duration;
    uint16_t *row_name;
    uint32_t *names; /* what the indexes stand for */
    size_t name_count;
};
#define CACHE_CLASSES 9u /* 4 KiB to 1 MiB */
struct cache {
    struct {
        struct cached *newest, *oldest;
        struct cached *free; /* linked by `older` */
        size_t count;
    } classes[CACHE_CLASSES];
    size_t bytes;
    size_t credit;                    /* by how much it may grow now */
    struct bytes wide, narrow, names; /* scratch */
    struct groups groups;
};
/* Valid until the next call. */
int cache_get(struct trace *t, struct entry *entry, enum cache_kind kind, const struct cached **out,
              struct error *err);
void cache_grant(struct trace *t); /* a new drawing begins */
void cache_free(struct trace *t);

/* lod_index.c: which LOD blocks stand for which zone blocks */
struct lod_part { /* a LOD block */
    struct entry *entry;
    uint64_t from, to; /* sequence numbers of the blocks it stands for: [from, to) */
    uint32_t source, level, number, part_count;
    size_t first_group, group_count; /* in lod_index.groups */
};
struct lod_group {
    uint32_t track, depth;
};
struct lod_stretch { /* blocks [from, to) of a source, with the LOD blocks that stand for them */
    uint32_t source;
    uint64_t from, to;
    uint64_t levels;                                                /* bit L: level L is whole */
    size_t first_part[LOD_MAX_LEVEL + 1], parts[LOD_MAX_LEVEL + 1]; /* of each level */
    uint64_t min_ns, max_ns;                                        /* times of its zones */
    uint64_t zone_levels;                                           /* bit L: has zone blocks of level L */
    size_t first_packed, packed_count;                              /* in lod_index.packed */
};
struct lod_index {
    struct lod_part *parts;
    size_t part_count, part_capacity;
    struct lod_group *groups;
    size_t group_count, group_capacity;
    struct lod_stretch *stretches; /* the last one: blocks that no LOD block stands for */
    size_t stretch_count, stretch_capacity;
    struct zone_ref {
        struct entry *entry;
        uint32_t stretch;
    } * zones, *packed;  /* of one track: by track and time; packed: by stretch */
    size_t *track_first; /* in zones; one more than there are tracks */
    size_t zone_count, packed_count;
    struct lod_row *merged; /* scratch */
    size_t merged_capacity;
};
int lod_index_get(struct trace *t, struct lod_index **out, struct error *err);
void lod_index_free(struct trace *t);

#endif
