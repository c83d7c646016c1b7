/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a .opscope file. The collector and every importer use this and nothing else.
 *
 * While it grows the file is called PATH.partial; trace_writer_finish renames it. Definitions (names,
 * tracks, processes, clocks) may come in any order but before the first row that uses them; they are
 * restated by themselves in each segment of the file. Calls that add rows do not fail: a row that cannot be
 * kept is counted and becomes a Loss record; what went wrong is returned by trace_writer_tick and
 * trace_writer_finish. */
#ifndef OPSCOPE_TRACE_WRITER_H
#define OPSCOPE_TRACE_WRITER_H

#include <string.h>

#include "base/error.h"
#include "trace/model.h"

struct trace_writer;

struct trace_writer_options {
    uint64_t max_size_bytes; /* 0 = no limit; else the flight recorder keeps the newest data within this */
    const char *program;     /* written into the file: "opscope 0.1.0" */
    const char *command;     /* what was run, for `info` */
    const char *host;
};

/* Whether a trace can be written under this name (base/output_path.h): a trace, an empty file, or none yet. -EINVAL for
 * a device or a pipe, -EEXIST for a file that is not a trace. */
int trace_path_check(const char *path, struct error *err);

/* -EEXIST where there is a trace of this name that holds records: one without any, which `what` ("recorded") says how
 * it was made, does not replace it. */
int trace_path_check_nothing(const char *path, const char *what, struct error *err);

/* PATH may be the null device: then everything is counted and thrown away. PATH.partial, where it is there, must be
 * empty, and no symbolic link: what a killed writer left is not overwritten (trace_partial_move puts it aside). */
int trace_writer_open(struct trace_writer **out, const char *path, const struct trace_writer_options *options,
                      struct error *err);

/* Continues PATH.partial of a writer that died: keeps its whole blocks, its ids and its source. */
int trace_writer_resume(struct trace_writer **out, const char *path, struct error *err);
/* Makes what a writer that died left of PATH that of another path. 1; 0 where there was nothing; -EBUSY where its
 * writer lives. */
int trace_partial_move(const char *path, const char *to, struct error *err);
/* Whether a flight recorder writes PATH, or died over it: numbered files are there. */
bool trace_partial_is_numbered(const char *path);

/* Definitions. A process or track is defined again to update it (exit status, name). */
uint32_t trace_writer_name(struct trace_writer *w, const char *name, const char *function, const char *file,
                           uint32_t line, uint32_t colour);
/* A name whose texts are not known yet: rows may use its id at once. Blocks that are written before
 * trace_writer_set_name have a "?", which is defined once more then; later ones use the id that it returns, that of a
 * name with these texts. */
uint32_t trace_writer_name_later(struct trace_writer *w);
uint32_t trace_writer_set_name(struct trace_writer *w, const struct trace_name *name);
uint32_t trace_writer_process(struct trace_writer *w,
                              const struct trace_process *process); /* id TRACE_NONE = new */
uint32_t trace_writer_track(struct trace_writer *w, const struct trace_track *track); /* likewise */
uint32_t trace_writer_clock(struct trace_writer *w, const struct trace_clock *clock);
void trace_writer_clock_point(struct trace_writer *w, const struct trace_clock_point *point);
uint32_t trace_writer_description(struct trace_writer *w, const struct trace_part *parts, size_t count);

/* Process and track by the key they were defined with (after trace_writer_resume); TRACE_NONE when unknown. */
uint32_t trace_writer_find_process(const struct trace_writer *w, uint64_t key);
uint32_t trace_writer_find_track(const struct trace_writer *w, uint64_t key);
const struct trace_process *trace_writer_get_process(const struct trace_writer *w, uint32_t id);
const struct trace_track *trace_writer_get_track(const struct trace_writer *w, uint32_t id);
/* Zones that this file holds of a track, those of the resumed part included. */
uint64_t trace_writer_track_zones(const struct trace_writer *w, uint32_t track);

