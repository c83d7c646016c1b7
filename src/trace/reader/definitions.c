/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions: read from all DEFINITIONS blocks when the trace is opened, then given ids that are unique in
 * the trace. The first source keeps its ids (a hole becomes a "?"); those of further sources, or ids that are
 * absurdly sparse, become dense after them. A definition that comes again replaces the earlier one. */
#include "trace/reader/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/count_of.h"

/* Definitions that came with the ids of the source. */
static void free_numbered(struct source *source)
{
    struct vector *vectors[] = {&source->new_names, &source->new_processes, &source->new_tracks,
                                &source->new_clocks, &source->new_descriptions};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        free(vectors[i]->items);
        *vectors[i] = (struct vector){0};
    }
}

const struct trace_part *reader_parts(const struct trace *t, const struct description *description)
{
    const struct stored_part *parts = t->parts + description->first_part;
    for (size_t i = 0; i < description->part_count; i++)
        t->shown_parts[i] =
            (struct trace_part){parts[i].role, slice_of(intern_text(&t->texts, parts[i].text))};
    return t->shown_parts;
}

void source_free(struct source *source)
{
    for (size_t kind = 0; kind < TRACE_ID_KINDS; kind++) {
        free(source->ids[kind].ids);
        free(source->ids[kind].same);
    }
    free_numbered(source);
    free(source->new_points.items);
    free(source->totals.items);
    free(source->open_zones.items);
}

/* --- reading a block --- */

struct definition_block {
    struct trace *t;
    struct source *source;
    const struct block_view *view;
    uint64_t *values; /* columns of one kind, `count` values each */
    size_t count;
    uint8_t *text;
    size_t text_length, text_at;
    int text_status; /* why next_text gave NULL */
};

static int decode_kind(struct definition_block *b, const uint16_t *ids, size_t columns, uint16_t length_id,
                       size_t lengths_each, uint16_t text_id)
{
    size_t lengths, total;
    if (b->count > BLOCK_MAX_ROWS || b->text_length > BLOCK_MAX_BLOB)
        return -EINVAL;
    if (!checked_mul_size(b->count, lengths_each, &lengths) ||
        !checked_mul_size(b->count, columns + lengths_each, &total))
        return -EINVAL;
    b->values = malloc((total + 1) * sizeof *b->values);
    b->text = malloc(b->text_length + 1);
    if (!b->values || !b->text)
        return -ENOMEM;
    int status = 0;
    for (size_t i = 0; i < columns && !status; i++)
        status = block_decode_u64(b->view, &b->t->codec, ids[i], b->values + i * b->count, b->count);
    if (!status && lengths_each)
        status = block_decode_u64(b->view, &b->t->codec, length_id, b->values + columns * b->count, lengths);
    if (!status && text_id)
        status = block_decode_bytes(b->view, &b->t->codec, text_id, b->text, b->text_length);
    return status;
}

/* Decodes the columns of one kind of definition: ids[0] is the id column, lengths_each values a row of the
 * length column, and the text. Leaves a count of 0 when there are none or they cannot be read. */
static int begin_kind(struct definition_block *b, const uint16_t *ids, size_t columns, uint16_t length_id,
                      size_t lengths_each, uint16_t text_id)
{
    b->count = block_count(b->view, ids[0]);
    b->text_length = text_id ? block_count(b->view, text_id) : 0;
    b->text_at = 0;
    int status = b->count ? decode_kind(b, ids, columns, length_id, lengths_each, text_id) : 0;
    if (status)
        b->count = 0;
    return status;
}

static void end_kind(struct definition_block *b)
{
    free(b->values);
    free(b->text);
    b->values = NULL;
    b->text = NULL;
}

/* The next text of the blob, interned; INTERN_NONE when it is not there or there is no memory. */
static uint32_t next_text_id(struct definition_block *b, uint64_t length)
{
    if (length > b->text_length - b->text_at) {
        b->text_status = -EINVAL;
        return INTERN_NONE;
    }
    uint32_t id = intern_add(&b->t->texts, b->text + b->text_at, (size_t)length);
    b->text_at += (size_t)length;
    if (id == INTERN_NONE)
        b->text_status = -ENOMEM;
    return id;
}

