/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a measurement, and what becomes of the answers.
 *
 * By default 20 repeats of 20 calls, in four passes of five: the first figures of an op and its last lie as far apart
 * as the run is long. Calibration ops come before every 16 ops, so that each op has some near it in time. */
#include "measure/measure.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "measure/cpu.h"
#include "measure/internal.h"
#include "text/json/writer.h"

#define DEFAULT_REPEATS 20u
#define DEFAULT_CALLS 20u
#define DEFAULT_PASSES 4u
#define DEFAULT_WARMUP 5u
#define DEFAULT_TIME_LIMIT_NS UINT64_C(30000000000)
#define OPS_PER_CALIBRATION 16u
#define MOST_ROUNDS 10u /* --until: at most this many times the repeats */
#define NOISY 0.1       /* quartiles of a calibration op that lie further apart */
#define END_GRACE_NS UINT64_C(30000000000)

const struct measure_facts *measure_get_facts(const struct measure *m)
{
    return &m->facts;
}

const struct overhead_run *measure_get_list(const struct measure *m)
{
    return &m->list;
}

static void notice(const struct measure *m, const char *text)
{
    if (m->options.notice)
        m->options.notice(m->options.context, text);
}

/* --- opening --- */

static bool matches(const struct text_list *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++)
        if (fnmatch(list->items[i], text, 0) == 0)
            return true;
    return list->count == 0;
}

bool measure_wants(const struct measure *m, const struct overhead_op *op)
{
    return !op->is_calibration && matches(&m->options.names, op->name) &&
           matches(&m->options.groups, op->group);
}

static int count_wanted(struct measure *m, struct error *err)
{
    struct measure_facts *f = &m->facts;
    for (size_t i = 0; i < m->list.op_count; i++) {
        f->listed += !m->list.ops[i].is_calibration;
        f->wanted += measure_wants(m, &m->list.ops[i]);
    }
    if (f->wanted)
        return 0;
    if (!f->listed)
        return error_set(err, EINVAL, "%s has no ops", m->options.ops);
    return error_set(
        err, EINVAL,
        "none of the %zu ops of %s has such a name or group (opscope overhead --ops %s --list shows them)",
        f->listed, m->options.ops, m->options.ops);
}

static void set_defaults(struct measure *m)
{
    struct measure_options *o = &m->options;
    bool is_command = o->provider == MEASURE_COMMAND;
    m->facts.repeats = o->repeats ? o->repeats : DEFAULT_REPEATS;
    m->facts.calls = o->calls ? o->calls : is_command ? 1 : DEFAULT_CALLS;
    m->facts.passes = o->passes ? o->passes : DEFAULT_PASSES;
    if (m->facts.passes > m->facts.repeats)
        m->facts.passes = m->facts.repeats;
    if (!o->warmup)
        o->warmup = is_command ? 1 : DEFAULT_WARMUP;
    if (!o->time_limit_ns)
        o->time_limit_ns = DEFAULT_TIME_LIMIT_NS;
    /* Programs may reserve what they like, unless the user says otherwise. */
    m->memory_limit_bytes = o->memory_limit_bytes ? o->memory_limit_bytes
                            : is_command          ? 0
                                                  : memory_half_bytes();
    m->facts.seed = o->seed;
    if (!m->facts.seed && getrandom(&m->facts.seed, sizeof m->facts.seed, 0) == (ssize_t)sizeof m->facts.seed)
        m->facts.seed %= 1000000; /* to be typed again */
    m->facts.seed += m->facts.seed == 0;
    m->random = m->facts.seed * UINT64_C(0x9e3779b97f4a7c15);
}

int measure_open(struct measure **out, const struct measure_options *options, struct error *err)
{
    struct measure *m = calloc(1, sizeof *m);
    if (!m)
        return error_set(err, ENOMEM, "no memory");
    m->options = *options;
    m->worker = (struct worker){.pid = -1, .to = -1, .from = -1};
    m->start_ns = clock_raw_ns();
    set_defaults(m);
    ssize_t length = readlink("/proc/self/exe", m->program, sizeof m->program - 1);
    m->program[length > 0 ? length : 0] = '\0';
    m->facts.cpu = options->cpu == MEASURE_CPU_CHOOSE ? cpu_choose() : options->cpu;
    if (m->facts.cpu < 0)
        m->facts.cpu = MEASURE_CPU_NONE;
    char machine[256];
    cpu_describe(machine, sizeof machine);
    int status = m->facts.cpu >= 0 ? cpu_check(m->facts.cpu, err) : 0;
    if (!status && !overhead_set_text(&m->list.machine, machine))
        status = error_set(err, ENOMEM, "no memory");
    if (!status)
        status = measure_start_worker(m, false, err);
    if (!status)
        status = count_wanted(m, err);
    if (status) {
        measure_close(m);
        return status;
    }
    *out = m;
    return 0;
}