/* What was defined so far: names by their id (ids begin at 0), texts of parts of descriptions of one role. */
size_t trace_writer_name_count(const struct trace_writer *w);
struct trace_name trace_writer_get_name(const struct trace_writer *w, uint32_t id);
typedef void (*trace_part_fn)(void *context, const char *text, size_t length);
void trace_writer_each_part(const struct trace_writer *w, uint32_t role, trace_part_fn each, void *context);

/* Lines of source files: one block, after all rows, which are written now. At most SOURCE_BLOCK_TEXT bytes of text.
 * Returns the bytes that it takes in the file; 0: there is no room or no memory for it, or nothing to write. */
size_t trace_writer_sources(struct trace_writer *w, const struct trace_source_file *files, size_t count);
/* How many bytes of lines there should be at most: a flight recorder has little room. */
size_t trace_writer_source_room(const struct trace_writer *w);
uint64_t trace_writer_begun_unix_ns(const struct trace_writer *w); /* when the recording was */

/* Rows other than zones; texts are copied. */
void trace_writer_point(struct trace_writer *w, const struct trace_point *point);
void trace_writer_counter(struct trace_writer *w, const struct trace_counter *counter);
void trace_writer_memory(struct trace_writer *w, const struct trace_memory *memory);
void trace_writer_op(struct trace_writer *w, const struct trace_op *op);
void trace_writer_run(struct trace_writer *w, const struct trace_run *run);
void trace_writer_loss(struct trace_writer *w, const struct trace_loss *loss);
void trace_writer_sample(struct trace_writer *w, const struct trace_sample *sample);
void trace_writer_lock(struct trace_writer *w, const struct trace_lock *lock);

/* --- zones: the hot path, 40 M per second ---
 *
 * One sink a track. Rows go straight into the column arrays of their depth, so no sort is needed when the
 * block is written. Within a track zones come in the order of their ends (device tracks: order does not
 * matter, but what comes late costs more bytes). 32-bit columns hold the gap to the previous zone's end at
 * this depth, the duration and the child time; a zone that does not fit them, or that began before the block
 * did, becomes a carried row with absolute times (zone_sink_add_slow). */
struct zone_group {
    uint64_t last_end;
    uint32_t count, capacity;
    uint32_t *gap, *duration, *child, *name;
};

struct zone_sink {
    struct zone_group *groups; /* by depth */
    uint32_t group_count;      /* depths that have arrays */
    uint32_t count;            /* rows in the open block, carried ones included */
    uint32_t limit;            /* rows at which the block is written */
    uint32_t track;
    uint32_t last_row_depth; /* where the newest row went, for zone_sink_extra */
    bool last_row_carried;
};

struct zone_sink *trace_writer_sink(struct trace_writer *w, uint32_t track); /* NULL: no memory */
void zone_sink_add_slow(struct zone_sink *sink, uint32_t depth, uint64_t start, uint64_t end, uint64_t child,
                        uint32_t name);
/* Attaches text, a value, a colour or an op call to the zone that was added last. */
void zone_sink_extra(struct zone_sink *sink, const struct trace_extra *extra);
/* The thread is gone: writes what is open (packed with other small tracks) and frees the sink. */
void trace_writer_close_sink(struct trace_writer *w, struct zone_sink *sink);

/* False, and nothing is changed: it takes more than a place in the arrays (zone_sink_add_slow). */
static inline bool zone_sink_try_add(struct zone_sink *sink, uint32_t depth, uint64_t start, uint64_t end,
                                     uint64_t child, uint32_t name)
{
    if (__builtin_expect(depth >= sink->group_count || sink->count >= sink->limit, 0))
        return false;
    struct zone_group *group = &sink->groups[depth];
    uint64_t gap = start - group->last_end; /* wraps to something large when the zone began too early */
    uint64_t duration = end - start;
    uint32_t i = group->count;
    if (__builtin_expect(((gap | duration | child) >> 32) != 0 || i >= group->capacity, 0))
        return false;
    group->gap[i] = (uint32_t)gap;
    group->duration[i] = (uint32_t)duration;
    group->child[i] = (uint32_t)child;
    group->name[i] = name;
    group->count = i + 1;
    group->last_end = end;
    sink->count++;
    sink->last_row_depth = depth;
    sink->last_row_carried = false;
    return true;
}

