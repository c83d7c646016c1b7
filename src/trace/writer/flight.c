/* SPDX-License-Identifier: Apache-2.0 */
/* The flight recorder (a size limit): segments of an eighth of the limit in files PATH.partial.NNN, each
 * whole by itself; the oldest are deleted as new ones come. At the end the files are joined into one.
 *
 * What is dropped is counted, and reported by a loss record of the segment written then; when that segment is
 * dropped in turn its loss records are reported again, so the sums stay right. */
#include "trace/writer/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BYTES ((size_t)1 << 20)
#define TAIL_BYTES 16384u /* losses, checkpoint and trailer beside 100 bytes an index entry */
#define ENTRY_BYTES 100u

char *flight_segment_path(const struct trace_writer *w, uint32_t number)
{
    char *path;
    return asprintf(&path, "%s.partial.%03u", w->path, (unsigned)number) < 0 ? NULL : path;
}

char *flight_joined_path(const struct trace_writer *w)
{
    char *path;
    return asprintf(&path, "%s.partial.join", w->path) < 0 ? NULL : path;
}

static int compare_numbers(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* Numbers of the files PATH.partial.NNN, ascending. */
int flight_list_segments(const char *path, uint32_t **numbers, size_t *count, struct error *err)
{
    char *copy = strdup(path), *base_copy = strdup(path);
    const char *base = base_copy ? basename(base_copy) : NULL;
    DIR *folder = copy ? opendir(dirname(copy)) : NULL;
    size_t length = base ? strlen(base) : 0, capacity = 0;
    int status = folder && base ? 0 : error_set_errno(err, errno ? errno : ENOMEM, "%s", path);
    *numbers = NULL;
    *count = 0;
    for (struct dirent *e; !status && (e = readdir(folder));) {
        char *end;
        if (strncmp(e->d_name, base, length) != 0 || strncmp(e->d_name + length, ".partial.", 9) != 0)
            continue;
        unsigned long number = strtoul(e->d_name + length + 9, &end, 10);
        if (*end || end == e->d_name + length + 9 || number > UINT32_MAX - 1)
            continue;
        if (!array_reserve(numbers, &capacity, *count + 1, sizeof **numbers))
            status = error_set_errno(err, ENOMEM, "%s", path);
        else
            (*numbers)[(*count)++] = (uint32_t)number;
    }
    if (folder)
        closedir(folder);
    free(copy);
    free(base_copy);
    if (*count)
        qsort(*numbers, *count, sizeof **numbers, compare_numbers);
    return status;
}

/* A file of an earlier recording by this name: an empty one is not an obstacle, anything else stays and is in the
 * way. */
static int check_empty(const char *path, bool is_removed, struct error *err)
{
    struct stat about;
    if (lstat(path, &about) != 0)
        return 0;
    int fd = file_open_regular(path, O_RDONLY, err), status = 0;
    if (fd < 0)
        return fd;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        status = error_set(err, EBUSY, "%s: another opscope is writing it", path);
    else if (fstat(fd, &about) != 0 || about.st_size != 0)
        status = error_set(err, EEXIST, "%s is in the way: a run that was killed left it there", path);
    else if (is_removed)
        unlink(path);
    close(fd);
    return status;
}

/* A living recorder holds its newest file alone: that one is tried first. PATH.partial stays: an empty one holds the
 * name for this writer until its first file is there. */
int flight_clear(const struct trace_writer *w, struct error *err)
{
    uint32_t *numbers;
    size_t count;
    char *partial = NULL;
    int status = flight_list_segments(w->path, &numbers, &count, err);
    if (!status && asprintf(&partial, "%s.partial", w->path) < 0) {
        partial = NULL;
        status = error_set_errno(err, ENOMEM, "%s", w->path);
    }
    if (!status)
        status = check_empty(partial, false, err);
    for (size_t i = count; i > 0 && !status; i--) {
        char *path = flight_segment_path(w, numbers[i - 1]);
        status = path ? check_empty(path, true, err) : error_set_errno(err, ENOMEM, "%s", w->path);
        free(path);
    }
    free(numbers);
    free(partial);
    return status;
}

/* The first numbered file is there: whoever looks for a free name sees that instead. */
void flight_release_name(const struct trace_writer *w)
{
    char *partial;
    if (asprintf(&partial, "%s.partial", w->path) < 0)
        return; /* an empty file stays */
    unlink(partial);
    free(partial);
}

static uint64_t finished_bytes(const struct trace_writer *w)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < w->finished_count; i++)
        sum += w->finished[i].size;
    return sum;
}