void measure_close(struct measure *m)
{
    if (!m)
        return;
    worker_end(&m->worker, END_GRACE_NS);
    json_document_free(&m->document);
    overhead_run_free(&m->list);
    free(m->windows);
    free(m);
}

/* --- one answer --- */

static bool take_real(const struct json_node *node, double *value)
{
    char text[64];
    if (!node || node->kind != JSON_NUMBER || node->length >= sizeof text)
        return false;
    memcpy(text, node->text, node->length);
    text[node->length] = '\0';
    *value = strtod(text, NULL);
    return isfinite(*value);
}

static double without_loop(const struct measure *m, double ns)
{
    return ns > m->loop_ns ? ns - m->loop_ns : 0;
}

static int take_figures(struct measure *m, struct overhead_op *op, struct error *err)
{
    const struct json_document *d = &m->document;
    const struct json_node *dispatch = json_find(d, json_root(d), "dispatch_ns");
    const struct json_node *total = json_find(d, json_root(d), "total_ns");
    const struct json_node *a = json_first(d, dispatch), *b = json_first(d, total);
    for (; a && b; a = json_next(d, dispatch, a), b = json_next(d, total, b)) {
        double x, y;
        if (!take_real(a, &x) || !take_real(b, &y))
            return error_set(err, EINVAL, "the worker's figures for %s are not numbers", op->name);
        if (!overhead_op_add_repeat(op, without_loop(m, x), without_loop(m, y)))
            return error_no_memory(err, "the figures");
        op->count += 2 * m->facts.calls;
    }
    return 0;
}

static int take_windows(struct measure *m, const char *name, struct error *err)
{
    const struct json_document *d = &m->document;
    const struct json_node *windows = json_find(d, json_root(d), "windows");
    for (const struct json_node *n = json_first(d, windows); n; n = json_next(d, windows, n)) {
        const struct json_node *start = json_first(d, n), *end = start ? json_next(d, n, start) : NULL;
        struct overhead_window w = {.op = name,
                                    .trace = m->facts.trace_count - 1,
                                    .pid = m->worker.inner_pid,
                                    .tid = (uint64_t)m->worker.inner_pid,
                                    .calls = m->facts.calls};
        if (!json_unsigned_value(start, &w.start_ns) || !json_unsigned_value(end, &w.end_ns) ||
            w.end_ns < w.start_ns)
            return error_set(err, EINVAL, "the worker's times for %s are not times", name);
        if (!array_reserve(&m->windows, &m->window_capacity, m->window_count + 1, sizeof *m->windows))
            return error_no_memory(err, "the times of calls");
        m->windows[m->window_count++] = w;
    }
    return 0;
}

static void fail_op(struct overhead_op *op, enum overhead_state state, const char *reason)
{
    op->state = state;
    op->repeat_count = 0;
    op->count = 0;
    free(op->dispatch_ns);
    free(op->total_ns);
    op->dispatch_ns = op->total_ns = NULL;
    overhead_set_text(&op->reason, reason);
}

static void fail_slow(const struct measure *m, struct overhead_op *op, uint64_t call_ns)
{
    char text[200];
    snprintf(
        text, sizeof text,
        "a call takes %.3g s: its bursts would not end within %.3g s (--time-limit; --calls, --repeats and "
        "--shape make them shorter)",
        (double)call_ns / 1e9, (double)m->options.time_limit_ns / 1e9);
    fail_op(op, OVERHEAD_HUNG, text);
}

static bool is_true(const struct measure *m, const char *key)
{
    const struct json_node *node = json_find(&m->document, json_root(&m->document), key);
    return node && node->kind == JSON_TRUE;
}

