/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of zones in a window, of what lies in a range, and of what has a name. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/labels.h"
#include "analyze/names.h"
#include "analyze/pointlist.h"
#include "analyze/zones/waiting.h"
#include "serve/query/query.h"

#define RANGE_NAMES 12u
#define SEARCH_LIMIT 50u

/* --- statistics, kept until another window is asked for --- */

int serve_trace_stats(struct serve_trace *st, const struct query_window *window, struct error *err)
{
    struct trace_filter filter = {0};
    if (st->has_stats && st->stats_since_ns == window->since_ns && st->stats_until_ns == window->until_ns)
        return 0;
    if (st->has_stats)
        zone_stats_free(&st->stats);
    st->has_stats = false;
    int status = query_filter(st, window, &filter, err);
    if (!status)
        status =
            zone_stats_make(&st->stats, st->trace, &filter, ZONE_STATS_BY_NAME | ZONE_STATS_WAITING, err);
    trace_filter_free(&filter);
    if (status)
        return status;
    st->has_stats = true;
    st->stats_since_ns = window->since_ns;
    st->stats_until_ns = window->until_ns;
    return 0;
}

enum { SORT_SELF, SORT_TOTAL, SORT_COUNT };
static const char *const sort_words[] = {"self", "total", "count", NULL};

static uint64_t sort_value(const struct zone_stats_row *row, unsigned sort)
{
    return sort == SORT_SELF ? row->self_ns : sort == SORT_TOTAL ? row->total_ns : row->count;
}

static int compare_rows(const void *left, const void *right, void *context)
{
    const struct zone_stats_row *a = *(const struct zone_stats_row *const *)left;
    const struct zone_stats_row *b = *(const struct zone_stats_row *const *)right;
    uint64_t x = sort_value(a, *(const unsigned *)context), y = sort_value(b, *(const unsigned *)context);
    return x > y ? -1 : x < y ? 1 : a->name < b->name ? -1 : a->name > b->name;
}

/* What is searched for; NULL and 0: anything. */
struct wanted {
    const char *text;    /* in the name or the file */
    const char *file;    /* in the file */
    uint64_t longest_ns; /* one call takes at least so long */
};

/* Whether the text contains the pattern in any case; '*' in it stands for anything. */
static bool contains(const char *text, const char *pattern)
{
    while (*pattern) {
        size_t length = strcspn(pattern, "*");
        while (*text && strncasecmp(text, pattern, length) != 0)
            text++;
        if (length && !*text)
            return false;
        text += length;
        pattern += length;
        pattern += strspn(pattern, "*");
    }
    return true;
}

static bool is_wanted(const struct serve_trace *st, const struct zone_stats_row *row,
                      const struct wanted *wanted)
{
    const struct trace_name *name = trace_get_name(st->trace, row->name);
    if (wanted->text && !contains(name->name, wanted->text) &&
        !contains(trace_name_place(name), wanted->text))
        return false;
    return (!wanted->file || contains(trace_name_place(name), wanted->file)) &&
           row->max_ns >= wanted->longest_ns;
}

/* The rows that are wanted, sorted; the caller frees the list. */
static const struct zone_stats_row **sorted_rows(const struct serve_trace *st, const struct zone_stats *stats,
                                                 const struct wanted *wanted, unsigned sort, size_t *count)
{
    const struct zone_stats_row **rows = malloc((stats->row_count + 1) * sizeof *rows);
    *count = 0;
    for (size_t i = 0; rows && i < stats->row_count; i++) {
        if (is_wanted(st, &stats->rows[i], wanted))
            rows[(*count)++] = &stats->rows[i];
    }
    if (rows && *count)
        qsort_r(rows, *count, sizeof *rows, compare_rows, &sort);
    return rows;
}

const struct zone_stats_row **serve_trace_rows_by_self(const struct serve_trace *st, size_t *count)
{
    return sorted_rows(st, &st->stats, &(struct wanted){0}, SORT_SELF, count);
}

static void put_times(struct json *j, const struct zone_stats_row *row)
{
    json_member_unsigned(j, "count", row->count);
    json_member_unsigned(j, "total", row->total_ns);
    json_member_unsigned(j, "self", row->self_ns);
    json_member_real(j, "mean", row->mean_ns);
    json_member_unsigned(j, "min", row->min_ns);
    json_member_unsigned(j, "max", row->max_ns);
}

