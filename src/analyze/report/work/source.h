/* SPDX-License-Identifier: Apache-2.0 */
/* An op, as far as the models of work.c look at it: its tensors and the numbers in its attributes. */
#ifndef OPSCOPE_ANALYZE_REPORT_WORK_SOURCE_H
#define OPSCOPE_ANALYZE_REPORT_WORK_SOURCE_H

#include "analyze/report/attributes.h"
#include "analyze/report/report.h"

#define SOURCE_INPUTS 8u
#define SOURCE_OUTPUTS 4u
#define SOURCE_TENSORS (SOURCE_INPUTS + SOURCE_OUTPUTS)
#define IN(i) (i)
#define OUT(i) (SOURCE_INPUTS + (i))
struct source_tensor {
    bool is_present, has_shape;
    double w, z, y, x;
    double repeats;            /* how often each element is there: of one that is broadcast by its strides */
    double unpadded;           /* the share of it that is not padding */
    struct slice type, memory; /* length 0: not known */
};

/* An op, as far as the models look at it. */
struct source {
    struct perf *perf;
    struct slice name, fidelity;
    uint32_t description;
    struct source_tensor tensors[SOURCE_TENSORS]; /* inputs, then outputs */
};

/* Fills in the tensors of source->description. */
void source_take_tensors(struct source *source);
/* A numeric attribute; NaN, PERF_NO_NUMBER when there is none. */
double source_number(const struct source *source, enum perf_attribute name);
int32_t source_int(const struct source *source, enum perf_attribute name);
struct slice source_text(const struct source *source, enum perf_attribute name);
bool source_is_true(const struct source *source, enum perf_attribute name);
bool source_has_text(const struct source *source, enum perf_attribute text);
size_t source_digits(struct slice text); /* that it begins with */

#endif
