/* SPDX-License-Identifier: Apache-2.0 */
/* Rows other than zones: columns decoded into one array of 64-bit values, then put together as structs. Times
 * of points, counters, memory events and samples become host times; runs stay in ticks of their track. */
#include "trace/reader/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

#define COLUMNS 23u

struct trace_rows_memory {
    struct bytes values;   /* COLUMNS arrays of `count` values */
    struct bytes parts;    /* part columns */
    struct bytes figures;  /* figure columns */
    struct bytes text;     /* with a NUL after each */
    struct bytes raw_text; /* as stored */
    struct bytes rows;     /* the structs */
    struct bytes part_rows;
};

struct rows_decoder {
    struct trace *t;
    const struct entry *entry;
    const struct source *source;
    struct trace_rows_memory *m;
    size_t count, part_count, figure_count;
    uint64_t *v[COLUMNS];
    uint64_t *part_name, *part_value;
    uint64_t *figure_name, *figure_kind, *figure_value;
    size_t text_at;
};

void trace_rows_free(struct trace_rows *rows)
{
    struct trace_rows_memory *m = rows->storage;
    if (m) {
        bytes_free(&m->values);
        bytes_free(&m->parts);
        bytes_free(&m->figures);
        bytes_free(&m->text);
        bytes_free(&m->raw_text);
        bytes_free(&m->rows);
        bytes_free(&m->part_rows);
        free(m);
    }
    *rows = (struct trace_rows){0};
}

static void *reserve(struct bytes *memory, size_t count, size_t size)
{
    size_t total;
    bytes_clear(memory);
    if (!checked_mul_size(count + 1, size, &total) || !bytes_reserve(memory, total))
        return NULL;
    return memory->data;
}

static int decode_columns(struct rows_decoder *d, const struct block_view *view)
{
    size_t n = d->count;
    uint64_t *values = reserve(&d->m->values, n * COLUMNS, sizeof *values);
    if (!values)
        return -ENOMEM;
    for (unsigned id = 1; id < COLUMNS; id++) {
        d->v[id] = values + id * n;
        if (id == ROW_TEXT || id == ROW_PART_NAME || id == ROW_PART_VALUE ||
            (id >= ROW_FIGURE_NAME && id <= ROW_FIGURE_VALUE))
            continue;
        int status = block_decode_u64(view, &d->t->codec, (uint16_t)id, d->v[id], n);
        if (status)
            return status;
    }
    return 0;
}

static bool sum_of(const struct rows_decoder *d, unsigned column, size_t *total)
{
    *total = 0;
    for (size_t i = 0; i < d->count; i++)
        if (!checked_add_size(*total, (size_t)d->v[column][i], total) || *total > BLOCK_MAX_ROWS)
            return false;
    return true;
}

/* Every row's parts lie after those of the row before; their number must come out right. */
static int decode_parts(struct rows_decoder *d, const struct block_view *view)
{
    size_t total;
    if (!sum_of(d, ROW_PARTS, &total))
        return -EINVAL;
    d->part_count = total;
    uint64_t *values = reserve(&d->m->parts, 2 * total, sizeof *values);
    if (!values)
        return -ENOMEM;
    d->part_name = values;
    d->part_value = values + total;
    int status = block_decode_u64(view, &d->t->codec, ROW_PART_NAME, d->part_name, total);
    return status ? status : block_decode_u64(view, &d->t->codec, ROW_PART_VALUE, d->part_value, total);
}

static int decode_figures(struct rows_decoder *d, const struct block_view *view)
{
    size_t total;
    if (!sum_of(d, ROW_FIGURES, &total))
        return -EINVAL;
    d->figure_count = total;
    uint64_t *values = reserve(&d->m->figures, 3 * total, sizeof *values);
    if (!values)
        return -ENOMEM;
    d->figure_name = values;
    d->figure_kind = values + total;
    d->figure_value = values + 2 * total;
    int status = 0;
    for (unsigned i = 0; i < 3 && !status; i++)
        status =
            block_decode_u64(view, &d->t->codec, (uint16_t)(ROW_FIGURE_NAME + i), values + i * total, total);
    return status;
}

static int decode_text(struct rows_decoder *d, const struct block_view *view)
{
    size_t length = block_count(view, ROW_TEXT), at = 0;
    if (length > BLOCK_MAX_BLOB)
        return -EINVAL;
    uint8_t *raw = reserve(&d->m->raw_text, length, 1), *text = reserve(&d->m->text, length + d->count, 1);
    if (!raw || !text)
        return -ENOMEM;
    int status = block_decode_bytes(view, &d->t->codec, ROW_TEXT, raw, length);
    for (size_t i = 0; i < d->count && !status; i++) {
        size_t own = (size_t)d->v[ROW_LENGTH][i];
        if (own > length - at)
            return -EINVAL;
        memcpy(text, raw + at, own);
        text[own] = '\0';
        text += own + 1;
        at += own;
    }
    return status;
}

static uint32_t name_of(const struct rows_decoder *d, size_t i)
{
    return reader_id(d->source, TRACE_ID_NAME, d->v[ROW_NAME][i]);
}

