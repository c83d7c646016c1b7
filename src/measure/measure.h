/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the host dispatch time of ops: drives workers (child processes that hold the ops and time calls of them)
 * and gathers what they say into a struct overhead_run.
 *
 *     struct measure *m;
 *     measure_open(&m, &options, &err);              starts a worker, learns which ops there are
 *     measure_run(m, NULL, 0, &run, &err);           all that options ask for; also once more, for some of them
 *     measure_finish(m, &run, &err);                 reads the trace, where one was asked for; sorts and sums up
 *     measure_close(m);
 *
 * Ops are measured in several passes, each in a new random order, so that a drift of the machine affects all alike.
 * Between them calibration ops are measured, again and again. An op that raises, hangs, crashes or runs out of memory
 * is a row that says so; a new worker goes on with the rest. */
#ifndef OPSCOPE_MEASURE_MEASURE_H
#define OPSCOPE_MEASURE_MEASURE_H

#include "analyze/overhead/overhead.h"
#include "base/error.h"
#include "base/text_list.h"

enum measure_provider {
    MEASURE_PYTHON = 0, /* torch, numpy, ttnn, or a file of the user's */
    MEASURE_LIBRARY,    /* a shared library with a table (opscope/overhead.h) */
    MEASURE_COMMAND,    /* a program; one call is one process */
};

#define MEASURE_CPU_CHOOSE (-1) /* the least busy one */
#define MEASURE_CPU_NONE (-2)   /* do not pin */

struct measure_progress {
    size_t done, total; /* measurements: an op in a pass */
    size_t failed;
    unsigned pass, passes;
    const char *op; /* the current one */
    uint64_t elapsed_ns, left_ns;
};

struct measure_options {
    enum measure_provider provider;
    const char *ops;      /* "torch", "./my_ops.py", "./libx.so" */
    char *const *command; /* MEASURE_COMMAND: NULL-terminated */
    const char *python;   /* interpreter; NULL: python3 and /usr/bin/python3, the first that has the module */
    const char *package;  /* folder that holds the Python package opscope; MEASURE_PYTHON */
    const char *shape;    /* "1,4,1024,1024"; NULL: the provider's own */
    const char *dtype, *layout;              /* NULL likewise */
    const char *device;                      /* "cpu", "cuda:0"; NULL likewise */
    struct text_list names;                  /* globs; none: all */
    struct text_list groups;                 /* likewise */
    uint64_t repeats, calls, warmup, passes; /* 0: the default of the provider */
    double until;                /* repeat until the interval of the median is within +- this share; 0: no */
    uint64_t time_limit_ns;      /* of one measurement of one op; 0: 30 s */
    uint64_t memory_limit_bytes; /* above what the loaded provider takes; 0: half of the machine's */
    int cpu;                     /* number, or one of MEASURE_CPU_ */
    uint64_t seed;               /* of the order; 0: chosen */
    const char *trace;           /* record into this file; NULL: no */
    void (*progress)(void *context, const struct measure_progress *progress); /* may be NULL */
    void (*notice)(void *context, const char *text); /* a line for the user; may be NULL */
    void *context;
};

/* What was decided, to be shown. */
struct measure_facts {
    char interpreter[512]; /* "" for providers without one */
    int cpu;               /* MEASURE_CPU_NONE when not pinned */
    uint64_t seed, repeats, calls, passes;
    size_t listed, wanted; /* ops of the provider; of these, those that were asked for */
    size_t unsettled;      /* until: ops that did not get there */
    size_t restarts;       /* workers that were lost */
    size_t trace_count;    /* files: TRACE, TRACE.2 ... */
    char description[160]; /* of the inputs: "shape 32x32, float32, cpu" */
};

struct measure;

/* -EINVAL with a sentence: no such provider, no op of that name or group, a library without a table. */
int measure_open(struct measure **out, const struct measure_options *options, struct error *err);
void measure_close(struct measure *m);
const struct measure_facts *measure_get_facts(const struct measure *m);

/* The ops there are, those left out included, in the provider's order, as names and groups alone. */
const struct overhead_run *measure_get_list(const struct measure *m);
/* Was this one asked for, by name and group? */
bool measure_wants(const struct measure *m, const struct overhead_op *op);

/* Measures the ops of these names (NULL: all wanted ones) and the calibration ops, and adds their repeats to `run`,
 * which may hold some from an earlier call. Summarises all of it, and sorts it by name. Fails when no further worker
 * can be started. */
int measure_run(struct measure *m, const char *const *names, size_t count, struct overhead_run *run,
                struct error *err);

/* Measures some ops once more, into an empty run: a single pass of `repeats`, calibration ops before, between and after
 * them. The worker is a fresh one where `process` differs from the last call's (from 0 at first): where code and data
 * lie in memory is part of the noise. */
int measure_again(struct measure *m, const char *const *names, size_t count, unsigned process,
                  uint64_t repeats, struct overhead_run *run, struct error *err);

/* Ends the worker, and fills native_ns and native of the ops from the trace. Nothing without one. */
int measure_finish(struct measure *m, struct overhead_run *run, struct error *err);

#endif
