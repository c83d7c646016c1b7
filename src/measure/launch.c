/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a worker: its command line, the interpreters that may serve, and the list of ops it answers with. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/count_of.h"
#include "measure/internal.h"
#include "text/json/writer.h"

#define LIST_LIMIT_NS UINT64_C(300000000000) /* importing a large package from a cold disk */
#define MOST_ARGUMENTS 48u

static const char *const interpreters[] = {"python3", "/usr/bin/python3"};
#define INTERPRETERS COUNT_OF(interpreters)

char *measure_text(const struct json_node *node)
{
    return node && node->kind == JSON_STRING ? strndup(node->text, node->length) : strdup("");
}

static double real_of(const struct json_node *node)
{
    char text[64];
    if (!node || node->kind != JSON_NUMBER || node->length >= sizeof text)
        return NAN;
    memcpy(text, node->text, node->length);
    text[node->length] = '\0';
    return strtod(text, NULL);
}

void measure_trace_path(const struct measure *m, size_t number, char *out, size_t size)
{
    const char *path = m->options.trace;
    size_t stem = strlen(path);
    if (stem > 8 && strcmp(path + stem - 8, ".opscope") == 0)
        stem -= 8;
    if (number == 0)
        snprintf(out, size, "%s", path);
    else
        snprintf(out, size, "%.*s.%zu.opscope", (int)stem, path, number + 1);
}

/* --- command lines --- */

struct arguments {
    const char *items[MOST_ARGUMENTS];
    size_t count;
    char trace[PATH_MAX], limit[32];
};

static void add(struct arguments *a, const char *text)
{
    if (a->count + 1 < MOST_ARGUMENTS)
        a->items[a->count++] = text;
}

static void add_pair(struct arguments *a, const char *option, const char *value)
{
    if (value) {
        add(a, option);
        add(a, value);
    }
}

static void make_arguments(struct measure *m, struct arguments *a)
{
    const struct measure_options *o = &m->options;
    *a = (struct arguments){0};
    if (o->trace) {
        measure_trace_path(m, m->facts.trace_count, a->trace, sizeof a->trace);
        const char *const recording[] = {
            m->program, "run",    "--quiet", "--python-trace=off", "--buffer-size=128M", "--on-full=wait",
            "-o",       a->trace, "--"};
        for (size_t i = 0; i < COUNT_OF(recording); i++)
            add(a, recording[i]);
    }
    if (o->provider == MEASURE_PYTHON) {
        add(a, o->python ? o->python : interpreters[m->interpreter]);
        add(a, "-m");
        add(a, "opscope._overhead");
        add_pair(a, "--ops", o->ops);
    } else {
        add(a, m->program);
        add(a, "overhead-worker");
        add_pair(a, "--library", o->provider == MEASURE_LIBRARY ? o->ops : NULL);
    }
    add_pair(a, "--fds", "{fds}");
    add_pair(a, "--shape", o->shape);
    add_pair(a, "--dtype", o->dtype);
    add_pair(a, "--layout", o->layout);
    add_pair(a, "--device", o->device);
    snprintf(a->limit, sizeof a->limit, "%" PRIu64, m->memory_limit_bytes);
    add_pair(a, "--memory-limit", a->limit);
    if (o->provider == MEASURE_COMMAND) {
        add(a, "--");
        for (size_t i = 0; o->command[i]; i++)
            add(a, o->command[i]);
    }
}

/* --- the list --- */

static int take_op(struct measure *m, const struct json_node *node, struct error *err)
{
    const struct json_document *d = &m->document;
    char *name = measure_text(json_find(d, node, "name")), *group = measure_text(json_find(d, node, "group"));
    char *reason = measure_text(json_find(d, node, "reason"));
    int status = 0;
    struct overhead_op *op = NULL;
    if (!name || !group || !reason)
        status = error_no_memory(err, "the list of ops");
    else if (!*name)
        status = error_set(err, EINVAL, "%s has an op without a name", m->options.ops);
    else if (!(op = overhead_run_add(&m->list, name, group)) || !overhead_set_text(&op->reason, reason))
        status = error_no_memory(err, "the list of ops");
    else if (*reason)
        op->state = OVERHEAD_LEFT_OUT;
    if (op)
        op->is_calibration =
            strncmp(name, OVERHEAD_CALIBRATION_PREFIX, strlen(OVERHEAD_CALIBRATION_PREFIX)) == 0;
    free(name);
    free(group);
    free(reason);
    return status;
}

static int find_duplicate(struct measure *m, struct error *err)
{
    overhead_run_sort(&m->list);
    for (size_t i = 1; i < m->list.op_count; i++)
        if (strcmp(m->list.ops[i - 1].name, m->list.ops[i].name) == 0)
            return error_set(err, EINVAL, "%s has two ops of the name %s", m->options.ops,
                             m->list.ops[i].name);
    return 0;
}

