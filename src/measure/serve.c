/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's loop for ops in C. Nothing here may stop because an op misbehaves: what it returns is checked, what it
 * allocates is limited, and when it kills the process, the parent sees which op it was. */
#include "measure/serve.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/count_of.h"
#include "text/json/reader.h"
#include "base/calibration.h"
#include "base/run_delay.h"
#include "text/json/writer.h"

#define GAP_NS 20000u               /* around a recorded burst: more than two clocks differ by */
#define SETTLE_NS 5000000u          /* threads that spin before they sleep give up */
#define WATCH_NS 5000000u           /* then the process should be idle */
#define LONGEST_WATCH_NS 200000000u /* on a shared CPU: several turns of every process that wants it */
#define IDLE_TRIES 200u             /* a second on an idle machine */
#define EARLY_NS 1000u              /* waiting so long per call */
#define MAX_REPEATS 100000u

struct server {
    const struct serve_options *options;
    const struct opscope_overhead_op *ops; /* those of the provider, then calibration ops */
    size_t count, own_count;
    FILE *out;
    int run_delay; /* descriptor */
};

/* Where delays are read: nowhere, from this thread, or from the worker itself. */
struct delay_source {
    int descriptor;
    uint64_t (*read)(void);
};

static int64_t read_delay(const struct delay_source *source)
{
    return source->read ? (int64_t)source->read() : run_delay_ns(source->descriptor);
}

struct burst_times {
    uint64_t start_ns, called_ns;
    uint64_t dispatch_ns, total_ns; /* of the whole burst; what others had the CPU for is taken off */
};

/* --- calibration ops --- */

static int call_integer(void *context)
{
    (void)context;
    return calibration_integer() == 0;
}

static int call_memory(void *context)
{
    (void)context;
    return calibration_memory() >= CALIBRATION_CELLS;
}

static int call_throughput(void *context)
{
    (void)context;
    return calibration_throughput() == 0;
}

static int call_allocate(void *context)
{
    (void)context;
    calibration_allocate();
    return 0;
}

static const struct opscope_overhead_op calibration_ops[] = {
    {.name = "calibration.integer", .group = "calibration", .call = call_integer},
    {.name = "calibration.memory", .group = "calibration", .call = call_memory},
    {.name = "calibration.throughput", .group = "calibration", .call = call_throughput},
    {.name = "calibration.allocate", .group = "calibration", .call = call_allocate},
};
#define CALIBRATION_COUNT COUNT_OF(calibration_ops)

/* --- timing --- */

static const struct delay_source no_delay = {.descriptor = -1};

/* 0, or what the op returned. Whether another process had the CPU meanwhile is asked outside the timed stretches. */
static int time_burst(const struct delay_source *delay, const struct opscope_overhead_op *op, void *context,
                      uint64_t calls, struct burst_times *times)
{
    int (*call)(void *) = op->call;
    int status = 0;
    uint64_t asked_ns = clock_raw_ns();
    int64_t before_ns = read_delay(delay);
    times->start_ns = clock_raw_ns();
    for (uint64_t i = 0; i < calls && !status; i++)
        status = call(context);
    times->called_ns = clock_raw_ns();
    int64_t between_ns = read_delay(delay);
    uint64_t resumed_ns = clock_raw_ns();
    if (op->synchronize && !status)
        status = op->synchronize(context);
    uint64_t end_ns = clock_raw_ns();
    int64_t after_ns = read_delay(delay);
    uint64_t done_ns = clock_raw_ns(), gap_ns = resumed_ns - times->called_ns;
    times->dispatch_ns = run_delay_less(times->called_ns - times->start_ns, between_ns - before_ns,
                                        times->start_ns - asked_ns + gap_ns);
    times->total_ns = times->dispatch_ns +
                      run_delay_less(end_ns - resumed_ns, after_ns - between_ns, gap_ns + done_ns - end_ns);
    return status;
}

static int do_nothing(void *context)
{
    __asm__ volatile("" : : "r"(context) : "memory");
    return 0;
}

