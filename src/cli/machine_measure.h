/* SPDX-License-Identifier: Apache-2.0 */
/* `opscope machine measure`: a machine out of what was measured on it. */
#ifndef OPSCOPE_CLI_MACHINE_MEASURE_H
#define OPSCOPE_CLI_MACHINE_MEASURE_H

#include "analyze/machine.h"
#include "cli/command/command.h"

struct machine_measure_options {
    const char *save, *name, *library;
    uint64_t threads, device, seconds_ns;
};
extern const struct option_table machine_measure_table;

/* kind: "cpu" or "cuda". `notes` gets what could not be measured, or "". -ENODATA: too little for a machine. */
int machine_measure(struct machine *machine, const char *kind, const struct machine_measure_options *options,
                    char *notes, size_t size, struct error *err);
/* Writes the file that --save names; whole, or not at all. */
int machine_measure_save(const struct machine *machine, const char *path, struct error *err);

#endif
