/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/zones/lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/zones/stats.h"

struct place { /* a row of the zone statistics: a line, or a function's own zone */
    const struct trace_name *name;
    const struct zone_stats_row *stats;
    bool is_line;
};

/* FUNCTION:LINE, as the Python extension writes it. */
static bool is_line_name(const struct trace_name *name)
{
    char line[16];
    const char *colon = strrchr(name->name, ':');
    size_t length = colon ? (size_t)(colon - name->name) : 0;
    snprintf(line, sizeof line, "%" PRIu32, name->line);
    return length && name->line && strcmp(colon + 1, line) == 0 &&
           strncmp(name->name, name->function, length) == 0;
}

static bool is_function_name(const struct trace_name *name)
{
    return name->line && name->function[0] && strcmp(name->name, name->function) == 0;
}

/* The filter with other names wanted: lines, and functions, whose calls are counted. */
static int want_lines(struct trace_filter *lines, const struct trace *trace,
                      const struct trace_filter *filter)
{
    *lines = *filter;
    lines->name_count = trace_name_count(trace);
    lines->name_wanted = calloc(lines->name_count + 1, sizeof(bool));
    if (!lines->name_wanted)
        return -ENOMEM;
    for (size_t i = 0; i < lines->name_count; i++) {
        const struct trace_name *name = trace_get_name(trace, (uint32_t)i);
        if (is_line_name(name))
            lines->name_wanted[i] =
                trace_filter_wants_name(filter, (uint32_t)i) ||
                (filter->place_wanted[i] && trace_filter_text_matches(filter, name->function));
        else
            lines->name_wanted[i] = is_function_name(name);
    }
    return 0;
}

/* By file and function; in one function its beginnings before its lines, by line. */
static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    int order = strcmp(a->name->file, b->name->file);
    if (order == 0)
        order = strcmp(a->name->function, b->name->function);
    if (order == 0 && a->name->line != b->name->line)
        order = a->name->line < b->name->line ? -1 : 1;
    return order ? order : (int)a->is_line - (int)b->is_line;
}

static bool is_same_function(const struct place *a, const struct place *b)
{
    return strcmp(a->name->file, b->name->file) == 0 && strcmp(a->name->function, b->name->function) == 0;
}

static int compare_functions(const void *left, const void *right)
{
    const struct line_function *a = left, *b = right;
    if (a->total_ns != b->total_ns)
        return a->total_ns < b->total_ns ? 1 : -1;
    return (a->row > b->row) - (a->row < b->row);
}

/* Places are in order: a beginning opens a function, and the lines after it are its own until the next. */
static void group(struct line_stats *stats, const struct place *places, size_t count)
{
    struct line_function *function = NULL;
    const struct place *begin = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct place *place = &places[i];
        bool is_other = i == 0 || !is_same_function(&places[i - 1], place);
        if (is_other)
            begin = NULL;
        if (is_other || !place->is_line)
            function = NULL;
        if (!place->is_line) {
            begin = place;
            continue;
        }
        if (!function) {
            function = &stats->functions[stats->function_count++];
            *function = (struct line_function){.name = place->stats->name,
                                               .first_line = begin ? begin->name->line : place->name->line,
                                               .row = stats->row_count,
                                               .calls = begin ? begin->stats->count : 0};
        }
        stats->rows[stats->row_count++] = (struct line_row){.name = place->stats->name,
                                                            .line = place->name->line,
                                                            .hits = place->stats->count,
                                                            .total_ns = place->stats->total_ns,
                                                            .self_ns = place->stats->self_ns};
        function->row_count++;
        function->total_ns += place->stats->total_ns;
    }
    if (stats->function_count > 1)
        qsort(stats->functions, stats->function_count, sizeof stats->functions[0], compare_functions);
}

static int arrange(struct line_stats *stats, const struct zone_stats *zones, const struct trace *trace)
{
    struct place *places = calloc(zones->row_count + 1, sizeof *places);
    stats->rows = calloc(zones->row_count + 1, sizeof stats->rows[0]);
    stats->functions = calloc(zones->row_count + 1, sizeof stats->functions[0]);
    if (!places || !stats->rows || !stats->functions) {
        free(places);
        return -ENOMEM;
    }
    for (size_t i = 0; i < zones->row_count; i++) {
        const struct trace_name *name = trace_get_name(trace, zones->rows[i].name);
        places[i] = (struct place){.name = name, .stats = &zones->rows[i], .is_line = is_line_name(name)};
    }
    qsort(places, zones->row_count, sizeof *places, compare_places);
    group(stats, places, zones->row_count);
    free(places);
    return 0;
}

int line_stats_make(struct line_stats *stats, struct trace *trace, const struct trace_filter *filter,
                    struct error *err)
{
    struct trace_filter lines;
    struct zone_stats zones;
    *stats = (struct line_stats){0};
    if (want_lines(&lines, trace, filter) != 0)
        return error_set_errno(err, ENOMEM, "lines");
    int result = zone_stats_make(&zones, trace, &lines, ZONE_STATS_BY_LOCATION, err);
    if (result == 0) {
        result = arrange(stats, &zones, trace);
        if (result != 0)
            error_set_errno(err, -result, "%zu lines", zones.row_count);
        zone_stats_free(&zones);
    }
    free(lines.name_wanted);
    if (result != 0)
        line_stats_free(stats);
    return result;
}

void line_stats_free(struct line_stats *stats)
{
    if (!stats)
        return;
    free(stats->rows);
    free(stats->functions);
    *stats = (struct line_stats){0};
}
