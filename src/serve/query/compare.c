/* SPDX-License-Identifier: Apache-2.0 */
/* Two traces: what changed from A to B, or how far an estimate (A) is from a run (B). The figures are those of `opscope
 * diff`; both sides come with their overview and with places by which their timelines can be aligned. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/pointlist.h"
#include "load/compare.h"
#include "load/diff.h"
#include "ops/timeline_trace.h"
#include "present/diff/json.h"
#include "present/estimate/compare_tables.h"
#include "present/format.h"
#include "serve/query/query.h"

#define ROWS_SHOWN 1000u
#define ROWS_MOST 100000u
#define ANCHORS 64u
#define ANCHORS_SEARCHED 65536u /* of a side: later ones are not needed to align its beginning */

struct compare_side {
    struct serve_trace *st;
    struct query_window window;
    bool is_asked; /* of the window */
    const struct overview *overview;
};

struct asked {
    struct compare_side sides[DIFF_SIDES];
    unsigned group_by, only;
    uint64_t top;
    bool is_estimate; /* against a run */
    bool include_warm_up;
};

/* --- places by which timelines can be aligned --- */

struct anchor {
    const char *name;
    uint64_t start_ns; /* UINT64_MAX: none */
};

static int compare_anchors(const void *left, const void *right)
{
    const struct anchor *a = left, *b = right;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* The first run of each name, by name id. */
static struct anchor *find_first_runs(const struct serve_trace *st, size_t *count)
{
    *count = trace_name_count(st->trace);
    struct anchor *first = malloc((*count + 1) * sizeof *first);
    for (uint32_t i = 0; first && i < *count; i++)
        first[i] = (struct anchor){trace_get_name(st->trace, i)->name, UINT64_MAX};
    for (size_t t = 0; first && t < st->runs.count; t++) {
        const struct run_track *track = &st->runs.tracks[t];
        for (unsigned lane = 0; lane < track->lane_count; lane++) {
            for (size_t i = 0; i < track->lanes[lane].count; i++) {
                const struct node *run = &track->lanes[lane].runs[i];
                if (run->name < *count && run->start < first[run->name].start_ns)
                    first[run->name].start_ns = run->start;
            }
        }
    }
    if (first && *count)
        qsort(first, *count, sizeof *first, compare_anchors);
    return first;
}

/* The first signpost or frame of each name, in order of time. */
static int find_first_points(struct serve_trace *st, struct point_list *list, struct anchor **first,
                             size_t *count, struct error *err)
{
    const struct query_window whole = {st->start_ns, st->end_ns, true};
    struct trace_filter filter = {0};
    int status = query_filter(st, &whole, &filter, err);
    if (!status)
        status = point_list_make(list, st->trace, &filter,
                                 1u << TRACE_POINT_SIGNPOST | 1u << TRACE_POINT_FRAME, err);
    trace_filter_free(&filter);
    *count = status ? 0 : list->count;
    *first = status ? NULL : malloc((*count + 1) * sizeof **first);
    if (!status && !*first)
        status = error_no_memory(err, "the signposts");
    for (size_t i = 0; !status && i < *count; i++) {
        const char *header = point_list_text(list, list->entries[i].header);
        (*first)[i] = (struct anchor){*header ? header : point_list_text(list, list->entries[i].text),
                                      list->entries[i].time_ns};
    }
    return status;
}

static const struct anchor *find_anchor(const struct anchor *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count && i < ANCHORS_SEARCHED && list[i].start_ns != UINT64_MAX; i++) {
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    }
    return NULL;
}

/* Those that both have. */
static void write_anchors(struct json *j, const char *key, const struct asked *asked,
                          struct anchor *const lists[DIFF_SIDES], const size_t counts[DIFF_SIDES])
{
    size_t written = 0;
    json_key(j, key);
    json_array(j, JSON_LINES);
    for (size_t i = 0; i < counts[DIFF_A] && i < 16 * (size_t)ANCHORS && written < ANCHORS; i++) {
        const struct anchor *a = &lists[DIFF_A][i];
        if (a->start_ns == UINT64_MAX)
            break;
        const struct anchor *b = find_anchor(lists[DIFF_B], counts[DIFF_B], a->name);
        if (!*a->name || !b || find_anchor(lists[DIFF_A], i, a->name))
            continue;
        json_object(j, JSON_INLINE);
        json_member_text(j, "name", a->name);
        json_member_unsigned(j, "a", serve_since(asked->sides[DIFF_A].st, a->start_ns));
        json_member_unsigned(j, "b", serve_since(asked->sides[DIFF_B].st, b->start_ns));
        json_end(j);
        written++;
    }
    json_end(j);
}

