/* SPDX-License-Identifier: Apache-2.0 */
/* Sites for a calibration: dispatches of models, as estimated and as measured. */
#ifndef OPSCOPE_LOAD_CALIBRATE_H
#define OPSCOPE_LOAD_CALIBRATE_H

#include "analyze/estimate/calibrate.h"
#include "base/bytes.h"
#include "import/mlir/model.h"

struct calibration_sites {
    struct calibration_site *sites;
    size_t count, capacity;
    size_t unmeasured; /* dispatches of the estimate that no run was found of */
    uint32_t models;
    size_t unmatched;            /* models that have no dispatch in common with their profile */
    const char *first_unmatched; /* its path, as given */
};

void calibration_sites_free(struct calibration_sites *sites);

/* Adds a model and its measured runs, which load/side.h reads and analyze/estimate/match.h joins; the shortest of the
 * runs of a site counts. `phase` as there. */
int calibration_load(struct calibration_sites *sites, const char *model_path, const char *profile_path,
                     const char *phase, const struct estimate_target *target, const struct mlir_dims *dims,
                     struct error *err);

#endif
