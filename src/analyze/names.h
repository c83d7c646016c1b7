/* SPDX-License-Identifier: Apache-2.0 */
/* Names that a view treats as one. A trace has a name entry for each place in the source; a person asks for
 * "load", wherever it is written. But a zone that is called as its function is that function: "run" of one class and
 * "run" of another, the "<module>" of each file, are not the same thing. Name ids are mapped to dense group ids
 * once, so that the inner loops index an array. */
#ifndef OPSCOPE_ANALYZE_NAMES_H
#define OPSCOPE_ANALYZE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/filter.h"

#define NAME_GROUP_UNWANTED UINT32_MAX

struct name_groups {
    uint32_t *group_of;   /* by name id; NAME_GROUP_UNWANTED for names the filter leaves out. One more entry
                           * than there are names: rows whose name the file does not define */
    uint32_t *first_name; /* by group: the first name id in it */
    uint32_t *name_count; /* by group: how many places in the source; a program may name one place twice */
    uint32_t *place_of;   /* by name id, as group_of: dense ids of the places, each of one group */
    bool *is_seen;        /* by name id, as group_of: a zone has it; for name_groups_keep_seen */
    bool *is_counted;     /* by place */
    size_t group_count;
    size_t map_count; /* entries of group_of */
};

enum name_grouping {
    NAMES_BY_TEXT,
    NAMES_BY_ZONE, /* by the text; functions, and lines of functions (FUNCTION:LINE), by place, too */
    NAMES_BY_PLACE,
};

/* The filter may be NULL. */
int name_groups_make(struct name_groups *groups, const struct trace *trace, const struct trace_filter *filter,
                     enum name_grouping grouping, struct error *err);
void name_groups_free(struct name_groups *groups);
/* Counts only the places of names that were marked as seen: a frame or a counter may be called as a zone is, elsewhere
 * in the source. A group of none stays as it is. */
void name_groups_keep_seen(struct name_groups *groups);

/* The group of a zone that was read. */
static inline uint32_t name_group_seen(struct name_groups *groups, uint32_t name)
{
    uint32_t index = name < groups->map_count ? name : (uint32_t)groups->map_count - 1;
    groups->is_seen[index] = true;
    return groups->group_of[index];
}

static inline uint32_t name_group(const struct name_groups *groups, uint32_t name)
{
    return groups->group_of[name < groups->map_count ? name : groups->map_count - 1];
}

#endif
