/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/events/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/map.h"

struct last_mark {            /* of a name on a track */
    uint64_t time_ns, number; /* time: of one in the window; number: from 1, among all in the trace */
    uint32_t row;             /* MAP_NONE: none was in the window yet */
    bool ends_steps;
};

struct collecting {
    struct frame_stats *stats;
    const struct trace *trace;
    const struct trace_filter *filter;
    struct intern names;
    struct map rows, marks; /* (process, name) to row; (track, name) to index in `last` */
    struct last_mark *last;
    size_t last_count, last_capacity;
    uint64_t *resumed; /* when pauses of the recording ended, in order */
    size_t resumed_count;
};

static int compare_times(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static bool list_pauses(struct collecting *c)
{
    size_t count;
    const struct trace_loss *losses = trace_get_losses(c->trace, &count);
    c->resumed = malloc((count + 1) * sizeof c->resumed[0]);
    for (size_t i = 0; i < count && c->resumed; i++) {
        if (losses[i].reason == TRACE_LOSS_PAUSED && losses[i].to_ns > losses[i].from_ns)
            c->resumed[c->resumed_count++] = losses[i].to_ns;
    }
    if (c->resumed_count)
        qsort(c->resumed, c->resumed_count, sizeof c->resumed[0], compare_times);
    return c->resumed != NULL;
}

/* Did a pause end between two marks? Then marks between them may be missing, and the time is not that of one frame. Its
 * beginning does not count: other processes than the one that paused follow a little later. */
static bool is_paused_between(const struct collecting *c, uint64_t from_ns, uint64_t to_ns)
{
    size_t low = 0, high = c->resumed_count; /* the first that ended after `from_ns` */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c->resumed[middle] <= from_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low < c->resumed_count && c->resumed[low] <= to_ns;
}

/* MAP_NONE: no memory. */
static uint32_t find_row(struct collecting *c, const struct point_entry *mark, uint32_t name)
{
    struct frame_stats *stats = c->stats;
    const struct trace_track *track = trace_get_track(c->trace, mark->track);
    uint32_t process = track ? track->process : TRACE_NONE;
    uint64_t key = (uint64_t)process << 32 | name;
    uint32_t row = map_get(&c->rows, key);
    if (row != MAP_NONE)
        return row;
    row = (uint32_t)stats->row_count;
    if (!array_reserve(&stats->rows, &stats->row_capacity, stats->row_count + 1, sizeof stats->rows[0]) ||
        !map_put(&c->rows, key, row))
        return MAP_NONE;
    stats->rows[stats->row_count++] = (struct frame_row){.name = mark->header, .process = process};
    return row;
}

static struct last_mark *find_last(struct collecting *c, const struct point_entry *mark, uint32_t name)
{
    uint64_t key = (uint64_t)mark->track << 32 | name;
    uint32_t index = map_get(&c->marks, key);
    if (index != MAP_NONE)
        return &c->last[index];
    index = (uint32_t)c->last_count;
    if (!array_reserve(&c->last, &c->last_capacity, c->last_count + 1, sizeof c->last[0]) ||
        !map_put(&c->marks, key, index))
        return NULL;
    c->last[c->last_count++] = (struct last_mark){.row = MAP_NONE};
    return &c->last[index];
}

static bool is_in_window(const struct trace_filter *filter, uint64_t time_ns)
{
    return !filter->has_window || trace_filter_wants_span(filter, time_ns, time_ns);
}

/* What src/record/torch.cpp marks. */
static bool ends_a_step(const char *name)
{
    return strcmp(name, "optimizer step") == 0;
}

/* The marks are in the order of time. Those before the window count for the numbers of those in it. */
static int collect(struct collecting *c)
{
    struct frame_stats *stats = c->stats;
    stats->frames = malloc((stats->marks.count + 1) * sizeof stats->frames[0]);
    if (!stats->frames || !list_pauses(c))
        return -ENOMEM;
    for (size_t i = 0; i < stats->marks.count; i++) {
        const struct point_entry *mark = &stats->marks.entries[i];
        uint32_t name =
            intern_add(&c->names, point_list_text(&stats->marks, mark->header), mark->header_length);
        struct last_mark *last = name == INTERN_NONE ? NULL : find_last(c, mark, name);
        if (!last)
            return -ENOMEM;
        last->number++;
        if (!is_in_window(c->filter, mark->time_ns))
            continue;
        bool is_first = last->row == MAP_NONE;
        last->ends_steps = ends_a_step(point_list_text(&stats->marks, mark->header));
        if (is_first && (last->row = find_row(c, mark, name)) == MAP_NONE)
            return -ENOMEM;
        stats->rows[last->row].marks++;
        if (!is_first && !is_paused_between(c, last->time_ns, mark->time_ns))
            stats->frames[stats->frame_count++] =
                (struct frame){.start_ns = last->time_ns,
                               .duration_ns = mark->time_ns - last->time_ns,
                               .number = last->number - 1 + last->ends_steps,
                               .row = last->row,
                               .track = mark->track};
        last->time_ns = mark->time_ns;
    }
    return 0;
}

static int compare_starts(const void *left, const void *right)
{
    const struct frame *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static int compare_rows_and_durations(const void *left, const void *right)
{
    const struct frame *a = left, *b = right;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return (a->duration_ns > b->duration_ns) - (a->duration_ns < b->duration_ns);
}

/* The p-th percentile is the smallest duration that p % of the frames do not exceed. */
static int summarize(struct frame_stats *stats)
{
    struct frame *sorted = malloc((stats->frame_count + 1) * sizeof *sorted);
    if (!sorted)
        return -ENOMEM;
    memcpy(sorted, stats->frames, stats->frame_count * sizeof *sorted);
    qsort(sorted, stats->frame_count, sizeof *sorted, compare_rows_and_durations);
    for (size_t first = 0, last; first < stats->frame_count; first = last) {
        struct frame_row *row = &stats->rows[sorted[first].row];
        for (last = first; last < stats->frame_count && sorted[last].row == sorted[first].row; last++)
            row->total_ns += sorted[last].duration_ns;
        row->count = last - first;
        row->min_ns = sorted[first].duration_ns;
        row->p50_ns = sorted[first + (row->count * 50 + 99) / 100 - 1].duration_ns;
        row->p95_ns = sorted[first + (row->count * 95 + 99) / 100 - 1].duration_ns;
        row->p99_ns = sorted[first + (row->count * 99 + 99) / 100 - 1].duration_ns;
        row->max_ns = sorted[last - 1].duration_ns;
    }
    free(sorted);
    return 0;
}

int frame_stats_make(struct frame_stats *stats, struct trace *trace, const struct trace_filter *filter,
                     struct error *err)
{
    struct collecting c = {.stats = stats, .trace = trace, .filter = filter};
    struct trace_filter at_any_time = *filter;
    at_any_time.has_window = false;
    at_any_time.since_ns = 0;
    at_any_time.until_ns = UINT64_MAX;
    *stats = (struct frame_stats){0};
    int result = point_list_make(&stats->marks, trace, &at_any_time, 1u << TRACE_POINT_FRAME, err);
    if (result != 0)
        return result;
    result = collect(&c);
    if (result == 0) {
        qsort(stats->frames, stats->frame_count, sizeof stats->frames[0], compare_starts);
        result = summarize(stats);
    }
    intern_free(&c.names);
    map_free(&c.rows);
    map_free(&c.marks);
    free(c.last);
    free(c.resumed);
    if (result != 0) {
        frame_stats_free(stats);
        error_no_memory(err, "frames");
    }
    return result;
}

static int compare_durations(const void *left, const void *right, void *context)
{
    const struct frame *frames = context, *a = &frames[*(const size_t *)left],
                       *b = &frames[*(const size_t *)right];
    if (a->duration_ns != b->duration_ns)
        return a->duration_ns < b->duration_ns ? 1 : -1;
    return compare_starts(a, b);
}

bool frame_stats_slowest(const struct frame_stats *stats, size_t count, size_t *indices)
{
    size_t *all = malloc((stats->frame_count + 1) * sizeof *all);
    if (!all)
        return false;
    for (size_t i = 0; i < stats->frame_count; i++)
        all[i] = i;
    qsort_r(all, stats->frame_count, sizeof *all, compare_durations, stats->frames);
    memcpy(indices, all, (count < stats->frame_count ? count : stats->frame_count) * sizeof *all);
    free(all);
    return true;
}

const struct frame *frame_stats_find(const struct frame_stats *stats, uint32_t track, uint64_t time_ns,
                                     const char *name, size_t length)
{
    size_t low = 0, high = stats->frame_count; /* the first that begins then */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (stats->frames[middle].start_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < stats->frame_count && stats->frames[low].start_ns == time_ns; low++) {
        const struct frame *frame = &stats->frames[low];
        const char *other = frame_row_name(stats, &stats->rows[frame->row]);
        if (frame->track == track && strlen(other) == length && memcmp(other, name, length) == 0)
            return frame;
    }
    return NULL;
}

void frame_stats_free(struct frame_stats *stats)
{
    free(stats->rows);
    free(stats->frames);
    point_list_free(&stats->marks);
    *stats = (struct frame_stats){0};
}
