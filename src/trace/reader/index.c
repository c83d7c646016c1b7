/* SPDX-License-Identifier: Apache-2.0 */
/* The index of a file: segment after segment, each by the checkpoint that its header slots name. A finished
 * segment needs nothing else. Of one that still grows (or whose writer died) the blocks after the newest
 * checkpoint are walked one by one, up to the first that is not whole. */
#include "trace/reader/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_copy.h"
#include "base/checked.h"
#include "base/hash.h"

#define MAX_SEGMENTS 65536u
#define WALK_BYTES 4096u /* read at once when walking from header to header */

/* --- entries --- */

static struct entry *add_entry(struct trace *t)
{
    if (!array_reserve(&t->entries, &t->entry_capacity, t->entry_count + 1, sizeof *t->entries))
        return NULL;
    t->entries[t->entry_count] = (struct entry){0};
    return &t->entries[t->entry_count++];
}

bool index_has_times(uint32_t type)
{
    return type == TRACE_BLOCK_ZONES || trace_block_has_rows(type);
}

int index_add_block(struct trace *t, uint64_t offset, const struct block_header *header)
{
    uint32_t source = reader_source(t, header->source);
    struct entry *entry = source == UINT32_MAX ? NULL : add_entry(t);
    if (!entry)
        return -ENOMEM;
    if (header->sequence >= t->sources[source].last_sequence)
        t->sources[source].last_sequence = header->sequence;
    entry->block = (struct trace_block){.type = header->type,
                                        .count = header->count,
                                        .offset = offset,
                                        .size = header->total_size,
                                        .t_first = header->t_first,
                                        .t_last = header->t_last,
                                        .min_start = header->min_start};
    entry->sequence = header->sequence;
    entry->prefix_size = header->prefix_size;
    entry->source = source;
    entry->stored_track = header->track;
    entry->stored_clock = header->clock;
    entry->lod_level = header->lod_level;
    return 0;
}

/* --- segment header --- */

bool index_read_slots(const uint8_t *header, struct slot *slot)
{
    bool found = false;
    for (unsigned i = 0; i < 2; i++) {
        const uint8_t *at = header + SEGMENT_SLOT_OFFSET + i * SEGMENT_SLOT_BYTES;
        if (get_u32(at + 60) != hash_fold32(hash_bytes(at, 60, SEGMENT_HASH_SEED)))
            continue;
        if (found && get_u64(at) <= slot->sequence)
            continue;
        *slot = (struct slot){.sequence = get_u64(at),
                              .checkpoint_offset = get_u64(at + 8),
                              .checkpoint_size = get_u64(at + 16),
                              .length = get_u64(at + 24),
                              .state = get_u32(at + 32)};
        found = true;
    }
    return found;
}

/* The trailer at the end of the file, in case both slots are broken: it says the same of a finished segment. */
static bool read_trailer(struct trace *t, uint64_t start, struct slot *slot)
{
    if (t->size - start < SEGMENT_HEADER_BYTES + SEGMENT_TRAILER_BYTES)
        return false;
    const uint8_t *at = reader_bytes(t, t->size - SEGMENT_TRAILER_BYTES, SEGMENT_TRAILER_BYTES, NULL);
    if (!at || memcmp(at, TRAILER_MAGIC, MAGIC_BYTES) != 0 ||
        get_u32(at + 60) != hash_fold32(hash_bytes(at, 60, SEGMENT_HASH_SEED)) ||
        get_u64(at + 40) != t->size - start)
        return false;
    *slot = (struct slot){.checkpoint_offset = get_u64(at + 24),
                          .checkpoint_size = get_u64(at + 32),
                          .length = get_u64(at + 40),
                          .state = SEGMENT_FINISHED};
    return true;
}

static bool header_hash_matches(const uint8_t *header)
{
    uint8_t copy[SEGMENT_HEADER_BYTES];
    memcpy(copy, header, sizeof copy);
    memset(copy + SEGMENT_SLOT_OFFSET, 0, 2 * SEGMENT_SLOT_BYTES);
    put_u32(copy + SEGMENT_HASH_OFFSET, 0);
    return hash_fold32(hash_bytes(copy, sizeof copy, SEGMENT_HASH_SEED)) ==
           get_u32(header + SEGMENT_HASH_OFFSET);
}

