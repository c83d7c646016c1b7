/* SPDX-License-Identifier: Apache-2.0 */
/* Sinks: the open zone block of each track, its rows already in columns by depth.
 *
 * A group (one depth) holds zones that follow each other; a zone that began before the group's last end, or
 * whose duration or child time needs more than 32 bits, is carried with absolute times instead. A pause
 * longer than 32 bits of ticks starts a new run of the same depth (a rebase). Arrays start small and double,
 * since most threads are short; the memory of all of them is bounded by writing the largest blocks early. */
#include "trace/writer/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROWS 64u
#define OWN_BLOCK_ROWS 4096u /* fewer rows share a packed block when they are written by age */

static struct sink *sink_of(struct zone_sink *zones)
{
    return (struct sink *)(void *)zones; /* its first member */
}

static struct writer_track *track_of(struct sink *s)
{
    return &s->writer->definitions.tracks[s->zones.track];
}

static void account(struct sink *s, size_t more, size_t less)
{
    s->memory_bytes += more - less;
    s->writer->open_bytes += more - less;
}

/* --- life of a sink --- */

struct zone_sink *trace_writer_sink(struct trace_writer *w, uint32_t track)
{
    if (track >= w->definitions.track_count)
        return NULL;
    if (w->definitions.tracks[track].sink)
        return &w->definitions.tracks[track].sink->zones;
    struct sink *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->writer = w;
    s->zones.track = track;
    s->zones.limit = w->zone_limit;
    s->t_first = w->definitions.tracks[track].t_last;
    s->has_begun = s->t_first != 0;
    s->next = w->sinks;
    if (w->sinks)
        w->sinks->previous = s;
    w->sinks = s;
    w->definitions.tracks[track].sink = s;
    account(s, sizeof *s, 0);
    return &s->zones;
}

static void free_group(struct sink *s, struct zone_group *group)
{
    account(s, 0, (size_t)group->capacity * 16);
    free(group->gap);
    group->gap = group->duration = group->child = group->name = NULL;
    group->capacity = 0;
}

static void free_sink(struct sink *s)
{
    struct trace_writer *w = s->writer;
    for (uint32_t i = 0; i < s->zones.group_count; i++)
        free(s->zones.groups[i].gap);
    w->open_bytes -= s->memory_bytes;
    if (s->previous)
        s->previous->next = s->next;
    else
        w->sinks = s->next;
    if (s->next)
        s->next->previous = s->previous;
    free(s->zones.groups);
    free(s->carried);
    free(s->rebases);
    free(s->extras);
    bytes_free(&s->text);
    free(s);
}

void sinks_free(struct trace_writer *w)
{
    while (w->sinks)
        free_sink(w->sinks);
}

static uint64_t last_end_of(const struct sink *s)
{
    uint64_t last = s->t_first;
    for (uint32_t i = 0; i < s->zones.group_count; i++)
        if (s->zones.groups[i].count && s->zones.groups[i].last_end > last)
            last = s->zones.groups[i].last_end;
    for (size_t i = 0; i < s->carried_count; i++)
        if (s->carried[i].start + s->carried[i].duration > last)
            last = s->carried[i].start + s->carried[i].duration;
    return last;
}

/* After its block is written: the next one begins where this one ended. Arrays that were hardly used shrink. */
static void reset_sink(struct sink *s, bool give_back)
{
    uint64_t base = last_end_of(s);
    for (uint32_t i = 0; i < s->zones.group_count; i++) {
        struct zone_group *group = &s->zones.groups[i];
        if (give_back || (group->capacity > FIRST_ROWS && group->count < group->capacity / 4))
            free_group(s, group);
        group->count = 0;
        group->last_end = base;
    }
    s->t_first = base;
    s->zones.count = 0;
    s->zones.limit = s->writer->zone_limit;
    s->carried_count = s->rebase_count = s->extra_count = 0;
    s->opened_at_ns = 0;
    account(s, 0, s->text.length);
    bytes_clear(&s->text);
    if (s->text.capacity > 4096)
        bytes_free(&s->text);
}

