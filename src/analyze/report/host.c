/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/host.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/labels.h"
#include "analyze/report/internal.h"
#include "base/checked.h"

#define GAPS_MAX 512u
#define MOMENTS 8u /* of each gap */
#define THREADS_MAX 256u

struct gap {
    uint64_t from_ns, until_ns;
    double gap_us;
};

struct moment {
    uint64_t time_ns;
    double weight_us;
};

struct found {
    uint32_t name;
    uint32_t depth_plus_1; /* 0: no zone */
};

struct search {
    struct gap *gaps;
    size_t gap_count, gap_capacity;
    struct moment *moments; /* in order of time */
    size_t moment_count;
    uint32_t tracks[THREADS_MAX];
    struct found *found[THREADS_MAX]; /* one for each moment */
    size_t thread_count;
};

static int compare_gaps(const void *a, const void *b)
{
    double left = ((const struct gap *)a)->gap_us, right = ((const struct gap *)b)->gap_us;
    return left > right ? -1 : left < right;
}

static int compare_moments(const void *a, const void *b)
{
    uint64_t left = ((const struct moment *)a)->time_ns, right = ((const struct moment *)b)->time_ns;
    return left < right ? -1 : left > right;
}

/* Gaps over the mark, as the host's time from one op's end to the next one's start. What the CPU computes nests: the op
 * before may have ended inside of one that goes on. */
static bool collect_gaps(const struct perf *perf, struct search *search)
{
    uint64_t end_ns = 0;
    for (size_t i = 0; i < perf->count; i++) {
        const struct perf_row *row = perf_at(perf, i);
        const struct op_call *call = perf_call(perf, row);
        if (!call || (call->faults & OP_FAULT_NO_HOST_TIME) || perf_is_captured(perf, row))
            continue;
        uint64_t start_ns = call->start_ns;
        if (row->shown_gap_us > perf->machine->gap_mark_us && end_ns && start_ns > end_ns) {
            if (!array_reserve(&search->gaps, &search->gap_capacity, search->gap_count + 1,
                               sizeof *search->gaps))
                return false;
            search->gaps[search->gap_count++] = (struct gap){end_ns, start_ns, row->shown_gap_us};
        }
        uint64_t own_end_ns = call->faults & OP_FAULT_OPEN ? start_ns : call->end_ns;
        end_ns = perf_is_cpu(perf) && end_ns > own_end_ns ? end_ns : own_end_ns;
    }
    if (search->gap_count)
        qsort(search->gaps, search->gap_count, sizeof *search->gaps, compare_gaps);
    if (search->gap_count > GAPS_MAX)
        search->gap_count = GAPS_MAX;
    return true;
}

static bool make_moments(struct search *search)
{
    search->moments = malloc((search->gap_count * MOMENTS + 1) * sizeof *search->moments);
    if (!search->moments)
        return false;
    for (size_t i = 0; i < search->gap_count; i++) {
        const struct gap *gap = &search->gaps[i];
        for (uint64_t k = 0; k < MOMENTS; k++)
            search->moments[search->moment_count++] =
                (struct moment){gap->from_ns + (gap->until_ns - gap->from_ns) / (2 * MOMENTS) * (2 * k + 1),
                                gap->gap_us / MOMENTS};
    }
    qsort(search->moments, search->moment_count, sizeof *search->moments, compare_moments);
    return true;
}

