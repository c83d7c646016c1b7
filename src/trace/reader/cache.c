/* SPDX-License-Identifier: Apache-2.0 */
/* Decoded blocks for drawing. A view asks for the same blocks again and again (every depth of a track, every
 * frame of a pan), so what was decoded is kept, 64 MiB of it: 250 blocks of zones, or thousands of nodes.
 *
 * Memory that is touched for the first time costs more than the decoding (a block of zones: 40 pages, 80 us
 * in a virtual machine, against 50 us). So chunks of a few sizes are kept and used again, and the cache
 * grows slowly, 32 KiB a drawing on average: a first look at a new window decodes many blocks into little
 * memory. */
#include "trace/reader/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

#define CACHE_BYTES ((size_t)64 << 20)
#define CREDIT_BYTES ((size_t)32 << 10)
#define MAX_CREDIT ((size_t)512 << 10)
#define SMALLEST_CLASS 12u
#define FREE_CHUNKS 4u                    /* of each size that are granted at once */
#define FREE_NODE_BYTES ((size_t)4 << 20) /* and for nodes, which several tracks share */
#define MAX_NODES ZONE_BLOCK_ROWS

/* --- chunks --- */

static void unlink_cached(struct cache *cache, struct cached *c)
{
    *(c->newer ? &c->newer->older : &cache->classes[c->size_class].newest) = c->older;
    *(c->older ? &c->older->newer : &cache->classes[c->size_class].oldest) = c->newer;
}

static void link_newest(struct cache *cache, struct cached *c)
{
    struct cached **newest = &cache->classes[c->size_class].newest;
    c->newer = NULL;
    c->older = *newest;
    *(*newest ? &(*newest)->newer : &cache->classes[c->size_class].oldest) = c;
    *newest = c;
}

static void give_back(struct cache *cache, struct cached *c)
{
    c->older = cache->classes[c->size_class].free;
    cache->classes[c->size_class].free = c;
}

static void evict(struct cache *cache, struct cached *c)
{
    unlink_cached(cache, c);
    c->entry->cached[c->kind] = NULL;
    give_back(cache, c);
}

void cache_free(struct trace *t)
{
    struct cache *cache = t->cache;
    if (!cache)
        return;
    for (unsigned i = 0; i < CACHE_CLASSES; i++) {
        while (cache->classes[i].oldest)
            evict(cache, cache->classes[i].oldest);
        while (cache->classes[i].free) {
            struct cached *next = cache->classes[i].free->older;
            free(cache->classes[i].free);
            cache->classes[i].free = next;
        }
    }
    bytes_free(&cache->wide);
    bytes_free(&cache->narrow);
    bytes_free(&cache->names);
    groups_free(&cache->groups);
    free(cache);
    t->cache = NULL;
}

void cache_grant(struct trace *t)
{
    if (t->cache)
        t->cache->credit =
            t->cache->credit + CREDIT_BYTES < MAX_CREDIT ? t->cache->credit + CREDIT_BYTES : MAX_CREDIT;
}

/* A chunk of at least this size: a free one, a new one when the cache may grow, else the one not used
 * longest. */
static struct cached *take_chunk(struct cache *cache, size_t bytes, bool is_for_nodes)
{
    unsigned class = 0;
    while (class < CACHE_CLASSES - 1 && bytes > (size_t)1 << (SMALLEST_CLASS + class))
        class ++;
    size_t size = (size_t)1 << (SMALLEST_CLASS + class);
    if (bytes > size)
        return NULL;
    struct cached *c = cache->classes[class].free;
    bool is_free =
        cache->classes[class].count < FREE_CHUNKS || (is_for_nodes && cache->bytes < FREE_NODE_BYTES);
    bool may_grow = is_free || (cache->bytes + size <= CACHE_BYTES && cache->credit >= size);
    if (!c && cache->classes[class].oldest && !may_grow) {
        evict(cache, cache->classes[class].oldest);
        c = cache->classes[class].free;
    }
    if (c) {
        cache->classes[class].free = c->older;
    } else {
        c = malloc(size);
        if (!c)
            return NULL;
        cache->classes[class].count++;
        cache->bytes += size;
        cache->credit -= cache->credit < size ? cache->credit : size;
    }
    *c = (struct cached){.size_class = class};
    return c;
}

