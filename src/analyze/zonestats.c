/* SPDX-License-Identifier: Apache-2.0 */
/* See zonestats.h. Accumulators are found by (scope, name group), where a scope is the whole trace, a process
 * or a track: a two-level table per scope, pages of 256 names made on demand, so that 1,000 threads with many
 * names do not cost a full matrix. */
#include "analyze/zonestats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/histogram.h"
#include "analyze/names.h"
#include "base/bytes.h"

#define PAGE_BITS 8u
#define PAGE_NAMES (1u << PAGE_BITS)

struct accumulator {
    uint64_t count, total, child, min, max;
    __uint128_t squares;         /* exact: a double would lose what makes the variance */
    struct histogram *histogram; /* NULL while the durations fit into `few` */
    uint64_t *few;
    size_t few_capacity;
    uint64_t open_count;
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
    const struct trace *trace;
    const struct trace_filter *filter;
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
    a->total += duration;
    a->child += child;
    a->squares += (__uint128_t)duration * duration;
    a->min = duration < a->min ? duration : a->min;
    a->max = duration > a->max ? duration : a->max;
    return a->histogram ? histogram_add(a->histogram, duration) : keep_few(a, duration);
}

/* The inner loop: rows [first, first + count) of one track and depth. */
static int count_rows(struct counting *c, const struct zone_rows *rows, size_t first, size_t count,
                      uint32_t scope)
{
    const uint32_t *group_of = c->groups.group_of;
    uint32_t seen_name = UINT32_MAX;
    const size_t last_name = c->groups.map_count - 1;
    const uint64_t since = c->filter->since_ns, until = c->filter->until_ns;
    const bool has_window = c->filter->has_window;
    struct accumulator *a = NULL;
    uint32_t group_of_a = NAME_GROUP_UNWANTED;
    for (size_t i = first; i < first + count; i++) {
        uint64_t duration = rows->duration[i];
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
        }
        if (has_window && (rows->start[i] > until || rows->start[i] + duration < since))
            continue;
        if (!add_zone(a, duration, rows->child[i]))
            return -ENOMEM;
    }
    return 0;
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

static int count_blocks(struct counting *c, struct trace *trace, struct error *err)
{
    struct trace_block_filter blocks = {.type = TRACE_BLOCK_ZONES};
    struct zone_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0;
    int result = 0;
    unsigned columns = TRACE_COLUMN_DURATION | TRACE_COLUMN_CHILD | TRACE_COLUMN_NAME;
    if (c->filter->has_window) {
        columns |= TRACE_COLUMN_START;
        blocks.since_ns = c->filter->since_ns;
        blocks.until_ns = c->filter->until_ns;
    }
    while (result == 0 && (block = trace_next_block(trace, &blocks, &position))) {
        if (block->track != TRACE_NONE && !trace_filter_wants_track(c->filter, block->track))
            continue;
        result = trace_decode_zones(trace, block, columns, &rows, err);
        for (size_t g = 0; g < rows.group_count && result == 0; g++) {
            const struct zone_rows_group *group = &rows.groups[g];
            if (!trace_filter_wants_track(c->filter, group->track))
                continue;
            result = count_rows(c, &rows, group->first, group->count, scope_of_track(c, group->track));
            if (result != 0)
                error_set_errno(err, -result, "zone statistics");
        }
    }
    zone_rows_free(&rows);
    return result;
}

/* Zones that never ended, with the time until their thread was last seen. */
static int count_open_zones(struct counting *c, struct error *err)
{
    size_t count = 0, last_name = c->groups.map_count - 1;
    const struct trace_open_zone *zones = trace_get_open_zones(c->trace, &count);
    for (size_t i = 0; i < count; i++) {
        uint32_t name = zones[i].name < last_name ? zones[i].name : (uint32_t)last_name;
        uint32_t group = c->groups.group_of[name];
        if (group == NAME_GROUP_UNWANTED || !trace_filter_wants_track(c->filter, zones[i].track) ||
            !trace_filter_wants_span(c->filter, zones[i].start, zones[i].seen))
            continue;
        c->groups.is_seen[name] = true;
        struct accumulator *a = find_accumulator(c, scope_of_track(c, zones[i].track), group);
        if (!a || !add_zone(a, zones[i].seen - zones[i].start, zones[i].child))
            return error_set_errno(err, ENOMEM, "zone statistics");
        a->open_count++;
    }
    return 0;
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
    __uint128_t mean_part = (__uint128_t)a->total * a->total / a->count;
    if (a->squares <= mean_part)
        return 0;
    return sqrt((double)(a->squares - mean_part) / (double)a->count);
}

static void fill_row(const struct counting *c, struct accumulator *a, uint64_t wall_ns,
                     struct zone_stats_row *row)
{
    *row = (struct zone_stats_row){
        .name = c->groups.first_name[a->group],
        .name_count = c->groups.name_count[a->group],
        .track = TRACE_NONE,
        .process = TRACE_NONE,
        .count = a->count,
        .open_count = a->open_count,
        .total_ns = a->total,
        .self_ns = a->total > a->child ? a->total - a->child : 0,
        .min_ns = a->min,
        .max_ns = a->max,
        .mean_ns = (double)a->total / (double)a->count,
        .std_ns = deviation(a),
        .wall_percent = wall_ns ? 100.0 * (double)a->total / (double)wall_ns : NAN,
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
    name_groups_free(&c->groups);
}

int zone_stats_make(struct zone_stats *stats, struct trace *trace, const struct trace_filter *filter,
                    enum zone_stats_by by, struct error *err)
{
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
        if (!c.scopes)
            result = error_set_errno(err, ENOMEM, "zone statistics");
    }
    if (result == 0)
        result = count_blocks(&c, trace, err);
    if (result == 0)
        result = count_open_zones(&c, err);
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