static const char *next_text(struct definition_block *b, uint64_t length)
{
    uint32_t id = next_text_id(b, length);
    return id == INTERN_NONE ? NULL : intern_text(&b->t->texts, id);
}

static int load_names(struct definition_block *b)
{
    static const uint16_t ids[] = {NAME_ID, NAME_LINE, NAME_COLOUR};
    int status = begin_kind(b, ids, 3, NAME_LENGTH, 3, NAME_TEXT);
    const uint64_t *v = b->values, *lengths = b->count ? v + 3 * b->count : v;
    for (size_t i = 0; i < b->count && !status; i++) {
        struct trace_name name = {.id = (uint32_t)v[i],
                                  .line = (uint32_t)v[b->count + i],
                                  .colour = (uint32_t)v[2 * b->count + i],
                                  .name = next_text(b, lengths[3 * i]),
                                  .function = next_text(b, lengths[3 * i + 1]),
                                  .file = next_text(b, lengths[3 * i + 2])};
        if (!name.name || !name.function || !name.file)
            status = b->text_status;
        else if (!vector_add(&b->source->new_names, &name, sizeof name))
            status = -ENOMEM;
    }
    end_kind(b);
    return status;
}

static int load_processes(struct definition_block *b)
{
    static const uint16_t ids[] = {PROCESS_ID,  PROCESS_PARENT, PROCESS_PID,   PROCESS_START,
                                   PROCESS_END, PROCESS_STATUS, PROCESS_FLAGS, PROCESS_KEY};
    int status = begin_kind(b, ids, 8, PROCESS_LENGTH, 2, PROCESS_TEXT);
    size_t n = b->count;
    const uint64_t *v = b->values, *lengths = n ? v + 8 * n : v;
    for (size_t i = 0; i < n && !status; i++) {
        struct trace_process process = {.id = (uint32_t)v[i],
                                        .parent = (uint32_t)v[n + i],
                                        .pid = (int64_t)v[2 * n + i],
                                        .start_ns = v[3 * n + i],
                                        .end_ns = v[4 * n + i],
                                        .exit_status = (int32_t)(uint32_t)v[5 * n + i],
                                        .flags = (uint32_t)v[6 * n + i],
                                        .key = v[7 * n + i],
                                        .command = next_text(b, lengths[2 * i]),
                                        .host = next_text(b, lengths[2 * i + 1])};
        if (!process.command || !process.host)
            status = b->text_status;
        else if (!vector_add(&b->source->new_processes, &process, sizeof process))
            status = -ENOMEM;
    }
    end_kind(b);
    return status;
}

static int load_tracks(struct definition_block *b)
{
    static const uint16_t ids[] = {TRACK_ID,    TRACK_PROCESS, TRACK_PARENT, TRACK_KIND,
                                   TRACK_CLOCK, TRACK_NUMBER,  TRACK_KEY,    TRACK_ARCHITECTURE};
    int status = begin_kind(b, ids, 8, TRACK_LENGTH, 1, TRACK_TEXT);
    size_t n = b->count;
    const uint64_t *v = b->values;
    size_t first = b->source->new_tracks.count;
    for (size_t i = 0; i < n && !status; i++) {
        struct trace_track track = {.id = (uint32_t)v[i],
                                    .process = (uint32_t)v[n + i],
                                    .parent = (uint32_t)v[2 * n + i],
                                    .kind = (uint32_t)v[3 * n + i],
                                    .clock = (uint32_t)v[4 * n + i],
                                    .number = v[5 * n + i],
                                    .key = v[6 * n + i],
                                    .name = next_text(b, v[8 * n + i]),
                                    .architecture = ""};
        if (!track.name)
            status = b->text_status;
        else if (!vector_add(&b->source->new_tracks, &track, sizeof track))
            status = -ENOMEM;
    }
    for (size_t i = 0; i < n && !status; i++) { /* after all names, where an older reader does not look */
        struct trace_track *track = (struct trace_track *)b->source->new_tracks.items + first + i;
        const char *text = next_text(b, v[7 * n + i]);
        if (text)
            track->architecture = text;
        else
            status = b->text_status;
    }
    end_kind(b);
    return status;
}

