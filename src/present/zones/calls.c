/* SPDX-License-Identifier: Apache-2.0 */
/* Who calls a zone, and what it calls. */
#include <string.h>

#include "analyze/zones/neighbours.h"
#include "present/zones/zones.h"
#include "present/format.h"

enum {
    COLUMN_NAME,
    COLUMN_LOCATION,
    COLUMN_FILE,
    COLUMN_LINE,
    COLUMN_COUNT,
    COLUMN_TOTAL,
    COLUMN_SHARE,
    COLUMNS
};

static const struct table_column columns[COLUMNS] = {
    [COLUMN_NAME] = {.key = "name", .title = "zone", .shrink = 24},
    [COLUMN_LOCATION] = {.key = "location", .title = "location", .shown = TABLE_TERMINAL_ONLY, .shrink = 16},
    [COLUMN_FILE] = {.key = "file", .shown = TABLE_DATA_ONLY},
    [COLUMN_LINE] = {.key = "line", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [COLUMN_COUNT] = {.key = "count", .title = "count", .type = TABLE_INTEGER},
    [COLUMN_TOTAL] = {.key = "total", .title = "total", .type = TABLE_TIME},
    [COLUMN_SHARE] = {.key = "share", .title = "share", .type = TABLE_PERCENT, .decimals = 1},
};

static void add_row(struct view *view, struct table *table, const struct call_tree *tree,
                    const struct call_neighbours *found, const struct call_neighbour *row)
{
    const char *name = call_tree_name(tree, view->trace, row->group);
    table_add_row(table);
    if (row->group == CALL_GROUP_ITSELF)
        name = "(itself)";
    else if (row->group == CALL_GROUP_NONE)
        name = "(nothing: an outermost zone)";
    table_set_text(table, COLUMN_NAME, name);
    if (row->group < tree->groups.group_count)
        view_set_place(view, table, COLUMN_LOCATION, COLUMN_FILE, COLUMN_LINE,
                       tree->groups.first_name[row->group], tree->groups.name_count[row->group]);
    else
        table_set_style(table, COLUMN_NAME, TABLE_DIM);
    if (row->group != CALL_GROUP_ITSELF)
        table_set_unsigned(table, COLUMN_COUNT, row->count);
    table_set_unsigned(table, COLUMN_TOTAL, row->total_ns);
    if (found->total_ns)
        table_set_real(table, COLUMN_SHARE, 100.0 * (double)row->total_ns / (double)found->total_ns);
}

static void show(struct view *view, const struct zones_choice *choice, const struct call_tree *tree,
                 const struct call_neighbours *found, const char *pattern, bool are_callers)
{
    struct table table;
    struct number_text count, total, self;
    table_init(&table, "calls", columns, COLUMNS);
    size_t shown = choice->top < found->row_count ? (size_t)choice->top : found->row_count;
    for (size_t i = 0; i < shown; i++)
        add_row(view, &table, tree, found, &found->rows[i]);
    report_heading(&view->report, "%s %s: %s call%s, total %s, self %s",
                   are_callers ? "callers of" : "what is called by", pattern,
                   format_count(&count, found->count), found->count == 1 ? "" : "s",
                   format_time(&total, found->total_ns), format_time(&self, found->self_ns));
    report_text(&view->report, "pattern", NULL, pattern);
    report_text(&view->report, "direction", NULL, are_callers ? "callers" : "callees");
    report_number(&view->report, "count", NULL, TABLE_INTEGER, found->count);
    report_number(&view->report, "total", NULL, TABLE_TIME, found->total_ns);
    report_number(&view->report, "self", NULL, TABLE_TIME, found->self_ns);
    report_table(&view->report, "rows", &table);
    view_note_rows(view, shown, found->row_count);
    view_add_state(view);
    table_free(&table);
}

int zones_show_calls(struct view *view, const struct zones_choice *choice, const char *pattern,
                     bool are_callers, struct error *err)
{
    struct call_tree tree;
    struct call_neighbours found;
    int result = call_tree_make(&tree, view->trace, &view->filter, CALL_TREE_MERGED, err);
    if (result != 0)
        return result;
    result = call_neighbours_make(&found, &tree, view->trace, pattern,
                                  are_callers ? CALL_CALLERS : CALL_CALLEES, err);
    if (result == 0) {
        show(view, choice, &tree, &found, pattern, are_callers);
        call_neighbours_free(&found);
    }
    call_tree_free(&tree);
    return result;
}