static char *take_text(const uint8_t *header, size_t *at)
{
    size_t length = strnlen((const char *)header + *at, SEGMENT_HEADER_BYTES - *at);
    char *text = text_copy((const char *)header + *at, length);
    *at += length + 1;
    if (*at > SEGMENT_HEADER_BYTES)
        *at = SEGMENT_HEADER_BYTES;
    return text;
}

int index_read_segment_header(struct trace *t, uint64_t offset, const uint8_t *header, struct error *err)
{
    uint32_t version = get_u32(header + 8), needs = get_u32(header + 12);
    if (memcmp(header, SEGMENT_MAGIC, MAGIC_BYTES) != 0) {
        if (offset == 0)
            return error_set(err, EINVAL, "%s: not an opscope trace", t->path);
        return reader_damaged(t, offset, "no segment begins here", err);
    }
    if (!header_hash_matches(header))
        return reader_damaged(t, offset, "the segment header is damaged", err);
    if (needs > TRACE_FORMAT_VERSION)
        return error_set(
            err, EINVAL,
            "%s: written in trace format %u, which needs a newer opscope (this one reads up to %u)", t->path,
            version, TRACE_FORMAT_VERSION);
    if (t->info.segment_count++ == 0) {
        size_t at = SEGMENT_TEXT_OFFSET;
        t->program = take_text(header, &at);
        t->host = take_text(header, &at);
        t->command = take_text(header, &at);
        t->begun_unix_ns = get_u64(header + 40);
        t->max_size_bytes = get_u64(header + 48);
        t->info.format_version = version;
        if (!t->program || !t->host || !t->command)
            return error_set_errno(err, ENOMEM, "%s", t->path);
    }
    if (get_u32(header + 32) & SEGMENT_RECOVERED)
        t->info.is_recovered = true;
    t->last_segment_offset = offset;
    if (t->info.segment_count > MAX_SEGMENTS)
        return error_set(err, EINVAL, "%s: more than %u segments", t->path, MAX_SEGMENTS);
    if (reader_source(t, header + 16) == UINT32_MAX)
        return error_set_errno(err, ENOMEM, "%s", t->path);
    return 0;
}

/* --- checkpoints --- */

int index_load_open_zones(struct trace *t, const struct block_view *view)
{
    uint32_t index = reader_source(t, view->header.source);
    if (index == UINT32_MAX)
        return -ENOMEM;
    struct source *source = &t->sources[index];
    size_t count = block_count(view, CHECKPOINT_OPEN_TRACK);
    if (view->header.sequence > source->last_sequence)
        source->last_sequence = view->header.sequence;
    if (source->has_checkpoint && source->checkpoint_sequence > view->header.sequence)
        return 0;
    if (count > BLOCK_MAX_ROWS)
        return -EINVAL;
    source->has_checkpoint = true;
    source->checkpoint_sequence = view->header.sequence;
    source->open_zones.count = 0;
    uint64_t *starts = calloc(count + 1, 3 * sizeof *starts + 3 * sizeof(uint32_t));
    struct trace_open_zone *zones = vector_grow(&source->open_zones, count, sizeof *zones);
    if (!starts || !zones) {
        free(starts);
        return -ENOMEM;
    }
    uint64_t *seen = starts + count, *child = seen + count;
    uint32_t *tracks = (uint32_t *)(child + count), *depths = tracks + count, *names = depths + count;
    int status = block_decode_u64(view, &t->codec, CHECKPOINT_OPEN_START, starts, count);
    if (!status)
        status = block_decode_u32(view, &t->codec, CHECKPOINT_OPEN_TRACK, tracks, count);
    if (!status)
        status = block_decode_u32(view, &t->codec, CHECKPOINT_OPEN_DEPTH, depths, count);
    if (!status)
        status = block_decode_u32(view, &t->codec, CHECKPOINT_OPEN_NAME, names, count);
    /* Traces of opscope 0.1 do not have these two. */
    if (!status && block_count(view, CHECKPOINT_OPEN_SEEN))
        status = block_decode_u64(view, &t->codec, CHECKPOINT_OPEN_SEEN, seen, count);
    if (!status && block_count(view, CHECKPOINT_OPEN_CHILD))
        status = block_decode_u64(view, &t->codec, CHECKPOINT_OPEN_CHILD, child, count);
    for (size_t i = 0; i < count && !status; i++)
        zones[i] = (struct trace_open_zone){.track = tracks[i],
                                            .depth = depths[i],
                                            .start = starts[i],
                                            .seen = seen[i] ? saturating_add_u64(starts[i], seen[i] - 1) : 0,
                                            .child = child[i],
                                            .name = names[i]};
    source->open_zones.count = status ? 0 : count;
    free(starts);
    return status;
}

