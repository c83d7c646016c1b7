/* SPDX-License-Identifier: Apache-2.0 */
/* Source lines: only of files that names of the trace are in, as the recording took them along, or from folders that
 * the user has named. No path of the trace is ever opened. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/source/lines.h"
#include "present/overview/overview.h"
#include "serve/query/query.h"

#define LINES_SHOWN 24u
#define LINES_MOST 400u
#define BEFORE_SHARE 3u /* a third of the lines stand before the one that was asked for */

/* --- lines --- */

static int load(struct source_text *source, const struct serve_trace *st, const char *file, struct error *err)
{
    if (st->has_no_source) {
        *source = (struct source_text){.state = SOURCE_MISSING};
        return 0;
    }
    return source_lines_get(source, st->trace, st->source_folders, file, err);
}

/* Of `count` lines around this one those that are there, without a gap. */
static void put_lines(struct json *j, const struct source_text *source, const char *file, uint32_t line,
                      uint32_t count)
{
    uint32_t before = count / BEFORE_SHARE, from = line > before ? line - before : 1, first = line;
    while (first > from && source_text_line(source, first - 1))
        first--;
    uint32_t end = from + count;
    json_object(j, JSON_INLINE);
    json_member_text(j, "file", file);
    json_member_unsigned(j, "first_line", first);
    json_member_unsigned(j, "line", line);
    json_key(j, "lines");
    json_array(j, JSON_INLINE);
    for (uint32_t i = first; i < end && source_text_line(source, i); i++)
        json_text(j, source_text_line(source, i));
    json_end(j);
    json_end(j);
}

void query_put_source(struct json *j, const struct serve_trace *st, const struct trace_name *name)
{
    struct source_text source = {0};
    json_key(j, "source");
    if (name->file[0] && name->line && load(&source, st, name->file, NULL) == 0 &&
        source_text_line(&source, name->line))
        put_lines(j, &source, name->file, name->line, LINES_SHOWN);
    else
        json_null(j);
    source_text_free(&source);
}

/* --- the question --- */

/* "b/c.py" is the end of "/a/b/c.py". */
static bool is_end_of(const char *file, const char *wanted)
{
    size_t length = strlen(file), end = strlen(wanted);
    return end && length > end && strcmp(file + length - end, wanted) == 0 && file[length - end - 1] == '/';
}

/* The file of the trace that is meant: its whole name, or an end of it that no other file has. */
static int find_file(const struct serve_trace *st, const char *wanted, const char **file, struct error *err)
{
    size_t count = trace_name_count(st->trace);
    *file = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const char *known = trace_get_name(st->trace, i)->file;
        if (strcmp(known, wanted) == 0) {
            *file = known;
            return 0;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        const char *known = trace_get_name(st->trace, i)->file;
        if (!is_end_of(known, wanted))
            continue;
        if (*file && strcmp(*file, known) != 0)
            return error_set(err, QUERY_REFUSED,
                             "file: '%.60s' is both %.150s and %.150s: give more of the path", wanted, *file,
                             known);
        *file = known;
    }
    return *file ? 0
                 : error_set(
                       err, ENOENT,
                       "file: no zone of the trace is in '%.200s'; only files that the trace names are shown",
                       wanted);
}

static const char *state_text(const struct source_text *source, uint32_t line)
{
    return source_text_line(source, line)    ? "read"
           : source->state == SOURCE_CHANGED ? "changed while it was recorded"
                                             : "not recorded";
}

static void put_answer(struct json *j, const struct serve_trace *st, const struct source_text *source,
                       const char *file, uint32_t line, uint32_t count)
{
    json_object(j, JSON_LINES);
    json_member_text(j, "file", file);
    bool is_there = source_text_line(source, line) != NULL;
    json_member_text(j, "state", state_text(source, line));
    if (!is_there)
        json_member_text(
            j, "advice",
            source_lines_advice(st->trace, source->state == SOURCE_READ ? SOURCE_MISSING : source->state));
    json_member_unsigned(j, "line_count", source->line_count);
    json_key(j, "source");
    if (is_there)
        put_lines(j, source, file, line, count);
    else
        json_null(j);
    json_end(j);
}

int query_source(struct serve_trace *st, const struct query *q, struct bytes *out, struct error *err)
{
    struct source_text source = {0};
    const char *wanted = query_text(q, "file"), *file = NULL;
    uint64_t line = 0, count = LINES_SHOWN;
    int status = query_unsigned(q, "line", UINT32_MAX / 2, &line, err);
    if (!status)
        status = query_unsigned(q, "lines", LINES_MOST, &count, err);
    if (!status && (!wanted || !*wanted || line == 0 || count == 0))
        status = error_set(err, QUERY_REFUSED, "file, line, lines: a file and a line from 1 on are needed");
    if (!status)
        status = find_file(st, wanted, &file, err);
    if (!status)
        status = load(&source, st, file, err);
    if (!status && source.state == SOURCE_READ && line > source.line_count)
        status = error_set(err, ENOENT, "line: %.200s has %zu lines", file, source.line_count);
    if (!status) {
        struct json j = query_json(out);
        put_answer(&j, st, &source, file, (uint32_t)line, (uint32_t)count);
        status = query_json_end(&j, out, err);
    }
    source_text_free(&source);
    return status;
}

