/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of time as sorted lists: unions, what is left between them, and how long each was the only one. */
#ifndef OPSCOPE_ANALYZE_OVERVIEW_SPANS_H
#define OPSCOPE_ANALYZE_OVERVIEW_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct time_span {
    uint64_t start, end;
};

struct time_spans { /* zero-initialise */
    struct time_span *items;
    size_t count, capacity;
};

/* Spans of no length are left out. False: no memory. */
bool time_spans_add(struct time_spans *spans, uint64_t start, uint64_t end);
/* Sorts them and joins those that touch. */
void time_spans_join(struct time_spans *spans);
uint64_t time_spans_total(const struct time_spans *spans);
/* Of joined spans: what of [start, end) they leave. False: no memory. */
bool time_spans_invert(struct time_spans *rest, const struct time_spans *spans, uint64_t start, uint64_t end);
void time_spans_free(struct time_spans *spans);

/* Things that run on places (devices), several at a time on one. */
struct placed_span {
    uint64_t start, end;
    uint32_t place;
    uint32_t id; /* below the number of results */
};

/* Adds to alone[id] the time in which nothing else was on its place. O(n log n). False:
 * no memory. */
bool time_spans_alone(const struct placed_span *spans, size_t count, uint64_t *alone);

#endif
