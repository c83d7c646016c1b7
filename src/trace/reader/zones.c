/* SPDX-License-Identifier: Apache-2.0 */
/* Zone blocks: the directory of groups, then the columns that were asked for. */
#include "trace/reader/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

struct zone_rows_memory {
    size_t capacity; /* rows */
    uint64_t *start, *duration, *child;
    uint32_t *gap, *name;
    struct groups groups;
    struct bytes names;
    size_t group_capacity, extra_capacity;
    struct bytes extra_values, text;
};

/* --- groups and names --- */

void groups_free(struct groups *groups)
{
    bytes_free(&groups->memory);
}

static int decode_group_columns(struct trace *t, const struct block_view *view, struct groups *g,
                                size_t carried)
{
    size_t n = g->normal_count;
    int status = block_decode_u32(view, &t->codec, ZONE_GROUP_TRACK, g->track, n);
    if (!status)
        status = block_decode_u32(view, &t->codec, ZONE_GROUP_DEPTH, g->depth, n);
    if (!status)
        status = block_decode_u32(view, &t->codec, ZONE_GROUP_COUNT, g->count, n);
    if (!status)
        status = block_decode_u64(view, &t->codec, ZONE_GROUP_BASE, g->base, n);
    if (!status)
        status = block_decode_u32(view, &t->codec, ZONE_CARRIED_TRACK, g->track + n, carried);
    if (!status)
        status = block_decode_u32(view, &t->codec, ZONE_CARRIED_DEPTH, g->depth + n, carried);
    if (!status)
        status = block_decode_u32(view, &t->codec, ZONE_CARRIED_COUNT, g->count + n, carried);
    return status;
}

int groups_decode(struct trace *t, const struct source *source, const struct block_view *view,
                  struct groups *g)
{
    size_t normal = block_count(view, ZONE_GROUP_COUNT), carried = block_count(view, ZONE_CARRIED_COUNT);
    g->count_all = 0;
    if (normal > ZONE_BLOCK_ROWS || carried > ZONE_BLOCK_ROWS || view->header.count > ZONE_BLOCK_ROWS)
        return -EINVAL;
    size_t all = normal + carried;
    bytes_clear(&g->memory);
    if (!bytes_reserve(&g->memory, (all + 1) * (sizeof *g->base + 3 * sizeof *g->track)))
        return -ENOMEM;
    g->base = (uint64_t *)(void *)g->memory.data;
    g->track = (uint32_t *)(g->base + all);
    g->depth = g->track + all;
    g->count = g->depth + all;
    g->normal_count = normal;
    g->normal_rows = g->carried_rows = 0;
    int status = decode_group_columns(t, view, g, carried);
    for (size_t i = 0; i < all && !status; i++) {
        if (source)
            g->track[i] = reader_id(source, TRACE_ID_TRACK, g->track[i]);
        if (g->depth[i] >= TRACE_MAX_DEPTH || g->count[i] > ZONE_BLOCK_ROWS)
            status = -EINVAL;
        *(i < normal ? &g->normal_rows : &g->carried_rows) += g->count[i];
    }
    if (!status && g->normal_rows + g->carried_rows != view->header.count)
        status = -EINVAL;
    g->count_all = status ? 0 : all;
    return status;
}

int names_decode(struct trace *t, const struct entry *entry, const struct block_view *view,
                 struct bytes *memory, size_t *count)
{
    *count = block_count(view, ZONE_NAMES);
    bytes_clear(memory);
    if (*count > ZONE_BLOCK_ROWS)
        return -EINVAL;
    if (!bytes_reserve(memory, (*count + 1) * sizeof(uint32_t)))
        return -ENOMEM;
    uint32_t *names = (uint32_t *)(void *)memory->data;
    int status = block_decode_u32(view, &t->codec, ZONE_NAMES, names, *count);
    const struct source *source = &t->sources[entry->source];
    for (size_t i = 0; i < *count && !status; i++)
        names[i] = reader_id(source, TRACE_ID_NAME, names[i]);
    return status;
}

/* --- rows --- */

size_t zone_rows_find_extras(const struct zone_rows *rows, size_t row, const struct trace_extra **first)
{
    size_t low = 0, high = rows->extra_count, count = 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows->extras[middle].row < row)
            low = middle + 1;
        else
            high = middle;
    }
    *first = rows->extra_count ? rows->extras + low : NULL;
    while (low + count < rows->extra_count && rows->extras[low + count].row == row)
        count++;
    return count;
}

void zone_rows_free(struct zone_rows *rows)
{
    struct zone_rows_memory *m = rows->memory;
    if (m) {
        free(m->start);
        free(m->name);
        groups_free(&m->groups);
        bytes_free(&m->names);
        bytes_free(&m->extra_values);
        bytes_free(&m->text);
        free(m);
    }
    free(rows->groups);
    free(rows->extras);
    *rows = (struct zone_rows){0};
}

