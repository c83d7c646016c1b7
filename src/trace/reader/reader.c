/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a trace, and the questions that need no decoding.
 *
 * The file is read with pread into memory of our own: a mapping would be killed by SIGBUS when someone
 * truncates the file, and saves nothing that can be measured on blocks of 4 to 64 KiB. */
#include "trace/reader/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/open_regular.h"

/* --- bytes --- */

bool vector_add(struct vector *vector, const void *item, size_t size)
{
    void *at = vector_grow(vector, 1, size);
    if (!at)
        return false;
    memcpy(at, item, size);
    vector->count++;
    return true;
}

void *vector_grow(struct vector *vector, size_t more, size_t size)
{
    if (!array_reserve(&vector->items, &vector->capacity, vector->count + more + 1, size))
        return NULL;
    return (uint8_t *)vector->items + vector->count * size;
}

int reader_damaged(const struct trace *t, uint64_t offset, const char *what, struct error *err)
{
    return error_set(err, EINVAL, "%s: damaged at byte %" PRIu64 ": %s%s", t->path, offset, what,
                     t->flags & TRACE_OPEN_SALVAGE ? "" : " (--salvage reads what is whole)");
}

void reader_update_size(struct trace *t)
{
    struct stat status;
    if (t->fd >= 0 && fstat(t->fd, &status) == 0 && (uint64_t)status.st_size > t->size)
        t->size = (uint64_t)status.st_size;
}

const uint8_t *reader_bytes_up_to(struct trace *t, uint64_t offset, size_t *length, struct error *err)
{
    if (offset >= t->size) {
        reader_damaged(t, offset, "the file ends here", err);
        return NULL;
    }
    if (*length > t->size - offset)
        *length = (size_t)(t->size - offset);
    if (t->memory)
        return t->memory + offset;
    bytes_clear(&t->buffer);
    if (!bytes_reserve(&t->buffer, *length)) {
        error_set_errno(err, ENOMEM, "%s", t->path);
        return NULL;
    }
    size_t done = 0;
    while (done < *length) {
        ssize_t got = pread(t->fd, t->buffer.data + done, *length - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            error_set_errno(err, errno, "%s: cannot be read at byte %" PRIu64, t->path, offset + done);
            return NULL;
        }
        if (got == 0)
            break;
        done += (size_t)got;
    }
    *length = done;
    if (done == 0)
        reader_damaged(t, offset, "the file was cut short while it was read", err);
    return done ? t->buffer.data : NULL;
}

const uint8_t *reader_bytes(struct trace *t, uint64_t offset, size_t length, struct error *err)
{
    size_t got = length;
    const uint8_t *data = reader_bytes_up_to(t, offset, &got, err);
    if (data && got < length) {
        reader_damaged(t, offset + got, "the file ends in the middle of a block", err);
        return NULL;
    }
    return data;
}

int reader_open_block(struct trace *t, const struct entry *entry, bool whole, struct block_view *view,
                      struct error *err)
{
    const struct trace_block *block = &entry->block;
    size_t length = whole ? (size_t)block->size : entry->prefix_size;
    if (block->size > BLOCK_MAX_BYTES || length > block->size || length < BLOCK_FIXED_BYTES)
        return reader_damaged(t, block->offset, "the index names a block of a wrong size", err);
    if (t->stop && __atomic_load_n(t->stop, __ATOMIC_RELAXED))
        return error_set(err, ECANCELED, "%s: nobody waits for the answer any more", t->path);
    const uint8_t *data = reader_bytes(t, block->offset, length, err);
    if (!data)
        return err && err->code ? -err->code : -EINVAL;
    if (block_open(view, data, length))
        return reader_damaged(t, block->offset, "no whole block header", err);
    if (view->header.type != block->type || view->header.total_size != block->size ||
        view->header.count != block->count || view->header.sequence != entry->sequence)
        return reader_damaged(t, block->offset, "the block is not the one that the index names", err);
    return 0;
}

