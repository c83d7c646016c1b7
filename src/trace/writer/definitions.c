/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions: everything that rows refer to by id. They are kept in memory for the whole recording, written
 * in DEFINITIONS blocks in front of the block that needs them, and restated in each segment that uses them.
 * A definition that is new or changed is queued at once; one that an earlier segment holds is queued when a
 * row of this segment refers to it. */
#include "trace/writer/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROWS_A_BLOCK 65536u
#define MAX_PROCESSES_A_BLOCK 64u
#define MAX_TRACKS_A_BLOCK 4096u
#define MAX_NAME_BYTES 65536u /* of a name, function, file, command or host; the rest is cut off */
#define MAX_TRACK_NAME_BYTES 4096u
#define MAX_DESCRIPTION_BYTES (4u << 20) /* parts beyond this are left out */

/* --- queues --- */

static void queue(struct trace_writer *w, struct id_list *list, uint32_t id)
{
    if (!array_reserve(&list->ids, &list->capacity, list->count + 1, sizeof *list->ids)) {
        writer_fail(w, -ENOMEM, NULL);
        return;
    }
    list->ids[list->count++] = id;
}

void definitions_need_name(struct trace_writer *w, uint32_t id)
{
    struct writer_definitions *d = &w->definitions;
    if (id >= d->name_keys.count || d->names[id].segment == w->segment_number + 1)
        return;
    d->names[id].segment = w->segment_number + 1;
    queue(w, &d->new_names, id);
}

void definitions_need_process(struct trace_writer *w, uint32_t id)
{
    struct writer_definitions *d = &w->definitions;
    while (id < d->process_count && d->processes[id].segment != w->segment_number + 1) {
        d->processes[id].segment = w->segment_number + 1;
        queue(w, &d->new_processes, id);
        id = d->processes[id].process.parent;
    }
}

void definitions_need_track(struct trace_writer *w, uint32_t id)
{
    struct writer_definitions *d = &w->definitions;
    while (id < d->track_count && d->tracks[id].segment != w->segment_number + 1) {
        d->tracks[id].segment = w->segment_number + 1;
        queue(w, &d->new_tracks, id);
        definitions_need_process(w, d->tracks[id].track.process);
        id = d->tracks[id].track.parent;
    }
}

void definitions_need_description(struct trace_writer *w, uint32_t id)
{
    struct writer_definitions *d = &w->definitions;
    if (id >= d->descriptions.count || d->description_segment[id] == w->segment_number + 1)
        return;
    d->description_segment[id] = w->segment_number + 1;
    queue(w, &d->new_descriptions, id);
}

void definitions_drop_unused(struct trace_writer *w)
{
    struct writer_definitions *d = &w->definitions;
    for (size_t i = 0; i < d->new_names.count; i++)
        d->names[d->new_names.ids[i]].segment = 0;
    for (size_t i = 0; i < d->new_descriptions.count; i++)
        d->description_segment[d->new_descriptions.ids[i]] = 0;
    d->new_names.count = d->new_descriptions.count = 0;
}

/* Appends the two newest points of a clock once more, so that the next segment has them. */
static void repeat_points(struct trace_writer *w, uint32_t clock)
{
    struct writer_definitions *d = &w->definitions;
    struct trace_clock_point newest[2];
    unsigned found = 0;
    for (size_t i = d->points_written; i > 0 && found < 2; i--)
        if (d->points[i - 1].clock == clock)
            newest[found++] = d->points[i - 1];
    while (found > 0)
        trace_writer_clock_point(w, &newest[--found]);
}

/* A new segment restates what lives: clocks with their newest points, processes that run, tracks that have a
 * sink. The rest follows when a block needs it. */
void definitions_new_segment(struct trace_writer *w)
{
    struct writer_definitions *d = &w->definitions;
    for (uint32_t i = 0; i < d->clock_count; i++) {
        d->clocks[i].segment = w->segment_number + 1;
        queue(w, &d->new_clocks, i);
        repeat_points(w, i);
    }
    for (uint32_t i = 0; i < d->process_count; i++)
        if (d->processes[i].process.end_ns == 0 || d->processes[i].process.flags & TRACE_PROCESS_ROOT)
            definitions_need_process(w, i);
    for (uint32_t i = 0; i < d->track_count; i++)
        if (d->tracks[i].sink && !d->tracks[i].sink->is_closed)
            definitions_need_track(w, i);
}

