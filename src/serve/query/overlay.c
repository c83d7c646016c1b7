/* SPDX-License-Identifier: Apache-2.0 */
/* An estimate laid over a run: its ops in the time of the run, each with the runs that it foretells. It begins where
 * the shortest run of the whole model does, since that is what it is compared with; in a trace that has both, it is
 * where it was recorded. */
#include <errno.h>
#include <stdlib.h>

#include "analyze/estimate/match.h"
#include "ops/timeline_trace.h"
#include "present/format.h"
#include "serve/query/query.h"

#define BOXES_MOST 20000u
#define LANES 8u        /* ops that overlap; the last one takes the rest */
#define RUNS_JOINED 64u /* of a pair: arrows are drawn to them */
#define PLACES_MOST 100000u

struct overlay {
    struct serve_trace *model, *run;
    struct timeline estimate, measured;
    struct match match;
    uint64_t begin_ns; /* host time of the run */
    struct box *boxes; /* in order of start */
    size_t box_count;
    struct place *places; /* by pair */
    size_t place_count, place_capacity;
    uint32_t *joined;     /* by pair: how many places it has */
    uint32_t *track_runs; /* by track: how many of its runs were joined */
};

/* An op of the estimate, or a dispatch. */
struct box {
    uint32_t pair, op;
    uint64_t start, end; /* host times of the run */
    uint32_t lane;
};

/* A run that an op of the estimate foretells. */
struct place {
    uint32_t pair, order;
    uint32_t track, lane; /* lane: UINT32_MAX for a zone */
    uint64_t start, end;  /* host times */
    bool is_beside;       /* in the run of the model that the estimate is laid over */
};

/* --- times --- */

static uint64_t cycles_ns(const struct timeline *t, uint64_t cycles)
{
    return (uint64_t)((double)cycles * 1000 / t->clock_mhz);
}

static uint64_t unit_ns(const struct timeline *t, const struct serve_trace *st, uint32_t track, uint64_t time)
{
    const struct trace_track *about = trace_get_track(st->trace, track);
    return t->is_host_ns || !about ? time : trace_host_ns(st->trace, about->clock, time);
}

/* The track of any unit: all have one clock where times are cycles. */
static uint32_t any_track(const struct timeline *t)
{
    return t->unit_count ? t->units[0].source : TRACE_NONE;
}

static uint64_t estimate_ns(const struct overlay *o, uint64_t time)
{
    if (o->model->id == o->run->id)
        return unit_ns(&o->estimate, o->model, any_track(&o->estimate), time);
    return o->begin_ns + cycles_ns(&o->estimate, time - timeline_start(&o->estimate));
}

static void find_begin(struct overlay *o)
{
    const struct timeline *t = &o->measured;
    uint64_t begin = o->match.whole_runs ? o->match.shortest_start : UINT64_MAX;
    for (size_t i = 0; !o->match.whole_runs && i < t->unit_count; i++) {
        uint32_t op = t->units[i].op;
        bool is_joined = op < t->op_count && o->match.pair_of[1][op] != MATCH_NO_PAIR;
        begin = is_joined && t->units[i].start < begin ? t->units[i].start : begin;
    }
    o->begin_ns = unit_ns(t, o->run, any_track(t), begin);
}

/* --- the estimate --- */

static int compare_boxes(const void *left, const void *right)
{
    const struct box *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->op > b->op) - (a->op < b->op);
}

static void choose_lanes(struct overlay *o)
{
    uint64_t busy_until[LANES] = {0};
    for (size_t i = 0; i < o->box_count; i++) {
        uint32_t lane = 0;
        while (lane < LANES - 1 && busy_until[lane] > o->boxes[i].start)
            lane++;
        o->boxes[i].lane = lane;
        busy_until[lane] = o->boxes[i].end > busy_until[lane] ? o->boxes[i].end : busy_until[lane];
    }
}

