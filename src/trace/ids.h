/* SPDX-License-Identifier: Apache-2.0 */
/* Tables with an entry for each thing of one kind that a trace has: for each name, each track.
 *
 * A file says any id. The reader gives out those that something was defined with, which are below the count of their
 * kind, and TRACE_NONE for all others. So a table is as long as that count, it never grows to an id, and who looks an
 * id up gets no entry for TRACE_NONE. */
#ifndef OPSCOPE_TRACE_IDS_H
#define OPSCOPE_TRACE_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace;

enum trace_id_kind {
    TRACE_ID_NAME,
    TRACE_ID_PROCESS,
    TRACE_ID_TRACK,
    TRACE_ID_CLOCK,
    TRACE_ID_DESCRIPTION,
    TRACE_ID_KINDS /* one past the last */
};

size_t trace_id_count(const struct trace *t, enum trace_id_kind kind);

struct trace_ids { /* zero-initialise: without entries */
    uint32_t *items;
    size_t count;
};

/* An entry for each id of the kind, each with this value; what was there before is kept. False: no memory. */
bool trace_ids_make(struct trace_ids *ids, const struct trace *t, enum trace_id_kind kind, uint32_t value);
void trace_ids_free(struct trace_ids *ids);

/* NULL for an id that the trace does not have, TRACE_NONE among them. */
static inline uint32_t *trace_ids_at(const struct trace_ids *ids, uint32_t id)
{
    return id < ids->count ? &ids->items[id] : NULL;
}

#endif
