/* SPDX-License-Identifier: Apache-2.0 */
/* Figures: which machine, the times of each op, overlap, and the totals. What each op reached is in bound.c.
 *
 * A duration that cannot be is left out and counted: missing, negative, or beside a gap that is far more negative
 * than the op is long (stale counters of a replayed trace). Gaps below zero are shown and count as nothing. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/machine_files.h"
#include "analyze/report/internal.h"
#include "ops/finish.h"
#include "ops/known_figures.h"
#include "text/csv/cell.h"

#define STALE_NS 1e6

/* --- which machine --- */

/* What the devices say that they are: the first one counts, since all ops are measured against one machine. */
static const char *find_architecture(struct perf *perf)
{
    const struct ops *ops = perf->ops;
    const char *found = "";
    uint32_t text = OPS_NONE;
    for (size_t i = 0; i < ops->device_count; i++) {
        uint32_t own = ops->devices[i].architecture;
        if (perf->device_text == OPS_NONE)
            perf->device_text = ops->devices[i].name;
        if (own == OPS_NONE)
            continue;
        if (text == OPS_NONE) {
            text = own;
            found = perf_text(perf, own);
        } else if (own != text) {
            perf_note(perf, PERF_NOTE_WARN, NULL,
                      "device %" PRIu32
                      " is '%.60s', others are '%.60s'; all are measured against one machine",
                      ops->devices[i].number, perf_text(perf, own), found);
            break;
        }
    }
    if (perf->device_text == OPS_NONE)
        perf->device_text = text;
    return found;
}

bool perf_is_cpu(const struct perf *perf)
{
    return perf->device_text != OPS_NONE && strcmp(perf_text(perf, perf->device_text), OPS_CPU_DEVICE) == 0;
}

static const struct machine *find_machine(struct perf *perf, struct error *err)
{
    const struct machine_set *machines = perf->options.machines;
    const char *asked = perf->options.machine, *recorded = find_architecture(perf);
    const struct machine *machine;
    if (machines && machines->left_out) {
        struct bytes *text = &perf->scratch;
        bytes_clear(text);
        machine_files_append_left_out(machines, text);
        perf_note(perf, PERF_NOTE_WARN, NULL, "%s", bytes_text(text));
    }
    if (asked) {
        machine = machine_find(machines, asked, strlen(asked));
        if (!machine)
            error_set(err, EINVAL, "there is no machine '%s' (opscope machine list)", asked);
        else if (*recorded && machine_find(machines, recorded, strlen(recorded)) != machine)
            perf_note(perf, PERF_NOTE_INFO, NULL, "measured against %s; the rows say %s", machine->name,
                      recorded);
        return machine;
    }
    /* What the device is called says more than what kind it is: several cards have one kind of chip. */
    const char *name = perf->device_text != OPS_NONE ? perf_text(perf, perf->device_text) : "";
    machine = *name ? machine_find(machines, name, strlen(name)) : NULL;
    if (!machine && *recorded)
        machine = machine_find(machines, recorded, strlen(recorded));
    if (machine)
        return machine;
    if (perf_is_cpu(perf))
        perf_note(
            perf, PERF_NOTE_INFO, NULL,
            "what this CPU can do is not known: no rooflines (on it: opscope machine measure --save FILE, "
            "then --machine FILE)");
    else if (*recorded)
        perf_note(perf, PERF_NOTE_INFO, NULL,
                  "no machine file describes '%.60s': no rooflines (--machine NAME or FILE gives one)",
                  recorded);
    else
        perf_note(perf, PERF_NOTE_INFO, NULL,
                  "the ops do not say what device they ran on: no rooflines (--machine NAME or FILE gives "
                  "one)");
    return &machine_unknown;
}