static int load_clocks(struct definition_block *b)
{
    static const uint16_t ids[] = {CLOCK_ID, CLOCK_FLAGS, CLOCK_RATE};
    int status = begin_kind(b, ids, 3, CLOCK_LENGTH, 1, CLOCK_TEXT);
    size_t n = b->count;
    const uint64_t *v = b->values;
    for (size_t i = 0; i < n && !status; i++) {
        struct trace_clock clock = {
            .id = (uint32_t)v[i], .is_device = v[n + i] & 1, .name = next_text(b, v[3 * n + i])};
        memcpy(&clock.ticks_per_second, &v[2 * n + i], sizeof clock.ticks_per_second);
        if (!clock.name)
            status = b->text_status;
        else if (!vector_add(&b->source->new_clocks, &clock, sizeof clock))
            status = -ENOMEM;
    }
    end_kind(b);
    return status;
}

static int load_points(struct definition_block *b)
{
    static const uint16_t ids[] = {CLOCK_POINT_CLOCK,       CLOCK_POINT_TICKS,    CLOCK_POINT_HOST,
                                   CLOCK_POINT_UNCERTAINTY, CLOCK_POINT_REALTIME, CLOCK_POINT_BOOTTIME,
                                   CLOCK_POINT_FLAGS};
    int status = begin_kind(b, ids, 7, 0, 0, 0);
    size_t n = b->count;
    const uint64_t *v = b->values;
    for (size_t i = 0; i < n && !status; i++) {
        struct trace_clock_point point = {.clock = (uint32_t)v[i],
                                          .ticks = v[n + i],
                                          .host_ns = v[2 * n + i],
                                          .uncertainty_ns = v[3 * n + i],
                                          .realtime_ns = v[4 * n + i],
                                          .boottime_ns = v[5 * n + i],
                                          .is_break = v[6 * n + i] & 1};
        if (!vector_add(&b->source->new_points, &point, sizeof point))
            status = -ENOMEM;
    }
    end_kind(b);
    return status;
}

/* The parts of the descriptions in `b`: role and length of each from a second pair of columns. */
static int load_parts(struct definition_block *b, const uint64_t *counts)
{
    struct trace *t = b->t;
    size_t total = 0, parts = block_count(b->view, DESCRIPTION_LENGTH);
    for (size_t i = 0; i < b->count; i++)
        if (!checked_add_size(total, (size_t)counts[i], &total) || total > BLOCK_MAX_ROWS)
            return -EINVAL;
    if (parts > BLOCK_MAX_ROWS || total != parts)
        return -EINVAL;
    uint64_t *values = malloc((2 * parts + 1) * sizeof *values);
    if (!values || !array_reserve(&t->parts, &t->part_capacity, t->part_count + parts, sizeof *t->parts)) {
        free(values);
        return -ENOMEM;
    }
    int status = block_decode_u64(b->view, &t->codec, DESCRIPTION_ROLE, values, parts);
    if (!status)
        status = block_decode_u64(b->view, &t->codec, DESCRIPTION_LENGTH, values + parts, parts);
    for (size_t i = 0; i < parts && !status; i++) {
        struct stored_part part = {.role = (uint32_t)values[i], .text = next_text_id(b, values[parts + i])};
        if (part.text != INTERN_NONE)
            t->parts[t->part_count++] = part;
        else
            status = b->text_status;
    }
    free(values);
    return status;
}

