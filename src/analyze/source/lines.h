/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of a source file that a trace names. They come from the trace itself, which took them along when it was
 * recorded: a trace may be anybody's, and what it names is not opened. Only in folders that the user has named
 * (--source DIR) files are looked for. */
#ifndef OPSCOPE_ANALYZE_SOURCE_LINES_H
#define OPSCOPE_ANALYZE_SOURCE_LINES_H

#include "base/text_list.h"
#include "text/source_text.h"
#include "trace/reader.h"

/* -ENOMEM only. `folders` may be NULL. The state of `out` says where there are none. */
int source_lines_get(struct source_text *out, struct trace *trace, const struct text_list *folders,
                     const char *file, struct error *err);

/* Why lines are not there, and what to do about it: ends a sentence about the file. */
const char *source_lines_advice(const struct trace *trace, enum source_state state);

#endif
