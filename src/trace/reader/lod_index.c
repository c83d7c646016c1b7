/* SPDX-License-Identifier: Apache-2.0 */
/* Made when the first window is drawn: the directories of all LOD blocks, the stretches of the file that
 * they stand for, and the zone blocks of each track. A level of a stretch counts only when all its parts are
 * there; so after damage, or in a file that still grows, drawing falls back to the blocks themselves. */
#include "trace/reader/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void lod_index_free(struct trace *t)
{
    struct lod_index *x = t->lod;
    if (!x)
        return;
    free(x->parts);
    free(x->groups);
    free(x->stretches);
    free(x->zones);
    free(x->packed);
    free(x->track_first);
    free(x->merged);
    free(x);
    t->lod = NULL;
}

/* --- LOD blocks --- */

static int read_part(struct trace *t, struct lod_index *x, struct entry *entry, const struct block_view *view)
{
    uint64_t info[LOD_INFO_VALUES];
    size_t groups = block_count(view, ZONE_LOD_GROUP);
    int status = block_decode_u64(view, &t->codec, LOD_INFO, info, LOD_INFO_VALUES);
    if (status || groups > ZONE_BLOCK_ROWS || info[LOD_INFO_LEVEL] > LOD_MAX_LEVEL ||
        info[LOD_INFO_PART] >= info[LOD_INFO_PARTS] || info[LOD_INFO_PARTS] > UINT32_MAX ||
        info[LOD_INFO_FROM] >= info[LOD_INFO_TO])
        return status ? status : -EINVAL;
    if (!array_reserve(&x->parts, &x->part_capacity, x->part_count + 1, sizeof *x->parts) ||
        !array_reserve(&x->groups, &x->group_capacity, x->group_count + groups, sizeof *x->groups))
        return -ENOMEM;
    uint32_t *ids = malloc((2 * groups + 1) * sizeof *ids);
    status = ids ? block_decode_u32(view, &t->codec, ZONE_GROUP_TRACK, ids, groups) : -ENOMEM;
    if (!status)
        status = block_decode_u32(view, &t->codec, ZONE_GROUP_DEPTH, ids + groups, groups);
    if (!status) {
        x->parts[x->part_count++] = (struct lod_part){.entry = entry,
                                                      .from = info[LOD_INFO_FROM],
                                                      .to = info[LOD_INFO_TO],
                                                      .source = entry->source,
                                                      .level = (uint32_t)info[LOD_INFO_LEVEL],
                                                      .number = (uint32_t)info[LOD_INFO_PART],
                                                      .part_count = (uint32_t)info[LOD_INFO_PARTS],
                                                      .first_group = x->group_count,
                                                      .group_count = groups};
        for (size_t i = 0; i < groups; i++)
            x->groups[x->group_count++] =
                (struct lod_group){.track = reader_id(&t->sources[entry->source], TRACE_ID_TRACK, ids[i]),
                                   .depth = ids[groups + i]};
    }
    free(ids);
    return status;
}

static int read_parts(struct trace *t, struct lod_index *x, struct error *err)
{
    struct block_view view;
    for (size_t i = 0; i < t->entry_count; i++) {
        struct entry *entry = &t->entries[i];
        if (entry->block.type != TRACE_BLOCK_LOD)
            continue;
        if (reader_open_block(t, entry, false, &view, err) == 0 && read_part(t, x, entry, &view) == -ENOMEM)
            return error_set_errno(err, ENOMEM, "%s", t->path);
        /* A damaged one is as good as none: its level is not whole then. */
    }
    return 0;
}

