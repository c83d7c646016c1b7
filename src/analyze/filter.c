/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/filter.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/labels.h"
#include "analyze/source/files.h"

#define LISTED_CANDIDATES 5u

static bool is_pattern(const char *text)
{
    return strpbrk(text, "*?[") != NULL;
}

/* The number a text is, if it is nothing but digits. */
static bool parse_number(const char *text, uint64_t *number)
{
    char *end = NULL;
    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return *end == '\0' && errno == 0;
}

static bool process_matches(const struct trace_process *process, const char *text)
{
    uint64_t number;
    if (parse_number(text, &number) && process->pid >= 0 && (uint64_t)process->pid == number)
        return true;
    if (is_pattern(text))
        return fnmatch(text, process->command, 0) == 0;
    return *text && strstr(process->command, text) != NULL;
}

static bool track_matches(const struct trace *trace, const struct trace_track *track, const char *text)
{
    char label[64];
    const char *name = label_track(trace, track->id, label, sizeof label);
    uint64_t number;
    if (parse_number(text, &number) && track->number == number)
        return true;
    return strcmp(name, text) == 0 || (is_pattern(text) && fnmatch(text, name, 0) == 0);
}

/* The first few of what there is, for a sentence. */
struct candidates {
    char text[300];
    size_t used, listed, left;
};

static void candidate(struct candidates *list, int64_t number, const char *name)
{
    if (list->listed == LISTED_CANDIDATES || list->used + 60 > sizeof list->text) {
        list->left++;
        return;
    }
    int n = snprintf(list->text + list->used, sizeof list->text - list->used, "%s%" PRId64 " (%.30s)",
                     list->listed ? ", " : "", number, name);
    list->used += n > 0 ? (size_t)n : 0; /* 60 bytes were left: it fits */
    list->listed++;
}

static int no_match(const char *what, const char *text, const struct candidates *list, struct error *err)
{
    char more[40] = "";
    if (list->left)
        snprintf(more, sizeof more, " and %zu more", list->left);
    return error_set(err, EINVAL, "no %s matches '%.60s'; the trace has %s%s", what, text,
                     list->listed ? list->text : "none", more);
}

static int resolve_processes(struct trace_filter *filter, const struct trace *trace,
                             const struct text_list *texts, struct error *err)
{
    for (size_t i = 0; i < filter->process_count; i++)
        filter->process_wanted[i] = texts->count == 0;
    for (size_t k = 0; k < texts->count; k++) {
        struct candidates list = {0};
        bool is_found = false;
        for (size_t i = 0; i < filter->process_count; i++) {
            const struct trace_process *process = trace_get_process(trace, (uint32_t)i);
            char program[64];
            if (process_matches(process, texts->items[k]))
                filter->process_wanted[i] = is_found = true;
            candidate(&list, process->pid, label_program(process, program, sizeof program));
        }
        if (!is_found)
            return no_match("process", texts->items[k], &list, err);
    }
    return 0;
}

static int resolve_tracks(struct trace_filter *filter, const struct trace *trace,
                          const struct text_list *texts, struct error *err)
{
    for (size_t i = 0; i < filter->track_count; i++) {
        const struct trace_track *track = trace_get_track(trace, (uint32_t)i);
        filter->track_wanted[i] = texts->count == 0 && trace_filter_wants_process(filter, track->process);
    }
    for (size_t k = 0; k < texts->count; k++) {
        struct candidates list = {0};
        bool is_found = false;
        for (size_t i = 0; i < filter->track_count; i++) {
            const struct trace_track *track = trace_get_track(trace, (uint32_t)i);
            char label[64];
            if (!trace_filter_wants_process(filter, track->process))
                continue;
            if (track_matches(trace, track, texts->items[k]))
                filter->track_wanted[i] = is_found = true;
            candidate(&list, (int64_t)track->number, label_track(trace, track->id, label, sizeof label));
        }
        if (!is_found)
            return no_match("thread", texts->items[k], &list, err);
    }
    return 0;
}

bool trace_filter_text_matches(const struct trace_filter *filter, const char *text)
{
    if (filter->names->count == 0)
        return true;
    for (size_t k = 0; k < filter->names->count; k++) {
        if (fnmatch(filter->names->items[k], text, 0) == 0)
            return true;
    }
    return false;
}

/* --- names, by themselves and by where they are in the source --- */

/* Does the name of a zone pass one kind of text? True when none was given. */
static bool matches_any(const struct text_list *texts, const struct trace_name *name,
                        bool (*matches)(const struct trace_name *name, const char *text))
{
    for (size_t k = 0; k < texts->count; k++) {
        if (matches(name, texts->items[k]))
            return true;
    }
    return texts->count == 0;
}

