/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time went: the overview of a window, its gaps, its ops, their roofline, their report. The figures are those
 * of `opscope summary`. Overviews are kept, since the page asks for all of them of one window. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "load/overview.h"
#include "ops/description.h"
#include "present/overview/overview.h"
#include "present/report/view.h"
#include "serve/query/query.h"

#define GAPS_SHOWN 256u
#define GAPS_MOST 100000u

struct serve_overview {
    struct loaded_overview loaded;
    struct trace_filter filter;
    uint64_t since_ns, until_ns;
    bool include_warm_up;
};

void serve_overview_free(struct serve_overview *kept)
{
    if (!kept)
        return;
    loaded_overview_free(&kept->loaded);
    trace_filter_free(&kept->filter);
    free(kept);
}

static bool is_own(const struct query_window *window, bool include_warm_up)
{
    return window->is_whole && !include_warm_up;
}

static bool find_lane(const void *context, const char *name, struct overview_place *place)
{
    const struct serve_trace *st = context;
    const struct run_track *rt = run_index_find(&st->runs, place->track);
    unsigned lane = 0;
    const struct node *node =
        rt ? run_track_find_start(rt, st->trace, place->start_ns, place->end_ns, name, &lane) : NULL;
    if (!node)
        return false;
    place->lane = lane;
    place->end_ns = node->end;
    return true;
}

static int make(struct serve_trace *st, const struct query_window *window, bool include_warm_up,
                struct error *err)
{
    struct serve_overview **place = is_own(window, include_warm_up) ? &st->own_overview : &st->overview;
    struct serve_overview *kept = calloc(1, sizeof *kept);
    if (!kept)
        return error_no_memory(err, "the overview");
    serve_overview_free(*place);
    *place = NULL;
    kept->since_ns = window->since_ns;
    kept->until_ns = window->until_ns;
    kept->include_warm_up = include_warm_up;
    int status = query_filter(st, window, &kept->filter, err);
    if (status) {
        free(kept);
        return status;
    }
    const struct overview_options options = {.filter = &kept->filter,
                                             .include_warm_up = include_warm_up,
                                             .machine = st->machine,
                                             .report = include_warm_up ? NULL : st->report};
    status = load_overview(&kept->loaded, st->trace, st->path, &options, err);
    if (status) {
        serve_overview_free(kept);
        return status;
    }
    overview_set_lanes(&kept->loaded.overview, find_lane, st);
    *place = kept;
    return 0;
}

/* What is kept of this window. Who asks for just the window that was chosen without being asked means that one, with
 * what was said of it; the ops of a report are not chosen by their times alone. */
static const struct serve_overview *find_kept(const struct serve_trace *st, const struct query_window *window,
                                              bool include_warm_up)
{
    const struct serve_overview *own = st->own_overview, *other = st->overview;
    if (own && !include_warm_up &&
        (window->is_whole || (own->loaded.overview.from_ns == window->since_ns &&
                              own->loaded.overview.to_ns == window->until_ns)))
        return own;
    return other && !is_own(window, include_warm_up) && other->since_ns == window->since_ns &&
                   other->until_ns == window->until_ns && other->include_warm_up == include_warm_up
               ? other
               : NULL;
}

int serve_trace_overview(struct serve_trace *st, const struct query_window *window, bool include_warm_up,
                         const struct overview **overview, struct error *err)
{
    int status = find_kept(st, window, include_warm_up) ? 0 : make(st, window, include_warm_up, err);
    if (!status)
        *overview = &find_kept(st, window, include_warm_up)->loaded.overview;
    return status;
}

/* Some overview: what it says of single runs and calls is the same in all. */
static int any_overview(struct serve_trace *st, const struct serve_overview **kept, struct error *err)
{
    const struct query_window whole = {.since_ns = st->start_ns, .until_ns = st->end_ns, .is_whole = true};
    int status = st->own_overview || st->overview ? 0 : make(st, &whole, false, err);
    if (!status)
        *kept = st->own_overview ? st->own_overview : st->overview;
    return status;
}

