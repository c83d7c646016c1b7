/* SPDX-License-Identifier: Apache-2.0 */
/* Locks, from the zones that they leave: waiting for one is a zone "wait for NAME" of the thread, holding it a zone
 * NAME on a track of spans below the thread. Both Tracy's protocol and Tracy's macros are recorded so. */
#ifndef OPSCOPE_ANALYZE_EVENTS_LOCKS_H
#define OPSCOPE_ANALYZE_EVENTS_LOCKS_H

#include "analyze/filter.h"
#include "trace/lock_names.h"

struct lock_row { /* all locks of one name in one process */
    const char *name;
    uint32_t process;
    uint64_t holds, held_ns, longest_hold_ns;
    uint64_t waits, waited_ns, longest_wait_ns, longest_wait_at_ns;
    uint32_t waiter, holder; /* of the longest wait: threads; TRACE_NONE: none, not known */
};

struct lock_stats {
    struct lock_row *rows; /* the ones that were waited for longest first */
    size_t row_count, row_capacity;
};

int lock_stats_make(struct lock_stats *stats, struct trace *trace, const struct trace_filter *filter,
                    struct error *err);
void lock_stats_free(struct lock_stats *stats);

#endif