static bool file_matches(const struct trace_name *name, const char *pattern)
{
    return source_file_matches(name->file, pattern);
}

/* Each text must have something that it matches. */
static int check_found(const struct trace *trace, const struct text_list *texts, const char *what,
                       bool (*matches)(const struct trace_name *name, const char *text), struct error *err)
{
    for (size_t k = 0; k < texts->count; k++) {
        bool is_found = false;
        for (size_t i = 0; i < trace_name_count(trace) && !is_found; i++)
            is_found = matches(trace_get_name(trace, (uint32_t)i), texts->items[k]);
        if (!is_found)
            return error_set(err, EINVAL, "no zone is in a %s that matches '%.60s'", what, texts->items[k]);
    }
    return 0;
}

static int resolve_names(struct trace_filter *filter, const struct trace *trace,
                         const struct trace_filter_options *options, struct error *err)
{
    bool is_mine_found = !options->mine;
    int result = check_found(trace, &options->files, "file", file_matches, err);
    if (result == 0)
        result = check_found(trace, &options->modules, "module", source_is_in_module, err);
    for (size_t i = 0; result == 0 && i < filter->name_count; i++) {
        const struct trace_name *name = trace_get_name(trace, (uint32_t)i);
        bool is_mine = !options->mine || source_is_mine(name->file, options->folder);
        is_mine_found |= is_mine;
        filter->place_wanted[i] = is_mine && matches_any(&options->files, name, file_matches) &&
                                  matches_any(&options->modules, name, source_is_in_module);
        filter->name_wanted[i] = filter->place_wanted[i] && trace_filter_text_matches(filter, name->name);
    }
    if (result == 0 && !is_mine_found)
        return error_set(err, EINVAL,
                         "no zone is in a file below %s: --mine means the folder in which it is given; "
                         "--file PATTERN chooses others",
                         options->folder);
    return result;
}

/* --- windows --- */

struct signposts { /* what is known of the signposts of a trace */
    const char *start, *end;
    uint64_t start_ns, end_ns; /* UINT64_MAX: not found */
    struct text_list names;    /* some that there are; each allocated */
    size_t more;
};

static void note_signpost(struct signposts *s, const char *header)
{
    for (size_t i = 0; i < s->names.count; i++) {
        if (strcmp(s->names.items[i], header) == 0)
            return;
    }
    char *copy = s->names.count < LISTED_CANDIDATES ? strndup(header, 40) : NULL;
    if (copy)
        text_list_add(&s->names, copy);
    else
        s->more++;
}

/* One pass over all points: the end is the first after the start, so the start is looked for first. */
static int find_signposts(struct signposts *s, struct trace *trace, bool is_start, struct error *err)
{
    struct trace_block_filter blocks = {.type = TRACE_BLOCK_POINTS};
    struct trace_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0;
    int result = 0;
    while (result == 0 && (block = trace_next_block(trace, &blocks, &position))) {
        result = trace_decode_rows(trace, block, &rows, err);
        for (size_t i = 0; result == 0 && i < rows.count; i++) {
            const struct trace_point *point = &rows.points[i];
            uint64_t ns = point->time;
            if (point->kind != TRACE_POINT_SIGNPOST)
                continue;
            if (is_start)
                note_signpost(s, point->header);
            if (is_start && s->start && strcmp(point->header, s->start) == 0 && ns < s->start_ns)
                s->start_ns = ns;
            if (!is_start && strcmp(point->header, s->end) == 0 && ns < s->end_ns &&
                (!s->start || ns > s->start_ns))
                s->end_ns = ns;
        }
    }
    trace_rows_free(&rows);
    return result;
}

