/* SPDX-License-Identifier: Apache-2.0 */
/* Zones of two traces. One pass over each: sums, and durations evenly spread over the run (every n-th; n doubles and
 * every second sample is dropped when there are DIFF_SAMPLES), so that memory follows the number of different zones.
 *
 * A zone is known by its name, its function and its file's name; lines move when a file is edited, so that of several
 * zones that are called alike in one function the first goes with the first, by line. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diff/diff.h"
#include "analyze/diff/stats.h"
#include "trace/reader.h"

static uint32_t intern_text_of(struct diff *diff, const char *text)
{
    return diff_intern(diff, text, strlen(text));
}

static void add_sample(struct diff_zone *zone, double value)
{
    if (zone->count % zone->stride != 0)
        return;
    if (zone->sample_count == DIFF_SAMPLES) {
        for (size_t i = 0; i < DIFF_SAMPLES / 2; i++)
            zone->samples[i] = zone->samples[2 * i];
        zone->sample_count = DIFF_SAMPLES / 2;
        zone->stride *= 2;
        if (zone->count % zone->stride != 0)
            return;
    }
    zone->samples[zone->sample_count++] = value;
}

/* The zone entry of a name of the trace, made when it is first seen. */
static struct diff_zone *zone_of(struct diff *diff, struct diff_run *run, const struct trace *trace,
                                 uint32_t name, uint32_t *zone_of_name)
{
    if (zone_of_name[name])
        return &run->zones[zone_of_name[name] - 1];
    if (!array_reserve(&run->zones, &run->zone_capacity, run->zone_count + 1, sizeof *run->zones))
        return NULL;
    const struct trace_name *about = trace_get_name(trace, name);
    const char *slash = strrchr(about->file, '/');
    struct diff_zone *zone = &run->zones[run->zone_count++];
    *zone = (struct diff_zone){
        .name = intern_text_of(diff, about->name),
        .function = intern_text_of(diff, about->function),
        .file = intern_text_of(diff, slash ? slash + 1 : about->file),
        .line = about->line,
        .stride = 1,
    };
    zone_of_name[name] = (uint32_t)run->zone_count;
    return zone;
}

/* A zone that reaches out of the window has no time there that could be compared: it is left out. */
static bool is_inside(const struct diff *diff, int side, uint64_t start, uint64_t duration)
{
    const struct diff_window *window = &diff->runs[side].window;
    return !window->is_set || (start >= window->since_ns && start + duration <= window->until_ns);
}

struct zone_times {
    uint32_t name, depth;
    uint64_t duration, child;
};

static int count_zone(struct diff *diff, int side, const struct trace *trace, const struct zone_times *times,
                      uint32_t *zone_of_name, size_t last_name)
{
    struct diff_run *run = &diff->runs[side];
    struct diff_zone *zone =
        zone_of(diff, run, trace, times->name < last_name ? times->name : (uint32_t)last_name, zone_of_name);
    if (!zone || (zone->sample_count == zone->sample_capacity && zone->sample_capacity < DIFF_SAMPLES &&
                  !array_reserve(&zone->samples, &zone->sample_capacity, zone->sample_count + 1,
                                 sizeof *zone->samples)))
        return -ENOMEM;
    nesting_see(&zone->depths, times->depth);
    add_sample(zone, (double)times->duration);
    zone->count++;
    zone->total_ns += times->duration;
    zone->self_ns += times->duration > times->child ? times->duration - times->child : 0;
    zone->max_ns = times->duration > zone->max_ns ? times->duration : zone->max_ns;
    run->zones_total++;
    return 0;
}

/* The rows of one depth. */
static int count_rows(struct diff *diff, int side, const struct trace *trace, const struct zone_rows *rows,
                      const struct zone_rows_group *group, uint32_t *zone_of_name, size_t last_name)
{
    int status = 0;
    for (size_t i = group->first; i < (size_t)group->first + group->count && !status; i++) {
        if (rows->start && !is_inside(diff, side, rows->start[i], rows->duration[i]))
            continue;
        const struct zone_times times = {rows->name[i], group->depth, rows->duration[i], rows->child[i]};
        status = count_zone(diff, side, trace, &times, zone_of_name, last_name);
    }
    return status;
}

