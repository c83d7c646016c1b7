/* SPDX-License-Identifier: Apache-2.0 */
/* Tables repeat themselves: most rows have tensors and attributes that an earlier row had, too. So the cells of a
 * description are compared as bytes first, and taken apart only when they are new.
 *
 * Columns that are neighbours in the file are one piece of text, where no quote was taken away between them. And
 * programs run in loops: the row after a known one mostly has the description that followed it the last time, so that
 * one comparison of a few pieces finds it. */
#ifndef OPSCOPE_IMPORT_OPS_CSV_KNOWN_H
#define OPSCOPE_IMPORT_OPS_CSV_KNOWN_H

#include "base/bytes.h"
#include "base/intern.h"
#include "import/ops_csv/columns.h"

struct ops_csv_known {
    struct intern keys;
    uint32_t *descriptions; /* what each is: the caller sets it when it is new */
    uint32_t *followers;    /* which came after it the last time */
    size_t description_capacity, follower_capacity;
    uint32_t last;
    uint32_t columns[OPS_CSV_COLUMNS]; /* of descriptions, those that the table has, in its order */
    struct {
        uint32_t first, count;
    } spans[OPS_CSV_COLUMNS];             /* of neighbours in `columns` */
    struct slice pieces[OPS_CSV_COLUMNS]; /* of the row: one per span */
    size_t span_count;
    struct bytes key;
    unsigned misses, rest; /* searches that failed one after the other; rows that are not searched for */
    bool failed;
};

/* `names` and `has`: of all columns, and whether the table has them. */
void ops_csv_known_begin(struct ops_csv_known *known, const struct op_rows *rows, const char *const *names,
                         const bool *has);
void ops_csv_known_free(struct ops_csv_known *known);

/* The place of a row's description in `descriptions`; UINT32_MAX: not there, and enough are remembered already, or
 * failed is set. */
uint32_t ops_csv_known_find(struct ops_csv_known *known, const struct slice *cells, bool *is_new);

#endif
