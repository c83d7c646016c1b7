/* SPDX-License-Identifier: Apache-2.0 */
/* opscope diff --html: the page of opscope view with both traces, opened where they are compared. */
#ifndef OPSCOPE_SERVE_DIFF_PAGE_H
#define OPSCOPE_SERVE_DIFF_PAGE_H

#include "analyze/diff/diff.h"
#include "analyze/estimate/compare.h"
#include "load/estimate.h"

struct diff_page {
    const char *a, *b; /* what is compared: paths; of several runs of a side the first */
    const char *html;  /* what is written */
};

/* `only`: 0 all, 1 ops, 2 zones; `notes`: lines about the files. */
int diff_page_of_runs(const struct diff_page *page, const struct diff *diff, unsigned only, const char *notes,
                      struct error *err);
int diff_page_of_estimate(const struct diff_page *page, const struct estimate *estimate,
                          const struct timeline *measured, const struct compare *pairs, struct error *err);

#endif