int measure_take_answer(struct measure *m, const char *listed_name, struct overhead_op *op, struct error *err)
{
    const struct json_document *d = &m->document;
    char *error = measure_text(json_find(d, json_root(d), "error"));
    char *left_out = measure_text(json_find(d, json_root(d), "left_out"));
    uint64_t slow_ns = 0;
    int status = 0;
    json_unsigned_value(json_find(d, json_root(d), "slow_ns"), &slow_ns);
    if (!error || !left_out)
        status = error_no_memory(err, "an answer");
    else if (slow_ns)
        fail_slow(m, op, slow_ns);
    else if (*left_out)
        fail_op(op, OVERHEAD_LEFT_OUT, left_out);
    else if (*error)
        fail_op(op, is_true(m, "is_memory") ? OVERHEAD_OUT_OF_MEMORY : OVERHEAD_RAISED, error);
    else
        status = take_figures(m, op, err);
    op->is_early |= is_true(m, "is_early");
    if (!status && op->state == OVERHEAD_MEASURED && m->options.trace)
        status = take_windows(m, listed_name, err);
    free(error);
    free(left_out);
    return status;
}

static void take_death(struct overhead_op *op, int wait_status)
{
    char text[200];
    int number = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
    if (number == SIGKILL) {
        fail_op(op, OVERHEAD_OUT_OF_MEMORY,
                "the system killed the process (SIGKILL), as it does when memory runs out");
        return;
    }
    if (number)
        snprintf(text, sizeof text, "the process ended by signal %d (%s)", number, strsignal(number));
    else
        snprintf(text, sizeof text, "the process ended with status %d in the middle of it",
                 WEXITSTATUS(wait_status));
    fail_op(op, OVERHEAD_CRASHED, text);
}

static void make_question(const struct measure *m, const char *name, uint64_t repeats, bool is_first,
                          struct bytes *out)
{
    bytes_append_text(out, "{\"do\":\"measure\",\"op\":");
    json_append_string(out, name, strlen(name));
    bytes_append_format(out,
                        ",\"calls\":%" PRIu64 ",\"repeats\":%" PRIu64 ",\"warmup\":%" PRIu64
                        ",\"first\":%s,\"trace\":%s,\"limit_ns\":%" PRIu64 "}",
                        m->facts.calls, repeats, m->options.warmup, is_first ? "true" : "false",
                        m->options.trace ? "true" : "false", m->options.time_limit_ns);
    bytes_append_u8(out, 0);
}

/* Measures one op once; a lost worker is replaced. */
static int measure_op(struct measure *m, const char *listed_name, struct overhead_op *op, uint64_t repeats,
                      struct error *err)
{
    struct bytes question = {0};
    make_question(m, listed_name, repeats, op->repeat_count == 0 && !op->is_calibration, &question);
    if (question.failed)
        return error_no_memory(err, "a question");
    int answer =
        worker_ask(&m->worker, (const char *)question.data, m->options.time_limit_ns, &m->document, err);
    bytes_free(&question);
    if (answer == WORKER_ANSWERED)
        return measure_take_answer(m, listed_name, op, err);
    if (answer < 0)
        return answer;
    if (answer == WORKER_SILENT) {
        char text[120];
        snprintf(text, sizeof text, "no end after %.3g s (--time-limit); the process was stopped",
                 (double)m->options.time_limit_ns / 1e9);
        fail_op(op, OVERHEAD_HUNG, text);
    } else {
        take_death(op, m->worker.wait_status);
    }
    worker_end(&m->worker, 0);
    m->facts.restarts++;
    return measure_start_worker(m, true, err);
}

/* --- passes --- */

static uint64_t next_random(struct measure *m)
{
    m->random += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    uint64_t z = m->random;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void shuffle(struct measure *m, size_t *items, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)(next_random(m) % i), kept = items[j];
        items[j] = items[i - 1];
        items[i - 1] = kept;
    }
}

struct plan {
    size_t *items; /* indexes in the list, calibration ops left out */
    size_t count;
    struct measure_progress progress;
    uint64_t begin_ns;
};

