/* SPDX-License-Identifier: Apache-2.0 */
/* How large the caches are that some threads of this process have. */
#ifndef OPSCOPE_MEASURE_PEAKS_CPU_CACHES_H
#define OPSCOPE_MEASURE_PEAKS_CPU_CACHES_H

#include <stdint.h>

#include "measure/peaks/peaks.h"

/* Bytes of L2 and L3 of so many threads on the CPUs that this process may use, each cache once; 0: the kernel does not
 * say. */
void cpu_cache_bytes(uint32_t threads, double bytes[PEAK_CACHES]);

#endif
