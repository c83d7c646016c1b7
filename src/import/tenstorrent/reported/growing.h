/* SPDX-License-Identifier: Apache-2.0 */
/* The ops of a trace that is still being written, or whose writer died: op records come when programs have said all
 * and their devices' files are there, but what they tell is in the trace as messages and zones at once. Both are read
 * by the same code as at the end, so that an op is what it will be then, without what its device did.
 *
 * The track of the import is defined before the first op record that comes of messages (ops_reported_write), and a file
 * only grows at its end: whoever sees one of those records sees the track, and never both the record and this. */
#ifndef OPSCOPE_IMPORT_TENSTORRENT_REPORTED_GROWING_H
#define OPSCOPE_IMPORT_TENSTORRENT_REPORTED_GROWING_H

#include "base/slice.h"
#include "import/tenstorrent/cells.h"
#include "import/reported.h"
#include "trace/reader.h"

/* Such a trace, and a program reported an op. */
bool tt_reported_is_in(struct trace *trace);
/* Adds what was reported to the model. `fields` as in tt_to_ops; processes and tracks are counted from these. */
int tt_reported_read(struct ops *ops, struct trace *trace, struct tt_fields *fields, uint32_t first_process,
                     uint32_t first_track, struct error *err);

/* --- of reported.c --- */
struct ops_reported *tt_reported_new(void); /* without the devices' files; NULL: no memory */
bool tt_reported_is_op(struct slice text);
int tt_reported_to_ops(struct ops_reported *reported, struct ops *ops, struct tt_fields *fields,
                       struct error *err);

#endif