int measure_take_list(struct measure *m, struct error *err)
{
    const struct json_document *d = &m->document;
    const struct json_node *root = json_root(d), *ops = json_find(d, root, "ops");
    char *provider = measure_text(json_find(d, root, "provider"));
    char *version = measure_text(json_find(d, root, "version"));
    char *description = measure_text(json_find(d, root, "description"));
    char *interpreter = measure_text(json_find(d, root, "interpreter"));
    int status = provider && version && overhead_set_text(&m->list.provider, provider) &&
                         overhead_set_text(&m->list.provider_version, version)
                     ? 0
                     : error_no_memory(err, "the list of ops");
    if (description)
        snprintf(m->facts.description, sizeof m->facts.description, "%s", description);
    if (interpreter)
        snprintf(m->facts.interpreter, sizeof m->facts.interpreter, "%s", interpreter);
    for (const struct json_node *n = json_first(d, ops); n && !status; n = json_next(d, ops, n))
        status = take_op(m, n, err);
    free(provider);
    free(version);
    free(description);
    free(interpreter);
    return status ? status : find_duplicate(m, err);
}

/* Asks a new worker for its list. 1: it has none, the reason is in err, another interpreter may do better. */
static int ask_list(struct measure *m, struct error *err)
{
    const struct json_document *d = &m->document;
    int answer = worker_ask(&m->worker, "{\"do\":\"list\"}", LIST_LIMIT_NS, &m->document, err);
    if (answer < 0)
        return answer;
    if (answer == WORKER_SILENT)
        return error_set(err, ETIMEDOUT, "%s: it did not say within 5 minutes which ops it has",
                         m->options.ops);
    if (answer == WORKER_DIED) {
        error_set(err, EINVAL, "%s: the process ended before it said which ops it has", m->options.ops);
        return 1;
    }
    const struct json_node *error = json_find(d, json_root(d), "error");
    const struct json_node *is_missing = json_find(d, json_root(d), "is_missing");
    if (error && error->kind == JSON_STRING) {
        m->lacks_package = is_missing && is_missing->kind == JSON_TRUE;
        error_set(err, EINVAL, "%.*s", (int)(error->length < 400 ? error->length : 400), error->text);
        return 1;
    }
    uint64_t pid = 0;
    json_unsigned_value(json_find(d, json_root(d), "pid"), &pid);
    m->worker.inner_pid = (pid_t)pid;
    double loop_ns = real_of(json_find(d, json_root(d), "loop_ns"));
    m->loop_ns = isnan(loop_ns) || loop_ns < 0 ? 0 : loop_ns;
    return 0;
}

static int start_once(struct measure *m, struct error *err)
{
    struct arguments a;
    m->lacks_package = false;
    make_arguments(m, &a);
    struct worker_options options = {.argv = (char *const *)(uintptr_t)a.items,
                                     .package =
                                         m->options.provider == MEASURE_PYTHON ? m->options.package : NULL,
                                     .cpu = m->facts.cpu,
                                     .is_recorded = m->options.trace != NULL};
    int status = worker_start(&m->worker, &options, err);
    if (status)
        return 1;
    if (m->options.trace)
        m->facts.trace_count++;
    status = ask_list(m, err);
    m->has_worker = status == 0;
    if (status)
        worker_end(&m->worker, 1000000000);
    return status;
}

/* Tries the interpreters one after the other. The message names what keeps the first one that has the package
 * from working; or, where none has it, what to do about that. */
static int start_python(struct measure *m, struct error *err)
{
    bool all_lack_it = true;
    int status = 1;
    for (size_t i = 0; i < INTERPRETERS && status == 1; i++) {
        struct error problem = {0};
        m->interpreter = (unsigned)i;
        if (m->options.trace)
            m->facts.trace_count = 0;
        status = start_once(m, &problem);
        if (status && all_lack_it && !m->lacks_package) {
            *err = problem;
            all_lack_it = false;
        }
    }
    if (status && all_lack_it)
        error_set(err, EINVAL,
                  "neither %s nor %s has %s: install it for one of them, or name the Python that has it "
                  "(--python PROGRAM)",
                  interpreters[0], interpreters[1], m->options.ops);
    return status;
}

int measure_start_worker(struct measure *m, bool is_again, struct error *err)
{
    bool may_choose = m->options.provider == MEASURE_PYTHON && !m->options.python && !is_again;
    int status = may_choose ? start_python(m, err) : start_once(m, err);
    if (status)
        return status == 1 ? -EINVAL : status;
    return is_again ? 0 : measure_take_list(m, err);
}
