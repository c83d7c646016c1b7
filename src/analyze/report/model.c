/* SPDX-License-Identifier: Apache-2.0 */
/* Figures: what each op reached of the machine's rooflines, what bounds it, and the totals.
 *
 * A duration that cannot be is left out and counted: missing, negative, or beside a gap that is far more negative
 * than the op is long (stale counters of a replayed trace). Gaps below zero are shown and count as nothing. */
#include "analyze/report/internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define STALE_NS 1e6

/* --- which machine --- */

static const struct machine *find_machine(struct perf *perf, struct error *err)
{
    const struct machine_set *machines = perf->options.machines;
    const char *asked = perf->options.arch, *recorded = perf_text(perf, perf->arch_text);
    const struct machine *machine;
    if (asked) {
        machine = machine_find(machines, asked, strlen(asked));
        if (!machine)
            error_set(err, EINVAL, "there is no machine '%s' (opscope machine list)", asked);
        else if (*recorded && machine_find(machines, recorded, strlen(recorded)) != machine)
            perf_note(perf, PERF_NOTE_INFO, NULL, "measured against %s; the rows say %s", machine->name,
                      recorded);
        return machine;
    }
    machine = *recorded ? machine_find(machines, recorded, strlen(recorded)) : NULL;
    if (machine)
        return machine;
    if (*recorded)
        perf_note(perf, PERF_NOTE_INFO, NULL,
                  "no machine file describes '%.60s': no rooflines (--machine NAME or FILE gives one)",
                  recorded);
    else
        perf_note(
            perf, PERF_NOTE_INFO, NULL,
            "the ops do not say what device they ran on: no rooflines (--machine NAME or FILE gives one)");
    return &machine_unknown;
}

static void find_workers(struct perf *perf)
{
    double smallest = INFINITY, largest = 0;
    for (size_t i = 0; i < perf->row_count; i++) {
        const struct perf_row *row = &perf->rows[i];
        if (row->available_cores > 0) {
            smallest = fmin(smallest, row->available_cores);
            largest = fmax(largest, row->available_cores);
        }
        if (row->sub_device != PERF_NO_TEXT)
            perf->has_sub_devices = true;
    }
    perf->worker_cores = largest > 0 ? largest : perf->machine->worker_cores;
    perf->budgets_vary = largest > 0 && smallest < largest;
    if (perf->budgets_vary)
        perf_note(perf, PERF_NOTE_INFO, NULL,
                  "ops have between %.0f and %.0f cores to themselves: each is measured "
                  "against its own",
                  smallest, largest);
}

/* --- times --- */

bool perf_is_stale(const struct perf_row *row)
{
    return row->kind == PERF_DEVICE_OP && row->gap_ns < -STALE_NS &&
           -row->gap_ns > fmax(row->duration_ns / 2, STALE_NS);
}

static bool is_invalid(struct perf *perf, const struct perf_row *row)
{
    if (row->kind != PERF_DEVICE_OP)
        return false;
    if (isnan(row->duration_ns) || row->duration_ns < 0)
        return true;
    if (perf_is_stale(row))
        perf_note_stale(perf, row);
    return perf_is_stale(row);
}

static void fill_times(struct perf *perf)
{
    bool had_op = false, was_invalid = false, unmeasured = false;
    uint64_t id = 0;
    for (size_t i = 0; i < perf->count; i++) {
        struct perf_row *row = perf_at(perf, i);
        row->dram_gb_s = row->dram_percent = row->tflops = row->flops_percent = NAN;
        row->link_gb_s = row->link_percent = row->ideal_us = row->overlap_us = row->total_percent = NAN;
        row->id = perf->options.ids_are_lines ? row->line : ++id;
        row->is_duration_invalid = is_invalid(perf, row);
        perf->invalid_count += row->is_duration_invalid;
        unmeasured |= row->is_duration_invalid && row->is_duration_missing && row->line == 0;
        row->time_us =
            row->kind != PERF_DEVICE_OP || row->is_duration_invalid ? NAN : row->duration_ns / 1000;
        row->shown_gap_us = had_op && row->kind != PERF_SIGNPOST ? row->gap_ns / 1000 : NAN;
        if (fabs(row->gap_ns) > STALE_NS && (row->is_duration_invalid || was_invalid))
            row->shown_gap_us = NAN;
        if (row->kind != PERF_SIGNPOST) {
            had_op = true;
            was_invalid = row->is_duration_invalid;
        }
        if (row->kind == PERF_HOST_OP)
            perf->host_op_count++;
        else if (row->kind == PERF_SIGNPOST)
            perf->signpost_count++;
        else
            perf->device_op_count++;
        row->category =
            row->kind == PERF_HOST_OP ? (uint8_t)PERF_HOST : perf_name_of(perf, row->op_code).category;
    }
    if (perf->invalid_count)
        perf_note(perf, PERF_NOTE_WARN, NULL,
                  "%llu ops have no usable duration%s: they are left out of times, figures and totals",
                  (unsigned long long)perf->invalid_count,
                  unmeasured ? " (of some no run on a device was recorded)" : "");
}

