/* SPDX-License-Identifier: Apache-2.0 */
/* See tree.h for the idea. Names used below: a level is a depth of a track; its holder is a nameless node
 * whose children are the forest of that level. When the first zone of a name takes the forest below it, the
 * holder itself becomes that zone's node: nothing is moved. */
#include "analyze/zones/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/zones/waiting.h"
#include "base/bytes.h"

#define CHILD_UNKNOWN UINT64_MAX /* as child time of a row: it reaches out of the window */

struct level {
    uint32_t holder;      /* CALL_NODE_NONE: nothing waits here */
    uint32_t last_child;  /* where the newest zone went; the next is often of the same name */
    uint64_t first_start; /* of what waits here */
};

struct track_levels {
    struct level *levels;
    size_t count, capacity;
};

/* Rows of one depth in the block at hand: the ordinary ones and the carried ones, each sorted. Both may come in
 * several groups (a new one begins where a gap does not fit 32 bits), which follow each other in time. */
struct row_range {
    size_t at[2], end[2];     /* in the group at hand */
    size_t next[2], after[2]; /* the groups that follow */
};

enum phase { PHASE_NEXT, PHASE_BEFORE, PHASE_INSIDE };

struct depth_state { /* of the walk over a block, by depth */
    enum phase phase;
    size_t row;           /* the zone whose children are being taken */
    uint64_t limit_end;   /* take rows that end by then */
    uint64_t limit_start; /* and begin before this */
};

struct builder {
    struct call_tree *tree;
    const struct trace *trace;
    const struct trace_filter *filter;
    struct track_levels *tracks;
    size_t track_count;
    struct zone_rows rows;
    struct row_range *ranges; /* by depth */
    size_t range_capacity;
    struct depth_state *states;
    size_t state_capacity;
    size_t depth_count;
};

static bool reserve_levels(struct track_levels *track, size_t count)
{
    if (!array_reserve(&track->levels, &track->capacity, count, sizeof track->levels[0]))
        return false;
    for (; track->count < count; track->count++)
        track->levels[track->count] = (struct level){CALL_NODE_NONE, CALL_NODE_NONE, 0};
    return true;
}

static bool is_waiting(const struct builder *b, const struct track_levels *track, size_t depth)
{
    uint32_t holder = depth < track->count ? track->levels[depth].holder : CALL_NODE_NONE;
    return holder != CALL_NODE_NONE && b->tree->nodes.nodes[holder].first_child != CALL_NODE_NONE;
}

/* The node of this name in the forest of `depth`, which takes over what waits one level below. */
static uint32_t end_zone(struct builder *b, struct track_levels *track, size_t depth, uint32_t group,
                         uint64_t start)
{
    struct call_nodes *nodes = &b->tree->nodes;
    struct level *level = &track->levels[depth], *below = &track->levels[depth + 1];
    bool has_children = is_waiting(b, track, depth + 1);
    if (!is_waiting(b, track, depth) || start < level->first_start)
        level->first_start = start;
    if (level->holder == CALL_NODE_NONE) {
        level->holder = call_node_make(nodes, CALL_GROUP_NONE);
        level->last_child = CALL_NODE_NONE;
        if (level->holder == CALL_NODE_NONE)
            return CALL_NODE_NONE;
    }
    uint32_t node = level->last_child;
    if (node == CALL_NODE_NONE || nodes->nodes[node].group != group)
        node = call_node_find(nodes, level->holder, group);
    if (node == CALL_NODE_NONE) {
        if (has_children) {
            node = below->holder;
            nodes->nodes[node].group = group;
            below->holder = CALL_NODE_NONE;
        } else {
            node = call_node_make(nodes, group);
        }
        if (node == CALL_NODE_NONE || !call_node_link(nodes, level->holder, node))
            return CALL_NODE_NONE;
    } else if (has_children && !call_node_merge_children(nodes, below->holder, node)) {
        return CALL_NODE_NONE;
    }
    below->last_child = CALL_NODE_NONE;
    level->last_child = node;
    return node;
}

