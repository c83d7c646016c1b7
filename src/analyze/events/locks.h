/* SPDX-License-Identifier: Apache-2.0 */
/* Locks: what the rows of their waits and holds add up to. */
#ifndef OPSCOPE_ANALYZE_EVENTS_LOCKS_H
#define OPSCOPE_ANALYZE_EVENTS_LOCKS_H

#include "analyze/filter.h"

struct lock_row { /* all locks of one name in one process */
    uint32_t name;
    uint32_t process;
    uint64_t locks;
    uint64_t holds, shared_holds, held_ns, longest_hold_ns;
    uint64_t waits, waited_ns, longest_wait_ns, longest_wait_at_ns;
    uint64_t longest_wait_lock; /* the number of the lock that it was for */
    uint64_t open_waits;        /* of `waits`, that had not ended when the recording, or their process, did */
    uint32_t waiter, holder;    /* of the longest wait: threads or tasks; TRACE_NONE: none, not known */
};

struct lock_stats {
    struct lock_row *rows; /* the ones that were waited for longest first */
    size_t row_count, row_capacity;
};

int lock_stats_make(struct lock_stats *stats, struct trace *trace, const struct trace_filter *filter,
                    struct error *err);
void lock_stats_free(struct lock_stats *stats);

#endif
