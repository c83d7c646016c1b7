/* SPDX-License-Identifier: Apache-2.0 */
/* A vendor's ops CSV (one row an op and device) as a source of op rows; any header version, any extra columns. */
#ifndef OPSCOPE_IMPORT_OPS_CSV_READER_H
#define OPSCOPE_IMPORT_OPS_CSV_READER_H

#include "import/op_rows.h"

/* "-" is standard input. */
int ops_csv_open(struct op_rows **rows, const char *path, struct error *err);
int ops_csv_open_memory(struct op_rows **rows, const char *path, const void *data, size_t length,
                        struct error *err);

#endif
