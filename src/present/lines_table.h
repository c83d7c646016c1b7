/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of source lines: the time of each line beside its text. */
#ifndef OPSCOPE_PRESENT_LINES_TABLE_H
#define OPSCOPE_PRESENT_LINES_TABLE_H

#include "analyze/source/lines.h"
#include "analyze/zones/lines.h"
#include "present/table.h"

struct source_lists { /* each is read once; zero-initialise but for the trace and the folders */
    struct source_list {
        const char *path; /* the trace's */
        struct source_text text;
    } * items;
    size_t count, capacity;
    struct trace *trace;
    const struct text_list *folders; /* of --source; NULL: none */
};

/* NULL when there is no memory; a file that cannot be read has a text that says so. */
const struct source_text *source_lists_get(struct source_lists *files, const char *path, struct error *err);
void source_lists_free(struct source_lists *files);

void lines_table_init(struct table *table);
/* The lines of a function that were reached; with `has_unreached` also those between them, for people. */
void lines_table_add(struct table *table, const struct trace *trace, const struct line_stats *stats,
                     const struct line_function *function, const struct source_text *text,
                     bool has_unreached);

#endif
