/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime profile and the IR that it belongs to, from their paths. */
#ifndef OPSCOPE_LOAD_MEASURED_H
#define OPSCOPE_LOAD_MEASURED_H

#include "load/estimate.h"
#include "ops/measured.h"

struct measured_request {
    const char *phase; /* a dump of the phase executable-targets, or a folder as import/mlir/folder.h says */
    const char *profile;
    const char *target, *default_location, *sources;
    double clock_mhz;                /* 0: the target's */
    const struct text_list *options; /* of the target, key=value; may be NULL */
};

/* The estimate of the IR and the measured run; the caller frees both, whatever is returned. */
int load_measured(struct measured *measured, struct estimate *estimate,
                  const struct measured_request *request, struct error *err);
/* The same of an estimate that is there already, of a schedule. The caller frees the measured run alone. */
int measured_join(struct measured *measured, const struct estimate *estimate,
                  const struct measured_request *request, struct error *err);
/* Which phase of a compiler a dump is, by the dialects of its ops. */
const char *phase_of(const struct mlir *mlir);

#endif
