/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime profile by itself, without the IR of what ran: what it measured, as a timeline in ns of its own clock. */
#ifndef OPSCOPE_IMPORT_TORQ_BLOCKS_H
#define OPSCOPE_IMPORT_TORQ_BLOCKS_H

#include "import/torq/runtime.h"
#include "ops/timeline.h"

/* Programs stand on lanes of the kind TIMELINE_PROGRAM. Where the form names actions, a program reaches from the start
 * to the wait that comes next in its invocation and is called after its dispatch and the number of the start; in the
 * older forms it is one row, with its location. The caller frees the timeline, whatever is returned. */
int torq_run_blocks(const struct torq_run *run, struct timeline *timeline, struct error *err);

#endif
