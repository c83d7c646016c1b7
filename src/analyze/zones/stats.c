/* SPDX-License-Identifier: Apache-2.0 */
/* See stats.h. Accumulators are found by (scope, name group), where a scope is the whole trace, a process
 * or a track: a two-level table per scope, pages of 256 names made on demand, so that 1,000 threads with many
 * names do not cost a full matrix. */
#include "analyze/zones/stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/zones/histogram.h"
#include "analyze/names.h"
#include "analyze/nesting.h"
#include "analyze/zones/waiting.h"
#include "analyze/zoneblocks.h"
#include "analyze/zonewalk.h"
#include "base/bytes.h"

#define PAGE_BITS 8u
#define PAGE_NAMES (1u << PAGE_BITS)

struct accumulator {
    uint64_t count, sum, child, min, max;
    uint64_t nested;             /* part of the sum that lies inside another zone of this accumulator */
    __uint128_t squares;         /* exact: a double would lose what makes the variance */
    struct histogram *histogram; /* NULL while the durations fit into `few` */
    uint64_t *few;
    size_t few_capacity;
    uint64_t open_count;
    uint64_t waiting, waiting_seen; /* time; the zone that added to it last, so that recursion adds once */
    uint32_t group, scope;
};

struct page {
    struct accumulator *entries[PAGE_NAMES];
};

struct scope {
    struct page **pages; /* by group >> PAGE_BITS; NULL until used */
};

struct counting {
    struct name_groups groups;
    struct scope *scopes;
    size_t scope_count, page_count;
    struct accumulator **all;
    size_t count, capacity;
    enum zone_stats_by by;
    struct nesting_depths *depths; /* by group */
    const struct trace *trace;
    const struct trace_filter *filter;
    struct border *borders; /* zones that reach out of the window, those read last first */
    size_t border_count, border_capacity;
};

/* A zone that reaches out of the window: the time of its children there is summed up as they are read. */
struct border {
    uint64_t start, end; /* of the whole zone */
    struct accumulator *a;
    uint32_t track, depth;
};

static struct accumulator *make_accumulator(struct counting *c, uint32_t scope, uint32_t group)
{
    struct page **pages = c->scopes[scope].pages;
    if (!pages) {
        pages = calloc(c->page_count, sizeof *pages);
        c->scopes[scope].pages = pages;
    }
    if (pages && !pages[group >> PAGE_BITS])
        pages[group >> PAGE_BITS] = calloc(1, sizeof(struct page));
    if (!pages || !pages[group >> PAGE_BITS])
        return NULL;
    struct accumulator *a = calloc(1, sizeof *a);
    if (!a || !array_reserve(&c->all, &c->capacity, c->count + 1, sizeof(struct accumulator *))) {
        free(a);
        return NULL;
    }
    a->group = group;
    a->scope = scope;
    a->min = UINT64_MAX;
    c->all[c->count++] = a;
    pages[group >> PAGE_BITS]->entries[group & (PAGE_NAMES - 1)] = a;
    return a;
}

static struct accumulator *find_accumulator(struct counting *c, uint32_t scope, uint32_t group)
{
    struct page **pages = c->scopes[scope].pages;
    struct page *page = pages ? pages[group >> PAGE_BITS] : NULL;
    struct accumulator *a = page ? page->entries[group & (PAGE_NAMES - 1)] : NULL;
    return a ? a : make_accumulator(c, scope, group);
}

/* The accumulator has no histogram yet: the duration goes to the list, or all of them go to the buckets. */
static bool keep_few(struct accumulator *a, uint64_t duration)
{
    if (a->count <= ZONE_STATS_EXACT) {
        if (!array_reserve(&a->few, &a->few_capacity, a->count, sizeof *a->few))
            return false;
        a->few[a->count - 1] = duration;
        return true;
    }
    a->histogram = calloc(1, sizeof *a->histogram);
    bool is_kept = a->histogram && histogram_add(a->histogram, duration);
    for (size_t i = 0; i < ZONE_STATS_EXACT && is_kept; i++)
        is_kept = histogram_add(a->histogram, a->few[i]);
    free(a->few);
    a->few = NULL;
    return is_kept;
}

static inline bool add_zone(struct accumulator *a, uint64_t duration, uint64_t child)
{
    a->count++;
    a->sum += duration;
    a->child += child;
    a->squares += (__uint128_t)duration * duration;
    a->min = duration < a->min ? duration : a->min;
    a->max = duration > a->max ? duration : a->max;
    return a->histogram ? histogram_add(a->histogram, duration) : keep_few(a, duration);
}

