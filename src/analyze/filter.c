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

static int resolve_window(struct trace_filter *filter, const struct trace *trace,
                          const struct trace_filter_options *options, struct error *err)
{
    const struct trace_info *info = trace_get_info(trace);
    double length_s = (double)(info->end_ns - info->start_ns) / 1e9;
    filter->has_window = options->since.kind != TRACE_TIME_UNSET || options->until.kind != TRACE_TIME_UNSET;
    filter->since_ns = absolute_ns(&options->since, info->start_ns, info->end_ns, info->start_ns);
    filter->until_ns = absolute_ns(&options->until, info->start_ns, info->end_ns, info->end_ns);
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
    return 0;
}

int trace_filter_resolve(struct trace_filter *filter, const struct trace *trace,
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
    if (!filter->process_wanted || !filter->track_wanted || !filter->name_wanted)
        result = error_set_errno(err, ENOMEM, "filter");
    if (result == 0)
        result = resolve_processes(filter, trace, &options->processes, err);
    if (result == 0)
        result = resolve_tracks(filter, trace, &options->threads, err);
    for (size_t i = 0; result == 0 && i < filter->name_count; i++)
        filter->name_wanted[i] = trace_filter_text_matches(filter, trace_get_name(trace, (uint32_t)i)->name);
    if (result == 0)
        result = resolve_window(filter, trace, options, err);
    filter->has_processes = options->processes.count > 0;
    filter->has_tracks = filter->has_processes || options->threads.count > 0;
    filter->wants_all_names = options->names.count == 0;
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
    *filter = (struct trace_filter){0};
}
