/* SPDX-License-Identifier: Apache-2.0 */
#include "import/ops_csv/columns.h"

#include <stdio.h>
#include <string.h>

static const char *const fixed_names[OPS_CSV_TENSOR] = {
    [OPS_CSV_NAME] = "OP CODE",
    [OPS_CSV_TYPE] = "OP TYPE",
    [OPS_CSV_CALL] = "GLOBAL CALL COUNT",
    [OPS_CSV_DEVICE] = "DEVICE ID",
    [OPS_CSV_ARCHITECTURE] = "DEVICE ARCH",
    [OPS_CSV_ATTRIBUTES] = "ATTRIBUTES",
    [OPS_CSV_FIDELITY] = "MATH FIDELITY",
    [OPS_CSV_CORES] = "CORE COUNT",
    [OPS_CSV_AVAILABLE_CORES] = "AVAILABLE WORKER CORE COUNT",
    [OPS_CSV_HOST_START] = "HOST START TS",
    [OPS_CSV_HOST_DURATION] = "HOST DURATION [ns]",
    [OPS_CSV_GAP] = "OP TO OP LATENCY [ns]",
    [OPS_CSV_DURATION] = "DEVICE KERNEL DURATION [ns]",
    [OPS_CSV_SUB_DEVICE] = "SUB DEVICE ID",
    [OPS_CSV_FW_START] = "DEVICE FW START CYCLE",
    [OPS_CSV_FW_END] = "DEVICE FW END CYCLE",
    [OPS_CSV_FW_DURATION] = "DEVICE FW DURATION [ns]",
    [OPS_CSV_LOCATION] = "LOC",
    [OPS_CSV_MODULE] = "MODULE PATH",
};

const char *ops_csv_column_name(size_t column, bool is_old_header, char *buffer, size_t size)
{
    static const char *const parts[OPS_CSV_TENSOR_CELLS] = {"W",      "Z",        "Y",     "X",
                                                            "LAYOUT", "DATATYPE", "MEMORY"};
    if (column < OPS_CSV_TENSOR)
        return fixed_names[column];
    size_t tensor = (column - OPS_CSV_TENSOR) / OPS_CSV_TENSOR_CELLS,
           part = (column - OPS_CSV_TENSOR) % OPS_CSV_TENSOR_CELLS;
    bool is_output = tensor >= OPS_CSV_INPUTS;
    snprintf(buffer, size, "%s_%zu_%s%s", is_output ? "OUTPUT" : "INPUT",
             is_output ? tensor - OPS_CSV_INPUTS : tensor, parts[part],
             part < 4 && !is_old_header ? "_PAD[LOGICAL]" : "");
    return buffer;
}

bool ops_csv_header_is_old(const struct op_rows *rows)
{
    for (size_t i = 0; i < op_rows_column_count(rows); i++) {
        if (strstr(op_rows_column_name(rows, i), "_PAD[LOGICAL]"))
            return false;
    }
    return true;
}
