/* SPDX-License-Identifier: Apache-2.0 */
/* opscope zones --source: the time of each line beside its text, function by function, dearest first. The terminal
 * shows a table a function; CSV and JSON one table for all. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/clockquality.h"
#include "analyze/linestats.h"
#include "analyze/sourcefiles.h"
#include "cli/zones_views.h"
#include "text/source_text.h"
#include "present/format.h"

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

struct files { /* each is read once */
    struct file {
        const char *path; /* the trace's */
        struct source_text text;
    } * items;
    size_t count, capacity;
    uint64_t recorded_ns; /* the end of the recording, since the epoch; 0 = not known */
};

static const struct source_text *file_text(struct files *files, const char *path, struct error *err)
{
    for (size_t i = files->count; i > 0; i--)
        if (strcmp(files->items[i - 1].path, path) == 0)
            return &files->items[i - 1].text;
    if (!array_reserve(&files->items, &files->capacity, files->count + 1, sizeof files->items[0])) {
        error_set_errno(err, ENOMEM, "%s", path);
        return NULL;
    }
    struct file *file = &files->items[files->count];
    *file = (struct file){.path = path};
    if (source_text_load(&file->text, path, files->recorded_ns, err) != 0)
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

static void show_function(struct view *view, const struct line_stats *stats,
                          const struct line_function *function, const struct source_text *text)
{
    const struct trace_name *name = trace_get_name(view->trace, function->name);
    struct table table;
    struct number_text calls, total;
    uint32_t next = function->first_line;
    table_init(&table, "lines", columns, COLUMNS);
    for (size_t i = function->row; i < function->row + function->row_count; i++) {
        const struct line_row *row = &stats->rows[i];
        if (text->state == SOURCE_READ)
            add_unreached(&table, text, next, row->line);
        add_line(&table, name, function, row, source_text_line(text, row->line));
        next = row->line + 1;
    }
    format_time(&total, function->total_ns);
    if (function->calls)
        report_heading(&view->report, "%s  %s:%u  %s call%s, %s", name->function, name->file,
                       function->first_line, format_count(&calls, function->calls),
                       function->calls == 1 ? "" : "s", total.text);
    else
        report_heading(&view->report, "%s  %s:%u  %s", name->function, name->file, function->first_line,
                       total.text);
    report_table(&view->report, "rows", &table);
    table_free(&table);
}

static void add_notes(struct view *view, const struct files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        const struct file *file = &files->items[i];
        if (file->path[0] == '<' || file->text.state == SOURCE_READ) /* "<string>" has no file */
            continue;
        report_note(&view->report, TABLE_WARN,
                    file->text.state == SOURCE_CHANGED
                        ? "%s was changed after the recording: its lines are shown without their text"
                        : "%s cannot be read here: its lines are shown without their text",
                    file->path);
    }
}

/* One table of the lines alone, for programs. */
static int show_data(struct view *view, const struct line_stats *stats, size_t function_count,
                     struct files *files, struct error *err)
{
    struct table table;
    int result = 0;
    table_init(&table, "lines", columns, COLUMNS);
    for (size_t f = 0; f < function_count && result == 0; f++) {
        const struct line_function *function = &stats->functions[f];
        const struct trace_name *name = trace_get_name(view->trace, function->name);
        const struct source_text *text = file_text(files, name->file, err);
        if (!text)
            result = -ENOMEM;
        for (size_t i = function->row; text && i < function->row + function->row_count; i++)
            add_line(&table, name, function, &stats->rows[i], source_text_line(text, stats->rows[i].line));
    }
    report_table(&view->report, "rows", &table);
    table_free(&table);
    return result;
}

/* Without --name, functions of libraries are taken out. Returns how many. */
static size_t leave_libraries_out(const struct view *view, struct line_stats *stats)
{
    size_t kept = 0, count = stats->function_count;
    if (!view->filter.wants_all_names)
        return 0;
    for (size_t i = 0; i < count; i++)
        if (!source_is_library(trace_get_name(view->trace, stats->functions[i].name)->file))
            stats->functions[kept++] = stats->functions[i];
    stats->function_count = kept;
    return count - kept;
}

static int show_all(struct view *view, const struct line_stats *stats, size_t function_count,
                    struct files *files, struct error *err)
{
    if (view->output.format != OUTPUT_TERMINAL)
        return show_data(view, stats, function_count, files, err);
    for (size_t f = 0; f < function_count; f++) {
        const struct line_function *function = &stats->functions[f];
        const struct source_text *text =
            file_text(files, trace_get_name(view->trace, function->name)->file, err);
        if (!text)
            return -ENOMEM;
        show_function(view, stats, function, text);
    }
    return 0;
}

int zones_show_source(struct view *view, const struct zones_choice *choice, struct error *err)
{
    struct line_stats stats;
    struct files files = {.recorded_ns =
                              clock_quality_realtime(view->trace, trace_get_info(view->trace)->end_ns)};
    struct number_text all, others;
    int result = line_stats_make(&stats, view->trace, &view->filter, err);
    if (result != 0)
        return result;
    size_t left_out = leave_libraries_out(view, &stats);
    size_t count = choice->top && choice->top < stats.function_count ? choice->top : stats.function_count;
    report_number(&view->report, "functions", NULL, TABLE_INTEGER, stats.function_count);
    result = show_all(view, &stats, count, &files, err);
    if (result == 0 && stats.function_count == 0 && left_out == 0)
        report_note(&view->report, TABLE_NORMAL,
                    view->filter.is_everything
                        ? "no lines in this trace: record them with opscope run --python-trace lines, or "
                          "python3 -m opscope -l"
                        : "no lines match the filters");
    if (result == 0 && count < stats.function_count)
        report_note(&view->report, TABLE_DIM, "%zu of %s functions", count,
                    format_count(&all, stats.function_count));
    if (left_out)
        report_note(&view->report, TABLE_DIM,
                    "%s function%s of libraries left out; --name '*' shows them, too",
                    format_count(&others, left_out), left_out == 1 ? "" : "s");
    add_notes(view, &files);
    view_add_open_zones(view);
    view_add_state(view);
    for (size_t i = 0; i < files.count; i++)
        source_text_free(&files.items[i].text);
    free(files.items);
    line_stats_free(&stats);
    return result;
}
