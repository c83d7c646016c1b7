/* SPDX-License-Identifier: Apache-2.0 */
/* Which CPU to pin a worker to, and how this machine is described. */
#ifndef OPSCOPE_MEASURE_CPU_H
#define OPSCOPE_MEASURE_CPU_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The least busy of those this process may use, watched for 50 ms; -1 when there is only one to choose from. */
int cpu_choose(void);
/* -EINVAL: this process may not use it. */
int cpu_check(int cpu, struct error *err);
/* "Intel(R) Xeon(R) CPU @ 2.20GHz, 2 CPUs" */
void cpu_describe(char *out, size_t size);
/* Half of the machine's memory, or of the container's limit where that is less. */
uint64_t memory_half_bytes(void);

#endif
