/* SPDX-License-Identifier: Apache-2.0 */
/* The time of each block that a device ran: one row per track, name and location. */
#ifndef OPSCOPE_PRESENT_DEVICE_BLOCKS_H
#define OPSCOPE_PRESENT_DEVICE_BLOCKS_H

#include "present/table.h"
#include "trace/reader.h"

/* The tracks of one process, in order; of each at most `limit` rows, those first that took longest. `left_out` gets
 * the number of rows beyond that. The caller frees the table, whatever is returned. */
int device_blocks_make(struct table *table, struct trace *trace, uint32_t process, size_t limit,
                       size_t *left_out, struct error *err);

#endif
