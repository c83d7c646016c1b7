/* SPDX-License-Identifier: Apache-2.0 */
/* What a comparison was asked for, and the writing of it. */
#ifndef OPSCOPE_PRESENT_DIFF_VIEW_H
#define OPSCOPE_PRESENT_DIFF_VIEW_H

#include "analyze/diff/diff.h"
#include "base/text_list.h"
#include "present/output.h"

struct diff_command_options {
    struct output_options output;
    const char *html, *pairs;
    const char *target, *location, *phase; /* of an estimate */
    struct text_list target_options, dims;
    const char *start_signpost, *end_signpost;
    unsigned group_by, only; /* enum diff_group_by; 0 all, 1 ops, 2 zones */
    uint64_t top;
    double threshold, significance;
    bool all, salvage, ignore_location, ignore_shape, include_warm_up;
    bool against; /* given: the runs after it are B's */
};

/* Table, JSON or CSV, and the files that were asked for. `notes`: lines about the files. */
int diff_show(const struct diff *diff, const struct diff_command_options *options, const char *notes,
              struct error *err);

#endif