/* One for each op; a dispatch that was measured as a whole is one box. */
static bool make_boxes(struct overlay *o)
{
    const struct timeline *t = &o->estimate;
    struct box **of_pair = calloc(o->match.pair_count + 1, sizeof *of_pair);
    o->boxes = malloc((t->op_count + 1) * sizeof o->boxes[0]);
    for (uint32_t i = 0; of_pair && o->boxes && i < t->op_count; i++) {
        uint32_t pair = o->match.pair_of[0][i];
        uint64_t start = estimate_ns(o, t->ops[i].start), end = estimate_ns(o, t->ops[i].end);
        struct box *whole = pair != MATCH_NO_PAIR && o->match.pairs[pair].is_dispatch ? of_pair[pair] : NULL;
        if (whole) {
            whole->start = start < whole->start ? start : whole->start;
            whole->end = end > whole->end ? end : whole->end;
            continue;
        }
        o->boxes[o->box_count] = (struct box){.pair = pair, .op = i, .start = start, .end = end};
        if (pair != MATCH_NO_PAIR)
            of_pair[pair] = &o->boxes[o->box_count];
        o->box_count++;
    }
    bool is_made = of_pair && o->boxes;
    free(of_pair);
    if (is_made && o->box_count)
        qsort(o->boxes, o->box_count, sizeof o->boxes[0], compare_boxes);
    if (is_made)
        choose_lanes(o);
    return is_made;
}

/* --- what was measured --- */

/* The lane on which the page draws the run that begins then. */
static uint32_t lane_of(const struct serve_trace *st, uint32_t track, uint64_t start, uint64_t end)
{
    const struct run_track *rt = run_index_find(&st->runs, track);
    unsigned lane = 0;
    return rt && run_track_find_start(rt, st->trace, start, end, "", &lane) ? lane : UINT32_MAX;
}

static bool join(struct overlay *o, const struct timeline_unit *unit, bool is_beside)
{
    uint32_t pair = unit->op < o->measured.op_count ? o->match.pair_of[1][unit->op] : MATCH_NO_PAIR;
    if (pair == MATCH_NO_PAIR || o->joined[pair] == RUNS_JOINED || o->place_count == PLACES_MOST)
        return true;
    if (!array_reserve(&o->places, &o->place_capacity, o->place_count + 1, sizeof o->places[0]))
        return false;
    struct place place = {.pair = pair,
                          .order = (uint32_t)o->place_count,
                          .track = unit->source,
                          .start = unit_ns(&o->measured, o->run, unit->source, unit->start),
                          .end = unit_ns(&o->measured, o->run, unit->source, unit->end),
                          .is_beside = is_beside};
    place.lane = lane_of(o->run, place.track, place.start, place.end);
    o->places[o->place_count++] = place;
    o->joined[pair]++;
    if (place.track < trace_track_count(o->run->trace))
        o->track_runs[place.track]++;
    return true;
}

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->pair != b->pair)
        return a->pair < b->pair ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* Runs beside the estimate come first, the others in the order of the trace. */
static bool join_runs(struct overlay *o)
{
    const struct timeline *t = &o->measured;
    const struct match *match = &o->match;
    o->joined = calloc(match->pair_count + 1, sizeof o->joined[0]);
    o->track_runs = calloc(trace_track_count(o->run->trace) + 1, sizeof o->track_runs[0]);
    if (!o->joined || !o->track_runs)
        return false;
    for (int is_beside = 1; is_beside >= 0; is_beside--) {
        for (size_t i = 0; match->by != MATCH_NONE && i < t->unit_count; i++) {
            bool is_inside = !match->whole_runs || (t->units[i].start >= match->shortest_start &&
                                                    t->units[i].end <= match->shortest_end);
            if (is_inside == (bool)is_beside && !join(o, &t->units[i], is_inside))
                return false;
        }
    }
    if (o->place_count)
        qsort(o->places, o->place_count, sizeof o->places[0], compare_places);
    return true;
}

/* --- the answer --- */

static void add_pair(const struct overlay *o, size_t index, const struct place *places, struct json *j)
{
    const struct match_pair *pair = &o->match.pairs[index];
    json_object(j, JSON_LINES);
    json_member_real(j, "estimate_ns", pair->estimate_ns);
    json_key(j, "measured_ns");
    if (pair->runs)
        json_real(j, pair->least_ns);
    else
        json_null(j);
    json_member_unsigned(j, "run_count", pair->runs);
    json_key(j, "runs");
    json_array(j, JSON_LINES);
    for (size_t i = 0; i < o->joined[index]; i++) {
        const struct place *place = &places[i];
        json_object(j, JSON_INLINE);
        json_member_unsigned(j, "track", place->track);
        json_key(j, "lane");
        if (place->lane == UINT32_MAX)
            json_null(j);
        else
            json_unsigned(j, place->lane);
        json_member_unsigned(j, "start", serve_since(o->run, place->start));
        json_member_unsigned(j, "end", serve_since(o->run, place->end));
        json_member_bool(j, "beside", place->is_beside);
        json_end(j);
    }
    json_end(j);
    json_end(j);
}

