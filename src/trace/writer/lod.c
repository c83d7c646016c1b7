/* SPDX-License-Identifier: Apache-2.0 */
/* Levels of detail above the block. Each zone block hands over its nodes, already merged two levels up; they
 * wait in memory (3 of them for 1,000 zones or so) until there are 64 Ki or the segment ends. Then they are
 * put in order of track, depth and start, and one pass a level merges them and writes LOD blocks, which say
 * for which blocks they stand. So a level is whole or absent for a stretch of the file, and a reader that
 * misses one falls back to the blocks themselves. A stretch of 64 Ki nodes (20 M zones of a tight loop)
 * takes 4 ms to write: the collector must not stand still for longer, or buffers overflow.
 *
 * Levels are a factor of 2 apart but a zone is in every second one only: a block whose own nodes are of
 * level L is in the levels L + 2, L + 4 and so on, so that each level of its row has a quarter of the nodes
 * of the one below. Even and odd levels are made one after the other. */
#include "trace/writer/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void lod_free(struct writer_lod *lod)
{
    free(lod->nodes);
    free(lod->runs);
    free(lod->work);
    name_list_free(&lod->names);
    *lod = (struct writer_lod){0};
}

void lod_add(struct trace_writer *w, uint32_t track, uint32_t depth, unsigned level, const struct node *nodes,
             size_t count)
{
    struct writer_lod *lod = &w->lod;
    if (level > LOD_MAX_LEVEL || count == 0)
        return;
    if (!array_reserve(&lod->nodes, &lod->capacity, lod->count + count, sizeof *lod->nodes) ||
        !array_reserve(&lod->runs, &lod->run_capacity, lod->run_count + 1, sizeof *lod->runs)) {
        writer_fail(w, -ENOMEM, NULL);
        return;
    }
    struct node *out = lod->nodes + lod->count;
    size_t made = 0;
    for (size_t i = 0; i < count; i++) {
        if (made && node_takes(&out[made - 1], &nodes[i], level))
            node_add(&out[made - 1], &nodes[i]);
        else
            out[made++] = nodes[i];
    }
    lod->runs[lod->run_count++] = (struct lod_run){.start = nodes[0].start,
                                                   .first = lod->count,
                                                   .count = made,
                                                   .track = track,
                                                   .depth = (uint16_t)depth,
                                                   .level = (uint8_t)level};
    lod->count += made;
}