/* --- of all places at once --- */

#define PLACES_MAX 400u
#define PLACE_LINES 12u /* that the page shows, and a few more */
#define PLACE_LINE_BYTES 1000u
#define PLACES_BYTES ((size_t)1 << 20)

struct source_place {
    const char *file; /* of a name of the trace */
    uint32_t line;
};

struct source_places {
    struct source_place items[PLACES_MAX];
    size_t count;
    bool is_all;
};

static void add_place(struct source_places *places, const char *file, uint32_t line)
{
    for (size_t i = 0; i < places->count; i++) {
        if (places->items[i].line == line && strcmp(places->items[i].file, file) == 0)
            return;
    }
    if (places->count < PLACES_MAX)
        places->items[places->count++] = (struct source_place){file, line};
    else
        places->is_all = false;
}

static int add_launches(struct source_places *places, struct serve_trace *st, struct error *err)
{
    const struct query nothing = {0};
    const struct overview *overview;
    int status = query_overview_asked(st, &nothing, &overview, err);
    if (status)
        return status;
    struct overview_launch *launches = malloc((overview->perf.count + 1) * sizeof *launches);
    if (!launches)
        return error_no_memory(err, "the places of ops");
    size_t count = overview_add_up_launches(overview, NULL, overview->perf.count, launches);
    for (size_t i = 0; i < count && places->is_all; i++) {
        const char *text = perf_text(&overview->perf,
                                     launches[i].own == OPS_NONE ? launches[i].location : launches[i].own),
                   *file = NULL;
        struct slice path;
        uint32_t line;
        char wanted[PATH_MAX];
        if (!overview_split_place(text, &path, &line) || path.length >= sizeof wanted)
            continue;
        memcpy(wanted, path.data, path.length);
        wanted[path.length] = '\0';
        if (find_file(st, wanted, &file, NULL) == 0)
            add_place(places, file, line);
    }
    free(launches);
    return 0;
}

static int add_zones(struct source_places *places, struct serve_trace *st, struct error *err)
{
    size_t count;
    const struct query_window whole = {.since_ns = st->start_ns, .until_ns = st->end_ns, .is_whole = true};
    int status = st->has_stats ? 0 : serve_trace_stats(st, &whole, err);
    const struct zone_stats_row **rows = status ? NULL : serve_trace_rows_by_self(st, &count);
    if (!status && !rows)
        return error_no_memory(err, "the places of zones");
    for (size_t i = 0; !status && i < count && places->is_all; i++) {
        const struct trace_name *name = trace_get_name(st->trace, rows[i]->name);
        if (name->file[0] && name->line)
            add_place(places, name->file, name->line);
    }
    free(rows);
    return status;
}

static int compare_files(const void *left, const void *right)
{
    const struct source_place *a = left, *b = right;
    int order = strcmp(a->file, b->file);
    return order ? order : (a->line > b->line) - (a->line < b->line);
}

/* Text, and not the single line of a file that a program wrote. */
static bool is_worth(const struct source_text *source, uint32_t line)
{
    uint32_t first = line > PLACE_LINES ? line - PLACE_LINES : 1;
    if (!source_text_line(source, line))
        return false;
    for (uint32_t i = first; i < line + PLACE_LINES; i++) {
        const char *text = source_text_line(source, i);
        if (text && strlen(text) > PLACE_LINE_BYTES)
            return false;
    }
    return true;
}

static int put_places(struct json *j, const struct serve_trace *st, struct source_places *places,
                      struct error *err)
{
    struct source_text source = {0};
    int status = 0;
    for (size_t i = 0; i < places->count && !status && places->is_all; i++) {
        const struct source_place *place = &places->items[i];
        if (!i || strcmp(place->file, place[-1].file) != 0) {
            source_text_free(&source);
            status = load(&source, st, place->file, err);
        }
        if (status || !is_worth(&source, place->line))
            continue;
        put_answer(j, st, &source, place->file, place->line, PLACE_LINES);
        places->is_all = j->buffer.length < PLACES_BYTES;
    }
    source_text_free(&source);
    return status;
}

int query_all_sources(struct serve_trace *st, bool *is_all, struct bytes *out, struct error *err)
{
    struct source_places places = {.is_all = true};
    int status = trace_get_info(st->trace)->ops ? add_launches(&places, st, err) : 0;
    if (!status)
        status = add_zones(&places, st, err);
    if (status)
        return status;
    *is_all = places.is_all;
    places.is_all = true;
    if (places.count)
        qsort(places.items, places.count, sizeof places.items[0], compare_files);
    struct json j = query_json(out);
    json_array(&j, JSON_LINES);
    status = put_places(&j, st, &places, err);
    json_end(&j);
    *is_all &= places.is_all;
    int ended = query_json_end(&j, out, err);
    return status ? status : ended;
}
