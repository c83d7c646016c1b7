/* SPDX-License-Identifier: Apache-2.0 */
/* What each op reached of the machine's rooflines, what bounds it, and where the figures are no verdict. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyze/report/internal.h"
#include "text/csv/cell.h"

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

static double peak_tflops(const struct perf *perf, const struct perf_work *work, double cores)
{
    const struct machine *machine = perf->machine;
    const char *type = perf_text(perf, work->types[0]);
    if (machine->fp64_tflops_per_core > 0 && strcmp(type, "FLOAT64") == 0)
        return machine->fp64_tflops_per_core * cores;
    if (!is_matrix_class(work->class_))
        return machine->vector_tflops_per_core * cores;
    if (machine->fp16_tflops_per_core > 0 && strcmp(type, "FLOAT16") == 0)
        return machine->fp16_tflops_per_core * cores;
    unsigned fidelity = work->fidelity;
    if (fidelity == PERF_FIDELITY_UNKNOWN && machine->dram_sharded_cores == 0)
        fidelity = fidelity_by_type(type);
    return fidelity == PERF_FIDELITY_UNKNOWN ? NAN : machine->tflops_per_core[fidelity] * cores;
}

/* Of two that may be missing (fmax is a call of the library). */
static inline double longer(double a, double b)
{
    return b > a || isnan(a) ? b : a;
}

double perf_memory_us(const struct perf *perf, const struct perf_row *row)
{
    const struct perf_work *work = perf_work_of(perf, row);
    double gb_s =
        row->cache_plus_1 ? perf->machine->caches[row->cache_plus_1 - 1].gb_s : perf->machine->dram_gb_s;
    return work->dram_bytes > 0 ? work->dram_bytes / gb_s / 1e3 : 0;
}

/* Shares of what the machine can do, and the time that it would need. */
static void fill_shares_of_roofs(const struct perf *perf, const struct perf_row *row,
                                 const struct perf_work *work, struct perf_figures *figures)
{
    const struct machine *machine = perf->machine;
    double own_cores = perf_cores(perf, row), budget = perf_core_budget(perf, row), ideal = 0;
    double cores =
        work->is_dram_sharded && machine->dram_sharded_cores > 0 ? machine->dram_sharded_cores : own_cores;
    if (work->dram_bytes > 0 && row->cache_plus_1) {
        double gb_s = machine->caches[row->cache_plus_1 - 1].gb_s;
        figures->cache_percent = figures->dram_gb_s / gb_s * 100;
        ideal = longer(ideal, work->dram_bytes / gb_s / 1e3);
    } else if (work->dram_bytes > 0) {
        figures->dram_percent = figures->dram_gb_s / machine->dram_gb_s * 100;
        ideal = longer(ideal, work->dram_bytes / machine->dram_gb_s / 1e3);
    }
    if (work->flops >= 0) {
        figures->flops_percent = figures->tflops / peak_tflops(perf, work, cores > 0 ? cores : budget) * 100;
        ideal = longer(ideal, work->flops / (peak_tflops(perf, work, budget) * 1e6));
    }
    if (work->link_bytes > 0 && machine->link_gb_s > 0) {
        double links = work->link_count > 0 ? (double)work->link_count : machine->link_count;
        figures->link_percent = figures->link_gb_s / (machine->link_gb_s * links) * 100;
        ideal = longer(ideal, work->link_bytes / (machine->link_gb_s * links) / 1e3);
    }
    if (ideal > 0 && !row->doubt)
        figures->ideal_us = ideal;
}

struct perf_figures perf_figures(const struct perf *perf, const struct perf_row *row)
{
    struct perf_figures figures = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    const struct perf_work *work = perf_work_of(perf, row);
    double time_us = perf_time_us(row), seconds = time_us * 1e-6;
    if (!(time_us > 0))
        return figures;
    if (work->dram_bytes > 0)
        figures.dram_gb_s = work->dram_bytes / seconds / 1e9;
    if (work->flops >= 0)
        figures.tflops = work->flops / seconds / 1e12;
    if (work->link_bytes > 0 && (!perf->has_machine || perf->machine->link_gb_s > 0))
        figures.link_gb_s = work->link_bytes / seconds / 1e9;
    if (perf->has_machine)
        fill_shares_of_roofs(perf, row, work, &figures);
    return figures;
}

/* --- what bounds it --- */

/* The last-level cache of a large socket (EPYC 7003 has 256 MiB): tensors of more bytes come from memory. */
#define CACHE_BYTES (256.0 * 1024 * 1024)

/* What is 0 because a tensor says nothing of its size is not known either. */
static bool is_work_known(const struct perf_work *work)
{
    bool are_bytes_known =
        work->dram_bytes > 0 || (work->dram_bytes >= 0 && !(work->model_flags & PERF_BYTES_AT_LEAST));
    return !work->is_without_work && (are_bytes_known || work->flops >= 0 || work->link_bytes > 0);
}

