/* SPDX-License-Identifier: Apache-2.0 */
/* Call trees against one that is built from the program itself, which knows its parents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/zones/tree.h"
#include "zone_program.h"

/* --- the tree by hand: nodes in an array, children found by search --- */
struct hand_node {
    size_t parent;
    uint32_t name;
    uint64_t count, total, child, open;
};

struct hand_tree {
    struct hand_node *nodes;
    size_t count;
};

static size_t hand_find(struct hand_tree *tree, size_t parent, uint32_t name)
{
    for (size_t i = 0; i < tree->count; i++) {
        if (tree->nodes[i].parent == parent && tree->nodes[i].name == name)
            return i;
    }
    tree->nodes[tree->count] = (struct hand_node){.parent = parent, .name = name};
    return tree->count++;
}

/* thread UINT32_MAX: all of them; zones count with their part in [since, until]. */
static void hand_make(struct hand_tree *tree, const struct zone_program *p, uint32_t thread, uint64_t since,
                      uint64_t until)
{
    size_t *node_of = malloc((p->count + 1) * sizeof *node_of);
    *tree = (struct hand_tree){.nodes = calloc(p->count + 1, sizeof(struct hand_node))};
    assert_non_null(node_of);
    assert_non_null(tree->nodes);
    for (size_t i = 0; i < p->count; i++) {
        const struct made_zone *zone = &p->zones[i];
        uint64_t part = made_part(p, zone, since, until);
        node_of[i] = SIZE_MAX;
        if ((thread != UINT32_MAX && zone->thread != thread) || !made_is_in(p, zone, since, until))
            continue;
        size_t parent = zone->parent == SIZE_MAX ? SIZE_MAX : node_of[zone->parent];
        size_t node = hand_find(tree, parent, zone->name);
        node_of[i] = node;
        tree->nodes[node].count += zone->end != 0;
        tree->nodes[node].open += zone->end == 0;
        tree->nodes[node].total += part;
        if (parent != SIZE_MAX)
            tree->nodes[parent].child += part;
    }
    free(node_of);
}

/* Both trees have the same children below these nodes, and so on down. */
static void assert_same(const struct call_tree *tree, uint32_t node, const struct trace *trace,
                        const struct zone_program *p, struct hand_tree *hand, size_t hand_node)
{
    size_t children = 0, hand_children = 0;
    uint64_t before = UINT64_MAX;
    for (size_t i = 0; i < hand->count; i++)
        hand_children += hand->nodes[i].parent == hand_node;
    for (uint32_t child = tree->nodes.nodes[node].first_child; child != CALL_NODE_NONE;
         child = tree->nodes.nodes[child].next_sibling) {
        const struct call_node *n = &tree->nodes.nodes[child];
        const char *name = call_tree_name(tree, trace, n->group);
        size_t match = SIZE_MAX;
        for (size_t i = 0; i < hand->count && match == SIZE_MAX; i++) {
            if (hand->nodes[i].parent == hand_node &&
                strcmp(trace_get_name(trace, p->names[hand->nodes[i].name])->name, name) == 0)
                match = i;
        }
        assert_true(match != SIZE_MAX);
        assert_int_equal(n->parent, node);
        assert_int_equal(n->count, hand->nodes[match].count);
        assert_int_equal(n->open_count, hand->nodes[match].open);
        assert_int_equal(n->total_ns, hand->nodes[match].total);
        assert_int_equal(n->child_ns, hand->nodes[match].child);
        assert_true(n->total_ns <= before);
        before = n->total_ns;
        assert_same(tree, child, trace, p, hand, match);
        children++;
    }
    assert_int_equal(children, hand_children);
}

static void check(const struct zone_program *p, const struct trace_filter_options *options,
                  enum call_tree_by by)
{
    struct trace *trace = NULL;
    struct trace_filter filter;
    struct call_tree tree;
    struct error err = {0};
    assert_int_equal(trace_open(&trace, p->path, 0, &err), 0);
    assert_int_equal(trace_filter_resolve(&filter, trace, options, &err), 0);
    assert_int_equal(call_tree_make(&tree, trace, &filter, by, &err), 0);
    if (by == CALL_TREE_BY_THREAD)
        assert_int_equal(tree.root_count, p->thread_count);
    if (by == CALL_TREE_MERGED)
        assert_int_equal(tree.root_count, 1);
    for (size_t r = 0; r < tree.root_count && by != CALL_TREE_BY_PROCESS; r++) {
        struct hand_tree hand;
        uint32_t thread = by == CALL_TREE_MERGED
                              ? UINT32_MAX
                              : (uint32_t)(trace_get_track(trace, tree.roots[r].track)->number - 200);
        hand_make(&hand, p, thread, filter.since_ns, filter.until_ns);
        assert_same(&tree, tree.roots[r].node, trace, p, &hand, SIZE_MAX);
        free(hand.nodes);
    }
    call_tree_free(&tree);
    trace_filter_free(&filter);
    trace_close(trace);
}

