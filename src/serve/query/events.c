/* SPDX-License-Identifier: Apache-2.0 */
/* Signposts, messages and frames; counters and memory over time, one entry per pixel that has samples. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/events/frames.h"
#include "analyze/events/memory_use.h"
#include "analyze/pointlist.h"
#include "base/slice.h"
#include "serve/query/query.h"

#define POINTS_LIMIT 1000u
#define POINTS_LIMIT_MAX 100000u

/* --- points --- */

static const char *const point_kinds[] = {"signpost", "message", "frame", NULL};

static void put_frame(struct json *j, const struct frame *frame)
{
    json_key(j, "number");
    if (frame)
        json_unsigned(j, frame->number);
    else
        json_null(j);
    json_key(j, "duration");
    if (frame)
        json_unsigned(j, frame->duration_ns);
    else
        json_null(j);
}

static void put_point(struct json *j, const struct serve_trace *st, const struct point_list *list,
                      const struct frame_stats *frames, size_t i)
{
    const struct point_entry *point = &list->entries[i];
    json_object(j, JSON_INLINE);
    json_member_text(j, "kind", trace_point_kind_text(point->kind));
    json_member_unsigned(j, "time", serve_since(st, point->time_ns));
    json_member_unsigned(j, "track", point->track);
    json_key(j, "header");
    json_text_length(j, point_list_text(list, point->header), point->header_length);
    json_key(j, "text");
    json_text_length(j, point_list_text(list, point->text), point->text_length);
    put_frame(j, point->kind == TRACE_POINT_FRAME
                     ? frame_stats_find(frames, point->track, point->time_ns,
                                        point_list_text(list, point->header), point->header_length)
                     : NULL);
    json_end(j);
}

/* All of the trace: a frame has the same number and length whatever part of the trace is asked for. */
static int find_frames(struct frame_stats *frames, struct serve_trace *st, struct error *err)
{
    const struct query_window whole = {.since_ns = st->start_ns, .until_ns = st->end_ns, .is_whole = true};
    struct trace_filter everything = {0};
    *frames = (struct frame_stats){0};
    int status = query_filter(st, &whole, &everything, err);
    if (!status)
        status = frame_stats_make(frames, st->trace, &everything, err);
    trace_filter_free(&everything);
    return status;
}

int query_points(struct serve_trace *st, const struct query *q, struct bytes *out, struct error *err)
{
    struct query_window window;
    struct trace_filter filter = {0};
    struct point_list list = {0};
    struct frame_stats frames = {0};
    uint64_t limit = POINTS_LIMIT;
    unsigned kind = 0;
    bool has_kind = query_text(q, "kind") != NULL;
    int status = query_window(q, st, &window, err);
    if (!status)
        status = query_choice(q, "kind", point_kinds, &kind, err);
    if (!status)
        status = query_unsigned(q, "limit", POINTS_LIMIT_MAX, &limit, err);
    if (!status)
        status = query_filter(st, &window, &filter, err);
    if (!status)
        status = point_list_make(&list, st->trace, &filter,
                                 has_kind ? 1u << (kind + TRACE_POINT_SIGNPOST) : 0, err);
    if (!status)
        status = find_frames(&frames, st, err);
    if (!status) {
        struct json j = query_json(out);
        size_t shown = list.count < limit ? list.count : (size_t)limit;
        json_object(&j, JSON_LINES);
        json_member_unsigned(&j, "total", list.count);
        json_key(&j, "points");
        json_array(&j, JSON_LINES);
        for (size_t i = 0; i < shown; i++) /* evenly thinned */
            put_point(&j, st, &list, &frames, (size_t)((__uint128_t)i * list.count / shown));
        json_end(&j);
        json_end(&j);
        status = query_json_end(&j, out, err);
    }
    frame_stats_free(&frames);
    point_list_free(&list);
    trace_filter_free(&filter);
    return status;
}

/* --- values over time --- */

struct plot_cell { /* a pixel */
    uint64_t time_ns, last_ns;
    double min, max, last;
    bool is_used;
};

struct plot {
    struct query_window window;
    uint32_t pixels;
    struct plot_cell *cells; /* one more than pixels: [0] is the last value before the window */
    double most;             /* inside the window ... */
    uint64_t most_ns;        /* ... and when; 0: nothing is */
};

static int plot_make(struct plot *plot, const struct serve_trace *st, const struct query *q,
                     struct error *err)
{
    int status = query_window(q, st, &plot->window, err);
    if (!status)
        status = query_pixels(q, &plot->pixels, err);
    if (!status && !(plot->cells = calloc(plot->pixels + 1u, sizeof *plot->cells)))
        status = error_no_memory(err, "the plot");
    return status;
}