static uint32_t track_of(const struct rows_decoder *d, size_t i)
{
    return reader_id(d->source, TRACE_ID_TRACK, d->v[ROW_TRACK][i]);
}

static uint64_t time_of(const struct rows_decoder *d, size_t i)
{
    return trace_host_ns(d->t, d->entry->block.clock, d->v[ROW_TIME][i]);
}

static int make_points(struct rows_decoder *d, struct trace_rows *out)
{
    struct trace_point *rows = reserve(&d->m->rows, d->count, sizeof *rows);
    const char *text = (const char *)d->m->text.data;
    if (!rows)
        return -ENOMEM;
    for (size_t i = 0; i < d->count; i++) {
        uint32_t header = name_of(d, i), length = (uint32_t)d->v[ROW_LENGTH][i];
        rows[i] =
            (struct trace_point){.track = track_of(d, i),
                                 .kind = (uint32_t)d->v[ROW_KIND][i],
                                 .time = time_of(d, i),
                                 .header = header == TRACE_NONE ? "" : trace_get_name(d->t, header)->name,
                                 .text = text,
                                 .text_length = length};
        text += length + 1;
    }
    out->points = rows;
    return 0;
}

static int make_counters(struct rows_decoder *d, struct trace_rows *out)
{
    struct trace_counter *rows = reserve(&d->m->rows, d->count, sizeof *rows);
    if (!rows)
        return -ENOMEM;
    for (size_t i = 0; i < d->count; i++) {
        rows[i] =
            (struct trace_counter){.track = track_of(d, i), .name = name_of(d, i), .time = time_of(d, i)};
        memcpy(&rows[i].value, &d->v[ROW_VALUE][i], sizeof rows[i].value);
    }
    out->counters = rows;
    return 0;
}

static int make_memory(struct rows_decoder *d, struct trace_rows *out)
{
    struct trace_memory *rows = reserve(&d->m->rows, d->count, sizeof *rows);
    if (!rows)
        return -ENOMEM;
    for (size_t i = 0; i < d->count; i++)
        rows[i] = (struct trace_memory){.track = track_of(d, i),
                                        .pool = name_of(d, i),
                                        .time = time_of(d, i),
                                        .address = d->v[ROW_VALUE][i],
                                        .size = d->v[ROW_SIZE][i],
                                        .is_release = d->v[ROW_KIND][i] & 1,
                                        .is_all = d->v[ROW_KIND][i] == 3};
    out->memory = rows;
    return 0;
}

/* A kind of a later version reads as a count: its value is shown, its unit is not known. */
static struct trace_run_part figure_of(const struct rows_decoder *d, size_t i)
{
    struct trace_run_part part = {.name = reader_id(d->source, TRACE_ID_NAME, d->figure_name[i]),
                                  .kind = d->figure_kind[i] < TRACE_FIGURE_KINDS ? (uint32_t)d->figure_kind[i]
                                                                                 : TRACE_FIGURE_COUNT,
                                  .whole = d->figure_value[i]};
    if (part.kind == TRACE_FIGURE_TEXT)
        part.whole = reader_id(d->source, TRACE_ID_NAME, d->figure_value[i]);
    return part;
}

static int make_ops(struct rows_decoder *d, struct trace_rows *out)
{
    struct trace_op *rows = reserve(&d->m->rows, d->count, sizeof *rows);
    struct trace_run_part *parts = reserve(&d->m->part_rows, d->figure_count, sizeof *parts);
    if (!rows || !parts)
        return -ENOMEM;
    for (size_t i = 0; i < d->figure_count; i++)
        parts[i] = figure_of(d, i);
    for (size_t i = 0; i < d->count; i++) {
        uint64_t start = d->v[ROW_TIME][i], end = d->v[ROW_END][i];
        rows[i] = (struct trace_op){.call = d->v[ROW_CALL][i],
                                    .process = reader_id(d->source, TRACE_ID_PROCESS, d->v[ROW_PROCESS][i]),
                                    .track = track_of(d, i),
                                    .name = name_of(d, i),
                                    .type = (uint32_t)d->v[ROW_KIND][i],
                                    .device = (uint32_t)d->v[ROW_DEVICE][i],
                                    .description =
                                        reader_id(d->source, TRACE_ID_DESCRIPTION, d->v[ROW_DESCRIPTION][i]),
                                    .start_ns = start,
                                    .end_ns = end ? start + end - 1 : 0,
                                    .part_count = (uint32_t)d->v[ROW_FIGURES][i],
                                    .parts = parts};
        parts += rows[i].part_count;
    }
    out->ops = rows;
    return 0;
}