/* Zones that never ended, with the time until their thread was last seen. */
static int count_open_zones(struct diff *diff, int side, const struct trace *trace, uint32_t *zone_of_name,
                            size_t last_name)
{
    size_t count;
    const struct trace_open_zone *open = trace_get_open_zones(trace, &count);
    int status = 0;
    for (size_t i = 0; i < count && !status; i++) {
        if (!is_inside(diff, side, open[i].start, open[i].seen - open[i].start))
            continue;
        const struct zone_times times = {open[i].name, open[i].depth, open[i].seen - open[i].start,
                                         open[i].child};
        status = count_zone(diff, side, trace, &times, zone_of_name, last_name);
    }
    return status;
}

static void subtract_nested(void *context, uint32_t track, uint32_t zone, uint64_t nested_ns)
{
    struct diff_run *run = context;
    (void)track;
    run->zones[zone].total_ns -= nested_ns;
}

/* Time inside an outer zone of the same name and place counts once. */
static int count_nested_once(struct diff *diff, int side, struct trace *trace, uint32_t *zone_of_name,
                             size_t name_count, struct error *err)
{
    struct diff_run *run = &diff->runs[side];
    const struct diff_window *window = &diff->runs[side].window;
    bool *is_candidate = calloc(run->zone_count + 1, sizeof *is_candidate);
    if (!is_candidate)
        return error_set(err, ENOMEM, "no memory for %zu zones", run->zone_count);
    for (size_t i = 0; i < run->zone_count; i++)
        is_candidate[i] = nesting_is_possible(&run->zones[i].depths);
    for (size_t i = 0; i < name_count; i++)
        zone_of_name[i]--; /* 0, a name without zones, becomes UINT32_MAX */
    struct nesting_request request = {.trace = trace,
                                      .group_of = zone_of_name,
                                      .map_count = name_count,
                                      .is_candidate = is_candidate,
                                      .group_count = run->zone_count,
                                      .has_open_zones = true,
                                      .inside_since_ns = window->is_set ? window->since_ns : 0,
                                      .inside_until_ns = window->is_set ? window->until_ns : 0,
                                      .add = subtract_nested,
                                      .context = run};
    int status = nesting_find(&request, err);
    free(is_candidate);
    return status;
}

static int compare_zones(const void *left, const void *right)
{
    const struct diff_zone *a = left, *b = right;
    const uint32_t x[] = {a->name, a->function, a->file, a->line},
                   y[] = {b->name, b->function, b->file, b->line};
    for (size_t i = 0; i < 4; i++) {
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    }
    return 0;
}

static bool is_called_alike(const struct diff_zone *a, const struct diff_zone *b)
{
    return a->name == b->name && a->function == b->function && a->file == b->file;
}

int diff_take_zones(struct diff *diff, int side, struct trace *trace, struct error *err)
{
    struct diff_run *run = &diff->runs[side];
    const struct diff_window *window = &diff->runs[side].window;
    struct trace_block_filter filter = {.type = TRACE_BLOCK_ZONES};
    unsigned columns = TRACE_COLUMN_DURATION | TRACE_COLUMN_CHILD | TRACE_COLUMN_NAME;
    const struct trace_info *info = trace_get_info(trace);
    struct zone_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0, names = trace_name_count(trace);
    uint32_t *zone_of_name = calloc(names + 1, sizeof *zone_of_name);
    int status = zone_of_name ? 0 : error_set(err, ENOMEM, "no memory for %zu names", names);
    if (window->is_set) {
        filter.since_ns = window->since_ns;
        filter.until_ns = window->until_ns;
        columns |= TRACE_COLUMN_START;
    }
    while (!status && (block = trace_next_block(trace, &filter, &position))) {
        status = trace_decode_zones(trace, block, columns, &rows, err);
        for (size_t g = 0; g < rows.group_count && !status; g++) {
            if (count_rows(diff, side, trace, &rows, &rows.groups[g], zone_of_name, names) != 0)
                status = error_set(err, ENOMEM, "no memory for the zones of %s", run->path);
        }
    }
    if (!status && count_open_zones(diff, side, trace, zone_of_name, names) != 0)
        status = error_set(err, ENOMEM, "no memory for the zones of %s", run->path);
    if (!status)
        status = count_nested_once(diff, side, trace, zone_of_name, names + 1, err);
    zone_rows_free(&rows);
    free(zone_of_name);
    if (status)
        return status;
    if (run->zones)
        qsort(run->zones, run->zone_count, sizeof *run->zones, compare_zones);
    for (size_t i = 1; i < run->zone_count; i++) {
        if (is_called_alike(&run->zones[i - 1], &run->zones[i]))
            run->zones[i].nth = run->zones[i - 1].nth + 1;
    }
    bool is_asked = run->part == DIFF_PART_ASKED;
    run->wall_ns = is_asked ? window->until_ns - window->since_ns : info->end_ns - info->start_ns;
    run->lost_zones = info->lost_zones;
    run->lost_records = info->lost_records;
    return 0;
}

