/* SPDX-License-Identifier: Apache-2.0 */
/* The default report's op table as CSV. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "present/report/number.h"
#include "present/report/table.h"
#include "present/report/words.h"
#include "text/csv_write.h"

#define FLUSH_BYTES 65536u

static void append_text(struct bytes *out, const char *text)
{
    bytes_append_u8(out, ',');
    csv_append_text(out, text, strlen(text));
}

static void append_real(struct bytes *out, double value)
{
    bytes_append_u8(out, ',');
    if (!isnan(value))
        python_append_float(out, value);
}

/* Whole numbers without a point. */
static void append_count(struct bytes *out, double value)
{
    bytes_append_u8(out, ',');
    if (!isnan(value) && value != PERF_NO_NUMBER)
        bytes_append_format(out, "%.0f", value);
}

static void append_row(const struct perf *perf, const struct perf_row *row, struct bytes *out)
{
    bytes_append_format(out, "%llu", (unsigned long long)row->id);
    append_real(out, row->total_percent);
    bytes_append_format(out, ",%s", perf_bound_text(row->bound));
    append_text(out, perf_text(perf, row->shown));
    append_count(out, row->device);
    append_real(out, row->time_us);
    append_real(out, row->shown_gap_us);
    append_count(out, row->cores);
    append_real(out, row->dram_gb_s);
    append_real(out, row->dram_percent);
    append_real(out, row->tflops);
    append_real(out, row->flops_percent);
    append_text(out, perf_text(perf, row->fidelity_text));
    append_text(out, perf_text(perf, row->types[2]));
    append_text(out, perf_text(perf, row->types[0]));
    append_text(out, perf_text(perf, row->types[1]));
    bytes_append_format(out, ",%s", row->is_dram_sharded ? "True" : "False");
    append_text(out, perf_text(perf, row->in0_memory));
    append_count(out, row->block_w);
    append_count(out, row->subblock_h);
    append_count(out, row->subblock_w);
    append_count(out, row->call);
    append_text(out, perf_text(perf, row->sub_device));
    append_count(out, row->available_cores);
    bytes_append_format(out, ",%s,%s", row->kind == PERF_SIGNPOST ? "" : perf_category_text(row->category),
                        row->kind == PERF_DEVICE_OP ? perf_bound_analysis(row) : "none");
    append_real(out, row->overlap_us);
    append_real(out, row->link_gb_s);
    append_real(out, row->link_percent);
    append_real(out, row->ideal_us);
    struct bytes model = {0};
    if (row->kind == PERF_DEVICE_OP)
        perf_append_model(row, &model);
    append_text(out, bytes_text(&model));
    bytes_free(&model);
}

static void append_advice(const struct perf *perf, size_t i, struct bytes *out)
{
    struct bytes text = {0};
    perf_append_row_advice(perf, i, &text);
    append_text(out, bytes_text(&text));
    bytes_free(&text);
}

int perf_write_csv(const struct perf *perf, bool has_advice, bool has_raw_op_codes, FILE *out,
                   struct error *err)
{
    struct bytes text = {0};
    bytes_append_text(
        &text,
        "ID,Total %,Bound,OP Code,Device,Device Time,Op-to-Op Gap,Cores,DRAM,DRAM %,FLOPs,FLOPs %,Math "
        "Fidelity,Output Datatype,Input 0 Datatype,Input 1 Datatype,DRAM Sharded,Input 0 Memory,Inner Dim "
        "Block Size,Output Subblock H,Output Subblock W,Global Call Count,Sub Device ID,Available Cores,Op "
        "Category,Bound Analysis,Overlap,Link,Link %,Ideal Time,Model");
    bytes_append_text(&text, has_advice ? ",Advice" : "");
    bytes_append_text(&text, has_raw_op_codes ? ",Raw OP Code\r\n" : "\r\n");
    for (size_t i = 0; i < perf->count; i++) {
        const struct perf_row *row = perf_at(perf, i);
        append_row(perf, row, &text);
        if (has_advice)
            append_advice(perf, i, &text);
        if (has_raw_op_codes)
            append_text(&text, perf_text(perf, row->op_code));
        bytes_append_text(&text, "\r\n");
        if (text.length > FLUSH_BYTES) {
            fwrite(text.data, 1, text.length, out);
            bytes_clear(&text);
        }
    }
    bool failed = text.failed;
    if (!failed && text.length)
        fwrite(text.data, 1, text.length, out);
    bytes_free(&text);
    return failed ? error_set(err, ENOMEM, "no memory to write the table") : 0;
}
