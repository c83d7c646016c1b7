/* SPDX-License-Identifier: Apache-2.0 */
#include "import/tenstorrent/recorded_join.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "base/slice.h"
#include "import/tenstorrent/recorded_cells.h"
#include "ops/description.h"
#include "ops/from_trace.h"

#define FIRST_HOST_ID (UINT64_C(1) << 31) /* as the vendor numbers ops that run on the host */
#define DEVICE_BITS 10u

/* The number that a program gave its op. */
static bool marked_id(const struct ops *ops, const struct op_call *call, uint64_t *id)
{
    return slice_unsigned(ops_find_attribute(ops, call->description, "global_call_count"), id) ||
           slice_unsigned(ops_find_attribute(ops, call->description, "GLOBAL CALL COUNT"), id);
}

/* --- the recorded ops are the model's --- */

struct adding {
    struct tt_model *model;
    struct tt_cell_builder cells;
};

static void add_cell(void *context, uint32_t column, struct slice text)
{
    struct adding *adding = context;
    tt_cell_copy(adding->model, &adding->cells, column, text.data, text.length);
}

/* A host op is of no device, whatever it says: the device's files know nothing of it. */
static void add_call(struct adding *adding, struct recorded_cells *cells, const struct op_call *call)
{
    struct tt_model *model = adding->model;
    const struct ops *ops = cells->ops;
    bool is_on_device = call->device != OPS_NONE && call->type == OP_TYPE_DEVICE;
    struct tt_op *op = tt_op_add(model, model->op_count);
    char number[16];
    if (!op || !array_reserve(&model->records, &model->record_capacity, model->record_count + 1,
                              sizeof model->records[0])) {
        model->failed = true;
        return;
    }
    op->id = call->number;
    op->has_marked_id = marked_id(ops, call, &op->marked_id);
    op->device = is_on_device ? ops->devices[call->device].number : TT_NONE;
    op->start_ns = op->message_ns = call->start_ns;
    if (!(call->faults & OP_FAULT_OPEN)) {
        op->flags &= ~(uint32_t)TT_OP_NO_TIMES;
        op->duration_ns = call->end_ns - call->start_ns;
    }
    recorded_describe(cells, call, add_cell, adding);
    if (call->device != OPS_NONE) {
        int length = snprintf(number, sizeof number, "%u", (unsigned)ops->devices[call->device].number);
        tt_cell_copy(model, &adding->cells, OP_COLUMN_ID_DEVICE_ID, number, (size_t)length);
    }
    op->record = (uint32_t)model->record_count;
    model->records[model->record_count++] =
        (struct tt_record){.cells = tt_cells_finish(model, &adding->cells)};
}

static void add_signpost(struct tt_model *model, uint64_t time_ns, struct slice header, struct slice text)
{
    if (array_reserve(&model->signposts, &model->signpost_capacity, model->signpost_count + 1,
                      sizeof model->signposts[0]))
        model->signposts[model->signpost_count++] = (struct tt_signpost){
            time_ns, slice_from(tt_keep(model, header.data, header.length), header.length),
            slice_from(tt_keep(model, text.data, text.length), text.length)};
    else
        model->failed = true;
}

/* Ops and signposts of a recorded trace, into a model without any. */
static int take_recorded(struct tt_model *model, struct ops *recorded, struct error *err)
{
    struct adding adding = {.model = model};
    struct recorded_cells cells = {.model = model, .ops = recorded};
    for (size_t i = 0; i < recorded->call_count && !model->failed; i++)
        add_call(&adding, &cells, &recorded->calls[i]);
    for (size_t i = 0; i < recorded->signpost_count && !model->failed; i++)
        add_signpost(model, recorded->signposts[i].time_ns,
                     ops_get_slice(recorded, recorded->signposts[i].header),
                     ops_get_slice(recorded, recorded->signposts[i].text));
    recorded_cells_free(&cells);
    free(adding.cells.items);
    return tt_model_check(model, err);
}