/* --- defining --- */

static const char *keep_text(struct writer_definitions *d, const char *text, size_t limit)
{
    return text ? intern_text(&d->texts, intern_add(&d->texts, text, strnlen(text, limit))) : "";
}

static void append_key_text(struct bytes *key, const char *text)
{
    bytes_append(key, text, strnlen(text, MAX_NAME_BYTES));
    bytes_append_u8(key, 0);
}

size_t definitions_name_count(const struct writer_definitions *d)
{
    return d->name_keys.count;
}

/* The texts with their NULs, then line and colour: interned as one key, its id is the name's id. */
static uint32_t intern_name(struct writer_definitions *d, const char *name, const char *function,
                            const char *file, uint32_t line, uint32_t colour)
{
    struct bytes *key = &d->key;
    bytes_clear(key);
    append_key_text(key, name);
    append_key_text(key, function);
    append_key_text(key, file);
    bytes_append_u32(key, line);
    bytes_append_u32(key, colour);
    return key->failed ? INTERN_NONE : intern_add(&d->name_keys, key->data, key->length);
}

/* The id is one that intern_name has just given, so its key has all three texts. */
static void fill_name(struct writer_definitions *d, uint32_t id, uint32_t line, uint32_t colour)
{
    const char *name = d->name_keys.entries[id].data;
    const char *function = name + strlen(name) + 1;
    d->names[id] = (struct writer_name){.name = name,
                                        .function = function,
                                        .file = function + strlen(function) + 1,
                                        .line = line,
                                        .colour = colour};
}

uint32_t trace_writer_name(struct trace_writer *w, const char *name, const char *function, const char *file,
                           uint32_t line, uint32_t colour)
{
    struct writer_definitions *d = &w->definitions;
    size_t known = d->name_keys.count;
    if (!array_reserve(&d->names, &d->name_capacity, known + 1, sizeof *d->names)) {
        writer_fail(w, -ENOMEM, NULL);
        return TRACE_NONE;
    }
    uint32_t id = intern_name(d, name ? name : "", function ? function : "", file ? file : "", line, colour);
    if (id == INTERN_NONE) {
        writer_fail(w, -ENOMEM, NULL);
        return TRACE_NONE;
    }
    if (id == known) {
        fill_name(d, id, line, colour);
        if (!w->is_full)
            definitions_need_name(w, id);
    }
    return id;
}

/* A name of its own id whatever its texts are: its key is one that no name has. */
static uint32_t reserve_name(struct writer_definitions *d)
{
    uint32_t id = (uint32_t)d->name_keys.count;
    if (!array_reserve(&d->names, &d->name_capacity, (size_t)id + 1, sizeof *d->names) ||
        intern_name(d, "?", "", "", id, UINT32_MAX) != id)
        return TRACE_NONE;
    fill_name(d, id, 0, 0);
    return id;
}

static void replace_name(struct writer_definitions *d, uint32_t id, const struct trace_name *name)
{
    d->names[id] = (struct writer_name){.name = keep_text(d, name->name, MAX_NAME_BYTES),
                                        .function = keep_text(d, name->function, MAX_NAME_BYTES),
                                        .file = keep_text(d, name->file, MAX_NAME_BYTES),
                                        .line = name->line,
                                        .colour = name->colour};
}

uint32_t trace_writer_name_later(struct trace_writer *w)
{
    uint32_t id = reserve_name(&w->definitions);
    if (id == TRACE_NONE)
        writer_fail(w, -ENOMEM, NULL);
    return id;
}

uint32_t trace_writer_set_name(struct trace_writer *w, const struct trace_name *name)
{
    struct writer_definitions *d = &w->definitions;
    uint32_t same = trace_writer_name(w, name->name, name->function, name->file, name->line, name->colour);
    if (name->id >= d->name_keys.count || same == TRACE_NONE || same == name->id)
        return name->id;
    bool is_in_file = d->names[name->id].segment == w->segment_number + 1;
    replace_name(d, name->id, name);
    d->names[name->id].same = same + 1;
    if (is_in_file)
        definitions_need_name(w, name->id);
    return same;
}

