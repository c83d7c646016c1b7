/* SPDX-License-Identifier: Apache-2.0 */
#include "load/measured.h"

#include <errno.h>
#include <string.h>

#include "base/count_of.h"
#include "import/torq/join.h"
#include "import/torq/torq.h"

const char *phase_of(const struct mlir *mlir)
{
    static const struct {
        const char *prefix, *phase;
    } phases[] = {{"vm.", "vm"},
                  {"torq_hw.", "executable-targets"},
                  {"flow.", "flow"},
                  {"hal.executable.source", "executable-sources"},
                  {"hal.executable.variant", "executable-configurations or hal"},
                  {"stream.", "stream"},
                  {"hal.command_buffer", "hal"},
                  {"torq_hl.", "an earlier step of the compiler"},
                  {"linalg.", "global-optimization or input"},
                  {"tosa.", "input"},
                  {"stablehlo.", "input"},
                  {"torch.", "input"}};
    for (size_t i = 0; i < COUNT_OF(phases); i++) {
        for (uint32_t op = 0; op < mlir->op_count; op++) {
            if (strncmp(mlir_name(mlir, op), phases[i].prefix, strlen(phases[i].prefix)) == 0)
                return phases[i].phase;
        }
    }
    return "not one of the compiler's";
}

int measured_join(struct measured *measured, const struct estimate *estimate,
                  const struct measured_request *request, struct error *err)
{
    struct torq_run run = {0};
    *measured = (struct measured){0};
    int status = torq_run_read(&run, request->profile, err);
    if (status == 0)
        status = torq_join(measured,
                           &(struct torq_join){.mlir = estimate->mlir,
                                               .estimate = &estimate->timeline,
                                               .run = &run,
                                               .default_location = request->default_location,
                                               .folder = request->sources},
                           err);
    torq_run_free(&run);
    return status;
}

int load_measured(struct measured *measured, struct estimate *estimate,
                  const struct measured_request *request, struct error *err)
{
    *measured = (struct measured){0};
    *estimate = (struct estimate){0};
    int status = load_estimate(estimate,
                               &(struct estimate_request){.path = request->phase,
                                                          .target = request->target,
                                                          .options = request->options,
                                                          .clock_mhz = request->clock_mhz,
                                                          .default_location = request->default_location},
                               err);
    if (status == 0 && estimate->timeline.is_analytic)
        status =
            error_set(err, EINVAL, "%s holds no schedule: its phase is %s, and executable-targets is needed",
                      request->phase, phase_of(estimate->mlir));
    return status ? status : measured_join(measured, estimate, request, err);
}
