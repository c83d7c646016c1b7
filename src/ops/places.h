/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OPSCOPE_OPS_PLACES_H
#define OPSCOPE_OPS_PLACES_H

#include "ops/ops.h"
#include "trace/reader.h"

/* Fills op_call.place for calls that do not say where they are from; the ops are those of this trace. */
int ops_find_places(struct ops *ops, struct trace *trace, struct error *err);

#endif
