/* SPDX-License-Identifier: Apache-2.0 */
#include "present/report/table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report/advice.h"
#include "base/count_of.h"
#include "ops/description.h"
#include "ops/finish.h"
#include "present/report/words.h"

/* --- which rows --- */

static double weight(const struct perf *perf, const struct perf_row *row)
{
    double percent = perf_total_percent(perf, row);
    return isnan(percent) ? 0 : percent;
}

static int compare_weights(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return left > right ? -1 : left < right;
}

/* The share of the top-th op: those above it are in; of equal ones the first. */
static int find_threshold(const struct perf *perf, uint64_t top, double *threshold, size_t *equal_left,
                          struct error *err)
{
    double *weights = malloc((perf->count ? perf->count : 1) * sizeof *weights);
    size_t above = 0;
    if (!weights)
        return error_set(err, ENOMEM, "no memory to choose from %zu ops", perf->count);
    for (size_t i = 0; i < perf->count; i++)
        weights[i] = weight(perf, perf_at(perf, i));
    qsort(weights, perf->count, sizeof *weights, compare_weights);
    *threshold = top < perf->count ? weights[top - 1] : -1;
    while (above < perf->count && weights[above] > *threshold)
        above++;
    *equal_left = (size_t)top > above ? (size_t)top - above : 0;
    free(weights);
    return 0;
}

int perf_select(const struct perf *perf, uint64_t top, double min_percent, struct perf_selection *selection,
                struct error *err)
{
    double threshold = -1;
    size_t equal_left = 0;
    *selection = (struct perf_selection){.is_shown = calloc(perf->count ? perf->count : 1, sizeof(bool))};
    if (!selection->is_shown)
        return error_set(err, ENOMEM, "no memory to choose from %zu ops", perf->count);
    int status = top ? find_threshold(perf, top, &threshold, &equal_left, err) : 0;
    for (size_t i = 0; i < perf->count && !status; i++) {
        const struct perf_row *row = perf_at(perf, i);
        double share = weight(perf, row), time_us = perf_time_us(row);
        bool is_in = isnan(perf_total_percent(perf, row)) || share >= min_percent;
        if (top && share == threshold)
            is_in = is_in && equal_left > 0 && equal_left-- > 0;
        else if (top)
            is_in = is_in && share > threshold;
        selection->is_shown[i] = is_in;
        selection->shown_count += is_in;
        if (!is_in && row->kind != PERF_SIGNPOST) {
            selection->folded_count++;
            selection->folded_percent += share;
            selection->folded_us += isnan(time_us) ? 0 : time_us;
        }
    }
    if (status)
        perf_selection_free(selection);
    return status;
}

void perf_selection_free(struct perf_selection *selection)
{
    free(selection->is_shown);
    *selection = (struct perf_selection){0};
}

/* --- ops --- */

enum {
    OP_ID,
    OP_TOTAL,
    OP_BOUND,
    OP_NAME,
    OP_DEVICE,
    OP_SUB_DEVICE,
    OP_TIME,
    OP_GAP,
    OP_OVERLAP,
    OP_CORES,
    OP_AVAILABLE,
    OP_DRAM,
    OP_DRAM_PERCENT,
    OP_CACHE,
    OP_CACHE_PERCENT,
    OP_FLOPS,
    OP_FLOPS_PERCENT,
    OP_LINK,
    OP_LINK_PERCENT,
    OP_IDEAL,
    OP_MATH,
    OP_MODEL,
    OP_CATEGORY,
    OP_MEMORY,
    OP_CALL,
    OP_CODE,
    OP_LINE,
    OP_LOCATION,
    OP_LAYER,
    OP_BOUND_ANALYSIS,
    OP_DOUBT,
    OP_IN0_TYPE,
    OP_IN1_TYPE,
    OP_OUT_TYPE,
    OP_DRAM_SHARDED,
    OP_BLOCK_W,
    OP_SUBBLOCK_H,
    OP_SUBBLOCK_W,
    OP_RUNS,
    OP_KERNELS,
    OP_FLOP_COUNT,
    OP_DRAM_BYTES,
    OP_ADVICE,
    OP_COLUMNS
};

