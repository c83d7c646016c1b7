/* SPDX-License-Identifier: Apache-2.0 */
/* An estimate against a run: tables, CSV and JSON. */
#ifndef OPSCOPE_PRESENT_ESTIMATE_COMPARE_VIEW_H
#define OPSCOPE_PRESENT_ESTIMATE_COMPARE_VIEW_H

#include "analyze/estimate/compare.h"
#include "ops/timeline.h"
#include "present/output.h"

struct compare_view {
    const struct compare *compare;
    const struct timeline *estimate, *measured; /* their notices are shown */
    const char *model, *profile;
    const char *target; /* NULL: not known */
    struct output_options output;
    uint64_t top; /* rows of each table on a terminal; 0: all */
};

int compare_show(const struct compare_view *view, struct error *err);

#endif