static void *part(uint8_t **at, size_t count, size_t size)
{
    void *here = *at;
    *at += (count * size + 7) & ~(size_t)7;
    return here;
}

static struct cached *allocate(struct cache *cache, size_t groups, size_t nodes, size_t rows, size_t anchors,
                               size_t names)
{
    size_t bytes = sizeof(struct cached) + nodes * (sizeof(struct node) + sizeof(uint64_t)) +
                   anchors * sizeof(uint64_t) + rows * (2 * sizeof(uint32_t) + sizeof(uint16_t)) +
                   groups * sizeof(struct cached_group) + names * sizeof(uint32_t) + 64;
    struct cached *c = take_chunk(cache, bytes, rows == 0);
    if (!c)
        return NULL;
    uint8_t *at = (uint8_t *)(c + 1);
    c->group_count = groups;
    c->node_count = nodes;
    c->name_count = names;
    c->nodes = part(&at, nodes, sizeof *c->nodes);
    c->reach = part(&at, nodes, sizeof *c->reach);
    c->anchors = part(&at, anchors, sizeof *c->anchors);
    c->gap = part(&at, rows, sizeof *c->gap);
    c->duration = part(&at, rows, sizeof *c->duration);
    c->row_name = part(&at, rows, sizeof *c->row_name);
    c->groups = part(&at, groups, sizeof *c->groups);
    c->names = part(&at, names, sizeof *c->names);
    return c;
}

static void *scratch(struct bytes *memory, size_t count, size_t size)
{
    bytes_clear(memory);
    return bytes_reserve(memory, (count + 1) * size) ? memory->data : NULL;
}

/* --- decoding --- */

static void fill_reach(struct cached *c)
{
    for (size_t g = 0; g < c->group_count; g++) {
        const struct cached_group *group = &c->groups[g];
        uint64_t reach = 0;
        for (size_t i = group->first; group->has_nodes && i < (size_t)group->first + group->count; i++) {
            reach = c->nodes[i].end > reach ? c->nodes[i].end : reach;
            c->reach[i] = reach;
        }
    }
}

/* Whether all indexes are within the list of names, which has fewer than 2^31: the sign bit tells. */
static bool names_are_valid(const uint32_t *indexes, size_t count, size_t name_count)
{
    uint32_t last = (uint32_t)name_count - 1, beyond = 0;
    for (size_t i = 0; i < count; i++)
        beyond |= (last - indexes[i]) | indexes[i];
    return count == 0 || (name_count && beyond >> 31 == 0);
}

/* The node columns; groups (with first and count) are already there. */
static int decode_nodes(struct trace *t, const struct block_view *view, struct cached *c)
{
    static const uint16_t wide[4] = {ZONE_LOD_START, ZONE_LOD_SPAN, ZONE_LOD_BUSY, ZONE_LOD_LONGEST};
    size_t n = c->node_count;
    uint64_t *v = scratch(&t->cache->wide, n * 4, sizeof *v);
    uint32_t *index = scratch(&t->cache->narrow, n * 2, sizeof *index);
    int status = v && index ? 0 : -ENOMEM;
    for (size_t k = 0; k < 4 && !status; k++)
        status = block_decode_u64(view, &t->codec, wide[k], v + k * n, n);
    if (!status)
        status = block_decode_u32(view, &t->codec, ZONE_LOD_NAME, index, n);
    if (!status)
        status = block_decode_u32(view, &t->codec, ZONE_LOD_COUNT, index + n, n);
    if (!status && !names_are_valid(index, n, c->name_count))
        status = -EINVAL;
    for (size_t g = 0; g < c->group_count && !status; g++) {
        uint64_t start = view->header.min_start;
        for (size_t i = c->groups[g].first; i < (size_t)c->groups[g].first + c->groups[g].count; i++) {
            start += v[i];
            c->nodes[i] = (struct node){.start = start,
                                        .end = start + v[n + i],
                                        .busy = v[2 * n + i],
                                        .longest = v[3 * n + i],
                                        .name = index[i],
                                        .count = index[n + i]};
        }
    }
    return status;
}

