/* SPDX-License-Identifier: Apache-2.0 */
/* What to draw of one depth of a track: per stretch of the file the coarsest level of detail whose interval
 * is at most a few pixels, the nodes inside a block where no level above it fits, its zones where even those
 * are too coarse. What begins in the same tile of 2^k ns of host time, one to two pixels, becomes one row in any case,
 * so a window gives at most two rows per pixel and costs about the same at every zoom; a window that is moved by less
 * or more than a tile has the same rows. docs/decisions/001-time-levels.md has the measurements. */
#include "trace/reader/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A node of a LOD block may be this many tiles wide before the level below is taken; one inside a block,
 * before its zones are. Chosen so that 64 tracks take about 16 ms at the worst zoom. */
#define LEVEL_TILES 4u
#define BLOCK_TILES 8u
#define NODES_INSIDE_ROWS 1024u /* smaller blocks have no nodes: do not look for them */

struct drawing {
    struct trace *t;
    uint32_t track, depth;
    uint32_t clock;
    uint64_t since, until; /* host ns */
    unsigned tile;         /* what begins in the same interval of 2^tile ns is one row */
    unsigned level;        /* the coarsest of LOD blocks that may be drawn */
    unsigned block_level;  /* of nodes inside a block */
    struct lod_rows *out;
    struct lod_row open; /* the row that the next item may still fall into; count 0: none */
    bool failed;
};

void lod_rows_free(struct lod_rows *rows)
{
    free(rows->rows);
    *rows = (struct lod_rows){0};
}

/* --- rows --- */

static void close_row(struct drawing *d)
{
    struct lod_rows *out = d->out;
    if (!d->open.count)
        return;
    if (out->count == out->capacity &&
        !array_reserve(&out->rows, &out->capacity, out->count + 1, sizeof *out->rows)) {
        d->failed = true;
        return;
    }
    out->rows[out->count++] = d->open;
    d->open.count = 0;
}

static inline bool is_long_zone(const struct lod_row *row, unsigned tile)
{
    return row->count == 1 && (row->end_ns - row->start_ns) >> tile != 0;
}

static inline bool row_takes(const struct lod_row *row, const struct lod_row *next, unsigned tile)
{
    return row->count && row->start_ns >> tile == next->start_ns >> tile && !is_long_zone(row, tile) &&
           !is_long_zone(next, tile);
}

static inline void row_add(struct lod_row *row, const struct lod_row *next)
{
    row->end_ns = next->end_ns > row->end_ns ? next->end_ns : row->end_ns;
    row->busy_ns += next->busy_ns;
    if (next->longest_ns > row->longest_ns) {
        row->longest_ns = next->longest_ns;
        row->name = next->name;
    }
    row->count += next->count;
}

static void add_item(struct drawing *d, const struct lod_row *item)
{
    if (row_takes(&d->open, item, d->tile)) {
        row_add(&d->open, item);
        return;
    }
    close_row(d);
    d->open = *item;
}

/* A node in ticks of the drawing's clock. */
static void add_node(struct drawing *d, const struct node *node, const uint32_t *names)
{
    struct lod_row item = {.start_ns = node->start,
                           .end_ns = node->end,
                           .busy_ns = node->busy,
                           .longest_ns = node->longest,
                           .name = names[node->name],
                           .count = node->count};
    if (d->clock != TRACE_HOST_CLOCK) {
        uint64_t ticks = node->end - node->start;
        item.start_ns = trace_host_ns(d->t, d->clock, node->start);
        item.end_ns = trace_host_ns(d->t, d->clock, node->end);
        uint64_t ns = item.end_ns - item.start_ns;
        item.busy_ns = ticks ? (uint64_t)((__uint128_t)node->busy * ns / ticks) : 0;
        item.longest_ns = ticks ? (uint64_t)((__uint128_t)node->longest * ns / ticks) : 0;
    }
    if (item.count && item.end_ns >= d->since && item.start_ns <= d->until)
        add_item(d, &item);
}

/* --- groups of a decoded block --- */

