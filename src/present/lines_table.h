/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of source lines: the time of each line beside its text. */
#ifndef OPSCOPE_PRESENT_LINES_TABLE_H
#define OPSCOPE_PRESENT_LINES_TABLE_H

#include "analyze/zones/lines.h"
#include "present/table.h"
#include "text/source_text.h"

struct source_files { /* each is read once; zero-initialise but for the time */
    struct source_file {
        const char *path; /* the trace's */
        struct source_text text;
    } * items;
    size_t count, capacity;
    uint64_t recorded_ns; /* the end of the recording, since the epoch; 0 = not known */
};

/* NULL when there is no memory; a file that cannot be read has a text that says so. */
const struct source_text *source_files_get(struct source_files *files, const char *path, struct error *err);
void source_files_free(struct source_files *files);

void lines_table_init(struct table *table);
/* The lines of a function that were reached; with `has_unreached` also those between them, for people. */
void lines_table_add(struct table *table, const struct trace *trace, const struct line_stats *stats,
                     const struct line_function *function, const struct source_text *text,
                     bool has_unreached);

#endif