/* Groups of a block with nodes: of a LOD block, or (with the carried ones) of a zone block. */
static int load_nodes(struct trace *t, const struct block_view *view, const uint32_t *tracks,
                      const uint32_t *depths, size_t groups, size_t names, struct cached **out)
{
    uint32_t *counts = scratch(&t->cache->narrow, groups, sizeof *counts);
    size_t total = 0;
    int status = counts ? block_decode_u32(view, &t->codec, ZONE_LOD_GROUP, counts, groups) : -ENOMEM;
    for (size_t i = 0; i < groups && !status; i++)
        if (counts[i] > MAX_NODES || (total += counts[i]) > MAX_NODES)
            status = -EINVAL;
    struct cached *c = status ? NULL : allocate(t->cache, groups, total, 0, 0, names);
    if (!c)
        return status ? status : -ENOMEM;
    uint32_t first = 0;
    for (size_t i = 0; i < groups; i++) {
        c->groups[i] = (struct cached_group){
            .track = tracks[i], .depth = depths[i], .first = first, .count = counts[i], .has_nodes = true};
        first += counts[i];
    }
    status = decode_nodes(t, view, c);
    if (status)
        give_back(t->cache, c);
    else
        *out = c;
    return status;
}

/* The carried rows as nodes of one zone each, after the groups of rows. */
static int load_carried(struct trace *t, const struct block_view *view, size_t n, struct cached *c)
{
    uint64_t *v = scratch(&t->cache->wide, 2 * n, sizeof *v);
    uint32_t *index = scratch(&t->cache->narrow, n, sizeof *index);
    int status = v && index ? block_decode_u64(view, &t->codec, ZONE_CARRIED_START, v, n) : -ENOMEM;
    if (!status)
        status = block_decode_u64(view, &t->codec, ZONE_CARRIED_DURATION, v + n, n);
    if (!status)
        status = block_decode_u32(view, &t->codec, ZONE_CARRIED_NAME, index, n);
    if (!status && !names_are_valid(index, n, c->name_count))
        status = -EINVAL;
    for (size_t i = 0; i < n && !status; i++)
        c->nodes[i] = (struct node){.start = v[i],
                                    .end = saturating_add_u64(v[i], v[n + i]),
                                    .busy = v[n + i],
                                    .longest = v[n + i],
                                    .name = index[i],
                                    .count = 1};
    return status;
}

/* How long a run of zones is, with the gap before each. */
static uint64_t run_length(const uint32_t *gap, const uint32_t *duration, size_t count)
{
    uint64_t gaps = 0, durations = 0;
    for (size_t i = 0; i < count; i++)
        gaps += gap[i];
    for (size_t i = 0; i < count; i++)
        durations += duration[i];
    return gaps + durations;
}

static void fill_anchors(struct cached *c, const struct groups *g)
{
    uint64_t *anchor = c->anchors;
    for (size_t i = 0; i < g->normal_count; i++) {
        uint64_t now = g->base[i];
        size_t at = c->groups[i].first, end = at + c->groups[i].count;
        c->groups[i].first_anchor = (uint32_t)(anchor - c->anchors);
        if (at < end)
            c->gap[at] = 0; /* the base is the start */
        for (; at < end; at += ANCHOR_ROWS) {
            *anchor++ = now + c->gap[at];
            if (end - at > ANCHOR_ROWS)
                now += run_length(c->gap + at, c->duration + at, ANCHOR_ROWS);
        }
    }
}

static int load_rows(struct trace *t, const struct block_view *view, const struct groups *g, struct cached *c)
{
    size_t n = g->normal_rows;
    int status = block_decode_index(view, &t->codec, ZONE_NAME, c->name_count, c->row_name, n);
    if (!status)
        status = block_decode_u32(view, &t->codec, ZONE_GAP, c->gap, n);
    if (!status)
        status = block_decode_u32(view, &t->codec, ZONE_DURATION, c->duration, n);
    if (!status)
        fill_anchors(c, g);
    return status;
}