static uint64_t sum_of_children(const struct call_nodes *nodes, uint32_t parent)
{
    uint64_t sum = 0;
    for (uint32_t child = nodes->nodes[parent].first_child; child != CALL_NODE_NONE;
         child = nodes->nodes[child].next_sibling)
        sum += nodes->nodes[child].total_ns;
    return sum;
}

/* What waits at `depth` has no parent in the trace: hangs it below a node that says so. */
static bool hang_orphans(struct builder *b, struct track_levels *track, size_t depth)
{
    uint64_t time_ns = sum_of_children(&b->tree->nodes, track->levels[depth].holder);
    uint32_t node = end_zone(b, track, depth - 1, CALL_GROUP_NOT_RECORDED, track->levels[depth].first_start);
    if (node == CALL_NODE_NONE)
        return false;
    b->tree->nodes.nodes[node].total_ns += time_ns;
    b->tree->nodes.nodes[node].child_ns += time_ns;
    return true;
}

/* The next row of a depth, or SIZE_MAX. */
static size_t peek_row(const struct builder *b, size_t depth, unsigned *range)
{
    const struct row_range *r = &b->ranges[depth];
    bool has_0 = r->at[0] < r->end[0], has_1 = r->at[1] < r->end[1];
    if (!has_0 && !has_1)
        return SIZE_MAX;
    *range = !has_0 || (has_1 && b->rows.start[r->at[1]] < b->rows.start[r->at[0]]);
    return r->at[*range];
}

/* Goes to the next group that has rows, when the one at hand is used up. */
static void refill(const struct builder *b, struct row_range *range, unsigned which)
{
    while (range->at[which] == range->end[which] && range->next[which] < range->after[which]) {
        const struct zone_rows_group *group = &b->rows.groups[range->next[which]++];
        range->at[which] = group->first;
        range->end[which] = (size_t)group->first + group->count;
    }
}

static uint64_t row_end(const struct builder *b, size_t row)
{
    return b->rows.start[row] + b->rows.duration[row];
}

/* The time of what waits below `depth`. */
static uint64_t time_below(const struct builder *b, const struct track_levels *track, size_t depth)
{
    return is_waiting(b, track, depth + 1) ? sum_of_children(&b->tree->nodes, track->levels[depth + 1].holder)
                                           : 0;
}

static bool add_row(struct builder *b, struct track_levels *track, size_t depth, size_t row)
{
    uint32_t group = name_group_seen(&b->tree->groups, b->rows.name[row]);
    uint64_t child = b->rows.child[row] == CHILD_UNKNOWN ? time_below(b, track, depth) : b->rows.child[row];
    uint32_t node = end_zone(b, track, depth, group, b->rows.start[row]);
    if (node == CALL_NODE_NONE)
        return false;
    b->tree->nodes.nodes[node].count++;
    b->tree->nodes.nodes[node].total_ns += b->rows.duration[row];
    b->tree->nodes.nodes[node].child_ns += child;
    return true;
}

/* Takes all rows of depth `base` in the block, each after what is inside it. The state of each depth stands for
 * a call of a recursive function, which could be 65,535 deep. */
