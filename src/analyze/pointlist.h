/* SPDX-License-Identifier: Apache-2.0 */
/* Signposts, messages and frames of a trace in the order of time. Texts are kept until the list is freed. */
#ifndef OPSCOPE_ANALYZE_POINTLIST_H
#define OPSCOPE_ANALYZE_POINTLIST_H

#include "analyze/filter.h"
#include "base/bytes.h"

struct point_entry {
    uint64_t time_ns; /* host */
    uint32_t track;
    uint32_t kind;          /* enum trace_point_kind */
    uint64_t header, text;  /* offsets in `texts` */
    uint32_t header_length; /* both are followed by a NUL */
    uint32_t text_length;
};

struct point_list {
    struct point_entry *entries;
    size_t count, capacity;
    struct bytes texts;
};

/* A --name pattern has to match the header or the text. */
bool point_is_wanted(const struct trace_filter *filter, const struct trace_point *point);

/* `kinds`: bit 1 << enum trace_point_kind; 0 = all. */
int point_list_make(struct point_list *list, struct trace *trace, const struct trace_filter *filter,
                    unsigned kinds, struct error *err);
void point_list_free(struct point_list *list);

static inline const char *point_list_text(const struct point_list *list, uint64_t offset)
{
    return (const char *)list->texts.data + offset;
}

#endif
