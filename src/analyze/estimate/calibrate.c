/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/estimate/calibrate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS 3u
#define NOBODY UINT32_MAX
/* A factor is taken the less, the more its sites differ and the fewer they are: a median of n sites is uncertain by
 * about spread / sqrt(n), and without measurements factors are within exp(1 / sqrt(10)), 1.4, mostly. */
#define DOUBT 10.0

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
static bool is_alike(const struct calibration_site *site, unsigned class, unsigned number)
{
    return site->class == class && (class == CALIBRATE_FLOOR || site->number == number);
}

/* Median of measured / estimated without the sites of one model, drawn towards 1 where they disagree; 1 where there are
 * too few. */
static double factor_of(const struct calibration_site *sites, size_t count, unsigned class, unsigned number,
                        uint32_t without, double *room)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_alike(&sites[i], class, number) && sites[i].model != without)
            room[n++] = sites[i].measured_ns / sites[i].estimate_ns;
    }
    if (n < CALIBRATION_SITES)
        return 1;
    qsort(room, n, sizeof room[0], by_value);
    double median = n % 2 ? room[n / 2] : (room[n / 2 - 1] + room[n / 2]) / 2;
    double spread = log(room[n * 3 / 4] / room[n / 4]);
    return pow(median, 1 / (1 + DOUBT * spread * spread / (double)n));
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

/* `factors` by class, number and, where models are left out, by model. */
static void judge(struct calibration_error *errors, const struct calibration_site *sites, size_t count,
                  const double *factors, uint32_t models, double *room)
{
    for (unsigned class = 0; class <= CALIBRATE_CLASSES; class ++) {
        size_t n = 0;
        for (size_t i = 0; i < count; i++) {
            if (class != CALIBRATE_CLASSES && sites[i].class != class)
                continue;
            size_t at = (size_t)sites[i].class * NUMBERS + sites[i].number;
            double factor = factors ? factors[at * models + (models > 1 ? sites[i].model : 0)] : 1;
            double ratio = sites[i].estimate_ns * factor / sites[i].measured_ns;
            room[n++] = fmax(ratio, 1 / ratio);
        }
        errors[class] = error_of(room, n);
    }
}

static int set_figures(struct calibration *c, struct estimate_target *target,
                       const struct calibration_site *sites, size_t count, double *room, struct error *err)
{
    for (unsigned class = 0; class < CALIBRATE_CLASSES; class ++) {
        for (unsigned number = 0; number < NUMBERS; number++) {
            char key[64];
            double factor = factor_of(sites, count, class, number, NOBODY, room);
            if (factor == 1 || (class == CALIBRATE_FLOOR && number))
                continue;
            if (class == CALIBRATE_FLOOR)
                snprintf(key, sizeof key, "%s", classes[class].key);
            else
                snprintf(key, sizeof key, "%s_%s", classes[class].key, model_number_text(number));
            double old = class == CALIBRATE_FLOOR ? target->floor_ns : estimate_target_get(target, key);
            int status = estimate_target_set(target, key, (old > 0 ? old : 1) * factor, err);
            if (status)
                return status;
            c->fitted++;
        }
    }
    return 0;
}

int calibrate(struct calibration *c, struct estimate_target *target, const struct calibration_site *sites,
              size_t count, struct error *err)
{
    uint32_t models = 0;
    *c = (struct calibration){0};
    for (size_t i = 0; i < count; i++)
        models = sites[i].model + 1 > models ? sites[i].model + 1 : models;
    if (count == 0)
        return error_set(err, EINVAL, "nothing was both estimated and measured");
    c->models = models;
    c->is_left_out = models > 1;
    double *room = malloc(count * sizeof room[0]);
    double *factors = malloc((size_t)CALIBRATE_CLASSES * NUMBERS * models * sizeof factors[0]);
    int status = room && factors ? 0 : error_no_memory(err, "the calibration");
    if (status == 0) {
        judge(c->before, sites, count, NULL, models, room);
        for (unsigned at = 0; at < CALIBRATE_CLASSES * NUMBERS; at++) {
            for (uint32_t m = 0; m < models; m++)
                factors[at * models + m] =
                    factor_of(sites, count, at / NUMBERS, at % NUMBERS, models > 1 ? m : NOBODY, room);
        }
        judge(c->after, sites, count, factors, models, room);
        status = set_figures(c, target, sites, count, room, err);
    }
    free(room);
    free(factors);
    return status;
}