static void find_workers(struct perf *perf)
{
    double smallest = INFINITY, largest = 0;
    for (size_t i = 0; i < perf->row_count; i++) {
        const struct perf_row *row = &perf->rows[i];
        double available = perf_available_cores(perf, row);
        if (available > 0) {
            smallest = fmin(smallest, available);
            largest = fmax(largest, available);
        }
        perf->has_sub_devices |= perf_sub_device(perf, row) != OPS_NONE;
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

static bool is_stale(double gap_ns, double duration_ns)
{
    return gap_ns < -STALE_NS && -gap_ns > fmax(duration_ns / 2, STALE_NS);
}

static bool is_invalid(struct perf *perf, const struct perf_row *row, double gap_ns)
{
    static const char kind_stale[] = "stale";
    if (row->kind != PERF_DEVICE_OP)
        return false;
    if (perf_is_captured(perf, row))
        return false;
    if (isnan(row->duration_ns) || row->duration_ns < 0)
        return true;
    const struct op_line *line = perf_line(perf, row);
    const struct op_run *run = line->run == OPS_NONE ? NULL : &perf->ops->runs[line->run];
    if (run && run->track != OPS_NONE ? !(run->faults & OP_FAULT_STALE) : !is_stale(gap_ns, row->duration_ns))
        return false;
    if (line->source_line == 0) /* else whoever read the line has said it */
        perf_note(
            perf, PERF_NOTE_WARN, kind_stale,
            "%s: a gap of %.0f ns before an op of %.0f ns cannot be (stale counters of a replayed trace); both "
            "are left out",
            perf_path_of(perf, row), gap_ns, row->duration_ns);
    return true;
}

static void count_row(struct perf *perf, const struct perf_row *row)
{
    perf->invalid_count += row->is_duration_invalid;
    if (row->kind == PERF_HOST_OP)
        perf->host_op_count++;
    else if (row->kind == PERF_SIGNPOST)
        perf->signpost_count++;
    else
        perf->device_op_count++;
}

static void fill_times(struct perf *perf)
{
    bool had_op = false, was_invalid = false, unmeasured = false;
    uint32_t id = 0;
    for (size_t i = 0; i < perf->count; i++) {
        struct perf_row *row = perf_at(perf, i);
        const struct op_line *line = perf_line(perf, row);
        double gap_ns = perf_gap_ns(perf, row);
        row->id = perf->options.ids_are_lines ? line->source_line : ++id;
        row->is_duration_invalid = is_invalid(perf, row, gap_ns);
        unmeasured |= row->is_duration_invalid && line->run == OPS_NONE;
        count_row(perf, row);
        if (row->kind == PERF_SIGNPOST)
            continue;
        row->shown_gap_us = had_op ? gap_ns / 1000 : NAN;
        if (fabs(gap_ns) > STALE_NS && (row->is_duration_invalid || was_invalid))
            row->shown_gap_us = NAN;
        had_op = true;
        was_invalid = row->is_duration_invalid;
    }
    if (perf->invalid_count)
        perf_note(perf, PERF_NOTE_WARN, NULL,
                  "%" PRIu64 " op%s no usable duration%s: left out of times, figures and totals",
                  perf->invalid_count, perf->invalid_count == 1 ? " has" : "s have",
                  !unmeasured                ? ""
                  : perf->invalid_count == 1 ? " (no run on a device was recorded)"
                                             : " (of some no run on a device was recorded)");
}

/* --- overlap, on runs that are split into sub-devices --- */

struct interval {
    double start_ns, end_ns;
    uint32_t row;
    int32_t device;
    bool is_shown;
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

/* Ticks per ns: the median over a device's ops; 0 when none has its ticks. */
static double ticks_per_ns(const struct perf *perf, const struct interval *intervals, size_t count,
                           double *ratios)
{
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        const struct perf_row *row = perf_at(perf, intervals[i].row);
        const struct op_run *run = perf_run(perf, row);
        const struct op_figure *between = perf_find_figure(perf, row, perf->ticks_ns);
        struct op_ticks ticks = ops_ticks(perf->ops, run);
        double ratio = between ? ((double)ticks.end - (double)ticks.start) / (double)between->whole : NAN;
        if (ratio > 0 && isfinite(ratio))
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
        const struct op_run *run = perf_run(perf, row);
        int32_t device = perf_device(perf, row);
        if (!isnan(perf_time_us(row)) && device != PERF_NO_NUMBER && run && ops_ticks(perf->ops, run).end)
            intervals[count++] = (struct interval){.row = (uint32_t)i, .device = device};
    }
    qsort(intervals, count, sizeof *intervals, compare_intervals);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && intervals[end].device == intervals[i].device; end++)
            continue;
        double ratio = ticks_per_ns(perf, intervals + i, end - i, ratios);
        for (size_t k = i; k < end && ratio > 0; k++) {
            const struct perf_row *row = perf_at(perf, intervals[k].row);
            double end_ns = (double)ops_ticks(perf->ops, perf_run(perf, row)).end / ratio;
            intervals[kept++] = (struct interval){end_ns - row->duration_ns, end_ns, intervals[k].row,
                                                  intervals[k].device, true};
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
                  "no op has its start and end ticks: overlap between sub-devices is not "
                  "known");
    double covered_until = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && intervals[i].device != intervals[i - 1].device)
            covered_until = -INFINITY;
        struct perf_row *row = perf_at(perf, intervals[i].row);
        double overlap = fmin(row->duration_ns, fmax(0, covered_until - intervals[i].start_ns));
        if (overlap >= 1) {
            row->overlap_us = (float)(overlap / 1000);
            perf->overlap_us += overlap / 1000;
        }
        covered_until = fmax(covered_until, intervals[i].end_ns);
    }
    free(intervals);
    free(ratios);
    return 0;
}