uint32_t definitions_same_name(const struct trace_writer *w, uint32_t id)
{
    const struct writer_definitions *d = &w->definitions;
    return id < d->name_keys.count && d->names[id].same ? d->names[id].same - 1 : id;
}

/* Gives a name of a resumed file its old id; ids that the file does not define become names nobody uses. */
bool definitions_restore_name(struct trace_writer *w, uint32_t id, const struct trace_name *name)
{
    struct writer_definitions *d = &w->definitions;
    if (!array_reserve(&d->names, &d->name_capacity, (size_t)id + 1, sizeof *d->names))
        return false;
    while (d->name_keys.count < id) {
        if (reserve_name(d) == TRACE_NONE)
            return false;
    }
    uint32_t known = intern_name(d, name->name, name->function, name->file, name->line, name->colour);
    if (known == id) {
        fill_name(d, id, name->line, name->colour);
        return true;
    }
    if (known == INTERN_NONE || reserve_name(d) != id)
        return false;
    replace_name(d, id, name); /* another id has the same texts: one of them was named late */
    return true;
}

uint32_t trace_writer_process(struct trace_writer *w, const struct trace_process *process)
{
    struct writer_definitions *d = &w->definitions;
    uint32_t id = process->id;
    if (id >= d->process_count) {
        id = (uint32_t)d->process_count;
        if (!array_reserve(&d->processes, &d->process_capacity, d->process_count + 1, sizeof *d->processes)) {
            writer_fail(w, -ENOMEM, NULL);
            return TRACE_NONE;
        }
        d->process_count++;
    }
    d->processes[id] = (struct writer_process){.process = *process};
    d->processes[id].process.id = id;
    d->processes[id].process.command = keep_text(d, process->command, MAX_NAME_BYTES);
    d->processes[id].process.host = keep_text(d, process->host, MAX_NAME_BYTES);
    if (!map_put(&d->process_keys, process->key, id))
        writer_fail(w, -ENOMEM, NULL);
    definitions_need_process(w, id);
    return id;
}

uint32_t trace_writer_track(struct trace_writer *w, const struct trace_track *track)
{
    struct writer_definitions *d = &w->definitions;
    uint32_t id = track->id;
    if (id >= d->track_count) {
        id = (uint32_t)d->track_count;
        if (!array_reserve(&d->tracks, &d->track_capacity, d->track_count + 1, sizeof *d->tracks)) {
            writer_fail(w, -ENOMEM, NULL);
            return TRACE_NONE;
        }
        d->tracks[d->track_count++] = (struct writer_track){0};
    }
    struct writer_track *kept = &d->tracks[id];
    kept->track = *track;
    kept->track.id = id;
    kept->track.name = keep_text(d, track->name, MAX_TRACK_NAME_BYTES);
    kept->track.architecture = keep_text(d, track->architecture, MAX_TRACK_NAME_BYTES);
    if (kept->track.clock >= d->clock_count)
        kept->track.clock = TRACE_HOST_CLOCK;
    kept->segment = 0;
    if (!map_put(&d->track_keys, track->key, id))
        writer_fail(w, -ENOMEM, NULL);
    definitions_need_track(w, id);
    return id;
}

uint32_t trace_writer_clock(struct trace_writer *w, const struct trace_clock *clock)
{
    struct writer_definitions *d = &w->definitions;
    uint32_t id = clock->id;
    if (id >= d->clock_count) {
        id = (uint32_t)d->clock_count;
        if (!array_reserve(&d->clocks, &d->clock_capacity, d->clock_count + 1, sizeof *d->clocks)) {
            writer_fail(w, -ENOMEM, NULL);
            return TRACE_NONE;
        }
        d->clock_count++;
    }
    d->clocks[id].clock = *clock;
    d->clocks[id].clock.id = id;
    d->clocks[id].clock.name = keep_text(d, clock->name, MAX_TRACK_NAME_BYTES);
    d->clocks[id].segment = w->segment_number + 1;
    queue(w, &d->new_clocks, id);
    return id;
}