static int load_zones(struct trace *t, const struct block_view *view, const struct groups *g, size_t names,
                      struct cached **out)
{
    size_t anchors = 0;
    for (size_t i = 0; i < g->normal_count; i++)
        anchors += (g->count[i] + ANCHOR_ROWS - 1) / ANCHOR_ROWS;
    struct cached *c = allocate(t->cache, g->count_all, g->carried_rows, g->normal_rows, anchors, names);
    if (!c)
        return -ENOMEM;
    uint32_t rows = 0, nodes = 0;
    for (size_t i = 0; i < g->count_all; i++) {
        bool is_carried = i >= g->normal_count;
        c->groups[i] = (struct cached_group){.track = g->track[i],
                                             .depth = g->depth[i],
                                             .first = is_carried ? nodes : rows,
                                             .count = g->count[i],
                                             .has_nodes = is_carried};
        *(is_carried ? &nodes : &rows) += g->count[i];
    }
    int status = load_rows(t, view, g, c);
    if (!status)
        status = load_carried(t, view, g->carried_rows, c);
    if (status)
        give_back(t->cache, c);
    else
        *out = c;
    return status;
}

static int load_zone_block(struct trace *t, const struct entry *entry, const struct block_view *view,
                           enum cache_kind kind, size_t names, struct cached **out)
{
    struct groups *g = &t->cache->groups;
    if (kind == CACHE_NODES && !block_find(view, ZONE_LOD_GROUP))
        return -ENODATA;
    int status = groups_decode(t, &t->sources[entry->source], view, g);
    if (status)
        return status;
    if (kind == CACHE_NODES)
        return load_nodes(t, view, g->track, g->depth, g->count_all, names, out);
    return load_zones(t, view, g, names, out);
}

static int load_lod_block(struct trace *t, const struct entry *entry, const struct block_view *view,
                          size_t names, struct cached **out)
{
    size_t groups = block_count(view, ZONE_LOD_GROUP);
    if (groups > MAX_NODES)
        return -EINVAL;
    uint32_t *tracks = scratch(&t->cache->wide, 2 * groups, sizeof *tracks);
    int status = tracks ? block_decode_u32(view, &t->codec, ZONE_GROUP_TRACK, tracks, groups) : -ENOMEM;
    if (!status)
        status = block_decode_u32(view, &t->codec, ZONE_GROUP_DEPTH, tracks + groups, groups);
    for (size_t i = 0; i < groups && !status; i++)
        tracks[i] = reader_id(&t->sources[entry->source], TRACE_ID_TRACK, tracks[i]);
    return status ? status : load_nodes(t, view, tracks, tracks + groups, groups, names, out);
}

/* --- getting --- */

static int load(struct trace *t, struct entry *entry, enum cache_kind kind, struct cached **out,
                struct error *err)
{
    struct block_view view;
    size_t names;
    bool is_lod = entry->block.type == TRACE_BLOCK_LOD;
    int status = reader_open_block(t, entry, is_lod || kind == CACHE_ZONES, &view, err);
    if (status)
        return status;
    status = names_decode(t, entry, &view, &t->cache->names, &names);
    if (!status)
        status = is_lod ? load_lod_block(t, entry, &view, names, out)
                        : load_zone_block(t, entry, &view, kind, names, out);
    if (status)
        return status == -ENODATA ? status : reader_decode_error(t, entry, status, err);
    memcpy((*out)->names, t->cache->names.data, names * sizeof(uint32_t));
    fill_reach(*out);
    return 0;
}

int cache_get(struct trace *t, struct entry *entry, enum cache_kind kind, const struct cached **out,
              struct error *err)
{
    if (!t->cache && !(t->cache = calloc(1, sizeof *t->cache)))
        return error_set_errno(err, ENOMEM, "%s", t->path);
    struct cached *c = entry->cached[kind];
    if (c) {
        unlink_cached(t->cache, c);
    } else {
        int status = load(t, entry, kind, &c, err);
        if (status)
            return status;
        c->entry = entry;
        c->kind = kind;
        entry->cached[kind] = c;
    }
    link_newest(t->cache, c);
    *out = c;
    return 0;
}
