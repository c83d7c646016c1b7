/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's judgement on simulated machines, where it is known what the truth is: quiet, shared now and then, shared
 * all the time, other ones. An op's time there is
 *
 *     work * speed * (1 + sensitivity * sharing) * (1 + layout of the process) * (1 + noise)
 *
 * with figures like those seen on a virtual machine: a neighbour on the other half of the core makes a chain of
 * multiplications no slower, most code one and a half times, loads more. Every trial is seeded. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/overhead/gate.h"

#define OPS 60u
#define TRIALS 40u

struct machine {
    uint64_t random;
    double speed;        /* 1: the reference's; 2: half as fast */
    double speed_spread; /* how differently the machine treats different code: 0.1 is 10 % */
    double sharing;      /* chance that a measurement runs beside a neighbour */
    double slow_work;    /* of the op "op.07" */
    double layout;       /* of the process that runs */
    unsigned process;
    unsigned measured; /* rounds */
};

struct code {
    char name[32];
    double work_ns, sensitivity;
    bool is_calibration;
};

static struct code codes[OPS + 4];

static void make_codes(void)
{
    static const struct code calibrations[] = {
        {"calibration.allocate", 600, 0.5, true},
        {"calibration.integer", 1000, 0.0, true},
        {"calibration.memory", 900, 0.9, true},
        {"calibration.throughput", 700, 0.5, true},
    };
    memcpy(codes, calibrations, sizeof calibrations);
    for (unsigned i = 0; i < OPS; i++) {
        struct code *code = &codes[4 + i];
        snprintf(code->name, sizeof code->name, "op.%02u", i);
        code->work_ns = 300 * (1 + i);
        code->sensitivity = 0.1 + 0.7 * i / OPS;
    }
}

static double next_random(struct machine *m)
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    m->random ^= m->random << 17;
    return (double)(m->random >> 11) / 9007199254740992.0;
}

/* How this machine treats this piece of code: always the same. */
static double treatment(const struct machine *m, size_t code)
{
    double side = (double)((code * 2654435761u) % 1000u) / 999.0 * 2 - 1;
    return m->speed * exp(m->speed_spread * side);
}

static void add_measured(struct machine *m, struct overhead_run *run, size_t code, bool is_shared)
{
    const struct code *c = &codes[code];
    struct overhead_op *op = overhead_run_add(run, c->name, "g");
    double ns = c->work_ns * treatment(m, code) * (1 + m->layout * ((double)(code * 7 % 5) / 5));
    if (is_shared)
        ns *= 1 + c->sensitivity;
    if (strcmp(c->name, "op.07") == 0)
        ns *= m->slow_work;
    assert_non_null(op);
    op->is_calibration = c->is_calibration;
    op->min_ns = ns * (1 + 0.01 * next_random(m));
}

static bool is_among(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return names == NULL;
}

static int measure(void *context, const char *const *names, size_t count, unsigned process,
                   struct overhead_run *run, struct error *err)
{
    struct machine *m = context;
    (void)err;
    if (process + 1 != m->process) {
        m->process = process + 1;
        m->layout = 0.04 * next_random(m);
    }
    m->measured++;
    for (size_t i = 0; i < OPS + 4; i++) {
        if (codes[i].is_calibration || is_among(names, count, codes[i].name))
            add_measured(m, run, i, next_random(m) < m->sharing);
    }
    overhead_run_sort(run);
    return 0;
}

/* A run as the command makes it: the best of a few looks at everything. */
static struct overhead_run measured(struct machine *m, unsigned looks)
{
    struct overhead_run best = {0};
    for (unsigned i = 0; i < looks; i++) {
        struct overhead_run run = {0};
        measure(m, NULL, 0, 100 + i, &run, NULL);
        if (i == 0) {
            best = run;
            continue;
        }
        for (size_t k = 0; k < run.op_count; k++)
            best.ops[k].min_ns = fmin(best.ops[k].min_ns, run.ops[k].min_ns);
        overhead_run_free(&run);
    }
    m->measured = 0;
    return best;
}

struct outcome {
    unsigned found, false_alarms, undecided_slow, same_slow;
    unsigned undecided_others, rounds;
};

