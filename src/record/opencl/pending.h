/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that have been enqueued and not been recorded yet: a thread of the adapter's own looks which have ended,
 * reads their times and hands them to the recorder. */
#ifndef OPSCOPE_RECORD_OPENCL_PENDING_H
#define OPSCOPE_RECORD_OPENCL_PENDING_H

#include "record/opencl/objects.h"

struct opencl_pending {
    handle event; /* one reference is ours */
    struct opencl_queue *queue;
    const char *name;       /* stays where it is */
    uint64_t call;          /* of the op; 0: the command has none */
    uint64_t bytes;         /* 0: moves none */
    uint64_t before, after; /* host ticks around the call that enqueued it; 0: not taken */
    bool is_shared;         /* the program has the event, too */
    bool is_marker;
};

void opencl_pending_start(void); /* with the first queue that is known */
void opencl_pending_add(const struct opencl_pending *pending);
/* Does the adapter hold a reference to this event of the program's? */
bool opencl_pending_holds(handle event);

#endif
