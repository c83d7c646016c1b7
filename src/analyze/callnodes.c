/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/callnodes.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/waiting.h"
#include "base/bytes.h"
#include "base/hash.h"

struct call_pair {
    uint32_t from, to;
    bool frees_from;
};

void call_nodes_free(struct call_nodes *c)
{
    free(c->nodes);
    free(c->buckets);
    free(c->work);
    *c = (struct call_nodes){0};
}

static size_t bucket_of(const struct call_nodes *c, uint32_t parent, uint32_t group)
{
    uint64_t key = (uint64_t)parent << 32 | group;
    return hash_mix(key ^ UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xd6e8feb86659fd93)) & (c->bucket_count - 1);
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

static bool grow_buckets(struct call_nodes *c)
{
    size_t count = c->bucket_count ? 2 * c->bucket_count : 64;
    uint32_t *buckets = calloc(count, sizeof *buckets), *old = c->buckets;
    size_t old_count = c->bucket_count;
    if (!buckets)
        return false;
    c->buckets = buckets;
    c->bucket_count = count;
    for (size_t b = 0; b < old_count; b++) {
        for (uint32_t at = old[b]; at;) {
            struct call_node *node = &c->nodes[at - 1];
            uint32_t next = node->hash_next;
            size_t bucket = bucket_of(c, node->parent, node->group);
            node->hash_next = buckets[bucket];
            buckets[bucket] = at;
            at = next;
        }
    }
    free(old);
    return true;
}

static void hash_add(struct call_nodes *c, uint32_t id)
{
    struct call_node *node = &c->nodes[id];
    size_t bucket = bucket_of(c, node->parent, node->group);
    node->hash_next = c->buckets[bucket];
    c->buckets[bucket] = id + 1;
    c->linked++;
}

static void hash_remove(struct call_nodes *c, uint32_t id)
{
    uint32_t *at = &c->buckets[bucket_of(c, c->nodes[id].parent, c->nodes[id].group)];
    while (*at != id + 1)
        at = &c->nodes[*at - 1].hash_next;
    *at = c->nodes[id].hash_next;
    c->linked--;
}

static void attach(struct call_nodes *c, uint32_t parent, uint32_t id)
{
    c->nodes[id].parent = parent;
    c->nodes[id].next_sibling = c->nodes[parent].first_child;
    c->nodes[parent].first_child = id;
    hash_add(c, id);
}

bool call_node_link(struct call_nodes *c, uint32_t parent, uint32_t node)
{
    if (c->linked >= c->bucket_count && !grow_buckets(c))
        return false;
    attach(c, parent, node);
    return true;
}

uint32_t call_node_find(const struct call_nodes *c, uint32_t parent, uint32_t group)
{
    if (c->bucket_count == 0)
        return CALL_NODE_NONE;
    for (uint32_t at = c->buckets[bucket_of(c, parent, group)]; at; at = c->nodes[at - 1].hash_next) {
        if (c->nodes[at - 1].parent == parent && c->nodes[at - 1].group == group)
            return at - 1;
    }
    return CALL_NODE_NONE;
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
            hash_remove(c, child);
            if (same == CALL_NODE_NONE) {
                attach(c, pair.to, child); /* as many entries as before: the table need not grow */
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
