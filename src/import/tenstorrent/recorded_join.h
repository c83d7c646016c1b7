/* SPDX-License-Identifier: Apache-2.0 */
/* A log folder put together with what opscope recorded of the same run.
 *
 * The logs number each op that was dispatched to a device (GLOBAL CALL COUNT: program number and device); a program
 * that marks its ops with opscope does not know that number. So the two are joined by
 *
 *   1. the number, where the program gave it as an attribute global_call_count of the op;
 *   2. the order, device by device: programs are numbered in the order of their dispatch. Only where the device ran as
 *      many different programs as the program marked device ops of it: one more or less, and every name after it
 *      would be wrong.
 *
 * Where the logs have the host's ops, too, those are the table, and what was recorded adds its signposts, and of ops
 * that are numbered their layer and place in the source: the two clocks are set against each other by signposts that
 * both have. What cannot be joined stays: runs without an op get rows of their own, ops without a run keep their host
 * times, and a note says how many and why. */
#ifndef OPSCOPE_IMPORT_TENSTORRENT_RECORDED_JOIN_H
#define OPSCOPE_IMPORT_TENSTORRENT_RECORDED_JOIN_H

#include "import/tenstorrent/model.h"
#include "trace/reader.h"

/* Before the devices' files are read. True in *is_host when the model's ops are now the recorded ones, so that
 * recorded_join_runs has to find their runs. A trace that cannot be read costs what it would have said. */
int recorded_join_host(struct tt_model *model, const char *path, bool *is_host, struct error *err);
void recorded_join_runs(struct tt_model *model);

#endif
