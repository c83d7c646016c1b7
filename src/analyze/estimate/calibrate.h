/* SPDX-License-Identifier: Apache-2.0 */
/* Fits a target's figures to measured runs: one factor per class of op and format of number, and the floor below which
 * no dispatch goes.
 *
 * A factor is the median of measured / estimated time over the sites of its class, where there are at least
 * CALIBRATION_SITES of them, else 1; it is drawn towards 1 where few sites disagree, as much as suits models that are
 * left out of those that it is fitted to. (A least-squares line is ruled by the largest op.) What the estimate is worth
 * is judged by sites that were not fitted to: those of each model get factors from the other models. */
#ifndef OPSCOPE_ANALYZE_ESTIMATE_CALIBRATE_H
#define OPSCOPE_ANALYZE_ESTIMATE_CALIBRATE_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/estimate/target.h"
#include "ops/model.h"

#define CALIBRATION_SITES 3u

enum calibration_class {
    CALIBRATE_MATMUL,
    CALIBRATE_CONV,
    CALIBRATE_DEPTHWISE,
    CALIBRATE_ELEMENTWISE,
    CALIBRATE_REDUCE,
    CALIBRATE_TRANSCENDENTAL,
    CALIBRATE_MOVE,
    CALIBRATE_FLOOR, /* as short as a dispatch can be, whatever it does */
    CALIBRATE_CLASSES
};

/* A place of a model that was estimated and measured. */
struct calibration_site {
    double estimate_ns, measured_ns; /* above 0 */
    uint8_t class;                   /* enum calibration_class */
    uint8_t format;                  /* enum model_format */
    uint32_t model;                  /* 0, 1, ... */
};

/* How far off: the factor max(estimate / measured, measured / estimate). */
struct calibration_error {
    size_t sites;
    double median, p90;
};

/* One figure of the target, and what its sites say about it. */
struct calibration_fit {
    uint8_t class, format; /* enum calibration_class, enum model_format; the floor is one for all */
    size_t sites;          /* 0: none of this kind was measured */
    double factor;         /* that the figure was multiplied by; 1: it was not set */
};

struct calibration {
    struct calibration_error before[CALIBRATE_CLASSES + 1]; /* the last is all of them */
    struct calibration_error after[CALIBRATE_CLASSES + 1];
    uint32_t models;  /* with sites */
    bool is_left_out; /* `after` is of sites that were not fitted to: there are several models */
    struct calibration_fit fits[CALIBRATE_CLASSES * MODEL_FORMATS]; /* those with sites */
    size_t fit_count;
    size_t fitted; /* figures that were set */
};

/* "MAC", "CONV" ...: as the estimate calls the class of an op (model_class_text); CALIBRATE_CLASSES: none. */
unsigned calibration_class_of(const char *text);
const char *calibration_class_text(unsigned class);

/* Sets the figures of the target. */
int calibrate(struct calibration *out, struct estimate_target *target, const struct calibration_site *sites,
              size_t count, struct error *err);

#endif
