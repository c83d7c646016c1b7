/* SPDX-License-Identifier: Apache-2.0 */
/* The overview as JSON (docs/http-api.md): times in ns since the start of the trace, shares from 0 to 1. */
#include <math.h>
#include <string.h>

#include "analyze/report/advice.h"
#include "present/overview/overview.h"

#define TOP_FUNCTIONS 20u
#define TOP_WAITS 10u
#define TOP_OPS 20u

static void member_bytes(struct json *json, const char *key, const struct bytes *text)
{
    json_key(json, key);
    json_text_length(json, bytes_text(text), text->length);
}

static void member_null(struct json *json, const char *key)
{
    json_key(json, key);
    json_null(json);
}

static void member_id(struct json *json, const char *key, uint32_t id)
{
    if (id == TRACE_NONE)
        member_null(json, key);
    else
        json_member_unsigned(json, key, id);
}

static void member_time(struct json *json, const char *key, const struct overview *o, uint64_t ns)
{
    uint64_t start = trace_get_info(o->trace)->start_ns;
    if (ns == UINT64_MAX)
        member_null(json, key);
    else
        json_member_unsigned(json, key, ns > start ? ns - start : 0);
}

void sentence_write_json(const struct sentence *sentence, struct json *json)
{
    const char *text = (const char *)sentence->text.data;
    json_array(json, JSON_LINES);
    for (size_t i = 0; i < sentence->count && !sentence->text.failed; i++) {
        const struct phrase *phrase = &sentence->phrases[i];
        json_object(json, JSON_INLINE);
        json_key(json, "text");
        json_text_length(json, text + phrase->begin, phrase->end - phrase->begin);
        json_member_bool(json, "strong", phrase->is_strong);
        json_member_text(json, "meaning", phrase->meaning);
        json_end(json);
    }
    json_end(json);
}

static void write_sentence(struct json *json, const struct overview *o)
{
    struct sentence sentence;
    overview_sentence(o, &sentence);
    json_key(json, "sentence");
    sentence_write_json(&sentence, json);
    sentence_free(&sentence);
}

static void write_window(struct json *json, const struct overview *o)
{
    struct bytes source = {0}, what = {0}, reason = {0}, text = {0};
    overview_append_source(o, &source);
    overview_append_left_out(o, &what, &reason);
    overview_append_left_out_text(o, &text);
    json_key(json, "window");
    json_object(json, JSON_LINES);
    member_time(json, "from", o, o->from_ns);
    member_time(json, "to", o, o->to_ns);
    member_bytes(json, "source", &source);
    json_key(json, "left_out");
    json_array(json, JSON_LINES);
    if (what.length) {
        json_object(json, JSON_INLINE);
        member_bytes(json, "text", &text);
        member_bytes(json, "what", &what);
        member_bytes(json, "reason", &reason);
        json_member_text(json, "undo", "warmup=include");
        json_end(json);
    }
    json_end(json);
    json_end(json);
    bytes_free(&source);
    bytes_free(&what);
    bytes_free(&reason);
    bytes_free(&text);
}