static struct slice find_cell(const struct tt_model *model, uint32_t record, uint32_t column)
{
    const struct tt_cells *cells = record == TT_NONE ? NULL : &model->records[record].cells;
    for (uint32_t i = 0; cells && i < cells->count; i++)
        if (cells->items[i].column == column)
            return slice_from(cells->items[i].data, cells->items[i].length);
    return slice_from("", 0);
}

/* --- the logs have the host's ops: signposts --- */

/* The first signpost of that name in the logs; TT_NONE. */
static uint32_t find_signpost(const struct intern *headers, const uint32_t *first, struct slice header)
{
    uint32_t id = intern_find(headers, header.length ? header.data : "", header.length);
    return id == INTERN_NONE ? TT_NONE : first[id];
}

/* How far the logs' clock is behind the recorder's, by the first signpost or the first op that both have. */
static bool find_offset(const struct tt_model *model, const struct ops *recorded,
                        const struct intern *headers, const uint32_t *first, int64_t *offset)
{
    for (size_t i = 0; i < recorded->signpost_count; i++) {
        uint32_t own = find_signpost(headers, first, ops_get_slice(recorded, recorded->signposts[i].header));
        if (own == TT_NONE)
            continue;
        *offset = (int64_t)(recorded->signposts[i].time_ns - model->signposts[own].time_ns);
        return true;
    }
    for (size_t i = 0; i < recorded->call_count; i++) {
        uint64_t id = 0;
        uint32_t op = marked_id(recorded, &recorded->calls[i], &id) ? map_get(&model->op_of_id, id) : TT_NONE;
        if (op == TT_NONE || (model->ops[op].flags & TT_OP_NO_TIMES))
            continue;
        *offset = (int64_t)(recorded->calls[i].start_ns - model->ops[op].start_ns);
        return true;
    }
    return false;
}

static void add_missing_signposts(struct tt_model *model, const struct ops *recorded,
                                  const struct intern *headers, const uint32_t *first)
{
    int64_t offset = 0;
    if (!find_offset(model, recorded, headers, first, &offset)) {
        if (recorded->signpost_count)
            tt_note(
                model, TT_UNMATCHED_RECORDED_SIGNPOSTS, 0,
                "%zu recorded signposts are left out: no signpost and no numbered op is in the logs as well, so "
                "that their times cannot be set against the logs'",
                recorded->signpost_count);
        return;
    }
    for (size_t i = 0; i < recorded->signpost_count && !model->failed; i++) {
        struct slice header = ops_get_slice(recorded, recorded->signposts[i].header);
        int64_t time_ns = (int64_t)recorded->signposts[i].time_ns - offset;
        if (find_signpost(headers, first, header) != TT_NONE)
            continue;
        if (time_ns < 0)
            tt_note(model, TT_UNMATCHED_EARLY_SIGNPOSTS, 0,
                    "recorded signposts from before the logs begin are left out");
        else
            add_signpost(model, (uint64_t)time_ns, header,
                         ops_get_slice(recorded, recorded->signposts[i].text));
    }
}

static void add_signposts(struct tt_model *model, const struct ops *recorded)
{
    struct intern headers = {0};
    uint32_t *first = calloc(model->signpost_count + 1, sizeof first[0]);
    for (uint32_t i = 0; first && i < model->signpost_count && !model->failed; i++) {
        struct slice header = model->signposts[i].header;
        size_t known = headers.count;
        uint32_t id = intern_add(&headers, header.length ? header.data : "", header.length);
        if (id == INTERN_NONE)
            model->failed = true;
        else if (id == known)
            first[id] = i;
    }
    if (!first)
        model->failed = true;
    else if (!model->failed)
        add_missing_signposts(model, recorded, &headers, first);
    intern_free(&headers);
    free(first);
}

/* What only the program knows of its op: the layer of the model and the place in the source. The log's record is
 * shared by all ops of that program, which may belong to other layers: this op gets one of its own. */
