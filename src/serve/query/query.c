/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/query/query.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "base/slice.h"

static const struct trace_filter_options everything = {0};

/* clang-format off */
const struct query_entry query_entries[] = {
    {.name = "trace", .answer = query_trace, .is_long = true, .is_soon = true},
    {.name = "names", .answer = query_names, .is_long = true, .is_soon = true},
    {.name = "rows", .answer = query_rows, .is_binary = true},
    {.name = "zone", .answer = query_zone},
    {.name = "run", .answer = query_run, .is_long = true},
    {.name = "launched", .answer = query_launched, .is_long = true},
    {.name = "points", .answer = query_points, .is_long = true},
    {.name = "counter", .answer = query_counter, .is_long = true},
    {.name = "memory", .answer = query_memory, .is_long = true},
    {.name = "allocations", .answer = query_allocations, .is_long = true},
    {.name = "zones", .answer = query_zones, .is_long = true},
    {.name = "find", .answer = query_find_zones, .is_long = true},
    {.name = "range", .answer = query_range, .is_long = true},
    {.name = "flame", .answer = query_flame, .is_long = true},
    {.name = "search", .answer = query_search, .is_long = true},
    {.name = "overview", .answer = query_overview, .is_long = true},
    {.name = "gaps", .answer = query_gaps, .is_long = true},
    {.name = "ops", .answer = query_ops, .is_long = true},
    {.name = "op", .answer = query_op, .is_long = true},
    {.name = "roofline", .answer = query_roofline, .is_long = true},
    {.name = "steps", .answer = query_steps, .is_long = true},
    {.name = "overhead", .answer = query_overhead, .is_long = true},
    {.name = "report", .answer = query_report, .is_long = true},
    {.name = "source", .answer = query_source, .is_long = true},
    {.name = "export", .answer = query_export, .is_binary = true, .is_long = true},
};
/* clang-format on */
const size_t query_entry_count = COUNT_OF(query_entries);

const struct query_entry query_two_entries[] = {
    {.name = "compare", .is_long = true, .answer_two = query_compare},
    {.name = "overlay", .is_long = true, .answer_two = query_overlay},
};
const size_t query_two_entry_count = COUNT_OF(query_two_entries);

const struct query_entry *query_find_two(const char *path)
{
    size_t prefix = strlen("/api/");
    for (size_t i = 0; i < query_two_entry_count; i++) {
        if (strncmp(path, "/api/", prefix) == 0 && strcmp(path + prefix, query_two_entries[i].name) == 0)
            return &query_two_entries[i];
    }
    return NULL;
}

const struct query_entry *query_find(const char *name)
{
    for (size_t i = 0; i < query_entry_count; i++) {
        if (strcmp(query_entries[i].name, name) == 0)
            return &query_entries[i];
    }
    return NULL;
}

/* --- decoding --- */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Decodes text[0..length) in place; SIZE_MAX when an escape is broken or stands for a NUL. */
static size_t unescape(char *text, size_t length)
{
    size_t put = 0;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (c == '+') {
            c = ' ';
        } else if (c == '%') {
            int high = length - i > 2 ? hex_digit(text[i + 1]) : -1;
            int low = length - i > 2 ? hex_digit(text[i + 2]) : -1;
            if (high < 0 || low < 0)
                return SIZE_MAX;
            c = (char)(high * 16 + low);
            i += 2;
        }
        if (c == 0)
            return SIZE_MAX;
        text[put++] = c;
    }
    text[put] = 0;
    return put;
}

static int add_parameter(struct query *q, char *text, size_t length, struct error *err)
{
    char *equals = memchr(text, '=', length);
    char *value = equals ? equals + 1 : text + length;
    size_t name_length = equals ? (size_t)(equals - text) : length;
    if (q->parameter_count == QUERY_PARAMETERS_MAX)
        return error_set(err, QUERY_REFUSED, "more than %u parameters", QUERY_PARAMETERS_MAX);
    /* The byte after each part is '=', '&' or the end: it may become a NUL. */
    if (unescape(value, (size_t)(text + length - value)) == SIZE_MAX ||
        unescape(text, name_length) == SIZE_MAX)
        return error_set(err, QUERY_REFUSED, "a %%-escape in the query is broken");
    q->parameters[q->parameter_count++] = (struct query_parameter){text, value};
    return 0;
}