static bool take_rows(struct builder *b, struct track_levels *track, size_t base)
{
    size_t depth = base;
    b->states[base] = (struct depth_state){PHASE_NEXT, 0, UINT64_MAX, UINT64_MAX};
    for (;;) {
        struct depth_state *state = &b->states[depth];
        uint64_t limit_start = UINT64_MAX;
        if (state->phase == PHASE_NEXT) {
            unsigned range = 0;
            size_t row = peek_row(b, depth, &range);
            if (row == SIZE_MAX || row_end(b, row) > state->limit_end ||
                b->rows.start[row] >= state->limit_start) {
                if (depth == base)
                    return true;
                depth--;
                continue;
            }
            b->ranges[depth].at[range]++;
            refill(b, &b->ranges[depth], range);
            state->row = row;
            state->phase = PHASE_BEFORE;
            limit_start = b->rows.start[row];
        } else if (state->phase == PHASE_BEFORE) {
            /* What ended below this depth before the zone began had another parent, which is not there. */
            if (is_waiting(b, track, depth + 1) &&
                track->levels[depth + 1].first_start < b->rows.start[state->row] &&
                !hang_orphans(b, track, depth + 1))
                return false;
            state->phase = PHASE_INSIDE;
        } else {
            if (!add_row(b, track, depth, state->row))
                return false;
            state->phase = PHASE_NEXT;
            continue;
        }
        if (depth + 1 < b->depth_count) {
            unsigned unused;
            if (peek_row(b, depth + 1, &unused) != SIZE_MAX) {
                depth++;
                b->states[depth] = (struct depth_state){PHASE_NEXT, 0, row_end(b, state->row), limit_start};
            }
        }
    }
}

/* Cuts the rows to the window. Of a zone that reaches out of it, the time of its children is only known when they
 * have been added up. */
static void cut_window(struct builder *b)
{
    size_t kept = 0;
    for (size_t g = 0; g < b->rows.group_count; g++) {
        struct zone_rows_group *group = &b->rows.groups[g];
        size_t first = kept;
        for (size_t i = group->first; i < (size_t)group->first + group->count; i++) {
            uint64_t start = b->rows.start[i], duration = b->rows.duration[i];
            if (!trace_filter_clip(b->filter, &start, &duration))
                continue;
            b->rows.start[kept] = start;
            b->rows.child[kept] = duration == b->rows.duration[i] ? b->rows.child[i] : CHILD_UNKNOWN;
            b->rows.duration[kept] = duration;
            b->rows.name[kept] = b->rows.name[i];
            kept++;
        }
        group->first = (uint32_t)first;
        group->count = (uint32_t)(kept - first);
    }
}

static int compare_groups(const void *left, const void *right, void *starts_pointer)
{
    const struct zone_rows_group *a = left, *b = right;
    const uint64_t *starts = starts_pointer;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    if (a->is_carried != b->is_carried)
        return a->is_carried ? 1 : -1;
    uint64_t x = a->count ? starts[a->first] : 0, y = b->count ? starts[b->first] : 0;
    return (x > y) - (x < y);
}

/* The groups [first, last) of one track. */
static bool take_track(struct builder *b, size_t first, size_t last)
{
    const struct zone_rows_group *groups = b->rows.groups;
    struct track_levels *track = &b->tracks[groups[first].track];
    b->depth_count = (size_t)groups[last - 1].depth + 1;
    if (!array_reserve(&b->ranges, &b->range_capacity, b->depth_count, sizeof b->ranges[0]) ||
        !array_reserve(&b->states, &b->state_capacity, b->depth_count, sizeof b->states[0]) ||
        !reserve_levels(track, b->depth_count + 1))
        return false;
    memset(b->ranges, 0, b->depth_count * sizeof b->ranges[0]);
    for (size_t g = first; g < last; g++) {
        struct row_range *range = &b->ranges[groups[g].depth];
        unsigned which = groups[g].is_carried ? 1 : 0;
        if (range->after[which] == 0)
            range->next[which] = g;
        range->after[which] = g + 1;
    }
    for (size_t depth = 0; depth < b->depth_count; depth++) {
        refill(b, &b->ranges[depth], 0);
        refill(b, &b->ranges[depth], 1);
    }
    for (size_t depth = 0; depth < b->depth_count; depth++) {
        if (!take_rows(b, track, depth))
            return false;
    }
    return true;
}

static bool take_block(struct builder *b)
{
    struct zone_rows_group *groups = b->rows.groups;
    if (b->filter->has_window)
        cut_window(b);
    qsort_r(groups, b->rows.group_count, sizeof groups[0], compare_groups, b->rows.start);
    for (size_t first = 0, last; first < b->rows.group_count; first = last) {
        uint32_t track = groups[first].track;
        for (last = first + 1; last < b->rows.group_count && groups[last].track == track;)
            last++;
        if (track < b->track_count && trace_filter_wants_track(b->filter, track) &&
            !take_track(b, first, last))
            return false;
    }
    return true;
}

