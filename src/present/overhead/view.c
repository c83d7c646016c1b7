/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of ops as a table: the middle and its interval first, since they are the ones to trust. */
#include "present/overhead/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "present/format.h"

#define NAMED_LEFT_OUT 3u

enum {
    COLUMN_OP,
    COLUMN_GROUP,
    COLUMN_COUNT,
    COLUMN_MIN,
    COLUMN_MEAN,
    COLUMN_P50,
    COLUMN_INTERVAL,
    COLUMN_CI_LOW,
    COLUMN_CI_HIGH,
    COLUMN_P99,
    COLUMN_TOTAL,
    COLUMN_NATIVE,
    COLUMN_CALL,
    COLUMN_STATE,
    COLUMN_EARLY,
    COLUMN_REASON,
    COLUMN_CALIBRATION,
    COLUMNS
};

static const struct table_column all_columns[COLUMNS] = {
    [COLUMN_OP] = {.key = "op", .title = "op", .shrink = 20},
    [COLUMN_GROUP] = {.key = "group", .title = "group", .drop = 9},
    [COLUMN_COUNT] = {.key = "count", .title = "calls", .type = TABLE_INTEGER, .drop = 7},
    [COLUMN_MIN] = {.key = "min", .title = "min", .type = TABLE_TIME, .drop = 3},
    [COLUMN_MEAN] = {.key = "mean", .title = "mean", .type = TABLE_TIME},
    [COLUMN_P50] = {.key = "p50", .title = "p50", .type = TABLE_TIME, .drop = 2},
    [COLUMN_INTERVAL] = {.key = "interval",
                         .title = "+-",
                         .type = TABLE_PERCENT,
                         .decimals = 1,
                         .shown = TABLE_TERMINAL_ONLY,
                         .drop = 4},
    [COLUMN_CI_LOW] = {.key = "ci_low", .type = TABLE_TIME, .shown = TABLE_DATA_ONLY},
    [COLUMN_CI_HIGH] = {.key = "ci_high", .type = TABLE_TIME, .shown = TABLE_DATA_ONLY},
    [COLUMN_P99] = {.key = "p99", .title = "p99", .type = TABLE_TIME, .drop = 6},
    [COLUMN_TOTAL] = {.key = "mean_sync", .title = "mean + sync", .type = TABLE_TIME, .drop = 5},
    [COLUMN_NATIVE] = {.key = "native", .title = "native", .type = TABLE_TIME},
    [COLUMN_CALL] = {.key = "call", .title = "call", .type = TABLE_TIME, .drop = 1},
    [COLUMN_STATE] = {.key = "state", .shown = TABLE_DATA_ONLY},
    [COLUMN_EARLY] = {.key = "early", .shown = TABLE_DATA_ONLY},
    [COLUMN_REASON] = {.key = "reason", .shown = TABLE_DATA_ONLY},
    [COLUMN_CALIBRATION] = {.key = "calibration", .shown = TABLE_DATA_ONLY},
};

/* Slowest first; what has no figure last, by name. */
static int compare_means(const void *a, const void *b)
{
    const struct overhead_op *x = *(const struct overhead_op *const *)a,
                             *y = *(const struct overhead_op *const *)b;
    if (isnan(x->mean_ns) || isnan(y->mean_ns)) {
        if (isnan(x->mean_ns) && isnan(y->mean_ns))
            return strcmp(x->name, y->name);
        return isnan(x->mean_ns) ? 1 : -1;
    }
    return (x->mean_ns < y->mean_ns) - (x->mean_ns > y->mean_ns);
}

/* The ops to show, in order; the caller frees the list. */
static const struct overhead_op **ordered_ops(const struct overhead_run *run, bool has_calibration,
                                              size_t *count)
{
    const struct overhead_op **list = calloc(run->op_count ? run->op_count : 1, sizeof(struct overhead_op *));
    *count = 0;
    for (size_t i = 0; list && i < run->op_count; i++)
        if (has_calibration || !run->ops[i].is_calibration)
            list[(*count)++] = &run->ops[i];
    if (list && *count)
        qsort(list, *count, sizeof(struct overhead_op *), compare_means);
    return list;
}

