/* SPDX-License-Identifier: Apache-2.0 */
/* The call tree as a flame graph: from the outermost zones down, or from what works up to who called it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/zones/tree.h"
#include "serve/query/query.h"

#define DEEPEST 400u
#define FEWER 8u /* a node whose self time is so much below the least share has its callers left out */

enum { DIRECTION_DOWN, DIRECTION_UP };
static const char *const direction_words[] = {"down", "up", NULL};

struct flame {
    const struct serve_trace *st;
    const struct call_nodes *nodes;
    const struct name_groups *groups;
    struct bytes *out;
    uint64_t least; /* ns: smaller ones are summed up */
};

/* --- from below --- */

static uint32_t child_of(struct call_nodes *c, uint32_t parent, uint32_t group)
{
    uint32_t node = call_node_find(c, parent, group);
    if (node != CALL_NODE_NONE)
        return node;
    node = call_node_make(c, group);
    return node != CALL_NODE_NONE && call_node_link(c, parent, node) ? node : CALL_NODE_NONE;
}

/* A tree whose roots are names by their own time, and whose children are callers. */
static int turn_over(struct call_nodes *up, const struct call_tree *tree, uint32_t root, uint64_t least,
                     struct error *err)
{
    const struct call_nodes *down = &tree->nodes;
    uint32_t top = call_node_make(up, CALL_GROUP_NONE);
    unsigned depth = 0;
    bool is_made = top != CALL_NODE_NONE;
    for (uint32_t i = root; is_made && i != CALL_NODE_NONE; i = call_node_next(down, root, i, &depth)) {
        const struct call_node *node = &down->nodes[i];
        uint64_t self = node->total_ns > node->child_ns ? node->total_ns - node->child_ns : 0;
        uint32_t at = top;
        if (i == root || self == 0)
            continue;
        up->nodes[top].total_ns += self;
        unsigned steps = self >= least / FEWER ? DEEPEST : 1;
        for (uint32_t from = i; from != root && from != CALL_NODE_NONE && steps--;
             from = down->nodes[from].parent) {
            at = child_of(up, at, down->nodes[from].group);
            if (!(is_made = at != CALL_NODE_NONE))
                break;
            up->nodes[at].total_ns += self;
            up->nodes[at].count += node->count + node->open_count;
        }
    }
    if (is_made)
        is_made = call_node_sort(up, top);
    return is_made ? 0 : error_no_memory(err, "the flame graph");
}

/* --- the answer --- */

static void put_head(const struct flame *f, const struct call_node *node)
{
    uint64_t self = node->total_ns > node->child_ns ? node->total_ns - node->child_ns : 0;
    if (node->group < f->groups->group_count)
        bytes_append_format(f->out, "{\"name\":%u", f->groups->first_name[node->group]);
    else
        bytes_append_text(f->out, "{\"name\":null");
    bytes_append_format(f->out, ",\"total\":%" PRIu64 ",\"self\":%" PRIu64 ",\"count\":%" PRIu64,
                        node->total_ns, self, (node->count + node->open_count));
}

static bool is_shown(const struct flame *f, uint32_t node)
{
    return node != CALL_NODE_NONE && f->nodes->nodes[node].total_ns >= f->least;
}

/* The next child that is shown; those that wait come after the others, so the order of total is not the whole order. */
static uint32_t next_shown(const struct flame *f, uint32_t node)
{
    while (node != CALL_NODE_NONE && !is_shown(f, node))
        node = f->nodes->nodes[node].next_sibling;
    return node;
}

/* What is too small to be shown, as one. */
static void put_small(const struct flame *f, uint32_t parent, bool is_first)
{
    uint64_t total = 0, count = 0;
    for (uint32_t node = f->nodes->nodes[parent].first_child; node != CALL_NODE_NONE;
         node = f->nodes->nodes[node].next_sibling) {
        if (is_shown(f, node))
            continue;
        total += f->nodes->nodes[node].total_ns;
        count += f->nodes->nodes[node].count;
    }
    if (total)
        bytes_append_format(
            f->out, "%s{\"name\":null,\"other\":true,\"total\":%" PRIu64 ",\"self\":0,\"count\":%" PRIu64 "}",
            is_first ? "" : ",", total, count);
}

