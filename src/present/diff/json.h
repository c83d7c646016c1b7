/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison of two runs as JSON, for `opscope diff --json` and for the page. */
#ifndef OPSCOPE_PRESENT_DIFF_JSON_H
#define OPSCOPE_PRESENT_DIFF_JSON_H

#include "analyze/diff/waterfall.h"
#include "present/diff/table.h"
#include "present/overview/overview.h"

/* Members of an object: the two runs, totals, groups, rows. false: no memory. */
bool diff_write_json(const struct diff *diff, const struct diff_selection *selection, struct json *json);

/* "A step takes 3.1 s instead of 1.96 s: +1.1 s (+58% +- 1%); gaps +1.0 s, device +96 ms." */
void diff_sentence(const struct diff *diff, struct sentence *sentence);

/* An object: where it begins, its steps, the rest, where it ends. */
void diff_write_waterfall(const struct diff *diff, const struct diff_waterfall *waterfall, struct json *json);

#endif
