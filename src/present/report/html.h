/* SPDX-License-Identifier: Apache-2.0 */
/* The performance report as one self-contained page: no network, no other file. */
#ifndef OPSCOPE_PRESENT_REPORT_HTML_H
#define OPSCOPE_PRESENT_REPORT_HTML_H

#include <stdbool.h>
#include <stdio.h>

#include "present/report/table.h"

struct perf_html {
    const char *title;
    bool has_advice, has_groups, is_classic;
    const struct perf_selection *selection; /* which ops the table shows */
};

int perf_html_write(const struct perf *perf, const struct perf_html *html, FILE *out, struct error *err);

#endif