/* What a call of nothing costs in the same loop: the least of many bursts, since nothing makes one faster. */
static double measure_loop(void)
{
    static const struct opscope_overhead_op nothing = {.name = "nothing", .call = do_nothing};
    double least = INFINITY;
    for (unsigned i = 0; i < 200; i++) {
        struct burst_times t;
        time_burst(&no_delay, &nothing, NULL, 20, &t);
        double ns = (double)t.dispatch_ns / 20;
        least = ns < least ? ns : least;
    }
    return least;
}

static void pause_ns(uint64_t ns)
{
    uint64_t end = clock_raw_ns() + ns;
    while (clock_raw_ns() < end) {
    }
}

/* Lets other threads run until the process has had so much of the CPU, or long enough that every thread had its turn
 * (on a busy machine yielding gives the CPU away each time). Never sleeps: an idle CPU lowers its clock, and the calls
 * that follow would be slower for it. Returns what the other threads of this process had. */
static uint64_t watch_others(uint64_t cpu_ns)
{
    uint64_t end_ns = clock_raw_ns() + LONGEST_WATCH_NS;
    uint64_t all_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID), own_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - all_ns < cpu_ns && clock_raw_ns() < end_ns)
        sched_yield();
    all_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - all_ns;
    own_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - own_ns;
    return all_ns > own_ns ? all_ns - own_ns : 0;
}

static bool is_working(void)
{
    return watch_others(WATCH_NS) > WATCH_NS / 10;
}

/* What an earlier op left to do must not disturb this one, nor be taken for its own. False when that does not end. */
static bool wait_until_idle(void)
{
    for (unsigned i = 0; i < IDLE_TRIES; i++)
        if (!is_working())
            return true;
    return false;
}

/* Does the process go on working although synchronize said that all is done? */
static bool goes_on_working(void)
{
    watch_others(SETTLE_NS);
    return is_working();
}

struct request {
    const struct opscope_overhead_op *op;
    uint64_t calls, repeats, warmup, limit_ns;
    bool is_traced, is_first;
};

struct result {
    struct burst_times *bursts; /* with, then without synchronisation: one pair per repeat */
    int status;
    bool is_early;
    uint64_t slow_ns; /* of a call that takes so long that the bursts would not end in time; 0: it does not */
};

static void signpost(const struct server *s, const char *what, const char *name)
{
    char header[300];
    if (!s->options->signpost)
        return;
    snprintf(header, sizeof header, "%s %.280s", what, name);
    s->options->signpost(header, NULL);
}

/* An op whose bursts would be stopped at the time limit is not started. The first calls may have been slow for once,
 * so one more is timed. */
static void find_slow(const struct request *r, const struct delay_source *delay, void *context,
                      const struct burst_times *warmup, struct result *result)
{
    double calls = (double)r->calls * 2 * (double)r->repeats, limit_ns = (double)r->limit_ns;
    struct burst_times one;
    if (!r->limit_ns || (double)warmup->total_ns / (double)r->warmup * calls <= limit_ns)
        return;
    result->status = time_burst(delay, r->op, context, 1, &one);
    if (!result->status && (double)one.total_ns * calls > limit_ns)
        result->slow_ns = one.total_ns;
}

/* Does synchronising take a share of its own in most bursts, because the calls returned before their work was done? */
static bool has_to_wait(const struct request *r, const struct result *result)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < r->repeats; i++) {
        const struct burst_times *t = &result->bursts[2 * i];
        uint64_t wait_ns = t->total_ns - t->dispatch_ns;
        count += wait_ns > EARLY_NS * r->calls && wait_ns > t->dispatch_ns / 4;
    }
    return 2 * count > r->repeats;
}

