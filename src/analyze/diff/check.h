/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that a run must keep: how much it may be slower than another run, and budgets of its own.
 *
 * A rule is about one figure of one subject: the device time of the run, the longest "load batch". Against a baseline a
 * rule fails when the figure grew by more than its limit and the growth is more than noise:
 *
 *     steps            the steps of B are slower than those of A: analyze/diff/basis.c
 *     totals and ops   the 99 % interval of the change, from the spread of equal ops, does not reach down to 0
 *     zones            the rank-sum test over the durations says so (p < 1 %); too few to test: all must agree
 *     several runs     totals, ops: Student's interval over the runs; zones: the rank-sum test over their medians
 *     no repeats       nothing is known about noise: the limit alone decides, and the result says so
 *
 * Budgets are plain limits: a figure above them fails. A subject that the run does not have fails unless the rule is
 * optional: a renamed zone must not pass for a fast one. */
#ifndef OPSCOPE_ANALYZE_DIFF_CHECK_H
#define OPSCOPE_ANALYZE_DIFF_CHECK_H

#include "analyze/diff/diff.h"

enum check_subject {
    CHECK_STEP, /* the time of a step; of runs without steps CHECK_TOTAL */
    CHECK_DEVICE_TIME,
    CHECK_GAP,
    CHECK_TOTAL,
    CHECK_WALL,
    CHECK_COUNT, /* ops; zones of a run without ops */
    CHECK_ZONE,
    CHECK_OP,
    CHECK_SUBJECTS
};

enum check_figure {
    CHECK_REGRESS, /* percent more than the baseline; of a zone its median, of an op its total */
    CHECK_MAX,     /* ns: the longest one; of totals the total */
    CHECK_MEAN,
    CHECK_MEDIAN,
    CHECK_P99,
    CHECK_SUM,
    CHECK_CALLS, /* a count */
    CHECK_FIGURES
};

struct check_rule {
    enum check_subject subject;
    enum check_figure figure;
    const char *name;   /* of the zone or op; else NULL */
    const char *origin; /* where it was asked for: "--metric", "opscope.toml:12" */
    double limit;       /* percent, ns or a count */
    bool is_optional;   /* passes where there is no such thing */
};

enum check_verdict {
    CHECK_PASSED,
    CHECK_FAILED,
    CHECK_NOISE,   /* above the limit, but no more than noise: passes */
    CHECK_SKIPPED, /* there is nothing to compare with */
};

struct check_result {
    const struct check_rule *rule;
    enum check_verdict verdict;
    double before, now;    /* in the figure's unit; NAN: none */
    double change_percent; /* NAN */
    char remark[240];      /* why, for people; "" */
};

/* Zones of the run that is checked, as `opscope zones` has them. */
struct check_zone {
    const char *name;
    uint64_t count, total_ns, sum_ns, max_ns, p50_ns, p99_ns;
};

/* Both are finished; without a baseline their side A is empty. `whole` is of the whole runs: for budgets, and for zones
 * and ops that are not in the part that is compared. The same as `diff` where that is all. -ENOMEM. */
int check_rule_apply(const struct diff *diff, const struct diff *whole, bool has_baseline,
                     const struct check_zone *zones, size_t zone_count, const struct check_rule *rule,
                     struct check_result *result, struct error *err);

/* "step", "device-time", "gap", "total", "wall", "count", "zone:NAME", "op:NAME"; false for anything else. */
bool check_parse_subject(const char *text, enum check_subject *subject, const char **name);
const char *check_subject_text(unsigned subject);
const char *check_figure_text(unsigned figure); /* as in the configuration: "max-regress", "max" ... */
const char *check_verdict_text(unsigned verdict);

#endif
