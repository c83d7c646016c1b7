/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that the CPU computed and that called others: aten::mean calls aten::sum, aten::mv calls aten::addmv_. Each has
 * the tensors, so the work would be counted once for each. The inner op has the time, so it has the work, too: an op
 * counts nothing of its own where an op inside it counts the same kind of work. What no model knows (class OTHER, all
 * of its tensors' bytes) is at most what the ops inside it moved, if they moved any.
 *
 * Calls of a thread are in the order in which they ended: what ended before an op and began after its start is inside
 * it (as in ops/cpu_runs.c). On devices an op's time is that of its kernels, which belong to the innermost op. */
#include <stdlib.h>
#include <string.h>

#include "analyze/report/internal.h"
#include "analyze/report/work/torch_ops.h"
#include "ops/known_figures.h"

#define ANY_BYTES (1u << PERF_CLASSES)

struct nested_call {
    uint32_t row;
    uint32_t before; /* the op of its thread that ended before it and is not inside it; OPS_NONE */
    uint32_t counts; /* bits of what it and those inside it count */
};

/* Products, whatever for, are made of products. */
static uint32_t bit_of(unsigned class_)
{
    switch (class_) {
    case PERF_CLASS_SPARSE_MATMUL:
    case PERF_CLASS_CONV:
    case PERF_CLASS_ATTENTION:
        return 1u << PERF_CLASS_MATMUL;
    default:
        return 1u << class_;
    }
}

static uint32_t counts_of(const struct perf_work *work)
{
    uint32_t bits = work->dram_bytes > 0 ? ANY_BYTES : 0;
    if (!(work->flops >= 0) && !bits)
        return 0;
    if (work->model == TORCH_LOOKUP) /* aten::embedding calls aten::index_select */
        bits |= bit_of(PERF_CLASS_EMBEDDING);
    return bits | bit_of(work->class_);
}

static bool is_counted_inside(const struct perf_work *work, uint32_t inside)
{
    return !work->is_without_work &&
           inside & (work->class_ == PERF_CLASS_OTHER ? ANY_BYTES : bit_of(work->class_));
}

static bool is_of_cpu(const struct ops *ops, const struct op_call *call)
{
    return call->track != OPS_NONE && call->device < ops->device_count &&
           ops->devices[call->device].name != OPS_NONE &&
           strcmp(ops_get_text(ops, ops->devices[call->device].name), OPS_CPU_DEVICE) == 0;
}

static void look_at_call(struct perf *perf, struct nested_call *calls, uint32_t i, uint32_t *last)
{
    const struct op_call *call = &perf->ops->calls[i];
    struct perf_row *row = &perf->rows[calls[i].row];
    uint32_t before = *last, inside = 0;
    while (before != OPS_NONE && perf->ops->calls[before].start_ns >= call->start_ns) {
        inside |= calls[before].counts;
        before = calls[before].before;
    }
    if (is_counted_inside(perf_work_of(perf, row), inside))
        row->work = perf_find_work(perf, call->name, call->description, PERF_WORK_INSIDE);
    calls[i].before = before;
    calls[i].counts = inside | counts_of(perf_work_of(perf, row));
    *last = i;
}

void perf_count_once(struct perf *perf)
{
    const struct ops *ops = perf->ops;
    size_t tracks = 0;
    for (size_t i = 0; i < ops->call_count; i++) {
        if (is_of_cpu(ops, &ops->calls[i]) && ops->calls[i].track >= tracks)
            tracks = (size_t)ops->calls[i].track + 1;
    }
    if (!tracks || perf->failed)
        return;
    struct nested_call *calls = malloc(ops->call_count * sizeof *calls);
    uint32_t *last = malloc(tracks * sizeof *last);
    perf->failed |= !calls || !last;
    for (size_t i = 0; !perf->failed && i < ops->call_count; i++)
        calls[i].row = OPS_NONE;
    for (size_t i = 0; !perf->failed && i < perf->row_count; i++) {
        uint32_t call = ops->lines[i].call;
        if (call != OPS_NONE && ops->lines[i].run != OPS_NONE && perf->rows[i].kind == PERF_DEVICE_OP)
            calls[call].row = (uint32_t)i;
    }
    for (size_t i = 0; !perf->failed && i < tracks; i++)
        last[i] = OPS_NONE;
    for (uint32_t i = 0; !perf->failed && i < ops->call_count; i++) {
        if (calls[i].row != OPS_NONE && is_of_cpu(ops, &ops->calls[i]))
            look_at_call(perf, calls, i, &last[ops->calls[i].track]);
    }
    free(calls);
    free(last);
}
