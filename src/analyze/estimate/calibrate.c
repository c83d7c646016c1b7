/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/estimate/calibrate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"

/* A factor is taken the less, the more its sites differ and the fewer they are: a median of n sites is uncertain by
 * about spread / sqrt(n). How much less is a pull, the one of these that suits models best which were not fitted to:
 * of the models that may be fitted to, parts are left out in turn. Few models say nothing about it. */
static const double pulls[] = {100, 30, 10, 3, 1, 0};
#define USUAL_PULL 10.0
#define MODELS_FOR_PULL 4u
#define PARTS 7u
#define PARTS_LEFT_OUT 32u /* the models to be judged, together where there are more of them */

/* Sites of these models are not fitted to: each `of`-th one from `first` on; of 0: none. */
struct without {
    uint32_t first, of;
};

struct calibrating {
    const struct calibration_site *sites;
    size_t count;
    uint32_t models;
    double *room; /* for as many numbers as there are sites */
};

static const struct {
    const char *text, *key;
} classes[CALIBRATE_CLASSES] = {
    [CALIBRATE_MATMUL] = {"MAC", "scale_matmul"},
    [CALIBRATE_CONV] = {"CONV", "scale_conv"},
    [CALIBRATE_DEPTHWISE] = {"DW", "scale_depthwise"},
    [CALIBRATE_ELEMENTWISE] = {"ELT", "scale_elementwise"},
    [CALIBRATE_REDUCE] = {"RED", "scale_reduce"},
    [CALIBRATE_TRANSCENDENTAL] = {"TRANS", "scale_transcendental"},
    [CALIBRATE_MOVE] = {"MOVE", "scale_move"},
    [CALIBRATE_FLOOR] = {"floor", "floor_ns"},
};

unsigned calibration_class_of(const char *text)
{
    unsigned i = 0;
    while (i < CALIBRATE_CLASSES && strcmp(classes[i].text, text) != 0)
        i++;
    return i;
}

const char *calibration_class_text(unsigned class)
{
    return class < CALIBRATE_CLASSES ? classes[class].text : "all";
}

static int by_value(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* The floor is one for all numbers. */
static bool is_alike(const struct calibration_site *site, unsigned class, unsigned format)
{
    return site->class == class && (class == CALIBRATE_FLOOR || site->format == format);
}

static bool is_left_out(const struct calibration_site *site, const struct without *without)
{
    return without->of && site->model % without->of == without->first % without->of;
}

/* What sites say about a factor; count 0: too few. */
struct evidence {
    double median, doubt; /* spread^2 / count */
    size_t count;
};

static struct evidence evidence_of(const struct calibrating *c, unsigned class, unsigned format,
                                   struct without a, struct without b)
{
    size_t n = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct calibration_site *site = &c->sites[i];
        if (is_alike(site, class, format) && !is_left_out(site, &a) && !is_left_out(site, &b))
            c->room[n++] = site->measured_ns / site->estimate_ns;
    }
    if (n < CALIBRATION_SITES)
        return (struct evidence){.median = 1};
    qsort(c->room, n, sizeof c->room[0], by_value);
    double spread = log(c->room[n * 3 / 4] / c->room[n / 4]);
    return (struct evidence){.median = n % 2 ? c->room[n / 2] : (c->room[n / 2 - 1] + c->room[n / 2]) / 2,
                             .doubt = spread * spread / (double)n,
                             .count = n};
}

/* Median of measured / estimated, drawn towards 1 where sites disagree; 1 where there are too few. */
static double factor_of(const struct evidence *evidence, double pull)
{
    return evidence->count ? pow(evidence->median, 1 / (1 + pull * evidence->doubt)) : 1;
}

/* Adds up by how much estimates of one kind are off with each pull, as logarithms, each part of the models by the
 * others. */
static void try_pulls(const struct calibrating *c, unsigned class, unsigned format, struct without out,
                      double *off)
{
    uint32_t parts = c->models < PARTS ? c->models : PARTS;
    for (uint32_t part = 0; part < parts; part++) {
        struct without tested = {part, parts};
        struct evidence evidence = evidence_of(c, class, format, out, tested);
        for (size_t i = 0; i < c->count; i++) {
            const struct calibration_site *site = &c->sites[i];
            if (!is_alike(site, class, format) || is_left_out(site, &out) || !is_left_out(site, &tested))
                continue;
            for (size_t p = 0; p < COUNT_OF(pulls); p++)
                off[p] += fabs(log(site->estimate_ns * factor_of(&evidence, pulls[p]) / site->measured_ns));
        }
    }
}

static double pull_of(const struct calibrating *c, struct without out)
{
    double off[COUNT_OF(pulls)] = {0};
    size_t best = 0;
    if (c->models - (out.of != 0) < MODELS_FOR_PULL)
        return USUAL_PULL;
    for (unsigned class = 0; class < CALIBRATE_CLASSES; class ++) {
        for (unsigned format = 0; format < (class == CALIBRATE_FLOOR ? 1u : MODEL_FORMATS); format++)
            try_pulls(c, class, format, out, off);
    }
    for (size_t p = 1; p < COUNT_OF(pulls); p++)
        best = off[p] < off[best] ? p : best;
    return pulls[best];
}