static int reserve_rows(struct zone_rows *rows, size_t count)
{
    struct zone_rows_memory *m = rows->memory;
    if (!m)
        m = rows->memory = calloc(1, sizeof *m);
    if (!m)
        return -ENOMEM;
    if (count <= m->capacity)
        return 0;
    size_t capacity = count < 1024 ? 1024 : ZONE_BLOCK_ROWS;
    uint64_t *wide = malloc(capacity * 3 * sizeof *wide);
    uint32_t *narrow = malloc(capacity * 2 * sizeof *narrow);
    if (!wide || !narrow) {
        free(wide);
        free(narrow);
        return -ENOMEM;
    }
    free(m->start);
    free(m->name);
    m->start = wide;
    m->duration = wide + capacity;
    m->child = m->duration + capacity;
    m->name = narrow;
    m->gap = narrow + capacity;
    m->capacity = capacity;
    return 0;
}

static int fill_groups(struct zone_rows *rows)
{
    const struct groups *g = &rows->memory->groups;
    if (!array_reserve(&rows->groups, &rows->memory->group_capacity, g->count_all + 1, sizeof *rows->groups))
        return -ENOMEM;
    uint32_t first = 0;
    for (size_t i = 0; i < g->count_all; i++) {
        rows->groups[i] = (struct zone_rows_group){.track = g->track[i],
                                                   .depth = g->depth[i],
                                                   .first = first,
                                                   .count = g->count[i],
                                                   .is_carried = i >= g->normal_count};
        first += g->count[i];
    }
    rows->group_count = g->count_all;
    return 0;
}

/* Starts of zones that follow each other: base of the group, then gap after the end of the one before. */
static void sum_starts(const struct groups *g, const uint32_t *gap, const uint64_t *duration, uint64_t *start)
{
    size_t at = 0;
    for (size_t i = 0; i < g->normal_count; i++) {
        size_t end = at + g->count[i];
        uint64_t now = g->base[i];
        for (size_t first = at; at < end; at++) {
            now += at > first ? gap[at] : 0;
            start[at] = now;
            now += duration[at];
        }
    }
}

static int decode_times(struct trace *t, const struct block_view *view, unsigned columns,
                        struct zone_rows *rows)
{
    struct zone_rows_memory *m = rows->memory;
    size_t normal = m->groups.normal_rows, carried = m->groups.carried_rows;
    int status = 0;
    if (columns & (TRACE_COLUMN_START | TRACE_COLUMN_DURATION)) {
        status = block_decode_u64(view, &t->codec, ZONE_DURATION, m->duration, normal);
        if (!status)
            status = block_decode_u64(view, &t->codec, ZONE_CARRIED_DURATION, m->duration + normal, carried);
    }
    if (!status && columns & TRACE_COLUMN_START) {
        status = block_decode_u32(view, &t->codec, ZONE_GAP, m->gap, normal);
        if (!status)
            status = block_decode_u64(view, &t->codec, ZONE_CARRIED_START, m->start + normal, carried);
        if (!status)
            sum_starts(&m->groups, m->gap, m->duration, m->start);
    }
    if (!status && columns & TRACE_COLUMN_CHILD) {
        status = block_decode_u64(view, &t->codec, ZONE_CHILD, m->child, normal);
        if (!status)
            status = block_decode_u64(view, &t->codec, ZONE_CARRIED_CHILD, m->child + normal, carried);
    }
    return status;
}

static int decode_names(struct trace *t, const struct entry *entry, const struct block_view *view,
                        struct zone_rows *rows)
{
    struct zone_rows_memory *m = rows->memory;
    size_t normal = m->groups.normal_rows, carried = m->groups.carried_rows, name_count;
    int status = names_decode(t, entry, view, &m->names, &name_count);
    if (!status)
        status = block_decode_u32(view, &t->codec, ZONE_NAME, m->name, normal);
    if (!status)
        status = block_decode_u32(view, &t->codec, ZONE_CARRIED_NAME, m->name + normal, carried);
    if (status || normal + carried == 0)
        return status;
    if (name_count == 0)
        return -EINVAL;
    const uint32_t *names = (const uint32_t *)(const void *)m->names.data;
    bool is_bad = false;
    for (size_t i = 0; i < normal + carried; i++) {
        is_bad |= m->name[i] >= name_count;
        m->name[i] = names[m->name[i] < name_count ? m->name[i] : 0];
    }
    return is_bad ? -EINVAL : 0;
}

