/* SPDX-License-Identifier: Apache-2.0 */
/* The growing file: segment header with its two slots, blocks one after the other, checkpoints, trailer.
 *
 * A full disk. Space is held ahead with fallocate, always 1 MiB more than the next block of rows needs. When
 * that fails, rows stop and are counted; definitions, losses, the last checkpoint and the trailer go into the
 * megabyte, so the file ends whole. Where fallocate is not supported a second file of that size is the
 * reserve, and RLIMIT_FSIZE is treated as the size of the disk. */
#include "trace/writer/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"

#define RESERVE_BYTES ((uint64_t)1 << 20)
#define SHORT_INDEX_ENTRIES 8192u /* what the reserve holds for certain */
#define MAX_ALLOCATION_STEP ((uint64_t)8 << 20)

/* --- space --- */

static int write_at(int fd, const void *data, size_t length, uint64_t offset)
{
    const uint8_t *at = data;
    while (length) {
        ssize_t written = pwrite(fd, at, length, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? -errno : -ENOSPC;
        at += written;
        offset += (uint64_t)written;
        length -= (size_t)written;
    }
    return 0;
}

/* fallocate up to `need`, in steps that grow with the file. 0, -ENOSPC and the like, or -EOPNOTSUPP. */
static int allocate(struct trace_writer *w, uint64_t need)
{
    uint64_t step = w->end / 8 < MAX_ALLOCATION_STEP ? w->end / 8 : MAX_ALLOCATION_STEP;
    for (uint64_t to = need + step;; to = need) {
        if (fallocate(w->fd, FALLOC_FL_KEEP_SIZE, (off_t)w->allocated_to, (off_t)(to - w->allocated_to)) ==
            0) {
            w->allocated_to = to;
            return 0;
        }
        if (errno == EINTR)
            continue;
        if (to == need)
            return errno == ENOSYS ? -EOPNOTSUPP : -errno;
    }
}

static char *reserve_path(const struct trace_writer *w)
{
    char *path;
    return asprintf(&path, "%s.partial.reserve", w->path) < 0 ? NULL : path;
}

/* A file full of bytes that stand in for the tail of the trace. */
static void make_reserve_file(struct trace_writer *w)
{
    char *path = reserve_path(w);
    uint8_t *bytes = malloc(RESERVE_BYTES);
    if (path)
        unlink(path);
    int fd = path && bytes ? open(path, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0600) : -1;
    if (fd >= 0) {
        uint64_t noise = 1; /* so that a compressing file system does not give us less than we ask */
        for (size_t i = 0; i < RESERVE_BYTES; i++) {
            noise = hash_mix(noise + i, UINT64_C(0x9e3779b97f4a7c15));
            bytes[i] = (uint8_t)noise;
        }
        (void)write_at(fd, bytes, RESERVE_BYTES, 0);
        close(fd);
        w->reserve_fd = 1;
    }
    free(bytes);
    free(path);
}

static void free_reserve_file(struct trace_writer *w)
{
    char *path = w->reserve_fd > 0 ? reserve_path(w) : NULL;
    if (path)
        unlink(path);
    free(path);
    w->reserve_fd = 0;
}

static int hold_space(struct trace_writer *w, size_t length)
{
    uint64_t need = w->end + length + w->reserve_bytes;
    if (need > w->size_limit)
        return -EFBIG;
    if (!w->can_allocate || need <= w->allocated_to)
        return 0;
    int status = allocate(w, need);
    if (status != -EOPNOTSUPP && status != -EINVAL)
        return status;
    w->can_allocate = false;
    make_reserve_file(w);
    return 0;
}

bool file_has_room(struct trace_writer *w, size_t length)
{
    return !w->is_full && hold_space(w, length) == 0;
}

static int set_full(struct trace_writer *w, int status)
{
    if (!w->is_full) {
        struct error err;
        error_set_errno(&err, -status, "%s: no more zones can be written", w->partial_path);
        w->is_full = true;
        w->full_status = status;
        definitions_drop_unused(w);
        free_reserve_file(w);
        writer_fail(w, status, &err);
    }
    return status;
}

static int append(struct trace_writer *w, const void *data, size_t length, bool is_rows)
{
    int status = 0;
    if (is_rows)
        status = w->is_full ? w->full_status : hold_space(w, length);
    if (!status) {
        status = write_at(w->fd, data, length, w->end);
        if (status && ftruncate(w->fd, (off_t)w->end) != 0) /* what is there of it is not a block */
            status = -errno;
    }
    if (status)
        return set_full(w, status);
    w->end += length;
    return 0;
}

/* --- file and segment --- */

static uint64_t file_size_limit(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur
                                                                                   : UINT64_MAX;
}

int file_open_regular(const char *path, int flags, struct error *err)
{
    struct stat about = {0};
    int fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (fd < 0)
        return errno == ELOOP ? error_set(err, ELOOP, "%s is in the way: a symbolic link", path)
                              : error_set_errno(err, errno, "%s: cannot be written", path);
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid())
        return fd;
    close(fd);
    return error_set(err, EEXIST, "%s is in the way: %s", path,
                     S_ISREG(about.st_mode) ? "a file of another user" : "not a regular file");
}