static void tell_progress(struct measure *m, struct plan *plan, const char *name)
{
    struct measure_progress *p = &plan->progress;
    if (!m->options.progress)
        return;
    p->op = name;
    uint64_t spent_ns = clock_raw_ns() - plan->begin_ns;
    p->elapsed_ns = clock_raw_ns() - m->start_ns;
    p->left_ns = p->done ? (uint64_t)((double)spent_ns / (double)p->done * (double)(p->total - p->done)) : 0;
    m->options.progress(m->options.context, p);
}

static int calibrate(struct measure *m, struct overhead_run *run, uint64_t repeats, struct error *err)
{
    int status = 0;
    for (size_t i = 0; i < m->list.op_count && !status; i++) {
        const struct overhead_op *listed = &m->list.ops[i];
        if (!listed->is_calibration)
            continue;
        struct overhead_op *op = overhead_run_find(run, listed->name);
        status = measure_op(m, listed->name, op, repeats, err);
        if (!status && op->state != OVERHEAD_MEASURED)
            status = error_set(err, EIO, "%s cannot be measured: %s", op->name, op->reason);
    }
    return status;
}

static int measure_pass(struct measure *m, struct plan *plan, uint64_t repeats, struct overhead_run *run,
                        struct error *err)
{
    int status = 0;
    shuffle(m, plan->items, plan->count);
    for (size_t i = 0; i < plan->count && !status; i++) {
        const char *name = m->list.ops[plan->items[i]].name;
        struct overhead_op *op = overhead_run_find(run, name);
        if (i % OPS_PER_CALIBRATION == 0)
            status = calibrate(m, run, repeats, err);
        tell_progress(m, plan, name);
        if (!status && op->state == OVERHEAD_MEASURED) {
            status = measure_op(m, name, op, repeats, err);
            plan->progress.failed += op->state != OVERHEAD_MEASURED && op->state != OVERHEAD_LEFT_OUT;
        }
        plan->progress.done++;
    }
    return status ? status : calibrate(m, run, repeats, err);
}

static bool is_settled(const struct measure *m, struct overhead_op *op)
{
    overhead_op_summarise(op);
    return op->state != OVERHEAD_MEASURED || !(op->p50_ns > 0) ||
           (op->ci_high_ns - op->ci_low_ns) / 2 <= m->options.until * op->p50_ns;
}

/* --until: goes on with those whose median is not known well enough. */
static int measure_until(struct measure *m, struct plan *plan, uint64_t repeats, struct overhead_run *run,
                         struct error *err)
{
    int status = 0;
    for (uint64_t pass = m->facts.passes; pass < MOST_ROUNDS * m->facts.passes && !status; pass++) {
        size_t kept = 0;
        for (size_t i = 0; i < plan->count; i++)
            if (!is_settled(m, overhead_run_find(run, m->list.ops[plan->items[i]].name)))
                plan->items[kept++] = plan->items[i];
        plan->count = kept;
        if (!kept)
            break;
        plan->progress.total += kept;
        plan->progress.pass++;
        plan->progress.passes = plan->progress.pass;
        status = measure_pass(m, plan, repeats, run, err);
    }
    m->facts.unsettled = 0;
    for (size_t i = 0; i < plan->count; i++)
        m->facts.unsettled += !is_settled(m, overhead_run_find(run, m->list.ops[plan->items[i]].name));
    return status;
}

/* --- the whole --- */

