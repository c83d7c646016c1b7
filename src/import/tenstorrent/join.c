/* SPDX-License-Identifier: Apache-2.0 */
#include "import/tenstorrent/join.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/keyed_text.h"
#include "base/slice.h"

/* --- runs to ops --- */

struct window { /* the replay of a trace that is being walked through */
    uint32_t popped;
};

struct join {
    struct tt_model *model;
    uint32_t *seen;         /* by op: the replay in which it was seen last, + 1 */
    struct window *windows; /* by replay list */
    bool may_count;         /* replays that the source does not number are counted */
};

static void claim(struct tt_model *model, uint32_t run_index)
{
    struct tt_run *run = &model->runs[run_index];
    struct tt_op *op = &model->ops[run->op];
    if (run->session > 0) {
        op->flags |= TT_OP_HAS_REPLAYS;
        return;
    }
    if (op->run == TT_NONE) {
        op->run = run_index;
        return;
    }
    tt_note(model, TT_UNMATCHED_RUN_AGAIN, 0,
            "op %" PRIu64 " ran more than once on device %u without a replay: one of its runs is shown",
            run->id, (unsigned)run->device);
    if (model->runs[op->run].flags & TT_RUN_INCOMPLETE) {
        model->runs[op->run].op = TT_NONE;
        op->run = run_index;
    } else {
        run->op = TT_NONE;
    }
}

/* Replay number and time of a run of a traced op. Logs that number the replays are believed; else an op that
 * comes again begins the next replay. */
static void find_session(struct join *join, struct tt_run *run, const struct tt_op *op)
{
    struct tt_model *model = join->model;
    struct tt_replay *replay = tt_replay_find(model, run->device, op->trace, false);
    if (join->may_count && run->session == 0 && replay && op->trace != TT_NO_TRACE) {
        struct window *window = &join->windows[replay - model->replays];
        if (join->seen[run->op] == window->popped + 1)
            window->popped++;
        join->seen[run->op] = window->popped + 1;
        run->session = window->popped + 1;
    }
    if (run->session == 0)
        return;
    if (run->trace == TT_NO_TRACE)
        run->trace = op->trace;
    if (run->trace != op->trace)
        replay = tt_replay_find(model, run->device, run->trace, false);
    if (replay && run->session <= replay->count) {
        run->replay_ns = replay->times_ns[run->session - 1];
        return;
    }
    run->flags |= TT_RUN_NO_REPLAY;
    run->replay_ns = replay && replay->count ? replay->times_ns[replay->count - 1] : op->start_ns;
    tt_note(model, TT_UNMATCHED_REPLAY, 0,
            "replay %u of trace %" PRId64
            " on device %u has device data and no message: its time is not known",
            (unsigned)run->session, run->trace, (unsigned)run->device);
}

/* Of the runs with an op's id, those of its trace; where there are none, all of them. */
static bool is_of_trace(const struct tt_run *run, const struct tt_op *op, bool has_trace_runs)
{
    return !has_trace_runs || run->trace == op->trace;
}

void tt_join_runs(struct tt_model *model, bool may_count_replays)
{
    struct join join = {.model = model,
                        .may_count = may_count_replays,
                        .seen = calloc(model->op_count + 1, sizeof join.seen[0]),
                        .windows = calloc(model->replay_count + 1, sizeof join.windows[0])};
    bool *has_trace_runs = calloc(model->op_count + 1, sizeof has_trace_runs[0]);
    if (!join.seen || !join.windows || !has_trace_runs)
        model->failed = true;
    for (size_t i = 0; i < model->run_count && !model->failed; i++) {
        struct tt_run *run = &model->runs[i];
        uint32_t op = map_get(&model->op_of_id, run->id);
        if (op == TT_NONE || (model->ops[op].device != TT_NONE && model->ops[op].device != run->device))
            continue;
        run->op = op;
        if (run->trace == model->ops[op].trace)
            has_trace_runs[op] = true;
    }
    for (size_t i = 0; i < model->run_count && !model->failed; i++) {
        struct tt_run *run = &model->runs[i];
        if (run->op == TT_NONE)
            continue;
        const struct tt_op *op = &model->ops[run->op];
        if (!is_of_trace(run, op, has_trace_runs[run->op])) {
            run->op = TT_NONE;
            continue;
        }
        find_session(&join, run, op);
        claim(model, (uint32_t)i);
    }
    free(join.seen);
    free(join.windows);
    free(has_trace_runs);
}