static int load_descriptions(struct definition_block *b)
{
    static const uint16_t ids[] = {DESCRIPTION_ID, DESCRIPTION_PARTS};
    int status = begin_kind(b, ids, 2, 0, 0, DESCRIPTION_TEXT);
    size_t first = b->t->part_count;
    const uint64_t *counts = b->count ? b->values + b->count : b->values;
    if (!status && b->count)
        status = load_parts(b, counts);
    for (size_t i = 0; i < b->count && !status; i++) {
        struct description d = {
            .id = (uint32_t)b->values[i], .part_count = (uint32_t)counts[i], .first_part = first};
        first += d.part_count;
        b->t->most_parts = d.part_count > b->t->most_parts ? d.part_count : b->t->most_parts;
        if (!vector_add(&b->source->new_descriptions, &d, sizeof d))
            status = -ENOMEM;
    }
    end_kind(b);
    return status;
}

static int load_block(struct trace *t, struct source *source, const struct block_view *view)
{
    struct definition_block b = {.t = t, .source = source, .view = view};
    int status = load_names(&b);
    if (!status)
        status = load_processes(&b);
    if (!status)
        status = load_tracks(&b);
    if (!status)
        status = load_clocks(&b);
    if (!status)
        status = load_points(&b);
    if (!status)
        status = load_descriptions(&b);
    return status;
}

/* --- one numbering --- */

struct id_order {
    uint32_t id;
    uint32_t position;
};

static int compare_ids(const void *left, const void *right)
{
    const struct id_order *a = left, *b = right;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return a->position < b->position ? -1 : a->position > b->position;
}

/* Appends the definitions of a source to the table of the trace and makes the map. Items begin with their id.
 * The blank item fills holes. */
static int number(struct id_map *map, const struct vector *items, size_t size, bool may_keep_ids,
                  const void *blank, void *table_pointer, size_t *table_count)
{
    size_t n = items->count, unique = 0, capacity = *table_count;
    struct id_order *order = malloc((n + 1) * sizeof *order);
    uint8_t *table;
    int status = -ENOMEM;
    if (!order || n >= UINT32_MAX - 1)
        goto out;
    for (size_t i = 0; i < n; i++) {
        memcpy(&order[i].id, (const uint8_t *)items->items + i * size, sizeof order[i].id);
        order[i].position = (uint32_t)i;
    }
    qsort(order, n, sizeof *order, compare_ids);
    for (size_t i = 0; i < n; i++)
        if (i + 1 == n || order[i + 1].id != order[i].id)
            order[unique++] = order[i];
    uint64_t highest = unique ? order[unique - 1].id : 0;
    map->is_identity = may_keep_ids && *table_count == 0 && highest < 4 * (uint64_t)unique + 65536;
    map->count = map->is_identity ? (unique ? (size_t)highest + 1 : 0) : unique;
    map->base = (uint32_t)*table_count;
    map->ids = map->is_identity ? NULL : malloc((unique + 1) * sizeof *map->ids);
    if ((!map->is_identity && !map->ids) || *table_count + map->count >= UINT32_MAX - 1 ||
        !array_reserve(table_pointer, &capacity, *table_count + map->count, size))
        goto out;
    memcpy(&table, table_pointer, sizeof table);
    for (size_t i = 0; map->is_identity && i < map->count; i++) {
        uint32_t id = (uint32_t)i;
        memcpy(table + i * size, blank, size);
        memcpy(table + i * size, &id, sizeof id);
    }
    for (size_t i = 0; i < unique; i++) {
        uint32_t id = map->is_identity ? order[i].id : map->base + (uint32_t)i;
        uint8_t *at = table + (size_t)id * size;
        memcpy(at, (const uint8_t *)items->items + order[i].position * size, size);
        memcpy(at, &id, sizeof id);
        if (map->ids)
            map->ids[i] = order[i].id;
    }
    *table_count += map->count;
    status = 0;
out:
    free(order);
    return status;
}

/* A name whose texts came late was defined twice, and another has the same texts: to who reads they are one. Texts are
 * interned, so that equal ones are at one address. */