static int read_blocks(struct builder *b, struct trace *trace, struct error *err)
{
    struct trace_block_filter blocks = {.type = TRACE_BLOCK_ZONES};
    unsigned columns = TRACE_COLUMN_START | TRACE_COLUMN_DURATION | TRACE_COLUMN_CHILD | TRACE_COLUMN_NAME;
    const struct trace_block *block;
    size_t position = 0;
    if (b->filter->has_window) {
        blocks.since_ns = b->filter->since_ns;
        blocks.until_ns = b->filter->until_ns;
    }
    while ((block = trace_next_block(trace, &blocks, &position))) {
        if (block->track != TRACE_NONE && !trace_filter_wants_track(b->filter, block->track))
            continue;
        int result = trace_decode_zones(trace, block, columns, &b->rows, err);
        if (result != 0)
            return result;
        if (!take_block(b))
            return error_set_errno(err, ENOMEM, "call tree");
    }
    return 0;
}

static int compare_open(const void *left, const void *right)
{
    const struct trace_open_zone *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    return (a->depth < b->depth) - (a->depth > b->depth); /* deepest first */
}

/* A zone that never ended takes what waits below it, with the time it has run. */
static bool add_open(struct builder *b, const struct trace_open_zone *open)
{
    struct track_levels *track = &b->tracks[open->track];
    struct call_nodes *nodes = &b->tree->nodes;
    uint64_t inside_ns = time_below(b, track, open->depth);
    uint32_t node =
        end_zone(b, track, open->depth, name_group_seen(&b->tree->groups, open->name), open->start);
    if (node == CALL_NODE_NONE)
        return false;
    nodes->nodes[node].open_count++;
    nodes->nodes[node].total_ns += open->seen - open->start;
    nodes->nodes[node].child_ns += inside_ns;
    return true;
}

/* The track is over: whatever waits gets its open zone, or a stand-in, as parent. */
static bool finish_track(struct builder *b, const struct trace_open_zone *open, size_t open_count,
                         uint32_t id)
{
    struct track_levels *track = &b->tracks[id];
    size_t next = 0;
    if (open_count && !reserve_levels(track, (size_t)open[0].depth + 2))
        return false;
    for (size_t depth = track->count; depth-- > 0;) {
        while (next < open_count && open[next].depth == depth) {
            if (!add_open(b, &open[next++]))
                return false;
        }
        if (depth > 0 && is_waiting(b, track, depth) &&
            !(next < open_count && open[next].depth == depth - 1) && !hang_orphans(b, track, depth))
            return false;
    }
    return true;
}

static int finish_tracks(struct builder *b, struct error *err)
{
    size_t count = 0, kept = 0, at = 0;
    const struct trace_open_zone *given = trace_get_open_zones(b->trace, &count);
    struct trace_open_zone *open = malloc((count + 1) * sizeof *open);
    bool is_done = open != NULL;
    for (size_t i = 0; open && i < count; i++) {
        uint64_t start = given[i].start, duration = given[i].seen - given[i].start;
        if (given[i].track >= b->track_count || given[i].depth > TRACE_MAX_DEPTH ||
            !trace_filter_wants_track(b->filter, given[i].track) ||
            !trace_filter_clip(b->filter, &start, &duration))
            continue;
        open[kept] = given[i];
        open[kept].start = start;
        open[kept++].seen = start + duration;
    }
    if (open)
        qsort(open, kept, sizeof *open, compare_open);
    for (uint32_t id = 0; is_done && id < b->track_count; id++) {
        size_t first = at;
        while (at < kept && open[at].track == id)
            at++;
        is_done = finish_track(b, open + first, at - first, id);
    }
    free(open);
    return is_done ? 0 : error_set_errno(err, ENOMEM, "call tree");
}

