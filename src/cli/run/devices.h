/* SPDX-License-Identifier: Apache-2.0 */
/* `opscope run --devices`: which devices of the command are recorded, and how the adapters get into it. */
#ifndef OPSCOPE_CLI_RUN_DEVICES_H
#define OPSCOPE_CLI_RUN_DEVICES_H

#include "base/error.h"
#include "cli/command/command.h"

struct run_devices_options {
    const char *names; /* comma-separated; NULL: auto */
    bool reads_gpu_metrics;
    uint64_t gpu_interval_ns; /* 0: the usual */
};
extern const struct option_table run_devices_table;

/* -EINVAL with what may be given, for a name that is not known. */
int run_devices_check(const struct run_devices_options *options, struct error *err);

/* Sets the variables of the adapters in this process's environment, which the command inherits. A variable that cannot
 * be had is left as it is; a line says so. */
void run_devices_prepare(const struct run_devices_options *options);

#endif
