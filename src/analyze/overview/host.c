/* SPDX-License-Identifier: Apache-2.0 */
/* What the host's threads did: the main thread's time in parts, and the functions of all threads by their own time.
 *
 * The own times of all zones of a thread add up to the time in which any zone was open, so that statistics by name,
 * which are one pass over the columns, are enough to say how long the thread worked and waited. Only imports, which
 * count with all that is inside them, need the nesting: another pass, where there are any. */
#include <stdlib.h>
#include <string.h>

#include "analyze/overview/internal.h"
#include "analyze/zones/stats.h"
#include "analyze/zones/waiting.h"
#include "analyze/zonewalk.h"

#define FUNCTIONS_KEPT 64u
/* Imports that take less of the main thread's time are part of its work. */
#define IMPORT_SHARE 0.2

int overview_filter_make(struct overview_filter *own, const struct overview *o,
                         const struct trace_filter *base, struct error *err)
{
    const struct trace_info *info = trace_get_info(o->trace);
    own->filter = *base;
    own->wanted = calloc(base->track_count + 1, sizeof own->wanted[0]);
    if (!own->wanted)
        return error_no_memory(err, "the tracks of the trace");
    own->filter.track_wanted = own->wanted;
    own->filter.has_tracks = true;
    own->filter.is_everything = false;
    own->filter.since_ns = o->from_ns;
    own->filter.until_ns = o->to_ns;
    own->filter.has_window = base->has_window || o->from_ns > info->start_ns || o->to_ns < info->end_ns;
    return 0;
}

/* --- imports --- */

static bool is_import(const char *name)
{
    return strncmp(name, "import ", 7) == 0;
}

enum { KEY_IMPORT = 1, KEY_WAIT = 2 };

struct importing {
    uint64_t start, end; /* of the outermost import that was visited last */
    uint64_t imports_ns, waits_ns;
};

static bool visit_import(void *context, const struct walked_zone *zone)
{
    struct importing *i = context;
    uint64_t duration = zone->end_ns - zone->start_ns;
    bool is_inside = zone->start_ns >= i->start && zone->end_ns <= i->end;
    if (zone->key == KEY_WAIT) {
        i->waits_ns += is_inside && duration > zone->child_ns ? duration - zone->child_ns : 0;
    } else if (!is_inside) {
        i->start = zone->start_ns;
        i->end = zone->end_ns;
        i->imports_ns += duration;
    }
    return true;
}

/* Time in imports, and what of it was spent waiting. */
static int find_imports(const struct overview *o, const struct trace_filter *filter,
                        struct importing *importing, struct error *err)
{
    size_t count = trace_name_count(o->trace);
    uint32_t *keys = malloc((count + 1) * sizeof *keys);
    bool has_any = false;
    *importing = (struct importing){.start = UINT64_MAX};
    if (!keys)
        return error_no_memory(err, "the names of zones");
    for (uint32_t i = 0; i < count; i++) {
        const char *name = trace_get_name(o->trace, i)->name;
        keys[i] = is_import(name) ? KEY_IMPORT : waiting_is_name(name) ? KEY_WAIT : ZONE_WALK_SKIP;
        has_any |= keys[i] == KEY_IMPORT;
    }
    keys[count] = ZONE_WALK_SKIP;
    struct zone_walk walk = {.trace = o->trace,
                             .filter = filter,
                             .key_of = keys,
                             .key_count = count + 1,
                             .has_open_zones = true,
                             .has_child_times = true,
                             .visit = visit_import,
                             .context = importing};
    int status = has_any ? zone_walk(&walk, err) : 0;
    free(keys);
    return status;
}

static uint64_t at_most(uint64_t value, uint64_t most)
{
    return value < most ? value : most;
}

/* --- functions --- */

static int compare_self(const void *left, const void *right)
{
    const struct overview_function *a = left, *b = right;
    if (a->self_ns != b->self_ns)
        return a->self_ns < b->self_ns ? 1 : -1;
    return (a->name > b->name) - (a->name < b->name);
}

static void sort_functions(struct overview_function *items, size_t *count)
{
    if (*count)
        qsort(items, *count, sizeof *items, compare_self);
    if (*count > FUNCTIONS_KEPT)
        *count = FUNCTIONS_KEPT;
}

