/* SPDX-License-Identifier: Apache-2.0 */
/* One run of an op on a device: its figures, the call that launched it, and the gap before it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "present/overview/overview.h"
#include "serve/query/query.h"

/* --- finding --- */

static bool is_run(const struct serve_trace *st, const struct trace_run *run, uint32_t track,
                   const struct node *node)
{
    const struct trace_track *t = trace_get_track(st->trace, track);
    return run->track == track && run->name == node->name &&
           trace_host_ns(st->trace, t->clock, run->start) == node->start &&
           trace_host_ns(st->trace, t->clock, saturating_add_u64(run->start, run->duration)) <= node->end;
}

/* --- figures --- */

static const char *const kind_texts[TRACE_FIGURE_KINDS] = {
    [TRACE_FIGURE_TICKS] = "ticks", [TRACE_FIGURE_NS] = "ns",     [TRACE_FIGURE_COUNT] = "count",
    [TRACE_FIGURE_BYTES] = "bytes", [TRACE_FIGURE_REAL] = "real", [TRACE_FIGURE_PERCENT] = "percent",
    [TRACE_FIGURE_TEXT] = "text",
};

static void put_figures(struct json *j, const struct serve_trace *st, const struct trace_run_part *parts,
                        uint32_t count)
{
    json_key(j, "figures");
    json_array(j, JSON_LINES);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t kind = parts[i].kind;
        json_object(j, JSON_INLINE);
        json_member_text(j, "name", trace_get_name(st->trace, parts[i].name)->name);
        json_member_text(j, "kind", kind < TRACE_FIGURE_KINDS ? kind_texts[kind] : "count");
        json_key(j, "value");
        if (trace_figure_is_real(kind))
            json_real(j, parts[i].real);
        else if (kind == TRACE_FIGURE_TEXT)
            json_text(j, parts[i].whole < TRACE_NONE
                             ? trace_get_name(st->trace, (uint32_t)parts[i].whole)->name
                             : "");
        else
            json_unsigned(j, parts[i].whole);
        json_end(j);
    }
    json_end(j);
}

/* --- the call --- */

static void put_description(struct json *j, const struct serve_trace *st, uint32_t description)
{
    size_t count = 0;
    const struct trace_part *parts =
        description == TRACE_NONE ? NULL : trace_get_description(st->trace, description, &count);
    json_key(j, "description");
    json_array(j, JSON_LINES);
    for (size_t i = 0; parts && i < count; i++) {
        json_object(j, JSON_INLINE);
        json_member_text(j, "role", trace_part_role_text(parts[i].role));
        json_member_text(j, "text", parts[i].text.data);
        json_end(j);
    }
    json_end(j);
}

static void put_op(struct json *j, const struct serve_trace *st, const struct trace_op *op)
{
    json_object(j, JSON_LINES);
    json_member_unsigned(j, "call", op->call);
    json_member_unsigned(j, "name", op->name);
    json_member_text(j, "text", trace_get_name(st->trace, op->name)->name);
    json_member_text(j, "type", trace_op_type_text(op->type));
    json_member_unsigned(j, "track", op->track);
    json_member_unsigned(j, "start", serve_since(st, op->start_ns));
    json_key(j, "end");
    if (op->end_ns)
        json_unsigned(j, serve_since(st, op->end_ns));
    else
        json_null(j);
    put_description(j, st, op->description);
    put_figures(j, st, op->parts, op->part_count);
    json_end(j);
}

static int put_call(struct json *j, struct serve_trace *st, uint32_t process, uint64_t call,
                    struct error *err)
{
    const struct trace_block_filter filter = {.type = TRACE_BLOCK_OPS};
    const struct trace_block *block;
    struct trace_rows rows = {0};
    size_t position = 0;
    bool is_found = false;
    int status = 0;
    json_key(j, "op");
    while (!is_found && !status && call && (block = trace_next_block(st->trace, &filter, &position))) {
        status = trace_decode_rows(st->trace, block, &rows, err);
        for (size_t i = 0; i < rows.count && !is_found && !status; i++) {
            is_found = rows.ops[i].call == call && rows.ops[i].process == process;
            if (is_found)
                put_op(j, st, &rows.ops[i]);
        }
    }
    if (!is_found)
        json_null(j);
    trace_rows_free(&rows);
    return status;
}

