/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison of two runs as JSON, for `opscope diff --json` and for the page. */
#ifndef OPSCOPE_PRESENT_DIFF_JSON_H
#define OPSCOPE_PRESENT_DIFF_JSON_H

#include "analyze/diff/waterfall.h"
#include "present/diff/table.h"
#include "present/overview/overview.h"

/* Members of an object: the two runs, totals, groups, rows. false: no memory. */
bool diff_write_json(const struct diff *diff, const struct diff_selection *selection, struct json *json);

/* "B is 660 ms slower (+18% +- 1%): gaps +634 ms, device +26.8 ms." */
void diff_sentence(const struct diff *diff, struct sentence *sentence);

/* An object: where it begins, its steps, the rest, where it ends. */
void diff_write_waterfall(const struct diff *diff, const struct diff_waterfall *waterfall, struct json *json);

#endif