static int load_totals(struct trace *t, struct source *source, const struct block_view *view)
{
    size_t count = block_count(view, CHECKPOINT_TRACK_ZONES);
    if (count > BLOCK_MAX_ROWS)
        return -EINVAL;
    uint64_t *values = malloc((3 * count + 1) * sizeof *values);
    struct track_total *totals = vector_grow(&source->totals, count, sizeof *totals);
    int status = values && totals ? 0 : -ENOMEM;
    if (!status)
        status = block_decode_u64(view, &t->codec, CHECKPOINT_TRACK_ID, values, count);
    if (!status)
        status = block_decode_u64(view, &t->codec, CHECKPOINT_TRACK_ZONES, values + count, count);
    if (!status)
        status = block_decode_u64(view, &t->codec, CHECKPOINT_TRACK_DEPTHS, values + 2 * count, count);
    for (size_t i = 0; i < count && !status; i++)
        totals[i] = (struct track_total){.track = (uint32_t)values[i],
                                         .zones = values[count + i],
                                         .depths = values[2 * count + i] <= TRACE_MAX_DEPTH
                                                       ? (uint32_t)values[2 * count + i]
                                                       : TRACE_MAX_DEPTH};
    if (!status)
        source->totals.count += count;
    free(values);
    return status;
}

#define ENTRY_COLUMNS 12u

/* The columns of the listed blocks, one after the other in one allocation. */
static int decode_entries(struct trace *t, const struct block_view *view, size_t count, uint64_t **out)
{
    static const uint16_t ids[ENTRY_COLUMNS] = {CHECKPOINT_TYPE,   CHECKPOINT_TRACK,  CHECKPOINT_CLOCK,
                                                CHECKPOINT_COUNT,  CHECKPOINT_OFFSET, CHECKPOINT_SIZE,
                                                CHECKPOINT_FIRST,  CHECKPOINT_LAST,   CHECKPOINT_MIN_START,
                                                CHECKPOINT_PREFIX, CHECKPOINT_LEVEL,  CHECKPOINT_SEQUENCE};
    uint64_t *values = malloc((count * ENTRY_COLUMNS + 1) * sizeof *values);
    *out = values;
    if (!values)
        return -ENOMEM;
    for (size_t i = 0; i < ENTRY_COLUMNS; i++) {
        int status = block_decode_u64(view, &t->codec, ids[i], values + i * count, count);
        if (status)
            return status;
    }
    return 0;
}

/* Adds the blocks that a checkpoint lists to the index. They lie between `first` and `end` of the segment
 * that begins at `start`, one after the other: so no block is in the index twice, whatever the file says. */
static int add_listed(struct trace *t, const struct block_view *view, uint64_t start, uint64_t first,
                      uint64_t end)
{
    size_t count = view->header.count;
    uint64_t *v;
    if (count > BLOCK_MAX_ROWS || count > end / BLOCK_FIXED_BYTES)
        return -EINVAL;
    int status = decode_entries(t, view, count, &v);
    for (size_t i = 0; i < count && !status; i++) {
        uint64_t size = v[5 * count + i], offset = v[4 * count + i];
        struct block_header header = {.type = (uint16_t)v[i],
                                      .total_size = size,
                                      .sequence = v[11 * count + i],
                                      .track = (uint32_t)v[count + i] - 1u,
                                      .clock = (uint32_t)v[2 * count + i],
                                      .count = (uint32_t)v[3 * count + i],
                                      .prefix_size = (uint32_t)v[9 * count + i],
                                      .t_first = v[6 * count + i],
                                      .t_last = v[6 * count + i] + v[7 * count + i],
                                      .lod_level = (uint8_t)v[10 * count + i]};
        header.min_start = header.t_last - v[8 * count + i];
        memcpy(header.source, view->header.source, SOURCE_BYTES);
        bool is_inside = size >= BLOCK_FIXED_BYTES && size <= BLOCK_MAX_BYTES && offset >= first &&
                         offset <= end && size <= end - offset && header.prefix_size <= size;
        first = offset + size;
        status = is_inside ? index_add_block(t, start + offset, &header) : -EINVAL;
    }
    free(v);
    return status;
}