static int compare_runs(const void *left, const void *right)
{
    const struct lod_run *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

static int compare_starts(const void *left, const void *right)
{
    const struct lod_node *a = left, *b = right;
    return a->node.start < b->node.start ? -1 : a->node.start > b->node.start;
}

static bool same_row(const struct lod_node *a, const struct lod_node *b)
{
    return a->track == b->track && a->depth == b->depth;
}

/* The nodes of all runs of one parity, in order. Runs of a row rarely overlap (carried zones do): such rows
 * are sorted. */
static bool gather(struct writer_lod *lod, unsigned parity)
{
    lod->work_count = 0;
    if (!array_reserve(&lod->work, &lod->work_capacity, lod->count, sizeof *lod->work))
        return false;
    for (size_t r = 0; r < lod->run_count; r++) {
        const struct lod_run *run = &lod->runs[r];
        for (size_t i = 0; run->level % 2 == parity && i < run->count; i++)
            lod->work[lod->work_count++] = (struct lod_node){.node = lod->nodes[run->first + i],
                                                             .track = run->track,
                                                             .depth = run->depth,
                                                             .level = run->level};
    }
    for (size_t i = 0, end; i < lod->work_count; i = end) {
        bool is_sorted = true;
        for (end = i + 1; end < lod->work_count && same_row(&lod->work[i], &lod->work[end]); end++)
            is_sorted &= lod->work[end].node.start >= lod->work[end - 1].node.start;
        if (!is_sorted)
            qsort(lod->work + i, end - i, sizeof *lod->work, compare_starts);
    }
    return true;
}

/* Merges the nodes that are in this level; those that enter at a higher one stay as they are until their
 * turn. Returns how many nodes the level has, and in *joined whether blocks enter with it. */
static size_t merge_level(struct writer_lod *lod, unsigned level, bool *joined)
{
    size_t kept = 0, count = 0, open = SIZE_MAX;
    *joined = false;
    for (size_t i = 0; i < lod->work_count; i++) {
        struct lod_node *next = &lod->work[i];
        *joined |= next->level == level;
        if (next->level > level) {
            lod->work[kept++] = *next;
            continue;
        }
        if (open != SIZE_MAX && same_row(&lod->work[open], next) &&
            node_takes(&lod->work[open].node, &next->node, level)) {
            node_add(&lod->work[open].node, &next->node);
            continue;
        }
        open = kept;
        lod->work[kept++] = *next;
        count++;
    }
    lod->work_count = kept;
    return count;
}

/* --- LOD blocks --- */

void lod_put_groups(struct block_builder *builder, const uint32_t *group_nodes, size_t group_count)
{
    block_add_u32(builder, ZONE_LOD_GROUP, group_nodes, group_count);
}

void lod_put_nodes(struct block_builder *builder, const struct node *nodes, const uint32_t *group_nodes,
                   size_t group_count, uint64_t min_start, uint64_t *values)
{
    size_t count = 0, at = 0;
    for (size_t group = 0; group < group_count; group++) {
        uint64_t before = min_start;
        for (uint32_t i = 0; i < group_nodes[group]; i++, count++) {
            values[count] = nodes[count].start - before;
            before = nodes[count].start;
        }
    }
    block_add_u64(builder, ZONE_LOD_START, values, count);
    for (at = 0; at < count; at++)
        values[at] = nodes[at].end - nodes[at].start;
    block_add_u64(builder, ZONE_LOD_SPAN, values, count);
    for (at = 0; at < count; at++)
        values[at] = nodes[at].busy;
    block_add_u64(builder, ZONE_LOD_BUSY, values, count);
    for (at = 0; at < count; at++)
        values[at] = nodes[at].longest;
    block_add_u64(builder, ZONE_LOD_LONGEST, values, count);
    for (at = 0; at < count; at++)
        values[at] = nodes[at].name;
    block_add_u64(builder, ZONE_LOD_NAME, values, count);
    for (at = 0; at < count; at++)
        values[at] = nodes[at].count;
    block_add_u64(builder, ZONE_LOD_COUNT, values, count);
}

struct part { /* what goes into one LOD block */
    struct node nodes[LOD_BLOCK_NODES];
    uint64_t values[LOD_BLOCK_NODES];
    uint32_t tracks[LOD_BLOCK_NODES], depths[LOD_BLOCK_NODES], counts[LOD_BLOCK_NODES];
    size_t node_count, group_count;
};

static uint32_t clock_of(const struct trace_writer *w, uint32_t track)
{
    return w->definitions.tracks[track].track.clock;
}

/* Whether this part ends before the next node: it is full, another clock follows, or a new track follows and
 * the part is large enough to stay alone (so that a view of one track reads little else). */
static bool part_ends(const struct trace_writer *w, const struct part *part, const struct lod_node *next)
{
    uint32_t track = part->tracks[part->group_count - 1];
    return part->node_count == LOD_BLOCK_NODES || clock_of(w, track) != clock_of(w, next->track) ||
           (track != next->track && part->node_count >= LOD_BLOCK_NODES / 2);
}

static void part_add(struct part *part, const struct lod_node *node)
{
    size_t group = part->group_count;
    if (part->node_count == 0 || part->tracks[group - 1] != node->track ||
        part->depths[group - 1] != node->depth) {
        part->tracks[group] = node->track;
        part->depths[group] = node->depth;
        part->counts[group] = 0;
        part->group_count = ++group;
    }
    part->counts[group - 1]++;
    part->nodes[part->node_count++] = node->node;
}

static int write_part(struct trace_writer *w, struct part *part, const uint64_t *info)
{
    struct name_list *names = &w->lod.names;
    uint64_t first = UINT64_MAX, last = 0;
    if (!name_list_begin(w, names))
        return -ENOMEM;
    for (size_t i = 0; i < part->node_count; i++) {
        struct node *node = &part->nodes[i];
        node->name = name_list_index(w, names, node->name);
        first = node->start < first ? node->start : first;
        last = node->end > last ? node->end : last;
    }
    for (size_t i = 0; i < part->group_count; i++)
        definitions_need_track(w, part->tracks[i]);
    if (names->failed)
        return -ENOMEM;
    block_begin(&w->builder);
    w->builder.keep_zeros = true;
    block_add_u64(&w->builder, LOD_INFO, info, LOD_INFO_VALUES);
    block_add_u32(&w->builder, ZONE_GROUP_TRACK, part->tracks, part->group_count);
    block_add_u32(&w->builder, ZONE_GROUP_DEPTH, part->depths, part->group_count);
    lod_put_groups(&w->builder, part->counts, part->group_count);
    block_mark_prefix(&w->builder);
    block_add_u32(&w->builder, ZONE_NAMES, names->names, names->count);
    w->builder.keep_zeros = false;
    lod_put_nodes(&w->builder, part->nodes, part->counts, part->group_count, first, part->values);
    bool is_one_track = part->tracks[0] == part->tracks[part->group_count - 1];
    struct block_header header = {.type = TRACE_BLOCK_LOD,
                                  .track = is_one_track ? part->tracks[0] : TRACE_NONE,
                                  .clock = clock_of(w, part->tracks[0]),
                                  .count = (uint32_t)part->node_count,
                                  .t_first = first,
                                  .t_last = last,
                                  .min_start = first,
                                  .lod_level = (uint8_t)info[LOD_INFO_LEVEL]};
    int status = file_write_block(w, &w->builder, &header);
    part->node_count = part->group_count = 0;
    return status;
}

/* Walks the level's nodes through parts; the first walk counts them, the second writes. */
static int walk_level(struct trace_writer *w, struct part *part, uint64_t *info, bool write)
{
    int status = 0;
    uint64_t parts = 0;
    part->node_count = part->group_count = 0;
    for (size_t i = 0; i <= w->lod.work_count && !status; i++) {
        const struct lod_node *node = i < w->lod.work_count ? &w->lod.work[i] : NULL;
        if (node && node->level > info[LOD_INFO_LEVEL])
            continue;
        if (part->node_count && (!node || part_ends(w, part, node))) {
            info[LOD_INFO_PART] = parts++;
            if (write)
                status = write_part(w, part, info);
            part->node_count = part->group_count = 0;
        }
        if (node)
            part_add(part, node);
    }
    if (!write)
        info[LOD_INFO_PARTS] = parts;
    return status;
}

static int write_level(struct trace_writer *w, struct part *part, unsigned level, uint64_t to_sequence)
{
    uint64_t info[LOD_INFO_VALUES] = {
        [LOD_INFO_FROM] = w->lod.from_sequence, [LOD_INFO_TO] = to_sequence, [LOD_INFO_LEVEL] = level};
    walk_level(w, part, info, false);
    return walk_level(w, part, info, true);
}

static int write_levels(struct trace_writer *w, struct part *part, uint64_t to_sequence)
{
    struct writer_lod *lod = &w->lod;
    unsigned lowest = LOD_MAX_LEVEL, highest = 0;
    for (size_t i = 0; i < lod->work_count; i++) {
        lowest = lod->work[i].level < lowest ? lod->work[i].level : lowest;
        highest = lod->work[i].level > highest ? lod->work[i].level : highest;
    }
    int status = 0;
    size_t below = 0; /* nodes of the last level written */
    for (unsigned level = lowest; level <= LOD_MAX_LEVEL && lod->work_count && !status; level += 2) {
        bool joined;
        size_t count = merge_level(lod, level, &joined);
        if (!joined && count > below / 8 * 5)
            continue; /* hardly fewer than the level below: not worth its bytes */
        status = write_level(w, part, level, to_sequence);
        below = count;
        if (level >= highest && count < 16)
            break;
    }
    return status;
}

int lod_flush(struct trace_writer *w)
{
    struct writer_lod *lod = &w->lod;
    if (lod->count == 0)
        return 0;
    struct part *part = malloc(sizeof *part);
    uint64_t to_sequence = w->sequence;
    int status = part ? 0 : -ENOMEM;
    qsort(lod->runs, lod->run_count, sizeof *lod->runs, compare_runs);
    for (unsigned parity = 0; parity < 2 && !status; parity++)
        status = gather(lod, parity) ? write_levels(w, part, to_sequence) : -ENOMEM;
    if (status)
        writer_fail(w, status, NULL);
    lod->count = lod->run_count = 0;
    lod->from_sequence = w->sequence;
    free(part);
    return status;
}
