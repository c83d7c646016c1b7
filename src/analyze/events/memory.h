/* SPDX-License-Identifier: Apache-2.0 */
/* Memory by pool: how much was allocated and released, the peak and when it was, and what was never released, with the
 * zone that allocated it. With a window, allocations and releases are those inside it, and live is what was not
 * released at its end. */
#ifndef OPSCOPE_ANALYZE_EVENTS_MEMORY_H
#define OPSCOPE_ANALYZE_EVENTS_MEMORY_H

#include "analyze/events/memory_use.h"
#include "base/bytes.h"

struct memory_pool {
    uint64_t name; /* offset in `texts` */
    uint32_t process;
    uint64_t allocations, releases;
    uint64_t allocated_bytes;
    uint64_t peak_bytes, peak_ns;
    uint64_t live_bytes, live_count;
    uint64_t unmatched; /* releases without an allocation */
    uint64_t replaced;  /* allocations whose release is not in the trace: their address was allocated again */
    uint64_t in_use;    /* while reading */
};

struct memory_leak { /* what one zone allocated in one pool and nobody released */
    uint32_t pool;   /* index */
    uint32_t name;   /* of the innermost zone around the allocation; TRACE_NONE: none is known */
    uint64_t count, bytes;
    uint64_t first_ns; /* the earliest of them */
};

struct memory_stats {
    struct memory_pool *pools; /* in order of peak, largest first */
    size_t pool_count, pool_capacity;
    struct memory_leak *leaks; /* in order of bytes, largest first */
    size_t leak_count;
    struct bytes texts;
};

int memory_stats_make(struct memory_stats *stats, struct trace *trace, const struct trace_filter *filter,
                      struct error *err);
void memory_stats_free(struct memory_stats *stats);

static inline const char *memory_pool_name(const struct memory_stats *stats, const struct memory_pool *pool)
{
    return (const char *)stats->texts.data + pool->name;
}

#endif