static void write_partition(struct json *json, const struct overview *o)
{
    json_key(json, "partition");
    json_object(json, JSON_LINES);
    json_member_text(json, "basis", overview_basis_text(o));
    json_member_unsigned(json, "total_ns", o->total_ns);
    json_key(json, "parts");
    json_array(json, JSON_LINES);
    for (size_t i = 0; i < o->part_count; i++) {
        const struct overview_part *part = &o->parts[i];
        json_object(json, JSON_INLINE);
        json_member_text(json, "key", overview_key_text(part->key));
        json_member_text(json, "label", overview_label(o, part->key));
        json_member_text(json, "meaning", overview_meaning(part->key));
        json_member_unsigned(json, "ns", part->ns);
        json_member_real(json, "share", o->total_ns ? (double)part->ns / (double)o->total_ns : 0);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

/* Where zones of a name are: nothing where that is several places. */
static void write_place(struct json *json, const struct overview *o, uint32_t id, uint32_t place_count)
{
    const struct trace_name *name = trace_get_name(o->trace, id);
    bool has_place = id != TRACE_NONE && place_count <= 1 && trace_name_place(name)[0];
    member_id(json, "name", id);
    json_member_text(json, "text", id == TRACE_NONE ? "nothing recorded" : name->name);
    json_member_text(json, "file", has_place ? trace_name_place(name) : NULL);
    if (has_place && name->line)
        json_member_unsigned(json, "line", name->line);
    else
        member_null(json, "line");
}

static void write_functions(struct json *json, const char *key, const struct overview *o, bool is_waiting)
{
    const struct overview_function *items = is_waiting ? o->waiting : o->working;
    size_t count = is_waiting ? o->waiting_count : o->working_count,
           most = is_waiting ? TOP_WAITS : TOP_FUNCTIONS;
    json_key(json, key);
    json_array(json, JSON_LINES);
    for (size_t i = 0; i < count && i < most; i++) {
        json_object(json, JSON_INLINE);
        write_place(json, o, items[i].name, items[i].place_count);
        json_member_unsigned(json, "self", items[i].self_ns);
        json_member_unsigned(json, "total", items[i].total_ns);
        json_member_unsigned(json, "count", items[i].count);
        json_member_bool(json, "wait", is_waiting);
        json_end(json);
    }
    json_end(json);
}

static void write_ops(struct json *json, const struct overview *o)
{
    json_key(json, "top_ops");
    json_array(json, JSON_LINES);
    for (size_t i = 0; i < o->ops.count && i < TOP_OPS; i++) {
        const struct overview_op *op = &o->ops.items[i];
        json_object(json, JSON_INLINE);
        json_member_text(json, "name", perf_text(&o->perf, op->name));
        json_member_unsigned(json, "count", op->count);
        json_member_real(json, "device_ns", round(op->device_ns));
        json_member_real(json, "alone_ns", round(op->alone_ns));
        json_member_real(json, "share", op->share);
        json_member_text(json, "bound", perf_bound_text(op->bound));
        json_end(json);
    }
    json_end(json);
}

static void write_host(struct json *json, const struct overview *o, const struct overview_host *host,
                       size_t count)
{
    json_key(json, "host");
    json_array(json, JSON_INLINE);
    for (size_t i = 0; i < count; i++) {
        json_object(json, JSON_INLINE);
        write_place(json, o, host[i].name, 1);
        json_member_unsigned(json, "ns", host[i].ns);
        json_end(json);
    }
    json_end(json);
}

void overview_write_gap(const struct overview *o, const struct overview_gap *gap, struct json *json)
{
    json_object(json, JSON_INLINE);
    member_id(json, "track", gap->track);
    member_time(json, "start", o, gap->start_ns);
    json_member_unsigned(json, "duration", gap->duration_ns);
    json_member_text(json, "before",
                     gap->before == OPS_NONE ? "(no name)" : perf_text(&o->perf, gap->before));
    json_member_text(json, "class", overview_class_text(gap->class_));
    json_member_unsigned(json, "working_ns", gap->working_ns);
    json_member_unsigned(json, "waiting_ns", gap->waiting_ns);
    write_host(json, o, gap->host, gap->host_count);
    json_end(json);
}

static void write_gaps(struct json *json, const struct overview *o)
{
    json_key(json, "gaps");
    json_object(json, JSON_LINES);
    json_member_unsigned(json, "count", o->gap_count);
    json_member_unsigned(json, "sum", o->gap_sum_ns);
    json_key(json, "longest");
    if (o->gap_count)
        overview_write_gap(o, &o->gaps[0], json);
    else
        json_null(json);
    write_host(json, o, o->gap_host, o->gap_host_count);
    json_end(json);
}

/* Members of a place; `name` is what the tables call what is there. */
static void write_place_of(const struct overview *o, const char *kind, const struct overview_place *place,
                           const char *name, struct json *json)
{
    bool is_known = place->track != TRACE_NONE;
    json_member_text(json, "kind", is_known ? kind : NULL);
    member_id(json, "track", place->track);
    member_id(json, "lane", place->lane);
    member_time(json, "start", o, is_known ? place->start_ns : UINT64_MAX);
    member_time(json, "end", o, is_known ? place->end_ns : UINT64_MAX);
    json_member_text(json, "name", name);
}

void overview_write_row_place(const struct overview *o, uint32_t row, struct json *json)
{
    const struct perf_row *about = perf_at(&o->perf, row);
    struct overview_place place = overview_place_of(o, about);
    write_place_of(o, place.is_call ? "call" : "run", &place,
                   perf_text(&o->perf, overview_row_name(o, about)), json);
}

/* What a line of advice rests on most: of gaps the longest one, else the run that would save most. */
static void write_evidence(const struct overview *o, const struct perf_advice *advice, struct json *json)
{
    struct overview_place place = overview_place_of(o, perf_at(&o->perf, advice->row));
    const struct overview_gap *gap = advice->rule == PERF_RULE_GAP ? overview_gap_before(o, &place) : NULL;
    json_object(json, JSON_INLINE);
    if (gap) {
        place.lane = OVERVIEW_NO_LANE;
        place.start_ns = gap->start_ns;
        place.end_ns = gap->start_ns + gap->duration_ns;
        write_place_of(o, "gap", &place, perf_text(&o->perf, gap->before), json);
    } else {
        overview_write_row_place(o, advice->row, json);
    }
    json_end(json);
}

static void write_advice(struct json *json, const struct overview *o)
{
    json_key(json, "advice");
    json_array(json, JSON_LINES);
    for (size_t i = 0; i < overview_advice_count(o); i++) {
        const struct perf_advice *advice = &o->perf.advice[i];
        struct bytes text = {0}, because = {0};
        overview_append_advice(o, i, &text, &because);
        json_object(json, JSON_LINES);
        member_bytes(json, "text", &text);
        member_bytes(json, "because", &because);
        json_member_real(json, "gain_ns", round(overview_gain_us(o, i) * 1000));
        json_member_text(json, "rule", perf_rules[advice->rule].name);
        json_key(json, "evidence");
        write_evidence(o, advice, json);
        json_end(json);
        bytes_free(&text);
        bytes_free(&because);
    }
    json_end(json);
}

static void write_lists(struct json *json, const struct overview *o)
{
    struct overview_lists lists;
    overview_lists_make(&lists, o);
    json_key(json, "losses");
    json_array(json, JSON_LINES);
    for (size_t i = 0; i < lists.loss_count; i++) {
        json_object(json, JSON_INLINE);
        member_bytes(json, "text", &lists.losses[i].text);
        member_bytes(json, "remedy", &lists.losses[i].remedy);
        json_end(json);
    }
    json_end(json);
    json_key(json, "next");
    json_array(json, JSON_LINES);
    for (size_t i = 0; i < lists.next_count; i++) {
        json_object(json, JSON_INLINE);
        member_bytes(json, "text", &lists.next[i].text);
        member_bytes(json, "command", &lists.next[i].command);
        json_end(json);
    }
    json_end(json);
    overview_lists_free(&lists);
}

void overview_write_json(const struct overview *o, struct json *json)
{
    json_member_text(json, "kind", overview_kind_text(o));
    write_sentence(json, o);
    write_window(json, o);
    json_member_text(json, "devices", perf_devices_text(&o->perf));
    write_partition(json, o);
    write_functions(json, "top", o, false);
    write_functions(json, "top_waits", o, true);
    write_ops(json, o);
    write_gaps(json, o);
    write_advice(json, o);
    write_lists(json, o);
}