static int unify_names(const struct trace *t, struct id_map *map, size_t definitions)
{
    struct intern keys = {0};
    uint32_t *first = NULL; /* by key */
    int status = 0;
    if (definitions <= map->count)
        return 0;
    map->same = malloc((map->count + 1) * sizeof *map->same);
    first = malloc((map->count + 1) * sizeof *first);
    if (!map->same || !first)
        status = -ENOMEM;
    for (size_t i = 0; i < map->count && !status; i++) {
        const struct trace_name *name = &t->names[map->base + i];
        const uint64_t key[] = {(uintptr_t)name->name, (uintptr_t)name->function, (uintptr_t)name->file,
                                (uint64_t)name->line << 32 | name->colour};
        size_t known = keys.count;
        uint32_t id = intern_add(&keys, key, sizeof key);
        if (id == INTERN_NONE)
            status = -ENOMEM;
        else if (id == known)
            first[id] = map->base + (uint32_t)i;
        map->same[i] = status ? 0 : first[id];
    }
    intern_free(&keys);
    free(first);
    return status;
}

static const struct trace_track blank_track = {
    .process = TRACE_NONE, .parent = TRACE_NONE, .kind = TRACE_TRACK_OTHER, .name = "?", .architecture = ""};

/* Tracks that blocks use but nobody defines (their definition is in a damaged block) get a "?" too: put in
 * front, so that a definition replaces it. */
static int add_blank_tracks(struct source *source)
{
    struct vector all = {0};
    const struct track_total *totals = source->totals.items;
    for (size_t i = 0; i < source->totals.count; i++) {
        struct trace_track track = blank_track;
        track.id = totals[i].track;
        if (!vector_add(&all, &track, sizeof track))
            goto failed;
    }
    for (size_t i = 0; i < source->new_tracks.count; i++)
        if (!vector_add(&all, (struct trace_track *)source->new_tracks.items + i, sizeof(struct trace_track)))
            goto failed;
    free(source->new_tracks.items);
    source->new_tracks = all;
    return 0;
failed:
    free(all.items);
    return -ENOMEM;
}

static int number_source(struct trace *t, struct source *source, bool is_first)
{
    static const struct trace_name blank_name = {.name = "?", .function = "", .file = ""};
    static const struct trace_process blank_process = {
        .parent = TRACE_NONE, .exit_status = TRACE_STATUS_UNKNOWN, .command = "?", .host = ""};
    static const struct trace_clock blank_clock = {.ticks_per_second = 1e9, .name = "?"};
    static const struct description blank_description = {0};
    int status = add_blank_tracks(source);
    if (!status)
        status = number(&source->ids[TRACE_ID_NAME], &source->new_names, sizeof blank_name, is_first,
                        &blank_name, &t->names, &t->name_count);
    if (!status)
        status = unify_names(t, &source->ids[TRACE_ID_NAME], source->new_names.count);
    if (!status)
        status = number(&source->ids[TRACE_ID_PROCESS], &source->new_processes, sizeof blank_process,
                        is_first, &blank_process, &t->processes, &t->process_count);
    if (!status)
        status = number(&source->ids[TRACE_ID_TRACK], &source->new_tracks, sizeof blank_track, is_first,
                        &blank_track, &t->tracks, &t->track_count);
    if (!status)
        status = number(&source->ids[TRACE_ID_CLOCK], &source->new_clocks, sizeof blank_clock, is_first,
                        &blank_clock, &t->clocks, &t->clock_count);
    if (!status)
        status =
            number(&source->ids[TRACE_ID_DESCRIPTION], &source->new_descriptions, sizeof blank_description,
                   is_first, &blank_description, &t->descriptions, &t->description_count);
    if (!(t->flags & READER_KEEP_DEFINITIONS)) /* the tables have it all */
        free_numbered(source);
    return status;
}