/* --- overlap, on runs that are split into sub-devices --- */

struct interval {
    double start_ns, end_ns;
    uint32_t row;
    int32_t device;
};

static int compare_intervals(const void *a, const void *b)
{
    const struct interval *left = a, *right = b;
    if (left->device != right->device)
        return left->device < right->device ? -1 : 1;
    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    return left->row < right->row ? -1 : left->row > right->row;
}

static int compare_reals(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

/* Cycles a ns: the median over a device's ops; 0 when none has its cycles. */
static double cycles_per_ns(const struct perf *perf, const struct interval *intervals, size_t count,
                            double *ratios)
{
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        const struct perf_row *row = perf_at(perf, intervals[i].row);
        double ratio = (row->fw_end_cycle - row->fw_start_cycle) / row->fw_duration_ns;
        if (row->fw_duration_ns > 0 && ratio > 0 && isfinite(ratio))
            ratios[known++] = ratio;
    }
    if (known == 0)
        return 0;
    qsort(ratios, known, sizeof *ratios, compare_reals);
    return known % 2 ? ratios[known / 2] : (ratios[known / 2 - 1] + ratios[known / 2]) / 2;
}

/* When each op ran, by device and start. */
static size_t collect_intervals(struct perf *perf, struct interval *intervals, double *ratios)
{
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < perf->count; i++) {
        const struct perf_row *row = perf_at(perf, i);
        if (!isnan(row->time_us) && row->device != PERF_NO_NUMBER && !isnan(row->fw_end_cycle))
            intervals[count++] = (struct interval){.row = (uint32_t)i, .device = row->device};
    }
    qsort(intervals, count, sizeof *intervals, compare_intervals);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && intervals[end].device == intervals[i].device; end++)
            continue;
        double ratio = cycles_per_ns(perf, intervals + i, end - i, ratios);
        for (size_t k = i; k < end && ratio > 0; k++) {
            const struct perf_row *row = perf_at(perf, intervals[k].row);
            double end_ns = row->fw_end_cycle / ratio;
            intervals[kept++] =
                (struct interval){end_ns - row->duration_ns, end_ns, intervals[k].row, intervals[k].device};
        }
    }
    qsort(intervals, kept, sizeof *intervals, compare_intervals);
    return kept;
}

static int fill_overlap(struct perf *perf, struct error *err)
{
    struct interval *intervals = malloc((perf->count ? perf->count : 1) * sizeof *intervals);
    double *ratios = malloc((perf->count ? perf->count : 1) * sizeof *ratios);
    if (!intervals || !ratios) {
        free(intervals);
        free(ratios);
        return error_set(err, ENOMEM, "no memory for the overlap of %zu ops", perf->count);
    }
    size_t count = collect_intervals(perf, intervals, ratios);
    if (count == 0)
        perf_note(perf, PERF_NOTE_WARN, NULL,
                  "no op has its start and end cycles: overlap between sub-devices is not "
                  "known");
    double covered_until = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && intervals[i].device != intervals[i - 1].device)
            covered_until = -INFINITY;
        struct perf_row *row = perf_at(perf, intervals[i].row);
        double overlap = fmin(row->duration_ns, fmax(0, covered_until - intervals[i].start_ns));
        if (overlap >= 1) {
            row->overlap_us = overlap / 1000;
            perf->overlap_us += row->overlap_us;
        }
        covered_until = fmax(covered_until, intervals[i].end_ns);
    }
    free(intervals);
    free(ratios);
    return 0;
}

/* --- rooflines --- */

