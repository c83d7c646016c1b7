/* SPDX-License-Identifier: Apache-2.0 */
#include "import/recorded_join.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "import/recorded_read.h"
#include "base/keyed_text.h"
#include "base/slice.h"

#define FIRST_HOST_ID (UINT64_C(1) << 31) /* as the vendor numbers ops that run on the host */
#define DEVICE_BITS 10u

/* --- what was recorded --- */

struct reader {
    struct tt_model *model;
    struct recorded_records records;
    struct recorded_calls calls;
    size_t first_record; /* in the model */
    struct tt_cell_builder cells;
};

/* The model's record of an op. */
static uint32_t record_of(struct reader *r, const struct trace_op *op)
{
    struct tt_model *model = r->model;
    uint32_t id = recorded_record(&r->records, op);
    if (id == TT_NONE || r->first_record + id < model->record_count)
        return id == TT_NONE ? TT_NONE : (uint32_t)(r->first_record + id);
    const struct recorded_record *record = &r->records.records[id];
    for (uint32_t i = 0; i < record->count; i++) {
        const struct tt_cells *piece = &r->records.pieces[r->records.piece_ids[record->first + i]];
        for (uint32_t k = 0; k < piece->count; k++)
            tt_cell_add(model, &r->cells, piece->items[k].column, piece->items[k].data,
                        piece->items[k].length);
    }
    if (!array_reserve(&model->records, &model->record_capacity, model->record_count + 1,
                       sizeof model->records[0])) {
        model->failed = true;
        return TT_NONE;
    }
    model->records[model->record_count++] = (struct tt_record){.cells = tt_cells_finish(model, &r->cells)};
    return (uint32_t)(model->record_count - 1);
}

/* A host op is of no device, whatever it says: the device's files know nothing of it. */
static bool read_op(void *context, const struct trace_rows *rows, size_t i)
{
    struct reader *r = context;
    struct tt_model *model = r->model;
    const struct trace_op *from = &rows->ops[i];
    struct tt_map *calls = recorded_calls_of(&r->calls, from->process);
    if (tt_map_get(calls, from->call) != TT_NONE)
        return true; /* a call number that comes again: damaged */
    struct tt_op *op = tt_op_add(model, model->op_count);
    if (!op || !tt_map_put(calls, from->call, (uint32_t)(model->op_count - 1))) {
        model->failed = true;
        return false;
    }
    op->id = from->call;
    op->device = from->device == TRACE_NONE || from->type != TRACE_OP_DEVICE ? TT_NONE : from->device;
    op->start_ns = op->message_ns = from->start_ns;
    if (from->end_ns) {
        op->flags &= ~(uint32_t)TT_OP_NO_TIMES;
        op->duration_ns = from->end_ns > from->start_ns ? from->end_ns - from->start_ns : 0;
    }
    op->record = record_of(r, from);
    return !model->failed;
}

static bool read_point(void *context, const struct trace_rows *rows, size_t i)
{
    struct reader *r = context;
    return recorded_add_signpost(r->model, &rows->points[i]);
}

/* Ops and signposts of a recorded trace, into a model without any. */
static int read_recorded(struct tt_model *model, struct trace *trace, struct error *err)
{
    struct reader reader = {
        .model = model, .records = {.model = model, .trace = trace}, .first_record = model->record_count};
    int result = 0;
    if (recorded_calls_init(&reader.calls, trace))
        result = recorded_each(trace, TRACE_BLOCK_OPS, read_op, &reader, err);
    else
        model->failed = true;
    if (result == 0 && !model->failed)
        result = recorded_each(trace, TRACE_BLOCK_POINTS, read_point, &reader, err);
    recorded_calls_free(&reader.calls);
    recorded_records_free(&reader.records);
    free(reader.cells.items);
    return result == 0 ? tt_model_check(model, err) : result;
}

/* --- the number that a program gave its op --- */

static struct slice find_cell(const struct tt_model *model, uint32_t record, uint32_t column)
{
    const struct tt_cells *cells = record == TT_NONE ? NULL : &model->records[record].cells;
    for (uint32_t i = 0; cells && i < cells->count; i++)
        if (cells->items[i].column == column)
            return slice_from(cells->items[i].data, cells->items[i].length);
    return slice_from("", 0);
}