int query_parse(struct query *q, const char *target, size_t length, struct error *err)
{
    q->parameter_count = 0;
    q->path = q->text;
    q->text[0] = 0;
    if (length > QUERY_TARGET_MAX)
        return error_set(err, E2BIG, "the address is longer than %u bytes", QUERY_TARGET_MAX);
    memcpy(q->text, target, length);
    q->text[length] = 0;
    if (length == 0 || q->text[0] != '/' || memchr(q->text, 0, length))
        return error_set(err, QUERY_REFUSED, "the address does not begin with /");
    char *end = q->text + length, *at = memchr(q->text, '?', length);
    if (!at)
        return 0;
    *at++ = 0;
    while (at < end) {
        char *next = memchr(at, '&', (size_t)(end - at));
        size_t part = next ? (size_t)(next - at) : (size_t)(end - at);
        int status = part ? add_parameter(q, at, part, err) : 0;
        if (status)
            return status;
        at += part + 1;
    }
    return 0;
}

/* --- parameters --- */

const char *query_text(const struct query *q, const char *name)
{
    for (size_t i = 0; i < q->parameter_count; i++) {
        if (strcmp(q->parameters[i].name, name) == 0)
            return q->parameters[i].value;
    }
    return NULL;
}

int query_real(const struct query *q, const char *name, double smallest, double largest, double *value,
               struct error *err)
{
    const char *text = query_text(q, name);
    char *end;
    if (!text)
        return 0;
    double real = strtod(text, &end);
    if (end == text || *end || isnan(real))
        return error_set(err, QUERY_REFUSED, "%s: not a number: '%.60s'", name, text);
    *value = real < smallest ? smallest : real > largest ? largest : real;
    return 0;
}

int query_unsigned(const struct query *q, const char *name, uint64_t largest, uint64_t *value,
                   struct error *err)
{
    const char *text = query_text(q, name);
    double real = 0;
    if (!text)
        return 0;
    if (slice_unsigned(slice_of(text), value)) { /* exact, which a double is not */
        *value = *value < largest ? *value : largest;
        return 0;
    }
    int status = query_real(q, name, 0, (double)UINT64_MAX, &real, err);
    if (!status)
        *value = real >= (double)largest ? largest : (uint64_t)real;
    return status;
}

int query_choice(const struct query *q, const char *name, const char *const *words, unsigned *index,
                 struct error *err)
{
    const char *text = query_text(q, name);
    struct bytes known = {0};
    if (!text)
        return 0;
    for (unsigned i = 0; words[i]; i++) {
        if (strcmp(words[i], text) == 0) {
            *index = i;
            bytes_free(&known);
            return 0;
        }
        bytes_append_format(&known, "%s%s", i ? ", " : "", words[i]);
    }
    int status =
        error_set(err, QUERY_REFUSED, "%s: '%.60s' is not one of %s", name, text, bytes_text(&known));
    bytes_free(&known);
    return status;
}

int query_window_of(const struct query *q, const struct serve_trace *st, const char *from_name,
                    const char *to_name, struct query_window *window, struct error *err)
{
    uint64_t length = st->end_ns - st->start_ns, from = 0, to = length;
    int status = query_unsigned(q, from_name, length, &from, err);
    if (!status)
        status = query_unsigned(q, to_name, length, &to, err);
    if (!status && from > to)
        status = error_set(err, QUERY_REFUSED, "%s is after %s", from_name, to_name);
    window->since_ns = st->start_ns + from;
    window->until_ns = st->start_ns + to;
    window->is_whole = from == 0 && to == length;
    return status;
}

int query_window(const struct query *q, const struct serve_trace *st, struct query_window *window,
                 struct error *err)
{
    return query_window_of(q, st, "from", "to", window, err);
}

int query_filter(const struct serve_trace *st, const struct query_window *window, struct trace_filter *filter,
                 struct error *err)
{
    int status = trace_filter_resolve(filter, st->trace, &everything, err);
    if (!status && !window->is_whole) {
        filter->is_everything = false;
        filter->has_window = true;
        filter->since_ns = window->since_ns;
        filter->until_ns = window->until_ns;
    }
    return status;
}

int query_pixels(const struct query *q, uint32_t *pixels, struct error *err)
{
    uint64_t value = 1000;
    int status = query_unsigned(q, "px", 16384, &value, err);
    *pixels = value ? (uint32_t)value : 1;
    return status;
}

int query_track(const struct query *q, const struct serve_trace *st, uint32_t *track, struct error *err)
{
    const char *text = query_text(q, "track");
    if (!text || !slice_unsigned32(slice_of(text), track))
        return error_set(err, QUERY_REFUSED, "track: the number of a track is needed");
    if (*track >= trace_track_count(st->trace))
        return error_set(err, ENOENT, "there is no track %" PRIu32, *track);
    return 0;
}

/* --- JSON --- */

struct json query_json(struct bytes *out)
{
    struct json j = {.buffer = *out};
    *out = (struct bytes){0};
    return j;
}

int query_json_end(struct json *j, struct bytes *out, struct error *err)
{
    bytes_append_text(&j->buffer, "\n");
    *out = j->buffer;
    j->buffer = (struct bytes){0};
    return out->failed ? error_no_memory(err, "the answer") : 0;
}
