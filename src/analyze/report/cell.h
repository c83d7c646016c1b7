/* SPDX-License-Identifier: Apache-2.0 */
/* Cells as text and as numbers: what others wrote, so anything may stand in them. */
#ifndef OPSCOPE_ANALYZE_REPORT_CELL_H
#define OPSCOPE_ANALYZE_REPORT_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "analyze/report/report.h"

/* Empty, absent, or one of the words that tables use for "nothing" (nan, None, N/A ...). */
bool cell_is_missing(struct perf_cell cell);

enum number_kind { NUMBER_MISSING, NUMBER_WHOLE, NUMBER_REAL, NUMBER_BAD };
/* Decimal numbers, inf and nan; anything else is NUMBER_BAD. The value is NaN unless there is one. */
enum number_kind cell_number(struct perf_cell cell, double *value);
/* "32" and "32[17]": the padded size; "32.0" too. */
enum number_kind cell_dimension(struct perf_cell cell, double *value);
/* A whole number of up to 19 digits; false otherwise. */
bool cell_int64(struct perf_cell cell, int64_t *value);

static inline bool cell_is(struct perf_cell cell, const char *text)
{
    return cell.length == strlen(text) && memcmp(cell.data, text, cell.length) == 0;
}

static inline bool cell_has(struct perf_cell cell, const char *text)
{
    return cell.length && memmem(cell.data, cell.length, text, strlen(text)) != NULL;
}

/* What follows the first `text`; data == NULL when it is not there. */
static inline struct perf_cell cell_after(struct perf_cell cell, const char *text)
{
    size_t length = strlen(text);
    const char *at = cell.length ? memmem(cell.data, cell.length, text, length) : NULL;
    if (!at)
        return (struct perf_cell){0};
    return (struct perf_cell){at + length, cell.length - (size_t)(at + length - cell.data)};
}

/* What lies before the first `text`, or all of it. */
static inline struct perf_cell cell_before(struct perf_cell cell, const char *text)
{
    const char *at = cell.length ? memmem(cell.data, cell.length, text, strlen(text)) : NULL;
    if (at)
        cell.length = (size_t)(at - cell.data);
    return cell;
}

/* The digits behind the first `key` that has any behind it; PERF_NO_NUMBER where there is none. */
int32_t cell_find_number(struct perf_cell cell, const char *key);

/* Bytes of one element by the name of its type: the first digits are bits; 4 where there are none. */
double cell_type_bytes(struct perf_cell cell);
/* FLOAT32 -> FP32, BFLOAT8_B -> BFP8 ...; others as they are. */
struct perf_cell cell_short_type(struct perf_cell cell);

#endif