/* Makes `duration` that of the part in the window; 0 when there is none, 1 when there is, or -ENOMEM. A zone that is
 * cut gets its child time from its children, which are read after it. */
static int clip(struct counting *c, const struct zone_rows_group *group, struct accumulator *a,
                uint64_t start, uint64_t *duration, uint64_t *child)
{
    uint64_t inside = start, whole = *duration;
    if (!trace_filter_clip(c->filter, &inside, duration))
        return 0;
    if (*duration == whole)
        return 1;
    if (!array_reserve(&c->borders, &c->border_capacity, c->border_count + 1, sizeof c->borders[0]))
        return -ENOMEM;
    c->borders[c->border_count++] = (struct border){start, start + whole, a, group->track, group->depth};
    *child = 0;
    return 1;
}

/* The inner loop: rows of one track and depth. */
static int count_rows(struct counting *c, const struct zone_rows *rows, const struct zone_rows_group *rows_of,
                      uint32_t scope)
{
    const uint32_t *group_of = c->groups.group_of;
    uint32_t seen_name = UINT32_MAX;
    const size_t last_name = c->groups.map_count - 1;
    const bool has_window = c->filter->has_window;
    struct accumulator *a = NULL;
    uint32_t group_of_a = NAME_GROUP_UNWANTED;
    for (size_t i = rows_of->first; i < (size_t)rows_of->first + rows_of->count; i++) {
        uint64_t duration = rows->duration[i], child = rows->child[i];
        uint32_t name = rows->name[i];
        uint32_t group = group_of[name < last_name ? name : last_name];
        if (group == NAME_GROUP_UNWANTED)
            continue;
        if (__builtin_expect(name != seen_name, 0)) {
            c->groups.is_seen[name < last_name ? name : last_name] = true;
            seen_name = name;
        }
        if (__builtin_expect(group != group_of_a, 0)) {
            a = find_accumulator(c, scope, group);
            if (!a)
                return -ENOMEM;
            group_of_a = group;
            nesting_see(&c->depths[group], rows_of->depth);
        }
        if (has_window) {
            int is_inside = clip(c, rows_of, a, rows->start[i], &duration, &child);
            if (is_inside < 0)
                return is_inside;
            if (!is_inside)
                continue;
        }
        if (!add_zone(a, duration, child))
            return -ENOMEM;
    }
    return 0;
}

/* Adds the rows that lie in a border zone of the depth above to its child time. */
static void add_to_borders(struct counting *c, const struct zone_rows *rows,
                           const struct zone_rows_group *group)
{
    for (size_t b = 0; b < c->border_count; b++) {
        const struct border *border = &c->borders[b];
        if (border->track != group->track || border->depth + 1 != group->depth)
            continue;
        for (size_t i = group->first; i < (size_t)group->first + group->count; i++) {
            uint64_t start = rows->start[i], duration = rows->duration[i];
            if (start >= border->start && start + duration <= border->end &&
                trace_filter_clip(c->filter, &start, &duration))
                border->a->child += duration;
        }
    }
}

static uint32_t scope_of_track(const struct counting *c, uint32_t track)
{
    const struct trace_track *t = trace_get_track(c->trace, track);
    uint32_t scope = 0;
    if (c->by == ZONE_STATS_BY_THREAD)
        scope = track;
    else if (c->by == ZONE_STATS_BY_PROCESS && t)
        scope = t->process;
    /* The last scope takes rows of what the file does not define. */
    return scope < c->scope_count ? scope : (uint32_t)c->scope_count - 1;
}

static int compare_depths(const void *left, const void *right)
{
    const struct zone_rows_group *a = left, *b = right;
    return (a->depth > b->depth) - (a->depth < b->depth);
}

static int count_block(struct counting *c, struct zone_rows *rows)
{
    int result = 0;
    if (c->filter->has_window) /* parents before children */
        qsort(rows->groups, rows->group_count, sizeof rows->groups[0], compare_depths);
    for (size_t g = 0; g < rows->group_count && result == 0; g++) {
        const struct zone_rows_group *group = &rows->groups[g];
        if (!trace_filter_wants_track(c->filter, group->track))
            continue;
        if (c->border_count)
            add_to_borders(c, rows, group);
        result = count_rows(c, rows, group, scope_of_track(c, group->track));
    }
    return result;
}

/* With a window from the last block to the first, so that a zone comes before its children (add_to_borders); else in
 * the order of the file, which is read ahead. */
