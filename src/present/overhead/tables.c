/* SPDX-License-Identifier: Apache-2.0 */
#include "present/overhead/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"

/* --- verdicts --- */

enum { GATE_OP, GATE_VERDICT, GATE_REFERENCE, GATE_NOW, GATE_RATIO, GATE_ROUNDS, GATE_REASON, GATE_COLUMNS };

static const struct table_column gate_columns[GATE_COLUMNS] = {
    [GATE_OP] = {.key = "op", .title = "op", .shrink = 24},
    [GATE_VERDICT] = {.key = "verdict", .title = "verdict"},
    [GATE_REFERENCE] = {.key = "reference", .title = "reference", .type = TABLE_TIME},
    [GATE_NOW] = {.key = "now", .title = "now", .type = TABLE_TIME},
    [GATE_RATIO] = {.key = "ratio", .title = "ratio", .type = TABLE_REAL, .decimals = 3},
    [GATE_ROUNDS] = {.key = "rounds", .title = "rounds", .type = TABLE_INTEGER, .drop = 1},
    [GATE_REASON] = {.key = "reason", .title = "why", .shrink = 20},
};

static enum table_style style_of(enum overhead_verdict verdict)
{
    switch (verdict) {
    case OVERHEAD_SLOWER:
    case OVERHEAD_FAILED:
    case OVERHEAD_MISSING:
        return TABLE_BAD;
    case OVERHEAD_UNDECIDED:
        return TABLE_WARN;
    case OVERHEAD_FASTER:
        return TABLE_GOOD;
    default:
        return TABLE_NORMAL;
    }
}

static void add_gate_row(const struct overhead_gate_row *row, struct table *table)
{
    table_add_row(table);
    table_set_text(table, GATE_OP, row->name);
    table_set_text(table, GATE_VERDICT, overhead_verdict_name(row->verdict));
    table_set_style(table, GATE_VERDICT, style_of(row->verdict));
    table_set_real(table, GATE_REFERENCE, row->reference_ns);
    table_set_real(table, GATE_NOW, row->floor_ns);
    table_set_real(table, GATE_RATIO, row->ratio);
    if (row->rounds)
        table_set_unsigned(table, GATE_ROUNDS, row->rounds);
    if (*row->reason)
        table_set_text(table, GATE_REASON, row->reason);
}

void overhead_make_gate_table(const struct overhead_gate *gate, bool all, struct table *table)
{
    static const enum overhead_verdict order[] = {OVERHEAD_SLOWER,    OVERHEAD_FAILED, OVERHEAD_MISSING,
                                                  OVERHEAD_UNDECIDED, OVERHEAD_FASTER, OVERHEAD_NEW,
                                                  OVERHEAD_SAME};
    table_init(table, "overhead-check", gate_columns, GATE_COLUMNS);
    for (size_t v = 0; v < COUNT_OF(order); v++) {
        if (order[v] == OVERHEAD_SAME && !all)
            continue;
        for (size_t i = 0; i < gate->row_count; i++) {
            if (gate->rows[i].verdict == order[v])
                add_gate_row(&gate->rows[i], table);
        }
    }
}

enum { CALIBRATION_NAME, CALIBRATION_REFERENCE, CALIBRATION_NOW, CALIBRATION_RATIO, CALIBRATION_COLUMNS };

static const struct table_column calibration_columns[CALIBRATION_COLUMNS] = {
    [CALIBRATION_NAME] = {.key = "calibration_op", .title = "calibration op"},
    [CALIBRATION_REFERENCE] = {.key = "reference", .title = "reference", .type = TABLE_TIME},
    [CALIBRATION_NOW] = {.key = "now", .title = "now", .type = TABLE_TIME},
    [CALIBRATION_RATIO] = {.key = "ratio", .title = "ratio", .type = TABLE_REAL, .decimals = 3},
};

void overhead_make_calibration_table(const struct overhead_gate *gate, struct table *table)
{
    table_init(table, "calibration", calibration_columns, CALIBRATION_COLUMNS);
    for (size_t i = 0; i < gate->calibration_count; i++) {
        const struct overhead_gate_calibration *c = &gate->calibrations[i];
        table_add_row(table);
        table_set_text(table, CALIBRATION_NAME, c->name);
        table_set_real(table, CALIBRATION_REFERENCE, c->reference_ns);
        table_set_real(table, CALIBRATION_NOW, c->floor_ns);
        table_set_real(table, CALIBRATION_RATIO, c->floor_ns / c->reference_ns);
    }
}

/* --- times --- */

