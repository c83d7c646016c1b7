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

enum rule {
    RULE_GAP,
    RULE_HOST,
    RULE_FIDELITY,
    RULE_DRAM,
    RULE_CORES,
    RULE_MATMUL,
    RULE_LINK,
    RULE_LAYOUT,
    RULE_SLOW
};

const struct perf_rule perf_rules[] = {
    [RULE_GAP] = {"gap", "the device waited longer before the op than the machine's gap mark",
                  "the gaps, less what is left of each when the host keeps up (gap floor)"},
    [RULE_HOST] = {"host", "the op ran on the host",
                   "the recorded host time, as far as no gap behind it is counted already"},
    [RULE_FIDELITY] = {"fidelity",
                       "FLOPs bound the op and a faster fidelity keeps all bits of its data types",
                       "the time in the ratio of the two peaks, not below the DRAM roofline at the target"},
    [RULE_DRAM] = {"dram",
                   "a matmul below the target whose longest roofline is DRAM and that is not DRAM-sharded",
                   "time - DRAM time / target"},
    [RULE_CORES] = {"cores", "an op below the target that uses less than half of the cores it may use",
                    "time - roofline time on all those cores / target"},
    [RULE_MATMUL] = {"matmul", "a matmul below the target: where its inputs lie and how its work is cut",
                     "time - roofline time / target"},
    [RULE_LINK] = {"link", "a collective below the target of its links", "time - link time / target"},
    [RULE_LAYOUT] = {"layout", "an op that only moves data or changes its layout, below the target",
                     "time - DRAM time / target, or all of it where the data never leaves the cores"},
    [RULE_SLOW] = {"slow", "any other op below the target of each of its rooflines",
                   "time - roofline time / target"},
};
const size_t perf_rule_count = sizeof perf_rules / sizeof perf_rules[0];

bool perf_advice_is_shared(const struct perf_advice *advice)
{
    return advice->rule == RULE_GAP;
}

const char *perf_no_advice_text(const struct perf *perf)
{
    for (size_t i = 0; i < perf->count; i++) {
        if (!isnan(perf_at(perf, i)->ideal_us))
            return "nothing: every op whose roofline is known reaches the target";
    }
    return "nothing can be said: no op has a time and a roofline";
}

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

static void found(struct findings *findings, enum rule rule, const struct perf *perf, size_t row,
                  double gain_us, double time_us)
{
    if (!(gain_us > 0) || findings->failed)
        return;
    if (!array_reserve(&findings->items, &findings->capacity, findings->count + 1, sizeof *findings->items)) {
        findings->failed = true;
        return;
    }
    /* All gaps have one cause: they are one line. */
    uint32_t shown = rule == RULE_GAP ? PERF_NO_TEXT : perf_at(perf, row)->shown;
    findings->items[findings->count++] = (struct finding){rule, shown, (uint32_t)row, gain_us, time_us};
}

/* The fidelity that is enough for the op's data types, when that is a faster one. */
static double fidelity_gain(const struct perf *perf, const struct perf_row *row)
{
    const char *text;
    if (!row->is_matmul || perf_fidelity_verdict(perf, row, &text) != PERF_VERDICT_TOO_HIGH)
        return 0;
    unsigned enough = strncmp(text, "LoFi", 4) == 0 ? PERF_LOFI : PERF_HIFI2;
    const double *peaks = perf->machine->tflops_per_core;
    double dram_us = row->dram_bytes > 0 ? row->dram_bytes / perf->machine->dram_gb_s / 1e3 /
                                               (perf->options.target_percent / 100)
                                         : 0;
    return row->time_us - fmax(row->time_us * peaks[row->fidelity] / peaks[enough], dram_us);
}