/* --- overlap, of runs on several tracks: queues and copy engines of a device, threads of the host --- */

/* The runs of a row, each where it was, of an estimate from the first to the last; returns how many intervals there are
 * then. */
static size_t add_runs(const struct perf *perf, const struct perf_row *row, bool is_shown,
                       struct interval *intervals, size_t count)
{
    const struct ops *ops = perf->ops;
    const uint32_t *runs;
    size_t run_count = ops_line_runs(ops, perf_line(perf, row), &runs), first = count;
    for (size_t i = 0; i < run_count; i++) {
        const struct op_run *run = &ops->runs[runs[i]];
        if (run->track == OPS_NONE || run->duration_ns == OPS_NO_DURATION)
            continue;
        /* from the first run on: a double has no room for nanoseconds since 1970 */
        double start_ns = (double)(int64_t)(run->start_ns - ops->runs[0].start_ns);
        intervals[count++] = (struct interval){
            .start_ns = start_ns,
            .end_ns = start_ns + (double)run->duration_ns,
            .row = runs[i],
            .device = perf_is_cpu(perf) || run->device == OPS_NO_DEVICE ? PERF_NO_NUMBER : run->device,
            .is_shown = is_shown};
        if (count - first < 2 || !perf_is_estimated(perf, row))
            continue;
        count--;
        intervals[first].start_ns = fmin(intervals[first].start_ns, intervals[count].start_ns);
        intervals[first].end_ns = fmax(intervals[first].end_ns, intervals[count].end_ns);
    }
    return count;
}

/* Those of the rows that are shown, and of what was merged with them: of two ops at the same time one may stand for
 * those of one device and the other for those of another, where they had ops beside them, too. */
static size_t add_all_runs(const struct perf *perf, struct interval *intervals)
{
    uint64_t first_ns = UINT64_MAX, last_ns = 0;
    size_t count = 0;
    for (size_t i = 0; i < perf->count; i++) {
        const struct perf_row *row = perf_at(perf, i);
        const struct op_run *run = perf_run(perf, row);
        if (!run || isnan(perf_time_us(row)))
            continue;
        count = add_runs(perf, row, true, intervals, count);
        first_ns = run->start_ns < first_ns ? run->start_ns : first_ns;
        last_ns = run->start_ns > last_ns ? run->start_ns : last_ns;
    }
    for (size_t i = 0; i < perf->row_count; i++) {
        const struct perf_row *row = &perf->rows[i];
        const struct op_run *run = row->is_merged ? perf_run(perf, row) : NULL;
        if (run && run->start_ns >= first_ns && run->start_ns <= last_ns && !isnan(perf_time_us(row)) &&
            !(run->faults & OP_FAULT_STALE))
            count = add_runs(perf, row, false, intervals, count);
    }
    return count;
}

