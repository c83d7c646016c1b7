/* SPDX-License-Identifier: Apache-2.0 */
/* Times between ops, core by core: how long each core waited from the kernel of one op to the next one's.
 *
 * A row is a pair of ops that followed each other, "1024 -> 2048"; a pair that comes again (replays) has a row
 * each time. Values are cycles less the 1,500 that the recorder itself takes, as the vendor's file has them. */
#ifndef OPSCOPE_IMPORT_TENSTORRENT_DEVICE_PER_CORE_H
#define OPSCOPE_IMPORT_TENSTORRENT_DEVICE_PER_CORE_H

#include "import/tenstorrent/device/ops.h"

struct tt_per_core_row {
    uint32_t device;
    uint64_t from_id, to_id;
    uint64_t first_start;
    size_t first_cell, cell_count;
};

struct tt_per_core_cell {
    uint32_t row, column;
    int64_t cycles;
};

struct tt_per_core {
    struct tt_core *columns; /* each place (x, y) once, by x, then y; the device is not used */
    size_t column_count;
    struct tt_per_core_row *rows; /* by device, then by the time at which the first core was free */
    size_t row_count, row_capacity;
    struct tt_per_core_cell *cells; /* row by row, by column */
    size_t cell_count, cell_capacity;
};

int tt_per_core_make(struct tt_per_core *table, struct tt_log *log, struct error *err);
void tt_per_core_free(struct tt_per_core *table);

#endif
