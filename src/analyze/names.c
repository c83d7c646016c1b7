/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/intern.h"

/* Is the zone called as the function it is in, or as a line of it? */
static bool is_function(const struct trace_name *name)
{
    size_t length = strlen(name->function);
    return length > 0 && strncmp(name->name, name->function, length) == 0 &&
           (name->name[length] == '\0' || name->name[length] == ':');
}

static uint32_t group_id(struct intern *keys, struct bytes *key, const struct trace_name *name,
                         enum name_grouping grouping)
{
    bytes_clear(key);
    bytes_append_text(key, name->name);
    if (grouping == NAMES_BY_PLACE || (grouping == NAMES_BY_ZONE && is_function(name))) {
        bytes_append_u8(key, 0);
        bytes_append_text(key, name->function);
        bytes_append_u8(key, 0);
        bytes_append_text(key, name->file);
        bytes_append_format(key, ":%" PRIu32, name->line);
    }
    return key->failed ? INTERN_NONE : intern_add(keys, key->data, key->length);
}

/* The place of a name that belongs to a group. */
static uint32_t place_id(struct intern *places, struct bytes *key, uint32_t group,
                         const struct trace_name *name)
{
    bytes_clear(key);
    bytes_append_format(key, "%" PRIu32 ":%" PRIu32 ":", group, name->line);
    bytes_append_text(key, name->file);
    return key->failed ? INTERN_NONE : intern_add(places, key->data, key->length);
}

static void count_place(struct name_groups *groups, size_t i)
{
    uint32_t place = groups->place_of[i];
    groups->name_count[groups->group_of[i]] += !groups->is_counted[place];
    groups->is_counted[place] = true;
}

static int fill(struct name_groups *groups, struct intern *keys, struct intern *places,
                const struct trace *trace, const struct trace_filter *filter, enum name_grouping grouping)
{
    struct bytes key = {0};
    int result = 0;
    for (size_t i = 0; i < groups->map_count && result == 0; i++) {
        uint32_t name = i + 1 < groups->map_count ? (uint32_t)i : TRACE_NONE;
        groups->group_of[i] = NAME_GROUP_UNWANTED;
        if (filter && !trace_filter_wants_name(filter, name))
            continue;
        uint32_t id = group_id(keys, &key, trace_get_name(trace, name), grouping);
        uint32_t place =
            id == INTERN_NONE ? INTERN_NONE : place_id(places, &key, id, trace_get_name(trace, name));
        if (place == INTERN_NONE) {
            result = -ENOMEM;
            break;
        }
        if (id == groups->group_count) {
            groups->first_name[id] = name;
            groups->group_count++;
        }
        groups->group_of[i] = id;
        groups->place_of[i] = place;
        count_place(groups, i);
    }
    bytes_free(&key);
    return result;
}

int name_groups_make(struct name_groups *groups, const struct trace *trace, const struct trace_filter *filter,
                     enum name_grouping grouping, struct error *err)
{
    struct intern keys = {0}, places = {0};
    size_t count = trace_name_count(trace) + 1;
    *groups = (struct name_groups){
        .group_of = malloc(count * sizeof(uint32_t)),
        .first_name = malloc(count * sizeof(uint32_t)),
        .name_count = calloc(count, sizeof(uint32_t)),
        .place_of = malloc(count * sizeof(uint32_t)),
        .is_seen = calloc(count, sizeof(bool)),
        .is_counted = calloc(count, sizeof(bool)),
        .map_count = count,
    };
    int result = -ENOMEM;
    if (groups->group_of && groups->first_name && groups->name_count && groups->place_of && groups->is_seen &&
        groups->is_counted)
        result = fill(groups, &keys, &places, trace, filter, grouping);
    intern_free(&keys);
    intern_free(&places);
    if (result != 0) {
        name_groups_free(groups);
        return error_set_errno(err, -result, "%zu names", count);
    }
    return 0;
}

void name_groups_free(struct name_groups *groups)
{
    free(groups->group_of);
    free(groups->first_name);
    free(groups->name_count);
    free(groups->place_of);
    free(groups->is_seen);
    free(groups->is_counted);
    *groups = (struct name_groups){0};
}

void name_groups_keep_seen(struct name_groups *groups)
{
    for (size_t i = groups->map_count; i > 0; i--) { /* backwards: the first one stays in first_name */
        uint32_t group = groups->group_of[i - 1];
        if (!groups->is_seen[i - 1] || group == NAME_GROUP_UNWANTED)
            continue;
        groups->name_count[group] = 0;
        groups->is_counted[groups->place_of[i - 1]] = false;
    }
    for (size_t i = groups->map_count; i > 0; i--) {
        uint32_t group = groups->group_of[i - 1];
        if (!groups->is_seen[i - 1] || group == NAME_GROUP_UNWANTED)
            continue;
        count_place(groups, i - 1);
        groups->first_name[group] = i < groups->map_count ? (uint32_t)(i - 1) : TRACE_NONE;
    }
}