static void add_row(struct table *table, const size_t *at, const struct overhead_op *op)
{
    table_add_row(table);
    table_set_text(table, at[COLUMN_OP], op->name);
    table_set_text(table, at[COLUMN_GROUP], op->group);
    table_set_text(table, at[COLUMN_STATE], overhead_state_name(op->state));
    table_set_text(table, at[COLUMN_EARLY], op->is_early ? "yes" : "no");
    table_set_text(table, at[COLUMN_CALIBRATION], op->is_calibration ? "yes" : "no");
    if (*op->reason)
        table_set_text(table, at[COLUMN_REASON], op->reason);
    table_set_unsigned(table, at[COLUMN_COUNT], op->count);
    table_set_real(table, at[COLUMN_MIN], op->min_ns);
    table_set_real(table, at[COLUMN_MEAN], op->mean_ns);
    table_set_real(table, at[COLUMN_P50], op->p50_ns);
    if (op->p50_ns > 0)
        table_set_real(table, at[COLUMN_INTERVAL], 50 * (op->ci_high_ns - op->ci_low_ns) / op->p50_ns);
    table_set_real(table, at[COLUMN_CI_LOW], op->ci_low_ns);
    table_set_real(table, at[COLUMN_CI_HIGH], op->ci_high_ns);
    table_set_real(table, at[COLUMN_P99], op->p99_ns);
    table_set_real(table, at[COLUMN_TOTAL], op->mean_total_ns);
    if (at[COLUMN_NATIVE] != SIZE_MAX) {
        table_set_real(table, at[COLUMN_NATIVE], op->native_ns);
        table_set_real(table, at[COLUMN_CALL], op->call_ns);
    }
}

static void add_ops(struct report *report, const struct overhead_run *run, const struct overhead_view *view)
{
    struct table_column columns[COLUMNS];
    size_t at[COLUMNS], column_count = 0, count;
    for (size_t c = 0; c < COLUMNS; c++) {
        at[c] = SIZE_MAX;
        if (!view->has_native && (c == COLUMN_NATIVE || c == COLUMN_CALL))
            continue;
        at[c] = column_count;
        columns[column_count++] = all_columns[c];
    }
    const struct overhead_op **ops = ordered_ops(run, report_is_json(report), &count);
    struct table table;
    table_init(&table, "overhead", columns, column_count);
    size_t shown = 0;
    for (size_t i = 0; ops && i < count; i++) {
        bool is_row = ops[i]->state == OVERHEAD_MEASURED || report_is_json(report);
        if (is_row && (!view->top || shown < view->top)) {
            add_row(&table, at, ops[i]);
            shown++;
        }
    }
    if (table.row_count || report_is_json(report))
        report_table(report, "rows", &table);
    table_free(&table);
    free(ops);
}

/* Ops that ran and failed: a row each, with what happened. JSON has them among the others. */
static void add_failures(struct report *report, const struct overhead_run *run)
{
    static const struct table_column columns[] = {{.key = "op", .title = "op", .shrink = 20},
                                                  {.key = "state", .title = "what happened"},
                                                  {.key = "reason", .title = "", .shrink = 40}};
    struct table table;
    table_init(&table, "failed", columns, 3);
    for (size_t i = 0; i < run->op_count; i++) {
        const struct overhead_op *op = &run->ops[i];
        if (op->state == OVERHEAD_MEASURED || op->state == OVERHEAD_LEFT_OUT)
            continue;
        table_add_row(&table);
        table_set_text(&table, 0, op->name);
        table_set_text(&table, 1, overhead_state_name(op->state));
        table_set_style(&table, 1, TABLE_BAD);
        table_set_text(&table, 2, op->reason);
    }
    if (table.row_count && !report_is_json(report)) {
        report_heading(report, "Not measured");
        report_table(report, "failed", &table);
    }
    table_free(&table);
}