static bool is_matrix_class(unsigned class_)
{
    return class_ == PERF_CLASS_MATMUL || class_ == PERF_CLASS_SPARSE_MATMUL || class_ == PERF_CLASS_CONV ||
           class_ == PERF_CLASS_ATTENTION;
}

/* Machines without math fidelity (GPUs): the data type says which of the peaks it is. */
static unsigned fidelity_by_type(const char *type)
{
    double size = cell_type_bytes((struct slice){type, strlen(type)});
    if (*type == 0)
        return PERF_FIDELITY_UNKNOWN;
    return size <= 1 ? PERF_LOFI : size <= 2 ? PERF_HIFI2 : PERF_HIFI4;
}

double perf_peak_tflops(const struct perf *perf, const struct perf_row *row, double cores)
{
    const struct machine *machine = perf->machine;
    if (!is_matrix_class(row->class_))
        return machine->vector_tflops_per_core * cores;
    unsigned fidelity = row->fidelity;
    if (fidelity == PERF_FIDELITY_UNKNOWN && machine->dram_sharded_cores == 0)
        fidelity = fidelity_by_type(perf_text(perf, row->types[0]));
    return fidelity == PERF_FIDELITY_UNKNOWN ? NAN : machine->tflops_per_core[fidelity] * cores;
}

double perf_core_budget(const struct perf *perf, const struct perf_row *row)
{
    return row->available_cores > 0 ? row->available_cores : perf->worker_cores;
}

static void fill_rooflines(const struct perf *perf, struct perf_row *row)
{
    const struct machine *machine = perf->machine;
    double seconds = row->time_us * 1e-6;
    double cores =
        row->is_dram_sharded && machine->dram_sharded_cores > 0 ? machine->dram_sharded_cores : row->cores;
    double budget = perf_core_budget(perf, row), ideal = 0;
    if (!(row->time_us > 0))
        return;
    if (!perf->has_machine) {
        if (row->dram_bytes > 0)
            row->dram_gb_s = row->dram_bytes / seconds / 1e9;
        if (row->flops >= 0)
            row->tflops = row->flops / seconds / 1e12;
        if (row->link_bytes > 0)
            row->link_gb_s = row->link_bytes / seconds / 1e9;
        return;
    }
    if (row->dram_bytes > 0) {
        row->dram_gb_s = row->dram_bytes / seconds / 1e9;
        row->dram_percent = row->dram_gb_s / machine->dram_gb_s * 100;
        ideal = fmax(ideal, row->dram_bytes / machine->dram_gb_s / 1e3);
    }
    if (row->flops >= 0) {
        double peak = perf_peak_tflops(perf, row, cores > 0 ? cores : budget);
        row->tflops = row->flops / seconds / 1e12;
        row->flops_percent = row->tflops / peak * 100;
        double best = row->flops / (perf_peak_tflops(perf, row, budget) * 1e6);
        ideal = isnan(best) ? ideal : fmax(ideal, best);
    }
    if (row->link_bytes > 0 && machine->link_gb_s > 0) {
        double links = row->link_count > 0 ? row->link_count : machine->link_count;
        row->link_gb_s = row->link_bytes / seconds / 1e9;
        row->link_percent = row->link_gb_s / (machine->link_gb_s * links) * 100;
        ideal = fmax(ideal, row->link_bytes / (machine->link_gb_s * links) / 1e3);
    }
    if (ideal > 0)
        row->ideal_us = ideal;
}

static enum perf_bound bound_of(const struct perf *perf, const struct perf_row *row)
{
    double target = perf->options.target_percent;
    if (row->kind == PERF_HOST_OP)
        return PERF_BOUND_HOST;
    if (row->kind == PERF_SIGNPOST || isnan(row->time_us))
        return PERF_BOUND_NONE;
    if (row->shown_gap_us > row->time_us && row->shown_gap_us > perf->machine->gap_mark_us &&
        !perf->gaps_dominate)
        return PERF_BOUND_GAP;
    if (!perf->has_machine || row->time_us == 0 || ((row->is_matmul || row->is_conv) && !row->has_shape))
        return PERF_BOUND_NONE; /* nothing can be told of it */
    bool is_dram = row->dram_percent >= target, is_flop = row->flops_percent >= target;
    if (is_dram && is_flop)
        return PERF_BOUND_BOTH;
    if (is_dram)
        return PERF_BOUND_DRAM;
    if (is_flop)
        return PERF_BOUND_FLOP;
    return row->link_percent >= target ? PERF_BOUND_LINK : PERF_BOUND_SLOW;
}

