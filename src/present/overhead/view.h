/* SPDX-License-Identifier: Apache-2.0 */
/* A measurement of dispatch times as a table, or as JSON. */
#ifndef OPSCOPE_PRESENT_OVERHEAD_VIEW_H
#define OPSCOPE_PRESENT_OVERHEAD_VIEW_H

#include "analyze/overhead/overhead.h"
#include "present/document.h"

struct overhead_view {
    bool has_native; /* a trace was recorded */
    bool extended;   /* the parts of the native time, too */
    uint64_t top;    /* 0: all */
};

/* The tables of a run: ops by their mean, the slowest first, then those that failed; calibration ops in JSON alone. */
void overhead_view_tables(struct report *report, const struct overhead_run *run,
                          const struct overhead_view *view);
/* Sentences about how far the figures are to be trusted: noise, ops that failed, were left out or return early. */
void overhead_view_notes(struct report *report, const struct overhead_run *run);

#endif
