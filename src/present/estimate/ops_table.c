/* SPDX-License-Identifier: Apache-2.0 */
#include "base/count_of.h"
#include "present/estimate/estimate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/estimate/metrics.h"

enum {
    OP_NAME,
    OP_CYCLES,
    OP_TIME,
    OP_SHARE,
    OP_COMPUTE,
    OP_TRANSFER,
    OP_MACS,
    OP_READ,
    OP_WRITTEN,
    OP_WEIGHTS,
    OP_UTILISATION,
    OP_BOUND,
    OP_TILES,
    OP_PEAK,
    OP_START,
    OP_CLASS,
    OP_DISPATCH,
    OP_LOCATION,
    OP_NOTE,
    OP_COLUMNS
};

static const struct table_column op_columns[OP_COLUMNS] = {
    [OP_NAME] = {.key = "op", .title = "op", .shrink = 16},
    [OP_CYCLES] = {.key = "cycles", .title = "cycles", .type = TABLE_INTEGER},
    [OP_TIME] = {.key = "time", .title = "time", .type = TABLE_TIME},
    [OP_SHARE] = {.key = "share", .title = "share", .type = TABLE_PERCENT, .decimals = 1},
    [OP_COMPUTE] = {.key = "compute_cycles", .title = "compute", .type = TABLE_INTEGER, .drop = 6},
    [OP_TRANSFER] = {.key = "transfer_cycles", .title = "transfers", .type = TABLE_INTEGER, .drop = 7},
    [OP_MACS] = {.key = "macs", .title = "MACs", .type = TABLE_INTEGER},
    [OP_READ] = {.key = "read", .title = "read", .type = TABLE_BYTES, .drop = 3},
    [OP_WRITTEN] = {.key = "written", .title = "written", .type = TABLE_BYTES, .drop = 2},
    [OP_WEIGHTS] = {.key = "weights", .title = "weights", .type = TABLE_BYTES, .drop = 8},
    [OP_UTILISATION] =
        {.key = "utilisation", .title = "util", .type = TABLE_PERCENT, .decimals = 1, .drop = 1},
    [OP_BOUND] = {.key = "bound", .title = "bound by"},
    [OP_TILES] = {.key = "tiles", .title = "tiles", .type = TABLE_INTEGER, .drop = 9},
    [OP_PEAK] = {.key = "peak", .title = "on chip", .type = TABLE_BYTES, .drop = 10},
    [OP_START] = {.key = "start_cycles", .title = "start", .type = TABLE_INTEGER, .shown = TABLE_DATA_ONLY},
    [OP_CLASS] = {.key = "class", .title = "class", .drop = 11},
    [OP_DISPATCH] = {.key = "dispatch", .title = "dispatch", .shrink = 12, .drop = 12},
    [OP_LOCATION] = {.key = "location", .title = "location", .shrink = 16, .drop = 5},
    [OP_NOTE] = {.key = "note", .title = "note", .shrink = 16, .drop = 4},
};

static const char *const bounds[] = {[TIMELINE_BOUND_UNKNOWN] = NULL,
                                     [TIMELINE_BOUND_COMPUTE] = "compute",
                                     [TIMELINE_BOUND_MEMORY] = "memory",
                                     [TIMELINE_BOUND_LAUNCH] = "launch"};

static uint64_t cycles_of(const struct timeline_op *op)
{
    return op->end > op->start ? op->end - op->start : 0;
}

static bool computes(const struct timeline *timeline, const struct timeline_unit *unit)
{
    unsigned kind = timeline->lanes[unit->lane].kind;
    return kind == TIMELINE_SLICE || kind == TIMELINE_CORE || kind == TIMELINE_HOST;
}

static struct op_sums *sum_units(const struct timeline *timeline, struct error *err)
{
    struct op_sums *sums = calloc(timeline->op_count + 1, sizeof sums[0]);
    if (!sums) {
        error_no_memory(err, "the ops of an estimate");
        return NULL;
    }
    for (size_t i = 0; i < timeline->unit_count; i++) {
        const struct timeline_unit *unit = &timeline->units[i];
        if (unit->op >= timeline->op_count)
            continue;
        struct op_sums *sum = &sums[unit->op];
        *(computes(timeline, unit) ? &sum->compute_cycles : &sum->transfer_cycles) += unit->end - unit->start;
    }
    return sums;
}

