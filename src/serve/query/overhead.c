/* SPDX-License-Identifier: Apache-2.0 */
/* What calling ops cost the host in a window. */
#include "analyze/overhead/calls.h"
#include "analyze/overview/overview.h"
#include "serve/query/query.h"

#define ROWS_SHOWN 1000u
#define ROWS_MOST 100000u

static void put_row(struct json *j, const struct serve_trace *st, const struct ops *ops,
                    const struct overhead_calls_row *row, uint64_t window_ns)
{
    const struct op_call *longest = &ops->calls[row->longest];
    json_object(j, JSON_INLINE);
    json_member_text(j, "name", ops_get_text(ops, row->name));
    json_member_unsigned(j, "count", row->count);
    json_member_unsigned(j, "own_ns", row->own_ns);
    json_member_unsigned(j, "total_ns", row->total_ns);
    json_member_real(j, "share", window_ns ? (double)row->own_ns / (double)window_ns : 0);
    json_member_real(j, "mean_ns", (double)row->total_ns / (double)row->count);
    json_member_unsigned(j, "min_ns", row->min_ns);
    json_member_unsigned(j, "p50_ns", row->p50_ns);
    json_member_unsigned(j, "p99_ns", row->p99_ns);
    json_key(j, "delay_p50_ns");
    if (row->delayed)
        json_unsigned(j, row->delay_p50_ns);
    else
        json_null(j);
    json_member_real(j, "device_ns", row->device_ns);
    json_key(j, "track");
    if (longest->track == OPS_NONE)
        json_null(j);
    else
        json_unsigned(j, longest->track);
    json_member_unsigned(j, "start", serve_since(st, longest->start_ns));
    json_member_unsigned(j, "end", serve_since(st, longest->end_ns));
    json_end(j);
}

int query_overhead(struct serve_trace *st, const struct query *q, struct bytes *out, struct error *err)
{
    const struct overview *overview;
    struct overhead_calls calls = {0};
    uint64_t limit = ROWS_SHOWN;
    int status = query_unsigned(q, "limit", ROWS_MOST, &limit, err);
    if (!status)
        status = query_overview_asked(st, q, &overview, err);
    const struct ops *ops = status ? NULL : overview->perf.ops;
    if (ops)
        status = overhead_count_calls(&calls, ops, overview->from_ns, overview->to_ns, err);
    if (!status) {
        struct json j = query_json(out);
        json_object(&j, JSON_LINES);
        json_member_unsigned(&j, "from", serve_since(st, overview->from_ns));
        json_member_unsigned(&j, "to", serve_since(st, overview->to_ns));
        json_member_unsigned(&j, "count", calls.count);
        json_member_unsigned(&j, "calls", calls.calls);
        json_member_unsigned(&j, "own_ns", calls.own_ns);
        json_key(&j, "rows");
        json_array(&j, JSON_LINES);
        for (size_t i = 0; i < calls.count && i < limit; i++)
            put_row(&j, st, ops, &calls.rows[i], overview->to_ns - overview->from_ns);
        json_end(&j);
        json_end(&j);
        status = query_json_end(&j, out, err);
    }
    overhead_calls_free(&calls);
    return status;
}
