/* SPDX-License-Identifier: Apache-2.0 */
/* Memory on the chip while a schedule runs: buffers have fixed addresses (`lram_address`) and live from their first use
 * to their last. A buffer that nothing names is taken to be there all the time. */
#ifndef OPSCOPE_IMPORT_TORQ_FOOTPRINT_H
#define OPSCOPE_IMPORT_TORQ_FOOTPRINT_H

#include "base/intern.h"
#include "base/map.h"
#include "import/mlir/mlir.h"

struct torq_buffer {
    uint64_t address, end;
    uint64_t first, last; /* cycles; last 0: not used */
};

struct torq_footprint {
    struct torq_buffer *buffers;
    size_t count, capacity;
    struct intern globals; /* symbols; an id is a place in `buffers`, since globals come first */
    struct map by_value;   /* buffers that ops allocate or hand back */
    bool failed;
};

/* For a new dispatch: the globals beside its function. */
void torq_footprint_begin(struct torq_footprint *footprint, const struct mlir *mlir, uint32_t function);
/* A value that is a buffer itself (no view of one) is in use from `start` to `end`; any other is passed over. */
void torq_footprint_use(struct torq_footprint *footprint, const struct mlir *mlir, uint32_t value,
                        uint64_t start, uint64_t end);
/* The highest byte that a buffer reaches, and the most bytes that are in use at once, of a dispatch that lasts from
 * `start` to `end`. Bytes that several buffers share count once. */
bool torq_footprint_measure(struct torq_footprint *footprint, uint64_t start, uint64_t end, uint64_t *peak,
                            uint64_t *used);
void torq_footprint_free(struct torq_footprint *footprint);

#endif