static bool is_named(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* Rows of the run for all that will be measured, and the plan's list of them. */
static int make_plan(struct measure *m, const char *const *names, size_t count, struct overhead_run *run,
                     struct plan *plan, struct error *err)
{
    plan->items = calloc(m->list.op_count ? m->list.op_count : 1, sizeof *plan->items);
    bool has_room = plan->items != NULL;
    for (size_t i = 0; i < m->list.op_count && has_room; i++) {
        const struct overhead_op *listed = &m->list.ops[i];
        bool is_planned = names ? is_named(names, count, listed->name) : measure_wants(m, listed);
        if (!is_planned && !listed->is_calibration)
            continue;
        if (!listed->is_calibration && listed->state == OVERHEAD_MEASURED)
            plan->items[plan->count++] = i;
        if (overhead_run_find(run, listed->name))
            continue;
        struct overhead_op *op = overhead_run_add(run, listed->name, listed->group);
        has_room = op && overhead_set_text(&op->reason, listed->reason);
        if (has_room) {
            op->state = listed->state;
            op->is_calibration = listed->is_calibration;
        }
    }
    if (!has_room)
        return error_no_memory(err, "the plan");
    overhead_run_sort(run);
    return 0;
}

static void find_noise(struct overhead_run *run)
{
    run->noise = NAN;
    for (size_t i = 0; i < run->op_count; i++) {
        const struct overhead_op *op = &run->ops[i];
        double *sorted =
            op->is_calibration && op->repeat_count ? malloc(op->repeat_count * sizeof *sorted) : NULL;
        if (!sorted)
            continue;
        memcpy(sorted, op->dispatch_ns, op->repeat_count * sizeof *sorted);
        overhead_sort_values(sorted, op->repeat_count);
        double spread = (overhead_quantile(sorted, op->repeat_count, 0.75) -
                         overhead_quantile(sorted, op->repeat_count, 0.25)) /
                        op->p50_ns;
        if (isnan(run->noise) || spread > run->noise)
            run->noise = spread;
        free(sorted);
    }
    run->is_noisy = run->noise > NOISY;
}

static int sum_up(struct measure *m, struct overhead_run *run, struct error *err)
{
    for (size_t i = 0; i < run->op_count; i++)
        overhead_op_summarise(&run->ops[i]);
    find_noise(run);
    run->loop_ns = m->loop_ns;
    if (!overhead_set_text(&run->source, "measured") ||
        !overhead_set_text(&run->provider, m->list.provider) ||
        !overhead_set_text(&run->provider_version, m->list.provider_version) ||
        !overhead_set_text(&run->machine, m->list.machine))
        return error_set(err, ENOMEM, "no memory");
    return 0;
}

int measure_run(struct measure *m, const char *const *names, size_t count, struct overhead_run *run,
                struct error *err)
{
    struct plan plan = {.begin_ns = clock_raw_ns()};
    int status = make_plan(m, names, count, run, &plan, err);
    uint64_t passes = m->facts.passes, left = m->facts.repeats;
    plan.progress.passes = (unsigned)passes;
    plan.progress.total = plan.count * passes;
    for (uint64_t pass = 0; pass < passes && !status; pass++) {
        uint64_t repeats = left / (passes - pass);
        left -= repeats;
        plan.progress.pass = (unsigned)pass + 1;
        status = measure_pass(m, &plan, repeats, run, err);
    }
    if (!status && m->options.until > 0)
        status = measure_until(m, &plan, (m->facts.repeats + passes - 1) / passes, run, err);
    free(plan.items);
    return status ? status : sum_up(m, run, err);
}

int measure_again(struct measure *m, const char *const *names, size_t count, unsigned process,
                  uint64_t repeats, struct overhead_run *run, struct error *err)
{
    struct plan plan = {.begin_ns = clock_raw_ns(), .progress = {.pass = 1, .passes = 1}};
    int status = 0;
    if (process != m->process) {
        worker_end(&m->worker, END_GRACE_NS);
        status = measure_start_worker(m, true, err);
        m->process = process;
    }
    if (!status)
        status = make_plan(m, names, count, run, &plan, err);
    plan.progress.total = plan.count;
    if (!status)
        status = measure_pass(m, &plan, repeats, run, err);
    free(plan.items);
    return status ? status : sum_up(m, run, err);
}

int measure_finish(struct measure *m, struct overhead_run *run, struct error *err)
{
    struct overhead_zones zones = {0};
    int status = 0;
    worker_end(&m->worker, END_GRACE_NS);
    for (size_t i = 0; i < m->facts.trace_count && !status; i++) {
        char path[PATH_MAX];
        struct trace *trace = NULL;
        measure_trace_path(m, i, path, sizeof path);
        status = trace_open(&trace, path, 0, err);
        if (status)
            break;
        if (trace_get_info(trace)->lost_zones)
            notice(
                m,
                "some zones were lost while recording: native times are too small; opscope info says where");
        status = overhead_zones_collect(&zones, trace, i, m->windows, m->window_count, err);
        trace_close(trace);
    }
    if (!status && m->facts.trace_count)
        status = overhead_native_fill(run, m->windows, m->window_count, &zones, err);
    overhead_zones_free(&zones);
    return status;
}
