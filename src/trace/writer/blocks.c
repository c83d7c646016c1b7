/* SPDX-License-Identifier: Apache-2.0 */
/* A zone block out of one sink, or a packed one out of many: directory, carried rows, level-of-detail nodes
 * (these are the prefix that a view reads), then gap, duration, name and child columns, then extras.
 *
 * This runs once in 16 Ki zones and is most of what the collector does: about 10 ns a zone, of which zstd
 * takes two thirds. Rows are already in order, so nothing is sorted but the few carried ones. */
#include "trace/writer/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* vectorises */
#endif

#define NODE_ROWS 64u           /* zones a node at least, in a block of its own */
#define PACKED_NODE_ROWS 8u     /* in small blocks, which a view should not have to open */
#define NODES_INSIDE_ROWS 1024u /* smaller blocks have no nodes inside: reading the rows is as cheap */

struct directory { /* columns of the groups */
    uint32_t *track, *depth, *count;
    uint64_t *base;
    size_t capacity;
    size_t group_count;
};

struct placed_extra {
    uint32_t row;
    const struct extra_row *extra;
    const uint8_t *text;
};

struct block_scratch {
    uint32_t *memory;                        /* four arrays of ZONE_BLOCK_ROWS */
    uint32_t *gap, *duration, *child, *name; /* the rows: there, or in the one group that holds them all */
    struct directory normal, carried;
    uint64_t *carried_start, *carried_duration, *carried_child;
    uint32_t *carried_name;
    uint32_t carried_count;
    uint32_t *carried_row; /* block row of the i-th carried row as it came, for the extras */
    struct name_list names;
    struct node *nodes;
    size_t node_count, node_capacity;
    uint32_t *group_nodes;
    size_t group_node_capacity;
    struct placed_extra *extras;
    size_t extra_count, extra_capacity;
    uint64_t *values;
    size_t value_capacity;
    struct bytes text;
    uint32_t row_count; /* normal rows */
    uint64_t t_first, t_last, min_start;
    uint32_t depth_count;
    bool failed;
};

static void free_directory(struct directory *directory)
{
    free(directory->base);
    free(directory->track);
    free(directory->depth);
    free(directory->count);
}

void block_scratch_free(struct block_scratch *b)
{
    if (!b)
        return;
    free(b->memory);
    free_directory(&b->normal);
    free_directory(&b->carried);
    free(b->carried_start);
    name_list_free(&b->names);
    free(b->nodes);
    free(b->group_nodes);
    free(b->extras);
    free(b->values);
    bytes_free(&b->text);
    free(b);
}

static struct block_scratch *new_scratch(void)
{
    struct block_scratch *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    size_t rows = ZONE_BLOCK_ROWS;
    b->memory = malloc(rows * 4 * sizeof *b->memory);
    b->carried_start = malloc(rows * (3 * sizeof(uint64_t) + 2 * sizeof(uint32_t)));
    if (!b->memory || !b->carried_start) {
        block_scratch_free(b);
        return NULL;
    }
    b->carried_duration = b->carried_start + rows;
    b->carried_child = b->carried_duration + rows;
    b->carried_name = (uint32_t *)(b->carried_child + rows);
    b->carried_row = b->carried_name + rows;
    return b;
}

/* --- names --- */

static void index_names(struct trace_writer *w, struct block_scratch *b, const uint32_t *names, size_t count,
                        uint32_t *out)
{
    uint32_t first = names[0], differs = 0;
    for (size_t i = 0; i < count; i++)
        differs |= names[i] ^ first;
    if (!differs) { /* a loop over one zone: the usual case of a hot thread */
        uint32_t index = name_list_index(w, &b->names, first);
        for (size_t i = 0; i < count; i++)
            out[i] = index;
        return;
    }
    for (size_t i = 0; i < count; i++)
        out[i] = name_list_index(w, &b->names, names[i]);
}

/* --- groups --- */

static bool reserve_directory(struct directory *d, size_t need)
{
    size_t capacities[4] = {d->capacity, d->capacity, d->capacity, d->capacity};
    if (need <= d->capacity)
        return true;
    if (!array_reserve(&d->track, &capacities[0], need, sizeof *d->track) ||
        !array_reserve(&d->depth, &capacities[1], need, sizeof *d->depth) ||
        !array_reserve(&d->count, &capacities[2], need, sizeof *d->count) ||
        !array_reserve(&d->base, &capacities[3], need, sizeof *d->base))
        return false;
    d->capacity = capacities[0];
    return true;
}