static int compare_parts(const void *left, const void *right)
{
    const struct lod_part *a = left, *b = right;
    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    if (a->level != b->level)
        return a->level < b->level ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* --- stretches --- */

static struct lod_stretch *add_stretch(struct lod_index *x)
{
    if (!array_reserve(&x->stretches, &x->stretch_capacity, x->stretch_count + 1, sizeof *x->stretches))
        return NULL;
    struct lod_stretch *stretch = &x->stretches[x->stretch_count++];
    memset(stretch, 0, sizeof *stretch);
    stretch->min_ns = UINT64_MAX;
    return stretch;
}

/* From the sorted parts: one stretch for each range of blocks; ranges that overlap an earlier one of the same
 * source (a hostile file) are left out. */
static int make_stretches(struct lod_index *x)
{
    struct lod_stretch *stretch = NULL;
    for (size_t i = 0, end; i < x->part_count; i = end) {
        const struct lod_part *first = &x->parts[i];
        bool is_whole = true;
        for (end = i; end < x->part_count; end++) {
            const struct lod_part *part = &x->parts[end];
            if (part->source != first->source || part->from != first->from || part->to != first->to ||
                part->level != first->level)
                break;
            is_whole &= part->number == end - i && part->part_count == first->part_count;
        }
        is_whole &= end - i == first->part_count;
        bool is_same = stretch && stretch->source == first->source && stretch->from == first->from &&
                       stretch->to == first->to;
        if (!is_same && stretch && stretch->source == first->source && first->from < stretch->to)
            continue;
        if (!is_same && !(stretch = add_stretch(x)))
            return -ENOMEM;
        stretch->source = first->source;
        stretch->from = first->from;
        stretch->to = first->to;
        if (is_whole) {
            stretch->levels |= UINT64_C(1) << first->level;
            stretch->first_part[first->level] = i;
            stretch->parts[first->level] = end - i;
        }
    }
    return add_stretch(x) ? 0 : -ENOMEM; /* for the rest */
}

/* The stretch of a zone block: binary search, since stretches of a source follow each other. */
static uint32_t stretch_of(const struct lod_index *x, const struct entry *entry)
{
    size_t low = 0, high = x->stretch_count - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct lod_stretch *s = &x->stretches[middle];
        if (s->source < entry->source || (s->source == entry->source && s->to <= entry->sequence))
            low = middle + 1;
        else
            high = middle;
    }
    const struct lod_stretch *s = &x->stretches[low];
    bool is_inside = low + 1 < x->stretch_count && s->source == entry->source && s->from <= entry->sequence &&
                     entry->sequence < s->to;
    return (uint32_t)(is_inside ? low : x->stretch_count - 1);
}

/* --- zone blocks --- */

static int compare_zones(const void *left, const void *right)
{
    const struct zone_ref *a = left, *b = right;
    if (a->entry->block.track != b->entry->block.track)
        return a->entry->block.track < b->entry->block.track ? -1 : 1;
    if (a->entry->block.t_first != b->entry->block.t_first)
        return a->entry->block.t_first < b->entry->block.t_first ? -1 : 1;
    return a->entry < b->entry ? -1 : a->entry > b->entry;
}

static int compare_packed(const void *left, const void *right)
{
    const struct zone_ref *a = left, *b = right;
    if (a->stretch != b->stretch)
        return a->stretch < b->stretch ? -1 : 1;
    return compare_zones(left, right);
}

static int list_zones(struct trace *t, struct lod_index *x)
{
    size_t count = 0;
    for (size_t i = 0; i < t->entry_count; i++)
        count += t->entries[i].block.type == TRACE_BLOCK_ZONES;
    x->zones = malloc((count + 1) * sizeof *x->zones);
    x->packed = malloc((count + 1) * sizeof *x->packed);
    x->track_first = calloc(t->track_count + 2, sizeof *x->track_first);
    if (!x->zones || !x->packed || !x->track_first)
        return -ENOMEM;
    for (size_t i = 0; i < t->entry_count; i++) {
        struct entry *entry = &t->entries[i];
        if (entry->block.type != TRACE_BLOCK_ZONES)
            continue;
        struct zone_ref ref = {.entry = entry, .stretch = stretch_of(x, entry)};
        struct lod_stretch *stretch = &x->stretches[ref.stretch];
        stretch->min_ns = entry->min_start_ns < stretch->min_ns ? entry->min_start_ns : stretch->min_ns;
        stretch->max_ns = entry->last_ns > stretch->max_ns ? entry->last_ns : stretch->max_ns;
        stretch->zone_levels |= UINT64_C(1) << (entry->lod_level & 63);
        if (entry->block.track < t->track_count)
            x->zones[x->zone_count++] = ref;
        else
            x->packed[x->packed_count++] = ref;
    }
    qsort(x->zones, x->zone_count, sizeof *x->zones, compare_zones);
    qsort(x->packed, x->packed_count, sizeof *x->packed, compare_packed);
    for (size_t i = 0; i < x->zone_count; i++)
        x->track_first[x->zones[i].entry->block.track + 1] = i + 1;
    for (size_t i = 1; i <= t->track_count; i++)
        if (x->track_first[i] < x->track_first[i - 1])
            x->track_first[i] = x->track_first[i - 1];
    for (size_t i = 0; i < x->packed_count; i++) {
        struct lod_stretch *stretch = &x->stretches[x->packed[i].stretch];
        if (stretch->packed_count++ == 0)
            stretch->first_packed = i;
    }
    return 0;
}

int lod_index_get(struct trace *t, struct lod_index **out, struct error *err)
{
    if (t->lod) {
        *out = t->lod;
        return 0;
    }
    struct lod_index *x = t->lod = calloc(1, sizeof *x);
    int status = x ? read_parts(t, x, err) : error_set_errno(err, ENOMEM, "%s", t->path);
    if (!status) {
        if (x->part_count)
            qsort(x->parts, x->part_count, sizeof *x->parts, compare_parts);
        status = make_stretches(x);
        if (!status)
            status = list_zones(t, x);
        if (status)
            error_set_errno(err, -status, "%s", t->path);
    }
    if (status)
        lod_index_free(t);
    *out = t->lod;
    return status;
}