static inline void zone_sink_add(struct zone_sink *sink, uint32_t depth, uint64_t start, uint64_t end,
                                 uint64_t child, uint32_t name)
{
    if (__builtin_expect(!zone_sink_try_add(sink, depth, start, end, child, name), 0))
        zone_sink_add_slow(sink, depth, start, end, child, name);
}

/* Zones of one depth without children, one after the other: what zone_sink_add looks up for each of them is looked up
 * once. begin, then add while that returns true, then end, with no other call on this sink in between; a zone that was
 * refused goes to zone_sink_add. */
struct zone_run {
    uint32_t *gap, *duration, *name;
    uint64_t last_end;
    uint32_t count, room;
};

static inline struct zone_run zone_run_begin(const struct zone_sink *sink, uint32_t depth)
{
    struct zone_run run = {0};
    if (depth >= sink->group_count || sink->count >= sink->limit)
        return run;
    const struct zone_group *group = &sink->groups[depth];
    uint32_t room = sink->limit - sink->count, space = group->capacity - group->count;
    run.room = room < space ? room : space;
    run.last_end = group->last_end;
    if (run.room) {
        run.gap = group->gap + group->count;
        run.duration = group->duration + group->count;
        run.name = group->name + group->count;
    }
    return run;
}

static inline bool zone_run_add(struct zone_run *run, uint64_t start, uint64_t end, uint32_t name)
{
    uint64_t gap = start - run->last_end, duration = end - start;
    uint32_t i = run->count;
    if (__builtin_expect((gap | duration) >> 32 != 0 || i >= run->room, 0))
        return false;
    run->gap[i] = (uint32_t)gap;
    run->duration[i] = (uint32_t)duration;
    run->name[i] = name;
    run->last_end = end;
    run->count = i + 1;
    return true;
}

static inline void zone_run_end(struct zone_sink *sink, uint32_t depth, const struct zone_run *run)
{
    if (!run->count)
        return;
    struct zone_group *group = &sink->groups[depth];
    memset(group->child + group->count, 0, run->count * sizeof *group->child);
    group->count += run->count;
    group->last_end = run->last_end;
    sink->count += run->count;
    sink->last_row_depth = depth;
    sink->last_row_carried = false;
}

/* The stack of open zones, asked for at each checkpoint and at the end. The callback calls
 * trace_writer_open_zone for each of them. */
typedef void (*trace_open_zones_fn)(void *context, struct trace_writer *w);
void trace_writer_set_open_zones(struct trace_writer *w, trace_open_zones_fn list, void *context);
void trace_writer_open_zone(struct trace_writer *w, const struct trace_open_zone *zone);

/* Call every so often (each poll): writes blocks that are 2 s old, keeps open blocks within 96 MiB, writes a
 * checkpoint every 64 MiB or 10 s. Returns the first error since the last call (a full disk: -ENOSPC). */
int trace_writer_tick(struct trace_writer *w, uint64_t now_ns, struct error *err);

uint64_t trace_writer_zone_count(const struct trace_writer *w);
uint64_t trace_writer_size_bytes(const struct trace_writer *w);

/* Writes everything, the final checkpoint and the trailer, renames PATH.partial to PATH. Frees the writer,
 * also on failure. A trace of nothing does not replace one that holds something: -EEXIST, and that one is kept. */
int trace_writer_finish(struct trace_writer *w, struct error *err);
/* Frees without finishing; PATH.partial stays as it is. */
void trace_writer_abandon(struct trace_writer *w);
/* The same, and removes what was written. */
void trace_writer_discard(struct trace_writer *w);

#endif