static int add_anchors(const struct asked *asked, struct json *j, struct error *err)
{
    struct point_list points[DIFF_SIDES] = {0};
    struct anchor *signposts[DIFF_SIDES] = {0}, *ops[DIFF_SIDES] = {0};
    size_t signpost_counts[DIFF_SIDES] = {0}, op_counts[DIFF_SIDES] = {0};
    int status = 0;
    for (int side = 0; side < DIFF_SIDES && !status; side++) {
        struct serve_trace *st = asked->sides[side].st;
        status = find_first_points(st, &points[side], &signposts[side], &signpost_counts[side], err);
        ops[side] = status ? NULL : find_first_runs(st, &op_counts[side]);
        if (!status && !ops[side])
            status = error_no_memory(err, "the runs of ops");
    }
    if (!status) {
        json_key(j, "anchors");
        json_object(j, JSON_LINES);
        write_anchors(j, "signposts", asked, signposts, signpost_counts);
        write_anchors(j, "ops", asked, ops, op_counts);
        json_end(j);
    }
    for (int side = 0; side < DIFF_SIDES; side++) {
        free(signposts[side]);
        free(ops[side]);
        point_list_free(&points[side]);
    }
    return status;
}

/* --- two runs --- */

static void add_notes(const char *notes, struct json *j)
{
    json_key(j, "notes");
    json_array(j, JSON_LINES);
    for (const char *at = notes; *at; at += strcspn(at, "\n"), at += *at == '\n')
        json_text_length(j, at, strcspn(at, "\n"));
    json_end(j);
}

static int write_diff(const struct diff *diff, const struct asked *asked, const char *notes, struct json *j,
                      struct error *err)
{
    static const uint64_t kinds[] = {7, 1u << DIFF_OP_ROW, 1u << DIFF_ZONE_ROW};
    const struct diff_selection selection = {.kinds = kinds[asked->only], .is_all = true, .top = asked->top};
    struct diff_waterfall waterfall;
    struct sentence sentence;
    json_member_text(j, "kind", "runs");
    diff_sentence(diff, &sentence);
    json_key(j, "sentence");
    sentence_write_json(&sentence, j);
    bool is_whole = !sentence.text.failed;
    sentence_free(&sentence);
    add_notes(notes, j);
    json_key(j, "diff");
    json_object(j, JSON_LINES);
    is_whole &= diff_write_json(diff, &selection, j);
    json_end(j);
    diff_make_waterfall(diff, &waterfall);
    json_key(j, "waterfall");
    diff_write_waterfall(diff, &waterfall, j);
    return is_whole ? 0 : error_no_memory(err, "the difference");
}

static int begin_diff(const struct asked *asked, struct diff *diff, struct error *err)
{
    struct diff_options options = {.threshold_percent = 2,
                                   .alpha_percent = 1,
                                   .group_by = (enum diff_group_by)asked->group_by,
                                   .include_warm_up = asked->include_warm_up};
    for (int side = 0; side < DIFF_SIDES; side++) {
        const struct query_window *window = &asked->sides[side].window;
        options.windows[side] =
            (struct diff_window){asked->sides[side].is_asked, window->since_ns, window->until_ns};
    }
    diff_begin(diff, &options);
    return diff_find_common_opened(diff, asked->sides[DIFF_A].st->trace, asked->sides[DIFF_B].st->trace, err);
}

static int compare_runs(const struct asked *asked, struct json *j, struct error *err)
{
    struct diff_sources sources;
    struct diff diff;
    int status = diff_sources_begin(&sources, err), begun = begin_diff(asked, &diff, err);
    status = status ? status : begun;
    for (int side = 0; side < DIFF_SIDES && !status; side++) {
        const struct serve_trace *st = asked->sides[side].st;
        status = diff_load_opened(&diff, side, st->path, st->trace, &sources, err);
    }
    if (!status)
        status = diff_check_kinds(&diff, err);
    if (!status)
        status = diff_finish(&diff, err);
    if (!status)
        status = write_diff(&diff, asked, bytes_text(&sources.notes), j, err);
    diff_free(&diff);
    diff_sources_free(&sources);
    return status;
}

/* --- an estimate and a run --- */

