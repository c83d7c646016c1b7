/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the ranked advice; present/report/words.h has them in words. */
#ifndef OPSCOPE_ANALYZE_REPORT_ADVICE_H
#define OPSCOPE_ANALYZE_REPORT_ADVICE_H

#include "analyze/report/report.h"

enum perf_rule_id {
    PERF_RULE_GAP,
    PERF_RULE_HOST,
    PERF_RULE_FIDELITY,
    PERF_RULE_DRAM,
    PERF_RULE_CORES,
    PERF_RULE_MATMUL,
    PERF_RULE_LINK,
    PERF_RULE_LAYOUT,
    PERF_RULE_SLOW,
    PERF_RULE_MODEL /* without a gain: the estimate is in doubt, not the op */
};

/* A rule of the ranked advice: when it holds, and what the gain is measured by. */
struct perf_rule {
    const char *name;      /* "gap" */
    const char *condition; /* in words, for people who check it */
    const char *gain;      /* how the gain is computed */
};
extern const struct perf_rule perf_rules[];

#endif