static void put_row(struct json *j, const struct serve_trace *st, const struct zone_stats_row *row)
{
    const struct trace_name *name = trace_get_name(st->trace, row->name);
    json_object(j, JSON_INLINE);
    json_member_unsigned(j, "name", row->name);
    json_member_text(j, "text", name->name);
    json_member_text(j, "file", trace_name_place(name));
    json_member_unsigned(j, "line", name->line);
    json_member_unsigned(j, "places", row->name_count);
    put_times(j, row);
    json_member_unsigned(j, "sum", row->sum_ns);
    json_member_unsigned(j, "waiting", row->waiting_ns);
    json_member_unsigned(j, "p50", row->p50_ns);
    json_member_unsigned(j, "p90", row->p90_ns);
    json_member_unsigned(j, "p99", row->p99_ns);
    json_member_real(j, "std", row->std_ns);
    json_member_unsigned(j, "open", row->open_count);
    json_member_real(j, "share", row->wall_percent / 100);
    json_member_bool(j, "wait",
                     waiting_is_all(row->waiting_ns, row->total_ns) || waiting_is_name(name->name));
    json_end(j);
}

/* Whose zones are asked for: of a track with those below it, of a process; TRACE_NONE: of any. */
struct whose {
    uint32_t track, process;
};

static int query_whose(const struct query *q, const struct serve_trace *st, struct whose *whose,
                       struct error *err)
{
    uint64_t process = TRACE_NONE;
    *whose = (struct whose){TRACE_NONE, TRACE_NONE};
    if (query_text(q, "track"))
        return query_track(q, st, &whose->track, err);
    int status = query_unsigned(q, "process", UINT32_MAX, &process, err);
    if (!status && process != TRACE_NONE && process >= trace_process_count(st->trace))
        return error_set(err, ENOENT, "there is no process %" PRIu64, process);
    whose->process = (uint32_t)process;
    return status;
}

static bool is_whose(const struct serve_trace *st, const struct whose *whose, uint32_t id)
{
    const struct trace_track *track = trace_get_track(st->trace, id);
    if (whose->track == TRACE_NONE)
        return track->process == whose->process;
    while (id != whose->track && track->parent < id) { /* a parent comes before what is below it */
        id = track->parent;
        track = trace_get_track(st->trace, id);
    }
    return id == whose->track;
}

/* Like serve_trace_stats, of some tracks; they are not kept. */
static int stats_of(struct serve_trace *st, const struct query_window *window, const struct whose *whose,
                    struct zone_stats *stats, struct error *err)
{
    struct trace_filter filter = {0};
    int status = query_filter(st, window, &filter, err);
    filter.is_everything = false;
    filter.has_tracks = true;
    for (uint32_t i = 0; !status && i < filter.track_count; i++)
        filter.track_wanted[i] = is_whose(st, whose, i);
    if (!status)
        status = zone_stats_make(stats, st->trace, &filter, ZONE_STATS_BY_NAME | ZONE_STATS_WAITING, err);
    trace_filter_free(&filter);
    return status;
}

static int write_zones(struct serve_trace *st, const struct query *q, const struct zone_stats *stats,
                       struct bytes *out, struct error *err)
{
    uint64_t top = UINT32_MAX;
    unsigned sort = SORT_SELF;
    size_t count;
    int status = query_choice(q, "sort", sort_words, &sort, err);
    if (!status)
        status = query_unsigned(q, "top", UINT32_MAX, &top, err);
    if (status)
        return status;
    const struct zone_stats_row **rows =
        sorted_rows(st, stats, &(struct wanted){.text = query_text(q, "q")}, sort, &count);
    if (!rows)
        return error_no_memory(err, "the zones");
    struct json j = query_json(out);
    json_object(&j, JSON_LINES);
    json_member_unsigned(&j, "count", count);
    json_member_unsigned(&j, "zones", stats->zone_count);
    json_member_unsigned(&j, "wall", stats->wall_ns);
    json_key(&j, "rows");
    json_array(&j, JSON_LINES);
    for (size_t i = 0; i < count && i < top && j.buffer.length < QUERY_ANSWER_MAX; i++)
        put_row(&j, st, rows[i]);
    json_end(&j);
    json_end(&j);
    free(rows);
    return query_json_end(&j, out, err);
}

int query_zones(struct serve_trace *st, const struct query *q, struct bytes *out, struct error *err)
{
    struct query_window window;
    struct whose whose;
    struct zone_stats own = {0};
    int status = query_window(q, st, &window, err);
    if (!status)
        status = query_whose(q, st, &whose, err);
    if (status)
        return status;
    bool is_all = whose.track == TRACE_NONE && whose.process == TRACE_NONE;
    status = is_all ? serve_trace_stats(st, &window, err) : stats_of(st, &window, &whose, &own, err);
    if (!status)
        status = write_zones(st, q, is_all ? &st->stats : &own, out, err);
    if (!is_all)
        zone_stats_free(&own);
    return status;
}

/* --- a range --- */