int reader_decode_error(const struct trace *t, const struct entry *entry, int status, struct error *err)
{
    if (status == 0)
        return 0;
    if (status == -ENOMEM)
        return error_set_errno(err, ENOMEM, "%s", t->path);
    return reader_damaged(t, entry->block.offset, "a column of this block cannot be read", err);
}

uint32_t reader_source(struct trace *t, const uint8_t *id)
{
    for (size_t i = t->source_count; i > 0; i--)
        if (memcmp(t->sources[i - 1].id, id, SOURCE_BYTES) == 0)
            return (uint32_t)i - 1;
    if (t->source_count >= UINT32_MAX - 1 ||
        !array_reserve(&t->sources, &t->source_capacity, t->source_count + 1, sizeof *t->sources))
        return UINT32_MAX;
    t->sources[t->source_count] = (struct source){0};
    memcpy(t->sources[t->source_count].id, id, SOURCE_BYTES);
    return (uint32_t)t->source_count++;
}

/* --- open and close --- */

static int compare_sequence(const void *left, const void *right)
{
    const struct entry *a = *(struct entry *const *)left, *b = *(struct entry *const *)right;
    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    if (a->sequence != b->sequence)
        return a->sequence < b->sequence ? -1 : 1;
    if (a->is_damaged != b->is_damaged)
        return a->is_damaged ? 1 : -1;
    return a < b ? -1 : a > b;
}

/* Zones by track once more, from the blocks that are left. */
static int recount_totals(struct trace *t, struct error *err)
{
    struct block_view view;
    for (size_t i = 0; i < t->source_count; i++)
        t->sources[i].totals.count = 0;
    for (size_t i = 0; i < t->entry_count; i++) {
        if (t->entries[i].block.type != TRACE_BLOCK_ZONES || t->entries[i].is_damaged)
            continue;
        int status = reader_open_block(t, &t->entries[i], false, &view, err);
        if (!status)
            status = reader_decode_error(t, &t->entries[i], index_add_totals_of_block(t, &view), err);
        if (status)
            return status;
    }
    return 0;
}

/* The same segment twice in a concatenation counts once. */
static int drop_duplicates(struct trace *t, struct error *err)
{
    if (t->info.segment_count < 2 && !t->info.is_salvaged)
        return 0;
    struct entry **order = malloc((t->entry_count + 1) * sizeof(struct entry *));
    if (!order)
        return error_set_errno(err, ENOMEM, "%s", t->path);
    for (size_t i = 0; i < t->entry_count; i++)
        order[i] = &t->entries[i];
    qsort(order, t->entry_count, sizeof *order, compare_sequence);
    for (size_t i = 1; i < t->entry_count; i++)
        if (order[i]->source == order[i - 1]->source && order[i]->sequence == order[i - 1]->sequence)
            order[i]->is_duplicate = true;
    free(order);
    size_t kept = 0;
    for (size_t i = 0; i < t->entry_count; i++)
        if (!t->entries[i].is_duplicate)
            t->entries[kept++] = t->entries[i];
    bool had_any = kept < t->entry_count;
    t->entry_count = kept;
    return had_any ? recount_totals(t, err) : 0;
}

static void count_rows(struct trace_info *info, const struct trace_block *block)
{
    switch (block->type) {
    case TRACE_BLOCK_ZONES:
        info->zones += block->count;
        info->zone_blocks++;
        info->zone_bytes += block->size;
        break;
    case TRACE_BLOCK_POINTS:
        info->points += block->count;
        break;
    case TRACE_BLOCK_COUNTERS:
        info->counters += block->count;
        break;
    case TRACE_BLOCK_MEMORY:
        info->memory_events += block->count;
        break;
    case TRACE_BLOCK_OPS:
        info->ops += block->count;
        break;
    case TRACE_BLOCK_RUNS:
        info->runs += block->count;
        break;
    case TRACE_BLOCK_SAMPLES:
        info->samples += block->count;
        break;
    case TRACE_BLOCK_LOCKS:
        info->locks += block->count;
        break;
    default:
        break;
    }
}