static bool can_be_bound(const struct perf *perf, const struct perf_row *row)
{
    const struct perf_work *work = perf_work_of(perf, row);
    return row->kind == PERF_DEVICE_OP && perf->has_machine && perf_time_us(row) > 0 && is_work_known(work) &&
           !((work->is_matmul || work->is_conv) && !work->has_shape);
}

/* Of DRAM, or of the cache that takes its place. */
static double memory_percent(const struct perf_figures *figures)
{
    return isnan(figures->cache_percent) ? figures->dram_percent : figures->cache_percent;
}

static bool has_caches(const struct machine *machine)
{
    bool is_any = false;
    for (unsigned i = 0; i < MACHINE_CACHES; i++)
        is_any |= machine->caches[i].bytes > 0;
    return is_any;
}

static enum perf_doubt at_most(const struct perf_work *work)
{
    return work->class_ == PERF_CLASS_ATTENTION ? PERF_DOUBT_KV_CACHE : PERF_DOUBT_AT_MOST;
}

/* Why more bytes are counted than the memory can have moved. */
static enum perf_doubt memory_doubt(const struct perf *perf, const struct perf_row *row, double percent)
{
    const struct perf_work *work = perf_work_of(perf, row);
    bool has_own_memory =
        perf->machine->dram_sharded_cores > 0 || perf->machine->estimate.kind == ESTIMATE_DMA;
    bool has_hidden_caches = !has_own_memory && !has_caches(perf->machine);
    if (work->model_flags & PERF_BYTES_AT_MOST)
        return at_most(work);
    if ((double)work->unpadded < 1 && percent * (double)work->unpadded <= PERF_MOST_PERCENT)
        return PERF_DOUBT_PADDING;
    return has_hidden_caches && work->dram_bytes <= CACHE_BYTES ? PERF_DOUBT_NO_CACHES : PERF_DOUBT_MEMORY;
}

struct verdict {
    enum perf_bound bound;
    enum perf_doubt doubt;
};

/* Rooflines that are reached, as far as that is sure. */
static struct verdict judge(const struct perf *perf, const struct perf_row *row,
                            const struct perf_figures *figures)
{
    const struct perf_work *work = perf_work_of(perf, row);
    double target = perf->options.target_percent, memory = memory_percent(figures);
    bool has_memory = memory >= target, has_flops = figures->flops_percent >= target;
    bool is_memory = has_memory && !(work->model_flags & PERF_BYTES_AT_MOST);
    bool is_flops = has_flops && !(work->model_flags & PERF_FLOPS_AT_MOST);
    if (memory > PERF_MOST_PERCENT)
        return (struct verdict){PERF_BOUND_NONE, memory_doubt(perf, row, memory)};
    if (figures->flops_percent > PERF_MOST_PERCENT)
        return (struct verdict){PERF_BOUND_NONE,
                                work->model_flags & PERF_FLOPS_AT_MOST ? at_most(work) : PERF_DOUBT_FLOPS};
    if (figures->link_percent > PERF_MOST_PERCENT)
        return (struct verdict){PERF_BOUND_NONE, PERF_DOUBT_LINK};
    if (is_memory && row->cache_plus_1)
        return (struct verdict){row->cache_plus_1 == 1 ? PERF_BOUND_L2 : PERF_BOUND_L3, PERF_NO_DOUBT};
    if (is_memory || is_flops)
        return (struct verdict){is_memory && is_flops ? PERF_BOUND_BOTH
                                : is_memory           ? PERF_BOUND_DRAM
                                                      : PERF_BOUND_FLOP,
                                PERF_NO_DOUBT};
    if (has_memory || has_flops)
        return (struct verdict){PERF_BOUND_NONE, at_most(work)};
    return (struct verdict){figures->link_percent >= target ? PERF_BOUND_LINK : PERF_BOUND_SLOW,
                            PERF_NO_DOUBT};
}

static struct verdict verdict_of(const struct perf *perf, const struct perf_row *row,
                                 const struct perf_figures *figures)
{
    double time_us = perf_time_us(row);
    struct verdict verdict = {PERF_BOUND_NONE, PERF_NO_DOUBT};
    if (row->kind == PERF_HOST_OP)
        return (struct verdict){PERF_BOUND_HOST, PERF_NO_DOUBT};
    if (can_be_bound(perf, row))
        verdict = judge(perf, row, figures);
    if (row->shown_gap_us > time_us && row->shown_gap_us > perf->machine->gap_mark_us &&
        !perf->gaps_dominate && !perf_is_estimated(perf, row))
        verdict.bound = PERF_BOUND_GAP;
    return verdict;
}

