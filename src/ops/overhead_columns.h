/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of a CSV of dispatch times, for its writer (present/overhead/csv.c) and its reader
 * (import/overhead_csv.c). The first six are the
 * vendor's, letter for letter; the others are ours and come with --extended. */
#ifndef OPSCOPE_OPS_OVERHEAD_COLUMNS_H
#define OPSCOPE_OPS_OVERHEAD_COLUMNS_H

#define OVERHEAD_COLUMN_OP "op"
#define OVERHEAD_COLUMN_COUNT "count"
#define OVERHEAD_COLUMN_MIN "python min dispatch time (ms)"
#define OVERHEAD_COLUMN_MEAN "python mean dispatch time(ms)"
#define OVERHEAD_COLUMN_TOTAL "python mean dispatch + sync time (ms)"
#define OVERHEAD_COLUMN_NATIVE "C++ mean dispatch time (ms)" /* with --trace */

#define OVERHEAD_COLUMN_GROUP "group"
#define OVERHEAD_COLUMN_STATE "state" /* overhead_state_name */
#define OVERHEAD_COLUMN_REASON "reason"
#define OVERHEAD_COLUMN_REPEATS "repeats"
#define OVERHEAD_COLUMN_MIN_NS "min (ns)"     /* the vendor's columns again, unrounded */
#define OVERHEAD_COLUMN_FLOOR_NS "floor (ns)" /* what the gate compares with */
#define OVERHEAD_COLUMN_MEAN_NS "mean (ns)"
#define OVERHEAD_COLUMN_TOTAL_NS "mean + sync (ns)"
#define OVERHEAD_COLUMN_P50_NS "p50 (ns)"
#define OVERHEAD_COLUMN_P99_NS "p99 (ns)"
#define OVERHEAD_COLUMN_CI_LOW_NS "p50 95% low (ns)"
#define OVERHEAD_COLUMN_CI_HIGH_NS "p50 95% high (ns)"
#define OVERHEAD_COLUMN_NATIVE_NS "native (ns)"
/* "aten::add 812.5 ns; aten::empty 201.0 ns": self time a call, the largest first */
#define OVERHEAD_COLUMN_NATIVE_PARTS "native breakdown"

#endif