/* The code that launched it. Where there can be no overview, the answer says why. */
static void put_launch(struct json *j, struct serve_trace *st, uint32_t process, uint64_t call)
{
    const char *location = NULL, *own = NULL;
    struct error ignored = {0};
    json_key(j, "launched_from");
    if (!call || serve_trace_location(st, process, call, &location, &own, &ignored) != 0 || !location) {
        json_null(j);
        return;
    }
    json_object(j, JSON_INLINE);
    overview_write_launch(st->trace, location, own, j);
    json_end(j);
}

/* --- the question --- */

/* The gap that ends where the run begins; nothing when the device was busy until then, or it was too short to count. */
static void put_gap(struct json *j, const struct serve_trace *st, const struct run_track *rt, uint64_t start)
{
    json_key(j, "gap_before");
    for (size_t i = 0; i < rt->gap_count; i++) {
        if (rt->gaps[i].end_ns != start)
            continue;
        json_object(j, JSON_INLINE);
        json_member_unsigned(j, "start", serve_since(st, rt->gaps[i].start_ns));
        json_member_unsigned(j, "duration", rt->gaps[i].end_ns - rt->gaps[i].start_ns);
        json_end(j);
        return;
    }
    json_null(j);
}

static int put_run(struct json *j, struct serve_trace *st, uint32_t track, const struct node *node,
                   struct error *err)
{
    const struct trace_block_filter filter = {.type = TRACE_BLOCK_RUNS,
                                              .track_plus_1 = track + 1,
                                              .since_ns = node->start,
                                              .until_ns = node->end + 1};
    const struct trace_block *block;
    struct trace_rows rows = {0};
    size_t position = 0;
    uint64_t call = 0;
    uint32_t process = TRACE_NONE;
    bool is_found = false;
    int status = 0;
    while (!is_found && !status && (block = trace_next_block(st->trace, &filter, &position))) {
        status = trace_decode_rows(st->trace, block, &rows, err);
        for (size_t i = 0; i < rows.count && !is_found && !status; i++) {
            const struct trace_run *run = &rows.runs[i];
            if (!(is_found = is_run(st, run, track, node)))
                continue;
            call = run->call;
            process = run->process;
            json_member_unsigned(j, "session", run->session);
            json_member_unsigned(j, "cores", run->cores);
            json_member_bool(j, "estimated", run->flags & TRACE_RUN_ESTIMATED);
            json_member_unsigned(j, "ticks", run->duration);
            put_figures(j, st, run->parts, run->part_count);
        }
    }
    trace_rows_free(&rows);
    if (!status)
        status = put_call(j, st, process, call, err);
    if (!status)
        put_launch(j, st, process, call);
    return status;
}

int query_run(struct serve_trace *st, const struct query *q, struct bytes *out, struct error *err)
{
    uint32_t track;
    uint64_t at = 0, wanted_lane = UINT64_MAX;
    unsigned lane = 0;
    int status = query_track(q, st, &track, err);
    if (!status)
        status = query_unsigned(q, "at", st->end_ns - st->start_ns, &at, err);
    if (!status)
        status = query_unsigned(q, "lane", RUN_LANES, &wanted_lane, err);
    if (status)
        return status;
    const struct run_track *rt = run_index_find(&st->runs, track);
    const struct node *node = rt ? run_track_find(rt, st->start_ns + at, wanted_lane, &lane) : NULL;
    if (!node)
        return error_set(err, ENOENT, "nothing ran on this track then");
    struct json j = query_json(out);
    json_object(&j, JSON_LINES);
    json_member_unsigned(&j, "name", node->name);
    json_member_text(&j, "text", trace_get_name(st->trace, node->name)->name);
    json_member_unsigned(&j, "track", track);
    json_member_unsigned(&j, "lane", lane);
    json_member_unsigned(&j, "start", serve_since(st, node->start));
    json_member_unsigned(&j, "duration", node->end - node->start);
    serve_trace_put_counted(st, track, lane, node, &j);
    put_gap(&j, st, rt, node->start);
    status = put_run(&j, st, track, node, err);
    if (!status)
        json_end(&j);
    int ended = query_json_end(&j, out, err);
    return status ? status : ended;
}
