/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks that may hold zones of a filter, and the zones that never ended, as lists: for analyses that read them
 * from the last to the first, where an outer zone comes before what is inside it. */
#ifndef OPSCOPE_ANALYZE_ZONEBLOCKS_H
#define OPSCOPE_ANALYZE_ZONEBLOCKS_H

#include "analyze/filter.h"

struct zone_blocks { /* zero-initialise */
    const struct trace_block **items;
    size_t count, capacity;
};

/* `filter` may be NULL. */
int zone_blocks_list(struct zone_blocks *blocks, const struct trace *trace, const struct trace_filter *filter,
                     struct error *err);
void zone_blocks_free(struct zone_blocks *blocks);

/* The zones that never ended, outermost first on each track. */
struct open_zones { /* zero-initialise */
    struct trace_open_zone *items;
    size_t count;
};

/* Tracks that the filter wants; `filter` may be NULL. */
int open_zones_list(struct open_zones *open, const struct trace *trace, const struct trace_filter *filter,
                    struct error *err);
void open_zones_free(struct open_zones *open);

#endif
