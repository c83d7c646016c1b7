/* SPDX-License-Identifier: Apache-2.0 */
#include "present/estimate/annotated.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/estimate/metrics.h"
#include "text/python_number.h"

static const char action_header[] =
    "action_id;job_id;operation;invocation_names;original_operators;total_time;slice_used_0_in_program;"
    "slice_used_1_in_program;dma_in_used_in_program;dma_out_used_in_program;cdma_used_in_program;"
    "css_used_in_program;timestamp_start;timestamp_end;location\n";
static const char program_header[] =
    "nss_program_index;operation;slice_id;invocation_name;nss_program_timestamp_start;nss_program_timestamp_end;"
    "nss_program_timestamp_total;slice_used_0_in_program;slice_used_1_in_program;dma_in_used_in_program;"
    "dma_out_used_in_program\n";

/* A cell, quoted only where it could not be read back otherwise. */
static void append_cell(const struct measured *measured, uint32_t text, struct bytes *out)
{
    const char *cell = text == TIMELINE_NONE ? "" : timeline_get_text(&measured->timeline, text);
    if (!cell[strcspn(cell, ";\"\r\n")]) {
        bytes_append_text(out, cell);
        return;
    }
    bytes_append_text(out, "\"");
    for (; *cell; cell++)
        bytes_append_format(out, *cell == '"' ? "\"%c" : "%c", *cell);
    bytes_append_text(out, "\"");
}

static void append_us(bool is_there, double value, struct bytes *out)
{
    if (is_there)
        python_append_float(out, value);
}

static void append_use(const struct measured_row *row, unsigned kinds, struct bytes *out)
{
    for (unsigned i = 0; i < kinds; i++)
        bytes_append_format(out, "%s;", !row->has_use ? "" : row->used >> i & 1u ? "True" : "False");
}

static void append_action(const struct measured *measured, const struct measured_row *row, struct bytes *out)
{
    bytes_append_format(out, "%" PRId64 ";", row->action);
    append_us(row->job >= 0, (double)row->job,
              out); /* a column with gaps, which pandas prints as numbers with a point */
    bytes_append_text(out, ";");
    append_cell(measured, row->operation, out);
    bytes_append_text(out, ";");
    append_cell(measured, row->invocations, out);
    bytes_append_text(out, ";");
    append_cell(measured, row->operators, out);
    bytes_append_text(out, ";");
    append_us(row->has_times, row->end_us - row->start_us, out);
    bytes_append_text(out, ";");
    append_use(row, USED_KINDS, out);
    append_us(row->has_times, row->start_us, out);
    bytes_append_text(out, ";");
    append_us(row->has_times, row->end_us, out);
    bytes_append_text(out, ";");
    append_cell(measured, row->location, out);
    bytes_append_text(out, "\n");
}

static void append_program(const struct measured *measured, const struct measured_row *row, struct bytes *out)
{
    bytes_append_format(out, "%" PRId64 ";", row->program);
    append_cell(measured, row->operation, out);
    bytes_append_text(out, ";");
    if (row->slice >= 0)
        bytes_append_format(out, "%" PRId64, row->slice);
    bytes_append_text(out, ";");
    append_cell(measured, row->invocations, out);
    bytes_append_text(out, ";");
    append_us(row->has_times, row->start_us, out);
    bytes_append_text(out, ";");
    append_us(row->has_times, row->end_us, out);
    bytes_append_text(out, ";");
    append_us(row->has_times, row->end_us - row->start_us, out);
    bytes_append_text(out, ";");
    append_use(row, USED_COPY, out);
    out->length -= out->length > 0; /* no separator after the last column */
    bytes_append_text(out, "\n");
}

void measured_append_csv(const struct measured *measured, struct bytes *out)
{
    bytes_append_text(out, measured->is_by_program ? program_header : action_header);
    for (size_t i = 0; i < measured->row_count; i++) {
        if (measured->is_by_program && measured->rows[i].program >= 0)
            append_program(measured, &measured->rows[i], out);
        else if (!measured->is_by_program)
            append_action(measured, &measured->rows[i], out);
    }
}

enum {
    ROW_ACTION,
    ROW_OPERATION,
    ROW_NAMES,
    ROW_OPERATORS,
    ROW_TIME,
    ROW_USED,
    ROW_START,
    ROW_LOCATION,
    ROW_DISPATCH,
    ROW_JOB,
    ROW_PROGRAM,
    ROW_SLICE,
    ROW_END,
    ROW_FIRST_USE,
    ROW_COLUMNS = ROW_FIRST_USE + USED_KINDS
};