static void measure_prepared(const struct server *s, const struct request *r, void *context,
                             struct result *result)
{
    bool was_idle = r->is_first && wait_until_idle();
    struct burst_times ignored;
    const struct delay_source waiting = {s->run_delay, s->options->delay_ns};
    /* What is recorded is compared with what was recorded, which knows of no others: nothing is taken off then. */
    const struct delay_source delay = r->is_traced ? no_delay : waiting;
    if (r->warmup)
        result->status = time_burst(&waiting, r->op, context, r->warmup, &ignored);
    if (!result->status && r->warmup)
        find_slow(r, &waiting, context, &ignored, result);
    if (result->slow_ns)
        return;
    if (!result->status && was_idle)
        result->is_early = goes_on_working();
    signpost(s, "start", r->op->name);
    for (uint64_t i = 0; i < r->repeats && !result->status; i++) {
        result->status = time_burst(&delay, r->op, context, r->calls, &result->bursts[2 * i]);
        if (r->is_traced)
            pause_ns(GAP_NS);
        if (!result->status)
            result->status = time_burst(&delay, r->op, context, r->calls, &result->bursts[2 * i + 1]);
        if (r->is_traced)
            pause_ns(GAP_NS);
    }
    signpost(s, "end", r->op->name);
    if (!result->status && r->op->synchronize)
        result->is_early |= has_to_wait(r, result);
}

static void measure(const struct server *s, const struct request *r, struct result *result)
{
    void *context = NULL;
    if (r->op->prepare)
        result->status = r->op->prepare(s->options->inputs, &context);
    if (result->status)
        return;
    measure_prepared(s, r, context, result);
    if (r->op->release)
        r->op->release(context);
}

/* --- answers --- */

static void finish_answer(const struct server *s, struct json *json)
{
    if (json_finish(json) != 0 || fflush(s->out) != 0)
        _exit(1); /* nobody listens any more */
}

