/* SPDX-License-Identifier: Apache-2.0 */
/* Work and figures by the rules of tt-perf-report 1.2.4: matmul and conv alone, constants per architecture, sums
 * from first to last row. The order of the operations on doubles is that of the original, because its CSV shows
 * all digits. */
#include "analyze/report/internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct architecture {
    const char *name;
    double worker_cores, dram_gb_s;
    double tflops[PERF_FIDELITY_UNKNOWN]; /* per core; 0: that version does not know it */
};

static const struct architecture architectures[] = {
    {"wormhole", 64, 288, {[PERF_HIFI4] = 74.0 / 72, [PERF_HIFI2] = 148.0 / 72, [PERF_LOFI] = 262.0 / 72}},
    {"blackhole",
     130,
     512,
     {[PERF_HIFI4] = 4096 * 1.35 / 1000 / 4,
      [PERF_HIFI2] = 4096 * 1.35 / 1000 / 2,
      [PERF_LOFI] = 4096 * 1.35 / 1000}},
    {"bh20",
     20,
     512,
     {[PERF_HIFI4] = 4096 * 1.35 / 1000 / 4,
      [PERF_HIFI2] = 4096 * 1.35 / 1000 / 2,
      [PERF_LOFI] = 4096 * 1.35 / 1000}},
    {"n1",
     20,
     120,
     {[PERF_HIFI4] = 4096 * 0.65 / 1000 / 4,
      [PERF_HIFI2] = 4096 * 0.65 / 1000 / 2,
      [PERF_LOFI] = 4096 * 0.65 / 1000}},
};

static bool same_name(const char *a, const char *b, size_t length)
{
    return strlen(a) == length && strncasecmp(a, b, length) == 0;
}

static const struct architecture *find_architecture(const char *name)
{
    size_t length = strlen(name);
    if (same_name("wormhole_b0", name, length))
        return &architectures[0];
    for (size_t i = 0; i < sizeof architectures / sizeof architectures[0]; i++) {
        if (same_name(architectures[i].name, name, length))
            return &architectures[i];
    }
    return NULL;
}

/* --- while the cells are there --- */

/* The exact product of whole numbers, rounded once. */
static double product(const double *factors, size_t count)
{
    __uint128_t exact = 1;
    double rounded = 1;
    bool is_exact = true;
    for (size_t i = 0; i < count; i++) {
        double factor = factors[i];
        rounded *= factor;
        if (!(factor >= 0 && factor < 1.8e19) ||
            (factor > 0 && exact > ((__uint128_t)0 - 1) / (__uint128_t)factor))
            is_exact = false;
        else
            exact *= (__uint128_t)factor;
    }
    return is_exact ? (double)exact : rounded;
}

static double dram_bytes(const struct perf_tensor *tensor)
{
    if (!slice_has(tensor->memory, "DRAM"))
        return 0;
    return product((const double[]){tensor->w, tensor->y, tensor->z, tensor->x}, 4) *
           cell_type_bytes(tensor->type);
}

static void take_matmul(struct perf *perf, struct perf_row *row, const struct perf_source *source)
{
    const struct perf_tensor *in0 = &source->tensors[PERF_IN(0)], *in1 = &source->tensors[PERF_IN(1)],
                             *out = &source->tensors[PERF_OUT(0)];
    struct bytes *text = &perf->scratch;
    row->is_matmul = true;
    perf_take_program_config(row, source->attributes);
    row->is_dram_sharded =
        slice_has(source->attributes, "MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig");
    row->fidelity_text = perf_matmul_types_text(perf, row, source);
    row->has_shape = in0->has_shape && in1->has_shape && out->has_shape && in0->type.length &&
                     in1->type.length && out->type.length && in0->memory.length && in1->memory.length &&
                     out->memory.length;
    if (!row->has_shape)
        return;
    double w = fmax(in0->w, in1->w), z = fmax(in0->z, in1->z);
    row->dram_bytes = dram_bytes(in0) + dram_bytes(in1) + dram_bytes(out);
    row->flops = product((const double[]){in0->y, in0->x, in1->x, w, z, 2}, 6);
    bytes_clear(text);
    bytes_append(text, source->op_code.data, source->op_code.length);
    if (w * z > 1)
        bytes_append_format(text, " b={%.0f} x %.0f x %.0f x %.0f", w * z, in0->y, in0->x, in1->x);
    else
        bytes_append_format(text, " %.0f x %.0f x %.0f", in0->y, in0->x, in1->x);
    row->shown = perf_intern(perf, text->data, text->length);
}

