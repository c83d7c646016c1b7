/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a source file, line by line, as UTF-8: the whole file, or some stretches of it. A file is read as UTF-8,
 * or as Latin-1 where a Python file declares that in its first two lines (PEP 263). Bytes that are not UTF-8 are taken
 * as Latin-1: a line is never lost. */
#ifndef OPSCOPE_TEXT_SOURCE_TEXT_H
#define OPSCOPE_TEXT_SOURCE_TEXT_H

#include "base/bytes.h"
#include "base/error.h"

enum source_state {
    SOURCE_READ = 0,
    SOURCE_MISSING, /* nobody has its lines */
    SOURCE_CHANGED, /* was newer than what was run */
};

struct source_stretch {
    size_t first_line; /* of the file; the first is 1 */
    size_t at, count;  /* in line_starts */
};

struct source_text { /* zero-initialise, or parse */
    enum source_state state;
    struct bytes text;   /* lines ended by 0 */
    size_t *line_starts; /* of all stretches */
    size_t start_count, start_capacity;
    struct source_stretch *stretches;
    size_t stretch_count, stretch_capacity;
    size_t line_count; /* of the whole file */
};

/* A whole file. -ENOMEM only. */
int source_text_parse(struct source_text *source, const void *data, size_t length, struct error *err);
/* Lines from `first_line` on, of which each is ended by \n; false: no memory. */
bool source_text_add(struct source_text *source, size_t first_line, const void *data, size_t length);
void source_text_free(struct source_text *source);
const char *source_text_line(const struct source_text *source, uint32_t line); /* NULL when it is not there */

#endif
