/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as the vendor's report prints them (Python's formats). */
#ifndef OPSCOPE_PRESENT_PERF_NUMBER_H
#define OPSCOPE_PRESENT_PERF_NUMBER_H

#include "base/bytes.h"

/* The fewest digits that read back as the same double: 1.0, 0.001, 1e-05, nan. */
void perf_append_exact(struct bytes *out, double value);
/* 1,234.50: commas between thousands, halves to even. */
void perf_append_grouped(struct bytes *out, double value, int decimals);

#endif
