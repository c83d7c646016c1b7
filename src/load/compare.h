/* SPDX-License-Identifier: Apache-2.0 */
/* An estimate and a run of the same compiled model, paired program by program. */
#ifndef OPSCOPE_LOAD_COMPARE_H
#define OPSCOPE_LOAD_COMPARE_H

#include "analyze/estimate/compare.h"
#include "load/measured.h"

/* Is this a file of MLIR, by its name or its content? */
bool compare_is_model(const char *path);
/* Is this a device profile of dispatches, by its content? */
bool compare_is_dispatches(const char *path);
/* Each dispatch of an estimate that is not scheduled with the shortest of its runs, as calibration takes it: what a
 * busy machine adds is in no estimate. `run` becomes the profile's shortest run of the whole model, or all of the
 * profile where dispatches ran in another order, in ns; the caller frees it, whatever is returned. */
int compare_dispatches(struct compare *compare, struct timeline *run, const struct estimate *estimate,
                       const char *model, const char *profile, struct error *err);
/* From what load_measured gave. */
int compare_measured(struct compare *compare, const struct estimate *estimate,
                     const struct measured *measured, struct error *err);

#endif
