/* SPDX-License-Identifier: Apache-2.0 */
/* What the trace does not hold, summed by reason, for the line that every view ends with. */
#ifndef OPSCOPE_ANALYZE_LOSSES_H
#define OPSCOPE_ANALYZE_LOSSES_H

#include "analyze/filter.h"

struct loss_sum {
    uint64_t zones, records; /* lost */
    uint64_t events;         /* Loss records */
};

struct loss_sums {
    struct loss_sum by_reason[TRACE_LOSS_REASONS];
    struct loss_sum lost;      /* all reasons but those below */
    struct loss_sum late_ends; /* kept, but closed later than they ended */
    struct loss_sum old;       /* dropped on purpose by the flight recorder */
    uint64_t paused_ns;        /* nothing was to be recorded; no loss */
    bool has_any;
};

/* Of the processes and tracks that the filter wants (NULL: of all), and what belongs to none of them. Times are not
 * looked at. */
void loss_sums_make(struct loss_sums *sums, const struct trace *trace, const struct trace_filter *filter);
bool loss_is_wanted(const struct trace_loss *loss, const struct trace_filter *filter);

#endif
