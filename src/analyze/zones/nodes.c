/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/zones/nodes.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/zones/waiting.h"
#include "base/bytes.h"

struct call_pair {
    uint32_t from, to;
    bool frees_from;
};

void call_nodes_free(struct call_nodes *c)
{
    free(c->nodes);
    map_free(&c->children);
    free(c->work);
    *c = (struct call_nodes){0};
}

static uint64_t child_key(uint32_t parent, uint32_t group)
{
    return (uint64_t)parent << 32 | group;
}

uint32_t call_node_make(struct call_nodes *c, uint32_t group)
{
    uint32_t id;
    if (c->free_list) {
        id = c->free_list - 1;
        c->free_list = c->nodes[id].next_sibling;
    } else {
        if (c->count >= UINT32_MAX - 1 ||
            !array_reserve(&c->nodes, &c->capacity, c->count + 1, sizeof c->nodes[0]))
            return CALL_NODE_NONE;
        id = (uint32_t)c->count++;
    }
    c->nodes[id] = (struct call_node){
        .group = group,
        .parent = CALL_NODE_NONE,
        .first_child = CALL_NODE_NONE,
        .next_sibling = CALL_NODE_NONE,
    };
    return id;
}

static void free_node(struct call_nodes *c, uint32_t id)
{
    c->nodes[id].next_sibling = c->free_list;
    c->free_list = id + 1;
}

bool call_node_link(struct call_nodes *c, uint32_t parent, uint32_t id)
{
    if (!map_put(&c->children, child_key(parent, c->nodes[id].group), id))
        return false;
    c->nodes[id].parent = parent;
    c->nodes[id].next_sibling = c->nodes[parent].first_child;
    c->nodes[parent].first_child = id;
    return true;
}

uint32_t call_node_find(const struct call_nodes *c, uint32_t parent, uint32_t group)
{
    return map_get(&c->children, child_key(parent, group));
}

static bool push_pair(struct call_nodes *c, uint32_t from, uint32_t to, bool frees_from)
{
    if (!array_reserve(&c->work, &c->work_capacity, c->work_count + 1, sizeof c->work[0]))
        return false;
    c->work[c->work_count++] = (struct call_pair){from, to, frees_from};
    return true;
}

/* The subtrees are merged with a list of pairs instead of recursion: they may be 65,535 deep. */
bool call_node_merge_children(struct call_nodes *c, uint32_t from, uint32_t to)
{
    c->work_count = 0;
    if (!push_pair(c, from, to, false))
        return false;
    while (c->work_count > 0) {
        struct call_pair pair = c->work[--c->work_count];
        uint32_t child = c->nodes[pair.from].first_child;
        c->nodes[pair.from].first_child = CALL_NODE_NONE;
        while (child != CALL_NODE_NONE) {
            struct call_node *node = &c->nodes[child];
            uint32_t next = node->next_sibling;
            uint32_t same = call_node_find(c, pair.to, node->group);
            map_remove(&c->children, child_key(pair.from, node->group));
            if (same == CALL_NODE_NONE) {
                if (!call_node_link(c, pair.to, child))
                    return false;
            } else {
                c->nodes[same].count += node->count;
                c->nodes[same].open_count += node->open_count;
                c->nodes[same].total_ns += node->total_ns;
                c->nodes[same].child_ns += node->child_ns;
                if (node->first_child == CALL_NODE_NONE)
                    free_node(c, child);
                else if (!push_pair(c, child, same, true))
                    return false;
            }
            child = next;
        }
        if (pair.frees_from)
            free_node(c, pair.from);
    }
    return true;
}

uint32_t call_node_next(const struct call_nodes *c, uint32_t root, uint32_t node, unsigned *depth)
{
    if (c->nodes[node].first_child != CALL_NODE_NONE) {
        ++*depth;
        return c->nodes[node].first_child;
    }
    while (node != root) {
        if (c->nodes[node].next_sibling != CALL_NODE_NONE)
            return c->nodes[node].next_sibling;
        node = c->nodes[node].parent;
        --*depth;
    }
    return CALL_NODE_NONE;
}

struct sort_entry {
    uint64_t total_ns;
    uint32_t group, node;
    bool waits;
};

static int compare_entries(const void *left, const void *right)
{
    const struct sort_entry *a = left, *b = right;
    if (a->waits != b->waits)
        return a->waits ? 1 : -1;
    if (a->total_ns != b->total_ns)
        return a->total_ns < b->total_ns ? 1 : -1;
    return (a->group > b->group) - (a->group < b->group);
}

static bool sort_children(struct call_nodes *c, uint32_t parent, struct sort_entry **entries,
                          size_t *capacity)
{
    size_t count = 0;
    for (uint32_t child = c->nodes[parent].first_child; child != CALL_NODE_NONE;
         child = c->nodes[child].next_sibling) {
        if (!array_reserve(entries, capacity, count + 1, sizeof **entries))
            return false;
        const struct call_node *node = &c->nodes[child];
        (*entries)[count++] = (struct sort_entry){node->total_ns, node->group, child,
                                                  waiting_is_all(node->waiting_ns, node->total_ns)};
    }
    if (count < 2)
        return true;
    qsort(*entries, count, sizeof **entries, compare_entries);
    c->nodes[parent].first_child = (*entries)[0].node;
    for (size_t i = 0; i < count; i++)
        c->nodes[(*entries)[i].node].next_sibling = i + 1 < count ? (*entries)[i + 1].node : CALL_NODE_NONE;
    return true;
}

bool call_node_sort(struct call_nodes *c, uint32_t root)
{
    struct sort_entry *entries = NULL;
    size_t capacity = 0;
    unsigned depth = 0;
    bool is_sorted = true;
    for (uint32_t node = root; node != CALL_NODE_NONE && is_sorted;
         node = call_node_next(c, root, node, &depth))
        is_sorted = sort_children(c, node, &entries, &capacity);
    free(entries);
    return is_sorted;
}
