/* SPDX-License-Identifier: Apache-2.0 */
/* The op table as CSV, and the stacked report as text and CSV, in the original's layout. */
#include "compat/tt_perf_report/ttpr.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "present/report/number.h"
#include "text/utf8.h"
#include "text/csv/writer.h"

#define FLUSH_BYTES 65536u

static void append_number(struct bytes *out, double value)
{
    bytes_append_text(out, ",");
    if (!isnan(value))
        python_append_float(out, value);
}

static void append_whole(struct bytes *out, int32_t value)
{
    bytes_append_text(out, ",");
    if (value != PERF_NO_NUMBER)
        bytes_append_format(out, "%d", value);
}

static void append_type(struct bytes *out, const struct ttpr *perf, uint32_t type)
{
    bytes_append_text(out, ",");
    csv_append_exact_text(out, type == TTPR_NO_TEXT ? "nan" : ttpr_text(perf, type));
}

/* A cell that a spreadsheet would take for a formula: 1.4.1 marks it as text. */
static void append_text(struct bytes *out, const struct ttpr *perf, const char *text)
{
    struct bytes safe = {0};
    if (!ttpr_is_1_4(perf) || !*text || !strchr("=+-@\t\r", *text)) {
        csv_append_exact_text(out, text);
        return;
    }
    bytes_append_text(&safe, "'");
    bytes_append_text(&safe, text);
    csv_append_exact_text(out, bytes_text(&safe));
    out->failed |= safe.failed;
    bytes_free(&safe);
}

/* Figures that divide by a missing duration or core count are there, and are not a number. */
static void append_figure(struct bytes *out, const struct ttpr *perf, const struct ttpr_row *row,
                          double value, bool is_computed)
{
    if (!ttpr_is_1_4(perf) && is_computed && isnan(value) && (row->is_matmul || row->is_conv))
        bytes_append_text(out, ",nan");
    else
        append_number(out, value);
}

static void append_call(struct bytes *out, const struct ttpr *perf, const struct ttpr_row *row)
{
    bytes_append_text(out, ",");
    if (row->call_text != TTPR_NO_TEXT)
        append_text(out, perf, ttpr_text(perf, row->call_text));
    else if (isnan(row->call) || perf->call_is_float)
        python_append_float(out, row->call);
    else
        bytes_append_format(out, "%.0f", row->call);
}

static void append_cores(struct bytes *out, const struct ttpr *perf, const struct ttpr_row *row)
{
    bool is_raw = row->is_matmul && !row->is_dram_sharded && !ttpr_is_1_4(perf);
    bytes_append_text(out, ",");
    if (isnan(row->cores))
        bytes_append_text(out, is_raw ? "nan" : "");
    else if (is_raw && perf->cores_is_float)
        python_append_float(out, row->cores);
    else
        bytes_append_format(out, "%.0f", trunc(row->cores));
}

static void append_advice(struct bytes *out, const struct ttpr *perf, const struct ttpr_row *row)
{
    struct perf_matmul_advice advice;
    struct bytes text = {0};
    struct perf_matmul matmul = ttpr_matmul_of(perf, row);
    advice.count = 0;
    if (row->is_matmul)
        perf_advise_matmul(&matmul, &advice);
    if (row->lacks_active)
        bytes_append_text(&text, TTPR_LACKS_ACTIVE);
    for (size_t i = 0; i < advice.count; i++)
        bytes_append_format(&text, "%s%s", i ? " \xe2\x80\xa2 " : "", advice.texts[i]);
    bytes_append_u8(&text, 0);
    bytes_append_text(out, ",");
    if (!text.failed)
        append_text(out, perf, (const char *)text.data);
    bytes_free(&text);
}

static void append_columns_1_4(struct bytes *out, const struct ttpr *perf, const struct ttpr_row *row)
{
    const char *sub_device = ttpr_text(perf, row->sub_device);
    int64_t number;
    bytes_append_text(out, ",");
    if (cell_int64(slice_of(sub_device), &number)) /* no formula, though it may begin with a sign */
        bytes_append_text(out, sub_device);
    else
        append_text(out, perf, sub_device);
    bytes_append_format(out, ",%.0f,%s,%s", row->available_cores,
                        row->kind == TTPR_SIGNPOST ? "" : perf_category_text(row->category),
                        row->is_matmul ? "full"
                        : row->is_conv ? "flops_only"
                                       : "none");
}