static void add_box(const struct overlay *o, const struct box *box, struct json *j)
{
    const struct timeline *t = &o->estimate;
    const struct timeline_op *op = &t->ops[box->op];
    bool is_dispatch = box->pair != MATCH_NO_PAIR && o->match.pairs[box->pair].is_dispatch &&
                       op->dispatch < t->dispatch_count;
    json_object(j, JSON_INLINE);
    json_member_text(j, "name",
                     timeline_get_text(t, is_dispatch ? t->dispatches[op->dispatch].name : op->name));
    json_member_unsigned(j, "lane", box->lane);
    json_member_unsigned(j, "start", serve_since(o->run, box->start));
    json_member_unsigned(j, "end", serve_since(o->run, box->end));
    json_key(j, "pair");
    if (box->pair == MATCH_NO_PAIR)
        json_null(j);
    else
        json_unsigned(j, box->pair);
    json_end(j);
}

/* Above which track it is drawn: where most of its runs are. */
static uint32_t main_track(const struct overlay *o)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < trace_track_count(o->run->trace); i++)
        most = o->track_runs[i] > o->track_runs[most] ? i : most;
    return most;
}

static void write_answer(const struct overlay *o, struct json *j)
{
    uint32_t lanes = 0;
    for (size_t i = 0; i < o->box_count; i++)
        lanes = o->boxes[i].lane + 1 > lanes ? o->boxes[i].lane + 1 : lanes;
    json_member_unsigned(j, "a", o->model->id);
    json_member_unsigned(j, "b", o->run->id);
    json_member_text(j, "name", o->model->name);
    json_member_text(j, "what",
                     o->match.by == MATCH_NONE       ? NULL
                     : o->match.by == MATCH_DISPATCH ? "dispatch"
                                                     : "op");
    json_member_unsigned(j, "begin", serve_since(o->run, o->begin_ns));
    json_member_unsigned(j, "whole_runs", o->match.whole_runs);
    json_member_unsigned(j, "track", main_track(o));
    json_member_unsigned(j, "lanes", lanes);
    json_member_unsigned(j, "total", o->box_count);
    json_key(j, "boxes");
    json_array(j, JSON_LINES);
    for (size_t i = 0; i < o->box_count && i < BOXES_MOST; i++)
        add_box(o, &o->boxes[i], j);
    json_end(j);
    json_key(j, "pairs");
    json_array(j, JSON_LINES);
    const struct place *places = o->places;
    for (size_t i = 0; i < o->match.pair_count; places += o->joined[i], i++)
        add_pair(o, i, places, j);
    json_end(j);
}

static int find_pairs(struct overlay *o, struct error *err)
{
    int status = timeline_from_trace(&o->estimate, o->model->trace, TIMELINE_ESTIMATED, err);
    if (!status)
        status = timeline_from_trace(&o->measured, o->run->trace, TIMELINE_MEASURED, err);
    if (!status && !o->estimate.op_count)
        status = error_set(err, QUERY_REFUSED, "%s is not an estimate: a is the estimate, b the run",
                           o->model->name);
    if (!status)
        status = match_runs(&o->match, &o->estimate, &o->measured, err);
    return status;
}

int query_overlay(struct serve_trace *a, struct serve_trace *b, const struct query *q, struct bytes *out,
                  struct error *err)
{
    struct overlay o = {.model = a, .run = b};
    (void)q;
    int status = find_pairs(&o, err);
    if (!status && o.match.by != MATCH_NONE)
        find_begin(&o);
    if (!status && ((o.match.by != MATCH_NONE && !make_boxes(&o)) || !join_runs(&o)))
        status = error_no_memory(err, "the estimate");
    if (!status) {
        struct json j = query_json(out);
        json_object(&j, JSON_LINES);
        write_answer(&o, &j);
        json_end(&j);
        status = query_json_end(&j, out, err);
    }
    free(o.boxes);
    free(o.places);
    free(o.joined);
    free(o.track_runs);
    match_free(&o.match);
    timeline_free(&o.estimate);
    timeline_free(&o.measured);
    return status;
}