static void drop_first(struct trace_writer *w)
{
    struct segment_file *oldest = &w->finished[0];
    char *path = flight_segment_path(w, oldest->number);
    if (path)
        unlink(path);
    free(path);
    w->dropped_zones += oldest->zones;
    w->dropped_records += oldest->records;
    if (!w->dropped_from_ns || (oldest->first_ns && oldest->first_ns < w->dropped_from_ns))
        w->dropped_from_ns = oldest->first_ns;
    if (oldest->last_ns > w->dropped_to_ns)
        w->dropped_to_ns = oldest->last_ns;
    for (size_t i = 0; i < oldest->loss_count; i++) {
        const struct trace_loss *loss = &oldest->losses[i];
        if (loss->reason == TRACE_LOSS_DROPPED_OLD) {
            w->dropped_zones += loss->zones;
            w->dropped_records += loss->records;
            if (loss->from_ns && (!w->dropped_from_ns || loss->from_ns < w->dropped_from_ns))
                w->dropped_from_ns = loss->from_ns;
        } else {
            trace_writer_loss(w, loss);
        }
    }
    free(oldest->losses);
    memmove(w->finished, w->finished + 1, --w->finished_count * sizeof *w->finished);
}

/* Deletes the oldest segments until the rest and `room` bytes are within the limit. */
static void drop_oldest(struct trace_writer *w, uint64_t room)
{
    while (w->finished_count && finished_bytes(w) + room > w->max_size_bytes)
        drop_first(w);
}

static void report_losses(struct trace_writer *w)
{
    if (!w->dropped_zones && !w->dropped_records)
        return;
    struct trace_loss loss = {.process = TRACE_NONE,
                              .track = TRACE_NONE,
                              .reason = TRACE_LOSS_DROPPED_OLD,
                              .from_ns = w->dropped_from_ns,
                              .to_ns = w->dropped_to_ns,
                              .zones = w->dropped_zones,
                              .records = w->dropped_records};
    trace_writer_loss(w, &loss);
    w->dropped_zones = w->dropped_records = w->dropped_from_ns = w->dropped_to_ns = 0;
}

/* First and last host time of the segment's rows. */
static void segment_times(const struct trace_writer *w, struct segment_file *file)
{
    for (size_t i = 0; i < w->entry_count; i++) {
        const struct index_entry *entry = &w->entries[i];
        bool has_times = entry->type != TRACE_BLOCK_DEFINITIONS && entry->type != TRACE_BLOCK_LOSSES;
        if (!has_times || entry->clock != TRACE_HOST_CLOCK)
            continue;
        if (!file->first_ns || entry->min_start < file->first_ns)
            file->first_ns = entry->min_start;
        if (entry->t_last > file->last_ns)
            file->last_ns = entry->t_last;
    }
}

/* Puts the segment, which is finished, on the list. */
int flight_keep_segment(struct trace_writer *w, struct error *err)
{
    if (!array_reserve(&w->finished, &w->finished_capacity, w->finished_count + 1, sizeof *w->finished))
        return error_set_errno(err, ENOMEM, "%s", w->path);
    struct segment_file *file = &w->finished[w->finished_count++];
    *file = (struct segment_file){.number = w->segment_number,
                                  .size = w->end,
                                  .zones = w->segment_zones,
                                  .records = w->segment_records,
                                  .losses = w->segment_losses,
                                  .loss_count = w->segment_loss_count};
    segment_times(w, file);
    w->segment_losses = NULL;
    w->segment_loss_count = w->segment_loss_capacity = 0;
    for (size_t i = 0; i < w->definitions.track_count; i++)
        w->definitions.tracks[i].segment_zones = w->definitions.tracks[i].checkpoint_zones = 0;
    file_close(w);
    return 0;
}

int flight_end_segment(struct trace_writer *w, struct error *err)
{
    int status = file_end_segment(w, err);
    return status ? status : flight_keep_segment(w, err);
}

/* The next segment file. */
int flight_begin_segment(struct trace_writer *w, uint32_t flags, struct error *err)
{
    drop_oldest(w, w->max_size_bytes / 8);
    w->segment_number++;
    char *path = flight_segment_path(w, w->segment_number);
    if (!path)
        return error_set_errno(err, ENOMEM, "%s", w->path);
    int status = file_create(w, path, err);
    free(path);
    if (!status)
        status = file_begin_segment(w, flags, err);
    if (!status) {
        definitions_new_segment(w);
        report_losses(w);
    }
    return status;
}

int flight_rotate(struct trace_writer *w, struct error *err)
{
    int status = flight_end_segment(w, err);
    return status ? status : flight_begin_segment(w, 0, err);
}