void trace_writer_clock_point(struct trace_writer *w, const struct trace_clock_point *point)
{
    struct writer_definitions *d = &w->definitions;
    if (!array_reserve(&d->points, &d->point_capacity, d->point_count + 1, sizeof *d->points)) {
        writer_fail(w, -ENOMEM, NULL);
        return;
    }
    d->points[d->point_count++] = *point;
}

uint32_t trace_writer_description(struct trace_writer *w, const struct trace_part *parts, size_t count)
{
    struct writer_definitions *d = &w->definitions;
    size_t known = d->descriptions.count;
    bytes_clear(&d->key);
    for (size_t i = 0; i < count && d->key.length < MAX_DESCRIPTION_BYTES; i++) {
        struct slice text = parts[i].text;
        size_t limit = text.length < TRACE_MAX_TEXT ? text.length : TRACE_MAX_TEXT;
        size_t length = limit ? strnlen(text.data, limit) : 0; /* a reader takes it up to a NUL */
        bytes_append_u32(&d->key, parts[i].role);
        bytes_append_u32(&d->key, (uint32_t)length);
        bytes_append(&d->key, text.data, length);
    }
    if (d->key.failed || !array_reserve(&d->description_segment, &d->description_capacity, known + 1,
                                        sizeof *d->description_segment)) {
        writer_fail(w, -ENOMEM, NULL);
        return TRACE_NONE;
    }
    uint32_t id = intern_add(&d->descriptions, d->key.length ? (const char *)d->key.data : "", d->key.length);
    if (id == known) {
        d->description_segment[id] = 0;
        if (!w->is_full)
            definitions_need_description(w, id);
    }
    return id;
}

/* --- finding --- */

uint32_t trace_writer_find_process(const struct trace_writer *w, uint64_t key)
{
    return map_get(&w->definitions.process_keys, key);
}

uint32_t trace_writer_find_track(const struct trace_writer *w, uint64_t key)
{
    return map_get(&w->definitions.track_keys, key);
}

const struct trace_process *trace_writer_get_process(const struct trace_writer *w, uint32_t id)
{
    return id < w->definitions.process_count ? &w->definitions.processes[id].process : NULL;
}

const struct trace_track *trace_writer_get_track(const struct trace_writer *w, uint32_t id)
{
    return id < w->definitions.track_count ? &w->definitions.tracks[id].track : NULL;
}

uint64_t trace_writer_track_zones(const struct trace_writer *w, uint32_t track)
{
    return track < w->definitions.track_count ? w->definitions.tracks[track].zones : 0;
}

/* --- writing --- */

#define PUT_COLUMN(id, count, expression)                                                                    \
    do {                                                                                                     \
        for (size_t i = 0; i < (count); i++)                                                                 \
            values[i] = (uint64_t)(expression);                                                              \
        block_add_u64(&d->builder, (id), values, (count));                                                   \
    } while (0)

static void put_names(struct writer_definitions *d, const uint32_t *ids, size_t count, uint64_t *values,
                      struct bytes *text)
{
    PUT_COLUMN(NAME_ID, count, ids[i]);
    PUT_COLUMN(NAME_LINE, count, d->names[ids[i]].line);
    PUT_COLUMN(NAME_COLOUR, count, d->names[ids[i]].colour);
    for (size_t i = 0; i < count; i++) {
        const struct writer_name *name = &d->names[ids[i]];
        const char *const parts[3] = {name->name, name->function, name->file};
        for (size_t k = 0; k < 3; k++) {
            values[3 * i + k] = strlen(parts[k]);
            bytes_append_text(text, parts[k]);
        }
    }
    block_add_u64(&d->builder, NAME_LENGTH, values, 3 * count);
    block_add_bytes(&d->builder, NAME_TEXT, text->data, text->length);
}

