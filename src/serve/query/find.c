/* SPDX-License-Identifier: Apache-2.0 */
/* All zones of one name: how long they took, and which took longest. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/names.h"
#include "analyze/zones/histogram.h"
#include "serve/query/query.h"

#define BINS 40u
#define CALLS_LIMIT 100u
#define CALLS_LIMIT_MAX 10000u
#define LOG_SPREAD 20u /* p99 / p50 above which bins grow */

struct call {
    uint64_t start, duration;
    uint32_t track, depth;
};

struct bin {
    uint64_t from, to, count, sum;
};

struct find {
    struct serve_trace *st;
    struct query_window window;
    struct name_groups groups;
    uint32_t group;
    struct histogram histogram;
    struct call *calls; /* a heap, the shortest on top, until they are sorted */
    size_t count, limit;
    bool failed;
};

/* --- the longest --- */

static bool is_shorter(const struct call *a, const struct call *b)
{
    return a->duration != b->duration ? a->duration < b->duration : a->start > b->start;
}

static void sink(struct call *calls, size_t count, size_t at)
{
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++) {
            if (child < count && is_shorter(&calls[child], &calls[least]))
                least = child;
        }
        if (least == at)
            return;
        struct call other = calls[at];
        calls[at] = calls[least];
        calls[least] = other;
        at = least;
    }
}

static void keep(struct find *f, const struct call *call)
{
    if (f->count < f->limit) {
        size_t at = f->count++;
        for (; at && is_shorter(call, &f->calls[(at - 1) / 2]); at = (at - 1) / 2)
            f->calls[at] = f->calls[(at - 1) / 2];
        f->calls[at] = *call;
    } else if (f->limit && is_shorter(&f->calls[0], call)) {
        f->calls[0] = *call;
        sink(f->calls, f->count, 0);
    }
}

static int compare_calls(const void *left, const void *right)
{
    return is_shorter(left, right) ? 1 : is_shorter(right, left) ? -1 : 0;
}

/* --- reading --- */

static void see(struct find *f, uint32_t track, uint32_t depth, uint64_t start, uint64_t duration)
{
    uint64_t end = start + duration, since = f->window.since_ns, until = f->window.until_ns;
    if (end < since || start > until)
        return;
    uint64_t inside = (end < until ? end : until) - (start > since ? start : since);
    f->failed |= !histogram_add(&f->histogram, inside);
    keep(f, &(struct call){.start = start, .duration = duration, .track = track, .depth = depth});
}

static int read_zones(struct find *f, struct error *err)
{
    const struct trace_block_filter filter = {
        .type = TRACE_BLOCK_ZONES, .since_ns = f->window.since_ns, .until_ns = f->window.until_ns};
    const struct trace_block *block;
    struct zone_rows rows = {0};
    size_t position = 0, count;
    int status = 0;
    while (!status && (block = trace_next_block(f->st->trace, &filter, &position))) {
        status = trace_decode_zones(
            f->st->trace, block, TRACE_COLUMN_START | TRACE_COLUMN_DURATION | TRACE_COLUMN_NAME, &rows, err);
        for (size_t g = 0; g < rows.group_count && !status; g++) {
            const struct zone_rows_group *group = &rows.groups[g];
            for (size_t i = group->first; i < (size_t)group->first + group->count; i++) {
                if (name_group(&f->groups, rows.name[i]) == f->group)
                    see(f, group->track, group->depth, rows.start[i], rows.duration[i]);
            }
        }
    }
    zone_rows_free(&rows);
    const struct trace_open_zone *open = trace_get_open_zones(f->st->trace, &count);
    for (size_t i = 0; i < count; i++) {
        if (name_group(&f->groups, open[i].name) == f->group)
            see(f, open[i].track, open[i].depth, open[i].start,
                open[i].seen > open[i].start ? open[i].seen - open[i].start : 0);
    }
    return !status && f->failed ? error_no_memory(err, "the zones") : status;
}

/* --- the answer --- */

static const struct zone_stats_row *find_row(const struct find *f)
{
    for (size_t i = 0; i < f->st->stats.row_count; i++) {
        if (name_group(&f->groups, f->st->stats.rows[i].name) == f->group)
            return &f->st->stats.rows[i];
    }
    return NULL;
}