/* Writes these sinks as one block; closed ones are freed, the others go on. */
static void write_sinks(struct trace_writer *w, struct sink **sinks, size_t count, bool give_back)
{
    if (count == 0)
        return;
    zones_write_block(w, sinks, count);
    for (size_t i = 0; i < count; i++) {
        if (sinks[i]->is_closed) {
            w->closed_rows -= sinks[i]->zones.count;
            free_sink(sinks[i]);
        } else {
            reset_sink(sinks[i], give_back);
        }
    }
}

/* --- adding --- */

static void lose_zone(struct sink *s, uint32_t reason, uint64_t start, uint64_t end)
{
    bool is_host = track_of(s)->track.clock == TRACE_HOST_CLOCK;
    struct trace_loss loss = {.process = track_of(s)->track.process,
                              .track = s->zones.track,
                              .reason = reason,
                              .from_ns = is_host ? start : 0,
                              .to_ns = is_host ? end : 0,
                              .zones = 1};
    trace_writer_loss(s->writer, &loss);
}

static bool reserve_groups(struct sink *s, uint32_t depth)
{
    uint32_t count = s->zones.group_count;
    size_t before = s->group_capacity;
    if (depth < count)
        return true;
    if (!array_reserve(&s->zones.groups, &s->group_capacity, (size_t)depth + 1, sizeof *s->zones.groups))
        return false;
    account(s, (s->group_capacity - before) * sizeof *s->zones.groups, 0);
    for (; count <= depth; count++)
        s->zones.groups[count] = (struct zone_group){.last_end = s->t_first};
    s->zones.group_count = count;
    return true;
}

/* The four arrays of a group are one allocation, the first of them its start. */
static bool grow_group(struct sink *s, struct zone_group *group)
{
    uint32_t capacity = group->capacity ? group->capacity * 2 : FIRST_ROWS;
    if (capacity > ZONE_BLOCK_ROWS)
        capacity = ZONE_BLOCK_ROWS;
    uint32_t *memory = malloc((size_t)capacity * 16);
    if (!memory)
        return false;
    size_t used = group->count * sizeof *memory;
    if (used) {
        memcpy(memory, group->gap, used);
        memcpy(memory + capacity, group->duration, used);
        memcpy(memory + 2 * (size_t)capacity, group->child, used);
        memcpy(memory + 3 * (size_t)capacity, group->name, used);
    }
    account(s, (size_t)capacity * 16, (size_t)group->capacity * 16);
    free(group->gap);
    group->gap = memory;
    group->duration = memory + capacity;
    group->child = memory + 2 * (size_t)capacity;
    group->name = memory + 3 * (size_t)capacity;
    group->capacity = capacity;
    return true;
}

static bool add_carried(struct sink *s, uint32_t depth, uint64_t start, uint64_t duration, uint64_t child,
                        uint32_t name)
{
    size_t before = s->carried_capacity;
    if (!array_reserve(&s->carried, &s->carried_capacity, s->carried_count + 1, sizeof *s->carried))
        return false;
    account(s, (s->carried_capacity - before) * sizeof *s->carried, 0);
    s->carried[s->carried_count] = (struct carried_row){.start = start,
                                                        .duration = duration,
                                                        .child = child,
                                                        .depth = depth,
                                                        .name = name,
                                                        .order = (uint32_t)s->carried_count};
    s->carried_count++;
    return true;
}

static bool add_rebase(struct sink *s, uint32_t depth, uint64_t start)
{
    size_t before = s->rebase_capacity;
    if (!array_reserve(&s->rebases, &s->rebase_capacity, s->rebase_count + 1, sizeof *s->rebases))
        return false;
    account(s, (s->rebase_capacity - before) * sizeof *s->rebases, 0);
    s->rebases[s->rebase_count++] =
        (struct rebase){.start = start, .depth = depth, .row = s->zones.groups[depth].count};
    return true;
}

