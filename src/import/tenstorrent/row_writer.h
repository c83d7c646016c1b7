/* SPDX-License-Identifier: Apache-2.0 */
/* The cells of a row of an op table while they are made: where a column of the model stands in the table, and memory
 * for the numbers and texts that nobody else keeps. Used by all sources whose columns are a model's. */
#ifndef OPSCOPE_IMPORT_TENSTORRENT_ROW_WRITER_H
#define OPSCOPE_IMPORT_TENSTORRENT_ROW_WRITER_H

#include "import/tenstorrent/model.h"

struct tt_row_writer {         /* zero-initialised */
    uint32_t *place_of_column; /* column of the model to column of the table; TT_NONE */
    size_t column_count;       /* this many have places; columns that were named later have none */
    struct slice *cells;       /* of the row that is being made */
    struct bytes scratch;      /* has room for the whole row: cells that point there must not move */
};

/* The columns that are used become the table's, by rank, then by name. */
int tt_row_declare(struct tt_row_writer *row, struct op_rows *rows, const struct intern *names,
                   const bool *is_used, struct error *err);
void tt_row_writer_free(struct tt_row_writer *row);

static inline uint32_t tt_row_place(const struct tt_row_writer *row, uint32_t column)
{
    return column < row->column_count ? row->place_of_column[column] : TT_NONE;
}

/* `size` is the most that this row writes into the scratch. False: no memory. */
bool tt_row_begin(struct tt_row_writer *row, struct slice *cells, size_t size);
void tt_row_set_cell(struct tt_row_writer *row, uint32_t column, const char *data,
                     size_t length); /* not copied */
void tt_row_set_text(struct tt_row_writer *row, uint32_t column, const char *text,
                     size_t length); /* ',' to ';' */
void tt_row_set_number(struct tt_row_writer *row, uint32_t column, uint64_t value);
void tt_row_set_signpost(struct tt_row_writer *row, const struct tt_signpost *signpost);

#endif
