/* SPDX-License-Identifier: Apache-2.0 */
#include "present/lines_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_GAP 6u /* more lines than this without a hit are left out */

enum {
    COLUMN_FILE,
    COLUMN_FUNCTION,
    COLUMN_FUNCTION_LINE,
    COLUMN_LINE,
    COLUMN_HITS,
    COLUMN_TOTAL,
    COLUMN_SHARE,
    COLUMN_SELF,
    COLUMN_SOURCE,
    COLUMNS
};

static const struct table_column columns[COLUMNS] = {
    [COLUMN_FILE] = {.key = "file", .shown = TABLE_DATA_ONLY},
    [COLUMN_FUNCTION] = {.key = "function", .shown = TABLE_DATA_ONLY},
    [COLUMN_FUNCTION_LINE] = {.key = "function_line", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [COLUMN_LINE] = {.key = "line", .title = "line", .type = TABLE_IDENTIFIER},
    [COLUMN_HITS] = {.key = "hits", .title = "hits", .type = TABLE_INTEGER},
    [COLUMN_TOTAL] = {.key = "total", .title = "total", .type = TABLE_TIME},
    [COLUMN_SHARE] = {.key = "share", .title = "share", .type = TABLE_PERCENT, .decimals = 1, .drop = 1},
    [COLUMN_SELF] = {.key = "self", .title = "self", .type = TABLE_TIME, .drop = 2},
    [COLUMN_SOURCE] = {.key = "source", .title = "source", .shrink = 24},
};

const struct source_text *source_lists_get(struct source_lists *files, const char *path, struct error *err)
{
    for (size_t i = files->count; i > 0; i--)
        if (strcmp(files->items[i - 1].path, path) == 0)
            return &files->items[i - 1].text;
    if (!array_reserve(&files->items, &files->capacity, files->count + 1, sizeof files->items[0])) {
        error_set_errno(err, ENOMEM, "%s", path);
        return NULL;
    }
    struct source_list *file = &files->items[files->count];
    *file = (struct source_list){.path = path};
    if (source_lines_get(&file->text, files->trace, files->folders, path, err) != 0)
        return NULL;
    files->count++;
    return &file->text;
}

static void add_line(struct table *table, const struct trace_name *name, const struct line_function *function,
                     const struct line_row *row, const char *text)
{
    table_add_row(table);
    table_set_text(table, COLUMN_FILE, name->file);
    table_set_text(table, COLUMN_FUNCTION, name->function);
    table_set_unsigned(table, COLUMN_FUNCTION_LINE, function->first_line);
    table_set_unsigned(table, COLUMN_LINE, row->line);
    table_set_unsigned(table, COLUMN_HITS, row->hits);
    table_set_unsigned(table, COLUMN_TOTAL, row->total_ns);
    double share = function->total_ns ? 100.0 * (double)row->total_ns / (double)function->total_ns : 0;
    table_set_real(table, COLUMN_SHARE, share);
    table_set_unsigned(table, COLUMN_SELF, row->self_ns);
    table_set_text(table, COLUMN_SOURCE, text);
    if (share >= 20.0)
        table_set_style(table, COLUMN_SHARE, share >= 50.0 ? TABLE_BAD : TABLE_WARN);
}

/* On the terminal the cells of such a line are blank rather than "-". */
static void add_blank_row(struct table *table)
{
    table_add_row(table);
    for (size_t column = COLUMN_LINE; column < COLUMN_SOURCE; column++)
        table_set_text(table, column, "");
}

/* Lines that were not reached, between two that were: from `line` up to, not including, `end`. */
static void add_unreached(struct table *table, const struct source_text *text, uint32_t line, uint32_t end)
{
    if (end > line && end - line > SHOWN_GAP) {
        add_blank_row(table);
        table_set_text(table, COLUMN_SOURCE, "...");
        table_set_style(table, COLUMN_SOURCE, TABLE_DIM);
        return;
    }
    for (; line < end && source_text_line(text, line); line++) {
        add_blank_row(table);
        table_set_unsigned(table, COLUMN_LINE, line);
        table_set_text(table, COLUMN_SOURCE, source_text_line(text, line));
        table_set_style(table, COLUMN_LINE, TABLE_DIM);
        table_set_style(table, COLUMN_SOURCE, TABLE_DIM);
    }
}

void source_lists_free(struct source_lists *files)
{
    for (size_t i = 0; i < files->count; i++)
        source_text_free(&files->items[i].text);
    free(files->items);
    *files = (struct source_lists){0};
}

void lines_table_init(struct table *table)
{
    table_init(table, "lines", columns, COLUMNS);
}

void lines_table_add(struct table *table, const struct trace *trace, const struct line_stats *stats,
                     const struct line_function *function, const struct source_text *text, bool has_unreached)
{
    const struct trace_name *name = trace_get_name(trace, function->name);
    uint32_t next = function->first_line;
    for (size_t i = function->row; i < function->row + function->row_count; i++) {
        const struct line_row *row = &stats->rows[i];
        if (has_unreached && text->state == SOURCE_READ)
            add_unreached(table, text, next, row->line);
        add_line(table, name, function, row, source_text_line(text, row->line));
        next = row->line + 1;
    }
}