/* From the op's attributes, which are the repr of a dict with ';' for ','. */
static bool explicit_id(const struct tt_model *model, const struct tt_op *op, uint64_t *id)
{
    static const char *const keys[] = {"'global_call_count': '", "'GLOBAL CALL COUNT': '"};
    struct slice cell = find_cell(model, op->record, OP_COLUMN_ID_ATTRIBUTES);
    const char *end = cell.data + cell.length;
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        const char *key = memmem(cell.data, cell.length, keys[k], strlen(keys[k]));
        const char *digits = key ? key + strlen(keys[k]) : end;
        const char *quote = memchr(digits, '\'', (size_t)(end - digits));
        if (quote && slice_unsigned(slice_from(digits, (size_t)(quote - digits)), id))
            return true;
    }
    return false;
}

/* --- the logs have the host's ops: signposts --- */

/* The first signpost of that name in the logs; TT_NONE. */
static uint32_t find_signpost(const struct intern *headers, const uint32_t *first, struct slice header)
{
    uint32_t id = intern_find(headers, header.length ? header.data : "", header.length);
    return id == INTERN_NONE ? TT_NONE : first[id];
}

/* How far the logs' clock is behind the recorder's, by the first signpost or the first op that both have. */
static bool find_offset(const struct tt_model *model, const struct tt_model *recorded,
                        const struct intern *headers, const uint32_t *first, int64_t *offset)
{
    for (size_t i = 0; i < recorded->signpost_count; i++) {
        uint32_t own = find_signpost(headers, first, recorded->signposts[i].header);
        if (own == TT_NONE)
            continue;
        *offset = (int64_t)(recorded->signposts[i].time_ns - model->signposts[own].time_ns);
        return true;
    }
    for (size_t i = 0; i < recorded->op_count; i++) {
        uint64_t id = 0;
        uint32_t op =
            explicit_id(recorded, &recorded->ops[i], &id) ? tt_map_get(&model->op_of_id, id) : TT_NONE;
        if (op == TT_NONE || (model->ops[op].flags & TT_OP_NO_TIMES))
            continue;
        *offset = (int64_t)(recorded->ops[i].start_ns - model->ops[op].start_ns);
        return true;
    }
    return false;
}

static void add_missing_signposts(struct tt_model *model, const struct tt_model *recorded,
                                  const struct intern *headers, const uint32_t *first)
{
    static const char unaligned[] = "unmatched: recorded signposts", early[] = "unmatched: early signposts";
    int64_t offset = 0;
    if (!find_offset(model, recorded, headers, first, &offset)) {
        if (recorded->signpost_count)
            tt_note(
                model, unaligned, 0,
                "%zu recorded signposts are left out: no signpost and no numbered op is in the logs as well, so "
                "that their times cannot be set against the logs'",
                recorded->signpost_count);
        return;
    }
    for (size_t i = 0; i < recorded->signpost_count && !model->failed; i++) {
        struct tt_signpost signpost = recorded->signposts[i];
        int64_t time_ns = (int64_t)signpost.time_ns - offset;
        if (find_signpost(headers, first, signpost.header) != TT_NONE)
            continue;
        if (time_ns < 0) {
            tt_note(model, early, 0, "recorded signposts from before the logs begin are left out");
            continue;
        }
        if (!array_reserve(&model->signposts, &model->signpost_capacity, model->signpost_count + 1,
                           sizeof model->signposts[0])) {
            model->failed = true;
            return;
        }
        signpost.time_ns = (uint64_t)time_ns;
        signpost.header.data = tt_keep(model, signpost.header.data, signpost.header.length);
        signpost.text.data = tt_keep(model, signpost.text.data, signpost.text.length);
        model->signposts[model->signpost_count++] = signpost;
    }
}

