/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/zones/neighbours.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/map.h"

struct finding {
    struct call_neighbours *found;
    const struct call_tree *tree;
    bool *is_match;  /* by group */
    bool *is_inside; /* by node: below a node that matches */
    struct map row_of_group;
};

static bool matches(const struct finding *f, uint32_t node)
{
    uint32_t group = f->tree->nodes.nodes[node].group;
    return group < f->tree->groups.group_count && f->is_match[group];
}

static bool add(struct finding *f, uint32_t group, uint64_t count, uint64_t total_ns)
{
    struct call_neighbours *found = f->found;
    uint32_t row = map_get(&f->row_of_group, group);
    if (row == MAP_NONE) {
        row = (uint32_t)found->row_count;
        if (!array_reserve(&found->rows, &found->capacity, found->row_count + 1, sizeof found->rows[0]) ||
            !map_put(&f->row_of_group, group, row))
            return false;
        found->rows[found->row_count++] = (struct call_neighbour){.group = group};
    }
    found->rows[row].count += count;
    found->rows[row].total_ns += total_ns;
    return true;
}

/* Is `node` inside another of its group, up to and including the outermost node that matches? */
static bool is_nested(const struct finding *f, uint32_t node)
{
    const struct call_node *nodes = f->tree->nodes.nodes;
    for (uint32_t at = nodes[node].parent; f->is_inside[at] || matches(f, at); at = nodes[at].parent) {
        if (nodes[at].group == nodes[node].group)
            return true;
    }
    return false;
}

static bool visit(struct finding *f, uint32_t node, enum call_direction direction)
{
    const struct call_node *nodes = f->tree->nodes.nodes, *n = &nodes[node];
    uint64_t count = n->count + n->open_count;
    uint64_t self_ns = n->total_ns > n->child_ns ? n->total_ns - n->child_ns : 0;
    bool is_recursive = f->is_inside[node];
    f->found->count += count;
    f->found->self_ns += self_ns;
    f->found->total_ns += is_recursive ? 0 : n->total_ns;
    if (direction == CALL_CALLERS)
        return add(f, nodes[n->parent].group, count, is_recursive ? 0 : n->total_ns);
    bool is_added = add(f, CALL_GROUP_ITSELF, 0, self_ns);
    for (uint32_t child = n->first_child; child != CALL_NODE_NONE && is_added;
         child = nodes[child].next_sibling)
        is_added = add(f, nodes[child].group, nodes[child].count + nodes[child].open_count,
                       is_nested(f, child) ? 0 : nodes[child].total_ns);
    return is_added;
}

static int compare_rows(const void *left, const void *right)
{
    const struct call_neighbour *a = left, *b = right;
    if (a->total_ns != b->total_ns)
        return a->total_ns < b->total_ns ? 1 : -1;
    if (a->count != b->count)
        return a->count < b->count ? 1 : -1;
    return (a->group > b->group) - (a->group < b->group);
}

static bool visit_tree(struct finding *f, uint32_t root, enum call_direction direction)
{
    const struct call_node *nodes = f->tree->nodes.nodes;
    unsigned depth = 0;
    for (uint32_t node = root; node != CALL_NODE_NONE;
         node = call_node_next(&f->tree->nodes, root, node, &depth)) {
        uint32_t parent = nodes[node].parent;
        f->is_inside[node] = node != root && (f->is_inside[parent] || matches(f, parent));
        if (node != root && matches(f, node) && !visit(f, node, direction))
            return false;
    }
    return true;
}

int call_neighbours_make(struct call_neighbours *found, const struct call_tree *tree,
                         const struct trace *trace, const char *pattern, enum call_direction direction,
                         struct error *err)
{
    struct finding f = {.found = found,
                        .tree = tree,
                        .is_match = calloc(tree->groups.group_count + 1, sizeof(bool)),
                        .is_inside = calloc(tree->nodes.count + 1, sizeof(bool))};
    *found = (struct call_neighbours){0};
    bool is_done = f.is_match && f.is_inside;
    for (uint32_t group = 0; is_done && group < tree->groups.group_count; group++)
        f.is_match[group] = fnmatch(pattern, call_tree_name(tree, trace, group), 0) == 0;
    for (size_t r = 0; is_done && r < tree->root_count; r++)
        is_done = visit_tree(&f, tree->roots[r].node, direction);
    free(f.is_match);
    free(f.is_inside);
    map_free(&f.row_of_group);
    if (is_done && found->count > 0) {
        qsort(found->rows, found->row_count, sizeof found->rows[0], compare_rows);
        return 0;
    }
    call_neighbours_free(found);
    return is_done ? error_set(err, EINVAL, "no zone matches '%.60s'", pattern)
                   : error_no_memory(err, "callers and callees");
}

void call_neighbours_free(struct call_neighbours *found)
{
    free(found->rows);
    *found = (struct call_neighbours){0};
}