static void look_at_time(struct findings *findings, const struct perf *perf, size_t i)
{
    const struct perf_row *row = perf_at(perf, i);
    double target = perf->options.target_percent / 100, budget = perf_core_budget(perf, row);
    double gain = row->time_us - row->ideal_us / target;
    double dram_us = row->dram_bytes > 0 ? row->dram_bytes / perf->machine->dram_gb_s / 1e3 : 0;
    if (isnan(row->time_us))
        return;
    if (row->flops_percent >= perf->options.target_percent) {
        found(findings, RULE_FIDELITY, perf, i, fidelity_gain(perf, row), row->time_us);
        return;
    }
    if (row->class_ == PERF_CLASS_MOVE) {
        /* Without DRAM traffic there is no roofline: data that stays on the cores need not have moved. */
        found(findings, RULE_LAYOUT, perf, i, isnan(row->ideal_us) ? row->time_us : gain, row->time_us);
        return;
    }
    if (row->dram_percent >= perf->options.target_percent ||
        row->link_percent >= perf->options.target_percent || isnan(gain))
        return;
    if (row->class_ == PERF_CLASS_COLLECTIVE)
        found(findings, RULE_LINK, perf, i, gain, row->time_us);
    else if (row->cores > 0 && row->cores < budget / 2 && !row->is_dram_sharded)
        found(findings, RULE_CORES, perf, i, gain, row->time_us);
    else if (row->class_ == PERF_CLASS_MATMUL && !row->is_dram_sharded && dram_us >= row->ideal_us)
        found(findings, RULE_DRAM, perf, i, gain, row->time_us);
    else if (row->is_matmul)
        found(findings, RULE_MATMUL, perf, i, gain, row->time_us);
    else
        found(findings, RULE_SLOW, perf, i, gain, row->time_us);
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
            double time = row->host_duration_ns > 0 ? row->host_duration_ns / 1000 : 0;
            if (time > 0) {
                host_us = time;
                host_row = i;
            }
            continue;
        }
        double gap = row->shown_gap_us > perf->machine->gap_mark_us
                         ? row->shown_gap_us - perf->machine->gap_floor_us
                         : 0;
        /* Host ops fill the gap behind them: that part is theirs. */
        double host_part = fmin(gap, host_us);
        found(findings, RULE_HOST, perf, host_row, host_part, host_us);
        found(findings, RULE_GAP, perf, i, gap - host_part, row->shown_gap_us);
        host_us = 0;
        look_at_time(findings, perf, i);
    }
}

/* --- words --- */

__attribute__((format(printf, 1, 2))) static char *words(const char *format, ...)
{
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return strdup(text);
}

static void append_figures(const struct perf *perf, const struct perf_row *row, struct bytes *out)
{
    const char *before = "";
    if (!isnan(row->dram_percent)) {
        bytes_append_format(out, "DRAM %.1f %% of %.0f GB/s", row->dram_percent, perf->machine->dram_gb_s);
        before = ", ";
    }
    if (!isnan(row->flops_percent)) {
        bytes_append_format(out, "%sFLOPs %.1f %%", before, row->flops_percent);
        before = ", ";
    }
    if (!isnan(row->link_percent)) {
        bytes_append_format(out, "%slinks %.1f %%", before, row->link_percent);
        before = ", ";
    }
    if (row->cores > 0)
        bytes_append_format(out, "%s%.0f of %.0f cores", before, row->cores, perf_core_budget(perf, row));
}

static char *trigger_of(const struct perf *perf, const struct perf_advice *advice)
{
    const struct perf_row *row = perf_at(perf, advice->first_row);
    struct bytes text = {0};
    switch (advice->rule) {
    case RULE_GAP:
        return words("gaps of more than %.1f us, %.1f us on average; the longest, %.1f us, before id %llu",
                     perf->machine->gap_mark_us, advice->time_us / advice->count, row->shown_gap_us,
                     (unsigned long long)row->id);
    case RULE_HOST:
        return words("%.1f us on the host on average", advice->time_us / advice->count);
    case RULE_LAYOUT:
        if (isnan(row->ideal_us))
            return words("%.1f us on average, nothing of it DRAM traffic", advice->time_us / advice->count);
        break;
    default:
        break;
    }
    append_figures(perf, row, &text);
    bytes_append_u8(&text, 0);
    char *made = text.failed ? NULL : words("%s", (const char *)text.data);
    bytes_free(&text);
    return made;
}

/* What can be changed about how a slow matmul is cut; a higher fidelity would not save time. */
static char *matmul_action(const struct perf *perf, const struct perf_row *row)
{
    struct perf_row slow = *row;
    struct perf_row_advice advice;
    struct bytes text = {0};
    const char *fidelity;
    bool is_too_high = perf_fidelity_verdict(perf, row, &fidelity) == PERF_VERDICT_TOO_HIGH;
    slow.bound = PERF_BOUND_SLOW;
    perf_compat_advice(perf, &slow, &advice);
    for (size_t i = 0; i < advice.count; i++) {
        bool is_fidelity = fidelity && strcmp(advice.texts[i], fidelity) == 0;
        if (!strstr(advice.texts[i], "as they should be") && (!is_fidelity || is_too_high))
            bytes_append_format(&text, "%s%s", text.length ? "; " : "", advice.texts[i]);
    }
    if (text.length == 0)
        bytes_append_text(&text,
                          "its blocks are cut as they should be: look at how its inputs reach the cores");
    bytes_append_u8(&text, 0);
    char *made = text.failed ? NULL : words("%s", (const char *)text.data);
    bytes_free(&text);
    return made;
}

static const char *slow_action(const struct perf *perf, const struct perf_row *row)
{
    double dram_us = row->dram_bytes > 0 ? row->dram_bytes / perf->machine->dram_gb_s / 1e3 : 0;
    if (dram_us >= row->ideal_us)
        return "keep its tensors in L1 between ops, or fuse it with the op that makes or uses them";
    if (row->class_ == PERF_CLASS_CONV)
        return "give each core larger blocks (act_block_h), double-buffer activations and weights, or lower the "
               "fidelity";
    if (row->class_ == PERF_CLASS_ATTENTION)
        return "use larger chunks of queries and keys for each core, or lower the fidelity";
    return "it is too small for its cores: fuse it with the op before or behind it";
}

