/* SPDX-License-Identifier: Apache-2.0 */
/* The writer's life: open, tick, finish. What a recording costs in memory is bounded: definitions, 96 MiB of
 * open blocks, 64 Ki level-of-detail nodes, and 72 bytes of index a block. */
#include "trace/writer/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/output_path.h"

#define MIN_MAX_SIZE ((uint64_t)128 << 10)

void writer_fail(struct trace_writer *w, int status, const struct error *err)
{
    if (w->first_error)
        return;
    w->first_error = status;
    if (err)
        w->error = *err;
    else
        error_set_errno(&w->error, -status, "%s", w->path);
}

static char *copy_text(const char *text)
{
    return strdup(text ? text : "");
}

struct trace_writer *writer_new(const char *path)
{
    struct trace_writer *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->fd = -1;
    w->path = strdup(path);
    w->zone_limit = ZONE_BLOCK_ROWS;
    if (!w->path) {
        free(w);
        return NULL;
    }
    return w;
}

void writer_free(struct trace_writer *w)
{
    if (!w)
        return;
    file_close(w);
    sinks_free(w);
    rows_free(w);
    definitions_free(&w->definitions);
    block_builder_free(&w->builder);
    block_scratch_free(w->scratch);
    lod_free(&w->lod);
    for (size_t i = 0; i < w->finished_count; i++)
        free(w->finished[i].losses);
    free(w->finished);
    free(w->entries);
    free(w->open_zones);
    free(w->program);
    free(w->command);
    free(w->host);
    free(w->partial_path);
    free(w->path);
    free(w);
}

static void make_source_id(uint8_t *id)
{
    if (getrandom(id, SOURCE_BYTES, GRND_NONBLOCK) == SOURCE_BYTES)
        return;
    uint64_t parts[2] = {clock_ns(CLOCK_REALTIME), clock_raw_ns() ^ (uint64_t)getpid() << 32};
    for (unsigned i = 0; i < 2; i++)
        put_u64(id + 8 * i, hash_bytes(parts, sizeof parts, i + 1));
}

/* Blocks small enough that an eighth of the limit holds a few of them. */
void writer_set_max_size(struct trace_writer *w, uint64_t max_size_bytes)
{
    w->max_size_bytes = max_size_bytes;
    if (max_size_bytes && max_size_bytes / 1024 < ZONE_BLOCK_ROWS)
        w->zone_limit = (uint32_t)(max_size_bytes / 1024);
}

/* A file with content that does not begin as a trace does: whatever it is, nobody meant to lose it. */
static bool is_other_content(const char *path)
{
    char magic[MAGIC_BYTES];
    FILE *file = fopen(path, "rbe");
    size_t length = file ? fread(magic, 1, sizeof magic, file) : 0;
    if (file)
        fclose(file);
    return length && (length < sizeof magic || memcmp(magic, SEGMENT_MAGIC, sizeof magic) != 0);
}

int trace_path_check(const char *path, struct error *err)
{
    enum output_way way;
    int status = output_path_check(path, NULL, 0, &way, err);
    if (!status && strcmp(path, "-") == 0) /* elsewhere that is standard output */
        return error_set(
            err, EINVAL,
            "cannot write -: a trace is a file, and is not written to standard output (a file of "
            "that name is ./-)");
    if (!status && way != OUTPUT_REPLACE)
        return error_set(err, EINVAL, "cannot write %s: a trace is a file, not a device or a pipe", path);
    if (!status && is_other_content(path))
        return error_set(err, EEXIST, "cannot write %s: it is there already, and is not a trace", path);
    return status;
}

int trace_writer_open(struct trace_writer **out, const char *path, const struct trace_writer_options *options,
                      struct error *err)
{
    static const struct trace_writer_options none;
    const struct trace_writer_options *o = options ? options : &none;
    if (o->max_size_bytes && o->max_size_bytes < MIN_MAX_SIZE)
        return error_set(err, EINVAL, "%s: a size limit must be at least 128 KiB", path);
    bool is_discarded = output_path_is_null(path);
    int status = is_discarded ? 0 : trace_path_check(path, err);
    if (status)
        return status;
    struct trace_writer *w = writer_new(path);
    char *partial = NULL;
    if (!w)
        return error_set_errno(err, ENOMEM, "%s", path);
    w->is_discarded = is_discarded;
    w->program = copy_text(o->program);
    w->command = copy_text(o->command);
    w->host = copy_text(o->host);
    writer_set_max_size(w, is_discarded ? 0 : o->max_size_bytes);
    make_source_id(w->source);
    if (w->max_size_bytes)
        partial = flight_segment_path(w, 0);
    else if (asprintf(&partial, "%s.partial", path) < 0)
        partial = NULL;
    if (!w->program || !w->command || !w->host || !partial)
        status = error_set_errno(err, ENOMEM, "%s", path);
    if (!status && !is_discarded)
        status = flight_clear(w, err);
    if (!status)
        status = file_create(w, partial, err);
    if (!status && w->max_size_bytes)
        flight_release_name(w);
    if (!status && (status = file_begin_segment(w, 0, err)) != 0 && !is_discarded)
        unlink(w->partial_path); /* not even its header */
    if (!status && definitions_init(w))
        status = error_set_errno(err, ENOMEM, "%s", path);
    free(partial);
    if (status) {
        writer_free(w);
        return status;
    }
    *out = w;
    return 0;
}