/* Scheduled IR does not say how many MACs: there it is how much of its time an op computes. */
static double utilisation(const struct timeline_op *op, const struct op_sums *sums)
{
    if (op->utilisation >= 0)
        return op->utilisation;
    return op->end > op->start ? fmin(1, (double)sums->compute_cycles / (double)(op->end - op->start)) : NAN;
}

static unsigned bound_of(const struct timeline_op *op, const struct op_sums *sums)
{
    if (op->bound != TIMELINE_BOUND_UNKNOWN || !(sums->compute_cycles | sums->transfer_cycles))
        return op->bound;
    return sums->compute_cycles >= sums->transfer_cycles ? TIMELINE_BOUND_COMPUTE : TIMELINE_BOUND_MEMORY;
}

static void add_op(const struct timeline *timeline, const struct timeline_op *op, const struct op_sums *sums,
                   uint64_t end, struct table *table)
{
    uint64_t cycles = cycles_of(op);
    table_add_row(table);
    table_set_text(table, OP_NAME, timeline_get_text(timeline, op->name));
    table_set_unsigned(table, OP_CYCLES, cycles);
    if (timeline->clock_mhz > 0)
        table_set_unsigned(table, OP_TIME, (uint64_t)llround((double)cycles * 1000 / timeline->clock_mhz));
    table_set_real(table, OP_SHARE, end ? 100 * (double)cycles / (double)end : NAN);
    table_set_unsigned(table, OP_COMPUTE, sums->compute_cycles);
    table_set_unsigned(table, OP_TRANSFER, sums->transfer_cycles);
    if (op->macs)
        table_set_unsigned(table, OP_MACS, op->macs);
    table_set_unsigned(table, OP_READ, op->read_bytes);
    table_set_unsigned(table, OP_WRITTEN, op->write_bytes);
    if (op->weight_bytes)
        table_set_unsigned(table, OP_WEIGHTS, op->weight_bytes);
    table_set_real(table, OP_UTILISATION, 100 * utilisation(op, sums));
    table_set_text(table, OP_BOUND, bounds[bound_of(op, sums)]);
    if (op->tiles)
        table_set_unsigned(table, OP_TILES, op->tiles);
    if (op->peak_bytes)
        table_set_unsigned(table, OP_PEAK, op->peak_bytes);
    if (op->end > op->start)
        table_set_unsigned(table, OP_START, op->start);
    if (op->class != TIMELINE_NONE)
        table_set_text(table, OP_CLASS, timeline_get_text(timeline, op->class));
    if (op->dispatch < timeline->dispatch_count)
        table_set_text(table, OP_DISPATCH,
                       timeline_get_text(timeline, timeline->dispatches[op->dispatch].name));
    table_set_text(table, OP_LOCATION, timeline_get_text(timeline, op->location));
    if (op->note != TIMELINE_NONE)
        table_set_text(table, OP_NOTE, timeline_get_text(timeline, op->note));
}

/* Goes before the other among the longest: of equal ones the first does. */
static bool is_before(const struct timeline *timeline, uint32_t a, uint32_t b)
{
    uint64_t left = cycles_of(&timeline->ops[a]), right = cycles_of(&timeline->ops[b]);
    return left != right ? left > right : a < b;
}

/* Restores a heap, whose first is the last of all, where `at` may be out of place. */
static void sink(const struct timeline *timeline, uint32_t *heap, size_t count, size_t at)
{
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && is_before(timeline, heap[child], heap[child + 1]))
            child++;
        if (!is_before(timeline, heap[at], heap[child]))
            return;
        uint32_t last = heap[child];
        heap[child] = heap[at];
        heap[at] = last;
    }
}

/* The `count` ops that take longest, in order. */
static void find_longest(const struct timeline *timeline, uint32_t *heap, size_t count)
{
    for (size_t i = 0; i < count; i++)
        heap[i] = (uint32_t)i;
    for (size_t i = count; i-- > 0;)
        sink(timeline, heap, count, i);
    for (uint32_t i = (uint32_t)count; i < timeline->op_count; i++) {
        if (is_before(timeline, i, heap[0])) {
            heap[0] = i;
            sink(timeline, heap, count, 0);
        }
    }
    while (count-- > 1) {
        uint32_t last = heap[0];
        heap[0] = heap[count];
        heap[count] = last;
        sink(timeline, heap, count, 0);
    }
}