static int count_blocks(struct counting *c, struct trace *trace, struct error *err)
{
    struct zone_blocks blocks = {0};
    struct zone_rows rows = {0};
    unsigned columns = TRACE_COLUMN_DURATION | TRACE_COLUMN_CHILD | TRACE_COLUMN_NAME;
    if (c->filter->has_window)
        columns |= TRACE_COLUMN_START;
    int result = zone_blocks_list(&blocks, trace, c->filter, err);
    for (size_t i = 0; result == 0 && i < blocks.count; i++) {
        size_t at = c->filter->has_window ? blocks.count - 1 - i : i;
        result = trace_decode_zones(trace, blocks.items[at], columns, &rows, err);
        if (result == 0 && (result = count_block(c, &rows)) != 0)
            error_set_errno(err, -result, "zone statistics");
    }
    zone_rows_free(&rows);
    zone_blocks_free(&blocks);
    return result;
}

static void add_nested(void *context, uint32_t track, uint32_t group, uint64_t nested_ns)
{
    struct counting *c = context;
    struct accumulator *a = find_accumulator(c, scope_of_track(c, track), group);
    if (a) /* it was made when the zones were counted */
        a->nested += nested_ns;
}

static int find_nested(struct counting *c, struct trace *trace, struct error *err)
{
    bool *is_candidate = calloc(c->groups.group_count + 1, sizeof *is_candidate);
    bool is_any = false;
    if (!is_candidate)
        return error_set_errno(err, ENOMEM, "zone statistics");
    for (size_t i = 0; i < c->groups.group_count; i++)
        is_any |= is_candidate[i] = nesting_is_possible(&c->depths[i]);
    struct nesting_request request = {.trace = trace,
                                      .filter = c->filter,
                                      .group_of = c->groups.group_of,
                                      .map_count = c->groups.map_count,
                                      .is_candidate = is_candidate,
                                      .group_count = c->groups.group_count,
                                      .has_open_zones = true,
                                      .add = add_nested,
                                      .context = c};
    int result = is_any ? nesting_find(&request, err) : 0;
    free(is_candidate);
    return result;
}

/* One zone that never ended, with the time until its thread was last seen. */
static int count_open_zone(struct counting *c, const struct trace_open_zone *zone)
{
    uint32_t name = zone->name < c->groups.map_count - 1 ? zone->name : (uint32_t)c->groups.map_count - 1;
    uint32_t group = c->groups.group_of[name];
    const struct zone_rows_group rows = {.track = zone->track, .depth = zone->depth, .count = 1};
    uint64_t start = zone->start, duration = zone->seen - zone->start, child = zone->child;
    add_to_borders(c, &(struct zone_rows){.start = &start, .duration = &duration}, &rows);
    if (group == NAME_GROUP_UNWANTED || !trace_filter_wants_span(c->filter, zone->start, zone->seen))
        return 0;
    struct accumulator *a = find_accumulator(c, scope_of_track(c, zone->track), group);
    int is_inside = a ? clip(c, &rows, a, start, &duration, &child) : -ENOMEM;
    if (is_inside <= 0)
        return is_inside;
    c->groups.is_seen[name] = true;
    nesting_see(&c->depths[group], zone->depth);
    a->open_count++;
    return add_zone(a, duration, child) ? 0 : -ENOMEM;
}

static int count_open_zones(struct counting *c, struct error *err)
{
    struct open_zones open = {0};
    int result = open_zones_list(&open, c->trace, c->filter, err);
    for (size_t i = 0; i < open.count && result == 0; i++) {
        result = count_open_zone(c, &open.items[i]);
        if (result != 0)
            error_set_errno(err, -result, "zone statistics");
    }
    open_zones_free(&open);
    return result;
}

/* --- time spent waiting --- */

#define KEY_WAITS (1u << 31)
/* the filter does not want the name; it may be inside of what it wants */
#define KEY_NO_GROUP (KEY_WAITS - 2)

struct open_level {
    uint64_t start, end;
    uint32_t group;
};

struct waiting {
    struct counting *c;
    struct open_levels { /* by track: the zones around what is visited next, by depth */
        struct open_level *items;
        size_t count, capacity;
    } * tracks;
    uint64_t zones; /* that waited */
};