static void put_tree(const struct flame *f, uint32_t root)
{
    uint32_t node = root;
    unsigned depth = 0;
    put_head(f, &f->nodes->nodes[root]);
    while (f->out->length < QUERY_ANSWER_MAX) {
        uint32_t child = depth < DEEPEST ? next_shown(f, f->nodes->nodes[node].first_child) : CALL_NODE_NONE;
        if (child != CALL_NODE_NONE) {
            bytes_append_text(f->out, ",\"children\":[");
            put_head(f, &f->nodes->nodes[child]);
            node = child;
            depth++;
            continue;
        }
        if (depth < DEEPEST && f->nodes->nodes[node].first_child != CALL_NODE_NONE) {
            bytes_append_text(f->out, ",\"children\":[");
            put_small(f, node, true);
            bytes_append_text(f->out, "]");
        } else {
            bytes_append_text(f->out, ",\"children\":[]");
        }
        bytes_append_text(f->out, "}");
        while (node != root) {
            uint32_t next = next_shown(f, f->nodes->nodes[node].next_sibling);
            if (next != CALL_NODE_NONE) {
                bytes_append_text(f->out, ",");
                put_head(f, &f->nodes->nodes[next]);
                node = next;
                break;
            }
            node = f->nodes->nodes[node].parent;
            depth--;
            put_small(f, node, false);
            bytes_append_text(f->out, "]}");
        }
        if (node == root)
            break;
    }
    bytes_append_text(f->out, "\n");
}

static int answer(struct serve_trace *st, struct call_tree *tree, unsigned direction, double least_share,
                  struct bytes *out, struct error *err)
{
    struct call_nodes up = {0};
    struct flame f = {.st = st, .nodes = &tree->nodes, .groups = &tree->groups, .out = out};
    uint32_t root = tree->root_count ? tree->roots[0].node : CALL_NODE_NONE;
    int status = 0;
    if (root == CALL_NODE_NONE) {
        bytes_append_text(out, "{\"name\":null,\"total\":0,\"self\":0,\"count\":0,\"children\":[]}\n");
        return 0;
    }
    f.least = (uint64_t)(least_share * (double)tree->nodes.nodes[root].total_ns);
    if (direction == DIRECTION_UP) {
        status = turn_over(&up, tree, root, f.least, err);
        f.nodes = &up;
        root = 0;
    }
    if (!status)
        put_tree(&f, root);
    call_nodes_free(&up);
    if (!status && out->length >= QUERY_ANSWER_MAX)
        status = error_set(err, QUERY_REFUSED, "min: the flame graph is too large, give a larger share");
    return status ? status : out->failed ? error_no_memory(err, "the flame graph") : 0;
}

/* --- the tree, kept until another window is asked for --- */

struct serve_flame {
    struct call_tree tree;
    uint64_t since_ns, until_ns;
};

void serve_flame_free(struct serve_flame *kept)
{
    if (kept)
        call_tree_free(&kept->tree);
    free(kept);
}

static int keep_tree(struct serve_trace *st, const struct query_window *window, struct error *err)
{
    struct trace_filter filter = {0};
    if (st->flame && st->flame->since_ns == window->since_ns && st->flame->until_ns == window->until_ns)
        return 0;
    serve_flame_free(st->flame);
    struct serve_flame *flame = st->flame = calloc(1, sizeof *flame);
    if (!flame)
        return error_no_memory(err, "the flame graph");
    int status = query_filter(st, window, &filter, err);
    if (!status)
        status = call_tree_make(&flame->tree, st->trace, &filter, CALL_TREE_MERGED, err);
    trace_filter_free(&filter);
    flame->since_ns = window->since_ns;
    flame->until_ns = window->until_ns;
    if (status) {
        serve_flame_free(flame);
        st->flame = NULL;
    }
    return status;
}

int query_flame(struct serve_trace *st, const struct query *q, struct bytes *out, struct error *err)
{
    struct query_window window;
    double least_share = 0.0005;
    unsigned direction = DIRECTION_DOWN;
    int status = query_window(q, st, &window, err);
    if (!status)
        status = query_choice(q, "direction", direction_words, &direction, err);
    if (!status)
        status = query_real(q, "min", 0, 1, &least_share, err);
    if (!status)
        status = keep_tree(st, &window, err);
    return status ? status : answer(st, &st->flame->tree, direction, least_share, out, err);
}
