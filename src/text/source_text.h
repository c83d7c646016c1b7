/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a source file, line by line, as UTF-8. It is read as UTF-8, or as Latin-1 where a Python file declares
 * that in its first two lines (PEP 263). Bytes that are not UTF-8 are taken as Latin-1: a line is never lost. */
#ifndef OPSCOPE_TEXT_SOURCE_TEXT_H
#define OPSCOPE_TEXT_SOURCE_TEXT_H

#include "base/bytes.h"
#include "base/error.h"

enum source_state {
    SOURCE_READ = 0,
    SOURCE_MISSING, /* not there, or not readable */
    SOURCE_CHANGED, /* written to after the moment that was asked for */
};

struct source_text {
    enum source_state state;
    struct bytes text;   /* whole file, lines ended by 0 */
    size_t *line_starts; /* line 1 is the first */
    size_t line_count, line_capacity;
};

/* not_after_ns: since the epoch; a file that was changed later does not say what was run. 0 = any time will do.
 * -ENOMEM only: a file that cannot be read has a state that says so. */
int source_text_load(struct source_text *source, const char *path, uint64_t not_after_ns, struct error *err);
/* The same of bytes in memory. */
int source_text_parse(struct source_text *source, const void *data, size_t length, struct error *err);
void source_text_free(struct source_text *source);
const char *source_text_line(const struct source_text *source, uint32_t line); /* NULL when it is not there */

#endif