/* Every source has the host clock as its clock 0, and all hosts' clocks are clock 0 of the trace. */
static int prepare_clocks(struct source *source, bool is_first)
{
    static const struct trace_clock host = {.id = TRACE_HOST_CLOCK, .ticks_per_second = 1e9, .name = "host"};
    struct trace_clock *clocks = source->new_clocks.items;
    size_t kept = 0;
    bool has_host = false;
    for (size_t i = 0; i < source->new_clocks.count; i++) {
        has_host |= clocks[i].id == TRACE_HOST_CLOCK;
        if (is_first || clocks[i].id != TRACE_HOST_CLOCK)
            clocks[kept++] = clocks[i];
    }
    source->new_clocks.count = kept;
    return is_first && !has_host && !vector_add(&source->new_clocks, &host, sizeof host) ? -ENOMEM : 0;
}

static uint32_t map_clock(const struct source *source, uint32_t id)
{
    uint32_t clock = id == TRACE_HOST_CLOCK ? id : reader_id(source, TRACE_ID_CLOCK, id);
    return clock == TRACE_NONE ? TRACE_HOST_CLOCK : clock;
}

/* References inside the definitions, from the ids of the source to those of the trace. */
static void map_references(struct trace *t, const struct source *source, size_t first_process,
                           size_t first_track)
{
    for (size_t i = first_process; i < t->process_count; i++)
        t->processes[i].parent = reader_id(source, TRACE_ID_PROCESS, t->processes[i].parent);
    for (size_t i = first_track; i < t->track_count; i++) {
        t->tracks[i].process = reader_id(source, TRACE_ID_PROCESS, t->tracks[i].process);
        t->tracks[i].parent = reader_id(source, TRACE_ID_TRACK, t->tracks[i].parent);
        t->tracks[i].clock = map_clock(source, t->tracks[i].clock);
    }
}

static int collect_points(struct trace *t)
{
    size_t total = 0;
    for (size_t i = 0; i < t->source_count; i++)
        total += t->sources[i].new_points.count;
    t->points = malloc((total + 1) * sizeof *t->points);
    if (!t->points)
        return -ENOMEM;
    for (size_t i = 0; i < t->source_count; i++) {
        const struct source *source = &t->sources[i];
        const struct trace_clock_point *points = source->new_points.items;
        for (size_t k = 0; k < source->new_points.count; k++) {
            t->points[t->point_count] = points[k];
            t->points[t->point_count++].clock = map_clock(source, points[k].clock);
        }
    }
    return clocks_prepare(t);
}

static int collect_totals(struct trace *t)
{
    t->track_totals = calloc(t->track_count + 1, sizeof *t->track_totals);
    size_t open_zones = 0;
    for (size_t i = 0; i < t->source_count; i++)
        open_zones += t->sources[i].open_zones.count;
    t->open_zones = malloc((open_zones + 1) * sizeof *t->open_zones);
    if (!t->track_totals || !t->open_zones)
        return -ENOMEM;
    for (size_t i = 0; i < t->source_count; i++) {
        const struct source *source = &t->sources[i];
        const struct track_total *totals = source->totals.items;
        for (size_t k = 0; k < source->totals.count; k++) {
            uint32_t track = reader_id(source, TRACE_ID_TRACK, totals[k].track);
            if (track == TRACE_NONE)
                continue;
            struct track_total *sum = &t->track_totals[track];
            sum->zones = saturating_add_u64(sum->zones, totals[k].zones);
            sum->depths = totals[k].depths > sum->depths ? totals[k].depths : sum->depths;
        }
        const struct trace_open_zone *zones = source->open_zones.items;
        for (size_t k = 0; k < source->open_zones.count; k++) {
            struct trace_open_zone zone = zones[k];
            zone.track = reader_id(source, TRACE_ID_TRACK, zone.track);
            zone.name = reader_id(source, TRACE_ID_NAME, zone.name);
            if (zone.track == TRACE_NONE || zone.depth > TRACE_MAX_DEPTH)
                continue; /* of a file that is damaged: no zone can be there */
            struct track_total *sum = &t->track_totals[zone.track];
            sum->open_depths = zone.depth >= sum->open_depths ? zone.depth + 1 : sum->open_depths;
            zone.start_ticks = zone.start;
            zone.seen_ticks = zone.seen;
            zone.start = trace_host_ns(t, t->tracks[zone.track].clock, zone.start);
            zone.seen = zone.seen ? trace_host_ns(t, t->tracks[zone.track].clock, zone.seen) : 0;
            t->open_zones[t->open_zone_count++] = zone;
        }
    }
    return 0;
}