/* From here on gaps hide everything else: shares of the run would say nothing about the ops. */
#define DOMINANT_GAP_SHARE 0.95
/* No dispatch takes that long on average: the host compiled, or loaded something. */
#define COMPILATION_GAP_US 1000.0

static void fill_sums(struct perf *perf)
{
    uint64_t gaps = 0;
    perf->total_time_us = perf->total_gap_us = perf->total_flops = perf->total_dram_bytes = 0;
    for (size_t i = 0; i < perf->count; i++) {
        const struct perf_row *row = perf_at(perf, i);
        if (!isnan(row->time_us)) {
            perf->total_time_us += row->time_us;
            perf->total_flops += row->flops > 0 ? row->flops : 0;
            perf->total_dram_bytes += row->dram_bytes > 0 ? row->dram_bytes : 0;
        }
        if (row->shown_gap_us > 0) {
            perf->total_gap_us += row->shown_gap_us;
            gaps++;
        }
    }
    perf->busy_us = perf->total_time_us - perf->overlap_us;
    perf->total_us = perf->total_time_us + perf->total_gap_us;
    perf->gaps_dominate = perf->total_time_us > 0 && perf->total_gap_us > DOMINANT_GAP_SHARE * perf->total_us;
    perf->looks_like_compilation =
        perf->gaps_dominate && perf->total_gap_us > COMPILATION_GAP_US * (double)gaps;
}

static void fill_shares(struct perf *perf)
{
    double whole_us = perf->gaps_dominate ? perf->total_time_us : perf->total_us;
    for (size_t i = 0; i < perf->count; i++) {
        struct perf_row *row = perf_at(perf, i);
        double time = isnan(row->time_us) ? 0 : row->time_us,
               gap = row->shown_gap_us > 0 && !perf->gaps_dominate ? row->shown_gap_us : 0;
        bool is_blank = isnan(row->time_us) && isnan(row->shown_gap_us);
        row->total_percent = is_blank || !(whole_us > 0) ? NAN : (time + gap) / whole_us * 100;
    }
}

/* No op can be faster than the machine: then it is another one, or the op does less than its model counts. */
static void note_impossible(struct perf *perf)
{
    const struct perf_row *most = NULL;
    const char *roof = "";
    double highest = 0;
    size_t count = 0;
    for (size_t i = 0; i < perf->count; i++) {
        const struct perf_row *row = perf_at(perf, i);
        double percent = fmax(fmax(row->dram_percent, row->flops_percent), row->link_percent);
        if (!(percent >= 100.05))
            continue;
        count++;
        if (percent > highest) {
            highest = percent;
            most = row;
            roof = percent == row->dram_percent    ? "DRAM bandwidth"
                   : percent == row->flops_percent ? "FLOPs"
                                                   : "link bandwidth";
        }
    }
    if (most)
        perf_note(
            perf, PERF_NOTE_WARN, NULL,
            "%zu op%s more than 100 %% of what %s can do, %s %.0f %% of its %s (%.60s, id %llu): it ran on "
            "another machine, or does less than its model counts",
            count, count == 1 ? " reaches" : "s reach", perf->machine->name, count == 1 ? "namely" : "up to",
            highest, roof, perf_text(perf, most->shown), (unsigned long long)most->id);
}

int perf_model_figures(struct perf *perf, struct error *err)
{
    perf->machine = find_machine(perf, err);
    if (!perf->machine)
        return -EINVAL;
    perf->has_machine = perf->machine != &machine_unknown;
    if (!(perf->options.target_percent > 0))
        perf->options.target_percent = perf->machine->target_percent;
    find_workers(perf);
    fill_times(perf);
    int status = perf_apply_id_range(perf, err);
    if (status)
        return status;
    perf_drop_host_ops(perf);
    if (perf->has_sub_devices)
        status = fill_overlap(perf, err);
    fill_sums(perf);
    for (size_t i = 0; i < perf->count && !status; i++) {
        struct perf_row *row = perf_at(perf, i);
        fill_rooflines(perf, row);
        row->bound = (uint8_t)bound_of(perf, row);
    }
    fill_shares(perf);
    note_impossible(perf);
    return status;
}
