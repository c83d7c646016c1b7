/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as the vendor's report prints them (Python's formats). */
#ifndef OPSCOPE_PRESENT_REPORT_NUMBER_H
#define OPSCOPE_PRESENT_REPORT_NUMBER_H

#include "base/bytes.h"
#include "text/python_number.h" /* all digits */

/* 1,234.50: commas between thousands, halves to even. */
void perf_append_grouped(struct bytes *out, double value, int decimals);

#endif
