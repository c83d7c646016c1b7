/* SPDX-License-Identifier: Apache-2.0 */
/* Is there room in our memory cgroup? Compiled into the recorder and into the collector. */
#ifndef OPSCOPE_SESSION_CGROUP_H
#define OPSCOPE_SESSION_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False: growing by this much could bring the OOM killer. */
bool cgroup_has_room(size_t step_bytes);

/* A number for the cgroups this process is in, if none of them limits its memory; else 0. */
uint64_t cgroup_unlimited_signature(void);
/* The same number from another process: if we are in the same cgroups, there is no limit to look for. Saves a process's
 * start the reading of three files (75 us). */
void cgroup_trust(uint64_t signature);

#endif
