/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and loading libcupti and the driver from a process of opscope's own. */
#ifndef OPSCOPE_COLLECT_GPU_LIBRARY_H
#define OPSCOPE_COLLECT_GPU_LIBRARY_H

#include "base/error.h"
#include "collect/gpu/abi.h"

/* Which libcupti a program without one of its own would be given (opscope's adapter for CUDA looks for it): its path
 * and version. */
int cupti_find(char *path, size_t size, uint32_t *version, struct error *err);

/* libcupti with sampling. `command`: what is going to be run, or NULL; where it is a Python, one of its packages is
 * taken first. */
int pm_library_open(struct pm_library *library, const char *command, struct error *err);
/* The driver, initialised. *devices: how many there are, at least one. */
int pm_library_open_driver(struct pm_library *library, int *devices, struct error *err);

#endif
