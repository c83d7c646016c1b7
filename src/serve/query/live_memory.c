/* SPDX-License-Identifier: Apache-2.0 */
/* What holds memory at a time: allocations that were not released until then, by the zone that made them. */
#include "analyze/events/memory.h"
#include "serve/query/query.h"

#define ROWS_SHOWN 100u
#define ROWS_MOST 10000u

static void put_row(struct json *j, const struct serve_trace *st, const struct memory_stats *stats,
                    const struct memory_leak *leak)
{
    const struct trace_name *name = leak->name == TRACE_NONE ? NULL : trace_get_name(st->trace, leak->name);
    json_object(j, JSON_INLINE);
    json_member_text(j, "pool", memory_pool_name(stats, &stats->pools[leak->pool]));
    json_key(j, "name");
    if (name)
        json_unsigned(j, leak->name);
    else
        json_null(j);
    json_member_text(j, "text", name ? name->name : NULL);
    json_member_unsigned(j, "count", leak->count);
    json_member_unsigned(j, "bytes", leak->bytes);
    json_member_unsigned(j, "since", serve_since(st, leak->first_ns));
    json_end(j);
}

int query_allocations(struct serve_trace *st, const struct query *q, struct bytes *out, struct error *err)
{
    struct memory_stats stats = {0};
    struct trace_filter filter = {0};
    uint64_t at = st->end_ns - st->start_ns, limit = ROWS_SHOWN, bytes = 0, count = 0;
    int status = query_unsigned(q, "at", at, &at, err);
    if (!status)
        status = query_unsigned(q, "limit", ROWS_MOST, &limit, err);
    const struct query_window until = {.since_ns = st->start_ns, .until_ns = st->start_ns + at + 1};
    if (!status)
        status = query_filter(st, &until, &filter, err);
    if (!status)
        status = memory_stats_make(&stats, st->trace, &filter, err);
    if (!status) {
        for (size_t i = 0; i < stats.leak_count; i++) {
            bytes += stats.leaks[i].bytes;
            count += stats.leaks[i].count;
        }
        struct json j = query_json(out);
        json_object(&j, JSON_LINES);
        json_member_unsigned(&j, "at", at);
        json_member_unsigned(&j, "bytes", bytes);
        json_member_unsigned(&j, "count", count);
        json_key(&j, "rows");
        json_array(&j, JSON_LINES);
        for (size_t i = 0; i < stats.leak_count && i < limit; i++)
            put_row(&j, st, &stats, &stats.leaks[i]);
        json_end(&j);
        json_end(&j);
        status = query_json_end(&j, out, err);
    }
    memory_stats_free(&stats);
    trace_filter_free(&filter);
    return status;
}