/* Zones that begin before one of the borders and end after it. */
static int count_crossing(struct serve_trace *st, const struct query_window *window, uint64_t *count,
                          struct error *err)
{
    struct zone_rows rows = {0};
    int status = 0;
    *count = 0;
    for (unsigned side = 0; side < 2 && !status; side++) {
        uint64_t border = side ? window->until_ns : window->since_ns;
        const struct trace_block_filter filter = {
            .type = TRACE_BLOCK_ZONES, .since_ns = border, .until_ns = border ? border : 1};
        const struct trace_block *block;
        size_t position = 0;
        while (!status && (block = trace_next_block(st->trace, &filter, &position))) {
            status =
                trace_decode_zones(st->trace, block, TRACE_COLUMN_START | TRACE_COLUMN_DURATION, &rows, err);
            for (size_t i = 0; i < rows.count && !status; i++) {
                uint64_t start = rows.start[i], end = start + rows.duration[i];
                bool crosses_first = start < window->since_ns && end > window->since_ns;
                *count += side ? start < border && end > border && !crosses_first : crosses_first;
            }
        }
    }
    zone_rows_free(&rows);
    return status;
}

struct interval {
    uint64_t start, end;
};

static int compare_intervals(const void *left, const void *right)
{
    const struct interval *a = left, *b = right;
    return a->start < b->start ? -1 : a->start > b->start;
}

/* Time in the window in which something ran on the track. */
static int busy_of_runs(const struct run_track *rt, const struct query_window *window, uint64_t *busy,
                        struct error *err)
{
    struct interval *intervals = NULL;
    size_t count = 0, capacity = 0;
    for (unsigned lane = 0; lane < rt->lane_count; lane++) {
        for (size_t i = 0; i < rt->lanes[lane].count; i++) {
            const struct node *run = &rt->lanes[lane].runs[i];
            if (run->end <= window->since_ns || run->start >= window->until_ns)
                continue;
            if (!array_reserve(&intervals, &capacity, count + 1, sizeof *intervals)) {
                free(intervals);
                return error_no_memory(err, "the range");
            }
            intervals[count].start = run->start > window->since_ns ? run->start : window->since_ns;
            intervals[count++].end = run->end < window->until_ns ? run->end : window->until_ns;
        }
    }
    if (count)
        qsort(intervals, count, sizeof *intervals, compare_intervals);
    uint64_t until = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t start = intervals[i].start > until ? intervals[i].start : until;
        *busy += intervals[i].end > start ? intervals[i].end - start : 0;
        until = intervals[i].end > until ? intervals[i].end : until;
    }
    free(intervals);
    return 0;
}

/* Of the outermost zones; a summary that reaches out counts with its share. */
static int busy_of_zones(struct serve_trace *st, uint32_t track, const struct query_window *window,
                         uint64_t *busy, struct error *err)
{
    int status = trace_lod(st->trace, track, 0, window->since_ns, window->until_ns, 4096, &st->rows, err);
    for (size_t i = 0; i < st->rows.count && !status; i++) {
        const struct lod_row *row = &st->rows.rows[i];
        uint64_t start = row->start_ns > window->since_ns ? row->start_ns : window->since_ns;
        uint64_t end = row->end_ns < window->until_ns ? row->end_ns : window->until_ns;
        uint64_t length = row->end_ns - row->start_ns;
        if (end > start && length)
            *busy += (uint64_t)((__uint128_t)row->busy_ns * (end - start) / length);
    }
    return status;
}

static int put_busy(struct json *j, struct serve_trace *st, const struct query_window *window,
                    struct error *err)
{
    int status = 0;
    json_key(j, "tracks");
    json_array(j, JSON_LINES);
    for (uint32_t track = 0; track < trace_track_count(st->trace) && !status; track++) {
        const struct run_track *rt = run_index_find(&st->runs, track);
        uint64_t busy = 0;
        if (rt)
            status = busy_of_runs(rt, window, &busy, err);
        else if (trace_track_zone_count(st->trace, track))
            status = busy_of_zones(st, track, window, &busy, err);
        if (busy == 0)
            continue;
        json_object(j, JSON_INLINE);
        json_member_unsigned(j, "track", track);
        json_member_unsigned(j, "busy", busy);
        json_end(j);
    }
    json_end(j);
    return status;
}

int query_range(struct serve_trace *st, const struct query *q, struct bytes *out, struct error *err)
{
    struct query_window window;
    uint64_t crossing = 0;
    size_t count;
    int status = query_window(q, st, &window, err);
    if (!status)
        status = serve_trace_stats(st, &window, err);
    if (!status)
        status = count_crossing(st, &window, &crossing, err);
    if (status)
        return status;
    const struct zone_stats_row **rows = sorted_rows(st, &st->stats, &(struct wanted){0}, SORT_SELF, &count);
    if (!rows)
        return error_no_memory(err, "the range");
    struct json j = query_json(out);
    json_object(&j, JSON_LINES);
    json_member_unsigned(&j, "length", window.until_ns - window.since_ns);
    json_member_unsigned(&j, "reach_out", crossing);
    json_key(&j, "names");
    json_array(&j, JSON_LINES);
    for (size_t i = 0; i < count && i < RANGE_NAMES; i++) {
        json_object(&j, JSON_INLINE);
        json_member_unsigned(&j, "name", rows[i]->name);
        put_times(&j, rows[i]);
        json_end(&j);
    }
    json_end(&j);
    free(rows);
    status = put_busy(&j, st, &window, err);
    json_end(&j);
    int ended = query_json_end(&j, out, err);
    return status ? status : ended;
}

