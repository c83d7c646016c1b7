/* SPDX-License-Identifier: Apache-2.0 */
/* A run is asked to write a trace where an earlier one, which was killed, left an unfinished trace: that is kept. */
#ifndef OPSCOPE_COLLECT_EARLIER_H
#define OPSCOPE_COLLECT_EARLIER_H

#include <stdbool.h>

#include "base/error.h"
#include "session/session.h"

struct earlier_run {
    char kept[4200];  /* the trace that is left of it, "" where there was none */
    bool is_finished; /* else it is called KEPT.partial */
    /* Not "": its memory is still there; opscope recover SESSION -o KEPT joins them. */
    char session[SESSION_PATH_BYTES];
};

/* Moves OUTPUT.partial of a writer that died to NAME.killed.opscope, and finishes it where nothing is left to add. A
 * living writer's is left alone. */
int earlier_run_keep(const char *output, struct earlier_run *earlier, struct error *err);

#endif
