/* SPDX-License-Identifier: Apache-2.0 */
/* The table of ops that opscope writes of a recording (NAME.ops.csv), read again: calls, what ran for each as one run,
 * signposts. It does not say what a device calls itself, nor the strides and the padding of tensors. */
#ifndef OPSCOPE_IMPORT_OWN_OPS_CSV_H
#define OPSCOPE_IMPORT_OWN_OPS_CSV_H

#include "base/slice.h"
#include "ops/ops.h"

/* By the first line. */
bool own_ops_csv_is_one(struct slice beginning);
/* Adds the ops, not yet finished (ops_finish). */
int own_ops_csv_read(struct ops *ops, const char *path, uint32_t first_device, struct error *err);

#endif
