/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a command may be given as a trace, opened as one. */
#ifndef OPSCOPE_LOAD_TRACE_H
#define OPSCOPE_LOAD_TRACE_H

#include "base/bytes.h"
#include "trace/reader.h"

/* A trace file, or a folder of logs or an ops CSV, which is imported on the way. "-" reads a trace from stdin into
 * *stdin_data, which must live as long as the trace. */
int load_trace(struct trace **trace, struct bytes *stdin_data, const char *path, bool salvage,
               struct error *err);

/* Writes a trace that nobody asked to keep. */
typedef int trace_filler(const void *context, const char *file, struct error *err);
/* A trace of what `fill` writes, in a file that has no name any more; `path` is for messages. */
int load_filled_trace(struct trace **trace, const char *path, trace_filler *fill, const void *context,
                      struct error *err);

#endif