static struct calibration_error error_of(double *off, size_t n)
{
    struct calibration_error error = {.sites = n};
    if (n == 0)
        return error;
    qsort(off, n, sizeof off[0], by_value);
    error.median = n % 2 ? off[n / 2] : (off[n / 2 - 1] + off[n / 2]) / 2;
    error.p90 = off[n * 9 / 10];
    return error;
}

/* `factors` by class, format and, where models are left out, by model. */
static void judge(struct calibration_error *errors, const struct calibrating *c, const double *factors)
{
    for (unsigned class = 0; class <= CALIBRATE_CLASSES; class ++) {
        size_t n = 0;
        for (size_t i = 0; i < c->count; i++) {
            const struct calibration_site *site = &c->sites[i];
            if (class != CALIBRATE_CLASSES && site->class != class)
                continue;
            size_t at = (size_t)site->class * MODEL_FORMATS + site->format;
            double factor = factors ? factors[at * c->models + site->model] : 1;
            double ratio = site->estimate_ns * factor / site->measured_ns;
            c->room[n++] = fmax(ratio, 1 / ratio);
        }
        errors[class] = error_of(c->room, n);
    }
}

/* Each model's factors are those of the others; of one model alone, its own. */
static void fit_others(const struct calibrating *c, double *factors)
{
    uint32_t parts = c->models < PARTS_LEFT_OUT ? c->models : PARTS_LEFT_OUT;
    double pull[PARTS_LEFT_OUT];
    const struct without nobody = {0};
    for (uint32_t part = 0; part < parts; part++)
        pull[part] = pull_of(c, (struct without){part, parts > 1 ? parts : 0});
    for (unsigned at = 0; at < CALIBRATE_CLASSES * MODEL_FORMATS; at++) {
        for (uint32_t m = 0; m < c->models; m++) {
            struct without own = {m, c->models > 1 ? c->models : 0};
            struct evidence evidence = evidence_of(c, at / MODEL_FORMATS, at % MODEL_FORMATS, own, nobody);
            factors[at * c->models + m] = factor_of(&evidence, pull[m % parts]);
        }
    }
}

static size_t count_alike(const struct calibrating *c, unsigned class, unsigned format)
{
    size_t count = 0;
    for (size_t i = 0; i < c->count; i++)
        count += is_alike(&c->sites[i], class, format);
    return count;
}

static int set_figures(struct calibration *out, struct estimate_target *target, const struct calibrating *c,
                       struct error *err)
{
    const struct without nobody = {0};
    double pull = pull_of(c, nobody);
    for (unsigned class = 0; class < CALIBRATE_CLASSES; class ++) {
        for (unsigned format = 0; format < MODEL_FORMATS; format++) {
            char key[64];
            struct evidence evidence = evidence_of(c, class, format, nobody, nobody);
            double factor = factor_of(&evidence, pull);
            size_t alike = count_alike(c, class, format);
            if (!alike || (class == CALIBRATE_FLOOR && format))
                continue;
            out->fits[out->fit_count++] = (struct calibration_fit){
                .class = (uint8_t) class, .format = (uint8_t)format, .sites = alike, .factor = factor};
            if (factor == 1)
                continue;
            if (class == CALIBRATE_FLOOR)
                snprintf(key, sizeof key, "%s", classes[class].key);
            else
                snprintf(key, sizeof key, "%s_%s", classes[class].key, model_format_text(format));
            double old = class == CALIBRATE_FLOOR ? target->floor_ns : estimate_target_get(target, key);
            int status = estimate_target_set(target, key, (old > 0 ? old : 1) * factor, err);
            if (status)
                return status;
            out->fitted++;
        }
    }
    return 0;
}

int calibrate(struct calibration *out, struct estimate_target *target, const struct calibration_site *sites,
              size_t count, struct error *err)
{
    struct calibrating c = {.sites = sites, .count = count};
    *out = (struct calibration){0};
    for (size_t i = 0; i < count; i++)
        c.models = sites[i].model + 1 > c.models ? sites[i].model + 1 : c.models;
    if (count == 0)
        return error_set(err, EINVAL, "nothing was both estimated and measured");
    out->models = c.models;
    out->is_left_out = c.models > 1;
    c.room = malloc(count * sizeof c.room[0]);
    double *factors = malloc((size_t)CALIBRATE_CLASSES * MODEL_FORMATS * c.models * sizeof factors[0]);
    int status = c.room && factors ? 0 : error_no_memory(err, "the calibration");
    if (status == 0) {
        judge(out->before, &c, NULL);
        fit_others(&c, factors);
        judge(out->after, &c, factors);
        status = set_figures(out, target, &c, err);
    }
    free(c.room);
    free(factors);
    return status;
}