/* Takes the file at w->partial_path. A file that another writer holds is left alone. */
int file_open(struct trace_writer *w, int flags, struct error *err)
{
    w->fd = w->is_discarded ? open(w->path, O_WRONLY | O_CLOEXEC)
                            : file_open_regular(w->partial_path, flags | O_RDWR, err);
    if (w->is_discarded && w->fd < 0)
        return error_set_errno(err, errno, "%s: cannot be written", w->path);
    if (w->fd < 0)
        return w->fd;
    if (!w->is_discarded && flock(w->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(w->fd);
        w->fd = -1;
        return error_set(err, EBUSY, "%s: another opscope is writing it", w->partial_path);
    }
    w->can_allocate = !w->is_discarded;
    w->allocated_to = w->end;
    w->size_limit = file_size_limit();
    w->reserve_bytes = w->size_limit / 4 < RESERVE_BYTES ? w->size_limit / 4 : RESERVE_BYTES;
    return 0;
}

int file_create(struct trace_writer *w, const char *path, struct error *err)
{
    free(w->partial_path);
    w->partial_path = strdup(path);
    if (!w->partial_path)
        return error_set_errno(err, ENOMEM, "%s", path);
    w->end = 0;
    int status = file_open(w, O_CREAT, err);
    struct stat about;
    if (!status && !w->is_discarded && (fstat(w->fd, &about) != 0 || about.st_size != 0))
        status = error_set(err, EEXIST, "%s is in the way: it holds something", path);
    return status;
}

void file_close(struct trace_writer *w)
{
    free_reserve_file(w);
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}

static size_t put_text(uint8_t *header, size_t at, const char *text)
{
    size_t room = SEGMENT_HEADER_BYTES - at - 1, length = strlen(text);
    if (length > room)
        length = room;
    memcpy(header + at, text, length);
    return at + length + 1 < SEGMENT_HEADER_BYTES ? at + length + 1 : SEGMENT_HEADER_BYTES - 1;
}

static void update_slot(struct trace_writer *w, uint32_t state, struct error *err)
{
    uint8_t slot[SEGMENT_SLOT_BYTES] = {0};
    w->slot_sequence++;
    put_u64(slot, w->slot_sequence);
    put_u64(slot + 8, w->last_checkpoint);
    put_u64(slot + 16, w->last_checkpoint_size);
    put_u64(slot + 24, w->end - w->segment_start);
    put_u32(slot + 32, state);
    put_u32(slot + 60, hash_fold32(hash_bytes(slot, 60, SEGMENT_HASH_SEED)));
    uint64_t at = w->segment_start + SEGMENT_SLOT_OFFSET + (w->slot_sequence & 1) * SEGMENT_SLOT_BYTES;
    int status = write_at(w->fd, slot, sizeof slot, at);
    if (status) {
        error_set_errno(err, -status, "%s: cannot be written", w->partial_path);
        writer_fail(w, status, err);
    }
}

int file_begin_segment(struct trace_writer *w, uint32_t flags, struct error *err)
{
    uint8_t header[SEGMENT_HEADER_BYTES] = {0};
    uint64_t now_unix_ns = clock_ns(CLOCK_REALTIME);
    w->begun_unix_ns = w->begun_unix_ns ? w->begun_unix_ns : now_unix_ns;
    memcpy(header, SEGMENT_MAGIC, MAGIC_BYTES);
    put_u32(header + 8, TRACE_FORMAT_VERSION);
    put_u32(header + 12, TRACE_MIN_READER_VERSION);
    memcpy(header + 16, w->source, SOURCE_BYTES);
    put_u32(header + 32, flags);
    put_u32(header + 36, SEGMENT_HEADER_BYTES);
    put_u64(header + 40, now_unix_ns);
    put_u64(header + 48, w->max_size_bytes);
    size_t at = put_text(header, SEGMENT_TEXT_OFFSET, w->program);
    at = put_text(header, at, w->host);
    put_text(header, at, w->command);
    put_u32(header + SEGMENT_HASH_OFFSET,
            hash_fold32(hash_bytes(header, SEGMENT_HEADER_BYTES, SEGMENT_HASH_SEED)));
    w->segment_start = w->end;
    w->entry_count = w->checkpoint_entry = 0;
    w->last_checkpoint = w->last_checkpoint_size = 0;
    w->slot_sequence = 0;
    w->checkpoint_at_bytes = w->end;
    w->lod.from_sequence = w->sequence;
    w->segment_zones = w->segment_records = 0;
    int status = append(w, header, sizeof header, false);
    if (status)
        return error_set_errno(err, -status, "%s: cannot be written", w->partial_path);
    hold_space(w, 0);
    update_slot(w, SEGMENT_OPEN, err);
    return 0;
}

static void list_open_zones(struct trace_writer *w)
{
    w->open_zone_count = 0;
    if (w->list_open_zones)
        w->list_open_zones(w->open_zones_context, w);
    w->open_zones_left_out = 0;
    if (w->open_zone_count > BLOCK_MAX_ROWS) {
        w->open_zones_left_out = w->open_zone_count - BLOCK_MAX_ROWS;
        w->open_zone_count = BLOCK_MAX_ROWS;
    }
    for (size_t i = 0; i < w->open_zone_count; i++) {
        definitions_need_track(w, w->open_zones[i].track);
        w->open_zones[i].name = definitions_same_name(w, w->open_zones[i].name);
        definitions_need_name(w, w->open_zones[i].name);
    }
}

/* The last checkpoint lists the open zones, as many as a block holds: the others are lost. An earlier segment may have
 * counted some of them. */
static void lose_open_zones(struct trace_writer *w)
{
    list_open_zones(w);
    if (w->open_zones_left_out <= w->open_zones_lost)
        return;
    struct trace_loss loss = {.process = TRACE_NONE,
                              .track = TRACE_NONE,
                              .reason = TRACE_LOSS_NO_MEMORY,
                              .from_ns = w->now_ns,
                              .to_ns = w->now_ns,
                              .zones = w->open_zones_left_out - w->open_zones_lost};
    w->open_zones_lost = w->open_zones_left_out;
    trace_writer_loss(w, &loss);
}

int file_end_segment(struct trace_writer *w, struct error *err)
{
    lose_open_zones(w);
    int status = lod_flush(w), other = losses_flush(w);
    status = status && !w->is_full ? status : other;
    other = file_checkpoint(w, true);
    status = status ? status : other;
    uint8_t trailer[SEGMENT_TRAILER_BYTES] = {0};
    memcpy(trailer, TRAILER_MAGIC, MAGIC_BYTES);
    memcpy(trailer + 8, w->source, SOURCE_BYTES);
    put_u64(trailer + 24, w->last_checkpoint);
    put_u64(trailer + 32, w->last_checkpoint_size);
    put_u64(trailer + 40, w->end + sizeof trailer - w->segment_start);
    put_u32(trailer + 60, hash_fold32(hash_bytes(trailer, 60, SEGMENT_HASH_SEED)));
    if (!status)
        status = append(w, trailer, sizeof trailer, false);
    if (status)
        return error_set_errno(err, -status, "%s: the end of the trace could not be written",
                               w->partial_path);
    update_slot(w, SEGMENT_FINISHED, err);
    if (!w->is_discarded && ftruncate(w->fd, (off_t)w->end) != 0) /* gives back what fallocate held */
        return error_set_errno(err, errno, "%s", w->partial_path);
    w->allocated_to = w->end;
    return 0;
}

/* --- blocks --- */

static bool is_rows(uint16_t type)
{
    return type != TRACE_BLOCK_DEFINITIONS && type != TRACE_BLOCK_LOSSES && type != TRACE_BLOCK_CHECKPOINT;
}

int file_write_block(struct trace_writer *w, struct block_builder *builder, struct block_header *header)
{
    if (header->type != TRACE_BLOCK_DEFINITIONS)
        definitions_flush(w);
    if (!array_reserve(&w->entries, &w->entry_capacity, w->entry_count + 1, sizeof *w->entries)) {
        writer_fail(w, -ENOMEM, NULL);
        return -ENOMEM;
    }
    size_t length;
    memcpy(header->source, w->source, SOURCE_BYTES);
    header->sequence = w->sequence;
    const uint8_t *data = block_finish(builder, header, &length);
    if (!data) {
        writer_fail(w, -ENOMEM, NULL);
        return -ENOMEM;
    }
    uint64_t offset = w->end - w->segment_start;
    int status = append(w, data, length, is_rows(header->type));
    if (status)
        return status;
    w->sequence++;
    if (header->type == TRACE_BLOCK_CHECKPOINT) {
        w->last_checkpoint = offset;
        w->last_checkpoint_size = length;
        return 0;
    }
    w->entries[w->entry_count++] = (struct index_entry){.offset = offset,
                                                        .size = length,
                                                        .sequence = header->sequence,
                                                        .t_first = header->t_first,
                                                        .t_last = header->t_last,
                                                        .min_start = header->min_start,
                                                        .track = header->track,
                                                        .clock = header->clock,
                                                        .count = header->count,
                                                        .prefix_size = header->prefix_size,
                                                        .type = header->type,
                                                        .lod_level = header->lod_level};
    return 0;
}

bool file_accepts_rows(struct trace_writer *w)
{
    if (w->is_full)
        return false;
    if (w->max_size_bytes && w->end >= w->max_size_bytes / 8 - w->max_size_bytes / 64) {
        struct error err;
        int status = flight_rotate(w, &err);
        if (status) {
            set_full(w, status);
            return false;
        }
    }
    return true;
}

/* --- checkpoints --- */

#define PUT_COLUMN(id, count, expression)                                                                    \
    do {                                                                                                     \
        for (size_t i = 0; i < (count); i++)                                                                 \
            values[i] = (uint64_t)(expression);                                                              \
        block_add_u64(&w->builder, (id), values, (count));                                                   \
    } while (0)
#define PUT_DELTAS(id, count, expression)                                                                    \
    do {                                                                                                     \
        for (size_t i = 0; i < (count); i++)                                                                 \
            values[i] = (uint64_t)(expression);                                                              \
        block_add_delta(&w->builder, (id), values, (count));                                                 \
    } while (0)

static void put_entries(struct trace_writer *w, const struct index_entry *entries, size_t count,
                        uint64_t *values)
{
    PUT_COLUMN(CHECKPOINT_TYPE, count, entries[i].type);
    PUT_COLUMN(CHECKPOINT_TRACK, count, entries[i].track + 1u);
    PUT_COLUMN(CHECKPOINT_CLOCK, count, entries[i].clock);
    PUT_COLUMN(CHECKPOINT_COUNT, count, entries[i].count);
    PUT_DELTAS(CHECKPOINT_OFFSET, count, entries[i].offset);
    PUT_COLUMN(CHECKPOINT_SIZE, count, entries[i].size);
    PUT_DELTAS(CHECKPOINT_FIRST, count, entries[i].t_first);
    PUT_COLUMN(CHECKPOINT_LAST, count, entries[i].t_last - entries[i].t_first);
    PUT_COLUMN(CHECKPOINT_MIN_START, count, entries[i].t_last - entries[i].min_start);
    PUT_COLUMN(CHECKPOINT_PREFIX, count, entries[i].prefix_size);
    PUT_COLUMN(CHECKPOINT_LEVEL, count, entries[i].lod_level);
    PUT_DELTAS(CHECKPOINT_SEQUENCE, count, entries[i].sequence);
}

/* Zones of each track since the last checkpoint, or in the segment. */
static void put_track_totals(struct trace_writer *w, bool whole_segment, uint64_t *values)
{
    struct writer_definitions *d = &w->definitions;
    uint64_t *zones = values + d->track_count, *depths = zones + d->track_count;
    size_t count = 0;
    for (uint32_t i = 0; i < d->track_count; i++) {
        uint64_t n = whole_segment ? d->tracks[i].segment_zones : d->tracks[i].checkpoint_zones;
        if (n) {
            values[count] = i;
            zones[count] = n;
            depths[count++] = d->tracks[i].depths;
        }
    }
    block_add_u64(&w->builder, CHECKPOINT_TRACK_ID, values, count);
    block_add_u64(&w->builder, CHECKPOINT_TRACK_ZONES, zones, count);
    block_add_u64(&w->builder, CHECKPOINT_TRACK_DEPTHS, depths, count);
}

static void put_open_zones(struct trace_writer *w, uint64_t *values)
{
    const struct trace_open_zone *zones = w->open_zones;
    size_t count = w->open_zone_count;
    PUT_COLUMN(CHECKPOINT_OPEN_TRACK, count, zones[i].track);
    PUT_COLUMN(CHECKPOINT_OPEN_DEPTH, count, zones[i].depth);
    PUT_COLUMN(CHECKPOINT_OPEN_START, count, zones[i].start);
    PUT_COLUMN(CHECKPOINT_OPEN_NAME, count, zones[i].name);
    PUT_COLUMN(CHECKPOINT_OPEN_SEEN, count,
               zones[i].seen < zones[i].start ? 0 : zones[i].seen - zones[i].start + 1);
    PUT_COLUMN(CHECKPOINT_OPEN_CHILD, count, zones[i].child);
}

int file_checkpoint(struct trace_writer *w, bool is_last)
{
    list_open_zones(w);
    definitions_flush(w);
    bool lists_all = is_last && w->entry_count <= (w->is_full ? SHORT_INDEX_ENTRIES : FULL_INDEX_ENTRIES);
    size_t first = lists_all ? 0 : w->checkpoint_entry, count = w->entry_count - first;
    if (count > BLOCK_MAX_ROWS) /* more than a block holds: never between two checkpoints of 64 MiB */
        count = BLOCK_MAX_ROWS;
    size_t room = count > w->open_zone_count ? count : w->open_zone_count;
    room = room > w->definitions.track_count ? room : w->definitions.track_count;
    uint64_t *values = malloc((room + CHECKPOINT_INFO_VALUES) * 3 * sizeof *values);
    if (!values) {
        writer_fail(w, -ENOMEM, NULL);
        return -ENOMEM;
    }
    block_begin(&w->builder);
    w->builder.keep_zeros = true;
    values[CHECKPOINT_PREVIOUS] = w->last_checkpoint;
    values[CHECKPOINT_IS_FULL] = lists_all;
    block_add_u64(&w->builder, CHECKPOINT_INFO, values, CHECKPOINT_INFO_VALUES);
    put_entries(w, w->entries + first, count, values);
    put_track_totals(w, lists_all, values);
    put_open_zones(w, values);
    free(values);
    struct block_header header = {
        .type = TRACE_BLOCK_CHECKPOINT, .track = TRACE_NONE, .count = (uint32_t)count};
    int status = file_write_block(w, &w->builder, &header);
    if (status)
        return status;
    w->checkpoint_entry = w->entry_count;
    w->checkpoint_at_bytes = w->end;
    w->checkpoint_at_ns = w->now_ns;
    for (size_t i = 0; i < w->definitions.track_count; i++)
        w->definitions.tracks[i].checkpoint_zones = 0;
    if (!is_last)
        update_slot(w, SEGMENT_OPEN, NULL);
    return 0;
}

bool file_is_followed(const struct trace_writer *w)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = FOLLOW_OFFSET, .l_len = 1};
    return fcntl(w->fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_RDLCK;
}