static int no_signpost(const struct signposts *s, const char *name, const char *where, struct error *err)
{
    char text[300] = "none";
    size_t used = 0;
    for (size_t i = 0; i < s->names.count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s'%s'", i ? ", " : "", s->names.items[i]);
    if (s->more && used < sizeof text)
        snprintf(text + used, sizeof text - used, " and more");
    return error_set(err, EINVAL, "no signpost '%.60s'%s; the trace has %s", name, where, text);
}

static int cut_to_signposts(struct trace_filter *filter, struct trace *trace,
                            const struct trace_filter_options *options, struct error *err)
{
    struct signposts s = {.start = options->start_signpost,
                          .end = options->end_signpost,
                          .start_ns = UINT64_MAX,
                          .end_ns = UINT64_MAX};
    int result = find_signposts(&s, trace, true, err);
    if (result == 0 && s.start && s.start_ns == UINT64_MAX)
        result = no_signpost(&s, s.start, "", err);
    if (result == 0 && s.end)
        result = find_signposts(&s, trace, false, err);
    if (result == 0 && s.end && s.end_ns == UINT64_MAX)
        result = no_signpost(&s, s.end, s.start ? " after the start" : "", err);
    if (result == 0 && s.start && s.start_ns > filter->since_ns)
        filter->since_ns = s.start_ns;
    if (result == 0 && s.end && s.end_ns < filter->until_ns)
        filter->until_ns = s.end_ns;
    for (size_t i = 0; i < s.names.count; i++)
        free((char *)(uintptr_t)s.names.items[i]);
    if (result == 0 && filter->since_ns >= filter->until_ns)
        result = error_set(err, EINVAL, "nothing lies between the signposts and in the window");
    return result;
}

static uint64_t absolute_ns(const struct trace_time *time, uint64_t start_ns, uint64_t end_ns,
                            uint64_t otherwise)
{
    uint64_t sum;
    switch (time->kind) {
    case TRACE_TIME_NS:
        return __builtin_add_overflow(start_ns, time->ns, &sum) ? UINT64_MAX : sum;
    case TRACE_TIME_PERCENT:
        return start_ns + (uint64_t)((double)(end_ns - start_ns) * time->percent / 100.0);
    default:
        return otherwise;
    }
}

static int resolve_window(struct trace_filter *filter, struct trace *trace,
                          const struct trace_filter_options *options, struct error *err)
{
    const struct trace_info *info = trace_get_info(trace);
    double length_s = (double)(info->end_ns - info->start_ns) / 1e9;
    filter->has_window = options->since.kind != TRACE_TIME_UNSET || options->until.kind != TRACE_TIME_UNSET;
    filter->since_ns = absolute_ns(&options->since, info->start_ns, info->end_ns, info->start_ns);
    filter->until_ns = absolute_ns(&options->until, info->start_ns, info->end_ns, info->end_ns);
    bool has_signposts = options->start_signpost || options->end_signpost;
    if (!filter->has_window && has_signposts) {
        filter->has_window = true;
        return cut_to_signposts(filter, trace, options, err);
    }
    if (!filter->has_window)
        return 0;
    if (filter->since_ns > info->end_ns)
        return error_set(err, EINVAL, "--since is after the end of the trace, which is %.6f s long",
                         length_s);
    if (filter->since_ns >= filter->until_ns)
        return error_set(err, EINVAL,
                         "the window is empty: --since must be before --until (the trace is %.6f s long)",
                         length_s);
    if (filter->until_ns > info->end_ns)
        filter->until_ns = info->end_ns;
    return has_signposts ? cut_to_signposts(filter, trace, options, err) : 0;
}

int trace_filter_resolve(struct trace_filter *filter, struct trace *trace,
                         const struct trace_filter_options *options, struct error *err)
{
    *filter = (struct trace_filter){
        .process_count = trace_process_count(trace),
        .track_count = trace_track_count(trace),
        .name_count = trace_name_count(trace),
        .names = &options->names,
    };
    filter->process_wanted = calloc(filter->process_count + 1, sizeof(bool));
    filter->track_wanted = calloc(filter->track_count + 1, sizeof(bool));
    filter->name_wanted = calloc(filter->name_count + 1, sizeof(bool));
    int result = 0;
    filter->place_wanted = calloc(filter->name_count + 1, sizeof(bool));
    if (!filter->process_wanted || !filter->track_wanted || !filter->name_wanted || !filter->place_wanted)
        result = error_set_errno(err, ENOMEM, "filter");
    if (result == 0)
        result = resolve_processes(filter, trace, &options->processes, err);
    if (result == 0)
        result = resolve_tracks(filter, trace, &options->threads, err);
    if (result == 0)
        result = resolve_names(filter, trace, options, err);
    if (result == 0)
        result = resolve_window(filter, trace, options, err);
    filter->has_processes = options->processes.count > 0;
    filter->has_tracks = filter->has_processes || options->threads.count > 0;
    filter->wants_all_names = options->names.count == 0 && options->files.count == 0 &&
                              options->modules.count == 0 && !options->mine;
    filter->is_everything = !filter->has_tracks && filter->wants_all_names && !filter->has_window;
    if (result != 0)
        trace_filter_free(filter);
    return result;
}

void trace_filter_free(struct trace_filter *filter)
{
    free(filter->process_wanted);
    free(filter->track_wanted);
    free(filter->name_wanted);
    free(filter->place_wanted);
    *filter = (struct trace_filter){0};
}
