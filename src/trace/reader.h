/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a .opscope file: open, next block, decode columns, level-of-detail rows of a window. Everything else
 * is analysis. The reader trusts nothing in the file: every count, offset and id is checked. */
#ifndef OPSCOPE_TRACE_READER_H
#define OPSCOPE_TRACE_READER_H

#include "base/error.h"
#include "trace/model.h"

struct trace;

enum trace_open_flag {
    TRACE_OPEN_SALVAGE = 1, /* scan for whole blocks and read what is there, whatever else is broken */
};

/* -ENOENT and the like: the file cannot be opened; -EINVAL: not a trace, damaged, or from a newer opscope
 * (the message says which, and names --salvage where that would help). A growing PATH.partial can be opened. */
int trace_open(struct trace **out, const char *path, unsigned flags, struct error *err);
int trace_open_memory(struct trace **out, const void *data, size_t length, unsigned flags, struct error *err);
/* The same file, or memory, a second time, also when its name is gone or another's: a trace is for one thread at a
 * time. `flags` are added to those of the first. */
int trace_open_again(struct trace **out, const struct trace *of, unsigned flags, struct error *err);
/* Asks the writer of a growing trace to write what it has at once, not when it is 2 s old, as long as the trace is open
 * or until it is taken back. Where the file system has no locks, nothing happens. */
void trace_follow(const struct trace *t, bool is_wanted);
void trace_close(struct trace *t);

struct trace_info {
    uint32_t format_version;
    uint32_t segment_count;
    bool is_complete;  /* finished by its writer */
    bool is_salvaged;  /* index rebuilt by a scan */
    bool is_recovered; /* a part was written by `opscope recover` */
    uint64_t damaged_blocks;
    uint64_t size_bytes;
    uint64_t start_ns, end_ns; /* host times of all rows and open zones; 0, 0 when there are none */
    uint64_t zones, points, counters, memory_events, ops, runs, samples, locks;
    uint64_t lost_zones, lost_records; /* sums of the Loss records, LATE_ENDS and DROPPED_OLD left out */
    uint64_t zone_blocks, zone_bytes;
    const char *program, *command, *host;
};
const struct trace_info *trace_get_info(const struct trace *t);

/* Tables of definitions, read when the trace is opened. Pointers stay valid until trace_close. The i-th entry
 * has id i, so that an id from a row is an index; the functions return NULL past the end. */
size_t trace_process_count(const struct trace *t);
const struct trace_process *trace_get_process(const struct trace *t, uint32_t id);
size_t trace_track_count(const struct trace *t);
const struct trace_track *trace_get_track(const struct trace *t, uint32_t id);
uint64_t trace_track_zone_count(const struct trace *t, uint32_t track);
uint32_t trace_track_depth_count(const struct trace *t, uint32_t track); /* deepest zone that ended + 1 */
uint32_t trace_track_all_depths(const struct trace *t, uint32_t track);  /* the same, open zones included */
/* When what is open on this track (zones, ops) is taken to end: when its thread was last seen, as trace_open_zone.seen;
 * the end of the trace for a track without open zones. */
uint64_t trace_track_seen_ns(const struct trace *t, uint32_t track);
size_t trace_name_count(const struct trace *t);
const struct trace_name *trace_get_name(const struct trace *t,
                                        uint32_t id); /* never NULL: "?" for a bad id */
size_t trace_clock_count(const struct trace *t);
const struct trace_clock *trace_get_clock(const struct trace *t, uint32_t id);
const struct trace_clock_point *trace_get_clock_points(const struct trace *t, size_t *count);
const struct trace_loss *trace_get_losses(const struct trace *t, size_t *count);
const struct trace_open_zone *trace_get_open_zones(const struct trace *t, size_t *count);
/* The array, not its texts, is valid until the next call. */
const struct trace_part *trace_get_description(const struct trace *t, uint32_t id, size_t *count);
/* Frees them, for those who have read the ops and keep the trace: there may be as many as ops. */
void trace_forget_descriptions(struct trace *t);

/* Source files of which the trace has lines, or knows why it has none: decoded when one is first asked for. A damaged
 * block is as if it were not there. Pointers stay valid until trace_close. NULL: no such file, or no memory. */
const struct trace_source_file *trace_find_source(struct trace *t, const char *file);
size_t trace_source_count(struct trace *t);
const struct trace_source_file *trace_get_source(struct trace *t, size_t index); /* NULL past the end */

/* Device ticks to host ns with the clock's points (piecewise linear, extrapolated at both ends). */
uint64_t trace_host_ns(const struct trace *t, uint32_t clock, uint64_t ticks);
/* The same by the clock of a track; the ticks themselves where there is no such track. */
uint64_t trace_track_host_ns(const struct trace *t, uint32_t track, uint64_t ticks);

/* --- blocks --- */
enum trace_block_type {
    TRACE_BLOCK_ZONES = 1,
    TRACE_BLOCK_LOD = 2,
    TRACE_BLOCK_DEFINITIONS = 3,
    TRACE_BLOCK_POINTS = 4,
    TRACE_BLOCK_COUNTERS = 5,
    TRACE_BLOCK_MEMORY = 6,
    TRACE_BLOCK_OPS = 7,
    TRACE_BLOCK_RUNS = 8,
    TRACE_BLOCK_LOSSES = 9,
    TRACE_BLOCK_SAMPLES = 10,
    TRACE_BLOCK_CHECKPOINT = 11,
    TRACE_BLOCK_LOCKS = 12,
    TRACE_BLOCK_SOURCES = 13,
};