int estimate_make_ops(const struct timeline *timeline, size_t limit, struct report *report,
                      struct table *table, struct error *err)
{
    bool is_all = limit == 0;
    size_t count = is_all || limit > timeline->op_count ? timeline->op_count : limit;
    uint64_t end = timeline_end(timeline);
    table_init(table, "ops", op_columns, OP_COLUMNS);
    struct op_sums *sums = sum_units(timeline, err);
    uint32_t *longest = is_all ? NULL : malloc((count + 1) * sizeof longest[0]);
    if (!sums || (!is_all && !longest)) {
        free(sums);
        free(longest);
        return error_no_memory(err, "the ops of an estimate");
    }
    if (longest)
        find_longest(timeline, longest, count);
    for (size_t i = 0; i < count; i++) {
        size_t op = longest ? longest[i] : i;
        add_op(timeline, &timeline->ops[op], &sums[op], end, table);
        report_table_part(report, "rows", table);
    }
    free(longest);
    free(sums);
    return 0;
}

enum {
    DISPATCH_NAME,
    DISPATCH_START,
    DISPATCH_CYCLES,
    DISPATCH_TIME,
    DISPATCH_PEAK,
    DISPATCH_USED,
    DISPATCH_UNITS,
    DISPATCH_COLUMNS
};

static const struct table_column dispatch_columns[DISPATCH_COLUMNS] = {
    [DISPATCH_NAME] = {.key = "dispatch", .title = "dispatch", .shrink = 20},
    [DISPATCH_START] = {.key = "start_cycles", .title = "start", .type = TABLE_INTEGER},
    [DISPATCH_CYCLES] = {.key = "cycles", .title = "cycles", .type = TABLE_INTEGER},
    [DISPATCH_TIME] = {.key = "time", .title = "time", .type = TABLE_TIME},
    [DISPATCH_PEAK] = {.key = "peak", .title = "peak on chip", .type = TABLE_BYTES},
    [DISPATCH_USED] = {.key = "used", .title = "used at once", .type = TABLE_BYTES},
    [DISPATCH_UNITS] = {.key = "units", .title = "units", .type = TABLE_INTEGER},
};

int estimate_make_dispatches(const struct timeline *timeline, struct table *table, struct error *err)
{
    table_init(table, "dispatches", dispatch_columns, DISPATCH_COLUMNS);
    uint64_t *units = calloc(timeline->dispatch_count + 1, sizeof units[0]);
    if (!units)
        return error_no_memory(err, "the dispatches of an estimate");
    for (size_t i = 0; i < timeline->unit_count; i++) {
        if (timeline->units[i].dispatch < timeline->dispatch_count)
            units[timeline->units[i].dispatch]++;
    }
    for (uint32_t i = 0; i < timeline->dispatch_count; i++) {
        const struct timeline_dispatch *dispatch = &timeline->dispatches[i];
        table_add_row(table);
        table_set_text(table, DISPATCH_NAME, timeline_get_text(timeline, dispatch->name));
        table_set_unsigned(table, DISPATCH_START, dispatch->start);
        table_set_unsigned(table, DISPATCH_CYCLES, dispatch->end - dispatch->start);
        if (timeline->clock_mhz > 0)
            table_set_unsigned(
                table, DISPATCH_TIME,
                (uint64_t)llround((double)(dispatch->end - dispatch->start) * 1000 / timeline->clock_mhz));
        if (dispatch->peak_bytes)
            table_set_unsigned(table, DISPATCH_PEAK, dispatch->peak_bytes);
        if (dispatch->used_bytes)
            table_set_unsigned(table, DISPATCH_USED, dispatch->used_bytes);
        table_set_unsigned(table, DISPATCH_UNITS, units[i]);
    }
    free(units);
    return 0;
}

enum { METRIC_KEY, METRIC_CYCLES, METRIC_TIME, METRIC_PERCENT, METRIC_WHAT, METRIC_COLUMNS };

static const struct table_column metric_columns[METRIC_COLUMNS] = {
    [METRIC_KEY] = {.key = "metric", .title = "metric"},
    [METRIC_CYCLES] = {.key = "cycles", .title = "cycles", .type = TABLE_INTEGER},
    [METRIC_TIME] = {.key = "time", .title = "time", .type = TABLE_TIME},
    [METRIC_PERCENT] = {.key = "share", .title = "share", .type = TABLE_PERCENT, .decimals = 1},
    [METRIC_WHAT] = {.key = "what", .title = "what", .shrink = 16, .drop = 1},
};