/* Adds the own time of a zone that waits to itself and to what is around it. */
static void add_waiting(struct waiting *w, const struct walked_zone *zone, uint64_t own_ns)
{
    const struct open_levels *levels = &w->tracks[zone->track];
    uint32_t scope = scope_of_track(w->c, zone->track);
    w->zones++;
    for (size_t depth = 0; depth <= zone->depth; depth++) {
        const struct open_level *level = &levels->items[depth];
        if (level->group == KEY_NO_GROUP || level->start > zone->start_ns || level->end < zone->end_ns)
            continue;
        struct accumulator *a = find_accumulator(w->c, scope, level->group);
        if (a && a->waiting_seen != w->zones) {
            a->waiting += own_ns;
            a->waiting_seen = w->zones;
        }
    }
}

static bool visit_for_waiting(void *context, const struct walked_zone *zone)
{
    struct waiting *w = context;
    struct open_levels *levels = &w->tracks[zone->track];
    if (!array_reserve(&levels->items, &levels->capacity, (size_t)zone->depth + 1, sizeof levels->items[0]))
        return false;
    for (; levels->count <= zone->depth; levels->count++)
        levels->items[levels->count] = (struct open_level){UINT64_MAX, 0, KEY_NO_GROUP};
    levels->items[zone->depth] = (struct open_level){zone->start_ns, zone->end_ns, zone->key & ~KEY_WAITS};
    uint64_t duration = zone->end_ns - zone->start_ns;
    if (zone->key & KEY_WAITS && duration > zone->child_ns)
        add_waiting(w, zone, duration - zone->child_ns);
    return true;
}

/* Keys for the walk; false when no zone waits. */
static bool waiting_keys(const struct counting *c, uint32_t *keys)
{
    bool is_any = false;
    for (size_t i = 0; i < c->groups.map_count; i++) {
        uint32_t group = c->groups.group_of[i];
        bool waits =
            i + 1 < c->groups.map_count && waiting_is_name(trace_get_name(c->trace, (uint32_t)i)->name);
        keys[i] = (group < KEY_NO_GROUP ? group : KEY_NO_GROUP) | (waits ? KEY_WAITS : 0);
        is_any |= waits;
    }
    return is_any;
}

