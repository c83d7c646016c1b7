/* SPDX-License-Identifier: Apache-2.0 */
#include "present/export/device_tree.h"

#include <errno.h>
#include <stdlib.h>

#include "present/export/stacks.h"

struct making {
    struct call_tree *tree;
    const struct stacks *stacks;
    uint64_t *totals, *counts; /* by stack node, with what is below it */
    uint32_t *nodes;           /* by stack node: that of the tree */
    uint32_t lost;             /* the root of runs on an unknown device; CALL_NODE_NONE: there is none yet */
    bool is_merged;
};

static void add_up(struct making *m)
{
    const struct stacks *s = m->stacks;
    for (size_t i = s->node_count; i-- > 0;) { /* children before parents */
        uint32_t parent = s->nodes[i].parent;
        m->totals[i] += s->nodes[i].device_ns;
        m->counts[i] += s->nodes[i].device_count;
        if (parent != STACK_NONE) {
            m->totals[parent] += m->totals[i];
            m->counts[parent] += m->counts[i];
        }
    }
}

static uint32_t root_of(struct making *m, uint32_t track)
{
    struct call_tree *tree = m->tree;
    const struct trace_track *about =
        track == TRACE_NONE ? NULL : trace_get_track(m->stacks->job->trace, track);
    if (m->is_merged && tree->root_count)
        return tree->roots[0].node;
    uint32_t node = call_node_make(&tree->nodes, CALL_GROUP_NONE);
    bool has_process = about && !m->is_merged;
    if (node != CALL_NODE_NONE)
        tree->roots[tree->root_count++] =
            (struct call_tree_root){.node = node,
                                    .track = has_process ? track : TRACE_NONE,
                                    .process = has_process ? about->process : TRACE_NONE};
    return node;
}

static uint32_t child_of(struct making *m, uint32_t parent, uint32_t name)
{
    struct call_nodes *nodes = &m->tree->nodes;
    uint32_t group = name_group_seen(&m->tree->groups, name);
    uint32_t node = call_node_find(nodes, parent, group);
    if (node != CALL_NODE_NONE)
        return node;
    node = call_node_make(nodes, group);
    return node != CALL_NODE_NONE && call_node_link(nodes, parent, node) ? node : CALL_NODE_NONE;
}

/* The root, or the node, above those of this stack node; CALL_NODE_NONE without memory. */
static uint32_t parent_of(struct making *m, const struct stack_node *from)
{
    if (m->nodes[from->parent] != CALL_NODE_NONE)
        return m->nodes[from->parent];
    if (m->lost == CALL_NODE_NONE)
        m->lost = root_of(m, TRACE_NONE);
    return m->lost;
}

static bool make_nodes(struct making *m)
{
    const struct stacks *s = m->stacks;
    for (size_t i = 0; i < s->node_count; i++) {
        const struct stack_node *from = &s->nodes[i];
        m->nodes[i] = CALL_NODE_NONE;
        if (!m->counts[i] || from->parent == STACK_NONE) /* nothing ran for it; a program */
            continue;
        if (from->name == TRACE_NONE) {
            m->nodes[i] = root_of(m, from->track);
        } else {
            uint32_t parent = parent_of(m, from);
            m->nodes[i] = parent == CALL_NODE_NONE ? CALL_NODE_NONE : child_of(m, parent, from->name);
        }
        if (m->nodes[i] == CALL_NODE_NONE)
            return false;
        if (from->name == TRACE_NONE)
            continue;
        struct call_node *node = &m->tree->nodes.nodes[m->nodes[i]];
        node->total_ns += m->totals[i];
        node->child_ns += m->totals[i] - from->device_ns;
        node->count += m->counts[i];
    }
    return true;
}

static bool finish_roots(struct making *m)
{
    struct call_nodes *nodes = &m->tree->nodes;
    for (size_t r = 0; r < m->tree->root_count; r++) {
        struct call_node *root = &nodes->nodes[m->tree->roots[r].node];
        for (uint32_t child = root->first_child; child != CALL_NODE_NONE;
             child = nodes->nodes[child].next_sibling)
            root->total_ns += nodes->nodes[child].total_ns;
        root->child_ns = root->total_ns;
        if (!call_node_sort(nodes, m->tree->roots[r].node))
            return false;
    }
    return true;
}

static int make_tree(struct making *m, struct export_job *job)
{
    size_t count = m->stacks->node_count + 1;
    m->totals = calloc(count, sizeof *m->totals);
    m->counts = calloc(count, sizeof *m->counts);
    m->nodes = calloc(count, sizeof *m->nodes);
    m->tree->roots = calloc(count, sizeof *m->tree->roots);
    bool is_made = m->totals && m->counts && m->nodes && m->tree->roots;
    if (is_made) {
        add_up(m);
        is_made = make_nodes(m) && finish_roots(m);
    }
    free(m->totals);
    free(m->counts);
    free(m->nodes);
    return is_made ? 0 : export_no_memory(job);
}

int device_tree_make(struct call_tree *tree, struct trace *trace, const struct trace_filter *filter,
                     bool is_merged, struct error *err)
{
    struct export_options options = {.flame_by = EXPORT_FLAME_DEVICE};
    struct export_counts counts = {0};
    struct trace_filter every_name = *filter;
    every_name.name_count = 0; /* names are left to call_tree_keep */
    every_name.wants_all_names = true;
    struct export_job job = {
        .trace = trace, .filter = &every_name, .options = &options, .counts = &counts, .err = err};
    struct stacks stacks = {.job = &job};
    *tree = (struct call_tree){.wall_ns = filter->until_ns - filter->since_ns};
    int result = export_job_open(&job);
    if (result == 0)
        result = name_groups_make(&tree->groups, trace, NULL, NAMES_BY_PLACE, err);
    if (result == 0) {
        result = stacks_make(&stacks, &job,
                             &(struct stacks_options){.is_host_only = true, .has_device_time = true});
        if (result == 0)
            result = make_tree(
                &(struct making){
                    .tree = tree, .stacks = &stacks, .lost = CALL_NODE_NONE, .is_merged = is_merged},
                &job);
        stacks_free(&stacks);
    }
    if (result == 0)
        name_groups_keep_seen(&tree->groups);
    export_job_close(&job);
    if (result != 0)
        call_tree_free(tree);
    return result;
}
