/* SPDX-License-Identifier: Apache-2.0 */
/* What programs say of their ops while they are recorded, as op records of the same trace.
 *
 *     reported = ops_reported_new(NULL);
 *     ops_reported_listener(reported, &listener);           given to whoever records
 *     ops_reported_write(reported, writer, &counts, &err);  at the end: joined with the devices' files
 *
 * Some runtimes say what they dispatch by messages and zones, and leave files of what their devices did. Both are kept
 * as they come and read at the end, in order of time, since threads are not heard in order. */
#ifndef OPSCOPE_IMPORT_REPORTED_H
#define OPSCOPE_IMPORT_REPORTED_H

#include "import/layout.h"
#include "import/open.h"
#include "trace/listener.h"
#include "trace/writer.h"

struct ops_reported;

/* `folder` has the devices' files, whenever they were written; NULL: they are where the runtime puts them by its
 * variables, and only those are taken that were written from now on. NULL: no memory. */
struct ops_reported *ops_reported_new(const char *folder);
void ops_reported_listener(struct ops_reported *reported, struct trace_listener *listener);

/* Writes signposts alone where no op was reported. What cannot be joined is counted and noted, as in an import. */
int ops_reported_write(struct ops_reported *reported, struct trace_writer *writer,
                       struct import_counts *counts, struct error *err);
/* What the tool of that layout adds to its table is added. */
void ops_reported_set_layout(struct ops_reported *reported, enum ops_layout layout);
/* After ops_reported_write: what was reported, as the files that other tools make of it, beside the devices'. */
int ops_reported_write_logs(struct ops_reported *reported, struct error *err);
/* The folder that has the devices' files, or would. */
const char *ops_reported_folder(const struct ops_reported *reported);
void ops_reported_free(struct ops_reported *reported); /* NULL is allowed */

#endif