static void add_places(struct tt_model *model, struct tt_op *op, const struct ops *recorded,
                       const struct op_call *from)
{
    const struct op_description *d = ops_get_description(recorded, from->description);
    const uint32_t columns[] = {OP_COLUMN_ID_MODULE_PATH, OP_COLUMN_ID_LOC},
                   texts[] = {d->module, d->location};
    struct tt_cell_builder cells = {0};
    for (size_t i = 0; i < COUNT_OF(columns); i++) {
        struct slice text = ops_get_slice(recorded, texts[i]);
        if (text.length && op->record != TT_NONE && find_cell(model, op->record, columns[i]).length == 0)
            tt_cell_copy(model, &cells, columns[i], text.data, text.length);
    }
    if (cells.count) {
        struct tt_record record = model->records[op->record];
        for (uint32_t i = 0; i < record.cells.count; i++)
            tt_cell_add(model, &cells, record.cells.items[i].column, record.cells.items[i].data,
                        record.cells.items[i].length);
        record.cells = tt_cells_finish(model, &cells);
        if (array_reserve(&model->records, &model->record_capacity, model->record_count + 1,
                          sizeof model->records[0])) {
            op->record = (uint32_t)model->record_count;
            model->records[model->record_count++] = record;
        } else {
            model->failed = true;
        }
    }
    free(cells.items);
}

/* Ops that were recorded beside the logs' own stay in the trace; those of a known number tell their places, and their
 * host times where the logs have none. */
static void add_to_host_ops(struct tt_model *model, const struct ops *recorded)
{
    size_t unused = 0;
    for (size_t i = 0; i < recorded->call_count; i++) {
        const struct op_call *from = &recorded->calls[i];
        uint64_t id = 0, duration_ns = from->end_ns - from->start_ns;
        uint32_t index = marked_id(recorded, from, &id) ? map_get(&model->op_of_id, id) : TT_NONE;
        struct tt_op *op = index == TT_NONE ? NULL : &model->ops[index];
        unused += !op;
        if (op)
            add_places(model, op, recorded, from);
        if (op && (op->flags & TT_OP_NO_TIMES) && !(from->faults & OP_FAULT_OPEN)) {
            op->duration_ns = duration_ns;
            op->start_ns = op->message_ns > duration_ns ? op->message_ns - duration_ns : 0;
            op->flags &= ~(uint32_t)TT_OP_NO_TIMES;
        }
    }
    if (unused)
        tt_note(
            model, TT_INFO_RECORDED_OPS, 0,
            "%zu ops that the program marked itself are in the trace alone: the logs have the host's ops, and no "
            "global_call_count says which of those they are",
            unused);
    add_signposts(model, recorded);
}

int recorded_join_host(struct tt_model *model, const char *path, bool *is_host, struct error *err)
{
    struct trace *trace = NULL;
    struct ops recorded;
    *is_host = false;
    int result = trace_open(&trace, path, 0, err);
    if (result != 0 && result != -ENOMEM) {
        tt_note(model, TT_DAMAGED_RECORDED_TRACE, 0, "%s; the report goes on without it", err->message);
        *err = (struct error){0};
        return 0;
    }
    ops_init(&recorded);
    if (result == 0)
        result = ops_from_trace(&recorded, trace, &(struct ops_wanted){.signposts = true}, err);
    if (result == 0 && model->op_count == 0) {
        model->signpost_count = 0; /* of a clock of their own: the recorded ones are the same or more */
        result = take_recorded(model, &recorded, err);
        *is_host = result == 0 && (model->op_count || model->signpost_count);
    } else if (result == 0) {
        add_to_host_ops(model, &recorded);
    }
    ops_free(&recorded);
    trace_close(trace);
    return result;
}

/* --- the ops are the recorded ones: their runs --- */

static int compare_ids(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Numbers of programs that this device ran and that no op has claimed, in order; each once. */
static size_t free_ids(const struct tt_model *model, uint32_t device, uint64_t *ids)
{
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < model->run_count; i++)
        if (model->runs[i].device == device && map_get(&model->op_of_id, model->runs[i].id) == TT_NONE)
            ids[count++] = model->runs[i].id;
    qsort(ids, count, sizeof ids[0], compare_ids);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || ids[i] != ids[i - 1])
            ids[kept++] = ids[i];
    return kept;
}

