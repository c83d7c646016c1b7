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
};
const size_t perf_rule_count = sizeof perf_rules / sizeof perf_rules[0];

/* One finding about one row. */
struct finding {
    uint32_t rule, shown, row;
    double gain_us, time_us;
};

struct findings {
    struct finding *items;
    size_t count, capacity;
    bool failed;
};

static void found(struct findings *findings, enum perf_rule_id rule, const struct perf *perf, size_t row,
                  double gain_us, double time_us)
{
    if (!(gain_us > 0) || findings->failed)
        return;
    if (!array_reserve(&findings->items, &findings->capacity, findings->count + 1, sizeof *findings->items)) {
        findings->failed = true;
        return;
    }
    /* All gaps have one cause: they are one line. */
    uint32_t shown = rule == PERF_RULE_GAP ? OPS_NONE : perf_work_of(perf, perf_at(perf, row))->shown;
    findings->items[findings->count++] = (struct finding){rule, shown, (uint32_t)row, gain_us, time_us};
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
    double dram_us = work->dram_bytes > 0 ? work->dram_bytes / perf->machine->dram_gb_s / 1e3 /
                                                (perf->options.target_percent / 100)
                                          : 0;
    return time_us - fmax(time_us * peaks[work->fidelity] / peaks[enough], dram_us);
}

static enum perf_rule_id rule_of(const struct perf *perf, const struct perf_row *row,
                                 const struct perf_work *work, double ideal_us)
{
    double budget = perf_core_budget(perf, row), cores = perf_cores(perf, row);
    double dram_us = work->dram_bytes > 0 ? work->dram_bytes / perf->machine->dram_gb_s / 1e3 : 0;
    if (work->class_ == PERF_CLASS_COLLECTIVE)
        return PERF_RULE_LINK;
    if (cores > 0 && cores < budget / 2 && !work->is_dram_sharded)
        return PERF_RULE_CORES;
    if (work->class_ == PERF_CLASS_MATMUL && !work->is_dram_sharded && dram_us >= ideal_us)
        return PERF_RULE_DRAM;
    return work->is_matmul ? PERF_RULE_MATMUL : PERF_RULE_SLOW;
}

static void look_at_time(struct findings *findings, const struct perf *perf, size_t i)
{
    const struct perf_row *row = perf_at(perf, i);
    const struct perf_work *work = perf_work_of(perf, row);
    struct perf_figures figures = perf_figures(perf, row);
    double target = perf->options.target_percent, time_us = perf_time_us(row);
    double gain = time_us - figures.ideal_us / (target / 100);
    if (isnan(time_us) || !perf->has_machine)
        return;
    if (figures.flops_percent >= target) {
        found(findings, PERF_RULE_FIDELITY, perf, i, fidelity_gain(perf, row, work), time_us);
        return;
    }
    if (work->class_ == PERF_CLASS_MOVE) {
        /* Without DRAM traffic there is no roofline: data that stays on the cores need not have moved. */
        found(findings, PERF_RULE_LAYOUT, perf, i, isnan(figures.ideal_us) ? time_us : gain, time_us);
        return;
    }
    if (figures.dram_percent >= target || figures.link_percent >= target || isnan(gain))
        return;
    found(findings, rule_of(perf, row, work, figures.ideal_us), perf, i, gain, time_us);
}

static void look_at_rows(struct findings *findings, const struct perf *perf)
{
    double host_us = 0; /* of host ops since the last device op */
    size_t host_row = 0;
    for (size_t i = 0; i < perf->count; i++) {
        const struct perf_row *row = perf_at(perf, i);
        if (row->kind == PERF_SIGNPOST)
            continue;
        if (row->kind == PERF_HOST_OP) {
            double host_ns = perf_host_ns(perf, row), time = host_ns > 0 ? host_ns / 1000 : 0;
            if (time > 0) {
                host_us = time;
                host_row = i;
            }
            continue;
        }
        double gap = row->shown_gap_us > perf->machine->gap_mark_us
                         ? row->shown_gap_us - perf->machine->gap_floor_us
                         : 0;
        /* Host ops fill the gap after them: that part is theirs. */
        double host_part = fmin(gap, host_us);
        found(findings, PERF_RULE_HOST, perf, host_row, host_part, host_us);
        found(findings, PERF_RULE_GAP, perf, i, gap - host_part, row->shown_gap_us);
        host_us = 0;
        look_at_time(findings, perf, i);
    }
}

/* --- lines --- */

/* Each row keeps what is said of it. */
static void mark_rows(struct perf *perf, const struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        struct perf_row *row = perf_at(perf, finding->row);
        if (finding->rule == PERF_RULE_GAP) {
            row->gap_gain_us = (float)finding->gain_us;
        } else {
            row->advice_rule_plus_1 = (uint8_t)(finding->rule + 1);
            row->advice_gain_us = (float)finding->gain_us;
        }
    }
}

static int compare_findings(const void *a, const void *b)
{
    const struct finding *left = a, *right = b;
    if (left->rule != right->rule)
        return left->rule < right->rule ? -1 : 1;
    if (left->shown != right->shown)
        return left->shown < right->shown ? -1 : 1;
    return left->row < right->row ? -1 : left->row > right->row;
}

static int compare_gain(const void *a, const void *b)
{
    const struct perf_advice *left = a, *right = b;
    if (left->gain_us != right->gain_us)
        return left->gain_us > right->gain_us ? -1 : 1;
    return left->row < right->row ? -1 : left->row > right->row;
}

static bool add_lines(struct perf *perf, struct findings *findings)
{
    if (findings->count)
        qsort(findings->items, findings->count, sizeof *findings->items, compare_findings);
    for (size_t i = 0, end; i < findings->count; i = end) {
        const struct finding *first = &findings->items[i];
        if (!array_reserve(&perf->advice, &perf->advice_capacity, perf->advice_count + 1,
                           sizeof *perf->advice))
            return false;
        struct perf_advice *advice = &perf->advice[perf->advice_count++];
        double most = 0;
        *advice = (struct perf_advice){.rule = first->rule, .shown = first->shown, .row = first->row};
        for (end = i; end < findings->count && findings->items[end].rule == first->rule &&
                      findings->items[end].shown == first->shown;
             end++) {
            if (findings->items[end].gain_us > most) {
                most = findings->items[end].gain_us;
                advice->row = findings->items[end].row;
                advice->shown = perf_work_of(perf, perf_at(perf, advice->row))->shown;
            }
            advice->count++;
            advice->gain_us += findings->items[end].gain_us;
            advice->time_us += findings->items[end].time_us;
        }
        bool is_gap = first->rule == PERF_RULE_GAP;
        double whole_us = perf->gaps_dominate && !is_gap ? perf->total_time_us : perf->total_us;
        advice->gain_percent = whole_us > 0 ? advice->gain_us / whole_us * 100 : 0;
        perf->advice_gain_us += advice->gain_us;
        perf->advice_gap_gain_us += is_gap ? advice->gain_us : 0;
    }
    return true;
}

int perf_make_advice(struct perf *perf, struct error *err)
{
    struct findings findings = {0};
    look_at_rows(&findings, perf);
    mark_rows(perf, &findings);
    bool is_done = !findings.failed && add_lines(perf, &findings);
    free(findings.items);
    if (!is_done)
        return error_set(err, ENOMEM, "no memory for the advice");
    if (perf->advice_count)
        qsort(perf->advice, perf->advice_count, sizeof *perf->advice, compare_gain);
    return 0;
}