static void append_row(struct bytes *out, const struct ttpr *perf, const struct ttpr_row *row,
                       struct bytes *name)
{
    bool has_dram = row->is_matmul && row->has_shape && row->dram_bytes != 0;
    bool has_flops = (row->is_matmul || row->is_conv) && row->has_shape &&
                     row->fidelity != PERF_FIDELITY_UNKNOWN && row->fidelity != PERF_HIFI3;
    bytes_clear(name);
    bytes_append_text(name, ttpr_text(perf, row->shown));
    if (row->kind == TTPR_SIGNPOST)
        bytes_append_text(name, " (signpost)");
    bytes_append_u8(name, 0);
    bytes_append_format(out, "%" PRIu64, row->id);
    append_number(out, row->total_percent);
    bytes_append_format(out, ",%s,", perf_bound_text(row->bound));
    append_text(out, perf, name->failed ? "" : (const char *)name->data);
    append_whole(out, row->device);
    if (row->is_duration_missing && row->kind == TTPR_DEVICE_OP && !ttpr_is_1_4(perf))
        bytes_append_text(out, ",0");
    else
        append_number(out, row->time_us);
    append_number(out, row->shown_gap_us);
    append_cores(out, perf, row);
    append_figure(out, perf, row, row->dram_gb_s, has_dram);
    append_figure(out, perf, row, row->dram_percent, has_dram);
    append_figure(out, perf, row, row->tflops, has_flops);
    append_figure(out, perf, row, row->flops_percent, has_flops);
    bytes_append_text(out, ",");
    append_text(out, perf, ttpr_text(perf, row->fidelity_text));
    append_type(out, perf, row->types[2]);
    append_type(out, perf, row->types[0]);
    append_type(out, perf, row->types[1]);
    bytes_append_format(out, ",%s,", row->is_dram_sharded ? "True" : "False");
    append_text(out, perf, ttpr_text(perf, row->in0_memory));
    append_whole(out, row->block_w);
    append_whole(out, row->subblock_h);
    append_whole(out, row->subblock_w);
    append_call(out, perf, row);
    if (ttpr_is_1_4(perf))
        append_columns_1_4(out, perf, row);
}

static int flush(struct bytes *text, FILE *out, size_t limit, struct error *err)
{
    if (text->failed)
        return error_set(err, ENOMEM, "no memory to write the table");
    if (text->length > limit) {
        fwrite(text->data, 1, text->length, out);
        bytes_clear(text);
    }
    return 0;
}

int ttpr_write_csv(const struct ttpr *perf, FILE *out, struct error *err)
{
    struct bytes text = {0}, name = {0};
    int status = 0;
    bytes_append_text(
        &text,
        "ID,Total %,Bound,OP Code,Device,Device Time,Op-to-Op Gap,Cores,DRAM,DRAM %,FLOPs,FLOPs %,Math "
        "Fidelity,Output Datatype,Input 0 Datatype,Input 1 Datatype,DRAM Sharded,Input 0 Memory,Inner Dim "
        "Block Size,Output Subblock H,Output Subblock W,Global Call Count");
    bytes_append_text(&text,
                      ttpr_is_1_4(perf) ? ",Sub Device ID,Available Cores,Op Category,Bound Analysis" : "");
    bytes_append_text(&text, perf->request->has_advice ? ",Advice" : "");
    bytes_append_text(&text, perf->request->has_raw_op_codes ? ",Raw OP Code\r\n" : "\r\n");
    for (size_t i = 0; i < perf->count && !status; i++) {
        const struct ttpr_row *row = ttpr_at(perf, i);
        append_row(&text, perf, row, &name);
        if (perf->request->has_advice)
            append_advice(&text, perf, row);
        if (perf->request->has_raw_op_codes) {
            bytes_append_text(&text, ",");
            append_text(&text, perf, ttpr_text(perf, row->op_code));
        }
        bytes_append_text(&text, "\r\n");
        status = flush(&text, out, FLUSH_BYTES, err);
    }
    if (!status)
        status = flush(&text, out, 0, err);
    bytes_free(&text);
    bytes_free(&name);
    return status;
}

