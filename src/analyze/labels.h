/* SPDX-License-Identifier: Apache-2.0 */
/* What processes, tracks and places in the source are called, the same in every view. */
#ifndef OPSCOPE_ANALYZE_LABELS_H
#define OPSCOPE_ANALYZE_LABELS_H

#include <stddef.h>

#include "base/error.h"
#include "trace/reader.h"

/* The track's name, or its kind and number ("thread 4711"). */
const char *label_track(const struct trace *trace, uint32_t track, char *buffer, size_t size);
/* The program's name without its folder and arguments, cut at the buffer's end; "?" when unknown. */
const char *label_program(const struct trace_process *process, char *buffer, size_t size);
/* "file.c:17", "file.c", "function" or "". */
const char *label_location(const struct trace_name *name, char *buffer, size_t size);

/* How much of its path tells a source file from the others of the trace: "json/__init__.py" where several packages have
 * an "__init__.py", "train.py" where only one file has that name. */
struct place_labels { /* zero-initialise */
    uint32_t *skip;   /* by name id: where in its file the label begins */
    size_t count;
};

int place_labels_make(struct place_labels *labels, const struct trace *trace, struct error *err);
void place_labels_free(struct place_labels *labels);
/* The file of a name from there on; without labels the whole of it. */
const char *place_label_file(const struct place_labels *labels, const struct trace_name *name);

#endif