/* Many builds judged: the reference from one machine, the run from another. */
static struct outcome judge_many(struct machine then, struct machine now)
{
    struct outcome outcome = {0};
    for (unsigned trial = 0; trial < TRIALS; trial++) {
        then.random = 88172645463325252u + trial;
        now.random = 1442695040888963407u + trial * 77;
        struct overhead_run reference = measured(&then, 5), run = measured(&now, 2);
        struct overhead_gate gate;
        struct overhead_gate_options options = {
            .patience_ns = UINT64_C(3600000000000), .round_limit = 60, .measure = measure, .context = &now};
        assert_int_equal(overhead_gate_judge(&gate, &reference, &run, &options, NULL), 0);
        assert_true(gate.is_normalised);
        assert_int_equal(gate.row_count, OPS);
        for (size_t i = 0; i < gate.row_count; i++) {
            const struct overhead_gate_row *row = &gate.rows[i];
            bool is_slow_op = strcmp(row->name, "op.07") == 0 && now.slow_work > 1.2;
            outcome.found += is_slow_op && row->verdict == OVERHEAD_SLOWER;
            outcome.undecided_slow += is_slow_op && row->verdict == OVERHEAD_UNDECIDED;
            outcome.same_slow += is_slow_op && row->verdict == OVERHEAD_SAME;
            outcome.false_alarms += !is_slow_op && row->verdict == OVERHEAD_SLOWER;
            outcome.undecided_others += !is_slow_op && row->verdict == OVERHEAD_UNDECIDED;
            if (row->verdict == OVERHEAD_SLOWER && !is_slow_op)
                print_message("trial %u: %s %s\n", trial, row->name, row->reason);
        }
        outcome.rounds += gate.rounds;
        overhead_gate_free(&gate);
        overhead_run_free(&reference);
        overhead_run_free(&run);
    }
    return outcome;
}

static const struct machine quiet = {.speed = 1, .slow_work = 1};

static void test_unchanged_ops_pass_at_once(void **state)
{
    (void)state;
    struct outcome outcome = judge_many(quiet, quiet);
    assert_int_equal(outcome.false_alarms, 0);
    assert_int_equal(outcome.undecided_others, 0);
    assert_int_equal(outcome.rounds, 0);
}

static void test_a_slow_op_is_found_alone(void **state)
{
    (void)state;
    struct machine slow = quiet;
    slow.slow_work = 1.3;
    struct outcome outcome = judge_many(quiet, slow);
    assert_int_equal(outcome.found, TRIALS);
    assert_int_equal(outcome.false_alarms, 0);
    assert_int_equal(outcome.undecided_others, 0);
}

static void test_a_neighbour_now_and_then(void **state)
{
    (void)state;
    struct machine then = quiet, now = quiet;
    then.sharing = 0.3;
    now.sharing = 0.6;
    struct outcome outcome = judge_many(then, now);
    assert_int_equal(outcome.false_alarms, 0);
    now.sharing = 0.3;
    now.slow_work = 1.3;
    outcome = judge_many(then, now);
    assert_int_equal(outcome.false_alarms, 0);
    assert_int_equal(outcome.same_slow, 0);
    assert_true(outcome.found >= TRIALS * 9 / 10);
}

/* Nothing tells a slower op from a busy core then: no alarm, and no "same" either. */
static void test_a_neighbour_all_the_time(void **state)
{
    (void)state;
    struct machine busy = quiet;
    busy.sharing = 1;
    struct outcome outcome = judge_many(quiet, busy);
    assert_int_equal(outcome.false_alarms, 0);
    busy.slow_work = 1.3;
    outcome = judge_many(quiet, busy);
    assert_int_equal(outcome.false_alarms, 0);
    assert_int_equal(outcome.undecided_slow, TRIALS);
    /* The reference was made beside the neighbour as well: they can be compared. */
    struct machine then = busy;
    then.slow_work = 1;
    outcome = judge_many(then, busy);
    assert_int_equal(outcome.found, TRIALS);
    assert_int_equal(outcome.false_alarms, 0);
    /* It was, and is gone now: a slower op may look like the reference. */
    struct machine slow = quiet;
    slow.slow_work = 1.3;
    outcome = judge_many(then, slow);
    assert_int_equal(outcome.false_alarms, 0);
    assert_int_equal(outcome.same_slow, 0);
}

static void test_another_machine(void **state)
{
    (void)state;
    struct machine other = quiet;
    other.speed = 1.7;
    other.speed_spread = 0.02;
    struct outcome outcome = judge_many(quiet, other);
    assert_int_equal(outcome.false_alarms, 0);
    other.slow_work = 1.35;
    outcome = judge_many(quiet, other);
    assert_int_equal(outcome.found, TRIALS);
    assert_int_equal(outcome.false_alarms, 0);
    /* One that treats different code differently: the margin says that ratios prove little. */
    other.slow_work = 1;
    other.speed = 0.6;
    other.speed_spread = 0.2;
    outcome = judge_many(quiet, other);
    assert_int_equal(outcome.false_alarms, 0);
}

