/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of an estimate against a run. The caller frees them, whatever is returned. */
#ifndef OPSCOPE_PRESENT_ESTIMATE_COMPARE_TABLES_H
#define OPSCOPE_PRESENT_ESTIMATE_COMPARE_TABLES_H

#include "analyze/estimate/compare.h"
#include "present/table.h"

enum {
    PAIR_NAME,
    PAIR_ESTIMATE,
    PAIR_MEASURED,
    PAIR_MISS,
    PAIR_ERROR,
    PAIR_FACTOR,
    PAIR_RUNS,
    PAIR_LEAST,
    PAIR_MOST,
    PAIR_TYPE,
    PAIR_LOCATION,
    PAIR_BARS, /* for pages, which draw them */
    PAIR_COLUMNS
};

/* "Ops", "Dispatches", "Programs": what the pairs are. */
const char *compare_title(const struct compare *compare);
/* A row per pair that was measured. The first column is called after what they are; `columns` must live as long as the
 * table. */
void compare_make_pairs(const struct compare *compare, bool has_bars,
                        struct table_column columns[PAIR_COLUMNS], struct table *table);
/* The same by location or by type of op, those first whose time is furthest off. */
int compare_make_groups(const struct compare *compare, enum compare_by by, struct table *table,
                        struct error *err);

#endif
