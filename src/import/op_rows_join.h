/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of several sources, one source after the other, under the columns that any of them has. */
#ifndef OPSCOPE_IMPORT_OP_ROWS_JOIN_H
#define OPSCOPE_IMPORT_OP_ROWS_JOIN_H

#include "import/op_rows.h"

/* Hosts of one run, which count their devices from 0: device 0 of the second is `devices`, and so on. */
int op_rows_join(struct op_rows **rows, const char *const *paths, size_t count, uint32_t devices,
                 struct error *err);

#endif
