/* SPDX-License-Identifier: Apache-2.0 */
/* Cells as text and as numbers: what others wrote, so anything may stand in them. */
#ifndef OPSCOPE_TEXT_CSV_CELL_H
#define OPSCOPE_TEXT_CSV_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/slice.h"

/* Empty, absent, or one of the words that tables use for "nothing" (nan, None, N/A ...). */
bool cell_is_missing(struct slice cell);

enum number_kind { NUMBER_MISSING, NUMBER_WHOLE, NUMBER_REAL, NUMBER_BAD };
/* Decimal numbers, inf and nan; anything else is NUMBER_BAD. The value is NaN unless there is one. */
enum number_kind cell_number(struct slice cell, double *value);
/* "32" and "32[17]": the padded size; "32.0" too. */
enum number_kind cell_dimension(struct slice cell, double *value);
/* A whole number of up to 19 digits; false otherwise. */
bool cell_int64(struct slice cell, int64_t *value);

#define CELL_NO_NUMBER INT32_MIN
/* The digits after the first `key` that is followed by any; CELL_NO_NUMBER where there is none. */
int32_t cell_find_number(struct slice cell, const char *key);

/* Bytes of one element by the name of its type: the first digits are bits; 4 where there are none. */
double cell_type_bytes(struct slice cell);
/* FLOAT32 -> FP32, BFLOAT8_B -> BFP8 ...; others as they are: what tt-perf-report shortens. */
struct slice cell_short_type(struct slice cell);
/* The same for FLOAT64 and FLOAT16, too, which other chips have. */
struct slice cell_type_name(struct slice cell);

#endif