static const struct table_column row_columns[ROW_COLUMNS] = {
    [ROW_ACTION] = {.key = "action_id", .title = "action", .type = TABLE_IDENTIFIER},
    [ROW_OPERATION] = {.key = "operation", .title = "operation", .shrink = 16},
    [ROW_NAMES] = {.key = "invocation_names", .title = "programs", .shrink = 12},
    [ROW_OPERATORS] = {.key = "original_operators", .title = "operators", .shrink = 12, .drop = 1},
    [ROW_TIME] = {.key = "total_time", .title = "time", .type = TABLE_TIME},
    [ROW_USED] = {.key = "used", .title = "uses", .shrink = 12},
    [ROW_START] = {.key = "start", .title = "start", .type = TABLE_INSTANT},
    [ROW_LOCATION] = {.key = "location", .title = "location", .shrink = 12, .drop = 2},
    [ROW_DISPATCH] = {.key = "dispatch", .shown = TABLE_DATA_ONLY},
    [ROW_JOB] = {.key = "job_id", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [ROW_PROGRAM] = {.key = "nss_program_index", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [ROW_SLICE] = {.key = "slice_id", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [ROW_END] = {.key = "end", .type = TABLE_INSTANT, .shown = TABLE_DATA_ONLY},
    [ROW_FIRST_USE + USED_SLICE_0] = {.key = "slice_used_0_in_program", .shown = TABLE_DATA_ONLY},
    [ROW_FIRST_USE + USED_SLICE_1] = {.key = "slice_used_1_in_program", .shown = TABLE_DATA_ONLY},
    [ROW_FIRST_USE + USED_DMA_IN] = {.key = "dma_in_used_in_program", .shown = TABLE_DATA_ONLY},
    [ROW_FIRST_USE + USED_DMA_OUT] = {.key = "dma_out_used_in_program", .shown = TABLE_DATA_ONLY},
    [ROW_FIRST_USE + USED_COPY] = {.key = "cdma_used_in_program", .shown = TABLE_DATA_ONLY},
    [ROW_FIRST_USE + USED_CORE] = {.key = "css_used_in_program", .shown = TABLE_DATA_ONLY},
};

static void set_used(struct table *table, const struct measured_row *row)
{
    static const char *const words[USED_KINDS] = {"slice 0", "slice 1", "DMA in", "DMA out", "CDMA", "CSS"};
    char text[80] = "";
    for (unsigned i = 0; i < USED_KINDS; i++) {
        size_t length = strlen(text);
        if (row->used >> i & 1u)
            snprintf(text + length, sizeof text - length, "%s%s", length ? ", " : "", words[i]);
    }
    table_set_text(table, ROW_USED, *text ? text : NULL);
}

/* The rest of the documented columns, for programs that read them. */
static void set_data(const struct measured *measured, struct table *table, const struct measured_row *row,
                     double origin_us)
{
    if (row->dispatch != TIMELINE_NONE)
        table_set_text(table, ROW_DISPATCH, timeline_get_text(&measured->timeline, row->dispatch));
    if (row->job >= 0)
        table_set_integer(table, ROW_JOB, row->job);
    if (row->program >= 0)
        table_set_integer(table, ROW_PROGRAM, row->program);
    if (row->slice >= 0)
        table_set_integer(table, ROW_SLICE, row->slice);
    table_set_unsigned(table, ROW_END, (uint64_t)llround((row->end_us - origin_us) * 1000));
    for (unsigned i = 0; i < USED_KINDS && row->has_use; i++)
        table_set_text(table, ROW_FIRST_USE + i, row->used >> i & 1u ? "True" : "False");
}

void measured_make_rows(const struct measured *measured, struct table *table)
{
    const struct timeline *timeline = &measured->timeline;
    double origin_us = INFINITY;
    table_init(table, "actions", row_columns, ROW_COLUMNS);
    for (size_t i = 0; i < measured->row_count; i++)
        origin_us = measured->rows[i].has_times ? fmin(origin_us, measured->rows[i].start_us) : origin_us;
    for (size_t i = 0; i < measured->row_count; i++) {
        const struct measured_row *row = &measured->rows[i];
        if (!row->has_times)
            continue;
        table_add_row(table);
        table_set_integer(table, ROW_ACTION, row->program >= 0 ? row->program : row->action);
        table_set_text(table, ROW_OPERATION, timeline_get_text(timeline, row->operation));
        if (row->invocations != TIMELINE_NONE)
            table_set_text(table, ROW_NAMES, timeline_get_text(timeline, row->invocations));
        if (row->operators != TIMELINE_NONE)
            table_set_text(table, ROW_OPERATORS, timeline_get_text(timeline, row->operators));
        table_set_unsigned(table, ROW_TIME, (uint64_t)llround((row->end_us - row->start_us) * 1000));
        set_used(table, row);
        table_set_unsigned(table, ROW_START, (uint64_t)llround((row->start_us - origin_us) * 1000));
        if (row->location != TIMELINE_NONE)
            table_set_text(table, ROW_LOCATION, timeline_get_text(timeline, row->location));
        set_data(measured, table, row, origin_us);
    }
}

enum { METRIC_KEY, METRIC_TIME, METRIC_PERCENT, METRIC_WHAT, METRIC_COLUMNS };

static const struct table_column metric_columns[METRIC_COLUMNS] = {
    [METRIC_KEY] = {.key = "metric", .title = "metric"},
    [METRIC_TIME] = {.key = "time", .title = "time", .type = TABLE_TIME},
    [METRIC_PERCENT] = {.key = "share", .title = "share", .type = TABLE_PERCENT, .decimals = 1},
    [METRIC_WHAT] = {.key = "what", .title = "what", .shrink = 16, .drop = 1},
};

int measured_make_metrics(const struct measured *measured, struct table *table, struct error *err)
{
    struct timeline_metrics metrics;
    table_init(table, "metrics", metric_columns, METRIC_COLUMNS);
    int status = timeline_measure(&measured->timeline, TIMELINE_NONE, &metrics, err);
    uint64_t overall = metrics.cycles[TIMELINE_METRIC_OVERALL];
    for (unsigned i = 0; i < TIMELINE_METRIC_COUNT && status == 0; i++) {
        table_add_row(table);
        table_set_text(table, METRIC_KEY, timeline_metric_run_key(i));
        table_set_unsigned(table, METRIC_TIME, metrics.cycles[i]);
        table_set_real(table, METRIC_PERCENT,
                       overall ? 100 * (double)metrics.cycles[i] / (double)overall : 0);
        table_set_text(table, METRIC_WHAT, timeline_metric_text(i));
    }
    return status;
}