static void put_processes(struct writer_definitions *d, const uint32_t *ids, size_t count, uint64_t *values,
                          struct bytes *text)
{
    const struct writer_process *all = d->processes;
    PUT_COLUMN(PROCESS_ID, count, ids[i]);
    PUT_COLUMN(PROCESS_PARENT, count, all[ids[i]].process.parent);
    PUT_COLUMN(PROCESS_PID, count, all[ids[i]].process.pid);
    PUT_COLUMN(PROCESS_START, count, all[ids[i]].process.start_ns);
    PUT_COLUMN(PROCESS_END, count, all[ids[i]].process.end_ns);
    PUT_COLUMN(PROCESS_STATUS, count, (uint32_t)all[ids[i]].process.exit_status);
    PUT_COLUMN(PROCESS_FLAGS, count, all[ids[i]].process.flags);
    PUT_COLUMN(PROCESS_KEY, count, all[ids[i]].process.key);
    for (size_t i = 0; i < count; i++) {
        const struct trace_process *process = &all[ids[i]].process;
        values[2 * i] = strlen(process->command);
        values[2 * i + 1] = strlen(process->host);
        bytes_append_text(text, process->command);
        bytes_append_text(text, process->host);
    }
    block_add_u64(&d->builder, PROCESS_LENGTH, values, 2 * count);
    block_add_bytes(&d->builder, PROCESS_TEXT, text->data, text->length);
}

static void put_tracks(struct writer_definitions *d, const uint32_t *ids, size_t count, uint64_t *values,
                       struct bytes *text)
{
    const struct writer_track *all = d->tracks;
    PUT_COLUMN(TRACK_ID, count, ids[i]);
    PUT_COLUMN(TRACK_PROCESS, count, all[ids[i]].track.process);
    PUT_COLUMN(TRACK_PARENT, count, all[ids[i]].track.parent);
    PUT_COLUMN(TRACK_KIND, count, all[ids[i]].track.kind);
    PUT_COLUMN(TRACK_CLOCK, count, all[ids[i]].track.clock);
    PUT_COLUMN(TRACK_NUMBER, count, all[ids[i]].track.number);
    PUT_COLUMN(TRACK_KEY, count, all[ids[i]].track.key);
    PUT_COLUMN(TRACK_LENGTH, count, strlen(all[ids[i]].track.name));
    PUT_COLUMN(TRACK_ARCHITECTURE, count, strlen(all[ids[i]].track.architecture));
    for (size_t i = 0; i < count; i++)
        bytes_append_text(text, all[ids[i]].track.name);
    for (size_t i = 0; i < count; i++)
        bytes_append_text(text, all[ids[i]].track.architecture);
    block_add_bytes(&d->builder, TRACK_TEXT, text->data, text->length);
}

static uint64_t double_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void put_clocks(struct writer_definitions *d, const uint32_t *ids, size_t count, uint64_t *values,
                       struct bytes *text)
{
    PUT_COLUMN(CLOCK_ID, count, ids[i]);
    PUT_COLUMN(CLOCK_FLAGS, count, d->clocks[ids[i]].clock.is_device);
    PUT_COLUMN(CLOCK_RATE, count, double_bits(d->clocks[ids[i]].clock.ticks_per_second));
    PUT_COLUMN(CLOCK_LENGTH, count, strlen(d->clocks[ids[i]].clock.name));
    for (size_t i = 0; i < count; i++)
        bytes_append_text(text, d->clocks[ids[i]].clock.name);
    block_add_bytes(&d->builder, CLOCK_TEXT, text->data, text->length);
}

static void put_clock_points(struct writer_definitions *d, const struct trace_clock_point *points,
                             size_t count, uint64_t *values)
{
    PUT_COLUMN(CLOCK_POINT_CLOCK, count, points[i].clock);
    PUT_COLUMN(CLOCK_POINT_TICKS, count, points[i].ticks);
    PUT_COLUMN(CLOCK_POINT_HOST, count, points[i].host_ns);
    PUT_COLUMN(CLOCK_POINT_UNCERTAINTY, count, points[i].uncertainty_ns);
    PUT_COLUMN(CLOCK_POINT_REALTIME, count, points[i].realtime_ns);
    PUT_COLUMN(CLOCK_POINT_BOOTTIME, count, points[i].boottime_ns);
    PUT_COLUMN(CLOCK_POINT_FLAGS, count, points[i].is_break);
}