static void take_conv(struct perf *perf, struct perf_row *row, const struct perf_source *source)
{
    const struct perf_tensor *in0 = &source->tensors[PERF_IN(0)], *in1 = &source->tensors[PERF_IN(1)],
                             *out = &source->tensors[PERF_OUT(0)];
    struct bytes *text = &perf->scratch;
    double height, width;
    row->is_conv = true;
    perf_take_program_config(row, source->attributes);
    row->fidelity_text = perf_matmul_types_text(perf, row, source);
    row->has_shape = in0->has_shape && in1->has_shape && out->has_shape &&
                     perf_conv_window(source->attributes, &height, &width);
    if (!row->has_shape)
        return;
    double m = out->y, k = in0->x * height * width, n = in1->x;
    row->flops = product((const double[]){m, k, n, 2}, 4);
    bytes_clear(text);
    bytes_append(text, source->op_code.data, source->op_code.length);
    bytes_append_format(text, " %.0f x %.0f x %.0f", m, k, n);
    perf_append_conv_marks(perf, source->attributes);
    row->shown = perf_intern(perf, text->data, text->length);
}

void perf_compat_take(struct perf *perf, struct perf_row *row, const struct perf_source *source)
{
    if (row->kind == PERF_SIGNPOST)
        return;
    row->fidelity_text = perf_types_text(perf, row, source);
    if (slice_has(source->op_code, "Matmul")) {
        take_matmul(perf, row, source);
    } else if (slice_has(source->op_code, "OptimizedConvNew") || slice_has(source->op_code, "Conv2d")) {
        take_conv(perf, row, source);
    } else {
        perf_take_program_config(row, source->attributes);
        if (slice_has(source->op_code, "HaloDeviceOperation")) {
            bytes_clear(&perf->scratch);
            bytes_append(&perf->scratch, source->op_code.data, source->op_code.length);
            perf_append_halo(perf, source->attributes);
            row->shown = perf_intern(perf, perf->scratch.data, perf->scratch.length);
        }
    }
}

/* --- figures --- */

static void fill_matmul(struct perf_row *row, const struct architecture *architecture)
{
    double seconds = row->duration_ns * 1e-9;
    double cores = row->is_dram_sharded ? 12 : row->cores;
    row->cores = cores;
    if (!row->has_shape || row->duration_ns == 0)
        return; /* the original dies of the latter, and of no cores below */
    if (row->dram_bytes != 0) {
        row->dram_gb_s = row->dram_bytes / seconds / 1e9;
        row->dram_percent = row->dram_gb_s / architecture->dram_gb_s * 100;
    }
    if (row->fidelity == PERF_FIDELITY_UNKNOWN || architecture->tflops[row->fidelity] == 0)
        return;
    double flops = row->flops / seconds;
    if (cores != 0)
        row->flops_percent = flops / (architecture->tflops[row->fidelity] * 1e12 * cores) * 100;
    row->tflops = flops / 1e12;
}

static void fill_conv(struct perf_row *row, const struct architecture *architecture, double workers)
{
    double seconds = row->duration_ns * 1e-9;
    if (!row->has_shape || row->duration_ns == 0 || row->fidelity == PERF_FIDELITY_UNKNOWN ||
        architecture->tflops[row->fidelity] == 0)
        return;
    double flops = row->flops / seconds;
    row->flops_percent = flops / (architecture->tflops[row->fidelity] * 1e12 * workers) * 100;
    row->tflops = flops / 1e12;
}

static void fill_bound(struct perf_row *row, double target)
{
    row->bound = PERF_BOUND_NONE;
    if (row->kind == PERF_HOST_OP) {
        row->bound = PERF_BOUND_HOST;
        row->time_us = NAN;
        return;
    }
    /* A figure that is not a number counts as present: with a missing duration the original says SLOW. */
    bool has_dram = row->is_matmul && row->has_shape && row->dram_bytes != 0 && row->dram_percent != 0;
    bool has_flops =
        row->is_matmul && row->has_shape && row->fidelity != PERF_FIDELITY_UNKNOWN && row->flops_percent != 0;
    if (!has_dram || !has_flops || row->duration_ns == 0 || row->cores == 0)
        return;
    bool is_dram = row->dram_percent >= target, is_flop = row->flops_percent >= target;
    row->bound = is_dram && is_flop ? PERF_BOUND_BOTH
                 : is_dram          ? PERF_BOUND_DRAM
                 : is_flop          ? PERF_BOUND_FLOP
                                    : PERF_BOUND_SLOW;
}