static bool add_group(struct block_scratch *b, struct directory *d, uint32_t track, uint32_t depth,
                      uint32_t count, uint64_t base)
{
    if (!reserve_directory(d, d->group_count + 1)) {
        b->failed = true;
        return false;
    }
    d->track[d->group_count] = track;
    d->depth[d->group_count] = depth;
    d->count[d->group_count] = count;
    d->base[d->group_count++] = base;
    if (depth >= b->depth_count)
        b->depth_count = depth + 1;
    return true;
}

static void widen(struct block_scratch *b, uint64_t start, uint64_t end)
{
    b->min_start = start < b->min_start ? start : b->min_start;
    b->t_last = end > b->t_last ? end : b->t_last;
}

/* Copies rows [from, to) of a group, which begin at `start`, after the rows that are there. */
static void copy_run(struct trace_writer *w, struct block_scratch *b, const struct sink *s, uint32_t depth,
                     uint32_t from, uint32_t to, uint64_t start)
{
    const struct zone_group *group = &s->zones.groups[depth];
    uint32_t count = to - from, at = b->row_count;
    size_t bytes = count * sizeof *b->gap;
    if (!add_group(b, &b->normal, s->zones.track, depth, count, start))
        return;
    if (b->gap != group->gap) {
        memcpy(b->gap + at, group->gap + from, bytes);
        memcpy(b->duration + at, group->duration + from, bytes);
        memcpy(b->child + at, group->child + from, bytes);
    }
    b->gap[at] = count > 1 ? b->gap[at + 1] : 0; /* the start is in the directory; do not widen the column */
    index_names(w, b, group->name + from, count, b->name + at);
    b->row_count += count;
    b->t_first = start < b->t_first ? start : b->t_first;
    b->min_start = start < b->min_start ? start : b->min_start;
}

/* A group is one run, unless rebases cut it. */
static void copy_group(struct trace_writer *w, struct block_scratch *b, const struct sink *s, uint32_t depth)
{
    const struct zone_group *group = &s->zones.groups[depth];
    uint32_t from = 0;
    uint64_t start = s->t_first + group->gap[0];
    for (size_t i = 0; i < s->rebase_count; i++) {
        if (s->rebases[i].depth != depth)
            continue;
        if (s->rebases[i].row > from)
            copy_run(w, b, s, depth, from, s->rebases[i].row, start);
        from = s->rebases[i].row;
        start = s->rebases[i].start;
    }
    copy_run(w, b, s, depth, from, group->count, start);
    b->t_last = group->last_end > b->t_last ? group->last_end : b->t_last;
}

