/* SPDX-License-Identifier: Apache-2.0 */
/* Continuing the file of a writer that died. The reader opens what is there, up to the last whole block; the
 * broken tail is cut off, the segment gets its last checkpoint and trailer (and the levels of detail that
 * were still in memory), and the writer goes on in a new segment of the same source, with the same ids,
 * flagged as recovered. The flight recorder's files are taken one after the other. */
#include "trace/writer/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/reader/internal.h"

/* More processes, tracks, clocks, names or descriptions than any writer gave. */
#define MAX_ID (UINT32_C(1) << 24)

/* --- definitions --- */

static int compare_ids(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right; /* id, then place: the later one of equal ids last */
    if (a[0] != b[0])
        return a[0] < b[0] ? -1 : 1;
    return a[1] < b[1] ? -1 : a[1] > b[1];
}

/* Pairs (id, place) of the newest definition of each id, in order of id. Items begin with their id. */
static uint32_t *newest_of_each(const struct vector *items, size_t size, size_t *count)
{
    uint32_t *pairs = malloc((items->count + 1) * 2 * sizeof *pairs);
    size_t kept = 0;
    *count = 0;
    if (!pairs)
        return NULL;
    for (size_t i = 0; i < items->count; i++) {
        memcpy(&pairs[2 * i], (const uint8_t *)items->items + i * size, sizeof *pairs);
        pairs[2 * i + 1] = (uint32_t)i;
    }
    qsort(pairs, items->count, 2 * sizeof *pairs, compare_ids);
    for (size_t i = 0; i < items->count; i++)
        if (i + 1 == items->count || pairs[2 * i + 2] != pairs[2 * i]) {
            pairs[2 * kept] = pairs[2 * i];
            pairs[2 * kept++ + 1] = pairs[2 * i + 1];
        }
    *count = kept;
    return pairs;
}

static bool restore_names(struct trace_writer *w, const struct vector *names)
{
    size_t count;
    uint32_t *order = newest_of_each(names, sizeof(struct trace_name), &count);
    bool ok = order != NULL;
    for (size_t i = 0; i < count && ok; i++) {
        const struct trace_name *name = (const struct trace_name *)names->items + order[2 * i + 1];
        if (name->id < definitions_name_count(&w->definitions))
            continue; /* from an earlier file of the same recording */
        ok = name->id < MAX_ID && definitions_restore_name(w, name->id, name);
    }
    free(order);
    return ok;
}

/* Processes, tracks and clocks have dense ids; one that is missing becomes an empty definition. */
static bool restore_processes(struct trace_writer *w, const struct vector *processes)
{
    const struct trace_process *all = processes->items;
    for (size_t i = 0; i < processes->count; i++) {
        struct trace_process blank = {.id = TRACE_NONE, .parent = TRACE_NONE, .command = "", .host = ""};
        while (w->definitions.process_count <= all[i].id && all[i].id < MAX_ID)
            if (trace_writer_process(w, &blank) == TRACE_NONE)
                return false;
        trace_writer_process(w, &all[i]);
    }
    return true;
}

static bool restore_tracks(struct trace_writer *w, const struct vector *tracks)
{
    const struct trace_track *all = tracks->items;
    for (size_t i = 0; i < tracks->count; i++) {
        struct trace_track blank = {.id = TRACE_NONE,
                                    .process = TRACE_NONE,
                                    .parent = TRACE_NONE,
                                    .name = "",
                                    .kind = TRACE_TRACK_OTHER};
        while (w->definitions.track_count <= all[i].id && all[i].id < MAX_ID)
            if (trace_writer_track(w, &blank) == TRACE_NONE)
                return false;
        if (strcmp(all[i].name, "?") != 0 || all[i].process != TRACE_NONE) /* not the reader's own blank */
            trace_writer_track(w, &all[i]);
    }
    return true;
}