/* Bins of equal width, or of equal ratio where a few zones are much longer than most. */
static void put_histogram(struct json *j, const struct find *f, const struct zone_stats_row *row)
{
    struct bin bins[BINS] = {{0}};
    double low = (double)row->min_ns, high = (double)row->max_ns + 1;
    bool is_log = row->p99_ns / LOG_SPREAD > row->p50_ns && row->min_ns > 0;
    uint64_t from, to, count;
    size_t position = 0;
    for (unsigned i = 0; i <= BINS; i++) {
        double edge = is_log ? low * pow(high / low, (double)i / BINS) : low + (high - low) * i / BINS;
        if (i < BINS)
            bins[i].from = (uint64_t)edge;
        if (i > 0)
            bins[i - 1].to = i == BINS ? row->max_ns + 1 : (uint64_t)edge;
    }
    while (histogram_next(&f->histogram, &position, &from, &to, &count)) {
        uint64_t middle = from + (to - from) / 2;
        unsigned at = BINS - 1;
        while (at && middle < bins[at].from)
            at--;
        bins[at].count += count;
        bins[at].sum += count * middle;
    }
    json_member_text(j, "scale", is_log ? "log" : "linear");
    json_key(j, "histogram");
    json_array(j, JSON_LINES);
    for (unsigned i = 0; i < BINS; i++) {
        if (bins[i].from == bins[i].to && bins[i].count == 0)
            continue;
        json_object(j, JSON_INLINE);
        json_member_unsigned(j, "from", bins[i].from);
        json_member_unsigned(j, "to", bins[i].to);
        json_member_unsigned(j, "count", bins[i].count);
        json_member_unsigned(j, "sum", bins[i].sum);
        json_end(j);
    }
    json_end(j);
}

static int put_answer(struct find *f, uint32_t name, struct bytes *out, struct error *err)
{
    static const struct zone_stats_row none = {0};
    const struct zone_stats_row *row = find_row(f);
    if (!row)
        row = &none;
    qsort(f->calls, f->count, sizeof *f->calls, compare_calls);
    struct json j = query_json(out);
    json_object(&j, JSON_LINES);
    json_member_unsigned(&j, "name", name);
    json_member_unsigned(&j, "count", row->count);
    json_member_unsigned(&j, "total", row->total_ns);
    json_member_unsigned(&j, "self", row->self_ns);
    json_member_real(&j, "mean", row->mean_ns);
    json_member_unsigned(&j, "min", row->min_ns);
    json_member_unsigned(&j, "max", row->max_ns);
    json_member_unsigned(&j, "p50", row->p50_ns);
    json_member_unsigned(&j, "p90", row->p90_ns);
    json_member_unsigned(&j, "p99", row->p99_ns);
    put_histogram(&j, f, row);
    json_key(&j, "calls");
    json_array(&j, JSON_LINES);
    for (size_t i = 0; i < f->count; i++) {
        json_object(&j, JSON_INLINE);
        json_member_unsigned(&j, "track", f->calls[i].track);
        json_member_unsigned(&j, "depth", f->calls[i].depth);
        json_member_unsigned(&j, "start", serve_since(f->st, f->calls[i].start));
        json_member_unsigned(&j, "end", serve_since(f->st, f->calls[i].start) + f->calls[i].duration);
        json_end(&j);
    }
    json_end(&j);
    json_end(&j);
    return query_json_end(&j, out, err);
}

int query_find_zones(struct serve_trace *st, const struct query *q, struct bytes *out, struct error *err)
{
    struct find f = {.st = st};
    uint64_t name = UINT64_MAX, limit = CALLS_LIMIT;
    int status = query_window(q, st, &f.window, err);
    if (!status)
        status = query_unsigned(q, "limit", CALLS_LIMIT_MAX, &limit, err);
    if (!status)
        status = query_unsigned(q, "name", UINT64_MAX, &name, err);
    if (!status && name >= trace_name_count(st->trace))
        status = query_text(q, "name")
                     ? error_set(err, ENOENT, "there is no name %" PRIu64, name)
                     : error_set(err, QUERY_REFUSED, "name: the number of a name is needed");
    if (!status)
        status = serve_trace_stats(st, &f.window, err);
    if (!status)
        status = name_groups_make(&f.groups, st->trace, NULL, NAMES_BY_ZONE, err);
    if (status)
        return status;
    f.limit = (size_t)limit;
    f.group = name_group(&f.groups, (uint32_t)name);
    f.calls = malloc((f.limit + 1) * sizeof *f.calls);
    status = f.calls ? read_zones(&f, err) : error_no_memory(err, "the zones");
    if (!status)
        status = put_answer(&f, (uint32_t)name, out, err);
    free(f.calls);
    histogram_free(&f.histogram);
    name_groups_free(&f.groups);
    return status;
}