void tt_runs_add_sub_devices(struct tt_model *model, const struct tt_log *log)
{
    struct tt_cell_builder cells = {0};
    for (size_t i = 0; i < model->run_count; i++) {
        struct tt_run *run = &model->runs[i];
        struct slice value = tt_log_sub_device(log, run->device, run->id, run->trace,
                                               run->session ? (int64_t)run->session : -1);
        if (value.length == 0)
            continue;
        for (uint32_t k = 0; k < run->cells.count; k++)
            tt_cell_add(model, &cells, run->cells.items[k].column, run->cells.items[k].data,
                        run->cells.items[k].length);
        tt_cell_add(model, &cells, OP_COLUMN_ID_SUB_DEVICE, value.data, value.length);
        run->cells = tt_cells_finish(model, &cells);
    }
    free(cells.items);
}

/* --- what is missing --- */

struct replay_order {
    uint32_t device, session, run;
    uint64_t id;
};

static int compare_replays(const void *left, const void *right)
{
    const struct replay_order *a = left, *b = right;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    if (a->session != b->session)
        return a->session < b->session ? -1 : 1;
    return (a->run > b->run) - (a->run < b->run);
}

/* Runs of one op in one replay. */
static void note_double_replays(struct tt_model *model)
{
    struct replay_order *order = calloc(model->run_count + 1, sizeof order[0]);
    size_t count = 0;
    if (!order) {
        model->failed = true;
        return;
    }
    for (size_t i = 0; i < model->run_count; i++) {
        const struct tt_run *run = &model->runs[i];
        if (run->op != TT_NONE && run->session > 0)
            order[count++] = (struct replay_order){run->device, run->session, (uint32_t)i, run->id};
    }
    qsort(order, count, sizeof order[0], compare_replays);
    for (size_t i = 1; i < count; i++) {
        if (order[i - 1].device == order[i].device && order[i - 1].id == order[i].id &&
            order[i - 1].session == order[i].session)
            tt_note(model, TT_INFO_REPLAY_TWICE, 0,
                    "op %" PRIu64 " ran twice in replay %u on device %u: both runs are shown", order[i].id,
                    (unsigned)order[i].session, (unsigned)order[i].device);
    }
    free(order);
}

static void flag_op(struct tt_model *model, struct tt_op *op)
{
    if ((op->flags & TT_OP_NO_TIMES) && !(op->flags & TT_OP_NO_MESSAGE))
        tt_note(model, TT_UNMATCHED_NO_TIMES, 0, "op %" PRIu64 " has no host times in tracy_ops_times.csv",
                op->id);
    if (op->device == TT_NONE || op->run != TT_NONE || (op->flags & (TT_OP_HAS_REPLAYS | TT_OP_REPEATED)))
        return;
    if (op->trace != TT_NO_TRACE) {
        op->flags |= TT_OP_NOT_REPLAYED;
        tt_note(model, TT_UNMATCHED_CAPTURED_OP, 0,
                "op %" PRIu64 " was captured in trace %" PRId64 ", of which device %u recorded no replay",
                op->id, op->trace, (unsigned)op->device);
    } else {
        op->flags |= TT_OP_NO_DEVICE;
        tt_note(model, TT_UNMATCHED_OP, 0, "op %" PRIu64 " has no data of device %u", op->id,
                (unsigned)op->device);
    }
}

int tt_join_check(struct tt_model *model, bool has_device_data, struct error *err)
{
    for (size_t i = 0; i < model->run_count; i++) {
        const struct tt_run *run = &model->runs[i];
        if (!model->is_device_only && run->op == TT_NONE)
            tt_note(model, TT_UNMATCHED_RUN, 0,
                    "device %u ran op %" PRIu64 ", which the host's messages do not have: not in the table",
                    (unsigned)run->device, run->id);
        if (run->flags & TT_RUN_INCOMPLETE)
            tt_note(model, TT_LOST_MARKERS, 0,
                    "op %" PRIu64 " on device %u: its times are those of the markers that were kept", run->id,
                    (unsigned)run->device);
    }
    for (size_t i = 0; i < model->op_count && has_device_data; i++)
        flag_op(model, &model->ops[i]);
    if (!model->is_device_only)
        note_double_replays(model);
    return tt_model_check(model, err);
}
