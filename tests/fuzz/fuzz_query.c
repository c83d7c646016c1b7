/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the questions that `opscope view` answers: the target of a request, decoded and answered on a small trace with
 * zones, open zones, points, counters and memory. */
#include <stdlib.h>

#include "serve/query/query.h"
#include "small_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct serve_trace served;

static void open_served(void)
{
    struct small_trace made;
    small_trace_make(&made);
    if (serve_trace_open(&served, made.path, NULL) != 0)
        abort();
    small_trace_remove(&made);
}

/* Each question with the parameters of the input; the path does not matter here. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct query query;
    struct error err = {0};
    if (size < 2 || size > QUERY_TARGET_MAX + 100)
        return 0;
    if (!served.trace)
        open_served();
    if (query_parse(&query, (const char *)data + 1, size - 1, &err) != 0)
        return 0;
    size_t which = data[0] % (query_entry_count + query_two_entry_count);
    struct bytes out = {0};
    int status =
        which < query_entry_count
            ? query_entries[which].answer(&served, &query, &out, &err)
            : query_two_entries[which - query_entry_count].answer_two(&served, &served, &query, &out, &err);
    if (status == 0 && out.length > 2 * QUERY_ANSWER_MAX)
        abort();
    bytes_free(&out);
    return 0;
}
