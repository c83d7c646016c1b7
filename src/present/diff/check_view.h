/* SPDX-License-Identifier: Apache-2.0 */
/* The results of `opscope check`: table, JSON, CSV, JUnit. */
#ifndef OPSCOPE_PRESENT_DIFF_CHECK_VIEW_H
#define OPSCOPE_PRESENT_DIFF_CHECK_VIEW_H

#include "analyze/diff/check.h"
#include "present/output.h"

struct check_view {
    const struct diff *diff;
    const struct check_result *results;
    size_t count;
    const char *baseline, *path, *config; /* NULL: none */
    const char *junit;                    /* NULL: not wanted */
    const struct output_options *output;
    size_t failed_count; /* set by check_show */
};

int check_show(struct check_view *view, struct error *err);

#endif
