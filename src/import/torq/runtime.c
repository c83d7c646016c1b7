/* SPDX-License-Identifier: Apache-2.0 */
#include "import/torq/runtime.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/map.h"
#include "import/timeline_csv.h"
#include "text/csv/cell.h"
#include "text/file_map.h"

#define FIELDS_MAX 6u

struct reading {
    struct torq_run *run;
    struct map scopes; /* by invocation id */
    struct map open;   /* by scope, action and type: the event that has no end yet */
    char separator;
    uint64_t line;
    bool failed;
};

void torq_run_free(struct torq_run *run)
{
    intern_free(&run->texts);
    free(run->scopes);
    free(run->events);
    *run = (struct torq_run){0};
}

/* Fields of a line: `left` split off from its left, what remains is the last one. */
static size_t split(struct slice line, char separator, size_t left, struct slice *fields)
{
    size_t count = 0;
    while (count < left) {
        const char *at = line.length ? memchr(line.data, separator, line.length) : NULL;
        if (!at)
            break;
        size_t length = (size_t)(at - line.data);
        fields[count++] = slice_trim(slice_from(line.data, length));
        line = slice_from(at + 1, line.length - length - 1);
    }
    fields[count++] = slice_trim(line);
    return count;
}

static bool same_word(struct slice field, const char *word)
{
    return field.length == strlen(word) && strncasecmp(field.data, word, field.length) == 0;
}

static bool is_header(struct slice line, char separator, const char *const *words, size_t count)
{
    struct slice fields[FIELDS_MAX];
    if (split(line, separator, count - 1, fields) != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!same_word(fields[i], words[i]))
            return false;
    }
    return true;
}

static bool find_form(struct slice header, enum torq_runtime_form *form, char *separator)
{
    static const char *const events[] = {"dispatch_name", "invocation_id", "action_id", "timestamp_us",
                                         "event"};
    static const char *const actions[] = {"actionIndex", "elapsed_time(us)", "timestamp(us)", "event",
                                          "location"};
    static const char *const programs[] = {"id", "time_since_open", "time_since_start", "location"};
    for (const char *sign = ",;"; *sign; sign++) {
        *separator = *sign;
        if (is_header(header, *sign, events, 5))
            return *form = TORQ_EVENTS, true;
        if (is_header(header, *sign, actions, 5))
            return *form = TORQ_ACTIONS, true;
        if (is_header(header, *sign, programs, 4))
            return *form = TORQ_PROGRAMS, true;
    }
    return false;
}

bool torq_run_is_one(struct slice beginning)
{
    enum torq_runtime_form form;
    char separator;
    return !timeline_csv_is_one(beginning) &&
           find_form(slice_trim(slice_before(beginning, "\n")), &form, &separator);
}

static int check_form(struct reading *r, const char *path, struct slice text, struct error *err)
{
    if (timeline_csv_is_one(text))
        return error_set(err, EINVAL, "%s:1: this is a timeline of the compiler, not a profile of a run",
                         path);
    if (find_form(slice_trim(slice_before(text, "\n")), &r->run->form, &r->separator))
        return 0;
    return error_set(err, EINVAL,
                     "%s:1: not a runtime profile: its header is none of those that the runtime writes",
                     path);
}

static uint32_t add_text(struct reading *r, struct slice text)
{
    uint32_t id = intern_add(&r->run->texts, text.data ? text.data : "", text.length);
    r->failed |= id == INTERN_NONE;
    return id;
}

static uint32_t scope_of(struct reading *r, struct slice name, uint64_t invocation)
{
    struct torq_run *run = r->run;
    uint32_t found = map_get(&r->scopes, invocation);
    if (found != MAP_NONE)
        return found;
    if (!array_reserve(&run->scopes, &run->scope_capacity, run->scope_count + 1, sizeof run->scopes[0]) ||
        !map_put(&r->scopes, invocation, (uint32_t)run->scope_count)) {
        r->failed = true;
        return 0;
    }
    run->scopes[run->scope_count] = (struct torq_scope){invocation, add_text(r, name)};
    return (uint32_t)run->scope_count++;
}

static struct torq_event *add_event(struct reading *r)
{
    struct torq_run *run = r->run;
    if (!array_reserve(&run->events, &run->event_capacity, run->event_count + 1, sizeof run->events[0])) {
        r->failed = true;
        return NULL;
    }
    struct torq_event *event = &run->events[run->event_count++];
    *event = (struct torq_event){.action = -1, .location = INTERN_NONE};
    return event;
}

static void bad_row(struct reading *r)
{
    if (!r->run->bad_rows++)
        r->run->first_bad_line = r->line;
}

/* A time in us that is 0 or more, as ns. */
static bool read_us(struct slice field, uint64_t *ns)
{
    double value;
    enum number_kind kind = cell_number(field, &value);
    if ((kind != NUMBER_WHOLE && kind != NUMBER_REAL) || !(value >= 0) || !(value < 1e15))
        return false;
    *ns = (uint64_t)llround(value * 1000);
    return true;
}

static void read_end(struct reading *r, uint64_t key, uint64_t ns)
{
    struct torq_run *run = r->run;
    uint32_t open = map_remove(&r->open, key);
    if (open == MAP_NONE) {
        run->unpaired++;
        return;
    }
    struct torq_event *event = &run->events[open];
    event->end_ns = ns;
    event->has_end = ns >= event->start_ns;
    run->backwards += !event->has_end;
}