/* First index in [first, first + count) whose value is at least `limit`; values ascend. */
static size_t lower_bound(const uint64_t *values, size_t first, size_t count, uint64_t limit)
{
    while (count) {
        size_t half = count / 2;
        if (values[first + half] < limit) {
            first += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return first;
}

static void draw_nodes(struct drawing *d, const struct cached *c, const struct cached_group *group)
{
    bool is_host = d->clock == TRACE_HOST_CLOCK;
    size_t end = (size_t)group->first + group->count;
    size_t i = is_host ? lower_bound(c->reach, group->first, group->count, d->since) : group->first;
    for (; i < end && !(is_host && c->nodes[i].start > d->until); i++)
        add_node(d, &c->nodes[i], c->names);
    close_row(d);
}

/* Orders by duration, the earlier row first. */
static inline uint64_t longest_key(uint32_t duration, size_t row)
{
    return (uint64_t)duration << 32 | (UINT32_MAX - (uint32_t)row);
}

/* Zones that follow each other, in host time: the inner loop of a narrow window. Starts at the last anchor
 * before the window. */
static void draw_host_zones(struct drawing *d, const struct cached *c, const struct cached_group *group)
{
    const uint32_t *gap = c->gap + group->first, *duration = c->duration + group->first;
    const uint16_t *name = c->row_name + group->first;
    size_t anchors = (group->count + ANCHOR_ROWS - 1) / ANCHOR_ROWS, count = group->count;
    size_t anchor = lower_bound(c->anchors, group->first_anchor, anchors, d->since) - group->first_anchor;
    anchor -= anchor > 0;
    size_t i = anchor * ANCHOR_ROWS;
    uint64_t start = c->anchors[group->first_anchor + anchor], end = start + duration[i];
    while (end < d->since && ++i < count) {
        start = end + gap[i];
        end = start + duration[i];
    }
    uint64_t inside = (UINT64_C(1) << d->tile) - 1;
    while (i < count && start <= d->until) {
        uint64_t limit = start | inside, busy = duration[i], stop = end;
        bool is_alone = duration[i] > inside;
        uint64_t longest =
            longest_key(duration[i], i); /* no branch: which one is longest cannot be guessed */
        size_t first = i;
        d->open.start_ns = start;
        while (++i < count) {
            start = end + gap[i];
            end = start + duration[i];
            if (is_alone || start > limit || duration[i] > inside || start > d->until)
                break;
            stop = end;
            busy += duration[i];
            uint64_t key = longest_key(duration[i], i);
            longest = key > longest ? key : longest;
        }
        d->open.end_ns = stop;
        d->open.busy_ns = busy;
        d->open.longest_ns = longest >> 32;
        d->open.name = c->names[name[UINT32_MAX - (uint32_t)longest]];
        d->open.count = (uint32_t)(i - first);
        close_row(d);
    }
}

static void draw_device_zones(struct drawing *d, const struct cached *c, const struct cached_group *group)
{
    uint64_t start = c->anchors[group->first_anchor];
    for (size_t i = group->first; i < (size_t)group->first + group->count; i++) {
        start += c->gap[i];
        struct node zone = {.start = start,
                            .end = start + c->duration[i],
                            .busy = c->duration[i],
                            .longest = c->duration[i],
                            .name = c->row_name[i],
                            .count = 1};
        add_node(d, &zone, c->names);
        start = zone.end;
    }
    close_row(d);
}

static void draw_group(struct drawing *d, const struct cached *c, const struct cached_group *group)
{
    if (group->count == 0)
        return;
    if (group->has_nodes)
        draw_nodes(d, c, group);
    else if (d->clock == TRACE_HOST_CLOCK)
        draw_host_zones(d, c, group);
    else
        draw_device_zones(d, c, group);
}

static void draw_cached(struct drawing *d, const struct cached *c)
{
    for (size_t i = 0; i < c->group_count; i++)
        if (c->groups[i].track == d->track && c->groups[i].depth == d->depth)
            draw_group(d, c, &c->groups[i]);
}

/* --- stretches --- */

static bool overlaps(const struct drawing *d, uint64_t first, uint64_t last)
{
    return first <= d->until && last >= d->since;
}

/* The coarsest level of the stretch that may be drawn, among those of the given parity; 0 when none. */
static unsigned stretch_level(const struct lod_stretch *stretch, unsigned parity, unsigned level)
{
    uint64_t levels =
        stretch->levels & (parity ? UINT64_C(0xaaaaaaaaaaaaaaaa) : UINT64_C(0x5555555555555555));
    levels &= level >= 63 ? UINT64_MAX : (UINT64_C(2) << level) - 1;
    return levels ? 63u - (unsigned)__builtin_clzll(levels) : 0;
}

static bool is_covered(const struct lod_stretch *stretch, const struct entry *entry, unsigned level)
{
    unsigned drawn = stretch_level(stretch, entry->lod_level & 1, level);
    return drawn >= entry->lod_level + 2u;
}

/* The blocks of every level in between are covered too: is there any zone block that is not? */
static bool is_wholly_covered(const struct lod_stretch *stretch, unsigned level)
{
    for (unsigned parity = 0; parity < 2; parity++) {
        unsigned drawn = stretch_level(stretch, parity, level);
        uint64_t mask = parity ? UINT64_C(0xaaaaaaaaaaaaaaaa) : UINT64_C(0x5555555555555555);
        uint64_t covered = drawn >= 2 ? (UINT64_C(1) << (drawn - 1)) - 1 : 0;
        if (stretch->zone_levels & mask & ~covered)
            return false;
    }
    return true;
}

static int draw_levels(struct drawing *d, const struct lod_index *x, const struct lod_stretch *stretch,
                       struct error *err)
{
    for (unsigned parity = 0; parity < 2; parity++) {
        unsigned level = stretch_level(stretch, parity, d->level);
        if (!level)
            continue;
        for (size_t i = 0; i < stretch->parts[level]; i++) {
            const struct lod_part *part = &x->parts[stretch->first_part[level] + i];
            bool is_wanted = false;
            for (size_t g = 0; g < part->group_count && !is_wanted; g++) {
                const struct lod_group *group = &x->groups[part->first_group + g];
                is_wanted = group->track == d->track && group->depth == d->depth;
            }
            if (!is_wanted || !overlaps(d, part->entry->min_start_ns, part->entry->last_ns))
                continue;
            const struct cached *c;
            int status = cache_get(d->t, part->entry, CACHE_NODES, &c, err);
            if (status)
                return status;
            draw_cached(d, c);
        }
    }
    return 0;
}

static int draw_block(struct drawing *d, struct entry *entry, struct error *err)
{
    const struct cached *c;
    bool may_have_nodes = entry->block.track != TRACE_NONE && entry->block.count >= NODES_INSIDE_ROWS;
    if (!overlaps(d, entry->min_start_ns, entry->last_ns))
        return 0;
    bool wants_nodes = may_have_nodes && entry->lod_level <= d->block_level;
    int status = wants_nodes ? cache_get(d->t, entry, CACHE_NODES, &c, err) : -ENODATA;
    if (status == -ENODATA)
        status = cache_get(d->t, entry, CACHE_ZONES, &c, err);
    if (!status)
        draw_cached(d, c);
    return status;
}

static int draw_all(struct drawing *d, const struct lod_index *x, struct error *err)
{
    int status = 0;
    for (size_t i = 0; i < x->stretch_count && !status; i++) {
        const struct lod_stretch *stretch = &x->stretches[i];
        if (!overlaps(d, stretch->min_ns, stretch->max_ns))
            continue;
        status = draw_levels(d, x, stretch, err);
        if (is_wholly_covered(stretch, d->level))
            continue;
        for (size_t k = 0; k < stretch->packed_count && !status; k++) {
            const struct zone_ref *ref = &x->packed[stretch->first_packed + k];
            if (!is_covered(stretch, ref->entry, d->level))
                status = draw_block(d, ref->entry, err);
        }
    }
    for (size_t i = x->track_first[d->track]; i < x->track_first[d->track + 1] && !status; i++) {
        const struct zone_ref *ref = &x->zones[i];
        if (!is_covered(&x->stretches[ref->stretch], ref->entry, d->level))
            status = draw_block(d, ref->entry, err);
    }
    return status;
}

/* --- order --- */

/* Merges two neighbouring ascending runs of `rows` through scratch memory. */
static void merge_runs(struct lod_row *rows, size_t first, size_t second, struct lod_row *scratch)
{
    size_t a = 0, b = first, at = 0;
    memcpy(scratch, rows, first * sizeof *rows);
    while (a < first && b < second)
        rows[at++] = rows[b].start_ns < scratch[a].start_ns ? rows[b++] : scratch[a++];
    memcpy(rows + at, scratch + a, (first - a) * sizeof *rows);
}

/* Natural merge sort: rows come in a few ascending runs (blocks in order, the carried rows of each between). */
static bool sort_rows(struct lod_index *x, struct lod_rows *out)
{
    for (;;) {
        size_t first = 0, runs = 0;
        while (first < out->count) {
            size_t middle = first + 1, end;
            while (middle < out->count && out->rows[middle].start_ns >= out->rows[middle - 1].start_ns)
                middle++;
            end = middle < out->count ? middle + 1 : middle;
            while (end < out->count && out->rows[end].start_ns >= out->rows[end - 1].start_ns)
                end++;
            if (middle < out->count) {
                if (!array_reserve(&x->merged, &x->merged_capacity, middle - first, sizeof *x->merged))
                    return false;
                merge_runs(out->rows + first, middle - first, end - first, x->merged);
            }
            first = end;
            runs++;
        }
        if (runs <= 1)
            return true;
    }
}

static void merge_tiles(struct lod_rows *out, unsigned tile)
{
    size_t kept = 0;
    for (size_t i = 0; i < out->count; i++) {
        const struct lod_row *next = &out->rows[i];
        if (kept && row_takes(&out->rows[kept - 1], next, tile))
            row_add(&out->rows[kept - 1], next);
        else
            out->rows[kept++] = *next;
    }
    out->count = kept;
}

/* --- a window --- */

/* The largest level whose interval is at most this long, in ticks of the track's clock. */
static unsigned level_for(const struct trace *t, uint32_t clock, double ns)
{
    double ticks = ns;
    double rate = clock < t->clock_count ? t->clocks[clock].ticks_per_second : 1e9;
    if (clock != TRACE_HOST_CLOCK && rate >= 1.0 && rate <= 1e15)
        ticks *= rate / 1e9;
    unsigned level = 0;
    while (level < LOD_MAX_LEVEL && ticks >= 2.0) {
        ticks /= 2.0;
        level++;
    }
    return level;
}

unsigned trace_lod_tile(uint64_t since_ns, uint64_t until_ns, uint32_t pixels)
{
    uint64_t pixel_ns = pixels && until_ns > since_ns ? (until_ns - since_ns) / pixels : 0;
    unsigned tile = pixel_ns > 1 ? 64u - (unsigned)__builtin_clzll(pixel_ns - 1) : 0;
    return tile < 64 ? tile : 63;
}

int trace_lod(struct trace *t, uint32_t track, uint32_t depth, uint64_t since_ns, uint64_t until_ns,
              uint32_t pixels, struct lod_rows *out, struct error *err)
{
    struct lod_index *x;
    out->count = 0;
    if (track >= t->track_count || until_ns < since_ns || pixels == 0)
        return error_set(err, EINVAL, "%s: no such window", t->path);
    int status = lod_index_get(t, &x, err);
    if (status)
        return status;
    cache_grant(t);
    uint32_t clock = t->tracks[track].clock;
    unsigned tile = trace_lod_tile(since_ns, until_ns, pixels);
    double tile_ns = (double)(UINT64_C(1) << tile);
    struct drawing d = {.t = t,
                        .track = track,
                        .depth = depth,
                        .clock = clock,
                        .since = since_ns,
                        .until = until_ns,
                        .tile = tile,
                        .level = level_for(t, clock, tile_ns * LEVEL_TILES),
                        .block_level = level_for(t, clock, tile_ns * BLOCK_TILES),
                        .out = out};
    status = draw_all(&d, x, err);
    if (!status && (d.failed || !sort_rows(x, out)))
        status = error_set_errno(err, ENOMEM, "%s", t->path);
    if (!status)
        merge_tiles(out, d.tile);
    return status;
}