static void say_estimate(const struct compare *pairs, const struct compare_total *total, struct sentence *s)
{
    const struct compare_pair *worst = NULL;
    double most = 0;
    *s = (struct sentence){0};
    for (size_t i = 0; i < pairs->pair_count; i++) {
        const struct compare_pair *pair = &pairs->pairs[i];
        double factor = pair->runs ? compare_factor(pair->estimate_ns, pair->measured_ns) : NAN;
        if (factor > most) {
            most = factor;
            worst = pair;
        }
    }
    if (!(total->estimate_ns > 0)) {
        sentence_say(s, false, NULL, "The estimate has no time.");
        return;
    }
    sentence_say(s, false, NULL, "Measured ");
    sentence_say(s, true, NULL, "%.3g \u00d7", total->measured_ns / total->estimate_ns);
    sentence_say(s, false, NULL, " the estimate");
    if (worst) {
        sentence_say(s, false, NULL, "; %.60s is off by ", compare_get_text(pairs, worst->name));
        sentence_say(s, true, NULL, "%.3g \u00d7", most);
    }
    sentence_say(s, false, NULL, ".");
}

static int write_estimate(const struct compare *pairs, struct json *j, struct error *err)
{
    struct table_column columns[PAIR_COLUMNS];
    struct compare_total total;
    struct sentence sentence;
    struct table table;
    int status = compare_sum(pairs, &total, err);
    if (status)
        return status;
    json_member_text(j, "kind", "estimate");
    say_estimate(pairs, &total, &sentence);
    json_key(j, "sentence");
    sentence_write_json(&sentence, j);
    sentence_free(&sentence);
    json_key(j, "estimate");
    json_object(j, JSON_LINES);
    json_member_text(j, "what", pairs->what);
    json_member_real(j, "estimate_ns", total.estimate_ns);
    json_member_real(j, "measured_ns", total.measured_ns);
    json_member_real(j, "bias_percent", total.bias_percent);
    json_member_real(j, "median_factor", total.median);
    json_member_real(j, "p90_factor", total.p90);
    json_member_unsigned(j, "unmeasured", pairs->unmeasured);
    json_member_real(j, "outside_ns", pairs->outside_ns);
    compare_make_pairs(pairs, false, columns, &table);
    json_key(j, "rows");
    table_write_json_rows(&table, j);
    status = table.failed ? error_no_memory(err, "the pairs") : 0;
    table_free(&table);
    json_end(j);
    return status;
}

static int compare_estimate(const struct asked *asked, struct json *j, struct error *err)
{
    const struct serve_trace *model = asked->sides[DIFF_A].st, *run = asked->sides[DIFF_B].st;
    struct estimate estimate = {0};
    struct timeline measured = {0};
    struct compare pairs = {0};
    int status = timeline_from_trace(&estimate.timeline, model->trace, TIMELINE_ESTIMATED, err);
    if (!status)
        status = timeline_from_trace(&measured, run->trace, TIMELINE_MEASURED, err);
    if (!status)
        status = compare_timelines(&pairs, &estimate, &measured, model->name, run->name, err);
    if (!status)
        status = write_estimate(&pairs, j, err);
    compare_free(&pairs);
    timeline_free(&measured);
    estimate_free(&estimate);
    return status;
}

/* --- which parts --- */

/* The part between signposts, as the overview has it. */
static int take_own_part(struct compare_side *side, struct error *err)
{
    const struct query_window whole = {side->st->start_ns, side->st->end_ns, true};
    const struct overview *own;
    int status = serve_trace_overview(side->st, &whole, false, &own, err);
    if (!status && own->source == OVERVIEW_SIGNPOST)
        side->window = (struct query_window){own->from_ns, own->to_ns, false};
    return status;
}

/* Where nobody asked for a part of a trace, its numbers are about what they are about everywhere. */
static int choose_windows(struct asked *asked, struct error *err)
{
    struct diff diff;
    if (asked->include_warm_up)
        return 0;
    int status = begin_diff(asked, &diff, err);
    for (int i = 0; i < DIFF_SIDES && !status; i++) {
        struct compare_side *side = &asked->sides[i];
        if (side->is_asked)
            continue;
        status = diff_find_window_opened(&diff, i, side->st->trace, err);
        const struct diff_window *found = &diff.runs[i].window;
        if (!status && found->is_set)
            side->window = (struct query_window){found->since_ns, found->until_ns, false};
        else if (!status)
            status = take_own_part(side, err);
    }
    diff_free(&diff);
    return status;
}

/* --- the question --- */

