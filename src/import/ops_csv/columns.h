/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of an ops CSV that the model takes. */
#ifndef OPSCOPE_IMPORT_OPS_CSV_COLUMNS_H
#define OPSCOPE_IMPORT_OPS_CSV_COLUMNS_H

#include "import/op_rows.h"

#define OPS_CSV_INPUTS 8u
#define OPS_CSV_OUTPUTS 4u
#define OPS_CSV_TENSORS (OPS_CSV_INPUTS + OPS_CSV_OUTPUTS)

/* Of a tensor: four sizes, then these. */
enum { OPS_CSV_TENSOR_LAYOUT = 4, OPS_CSV_TENSOR_TYPE, OPS_CSV_TENSOR_MEMORY, OPS_CSV_TENSOR_CELLS };

enum ops_csv_column {
    OPS_CSV_NAME,
    OPS_CSV_TYPE,
    OPS_CSV_CALL,
    OPS_CSV_DEVICE,
    OPS_CSV_ARCHITECTURE,
    OPS_CSV_ATTRIBUTES,
    OPS_CSV_FIDELITY,
    OPS_CSV_CORES,
    OPS_CSV_AVAILABLE_CORES,
    OPS_CSV_HOST_START,
    OPS_CSV_HOST_DURATION,
    OPS_CSV_GAP,
    OPS_CSV_DURATION,
    OPS_CSV_SUB_DEVICE,
    OPS_CSV_FW_START,
    OPS_CSV_FW_END,
    OPS_CSV_FW_DURATION,
    OPS_CSV_LOCATION,
    OPS_CSV_MODULE,
    OPS_CSV_TENSOR, /* the first of OPS_CSV_TENSORS x OPS_CSV_TENSOR_CELLS */
    OPS_CSV_COLUMNS = OPS_CSV_TENSOR + OPS_CSV_TENSORS * OPS_CSV_TENSOR_CELLS
};

/* Its name in the table; older headers call the sizes of tensors differently. */
const char *ops_csv_column_name(size_t column, bool is_old_header, char *buffer, size_t size);
/* 2024's headers call a size INPUT_0_W; newer ones INPUT_0_W_PAD[LOGICAL]. */
bool ops_csv_header_is_old(const struct op_rows *rows);

/* Whether a row has a tensor at the place of these cells. */
static inline bool ops_csv_has_tensor(const struct slice *cells)
{
    return cells[3].length || cells[OPS_CSV_TENSOR_TYPE].length || cells[OPS_CSV_TENSOR_MEMORY].length ||
           cells[0].length;
}

#endif