int estimate_make_metrics(const struct timeline *timeline, struct table *table, struct error *err)
{
    struct timeline_metrics metrics;
    table_init(table, "metrics", metric_columns, METRIC_COLUMNS);
    int status = timeline_measure(timeline, TIMELINE_NONE, &metrics, err);
    uint64_t overall = metrics.cycles[TIMELINE_METRIC_OVERALL];
    for (unsigned i = 0; i < TIMELINE_METRIC_COUNT && status == 0; i++) {
        table_add_row(table);
        table_set_text(table, METRIC_KEY, timeline_metric_key(i));
        table_set_unsigned(table, METRIC_CYCLES, metrics.cycles[i]);
        if (timeline->clock_mhz > 0)
            table_set_unsigned(table, METRIC_TIME,
                               (uint64_t)llround((double)metrics.cycles[i] * 1000 / timeline->clock_mhz));
        table_set_real(table, METRIC_PERCENT,
                       overall ? 100 * (double)metrics.cycles[i] / (double)overall : 0);
        table_set_text(table, METRIC_WHAT, timeline_metric_text(i));
    }
    return status;
}

/* --- Vela's per-layer file --- */

static const struct table_column layer_columns[] = {
    {.key = "Original Operator"},
    {.key = "NNG Operator"},
    {.key = "SRAM Usage", .type = TABLE_INTEGER},
    {.key = "Peak%", .type = TABLE_REAL},
    {.key = "Op Cycles", .type = TABLE_INTEGER},
    {.key = "Network%", .type = TABLE_REAL},
    {.key = "NPU", .type = TABLE_INTEGER},
    {.key = "SRAM AC", .type = TABLE_INTEGER},
    {.key = "DRAM AC", .type = TABLE_INTEGER},
    {.key = "OnFlash AC", .type = TABLE_INTEGER},
    {.key = "OffFlash AC", .type = TABLE_INTEGER},
    {.key = "MAC Count", .type = TABLE_INTEGER},
    {.key = "Network%", .type = TABLE_REAL},
    {.key = "Util%", .type = TABLE_REAL},
    {.key = "Name"},
};

enum { LAYER_COLUMNS = COUNT_OF(layer_columns) };

struct layer_totals { /* of the whole model */
    uint64_t cycles, peak, macs;
};

static void add_layer(const struct timeline *timeline, const struct timeline_op *op,
                      const struct op_sums *sums, const struct layer_totals *whole, struct table *table)
{
    uint64_t cycles = cycles_of(op);
    size_t column = 0;
    table_add_row(table);
    table_set_text(table, column++, timeline_get_text(timeline, op->name));
    table_set_text(table, column++,
                   timeline_get_text(timeline, op->class != TIMELINE_NONE ? op->class : op->name));
    table_set_unsigned(table, column++, op->peak_bytes);
    table_set_real(table, column++, whole->peak ? 100 * (double)op->peak_bytes / (double)whole->peak : 0);
    table_set_unsigned(table, column++, cycles);
    table_set_real(table, column++, whole->cycles ? 100 * (double)cycles / (double)whole->cycles : 0);
    table_set_unsigned(table, column++, sums->compute_cycles);
    table_set_unsigned(table, column++, 0); /* accesses on the chip are part of the compute cycles */
    table_set_unsigned(table, column++, sums->transfer_cycles);
    table_set_unsigned(table, column++, 0);
    table_set_unsigned(table, column++, 0);
    table_set_unsigned(table, column++, op->macs);
    table_set_real(table, column++, whole->macs ? 100 * (double)op->macs / (double)whole->macs : 0);
    table_set_real(table, column++, 100 * utilisation(op, sums));
    table_set_text(table, column, timeline_get_text(timeline, op->location));
}

int estimate_append_layers(const struct timeline *timeline, struct bytes *out, struct error *err)
{
    struct op_sums *sums = sum_units(timeline, err);
    struct table table;
    struct layer_totals whole = {.cycles = timeline_end(timeline)};
    if (!sums)
        return -ENOMEM;
    table_init(&table, "layers", layer_columns, LAYER_COLUMNS);
    for (size_t i = 0; i < timeline->op_count; i++) {
        whole.macs += timeline->ops[i].macs;
        whole.peak = timeline->ops[i].peak_bytes > whole.peak ? timeline->ops[i].peak_bytes : whole.peak;
    }
    for (size_t i = 0; i < timeline->op_count; i++)
        add_layer(timeline, &timeline->ops[i], &sums[i], &whole, &table);
    table_append_csv(&table, out);
    out->failed |= table.failed;
    table_free(&table);
    free(sums);
    return 0;
}