/* The first moment that is not before a time. */
static size_t first_moment(const struct search *search, uint64_t time_ns)
{
    size_t low = 0, high = search->moment_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (search->moments[middle].time_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* What was found on a thread so far; NULL for tracks other than threads, beyond the limit, or without memory. */
static struct found *found_on(struct search *search, const struct trace *trace, uint32_t track)
{
    const struct trace_track *about = trace_get_track(trace, track);
    if (!about || (about->kind != TRACE_TRACK_THREAD && about->kind != TRACE_TRACK_TASK &&
                   about->kind != TRACE_TRACK_SPAN))
        return NULL;
    for (size_t i = 0; i < search->thread_count; i++) {
        if (search->tracks[i] == track)
            return search->found[i];
    }
    if (search->thread_count == THREADS_MAX)
        return NULL;
    struct found *found = calloc(search->moment_count, sizeof *found);
    if (found) {
        search->tracks[search->thread_count] = track;
        search->found[search->thread_count++] = found;
    }
    return found;
}

static void look_at_group(struct search *search, struct found *found, const struct zone_rows *rows,
                          const struct zone_rows_group *group)
{
    for (uint32_t i = group->first; i < group->first + group->count; i++) {
        uint64_t end = saturating_add_u64(rows->start[i], rows->duration[i]);
        for (size_t m = first_moment(search, rows->start[i]);
             m < search->moment_count && search->moments[m].time_ns < end; m++) {
            if (found[m].depth_plus_1 <= group->depth)
                found[m] = (struct found){rows->name[i], group->depth + 1};
        }
    }
}

static int look_at_zones(struct search *search, struct trace *trace, struct error *err)
{
    struct trace_block_filter filter = {.type = TRACE_BLOCK_ZONES,
                                        .since_ns = search->moments[0].time_ns,
                                        .until_ns = search->moments[search->moment_count - 1].time_ns + 1};
    struct zone_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0;
    int status = 0;
    while (!status && (block = trace_next_block(trace, &filter, &position))) {
        status = trace_decode_zones(
            trace, block, TRACE_COLUMN_START | TRACE_COLUMN_DURATION | TRACE_COLUMN_NAME, &rows, err);
        for (size_t i = 0; i < rows.group_count && !status; i++) {
            struct found *found = found_on(search, trace, rows.groups[i].track);
            if (found)
                look_at_group(search, found, &rows, &rows.groups[i]);
        }
    }
    zone_rows_free(&rows);
    return status;
}

static int compare_zones(const void *a, const void *b)
{
    double left = ((const struct perf_host_zone *)a)->covered_us;
    double right = ((const struct perf_host_zone *)b)->covered_us;
    return left > right ? -1 : left < right;
}

/* Threads of several processes may have one name, and be in one zone at the same moment: that counts once. */
static bool add_covered(struct perf *perf, const char *name, const char *thread, size_t moment,
                        double weight_us)
{
    uint32_t name_id = perf_intern(perf, name, strlen(name)),
             thread_id = perf_intern(perf, thread, strlen(thread));
    for (size_t i = 0; i < perf->host_zone_count; i++) {
        struct perf_host_zone *zone = &perf->host_zones[i];
        if (zone->name == name_id && zone->thread == thread_id) {
            zone->covered_us += zone->last_moment == moment ? 0 : weight_us;
            zone->last_moment = moment;
            return true;
        }
    }
    if (!array_reserve(&perf->host_zones, &perf->host_zone_capacity, perf->host_zone_count + 1,
                       sizeof *perf->host_zones))
        return false;
    perf->host_zones[perf->host_zone_count++] =
        (struct perf_host_zone){name_id, thread_id, weight_us, 0, moment};
    return true;
}

static bool sum_up(struct perf *perf, const struct trace *trace, const struct search *search)
{
    double total_us = 0;
    for (size_t m = 0; m < search->moment_count; m++)
        total_us += search->moments[m].weight_us;
    for (size_t m = 0; m < search->moment_count; m++) {
        for (size_t t = 0; t < search->thread_count; t++) {
            const struct found *found = &search->found[t][m];
            char label[80];
            if (!found->depth_plus_1)
                continue;
            const char *thread = label_track(trace, search->tracks[t], label, sizeof label);
            if (!add_covered(perf, trace_get_name(trace, found->name)->name, thread, m,
                             search->moments[m].weight_us))
                return false;
        }
    }
    for (size_t i = 0; i < perf->host_zone_count; i++)
        perf->host_zones[i].percent = total_us > 0 ? perf->host_zones[i].covered_us / total_us * 100 : 0;
    if (perf->host_zone_count)
        qsort(perf->host_zones, perf->host_zone_count, sizeof *perf->host_zones, compare_zones);
    return true;
}

int perf_find_host_zones(struct perf *perf, struct trace *trace, struct error *err)
{
    struct search search = {0};
    bool is_done = collect_gaps(perf, &search) && make_moments(&search);
    int status = is_done ? 0 : error_set(err, ENOMEM, "no memory for %zu gaps", search.gap_count);
    if (!status && search.moment_count) {
        status = look_at_zones(&search, trace, err);
        if (!status && !sum_up(perf, trace, &search))
            status = error_set(err, ENOMEM, "no memory for the zones in %zu gaps", search.gap_count);
    }
    for (size_t i = 0; i < search.thread_count; i++)
        free(search.found[i]);
    free(search.gaps);
    free(search.moments);
    return status;
}