/* --- groups --- */

#define GROUP_COLUMNS 11u
enum { GROUP_OP = 1, GROUP_DEVICE = 2, GROUP_CATEGORY = 5 };

static const char *const group_titles[GROUP_COLUMNS] = {
    "Total %",   "Op Code",    "Device",    "Device Time Sum",     "Op Count", "Op Category", "Min FLOPs",
    "Max FLOPs", "Mean FLOPs", "Std FLOPs", "Weighted Mean FLOPs",
};

/* Which columns a grouping has. */
static bool has_column(const struct ttpr *perf, unsigned column)
{
    if (column == GROUP_DEVICE)
        return perf->request->no_merge_devices;
    return column < GROUP_CATEGORY || perf->request->group_by != TTPR_BY_CATEGORY;
}

struct group_text {
    char cells[GROUP_COLUMNS][40];
    const char *key;
    const struct perf_group *group;
    size_t index;
};

static void set_amount(char *cell, size_t size, double value, const char *unit)
{
    struct bytes text = {0};
    if (isnan(value))
        return;
    perf_append_grouped(&text, value, 2);
    bytes_append_u8(&text, 0);
    if (!text.failed)
        snprintf(cell, size, "%.30s %s", (const char *)text.data, unit);
    bytes_free(&text);
}

static void fill_group(const struct ttpr *perf, const struct perf_group *group, struct group_text *text)
{
    *text = (struct group_text){.key = ttpr_text(perf, group->key), .group = group};
    const double flops[] = {group->flops_min, group->flops_max, group->flops_mean, group->flops_std,
                            group->flops_weighted};
    set_amount(text->cells[0], sizeof text->cells[0], group->percent, "%");
    if (group->device != PERF_NO_NUMBER)
        snprintf(text->cells[2], sizeof text->cells[2], "%d", group->device);
    set_amount(text->cells[3], sizeof text->cells[3], group->time_us, "\xce\xbcs");
    snprintf(text->cells[4], sizeof text->cells[4], "%" PRIu64, group->count);
    snprintf(text->cells[5], sizeof text->cells[5], "%s", perf_category_text(group->category));
    for (unsigned i = 0; i < 5; i++)
        set_amount(text->cells[6 + i], sizeof text->cells[0], flops[i], "%");
}

/* The original sorts the formatted percentages, as texts. */
static int compare_by_device(const void *a, const void *b)
{
    const struct group_text *left = a, *right = b;
    if (left->group->device != right->group->device)
        return left->group->device < right->group->device ? -1 : 1;
    int order = strcmp(right->cells[0], left->cells[0]);
    return order ? order : left->index < right->index ? -1 : left->index > right->index;
}

