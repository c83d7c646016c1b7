/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges and marks of NVTX as zones, spans and signposts of the recorder. */
#ifndef OPSCOPE_RECORD_NVTX_RANGE_H
#define OPSCOPE_RECORD_NVTX_RANGE_H

#include "record/nvtx/abi.h"

/* Level of the range in its domain, from 0 on; negative: there is none to pop, or no memory. */
int nvtx_push(const void *domain, const struct nvtx_event *event);
int nvtx_push_ascii(const char *message);
int nvtx_pop(const void *domain);
/* A range that may end on another thread; the number ends it. */
uint64_t nvtx_start(const void *domain, const struct nvtx_event *event);
void nvtx_end(uint64_t number);
void nvtx_mark(const void *domain, const struct nvtx_event *event);

void nvtx_name_thread(uint64_t tid, const char *name);
void nvtx_range_forked(void); /* in the child of a fork */

#endif
