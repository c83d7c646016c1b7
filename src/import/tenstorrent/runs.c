/* SPDX-License-Identifier: Apache-2.0 */
/* Runs out of the ops that a device log holds: their cells, times from cycles, gaps to the op before. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "text/python_text.h"
#include "import/tenstorrent/join.h"
#include "base/keyed_text.h"
#include "base/slice.h"

static const struct {
    enum tt_span span;
    enum op_fixed_column column;
} span_columns[] = {
    {TT_SPAN_FW, OP_COLUMN_ID_FW},
    {TT_SPAN_KERNEL, OP_COLUMN_ID_KERNEL},
    {TT_SPAN_KERNEL_DM, OP_COLUMN_ID_KERNEL_DM},
    {TT_SPAN_FIRST_TO_LAST, OP_COLUMN_ID_FIRST_TO_LAST},
    {TT_SPAN_BRISC, OP_COLUMN_ID_BRISC},
    {TT_SPAN_NCRISC, OP_COLUMN_ID_NCRISC},
    {TT_SPAN_TRISC0, OP_COLUMN_ID_TRISC0},
    {TT_SPAN_TRISC1, OP_COLUMN_ID_TRISC1},
    {TT_SPAN_TRISC2, OP_COLUMN_ID_TRISC2},
    {TT_SPAN_ERISC, OP_COLUMN_ID_ERISC},
    {TT_SPAN_QUASAR_DM, OP_COLUMN_ID_QUASAR_DM},
    {TT_SPAN_QUASAR_TRISC, OP_COLUMN_ID_QUASAR_TRISC},
    {TT_SPAN_QUASAR_DM_FW, OP_COLUMN_ID_QUASAR_DM_FW},
    {TT_SPAN_QUASAR_TRISC_FW, OP_COLUMN_ID_QUASAR_TRISC_FW},
    {TT_SPAN_DISPATCH_TOTAL, OP_COLUMN_ID_DISPATCH_TOTAL},
    {TT_SPAN_DISPATCH_GO, OP_COLUMN_ID_DISPATCH_GO_WAIT},
};

/* Gaps between ops: from which span's end to which span's start. */
static const struct {
    enum tt_span span;
    enum op_fixed_column column;
} gap_columns[] = {
    {TT_SPAN_KERNEL, OP_COLUMN_ID_OP_TO_OP},
    {TT_SPAN_KERNEL_DM, OP_COLUMN_ID_OP_TO_OP_DM},
    {TT_SPAN_QUASAR_DM, OP_COLUMN_ID_QUASAR_OP_TO_OP},
    {TT_SPAN_QUASAR_TRISC, OP_COLUMN_ID_QUASAR_OP_TO_OP_TRISC},
};
#define GAPS COUNT_OF(gap_columns)

struct maker {
    struct tt_model *model;
    struct tt_log *log;
    struct tt_cell_builder cells;
    struct bytes text;
    struct tt_op_counters counters;
    double *scratch;
    size_t scratch_capacity;
    uint32_t device; /* of the op before */
    bool has_end[GAPS];
    uint64_t end[GAPS];
};

static void add_text(struct maker *m, uint32_t column)
{
    if (m->text.failed)
        m->model->failed = true;
    else
        tt_cell_copy(m->model, &m->cells, column, (const char *)m->text.data, m->text.length);
}

static void add_number(struct maker *m, uint32_t column, uint64_t value)
{
    bytes_clear(&m->text);
    bytes_append_format(&m->text, "%" PRIu64, value);
    add_text(m, column);
}

static void add_ns(struct maker *m, uint32_t column, double cycles)
{
    if (m->log->header.frequency_mhz == 0)
        return;
    bytes_clear(&m->text);
    python_append_whole(&m->text, cycles * 1000 / m->log->header.frequency_mhz);
    add_text(m, column);
}

static void add_gaps(struct maker *m, const struct tt_device_op *op)
{
    double cycles_per_ns = m->log->header.frequency_mhz / 1000.0;
    bool is_first = op->device != m->device;
    if (is_first)
        memset(m->has_end, 0, sizeof m->has_end);
    m->device = op->device;
    for (size_t i = 0; i < GAPS; i++) {
        const struct tt_interval *span = &op->spans[gap_columns[i].span];
        if (!span->is_set)
            continue;
        if (m->log->header.frequency_mhz) {
            double cycles = 0;
            if (m->has_end[i])
                cycles = span->start >= m->end[i] ? (double)(span->start - m->end[i])
                                                  : -(double)(m->end[i] - span->start);
            bytes_clear(&m->text);
            python_append_whole(&m->text, cycles / cycles_per_ns);
            add_text(m, gap_columns[i].column);
        }
        m->has_end[i] = true;
        m->end[i] = span->end;
    }
}