static void answer_list(const struct server *s)
{
    struct json json = {.stream = s->out};
    double loop_ns = isnan(s->options->loop_ns) ? measure_loop() : s->options->loop_ns;
    json_object(&json, JSON_INLINE);
    json_member_text(&json, "provider", s->options->provider);
    json_member_text(&json, "version", s->options->version ? s->options->version : "");
    json_member_text(&json, "description", s->options->description ? s->options->description : "");
    json_member_unsigned(&json, "pid", (uint64_t)getpid());
    json_member_unsigned(&json, "tid", (uint64_t)syscall(SYS_gettid));
    json_member_real(&json, "loop_ns", loop_ns);
    json_key(&json, "ops");
    json_array(&json, JSON_INLINE);
    for (size_t i = 0; i < s->count; i++) {
        json_object(&json, JSON_INLINE);
        json_member_text(&json, "name", s->ops[i].name);
        json_member_text(&json, "group", s->ops[i].group ? s->ops[i].group : "");
        json_member_text(&json, "reason", NULL);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
    finish_answer(s, &json);
}

static void write_figures(struct json *json, const char *key, const struct request *r,
                          const struct result *result, bool is_total)
{
    json_key(json, key);
    json_array(json, JSON_INLINE);
    for (uint64_t i = 0; i < r->repeats && !result->status && !result->slow_ns; i++) {
        const struct burst_times *t = &result->bursts[2 * i + !is_total];
        json_real(json, (double)(is_total ? t->total_ns : t->dispatch_ns) / (double)r->calls);
    }
    json_end(json);
}

static void write_windows(struct json *json, const struct request *r, const struct result *result)
{
    json_key(json, "windows");
    json_array(json, JSON_INLINE);
    for (uint64_t i = 0; i < r->repeats && !result->status && !result->slow_ns && r->is_traced; i++) {
        json_array(json, JSON_INLINE);
        json_unsigned(json, result->bursts[2 * i + 1].start_ns);
        json_unsigned(json, result->bursts[2 * i + 1].called_ns);
        json_end(json);
    }
    json_end(json);
}

static void answer_measure(const struct server *s, const struct request *r)
{
    struct json json = {.stream = s->out};
    struct result result = {.bursts = calloc(r->repeats ? 2 * r->repeats : 1, sizeof *result.bursts)};
    if (!result.bursts)
        result.status = ENOMEM;
    else
        measure(s, r, &result);
    json_object(&json, JSON_INLINE);
    json_member_text(&json, "op", r->op->name);
    write_figures(&json, "dispatch_ns", r, &result, false);
    write_figures(&json, "total_ns", r, &result, true);
    write_windows(&json, r, &result);
    const char *(*reason)(int) = s->options->reason;
    json_member_text(&json, "error",
                     !result.status ? NULL
                     : reason       ? reason(result.status)
                                    : strerror(result.status));
    json_member_text(&json, "left_out", NULL);
    json_member_bool(&json, "is_memory", result.status == ENOMEM);
    json_member_bool(&json, "is_early", result.is_early);
    json_member_unsigned(&json, "slow_ns", result.slow_ns);
    json_end(&json);
    free(result.bursts);
    finish_answer(s, &json);
}

void serve_failure(const struct serve_options *options, const char *message)
{
    struct server s = {.out = fdopen(options->write_fd, "w")};
    char line[4096];
    /* The question is waited for: an answer before it would be taken for one to the next. */
    if (!s.out || read(options->read_fd, line, sizeof line) <= 0)
        return;
    struct json json = {.stream = s.out};
    json_object(&json, JSON_INLINE);
    json_member_text(&json, "error", message);
    json_end(&json);
    finish_answer(&s, &json);
}

/* --- questions --- */

static uint64_t number_of(const struct json_document *d, const char *key)
{
    uint64_t value = 0;
    json_unsigned_value(json_find(d, json_root(d), key), &value);
    return value;
}

static const struct json_node *member(const struct json_document *d, const char *key)
{
    return json_find(d, json_root(d), key);
}

/* False: to quit. */
static bool answer(const struct server *s, const struct json_document *d)
{
    if (json_text_is(member(d, "do"), "list")) {
        answer_list(s);
        return true;
    }
    if (!json_text_is(member(d, "do"), "measure"))
        return false;
    const struct json_node *traced = member(d, "trace"), *first = member(d, "first");
    struct request r = {.calls = number_of(d, "calls"),
                        .repeats = number_of(d, "repeats"),
                        .warmup = number_of(d, "warmup"),
                        .limit_ns = number_of(d, "limit_ns"),
                        .is_traced = traced && traced->kind == JSON_TRUE,
                        .is_first = first && first->kind == JSON_TRUE};
    for (size_t i = 0; i < s->count && !r.op; i++)
        if (json_text_is(member(d, "op"), s->ops[i].name))
            r.op = &s->ops[i];
    if (!r.op || !r.calls || r.repeats > MAX_REPEATS)
        return false;
    answer_measure(s, &r);
    return true;
}

/* Address space, counted from now: what the loader and the libraries reserved is not the op's doing. */
static void limit_memory(uint64_t limit_bytes)
{
    unsigned long long pages = 0;
    FILE *file = limit_bytes ? fopen("/proc/self/statm", "re") : NULL;
    if (!file)
        return;
    if (fscanf(file, "%llu", &pages) == 1) {
        rlim_t bytes = (rlim_t)(pages * (unsigned long long)sysconf(_SC_PAGESIZE) + limit_bytes);
        struct rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};
        setrlimit(RLIMIT_AS, &limit);
    }
    fclose(file);
}

int serve(const struct serve_options *options, const struct opscope_overhead_op *ops, size_t count)
{
    struct server s = {.options = options, .count = count + CALIBRATION_COUNT, .own_count = count};
    struct opscope_overhead_op *all = calloc(s.count, sizeof *all);
    struct json_document document = {0};
    FILE *in = fdopen(options->read_fd, "r");
    s.out = fdopen(options->write_fd, "w");
    s.run_delay = run_delay_open();
    s.ops = all;
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    bool goes_on = all && in && s.out;
    if (goes_on) {
        memcpy(all, ops, count * sizeof *all);
        memcpy(all + count, calibration_ops, sizeof calibration_ops);
        limit_memory(options->memory_limit_bytes);
    }
    while (goes_on && (length = getline(&line, &capacity, in)) > 0)
        goes_on = json_read(&document, line, (size_t)length, NULL) == 0 && answer(&s, &document);
    free(line);
    json_document_free(&document);
    free(all);
    if (in)
        fclose(in);
    if (s.out)
        fclose(s.out);
    if (s.run_delay >= 0)
        close(s.run_delay);
    return 0;
}