/* --- the end: join the files --- */

static int copy_plain(int from, int to, uint64_t size)
{
    uint8_t *buffer = malloc(COPY_BYTES);
    int status = buffer ? 0 : -ENOMEM;
    while (size && !status) {
        ssize_t got = read(from, buffer, size < COPY_BYTES ? size : COPY_BYTES);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            status = got < 0 ? -errno : -EIO;
        for (ssize_t done = 0; done < got && !status;) {
            ssize_t put = write(to, buffer + done, (size_t)(got - done));
            if (put < 0 && errno != EINTR)
                status = -errno;
            done += put > 0 ? put : 0;
        }
        size -= got > 0 ? (uint64_t)got : 0;
    }
    free(buffer);
    return status;
}

/* Appends a whole file; in the kernel where that works, which shares the blocks on some file systems. */
static int append_file(int to, const char *path, uint64_t size)
{
    int from = open(path, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return -errno;
    while (size) {
        ssize_t copied = copy_file_range(from, NULL, to, NULL, size, 0);
        if (copied <= 0)
            break;
        size -= (uint64_t)copied;
    }
    int status = copy_plain(from, to, size);
    close(from);
    return status;
}

static int join_into(const struct trace_writer *w, const char *joined, struct error *err)
{
    unlink(joined); /* half of what a finish that was killed had done */
    int fd = open(joined, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0666), status = 0;
    if (fd < 0)
        return error_set_errno(err, errno, "%s: cannot be written", joined);
    for (size_t i = 0; i < w->finished_count && !status; i++) {
        char *path = flight_segment_path(w, w->finished[i].number);
        int copied = path ? append_file(fd, path, w->finished[i].size) : -ENOMEM;
        if (copied)
            status = error_set_errno(err, -copied, "%s: cannot be appended to %s", path ? path : "?", joined);
        free(path);
    }
    if (close(fd) != 0 && !status)
        status = error_set_errno(err, errno, "%s: cannot be written", joined);
    return status;
}

void flight_remove_segments(const struct trace_writer *w)
{
    for (size_t i = 0; i < w->finished_count; i++) {
        char *path = flight_segment_path(w, w->finished[i].number);
        if (path)
            unlink(path);
        free(path);
    }
}

/* No room for a second copy: the first segment's file grows by the others, each deleted once it is in. */
static int join_in_place(struct trace_writer *w, const char *joined, struct error *err)
{
    char *first = flight_segment_path(w, w->finished[0].number);
    int fd = first && rename(first, joined) == 0 ? open(joined, O_WRONLY | O_CLOEXEC) : -1, status = 0;
    if (fd < 0 || lseek(fd, 0, SEEK_END) < 0)
        status = error_set_errno(err, errno, "%s: cannot be written", joined);
    for (size_t i = 1; i < w->finished_count && !status; i++) {
        char *path = flight_segment_path(w, w->finished[i].number);
        int copied = path ? append_file(fd, path, w->finished[i].size) : -ENOMEM;
        if (copied)
            status = error_set_errno(err, -copied, "%s: cannot be appended to %s", path ? path : "?", joined);
        else
            unlink(path);
        free(path);
    }
    if (fd >= 0)
        close(fd);
    free(first);
    return status;
}

/* The segments stay until the whole file is in place, so that nothing is lost when we are killed meanwhile;
 * unless the disk has no room for that. */
static int join_segments(struct trace_writer *w, struct error *err)
{
    char *joined = flight_joined_path(w), *partial = NULL;
    if (!joined || asprintf(&partial, "%s.partial", w->path) < 0) {
        free(joined);
        return error_set_errno(err, ENOMEM, "%s", w->path);
    }
    const char *whole = joined;
    int status = join_into(w, joined, err);
    if (status) {
        unlink(joined);
        whole = partial;
        if (status == -ENOSPC || status == -EDQUOT)
            status = join_in_place(w, partial, err);
    }
    if (!status)
        status = writer_rename(w, whole, err);
    if (!status || status == -EEXIST)
        flight_remove_segments(w);
    free(joined);
    free(partial);
    return status;
}

int flight_finish(struct trace_writer *w, struct error *err)
{
    lod_flush(w);
    uint64_t tail = TAIL_BYTES + ENTRY_BYTES * (w->entry_count + w->definitions.track_count) +
                    64 * (w->loss_count + w->open_zone_count);
    drop_oldest(w, w->end + tail);
    report_losses(w);
    int status = flight_end_segment(w, err);
    return status ? status : join_segments(w, err);
}
