/* SPDX-License-Identifier: Apache-2.0 */
/* Is an op slower than its reference says? The judgement behind `opscope overhead --check`.
 *
 * A measured time differs from an earlier one for five reasons: the machine is another, it is busy, its core is shared
 * (with a sibling thread, or with another tenant's virtual machine, which cannot be seen from inside), code and data
 * lie elsewhere in memory, or the op has changed. Only the last may fail a build. So:
 *
 * - What is compared is the floor of an op: what a call takes when nothing disturbs it. A repeat is long for many
 *   reasons, and short for hardly any. Now it is the least time in any repeat; in the reference the lower quartile of
 *   the least times of every five repeats, since a reference that was oddly short once would fail all later builds.
 * - The machine's factor is the geometric mean of (floor now / floor in the reference) over the calibration ops, which
 *   are measured beside the ops all the time. They differ in what they need of a core, so how much their ratios differ
 *   says how far an op that has not changed may be from that factor: the margin, the upper end of a one-sided 95 %
 *   prediction interval (Student's t on the logarithms), at least MARGIN_LEAST. Where machines or load differ much the
 *   margin is wide, and a doubtful op is undecided instead of slower.
 * - An op above the tolerance is measured again in rounds, spread over several processes, until a round shows it within
 *   the tolerance, or ROUNDS_NEEDED quiet rounds have not. A quiet round is one in which no calibration op was more
 *   than QUIET above its floor. If the op's time were as likely within the tolerance as not, this many rounds in a row
 *   would have a chance of 2^-ROUNDS_NEEDED: a sign test at 1 %.
 *
 * slower = floor / (reference * factor) > tolerance * margin, by more than the resolution (what the cost of the calling
 * loop, which is taken off, differs by from process to process), with ROUNDS_NEEDED quiet rounds.
 *
 * Without calibration ops in the reference (the vendor's), or when asked, times are compared as they are: factor 1,
 * margin 1; a time that was rounded counts as the largest that would have been rounded so. */
#ifndef OPSCOPE_ANALYZE_OVERHEAD_GATE_H
#define OPSCOPE_ANALYZE_OVERHEAD_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/overhead/overhead.h"
#include "base/error.h"

#define OVERHEAD_GATE_TOLERANCE 1.13
#define OVERHEAD_GATE_MARGIN_LEAST 1.02
/* above it, calibration says too little to call an op unchanged, too */
#define OVERHEAD_GATE_MARGIN_WIDE 1.12
#define OVERHEAD_GATE_QUIET 1.08
#define OVERHEAD_GATE_ROUNDS_NEEDED 7u
#define OVERHEAD_GATE_ROUNDS_MOST 21u /* quiet ones, after which an op stays undecided */
#define OVERHEAD_GATE_ROUNDS_A_PROCESS 3u

enum overhead_verdict {
    OVERHEAD_SAME = 0,
    OVERHEAD_SLOWER,
    OVERHEAD_UNDECIDED, /* above the tolerance, or perhaps, but not for certain */
    OVERHEAD_FASTER,    /* as far below as slower is above */
    OVERHEAD_FAILED,    /* the reference has a time, now it cannot be measured */
    OVERHEAD_MISSING,   /* only the reference has it */
    OVERHEAD_NEW,       /* only the run has it */
    OVERHEAD_VERDICTS
};

struct overhead_gate_row {
    char *name, *group;
    enum overhead_verdict verdict;
    double reference_ns;         /* as the reference has it; NAN */
    double reference_highest_ns; /* with its rounding */
    double floor_ns;             /* the least of the run and of all rounds; NAN */
    double ratio;                /* floor / reference, the machine's factor taken out; NAN */
    unsigned rounds;             /* in which it was measured again */
    unsigned quiet_rounds;       /* of these */
    char *reason;                /* a sentence; "" when there is nothing to say */
    bool is_doubtful;            /* while judging */
};

struct overhead_gate_calibration {
    char *name;
    double reference_ns, floor_ns; /* reference_ns NAN: the reference lacks it */
    double first_ns;               /* in the first run */
};

struct overhead_gate {
    struct overhead_gate_row *rows; /* by name */
    size_t row_count;
    size_t counts[OVERHEAD_VERDICTS];
    struct overhead_gate_calibration *calibrations;
    size_t calibration_count;
    double tolerance;
    bool is_normalised;
    const char *why_absolute; /* a phrase; NULL when normalised */
    double factor, margin;    /* 1 when absolute */
    double resolution_ns;
    unsigned rounds, quiet_rounds;
    bool is_out_of_patience;
};

struct overhead_gate_options {
    double tolerance;
    bool is_absolute;
    uint64_t patience_ns; /* no new round after so long */
    unsigned round_limit; /* 0: none but patience */
    /* A new measurement of some ops and of the calibration ops, in a process of its own for each value of `process`.
     * NULL: there is no measuring again, and nothing is slower for certain. */
    int (*measure)(void *context, const char *const *names, size_t count, unsigned process,
                   struct overhead_run *run, struct error *err);
    /* Is an op of the reference among those that were asked for? NULL: all are. */
    bool (*is_asked_for)(void *context, const char *name, const char *group);
    /* Before each round; may be NULL. */
    void (*progress)(void *context, size_t doubtful, unsigned round);
    void *context;
};

int overhead_gate_judge(struct overhead_gate *gate, const struct overhead_run *reference,
                        const struct overhead_run *run, const struct overhead_gate_options *options,
                        struct error *err);
void overhead_gate_free(struct overhead_gate *gate);

/* Does the gate let this through? Not when nothing was compared. Missing ops and ops that fail count like slower ones;
 * with `is_strict` undecided ones as well. */
bool overhead_gate_passes(const struct overhead_gate *gate, bool missing_is_allowed, bool is_strict);
/* "slower", "missing" ... */
const char *overhead_verdict_name(enum overhead_verdict verdict);

/* The factor of a machine and its margin, from how often slower (ratio now / then) each calibration op is. */
void overhead_gate_machine(const double *ratios, size_t count, double *factor, double *margin);

#endif