static bool restore_clocks(struct trace_writer *w, const struct vector *clocks)
{
    const struct trace_clock *all = clocks->items;
    for (size_t i = 0; i < clocks->count; i++) {
        struct trace_clock blank = {.id = TRACE_NONE, .ticks_per_second = 1e9, .name = ""};
        while (w->definitions.clock_count <= all[i].id && all[i].id < MAX_ID)
            if (trace_writer_clock(w, &blank) == TRACE_NONE)
                return false;
        trace_writer_clock(w, &all[i]);
    }
    return true;
}

static bool is_known_point(const struct writer_definitions *d, const struct trace_clock_point *point)
{
    for (size_t i = d->point_count; i > 0 && d->point_count - i < 64; i--)
        if (d->points[i - 1].clock == point->clock && d->points[i - 1].ticks == point->ticks)
            return true;
    return false;
}

static bool restore_descriptions(struct trace_writer *w, const struct trace *t,
                                 const struct vector *descriptions)
{
    size_t count;
    uint32_t *order = newest_of_each(descriptions, sizeof(struct description), &count);
    bool ok = order != NULL;
    for (size_t i = 0; i < count && ok; i++) {
        const struct description *d = (const struct description *)descriptions->items + order[2 * i + 1];
        ok = d->id < MAX_ID;
        while (w->definitions.descriptions.count < d->id && ok) { /* a hole: something nobody uses */
            char text[32];
            snprintf(text, sizeof text, "missing %zu", w->definitions.descriptions.count);
            struct trace_part hole = {.role = 0, .text = slice_of(text)};
            ok = trace_writer_description(w, &hole, 1) != TRACE_NONE;
        }
        if (ok && d->id == w->definitions.descriptions.count)
            ok = trace_writer_description(w, reader_parts(t, d), d->part_count) == d->id;
    }
    free(order);
    return ok;
}

static bool restore_definitions(struct trace_writer *w, const struct trace *t, const struct source *source)
{
    const struct trace_clock_point *points = source->new_points.items;
    bool ok = restore_clocks(w, &source->new_clocks) && restore_names(w, &source->new_names) &&
              restore_processes(w, &source->new_processes) && restore_tracks(w, &source->new_tracks) &&
              restore_descriptions(w, t, &source->new_descriptions);
    for (size_t i = 0; i < source->new_points.count && ok; i++)
        if (!is_known_point(&w->definitions, &points[i]))
            trace_writer_clock_point(w, &points[i]);
    return ok;
}

/* What was restored is in the file already: nothing of it waits to be written. */
static void forget_queues(struct writer_definitions *d)
{
    d->new_names.count = d->new_processes.count = d->new_tracks.count = 0;
    d->new_clocks.count = d->new_descriptions.count = 0;
    d->points_written = d->point_count;
}

/* --- zones --- */

/* Adds the zones of a block to the totals of its tracks. */
static int count_block(struct trace_writer *w, struct trace *t, const struct entry *entry,
                       bool in_last_segment, struct error *err)
{
    struct block_view view;
    struct groups groups = {0};
    int status = reader_open_block(t, entry, false, &view, err);
    if (status)
        return status;
    status = groups_decode(t, NULL, &view, &groups);
    for (size_t i = 0; i < groups.count_all && !status; i++) {
        if (groups.track[i] >= w->definitions.track_count)
            continue;
        struct writer_track *track = &w->definitions.tracks[groups.track[i]];
        track->zones += groups.count[i];
        track->segment_zones += in_last_segment ? groups.count[i] : 0;
        track->depths = groups.depth[i] >= track->depths ? groups.depth[i] + 1 : track->depths;
        track->t_last = entry->block.t_last > track->t_last ? entry->block.t_last : track->t_last;
    }
    groups_free(&groups);
    return reader_decode_error(t, entry, status, err);
}