static void read_event_row(struct reading *r, struct slice line)
{
    struct slice fields[FIELDS_MAX];
    uint64_t invocation, ns;
    int64_t action;
    if (split(line, r->separator, 4, fields) != 5 || !slice_unsigned(fields[1], &invocation) ||
        !cell_int64(fields[2], &action) || !read_us(fields[3], &ns) || action < -1 || action > 0xfffffe) {
        bad_row(r);
        return;
    }
    struct slice type = fields[4];
    bool is_end = type.length > 4 && memcmp(type.data + type.length - 4, "_END", 4) == 0;
    bool is_begin = type.length > 6 && memcmp(type.data + type.length - 6, "_BEGIN", 6) == 0;
    uint32_t scope = scope_of(r, fields[0], invocation);
    type.length -= is_end ? 4 : is_begin ? 6 : 0;
    uint32_t text = add_text(r, type);
    if ((!is_end && !is_begin) || text > 0xffff || scope > 0xffffff) {
        bad_row(r);
        return;
    }
    uint64_t key = (uint64_t)scope << 40 | (uint64_t)(action + 1) << 16 | text;
    if (is_end) {
        read_end(r, key, ns);
        return;
    }
    struct torq_event *event = add_event(r);
    if (!event)
        return;
    *event = (struct torq_event){.scope = scope,
                                 .type = text,
                                 .location = INTERN_NONE,
                                 .action = action,
                                 .start_ns = ns,
                                 .has_start = true};
    r->failed |= !map_put(&r->open, key, (uint32_t)r->run->event_count - 1);
}

/* Both older forms: one row, one event. */
static void read_old_row(struct reading *r, struct slice line)
{
    struct slice fields[FIELDS_MAX];
    bool is_actions = r->run->form == TORQ_ACTIONS;
    size_t count = is_actions ? 5 : 4;
    uint64_t first, second;
    int64_t number;
    if (split(line, r->separator, count - 1, fields) != count || !cell_int64(fields[0], &number) ||
        number < 0 || !read_us(fields[1], &first) || !read_us(fields[2], &second)) {
        bad_row(r);
        return;
    }
    uint32_t scope = scope_of(r, slice_of(""), 0);
    uint32_t type = add_text(r, is_actions ? fields[3] : slice_of("NSS"));
    uint32_t location = add_text(r, fields[count - 1]);
    struct torq_event *event = add_event(r);
    if (!event)
        return;
    *event = (struct torq_event){.scope = scope, .type = type, .location = location, .action = number};
    if (is_actions) { /* elapsed, then when it began */
        event->start_ns = second;
        event->end_ns = second + first;
    } else { /* the end since the device was opened, then how long it took */
        event->end_ns = first;
        event->start_ns = first > second ? first - second : 0;
        r->run->backwards += second > first;
    }
    event->has_start = event->has_end = true;
}

static int by_invocation(const void *left, const void *right)
{
    const struct torq_scope *a = left, *b = right;
    return (a->invocation > b->invocation) - (a->invocation < b->invocation);
}

/* Scopes in the order of their ids; each event names its scope again. */
static void sort_scopes(struct reading *r)
{
    struct torq_run *run = r->run;
    uint64_t *before = malloc((run->scope_count + 1) * sizeof before[0]);
    r->failed |= !before;
    for (size_t i = 0; before && i < run->scope_count; i++)
        before[i] = run->scopes[i].invocation;
    if (run->scope_count)
        qsort(run->scopes, run->scope_count, sizeof run->scopes[0], by_invocation);
    for (uint32_t i = 0; before && i < run->scope_count; i++)
        map_put(&r->scopes, run->scopes[i].invocation, i);
    for (size_t i = 0; before && i < run->event_count; i++)
        run->events[i].scope = map_get(&r->scopes, before[run->events[i].scope]);
    free(before);
}

int torq_run_read_text(struct torq_run *run, const char *path, struct slice text, struct error *err)
{
    struct reading r = {.run = run};
    int status = 0;
    *run = (struct torq_run){0};
    if (text.length)
        status = check_form(&r, path, text, err);
    while (text.length && status == 0 && !r.failed) {
        const char *newline = memchr(text.data, '\n', text.length);
        size_t length = newline ? (size_t)(newline - text.data) : text.length;
        struct slice line = slice_trim(slice_from(text.data, length));
        text = slice_from(text.data + length + (newline != NULL), text.length - length - (newline != NULL));
        r.line++;
        if (r.line > 1 && line.length && run->form == TORQ_EVENTS)
            read_event_row(&r, line);
        else if (r.line > 1 && line.length)
            read_old_row(&r, line);
    }
    if (status == 0 && !r.line)
        status = error_set(err, EINVAL, "%s: empty", path);
    if (status == 0 && !r.failed)
        sort_scopes(&r);
    for (size_t i = 0; i < run->event_count; i++)
        run->unpaired += run->form == TORQ_EVENTS && !run->events[i].has_end && !run->events[i].end_ns;
    map_free(&r.scopes);
    map_free(&r.open);
    return r.failed && status == 0 ? error_no_memory(err, path) : status;
}

int torq_run_read(struct torq_run *run, const char *path, struct error *err)
{
    struct file_map file;
    *run = (struct torq_run){0};
    int status = file_map_open(&file, path, err);
    if (status)
        return status;
    status = torq_run_read_text(run, path, slice_from(file.data ? file.data : "", file.length), err);
    file_map_close(&file);
    return status;
}