/* Is it of what trace_decode_rows decodes? */
static inline bool trace_block_has_rows(uint32_t type)
{
    return (type >= TRACE_BLOCK_POINTS && type <= TRACE_BLOCK_SAMPLES && type != TRACE_BLOCK_LOSSES) ||
           type == TRACE_BLOCK_LOCKS;
}

struct trace_block { /* an entry of the index */
    uint32_t type;   /* enum trace_block_type */
    uint32_t track;  /* TRACE_NONE: rows of several tracks */
    uint32_t clock;
    uint32_t count; /* rows */
    uint64_t offset, size;
    uint64_t t_first, t_last; /* ticks of `clock`: when its zones ended, when its rows happened */
    uint64_t min_start;       /* earliest start among its zones, carried ones included */
};

struct trace_block_filter {      /* zero-initialised: every block */
    uint32_t type;               /* 0 = any */
    uint32_t track_plus_1;       /* 0 = any; blocks of several tracks always match */
    uint64_t since_ns, until_ns; /* host times; until 0 = no limit */
};

/* The next block that may hold matching rows; *position starts at 0. NULL at the end. */
const struct trace_block *trace_next_block(const struct trace *t, const struct trace_block_filter *filter,
                                           size_t *position);

enum trace_column {
    TRACE_COLUMN_START = 1,
    TRACE_COLUMN_DURATION = 2,
    TRACE_COLUMN_CHILD = 4,
    TRACE_COLUMN_NAME = 8,
    TRACE_COLUMN_EXTRA = 16,
    TRACE_COLUMN_ALL = 31,
    TRACE_COLUMN_RAW_TICKS = 32, /* leave device times in ticks (default: host ns) */
};

struct zone_rows_group { /* rows [first, first + count) are of one track and depth, in order of start */
    uint32_t track, depth, first, count;
    bool is_carried; /* may have begun before the block's t_first */
};

struct zone_rows { /* zero-initialise once, reuse for many blocks, free at the end */
    size_t count;
    uint64_t *start, *duration, *child; /* NULL when not asked for */
    uint32_t *name;
    size_t group_count;
    struct zone_rows_group *groups;
    size_t extra_count;
    struct trace_extra *extras; /* in order of row; texts are valid until the next decode */
    struct zone_rows_memory *memory;
};

int trace_decode_zones(struct trace *t, const struct trace_block *block, unsigned columns,
                       struct zone_rows *rows, struct error *err);
void zone_rows_free(struct zone_rows *rows);
/* How many zones were decoded so far, for those who watch: any thread may ask while another one reads. */
uint64_t trace_zones_read(const struct trace *t);
/* Reading blocks fails with -ECANCELED while *stop, which any thread may set, is true; NULL: nothing stops it. */
void trace_set_stop(struct trace *t, const bool *stop);
/* The extras of a row, which are stored in the order of rows: how many, and the first. */
size_t zone_rows_find_extras(const struct zone_rows *rows, size_t row, const struct trace_extra **first);

/* The other row types: an array of structs, valid until the next decode with the same rows. */
struct trace_rows { /* zero-initialise once, reuse, free at the end */
    size_t count;
    const uint64_t *ticks; /* when each row happened, in ticks of its track's clock */
    const struct trace_point *points;
    const struct trace_counter *counters;
    const struct trace_memory *memory;
    const struct trace_op *ops;
    const struct trace_run *runs;
    const struct trace_sample *samples;
    const struct trace_lock *locks;
    struct trace_rows_memory *storage;
};
int trace_decode_rows(struct trace *t, const struct trace_block *block, struct trace_rows *rows,
                      struct error *err);
void trace_rows_free(struct trace_rows *rows);

/* --- level of detail --- */
struct lod_row {
    uint64_t start_ns, end_ns;
    uint64_t busy_ns;    /* of zones inside; = end - start for a single zone */
    uint64_t longest_ns; /* the longest zone inside */
    uint32_t name;       /* of the longest */
    uint32_t count;      /* zones summarised; 1 = this is a zone */
};

struct lod_rows { /* zero-initialise once, reuse, free at the end */
    struct lod_row *rows;
    size_t count, capacity;
};

/* The k of a window: zones shorter than 2^k ns (one to two pixels) that begin in the same multiple of 2^k are summed
 * up. At most 63. */
unsigned trace_lod_tile(uint64_t since_ns, uint64_t until_ns, uint32_t pixels);
/* What to draw of one depth of a track between two host times on `pixels` pixels: zones where they are few,
 * summaries where they are many. In order of start. Blocks decoded for it are kept in a small cache. */
int trace_lod(struct trace *t, uint32_t track, uint32_t depth, uint64_t since_ns, uint64_t until_ns,
              uint32_t pixels, struct lod_rows *out, struct error *err);
void lod_rows_free(struct lod_rows *rows);

#endif
