/* SPDX-License-Identifier: Apache-2.0 */
/* Ranked advice. Every op is looked at once for its time and once for the gap before it; what is said about equal
 * ops (same rule, same name and shape) is one line with the sum of their gains. No microsecond is counted twice, so
 * that the total is what doing all of it would save.
 *
 * The gain of a rule about an op's own time is what is left of it at the target share of its roofline: the longest
 * of the times that DRAM, arithmetic (on all cores it may use) and links need. */
#include "analyze/report/advice.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report/internal.h"

const struct perf_rule perf_rules[] = {
    [PERF_RULE_GAP] = {"gap", "the device waited longer before the op than the machine's gap mark",
                       "the gaps, less what is left of each when the host keeps up (gap floor)"},
    [PERF_RULE_HOST] = {"host", "the op ran on the host",
                        "the recorded host time, as far as it lies in the gap after it"},
    [PERF_RULE_FIDELITY] =
        {"fidelity", "FLOPs bound the op and a faster fidelity keeps all bits of its data types",
         "the time in the ratio of the two peaks, not below the DRAM roofline at the target"},
    [PERF_RULE_DRAM] =
        {"dram", "a matmul below the target whose longest roofline is DRAM and that is not DRAM-sharded",
         "time - DRAM time / target"},
    [PERF_RULE_CORES] = {"cores", "an op below the target that uses less than half of the cores it may use",
                         "time - roofline time on all those cores / target"},
    [PERF_RULE_MATMUL] = {"matmul", "a matmul below the target: where its inputs lie and how its work is cut",
                          "time - roofline time / target"},
    [PERF_RULE_LINK] = {"link", "a collective below the target of its links", "time - link time / target"},
    [PERF_RULE_LAYOUT] = {"layout", "an op that only moves data or changes its layout, below the target",
                          "time - DRAM time / target, or all of it where the data never leaves the cores"},
    [PERF_RULE_SLOW] = {"slow", "any other op below the target of each of its rooflines",
                        "time - roofline time / target"},
    [PERF_RULE_MODEL] = {"model", "an estimated op below 5 % of each of its rooflines",
                         "none: nothing can be advised of an op whose estimate explains nothing"},
};

#define PERF_UNEXPLAINED_PERCENT 5.0

/* A finding about a row: what is said of it is kept in the row, and its gain in the line for equal ops. */
struct findings {
    struct perf *perf;
    struct map lines; /* by rule and what is shown: in perf.advice */
    double *most;     /* per line: the largest gain */
    size_t most_capacity;
    bool failed;
};

static struct perf_advice *find_line(struct findings *findings, enum perf_rule_id rule, size_t row,
                                     uint32_t shown, double **most)
{
    struct perf *perf = findings->perf;
    uint64_t key = (uint64_t)rule << 32 | shown;
    uint32_t id = map_get(&findings->lines, key);
    if (id == MAP_NONE) {
        id = (uint32_t)perf->advice_count;
        if (!array_reserve(&perf->advice, &perf->advice_capacity, perf->advice_count + 1,
                           sizeof *perf->advice) ||
            !array_reserve(&findings->most, &findings->most_capacity, perf->advice_count + 1,
                           sizeof *findings->most) ||
            !map_put(&findings->lines, key, id)) {
            findings->failed = true;
            return NULL;
        }
        perf->advice[perf->advice_count++] =
            (struct perf_advice){.rule = rule, .shown = shown, .row = (uint32_t)row};
        findings->most[id] = 0;
    }
    *most = &findings->most[id];
    return &perf->advice[id];
}

static void found(struct findings *findings, enum perf_rule_id rule, size_t row, double gain_us,
                  double time_us)
{
    struct perf *perf = findings->perf;
    /* What is in doubt saves nothing: of those the longest is the most. */
    double weight = rule == PERF_RULE_MODEL ? time_us : gain_us;
    if (!(weight > 0) || findings->failed)
        return;
    struct perf_row *about = perf_at(perf, row);
    uint32_t shown = perf_work_of(perf, about)->shown;
    double *most;
    /* All gaps have one cause: they are one line. */
    struct perf_advice *advice =
        find_line(findings, rule, row, rule == PERF_RULE_GAP ? OPS_NONE : shown, &most);
    if (!advice)
        return;
    if (weight > *most) {
        *most = weight;
        advice->row = (uint32_t)row;
        advice->shown = shown;
    }
    advice->count++;
    advice->gain_us += gain_us;
    advice->time_us += time_us;
    if (rule == PERF_RULE_GAP) {
        about->gap_gain_us = (float)gain_us;
    } else {
        about->advice_rule_plus_1 = (uint8_t)(rule + 1);
        about->advice_gain_us = (float)gain_us;
    }
}

