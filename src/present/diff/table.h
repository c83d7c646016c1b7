/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison of two runs as tables: totals, rows, groups, and the matched ops in their order. */
#ifndef OPSCOPE_PRESENT_DIFF_TABLE_H
#define OPSCOPE_PRESENT_DIFF_TABLE_H

#include <stdio.h>

#include "analyze/diff/diff.h"
#include "present/table.h"

enum diff_look {
    DIFF_LOOK_TERMINAL, /* changes with their sign, few columns */
    DIFF_LOOK_PAGE,     /* the same columns, as numbers to sort by */
    DIFF_LOOK_DATA,     /* all columns of all kinds of rows */
};

struct diff_selection {
    uint64_t kinds; /* bit 1 << enum diff_row_kind */
    bool is_all;    /* also rows that did not change */
    uint64_t top;   /* 0: no limit */
};

#define DIFF_ROW_COLUMNS 25u
struct diff_rows_table {
    struct table table; /* table_free when done */
    struct table_column columns[DIFF_ROW_COLUMNS];
};

/* Makes the table; rows that were left out because of `top` are counted. */
size_t diff_make_rows_table(const struct diff *diff, const struct diff_selection *selection,
                            enum diff_look look, struct diff_rows_table *rows);
size_t diff_make_groups_table(const struct diff *diff, uint64_t top, enum diff_look look,
                              struct table *table);
void diff_make_totals_table(const struct diff *diff, enum diff_look look, struct table *table);

/* Is a row one of those that are shown without --all? */
bool diff_row_changed(const struct diff_row *row);
uint64_t diff_count_state(const struct diff *diff, unsigned kind, unsigned state);

/* Every op of both runs, in order, those that belong together in one line, as CSV. */
int diff_write_pairs(const struct diff *diff, FILE *out, struct error *err);

/* "+1.200 ms", "-3.0%"; "" of NAN. */
struct number_text;
const char *diff_format_time(struct number_text *out, double ns);
const char *diff_format_percent(struct number_text *out, double percent);

#endif