/* Decides when the thread of each open zone was last seen, for every view, and lets the trace reach from the first open
 * zone to that moment. A trace that does not say it (opscope 0.1) is taken to have seen the thread until its process
 * ended, or else until the last row. */
static void open_zones_finish(struct trace *t)
{
    struct trace_info *info = &t->info;
    uint64_t last_row_ns = info->end_ns;
    for (size_t i = 0; i < t->open_zone_count; i++) {
        struct trace_open_zone *zone = &t->open_zones[i];
        const struct trace_process *process = trace_get_process(t, t->tracks[zone->track].process);
        struct track_total *track = &t->track_totals[zone->track];
        if (!zone->seen)
            zone->seen = process && process->end_ns ? process->end_ns : last_row_ns;
        zone->seen = zone->seen > zone->start ? zone->seen : zone->start;
        track->seen_ns = zone->seen > track->seen_ns ? zone->seen : track->seen_ns;
        info->start_ns = zone->start < info->start_ns ? zone->start : info->start_ns;
        info->end_ns = zone->seen > info->end_ns ? zone->seen : info->end_ns;
    }
}

/* Where the rows of a damaged block are missing. */
static void lose_block(struct trace *t, const struct entry *entry)
{
    const struct trace_block *block = &entry->block;
    bool is_zones = block->type == TRACE_BLOCK_ZONES;
    if (!array_reserve(&t->losses, &t->loss_capacity, t->loss_count + 1, sizeof *t->losses))
        return; /* the block is counted as damaged all the same */
    t->losses[t->loss_count++] = (struct trace_loss){
        .process = block->track < t->track_count ? t->tracks[block->track].process : TRACE_NONE,
        .track = block->track < t->track_count ? block->track : TRACE_NONE,
        .reason = TRACE_LOSS_DAMAGED,
        .from_ns = entry->first_ns,
        .to_ns = entry->last_ns,
        .zones = is_zones ? block->count : 0,
        .records = is_zones ? 0 : block->count};
}

/* Global ids and host times into the index; the sums of `info`. */
static void finish_index(struct trace *t)
{
    struct trace_info *info = &t->info;
    size_t kept = 0;
    info->start_ns = UINT64_MAX;
    for (size_t i = 0; i < t->entry_count; i++) {
        struct entry *entry = &t->entries[i];
        struct trace_block *block = &entry->block;
        const struct source *source = &t->sources[entry->source];
        block->track = reader_id(source, TRACE_ID_TRACK, entry->stored_track);
        block->clock = reader_id(source, TRACE_ID_CLOCK, entry->stored_clock);
        if (block->clock == TRACE_NONE)
            block->clock = TRACE_HOST_CLOCK;
        entry->first_ns = trace_host_ns(t, block->clock, block->t_first);
        entry->last_ns = trace_host_ns(t, block->clock, block->t_last);
        entry->min_start_ns = trace_host_ns(t, block->clock, block->min_start);
        if (index_has_times(block->type) && block->count) {
            info->start_ns = entry->min_start_ns < info->start_ns ? entry->min_start_ns : info->start_ns;
            info->end_ns = entry->last_ns > info->end_ns ? entry->last_ns : info->end_ns;
        }
        if (entry->is_damaged) {
            lose_block(t, entry);
            continue;
        }
        count_rows(info, block);
        t->entries[kept++] = *entry;
    }
    t->entry_count = kept;
    open_zones_finish(t);
    if (info->start_ns == UINT64_MAX)
        info->start_ns = 0;
    for (size_t i = 0; i < t->loss_count; i++) {
        if (!trace_loss_is_lost(t->losses[i].reason))
            continue;
        info->lost_zones = saturating_add_u64(info->lost_zones, t->losses[i].zones);
        info->lost_records = saturating_add_u64(info->lost_records, t->losses[i].records);
    }
    info->size_bytes = t->size;
    info->program = t->program ? t->program : "";
    info->command = t->command ? t->command : "";
    info->host = t->host ? t->host : "";
}