/* What is left of the ops' times without it, and the gaps between them, are the time that passed. */
static int fill_track_overlap(struct perf *perf, struct error *err)
{
    struct interval *intervals = malloc((perf->ops->run_count + 1) * sizeof *intervals);
    if (!intervals)
        return error_set(err, ENOMEM, "no memory for the overlap of %zu ops", perf->count);
    size_t count = add_all_runs(perf, intervals);
    if (count)
        qsort(intervals, count, sizeof *intervals, compare_intervals);
    double covered_until = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && intervals[i].device != intervals[i - 1].device)
            covered_until = -INFINITY;
        double end_ns = intervals[i].end_ns;
        double overlap = fmin(covered_until, end_ns) - intervals[i].start_ns;
        perf->overlap_us += overlap > 0 && intervals[i].is_shown ? overlap / 1000 : 0;
        covered_until = fmax(covered_until, end_ns);
    }
    free(intervals);
    return 0;
}

/* --- sums --- */

/* From here on gaps hide everything else: shares of the run would say nothing about the ops. */
#define DOMINANT_GAP_SHARE 0.95
/* No dispatch takes that long on average: the host compiled, or loaded something. */
#define COMPILATION_GAP_US 1000.0

static void fill_sums(struct perf *perf)
{
    uint64_t gaps = 0, runs = 0, estimated = 0;
    perf->total_time_us = perf->total_gap_us = perf->total_flops = perf->total_dram_bytes = 0;
    for (size_t i = 0; i < perf->count; i++) {
        const struct perf_row *row = perf_at(perf, i);
        const struct perf_work *work = perf_work_of(perf, row);
        double time_us = perf_time_us(row);
        runs += perf_run(perf, row) != NULL;
        estimated += perf_is_estimated(perf, row);
        if (!isnan(time_us)) {
            perf->total_time_us += time_us;
            perf->total_flops += work->flops > 0 ? work->flops : 0;
            perf->total_dram_bytes += work->dram_bytes > 0 ? work->dram_bytes : 0;
        }
        if (row->shown_gap_us > 0) {
            perf->total_gap_us += row->shown_gap_us;
            gaps++;
        }
    }
    perf->busy_us = perf->total_time_us - perf->overlap_us;
    perf->total_us = (perf->has_sub_devices ? perf->total_time_us : perf->busy_us) + perf->total_gap_us;
    perf->gaps_dominate = perf->total_time_us > 0 && perf->total_gap_us > DOMINANT_GAP_SHARE * perf->total_us;
    perf->is_estimate = runs && estimated == runs;
    perf->looks_like_compilation =
        perf->gaps_dominate && !perf->is_estimate && perf->total_gap_us > COMPILATION_GAP_US * (double)gaps;
}

double perf_total_percent(const struct perf *perf, const struct perf_row *row)
{
    double whole_us = perf->gaps_dominate ? perf->total_time_us : perf->total_us, time_us = perf_time_us(row);
    double time = isnan(time_us) ? 0 : time_us;
    double gap = row->shown_gap_us > 0 && !perf->gaps_dominate ? row->shown_gap_us : 0;
    bool is_blank = isnan(time_us) && isnan(row->shown_gap_us);
    return is_blank || !(whole_us > 0) ? NAN : (time + gap) / whole_us * 100;
}

int perf_fill_figures(struct perf *perf, struct error *err)
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
    else
        status = fill_track_overlap(perf, err);
    fill_sums(perf);
    if (!status)
        status = perf_find_cached(perf, err);
    if (!status)
        perf_find_bounds(perf);
    return status;
}
