/* SPDX-License-Identifier: Apache-2.0 */
/* Work and figures by the rules of tt-perf-report: matmul and conv alone, constants per architecture, sums
 * from first to last row. The order of the operations on doubles is that of the original, because its CSV shows
 * all digits. */
#include "base/count_of.h"
#include "compat/tt_perf_report/ttpr.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <strings.h>

struct architecture {
    const char *name;
    double worker_cores, dram_gb_s;
    double tflops[PERF_FIDELITY_UNKNOWN]; /* per core; 0: that version does not know it */
    double sharded_cores;                 /* that a matmul sharded over DRAM computes on */
};

/* By passes: a product takes as many as its fidelity says. */
#define BY_PASSES(tflops)                                                                                    \
    {                                                                                                        \
        [PERF_HIFI4] = (tflops) / 4, [PERF_HIFI3] = (tflops) / 3, [PERF_HIFI2] = (tflops) / 2,               \
        [PERF_LOFI] = (tflops)                                                                               \
    }
#define BY_PASSES_1_2(tflops)                                                                                \
    {                                                                                                        \
        [PERF_HIFI4] = (tflops) / 4, [PERF_HIFI2] = (tflops) / 2, [PERF_LOFI] = (tflops)                     \
    }

static const struct architecture architectures[][5] = {
    [TTPR_1_2_4] = {{"wormhole",
                     64,
                     288,
                     {[PERF_HIFI4] = 74.0 / 72, [PERF_HIFI2] = 148.0 / 72, [PERF_LOFI] = 262.0 / 72},
                     12},
                    {"blackhole", 130, 512, BY_PASSES_1_2(4096 * 1.35 / 1000), 12},
                    {"bh20", 20, 512, BY_PASSES_1_2(4096 * 1.35 / 1000), 12},
                    {"n1", 20, 120, BY_PASSES_1_2(4096 * 0.65 / 1000), 12}},
    [TTPR_1_4_1] = {{"wormhole",
                     64,
                     288,
                     {[PERF_HIFI4] = 74.0 / 72,
                      [PERF_HIFI3] = 74.0 / 72 * 4 / 3,
                      [PERF_HIFI2] = 148.0 / 72,
                      [PERF_LOFI] = 262.0 / 72},
                     12},
                    {"blackhole", 110, 512, BY_PASSES(4096 * 1.35 / 1000), 8},
                    {"bh20", 20, 512, BY_PASSES(4096 * 1.35 / 1000), 8},
                    {"n1", 20, 120, BY_PASSES(4096 * 0.65 / 1000), 8},
                    {"blackhole_p100", 110, 448, BY_PASSES(4096 * 1.35 / 1000), 7}},
};

/* Names of cards, which 1.4.1 knows. */
static const struct {
    const char *card, *name;
} cards[] = {
    {"p100", "blackhole_p100"}, {"p100a", "blackhole_p100"},    {"blackhole_p100a", "blackhole_p100"},
    {"p150", "blackhole"},      {"p150a", "blackhole"},         {"p150b", "blackhole"},
    {"p150c", "blackhole"},     {"blackhole_p150", "blackhole"}};

