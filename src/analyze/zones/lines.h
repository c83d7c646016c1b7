/* SPDX-License-Identifier: Apache-2.0 */
/* Times of source lines, from traces that were recorded line by line: a zone for each line, called FUNCTION:LINE,
 * inside its function's. Lines are put together by function; a function is distinguished from another of its name in
 * the same file (lambdas, generator expressions) by the line where it begins, which its own zones know. */
#ifndef OPSCOPE_ANALYZE_ZONES_LINES_H
#define OPSCOPE_ANALYZE_ZONES_LINES_H

#include "analyze/filter.h"

struct line_row {
    uint32_t name; /* of its zones */
    uint32_t line;
    uint64_t hits, total_ns, self_ns;
};

struct line_function {
    uint32_t name; /* of one of its lines: function and file */
    /* where it begins; of its first recorded line when no call of it was recorded whole */
    uint32_t first_line;
    size_t row, row_count;
    uint64_t calls;    /* recorded whole; 0 when none was */
    uint64_t total_ns; /* of its lines */
};

struct line_stats {
    struct line_row *rows; /* function by function, in order of line */
    size_t row_count;
    struct line_function *functions; /* in order of total, largest first */
    size_t function_count;
};

/* A line is wanted when --name matches its zone's name or its function's. */
int line_stats_make(struct line_stats *stats, struct trace *trace, const struct trace_filter *filter,
                    struct error *err);
void line_stats_free(struct line_stats *stats);

#endif