static void add_signposts(struct tt_model *model, const struct tt_model *recorded)
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
static void add_places(struct tt_model *model, struct tt_op *op, const struct tt_model *recorded,
                       const struct tt_op *from)
{
    static const uint32_t columns[] = {OP_COLUMN_ID_MODULE_PATH, OP_COLUMN_ID_LOC};
    struct tt_cell_builder cells = {0};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        struct slice told = find_cell(recorded, from->record, columns[i]);
        if (told.length && op->record != TT_NONE && find_cell(model, op->record, columns[i]).length == 0)
            tt_cell_copy(model, &cells, columns[i], told.data, told.length);
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
static void add_to_host_ops(struct tt_model *model, const struct tt_model *recorded)
{
    static const char others[] = "told: recorded ops";
    size_t unused = 0;
    for (size_t i = 0; i < recorded->op_count; i++) {
        const struct tt_op *from = &recorded->ops[i];
        uint64_t id = 0;
        uint32_t index = explicit_id(recorded, from, &id) ? tt_map_get(&model->op_of_id, id) : TT_NONE;
        struct tt_op *op = index == TT_NONE ? NULL : &model->ops[index];
        unused += !op;
        if (op)
            add_places(model, op, recorded, from);
        if (op && (op->flags & TT_OP_NO_TIMES) && !(from->flags & TT_OP_NO_TIMES)) {
            op->duration_ns = from->duration_ns;
            op->start_ns = op->message_ns > from->duration_ns ? op->message_ns - from->duration_ns : 0;
            op->flags &= ~(uint32_t)TT_OP_NO_TIMES;
        }
    }
    if (unused)
        tt_note(
            model, others, 0,
            "%zu ops that the program marked itself are in the trace alone: the logs have the host's ops, and no "
            "global_call_count says which of those they are",
            unused);
    add_signposts(model, recorded);
}

int recorded_join_host(struct tt_model *model, const char *path, bool *is_host, struct error *err)
{
    static const char unreadable[] = "damaged: recorded trace";
    struct trace *trace = NULL;
    struct tt_model recorded;
    *is_host = false;
    int result = trace_open(&trace, path, 0, err);
    if (result != 0 && result != -ENOMEM) {
        tt_note(model, unreadable, 0, "%s; the report goes on without it", err->message);
        *err = (struct error){0};
        return 0;
    }
    if (result == 0 && model->op_count == 0) {
        model->signpost_count = 0; /* of a clock of their own: the recorded ones are the same or more */
        result = read_recorded(model, trace, err);
        *is_host = result == 0 && (model->op_count || model->signpost_count);
    } else if (result == 0) {
        tt_model_init(&recorded);
        result = read_recorded(&recorded, trace, err);
        if (result == 0)
            add_to_host_ops(model, &recorded);
        tt_model_free(&recorded);
    }
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
        if (model->runs[i].device == device && tt_map_get(&model->op_of_id, model->runs[i].id) == TT_NONE)
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
    if (!tt_map_put(&model->op_of_id, id, index))
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
    static const char unequal[] = "unmatched: recorded ops";
    size_t id_count = free_ids(model, device, ids), op_count = 0;
    for (uint32_t i = 0; i < model->op_count; i++)
        if (model->ops[i].device == device && !has_id[i])
            order[op_count++] = (struct by_start){model->ops[i].start_ns, i};
    qsort(order, op_count, sizeof order[0], compare_starts);
    if (op_count && op_count != id_count)
        tt_note(
            model, unequal, 0,
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
    static const char unmarked[] = "unmatched: unmarked runs";
    for (size_t i = 0; i < model->run_count && !model->failed; i++) {
        struct tt_run *run = &model->runs[i];
        uint32_t op = tt_map_get(&model->op_of_id, run->id);
        if (op == TT_NONE) {
            op = add_unmarked(model, run);
            tt_note(
                model, unmarked, 0,
                "device %u ran op %llu, which the program did not mark: its row has no name and no host time, and "
                "stands before the others",
                (unsigned)run->device, (unsigned long long)run->id);
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
    tt_map_free(&model->op_of_id); /* had the recorder's numbers */
    for (uint32_t i = 0; i < model->op_count && !model->failed; i++) {
        uint64_t id = 0;
        model->ops[i].flags &= ~(uint32_t)TT_OP_REPEATED;
        has_id[i] = explicit_id(model, &model->ops[i], &id) && tt_map_get(&model->op_of_id, id) == TT_NONE;
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