/* Descriptions have many parts each; `limit` is how many parts the values array holds. Returns how many
 * descriptions were taken. */
static size_t put_descriptions(struct writer_definitions *d, const uint32_t *ids, size_t count,
                               uint64_t *values, size_t limit, struct bytes *text)
{
    size_t taken = 0, parts = 0;
    uint64_t *counts = values, *roles = values + limit, *lengths = values + 2 * limit;
    for (; taken < count; taken++) {
        const struct intern_entry *entry = &d->descriptions.entries[ids[taken]];
        struct cursor in = cursor_over(entry->data, entry->length);
        size_t own = 0;
        for (; in.position < in.length; own++) {
            cursor_u32(&in);
            cursor_take(&in, cursor_u32(&in));
        }
        if ((parts + own > limit || text->length > BLOCK_FLUSH_TEXT) && taken > 0)
            break;
        counts[taken] = own < limit ? own : limit;
        in = cursor_over(entry->data, entry->length);
        for (size_t k = 0; k < counts[taken]; k++, parts++) {
            roles[parts] = cursor_u32(&in);
            lengths[parts] = cursor_u32(&in);
            bytes_append(text, cursor_take(&in, lengths[parts]), lengths[parts]);
        }
    }
    block_add_u64(&d->builder, DESCRIPTION_PARTS, counts, taken);
    block_add_u64(&d->builder, DESCRIPTION_ROLE, roles, parts);
    block_add_u64(&d->builder, DESCRIPTION_LENGTH, lengths, parts);
    block_add_bytes(&d->builder, DESCRIPTION_TEXT, text->data, text->length);
    PUT_COLUMN(DESCRIPTION_ID, taken, ids[i]);
    return taken;
}

/* How many of the ids fit one block, by number. */
static size_t take_of(const struct id_list *list, size_t done, size_t limit)
{
    size_t left = list->count - done;
    return left < limit ? left : limit;
}

static size_t names_that_fit(const struct writer_definitions *d, size_t done)
{
    size_t count = take_of(&d->new_names, done, MAX_ROWS_A_BLOCK), bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += d->name_keys.entries[d->new_names.ids[done + i]].length;
        if (bytes > BLOCK_FLUSH_TEXT)
            return i + 1;
    }
    return count;
}

struct flush_progress {
    size_t names, processes, tracks, clocks, descriptions, points;
};

/* One block with the next part of each queue. Returns rows put, or a negative error. */
static long put_one_block(struct trace_writer *w, struct flush_progress *done, uint64_t *values,
                          struct bytes *text)
{
    struct writer_definitions *d = &w->definitions;
    size_t names = names_that_fit(d, done->names);
    size_t processes = take_of(&d->new_processes, done->processes, MAX_PROCESSES_A_BLOCK);
    size_t tracks = take_of(&d->new_tracks, done->tracks, MAX_TRACKS_A_BLOCK);
    size_t clocks = take_of(&d->new_clocks, done->clocks, MAX_TRACKS_A_BLOCK);
    size_t points = d->point_count - done->points;
    if (points > MAX_ROWS_A_BLOCK)
        points = MAX_ROWS_A_BLOCK;
    block_begin(&d->builder);
    d->builder.keep_zeros = true;
    if (names)
        put_names(d, d->new_names.ids + done->names, names, values, text);
    bytes_clear(text);
    if (processes)
        put_processes(d, d->new_processes.ids + done->processes, processes, values, text);
    bytes_clear(text);
    if (tracks)
        put_tracks(d, d->new_tracks.ids + done->tracks, tracks, values, text);
    bytes_clear(text);
    if (clocks)
        put_clocks(d, d->new_clocks.ids + done->clocks, clocks, values, text);
    if (points)
        put_clock_points(d, d->points + done->points, points, values);
    bytes_clear(text);
    size_t descriptions = take_of(&d->new_descriptions, done->descriptions, MAX_ROWS_A_BLOCK);
    if (descriptions)
        descriptions = put_descriptions(d, d->new_descriptions.ids + done->descriptions, descriptions, values,
                                        MAX_ROWS_A_BLOCK, text);
    if (text->failed)
        return -ENOMEM;
    size_t rows = names + processes + tracks + clocks + points + descriptions;
    struct block_header header = {
        .type = TRACE_BLOCK_DEFINITIONS, .track = TRACE_NONE, .count = (uint32_t)rows};
    int status = rows ? file_write_block(w, &d->builder, &header) : 0;
    done->names += names;
    done->processes += processes;
    done->tracks += tracks;
    done->clocks += clocks;
    done->points += points;
    done->descriptions += descriptions;
    return status ? status : (long)rows;
}