static char *action_of(const struct perf *perf, const struct perf_advice *advice)
{
    const struct perf_row *row = perf_at(perf, advice->first_row);
    const char *text = NULL;
    switch (advice->rule) {
    case RULE_GAP:
        return words(
            "let the device run ahead of the host: replay a recorded trace, or dispatch without waiting for "
            "results");
    case RULE_HOST:
        return words("use an op that runs on the device, so that the data stays there");
    case RULE_FIDELITY:
        perf_fidelity_verdict(perf, row, &text);
        return words("%s", text ? text : "lower the math fidelity");
    case RULE_DRAM:
        return words(
            "read DRAM faster: a DRAM-sharded program config where there are few rows, else larger blocks "
            "with input 0 in L1; smaller weights (BFP8, BFP4) are less to read");
    case RULE_CORES:
        return words(
            "spread the work over more cores: a larger grid, or a shape that divides into more blocks");
    case RULE_MATMUL:
        return matmul_action(perf, row);
    case RULE_LINK:
        return isnan(row->link_count)
                   ? words("use more links (num_links) or a ring where the devices form one")
                   : words("use more links than %.0f, or a ring where the devices form one", row->link_count);
    case RULE_LAYOUT:
        if (strstr(perf_text(perf, row->op_code), "Halo"))
            return words(
                "it copies the edges that the convolution behind it needs: larger shards have fewer edges");
        if (strstr(perf_text(perf, row->op_code), "Cache"))
            return words(
                "the cache has to be written: give it more cores, or let it write several steps at once");
        return words("leave it out: let the op before it write the layout that the op behind it reads");
    default:
        return words("%s", slow_action(perf, row));
    }
}

void perf_append_row_advice(const struct perf *perf, size_t i, struct bytes *out)
{
    const struct perf_row *row = perf_at(perf, i);
    struct perf_advice advice = {.first_row = (uint32_t)i};
    for (unsigned k = 0; k < 2; k++) {
        double gain_us = (double)(k == 0 ? row->advice_gain_us : row->gap_gain_us);
        if (!(gain_us > 0))
            continue;
        advice.rule = k == 0 ? (uint32_t)row->advice_rule_plus_1 - 1 : RULE_GAP;
        char *action = action_of(perf, &advice);
        bytes_append_format(out, "%s%s (saves %.1f us): %s",
                            k && row->advice_gain_us > 0 ? " \xe2\x80\xa2 " : "",
                            perf_rules[advice.rule].name, gain_us, action ? action : "");
        out->failed |= !action;
        free(action);
    }
}

/* --- lines --- */

/* Each row keeps what is said of it. */
static void mark_rows(struct perf *perf, const struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        struct perf_row *row = perf_at(perf, finding->row);
        if (finding->rule == RULE_GAP) {
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
    return left->first_row < right->first_row ? -1 : left->first_row > right->first_row;
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
        double longest = 0;
        *advice = (struct perf_advice){.rule = first->rule, .shown = first->shown, .first_row = first->row};
        for (end = i; end < findings->count && findings->items[end].rule == first->rule &&
                      findings->items[end].shown == first->shown;
             end++) {
            if (first->rule == RULE_GAP && findings->items[end].time_us > longest) {
                longest = findings->items[end].time_us;
                advice->first_row = findings->items[end].row;
                advice->shown = perf_at(perf, advice->first_row)->shown;
            }
            advice->count++;
            advice->gain_us += findings->items[end].gain_us;
            advice->time_us += findings->items[end].time_us;
        }
        advice->gain_percent = perf->total_us > 0 ? advice->gain_us / perf->total_us * 100 : 0;
        perf->advice_gain_us += advice->gain_us;
    }
    return true;
}

int perf_make_advice(struct perf *perf, struct error *err)
{
    struct findings findings = {0};
    if (perf->options.compat)
        return 0;
    look_at_rows(&findings, perf);
    mark_rows(perf, &findings);
    bool is_done = !findings.failed && add_lines(perf, &findings);
    free(findings.items);
    if (!is_done)
        return error_set(err, ENOMEM, "no memory for the advice");
    if (perf->advice_count)
        qsort(perf->advice, perf->advice_count, sizeof *perf->advice, compare_gain);
    for (size_t i = 0; i < perf->advice_count; i++) {
        perf->advice[i].trigger = trigger_of(perf, &perf->advice[i]);
        perf->advice[i].action = action_of(perf, &perf->advice[i]);
        perf->failed |= !perf->advice[i].trigger || !perf->advice[i].action;
    }
    return 0;
}
