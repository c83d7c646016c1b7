/* SPDX-License-Identifier: Apache-2.0 */
/* What to draw of one depth of a track. */
#include "reader_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct lod_index {
    struct zone_rows rows;
};

void cache_free(struct trace *t)
{
    (void)t;
}

void lod_index_free(struct trace *t)
{
    if (t->lod)
        zone_rows_free(&t->lod->rows);
    free(t->lod);
}

void lod_rows_free(struct lod_rows *rows)
{
    free(rows->rows);
    *rows = (struct lod_rows){0};
}

static int compare_rows(const void *left, const void *right)
{
    const struct lod_row *a = left, *b = right;
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

/* Neighbours that end within a pixel of where the first began become one row. */
static void merge_pixels(struct lod_rows *out, uint64_t pixel_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < out->count; i++) {
        struct lod_row *next = &out->rows[i], *last = kept ? &out->rows[kept - 1] : NULL;
        if (!last || next->end_ns - last->start_ns > pixel_ns || last->end_ns - last->start_ns > pixel_ns) {
            out->rows[kept++] = *next;
            continue;
        }
        last->end_ns = next->end_ns > last->end_ns ? next->end_ns : last->end_ns;
        last->busy_ns += next->busy_ns;
        if (next->longest_ns > last->longest_ns) {
            last->longest_ns = next->longest_ns;
            last->name = next->name;
        }
        last->count += next->count;
    }
    out->count = kept;
}

static int add_block(struct trace *t, const struct trace_block *block, uint32_t track, uint32_t depth,
                     uint64_t since_ns, uint64_t until_ns, struct lod_rows *out, struct error *err)
{
    struct zone_rows *rows = &t->lod->rows;
    int status = trace_decode_zones(t, block, TRACE_COLUMN_START | TRACE_COLUMN_DURATION | TRACE_COLUMN_NAME,
                                    rows, err);
    for (size_t g = 0; g < rows->group_count && !status; g++) {
        const struct zone_rows_group *group = &rows->groups[g];
        if (group->track != track || group->depth != depth)
            continue;
        if (!array_reserve(&out->rows, &out->capacity, out->count + group->count, sizeof *out->rows))
            return error_set_errno(err, ENOMEM, "%s", t->path);
        for (size_t i = group->first; i < (size_t)group->first + group->count; i++) {
            uint64_t end = rows->start[i] + rows->duration[i];
            if (end < since_ns || rows->start[i] > until_ns)
                continue;
            out->rows[out->count++] = (struct lod_row){.start_ns = rows->start[i],
                                                       .end_ns = end,
                                                       .busy_ns = rows->duration[i],
                                                       .longest_ns = rows->duration[i],
                                                       .name = rows->name[i],
                                                       .count = 1};
        }
    }
    return status;
}

int trace_lod(struct trace *t, uint32_t track, uint32_t depth, uint64_t since_ns, uint64_t until_ns,
              uint32_t pixels, struct lod_rows *out, struct error *err)
{
    struct trace_block_filter filter = {
        .type = TRACE_BLOCK_ZONES, .track_plus_1 = track + 1, .since_ns = since_ns, .until_ns = until_ns};
    const struct trace_block *block;
    size_t position = 0;
    out->count = 0;
    if (!t->lod && !(t->lod = calloc(1, sizeof *t->lod)))
        return error_set_errno(err, ENOMEM, "%s", t->path);
    while ((block = trace_next_block(t, &filter, &position))) {
        int status = add_block(t, block, track, depth, since_ns, until_ns, out, err);
        if (status)
            return status;
    }
    qsort(out->rows, out->count, sizeof *out->rows, compare_rows);
    merge_pixels(out, pixels ? (until_ns - since_ns) / pixels : 0);
    return 0;
}