static int take_functions(struct overview *o, const struct zone_stats *stats, const uint64_t *paused_ns,
                          struct error *err)
{
    o->working = malloc((stats->row_count + 1) * sizeof o->working[0]);
    o->waiting = malloc((stats->row_count + 1) * sizeof o->waiting[0]);
    if (!o->working || !o->waiting)
        return error_no_memory(err, "the functions of the trace");
    size_t names = trace_name_count(o->trace);
    for (size_t i = 0; i < stats->row_count; i++) {
        const struct zone_stats_row *row = &stats->rows[i];
        struct overview_function function = {row->name, row->name_count, row->self_ns, row->total_ns,
                                             row->count};
        if (paused_ns)
            function.self_ns -= at_most(paused_ns[row->name < names ? row->name : names], function.self_ns);
        if (waiting_is_name(trace_get_name(o->trace, row->name)->name))
            o->waiting[o->waiting_count++] = function;
        else
            o->working[o->working_count++] = function;
    }
    sort_functions(o->working, &o->working_count);
    sort_functions(o->waiting, &o->waiting_count);
    return 0;
}

/* --- the main thread --- */

/* No other thread has zones, and nothing but the window was asked for. */
static bool is_only_thread(const struct overview *o, const struct trace_filter *filter)
{
    for (uint32_t i = 0; i < filter->track_count; i++) {
        if (i != o->main_track && trace_filter_wants_track(filter, i) &&
            overview_is_host(trace_get_track(o->trace, i)) && trace_track_all_depths(o->trace, i) > 0)
            return false;
    }
    return filter->wants_all_names;
}

struct thread_times {
    uint64_t recorded, waiting;
};

/* From the own times of zones. */
static struct thread_times sum_times(const struct trace *trace, const struct zone_stats *stats,
                                     struct overview_function *longest_wait)
{
    struct thread_times times = {0, 0};
    for (size_t i = 0; i < stats->row_count; i++) {
        const struct zone_stats_row *row = &stats->rows[i];
        times.recorded += row->self_ns;
        if (!waiting_is_name(trace_get_name(trace, row->name)->name))
            continue;
        times.waiting += row->self_ns;
        if (row->self_ns > longest_wait->self_ns)
            *longest_wait = (struct overview_function){row->name, row->name_count, row->self_ns,
                                                       row->total_ns, row->count};
    }
    return times;
}

static bool visit_outermost(void *context, const struct walked_zone *zone)
{
    uint64_t *sum_ns = context;
    if (zone->depth == 0)
        *sum_ns += zone->end_ns - zone->start_ns;
    return true;
}

/* Time in which the main thread had any zone open. */
static int sum_outermost(const struct overview *o, const struct trace_filter *filter, uint64_t *sum_ns,
                         struct error *err)
{
    size_t count = trace_name_count(o->trace);
    uint32_t *keys = calloc(count + 1, sizeof *keys);
    if (!keys)
        return error_no_memory(err, "the names of zones");
    struct zone_walk walk = {.trace = o->trace,
                             .filter = filter,
                             .key_of = keys,
                             .key_count = count + 1,
                             .has_open_zones = true,
                             .visit = visit_outermost,
                             .context = sum_ns};
    int status = zone_walk(&walk, err);
    free(keys);
    return status;
}

/* A turn of a coroutine is a zone of the thread, but what it runs is on the task's track: its own times are not in
 * those of the thread, which is why they do not add up to the time in which a zone was open. What they lack is in
 * turns, and the tasks know how much of it they waited. Fibers have no turns: nothing is lacking for them. */
static int add_turns(struct overview *o, struct overview_filter *own, struct thread_times *times,
                     struct error *err)
{
    struct zone_stats stats = {0};
    struct overview_function longest = o->main_wait;
    uint64_t open_ns = 0;
    bool has_tasks = false;
    int status = 0;
    for (uint32_t i = 0; i < own->filter.track_count && o->main_track != TRACE_NONE; i++) {
        const struct trace_track *track = trace_get_track(o->trace, i);
        has_tasks |= track->kind == TRACE_TRACK_TASK && track->parent == o->main_track;
    }
    if (has_tasks)
        status = sum_outermost(o, &own->filter, &open_ns, err);
    if (status || open_ns <= times->recorded)
        return status;
    for (uint32_t i = 0; i < own->filter.track_count; i++) {
        const struct trace_track *track = trace_get_track(o->trace, i);
        own->wanted[i] = track->kind == TRACE_TRACK_TASK && track->parent == o->main_track;
    }
    status = zone_stats_make(&stats, o->trace, &own->filter, ZONE_STATS_BY_NAME, err);
    struct thread_times of_tasks = sum_times(o->trace, &stats, &longest);
    if (of_tasks.waiting <= open_ns - times->recorded)
        o->main_wait = longest;
    times->waiting += at_most(of_tasks.waiting, open_ns - times->recorded);
    times->recorded = open_ns;
    zone_stats_free(&stats);
    return status;
}

