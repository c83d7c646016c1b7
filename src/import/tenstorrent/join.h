/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of the host and runs of the devices, put together.
 *
 * A run belongs to the op of its id (and trace). Runs of a replayed trace each get a row of their own beside the
 * row of the op that was captured. Nothing here fails on data that does not fit: ops without runs and runs
 * without ops are counted and flagged. */
#ifndef OPSCOPE_IMPORT_TENSTORRENT_JOIN_H
#define OPSCOPE_IMPORT_TENSTORRENT_JOIN_H

#include "import/tenstorrent/device/ops.h"
#include "import/tenstorrent/model.h"

/* Makes runs of the model out of a log's ops: in time order for each device, or, where there are no host ops,
 * id by id as the device-only report has them. */
int tt_runs_from_log(struct tt_model *model, struct tt_log *log, struct error *err);

/* Finds the op of each run, by id and, where the log tells it, by trace. A device log without replay numbers has
 * its replays counted: the ops of a trace come again and again. The runtime's report has them or means none. */
void tt_join_runs(struct tt_model *model, bool may_count_replays);

/* Adds SUB DEVICE ID to runs that came from elsewhere. */
void tt_runs_add_sub_devices(struct tt_model *model, const struct tt_log *log);

/* Flags and notes what is missing. `has_device_data` is false where no file of a device was there at all: then nothing
 * is said of single ops. */
int tt_join_check(struct tt_model *model, bool has_device_data, struct error *err);

#endif
