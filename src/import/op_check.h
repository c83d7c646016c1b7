/* SPDX-License-Identifier: Apache-2.0 */
/* Is a cell what its column should hold? For tables that others wrote: the cell is shown as it is all the same, and a
 * person gets a notice. Empty cells are missing values, not wrong ones, except an op's name. */
#ifndef OPSCOPE_IMPORT_OP_CHECK_H
#define OPSCOPE_IMPORT_OP_CHECK_H

#include "import/op_rows.h"

enum op_check {
    OP_CHECK_NOTHING, /* texts, columns nobody knows */
    OP_CHECK_NAME,
    OP_CHECK_NUMBER,   /* decimal, within 64 bits */
    OP_CHECK_DURATION, /* the same, not negative */
    OP_CHECK_WHOLE,    /* not negative, no fraction ("64.0" has none) */
    OP_CHECK_COUNT,    /* the same, not 0 */
    OP_CHECK_SIZE,     /* "32", "32[17]" */
};

enum op_check op_check_of(const char *column);

/* What is wrong, as the end of "column 'X': 'cell' ...": "is not a number"; NULL where nothing is. */
const char *op_check_cell(enum op_check check, struct slice cell);

#endif
