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

enum perf_rule_id {
    PERF_RULE_GAP,
    PERF_RULE_HOST,
    PERF_RULE_FIDELITY,
    PERF_RULE_DRAM,
    PERF_RULE_CORES,
    PERF_RULE_MATMUL,
    PERF_RULE_LINK,
    PERF_RULE_LAYOUT,
    PERF_RULE_SLOW
};

/* A rule of the ranked advice: when it holds, and what the gain is measured by. */
struct perf_rule {
    const char *name;      /* "gap" */
    const char *condition; /* in words, for people who check it */
    const char *gain;      /* how the gain is computed */
};
extern const struct perf_rule perf_rules[];
extern const size_t perf_rule_count;

#endif