/* A node's own time if its name says that it waits, and what waits below it. */
static bool find_waiting(struct call_tree *tree, const struct trace *trace, uint32_t root)
{
    struct call_node *nodes = tree->nodes.nodes;
    uint32_t *order = malloc((tree->nodes.count + 1) * sizeof *order);
    size_t count = 0;
    unsigned depth = 0;
    if (!order)
        return false;
    for (uint32_t node = root; node != CALL_NODE_NONE;
         node = call_node_next(&tree->nodes, root, node, &depth)) {
        bool waits = node != root && waiting_is_name(call_tree_name(tree, trace, nodes[node].group));
        nodes[node].waiting_ns = waits && nodes[node].total_ns > nodes[node].child_ns
                                     ? nodes[node].total_ns - nodes[node].child_ns
                                     : 0;
        order[count++] = node;
    }
    while (count-- > 1) /* children before parents */
        nodes[nodes[order[count]].parent].waiting_ns += nodes[order[count]].waiting_ns;
    free(order);
    return true;
}

/* One root for each track that has zones, then merged as asked. */
static bool make_roots(struct builder *b, enum call_tree_by by)
{
    struct call_tree *tree = b->tree;
    tree->roots = calloc(b->track_count + 1, sizeof *tree->roots);
    if (!tree->roots)
        return false;
    for (uint32_t id = 0; id < b->track_count; id++) {
        uint32_t process = trace_get_track(b->trace, id)->process;
        if (!is_waiting(b, &b->tracks[id], 0))
            continue;
        uint32_t node = b->tracks[id].levels[0].holder;
        struct call_tree_root *same = NULL;
        for (size_t r = 0; r < tree->root_count && by != CALL_TREE_BY_THREAD && !same; r++) {
            if (by == CALL_TREE_MERGED || tree->roots[r].process == process)
                same = &tree->roots[r];
        }
        if (same) {
            if (!call_node_merge_children(&tree->nodes, node, same->node))
                return false;
            continue;
        }
        tree->roots[tree->root_count++] = (struct call_tree_root){
            .node = node,
            .track = by == CALL_TREE_BY_THREAD ? id : TRACE_NONE,
            .process = by == CALL_TREE_MERGED ? TRACE_NONE : process,
        };
    }
    for (size_t r = 0; r < tree->root_count; r++) {
        struct call_node *root = &tree->nodes.nodes[tree->roots[r].node];
        root->total_ns = root->child_ns = sum_of_children(&tree->nodes, tree->roots[r].node);
        if (!find_waiting(tree, b->trace, tree->roots[r].node) ||
            !call_node_sort(&tree->nodes, tree->roots[r].node))
            return false;
    }
    return true;
}

static int compare_roots(const void *left, const void *right)
{
    const struct call_tree_root *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return (a->track > b->track) - (a->track < b->track);
}

int call_tree_make(struct call_tree *tree, struct trace *trace, const struct trace_filter *filter,
                   enum call_tree_by by, struct error *err)
{
    struct builder b = {
        .tree = tree, .trace = trace, .filter = filter, .track_count = trace_track_count(trace)};
    *tree = (struct call_tree){.wall_ns = filter->until_ns - filter->since_ns};
    b.tracks = calloc(b.track_count + 1, sizeof *b.tracks);
    int result = b.tracks ? name_groups_make(&tree->groups, trace, NULL, NAMES_BY_PLACE, err)
                          : error_set_errno(err, ENOMEM, "call tree");
    if (result == 0)
        result = read_blocks(&b, trace, err);
    if (result == 0)
        result = finish_tracks(&b, err);
    if (result == 0 && !make_roots(&b, by))
        result = error_set_errno(err, ENOMEM, "call tree");
    if (result == 0) {
        qsort(tree->roots, tree->root_count, sizeof *tree->roots, compare_roots);
        name_groups_keep_seen(&tree->groups);
    }
    for (size_t i = 0; b.tracks && i < b.track_count; i++)
        free(b.tracks[i].levels);
    free(b.tracks);
    free(b.ranges);
    free(b.states);
    zone_rows_free(&b.rows);
    if (result != 0)
        call_tree_free(tree);
    return result;
}

