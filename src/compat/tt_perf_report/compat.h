/* SPDX-License-Identifier: Apache-2.0 */
/* opscope report --compat VERSION: the report of tt-perf-report 1.2.4 or 1.4.1. Numbers, columns and their order are
 * the original's to the byte; advice and messages are in our own words.
 *
 * This folder is all there is of it: cli/report.c calls ttpr_report, and nothing else knows of it. It reads cells as
 * the vendor's table has them, because what it reproduces depends on them (a number that is kept though it cannot be, a
 * column that is typed by its emptiest cell). */
#ifndef OPSCOPE_COMPAT_TT_PERF_REPORT_COMPAT_H
#define OPSCOPE_COMPAT_TT_PERF_REPORT_COMPAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/report/notes.h"
#include "base/error.h"
#include "present/output.h"

enum ttpr_version { TTPR_1_2_4, TTPR_1_4_1 };
enum ttpr_group_by { TTPR_BY_OP, TTPR_BY_MEMORY, TTPR_BY_CATEGORY };

struct ttpr_request {
    enum ttpr_version version;
    const char *const *paths;
    size_t path_count;
    const char *start_signpost, *end_signpost;
    bool ignore_signposts, print_signposts;
    const char *id_range;    /* "A-B", "A-", "-B" */
    const char *arch;        /* NULL: what the rows say */
    uint64_t active_experts; /* 1.4.1: of sparse matmuls that do not record how many; 0: not known */
    bool tracing_mode, no_host_ops, no_merge_devices;
    unsigned group_by; /* enum ttpr_group_by */
    /* what is written */
    const char *output; /* NULL or "-": standard output */
    const char *summary_file;
    enum output_color colour;
    bool is_csv, has_groups, has_advice, has_raw_op_codes, has_classic_colours;
    double min_percent; /* rows below are grey */
};

/* "1.2.4"; false for a version that cannot be reproduced. */
bool ttpr_version_of(const char *text, enum ttpr_version *version);
/* Reads, computes and writes; `notes` gets what there is to say beside it. */
int ttpr_report(const struct ttpr_request *request, struct perf_notes *notes, struct error *err);

#endif
