/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace that opscope recorded says of its ops, under the names that vendors' tables have for it: shared by the
 * op table of such a trace (recorded_rows.c) and by the join with a vendor's logs (recorded_join.c).
 *
 * What ops of one name, kind, device and description say is the same: it is made into cells once, a record of the
 * model. A program has few of them, however many ops it calls. */
#ifndef OPSCOPE_IMPORT_RECORDED_READ_H
#define OPSCOPE_IMPORT_RECORDED_READ_H

#include "import/tenstorrent_model.h"
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

struct recorded_records {
    struct tt_model *model; /* gets the records, their columns and texts */
    const struct trace *trace;
    struct intern known; /* of what each record is made */
    uint32_t first;      /* the record of the first of them */
    struct tt_cell_builder cells;
    struct bytes text, name;
};
struct recorded_records recorded_records_of(struct tt_model *model, const struct trace *trace);
void recorded_records_free(struct recorded_records *records);
/* The record of an op; TT_NONE: no memory, and the model says so. */
uint32_t recorded_record(struct recorded_records *records, const struct trace_op *op);

#endif