/* --- what is said of those in doubt --- */

struct doubtful { /* ops of one doubt */
    const struct perf_row *most;
    const char *roof;
    double percent, time_us;
    size_t count;
};

const char *perf_doubt_text(unsigned doubt)
{
    static const char *const texts[PERF_DOUBTS] = {
        [PERF_NO_DOUBT] = "",
        [PERF_DOUBT_AT_MOST] =
            "the model counts at most what it does, and it need not touch all of its tensors",
        [PERF_DOUBT_KV_CACHE] =
            "the model counts the whole KV cache: how much of it was in use is not recorded",
        [PERF_DOUBT_PADDING] = "the model counts padding, which it need not touch",
        [PERF_DOUBT_NO_CACHES] =
            "its data fits in a cache, and the machine file says nothing of caches (opscope machine measure)",
        [PERF_DOUBT_MEMORY] = "it moved less than the model counts, or ran on another machine",
        [PERF_DOUBT_FLOPS] =
            "it computed less than the model counts, had more cores than it says, or ran on another machine",
        [PERF_DOUBT_LINK] = "less went over its links than the model counts, or it had more links",
    };
    return doubt < PERF_DOUBTS ? texts[doubt] : "";
}

/* The figure that is in doubt. */
static double doubtful_percent(const struct perf_row *row, enum perf_doubt doubt,
                               const struct perf_figures *figures, const char **roof)
{
    double memory = memory_percent(figures), flops = figures->flops_percent;
    bool is_either = doubt == PERF_DOUBT_AT_MOST || doubt == PERF_DOUBT_KV_CACHE;
    *roof = row->cache_plus_1 ? "cache bandwidth" : "DRAM bandwidth";
    if (doubt == PERF_DOUBT_LINK) {
        *roof = "link bandwidth";
        return figures->link_percent;
    }
    if (doubt != PERF_DOUBT_FLOPS && (!is_either || !(longer(memory, flops) == flops)))
        return memory;
    *roof = "FLOPs";
    return flops;
}

static void add_doubtful(struct doubtful *found, const struct perf_row *row, enum perf_doubt doubt,
                         const struct perf_figures *figures)
{
    const char *roof;
    double percent = doubtful_percent(row, doubt, figures, &roof);
    found->count++;
    found->time_us += perf_time_us(row);
    if (percent <= found->percent)
        return;
    found->percent = percent;
    found->most = row;
    found->roof = roof;
}

static void note_doubtful(struct perf *perf, const struct doubtful *found, unsigned doubt)
{
    bool is_impossible = found->percent > PERF_MOST_PERCENT, is_one = found->count == 1;
    if (found->count)
        perf_note(perf, is_impossible ? PERF_NOTE_WARN : PERF_NOTE_INFO, NULL,
                  "%zu op%s of %.1f us reach%s %s of what %s can do, %s %.0f %% of its %s (%.60s, id %" PRIu32
                  "): %s; no bound, and no advice",
                  found->count, is_one ? "" : "s", found->time_us, is_one ? "es" : "",
                  is_impossible ? "more than 100 %" : "the target by a figure that is at most so much",
                  perf->machine->name, is_one ? "namely" : "up to", found->percent, found->roof,
                  perf_text(perf, perf_work_of(perf, found->most)->shown), found->most->id,
                  perf_doubt_text(doubt));
}

/* What did not come from DRAM, or is not sure, is no part of what the whole run moved and computed. */
static void leave_out_of_sums(struct perf *perf, const struct perf_row *row)
{
    const struct perf_work *work = perf_work_of(perf, row);
    if (isnan(perf_time_us(row)))
        return;
    if (work->dram_bytes > 0 && (row->doubt || row->cache_plus_1))
        perf->total_dram_bytes -= work->dram_bytes;
    if (work->flops > 0 && row->doubt)
        perf->total_flops -= work->flops;
}

void perf_find_bounds(struct perf *perf)
{
    struct doubtful found[PERF_DOUBTS] = {0};
    for (size_t i = 0; i < perf->count; i++) {
        struct perf_row *row = perf_at(perf, i);
        struct perf_figures figures = perf_figures(perf, row);
        struct verdict verdict = verdict_of(perf, row, &figures);
        row->bound = (uint8_t)verdict.bound;
        row->doubt = (uint8_t)verdict.doubt;
        perf->doubt_count += verdict.doubt != PERF_NO_DOUBT;
        leave_out_of_sums(perf, row);
        if (verdict.doubt)
            add_doubtful(&found[verdict.doubt], row, verdict.doubt, &figures);
    }
    for (unsigned doubt = 1; doubt < PERF_DOUBTS; doubt++)
        note_doubtful(perf, &found[doubt], doubt);
}