/* The fidelity that is enough for the op's data types, when that is a faster one. */
static double fidelity_gain(const struct perf *perf, const struct perf_row *row, const struct perf_work *work)
{
    struct perf_matmul matmul = perf_matmul_of(perf, row);
    const char *text;
    if (!work->is_matmul || perf_fidelity_verdict(&matmul, &text) != PERF_VERDICT_TOO_HIGH)
        return 0;
    unsigned enough = strncmp(text, "LoFi", 4) == 0 ? PERF_LOFI : PERF_HIFI2;
    const double *peaks = perf->machine->tflops_per_core;
    double time_us = perf_time_us(row);
    double memory_us = perf_memory_us(perf, row) / (perf->options.target_percent / 100);
    return time_us - fmax(time_us * peaks[work->fidelity] / peaks[enough], memory_us);
}

static enum perf_rule_id rule_of(const struct perf *perf, const struct perf_row *row,
                                 const struct perf_work *work, double ideal_us)
{
    double budget = perf_core_budget(perf, row), cores = perf_cores(perf, row);
    double memory_us = perf_memory_us(perf, row);
    if (work->class_ == PERF_CLASS_COLLECTIVE)
        return PERF_RULE_LINK;
    if (cores > 0 && cores < budget / 2 && !work->is_dram_sharded)
        return PERF_RULE_CORES;
    if (work->class_ == PERF_CLASS_MATMUL && !work->is_dram_sharded && memory_us >= ideal_us)
        return PERF_RULE_DRAM;
    return work->is_matmul ? PERF_RULE_MATMUL : PERF_RULE_SLOW;
}

/* Neither memory nor arithmetic is why the model says that it takes so long. */
static bool is_unexplained(const struct perf *perf, const struct perf_row *row,
                           const struct perf_figures *figures)
{
    double most =
        fmax(fmax(figures->dram_percent, figures->cache_percent),
             fmax(figures->flops_percent, figures->link_percent)); /* fmax leaves out what is no number */
    return perf_is_estimated(perf, row) && most < PERF_UNEXPLAINED_PERCENT;
}

static void look_at_time(struct findings *findings, size_t i)
{
    const struct perf *perf = findings->perf;
    const struct perf_row *row = perf_at(perf, i);
    const struct perf_work *work = perf_work_of(perf, row);
    struct perf_figures figures = perf_figures(perf, row);
    double target = perf->options.target_percent, time_us = perf_time_us(row);
    double gain = time_us - figures.ideal_us / (target / 100);
    if (isnan(time_us) || !perf->has_machine || row->doubt)
        return;
    if (is_unexplained(perf, row, &figures)) {
        found(findings, PERF_RULE_MODEL, i, 0, time_us);
        return;
    }
    if (figures.flops_percent >= target) {
        found(findings, PERF_RULE_FIDELITY, i, fidelity_gain(perf, row, work), time_us);
        return;
    }
    if (work->class_ == PERF_CLASS_MOVE) {
        /* Without DRAM traffic there is no roofline: data that stays on the cores need not have moved. */
        found(findings, PERF_RULE_LAYOUT, i, isnan(figures.ideal_us) ? time_us : gain, time_us);
        return;
    }
    if (figures.dram_percent >= target || figures.cache_percent >= target || figures.link_percent >= target ||
        isnan(gain))
        return;
    found(findings, rule_of(perf, row, work, figures.ideal_us), i, gain, time_us);
}

/* Frameworks mark what they do with ranges of their own, beside their ops: nobody can use another op instead. */
static bool is_range_of_torch(const struct perf *perf, const struct perf_row *row, bool has_torch)
{
    return has_torch && !perf_work_of(perf, row)->is_torch;
}

static bool has_torch_ops(const struct perf *perf)
{
    bool is_any = false;
    for (size_t i = 0; i < perf->work_count && !is_any; i++)
        is_any = perf->works[i].is_torch;
    return is_any;
}

/* A host op that launched what comes after it, from inside, does not stand in its way: the device works for it. */
static bool is_inside(const struct perf *perf, const struct perf_row *row, const struct perf_row *host)
{
    const struct op_call *call = perf_call(perf, row), *outer = perf_call(perf, host);
    return call && outer && call->track == outer->track && call->process == outer->process &&
           !((call->faults | outer->faults) & OP_FAULT_NO_HOST_TIME) && call->start_ns >= outer->start_ns &&
           call->start_ns < outer->end_ns;
}