/* One checkpoint; *previous is where the one before it lies, 0 when there is none or none is needed. */
static int load_checkpoint(struct trace *t, uint64_t start, uint64_t length, uint64_t offset, uint64_t size,
                           uint64_t *previous, struct error *err)
{
    struct block_view view;
    uint64_t info[CHECKPOINT_INFO_VALUES];
    if (offset > length || size > length - offset || size > BLOCK_MAX_BYTES)
        return reader_damaged(t, start, "the segment header names a checkpoint outside the file", err);
    const uint8_t *data = reader_bytes(t, start + offset, (size_t)size, err);
    if (!data)
        return err->code ? -err->code : -EINVAL;
    if (block_open(&view, data, (size_t)size) || view.header.type != TRACE_BLOCK_CHECKPOINT ||
        view.header.total_size != size || !block_is_intact(&view))
        return reader_damaged(t, start + offset, "the index is damaged", err);
    uint32_t source = reader_source(t, view.header.source);
    if (source == UINT32_MAX)
        return error_set_errno(err, ENOMEM, "%s", t->path);
    int status = block_decode_u64(&view, &t->codec, CHECKPOINT_INFO, info, CHECKPOINT_INFO_VALUES);
    *previous = status || info[CHECKPOINT_IS_FULL] ? 0 : info[CHECKPOINT_PREVIOUS];
    if (*previous >= offset)
        return reader_damaged(t, start + offset, "the index points forward", err);
    if (!status)
        status = add_listed(t, &view, start, *previous, offset);
    if (!status)
        status = load_totals(t, &t->sources[source], &view);
    if (!status)
        status = index_load_open_zones(t, &view);
    if (status == -ENOMEM)
        return error_set_errno(err, ENOMEM, "%s", t->path);
    if (status)
        return reader_damaged(t, start + offset, "the index cannot be read", err);
    return 0;
}

/* From the newest checkpoint back to the first; only the newest one's size is known beforehand. */
static int load_checkpoints(struct trace *t, uint64_t start, const struct slot *slot, uint64_t length,
                            struct error *err)
{
    uint64_t offset = slot->checkpoint_offset, size = slot->checkpoint_size;
    while (offset) {
        uint64_t previous = 0;
        int status = load_checkpoint(t, start, length, offset, size, &previous, err);
        if (status)
            return status;
        offset = previous;
        if (!offset)
            break;
        struct block_header header;
        const uint8_t *data = reader_bytes(t, start + offset, BLOCK_FIXED_BYTES, err);
        if (!data)
            return err->code ? -err->code : -EINVAL;
        if (block_read_fixed(data, BLOCK_FIXED_BYTES, &header))
            return reader_damaged(t, start + offset, "the index is damaged", err);
        size = header.total_size;
    }
    return 0;
}

/* --- the tail of a growing segment --- */

/* Zones of each track of a block that no checkpoint lists. */
int index_add_totals_of_block(struct trace *t, const struct block_view *view)
{
    uint32_t source = reader_source(t, view->header.source);
    struct groups groups = {0};
    int status = source == UINT32_MAX ? -ENOMEM : groups_decode(t, NULL, view, &groups);
    for (size_t i = 0; i < groups.count_all && !status; i++) {
        struct track_total total = {
            .track = groups.track[i], .depths = groups.depth[i] + 1, .zones = groups.count[i]};
        if (!vector_add(&t->sources[source].totals, &total, sizeof total))
            status = -ENOMEM;
    }
    groups_free(&groups);
    return status;
}

