/* SPDX-License-Identifier: Apache-2.0 */
/* A machine file out of a machine: what opscope calibrate and opscope machine measure write. */
#ifndef OPSCOPE_ANALYZE_MACHINE_WRITE_H
#define OPSCOPE_ANALYZE_MACHINE_WRITE_H

#include <stdio.h>

#include "analyze/machine.h"

/* The machine under another name, with the target's figures in place of its own. A figure that differs from the
 * machine's, or that it does not have, gets `source` as where it comes from; one that is as it would be without being
 * written is left out. target NULL: the machine as it is, with its other names and without a target. -errno when the
 * stream fails. */
int machine_write(FILE *stream, const struct machine *machine, const char *name,
                  const struct estimate_target *target, const char *source);

#endif
