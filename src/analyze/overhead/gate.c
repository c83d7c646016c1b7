/* SPDX-License-Identifier: Apache-2.0 */
/* The rounds are kept as a table of floors, rounds by calibration ops: which rounds were quiet is decided again
 * whenever a floor gets lower, since what looked quiet may have been a lasting disturbance. */
#include "analyze/overhead/gate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/count_of.h"

#define RESOLUTION_LEAST_NS 2.0 /* a tick of the clock over a burst of 20 calls */
#define RESOLUTION_OF_LOOP 0.1

struct judge {
    struct overhead_gate *gate;
    const struct overhead_gate_options *options;
    double *round_floors; /* [round][calibration] */
    bool *round_members;  /* [round][row]: was it measured? */
    size_t floor_capacity, member_capacity;
    const char **names; /* of the doubtful ops */
    size_t name_count;
};

void overhead_gate_free(struct overhead_gate *gate)
{
    if (!gate)
        return;
    for (size_t i = 0; i < gate->row_count; i++) {
        free(gate->rows[i].name);
        free(gate->rows[i].group);
        free(gate->rows[i].reason);
    }
    for (size_t i = 0; i < gate->calibration_count; i++)
        free(gate->calibrations[i].name);
    free(gate->rows);
    free(gate->calibrations);
    *gate = (struct overhead_gate){0};
}

const char *overhead_verdict_name(enum overhead_verdict verdict)
{
    static const char *const names[OVERHEAD_VERDICTS] = {"same",   "slower",  "undecided", "faster",
                                                         "failed", "missing", "new"};
    return verdict < OVERHEAD_VERDICTS ? names[verdict] : "unknown";
}

bool overhead_gate_passes(const struct overhead_gate *gate, bool missing_is_allowed, bool is_strict)
{
    return gate->counts[OVERHEAD_NEW] < gate->row_count && gate->counts[OVERHEAD_SLOWER] == 0 &&
           gate->counts[OVERHEAD_FAILED] == 0 &&
           (missing_is_allowed || gate->counts[OVERHEAD_MISSING] == 0) &&
           (!is_strict || gate->counts[OVERHEAD_UNDECIDED] == 0);
}

/* --- the machine --- */

/* Student's t, one-sided 95 %, by degrees of freedom. */
static double student_t(size_t freedom)
{
    static const double table[] = {6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812};
    size_t known = COUNT_OF(table);
    return freedom == 0 ? table[0] : freedom <= known ? table[freedom - 1] : 1.753;
}

void overhead_gate_machine(const double *ratios, size_t count, double *factor, double *margin)
{
    double mean = 0, squares = 0, n = (double)count;
    *factor = 1;
    *margin = OVERHEAD_GATE_MARGIN_LEAST;
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++)
        mean += log(ratios[i]) / n;
    *factor = exp(mean);
    if (count == 1) { /* nothing to see a spread in: a machine that is much the same, or no answer */
        *margin = fmax(*margin, exp(fabs(mean)));
        return;
    }
    for (size_t i = 0; i < count; i++)
        squares += (log(ratios[i]) - mean) * (log(ratios[i]) - mean);
    *margin = fmax(*margin, exp(student_t(count - 1) * sqrt(squares / (n - 1) * (1 + 1 / n))));
}

static void update_machine(struct overhead_gate *gate)
{
    double ratios[64];
    size_t count = 0;
    gate->factor = gate->margin = 1;
    for (size_t i = 0; i < gate->calibration_count && gate->is_normalised && count < 64; i++) {
        const struct overhead_gate_calibration *c = &gate->calibrations[i];
        if (c->reference_ns > 0 && c->floor_ns > 0)
            ratios[count++] = c->floor_ns / c->reference_ns;
    }
    if (gate->is_normalised)
        overhead_gate_machine(ratios, count, &gate->factor, &gate->margin);
}

static bool is_quiet(const struct overhead_gate *gate, const double *floors)
{
    for (size_t i = 0; i < gate->calibration_count; i++) {
        if (floors[i] > gate->calibrations[i].floor_ns * OVERHEAD_GATE_QUIET)
            return false;
    }
    return true;
}

/* --- matching --- */

static bool has_time(const struct overhead_op *op)
{
    return op && op->state == OVERHEAD_MEASURED && !isnan(op->min_ns);
}

/* What to compare with: the robust floor where it is known, else the minimum. */
static double steady_of(const struct overhead_op *op)
{
    return fmax(isnan(op->floor_ns) ? op->min_ns : op->floor_ns, 0.1);
}

/* What a call that took no time at all would be; keeps ratios finite where the loop's cost was all there was. */
static double floor_of(const struct overhead_op *op)
{
    return fmax(op->min_ns, 0.1);
}

