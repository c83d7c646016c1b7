/* SPDX-License-Identifier: Apache-2.0 */
/* What processes, tracks and places in the source are called, the same in every view. */
#ifndef OPSCOPE_ANALYZE_LABELS_H
#define OPSCOPE_ANALYZE_LABELS_H

#include <stddef.h>

#include "trace/reader.h"

/* The track's name, or its kind and number ("thread 4711"). */
const char *label_track(const struct trace *trace, uint32_t track, char *buffer, size_t size);
/* The program's name without its folder and arguments, cut at the buffer's end; "?" when unknown. */
const char *label_program(const struct trace_process *process, char *buffer, size_t size);
/* "file.c:17", "file.c", "function" or "". */
const char *label_location(const struct trace_name *name, char *buffer, size_t size);

#endif