static int decode_extras(struct trace *t, const struct block_view *view, struct zone_rows *rows)
{
    struct zone_rows_memory *m = rows->memory;
    size_t count = block_count(view, ZONE_EXTRA_KIND), length = block_count(view, ZONE_EXTRA_TEXT);
    rows->extra_count = 0;
    if (count == 0)
        return 0;
    if (count > BLOCK_MAX_ROWS || length > BLOCK_MAX_BLOB)
        return -EINVAL;
    bytes_clear(&m->extra_values);
    bytes_clear(&m->text);
    if (!bytes_reserve(&m->extra_values, 4 * count * sizeof(uint64_t)) ||
        !bytes_reserve(&m->text, length + 1) ||
        !array_reserve(&rows->extras, &m->extra_capacity, count, sizeof *rows->extras))
        return -ENOMEM;
    uint64_t *v = (uint64_t *)(void *)m->extra_values.data;
    int status = block_decode_u64(view, &t->codec, ZONE_EXTRA_ROW, v, count);
    if (!status)
        status = block_decode_u64(view, &t->codec, ZONE_EXTRA_KIND, v + count, count);
    if (!status)
        status = block_decode_u64(view, &t->codec, ZONE_EXTRA_VALUE, v + 2 * count, count);
    if (!status)
        status = block_decode_u64(view, &t->codec, ZONE_EXTRA_LENGTH, v + 3 * count, count);
    if (!status)
        status = block_decode_bytes(view, &t->codec, ZONE_EXTRA_TEXT, m->text.data, length);
    size_t at = 0;
    for (size_t i = 0; i < count && !status; i++) {
        uint64_t own = v[3 * count + i];
        if (v[i] >= rows->count || own > length - at)
            return -EINVAL;
        rows->extras[i] = (struct trace_extra){.row = (uint32_t)v[i],
                                               .kind = (uint32_t)v[count + i],
                                               .value = v[2 * count + i],
                                               .text = own ? (const char *)m->text.data + at : NULL,
                                               .text_length = (uint32_t)own};
        at += (size_t)own;
    }
    rows->extra_count = status ? 0 : count;
    return status;
}

/* Ticks of a device to host ns. Needs the start for the rest. */
static void convert_times(const struct trace *t, uint32_t clock, unsigned columns, struct zone_rows *rows)
{
    struct zone_rows_memory *m = rows->memory;
    for (size_t i = 0; i < rows->count; i++) {
        uint64_t ticks = m->duration[i];
        uint64_t start = trace_host_ns(t, clock, m->start[i]);
        uint64_t end = trace_host_ns(t, clock, saturating_add_u64(m->start[i], ticks));
        m->start[i] = start;
        m->duration[i] = end - start;
        if (columns & TRACE_COLUMN_CHILD && ticks)
            m->child[i] = (uint64_t)((__uint128_t)m->child[i] * m->duration[i] / ticks);
    }
}

static int decode_block(struct trace *t, const struct entry *entry, const struct block_view *view,
                        unsigned columns, struct zone_rows *rows)
{
    uint32_t clock = entry->block.clock;
    bool converts = clock != TRACE_HOST_CLOCK && !(columns & TRACE_COLUMN_RAW_TICKS) &&
                    columns & (TRACE_COLUMN_START | TRACE_COLUMN_DURATION | TRACE_COLUMN_CHILD);
    if (converts)
        columns |= TRACE_COLUMN_START | TRACE_COLUMN_DURATION;
    int status = reserve_rows(rows, view->header.count <= ZONE_BLOCK_ROWS ? view->header.count : 0);
    if (!status)
        status = groups_decode(t, &t->sources[entry->source], view, &rows->memory->groups);
    if (!status)
        status = fill_groups(rows);
    if (status)
        return status;
    rows->count = view->header.count;
    status = decode_times(t, view, columns, rows);
    if (!status && columns & TRACE_COLUMN_NAME)
        status = decode_names(t, entry, view, rows);
    if (!status && columns & TRACE_COLUMN_EXTRA)
        status = decode_extras(t, view, rows);
    if (!status && converts)
        convert_times(t, clock, columns, rows);
    return status;
}

int trace_decode_zones(struct trace *t, const struct trace_block *block, unsigned columns,
                       struct zone_rows *rows, struct error *err)
{
    struct block_view view;
    const struct entry *entry = reader_entry(t, block);
    rows->count = rows->group_count = rows->extra_count = 0;
    rows->start = rows->duration = rows->child = NULL;
    rows->name = NULL;
    if (!entry || entry->block.type != TRACE_BLOCK_ZONES)
        return error_set(err, EINVAL, "%s: not a block of zones", t->path);
    int status = reader_open_block(t, entry, true, &view, err);
    if (status)
        return status;
    status = decode_block(t, entry, &view, columns, rows);
    if (status) {
        rows->count = rows->group_count = rows->extra_count = 0;
        return reader_decode_error(t, entry, status, err);
    }
    __atomic_fetch_add(&t->zones_read, rows->count, __ATOMIC_RELAXED);
    const struct zone_rows_memory *m = rows->memory;
    rows->start = columns & TRACE_COLUMN_START ? m->start : NULL;
    rows->duration = columns & TRACE_COLUMN_DURATION ? m->duration : NULL;
    rows->child = columns & TRACE_COLUMN_CHILD ? m->child : NULL;
    rows->name = columns & TRACE_COLUMN_NAME ? m->name : NULL;
    return 0;
}

uint64_t trace_zones_read(const struct trace *t)
{
    return __atomic_load_n(&t->zones_read, __ATOMIC_RELAXED);
}