static int add_row(struct overhead_gate *gate, const struct overhead_op *then, const struct overhead_op *now)
{
    const struct overhead_op *any = now ? now : then;
    struct overhead_gate_row *row = &gate->rows[gate->row_count];
    *row = (struct overhead_gate_row){.name = strdup(any->name),
                                      .group = strdup(any->group && *any->group ? any->group
                                                      : then && then->group     ? then->group
                                                                                : ""),
                                      .reason = strdup(now && now->reason ? now->reason : ""),
                                      .reference_ns = NAN,
                                      .reference_highest_ns = NAN,
                                      .floor_ns = NAN,
                                      .ratio = NAN};
    gate->row_count++;
    if (!row->name || !row->group || !row->reason)
        return -ENOMEM;
    if (has_time(then)) {
        row->reference_ns = isnan(then->floor_ns) ? then->min_ns : then->floor_ns;
        row->reference_highest_ns =
            isnan(then->floor_ns) ? fmax(then->min_ns + then->rounding_ns, 0.1) : steady_of(then);
    }
    if (has_time(now))
        row->floor_ns = floor_of(now);
    if (!has_time(then))
        row->verdict = OVERHEAD_NEW;
    else if (!now || now->state == OVERHEAD_LEFT_OUT)
        row->verdict = OVERHEAD_MISSING;
    else if (!has_time(now))
        row->verdict = OVERHEAD_FAILED;
    return 0;
}

static bool is_asked_for(const struct overhead_gate_options *options, const struct overhead_op *op)
{
    return !options->is_asked_for || options->is_asked_for(options->context, op->name, op->group);
}

/* Both are sorted by name: one walk. */
static int match_ops(struct overhead_gate *gate, const struct overhead_run *reference,
                     const struct overhead_run *run, const struct overhead_gate_options *options)
{
    size_t i = 0, j = 0;
    int status = 0;
    gate->rows = calloc(reference->op_count + run->op_count + 1, sizeof *gate->rows);
    if (!gate->rows)
        return -ENOMEM;
    while (!status && (i < reference->op_count || j < run->op_count)) {
        const struct overhead_op *then = i < reference->op_count ? &reference->ops[i] : NULL;
        const struct overhead_op *now = j < run->op_count ? &run->ops[j] : NULL;
        int order = !then ? 1 : !now ? -1 : strcmp(then->name, now->name);
        then = order <= 0 ? then : NULL;
        now = order >= 0 ? now : NULL;
        i += then != NULL;
        j += now != NULL;
        if ((then && then->is_calibration) || (now && now->is_calibration))
            continue;
        /* What could not be measured then, and cannot now, is of no interest; nor is what is left out. */
        if (!now && (!has_time(then) || !is_asked_for(options, then)))
            continue;
        if (now && !has_time(now) && !has_time(then) && (then || now->state == OVERHEAD_LEFT_OUT))
            continue;
        status = add_row(gate, then, now);
    }
    return status;
}

static int match_calibrations(struct overhead_gate *gate, const struct overhead_run *reference,
                              const struct overhead_run *run)
{
    gate->calibrations = calloc(run->op_count + 1, sizeof *gate->calibrations);
    if (!gate->calibrations)
        return -ENOMEM;
    size_t shared = 0;
    for (size_t i = 0; i < run->op_count; i++) {
        const struct overhead_op *now = &run->ops[i];
        const struct overhead_op *then = overhead_run_find(reference, now->name);
        if (!now->is_calibration || !has_time(now))
            continue;
        struct overhead_gate_calibration *c = &gate->calibrations[gate->calibration_count++];
        c->name = strdup(now->name);
        if (!c->name)
            return -ENOMEM;
        c->floor_ns = c->first_ns = steady_of(now);
        c->reference_ns = has_time(then) && then->min_ns > 0 ? steady_of(then) : NAN;
        shared += isnan(c->reference_ns) ? 0 : 1;
    }
    if (shared == 0 && !gate->why_absolute)
        gate->why_absolute = "the reference has no calibration ops";
    gate->is_normalised = !gate->why_absolute;
    return 0;
}

/* --- verdicts --- */