/* What a run is in the tables: of the window that was chosen, else of the one that was asked for last. */
void serve_trace_put_counted(struct serve_trace *st, uint32_t track, unsigned lane, const struct node *run,
                             struct json *j)
{
    const struct overview_place place = {
        .track = track, .lane = lane, .start_ns = run->start, .end_ns = run->end};
    const struct serve_overview *kept;
    struct error ignored = {0};
    json_key(j, "counted");
    if (any_overview(st, &kept, &ignored) != 0) { /* where there can be none, the answer says why */
        json_null(j);
        return;
    }
    struct overview_counted counted = overview_find_counted(&kept->loaded.overview, &place);
    if (counted.name == OPS_NONE && st->own_overview && st->overview) {
        kept = st->overview;
        counted = overview_find_counted(&kept->loaded.overview, &place);
    }
    json_object(j, JSON_INLINE);
    json_member_real(j, "ns", round(counted.ns));
    json_member_text(j, "name",
                     counted.name == OPS_NONE ? NULL : ops_get_text(&kept->loaded.ops, counted.name));
    json_member_unsigned(j, "kernels", counted.kernels);
    json_member_bool(j, "averaged", counted.is_averaged);
    json_end(j);
}

int serve_trace_location(struct serve_trace *st, uint32_t process, uint64_t call, const char **location,
                         const char **own, struct error *err)
{
    const struct serve_overview *kept;
    int status = any_overview(st, &kept, err);
    if (status)
        return status;
    const struct ops *ops = &kept->loaded.ops;
    *location = *own = NULL;
    for (size_t i = 0; i < ops->call_count; i++) {
        if (ops->calls[i].number != call || ops->calls[i].process != process)
            continue;
        uint32_t text = ops_location(ops, &ops->calls[i]);
        uint32_t own_text = ops_own_place(ops, &ops->calls[i]);
        *location = text == OPS_NONE ? NULL : ops_get_text(ops, text);
        *own = own_text == OPS_NONE ? NULL : ops_get_text(ops, own_text);
        return 0;
    }
    return 0;
}

int query_overview_asked(struct serve_trace *st, const struct query *q, const struct overview **overview,
                         struct error *err)
{
    static const char *const words[] = {"leave-out", "include", NULL};
    struct query_window window;
    unsigned warm_up = 0;
    int status = query_window(q, st, &window, err);
    if (!status)
        status = query_choice(q, "warmup", words, &warm_up, err);
    return status ? status : serve_trace_overview(st, &window, warm_up == 1, overview, err);
}

int serve_trace_own_window(struct serve_trace *st, struct query_window *window, struct error *err)
{
    const struct query nothing = {0};
    const struct overview *overview;
    int status = query_overview_asked(st, &nothing, &overview, err);
    if (status)
        return status;
    *window = (struct query_window){.since_ns = overview->from_ns, .until_ns = overview->to_ns};
    window->since_ns = window->since_ns > st->start_ns ? window->since_ns : st->start_ns;
    window->until_ns = window->until_ns < st->end_ns ? window->until_ns : st->end_ns;
    window->is_whole = overview->source == OVERVIEW_WHOLE;
    return 0;
}

/* An answer that `write` makes of the overview alone. */
static int answer_with(struct serve_trace *st, const struct query *q,
                       void (*write)(const struct overview *, struct json *), struct bytes *out,
                       struct error *err)
{
    const struct overview *overview;
    int status = query_overview_asked(st, q, &overview, err);
    if (status)
        return status;
    struct json j = query_json(out);
    json_object(&j, JSON_LINES);
    write(overview, &j);
    json_end(&j);
    return query_json_end(&j, out, err);
}

int query_overview(struct serve_trace *st, const struct query *q, struct bytes *out, struct error *err)
{
    return answer_with(st, q, overview_write_json, out, err);
}