static int compare_carried(const void *left, const void *right)
{
    const struct carried_row *a = left, *b = right;
    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

/* Sorts the sink's carried rows by depth and start and appends them. Their block rows are known only when all
 * normal rows are in, so carried_row counts among the carried ones. */
static void copy_carried(struct trace_writer *w, struct block_scratch *b, struct sink *s)
{
    struct directory *d = &b->carried;
    uint32_t first = b->carried_count;
    if (s->carried_count) /* qsort takes no null pointer, not even for nothing */
        qsort(s->carried, s->carried_count, sizeof *s->carried, compare_carried);
    for (size_t i = 0; i < s->carried_count; i++) {
        const struct carried_row *row = &s->carried[i];
        uint32_t at = b->carried_count++;
        if (i == 0 || row->depth != s->carried[i - 1].depth) {
            if (!add_group(b, d, s->zones.track, row->depth, 0, 0))
                return;
        }
        d->count[d->group_count - 1]++;
        b->carried_start[at] = row->start;
        b->carried_duration[at] = row->duration;
        b->carried_child[at] = row->child;
        b->carried_name[at] = name_list_index(w, &b->names, row->name);
        b->carried_row[first + row->order] = at;
        widen(b, row->start, row->start + row->duration);
    }
}

/* --- extras --- */

static int compare_extras(const void *left, const void *right)
{
    const struct placed_extra *a = left, *b = right;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return a->extra < b->extra ? -1 : a->extra > b->extra;
}

/* first_row: block row of each depth's first zone of this sink; carried rows begin at first_carried. */
static void place_extras(struct block_scratch *b, const struct sink *s, const uint32_t *first_row,
                         uint32_t first_carried)
{
    if (!array_reserve(&b->extras, &b->extra_capacity, b->extra_count + s->extra_count, sizeof *b->extras)) {
        b->failed = true;
        return;
    }
    for (size_t i = 0; i < s->extra_count; i++) {
        const struct extra_row *extra = &s->extras[i];
        struct placed_extra placed = {.extra = extra,
                                      .text = s->text.data ? s->text.data + extra->text_offset : NULL};
        placed.row = extra->is_carried ? ZONE_BLOCK_ROWS + b->carried_row[first_carried + extra->row]
                                       : first_row[extra->depth] + extra->row;
        b->extras[b->extra_count++] = placed;
    }
}

static void put_extras(struct trace_writer *w, struct block_scratch *b)
{
    if (!b->extra_count)
        return;
    uint64_t *values = b->values;
    size_t count = b->extra_count;
    for (size_t i = 0; i < count; i++)
        if (b->extras[i].row >= ZONE_BLOCK_ROWS)
            b->extras[i].row = b->extras[i].row - ZONE_BLOCK_ROWS + b->row_count;
    qsort(b->extras, count, sizeof *b->extras, compare_extras);
    bytes_clear(&b->text);
    for (size_t i = 0; i < count; i++)
        bytes_append(&b->text, b->extras[i].text, b->extras[i].extra->text_length);
    b->failed |= b->text.failed;
    for (size_t i = 0; i < count; i++)
        values[i] = b->extras[i].row;
    block_add_delta(&w->builder, ZONE_EXTRA_ROW, values, count);
    for (size_t i = 0; i < count; i++)
        values[i] = b->extras[i].extra->kind;
    block_add_u64(&w->builder, ZONE_EXTRA_KIND, values, count);
    for (size_t i = 0; i < count; i++)
        values[i] = b->extras[i].extra->value;
    block_add_u64(&w->builder, ZONE_EXTRA_VALUE, values, count);
    for (size_t i = 0; i < count; i++)
        values[i] = b->extras[i].extra->text_length;
    block_add_u64(&w->builder, ZONE_EXTRA_LENGTH, values, count);
    block_add_bytes(&w->builder, ZONE_EXTRA_TEXT, b->text.data, b->text.length);
}

/* --- level of detail inside the block --- */

/* The finest level at which the densest group has one node for `node_rows` zones, or somewhat fewer: what a
 * view shows of other depths then has the same resolution, and at least as few nodes. */
static unsigned choose_level(const struct block_scratch *b, const uint64_t *spans, size_t node_rows)
{
    size_t densest = 0, normal = b->normal.group_count, groups = normal + b->carried.group_count;
    uint32_t most = 0;
    for (size_t i = 0; i < groups; i++) {
        uint32_t rows = i < normal ? b->normal.count[i] : b->carried.count[i - normal];
        if (rows > most) {
            most = rows;
            densest = i;
        }
    }
    unsigned level = 1;
    while (level < LOD_MAX_LEVEL && spans[densest] >> level > most / node_rows)
        level++;
    return level;
}

static uint64_t sum_of(const uint32_t *values, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

static bool reserve_nodes(struct block_scratch *b, size_t rows)
{
    size_t groups = b->normal.group_count + b->carried.group_count;
    return array_reserve(&b->nodes, &b->node_capacity, rows, sizeof *b->nodes) &&
           array_reserve(&b->group_nodes, &b->group_node_capacity, groups + 1, sizeof *b->group_nodes) &&
           array_reserve(&b->values, &b->value_capacity, rows + groups + b->extra_count + 1,
                         sizeof *b->values);
}

struct growing { /* a node that takes more zones */
    uint64_t end, busy;
    uint32_t longest;
    size_t longest_at;
};

/* Takes 16 zones at once, as long as all of them are short and begin before the limit: neither the sums nor the maximum
 * wait for each other. Returns the next zone. */
static size_t take_strides(const uint32_t *gap, const uint32_t *duration, size_t i, size_t count,
                           uint64_t limit, uint32_t long_duration, struct growing *node)
{
    enum { STRIDE = 16 };
    for (; count - i >= STRIDE; i += STRIDE) {
        uint32_t any = 0, gaps = 0, durations = 0;
        int32_t most = 0;
        for (size_t k = i; k < i + STRIDE; k++) {
            any |= gap[k] | duration[k];
            gaps += gap[k];
            durations += duration[k];
            most = (int32_t)duration[k] > most ? (int32_t)duration[k] : most;
        }
        if (any >> 27 || (uint32_t)most >= long_duration ||
            node->end + gaps + durations - duration[i + STRIDE - 1] >= limit)
            break;
        node->end += gaps + durations;
        node->busy += durations;
        if ((uint32_t)most > node->longest) {
            node->longest = (uint32_t)most;
            for (node->longest_at = i; duration[node->longest_at] != node->longest;)
                node->longest_at++;
        }
    }
    return i;
}

/* Nodes of a group whose zones follow each other. Written for speed: it sees every zone. */
static size_t nodes_of_run(const uint32_t *gap, const uint32_t *duration, const uint32_t *name, size_t count,
                           uint64_t base, unsigned level, struct node *nodes)
{
    const uint32_t long_duration = level < 32 ? UINT32_C(1) << level : UINT32_MAX;
    size_t made = 0, i = 0;
    uint64_t start = base;
    while (i < count) {
        uint64_t limit = ((start >> level) + 1) << level;
        struct growing node = {start + duration[i], duration[i], duration[i], i};
        size_t first = i++;
        if (node.longest >= long_duration) /* it stays alone */
            limit = 0;
        nodes[made].start = start;
        for (i = take_strides(gap, duration, i, count, limit, long_duration, &node); i < count; i++) {
            uint32_t length = duration[i];
            start = node.end + gap[i];
            if (start >= limit || length >= long_duration)
                break;
            node.end = start + length;
            node.busy += length;
            if (length > node.longest) {
                node.longest = length;
                node.longest_at = i;
            }
        }
        nodes[made].end = node.end;
        nodes[made].busy = node.busy;
        nodes[made].longest = node.longest;
        nodes[made].name = name[node.longest_at];
        nodes[made++].count = (uint32_t)(i - first);
    }
    return made;
}

static size_t nodes_of_carried(const struct block_scratch *b, size_t first, size_t count, unsigned level,
                               struct node *nodes)
{
    size_t made = 0;
    for (size_t i = first; i < first + count; i++) {
        uint64_t duration = b->carried_duration[i];
        struct node zone = {.start = b->carried_start[i],
                            .end = b->carried_start[i] + duration,
                            .busy = duration,
                            .longest = duration,
                            .name = b->carried_name[i],
                            .count = 1};
        if (made && node_takes(&nodes[made - 1], &zone, level))
            node_add(&nodes[made - 1], &zone);
        else
            nodes[made++] = zone;
    }
    return made;
}

/* Makes the nodes of all groups and returns their level. */
static unsigned make_nodes(struct block_scratch *b, bool is_packed)
{
    size_t rows = b->row_count + b->carried_count;
    bool is_small = is_packed || rows < NODES_INSIDE_ROWS;
    uint64_t *spans = b->values;
    size_t at = 0;
    for (size_t i = 0; i < b->normal.group_count; i++) {
        uint32_t count = b->normal.count[i];
        spans[i] = sum_of(b->duration + at, count) + sum_of(b->gap + at, count);
        at += count;
    }
    at = 0;
    for (size_t i = 0; i < b->carried.group_count; i++) {
        uint32_t count = b->carried.count[i];
        spans[b->normal.group_count + i] = b->carried_start[at + count - 1] - b->carried_start[at];
        at += count;
    }
    unsigned level = choose_level(b, spans, is_small ? PACKED_NODE_ROWS : NODE_ROWS);
    b->node_count = at = 0;
    for (size_t i = 0; i < b->normal.group_count; i++) {
        uint32_t count = b->normal.count[i];
        size_t made = nodes_of_run(b->gap + at, b->duration + at, b->name + at, count, b->normal.base[i],
                                   level, b->nodes + b->node_count);
        b->group_nodes[i] = (uint32_t)made;
        b->node_count += made;
        at += count;
    }
    at = 0;
    for (size_t i = 0; i < b->carried.group_count; i++) {
        uint32_t count = b->carried.count[i];
        size_t made = nodes_of_carried(b, at, count, level, b->nodes + b->node_count);
        b->group_nodes[b->normal.group_count + i] = (uint32_t)made;
        b->node_count += made;
        at += count;
    }
    return level;
}

/* The nodes once more, now for the levels above the block. */
static void feed_levels(struct trace_writer *w, struct block_scratch *b, unsigned level)
{
    struct node *nodes = b->nodes;
    for (size_t i = 0; i < b->node_count; i++)
        nodes[i].name = b->names.names[nodes[i].name];
    for (size_t i = 0; i < b->normal.group_count + b->carried.group_count; i++) {
        const struct directory *d = i < b->normal.group_count ? &b->normal : &b->carried;
        size_t group = i < b->normal.group_count ? i : i - b->normal.group_count;
        lod_add(w, d->track[group], d->depth[group], level + 2, nodes, b->group_nodes[i]);
        nodes += b->group_nodes[i];
    }
}

/* --- the block --- */

static void put_columns(struct trace_writer *w, struct block_scratch *b, bool has_nodes)
{
    struct block_builder *builder = &w->builder;
    const struct directory *n = &b->normal, *c = &b->carried;
    block_begin(builder);
    builder->keep_zeros = true;
    block_add_u32(builder, ZONE_NAMES, b->names.names, b->names.count);
    builder->keep_zeros = false;
    block_add_u32(builder, ZONE_GROUP_TRACK, n->track, n->group_count);
    block_add_u32(builder, ZONE_GROUP_DEPTH, n->depth, n->group_count);
    block_add_u32(builder, ZONE_GROUP_COUNT, n->count, n->group_count);
    block_add_u64(builder, ZONE_GROUP_BASE, n->base, n->group_count);
    if (b->carried_count) {
        block_add_u32(builder, ZONE_CARRIED_TRACK, c->track, c->group_count);
        block_add_u32(builder, ZONE_CARRIED_DEPTH, c->depth, c->group_count);
        block_add_u32(builder, ZONE_CARRIED_COUNT, c->count, c->group_count);
        block_add_delta(builder, ZONE_CARRIED_START, b->carried_start, b->carried_count);
        block_add_u64(builder, ZONE_CARRIED_DURATION, b->carried_duration, b->carried_count);
        block_add_u64(builder, ZONE_CARRIED_CHILD, b->carried_child, b->carried_count);
        block_add_u32(builder, ZONE_CARRIED_NAME, b->carried_name, b->carried_count);
    }
    if (has_nodes) {
        lod_put_groups(builder, b->group_nodes, n->group_count + c->group_count);
        lod_put_nodes(builder, b->nodes, b->group_nodes, n->group_count + c->group_count, b->min_start,
                      b->values);
    }
    block_mark_prefix(builder);
    block_add_u32(builder, ZONE_GAP, b->gap, b->row_count);
    block_add_u32(builder, ZONE_DURATION, b->duration, b->row_count);
    block_add_u32(builder, ZONE_NAME, b->name, b->row_count);
    block_add_u32(builder, ZONE_CHILD, b->child, b->row_count);
    put_extras(w, b);
}

/* Rows of one group need not be copied: they are gone once the block is written. */
static void choose_rows(struct block_scratch *b, struct sink *const *sinks, size_t count)
{
    b->gap = b->memory;
    b->duration = b->gap + ZONE_BLOCK_ROWS;
    b->child = b->duration + ZONE_BLOCK_ROWS;
    b->name = b->child + ZONE_BLOCK_ROWS;
    const struct sink *s = sinks[0];
    for (uint32_t depth = 0; count == 1 && depth < s->zones.group_count; depth++) {
        struct zone_group *group = &s->zones.groups[depth];
        if (group->count && group->count + s->carried_count == s->zones.count) {
            b->gap = group->gap;
            b->duration = group->duration;
            b->child = group->child;
            b->name = group->name;
        }
    }
}

static void gather(struct trace_writer *w, struct block_scratch *b, struct sink *const *sinks, size_t count)
{
    b->normal.group_count = b->carried.group_count = 0;
    b->row_count = b->carried_count = b->depth_count = 0;
    b->extra_count = 0;
    b->failed = !name_list_begin(w, &b->names);
    choose_rows(b, sinks, count);
    b->t_first = b->min_start = UINT64_MAX;
    b->t_last = 0;
    for (size_t i = 0; i < count && !b->failed; i++) {
        struct sink *s = sinks[i];
        uint32_t first_carried = b->carried_count, *first_row = NULL;
        definitions_need_track(w, s->zones.track);
        if (s->extra_count && !(first_row = calloc(s->zones.group_count, sizeof *first_row)))
            b->failed = true;
        for (uint32_t depth = 0; depth < s->zones.group_count && !b->failed; depth++) {
            if (first_row)
                first_row[depth] = b->row_count;
            if (s->zones.groups[depth].count)
                copy_group(w, b, s, depth);
        }
        if (!b->failed)
            copy_carried(w, b, s);
        if (first_row && !b->failed)
            place_extras(b, s, first_row, first_carried);
        free(first_row);
    }
    if (b->t_first > b->t_last)
        b->t_first = b->t_last; /* carried rows alone */
    if (b->names.failed || !reserve_nodes(b, (size_t)b->row_count + b->carried_count))
        b->failed = true;
}

static void count_as_lost(struct trace_writer *w, struct sink *const *sinks, size_t count, int status)
{
    for (size_t i = 0; i < count; i++) {
        const struct trace_track *track = &w->definitions.tracks[sinks[i]->zones.track].track;
        bool is_host = track->clock == TRACE_HOST_CLOCK;
        uint64_t last = 0;
        for (uint32_t depth = 0; depth < sinks[i]->zones.group_count; depth++)
            if (sinks[i]->zones.groups[depth].last_end > last)
                last = sinks[i]->zones.groups[depth].last_end;
        struct trace_loss loss = {.process = track->process,
                                  .track = track->id,
                                  .reason = status == -ENOMEM ? TRACE_LOSS_NO_MEMORY : TRACE_LOSS_DISK_FULL,
                                  .from_ns = is_host ? sinks[i]->t_first : 0,
                                  .to_ns = is_host ? last : 0,
                                  .zones = sinks[i]->zones.count,
                                  .records = sinks[i]->extra_count};
        trace_writer_loss(w, &loss);
    }
}

static void count_as_written(struct trace_writer *w, struct sink *const *sinks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct writer_track *track = &w->definitions.tracks[sinks[i]->zones.track];
        track->zones += sinks[i]->zones.count;
        track->segment_zones += sinks[i]->zones.count;
        track->checkpoint_zones += sinks[i]->zones.count;
        w->zone_count += sinks[i]->zones.count;
        w->segment_zones += sinks[i]->zones.count;
        for (uint32_t depth = sinks[i]->zones.group_count; depth > track->depths; depth--)
            if (sinks[i]->zones.groups[depth - 1].count) {
                track->depths = depth;
                break;
            }
        for (size_t k = 0; k < sinks[i]->carried_count; k++)
            if (sinks[i]->carried[k].depth >= track->depths)
                track->depths = sinks[i]->carried[k].depth + 1;
    }
}

static int build_and_write(struct trace_writer *w, struct sink *const *sinks, size_t count)
{
    struct block_scratch *b = w->scratch ? w->scratch : (w->scratch = new_scratch());
    if (!b)
        return -ENOMEM;
    if (w->lod.count >= LOD_FLUSH_NODES)
        lod_flush(w);
    gather(w, b, sinks, count);
    if (b->failed)
        return -ENOMEM;
    bool is_packed = count > 1;
    unsigned level = make_nodes(b, is_packed);
    bool has_nodes = !is_packed && b->row_count + b->carried_count >= NODES_INSIDE_ROWS;
    put_columns(w, b, has_nodes);
    if (b->failed)
        return -ENOMEM;
    const struct trace_track *track = &w->definitions.tracks[sinks[0]->zones.track].track;
    struct block_header header = {.type = TRACE_BLOCK_ZONES,
                                  .track = is_packed ? TRACE_NONE : track->id,
                                  .clock = track->clock,
                                  .count = b->row_count + b->carried_count,
                                  .t_first = b->t_first,
                                  .t_last = b->t_last,
                                  .min_start = b->min_start,
                                  .depth_count = (uint16_t)b->depth_count,
                                  .lod_level = (uint8_t)level};
    int status = file_write_block(w, &w->builder, &header);
    if (!status) {
        feed_levels(w, b, level);
        count_as_written(w, sinks, count);
    }
    return status;
}

int zones_write_block(struct trace_writer *w, struct sink *const *sinks, size_t count)
{
    int status = file_accepts_rows(w) ? build_and_write(w, sinks, count) : w->full_status;
    if (status)
        count_as_lost(w, sinks, count, status);
    return status;
}