static void judge_row(const struct overhead_gate *gate, struct overhead_gate_row *row)
{
    if (isnan(row->floor_ns) || isnan(row->reference_ns) || row->verdict == OVERHEAD_FAILED)
        return;
    double expected = row->reference_highest_ns * gate->factor;
    row->ratio = row->floor_ns / expected;
    bool margin_is_wide = gate->margin > OVERHEAD_GATE_MARGIN_WIDE;
    if (row->floor_ns - expected * gate->tolerance < gate->resolution_ns && !margin_is_wide &&
        row->ratio > gate->tolerance)
        row->verdict = OVERHEAD_SAME;
    else if (row->ratio > gate->tolerance * gate->margin && row->quiet_rounds >= OVERHEAD_GATE_ROUNDS_NEEDED)
        row->verdict = OVERHEAD_SLOWER;
    else if (row->ratio > gate->tolerance ||
             (margin_is_wide && row->ratio * gate->margin > gate->tolerance * OVERHEAD_GATE_MARGIN_WIDE))
        row->verdict = OVERHEAD_UNDECIDED;
    else if (row->ratio * gate->tolerance * gate->margin < 1)
        row->verdict = OVERHEAD_FASTER;
    else
        row->verdict = OVERHEAD_SAME;
    row->is_doubtful = row->verdict == OVERHEAD_UNDECIDED;
}

/* Judges all rows with what is known by now, and lists those that another round could settle. */
static void judge_all(struct judge *judge)
{
    struct overhead_gate *gate = judge->gate;
    update_machine(gate);
    judge->name_count = 0;
    for (size_t i = 0; i < gate->row_count; i++) {
        struct overhead_gate_row *row = &gate->rows[i];
        row->is_doubtful = false;
        judge_row(gate, row);
        /* More rounds than are needed may still lower the floors, and with them the margin. */
        if (row->is_doubtful && row->quiet_rounds < OVERHEAD_GATE_ROUNDS_MOST)
            judge->names[judge->name_count++] = row->name;
    }
}

static int set_reason(struct overhead_gate_row *row, const char *reason)
{
    return overhead_set_text(&row->reason, reason) ? 0 : -ENOMEM;
}

/* The lower quartile of the first run and all rounds: a lasting disturbance does not raise it, nor one odd round lower
 * it. */
static double floor_of_rounds(const struct judge *judge, size_t calibration, double *scratch)
{
    const struct overhead_gate *gate = judge->gate;
    size_t count = 0;
    scratch[count++] = gate->calibrations[calibration].first_ns;
    for (size_t r = 0; r <= gate->rounds; r++) {
        double ns = judge->round_floors[r * gate->calibration_count + calibration];
        if (isfinite(ns))
            scratch[count++] = ns;
    }
    overhead_sort_values(scratch, count);
    return overhead_quantile(scratch, count, 0.25);
}

/* What a round, the one behind those that are counted, says about calibration ops. */
static int take_calibrations(struct judge *judge, const struct overhead_run *run)
{
    struct overhead_gate *gate = judge->gate;
    size_t width = gate->calibration_count;
    double *scratch = malloc((gate->rounds + 2) * sizeof *scratch);
    if (!scratch || !array_reserve(&judge->round_floors, &judge->floor_capacity,
                                   (gate->rounds + 1) * width + 1, sizeof *judge->round_floors)) {
        free(scratch);
        return -ENOMEM;
    }
    for (size_t i = 0; i < width; i++) {
        const struct overhead_op *op = overhead_run_find(run, gate->calibrations[i].name);
        judge->round_floors[gate->rounds * width + i] = has_time(op) ? steady_of(op) : INFINITY;
        gate->calibrations[i].floor_ns = floor_of_rounds(judge, i, scratch);
    }
    free(scratch);
    return 0;
}

static int take_op(struct overhead_gate_row *row, const struct overhead_op *op)
{
    if (!has_time(op)) {
        row->verdict = OVERHEAD_FAILED;
        return set_reason(row, *op->reason ? op->reason : overhead_state_name(op->state));
    }
    row->floor_ns = fmin(row->floor_ns, floor_of(op));
    row->rounds++;
    return 0;
}

/* Which rounds were quiet, and how many of them each op has been in. */
static void count_quiet_rounds(struct judge *judge)
{
    struct overhead_gate *gate = judge->gate;
    gate->quiet_rounds = 0;
    for (size_t i = 0; i < gate->row_count; i++)
        gate->rows[i].quiet_rounds = 0;
    for (size_t r = 0; r < gate->rounds; r++) {
        if (!is_quiet(gate, judge->round_floors + r * gate->calibration_count))
            continue;
        gate->quiet_rounds++;
        for (size_t i = 0; i < gate->row_count; i++)
            gate->rows[i].quiet_rounds += judge->round_members[r * gate->row_count + i];
    }
}