static size_t text_width(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

static const char *group_cell(const struct group_text *text, unsigned column)
{
    return column == GROUP_OP ? text->key : text->cells[column];
}

static void append_group_line(struct bytes *out, const struct ttpr *perf, const size_t *widths,
                              const struct group_text *text)
{
    for (unsigned i = 0; i < GROUP_COLUMNS; i++) {
        if (!has_column(perf, i))
            continue;
        const char *cell = text ? group_cell(text, i) : group_titles[i];
        size_t blanks = widths[i] - text_width(cell);
        if (i > 0)
            bytes_append_text(out, "  ");
        for (size_t k = 0; k < blanks && i != GROUP_OP; k++)
            bytes_append_u8(out, ' ');
        utf8_append_visible(out, cell, strlen(cell));
        for (size_t k = 0; k < blanks && i == GROUP_OP; k++)
            bytes_append_u8(out, ' ');
    }
    bytes_append_u8(out, '\n');
}

int ttpr_write_groups(const struct ttpr *perf, FILE *out, struct error *err)
{
    struct bytes text = {0};
    size_t widths[GROUP_COLUMNS], rule = 0;
    size_t count = perf->groups.count;
    struct group_text *texts = calloc(count ? count : 1, sizeof *texts);
    if (!texts)
        return error_set(err, ENOMEM, "no memory for %zu groups", count);
    for (unsigned i = 0; i < GROUP_COLUMNS; i++)
        widths[i] = strlen(group_titles[i]);
    for (size_t i = 0; i < count; i++) {
        fill_group(perf, &perf->groups.items[i], &texts[i]);
        texts[i].index = i;
        for (unsigned k = 0; k < GROUP_COLUMNS; k++) {
            size_t width = text_width(group_cell(&texts[i], k));
            widths[k] = width > widths[k] ? width : widths[k];
        }
    }
    if (perf->request->no_merge_devices)
        qsort(texts, count, sizeof *texts, compare_by_device);
    for (unsigned i = 0; i < GROUP_COLUMNS; i++)
        rule += has_column(perf, i) ? widths[i] + (i > 0 ? 2 : 0) : 0;
    bytes_append_text(&text, "\n\xf0\x9f\x93\x8a Stacked report \xf0\x9f\x93\x8a\n====================\n\n");
    append_group_line(&text, perf, widths, NULL);
    for (unsigned pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < rule; i++)
            bytes_append_u8(&text, '-');
        bytes_append_u8(&text, '\n');
        for (size_t i = 0; i < count && pass == 0; i++)
            append_group_line(&text, perf, widths, &texts[i]);
    }
    int status = flush(&text, out, 0, err);
    bytes_free(&text);
    free(texts);
    return status;
}

static void append_two_decimals(struct bytes *out, double value)
{
    bytes_append_text(out, ",");
    if (!isnan(value))
        bytes_append_format(out, "%.2f", value);
}

/* Where only host ops are left, the original adds up whole noughts. */
static bool has_host_ops_alone(const struct ttpr *perf)
{
    for (size_t i = 0; i < perf->groups.count; i++) {
        if (!ttpr_is_1_4(perf) || perf->groups.items[i].category != PERF_HOST)
            return false;
    }
    return true;
}

int ttpr_write_groups_csv(const struct ttpr *perf, FILE *out, struct error *err)
{
    static const char *const units[GROUP_COLUMNS] = {" [%]", "",     "",     " [\xce\xbcs]", "",    "",
                                                     " [%]", " [%]", " [%]", " [%]",         " [%]"};
    struct bytes text = {0};
    bool is_nought = has_host_ops_alone(perf);
    for (unsigned i = 0; i < GROUP_COLUMNS; i++) {
        if (has_column(perf, i))
            bytes_append_format(&text, "%s%s%s", i ? "," : "", group_titles[i], units[i]);
    }
    bytes_append_u8(&text, '\n');
    for (size_t i = 0; i < perf->groups.count; i++) {
        const struct perf_group *group = &perf->groups.items[i];
        if (is_nought)
            bytes_append_text(&text, "0,");
        else
            bytes_append_format(&text, "%.2f,", group->percent);
        append_text(&text, perf, ttpr_text(perf, group->key));
        if (has_column(perf, GROUP_DEVICE))
            append_whole(&text, group->device);
        if (is_nought)
            bytes_append_format(&text, ",0,%" PRIu64, group->count);
        else
            bytes_append_format(&text, ",%.2f,%" PRIu64, group->time_us, group->count);
        if (has_column(perf, GROUP_CATEGORY)) {
            bytes_append_format(&text, ",%s", perf_category_text(group->category));
            append_two_decimals(&text, group->flops_min);
            append_two_decimals(&text, group->flops_max);
            append_two_decimals(&text, group->flops_mean);
            append_two_decimals(&text, group->flops_std);
            append_two_decimals(&text, group->flops_weighted);
        }
        bytes_append_u8(&text, '\n');
    }
    int status = flush(&text, out, 0, err);
    bytes_free(&text);
    return status;
}