static void look_at_rows(struct findings *findings)
{
    const struct perf *perf = findings->perf;
    double host_us = 0; /* of host ops since the last device op */
    size_t host_row = 0;
    bool has_torch = has_torch_ops(perf);
    for (size_t i = 0; i < perf->count; i++) {
        const struct perf_row *row = perf_at(perf, i);
        if (row->kind == PERF_SIGNPOST)
            continue;
        if (row->kind == PERF_HOST_OP) {
            double host_ns = perf_host_ns(perf, row), time = host_ns > 0 ? host_ns / 1000 : 0;
            if (time > 0 && !is_range_of_torch(perf, row, has_torch)) {
                host_us = time;
                host_row = i;
            }
            continue;
        }
        if (host_us > 0 && is_inside(perf, row, perf_at(perf, host_row)))
            host_us = 0;
        double gap = row->shown_gap_us > perf->machine->gap_mark_us && !perf_is_estimated(perf, row)
                         ? row->shown_gap_us - perf->machine->gap_floor_us
                         : 0;
        /* Host ops fill the gap after them: that part is theirs. */
        double host_part = gap < host_us ? gap : host_us;
        found(findings, PERF_RULE_HOST, host_row, host_part, host_us);
        found(findings, PERF_RULE_GAP, i, gap - host_part, row->shown_gap_us);
        host_us = 0;
        look_at_time(findings, i);
    }
}

/* --- lines --- */

static double weight_us(const struct perf_advice *advice)
{
    return advice->rule == PERF_RULE_MODEL ? advice->time_us : advice->gain_us;
}

static int compare_gain(const void *a, const void *b)
{
    const struct perf_advice *left = a, *right = b;
    double left_us = weight_us(left), right_us = weight_us(right);
    if (left_us != right_us)
        return left_us > right_us ? -1 : 1;
    if (left->row != right->row)
        return left->row < right->row ? -1 : 1;
    return left->rule < right->rule ? -1 : left->rule > right->rule;
}

static int compare_rules(const void *a, const void *b)
{
    const struct perf_advice *left = a, *right = b;
    if (left->rule != right->rule)
        return left->rule < right->rule ? -1 : 1;
    return left->shown < right->shown ? -1 : left->shown > right->shown;
}

/* Sums are made in one order whatever the order of the ops was. */
static void sum_up(struct perf *perf)
{
    if (perf->advice_count)
        qsort(perf->advice, perf->advice_count, sizeof *perf->advice, compare_rules);
    for (size_t i = 0; i < perf->advice_count; i++) {
        struct perf_advice *advice = &perf->advice[i];
        bool is_gap = advice->rule == PERF_RULE_GAP;
        double whole_us = perf->gaps_dominate && !is_gap ? perf->total_time_us : perf->total_us;
        advice->gain_percent = whole_us > 0 ? advice->gain_us / whole_us * 100 : 0;
        advice->weight_percent = whole_us > 0 ? weight_us(advice) / whole_us * 100 : 0;
        perf->advice_gain_us += advice->gain_us;
        perf->advice_gap_gain_us += is_gap ? advice->gain_us : 0;
    }
    if (perf->advice_count)
        qsort(perf->advice, perf->advice_count, sizeof *perf->advice, compare_gain);
}

/* One run of many that took long says something else than that all do: of ops that have advice, the fastest as well. */
static bool find_fastest(struct perf *perf)
{
    double *fastest = malloc((perf->ops->texts.count + 1) * sizeof *fastest);
    if (!fastest)
        return false;
    for (size_t i = 0; i <= perf->ops->texts.count; i++)
        fastest[i] = NAN;
    for (size_t i = 0; i < perf->count; i++) {
        const struct perf_row *row = perf_at(perf, i);
        uint32_t shown = row->kind == PERF_SIGNPOST ? OPS_NONE : perf_work_of(perf, row)->shown;
        double time_us = perf_time_us(row);
        if (shown < perf->ops->texts.count && time_us > 0)
            fastest[shown] = fmin(fastest[shown], time_us); /* a NaN gives way */
    }
    for (size_t i = 0; i < perf->advice_count; i++) {
        struct perf_advice *advice = &perf->advice[i];
        bool is_op = advice->rule != PERF_RULE_GAP && advice->shown < perf->ops->texts.count;
        advice->fastest_us = is_op ? fastest[advice->shown] : NAN;
    }
    free(fastest);
    return true;
}

int perf_make_advice(struct perf *perf, struct error *err)
{
    struct findings findings = {.perf = perf};
    look_at_rows(&findings);
    findings.failed |= !findings.failed && !find_fastest(perf);
    map_free(&findings.lines);
    free(findings.most);
    if (findings.failed)
        return error_no_memory(err, "the advice");
    sum_up(perf);
    return 0;
}