static int read_question(const struct query *q, struct asked *asked, struct error *err)
{
    static const char *const groups[] = {"op", "category", "location", "layer", NULL};
    static const char *const kinds[] = {"all", "ops", "zones", NULL};
    static const char *const names[DIFF_SIDES][2] = {{"a_from", "a_to"}, {"b_from", "b_to"}};
    static const char *const warm_ups[] = {"leave-out", "include", NULL};
    unsigned warm_up = 0;
    int status = query_choice(q, "group", groups, &asked->group_by, err);
    if (!status)
        status = query_choice(q, "warmup", warm_ups, &warm_up, err);
    asked->include_warm_up = warm_up == 1;
    if (!status)
        status = query_choice(q, "only", kinds, &asked->only, err);
    if (!status)
        status = query_unsigned(q, "top", ROWS_MOST, &asked->top, err);
    for (int i = 0; i < DIFF_SIDES && !status; i++) {
        struct compare_side *side = &asked->sides[i];
        status = query_window_of(q, side->st, names[i][0], names[i][1], &side->window, err);
        side->is_asked = query_text(q, names[i][0]) || query_text(q, names[i][1]);
    }
    asked->top = asked->top ? asked->top : 1; /* 0 would be no limit */
    return status;
}

static void add_side(const struct compare_side *side, const char *key, struct json *j)
{
    json_key(j, key);
    json_object(j, JSON_LINES);
    json_member_unsigned(j, "id", side->st->id);
    json_member_text(j, "name", side->st->name);
    json_member_unsigned(j, "from", serve_since(side->st, side->window.since_ns));
    json_member_unsigned(j, "to", serve_since(side->st, side->window.until_ns));
    json_key(j, "overview");
    json_object(j, JSON_LINES);
    overview_write_json(side->overview, j);
    json_end(j);
    json_end(j);
}

/* Each overview is written as soon as it is there: of a trace that is on both sides the next takes its place. */
static int add_sides(struct asked *asked, struct json *j, struct error *err)
{
    enum overview_kind kinds[DIFF_SIDES];
    for (int i = 0; i < DIFF_SIDES; i++) {
        struct compare_side *side = &asked->sides[i];
        int status =
            serve_trace_overview(side->st, &side->window, side->window.is_whole, &side->overview, err);
        if (status)
            return status;
        kinds[i] = side->overview->kind;
        add_side(side, i == DIFF_A ? "a" : "b", j);
        side->overview = NULL;
    }
    asked->is_estimate = kinds[DIFF_A] == OVERVIEW_ESTIMATE && kinds[DIFF_B] != OVERVIEW_ESTIMATE;
    if (kinds[DIFF_B] == OVERVIEW_ESTIMATE && kinds[DIFF_A] != OVERVIEW_ESTIMATE)
        return error_set(err, EINVAL, "%s is an estimate: it comes first, as A",
                         asked->sides[DIFF_B].st->name);
    return 0;
}

static int add_figures(const struct asked *asked, const struct compare_made *made, struct json *j,
                       struct error *err)
{
    if (made)
        return made->diff ? write_diff(made->diff, asked, made->notes, j, err)
                          : write_estimate(made->pairs, j, err);
    return asked->is_estimate ? compare_estimate(asked, j, err) : compare_runs(asked, j, err);
}

static int answer(struct asked *asked, const struct compare_made *made, struct bytes *out, struct error *err)
{
    struct json j = query_json(out);
    json_object(&j, JSON_LINES);
    int status = add_sides(asked, &j, err);
    if (!status)
        status = add_figures(asked, made, &j, err);
    if (!status)
        status = add_anchors(asked, &j, err);
    if (status) {
        bytes_free(&j.buffer);
        if (status == -EINVAL) /* they have nothing that could be compared */
            err->code = QUERY_REFUSED;
        return status == -EINVAL ? -QUERY_REFUSED : status;
    }
    json_end(&j);
    return query_json_end(&j, out, err);
}

int query_compare(struct serve_trace *a, struct serve_trace *b, const struct query *q, struct bytes *out,
                  struct error *err)
{
    struct asked asked = {.sides = {{.st = a}, {.st = b}}, .top = ROWS_SHOWN};
    int status = read_question(q, &asked, err);
    if (!status)
        status = choose_windows(&asked, err);
    return status ? status : answer(&asked, NULL, out, err);
}

int query_compare_made(struct serve_trace *a, struct serve_trace *b, const struct compare_made *made,
                       struct bytes *out, struct error *err)
{
    struct asked asked = {.sides = {{.st = a, .window = {a->start_ns, a->end_ns, true}},
                                    {.st = b, .window = {b->start_ns, b->end_ns, true}}},
                          .only = made->only,
                          .top = ROWS_SHOWN};
    for (int side = 0; side < DIFF_SIDES && made->diff; side++) {
        const struct diff_window *window = &made->diff->runs[side].window;
        uint64_t end = asked.sides[side].st->end_ns;
        if (window->is_set)
            asked.sides[side].window = (struct query_window){
                window->since_ns, window->until_ns < end ? window->until_ns : end, false};
    }
    return answer(&asked, made, out, err);
}