static int load(struct trace *t, struct error *err)
{
    struct error local = {0};
    int status = t->flags & TRACE_OPEN_SALVAGE ? salvage_index(t, &local) : index_load(t, &local);
    if (!status)
        status = drop_duplicates(t, &local);
    if (!status)
        status = definitions_load(t, &local);
    if (!status)
        finish_index(t);
    if (status && err)
        *err = local;
    return status;
}

static int open_trace(struct trace **out, struct trace *t, struct error *err)
{
    int status = load(t, err);
    if (status)
        trace_close(t);
    else
        *out = t;
    return status;
}

static struct trace *new_trace(const char *path, unsigned flags)
{
    struct trace *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->fd = -1;
    t->flags = flags;
    t->path = strdup(path);
    if (!t->path) {
        free(t);
        return NULL;
    }
    return t;
}

int trace_open(struct trace **out, const char *path, unsigned flags, struct error *err)
{
    struct trace *t = new_trace(path, flags);
    struct stat status;
    *out = NULL;
    if (!t)
        return error_set_errno(err, ENOMEM, "%s", path);
    int result = t->fd = open_regular(path, err);
    if (result >= 0 && fstat(t->fd, &status) != 0)
        result = error_set_errno(err, errno, "%s", path);
    if (result < 0) {
        trace_close(t);
        return result;
    }
    t->size = (uint64_t)status.st_size;
    return open_trace(out, t, err);
}

int trace_open_memory(struct trace **out, const void *data, size_t length, unsigned flags, struct error *err)
{
    struct trace *t = new_trace("trace in memory", flags);
    *out = NULL;
    if (!t)
        return error_set_errno(err, ENOMEM, "trace in memory");
    t->memory = length ? data : (const void *)"";
    t->size = length;
    return open_trace(out, t, err);
}

int trace_open_again(struct trace **out, const struct trace *of, unsigned flags, struct error *err)
{
    struct stat status;
    *out = NULL;
    if (of->fd < 0)
        return trace_open_memory(out, of->memory, (size_t)of->size, of->flags | flags, err);
    struct trace *t = new_trace(of->path, of->flags | flags);
    if (!t)
        return error_set_errno(err, ENOMEM, "%s", of->path);
    t->fd = fcntl(of->fd, F_DUPFD_CLOEXEC, 0);
    if (t->fd < 0 || fstat(t->fd, &status) != 0) {
        int code = errno;
        trace_close(t);
        return error_set_errno(err, code, "%s", of->path);
    }
    t->size = (uint64_t)status.st_size;
    return open_trace(out, t, err);
}

void trace_follow(const struct trace *t, bool is_wanted)
{
    struct flock lock = {
        .l_type = is_wanted ? F_RDLCK : F_UNLCK, .l_whence = SEEK_SET, .l_start = FOLLOW_OFFSET, .l_len = 1};
    if (t->fd >= 0)
        fcntl(t->fd, F_OFD_SETLK, &lock);
}

void trace_set_stop(struct trace *t, const bool *stop)
{
    t->stop = stop;
}

void trace_close(struct trace *t)
{
    if (!t)
        return;
    if (t->fd >= 0)
        close(t->fd);
    cache_free(t);
    lod_index_free(t);
    source_files_free(t->source_files);
    clocks_free(t);
    for (size_t i = 0; i < t->source_count; i++)
        source_free(&t->sources[i]);
    free(t->sources);
    free(t->entries);
    free(t->processes);
    free(t->tracks);
    free(t->track_totals);
    free(t->names);
    free(t->clocks);
    free(t->points);
    free(t->losses);
    free(t->open_zones);
    free(t->parts);
    free(t->shown_parts);
    free(t->descriptions);
    free(t->program);
    free(t->command);
    free(t->host);
    intern_free(&t->texts);
    column_codec_free(&t->codec);
    bytes_free(&t->buffer);
    free(t->path);
    free(t);
}

/* --- questions --- */

const struct trace_info *trace_get_info(const struct trace *t)
{
    return &t->info;
}

size_t trace_process_count(const struct trace *t)
{
    return t->process_count;
}

