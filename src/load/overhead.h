/* SPDX-License-Identifier: Apache-2.0 */
/* A CSV of dispatch times, the vendor's or ours, as a run. */
#ifndef OPSCOPE_LOAD_OVERHEAD_H
#define OPSCOPE_LOAD_OVERHEAD_H

#include "analyze/overhead/overhead.h"
#include "base/error.h"

/* *run is overwritten, sorted by name, and freed by the caller, also after an error. */
int overhead_load(struct overhead_run *run, const char *path, struct error *err);

#endif