int overview_main_thread(struct overview *o, const struct trace_filter *filter, struct error *err)
{
    struct overview_filter own;
    struct zone_stats stats = {0};
    struct importing importing = {0};
    struct overview_paused paused = {0};
    uint64_t window = o->to_ns - o->from_ns, imports = 0;
    int status = overview_filter_make(&own, o, filter, err);
    if (status)
        return status;
    own.filter.wants_all_names = true; /* the parts are of all that the thread did */
    own.filter.name_wanted = own.filter.place_wanted = NULL;
    own.filter.name_count = 0;
    if (o->main_track < filter->track_count)
        own.wanted[o->main_track] = true;
    status = overview_find_paused(&paused, o, &own.filter, err);
    if (!status)
        status = zone_stats_make(&stats, o->trace, &own.filter, ZONE_STATS_BY_NAME, err);
    if (!status && is_only_thread(o, filter)) /* then they are the functions of all */
        status = take_functions(o, &stats, paused.by_name, err);
    struct thread_times times = sum_times(o->trace, &stats, &o->main_wait);
    zone_stats_free(&stats);
    if (!status && o->kind == OVERVIEW_PYTHON)
        status = find_imports(o, &own.filter, &importing, err);
    if (!status)
        status = add_turns(o, &own, &times, err);
    window -= at_most(paused.total_ns, window);
    times.waiting -= at_most(paused.in_waits_ns, times.waiting);
    times.recorded = at_most(times.recorded - at_most(paused.in_zones_ns, times.recorded), window);
    if ((double)importing.imports_ns > IMPORT_SHARE * (double)window) {
        imports = at_most(importing.imports_ns, times.recorded);
        times.waiting -= at_most(importing.waits_ns, times.waiting);
    }
    times.waiting = at_most(times.waiting, times.recorded - imports);
    overview_add_part(o, OVERVIEW_WORKING, times.recorded - imports - times.waiting);
    overview_add_part(o, OVERVIEW_WAITING, times.waiting);
    if (imports)
        overview_add_part(o, OVERVIEW_IMPORTS, imports);
    if (paused.total_ns)
        overview_add_part(o, OVERVIEW_PAUSED, at_most(paused.total_ns, o->to_ns - o->from_ns));
    overview_add_part(o, OVERVIEW_NOTHING, window - times.recorded);
    free(paused.by_name);
    overview_filter_free(&own);
    return status;
}

/* A span is an interval, in which its thread does other things; they count where nothing else is there. */
static bool is_work(const struct overview *o, const struct trace_track *track)
{
    return overview_is_host(track) && (track->kind != TRACE_TRACK_SPAN || o->main_track == TRACE_NONE);
}

int overview_functions(struct overview *o, const struct trace_filter *filter, struct error *err)
{
    struct overview_filter own;
    struct zone_stats stats = {0};
    struct overview_paused paused = {0};
    if (o->working) /* they came with the main thread's time */
        return 0;
    int status = overview_filter_make(&own, o, filter, err);
    if (status)
        return status;
    for (uint32_t i = 0; i < filter->track_count; i++)
        own.wanted[i] = trace_filter_wants_track(filter, i) && is_work(o, trace_get_track(o->trace, i));
    status = overview_find_paused(&paused, o, &own.filter, err);
    if (!status)
        status = zone_stats_make(&stats, o->trace, &own.filter, ZONE_STATS_BY_NAME, err);
    if (!status)
        status = take_functions(o, &stats, paused.by_name, err);
    zone_stats_free(&stats);
    free(paused.by_name);
    overview_filter_free(&own);
    return status;
}
