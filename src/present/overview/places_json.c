/* SPDX-License-Identifier: Apache-2.0 */
/* From which code ops were launched, as JSON (docs/http-api.md). */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "present/overview/overview.h"

bool overview_split_place(const char *text, struct slice *file, uint32_t *line)
{
    const char *colon = strrchr(text, ':');
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
    if (!digits || digits > 9 || colon[1 + digits] || colon == text)
        return false;
    *file = slice_from(text, (size_t)(colon - text));
    *line = (uint32_t)strtoul(colon + 1, NULL, 10);
    return *line > 0;
}

/* What zones that begin there are in; NULL: none does. */
static const char *function_at(const struct trace *trace, struct slice file, uint32_t line)
{
    size_t count = trace_name_count(trace);
    for (uint32_t i = 0; i < count; i++) {
        const struct trace_name *name = trace_get_name(trace, i);
        if (name->line == line && strlen(name->file) == file.length &&
            memcmp(name->file, file.data, file.length) == 0)
            return name->function[0] ? name->function : name->name;
    }
    return NULL;
}

static void write_place(const struct trace *trace, const char *location, struct json *json)
{
    struct slice file;
    uint32_t line;
    json_member_text(json, "text", location);
    if (!overview_split_place(location, &file, &line)) {
        json_member_text(json, "file", NULL);
        json_member_text(json, "line", NULL);
        json_member_text(json, "function", NULL);
        return;
    }
    json_key(json, "file");
    json_text_length(json, file.data, file.length);
    json_member_unsigned(json, "line", line);
    json_member_text(json, "function", function_at(trace, file, line));
}

void overview_write_launch(const struct trace *trace, const char *location, const char *own,
                           struct json *json)
{
    write_place(trace, own ? own : location, json);
    json_key(json, "library");
    if (!own) {
        json_null(json);
        return;
    }
    json_object(json, JSON_INLINE);
    write_place(trace, location, json);
    json_end(json);
}

static int compare_locations(const void *left, const void *right)
{
    const struct overview_launch *a = left, *b = right;
    if (a->own != b->own)
        return a->own < b->own ? -1 : 1;
    return (a->location > b->location) - (a->location < b->location);
}

static int compare_times(const void *left, const void *right)
{
    const struct overview_launch *a = left, *b = right;
    return a->ns != b->ns ? (a->ns < b->ns ? 1 : -1) : compare_locations(left, right);
}

size_t overview_add_up_launches(const struct overview *o, const uint32_t *rows, size_t count,
                                struct overview_launch *places)
{
    size_t known = 0, distinct = 0;
    for (size_t i = 0; i < count; i++) {
        const struct perf_row *row = perf_at(&o->perf, rows ? rows[i] : i);
        uint32_t location = perf_location(&o->perf, row);
        double us = perf_time_us(row);
        if (location != OPS_NONE)
            places[known++] = (struct overview_launch){location, perf_own_place(&o->perf, row), 1,
                                                       isfinite(us) ? us * 1000 : 0};
    }
    if (known)
        qsort(places, known, sizeof *places, compare_locations);
    for (size_t i = 0; i < known; i++) {
        if (distinct && compare_locations(&places[distinct - 1], &places[i]) == 0) {
            places[distinct - 1].count++;
            places[distinct - 1].ns += places[i].ns;
        } else {
            places[distinct++] = places[i];
        }
    }
    if (distinct)
        qsort(places, distinct, sizeof *places, compare_times);
    return distinct;
}

int overview_write_launches(const struct overview *o, const uint32_t *rows, size_t count, struct json *json,
                            struct error *err)
{
    struct overview_launch *places = malloc((count + 1) * sizeof *places);
    if (!places)
        return error_no_memory(err, "the places of an op");
    size_t distinct = overview_add_up_launches(o, rows, count, places);
    json_member_unsigned(json, "place_count", distinct);
    json_key(json, "places");
    json_array(json, JSON_LINES);
    for (size_t i = 0; i < distinct && i < OVERVIEW_LAUNCHES; i++) {
        json_object(json, JSON_INLINE);
        overview_write_launch(o->trace, perf_text(&o->perf, places[i].location),
                              places[i].own == OPS_NONE ? NULL : perf_text(&o->perf, places[i].own), json);
        json_member_unsigned(json, "count", places[i].count);
        json_member_real(json, "device_ns", round(places[i].ns));
        json_end(json);
    }
    json_end(json);
    free(places);
    return 0;
}
