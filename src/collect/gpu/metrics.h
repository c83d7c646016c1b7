/* SPDX-License-Identifier: Apache-2.0 */
/* The side of `opscope run`: starts the sampler, puts what it sends into the trace, and ends it. Nothing that goes
 * wrong with it changes the run; it is said (gpu_metrics_trouble). */
#ifndef OPSCOPE_COLLECT_GPU_METRICS_H
#define OPSCOPE_COLLECT_GPU_METRICS_H

#include "trace/writer.h"

struct gpu_metrics;

/* Returns when the sampler is ready, or after 10 s. `command`: the first word of what will be run. NULL: no memory. */
struct gpu_metrics *gpu_metrics_start(uint64_t interval_ns, const char *command);
/* The same over what another process sends, which is not ours to end; takes the descriptor. */
struct gpu_metrics *gpu_metrics_of(int out_fd);
void gpu_metrics_begin(struct gpu_metrics *metrics);
/* Takes what was sent. The tracks are those of this process. Returns how many samples. */
uint64_t gpu_metrics_poll(struct gpu_metrics *metrics, struct trace_writer *writer, uint32_t process);
/* The end, within seconds: all that was sampled until now is in the writer. */
void gpu_metrics_stop(struct gpu_metrics *metrics, struct trace_writer *writer, uint32_t process);
/* What is wrong; "" when nothing is. */
const char *gpu_metrics_trouble(const struct gpu_metrics *metrics);
void gpu_metrics_free(struct gpu_metrics *metrics);

#endif