static void test_against_hand(void **state)
{
    static const struct {
        unsigned threads, names, depth;
        uint64_t longest;
        bool open;
        size_t zones;
    } cases[] = {
        {1, 3, 3, 100, false, 10},
        {3, 3, 4, 1000, false, 500},
        {2, 4, 5, 1 << 20, true, 30000},
        {1, 2, 10, 1 << 12, true, 40000},
        {2, 5, 3, (uint64_t)1 << 38, true, 20000},
        {4, 1, 12, 50, true, 3000},
    };
    const struct trace_filter_options all = {0};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct zone_program p = {.seed = 100 + i,
                                 .thread_count = cases[i].threads,
                                 .name_count = cases[i].names,
                                 .max_depth = cases[i].depth,
                                 .longest_ns = cases[i].longest,
                                 .leaves_open = cases[i].open};
        assert_true(made_program(&p, cases[i].zones));
        check(&p, &all, CALL_TREE_BY_THREAD);
        check(&p, &all, CALL_TREE_MERGED);
        check(&p, &all, CALL_TREE_BY_PROCESS);
        made_free(&p);
    }
}

static void test_window(void **state)
{
    struct zone_program p = {.seed = 9,
                             .thread_count = 2,
                             .name_count = 3,
                             .max_depth = 5,
                             .longest_ns = 1 << 14,
                             .leaves_open = true};
    (void)state;
    assert_true(made_program(&p, 40000));
    for (unsigned i = 0; i < 5; i++) {
        struct trace_filter_options window = {.since = {TRACE_TIME_PERCENT, 0, 20.0 * i},
                                              .until = {TRACE_TIME_PERCENT, 0, 20.0 * i + 3}};
        check(&p, &window, CALL_TREE_MERGED);
    }
    made_free(&p);
}

/* Deeper than any recursion on a stack would like. */
static void test_very_deep(void **state)
{
    enum { DEPTH = 60000, LAPS = 3 };
    struct zone_program p = {.seed = 1, .thread_count = 1, .name_count = 1, .max_depth = 1, .longest_ns = 1};
    struct error err = {0};
    struct trace *trace = NULL;
    struct trace_filter filter;
    struct trace_filter_options all = {0};
    struct call_tree tree;
    (void)state;
    assert_true(made_program(&p, 1)); /* for the path */
    assert_int_equal(
        trace_writer_open(&p.writer, p.path, &(struct trace_writer_options){.command = ""}, &err), 0);
    uint32_t name = trace_writer_name(p.writer, "fib", "", "", 0, 0);
    uint32_t process = trace_writer_process(
        p.writer, &(struct trace_process){.id = TRACE_NONE, .parent = TRACE_NONE, .command = "", .host = ""});
    uint32_t track = trace_writer_track(
        p.writer,
        &(struct trace_track){.id = TRACE_NONE, .process = process, .parent = TRACE_NONE, .name = ""});
    struct zone_sink *sink = trace_writer_sink(p.writer, track);
    for (uint64_t lap = 0; lap < LAPS; lap++) {
        uint64_t base = 1000 + lap * 10 * DEPTH;
        for (uint32_t depth = DEPTH; depth-- > 0;)
            zone_sink_add(sink, depth, base + depth, base + 4 * DEPTH - depth, 0, name);
    }
    assert_int_equal(trace_writer_finish(p.writer, &err), 0);
    assert_int_equal(trace_open(&trace, p.path, 0, &err), 0);
    assert_int_equal(trace_filter_resolve(&filter, trace, &all, &err), 0);
    assert_int_equal(call_tree_make(&tree, trace, &filter, CALL_TREE_MERGED, &err), 0);
    uint32_t node = tree.nodes.nodes[tree.roots[0].node].first_child;
    for (uint32_t depth = 0; depth < DEPTH; depth++) {
        assert_true(node != CALL_NODE_NONE);
        assert_int_equal(tree.nodes.nodes[node].count, LAPS);
        assert_int_equal(tree.nodes.nodes[node].total_ns, LAPS * (4 * DEPTH - 2 * depth));
        assert_int_equal(tree.nodes.nodes[node].next_sibling, CALL_NODE_NONE);
        node = tree.nodes.nodes[node].first_child;
    }
    assert_int_equal(node, CALL_NODE_NONE);
    call_tree_free(&tree);
    trace_filter_free(&filter);
    trace_close(trace);
    made_free(&p);
}

