/* SPDX-License-Identifier: Apache-2.0 */
/* What the devices' time was spent on, and what the host did while they stood still.
 *
 * The runs of all devices are joined to spans in which any of them was busy; what the window has between those is idle.
 * The zones of the threads that launched ops are read once: in each idle span a thread was in some zone (recorded), and
 * part of that time was the own time of zones that wait. A zone that waits and reaches over the border of an idle span
 * counts with its own time's share of it. Of several threads, the one that worked most of a span stands for the host.
 *
 * For the longest gaps the code that filled them is found by looking at MOMENTS of each: the innermost zone at each of
 * them stands for its part, so that the parts add up to the gap. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/overview/internal.h"
#include "analyze/zoneblocks.h"
#include "analyze/zones/waiting.h"
#include "base/checked.h"

#define HOST_THREADS 4u /* that launch most */
#define GAPS_LOOKED_AT 256u
#define MOMENTS 16u

struct moment {
    uint64_t time_ns;
    uint32_t gap;
};

struct found {
    uint32_t name, depth_plus_1; /* 0: no zone */
};

struct start { /* of a run */
    uint64_t ns;
    uint32_t run;
};

struct sweep {
    struct overview *o;
    const struct ops *ops;
    const struct trace_filter *filter;
    struct time_spans busy, idle;
    struct start *starts; /* in order */
    size_t start_count;
    uint32_t threads[HOST_THREADS];
    size_t thread_count;
    struct sums {
        uint64_t recorded, waiting;
    } * sums[HOST_THREADS]; /* by idle span */
    bool *waits;            /* by name */
    size_t name_count;
    struct moment *moments; /* in order of time */
    size_t moment_count;
    struct found *found[HOST_THREADS]; /* by moment */
};

/* --- busy and idle --- */

static bool is_measured(const struct op_run *run)
{
    return run->track != OPS_NONE && run->duration_ns != OPS_NO_DURATION && !(run->faults & OP_FAULT_STALE);
}

static int compare_starts(const void *left, const void *right)
{
    const struct start *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns < b->ns ? -1 : 1;
    return (a->run > b->run) - (a->run < b->run);
}

static bool find_idle(struct sweep *s)
{
    const struct overview *o = s->o;
    s->starts = malloc((s->ops->run_count + 1) * sizeof s->starts[0]);
    if (!s->starts)
        return false;
    for (size_t i = 0; i < s->ops->run_count; i++) {
        const struct op_run *run = &s->ops->runs[i];
        uint64_t start = run->start_ns, end = saturating_add_u64(start, run->duration_ns);
        if (!is_measured(run) || !trace_filter_wants_track(s->filter, run->track) || end <= o->from_ns ||
            start >= o->to_ns)
            continue;
        s->starts[s->start_count++] = (struct start){start, (uint32_t)i};
        if (!time_spans_add(&s->busy, start > o->from_ns ? start : o->from_ns,
                            end < o->to_ns ? end : o->to_ns))
            return false;
    }
    if (s->start_count)
        qsort(s->starts, s->start_count, sizeof s->starts[0], compare_starts);
    time_spans_join(&s->busy);
    return time_spans_invert(&s->idle, &s->busy, o->from_ns, o->to_ns);
}

/* The run that begins at a time, which is where an idle span ends; OPS_NONE at the end of the window. */
static uint32_t run_at(const struct sweep *s, uint64_t ns)
{
    size_t low = 0, high = s->start_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->starts[middle].ns < ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->start_count && s->starts[low].ns == ns ? s->starts[low].run : OPS_NONE;
}

/* --- the threads that launch --- */

static bool has_zones(const struct sweep *s, uint32_t track)
{
    const struct trace_track *about = trace_get_track(s->o->trace, track);
    return about && overview_is_host(about) && trace_filter_wants_track(s->filter, track) &&
           trace_track_all_depths(s->o->trace, track) > 0;
}

static bool find_threads(struct sweep *s)
{
    size_t count = trace_track_count(s->o->trace);
    uint64_t *calls = calloc(count + 1, sizeof *calls);
    if (!calls)
        return false;
    for (size_t i = 0; i < s->ops->call_count; i++) {
        if (s->ops->calls[i].track < count)
            calls[s->ops->calls[i].track]++;
    }
    while (s->thread_count < HOST_THREADS) {
        uint32_t most = TRACE_NONE;
        for (uint32_t i = 0; i < count; i++) {
            if (calls[i] && (most == TRACE_NONE || calls[i] > calls[most]) && has_zones(s, i))
                most = i;
        }
        if (most == TRACE_NONE)
            break;
        calls[most] = 0;
        s->threads[s->thread_count++] = most;
    }
    free(calls);
    if (!s->thread_count && s->o->main_track != TRACE_NONE)
        s->threads[s->thread_count++] = s->o->main_track;
    return true;
}