/* --- comparing --- */

static uint32_t location_of(struct diff *diff, const struct diff_zone *zone)
{
    const char *file = diff_text(diff, zone->file), *function = diff_text(diff, zone->function);
    bytes_clear(&diff->scratch);
    if (*file && zone->line)
        bytes_append_format(&diff->scratch, "%s:%u", file, zone->line);
    else if (*file)
        bytes_append_text(&diff->scratch, file);
    else
        bytes_append_text(&diff->scratch, function);
    if (diff->scratch.failed || diff->scratch.length == 0)
        return DIFF_NO_TEXT;
    return diff_intern(diff, diff->scratch.data, diff->scratch.length);
}

static void compare_pair(const struct diff *diff, struct diff_row *row, struct diff_zone *a,
                         struct diff_zone *b)
{
    bool agree = false;
    size_t few = a->sample_count < b->sample_count ? a->sample_count : b->sample_count;
    double x = stats_median(a->samples, a->sample_count), y = stats_median(b->samples, b->sample_count);
    row->typical_ns[DIFF_A] = x;
    row->typical_ns[DIFF_B] = y;
    row->typical_percent = x > 0 ? (y - x) / x * 100 : y > 0 ? 1e9 : 0;
    row->evidence = DIFF_NO_SPREAD;
    if (a->sample_count + b->sample_count > 2 && few > 0) {
        row->p = stats_rank_sum(a->samples, a->sample_count, b->samples, b->sample_count);
        row->evidence =
            stats_rank_sum_least(a->sample_count, b->sample_count) < diff->options.alpha_percent / 100
                ? DIFF_TESTED
                : DIFF_TOO_FEW;
        /* stats_median has sorted them */
        agree = a->samples[a->sample_count - 1] < b->samples[0] ||
                b->samples[b->sample_count - 1] < a->samples[0];
    }
    diff_judge(diff, row, agree);
}

static int add_row(struct diff *diff, struct diff_zone *a, struct diff_zone *b, struct error *err)
{
    struct diff_row *row = diff_add_row(diff);
    struct diff_zone *zones[DIFF_SIDES] = {a, b};
    if (!row)
        return error_no_memory(err, "rows of zones");
    row->kind = DIFF_ZONE_ROW;
    row->name = (b ? b : a)->name;
    row->location = location_of(diff, b ? b : a);
    row->group = (b ? b : a)->file;
    row->matched = a && b;
    for (int side = 0; side < DIFF_SIDES; side++) {
        row->self_ns[side] = 0;
        row->zones[side] = UINT32_MAX;
        if (!zones[side])
            continue;
        row->zones[side] = (uint32_t)(zones[side] - diff->runs[side].zones);
        row->counts[side] = zones[side]->count;
        row->total_ns[side] = (double)zones[side]->total_ns;
        row->self_ns[side] = (double)zones[side]->self_ns;
        row->typical_ns[side] = stats_median(zones[side]->samples, zones[side]->sample_count);
    }
    row->change_ns = row->self_ns[DIFF_B] - row->self_ns[DIFF_A];
    if (row->total_ns[DIFF_A] > 0)
        row->change_percent = (row->total_ns[DIFF_B] - row->total_ns[DIFF_A]) / row->total_ns[DIFF_A] * 100;
    if (a && b)
        compare_pair(diff, row, a, b);
    else
        diff_judge(diff, row, false);
    return 0;
}

static int compare_places(const struct diff_zone *a, const struct diff_zone *b)
{
    const uint32_t x[] = {a->name, a->function, a->file, a->nth},
                   y[] = {b->name, b->function, b->file, b->nth};
    for (size_t i = 0; i < 4; i++) {
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    }
    return 0;
}

