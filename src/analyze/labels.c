/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/labels.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *label_track(const struct trace *trace, uint32_t track, char *buffer, size_t size)
{
    const struct trace_track *t = track == TRACE_NONE ? NULL : trace_get_track(trace, track);
    if (!t)
        return "?";
    if (t->name && *t->name)
        return t->name;
    snprintf(buffer, size, "%s %" PRIu64, trace_track_kind_text(t->kind), t->number);
    return buffer;
}

const char *label_program(const struct trace_process *process, char *buffer, size_t size)
{
    if (!process || !process->command || !*process->command)
        return "?";
    size_t length = strcspn(process->command, " ");
    const char *begin = process->command;
    for (size_t i = 0; i + 1 < length; i++) {
        if (process->command[i] == '/')
            begin = process->command + i + 1;
    }
    length -= (size_t)(begin - process->command);
    snprintf(buffer, size, "%.*s", (int)(length < size ? length : size), begin);
    return buffer;
}

const char *label_location(const struct trace_name *name, char *buffer, size_t size)
{
    if (!name->file || !*name->file)
        return name->function ? name->function : "";
    if (name->line == 0)
        return name->file;
    snprintf(buffer, size, "%s:%" PRIu32, name->file, name->line);
    return buffer;
}

/* --- paths that tell files apart --- */

struct path {
    const char *text;
    size_t length;
    uint32_t name; /* its id */
};

/* By their ends, so that files that share one follow each other. */
static int compare_ends(const void *left, const void *right)
{
    const struct path *a = left, *b = right;
    size_t x = a->length, y = b->length;
    while (x && y && a->text[x - 1] == b->text[y - 1]) {
        x--;
        y--;
    }
    if (!x || !y)
        return (x > 0) - (y > 0);
    return (unsigned char)a->text[x - 1] < (unsigned char)b->text[y - 1] ? -1 : 1;
}

/* Where in `a` the part begins that `b` does not end with: after the slash before the first difference. */
static size_t label_start(const struct path *a, const struct path *b)
{
    size_t x = a->length, y = b->length;
    while (x && y && a->text[x - 1] == b->text[y - 1]) {
        x--;
        y--;
    }
    if (x == 0 && y == 0)
        return a->length; /* the same file */
    while (x && a->text[x - 1] != '/')
        x--;
    return x;
}

static size_t base_start(const struct path *path)
{
    const char *slash = strrchr(path->text, '/');
    return slash && slash[1] ? (size_t)(slash - path->text) + 1 : 0;
}

int place_labels_make(struct place_labels *labels, const struct trace *trace, struct error *err)
{
    size_t count = trace_name_count(trace);
    struct path *paths = malloc((count + 1) * sizeof *paths);
    labels->skip = malloc((count + 1) * sizeof *labels->skip);
    if (!paths || !labels->skip) {
        free(paths);
        place_labels_free(labels);
        return error_no_memory(err, "paths of source files");
    }
    labels->count = count;
    for (uint32_t i = 0; i < count; i++) {
        const char *file = trace_get_name(trace, i)->file;
        paths[i] = (struct path){file, strlen(file), i};
    }
    qsort(paths, count, sizeof *paths, compare_ends);
    for (size_t first = 0, last; first < count; first = last) { /* the names of one file */
        for (last = first + 1; last < count && compare_ends(&paths[first], &paths[last]) == 0;)
            last++;
        size_t start = base_start(&paths[first]);
        size_t before = first ? label_start(&paths[first], &paths[first - 1]) : start;
        size_t after = last < count ? label_start(&paths[first], &paths[last]) : start;
        start = before < start ? before : start;
        start = after < start ? after : start;
        for (size_t i = first; i < last; i++)
            labels->skip[paths[i].name] = (uint32_t)start;
    }
    free(paths);
    return 0;
}

void place_labels_free(struct place_labels *labels)
{
    free(labels->skip);
    *labels = (struct place_labels){0};
}

const char *place_label_file(const struct place_labels *labels, const struct trace_name *name)
{
    return name->id < labels->count ? name->file + labels->skip[name->id] : name->file;
}