/* --- gaps --- */

static int compare_gaps(const void *left, const void *right)
{
    const struct overview_gap *a = left, *b = right;
    if (a->duration_ns != b->duration_ns)
        return a->duration_ns < b->duration_ns ? 1 : -1;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static uint32_t name_of_run(const struct sweep *s, uint32_t run)
{
    uint32_t call = s->ops->runs[run].call;
    return call < s->ops->call_count ? s->ops->calls[call].name : OPS_NONE;
}

static void sort_gaps(struct overview *o)
{
    if (o->gap_count)
        qsort(o->gaps, o->gap_count, sizeof o->gaps[0], compare_gaps);
}

static bool is_short(const struct overview *o, uint64_t ns)
{
    return (double)ns <= o->perf.machine->gap_mark_us * 1000;
}

/* Idle spans that end with a run and are longer than the mark. */
static bool find_gaps(struct sweep *s)
{
    struct overview *o = s->o;
    uint64_t *durations = malloc((s->idle.count + 1) * sizeof durations[0]);
    size_t count = 0;
    o->gaps = malloc((s->idle.count + 1) * sizeof o->gaps[0]);
    for (size_t i = 0; durations && o->gaps && i < s->idle.count; i++) {
        const struct time_span *span = &s->idle.items[i];
        uint32_t run = run_at(s, span->end);
        if (run == OPS_NONE)
            continue;
        durations[count++] = span->end - span->start;
        o->short_gap_count += is_short(o, span->end - span->start);
        if (is_short(o, span->end - span->start))
            continue;
        o->gaps[o->gap_count++] = (struct overview_gap){.start_ns = span->start,
                                                        .duration_ns = span->end - span->start,
                                                        .track = s->ops->runs[run].track,
                                                        .before = name_of_run(s, run)};
        o->gap_sum_ns += span->end - span->start;
    }
    bool is_done = durations && o->gaps;
    if (is_done)
        overview_make_bins(o, durations, count);
    free(durations);
    sort_gaps(o);
    return is_done;
}

static int compare_moments(const void *left, const void *right)
{
    const struct moment *a = left, *b = right;
    return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static bool make_moments(struct sweep *s)
{
    size_t count = s->o->gap_count < GAPS_LOOKED_AT ? s->o->gap_count : GAPS_LOOKED_AT;
    s->moments = malloc((count * MOMENTS + 1) * sizeof s->moments[0]);
    if (!s->moments)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct overview_gap *gap = &s->o->gaps[i];
        for (uint64_t k = 0; k < MOMENTS; k++)
            s->moments[s->moment_count++] = (struct moment){
                gap->start_ns + (uint64_t)((double)gap->duration_ns * ((double)k + 0.5) / MOMENTS),
                (uint32_t)i};
    }
    if (s->moment_count)
        qsort(s->moments, s->moment_count, sizeof s->moments[0], compare_moments);
    for (size_t t = 0; t < s->thread_count; t++) {
        s->found[t] = calloc(s->moment_count + 1, sizeof s->found[t][0]);
        s->sums[t] = calloc(s->idle.count + 1, sizeof s->sums[t][0]);
        if (!s->found[t] || !s->sums[t])
            return false;
    }
    return true;
}

/* --- what the threads did --- */

struct place { /* in the idle spans and in the moments; zones come in order of start */
    size_t idle, moment;
};

struct zone {
    uint64_t start, duration, child;
    uint32_t name, depth;
};

static void add_idle(const struct sweep *s, size_t thread, const struct zone *zone, size_t *at, bool waits)
{
    uint64_t end = saturating_add_u64(zone->start, zone->duration);
    double own = waits && zone->duration > zone->child
                     ? (double)(zone->duration - zone->child) / (double)zone->duration
                     : 0;
    while (*at < s->idle.count && s->idle.items[*at].end <= zone->start)
        ++*at;
    for (size_t i = *at; i < s->idle.count && s->idle.items[i].start < end; i++) {
        const struct time_span *span = &s->idle.items[i];
        uint64_t part =
            (end < span->end ? end : span->end) - (zone->start > span->start ? zone->start : span->start);
        if (zone->depth == 0)
            s->sums[thread][i].recorded += part;
        s->sums[thread][i].waiting += (uint64_t)((double)part * own);
    }
}

static void add_zone(const struct sweep *s, size_t thread, const struct zone *zone, struct place *at)
{
    bool waits = zone->name < s->name_count && s->waits[zone->name];
    uint64_t end = saturating_add_u64(zone->start, zone->duration);
    if (zone->depth == 0 || waits)
        add_idle(s, thread, zone, &at->idle, waits);
    while (at->moment < s->moment_count && s->moments[at->moment].time_ns < zone->start)
        at->moment++;
    for (size_t m = at->moment; m < s->moment_count && s->moments[m].time_ns < end; m++) {
        if (s->found[thread][m].depth_plus_1 <= zone->depth)
            s->found[thread][m] = (struct found){zone->name, zone->depth + 1};
    }
}

static size_t thread_of(const struct sweep *s, uint32_t track)
{
    size_t t = 0;
    while (t < s->thread_count && s->threads[t] != track)
        t++;
    return t;
}

static void look_at_rows(const struct sweep *s, const struct zone_rows *rows)
{
    for (size_t g = 0; g < rows->group_count; g++) {
        const struct zone_rows_group *group = &rows->groups[g];
        size_t thread = thread_of(s, group->track);
        struct place at = {0, 0};
        if (thread == s->thread_count)
            continue;
        for (size_t i = group->first; i < (size_t)group->first + group->count; i++) {
            struct zone zone = {rows->start[i], rows->duration[i], rows->child[i], rows->name[i],
                                group->depth};
            add_zone(s, thread, &zone, &at);
        }
    }
}

static void look_at_open_zones(const struct sweep *s)
{
    size_t count = 0;
    const struct trace_open_zone *zones = trace_get_open_zones(s->o->trace, &count);
    for (size_t i = 0; i < count; i++) {
        size_t thread = thread_of(s, zones[i].track);
        struct place at = {0, 0};
        struct zone zone = {zones[i].start, zones[i].seen - zones[i].start, zones[i].child, zones[i].name,
                            zones[i].depth};
        if (thread < s->thread_count)
            add_zone(s, thread, &zone, &at);
    }
}

static int look_at_threads(struct sweep *s, struct error *err)
{
    struct overview_filter own;
    struct zone_blocks blocks = {0};
    struct zone_rows rows = {0};
    int status = overview_filter_make(&own, s->o, s->filter, err);
    if (status)
        return status;
    s->name_count = trace_name_count(s->o->trace);
    s->waits = malloc(s->name_count + 1);
    if (!s->waits)
        status = error_no_memory(err, "the names of zones");
    for (uint32_t i = 0; i < s->name_count && !status; i++)
        s->waits[i] = waiting_is_name(trace_get_name(s->o->trace, i)->name);
    for (size_t t = 0; t < s->thread_count; t++)
        own.wanted[s->threads[t]] = true;
    if (!status)
        status = zone_blocks_list(&blocks, s->o->trace, &own.filter, err);
    for (size_t i = 0; i < blocks.count && !status; i++) {
        status = trace_decode_zones(
            s->o->trace, blocks.items[i],
            TRACE_COLUMN_START | TRACE_COLUMN_DURATION | TRACE_COLUMN_CHILD | TRACE_COLUMN_NAME, &rows, err);
        if (!status)
            look_at_rows(s, &rows);
    }
    if (!status)
        look_at_open_zones(s);
    zone_rows_free(&rows);
    zone_blocks_free(&blocks);
    overview_filter_free(&own);
    return status;
}

/* --- the sums --- */

/* What the host did in an idle span: the parts add up to it. */
struct host_parts {
    uint64_t working, waiting, nothing;
};

static struct host_parts host_parts(const struct sweep *s, size_t i)
{
    uint64_t length = s->idle.items[i].end - s->idle.items[i].start;
    struct host_parts parts = {0};
    for (size_t t = 0; t < s->thread_count; t++) {
        const struct sums *sums = &s->sums[t][i];
        uint64_t recorded = sums->recorded < length ? sums->recorded : length;
        uint64_t waiting = sums->waiting < recorded ? sums->waiting : recorded;
        parts.working = recorded - waiting > parts.working ? recorded - waiting : parts.working;
        parts.waiting = waiting > parts.waiting ? waiting : parts.waiting;
    }
    if (parts.waiting > length - parts.working)
        parts.waiting = length - parts.working;
    parts.nothing = length - parts.working - parts.waiting;
    return parts;
}

static enum overview_class class_of(const struct host_parts *parts)
{
    if (parts->nothing > parts->working && parts->nothing > parts->waiting)
        return OVERVIEW_HOST_UNKNOWN;
    return parts->working >= parts->waiting ? OVERVIEW_HOST_WORKING : OVERVIEW_HOST_WAITING;
}

/* Where an idle span is: in a gap, in one that is too short to be one, or at the end. */
static void add_idle_parts(const struct sweep *s, size_t i, const struct host_parts *parts)
{
    struct overview *o = s->o;
    const struct time_span *span = &s->idle.items[i];
    const uint64_t times[OVERVIEW_IDLE_PARTS] = {parts->working, parts->waiting, parts->nothing};
    for (size_t k = 0; k < OVERVIEW_IDLE_PARTS; k++) {
        struct overview_idle *idle = &o->idle[k];
        *(run_at(s, span->end) == OPS_NONE       ? &idle->end_ns
          : is_short(o, span->end - span->start) ? &idle->short_ns
                                                 : &idle->gaps_ns) += times[k];
    }
}

static void add_parts(struct sweep *s)
{
    struct overview *o = s->o;
    struct host_parts all = {0};
    o->idle[0].key = OVERVIEW_IDLE_HOST_WORKING;
    o->idle[1].key = OVERVIEW_IDLE_HOST_WAITING;
    o->idle[2].key = OVERVIEW_NOTHING;
    o->idle_count = OVERVIEW_IDLE_PARTS;
    for (size_t i = 0; i < s->idle.count; i++) {
        struct host_parts parts = host_parts(s, i);
        all.working += parts.working;
        all.waiting += parts.waiting;
        all.nothing += parts.nothing;
        add_idle_parts(s, i, &parts);
    }
    o->is_device = true;
    overview_add_part(o, OVERVIEW_BUSY, time_spans_total(&s->busy));
    overview_add_part(o, OVERVIEW_IDLE_HOST_WORKING, all.working);
    overview_add_part(o, OVERVIEW_IDLE_HOST_WAITING, all.waiting);
    overview_add_part(o, OVERVIEW_NOTHING, all.nothing);
    for (size_t g = 0; g < o->gap_count; g++) {
        size_t low = 0, high = s->idle.count; /* the span of the gap is there */
        while (low + 1 < high) {
            size_t middle = low + (high - low) / 2;
            if (s->idle.items[middle].start <= o->gaps[g].start_ns)
                low = middle;
            else
                high = middle;
        }
        struct host_parts parts = host_parts(s, low);
        o->gaps[g].class_ = class_of(&parts);
        o->gaps[g].working_ns = parts.working;
        o->gaps[g].waiting_ns = parts.waiting;
    }
}

/* --- the code that filled the gaps --- */

struct names {
    struct overview_host *items;
    size_t count, capacity;
};

static bool add_name(struct names *names, uint32_t name, uint64_t ns)
{
    for (size_t i = 0; i < names->count; i++) {
        if (names->items[i].name == name) {
            names->items[i].ns += ns;
            return true;
        }
    }
    if (!array_reserve(&names->items, &names->capacity, names->count + 1, sizeof names->items[0]))
        return false;
    names->items[names->count++] = (struct overview_host){name, ns};
    return true;
}

static int compare_hosts(const void *left, const void *right)
{
    const struct overview_host *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns < b->ns ? 1 : -1;
    return (a->name > b->name) - (a->name < b->name);
}

static size_t take_longest(struct names *names, struct overview_host *into)
{
    size_t count = names->count < OVERVIEW_HOST_NAMES ? names->count : OVERVIEW_HOST_NAMES;
    if (names->count)
        qsort(names->items, names->count, sizeof names->items[0], compare_hosts);
    if (count)
        memcpy(into, names->items, count * sizeof into[0]);
    names->count = 0;
    return count;
}

/* What stands for the host at a moment: a zone that works rather than one that waits. */
static uint32_t name_at(const struct sweep *s, size_t moment)
{
    uint32_t name = TRACE_NONE;
    for (size_t t = 0; t < s->thread_count; t++) {
        const struct found *found = &s->found[t][moment];
        if (!found->depth_plus_1)
            continue;
        if (found->name < s->name_count && !s->waits[found->name])
            return found->name;
        name = name == TRACE_NONE ? found->name : name;
    }
    return name;
}

static int compare_by_gap(const void *left, const void *right)
{
    const struct moment *a = left, *b = right;
    return (a->gap > b->gap) - (a->gap < b->gap);
}

/* Moments by their gaps, with the name in place of the time. */
static bool name_gaps(struct sweep *s)
{
    struct overview *o = s->o;
    struct names of_gap = {0}, of_all = {0};
    bool is_done = true;
    for (size_t m = 0; m < s->moment_count; m++)
        s->moments[m].time_ns = name_at(s, m);
    if (s->moment_count)
        qsort(s->moments, s->moment_count, sizeof s->moments[0], compare_by_gap);
    for (size_t m = 0; m < s->moment_count && is_done; m++) {
        struct overview_gap *gap = &o->gaps[s->moments[m].gap];
        uint64_t part = gap->duration_ns / MOMENTS + (m % MOMENTS < gap->duration_ns % MOMENTS);
        uint32_t name = (uint32_t)s->moments[m].time_ns;
        is_done = add_name(&of_gap, name, part) && add_name(&of_all, name, part);
        if (m % MOMENTS == MOMENTS - 1)
            gap->host_count = take_longest(&of_gap, gap->host);
    }
    o->gap_host_count = take_longest(&of_all, o->gap_host);
    free(of_gap.items);
    free(of_all.items);
    return is_done;
}

int overview_device_times(struct overview *o, const struct ops *ops, const struct trace_filter *filter,
                          struct error *err)
{
    struct sweep s = {.o = o, .ops = ops, .filter = filter};
    bool is_done = find_idle(&s) && find_threads(&s) && find_gaps(&s) && make_moments(&s);
    int status = is_done ? 0 : error_no_memory(err, "the runs of ops");
    if (!status)
        status = look_at_threads(&s, err);
    if (!status) {
        add_parts(&s);
        if (!name_gaps(&s))
            status = error_no_memory(err, "the gaps between ops");
    }
    for (size_t t = 0; t < s.thread_count; t++) {
        free(s.sums[t]);
        free(s.found[t]);
    }
    free(s.starts);
    free(s.moments);
    free(s.waits);
    time_spans_free(&s.busy);
    time_spans_free(&s.idle);
    return status;
}

/* --- from the report alone --- */

static uint64_t whole_ns(double us)
{
    return us > 0 ? (uint64_t)llround(us * 1000) : 0;
}

int overview_device_sums(struct overview *o, struct error *err)
{
    const struct perf *perf = &o->perf;
    uint64_t *durations = malloc((perf->count + 1) * sizeof durations[0]), idle_ns = 0;
    size_t count = 0;
    o->gaps = malloc((perf->count + 1) * sizeof o->gaps[0]);
    if (!o->gaps || !durations) {
        free(durations);
        return error_no_memory(err, "the gaps between ops");
    }
    for (size_t i = 0; i < perf->count; i++) {
        const struct perf_row *row = perf_at(perf, i);
        uint64_t duration = whole_ns(row->shown_gap_us);
        bool is_long = row->shown_gap_us > perf->machine->gap_mark_us;
        if (duration)
            durations[count++] = duration;
        idle_ns += duration;
        o->short_gap_count += duration && !is_long;
        if (!is_long)
            continue;
        struct overview_place place = overview_place_of(o, row);
        bool has_place = place.track != TRACE_NONE && place.start_ns >= duration;
        o->gaps[o->gap_count++] =
            (struct overview_gap){.start_ns = has_place ? place.start_ns - duration : UINT64_MAX,
                                  .duration_ns = duration,
                                  .track = has_place ? place.track : TRACE_NONE,
                                  .before = overview_row_name(o, row)};
        o->gap_sum_ns += duration;
    }
    overview_make_bins(o, durations, count);
    free(durations);
    sort_gaps(o);
    o->is_device = true;
    overview_add_part(o, OVERVIEW_BUSY, whole_ns(perf->busy_us));
    overview_add_part(o, OVERVIEW_IDLE_HOST_UNKNOWN, idle_ns);
    o->idle[o->idle_count++] = (struct overview_idle){
        .key = OVERVIEW_IDLE_HOST_UNKNOWN, .gaps_ns = o->gap_sum_ns, .short_ns = idle_ns - o->gap_sum_ns};
    return 0;
}
