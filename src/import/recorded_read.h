/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace that opscope recorded says of its ops, under the names that vendors' tables have for it: shared by the
 * op table of such a trace (recorded_rows.c) and by the join with a vendor's logs (recorded_join.c).
 *
 * Most of what ops say they say again and again. So cells are made once for each piece of it: an op's name and kind, a
 * tensor at its place, an attribute. A record is a list of pieces, made once for all ops of one name, kind, device and
 * description. Programs have few of these; where each op says something of its own (a number), it costs a list and the
 * cell of its attributes. */
#ifndef OPSCOPE_IMPORT_RECORDED_READ_H
#define OPSCOPE_IMPORT_RECORDED_READ_H

#include "import/tenstorrent/model.h"
#include "trace/reader.h"

/* Calls `row` with each row of the blocks of a type until it says false. */
typedef bool (*recorded_row_fn)(void *context, const struct trace_rows *rows, size_t i);
int recorded_each(struct trace *trace, uint32_t block_type, recorded_row_fn row, void *context,
                  struct error *err);

/* Points that are no signposts are passed over. False: no memory, and the model says so. */
bool recorded_add_signpost(struct tt_model *model, const struct trace_point *point);

/* Which op a call is: calls are numbered in their process. */
struct recorded_calls {
    struct tt_map *of_process; /* the last is for rows of no process */
    size_t process_count;
};
bool recorded_calls_init(struct recorded_calls *calls, const struct trace *trace);
void recorded_calls_free(struct recorded_calls *calls);
static inline struct tt_map *recorded_calls_of(const struct recorded_calls *calls, uint32_t process)
{
    return &calls->of_process[process < calls->process_count ? process : calls->process_count];
}

struct recorded_record {
    uint32_t first, count; /* in piece_ids */
};

struct recorded_records {   /* zero-initialised, but for model and trace */
    struct tt_model *model; /* gets columns and texts */
    const struct trace *trace;
    struct tt_cells *pieces;
    size_t piece_count, piece_capacity;
    uint32_t *piece_ids;
    size_t piece_id_count, piece_id_capacity;
    struct recorded_record *records;
    size_t record_capacity;
    /* while reading */
    struct intern known, keys; /* of what each record, each piece is made */
    uint32_t *piece_of_key;
    size_t key_capacity;
    struct tt_cell_builder cells;
    struct bytes text, name;
};
/* The record of an op, 0, 1, 2 ... in order of first sight; TT_NONE: no memory, and the model says so. */
uint32_t recorded_record(struct recorded_records *records, const struct trace_op *op);
/* Frees what is needed only to find records. */
void recorded_end_reading(struct recorded_records *records);
void recorded_records_free(struct recorded_records *records);

#endif
