/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/ids.h"

#include <stdlib.h>

#include "trace/reader/internal.h"

uint32_t reader_id(const struct source *source, enum trace_id_kind kind, uint64_t stored)
{
    const struct id_map *map = &source->ids[kind];
    if (map->is_identity)
        return stored >= map->count ? TRACE_NONE : map->same ? map->same[stored] : (uint32_t)stored;
    size_t low = 0, high = map->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->ids[middle] < stored)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == map->count || map->ids[low] != stored)
        return TRACE_NONE;
    return map->same ? map->same[low] : map->base + (uint32_t)low;
}

size_t trace_id_count(const struct trace *t, enum trace_id_kind kind)
{
    switch (kind) {
    case TRACE_ID_NAME:
        return t->name_count;
    case TRACE_ID_PROCESS:
        return t->process_count;
    case TRACE_ID_TRACK:
        return t->track_count;
    case TRACE_ID_CLOCK:
        return t->clock_count;
    case TRACE_ID_DESCRIPTION:
        return t->description_count;
    case TRACE_ID_KINDS:
        break;
    }
    return 0;
}

bool trace_ids_make(struct trace_ids *ids, const struct trace *t, enum trace_id_kind kind, uint32_t value)
{
    size_t count = trace_id_count(t, kind);
    if (ids->items)
        return true;
    ids->items = malloc((count + 1) * sizeof *ids->items);
    if (!ids->items)
        return false;
    for (size_t i = 0; i < count; i++)
        ids->items[i] = value;
    ids->count = count;
    return true;
}

void trace_ids_free(struct trace_ids *ids)
{
    free(ids->items);
    *ids = (struct trace_ids){0};
}
