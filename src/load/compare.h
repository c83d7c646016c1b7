/* SPDX-License-Identifier: Apache-2.0 */
/* An estimate and a run of the same compiled model, paired program by program. */
#ifndef OPSCOPE_LOAD_COMPARE_H
#define OPSCOPE_LOAD_COMPARE_H

#include "analyze/estimate/compare.h"
#include "load/measured.h"

/* Is this a file of MLIR, by its name or its content? */
bool compare_is_model(const char *path);
/* From what load_measured gave. */
int compare_measured(struct compare *compare, const struct estimate *estimate,
                     const struct measured *measured, struct error *err);

#endif