static int take_round(struct judge *judge, const struct overhead_run *run)
{
    struct overhead_gate *gate = judge->gate;
    int status = take_calibrations(judge, run);
    if (status || !array_reserve(&judge->round_members, &judge->member_capacity,
                                 (gate->rounds + 1) * gate->row_count + 1, sizeof *judge->round_members))
        return -ENOMEM;
    for (size_t i = 0; i < gate->row_count && !status; i++) {
        struct overhead_gate_row *row = &gate->rows[i];
        const struct overhead_op *op = row->is_doubtful ? overhead_run_find(run, row->name) : NULL;
        judge->round_members[gate->rounds * gate->row_count + i] = op != NULL;
        if (op)
            status = take_op(row, op);
    }
    gate->rounds++;
    count_quiet_rounds(judge);
    return status;
}

static int measure_rounds(struct judge *judge, struct error *err)
{
    const struct overhead_gate_options *options = judge->options;
    struct overhead_gate *gate = judge->gate;
    uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + options->patience_ns;
    while (judge->name_count && options->measure) {
        struct overhead_run run = {0};
        if (clock_ns(CLOCK_MONOTONIC) >= end_ns ||
            (options->round_limit && gate->rounds >= options->round_limit)) {
            gate->is_out_of_patience = true;
            break;
        }
        if (options->progress)
            options->progress(options->context, judge->name_count, gate->rounds + 1);
        int status = options->measure(options->context, judge->names, judge->name_count,
                                      gate->rounds / OVERHEAD_GATE_ROUNDS_A_PROCESS, &run, err);
        if (!status && take_round(judge, &run))
            status = error_set(err, ENOMEM, "no memory to judge the ops");
        overhead_run_free(&run);
        if (status)
            return status;
        judge_all(judge);
    }
    return 0;
}

/* --- what to say about it --- */

static int explain(const struct overhead_gate *gate, struct overhead_gate_row *row)
{
    char text[300];
    text[0] = '\0';
    if (row->verdict == OVERHEAD_MISSING && !*row->reason)
        snprintf(text, sizeof text, "the reference has it, this run does not");
    else if (row->verdict == OVERHEAD_SLOWER)
        snprintf(text, sizeof text, "in all of %u rounds; %.2f is allowed", row->rounds,
                 gate->tolerance * gate->margin);
    else if (row->verdict == OVERHEAD_UNDECIDED && gate->margin > OVERHEAD_GATE_MARGIN_WIDE)
        snprintf(text, sizeof text, "calibration ops do not agree: up to %.2f proves nothing",
                 gate->tolerance * gate->margin);
    else if (row->verdict == OVERHEAD_UNDECIDED && row->quiet_rounds < OVERHEAD_GATE_ROUNDS_NEEDED)
        snprintf(text, sizeof text, "the machine was quiet in %u of %u rounds", row->quiet_rounds,
                 row->rounds);
    else if (row->verdict == OVERHEAD_UNDECIDED)
        snprintf(text, sizeof text, "within the margin of calibration: %.2f is allowed",
                 gate->tolerance * gate->margin);
    else if (row->verdict == OVERHEAD_NEW && !*row->reason)
        snprintf(text, sizeof text, "the reference does not have it");
    return *text ? set_reason(row, text) : 0;
}

static int judge_with(struct judge *judge, const struct overhead_run *reference,
                      const struct overhead_run *run, struct error *err)
{
    struct overhead_gate *gate = judge->gate;
    int status = match_ops(gate, reference, run, judge->options);
    if (!status)
        status = match_calibrations(gate, reference, run);
    judge->names = status ? NULL : malloc((gate->row_count + 1) * sizeof *judge->names);
    if (!judge->names)
        return error_set(err, ENOMEM, "no memory to judge the ops");
    judge_all(judge);
    status = measure_rounds(judge, err);
    for (size_t i = 0; i < gate->row_count && !status; i++) {
        gate->counts[gate->rows[i].verdict]++;
        if (explain(gate, &gate->rows[i]))
            status = error_set(err, ENOMEM, "no memory to judge the ops");
    }
    return status;
}

int overhead_gate_judge(struct overhead_gate *gate, const struct overhead_run *reference,
                        const struct overhead_run *run, const struct overhead_gate_options *options,
                        struct error *err)
{
    struct judge judge = {.gate = gate, .options = options};
    *gate = (struct overhead_gate){.tolerance =
                                       options->tolerance > 0 ? options->tolerance : OVERHEAD_GATE_TOLERANCE,
                                   .factor = 1,
                                   .margin = 1,
                                   .resolution_ns = RESOLUTION_LEAST_NS,
                                   .why_absolute = options->is_absolute ? "--absolute was given" : NULL};
    if (run->loop_ns > 0)
        gate->resolution_ns += RESOLUTION_OF_LOOP * run->loop_ns;
    int status = judge_with(&judge, reference, run, err);
    free(judge.round_floors);
    free(judge.round_members);
    free(judge.names);
    return status;
}