static void plot_add(struct plot *plot, uint64_t time_ns, double value)
{
    uint64_t length = plot->window.until_ns - plot->window.since_ns;
    if (isnan(value) || time_ns > plot->window.until_ns)
        return;
    size_t place = 0;
    if (time_ns >= plot->window.since_ns) {
        uint64_t offset = time_ns - plot->window.since_ns;
        place = length ? (size_t)((__uint128_t)offset * plot->pixels / length) : 0;
        place = 1 + (place < plot->pixels ? place : plot->pixels - 1);
        if (!plot->most_ns || value > plot->most) {
            plot->most = value;
            plot->most_ns = time_ns;
        }
    }
    struct plot_cell *cell = &plot->cells[place];
    if (!cell->is_used || place == 0) {
        if (cell->is_used && time_ns < cell->last_ns)
            return;
        *cell = (struct plot_cell){time_ns, time_ns, value, value, value, true};
        return;
    }
    cell->min = value < cell->min ? value : cell->min;
    cell->max = value > cell->max ? value : cell->max;
    cell->time_ns = time_ns < cell->time_ns ? time_ns : cell->time_ns;
    if (time_ns >= cell->last_ns) {
        cell->last_ns = time_ns;
        cell->last = value;
    }
}

static void put_column(struct json *j, const struct plot *plot, const struct serve_trace *st, const char *key)
{
    json_key(j, key);
    json_array(j, JSON_INLINE);
    for (size_t i = 0; i <= plot->pixels; i++) {
        const struct plot_cell *cell = &plot->cells[i];
        if (!cell->is_used)
            continue;
        if (strcmp(key, "time") == 0)
            json_unsigned(j, serve_since(st, cell->time_ns));
        else
            json_real(j, strcmp(key, "min") == 0   ? cell->min
                         : strcmp(key, "max") == 0 ? cell->max
                                                   : cell->last);
    }
    json_end(j);
}

static int plot_answer(const struct plot *plot, const struct serve_trace *st, struct bytes *out,
                       struct error *err)
{
    struct json j = query_json(out);
    json_object(&j, JSON_LINES);
    put_column(&j, plot, st, "time");
    put_column(&j, plot, st, "min");
    put_column(&j, plot, st, "max");
    put_column(&j, plot, st, "last");
    json_key(&j, "peak_at");
    if (plot->most_ns)
        json_unsigned(&j, serve_since(st, plot->most_ns));
    else
        json_null(&j);
    json_end(&j);
    return query_json_end(&j, out, err);
}

/* --- counters --- */

int query_counter(struct serve_trace *st, const struct query *q, struct bytes *out, struct error *err)
{
    struct plot plot = {0};
    struct trace_rows rows = {0};
    const struct trace_block *block;
    uint32_t track;
    uint64_t name = TRACE_NONE;
    size_t position = 0;
    int status = query_track(q, st, &track, err);
    if (!status)
        status = query_unsigned(q, "name", TRACE_NONE, &name, err);
    if (!status)
        status = plot_make(&plot, st, q, err);
    /* From the start of the trace: the last value before the window holds at its beginning. */
    const struct trace_block_filter filter = {
        .type = TRACE_BLOCK_COUNTERS, .track_plus_1 = track + 1, .until_ns = plot.window.until_ns};
    while (!status && (block = trace_next_block(st->trace, &filter, &position))) {
        status = trace_decode_rows(st->trace, block, &rows, err);
        for (size_t i = 0; i < rows.count && !status; i++) {
            if (rows.counters[i].track == track && rows.counters[i].name == name)
                plot_add(&plot, rows.counters[i].time, rows.counters[i].value);
        }
    }
    trace_rows_free(&rows);
    if (!status)
        status = plot_answer(&plot, st, out, err);
    free(plot.cells);
    return status;
}

/* --- memory --- */

struct pool_plot {
    struct plot plot;
    const char *name;
    uint64_t *in_use; /* by the reader's number of the pool: one per process */
    size_t capacity;
    uint64_t sum;
};

static int see_memory(void *context, const struct memory_change *change)
{
    struct pool_plot *p = context;
    if (strcmp(change->pool_name, p->name) != 0)
        return 0;
    size_t had = p->capacity;
    if (!array_reserve(&p->in_use, &p->capacity, (size_t)change->pool + 1, sizeof *p->in_use))
        return -ENOMEM;
    if (p->capacity > had)
        memset(p->in_use + had, 0, (p->capacity - had) * sizeof *p->in_use);
    p->sum += change->in_use_bytes - p->in_use[change->pool];
    p->in_use[change->pool] = change->in_use_bytes;
    plot_add(&p->plot, change->ns, (double)p->sum);
    return 0;
}

int query_memory(struct serve_trace *st, const struct query *q, struct bytes *out, struct error *err)
{
    struct pool_plot p = {.name = ""};
    struct trace_filter filter = {0};
    uint64_t pool = TRACE_NONE;
    int status = plot_make(&p.plot, st, q, err);
    if (!status)
        status = query_unsigned(q, "pool", TRACE_NONE, &pool, err);
    if (!status && pool != TRACE_NONE)
        p.name = trace_get_name(st->trace, (uint32_t)pool)->name;
    if (!status)
        status = query_filter(st, &p.plot.window, &filter, err);
    if (!status)
        status = memory_use_read(
            &(struct memory_reader){
                .trace = st->trace, .filter = &filter, .visit = see_memory, .context = &p},
            NULL, NULL, err);
    if (!status)
        status = plot_answer(&p.plot, st, out, err);
    free(p.plot.cells);
    free(p.in_use);
    trace_filter_free(&filter);
    return status;
}