static const struct architecture *choose_architecture(struct perf *perf, struct error *err)
{
    const char *asked = perf->options.arch;
    const char *recorded = perf->arch_text == PERF_NO_TEXT ? NULL : perf_text(perf, perf->arch_text);
    const char *name = asked ? asked : "wormhole";
    if (perf->has_arch_columns) {
        if (asked)
            perf_note(perf, PERF_NOTE_WARN, NULL,
                      "--arch %s is not used: the rows name their own architecture", asked);
        name = recorded ? recorded : "wormhole";
    }
    const struct architecture *found = find_architecture(name);
    if (!found && name == recorded)
        error_set(
            err, EINVAL,
            "%s:%llu: column 'DEVICE ARCH': unknown architecture '%s': wormhole, blackhole, bh20 and n1 are "
            "known",
            perf_text(perf, perf->paths[perf->arch_file]), (unsigned long long)perf->arch_line, name);
    else if (!found)
        error_set(err, EINVAL, "unknown architecture '%s': wormhole, blackhole, bh20 and n1 are known", name);
    return found;
}

static double choose_workers(struct perf *perf, const struct architecture *architecture)
{
    if (!perf->has_arch_columns)
        return architecture->worker_cores;
    for (size_t i = 0; i < perf->row_count; i++) {
        if (perf->rows[i].available_cores > 0)
            return perf->rows[i].available_cores;
    }
    perf_note(perf, PERF_NOTE_WARN, NULL, "no usable AVAILABLE WORKER CORE COUNT: 64 is taken");
    return 64;
}

static void fill_rows(struct perf *perf, const struct architecture *architecture)
{
    bool had_op = false;
    perf->worker_cores = choose_workers(perf, architecture);
    for (size_t i = 0; i < perf->count; i++) {
        struct perf_row *row = perf_at(perf, i);
        row->dram_gb_s = row->dram_percent = row->tflops = row->flops_percent = NAN;
        row->link_gb_s = row->link_percent = row->ideal_us = row->overlap_us = NAN;
        row->id = row->source_index + 2;
        row->time_us = row->kind == PERF_SIGNPOST ? NAN
                       : row->is_duration_missing ? 0
                                                  : row->duration_ns / 1000;
        row->shown_gap_us = had_op ? row->gap_ns / 1000 : NAN;
        if (perf_is_stale(row))
            perf_note_stale(perf, row);
        had_op |= row->kind != PERF_SIGNPOST;
        if (row->is_matmul)
            fill_matmul(row, architecture);
        else if (row->is_conv)
            fill_conv(row, architecture, perf->worker_cores);
        fill_bound(row, 65);
        row->category = perf_name_of(perf, row->op_code).category;
        const char *name = perf_text(perf, row->op_code);
        if (strstr(name, "(torch)"))
            perf->host_op_count++;
        else if (row->kind == PERF_SIGNPOST || strstr(perf_text(perf, row->shown), "signpost"))
            perf->signpost_count++;
        else
            perf->device_op_count++;
    }
}

/* Neumaier's compensated sum: what Python's sum() does with floats. */
struct sum {
    double value, compensation;
};

static void sum_add(struct sum *sum, double x)
{
    double total = sum->value + x;
    sum->compensation += fabs(sum->value) >= fabs(x) ? (sum->value - total) + x : (x - total) + sum->value;
    sum->value = total;
}

static double sum_result(const struct sum *sum)
{
    return isfinite(sum->compensation) ? sum->value + sum->compensation : sum->value;
}

/* Sums in table order; shares of the whole. */
static void fill_shares(struct perf *perf)
{
    struct sum time_sum = {0}, gap_sum = {0};
    for (size_t i = 0; i < perf->count; i++) {
        const struct perf_row *row = perf_at(perf, i);
        if (!isnan(row->time_us))
            sum_add(&time_sum, row->time_us);
        if (!isnan(row->shown_gap_us))
            sum_add(&gap_sum, row->shown_gap_us);
    }
    perf->total_time_us = sum_result(&time_sum);
    perf->total_gap_us = sum_result(&gap_sum);
    perf->total_us = perf->total_time_us + perf->total_gap_us;
    for (size_t i = 0; i < perf->count; i++) {
        struct perf_row *row = perf_at(perf, i);
        bool is_blank = (isnan(row->time_us) && isnan(row->shown_gap_us)) || perf->total_us == 0;
        double time = isnan(row->time_us) ? 0 : row->time_us,
               gap = isnan(row->shown_gap_us) ? 0 : row->shown_gap_us;
        row->total_percent = is_blank ? NAN : (time + gap) / perf->total_us * 100;
    }
}

int perf_compat_figures(struct perf *perf, struct error *err)
{
    const struct architecture *architecture = choose_architecture(perf, err);
    if (!architecture)
        return -EINVAL;
    fill_rows(perf, architecture);
    perf_note(perf, PERF_NOTE_INFO, NULL, "architecture %s, %.0f worker cores", architecture->name,
              perf->worker_cores);
    int status = perf_apply_id_range(perf, err);
    if (status)
        return status;
    perf_drop_host_ops(perf);
    fill_shares(perf);
    return 0;
}