static int compare_starts(const void *left, const void *right)
{
    const struct overview_gap *a = left, *b = right;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

int query_gaps(struct serve_trace *st, const struct query *q, struct bytes *out, struct error *err)
{
    static const char *const sorts[] = {"duration", "start", NULL};
    const struct overview *overview;
    uint64_t limit = GAPS_SHOWN;
    unsigned sort = 0;
    int status = query_unsigned(q, "limit", GAPS_MOST, &limit, err);
    if (!status)
        status = query_choice(q, "sort", sorts, &sort, err);
    if (!status)
        status = query_overview_asked(st, q, &overview, err);
    if (status)
        return status;
    struct overview sorted = *overview; /* the longest, in order of time */
    sorted.gaps = malloc((overview->gap_count + 1) * sizeof sorted.gaps[0]);
    if (!sorted.gaps)
        return error_no_memory(err, "the gaps between ops");
    if (overview->gap_count)
        memcpy(sorted.gaps, overview->gaps, overview->gap_count * sizeof sorted.gaps[0]);
    size_t shown = limit < overview->gap_count ? (size_t)limit : overview->gap_count;
    if (sort == 1 && shown)
        qsort(sorted.gaps, shown, sizeof sorted.gaps[0], compare_starts);
    struct json j = query_json(out);
    json_object(&j, JSON_LINES);
    overview_write_gaps(&sorted, shown, &j);
    json_end(&j);
    free(sorted.gaps);
    return query_json_end(&j, out, err);
}

static const char *const groupings[] = {"op+shape", "op", "kind", "none", NULL};

int query_ops(struct serve_trace *st, const struct query *q, struct bytes *out, struct error *err)
{
    const struct overview *overview;
    struct overview_ops made = {0};
    uint64_t limit = UINT32_MAX;
    unsigned by = 0;
    int status = query_choice(q, "group", groupings, &by, err);
    if (!status)
        status = query_unsigned(q, "limit", UINT32_MAX, &limit, err);
    if (!status)
        status = query_overview_asked(st, q, &overview, err);
    if (!status)
        status = overview_group_ops(overview, (enum overview_group)by, &made, err);
    if (status)
        return status;
    struct json j = query_json(out);
    json_object(&j, JSON_LINES);
    overview_write_groups(overview, &made, (enum overview_group)by, (size_t)limit, &j);
    json_end(&j);
    overview_ops_free(&made);
    return query_json_end(&j, out, err);
}

#define RUNS_SHOWN 1000u
#define RUNS_MOST 100000u

/* Every run of an op: where it is, how long it took, and what launched it. */
static int put_op(struct json *j, const struct overview *overview, enum overview_group by, const char *name,
                  uint64_t limit, struct error *err)
{
    size_t count;
    uint32_t *rows = overview_rows_of(overview, by, name, &count);
    if (!rows)
        return error_no_memory(err, "the runs of an op");
    json_member_unsigned(j, "count", count);
    json_key(j, "runs");
    json_array(j, JSON_LINES);
    for (size_t i = 0; i < count && i < limit; i++) {
        json_object(j, JSON_INLINE);
        overview_write_row_place(overview, rows[i], j);
        json_member_real(j, "duration", round(perf_time_us(perf_at(&overview->perf, rows[i])) * 1000));
        json_end(j);
    }
    json_end(j);
    int status = overview_write_launches(overview, rows, count, j, err);
    free(rows);
    return status;
}

int query_op(struct serve_trace *st, const struct query *q, struct bytes *out, struct error *err)
{
    const char *name = query_text(q, "name");
    const struct overview *overview;
    uint64_t limit = RUNS_SHOWN;
    unsigned by = 0;
    int status = query_choice(q, "group", groupings, &by, err);
    if (!status)
        status = query_unsigned(q, "limit", RUNS_MOST, &limit, err);
    if (!status && !name)
        status = error_set(err, QUERY_REFUSED, "name: which op is needed, as /ops names it");
    if (!status)
        status = query_overview_asked(st, q, &overview, err);
    if (status)
        return status;
    struct json j = query_json(out);
    json_object(&j, JSON_LINES);
    status = put_op(&j, overview, (enum overview_group)by, name, limit, err);
    if (!status)
        json_end(&j);
    int ended = query_json_end(&j, out, err);
    return status ? status : ended;
}

#define ROWS_SEARCHED 20000000u /* all rows are looked at for each op */

int query_all_ops(struct serve_trace *st, const struct query *q, const struct query_ops_room *room,
                  bool *is_all, struct bytes *out, struct error *err)
{
    const struct overview *overview;
    struct overview_ops groups = {0};
    unsigned by = 0;
    int status = query_choice(q, "group", groupings, &by, err);
    if (!status)
        status = query_overview_asked(st, q, &overview, err);
    if (!status)
        status = overview_group_ops(overview, (enum overview_group)by, &groups, err);
    if (status)
        return status;
    size_t most = ROWS_SEARCHED / (overview->perf.count + 1), made = 0;
    struct json j = query_json(out);
    json_array(&j, JSON_LINES);
    for (most = most < room->ops ? most : room->ops;
         made < groups.count && made < most && j.buffer.length < room->bytes && !status; made++) {
        const char *name = overview_op_name(overview, &groups.items[made]);
        json_object(&j, JSON_LINES);
        json_member_text(&j, "name", name);
        status = put_op(&j, overview, (enum overview_group)by, name, room->runs, err);
        if (!status)
            json_end(&j);
    }
    if (!status)
        json_end(&j);
    *is_all = made == groups.count;
    overview_ops_free(&groups);
    int ended = query_json_end(&j, out, err);
    return status ? status : ended;
}

int query_roofline(struct serve_trace *st, const struct query *q, struct bytes *out, struct error *err)
{
    return answer_with(st, q, overview_write_roofline, out, err);
}

#define STEPS_SHOWN 200u
#define STEPS_MOST 100000u

int query_steps(struct serve_trace *st, const struct query *q, struct bytes *out, struct error *err)
{
    const struct query_window whole = {.since_ns = st->start_ns, .until_ns = st->end_ns, .is_whole = true};
    const struct overview *overview;
    struct overview_steps steps = {0};
    struct trace_filter everything = {0};
    uint64_t limit = STEPS_SHOWN;
    int status = query_unsigned(q, "limit", STEPS_MOST, &limit, err);
    if (!status)
        status = query_overview_asked(st, q, &overview, err);
    if (!status)
        status = query_filter(st, &whole, &everything, err);
    if (!status)
        status = overview_find_steps(overview, &everything, limit ? (size_t)limit : 1, &steps, err);
    if (!status) {
        struct json j = query_json(out);
        json_object(&j, JSON_LINES);
        overview_write_steps(overview, &steps, &j);
        json_end(&j);
        status = query_json_end(&j, out, err);
    }
    overview_steps_free(&steps);
    trace_filter_free(&everything);
    return status;
}

#define REPORT_ROWS 1000u

int query_report(struct serve_trace *st, const struct query *q, struct bytes *out, struct error *err)
{
    const struct overview *overview;
    struct report_options options = {.top = REPORT_ROWS};
    int status = query_unsigned(q, "top", UINT32_MAX, &options.top, err);
    if (!status)
        status = query_overview_asked(st, q, &overview, err);
    if (!status && overview->perf.count == 0)
        status = error_set(err, ENOENT, "there are no ops in the window: a report is about ops on a device");
    if (status)
        return status;
    options.group_by = overview->perf.options.group_by;
    struct json j = query_json(out);
    json_object(&j, JSON_LINES);
    json_member_unsigned(&j, "count", overview->perf.count);
    status = report_write_json(&overview->perf, &options, &j, err);
    json_end(&j);
    int ended = query_json_end(&j, out, err);
    return status ? status : ended;
}
