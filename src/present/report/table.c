/* SPDX-License-Identifier: Apache-2.0 */
#include "present/report/table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report/advice.h"
#include "present/report/words.h"

/* --- which rows --- */

static double weight(const struct perf_row *row)
{
    return isnan(row->total_percent) ? 0 : row->total_percent;
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
        weights[i] = weight(perf_at(perf, i));
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
        double share = weight(row);
        bool is_in = isnan(row->total_percent) || share >= min_percent;
        if (top && share == threshold)
            is_in = is_in && equal_left > 0 && equal_left-- > 0;
        else if (top)
            is_in = is_in && share > threshold;
        selection->is_shown[i] = is_in;
        selection->shown_count += is_in;
        if (!is_in && row->kind != PERF_SIGNPOST) {
            selection->folded_count++;
            selection->folded_percent += share;
            selection->folded_us += isnan(row->time_us) ? 0 : row->time_us;
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
};

/* What a run does not have is not shown. */
static void hide_columns(const struct perf *perf, struct table *table)
{
    bool has_links = false;
    for (size_t i = 0; i < perf->count && !has_links; i++)
        has_links = !isnan(perf_at(perf, i)->link_percent);
    if (!perf->has_sub_devices) {
        table_show_column(table, OP_SUB_DEVICE, TABLE_DATA_ONLY);
        table_show_column(table, OP_OVERLAP, TABLE_DATA_ONLY);
    }
    if (!perf->has_sub_devices && !perf->budgets_vary)
        table_show_column(table, OP_AVAILABLE, TABLE_DATA_ONLY);
    if (!has_links)
        table_show_column(table, OP_LINK_PERCENT, TABLE_DATA_ONLY);
    if (!perf->has_machine) {
        table_show_column(table, OP_DRAM_PERCENT, TABLE_DATA_ONLY);
        table_show_column(table, OP_FLOPS_PERCENT, TABLE_DATA_ONLY);
        table_show_column(table, OP_IDEAL, TABLE_DATA_ONLY);
    }
}

void perf_append_model(const struct perf_row *row, struct bytes *out)
{
    static const struct {
        unsigned flag;
        const char *text;
    } marks[] = {
        {PERF_FLOPS_AT_MOST, " F<="},  {PERF_FLOPS_AT_LEAST, " F>="}, {PERF_BYTES_AT_MOST, " B<="},
        {PERF_BYTES_AT_LEAST, " B>="}, {PERF_LINK_ASSUMED, " L~"},
    };
    bytes_append_text(out, perf_class_text(row->class_));
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        bool has_figure = i < 2   ? !isnan(row->tflops)
                          : i < 4 ? !isnan(row->dram_gb_s)
                                  : !isnan(row->link_gb_s);
        if ((row->model_flags & marks[i].flag) && has_figure)
            bytes_append_text(out, marks[i].text);
    }
}