/* --- losses --- */

static int load_losses(struct trace *t, const struct entry *entry, const struct block_view *view)
{
    static const uint16_t ids[] = {ROW_PROCESS, ROW_TRACK, ROW_KIND, ROW_TIME, ROW_END, ROW_SIZE, ROW_PARTS};
    const struct source *source = &t->sources[entry->source];
    size_t n = view->header.count;
    if (n > BLOCK_MAX_ROWS)
        return -EINVAL;
    uint64_t *v = malloc((7 * n + 1) * sizeof *v);
    int status =
        v && array_reserve(&t->losses, &t->loss_capacity, t->loss_count + n, sizeof *t->losses) ? 0 : -ENOMEM;
    for (size_t i = 0; i < 7 && !status; i++)
        status = block_decode_u64(view, &t->codec, ids[i], v + i * n, n);
    for (size_t i = 0; i < n && !status; i++)
        t->losses[t->loss_count++] = (struct trace_loss){.process = reader_id(source, TRACE_ID_PROCESS, v[i]),
                                                         .track = reader_id(source, TRACE_ID_TRACK, v[n + i]),
                                                         .reason = (uint32_t)v[2 * n + i],
                                                         .from_ns = v[3 * n + i],
                                                         .to_ns = v[4 * n + i],
                                                         .zones = v[5 * n + i],
                                                         .records = v[6 * n + i]};
    free(v);
    return status;
}

/* --- all of it --- */

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = *(const struct entry *const *)left, *b = *(const struct entry *const *)right;
    return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
}

static int load_entry(struct trace *t, const struct entry *entry, uint32_t type, struct error *err)
{
    struct block_view view;
    int status = reader_open_block(t, entry, true, &view, err);
    if (status)
        return status;
    status = type == TRACE_BLOCK_LOSSES ? load_losses(t, entry, &view)
                                        : load_block(t, &t->sources[entry->source], &view);
    return status ? reader_decode_error(t, entry, status, err) : 0;
}

/* In the order in which they were written, so that the newest definition is the last: the index of a growing file lists
 * its newest blocks first. */
static int load_all(struct trace *t, uint32_t type, struct error *err)
{
    const struct entry **order = malloc((t->entry_count + 1) * sizeof(struct entry *));
    size_t count = 0;
    int status = 0;
    if (!order)
        return error_set_errno(err, ENOMEM, "%s", t->path);
    for (size_t i = 0; i < t->entry_count; i++) {
        if (t->entries[i].block.type == type)
            order[count++] = &t->entries[i];
    }
    qsort(order, count, sizeof *order, compare_entries);
    for (size_t i = 0; i < count && status == 0; i++)
        status = load_entry(t, order[i], type, err);
    free(order);
    return status;
}

int definitions_load(struct trace *t, struct error *err)
{
    int status = load_all(t, TRACE_BLOCK_DEFINITIONS, err);
    if (status)
        return status;
    for (size_t i = 0; i < t->source_count && !status; i++) {
        size_t first_process = t->process_count, first_track = t->track_count;
        status = prepare_clocks(&t->sources[i], i == 0);
        if (!status)
            status = number_source(t, &t->sources[i], i == 0);
        if (!status)
            map_references(t, &t->sources[i], first_process, first_track);
    }
    t->shown_parts = malloc((t->most_parts + 1) * sizeof *t->shown_parts);
    if (!status && !t->shown_parts)
        status = -ENOMEM;
    if (!status)
        status = collect_points(t);
    if (!status)
        status = collect_totals(t);
    intern_forget_index(&t->texts); /* all of them are there */
    if (status)
        return error_set_errno(err, -status, "%s", t->path);
    return load_all(t, TRACE_BLOCK_LOSSES, err);
}
