/* SPDX-License-Identifier: Apache-2.0 */
/* The runs on devices that a stretch of a host's track launched. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "serve/query/query.h"

#define LAUNCHED_LIMIT 64u
#define CALLS_MAX 65536u /* more calls than this are not followed */

struct call {
    uint32_t process;
    uint64_t number;
};

struct calls {
    struct call *list; /* sorted */
    size_t count, capacity;
};

static int compare_calls(const void *left, const void *right)
{
    const struct call *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static int find_calls(struct serve_trace *st, uint32_t track, const struct query_window *window,
                      struct calls *calls, struct error *err)
{
    const struct trace_block_filter filter = {
        .type = TRACE_BLOCK_OPS, .since_ns = window->since_ns, .until_ns = window->until_ns};
    const struct trace_block *block;
    struct trace_rows rows = {0};
    size_t position = 0;
    int status = 0;
    while (!status && (block = trace_next_block(st->trace, &filter, &position))) {
        status = trace_decode_rows(st->trace, block, &rows, err);
        for (size_t i = 0; i < rows.count && !status && calls->count < CALLS_MAX; i++) {
            const struct trace_op *op = &rows.ops[i];
            if (op->track != track || op->start_ns < window->since_ns || op->start_ns >= window->until_ns)
                continue;
            if (!array_reserve(&calls->list, &calls->capacity, calls->count + 1, sizeof *calls->list))
                status = error_no_memory(err, "the calls");
            else
                calls->list[calls->count++] = (struct call){op->process, op->call};
        }
        status = status == -EINVAL ? 0 : status; /* damaged: the others count */
    }
    trace_rows_free(&rows);
    if (!status && calls->count)
        qsort(calls->list, calls->count, sizeof *calls->list, compare_calls);
    return status;
}

static void put_run(struct json *j, const struct serve_trace *st, const struct trace_run *run)
{
    const struct run_track *rt = run_index_find(&st->runs, run->track);
    uint64_t start = trace_track_host_ns(st->trace, run->track, run->start);
    uint64_t end = trace_track_host_ns(st->trace, run->track, saturating_add_u64(run->start, run->duration));
    unsigned lane = 0;
    if (rt)
        run_track_find_start(rt, st->trace, start, end, trace_get_name(st->trace, run->name)->name, &lane);
    json_object(j, JSON_INLINE);
    json_member_unsigned(j, "name", run->name);
    json_member_unsigned(j, "track", run->track);
    json_member_unsigned(j, "lane", lane);
    json_member_unsigned(j, "start", serve_since(st, start));
    json_member_unsigned(j, "end", serve_since(st, end > start ? end : start));
    json_end(j);
}

/* In the order of the trace's blocks: by start on each track. */
static int put_runs(struct json *j, struct serve_trace *st, const struct calls *calls, uint64_t limit,
                    uint64_t *count, struct error *err)
{
    const struct trace_block_filter filter = {.type = TRACE_BLOCK_RUNS};
    const struct trace_block *block;
    struct trace_rows rows = {0};
    size_t position = 0;
    int status = 0;
    while (calls->count && !status && (block = trace_next_block(st->trace, &filter, &position))) {
        status = trace_decode_rows(st->trace, block, &rows, err);
        for (size_t i = 0; i < rows.count && !status; i++) {
            const struct call call = {rows.runs[i].process, rows.runs[i].call};
            if (!bsearch(&call, calls->list, calls->count, sizeof call, compare_calls))
                continue;
            if ((*count)++ < limit)
                put_run(j, st, &rows.runs[i]);
        }
        status = status == -EINVAL ? 0 : status;
    }
    trace_rows_free(&rows);
    return status;
}

int query_launched(struct serve_trace *st, const struct query *q, struct bytes *out, struct error *err)
{
    struct query_window window;
    struct calls calls = {0};
    uint32_t track;
    uint64_t limit = LAUNCHED_LIMIT, count = 0;
    int status = query_track(q, st, &track, err);
    if (!status)
        status = query_window(q, st, &window, err);
    if (!status)
        status = query_unsigned(q, "limit", 1000, &limit, err);
    if (!status)
        status = find_calls(st, track, &window, &calls, err);
    if (status) {
        free(calls.list);
        return status;
    }
    struct json j = query_json(out);
    json_object(&j, JSON_LINES);
    json_key(&j, "runs");
    json_array(&j, JSON_LINES);
    status = put_runs(&j, st, &calls, limit, &count, err);
    json_end(&j);
    json_member_unsigned(&j, "calls", calls.count);
    json_member_unsigned(&j, "count", count);
    json_end(&j);
    free(calls.list);
    int ended = query_json_end(&j, out, err);
    return status ? status : ended;
}
