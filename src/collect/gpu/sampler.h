/* SPDX-License-Identifier: Apache-2.0 */
/* `opscope gpu-sampler`: the process that reads the hardware counters of all GPUs. It is a process of its own since
 * libcupti is the vendor's: what goes wrong in it must not touch the recording. It makes no context on a GPU. */
#ifndef OPSCOPE_COLLECT_GPU_SAMPLER_H
#define OPSCOPE_COLLECT_GPU_SAMPLER_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"

#define GPU_INTERVAL_NS UINT64_C(100000) /* for each GPU; all seven counters at this rate take 0.6 of a CPU */

/* Sends struct gpu_message to out_fd. Begins with the first byte of go_fd, and ends when that is closed. interval_ns 0:
 * GPU_INTERVAL_NS for each GPU that there is. `command`: as for pm_library_open. */
void gpu_sampler_work(uint64_t interval_ns, const char *command, int go_fd, int out_fd);

/* Which counters a chip is asked for, and how large the image is: what can be seen without a GPU. */
int gpu_sampler_show(const char *chip, struct bytes *out, struct error *err);

#endif