/* Nodes of a block that no LOD block stands for yet, made from its rows. */
static int feed_block(struct trace_writer *w, struct trace *t, struct entry *entry, struct zone_rows *rows,
                      struct error *err)
{
    unsigned level = entry->lod_level,
             columns = TRACE_COLUMN_START | TRACE_COLUMN_DURATION | TRACE_COLUMN_NAME;
    int status = trace_decode_zones(t, &entry->block, columns | TRACE_COLUMN_RAW_TICKS, rows, err);
    struct node *nodes = status ? NULL : malloc((rows->count + 1) * sizeof *nodes);
    if (!nodes)
        return status ? status : error_set_errno(err, ENOMEM, "%s", t->path);
    for (size_t g = 0; g < rows->group_count; g++) {
        const struct zone_rows_group *group = &rows->groups[g];
        size_t made = 0;
        for (size_t i = group->first; i < (size_t)group->first + group->count; i++) {
            struct node zone = {.start = rows->start[i],
                                .end = rows->start[i] + rows->duration[i],
                                .busy = rows->duration[i],
                                .longest = rows->duration[i],
                                .name = rows->name[i],
                                .count = 1};
            if (made && node_takes(&nodes[made - 1], &zone, level))
                node_add(&nodes[made - 1], &zone);
            else
                nodes[made++] = zone;
        }
        if (group->track < w->definitions.track_count)
            lod_add(w, group->track, group->depth, level + 2, nodes, made);
    }
    free(nodes);
    return 0;
}

/* The first block of the segment that has no LOD blocks above it. */
static int first_uncovered(struct trace *t, uint32_t source, uint64_t segment_first, uint64_t *out,
                           struct error *err)
{
    struct lod_index *x;
    int status = lod_index_get(t, &x, err);
    *out = segment_first;
    for (size_t i = 0; i < (status ? 0 : x->part_count); i++)
        if (x->parts[i].source == source && x->parts[i].to > *out)
            *out = x->parts[i].to;
    return status;
}

static int feed_levels(struct trace_writer *w, struct trace *t, uint32_t source, struct error *err)
{
    const struct source *s = &t->sources[source];
    struct zone_rows rows = {0};
    uint64_t first = UINT64_MAX;
    if (!s->ids[TRACE_ID_NAME].is_identity ||
        !s->ids[TRACE_ID_TRACK].is_identity) /* drawn from the blocks then */
        return 0;
    for (size_t i = 0; i < w->entry_count; i++)
        first = w->entries[i].sequence < first ? w->entries[i].sequence : first;
    int status = first_uncovered(t, source, first == UINT64_MAX ? 0 : first, &w->lod.from_sequence, err);
    for (size_t i = 0; i < t->entry_count && !status; i++) {
        struct entry *entry = &t->entries[i];
        if (entry->block.type == TRACE_BLOCK_ZONES && entry->source == source &&
            entry->block.offset >= w->segment_start && entry->sequence >= w->lod.from_sequence)
            status = feed_block(w, t, entry, &rows, err);
    }
    zone_rows_free(&rows);
    return status;
}

/* --- a file --- */