static const struct table_column times_columns[OVERHEAD_TIMES_COLUMNS] = {
    [OVERHEAD_TIMES_OP] = {.key = "op", .title = "op", .shrink = 24},
    [OVERHEAD_TIMES_GROUP] = {.key = "group", .title = "group", .drop = 6},
    [OVERHEAD_TIMES_MIN] = {.key = "min", .title = "min", .type = TABLE_TIME},
    [OVERHEAD_TIMES_P50] = {.key = "p50", .title = "p50", .type = TABLE_TIME, .drop = 2},
    [OVERHEAD_TIMES_P99] = {.key = "p99", .title = "p99", .type = TABLE_TIME, .drop = 4},
    [OVERHEAD_TIMES_MEAN] = {.key = "mean", .title = "mean", .type = TABLE_TIME, .drop = 1},
    [OVERHEAD_TIMES_TOTAL] = {.key = "mean_with_sync", .title = "mean + sync", .type = TABLE_TIME},
    [OVERHEAD_TIMES_NATIVE] = {.key = "native", .title = "native", .type = TABLE_TIME, .drop = 3},
    [OVERHEAD_TIMES_COUNT] = {.key = "count", .title = "calls", .type = TABLE_INTEGER, .drop = 5},
    [OVERHEAD_TIMES_STATE] = {.key = "state", .title = "state"},
    [OVERHEAD_TIMES_REASON] = {.key = "reason", .title = "why", .shrink = 20},
};

static int compare_dispatch(const void *a, const void *b, void *context)
{
    const struct overhead_run *run = context;
    const struct overhead_op *x = &run->ops[*(const size_t *)a], *y = &run->ops[*(const size_t *)b];
    if (isnan(x->min_ns) != isnan(y->min_ns))
        return isnan(x->min_ns) ? 1 : -1;
    if (x->min_ns != y->min_ns && !isnan(x->min_ns))
        return x->min_ns < y->min_ns ? 1 : -1;
    return strcmp(x->name, y->name);
}

size_t *overhead_rank(const struct overhead_run *run, size_t *count)
{
    size_t *order = malloc((run->op_count + 1) * sizeof *order);
    *count = 0;
    if (!order)
        return NULL;
    for (size_t i = 0; i < run->op_count; i++) {
        if (!run->ops[i].is_calibration)
            order[(*count)++] = i;
    }
    qsort_r(order, *count, sizeof *order, compare_dispatch, (void *)(uintptr_t)run);
    return order;
}

static void add_times_row(const struct overhead_op *op, struct table *table)
{
    table_add_row(table);
    table_set_text(table, OVERHEAD_TIMES_OP, op->name);
    if (*op->group)
        table_set_text(table, OVERHEAD_TIMES_GROUP, op->group);
    table_set_real(table, OVERHEAD_TIMES_MIN, op->min_ns);
    table_set_real(table, OVERHEAD_TIMES_P50, op->p50_ns);
    table_set_real(table, OVERHEAD_TIMES_P99, op->p99_ns);
    table_set_real(table, OVERHEAD_TIMES_MEAN, op->mean_ns);
    table_set_real(table, OVERHEAD_TIMES_TOTAL, op->mean_total_ns);
    table_set_real(table, OVERHEAD_TIMES_NATIVE, op->native_ns);
    if (op->count)
        table_set_unsigned(table, OVERHEAD_TIMES_COUNT, op->count);
    if (op->state != OVERHEAD_MEASURED) {
        table_set_text(table, OVERHEAD_TIMES_STATE, overhead_state_name(op->state));
        table_set_style(table, OVERHEAD_TIMES_STATE, op->state == OVERHEAD_LEFT_OUT ? TABLE_DIM : TABLE_BAD);
    }
    if (*op->reason)
        table_set_text(table, OVERHEAD_TIMES_REASON, op->reason);
}

void overhead_make_times_table(const struct overhead_run *run, const size_t *order, size_t count,
                               struct overhead_times *times)
{
    memcpy(times->columns, times_columns, sizeof times_columns);
    table_init(&times->table, "overhead", times->columns, OVERHEAD_TIMES_COLUMNS);
    for (size_t i = 0; i < count; i++)
        add_times_row(&run->ops[order[i]], &times->table);
    for (size_t c = 0; c < OVERHEAD_TIMES_COLUMNS && !times->table.failed; c++) {
        bool is_empty = true;
        for (size_t r = 0; r < times->table.row_count && is_empty; r++)
            is_empty = table_cell(&times->table, r, c)->kind == TABLE_CELL_MISSING;
        if (is_empty)
            times->columns[c].shown = TABLE_DATA_ONLY;
    }
}
