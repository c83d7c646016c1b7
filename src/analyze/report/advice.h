/* SPDX-License-Identifier: Apache-2.0 */
/* What can be done about an op: the verdict on its math fidelity, the advice that the compat mode prints for each
 * matmul, and the rules of the ranked advice. */
#ifndef OPSCOPE_ANALYZE_REPORT_ADVICE_H
#define OPSCOPE_ANALYZE_REPORT_ADVICE_H

#include "analyze/report/report.h"

enum perf_verdict { PERF_VERDICT_NONE, PERF_VERDICT_SUFFICIENT, PERF_VERDICT_TOO_HIGH, PERF_VERDICT_TOO_LOW };

/* Whether a fidelity is right for the data types. `text`, where not NULL, is set to what one could do; NULL when
 * there is nothing to do. */
enum perf_verdict perf_fidelity_verdict(const struct perf *perf, const struct perf_row *row,
                                        const char **text);

#define PERF_ROW_ADVICE 6u
struct perf_row_advice {
    char texts[PERF_ROW_ADVICE][240];
    size_t count;
};

/* For a matmul, by the conditions of tt-perf-report 1.2.4; nothing for other ops. */
void perf_compat_advice(const struct perf *perf, const struct perf_row *row, struct perf_row_advice *advice);

/* A rule of the ranked advice: when it holds, and what the gain is measured by. */
struct perf_rule {
    const char *name;      /* "gap" */
    const char *condition; /* in words, for people who check it */
    const char *gain;      /* how the gain is computed */
};
extern const struct perf_rule perf_rules[];
extern const size_t perf_rule_count;
/* What the ranked advice says of the i-th op of the table, for a cell: "dram (saves 7.5 us): read DRAM faster ...".
 * Nothing where it says nothing. */
void perf_append_row_advice(const struct perf *perf, size_t i, struct bytes *out);
/* What is said where there is no line at all: that all is well only where anything was measured. */
const char *perf_no_advice_text(const struct perf *perf);
/* A line about ops that are not equal: those behind gaps. Its op is the one with the most. */
bool perf_advice_is_shared(const struct perf_advice *advice);

#endif