static const struct architecture *find_architecture(const struct ttpr *perf, const char *name)
{
    const struct architecture *list = architectures[perf->request->version];
    if (strcasecmp(name, "wormhole_b0") == 0)
        return &list[0];
    for (size_t i = 0; ttpr_is_1_4(perf) && i < COUNT_OF(cards); i++) {
        if (strcasecmp(cards[i].card, name) == 0)
            name = cards[i].name;
    }
    for (size_t i = 0; i < COUNT_OF(architectures[0]) && list[i].name; i++) {
        if (strcasecmp(list[i].name, name) == 0)
            return &list[i];
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

static double dram_bytes(const struct ttpr_tensor *tensor)
{
    if (!slice_has(tensor->memory, "DRAM"))
        return 0;
    return product((const double[]){tensor->w, tensor->y, tensor->z, tensor->x}, 4) *
           cell_type_bytes(tensor->type);
}

/* 1.4.1 says so in the op's name; there is nothing to compute. */
static void name_unknown_shape(struct ttpr *perf, struct ttpr_row *row, const struct ttpr_source *source)
{
    if (!ttpr_is_1_4(perf))
        return;
    bytes_clear(&perf->scratch);
    bytes_append(&perf->scratch, source->op_code.data, source->op_code.length);
    bytes_append_text(&perf->scratch, " unknown shape");
    if (row->is_conv)
        ttpr_append_conv_marks(perf, source->attributes);
    row->shown = ttpr_intern(perf, perf->scratch.data, perf->scratch.length);
}

static void take_sparse(struct ttpr *perf, struct ttpr_row *row, const struct ttpr_source *source)
{
    const struct ttpr_tensor *in0 = &source->tensors[TTPR_IN0], *in1 = &source->tensors[TTPR_IN1];
    struct ttpr_batches batches = ttpr_sparse_batches(perf, source);
    const double sizes[TTPR_TENSORS] = {in0->y * in0->x, in0->x * in1->x, in0->y * in1->x};
    struct bytes *text = &perf->scratch;
    bytes_clear(text);
    bytes_append(text, source->op_code.data, source->op_code.length);
    row->lacks_active = isnan(batches.active);
    if (row->lacks_active) {
        bytes_append_text(text, " active=?");
    } else {
        bytes_append_format(text, " active=%.0f", batches.active);
        row->dram_bytes = 0;
        for (unsigned t = 0; t < TTPR_TENSORS; t++) {
            const struct ttpr_tensor *tensor = &source->tensors[t];
            if (slice_has(tensor->memory, "DRAM"))
                row->dram_bytes += sizes[t] * cell_type_bytes(tensor->type) * batches.active;
        }
        row->flops = product((const double[]){in0->y, in0->x, in1->x, batches.active, 2}, 5);
    }
    bytes_append_format(text, "/%.0f x %.0f x %.0f x %.0f", batches.dense, in0->y, in0->x, in1->x);
    row->shown = ttpr_intern(perf, text->data, text->length);
}

static void take_matmul(struct ttpr *perf, struct ttpr_row *row, const struct ttpr_source *source)
{
    const struct ttpr_tensor *in0 = &source->tensors[TTPR_IN0], *in1 = &source->tensors[TTPR_IN1],
                             *out = &source->tensors[TTPR_OUT];
    struct bytes *text = &perf->scratch;
    row->is_matmul = true;
    ttpr_take_program_config(row, source->attributes);
    row->is_dram_sharded =
        slice_has(source->attributes, "MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig");
    row->fidelity_text = ttpr_matmul_types_text(perf, source);
    row->has_shape = in0->has_shape && in1->has_shape && out->has_shape && in0->type.length &&
                     in1->type.length && out->type.length && in0->memory.length && in1->memory.length &&
                     out->memory.length;
    row->is_sparse = ttpr_is_1_4(perf) && slice_has(source->op_code, "SparseMatmul");
    if (!row->has_shape) {
        name_unknown_shape(perf, row, source);
        return;
    }
    if (row->is_sparse) {
        take_sparse(perf, row, source);
        return;
    }
    double w = fmax(in0->w, in1->w), z = fmax(in0->z, in1->z);
    row->dram_bytes = dram_bytes(in0) + dram_bytes(in1) + dram_bytes(out);
    row->flops = product((const double[]){in0->y, in0->x, in1->x, w, z, 2}, 6);
    bytes_clear(text);
    bytes_append(text, source->op_code.data, source->op_code.length);
    if (w * z > 1)
        bytes_append_format(text, " b={%.0f} x %.0f x %.0f x %.0f", w * z, in0->y, in0->x, in1->x);
    else
        bytes_append_format(text, " %.0f x %.0f x %.0f", in0->y, in0->x, in1->x);
    row->shown = ttpr_intern(perf, text->data, text->length);
}

static void take_conv(struct ttpr *perf, struct ttpr_row *row, const struct ttpr_source *source)
{
    const struct ttpr_tensor *in0 = &source->tensors[TTPR_IN0], *in1 = &source->tensors[TTPR_IN1],
                             *out = &source->tensors[TTPR_OUT];
    struct bytes *text = &perf->scratch;
    double height, width;
    row->is_conv = true;
    ttpr_take_program_config(row, source->attributes);
    row->fidelity_text = ttpr_matmul_types_text(perf, source);
    bool has_sizes = ttpr_is_1_4(perf) ? out->y > 0 && in0->x > 0 && in1->x > 0
                                       : in0->has_shape && in1->has_shape && out->has_shape;
    row->has_shape = ttpr_conv_window(source->attributes, &height, &width) && has_sizes;
    if (!row->has_shape) {
        name_unknown_shape(perf, row, source);
        return;
    }
    double m = out->y, k = in0->x * height * width, n = in1->x;
    row->flops = product((const double[]){m, k, n, 2}, 4);
    bytes_clear(text);
    bytes_append(text, source->op_code.data, source->op_code.length);
    bytes_append_format(text, " %.0f x %.0f x %.0f", m, k, n);
    ttpr_append_conv_marks(perf, source->attributes);
    row->shown = ttpr_intern(perf, text->data, text->length);
}

void ttpr_take_work(struct ttpr *perf, struct ttpr_row *row, const struct ttpr_source *source)
{
    if (row->kind == TTPR_SIGNPOST)
        return;
    row->fidelity_text = ttpr_types_text(perf, source);
    if (slice_has(source->op_code, "Matmul")) {
        take_matmul(perf, row, source);
    } else if (slice_has(source->op_code, "OptimizedConvNew") || slice_has(source->op_code, "Conv2d")) {
        take_conv(perf, row, source);
    } else {
        ttpr_take_program_config(row, source->attributes);
        if (slice_has(source->op_code, "HaloDeviceOperation")) {
            bytes_clear(&perf->scratch);
            bytes_append(&perf->scratch, source->op_code.data, source->op_code.length);
            ttpr_append_halo(perf, source->attributes);
            row->shown = ttpr_intern(perf, perf->scratch.data, perf->scratch.length);
        }
    }
}

/* --- figures --- */

static void fill_matmul(struct ttpr_row *row, const struct architecture *architecture)
{
    double seconds = row->duration_ns * 1e-9;
    double cores = row->is_dram_sharded ? architecture->sharded_cores : row->cores;
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

static void fill_conv(struct ttpr_row *row, const struct architecture *architecture, double workers)
{
    double seconds = row->duration_ns * 1e-9;
    if (!row->has_shape || row->duration_ns == 0 || row->fidelity == PERF_FIDELITY_UNKNOWN ||
        architecture->tflops[row->fidelity] == 0)
        return;
    double flops = row->flops / seconds;
    row->flops_percent = flops / (architecture->tflops[row->fidelity] * 1e12 * workers) * 100;
    row->tflops = flops / 1e12;
}

/* --- figures of 1.4.1 --- */

#define STALE_NS 1e6 /* no gap is as long before it: counters of a replayed trace */

double ttpr_usable_duration(const struct ttpr_row *row)
{
    double duration = row->duration_ns;
    bool is_stale = row->gap_ns < -STALE_NS && -row->gap_ns > fmax(duration * 0.5, STALE_NS);
    return duration >= 0 && !is_stale ? duration : NAN;
}

static void fill_work_1_4(struct ttpr_row *row, const struct architecture *architecture)
{
    double seconds = row->is_duration_missing || row->duration_ns == 0 ? NAN : row->duration_ns * 1e-9;
    double peak = row->fidelity == PERF_FIDELITY_UNKNOWN ? 0 : architecture->tflops[row->fidelity];
    if (row->is_dram_sharded)
        row->cores = architecture->sharded_cores;
    if (isnan(seconds))
        row->dram_bytes = NAN;
    if (!row->has_shape || isnan(seconds))
        return;
    if (row->is_matmul && row->dram_bytes > 0) {
        row->dram_gb_s = row->dram_bytes / seconds / 1e9;
        row->dram_percent = row->dram_gb_s / architecture->dram_gb_s * 100;
    }
    double flops = row->flops / seconds; /* NaN: not known how many */
    if (peak == 0)
        return;
    row->flops_percent = flops / (peak * 1e12 * row->cores) * 100;
    row->tflops = flops / 1e12;
}

static void fill_times_1_4(struct ttpr_row *row, const struct ttpr_row *before)
{
    double duration = ttpr_usable_duration(row);
    bool is_doubtful = isnan(duration) || (before && before->is_duration_missing);
    row->is_duration_missing = isnan(duration);
    row->time_us = row->kind == TTPR_SIGNPOST ? NAN : duration / 1000;
    row->shown_gap_us =
        before && row->gap_ns >= 0 && !(is_doubtful && row->gap_ns > STALE_NS) ? row->gap_ns / 1000 : NAN;
}

/* Only a matmul has both figures; zero is one. */
static enum perf_bound bound_1_4(const struct ttpr_row *row, double target)
{
    if (!row->is_matmul || isnan(row->dram_percent) || isnan(row->flops_percent))
        return row->kind == TTPR_HOST_OP && !row->is_matmul ? PERF_BOUND_HOST : PERF_BOUND_NONE;
    bool is_dram = row->dram_percent >= target, is_flop = row->flops_percent >= target;
    return is_dram && is_flop ? PERF_BOUND_BOTH
           : is_dram          ? PERF_BOUND_DRAM
           : is_flop          ? PERF_BOUND_FLOP
                              : PERF_BOUND_SLOW;
}

static void fill_row_1_4(struct ttpr *perf, struct ttpr_row *row, const struct ttpr_row *before,
                         const struct architecture *architecture)
{
    fill_times_1_4(row, before);
    if (row->is_matmul || row->is_conv)
        fill_work_1_4(row, architecture);
    row->bound = (uint8_t)bound_1_4(row, 65);
    if (row->bound == PERF_BOUND_HOST)
        row->time_us = NAN;
    if (isnan(row->available_cores))
        row->available_cores = perf->worker_cores;
}

/* --- figures --- */

static void fill_bound(struct ttpr_row *row, double target)
{
    row->bound = PERF_BOUND_NONE;
    if (row->kind == TTPR_HOST_OP) {
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

static const struct architecture *choose_architecture(struct ttpr *perf, struct error *err)
{
    const char *asked = perf->request->arch;
    const char *recorded = perf->arch_text == TTPR_NO_TEXT ? NULL : ttpr_text(perf, perf->arch_text);
    const char *name = asked ? asked : "wormhole";
    if (perf->has_arch_columns) {
        if (asked && !ttpr_is_1_4(perf))
            ttpr_note(perf, PERF_NOTE_WARN, NULL,
                      "--arch %s is not used: the rows name their own architecture", asked);
        if (!asked || !ttpr_is_1_4(perf))
            name = recorded ? recorded : "wormhole";
    }
    const struct architecture *found = find_architecture(perf, name);
    if (!found && name == recorded)
        error_set(err, EINVAL,
                  "%s:%" PRIu64
                  ": column 'DEVICE ARCH': unknown architecture '%s': wormhole, blackhole, bh20 and n1 are "
                  "known",
                  ttpr_text(perf, perf->paths[perf->arch_file]), perf->arch_line, name);
    else if (!found)
        error_set(err, EINVAL, "unknown architecture '%s': wormhole, blackhole, bh20 and n1 are known", name);
    return found;
}

/* 1.4.1: the most that any row was given. */
static double largest_budget(struct ttpr *perf, const struct architecture *architecture)
{
    double largest = 0, other = 0;
    for (size_t i = 0; i < perf->row_count; i++) {
        double cores = perf->rows[i].available_cores;
        if (cores > largest) {
            other = largest;
            largest = cores;
        } else if (cores < largest) {
            other = cores;
        }
    }
    if (largest == 0)
        ttpr_note(perf, PERF_NOTE_WARN, NULL, "no usable AVAILABLE WORKER CORE COUNT: %.0f of %s are taken",
                  architecture->worker_cores, architecture->name);
    else if (other > 0)
        ttpr_note(perf, PERF_NOTE_INFO, NULL,
                  "ops were given different numbers of cores: each is measured against its own, at most %.0f",
                  largest);
    return largest > 0 ? largest : architecture->worker_cores;
}

static double choose_workers(struct ttpr *perf, const struct architecture *architecture)
{
    if (!perf->has_arch_columns)
        return architecture->worker_cores;
    if (ttpr_is_1_4(perf))
        return largest_budget(perf, architecture);
    for (size_t i = 0; i < perf->row_count; i++) {
        if (perf->rows[i].available_cores > 0)
            return perf->rows[i].available_cores;
    }
    ttpr_note(perf, PERF_NOTE_WARN, NULL, "no usable AVAILABLE WORKER CORE COUNT: 64 is taken");
    return 64;
}

static void fill_row_1_2(struct ttpr *perf, struct ttpr_row *row, bool had_op,
                         const struct architecture *architecture)
{
    row->time_us = row->kind == TTPR_SIGNPOST ? NAN : row->is_duration_missing ? 0 : row->duration_ns / 1000;
    row->shown_gap_us = had_op ? row->gap_ns / 1000 : NAN;
    ttpr_note_if_stale(perf, row);
    if (row->is_matmul)
        fill_matmul(row, architecture);
    else if (row->is_conv)
        fill_conv(row, architecture, perf->worker_cores);
    fill_bound(row, 65);
}

static void fill_rows(struct ttpr *perf, const struct architecture *architecture)
{
    bool had_op = false;
    const struct ttpr_row *before = NULL; /* the last op */
    perf->worker_cores = choose_workers(perf, architecture);
    for (size_t i = 0; i < perf->count; i++) {
        struct ttpr_row *row = ttpr_at(perf, i);
        row->dram_gb_s = row->dram_percent = row->tflops = row->flops_percent = NAN;
        row->id = row->source_index + 2;
        if (ttpr_is_1_4(perf))
            fill_row_1_4(perf, row, before, architecture);
        else
            fill_row_1_2(perf, row, had_op, architecture);
        had_op |= row->kind != TTPR_SIGNPOST;
        if (row->kind != TTPR_SIGNPOST)
            before = row;
        const char *name = ttpr_text(perf, row->op_code);
        row->category = (uint8_t)ttpr_category_of(perf, name);
        if (strstr(name, "(torch)"))
            perf->host_op_count++;
        else if (row->kind == TTPR_SIGNPOST || strstr(ttpr_text(perf, row->shown), "signpost"))
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
static void fill_shares(struct ttpr *perf)
{
    struct sum time_sum = {0}, gap_sum = {0};
    for (size_t i = 0; i < perf->count; i++) {
        const struct ttpr_row *row = ttpr_at(perf, i);
        if (!isnan(row->time_us))
            sum_add(&time_sum, row->time_us);
        if (!isnan(row->shown_gap_us))
            sum_add(&gap_sum, row->shown_gap_us);
    }
    perf->total_time_us = sum_result(&time_sum);
    perf->total_gap_us = sum_result(&gap_sum);
    perf->total_us = perf->total_time_us + perf->total_gap_us;
    for (size_t i = 0; i < perf->count; i++) {
        struct ttpr_row *row = ttpr_at(perf, i);
        bool is_blank = (isnan(row->time_us) && isnan(row->shown_gap_us)) || perf->total_us == 0;
        double time = isnan(row->time_us) ? 0 : row->time_us,
               gap = isnan(row->shown_gap_us) ? 0 : row->shown_gap_us;
        row->total_percent = is_blank ? NAN : (time + gap) / perf->total_us * 100;
    }
}

/* 1.4.1: what all rows read and wrote, over the time of all; which of its two columns the table has. */
static void fill_totals_1_4(struct ttpr *perf)
{
    struct sum bytes = {0}, weighted = {0}, time = {0};
    double budget = NAN;
    for (size_t i = 0; i < perf->count; i++) {
        const struct ttpr_row *row = ttpr_at(perf, i);
        perf->shows_sub_devices |= row->sub_device != TTPR_NO_TEXT;
        perf->shows_available_cores |= !isnan(budget) && row->available_cores != budget;
        budget = row->available_cores;
        if (!isnan(row->time_us) && !strstr(ttpr_text(perf, row->shown), "signpost"))
            sum_add(&time, row->time_us);
        if (!isnan(row->dram_bytes))
            sum_add(&bytes, row->dram_bytes);
        if (!isnan(row->dram_percent) && !isnan(row->time_us))
            sum_add(&weighted, row->dram_percent * row->time_us);
    }
    perf->shows_available_cores |= perf->shows_sub_devices;
    perf->all_dram_gb_s = perf->all_dram_percent = NAN;
    double time_us = sum_result(&time), all_bytes = sum_result(&bytes);
    if (time_us == 0 || all_bytes == 0)
        return;
    perf->all_dram_gb_s = all_bytes / (time_us * 1e-6) / 1e9;
    perf->all_dram_percent = sum_result(&weighted) / time_us;
}

int ttpr_fill_figures(struct ttpr *perf, struct error *err)
{
    const struct architecture *architecture = choose_architecture(perf, err);
    if (!architecture)
        return -EINVAL;
    fill_rows(perf, architecture);
    ttpr_note(perf, PERF_NOTE_INFO, NULL, "architecture %s, %.0f worker cores", architecture->name,
              perf->worker_cores);
    int status = ttpr_apply_id_range(perf, err);
    if (status)
        return status;
    ttpr_drop_host_ops(perf);
    fill_shares(perf);
    perf->all_dram_gb_s = perf->all_dram_percent = NAN;
    if (ttpr_is_1_4(perf))
        fill_totals_1_4(perf);
    return 0;
}

struct perf_matmul ttpr_matmul_of(const struct ttpr *perf, const struct ttpr_row *row)
{
    return (struct perf_matmul){
        .types = {ttpr_text(perf, row->types[0]), ttpr_text(perf, row->types[1]),
                  ttpr_text(perf, row->types[2])},
        .in0_memory = ttpr_text(perf, row->in0_memory),
        .fidelity = row->fidelity,
        .bound = row->bound,
        .block_w = row->block_w,
        .subblock_h = row->subblock_h,
        .subblock_w = row->subblock_w,
        .cores = row->cores,
        .available_cores = ttpr_is_1_4(perf) ? row->available_cores : 0,
        .is_sparse = row->is_sparse,
        .flops_percent = row->flops_percent,
        .is_dram_sharded = row->is_dram_sharded,
    };
}
