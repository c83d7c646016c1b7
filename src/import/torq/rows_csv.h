/* SPDX-License-Identifier: Apache-2.0 */
/* Annotated profiles, as opscope annotate and the vendor's script write them, read back: names of columns or the titles
 * of its spreadsheets, separated by ';' or ','. Programs are ops; loads, host copies and the driver's calls are not. */
#ifndef OPSCOPE_IMPORT_TORQ_ROWS_CSV_H
#define OPSCOPE_IMPORT_TORQ_ROWS_CSV_H

#include "base/slice.h"
#include "ops/timeline.h"

/* Does a file that begins like this hold one? Its first line decides. */
bool torq_rows_are_in(struct slice beginning);
/* In ns; the caller frees the timeline, whatever is returned. */
int torq_rows_read(struct timeline *timeline, const char *path, struct error *err);

#endif