static int make_runs(struct rows_decoder *d, struct trace_rows *out)
{
    struct trace_run *rows = reserve(&d->m->rows, d->count, sizeof *rows);
    struct trace_run_part *parts = reserve(&d->m->part_rows, d->part_count + d->figure_count, sizeof *parts);
    if (!rows || !parts)
        return -ENOMEM;
    for (size_t i = 0, part = 0, figure = 0; i < d->count; i++) {
        uint32_t own = 0;
        for (uint64_t k = 0; k < d->v[ROW_PARTS][i]; k++, part++)
            parts[own++] =
                (struct trace_run_part){.name = reader_id(d->source, TRACE_ID_NAME, d->part_name[part]),
                                        .whole = d->part_value[part]};
        for (uint64_t k = 0; k < d->v[ROW_FIGURES][i]; k++, figure++)
            parts[own++] = figure_of(d, figure);
        rows[i] = (struct trace_run){.call = d->v[ROW_CALL][i],
                                     .process = reader_id(d->source, TRACE_ID_PROCESS, d->v[ROW_PROCESS][i]),
                                     .track = track_of(d, i),
                                     .name = name_of(d, i),
                                     .session = (uint32_t)d->v[ROW_DEVICE][i],
                                     .cores = (uint32_t)d->v[ROW_CORES][i],
                                     .flags = (uint32_t)d->v[ROW_FLAGS][i],
                                     .part_count = own,
                                     .start = d->v[ROW_TIME][i],
                                     .duration = d->v[ROW_END][i],
                                     .parts = parts};
        parts += own;
    }
    out->runs = rows;
    return 0;
}

static int make_samples(struct rows_decoder *d, struct trace_rows *out)
{
    struct trace_sample *rows = reserve(&d->m->rows, d->count, sizeof *rows);
    uint32_t *frames = reserve(&d->m->part_rows, d->part_count, sizeof *frames);
    if (!rows || !frames)
        return -ENOMEM;
    for (size_t i = 0; i < d->part_count; i++)
        frames[i] = reader_id(d->source, TRACE_ID_NAME, d->part_name[i]);
    for (size_t i = 0; i < d->count; i++) {
        rows[i] = (struct trace_sample){.track = track_of(d, i),
                                        .time = time_of(d, i),
                                        .frame_count = (uint32_t)d->v[ROW_PARTS][i],
                                        .frames = frames};
        frames += rows[i].frame_count;
    }
    out->samples = rows;
    return 0;
}

static int make_locks(struct rows_decoder *d, struct trace_rows *out)
{
    struct trace_lock *rows = reserve(&d->m->rows, d->count, sizeof *rows);
    if (!rows)
        return -ENOMEM;
    for (size_t i = 0; i < d->count; i++) {
        uint64_t start = d->v[ROW_TIME][i];
        rows[i] = (struct trace_lock){.track = track_of(d, i),
                                      .name = name_of(d, i),
                                      .kind = (uint32_t)d->v[ROW_KIND][i],
                                      .number = d->v[ROW_VALUE][i],
                                      .start_ns = start,
                                      .end_ns = saturating_add_u64(start, d->v[ROW_END][i]),
                                      .is_shared = d->v[ROW_FLAGS][i] & LOCK_SHARED,
                                      .is_open = d->v[ROW_FLAGS][i] & LOCK_OPEN};
    }
    out->locks = rows;
    return 0;
}

static int decode(struct rows_decoder *d, const struct block_view *view, struct trace_rows *out)
{
    uint32_t type = d->entry->block.type;
    bool has_parts = type == TRACE_BLOCK_RUNS || type == TRACE_BLOCK_SAMPLES;
    int status = decode_columns(d, view);
    if (!status && has_parts)
        status = decode_parts(d, view);
    if (!status && (type == TRACE_BLOCK_RUNS || type == TRACE_BLOCK_OPS))
        status = decode_figures(d, view);
    if (!status && type == TRACE_BLOCK_POINTS)
        status = decode_text(d, view);
    if (status)
        return status;
    switch (type) {
    case TRACE_BLOCK_POINTS:
        return make_points(d, out);
    case TRACE_BLOCK_COUNTERS:
        return make_counters(d, out);
    case TRACE_BLOCK_MEMORY:
        return make_memory(d, out);
    case TRACE_BLOCK_OPS:
        return make_ops(d, out);
    case TRACE_BLOCK_RUNS:
        return make_runs(d, out);
    case TRACE_BLOCK_LOCKS:
        return make_locks(d, out);
    default:
        return make_samples(d, out);
    }
}

int trace_decode_rows(struct trace *t, const struct trace_block *block, struct trace_rows *rows,
                      struct error *err)
{
    struct block_view view;
    const struct entry *entry = reader_entry(t, block);
    struct trace_rows_memory *m = rows->storage ? rows->storage : calloc(1, sizeof *m);
    if (!m)
        return error_set_errno(err, ENOMEM, "%s", t->path);
    *rows = (struct trace_rows){.storage = m};
    if (!entry || !trace_block_has_rows(entry->block.type))
        return error_set(err, EINVAL, "%s: not a block of such rows", t->path);
    int status = reader_open_block(t, entry, true, &view, err);
    if (status)
        return status;
    struct rows_decoder d = {
        .t = t, .entry = entry, .source = &t->sources[entry->source], .m = m, .count = view.header.count};
    status = d.count <= ROW_BLOCK_ROWS ? decode(&d, &view, rows) : -EINVAL;
    if (status) {
        *rows = (struct trace_rows){.storage = m};
        return reader_decode_error(t, entry, status, err);
    }
    rows->count = d.count;
    rows->ticks = d.v[ROW_TIME];
    return 0;
}