/* Takes one block; -EINVAL when it is not whole: that is where a growing file ends for now. */
static int take_tail_block(struct trace *t, uint64_t offset, uint64_t *size)
{
    struct block_view view;
    struct block_header header;
    size_t length = WALK_BYTES;
    const uint8_t *data = reader_bytes_up_to(t, offset, &length, NULL);
    if (!data || block_read_fixed(data, length, &header) || header.total_size > t->size - offset)
        return -EINVAL;
    bool is_zones = header.type == TRACE_BLOCK_ZONES;
    size_t need = is_zones ? header.prefix_size : header.header_size;
    if (need > length || header.type == TRACE_BLOCK_CHECKPOINT)
        length = header.type == TRACE_BLOCK_CHECKPOINT ? (size_t)header.total_size : need;
    data = reader_bytes(t, offset, length, NULL);
    if (!data || block_open(&view, data, length))
        return -EINVAL;
    int status = 0;
    if (header.type == TRACE_BLOCK_CHECKPOINT)
        status = block_is_intact(&view) ? index_load_open_zones(t, &view) : -EINVAL;
    else
        status = index_add_block(t, offset, &header);
    if (!status && is_zones) {
        status = index_add_totals_of_block(t, &view);
        if (status)
            t->entry_count--;
    }
    *size = header.total_size;
    return status;
}

/* Walks from the last checkpoint on. Stops at what is not a whole block; *end is that place. */
static int walk_tail(struct trace *t, uint64_t offset, uint64_t *end, struct error *err)
{
    uint64_t size;
    int status = 0;
    while (offset < t->size && (status = take_tail_block(t, offset, &size)) == 0)
        offset += size;
    *end = offset;
    return status == -ENOMEM ? error_set_errno(err, ENOMEM, "%s", t->path) : 0;
}

/* --- segments --- */

static int load_segment(struct trace *t, uint64_t start, uint64_t *end, struct error *err)
{
    uint8_t header[SEGMENT_HEADER_BYTES];
    struct slot slot;
    size_t length = sizeof header;
    const uint8_t *data = reader_bytes_up_to(t, start, &length, err);
    if (!data)
        return err->code ? -err->code : -EINVAL;
    if (length < sizeof header) {
        bool is_ours = length >= MAGIC_BYTES && memcmp(data, SEGMENT_MAGIC, MAGIC_BYTES) == 0;
        if (start == 0 && !is_ours)
            return error_set(err, EINVAL, "%s: not an opscope trace", t->path);
        return reader_damaged(t, start, "the file ends in a segment header", err);
    }
    memcpy(header, data, sizeof header);
    int status = index_read_segment_header(t, start, header, err);
    if (status)
        return status;
    if (!index_read_slots(header, &slot) && !read_trailer(t, start, &slot))
        return reader_damaged(t, start, "both slots of the segment header are damaged", err);
    if (slot.length > t->size - start) /* it may have grown since it was opened */
        reader_update_size(t);
    if (slot.length < SEGMENT_HEADER_BYTES || slot.length > t->size - start)
        return error_set(err, EINVAL,
                         "%s: cut short: %" PRIu64 " bytes of %" PRIu64
                         " are there (--salvage reads what is whole)",
                         t->path, t->size, (start + slot.length));
    status = load_checkpoints(t, start, &slot, slot.length, err);
    *end = start + slot.length;
    if (status || slot.state == SEGMENT_FINISHED)
        return status;
    t->info.is_complete = false;
    return walk_tail(t, *end, end, err);
}

/* What follows a segment is the next one. Behind a growing one there may be half a block. */
static bool is_segment_at(struct trace *t, uint64_t offset)
{
    size_t length = MAGIC_BYTES;
    const uint8_t *data = offset < t->size ? reader_bytes_up_to(t, offset, &length, NULL) : NULL;
    return data && length == MAGIC_BYTES && memcmp(data, SEGMENT_MAGIC, MAGIC_BYTES) == 0;
}

int index_load(struct trace *t, struct error *err)
{
    uint64_t offset = 0;
    t->info.is_complete = true;
    if (t->size == 0)
        return error_set(err, EINVAL, "%s: empty, not an opscope trace", t->path);
    while (offset < t->size) {
        int status = load_segment(t, offset, &offset, err);
        if (status)
            return status;
        t->whole_length = offset;
        if (offset < t->size && !t->info.is_complete && !is_segment_at(t, offset))
            break;
    }
    return 0;
}