const char *perf_bound_analysis(const struct perf_row *row)
{
    bool has_bytes = !isnan(row->dram_percent), has_flops = !isnan(row->flops_percent);
    if (!isnan(row->link_percent))
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

static void style_row(const struct perf *perf, const struct perf_row *row, struct table *table)
{
    const struct machine *machine = perf->machine;
    double budget = row->available_cores > 0 ? row->available_cores : perf->worker_cores;
    table_set_style(table, OP_BOUND, bound_style(row->bound));
    if (row->bound == PERF_BOUND_DRAM)
        table_set_style(table, OP_DRAM_PERCENT, TABLE_GOOD);
    if (row->bound == PERF_BOUND_FLOP)
        table_set_style(table, OP_FLOPS_PERCENT, TABLE_GOOD);
    if (row->bound == PERF_BOUND_SLOW && !(isnan(row->dram_percent) && isnan(row->flops_percent)))
        table_set_style(table, row->dram_percent > row->flops_percent ? OP_DRAM_PERCENT : OP_FLOPS_PERCENT,
                        TABLE_WARN);
    if (row->shown_gap_us > machine->gap_mark_us)
        table_set_style(table, OP_GAP, TABLE_BAD);
    if (row->cores < machine->few_cores && row->cores < budget / 2)
        table_set_style(table, OP_CORES, TABLE_BAD);
    else if (row->cores >= budget || row->is_dram_sharded)
        table_set_style(table, OP_CORES, TABLE_GOOD);
    if (row->is_matmul) {
        static const enum table_style styles[] = {TABLE_NORMAL, TABLE_GOOD, TABLE_BAD, TABLE_WARN};
        table_set_style(table, OP_MATH, styles[perf_fidelity_verdict(perf, row, NULL)]);
    }
    if (row->kind == PERF_SIGNPOST)
        table_set_style(table, OP_NAME, TABLE_BOLD);
    else if (row->kind == PERF_HOST_OP)
        table_set_style(table, OP_NAME, TABLE_BAD);
}

static void set_text(struct table *table, size_t column, const struct perf *perf, uint32_t text)
{
    if (text != PERF_NO_TEXT)
        table_set_text(table, column, perf_text(perf, text));
}

static void add_op(const struct perf *perf, const struct perf_row *row, struct table *table,
                   struct bytes *text)
{
    table_add_row(table);
    table_set_unsigned(table, OP_ID, row->id);
    table_set_real(table, OP_TOTAL, row->total_percent);
    if (row->bound != PERF_BOUND_NONE)
        table_set_text(table, OP_BOUND, perf_bound_text(row->bound));
    if (row->kind == PERF_SIGNPOST)
        table_set_format(table, OP_NAME, "-- %s --", perf_text(perf, row->shown));
    else
        set_text(table, OP_NAME, perf, row->shown);
    if (row->device != PERF_NO_NUMBER)
        table_set_integer(table, OP_DEVICE, row->device);
    set_text(table, OP_SUB_DEVICE, perf, row->sub_device);
    table_set_real(table, OP_TIME, row->time_us);
    table_set_real(table, OP_GAP, row->shown_gap_us);
    table_set_real(table, OP_OVERLAP, row->overlap_us);
    table_set_real(table, OP_CORES, row->cores);
    table_set_real(table, OP_AVAILABLE, row->available_cores);
    table_set_real(table, OP_DRAM, row->dram_gb_s);
    table_set_real(table, OP_DRAM_PERCENT, row->dram_percent);
    table_set_real(table, OP_FLOPS, row->tflops);
    table_set_real(table, OP_FLOPS_PERCENT, row->flops_percent);
    table_set_real(table, OP_LINK, row->link_gb_s);
    table_set_real(table, OP_LINK_PERCENT, row->link_percent);
    table_set_real(table, OP_IDEAL, row->ideal_us);
    set_text(table, OP_MATH, perf, row->fidelity_text);
    if (row->kind == PERF_DEVICE_OP) {
        bytes_clear(text);
        perf_append_model(row, text);
        table_set_text_length(table, OP_MODEL, (const char *)text->data, text->length);
    }
    if (row->kind != PERF_SIGNPOST)
        table_set_text(table, OP_CATEGORY, perf_category_text(row->category));
    set_text(table, OP_MEMORY, perf, row->in0_memory);
    if (row->call >= 0 && row->call < 1e18)
        table_set_unsigned(table, OP_CALL, (uint64_t)row->call);
    set_text(table, OP_CODE, perf, row->op_code);
    if (row->line)
        table_set_unsigned(table, OP_LINE, row->line);
    set_text(table, OP_LOCATION, perf, row->location);
    set_text(table, OP_LAYER, perf, row->layer);
    style_row(perf, row, table);
}

void perf_make_ops_table(const struct perf *perf, const struct perf_selection *selection, struct table *table)
{
    struct bytes text = {0};
    table_init(table, "ops", op_columns, OP_COLUMNS);
    hide_columns(perf, table);
    for (size_t i = 0; i < perf->count; i++) {
        if (!selection || selection->is_shown[i])
            add_op(perf, perf_at(perf, i), table, &text);
    }
    table->failed |= text.failed;
    bytes_free(&text);
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
    for (size_t i = 0; i < perf->group_count && (!top || i < top); i++) {
        const struct perf_group *group = &perf->groups[i];
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
        perf_append_evidence(perf, advice, &text);
        table_set_text_length(table, ADVICE_TRIGGER, (const char *)text.data, text.length);
        bytes_clear(&text);
        perf_append_action(perf, advice, &text);
        table_set_text_length(table, ADVICE_ACTION, (const char *)text.data, text.length);
        table_set_text(table, ADVICE_CONDITION, perf_rules[advice->rule].condition);
    }
    table->failed |= text.failed;
    bytes_free(&text);
}

/* --- what the host did in the gaps --- */

enum { ZONE_NAME, ZONE_THREAD, ZONE_COVERED, ZONE_PERCENT, ZONE_COLUMNS };

static const struct table_column zone_columns[ZONE_COLUMNS] = {
    [ZONE_NAME] = {.key = "zone", .title = "host zone", .shrink = 24},
    [ZONE_THREAD] = {.key = "thread", .title = "thread"},
    [ZONE_COVERED] = {.key = "covered_us", .title = "time us", .type = TABLE_REAL, .decimals = 1},
    [ZONE_PERCENT] = {.key = "percent", .title = "of the gaps", .type = TABLE_PERCENT, .decimals = 1},
};

void perf_make_host_zones_table(const struct perf *perf, uint64_t top, struct table *table)
{
    table_init(table, "host_zones", zone_columns, ZONE_COLUMNS);
    for (size_t i = 0; i < perf->host_zone_count && (!top || i < top); i++) {
        const struct perf_host_zone *zone = &perf->host_zones[i];
        table_add_row(table);
        set_text(table, ZONE_NAME, perf, zone->name);
        set_text(table, ZONE_THREAD, perf, zone->thread);
        table_set_real(table, ZONE_COVERED, zone->covered_us);
        table_set_real(table, ZONE_PERCENT, zone->percent);
    }
}