static bool add_row(struct sink *s, uint32_t depth, uint64_t start, uint64_t end, uint64_t child,
                    uint32_t name)
{
    if (!reserve_groups(s, depth))
        return false;
    struct zone_group *group = &s->zones.groups[depth];
    uint64_t duration = end - start, gap = start - group->last_end;
    bool is_carried = start < group->last_end || ((duration | child) >> 32) != 0;
    if (is_carried) {
        if (!add_carried(s, depth, start, duration, child, name))
            return false;
    } else {
        if (group->count >= group->capacity && !grow_group(s, group))
            return false;
        if (gap >> 32) {
            if (!add_rebase(s, depth, start))
                return false;
            gap = 0;
        }
        uint32_t i = group->count++;
        group->gap[i] = (uint32_t)gap;
        group->duration[i] = (uint32_t)duration;
        group->child[i] = (uint32_t)child;
        group->name[i] = name;
        group->last_end = end;
    }
    s->zones.count++;
    s->zones.last_row_depth = depth;
    s->zones.last_row_carried = is_carried;
    return true;
}

void zone_sink_add_slow(struct zone_sink *zones, uint32_t depth, uint64_t start, uint64_t end, uint64_t child,
                        uint32_t name)
{
    struct sink *s = sink_of(zones);
    if (end < start)
        end = start;
    if (depth > TRACE_MAX_DEPTH - 1) {
        lose_zone(s, TRACE_LOSS_TOO_DEEP, start, end);
        return;
    }
    if (!s->has_begun) {
        s->has_begun = true;
        s->t_first = start;
        for (uint32_t i = 0; i < zones->group_count; i++)
            zones->groups[i].last_end = start;
    }
    if (zones->count >= zones->limit)
        write_sinks(s->writer, &s, 1, false);
    if (s->writer->open_bytes > OPEN_BLOCKS_BUDGET)
        sinks_keep_budget(s->writer);
    if (!add_row(s, depth, start, end, child, name))
        lose_zone(s, TRACE_LOSS_NO_MEMORY, start, end);
}

void zone_sink_extra(struct zone_sink *zones, const struct trace_extra *extra)
{
    struct sink *s = sink_of(zones);
    size_t before = s->extra_capacity;
    uint32_t length = extra->kind == TRACE_EXTRA_TEXT && extra->text ? extra->text_length : 0;
    if (zones->count == 0)
        return;
    if (length > TRACE_MAX_TEXT)
        length = TRACE_MAX_TEXT;
    size_t offset = s->text.length;
    bytes_append(&s->text, extra->text, length);
    if (s->text.failed ||
        !array_reserve(&s->extras, &s->extra_capacity, s->extra_count + 1, sizeof *s->extras)) {
        s->text.failed = false;
        s->text.length = offset;
        struct trace_loss loss = {.process = track_of(s)->track.process,
                                  .track = zones->track,
                                  .reason = TRACE_LOSS_NO_MEMORY,
                                  .records = 1};
        trace_writer_loss(s->writer, &loss);
        return;
    }
    account(s, (s->extra_capacity - before) * sizeof *s->extras + length, 0);
    uint32_t row = zones->last_row_carried ? (uint32_t)s->carried_count - 1
                                           : zones->groups[zones->last_row_depth].count - 1;
    s->extras[s->extra_count++] = (struct extra_row){.value = extra->value,
                                                     .row = row,
                                                     .depth = zones->last_row_depth,
                                                     .kind = extra->kind,
                                                     .text_length = length,
                                                     .text_offset = offset,
                                                     .is_carried = zones->last_row_carried};
    if (s->text.length > BLOCK_FLUSH_TEXT || s->extra_count >= BLOCK_MAX_ROWS / 2)
        zones->limit = 0; /* the next zone starts a new block */
}

/* --- writing --- */

/* Small open blocks waiting to be packed together, of one clock and 16 Ki rows at most. */
struct batch {
    struct sink *sinks[1024];
    size_t count, rows, text;
    uint32_t clock;
};

static void write_batch(struct trace_writer *w, struct batch *batch, bool give_back)
{
    write_sinks(w, batch->sinks, batch->count, give_back);
    batch->count = batch->rows = batch->text = 0;
}

