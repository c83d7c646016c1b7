/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/zoneblocks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"

int zone_blocks_list(struct zone_blocks *blocks, const struct trace *trace, const struct trace_filter *filter,
                     struct error *err)
{
    struct trace_block_filter wanted = {.type = TRACE_BLOCK_ZONES};
    const struct trace_block *block;
    size_t position = 0;
    if (filter && filter->has_window) {
        wanted.since_ns = filter->since_ns;
        wanted.until_ns = filter->until_ns;
    }
    while ((block = trace_next_block(trace, &wanted, &position))) {
        if (filter && block->track != TRACE_NONE && !trace_filter_wants_track(filter, block->track))
            continue;
        if (!array_reserve(&blocks->items, &blocks->capacity, blocks->count + 1,
                           sizeof(struct trace_block *)))
            return error_set_errno(err, ENOMEM, "list of blocks");
        blocks->items[blocks->count++] = block;
    }
    return 0;
}

void zone_blocks_free(struct zone_blocks *blocks)
{
    free(blocks->items);
    *blocks = (struct zone_blocks){0};
}

static int compare_open(const void *left, const void *right)
{
    const struct trace_open_zone *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    return (a->depth > b->depth) - (a->depth < b->depth);
}

int open_zones_list(struct open_zones *open, const struct trace *trace, const struct trace_filter *filter,
                    struct error *err)
{
    size_t count = 0;
    const struct trace_open_zone *given = trace_get_open_zones(trace, &count);
    open->items = malloc((count + 1) * sizeof open->items[0]);
    if (!open->items)
        return error_set_errno(err, ENOMEM, "%zu open zones", count);
    for (size_t i = 0; i < count; i++) {
        if (!filter || trace_filter_wants_track(filter, given[i].track))
            open->items[open->count++] = given[i];
    }
    qsort(open->items, open->count, sizeof open->items[0], compare_open);
    return 0;
}

void open_zones_free(struct open_zones *open)
{
    free(open->items);
    *open = (struct open_zones){0};
}
