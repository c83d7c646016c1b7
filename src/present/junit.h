/* SPDX-License-Identifier: Apache-2.0 */
/* Results of a gate as JUnit XML, the form that every CI system shows: one suite, one case for each thing checked.
 *
 *     struct junit junit = {0};
 *     junit_add(&junit, &(struct junit_case){.class_name = "overhead", .name = "torch.add", .seconds = 0.1,
 *                                            .result = JUNIT_FAILED, .message = "1.31 times the reference"});
 *     junit_write(&junit, "opscope overhead", output.stream, &err);
 *     junit_free(&junit);
 *
 * Texts may hold anything: what XML cannot is written as \x1b, what is not UTF-8 as U+FFFD. */
#ifndef OPSCOPE_PRESENT_JUNIT_H
#define OPSCOPE_PRESENT_JUNIT_H

#include <stddef.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/error.h"

enum junit_result {
    JUNIT_PASSED = 0,
    JUNIT_FAILED, /* the answer is no */
    JUNIT_ERROR,  /* there is no answer: it could not be measured */
    JUNIT_SKIPPED,
    JUNIT_RESULTS
};

struct junit_case {
    const char *class_name; /* how CI systems group cases; NULL: empty */
    const char *name;
    double seconds; /* what it took; NAN or 0 when unknown */
    enum junit_result result;
    const char *message; /* one line; NULL: none */
    const char *detail;  /* lines below it; NULL: none */
    const char *output;  /* system-out: also of a case that passed; NULL: none */
};

struct junit { /* zero-initialise */
    struct bytes cases, properties;
    size_t counts[JUNIT_RESULTS];
    double seconds;
};

void junit_add(struct junit *junit, const struct junit_case *about);
/* A fact about the whole suite: machine, tolerance, reference. */
void junit_add_property(struct junit *junit, const char *name, const char *value);
int junit_write(const struct junit *junit, const char *suite, FILE *out, struct error *err);
void junit_free(struct junit *junit);

#endif