static void pack(struct trace_writer *w, struct batch *batch, struct sink *s, bool give_back)
{
    uint32_t clock = track_of(s)->track.clock;
    if (batch->count && (batch->clock != clock || batch->rows + s->zones.count > w->zone_limit ||
                         batch->text + s->text.length > BLOCK_FLUSH_TEXT || batch->count == 1024))
        write_batch(w, batch, give_back);
    batch->clock = clock;
    batch->sinks[batch->count++] = s;
    batch->rows += s->zones.count;
    batch->text += s->text.length;
}

enum flush_choice { FLUSH_ALL, FLUSH_AGED, FLUSH_LARGE, FLUSH_CLOSED };

static bool is_chosen(const struct trace_writer *w, const struct sink *s, enum flush_choice choice,
                      size_t large_bytes)
{
    switch (choice) {
    case FLUSH_AGED:
        return s->opened_at_ns && (w->is_followed || w->now_ns - s->opened_at_ns >= BLOCK_AGE_NS);
    case FLUSH_LARGE:
        return s->memory_bytes >= large_bytes;
    case FLUSH_CLOSED:
        return s->is_closed;
    default:
        return true;
    }
}

static void flush_sinks(struct trace_writer *w, enum flush_choice choice, size_t large_bytes)
{
    struct batch batch = {0};
    bool give_back = choice != FLUSH_AGED;
    for (struct sink *s = w->sinks, *next; s; s = next) {
        next = s->next;
        if (s->zones.count == 0) {
            if (choice == FLUSH_LARGE && s->memory_bytes >= large_bytes)
                reset_sink(s, true);
            continue;
        }
        if (!s->opened_at_ns)
            s->opened_at_ns = w->now_ns;
        if (!is_chosen(w, s, choice, large_bytes))
            continue;
        if (s->zones.count >= OWN_BLOCK_ROWS)
            write_sinks(w, &s, 1, give_back);
        else
            pack(w, &batch, s, give_back);
    }
    write_batch(w, &batch, give_back);
}

void sinks_flush(struct trace_writer *w)
{
    flush_sinks(w, FLUSH_ALL, 0);
}

void sinks_flush_aged(struct trace_writer *w)
{
    flush_sinks(w, FLUSH_AGED, 0);
}

/* Everything of at least average size: at least half of the memory comes back. */
void sinks_keep_budget(struct trace_writer *w)
{
    size_t count = 0;
    for (const struct sink *s = w->sinks; s; s = s->next)
        count++;
    flush_sinks(w, FLUSH_LARGE, count ? w->open_bytes / count : 0);
}

/* Cuts the arrays of a closed sink to what it holds, since many may wait for their packed block. */
static void shrink_closed(struct sink *s)
{
    for (uint32_t i = 0; i < s->zones.group_count; i++) {
        struct zone_group *group = &s->zones.groups[i];
        if (group->count == 0) {
            free_group(s, group);
        } else if (group->count < group->capacity / 2) {
            struct zone_group small = {.last_end = group->last_end, .count = group->count};
            uint32_t *memory = malloc((size_t)group->count * 16);
            if (!memory)
                continue;
            size_t bytes = (size_t)group->count * 4;
            small.capacity = group->count;
            small.gap = memcpy(memory, group->gap, bytes);
            small.duration = memcpy(memory + group->count, group->duration, bytes);
            small.child = memcpy(memory + 2 * (size_t)group->count, group->child, bytes);
            small.name = memcpy(memory + 3 * (size_t)group->count, group->name, bytes);
            account(s, (size_t)small.capacity * 16, 0);
            free_group(s, group);
            *group = small;
        }
    }
}

void trace_writer_close_sink(struct trace_writer *w, struct zone_sink *zones)
{
    if (!zones)
        return;
    struct sink *s = sink_of(zones);
    track_of(s)->sink = NULL;
    if (s->has_begun)
        track_of(s)->t_last = last_end_of(s);
    if (zones->count >= OWN_BLOCK_ROWS)
        write_sinks(w, &s, 1, true);
    if (zones->count == 0) {
        free_sink(s);
        return;
    }
    s->is_closed = true;
    shrink_closed(s);
    w->closed_rows += zones->count;
    if (w->closed_rows >= w->zone_limit)
        flush_sinks(w, FLUSH_CLOSED, 0);
}