static int compare_self(const void *a, const void *b)
{
    double x = ((const struct overhead_native *)a)->self_ns, y = ((const struct overhead_native *)b)->self_ns;
    return (x < y) - (x > y);
}

static void add_parts(struct report *report, const struct overhead_run *run)
{
    static const struct table_column columns[] = {
        {.key = "op", .title = "op", .shrink = 20},
        {.key = "zone", .title = "native zone", .shrink = 20},
        {.key = "count", .title = "count", .type = TABLE_INTEGER, .drop = 1},
        {.key = "self", .title = "self a call", .type = TABLE_TIME},
        {.key = "total", .title = "total a call", .type = TABLE_TIME, .drop = 2},
    };
    struct table table;
    table_init(&table, "native", columns, COUNT_OF(columns));
    for (size_t i = 0; i < run->op_count; i++) {
        const struct overhead_op *op = &run->ops[i];
        if (op->native_count > 1)
            qsort(op->native, op->native_count, sizeof *op->native, compare_self);
        for (size_t k = 0; k < op->native_count; k++) {
            table_add_row(&table);
            table_set_text(&table, 0, op->name);
            table_set_text(&table, 1, op->native[k].zone);
            table_set_unsigned(&table, 2, op->native[k].count);
            table_set_real(&table, 3, op->native[k].self_ns);
            table_set_real(&table, 4, op->native[k].mean_ns);
        }
    }
    if (table.row_count) {
        report_heading(report, "Where the native time goes");
        report_table(report, "native", &table);
    }
    table_free(&table);
}

void overhead_view_tables(struct report *report, const struct overhead_run *run,
                          const struct overhead_view *view)
{
    add_ops(report, run, view);
    add_failures(report, run);
    if (view->has_native && (view->extended || report_is_json(report)))
        add_parts(report, run);
}

static void note_left_out(struct report *report, const struct overhead_run *run)
{
    size_t count = 0;
    const struct overhead_op *named[NAMED_LEFT_OUT] = {0};
    for (size_t i = 0; i < run->op_count; i++) {
        if (run->ops[i].state != OVERHEAD_LEFT_OUT)
            continue;
        if (count < NAMED_LEFT_OUT)
            named[count] = &run->ops[i];
        count++;
    }
    for (size_t i = 0; i < NAMED_LEFT_OUT && i < count; i++)
        report_note(report, TABLE_DIM, "left out: %s: %s", named[i]->name, named[i]->reason);
    if (count > NAMED_LEFT_OUT)
        report_note(report, TABLE_DIM,
                    "%zu ops left out in all; --extended writes them to the CSV, each with its reason",
                    count);
}

void overhead_view_notes(struct report *report, const struct overhead_run *run)
{
    struct number_text loop;
    size_t measured = 0, early = 0;
    for (size_t i = 0; i < run->op_count; i++) {
        measured += run->ops[i].state == OVERHEAD_MEASURED && !run->ops[i].is_calibration;
        early += run->ops[i].is_early && !run->ops[i].is_calibration;
    }
    if (run->loop_ns > 0)
        report_note(report, TABLE_DIM, "%zu op%s measured; %s a call for the calling loop, taken off already",
                    measured, measured == 1 ? "" : "s", format_time_real(&loop, run->loop_ns));
    else
        report_note(report, TABLE_DIM, "%zu op%s measured", measured, measured == 1 ? "" : "s");
    if (early)
        report_note(report, TABLE_NORMAL,
                    "%zu op%s return%s before the work is done: compare mean with mean + sync", early,
                    early == 1 ? "" : "s", early == 1 ? "s" : "");
    note_left_out(report, run);
    if (run->is_noisy)
        report_note(
            report, TABLE_WARN,
            "the machine is noisy: the middle half of a fixed calibration op's times spreads over %.0f %% of "
            "their median; trust p50 and min rather than mean, or use --until and a quiet machine",
            100 * run->noise);
}
