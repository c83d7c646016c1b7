/* SPDX-License-Identifier: Apache-2.0 */
/* What a performance report was asked for, and the writing of it. */
#ifndef OPSCOPE_PRESENT_REPORT_VIEW_H
#define OPSCOPE_PRESENT_REPORT_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/report/report.h"
#include "base/error.h"
#include "base/text_list.h"
#include "present/output.h"
#include "text/json/writer.h"

struct report_options {
    const char *start_signpost, *end_signpost, *signpost, *id_range;
    bool ignore_signposts, include_warm_up, print_signposts, no_host_ops, no_merge_devices, tracing_mode;
    unsigned ids; /* 0 table, 1 line */
    const char *machine, *arch, *compat;
    uint64_t active_experts;
    double target;
    unsigned group_by; /* enum perf_group_by */
    uint64_t top;
    double min_percentage;
    bool no_advice, no_summary, no_stacked_report, no_stack_by_in0, raw_op_codes, no_color, no_source;
    struct text_list source_folders;
    bool classic_colors;
    const char *html, *summary_file, *stacked_csv;
    struct output_options output;
    const char *const *paths; /* that were read */
    size_t path_count;
};

/* Members of an object: what `opscope report --json` says. */
int report_write_json(const struct perf *perf, const struct report_options *options, struct json *json,
                      struct error *err);
int report_show(const struct perf *perf, const struct report_options *options, struct error *err);

#endif
