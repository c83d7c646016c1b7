/* SPDX-License-Identifier: Apache-2.0 */
/* Source text: only of files that names of the trace are in, and only as it was when the trace was recorded. */
#include <errno.h>
#include <string.h>

#include "analyze/clockquality.h"
#include "serve/query/query.h"
#include "text/source_text.h"

#define LINES_SHOWN 24u
#define LINES_MOST 400u
#define BEFORE_SHARE 3u /* a third of the lines stand before the one that was asked for */

/* --- lines --- */

static int load(struct source_text *source, const struct serve_trace *st, const char *file, struct error *err)
{
    uint64_t not_after = clock_quality_realtime(st->trace, st->end_ns);
    return source_text_load(source, file, not_after, err);
}

static void put_lines(struct json *j, const struct source_text *source, const char *file, uint32_t line,
                      uint32_t count)
{
    uint32_t before = count / BEFORE_SHARE, first = line > before ? line - before : 1;
    json_object(j, JSON_INLINE);
    json_member_text(j, "file", file);
    json_member_unsigned(j, "first_line", first);
    json_member_unsigned(j, "line", line);
    json_key(j, "lines");
    json_array(j, JSON_INLINE);
    for (uint32_t i = 0; i < count && source_text_line(source, first + i); i++)
        json_text(j, source_text_line(source, first + i));
    json_end(j);
    json_end(j);
}

void query_put_source(struct json *j, const struct serve_trace *st, const struct trace_name *name)
{
    struct source_text source = {0};
    json_key(j, "source");
    if (name->file[0] && name->line && load(&source, st, name->file, NULL) == 0 &&
        source.state == SOURCE_READ)
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

static const char *state_text(enum source_state state)
{
    return state == SOURCE_READ      ? "read"
           : state == SOURCE_CHANGED ? "changed since the recording"
                                     : "not readable";
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
        json_object(&j, JSON_LINES);
        json_member_text(&j, "file", file);
        json_member_text(&j, "state", state_text(source.state));
        json_member_unsigned(&j, "line_count", source.line_count);
        json_key(&j, "source");
        if (source.state == SOURCE_READ)
            put_lines(&j, &source, file, (uint32_t)line, (uint32_t)count);
        else
            json_null(&j);
        json_end(&j);
        status = query_json_end(&j, out, err);
    }
    source_text_free(&source);
    return status;
}
