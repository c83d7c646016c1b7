/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison of two runs as one self-contained page: totals, both runs' stacked bars, groups, what changed. */
#ifndef OPSCOPE_PRESENT_DIFF_HTML_H
#define OPSCOPE_PRESENT_DIFF_HTML_H

#include <stdio.h>

#include "present/diff/table.h"

/* `notes`: lines about the files; may be empty. */
int diff_html_write(const struct diff *diff, const struct diff_selection *selection, const char *notes,
                    FILE *out, struct error *err);

#endif
