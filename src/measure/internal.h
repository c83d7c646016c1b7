/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of measure/ share. */
#ifndef OPSCOPE_MEASURE_INTERNAL_H
#define OPSCOPE_MEASURE_INTERNAL_H

#include <limits.h>

#include "analyze/overhead/native.h"
#include "base/bytes.h"
#include "text/json/reader.h"
#include "measure/measure.h"
#include "measure/worker.h"

struct measure {
    struct measure_options options;
    struct measure_facts facts;
    struct overhead_run list;
    struct worker worker;
    struct json_document document;
    bool has_worker;
    double loop_ns; /* of the worker that runs */
    unsigned interpreter;
    bool lacks_package; /* the interpreter that was asked last: the package whose ops were wanted */
    unsigned process;   /* number that measure_again was last called with */
    uint64_t memory_limit_bytes;
    char program[PATH_MAX]; /* opscope itself */
    struct overhead_window *windows;
    size_t window_count, window_capacity;
    uint64_t random; /* state of the generator */
    uint64_t start_ns;
};

/* launch.c: starts a worker and asks which ops it has. `is_again`: after another was lost; the list stays as it is. */
int measure_start_worker(struct measure *m, bool is_again, struct error *err);
void measure_trace_path(const struct measure *m, size_t number, char *out, size_t size);
/* From m->document, what a worker said: its list of ops, and its answer to the question about one of them. */
int measure_take_list(struct measure *m, struct error *err);
int measure_take_answer(struct measure *m, const char *listed_name, struct overhead_op *op,
                        struct error *err);
/* The JSON text of a node as a NUL-terminated copy; "" for null. The caller frees it. */
char *measure_text(const struct json_node *node);

#endif