const struct diff_zone *diff_find_zone(const struct diff_run *run, const struct diff_zone *like)
{
    size_t low = 0, high = run->zone_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = compare_places(&run->zones[middle], like);
        if (order == 0)
            return &run->zones[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Partners by place; `partner` has an entry for each zone of A, `has_partner` for each of B. */
static void match_places(const struct diff_run *a, const struct diff_run *b, uint32_t *partner,
                         bool *has_partner)
{
    size_t i = 0, k = 0;
    while (i < a->zone_count && k < b->zone_count) {
        int order = compare_places(&a->zones[i], &b->zones[k]);
        if (order == 0) {
            partner[i] = (uint32_t)k;
            has_partner[k] = true;
        }
        i += order <= 0;
        k += order >= 0;
    }
}

/* A zone that moved to another function or file: the only one of its name that is left on either side. */
static void match_names(const struct diff_run *a, const struct diff_run *b, uint32_t *partner,
                        bool *has_partner)
{
    size_t i = 0, k = 0;
    while (i < a->zone_count && k < b->zone_count) {
        uint32_t name = a->zones[i].name < b->zones[k].name ? a->zones[i].name : b->zones[k].name;
        size_t left = 0, right = 0, from = 0, to = 0;
        for (; i < a->zone_count && a->zones[i].name == name; i++) {
            if (partner[i] == UINT32_MAX) {
                left++;
                from = i;
            }
        }
        for (; k < b->zone_count && b->zones[k].name == name; k++) {
            if (!has_partner[k]) {
                right++;
                to = k;
            }
        }
        if (left == 1 && right == 1) {
            partner[from] = (uint32_t)to;
            has_partner[to] = true;
        }
    }
}

/* The zones that ops leave on their tracks are the ops once more: they have an op's name and no place in the source. */
static bool *find_op_names(const struct diff *diff)
{
    bool *is_op = calloc(diff->texts.count + 1, sizeof *is_op);
    for (size_t i = 0; is_op && i < diff->key_count; i++) {
        if (diff->keys[i].kind != DIFF_SIGNPOST && diff->keys[i].name < diff->texts.count)
            is_op[diff->keys[i].name] = true;
    }
    return is_op;
}

static void drop_op_zones(const struct diff *diff, struct diff_run *run, const bool *is_op)
{
    size_t kept = 0;
    for (size_t i = 0; i < run->zone_count; i++) {
        struct diff_zone *zone = &run->zones[i];
        if (is_op[zone->name] && !*diff_text(diff, zone->file) && !*diff_text(diff, zone->function)) {
            run->zones_total -= zone->count;
            free(zone->samples);
        } else {
            run->zones[kept++] = *zone;
        }
    }
    run->zone_count = kept;
}

int diff_drop_op_zones(struct diff *diff, struct error *err)
{
    bool *is_op = find_op_names(diff);
    if (!is_op)
        return error_no_memory(err, "the names of ops");
    for (int side = 0; side < DIFF_SIDES; side++) {
        drop_op_zones(diff, &diff->runs[side], is_op);
        for (size_t i = 0; i < diff->extra_count[side]; i++)
            drop_op_zones(diff, &diff->extras[side][i].run, is_op);
    }
    free(is_op);
    return 0;
}

int diff_compare_zones(struct diff *diff, struct error *err)
{
    struct diff_run *a = &diff->runs[DIFF_A], *b = &diff->runs[DIFF_B];
    uint32_t *partner = malloc((a->zone_count + 1) * sizeof *partner);
    bool *has_partner = calloc(b->zone_count + 1, sizeof *has_partner);
    int status =
        partner && has_partner ? 0 : error_set(err, ENOMEM, "no memory for %zu zones", a->zone_count);
    for (size_t i = 0; i < a->zone_count && !status; i++)
        partner[i] = UINT32_MAX;
    if (!status) {
        match_places(a, b, partner, has_partner);
        match_names(a, b, partner, has_partner);
    }
    for (size_t i = 0; i < a->zone_count && !status; i++)
        status = add_row(diff, &a->zones[i], partner[i] == UINT32_MAX ? NULL : &b->zones[partner[i]], err);
    for (size_t i = 0; i < b->zone_count && !status; i++) {
        if (!has_partner[i])
            status = add_row(diff, NULL, &b->zones[i], err);
    }
    free(partner);
    free(has_partner);
    return status;
}
