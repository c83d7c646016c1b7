/* SPDX-License-Identifier: Apache-2.0 */
#include "load/calibrate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/estimate/estimate.h"
#include "analyze/estimate/match.h"
#include "import/torq/torq.h"
#include "load/side.h"

#define ONE_OF_SEVERAL 0.8 /* of their time */

void calibration_sites_free(struct calibration_sites *sites)
{
    free(sites->sites);
    *sites = (struct calibration_sites){0};
}

/* Of ops that are only known together, one must be what takes the time: its class is that of the site. */
static bool is_of_one_class(const struct timeline *timeline, const struct match_pair *pair)
{
    const struct timeline_op *op = &timeline->ops[pair->op];
    double own = (double)(op->end - op->start) * 1000 / timeline->clock_mhz;
    return pair->ops == 1 || own >= ONE_OF_SEVERAL * pair->estimate_ns;
}

static int add_sites(struct calibration_sites *sites, const struct timeline *timeline,
                     const struct match *match, struct error *err)
{
    for (size_t i = 0; i < match->pair_count; i++) {
        const struct match_pair *pair = &match->pairs[i];
        const struct timeline_op *op = &timeline->ops[pair->op];
        struct calibration_site site = {.model = sites->models};
        const char *number = timeline_get_text(timeline, op->number);
        site.class = (uint8_t)(op->bound == TIMELINE_BOUND_LAUNCH
                                   ? CALIBRATE_FLOOR
                                   : calibration_class_of(timeline_get_text(timeline, op->class)));
        for (unsigned format = 0; format < MODEL_FORMATS; format++) {
            if (strcmp(number, model_format_text(format)) == 0)
                site.format = (uint8_t)format;
        }
        site.estimate_ns = pair->estimate_ns;
        site.measured_ns = pair->least_ns;
        if (!(site.estimate_ns > 0) || !(site.measured_ns > 0) || site.class == CALIBRATE_CLASSES ||
            !is_of_one_class(timeline, pair)) {
            sites->unmeasured++;
            continue;
        }
        if (!array_reserve(&sites->sites, &sites->capacity, sites->count + 1, sizeof site))
            return error_no_memory(err, "the calibration");
        sites->sites[sites->count++] = site;
    }
    return 0;
}

static int join(struct calibration_sites *sites, const struct timeline *timeline, const char *model_path,
                const char *profile_path, const char *phase, struct error *err)
{
    struct timeline run;
    struct match match = {0};
    size_t before = sites->count;
    int status = load_run_side(&run, profile_path, phase, err);
    if (status == 0)
        status = match_runs(&match, timeline, &run, err);
    if (status == 0)
        status = add_sites(sites, timeline, &match, err);
    if (status == 0 && sites->count == before && !sites->unmatched++)
        sites->first_unmatched = model_path;
    match_free(&match);
    timeline_free(&run);
    return status;
}

static int check_files(const struct mlir *mlir, const char *profile_path, struct error *err)
{
    struct side_kind run = side_kind_of(profile_path);
    if (!run.is_run && access(profile_path, R_OK) == 0)
        return error_set(
            err, EINVAL,
            "%s is %s: each model is followed by a run of it (a device profile of IREE, a trace, a profile of "
            "Torq's runtime, annotated or with locations)",
            profile_path, side_kind_text(run));
    return torq_is_scheduled(mlir)
               ? error_set(
                     err, EINVAL,
                     "%s holds a schedule: its times follow from the compiler's programs, and no class of op is "
                     "fitted to them; give the model's source",
                     mlir->path)
               : 0;
}

int calibration_load(struct calibration_sites *sites, const char *model_path, const char *profile_path,
                     const char *phase, const struct estimate_target *target, const struct mlir_dims *dims,
                     struct error *err)
{
    struct mlir *mlir;
    struct model model = {0};
    struct timeline timeline = {0};
    int status = mlir_open(&mlir, model_path, err);
    if (status)
        return status;
    status = check_files(mlir, profile_path, err);
    if (status == 0)
        status = mlir_read_model(&model, mlir, dims, err);
    if (status == 0)
        status = estimate_model(&timeline, &model, target, err);
    if (status == 0) {
        timeline.is_analytic = true;
        side_place_ops(&timeline, mlir);
        status = join(sites, &timeline, model_path, profile_path, phase, err);
    }
    if (status == 0)
        sites->models++;
    timeline_free(&timeline);
    model_free(&model);
    mlir_close(mlir);
    return status;
}