static int find_waiting(struct counting *c, struct trace *trace, struct error *err)
{
    size_t track_count = trace_track_count(trace);
    struct waiting w = {.c = c, .tracks = calloc(track_count + 1, sizeof *w.tracks)};
    uint32_t *keys = malloc(c->groups.map_count * sizeof *keys);
    int result = 0;
    if (!w.tracks || !keys)
        result = error_no_memory(err, "zone statistics");
    if (result == 0 && waiting_keys(c, keys)) {
        struct zone_walk walk = {.trace = trace,
                                 .filter = c->filter,
                                 .key_of = keys,
                                 .key_count = c->groups.map_count,
                                 .has_open_zones = true,
                                 .has_child_times = true,
                                 .visit = visit_for_waiting,
                                 .context = &w};
        result = zone_walk(&walk, err);
    }
    for (size_t i = 0; w.tracks && i < track_count; i++)
        free(w.tracks[i].items);
    free(w.tracks);
    free(keys);
    return result;
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t percentile(const struct accumulator *a, unsigned percent)
{
    uint64_t rank = (uint64_t)(((__uint128_t)a->count * percent + 99) / 100);
    if (!a->histogram)
        return a->few[rank - 1];
    uint64_t value = histogram_value_at(a->histogram, rank);
    return value < a->min ? a->min : value > a->max ? a->max : value;
}

/* sqrt(mean of squares - square of mean) over integers: the subtraction is exact. */
static double deviation(const struct accumulator *a)
{
    __uint128_t mean_part = (__uint128_t)a->sum * a->sum / a->count;
    if (a->squares <= mean_part)
        return 0;
    return sqrt((double)(a->squares - mean_part) / (double)a->count);
}

static void fill_row(const struct counting *c, struct accumulator *a, uint64_t wall_ns,
                     struct zone_stats_row *row)
{
    uint64_t total = a->sum > a->nested ? a->sum - a->nested : 0;
    *row = (struct zone_stats_row){
        .name = c->groups.first_name[a->group],
        .name_count = c->groups.name_count[a->group],
        .track = TRACE_NONE,
        .process = TRACE_NONE,
        .count = a->count,
        .open_count = a->open_count,
        .total_ns = total,
        .sum_ns = a->sum,
        .self_ns = a->sum > a->child ? a->sum - a->child : 0,
        .waiting_ns = a->waiting,
        .min_ns = a->min,
        .max_ns = a->max,
        .mean_ns = (double)a->sum / (double)a->count,
        .std_ns = deviation(a),
        .wall_percent = wall_ns ? 100.0 * (double)total / (double)wall_ns : NAN,
    };
    if (c->by == ZONE_STATS_BY_THREAD && a->scope + 1 < c->scope_count) {
        row->track = a->scope;
        row->process = trace_get_track(c->trace, a->scope)->process;
    } else if (c->by == ZONE_STATS_BY_PROCESS && a->scope + 1 < c->scope_count) {
        row->process = a->scope;
    }
    if (!a->histogram)
        qsort(a->few, a->count, sizeof *a->few, compare_u64);
    row->p50_ns = percentile(a, 50);
    row->p90_ns = percentile(a, 90);
    row->p99_ns = percentile(a, 99);
}

static int compare_rows(const void *left, const void *right)
{
    const struct zone_stats_row *a = left, *b = right;
    if (a->total_ns != b->total_ns)
        return a->total_ns < b->total_ns ? 1 : -1;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return (a->track > b->track) - (a->track < b->track);
}

static int fill_rows(struct zone_stats *stats, const struct counting *c, struct error *err)
{
    stats->wall_ns = c->filter->until_ns - c->filter->since_ns;
    stats->rows = malloc((c->count + 1) * sizeof *stats->rows);
    if (!stats->rows)
        return error_set_errno(err, ENOMEM, "%zu rows of zone statistics", c->count);
    for (size_t i = 0; i < c->count; i++) {
        if (c->all[i]->count == 0) /* its zones were all outside the window */
            continue;
        fill_row(c, c->all[i], stats->wall_ns, &stats->rows[stats->row_count]);
        stats->zone_count += stats->rows[stats->row_count].count - stats->rows[stats->row_count].open_count;
        stats->row_count++;
    }
    qsort(stats->rows, stats->row_count, sizeof *stats->rows, compare_rows);
    return 0;
}

static void counting_free(struct counting *c)
{
    for (size_t i = 0; i < c->count; i++) {
        if (c->all[i]->histogram)
            histogram_free(c->all[i]->histogram);
        free(c->all[i]->histogram);
        free(c->all[i]->few);
        free(c->all[i]);
    }
    for (size_t s = 0; c->scopes && s < c->scope_count; s++) {
        for (size_t p = 0; c->scopes[s].pages && p < c->page_count; p++)
            free(c->scopes[s].pages[p]);
        free(c->scopes[s].pages);
    }
    free(c->scopes);
    free(c->all);
    free(c->depths);
    free(c->borders);
    name_groups_free(&c->groups);
}

int zone_stats_make(struct zone_stats *stats, struct trace *trace, const struct trace_filter *filter,
                    unsigned by, struct error *err)
{
    bool with_waiting = by & ZONE_STATS_WAITING;
    by &= ~(unsigned)ZONE_STATS_WAITING;
    struct counting c = {.by = by, .trace = trace, .filter = filter};
    *stats = (struct zone_stats){0};
    c.scope_count = 1 + (by == ZONE_STATS_BY_THREAD    ? trace_track_count(trace)
                         : by == ZONE_STATS_BY_PROCESS ? trace_process_count(trace)
                                                       : 0);
    enum name_grouping grouping = by == ZONE_STATS_BY_LOCATION ? NAMES_BY_PLACE
                                  : by == ZONE_STATS_BY_TEXT   ? NAMES_BY_TEXT
                                                               : NAMES_BY_ZONE;
    int result = name_groups_make(&c.groups, trace, filter, grouping, err);
    if (result == 0) {
        c.page_count = (c.groups.group_count >> PAGE_BITS) + 1;
        c.scopes = calloc(c.scope_count, sizeof *c.scopes);
        c.depths = calloc(c.groups.group_count + 1, sizeof *c.depths);
        if (!c.scopes || !c.depths)
            result = error_set_errno(err, ENOMEM, "zone statistics");
    }
    if (result == 0)
        result = count_open_zones(&c, err);
    if (result == 0)
        result = count_blocks(&c, trace, err);
    if (result == 0)
        result = find_nested(&c, trace, err);
    if (result == 0 && with_waiting)
        result = find_waiting(&c, trace, err);
    if (result == 0) {
        name_groups_keep_seen(&c.groups);
        result = fill_rows(stats, &c, err);
    }
    counting_free(&c);
    return result;
}

void zone_stats_free(struct zone_stats *stats)
{
    if (!stats)
        return;
    free(stats->rows);
    *stats = (struct zone_stats){0};
}