static void test_machine_factor(void **state)
{
    (void)state;
    double factor, margin;
    overhead_gate_machine(NULL, 0, &factor, &margin);
    assert_float_equal(factor, 1, 1e-12);
    overhead_gate_machine((const double[]){2, 2, 2}, 3, &factor, &margin);
    assert_float_equal(factor, 2, 1e-12);
    assert_float_equal(margin, OVERHEAD_GATE_MARGIN_LEAST, 1e-12);
    /* ln 1.1 apart: sd of the logarithms 0.0674, t with one degree of freedom 6.314, sqrt(1 + 1/2). */
    overhead_gate_machine((const double[]){1, 1.1}, 2, &factor, &margin);
    assert_float_equal(factor, sqrt(1.1), 1e-9);
    assert_float_equal(margin, exp(6.314 * log(1.1) / sqrt(2) * sqrt(1.5)), 1e-9);
    overhead_gate_machine((const double[]){1.5}, 1, &factor, &margin);
    assert_float_equal(margin, 1.5, 1e-9);
}

/* A reference that was oddly short for once, and a calibration op that is in one round: neither matters. */
static int measure_with_odd_round(void *context, const char *const *names, size_t count, unsigned process,
                                  struct overhead_run *run, struct error *err)
{
    struct machine *m = context;
    int status = measure(context, names, count, process, run, err);
    struct overhead_op *op = overhead_run_find(run, "calibration.throughput");
    if (m->measured == 2)
        op->min_ns *= 0.8;
    return status;
}

static void test_one_odd_round_changes_nothing(void **state)
{
    (void)state;
    struct machine then = quiet, now = quiet;
    struct overhead_gate gate;
    then.random = 7;
    now.random = 9;
    now.slow_work = 1.3;
    struct overhead_run reference = measured(&then, 5), run = measured(&now, 2);
    struct overhead_gate_options options = {.patience_ns = UINT64_C(3600000000000),
                                            .round_limit = 30,
                                            .measure = measure_with_odd_round,
                                            .context = &now};
    assert_int_equal(overhead_gate_judge(&gate, &reference, &run, &options, NULL), 0);
    assert_int_equal(gate.counts[OVERHEAD_SLOWER], 1);
    assert_int_equal(gate.counts[OVERHEAD_UNDECIDED], 0);
    assert_true(gate.margin < 1.1);
    overhead_gate_free(&gate);
    overhead_run_free(&reference);
    overhead_run_free(&run);
}

static struct overhead_op *add(struct overhead_run *run, const char *name, double min_ns)
{
    struct overhead_op *op = overhead_run_add(run, name, "");
    op->min_ns = min_ns;
    return op;
}

static const struct overhead_gate_row *row_of(const struct overhead_gate *gate, const char *name)
{
    for (size_t i = 0; i < gate->row_count; i++) {
        if (strcmp(gate->rows[i].name, name) == 0)
            return &gate->rows[i];
    }
    return NULL;
}

static int measure_same(void *context, const char *const *names, size_t count, unsigned process,
                        struct overhead_run *run, struct error *err)
{
    const struct overhead_run *first = context;
    (void)process;
    (void)err;
    for (size_t i = 0; i < count; i++) {
        const struct overhead_op *op = overhead_run_find(first, names[i]);
        struct overhead_op *copy = add(run, names[i], op->min_ns);
        if (strcmp(names[i], "dies later") == 0)
            copy->state = OVERHEAD_CRASHED;
    }
    overhead_run_sort(run);
    return 0;
}

