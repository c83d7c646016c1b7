/* SPDX-License-Identifier: Apache-2.0 */
/* opscope tree: the call tree. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/zones/tree.h"
#include "analyze/labels.h"
#include "analyze/zones/waiting.h"
#include "cli/view.h"
#include "present/export/device_tree.h"
#include "present/format.h"

#define TERMINAL_MIN_PERCENT 0.5
#define BY_DEVICE_TIME 2 /* of --by */

struct tree_options {
    struct trace_filter_options filter;
    struct output_options output;
    unsigned by;
    bool merge;
    uint64_t max_depth;
    double min_percent; /* below 0: not given */
    struct row_options rows;
};

enum {
    COLUMN_PID,
    COLUMN_PROGRAM,
    COLUMN_THREAD,
    COLUMN_NODE,
    COLUMN_PARENT,
    COLUMN_DEPTH,
    COLUMN_TOTAL,
    COLUMN_SHARE,
    COLUMN_SELF,
    COLUMN_WAITING,
    COLUMN_COUNT,
    COLUMN_MEAN,
    COLUMN_OPEN,
    COLUMN_NAME,
    COLUMN_LOCATION,
    COLUMN_FILE,
    COLUMN_LINE,
    COLUMNS
};

static const struct table_column columns[COLUMNS] = {
    [COLUMN_PID] = {.key = "pid", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [COLUMN_PROGRAM] = {.key = "program", .shown = TABLE_DATA_ONLY},
    [COLUMN_THREAD] = {.key = "thread", .shown = TABLE_DATA_ONLY},
    [COLUMN_NODE] = {.key = "node", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [COLUMN_PARENT] = {.key = "parent", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [COLUMN_DEPTH] = {.key = "depth", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [COLUMN_TOTAL] = {.key = "total", .title = "total", .type = TABLE_TIME},
    [COLUMN_SHARE] = {.key = "share", .title = "share", .type = TABLE_PERCENT, .decimals = 1},
    [COLUMN_SELF] = {.key = "self", .title = "self", .type = TABLE_TIME, .drop = 1},
    [COLUMN_WAITING] = {.key = "waiting", .type = TABLE_TIME, .shown = TABLE_DATA_ONLY},
    [COLUMN_COUNT] = {.key = "count", .title = "count", .type = TABLE_INTEGER, .drop = 2},
    [COLUMN_MEAN] = {.key = "mean", .title = "mean", .type = TABLE_TIME, .drop = 3},
    [COLUMN_OPEN] = {.key = "open", .type = TABLE_INTEGER, .shown = TABLE_DATA_ONLY},
    [COLUMN_NAME] = {.key = "name", .title = "zone", .shrink = 30},
    [COLUMN_LOCATION] =
        {.key = "location", .title = "location", .shown = TABLE_TERMINAL_ONLY, .shrink = 12, .drop = 4},
    [COLUMN_FILE] = {.key = "file", .shown = TABLE_DATA_ONLY},
    [COLUMN_LINE] = {.key = "line", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
};

struct shown_tree {
    struct view *view;
    const struct call_tree *tree;
    struct table table;
    const struct tree_options *options;
    double min_percent;
    bool *is_chosen; /* by node: there is room for it; NULL = for all */
    size_t hidden;   /* nodes below min_percent */
    size_t deeper;   /* nodes below max_depth */
    size_t left_out; /* nodes for which there is no room */
};

static void add_root(struct shown_tree *s, const struct call_tree_root *root)
{
    struct table *table = &s->table;
    const struct call_node *node = &s->tree->nodes.nodes[root->node];
    const struct trace_process *process =
        root->process == TRACE_NONE ? NULL : trace_get_process(s->view->trace, root->process);
    char program[64], label[160];
    if (s->view->output.format !=
        OUTPUT_TERMINAL) /* a heading for people; the rows below say it themselves */
        return;
    table_add_row(table);
    label_program(process, program, sizeof program);
    for (size_t c = COLUMN_TOTAL; c < COLUMN_NAME; c++) {
        table_set_text(table, c, "");
        table_set_style(table, c, TABLE_BOLD);
    }
    table_set_unsigned(table, COLUMN_TOTAL, node->total_ns);
    if (!process)
        table_set_text(table, COLUMN_NAME, "all processes and threads");
    else if (root->track == TRACE_NONE)
        table_set_format(table, COLUMN_NAME, "%" PRId64 " %s", process->pid, program);
    else
        table_set_format(table, COLUMN_NAME, "%" PRId64 " %s, %s", process->pid, program,
                         view_track_name(s->view, root->track, label, sizeof label));
    table_set_style(table, COLUMN_NAME, TABLE_BOLD);
    table_set_text(table, COLUMN_LOCATION, "");
}

static void add_node(struct shown_tree *s, const struct call_tree_root *root, uint32_t id, unsigned depth,
                     double share)
{
    const struct call_node *node = &s->tree->nodes.nodes[id];
    const char *name = call_tree_name(s->tree, s->view->trace, node->group);
    struct table *table = &s->table;
    char program[64];
    table_add_row(table);
    if (root->process != TRACE_NONE) {
        const struct trace_process *process = trace_get_process(s->view->trace, root->process);
        table_set_integer(table, COLUMN_PID, process ? process->pid : -1);
        table_set_text(table, COLUMN_PROGRAM, label_program(process, program, sizeof program));
    }
    view_set_track(s->view, table, COLUMN_THREAD, root->track);
    table_set_unsigned(table, COLUMN_NODE, id);
    if (node->parent != root->node)
        table_set_unsigned(table, COLUMN_PARENT, node->parent);
    table_set_unsigned(table, COLUMN_DEPTH, depth - 1);
    table_set_unsigned(table, COLUMN_TOTAL, node->total_ns);
    table_set_real(table, COLUMN_SHARE, share);
    table_set_unsigned(table, COLUMN_SELF,
                       node->total_ns > node->child_ns ? node->total_ns - node->child_ns : 0);
    table_set_unsigned(table, COLUMN_WAITING, node->waiting_ns);
    table_set_unsigned(table, COLUMN_COUNT, node->count + node->open_count);
    uint64_t count = node->count + node->open_count;
    table_set_real(table, COLUMN_MEAN, count ? (double)node->total_ns / (double)count : NAN);
    table_set_unsigned(table, COLUMN_OPEN, node->open_count);
    if (node->open_count && s->view->output.format == OUTPUT_TERMINAL)
        table_set_format(table, COLUMN_NAME, "%s (%u not ended)", name, node->open_count);
    else
        table_set_text(table, COLUMN_NAME, name);
    table_set_indent(table, COLUMN_NAME, depth);
    if (node->group < s->tree->groups.group_count)
        view_set_place(s->view, table, COLUMN_LOCATION, COLUMN_FILE, COLUMN_LINE,
                       s->tree->groups.first_name[node->group], s->tree->groups.name_count[node->group]);
    table_set_style(table, COLUMN_LOCATION, TABLE_DIM);
    if (node->open_count)
        table_set_style(table, COLUMN_NAME, TABLE_WARN);
    else if (node->group == CALL_GROUP_NOT_RECORDED || waiting_is_all(node->waiting_ns, node->total_ns))
        table_set_style(table, COLUMN_NAME, TABLE_DIM);
}

/* The next node that is not below this one. */
static uint32_t skip_subtree(const struct call_nodes *nodes, uint32_t root, uint32_t node, unsigned *depth)
{
    while (node != root && nodes->nodes[node].next_sibling == CALL_NODE_NONE) {
        node = nodes->nodes[node].parent;
        --*depth;
    }
    return node == root ? CALL_NODE_NONE : nodes->nodes[node].next_sibling;
}

static size_t subtree_size(const struct call_nodes *nodes, uint32_t root)
{
    size_t count = 0;
    unsigned depth = 0;
    for (uint32_t node = root; node != CALL_NODE_NONE; node = call_node_next(nodes, root, node, &depth))
        count++;
    return count;
}

/* What becomes of a node: shown, or why not. */
enum fate { SHOWN, NOT_KEPT, TOO_DEEP, TOO_SMALL, NO_ROOM };

static enum fate fate_of(const struct shown_tree *s, uint32_t id, double share, unsigned depth)
{
    const struct call_node *node = &s->tree->nodes.nodes[id];
    bool is_asked = node->is_asked && !s->view->filter.wants_all_names;
    if (!node->is_kept)
        return NOT_KEPT;
    if (s->options->max_depth && depth > s->options->max_depth)
        return TOO_DEEP;
    if (share < s->min_percent && !is_asked) /* what was asked for by name is shown however small it is */
        return TOO_SMALL;
    return s->is_chosen && !s->is_chosen[id] ? NO_ROOM : SHOWN;
}

typedef void visit_fn(struct shown_tree *s, const struct call_tree_root *root, uint32_t id, unsigned depth,
                      double share, void *context);

/* Calls `visit` for the nodes of a tree that are shown, parents before children, and counts the others. */
static void each_node(struct shown_tree *s, const struct call_tree_root *root, visit_fn *visit, void *context)
{
    const struct call_nodes *nodes = &s->tree->nodes;
    uint64_t whole_ns = nodes->nodes[root->node].total_ns;
    unsigned depth = 0;
    uint32_t id = call_node_next(nodes, root->node, root->node, &depth);
    while (id != CALL_NODE_NONE) {
        double share = whole_ns ? 100.0 * (double)nodes->nodes[id].total_ns / (double)whole_ns : NAN;
        enum fate fate = fate_of(s, id, share, depth);
        if (fate == SHOWN) {
            visit(s, root, id, depth, share, context);
            id = call_node_next(nodes, root->node, id, &depth);
            continue;
        }
        size_t count = fate == NOT_KEPT ? 0 : subtree_size(nodes, id);
        s->deeper += fate == TOO_DEEP ? count : 0;
        s->hidden += fate == TOO_SMALL ? count : 0;
        s->left_out += fate == NO_ROOM ? count : 0;
        id = skip_subtree(nodes, root->node, id, &depth);
    }
}

static void add_visited(struct shown_tree *s, const struct call_tree_root *root, uint32_t id, unsigned depth,
                        double share, void *context)
{
    (void)context;
    add_node(s, root, id, depth, share);
}

/* --- which rows, where there is room for some --- */

struct candidate {
    uint64_t total_ns;
    uint32_t node, root; /* root: its index */
    bool waits;
};

struct candidates {
    struct candidate *items;
    size_t count, capacity;
    bool failed;
};

static void add_candidate(struct shown_tree *s, const struct call_tree_root *root, uint32_t id,
                          unsigned depth, double share, void *context)
{
    struct candidates *list = context;
    const struct call_node *node = &s->tree->nodes.nodes[id];
    (void)depth;
    (void)share;
    list->failed |= !array_reserve(&list->items, &list->capacity, list->count + 1, sizeof list->items[0]);
    if (!list->failed)
        list->items[list->count++] =
            (struct candidate){.total_ns = node->total_ns,
                               .node = id,
                               .root = (uint32_t)(root - s->tree->roots),
                               .waits = waiting_is_all(node->waiting_ns, node->total_ns)};
}

static int compare_candidates(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->waits != b->waits)
        return a->waits ? 1 : -1;
    if (a->total_ns != b->total_ns)
        return a->total_ns < b->total_ns ? 1 : -1;
    if (a->root != b->root)
        return a->root < b->root ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

/* How many rows a node needs with all that is above it, its tree's heading included; `marks` chooses them. */
static size_t rows_for(struct shown_tree *s, const struct candidate *candidate, bool marks)
{
    const struct call_node *nodes = s->tree->nodes.nodes;
    uint32_t root = s->tree->roots[candidate->root].node;
    size_t added = 0;
    for (uint32_t id = candidate->node;; id = nodes[id].parent) {
        added += !s->is_chosen[id];
        s->is_chosen[id] |= marks;
        if (id == root)
            return added;
    }
}

/* The longest nodes of all trees, those that work first, as far as there is room. False when there is no memory. */
static bool choose_nodes(struct shown_tree *s, size_t limit)
{
    struct candidates list = {0};
    size_t used = 0;
    for (size_t r = 0; r < s->tree->root_count; r++) {
        if (s->tree->nodes.nodes[s->tree->roots[r].node].is_kept)
            each_node(s, &s->tree->roots[r], add_candidate, &list);
    }
    s->hidden = s->deeper = 0; /* they are counted when the rows are added */
    if (list.count + s->tree->root_count > limit && !list.failed) {
        s->is_chosen = calloc(s->tree->nodes.count + 1, sizeof(bool));
        list.failed = !s->is_chosen;
        qsort(list.items, list.count, sizeof list.items[0], compare_candidates);
        for (size_t i = 0; i < list.count && s->is_chosen; i++) {
            size_t more = rows_for(s, &list.items[i], false);
            if (used + more > limit)
                break;
            used += more;
            rows_for(s, &list.items[i], true);
        }
    }
    free(list.items);
    return !list.failed;
}

static void add_notes(struct view *view, const struct shown_tree *s)
{
    struct number_text number;
    if (s->left_out)
        report_note(&view->report, TABLE_DIM, "%s more are not shown (--all shows all)",
                    format_count(&number, s->left_out + s->hidden));
    else if (s->hidden)
        report_note(&view->report, TABLE_DIM, "%s more below %g %%; --min-percent 0 shows them",
                    format_count(&number, s->hidden), s->min_percent);
    if (s->deeper)
        report_note(&view->report, TABLE_DIM, "%s more below depth %" PRIu64,
                    format_count(&number, s->deeper), s->options->max_depth);
}

static bool has_block(const struct trace *trace, uint32_t type)
{
    size_t position = 0;
    return trace_next_block(trace, &(struct trace_block_filter){.type = type}, &position) != NULL;
}

/* What the CPU computed has no runs of its own, though the report counts it as an op on a device. */
static void add_device_note(struct view *view, const struct call_tree *tree)
{
    if (tree->root_count)
        report_note(&view->report, TABLE_DIM, "times and counts are those of runs on devices");
    else if (has_block(view->trace, TRACE_BLOCK_OPS) && !has_block(view->trace, TRACE_BLOCK_RUNS))
        report_note(
            &view->report, TABLE_DIM,
            "what the CPU computed itself is not a run: opscope report --group-by location has it by the "
            "code that called it, opscope tree by calls");
}

static int show(struct view *view, const struct tree_options *options, const struct call_tree *tree,
                struct error *err)
{
    struct shown_tree s = {
        .view = view, .tree = tree, .options = options, .min_percent = options->min_percent};
    size_t limit = view_row_limit(view, &options->rows);
    bool leaves_small_out = view->output.format == OUTPUT_TERMINAL && !options->rows.all;
    if (s.min_percent < 0)
        s.min_percent = leaves_small_out ? TERMINAL_MIN_PERCENT : 0;
    if (limit != SIZE_MAX && !choose_nodes(&s, limit))
        return error_no_memory(err, "call tree");
    table_init(&s.table, "tree", columns, COLUMNS);
    for (size_t r = 0; r < tree->root_count; r++) {
        const struct call_tree_root *root = &tree->roots[r];
        if (!tree->nodes.nodes[root->node].is_kept)
            continue;
        if (!s.is_chosen || s.is_chosen[root->node])
            add_root(&s, root);
        each_node(&s, root, add_visited, NULL);
    }
    report_number(&view->report, "wall", NULL, TABLE_TIME, tree->wall_ns);
    bool is_device = options->by == BY_DEVICE_TIME;
    view_add_table(view, &s.table, is_device ? "runs on devices" : "zones");
    if (is_device)
        add_device_note(view, tree);
    add_notes(view, &s);
    if (!is_device)
        view_add_open_zones(view);
    view_add_state(view);
    table_free(&s.table);
    free(s.is_chosen);
    return 0;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct tree_options options = {.min_percent = -1};
    struct command_line line;
    struct view view;
    struct call_tree tree;
    struct error err = {0};
    int status = command_parse(command, argc, argv, &options, &line);
    if (status == COMMAND_CONTINUE)
        status = view_open(&view, command, line.values[0], &options.filter, &options.output, "tree");
    if (status != COMMAND_CONTINUE)
        return status;
    enum call_tree_by by = options.merge ? CALL_TREE_MERGED : (enum call_tree_by)options.by;
    int made = options.by == BY_DEVICE_TIME
                   ? device_tree_make(&tree, view.trace, &view.filter, options.merge, &err)
                   : call_tree_make(&tree, view.trace, &view.filter, by, &err);
    if (made != 0)
        return view_fail(&view, &err);
    if (call_tree_keep(&tree, view.trace, &view.filter, &err) != 0) {
        call_tree_free(&tree);
        return view_fail(&view, &err);
    }
    int result = show(&view, &options, &tree, &err);
    call_tree_free(&tree);
    return result == 0 ? view_close(&view, EXIT_OK) : view_fail(&view, &err);
}

/* In the order of enum call_tree_by, and BY_DEVICE_TIME. */
static const char *const by_choices[] = {"thread", "process", "device-time", NULL};

static const struct command_option tree_options[] = {
    {.name = "by",
     .type = OPTION_CHOICE,
     .argument = "WHAT",
     .offset = OPTION_FIELD(struct tree_options, by),
     .choices = by_choices,
     .help =
         "A tree for each thread (the default) or for each process; device-time: the time of what ran on devices, "
         "below the code of each thread that launched it."},
    {.name = "merge",
     .letter = 'm',
     .type = OPTION_FLAG,
     .offset = OPTION_FIELD(struct tree_options, merge),
     .help = "One tree for everything: all threads of all processes added up."},
    {.name = "max-depth",
     .letter = 'd',
     .type = OPTION_NUMBER,
     .argument = "N",
     .offset = OPTION_FIELD(struct tree_options, max_depth),
     .min = 1,
     .help = "Only N levels."},
    {.name = "min-percent",
     .letter = 'p',
     .type = OPTION_PERCENT,
     .argument = "P",
     .offset = OPTION_FIELD(struct tree_options, min_percent),
     .help = "Leave out what took less than this share of its tree. The default is 0.5 on a terminal and in "
             "text, 0 "
             "(everything) in CSV and JSON."},
    {0},
};

static const struct option_table tree_table = {"Options", tree_options};

static const struct command_example examples[] = {
    {"opscope tree t.opscope", "The call tree of each thread."},
    {"opscope tree t.opscope --merge --max-depth 3", "The upper levels of everything together."},
    {"opscope tree t.opscope --by device-time --merge", "Which code the time on the device comes from."},
    {"opscope tree t.opscope --name 'matmul*'", "Who calls matmul, and what it calls."},
    {0},
};

const struct command command_tree = {
    .name = "tree",
    .group = COMMAND_GROUP_LOOK,
    .summary = "Show the call tree of the zones with total and self times",
    .usage = (const char *const[]){"[options] FILE", NULL},
    .description =
        "Zones inside zones, added up by name and place in the source: the time with (total) and "
        "without (self) what is below, its share of the thread's recorded time, how often it ran. What took "
        "longest comes first; what only waits, for a lock or a queue, comes after the "
        "rest. --name keeps the zones that match, what is above and what is below them; --file, --module and "
        "--mine keep those that match and what is above them; zones that "
        "reach out of a window (--since, --until) count with the part inside it.\n\n"
        "Zones that had not ended are in the tree with the time they ran until their process or "
        "the recording ended, "
        "and are marked. (not recorded) stands for an outer zone that the trace does not hold.\n\n"
        "With --by device-time the times and counts are those of runs on devices: each kernel stands below the op, the "
        "zones and the calls that launched it, whatever the host did meanwhile. A run of which that is not known is "
        "below its own track. Of a run that reaches out of a window the part inside it counts, whenever it was "
        "launched; --thread names the thread that launched it, or its own track.\n\n"
        "In CSV and JSON each row has the number of its node and of its parent; the rows of one "
        "tree follow each "
        "other, parents before children.",
    .options = {{&tree_table, 0},
                {&row_option_table, OPTION_FIELD(struct tree_options, rows)},
                {&filter_option_table, OPTION_FIELD(struct tree_options, filter)},
                {&source_option_table, OPTION_FIELD(struct tree_options, filter)},
                {&output_option_table, OPTION_FIELD(struct tree_options, output)}},
    .arguments = view_arguments,
    .exits = view_exits,
    .examples = examples,
    .see_also = (const char *const[]){"zones", "export", NULL},
    .run = run,
};
