/* SPDX-License-Identifier: Apache-2.0 */
/* The ops of a trace that is still being written, or whose writer died: op records come when programs have said all
 * and their devices' files are there, but what they tell is in the trace as messages and zones at once. Both are read
 * by the same code as at the end, so that an op is what it will be then, without what its device did.
 *
 * The track of the import is defined before the first op record that comes of messages (ops_told_write), and a file
 * only grows at its end: whoever sees one of those records sees the track, and never both the record and this. */
#ifndef OPSCOPE_IMPORT_TENSTORRENT_TOLD_GROWING_H
#define OPSCOPE_IMPORT_TENSTORRENT_TOLD_GROWING_H

#include "base/slice.h"
#include "import/tenstorrent/cells.h"
#include "import/told.h"
#include "trace/reader.h"

/* Such a trace, and a program reported an op. */
bool tt_told_is_in(struct trace *trace);
/* Adds what was reported to the model. `fields` as in tt_to_ops; processes and tracks are counted from these. */
int tt_told_read(struct ops *ops, struct trace *trace, struct tt_fields *fields, uint32_t first_process,
                 uint32_t first_track, struct error *err);

/* --- of told.c --- */
struct ops_told *tt_told_new(void); /* without the devices' files; NULL: no memory */
bool tt_told_is_op(struct slice text);
int tt_told_to_ops(struct ops_told *told, struct ops *ops, struct tt_fields *fields, struct error *err);

#endif