/* The vendor's reference: absolute, rounded; and every way in which two runs differ. */
static void test_rounded_reference_and_all_verdicts(void **state)
{
    struct overhead_run reference = {0}, run = {0};
    struct overhead_gate gate;
    (void)state;
    add(&reference, "edge", 1000)->rounding_ns =
        500; /* 1.5 us would be rounded to 2: up to 1.695 us is fine */
    add(&reference, "zero", 0)->rounding_ns = 500;
    add(&reference, "zero slower", 0)->rounding_ns = 500;
    add(&reference, "gone", 5000);
    add(&reference, "left out", 5000);
    add(&reference, "crashes", 5000);
    add(&reference, "slower", 5000);
    add(&reference, "faster", 5000);
    add(&reference, "dies later", 5000);
    add(&reference, "failed then", NAN)->state = OVERHEAD_RAISED;
    add(&reference, "fails always", NAN)->state = OVERHEAD_RAISED;
    add(&run, "edge", 1694);
    add(&run, "zero", 560);
    add(&run, "zero slower", 600);
    add(&run, "left out", NAN)->state = OVERHEAD_LEFT_OUT;
    add(&run, "crashes", NAN)->state = OVERHEAD_CRASHED;
    add(&run, "slower", 5700);
    add(&run, "faster", 4000);
    add(&run, "dies later", 9000);
    add(&run, "failed then", 4000);
    add(&run, "fails always", NAN)->state = OVERHEAD_RAISED;
    add(&run, "new", 1);
    add(&run, "new, left out", NAN)->state = OVERHEAD_LEFT_OUT;
    overhead_run_sort(&reference);
    overhead_run_sort(&run);
    struct overhead_gate_options options = {
        .patience_ns = UINT64_C(3600000000000), .measure = measure_same, .context = &run};
    assert_int_equal(overhead_gate_judge(&gate, &reference, &run, &options, NULL), 0);
    assert_false(gate.is_normalised);
    assert_string_equal(gate.why_absolute, "the reference has no calibration ops");
    static const struct {
        const char *name;
        enum overhead_verdict verdict;
    } expected[] = {
        {"edge", OVERHEAD_SAME},       {"zero", OVERHEAD_SAME},        {"zero slower", OVERHEAD_SLOWER},
        {"gone", OVERHEAD_MISSING},    {"left out", OVERHEAD_MISSING}, {"crashes", OVERHEAD_FAILED},
        {"slower", OVERHEAD_SLOWER},   {"faster", OVERHEAD_FASTER},    {"dies later", OVERHEAD_FAILED},
        {"failed then", OVERHEAD_NEW}, {"new", OVERHEAD_NEW}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const struct overhead_gate_row *row = row_of(&gate, expected[i].name);
        assert_non_null(row);
        if (row->verdict != expected[i].verdict)
            fail_msg("%s is %s", row->name, overhead_verdict_name(row->verdict));
    }
    assert_int_equal(gate.row_count, sizeof expected / sizeof expected[0]);
    assert_int_equal(row_of(&gate, "slower")->rounds, OVERHEAD_GATE_ROUNDS_NEEDED);
    assert_false(overhead_gate_passes(&gate, true, false));
    overhead_gate_free(&gate);
    /* Nobody measures again: nothing is slower for certain. */
    options.measure = NULL;
    assert_int_equal(overhead_gate_judge(&gate, &reference, &run, &options, NULL), 0);
    assert_int_equal(gate.counts[OVERHEAD_SLOWER], 0);
    assert_int_equal(row_of(&gate, "slower")->verdict, OVERHEAD_UNDECIDED);
    overhead_gate_free(&gate);
    overhead_run_free(&reference);
    overhead_run_free(&run);
}

static bool is_asked_for(void *context, const char *name, const char *group)
{
    (void)context;
    (void)group;
    return name[0] == 'a';
}

static void test_only_what_was_asked_for_is_missed(void **state)
{
    struct overhead_run reference = {0}, run = {0};
    struct overhead_gate gate;
    (void)state;
    add(&reference, "a", 5000);
    add(&reference, "b", 5000);
    overhead_run_sort(&reference);
    overhead_run_sort(&run);
    struct overhead_gate_options options = {.is_asked_for = is_asked_for};
    assert_int_equal(overhead_gate_judge(&gate, &reference, &run, &options, NULL), 0);
    assert_int_equal(gate.row_count, 1);
    assert_string_equal(gate.rows[0].name, "a");
    assert_true(overhead_gate_passes(&gate, true, true)); /* one row, missing, which is allowed */
    assert_false(overhead_gate_passes(&gate, false, false));
    overhead_gate_free(&gate);
    overhead_run_free(&reference);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unchanged_ops_pass_at_once),
        cmocka_unit_test(test_a_slow_op_is_found_alone),
        cmocka_unit_test(test_a_neighbour_now_and_then),
        cmocka_unit_test(test_a_neighbour_all_the_time),
        cmocka_unit_test(test_another_machine),
        cmocka_unit_test(test_machine_factor),
        cmocka_unit_test(test_one_odd_round_changes_nothing),
        cmocka_unit_test(test_rounded_reference_and_all_verdicts),
        cmocka_unit_test(test_only_what_was_asked_for_is_missed),
    };
    make_codes();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