static void add_counters(struct maker *m, const struct tt_device_op *op)
{
    double values[OP_METRIC_STATISTICS];
    if (!tt_log_op_counters(m->log, op, &m->counters) ||
        !array_reserve(&m->scratch, &m->scratch_capacity, m->counters.count + 1, sizeof m->scratch[0])) {
        m->model->failed = true;
        return;
    }
    if (m->counters.count == 0)
        return;
    const struct tt_interval *kernel = &op->spans[TT_SPAN_KERNEL];
    struct tt_metric_input input = {.cores = m->counters.cores,
                                    .core_count = m->counters.count,
                                    .sums = &m->log->counter_sums,
                                    .max_compute_cores = m->log->header.max_compute_cores,
                                    .kernel_duration_cycles =
                                        kernel->is_set ? kernel->end - kernel->start : 0,
                                    .is_device_only = m->model->is_device_only};
    for (unsigned metric = 0; metric < OP_METRIC_COUNT; metric++) {
        if (!tt_metric((enum op_counter_metric)metric, &input, m->scratch, values))
            continue;
        for (unsigned s = 0; s < OP_METRIC_STATISTICS; s++) {
            if (!isfinite(values[s]))
                continue;
            bytes_clear(&m->text);
            op_counter_column((enum op_counter_metric)metric, (enum op_counter_statistic)s, &m->text);
            uint32_t column = tt_column(m->model, (const char *)m->text.data, m->text.length);
            bytes_clear(&m->text);
            python_append_float(&m->text, values[s]);
            add_text(m, column);
        }
    }
}

static void add_run(struct maker *m, const struct tt_device_op *op)
{
    const struct tt_key *key = &m->log->keys[op->key];
    struct tt_run *run = tt_run_add(m->model);
    if (!run)
        return;
    run->id = op->id;
    run->device = op->device;
    run->trace = key->trace;
    run->session = key->counter > 0 && !m->model->is_device_only ? (uint32_t)key->counter : 0;
    run->cores = op->cores;
    run->flags = op->is_incomplete ? TT_RUN_INCOMPLETE : 0;
    const struct tt_interval *fw = &op->spans[TT_SPAN_FW];
    if (fw->is_set) {
        run->has_cycles = true;
        run->start_cycle = fw->start;
        run->end_cycle = fw->end;
        add_number(m, OP_COLUMN_ID_FW_START, fw->start);
        add_number(m, OP_COLUMN_ID_FW_END, fw->end);
    }
    if (key->sub_device.length)
        tt_cell_add(m->model, &m->cells, OP_COLUMN_ID_SUB_DEVICE, key->sub_device.data,
                    key->sub_device.length);
    if (!m->model->is_device_only)
        add_number(m, OP_COLUMN_ID_CORE_COUNT, op->cores);
    add_gaps(m, op);
    for (size_t i = 0; i < COUNT_OF(span_columns); i++) {
        const struct tt_interval *span = &op->spans[span_columns[i].span];
        if (span->is_set)
            add_ns(m, span_columns[i].column, (double)(span->end - span->start));
    }
    const struct tt_interval *kernel = &op->spans[TT_SPAN_KERNEL];
    if (kernel->is_set && m->log->header.frequency_mhz) {
        run->has_kernel = true;
        run->kernel_ns =
            (uint64_t)nearbyint((double)(kernel->end - kernel->start) * 1000 / m->log->header.frequency_mhz);
    }
    if (op->core_spans) {
        add_ns(m, OP_COLUMN_ID_PER_CORE_MIN, (double)op->core_min);
        add_ns(m, OP_COLUMN_ID_PER_CORE_MAX, (double)op->core_max);
        add_ns(m, OP_COLUMN_ID_PER_CORE_AVG, (double)op->core_sum / op->core_spans);
    }
    if (op->has_sum[TT_SUM_WAIT_FRONT])
        add_ns(m, OP_COLUMN_ID_CB_WAIT_FRONT, (double)op->sums[TT_SUM_WAIT_FRONT]);
    if (op->has_sum[TT_SUM_RESERVE_BACK])
        add_ns(m, OP_COLUMN_ID_CB_RESERVE_BACK, (double)op->sums[TT_SUM_RESERVE_BACK]);
    add_counters(m, op);
    run->cells = tt_cells_finish(m->model, &m->cells);
}

struct op_order {
    uint64_t first_time;
    uint32_t device, op;
};

static int compare_ops(const void *left, const void *right)
{
    const struct op_order *a = left, *b = right;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    if (a->first_time != b->first_time)
        return a->first_time < b->first_time ? -1 : 1;
    return (a->op > b->op) - (a->op < b->op);
}

int tt_runs_from_log(struct tt_model *model, struct tt_log *log, struct error *err)
{
    struct maker maker = {.model = model, .log = log, .device = TT_NONE};
    struct op_order *order = calloc(log->op_count + 1, sizeof order[0]);
    if (!order || log->op_count >= TT_NONE) {
        free(order);
        return error_set_errno(err, ENOMEM, "%zu ops in the device log", log->op_count);
    }
    for (size_t i = 0; i < log->op_count; i++)
        order[i] = (struct op_order){model->is_device_only ? 0 : log->ops[i].first_time, log->ops[i].device,
                                     (uint32_t)i};
    qsort(order, log->op_count, sizeof order[0], compare_ops);
    for (size_t i = 0; i < log->op_count && !model->failed; i++)
        add_run(&maker, &log->ops[order[i].op]);
    for (size_t i = 0; i < log->core_count; i++) {
        struct tt_device *device = tt_device_get(model, log->cores[i].device);
        if (device && device->frequency_mhz == 0)
            *device = (struct tt_device){device->id, log->header.frequency_mhz, log->header.arch};
    }
    model->is_quasar |= slice_has(log->header.arch, "quasar");
    free(order);
    free(maker.cells.items);
    bytes_free(&maker.text);
    free(maker.scratch);
    tt_op_counters_free(&maker.counters);
    return tt_model_check(model, err);
}