void call_tree_free(struct call_tree *tree)
{
    if (!tree)
        return;
    call_nodes_free(&tree->nodes);
    name_groups_free(&tree->groups);
    free(tree->roots);
    *tree = (struct call_tree){0};
}

const char *call_tree_name(const struct call_tree *tree, const struct trace *trace, uint32_t group)
{
    if (group == CALL_GROUP_NOT_RECORDED)
        return "(not recorded)";
    if (group >= tree->groups.group_count)
        return "";
    return trace_get_name(trace, tree->groups.first_name[group])->name;
}

/* Does the filter want zones of this group by their name? */
static bool is_wanted_group(const struct call_tree *tree, const struct trace *trace,
                            const struct trace_filter *filter, uint32_t group)
{
    if (group < tree->groups.group_count)
        return trace_filter_wants_name(filter, tree->groups.first_name[group]);
    return trace_filter_text_matches(filter, call_tree_name(tree, trace, group));
}

/* Is it in the files and modules that were asked for? Of what has no file nobody knows: it goes with what it is in. */
enum place { PLACE_WANTED, PLACE_UNKNOWN, PLACE_UNWANTED };

static enum place place_of_group(const struct call_tree *tree, const struct trace *trace,
                                 const struct trace_filter *filter, uint32_t group)
{
    uint32_t name = group < tree->groups.group_count ? tree->groups.first_name[group] : TRACE_NONE;
    if (name < filter->name_count && filter->place_wanted[name])
        return PLACE_WANTED;
    return name < filter->name_count && *trace_get_name(trace, name)->file ? PLACE_UNWANTED : PLACE_UNKNOWN;
}

enum {
    KEEP_BELOW = 1,
    KEEP_SELF = 2
}; /* what is wanted is above it; it is wanted itself, or goes with that */

static unsigned keep_of_node(const struct call_tree *tree, const struct trace *trace,
                             const struct trace_filter *filter, const struct call_node *node, unsigned above)
{
    if (node->is_asked)
        return KEEP_BELOW | KEEP_SELF;
    if (!(above & KEEP_BELOW))
        return 0;
    enum place place = place_of_group(tree, trace, filter, node->group);
    return KEEP_BELOW | (place == PLACE_WANTED ? KEEP_SELF : place == PLACE_UNKNOWN ? above & KEEP_SELF : 0);
}

int call_tree_keep(struct call_tree *tree, const struct trace *trace, const struct trace_filter *filter,
                   struct error *err)
{
    struct call_node *nodes = tree->nodes.nodes;
    uint32_t *order = malloc((tree->nodes.count + 1) * sizeof *order);
    uint8_t *keep = calloc(tree->nodes.count + 1, sizeof *keep);
    if (!order || !keep) {
        free(order);
        free(keep);
        return error_set_errno(err, ENOMEM, "call tree");
    }
    for (size_t r = 0; r < tree->root_count; r++) {
        uint32_t root = tree->roots[r].node, node = root;
        size_t count = 0;
        unsigned depth = 0;
        for (; node != CALL_NODE_NONE; node = call_node_next(&tree->nodes, root, node, &depth)) {
            nodes[node].is_asked = node != root && is_wanted_group(tree, trace, filter, nodes[node].group);
            if (node != root)
                keep[node] =
                    (uint8_t)keep_of_node(tree, trace, filter, &nodes[node], keep[nodes[node].parent]);
            nodes[node].is_kept = keep[node] & KEEP_SELF;
            order[count++] = node;
        }
        while (count-- > 1) { /* children before parents */
            struct call_node *parent = &nodes[nodes[order[count]].parent];
            parent->is_kept |= nodes[order[count]].is_kept;
            parent->is_asked |= nodes[order[count]].is_asked;
        }
    }
    free(order);
    free(keep);
    return 0;
}