int definitions_flush(struct trace_writer *w)
{
    struct writer_definitions *d = &w->definitions;
    if (!d->new_names.count && !d->new_processes.count && !d->new_tracks.count && !d->new_clocks.count &&
        !d->new_descriptions.count && d->points_written == d->point_count)
        return 0;
    struct flush_progress done = {.points = d->points_written};
    uint64_t *values = malloc((size_t)3 * MAX_ROWS_A_BLOCK * sizeof *values);
    struct bytes text = {0};
    long rows = values ? 1 : -ENOMEM;
    while (rows > 0) {
        bytes_clear(&text);
        rows = put_one_block(w, &done, values, &text);
    }
    if (rows < 0)
        writer_fail(w, (int)rows, NULL);
    free(values);
    bytes_free(&text);
    d->new_names.count = d->new_processes.count = d->new_tracks.count = 0;
    d->new_clocks.count = d->new_descriptions.count = 0;
    d->points_written = d->point_count;
    return (int)rows;
}

/* --- names of a block --- */

bool name_list_begin(const struct trace_writer *w, struct name_list *list)
{
    size_t before = list->mark_capacity;
    list->count = 0;
    list->failed = !array_reserve(&list->marks, &list->mark_capacity, w->definitions.name_keys.count,
                                  sizeof *list->marks);
    if (list->failed)
        return false;
    if (list->mark_capacity > before) /* without names there are no marks at all */
        memset(list->marks + before, 0, (list->mark_capacity - before) * sizeof *list->marks);
    list->number++;
    return true;
}

uint32_t name_list_add(struct trace_writer *w, struct name_list *list, uint32_t name)
{
    if (name >= list->mark_capacity) /* an id that was never given, or TRACE_NONE: rare, so look it up */
        for (size_t i = 0; i < list->count; i++)
            if (list->names[i] == name)
                return (uint32_t)i;
    uint32_t same = definitions_same_name(w, name);
    if (same != name && name < list->mark_capacity) {
        uint32_t place = name_list_index(w, list, same);
        list->marks[name] = (uint64_t)list->number << 32 | place;
        return place;
    }
    if (!array_reserve(&list->names, &list->capacity, list->count + 1, sizeof *list->names)) {
        list->failed = true;
        return 0;
    }
    if (name < list->mark_capacity)
        list->marks[name] = (uint64_t)list->number << 32 | list->count;
    definitions_need_name(w, name);
    list->names[list->count] = name;
    return (uint32_t)list->count++;
}

void name_list_free(struct name_list *list)
{
    free(list->marks);
    free(list->names);
}

int definitions_init(struct trace_writer *w)
{
    struct trace_clock host = {.id = TRACE_HOST_CLOCK, .ticks_per_second = 1e9, .name = "host"};
    return trace_writer_clock(w, &host) == TRACE_HOST_CLOCK ? 0 : -ENOMEM;
}

void definitions_free(struct writer_definitions *d)
{
    intern_free(&d->texts);
    intern_free(&d->name_keys);
    intern_free(&d->descriptions);
    free(d->names);
    free(d->processes);
    free(d->tracks);
    free(d->clocks);
    free(d->points);
    free(d->description_segment);
    map_free(&d->process_keys);
    map_free(&d->track_keys);
    free(d->new_names.ids);
    free(d->new_processes.ids);
    free(d->new_tracks.ids);
    free(d->new_clocks.ids);
    free(d->new_descriptions.ids);
    bytes_free(&d->key);
    block_builder_free(&d->builder);
}