static const struct table_column op_columns[OP_COLUMNS] = {
    [OP_ID] = {.key = "id", .title = "id", .type = TABLE_IDENTIFIER},
    [OP_TOTAL] = {.key = "total", .title = "total", .type = TABLE_PERCENT, .decimals = 1},
    [OP_BOUND] = {.key = "bound", .title = "bound"},
    [OP_NAME] = {.key = "op", .title = "op", .shrink = 24},
    [OP_DEVICE] = {.key = "device", .title = "dev", .type = TABLE_IDENTIFIER, .drop = 6},
    [OP_SUB_DEVICE] = {.key = "sub_device", .title = "sub", .drop = 10},
    [OP_TIME] = {.key = "time_us", .title = "time us", .type = TABLE_REAL, .decimals = 1},
    [OP_GAP] = {.key = "gap_us", .title = "gap us", .type = TABLE_REAL, .decimals = 1},
    [OP_OVERLAP] =
        {.key = "overlap_us", .title = "overlap us", .type = TABLE_REAL, .decimals = 1, .drop = 11},
    [OP_CORES] = {.key = "cores", .title = "cores", .type = TABLE_REAL, .drop = 3},
    [OP_AVAILABLE] = {.key = "available_cores", .title = "of", .type = TABLE_REAL, .drop = 4},
    [OP_DRAM] = {.key = "dram_gb_s", .title = "GB/s", .type = TABLE_REAL, .decimals = 0, .drop = 7},
    [OP_DRAM_PERCENT] = {.key = "dram", .title = "DRAM", .type = TABLE_PERCENT, .decimals = 1, .drop = 1},
    [OP_CACHE] = {.key = "cache", .shown = TABLE_DATA_ONLY},
    [OP_CACHE_PERCENT] =
        {.key = "cache_share", .title = "cache", .type = TABLE_PERCENT, .decimals = 1, .drop = 1},
    [OP_FLOPS] = {.key = "tflops", .title = "TFLOPs", .type = TABLE_REAL, .decimals = 1, .drop = 8},
    [OP_FLOPS_PERCENT] = {.key = "flops", .title = "FLOPs", .type = TABLE_PERCENT, .decimals = 1, .drop = 2},
    [OP_LINK] = {.key = "link_gb_s", .type = TABLE_REAL, .shown = TABLE_DATA_ONLY},
    [OP_LINK_PERCENT] = {.key = "link", .title = "link", .type = TABLE_PERCENT, .decimals = 1, .drop = 9},
    [OP_IDEAL] = {.key = "ideal_us", .title = "ideal us", .type = TABLE_REAL, .decimals = 1, .drop = 12},
    [OP_MATH] = {.key = "math", .title = "math", .drop = 5},
    [OP_MODEL] = {.key = "model", .title = "model", .drop = 13},
    [OP_CATEGORY] = {.key = "category", .shown = TABLE_DATA_ONLY},
    [OP_MEMORY] = {.key = "input_0_memory", .shown = TABLE_DATA_ONLY},
    [OP_CALL] = {.key = "call", .title = "call", .type = TABLE_IDENTIFIER, .drop = 14},
    [OP_CODE] = {.key = "op_code", .shown = TABLE_DATA_ONLY},
    [OP_LINE] = {.key = "line", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [OP_LOCATION] = {.key = "location", .shown = TABLE_DATA_ONLY},
    [OP_LAYER] = {.key = "layer", .shown = TABLE_DATA_ONLY},
    [OP_BOUND_ANALYSIS] = {.key = "bound_analysis", .shown = TABLE_DATA_ONLY},
    [OP_DOUBT] = {.key = "doubt", .shown = TABLE_DATA_ONLY},
    [OP_IN0_TYPE] = {.key = "input_0_type", .shown = TABLE_DATA_ONLY},
    [OP_IN1_TYPE] = {.key = "input_1_type", .shown = TABLE_DATA_ONLY},
    [OP_OUT_TYPE] = {.key = "output_0_type", .shown = TABLE_DATA_ONLY},
    [OP_DRAM_SHARDED] = {.key = "dram_sharded", .shown = TABLE_DATA_ONLY},
    [OP_BLOCK_W] = {.key = "in0_block_w", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [OP_SUBBLOCK_H] = {.key = "out_subblock_h", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [OP_SUBBLOCK_W] = {.key = "out_subblock_w", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [OP_RUNS] = {.key = "runs", .title = "runs", .type = TABLE_INTEGER, .drop = 15},
    [OP_KERNELS] = {.key = "kernels", .shown = TABLE_DATA_ONLY},
    [OP_FLOP_COUNT] = {.key = "flop_count", .type = TABLE_REAL, .shown = TABLE_DATA_ONLY},
    [OP_DRAM_BYTES] = {.key = "dram_bytes", .type = TABLE_REAL, .shown = TABLE_DATA_ONLY},
    [OP_ADVICE] = {.key = "advice", .shown = TABLE_DATA_ONLY},
};

/* Rates of a CPU or a small accelerator would be 0.0 as those of a GPU are written. */
static bool is_small(const struct perf *perf)
{
    const struct machine *m = perf->machine;
    return perf->has_machine ? m->tflops_per_core[MACHINE_HIFI2] * m->worker_cores < 10 : perf_is_cpu(perf);
}

/* What a run does not have is not shown. */
static void hide_columns(const struct perf *perf, struct table *table)
{
    bool has_links = false, has_kernels = false, has_cached = false;
    for (size_t i = 0; i < perf->count && !has_cached; i++)
        has_cached = perf_at(perf, i)->cache_plus_1;
    if (!has_cached)
        table_show_column(table, OP_CACHE_PERCENT, TABLE_DATA_ONLY);
    for (size_t i = 0; i < perf->ops->run_count && !has_kernels; i++)
        has_kernels = perf->ops->runs[i].flags & OP_RUN_FURTHER;
    if (!has_kernels)
        table_show_column(table, OP_RUNS, TABLE_DATA_ONLY);
    for (size_t i = 0; i < perf->work_count && !has_links; i++)
        has_links = perf->works[i].link_bytes > 0 && perf->has_machine && perf->machine->link_gb_s > 0;
    if (!perf->has_sub_devices) {
        table_show_column(table, OP_SUB_DEVICE, TABLE_DATA_ONLY);
        table_show_column(table, OP_OVERLAP, TABLE_DATA_ONLY);
    }
    if (!perf->has_sub_devices && !perf->budgets_vary)
        table_show_column(table, OP_AVAILABLE, TABLE_DATA_ONLY);
    if (!has_links)
        table_show_column(table, OP_LINK_PERCENT, TABLE_DATA_ONLY);
    if (is_small(perf)) {
        table_set_decimals(table, OP_DRAM, 1);
        table_set_decimals(table, OP_FLOPS, 3);
    }
    if (!perf->has_machine) {
        table_show_column(table, OP_DRAM_PERCENT, TABLE_DATA_ONLY);
        table_show_column(table, OP_FLOPS_PERCENT, TABLE_DATA_ONLY);
        table_show_column(table, OP_IDEAL, TABLE_DATA_ONLY);
    }
}

/* "attention F<= B<=": what the figures of a row are made by, and how sure they are. */
static void append_model(const struct perf_work *work, const struct perf_figures *figures, struct bytes *out)
{
    const struct {
        unsigned flag;
        const char *text;
        double figure;
    } marks[] = {
        {PERF_FLOPS_AT_MOST, " F<=", figures->tflops},    {PERF_FLOPS_AT_LEAST, " F>=", figures->tflops},
        {PERF_BYTES_AT_MOST, " B<=", figures->dram_gb_s}, {PERF_BYTES_AT_LEAST, " B>=", figures->dram_gb_s},
        {PERF_LINK_ASSUMED, " L~", figures->link_gb_s},
    };
    bytes_append_text(out, perf_class_text(work->class_));
    for (size_t i = 0; i < COUNT_OF(marks); i++) {
        if ((work->model_flags & marks[i].flag) && !isnan(marks[i].figure))
            bytes_append_text(out, marks[i].text);
    }
}

/* Which rooflines a bound rests on. */
static const char *bound_analysis(const struct perf_figures *figures)
{
    bool has_bytes = !isnan(figures->dram_percent) || !isnan(figures->cache_percent);
    bool has_flops = !isnan(figures->flops_percent);
    if (!isnan(figures->link_percent))
        return "link";
    return has_bytes && has_flops ? "full" : has_flops ? "flops_only" : has_bytes ? "bytes_only" : "none";
}

static enum table_style bound_style(unsigned bound)
{
    switch (bound) {
    case PERF_BOUND_DRAM:
    case PERF_BOUND_FLOP:
    case PERF_BOUND_BOTH:
    case PERF_BOUND_LINK:
    case PERF_BOUND_L2:
    case PERF_BOUND_L3:
        return TABLE_GOOD;
    case PERF_BOUND_SLOW:
        return TABLE_WARN;
    case PERF_BOUND_HOST:
    case PERF_BOUND_GAP:
        return TABLE_BAD;
    default:
        return TABLE_NORMAL;
    }
}

static void style_row(const struct perf *perf, const struct perf_row *row, const struct perf_figures *figures,
                      struct table *table)
{
    const struct perf_work *work = perf_work_of(perf, row);
    double budget = perf_core_budget(perf, row), cores = perf_cores(perf, row);
    table_set_style(table, OP_BOUND, bound_style(row->bound));
    if (row->bound == PERF_BOUND_DRAM)
        table_set_style(table, OP_DRAM_PERCENT, TABLE_GOOD);
    if (row->bound == PERF_BOUND_L2 || row->bound == PERF_BOUND_L3)
        table_set_style(table, OP_CACHE_PERCENT, TABLE_GOOD);
    if (row->bound == PERF_BOUND_FLOP)
        table_set_style(table, OP_FLOPS_PERCENT, TABLE_GOOD);
    if (row->bound == PERF_BOUND_SLOW && !(isnan(figures->dram_percent) && isnan(figures->flops_percent)))
        table_set_style(table,
                        figures->dram_percent > figures->flops_percent ? OP_DRAM_PERCENT : OP_FLOPS_PERCENT,
                        TABLE_WARN);
    if (row->shown_gap_us > perf->machine->gap_mark_us)
        table_set_style(table, OP_GAP, TABLE_BAD);
    if (cores < perf->machine->few_cores && cores < budget / 2)
        table_set_style(table, OP_CORES, TABLE_BAD);
    else if (cores >= budget || work->is_dram_sharded)
        table_set_style(table, OP_CORES, TABLE_GOOD);
    if (work->is_matmul) {
        static const enum table_style styles[] = {TABLE_NORMAL, TABLE_GOOD, TABLE_BAD, TABLE_WARN};
        struct perf_matmul matmul = perf_matmul_of(perf, row);
        table_set_style(table, OP_MATH, styles[perf_fidelity_verdict(&matmul, NULL)]);
    }
    if (row->kind == PERF_SIGNPOST)
        table_set_style(table, OP_NAME, TABLE_BOLD);
    else if (row->kind == PERF_HOST_OP)
        table_set_style(table, OP_NAME, TABLE_BAD);
}

static void set_text(struct table *table, size_t column, const struct perf *perf, uint32_t text)
{
    if (text != OPS_NONE)
        table_set_text(table, column, perf_text(perf, text));
}

static void set_int(struct table *table, size_t column, int32_t value)
{
    if (value != PERF_NO_NUMBER)
        table_set_integer(table, column, value);
}

/* What both kinds of rows have. */
static void add_line(const struct perf *perf, const struct perf_row *row, struct table *table)
{
    const struct op_line *line = perf_line(perf, row);
    table_add_row(table);
    table_set_unsigned(table, OP_ID, row->id);
    if (line->source_line)
        table_set_unsigned(table, OP_LINE, line->source_line);
}

static void add_signpost(const struct perf *perf, const struct perf_row *row, bool is_data,
                         struct table *table)
{
    const char *name = perf_text(perf, perf->ops->signposts[perf_line(perf, row)->signpost].header);
    add_line(perf, row, table);
    if (is_data)
        table_set_text(table, OP_NAME, name);
    else
        table_set_format(table, OP_NAME, "-- %s --", name);
    table_set_text(table, OP_CODE, name);
}

static void add_kernels(const struct perf *perf, const struct perf_row *row, struct table *table,
                        struct bytes *text)
{
    const struct op_call *call = perf_call(perf, row);
    const uint32_t *runs;
    size_t count = ops_line_runs(perf->ops, perf_line(perf, row), &runs);
    bytes_clear(text);
    if (call)
        ops_append_kernels(perf->ops, call, runs, count, text);
    if (text->length)
        table_set_text_length(table, OP_KERNELS, (const char *)text->data, text->length);
}

/* Columns that only programs see. */
static void add_data(const struct perf *perf, size_t i, const struct perf_figures *figures,
                     struct table *table, struct bytes *text)
{
    const struct perf_row *row = perf_at(perf, i);
    const struct perf_work *work = perf_work_of(perf, row);
    const struct op_description *d = perf_description(perf, row);
    table_set_text(table, OP_CATEGORY, perf_category_text(perf_category(perf, row)));
    set_text(table, OP_MEMORY, perf, work->memory);
    set_text(table, OP_CODE, perf, work->name);
    set_text(table, OP_LOCATION, perf, perf_location(perf, row));
    set_text(table, OP_LAYER, perf, d->module);
    if (row->kind == PERF_DEVICE_OP)
        table_set_text(table, OP_BOUND_ANALYSIS, bound_analysis(figures));
    if (row->doubt)
        table_set_text(table, OP_DOUBT, perf_doubt_text(row->doubt));
    set_text(table, OP_IN0_TYPE, perf, work->types[0]);
    set_text(table, OP_IN1_TYPE, perf, work->types[1]);
    set_text(table, OP_OUT_TYPE, perf, work->types[2]);
    if (work->is_matmul)
        table_set_text(table, OP_DRAM_SHARDED, work->is_dram_sharded ? "yes" : "no");
    set_int(table, OP_BLOCK_W, work->block_w);
    set_int(table, OP_SUBBLOCK_H, work->subblock_h);
    set_int(table, OP_SUBBLOCK_W, work->subblock_w);
    table_set_real(table, OP_FLOP_COUNT, work->flops);
    table_set_real(table, OP_DRAM_BYTES, work->dram_bytes);
    add_kernels(perf, row, table, text);
    bytes_clear(text);
    perf_append_row_advice(perf, i, text);
    if (text->length)
        table_set_text_length(table, OP_ADVICE, (const char *)text->data, text->length);
}

/* People see a mark where a share is no verdict, and never a figure that cannot be. */
static void set_share(struct table *table, size_t column, const struct perf_row *row, double percent,
                      bool is_data)
{
    if (!is_data && percent > PERF_MOST_PERCENT)
        table_set_text(table, column, ">100 % ?");
    else if (!is_data && row->doubt && !isnan(percent))
        table_set_format(table, column, "%.1f %% ?", percent);
    else
        table_set_real(table, column, percent);
}

static void add_op(const struct perf *perf, size_t i, bool is_data, struct table *table, struct bytes *text)
{
    const struct perf_row *row = perf_at(perf, i);
    const struct perf_work *work = perf_work_of(perf, row);
    const struct op_call *call = perf_call(perf, row);
    struct perf_figures figures = perf_figures(perf, row);
    add_line(perf, row, table);
    table_set_real(table, OP_TOTAL, perf_total_percent(perf, row));
    if (row->bound != PERF_BOUND_NONE)
        table_set_text(table, OP_BOUND, perf_bound_text(row->bound));
    set_text(table, OP_NAME, perf, work->shown);
    set_int(table, OP_DEVICE, perf_device(perf, row));
    set_text(table, OP_SUB_DEVICE, perf, perf_sub_device(perf, row));
    table_set_real(table, OP_TIME, perf_time_us(row));
    table_set_real(table, OP_GAP, row->shown_gap_us);
    table_set_real(table, OP_OVERLAP, (double)row->overlap_us);
    table_set_real(table, OP_CORES, perf_cores(perf, row));
    table_set_real(table, OP_AVAILABLE, perf_available_cores(perf, row));
    table_set_real(table, OP_DRAM, figures.dram_gb_s);
    if (row->cache_plus_1)
        table_set_text(table, OP_CACHE, machine_cache_text(row->cache_plus_1 - 1u));
    table_set_real(table, OP_FLOPS, figures.tflops);
    table_set_real(table, OP_LINK, figures.link_gb_s);
    set_share(table, OP_DRAM_PERCENT, row, figures.dram_percent, is_data);
    set_share(table, OP_CACHE_PERCENT, row, figures.cache_percent, is_data);
    set_share(table, OP_FLOPS_PERCENT, row, figures.flops_percent, is_data);
    set_share(table, OP_LINK_PERCENT, row, figures.link_percent, is_data);
    table_set_real(table, OP_IDEAL, figures.ideal_us);
    set_text(table, OP_MATH, perf, work->math);
    if (row->kind == PERF_DEVICE_OP) {
        bytes_clear(text);
        append_model(work, &figures, text);
        table_set_text_length(table, OP_MODEL, (const char *)text->data, text->length);
    }
    if (call && call->number != OPS_NO_NUMBER)
        table_set_unsigned(table, OP_CALL, call->number);
    uint32_t runs = ops_sum_line(perf->ops, perf_line(perf, row)).runs;
    if (runs && !isnan(perf_time_us(row)))
        table_set_unsigned(table, OP_RUNS, runs);
    if (is_data)
        add_data(perf, i, &figures, table, text);
    else
        style_row(perf, row, &figures, table);
}

static void add_row(const struct perf *perf, size_t i, bool is_data, struct table *table, struct bytes *text)
{
    if (perf_at(perf, i)->kind == PERF_SIGNPOST)
        add_signpost(perf, perf_at(perf, i), is_data, table);
    else
        add_op(perf, i, is_data, table, text);
}

static void begin_ops_table(enum perf_table_use use, struct table *table)
{
    table_init(table, "ops", op_columns, OP_COLUMNS);
    if (use != PERF_FOR_PROGRAMS)
        table_show_column(table, OP_ADVICE, TABLE_TERMINAL_ONLY);
    if (use == PERF_FOR_PEOPLE)
        table_show_column(table, OP_ADVICE, TABLE_DATA_ONLY);
}

void perf_make_ops_table(const struct perf *perf, const struct perf_selection *selection,
                         enum perf_table_use use, struct table *table)
{
    struct bytes text = {0};
    bool is_data = use != PERF_FOR_PEOPLE;
    begin_ops_table(use, table);
    hide_columns(perf, table);
    for (size_t i = 0; i < perf->count; i++) {
        if (!selection || selection->is_shown[i])
            add_row(perf, i, is_data, table, &text);
    }
    table->failed |= text.failed;
    bytes_free(&text);
}

#define CSV_ROWS 1024u /* that are formatted at a time */

int perf_write_csv(const struct perf *perf, enum perf_table_use use, FILE *out, struct error *err)
{
    struct bytes text = {0}, scratch = {0};
    struct table table;
    begin_ops_table(use, &table);
    table_append_csv_header(&table, &text);
    for (size_t i = 0; i < perf->count && !table.failed && !text.failed; i++) {
        add_row(perf, i, true, &table, &scratch);
        if (table.row_count < CSV_ROWS && i + 1 < perf->count)
            continue;
        table_append_csv_rows(&table, &text);
        table_clear(&table);
        if (!text.failed)
            fwrite(text.data, 1, text.length, out);
        bytes_clear(&text);
    }
    if (!text.failed && text.length) /* no rows at all */
        fwrite(text.data, 1, text.length, out);
    bool failed = table.failed || text.failed || scratch.failed;
    table_free(&table);
    bytes_free(&text);
    bytes_free(&scratch);
    return failed ? error_set(err, ENOMEM, "no memory to write the table") : 0;
}

/* --- groups --- */

enum {
    GROUP_SHARE,
    GROUP_NAME,
    GROUP_DEVICE,
    GROUP_TIME,
    GROUP_GAP,
    GROUP_COUNT,
    GROUP_CATEGORY,
    GROUP_IDEAL,
    GROUP_MIN,
    GROUP_MAX,
    GROUP_MEAN,
    GROUP_STD,
    GROUP_WEIGHTED,
    GROUP_COLUMNS
};

static const struct table_column group_columns[GROUP_COLUMNS] = {
    [GROUP_SHARE] = {.key = "share", .title = "share", .type = TABLE_PERCENT, .decimals = 1},
    [GROUP_NAME] = {.key = "group", .title = "group", .shrink = 24},
    [GROUP_DEVICE] = {.key = "device", .title = "dev", .type = TABLE_IDENTIFIER},
    [GROUP_TIME] = {.key = "time_us", .title = "time us", .type = TABLE_REAL, .decimals = 1},
    [GROUP_GAP] = {.key = "gap_us", .title = "gaps us", .type = TABLE_REAL, .decimals = 1, .drop = 2},
    [GROUP_COUNT] = {.key = "ops", .title = "ops", .type = TABLE_INTEGER},
    [GROUP_CATEGORY] = {.key = "category", .title = "category", .drop = 1},
    [GROUP_IDEAL] = {.key = "ideal_us", .title = "ideal us", .type = TABLE_REAL, .decimals = 1, .drop = 3},
    [GROUP_MIN] = {.key = "flops_min", .title = "FLOPs min", .type = TABLE_PERCENT, .decimals = 1, .drop = 5},
    [GROUP_MAX] = {.key = "flops_max", .title = "max", .type = TABLE_PERCENT, .decimals = 1, .drop = 6},
    [GROUP_MEAN] = {.key = "flops_mean", .type = TABLE_PERCENT, .shown = TABLE_DATA_ONLY},
    [GROUP_STD] = {.key = "flops_std", .type = TABLE_PERCENT, .shown = TABLE_DATA_ONLY},
    [GROUP_WEIGHTED] =
        {.key = "flops_weighted", .title = "by time", .type = TABLE_PERCENT, .decimals = 1, .drop = 4},
};

void perf_make_groups_table(const struct perf *perf, uint64_t top, struct table *table)
{
    table_init(table, "groups", group_columns, GROUP_COLUMNS);
    if (!perf->options.no_merge_devices)
        table_show_column(table, GROUP_DEVICE, TABLE_DATA_ONLY);
    if (perf->options.group_by > PERF_BY_MEMORY)
        table_show_column(table, GROUP_CATEGORY, TABLE_DATA_ONLY);
    for (size_t column = GROUP_IDEAL; column < GROUP_COLUMNS && !perf->has_machine; column++)
        table_show_column(table, column, TABLE_DATA_ONLY);
    for (size_t i = 0; i < perf->groups.count && (!top || i < top); i++) {
        const struct perf_group *group = &perf->groups.items[i];
        table_add_row(table);
        table_set_real(table, GROUP_SHARE, group->percent);
        set_text(table, GROUP_NAME, perf, group->key);
        if (group->device != PERF_NO_NUMBER)
            table_set_integer(table, GROUP_DEVICE, group->device);
        table_set_real(table, GROUP_TIME, group->time_us);
        table_set_real(table, GROUP_GAP, group->gap_us);
        table_set_unsigned(table, GROUP_COUNT, group->count);
        if (perf->options.group_by <= PERF_BY_MEMORY)
            table_set_text(table, GROUP_CATEGORY, perf_category_text(group->category));
        table_set_real(table, GROUP_IDEAL, group->ideal_us > 0 ? group->ideal_us : NAN);
        table_set_real(table, GROUP_MIN, group->flops_min);
        table_set_real(table, GROUP_MAX, group->flops_max);
        table_set_real(table, GROUP_MEAN, group->flops_mean);
        table_set_real(table, GROUP_STD, group->flops_std);
        table_set_real(table, GROUP_WEIGHTED, group->flops_weighted);
    }
}

int perf_write_groups_csv(const struct perf *perf, FILE *out, struct error *err)
{
    struct bytes text = {0};
    struct table table;
    perf_make_groups_table(perf, 0, &table);
    table_append_csv(&table, &text);
    bool failed = table.failed || text.failed;
    if (!failed)
        fwrite(text.data, 1, text.length, out);
    table_free(&table);
    bytes_free(&text);
    return failed ? error_set(err, ENOMEM, "no memory to write the groups") : 0;
}

/* --- advice --- */

enum {
    ADVICE_GAIN,
    ADVICE_SAVES,
    ADVICE_PERCENT,
    ADVICE_RULE,
    ADVICE_COUNT,
    ADVICE_OP,
    ADVICE_ID,
    ADVICE_TRIGGER,
    ADVICE_ACTION,
    ADVICE_CONDITION,
    ADVICE_COLUMNS
};

static const struct table_column advice_columns[ADVICE_COLUMNS] = {
    [ADVICE_GAIN] = {.key = "gain_us", .type = TABLE_REAL, .shown = TABLE_DATA_ONLY},
    [ADVICE_SAVES] = {.key = "saves", .title = "saves", .type = TABLE_TIME, .shown = TABLE_TERMINAL_ONLY},
    [ADVICE_PERCENT] = {.key = "gain", .title = "share", .type = TABLE_PERCENT, .decimals = 1},
    [ADVICE_RULE] = {.key = "rule", .title = "rule"},
    [ADVICE_COUNT] = {.key = "ops", .title = "ops", .type = TABLE_INTEGER},
    [ADVICE_OP] = {.key = "op", .title = "op", .shrink = 20},
    [ADVICE_ID] = {.key = "id", .title = "costliest id", .type = TABLE_IDENTIFIER, .drop = 1},
    [ADVICE_TRIGGER] = {.key = "because", .title = "because", .shrink = 24},
    [ADVICE_ACTION] = {.key = "do", .title = "do", .shrink = 24},
    [ADVICE_CONDITION] = {.key = "condition", .shown = TABLE_DATA_ONLY},
};

void perf_make_advice_table(const struct perf *perf, uint64_t top, struct table *table)
{
    struct bytes text = {0};
    table_init(table, "advice", advice_columns, ADVICE_COLUMNS);
    for (size_t i = 0; i < perf->advice_count && (!top || i < top); i++) {
        const struct perf_advice *advice = &perf->advice[i];
        table_add_row(table);
        table_set_real(table, ADVICE_GAIN, advice->gain_us);
        table_set_real(table, ADVICE_SAVES, advice->gain_us * 1000);
        table_set_real(table, ADVICE_PERCENT, advice->gain_percent);
        table_set_text(table, ADVICE_RULE, perf_rules[advice->rule].name);
        table_set_unsigned(table, ADVICE_COUNT, advice->count);
        set_text(table, ADVICE_OP, perf, advice->shown);
        table_set_unsigned(table, ADVICE_ID, perf_at(perf, advice->row)->id);
        bytes_clear(&text);
        perf_append_evidence(perf, advice, true, &text);
        table_set_text_length(table, ADVICE_TRIGGER, (const char *)text.data, text.length);
        bytes_clear(&text);
        perf_append_action(perf, advice, &text);
        table_set_text_length(table, ADVICE_ACTION, (const char *)text.data, text.length);
        table_set_text(table, ADVICE_CONDITION, perf_rules[advice->rule].condition);
    }
    table->failed |= text.failed;
    bytes_free(&text);
}
