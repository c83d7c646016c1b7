/* SPDX-License-Identifier: Apache-2.0 */
/* The records of tt-metal's real-time profiler as CSV, as its example writes them: what each device ran, by the
 * device's own clock, with no ops of the host.
 *
 *     runtime_id,chip_id,start_timestamp,end_timestamp,duration_cycles,duration_ns,frequency_ghz,kernel_sources
 *
 * Columns are found by their names (an older header calls the first program_id, others the clock frequency or
 * frequency_cycles_per_ns). Read as a source of op rows: a program is an op, named after its compute kernel, else its
 * first one; times are made of cycles and clock, since the written nanoseconds are rounded to six digits. */
#ifndef OPSCOPE_IMPORT_TENSTORRENT_REALTIME_CSV_H
#define OPSCOPE_IMPORT_TENSTORRENT_REALTIME_CSV_H

#include <stdbool.h>

#include "base/slice.h"
#include "import/op_rows.h"

bool tt_realtime_is_one(struct slice beginning);
int tt_realtime_open(struct op_rows **rows, const char *path, struct error *err);
/* The same of bytes in memory, which must stay; `path` is for messages. */
int tt_realtime_open_memory(struct op_rows **rows, const char *path, const void *data, size_t length,
                            struct error *err);

#endif