static int by_offset(const void *left, const void *right)
{
    const struct index_entry *a = left, *b = right;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* In the order of the file, as a checkpoint lists them; the reader has those of the newest checkpoint first. */
static int take_entries(struct trace_writer *w, const struct trace *t, uint32_t source)
{
    w->entry_count = 0;
    for (size_t i = 0; i < t->entry_count; i++) {
        const struct entry *e = &t->entries[i];
        if (e->source != source || e->block.offset < w->segment_start)
            continue;
        if (!array_reserve(&w->entries, &w->entry_capacity, w->entry_count + 1, sizeof *w->entries))
            return -ENOMEM;
        w->entries[w->entry_count++] = (struct index_entry){.offset = e->block.offset - w->segment_start,
                                                            .size = e->block.size,
                                                            .sequence = e->sequence,
                                                            .t_first = e->block.t_first,
                                                            .t_last = e->block.t_last,
                                                            .min_start = e->block.min_start,
                                                            .track = e->stored_track,
                                                            .clock = e->stored_clock,
                                                            .count = e->block.count,
                                                            .prefix_size = e->prefix_size,
                                                            .type = (uint16_t)e->block.type,
                                                            .lod_level = e->lod_level};
    }
    if (w->entry_count)
        qsort(w->entries, w->entry_count, sizeof *w->entries, by_offset);
    return 0;
}

/* The flight recorder tells a segment's losses again when it drops it. */
static int take_losses(struct trace_writer *w, const struct trace *t)
{
    if (!w->max_size_bytes || t->loss_count == 0)
        return 0;
    if (!array_reserve(&w->segment_losses, &w->segment_loss_capacity, t->loss_count,
                       sizeof *w->segment_losses))
        return -ENOMEM;
    memcpy(w->segment_losses, t->losses, t->loss_count * sizeof *t->losses);
    w->segment_loss_count = t->loss_count;
    return 0;
}

/* Everything but the bytes: identity, definitions, counts, the index of the last segment. */
static int take_state(struct trace_writer *w, struct trace *t, uint32_t source, struct error *err)
{
    const struct source *s = &t->sources[source];
    w->segment_start = t->last_segment_offset;
    w->end = t->whole_length;
    if (s->last_sequence + 1 > w->sequence)
        w->sequence = s->last_sequence + 1;
    if (!restore_definitions(w, t, s) || take_entries(w, t, source) || take_losses(w, t))
        return error_set_errno(err, ENOMEM, "%s", w->path);
    w->segment_zones = w->segment_records = 0;
    for (size_t i = 0; i < t->entry_count; i++) {
        const struct entry *entry = &t->entries[i];
        bool in_last = entry->block.offset >= w->segment_start;
        if (entry->source != source)
            continue;
        if (trace_block_has_rows(entry->block.type)) {
            w->record_count += entry->block.count;
            w->segment_records += in_last ? entry->block.count : 0;
        }
        if (entry->block.type != TRACE_BLOCK_ZONES)
            continue;
        int status = count_block(w, t, entry, in_last, err);
        if (status)
            return status;
        w->zone_count += entry->block.count;
        w->segment_zones += in_last ? entry->block.count : 0;
    }
    if (t->info.damaged_blocks) {
        struct trace_loss loss = {.process = TRACE_NONE,
                                  .track = TRACE_NONE,
                                  .reason = TRACE_LOSS_DAMAGED,
                                  .records = t->info.damaged_blocks};
        trace_writer_loss(w, &loss);
    }
    return 0;
}

/* The source of the last segment, and the number of its newest slot. */
static int read_last_header(struct trace_writer *w, struct trace *t, uint32_t *source, struct error *err)
{
    struct slot slot;
    const uint8_t *header = reader_bytes(t, t->last_segment_offset, SEGMENT_HEADER_BYTES, err);
    if (!header)
        return -EINVAL;
    *source = reader_source(t, header + 16);
    memcpy(w->source, header + 16, SOURCE_BYTES);
    w->slot_sequence = index_read_slots(header, &slot) ? slot.sequence : 0;
    w->last_checkpoint = w->last_checkpoint_size = 0;
    return *source == UINT32_MAX ? error_set_errno(err, ENOMEM, "%s", w->path) : 0;
}

static int open_reader(struct trace **t, const char *path, struct error *err)
{
    int status = trace_open(t, path, READER_KEEP_DEFINITIONS, err);
    if (status == -EINVAL) {
        struct error again;
        int salvaged = trace_open(t, path, READER_KEEP_DEFINITIONS | TRACE_OPEN_SALVAGE, &again);
        status = salvaged ? status : 0;
    }
    if (!status && (*t)->info.segment_count == 0) {
        trace_close(*t);
        return error_set(err, EINVAL, "%s: cannot be continued, its header is damaged", path);
    }
    return status;
}

/* Takes over one file. Its last segment is finished here when its writer did not get to it. */
static int take_file(struct trace_writer *w, const char *path, bool *was_complete, struct error *err)
{
    struct trace *t = NULL;
    uint32_t source = 0;
    free(w->partial_path);
    w->partial_path = strdup(path);
    int status = w->partial_path ? file_open(w, 0, err) : error_set_errno(err, ENOMEM, "%s", path);
    if (!status)
        status = open_reader(&t, path, err);
    if (status)
        return status;
    status = read_last_header(w, t, &source, err);
    if (!status && !w->program) {
        w->program = strdup(t->info.program);
        w->command = strdup(t->info.command);
        w->host = strdup(t->info.host);
        writer_set_max_size(w, t->max_size_bytes);
        w->begun_unix_ns = t->begun_unix_ns;
        if (!w->program || !w->command || !w->host)
            status = error_set_errno(err, ENOMEM, "%s", w->path);
    }
    if (!status)
        status = take_state(w, t, source, err);
    *was_complete = t->info.is_complete;
    w->allocated_to = w->end;
    if (!status && !*was_complete) {
        status = feed_levels(w, t, source, err);
        if (!status && ftruncate(w->fd, (off_t)w->end) != 0)
            status = error_set_errno(err, errno, "%s: its broken end cannot be cut off", path);
    }
    if (!status)
        forget_queues(&w->definitions);
    trace_close(t);
    return status;
}

/* --- the flight recorder's files --- */

static int take_flight_files(struct trace_writer *w, const uint32_t *numbers, size_t count, struct error *err)
{
    int status = 0;
    char *joined = flight_joined_path(w);
    if (joined)
        unlink(joined); /* half of what finish was doing when it was killed */
    free(joined);
    for (size_t i = 0; i < count && !status; i++) {
        bool was_complete;
        char *path = flight_segment_path(w, numbers[i]);
        w->segment_number = numbers[i];
        status = path ? take_file(w, path, &was_complete, err) : error_set_errno(err, ENOMEM, "%s", w->path);
        if (status && status != -ENOMEM && status != -EBUSY && i + 1 == count && w->finished_count) {
            file_close(w); /* the last file had hardly begun */
            unlink(path);
            status = 0;
        } else if (!status) {
            status = was_complete ? flight_keep_segment(w, err) : flight_end_segment(w, err);
        }
        free(path);
    }
    return status ? status : flight_begin_segment(w, SEGMENT_RECOVERED, err);
}

/* --- resume --- */

static int take_single_file(struct trace_writer *w, const char *path, struct error *err)
{
    bool was_complete;
    int status = take_file(w, path, &was_complete, err);
    if (!status && !was_complete)
        status = file_end_segment(w, err);
    if (status)
        return status;
    for (size_t i = 0; i < w->definitions.track_count; i++)
        w->definitions.tracks[i].segment_zones = w->definitions.tracks[i].checkpoint_zones = 0;
    w->segment_number++;
    status = file_begin_segment(w, SEGMENT_RECOVERED, err);
    if (!status)
        definitions_new_segment(w);
    return status;
}

int trace_writer_resume(struct trace_writer **out, const char *path, struct error *err)
{
    struct trace_writer *w = writer_new(path);
    char *partial = NULL;
    uint32_t *numbers = NULL;
    size_t count = 0;
    *out = NULL;
    if (!w || asprintf(&partial, "%s.partial", path) < 0) {
        writer_free(w);
        return error_set_errno(err, ENOMEM, "%s", path);
    }
    int status = flight_list_segments(path, &numbers, &count, err);
    if (!status && count && access(partial, F_OK) == 0)
        status = error_set(err, EEXIST,
                           "%s and %s.NNN are parts of one recording, whose joining was interrupted: "
                           "cat them, in order, into one file",
                           partial, partial);
    if (!status)
        status = count ? take_flight_files(w, numbers, count, err) : take_single_file(w, partial, err);
    free(numbers);
    free(partial);
    if (status) {
        writer_free(w);
        return status;
    }
    *out = w;
    return 0;
}