const struct trace_process *trace_get_process(const struct trace *t, uint32_t id)
{
    return id < t->process_count ? &t->processes[id] : NULL;
}

size_t trace_track_count(const struct trace *t)
{
    return t->track_count;
}

const struct trace_track *trace_get_track(const struct trace *t, uint32_t id)
{
    return id < t->track_count ? &t->tracks[id] : NULL;
}

uint64_t trace_track_zone_count(const struct trace *t, uint32_t track)
{
    return track < t->track_count ? t->track_totals[track].zones : 0;
}

uint32_t trace_track_depth_count(const struct trace *t, uint32_t track)
{
    return track < t->track_count ? t->track_totals[track].depths : 0;
}

uint32_t trace_track_all_depths(const struct trace *t, uint32_t track)
{
    uint32_t ended = trace_track_depth_count(t, track);
    uint32_t open = track < t->track_count ? t->track_totals[track].open_depths : 0;
    return ended > open ? ended : open;
}

uint64_t trace_track_seen_ns(const struct trace *t, uint32_t track)
{
    return track < t->track_count && t->track_totals[track].seen_ns ? t->track_totals[track].seen_ns
                                                                    : t->info.end_ns;
}

size_t trace_name_count(const struct trace *t)
{
    return t->name_count;
}

const struct trace_name *trace_get_name(const struct trace *t, uint32_t id)
{
    static const struct trace_name unknown = {.id = TRACE_NONE, .name = "?", .function = "", .file = ""};
    return id < t->name_count ? &t->names[id] : &unknown;
}

size_t trace_clock_count(const struct trace *t)
{
    return t->clock_count;
}

const struct trace_clock *trace_get_clock(const struct trace *t, uint32_t id)
{
    return id < t->clock_count ? &t->clocks[id] : NULL;
}

const struct trace_clock_point *trace_get_clock_points(const struct trace *t, size_t *count)
{
    *count = t->point_count;
    return t->points;
}

const struct trace_loss *trace_get_losses(const struct trace *t, size_t *count)
{
    *count = t->loss_count;
    return t->losses;
}

const struct trace_open_zone *trace_get_open_zones(const struct trace *t, size_t *count)
{
    *count = t->open_zone_count;
    return t->open_zones;
}

const struct trace_part *trace_get_description(const struct trace *t, uint32_t id, size_t *count)
{
    *count = 0;
    if (id >= t->description_count)
        return NULL;
    *count = t->descriptions[id].part_count;
    return *count ? reader_parts(t, &t->descriptions[id]) : NULL;
}

void trace_forget_descriptions(struct trace *t)
{
    free(t->descriptions);
    free(t->parts);
    t->descriptions = NULL;
    t->parts = NULL;
    t->description_count = t->part_count = t->part_capacity = 0;
}

/* --- blocks --- */

const struct entry *reader_entry(const struct trace *t, const struct trace_block *block)
{
    const struct entry *entry = (const struct entry *)(const void *)block;
    if (entry >= t->entries && entry < t->entries + t->entry_count)
        return entry;
    for (size_t i = 0; i < t->entry_count; i++) /* a copy of an index entry */
        if (t->entries[i].block.offset == block->offset && t->entries[i].block.type == block->type)
            return &t->entries[i];
    return NULL;
}

static bool matches(const struct entry *entry, const struct trace_block_filter *filter)
{
    const struct trace_block *block = &entry->block;
    if (filter->type && block->type != filter->type)
        return false;
    if (filter->track_plus_1 && block->track != filter->track_plus_1 - 1 && block->track != TRACE_NONE)
        return false;
    if (!index_has_times(block->type))
        return true;
    return entry->last_ns >= filter->since_ns &&
           (filter->until_ns == 0 || entry->min_start_ns <= filter->until_ns);
}

const struct trace_block *trace_next_block(const struct trace *t, const struct trace_block_filter *filter,
                                           size_t *position)
{
    while (*position < t->entry_count) {
        const struct entry *entry = &t->entries[(*position)++];
        if (!filter || matches(entry, filter))
            return &entry->block;
    }
    return NULL;
}