/* Zones whose parents are not in the trace are hung below a stand-in and counted nowhere else. */
static void test_missing_parents(void **state)
{
    struct zone_program p = {.seed = 1, .thread_count = 1, .name_count = 1, .max_depth = 1, .longest_ns = 1};
    struct error err = {0};
    struct trace *trace = NULL;
    struct trace_filter filter;
    struct trace_filter_options all = {0};
    struct call_tree tree;
    (void)state;
    assert_true(made_program(&p, 1));
    assert_int_equal(
        trace_writer_open(&p.writer, p.path, &(struct trace_writer_options){.command = ""}, &err), 0);
    uint32_t outer = trace_writer_name(p.writer, "outer", "", "", 0, 0);
    uint32_t inner = trace_writer_name(p.writer, "inner", "", "", 0, 0);
    uint32_t process = trace_writer_process(
        p.writer, &(struct trace_process){.id = TRACE_NONE, .parent = TRACE_NONE, .command = "", .host = ""});
    uint32_t track = trace_writer_track(
        p.writer,
        &(struct trace_track){.id = TRACE_NONE, .process = process, .parent = TRACE_NONE, .name = ""});
    struct zone_sink *sink = trace_writer_sink(p.writer, track);
    zone_sink_add(sink, 1, 100, 110, 0, inner); /* nothing around it */
    zone_sink_add(sink, 1, 210, 220, 0, inner);
    zone_sink_add(sink, 0, 200, 300, 10, outer);
    zone_sink_add(sink, 1, 400, 430, 0, inner); /* again nothing, at the end */
    assert_int_equal(trace_writer_finish(p.writer, &err), 0);
    assert_int_equal(trace_open(&trace, p.path, 0, &err), 0);
    assert_int_equal(trace_filter_resolve(&filter, trace, &all, &err), 0);
    assert_int_equal(call_tree_make(&tree, trace, &filter, CALL_TREE_BY_THREAD, &err), 0);
    uint32_t root = tree.roots[0].node;
    const struct call_node *nodes = tree.nodes.nodes;
    const struct call_node *first = &nodes[nodes[root].first_child], *second = &nodes[first->next_sibling];
    assert_string_equal(call_tree_name(&tree, trace, first->group), "outer");
    assert_int_equal(nodes[first->first_child].count, 1);
    assert_int_equal(nodes[first->first_child].total_ns, 10);
    assert_string_equal(call_tree_name(&tree, trace, second->group), "(not recorded)");
    assert_int_equal(second->count, 0);
    assert_int_equal(second->total_ns, 40);
    assert_int_equal(nodes[second->first_child].count, 2);
    assert_int_equal(second->next_sibling, CALL_NODE_NONE);
    call_tree_free(&tree);
    trace_filter_free(&filter);
    trace_close(trace);
    made_free(&p);
}

/* --name keeps what matches, what is above it and what is below. */
static void test_keep(void **state)
{
    struct zone_program p = {
        .seed = 12, .thread_count = 1, .name_count = 4, .max_depth = 5, .longest_ns = 100};
    struct trace *trace = NULL;
    struct trace_filter filter;
    struct trace_filter_options some = {0};
    struct call_tree tree;
    struct error err = {0};
    unsigned depth = 0, kept = 0, left_out = 0;
    (void)state;
    text_list_add(&some.names, "matm*");
    assert_true(made_program(&p, 300));
    assert_int_equal(trace_open(&trace, p.path, 0, &err), 0);
    assert_int_equal(trace_filter_resolve(&filter, trace, &some, &err), 0);
    assert_int_equal(call_tree_make(&tree, trace, &filter, CALL_TREE_MERGED, &err), 0);
    assert_int_equal(call_tree_keep(&tree, trace, &filter, &err), 0);
    uint32_t root = tree.roots[0].node;
    const struct call_node *nodes = tree.nodes.nodes;
    for (uint32_t id = call_node_next(&tree.nodes, root, root, &depth); id != CALL_NODE_NONE;
         id = call_node_next(&tree.nodes, root, id, &depth)) {
        bool is_wanted = false;
        unsigned below = 0;
        for (uint32_t at = id; at != root; at = nodes[at].parent)
            is_wanted |= strcmp(call_tree_name(&tree, trace, nodes[at].group), "matmul") == 0;
        for (uint32_t at = id; at != CALL_NODE_NONE && !is_wanted;
             at = call_node_next(&tree.nodes, id, at, &below))
            is_wanted |= strcmp(call_tree_name(&tree, trace, nodes[at].group), "matmul") == 0;
        assert_int_equal(nodes[id].is_kept, is_wanted);
        kept += is_wanted;
        left_out += !is_wanted;
    }
    assert_true(kept > 0 && left_out > 0);
    call_tree_free(&tree);
    trace_filter_free(&filter);
    trace_close(trace);
    made_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_hand), cmocka_unit_test(test_window),
        cmocka_unit_test(test_very_deep),    cmocka_unit_test(test_missing_parents),
        cmocka_unit_test(test_keep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