/* --- search --- */

static void put_names(struct json *j, const struct serve_trace *st, const struct wanted *wanted,
                      uint64_t limit)
{
    size_t count;
    const struct zone_stats_row **rows = sorted_rows(st, &st->stats, wanted, SORT_TOTAL, &count);
    json_member_unsigned(j, "name_count", rows ? count : 0);
    json_key(j, "names");
    json_array(j, JSON_LINES);
    for (size_t i = 0; rows && i < count && i < limit; i++) {
        const struct trace_name *name = trace_get_name(st->trace, rows[i]->name);
        json_object(j, JSON_INLINE);
        json_member_unsigned(j, "name", rows[i]->name);
        json_member_text(j, "text", name->name);
        json_member_text(j, "file", trace_name_place(name));
        json_member_unsigned(j, "line", name->line);
        json_member_unsigned(j, "count", rows[i]->count);
        json_member_unsigned(j, "total", rows[i]->total_ns);
        json_end(j);
    }
    json_end(j);
    free(rows);
}

static void put_tracks(struct json *j, const struct serve_trace *st, const char *text, uint64_t limit)
{
    char label[256];
    uint64_t shown = 0;
    json_key(j, "tracks");
    json_array(j, JSON_LINES);
    for (uint32_t i = 0; i < trace_track_count(st->trace) && shown < limit; i++) {
        const char *name = label_track(st->trace, i, label, sizeof label);
        if (!contains(name, text))
            continue;
        json_object(j, JSON_INLINE);
        json_member_unsigned(j, "track", i);
        json_member_text(j, "text", name);
        json_end(j);
        shown++;
    }
    json_end(j);
}

static int put_messages(struct json *j, struct serve_trace *st, const char *text, uint64_t limit,
                        struct error *err)
{
    const struct query_window window = {st->start_ns, st->end_ns, true};
    struct trace_filter filter = {0};
    struct point_list list = {0};
    uint64_t count = 0;
    int status = query_filter(st, &window, &filter, err);
    if (!status)
        status = point_list_make(&list, st->trace, &filter, 0, err);
    json_key(j, "messages");
    json_array(j, JSON_LINES);
    for (size_t i = 0; i < list.count && !status; i++) {
        const struct point_entry *point = &list.entries[i];
        const char *header = point_list_text(&list, point->header),
                   *message = point_list_text(&list, point->text);
        if ((!contains(header, text) && !contains(message, text)) || count++ >= limit)
            continue;
        json_object(j, JSON_INLINE);
        json_member_text(j, "kind", trace_point_kind_text(point->kind));
        json_member_unsigned(j, "time", serve_since(st, point->time_ns));
        json_member_unsigned(j, "track", point->track);
        json_member_text(j, "header", header);
        json_member_text(j, "text", message);
        json_end(j);
    }
    json_end(j);
    json_member_unsigned(j, "message_count", count);
    point_list_free(&list);
    trace_filter_free(&filter);
    return status;
}

int query_search(struct serve_trace *st, const struct query *q, struct bytes *out, struct error *err)
{
    const struct query_window window = {st->start_ns, st->end_ns, true};
    struct wanted wanted = {.text = query_text(q, "q"), .file = query_text(q, "file")};
    uint64_t limit = SEARCH_LIMIT;
    int status = query_unsigned(q, "limit", 1000, &limit, err);
    if (!status)
        status = query_unsigned(q, "longest", UINT64_MAX, &wanted.longest_ns, err);
    bool is_restricted = wanted.file || wanted.longest_ns;
    const char *text = wanted.text ? wanted.text : "";
    if (!status && !*text && !is_restricted)
        status = error_set(err, QUERY_REFUSED, "q: a text to search for is needed");
    if (!status)
        status = serve_trace_stats(st, &window, err);
    if (status)
        return status;
    struct json j = query_json(out);
    json_object(&j, JSON_LINES);
    put_names(&j, st, &wanted, limit);
    put_tracks(&j, st, text, is_restricted ? 0 : limit); /* they have neither a file nor a length */
    status = put_messages(&j, st, text, is_restricted ? 0 : limit, err);
    json_end(&j);
    int ended = query_json_end(&j, out, err);
    return status ? status : ended;
}