void trace_writer_set_open_zones(struct trace_writer *w, trace_open_zones_fn list, void *context)
{
    w->list_open_zones = list;
    w->open_zones_context = context;
}

void trace_writer_open_zone(struct trace_writer *w, const struct trace_open_zone *zone)
{
    if (array_reserve(&w->open_zones, &w->open_zone_capacity, w->open_zone_count + 1, sizeof *w->open_zones))
        w->open_zones[w->open_zone_count++] = *zone;
    else
        writer_fail(w, -ENOMEM, NULL);
}

static int report_error(struct trace_writer *w, struct error *err)
{
    int status = w->first_error;
    if (status && err)
        *err = w->error;
    w->first_error = 0;
    return status;
}

int trace_writer_tick(struct trace_writer *w, uint64_t now_ns, struct error *err)
{
    w->now_ns = now_ns ? now_ns : 1; /* 0 means "no time yet" */
    if (!w->checkpoint_at_ns)
        w->checkpoint_at_ns = w->now_ns;
    if (w->now_ns - w->age_scan_ns >= (w->is_followed ? FOLLOWED_SCAN_NS : AGE_SCAN_NS)) {
        w->age_scan_ns = w->now_ns;
        w->is_followed = file_is_followed(w);
        sinks_flush_aged(w);
        rows_flush(w, true);
        if (w->loss_count && !w->is_full && w->now_ns - w->loss_flush_ns >= BLOCK_AGE_NS) {
            w->loss_flush_ns = w->now_ns;
            losses_flush(w);
        }
    }
    if (w->open_bytes > OPEN_BLOCKS_BUDGET)
        sinks_keep_budget(w);
    bool has_news = w->entry_count > w->checkpoint_entry;
    if (has_news && !w->is_full &&
        (w->end - w->checkpoint_at_bytes >= CHECKPOINT_BYTES ||
         w->now_ns - w->checkpoint_at_ns >= CHECKPOINT_AGE_NS)) {
        losses_flush(w);
        file_checkpoint(w, false);
    }
    return report_error(w, err);
}

uint64_t trace_writer_zone_count(const struct trace_writer *w)
{
    uint64_t count = w->zone_count;
    for (const struct sink *sink = w->sinks; sink; sink = sink->next)
        count += sink->zones.count; /* waiting to be written */
    return count;
}

uint64_t trace_writer_size_bytes(const struct trace_writer *w)
{
    uint64_t size = w->end;
    for (size_t i = 0; i < w->finished_count; i++)
        size += w->finished[i].size;
    return size;
}

/* Nothing in it but, perhaps, losses. */
static bool is_empty(const struct trace_writer *w)
{
    return !w->zone_count && !w->record_count && !w->open_zone_count;
}

static bool holds_something(const char *path)
{
    struct trace *t;
    size_t open_zones;
    if (trace_open(&t, path, 0, NULL) != 0)
        return false;
    const struct trace_info *info = trace_get_info(t);
    trace_get_open_zones(t, &open_zones);
    bool is_something = open_zones || info->zones || info->points || info->counters || info->memory_events ||
                        info->ops || info->runs || info->samples || info->locks;
    trace_close(t);
    return is_something;
}

int trace_path_check_nothing(const char *path, const char *what, struct error *err)
{
    if (!holds_something(path))
        return 0;
    return error_set(err, EEXIST, "nothing was %s: the trace that %s already was is kept", what, path);
}

int writer_rename(struct trace_writer *w, const char *from, struct error *err)
{
    int status = is_empty(w) ? trace_path_check_nothing(w->path, "recorded", err) : 0;
    if (status) {
        unlink(from);
        return status;
    }
    status = trace_path_check(w->path, err); /* once more: a recording takes its time */
    if (!status && rename(from, w->path) != 0)
        status = error_set_errno(err, errno, "%s: cannot be renamed to %s", from, w->path);
    return status;
}

int trace_writer_finish(struct trace_writer *w, struct error *err)
{
    struct error later = {0};
    sinks_flush(w);
    rows_flush(w, false);
    int status = w->max_size_bytes ? flight_finish(w, &later) : file_end_segment(w, &later);
    if (!status && w->max_size_bytes == 0 && !w->is_discarded)
        status = writer_rename(w, w->partial_path, &later);
    int earlier = report_error(w, err);
    if (!earlier && status && err)
        *err = later;
    writer_free(w);
    return earlier ? earlier : status;
}

void trace_writer_abandon(struct trace_writer *w)
{
    writer_free(w);
}

void trace_writer_discard(struct trace_writer *w)
{
    flight_remove_segments(w);
    if (!w->is_discarded && w->fd >= 0)
        unlink(w->partial_path);
    writer_free(w);
}
