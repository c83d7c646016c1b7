/* SPDX-License-Identifier: Apache-2.0 */
/* The time of each line beside its text, function by function, most expensive first.
 * The terminal shows one table per function; CSV and JSON one table for all. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/zones/lines.h"
#include "present/zones/zones.h"
#include "present/format.h"
#include "present/lines_table.h"

static void show_function(struct view *view, const struct line_stats *stats,
                          const struct line_function *function, const struct source_text *text)
{
    const struct trace_name *name = trace_get_name(view->trace, function->name);
    struct table table;
    struct number_text calls, total;
    lines_table_init(&table);
    lines_table_add(&table, view->trace, stats, function, text, true);
    format_time(&total, function->total_ns);
    if (function->calls)
        report_heading(&view->report, "%s  %s:%u  %s, %s", name->function, name->file, function->first_line,
                       format_things(&calls, function->calls, "call"), total.text);
    else
        report_heading(&view->report, "%s  %s:%u  %s", name->function, name->file, function->first_line,
                       total.text);
    report_table(&view->report, "rows", &table);
    table_free(&table);
}

static void add_notes(struct view *view, const struct source_lists *files)
{
    for (size_t i = 0; i < files->count; i++) {
        const struct source_list *file = &files->items[i];
        if (file->path[0] == '<' || file->text.state == SOURCE_READ) /* "<string>" has no file */
            continue;
        report_note(
            &view->report, TABLE_WARN,
            file->text.state == SOURCE_CHANGED
                ? "%s was changed while it was recorded: its lines are shown without their text"
                : "%s was recorded without source lines: its lines are shown without their text; --source-dir "
                  "DIR reads them from a folder",
            file->path);
    }
}

/* One table of the lines alone, for programs. */
static int show_data(struct view *view, const struct line_stats *stats, size_t function_count,
                     struct source_lists *files, struct error *err)
{
    struct table table;
    int result = 0;
    lines_table_init(&table);
    for (size_t f = 0; f < function_count && result == 0; f++) {
        const struct line_function *function = &stats->functions[f];
        const struct source_text *text =
            source_lists_get(files, trace_get_name(view->trace, function->name)->file, err);
        if (text)
            lines_table_add(&table, view->trace, stats, function, text, false);
        else
            result = -ENOMEM;
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
        if (!trace_file_is_library(trace_get_name(view->trace, stats->functions[i].name)->file))
            stats->functions[kept++] = stats->functions[i];
    stats->function_count = kept;
    return count - kept;
}

static int show_all(struct view *view, const struct line_stats *stats, size_t function_count,
                    struct source_lists *files, struct error *err)
{
    if (view->output.format != OUTPUT_TERMINAL)
        return show_data(view, stats, function_count, files, err);
    for (size_t f = 0; f < function_count; f++) {
        const struct line_function *function = &stats->functions[f];
        const struct source_text *text =
            source_lists_get(files, trace_get_name(view->trace, function->name)->file, err);
        if (!text)
            return -ENOMEM;
        show_function(view, stats, function, text);
    }
    return 0;
}

int zones_show_source(struct view *view, const struct zones_choice *choice, struct error *err)
{
    struct line_stats stats;
    struct source_lists files = {.trace = view->trace, .folders = choice->source_folders};
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
        report_note(&view->report, TABLE_DIM, "%s of libraries left out; --name '*' shows them, too",
                    format_things(&others, left_out, "function"));
    add_notes(view, &files);
    view_add_open_zones(view);
    view_add_state(view);
    source_lists_free(&files);
    line_stats_free(&stats);
    return result;
}
