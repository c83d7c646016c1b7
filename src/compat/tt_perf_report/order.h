/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which tt-perf-report shows rows whose sort keys are equal.
 *
 * It sorts with NumPy's default, which is not stable: equal keys end up where a vectorised quicksort happens to leave
 * them. That is the same every time, and part of what the compat mode reproduces. The steps are those of 4-lane
 * vectors: up to 256 keys a bitonic network in which equal keys never change places, above that partitions of four
 * vectors at a time that fill the array from both ends. This is code of our own, written from how that order comes
 * about. */
#ifndef OPSCOPE_COMPAT_TT_PERF_REPORT_ORDER_H
#define OPSCOPE_COMPAT_TT_PERF_REPORT_ORDER_H

#include <stddef.h>
#include <stdint.h>

/* Sorts `order` (indices into keys) by ascending keys. */
void ttpr_order_sort(const int64_t *keys, uint32_t *order, size_t count);

/* A number whose order as an integer is that of the real; not for NaN. */
int64_t ttpr_order_key(double value);

#endif
