/* SPDX-License-Identifier: Apache-2.0 */
/* What programs say of their ops while they are recorded, as op records of the same trace.
 *
 *     told = ops_told_new(NULL);
 *     ops_told_listener(told, &listener);           given to whoever records
 *     ops_told_write(told, writer, &counts, &err);  when all is said: what the devices' files say is joined with it
 *
 * Some runtimes say what they dispatch by messages and zones, and leave files of what their devices did. Both are kept
 * as they come and read at the end, in order of time, since threads are not heard in order. */
#ifndef OPSCOPE_IMPORT_TOLD_H
#define OPSCOPE_IMPORT_TOLD_H

#include "import/layout.h"
#include "import/open.h"
#include "trace/listener.h"
#include "trace/writer.h"

struct ops_told;

/* `folder` has the devices' files, whenever they were written; NULL: they are where the runtime puts them by its
 * variables, and only those are taken that were written from now on. NULL: no memory. */
struct ops_told *ops_told_new(const char *folder);
void ops_told_listener(struct ops_told *told, struct trace_listener *listener);

/* Writes signposts alone where no op was told of. What cannot be joined is counted and noted, as in an import. */
int ops_told_write(struct ops_told *told, struct trace_writer *writer, struct import_counts *counts,
                   struct error *err);
/* What the tool of that layout adds to its table is added. */
void ops_told_set_layout(struct ops_told *told, enum ops_layout layout);
/* After ops_told_write: what was told, as the files that other tools make of it, beside the devices'. */
int ops_told_write_logs(struct ops_told *told, struct error *err);
/* The folder that has the devices' files, or would. */
const char *ops_told_folder(const struct ops_told *told);
void ops_told_free(struct ops_told *told); /* NULL is allowed */

#endif
