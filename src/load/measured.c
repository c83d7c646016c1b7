/* SPDX-License-Identifier: Apache-2.0 */
#include "load/measured.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "import/torq/join.h"
#include "import/torq/torq.h"

#define PHASE_ENDING "executable-targets.mlir"

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), own = strlen(ending);
    return length >= own && strcmp(text + length - own, ending) == 0;
}

/* In a folder of phases, the one that holds the schedule; the number before its name changed over time. */
static int find_phase(const char *path, char *found, size_t size, struct error *err)
{
    struct stat info;
    struct dirent **entries = NULL;
    bool is_there = false;
    snprintf(found, size, "%s", path);
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        return 0;
    int count = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        if (ends_with(entries[i]->d_name, PHASE_ENDING) && !is_there) {
            snprintf(found, size, "%s/%s", path, entries[i]->d_name);
            is_there = true;
        }
        free(entries[i]);
    }
    free(entries);
    return is_there ? 0 : error_set(err, ENOENT, "%s has no file *." PHASE_ENDING, path);
}

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
    for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++) {
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
    char phase[4200];
    *measured = (struct measured){0};
    *estimate = (struct estimate){0};
    int status = find_phase(request->phase, phase, sizeof phase, err);
    if (status)
        return status;
    status = load_estimate(estimate,
                           &(struct estimate_request){.path = phase,
                                                      .target = request->target,
                                                      .options = request->options,
                                                      .default_location = request->default_location},
                           err);
    if (status == 0 && estimate->timeline.is_analytic)
        status =
            error_set(err, EINVAL, "%s holds no schedule: its phase is %s, and executable-targets is needed",
                      phase, phase_of(estimate->mlir));
    return status ? status : measured_join(measured, estimate, request, err);
}
