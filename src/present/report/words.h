/* SPDX-License-Identifier: Apache-2.0 */
/* The ranked advice in words: what a line is about, the figures that it rests on, and what to do. */
#ifndef OPSCOPE_PRESENT_REPORT_WORDS_H
#define OPSCOPE_PRESENT_REPORT_WORDS_H

#include "analyze/report/report.h"
#include "base/bytes.h"
#include "present/format.h"

/* 12.345 us, 1.575 ms, 106.930 s: the unit that fits. */
const char *perf_format_us(struct number_text *out, double us);
/* What percentages of the report are shares of: "of the run", "of the device time". */
const char *perf_share_text(const struct perf *perf);

/* "saves 1.575 ms (3.1 % of the run): 7 x Slice, the costliest id 13". */
void perf_append_headline(const struct perf *perf, const struct perf_advice *advice, struct bytes *out);
/* "DRAM 31.2 % of 512 GB/s, FLOPs 12.0 %": the figures of the op that the line names. */
void perf_append_evidence(const struct perf *perf, const struct perf_advice *advice, bool has_ids,
                          struct bytes *out);
void perf_append_action(const struct perf *perf, const struct perf_advice *advice, struct bytes *out);
/* What the ranked advice says of the i-th op of the table, for a cell: "dram (saves 7.500 us): read DRAM faster ...".
 * Nothing where it says nothing. */
void perf_append_row_advice(const struct perf *perf, size_t i, struct bytes *out);

/* What is said where there is no line at all: that all is well only where anything was measured. */
const char *perf_no_advice_text(const struct perf *perf);
/* What doing all of it would save; nothing where that is nothing. */
void perf_append_advice_sum(const struct perf *perf, struct bytes *out);
/* Gaps that are nearly all of the time: what that looks like. Nothing else is appended. */
void perf_append_gap_verdict(const struct perf *perf, struct bytes *out);

#endif
