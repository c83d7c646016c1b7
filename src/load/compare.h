/* SPDX-License-Identifier: Apache-2.0 */
/* An estimate and a run of the same compiled model, paired program by program. */
#ifndef OPSCOPE_LOAD_COMPARE_H
#define OPSCOPE_LOAD_COMPARE_H

#include "analyze/estimate/compare.h"
#include "load/measured.h"

/* Each op of an estimate with the shortest of its runs, as calibration takes it: what a busy machine adds is in no
 * estimate. `run` is cut to its shortest run of the whole model, where its runs can be separated. `model` and
 * `profile` are for messages. */
int compare_timelines(struct compare *compare, const struct estimate *estimate, struct timeline *run,
                      const char *model, const char *profile, struct error *err);
/* From what load_measured gave. */
int compare_measured(struct compare *compare, const struct estimate *estimate,
                     const struct measured *measured, struct error *err);

#endif