static void claim_id(struct tt_model *model, uint32_t index, uint64_t id)
{
    model->ops[index].id = id;
    if (!map_put(&model->op_of_id, id, index))
        model->failed = true;
}

struct by_start {
    uint64_t start_ns;
    uint32_t op;
};

static int compare_starts(const void *left, const void *right)
{
    const struct by_start *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->op > b->op) - (a->op < b->op);
}

/* The ops of a device that have no number yet get those that are left, in order, when there are as many. */
static void join_by_order(struct tt_model *model, uint32_t device, const bool *has_id, uint64_t *ids,
                          struct by_start *order)
{
    size_t id_count = free_ids(model, device, ids), op_count = 0;
    for (uint32_t i = 0; i < model->op_count; i++)
        if (model->ops[i].device == device && !has_id[i])
            order[op_count++] = (struct by_start){model->ops[i].start_ns, i};
    qsort(order, op_count, sizeof order[0], compare_starts);
    if (op_count && op_count != id_count)
        tt_note(
            model, TT_UNMATCHED_RECORDED_OPS, 0,
            "device %u ran %zu programs, and the program marked %zu ops of it: they are not joined by their order "
            "(an attribute global_call_count of an op joins it by number)",
            (unsigned)device, id_count, op_count);
    for (size_t i = 0; i < op_count && op_count == id_count; i++)
        claim_id(model, order[i].op, ids[i]);
}

/* An op for a program that nobody marked, so that its run has a row. */
static uint32_t add_unmarked(struct tt_model *model, const struct tt_run *run)
{
    struct tt_op *op = tt_op_add(model, run->id);
    if (!op)
        return TT_NONE;
    op->device = run->device;
    op->flags |= TT_OP_NO_MESSAGE;
    return (uint32_t)(model->op_count - 1);
}

static void attach_runs(struct tt_model *model)
{
    for (size_t i = 0; i < model->run_count && !model->failed; i++) {
        struct tt_run *run = &model->runs[i];
        uint32_t op = map_get(&model->op_of_id, run->id);
        if (op == TT_NONE) {
            op = add_unmarked(model, run);
            tt_note(model, TT_UNMATCHED_UNMARKED_RUNS, 0,
                    "device %u ran op %" PRIu64
                    ", which the program did not mark: its row has no name and no host time, and "
                    "stands before the others",
                    (unsigned)run->device, run->id);
        }
        if (op == TT_NONE)
            return;
        run->op = op;
        if (model->ops[op].run == TT_NONE && run->session == 0) {
            model->ops[op].run = (uint32_t)i;
        } else { /* a replay, or a run that came again: a row of its own */
            run->flags |= run->session ? 0 : (uint32_t)TT_RUN_ANOTHER;
            run->replay_ns = model->ops[op].start_ns;
            model->ops[op].flags |= TT_OP_HAS_REPLAYS;
        }
    }
}

void recorded_join_runs(struct tt_model *model)
{
    bool *has_id = calloc(model->op_count + 1, sizeof has_id[0]);
    uint64_t *ids = calloc(model->run_count + 1, sizeof ids[0]);
    struct by_start *order = calloc(model->op_count + 1, sizeof order[0]);
    uint64_t host_count = 0;
    if (!has_id || !ids || !order)
        model->failed = true;
    map_free(&model->op_of_id); /* had the recorder's numbers */
    for (uint32_t i = 0; i < model->op_count && !model->failed; i++) {
        uint64_t id = model->ops[i].marked_id;
        model->ops[i].flags &= ~(uint32_t)TT_OP_REPEATED;
        has_id[i] = model->ops[i].has_marked_id && map_get(&model->op_of_id, id) == TT_NONE;
        if (has_id[i])
            claim_id(model, i, id);
        else if (model->ops[i].device == TT_NONE)
            claim_id(model, i, FIRST_HOST_ID + (++host_count << DEVICE_BITS));
    }
    for (size_t i = 0; i < model->device_count && !model->failed; i++)
        join_by_order(model, model->devices[i].id, has_id, ids, order);
    attach_runs(model);
    free(has_id);
    free(ids);
    free(order);
}
