/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/pointlist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool point_is_wanted(const struct trace_filter *filter, const struct trace_point *point)
{
    if (!trace_filter_wants_track(filter, point->track) ||
        !trace_filter_wants_span(filter, point->time, point->time))
        return false;
    if (filter->names->count == 0)
        return true;
    return (*point->header && trace_filter_text_matches(filter, point->header)) ||
           (point->text_length && trace_filter_text_matches(filter, point->text));
}

static bool add_point(struct point_list *list, const struct trace_point *point)
{
    size_t header_length = strlen(point->header);
    if (header_length > UINT32_MAX ||
        !array_reserve(&list->entries, &list->capacity, list->count + 1, sizeof list->entries[0]))
        return false;
    struct point_entry *entry = &list->entries[list->count++];
    *entry = (struct point_entry){
        .time_ns = point->time,
        .track = point->track,
        .kind = point->kind,
        .header_length = (uint32_t)header_length,
        .text_length = point->text_length,
    };
    entry->header = list->texts.length;
    bytes_append(&list->texts, point->header, header_length + 1);
    entry->text = list->texts.length;
    bytes_append(&list->texts, point->text, point->text_length);
    bytes_append_u8(&list->texts, 0);
    return !list->texts.failed;
}

/* Blocks are in the order in which they were written, which is that of time only within a track; equal times
 * keep that order. */
static int compare_entries(const void *left, const void *right)
{
    const struct point_entry *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return (a->header > b->header) - (a->header < b->header);
}

int point_list_make(struct point_list *list, struct trace *trace, const struct trace_filter *filter,
                    unsigned kinds, struct error *err)
{
    struct trace_block_filter blocks = {.type = TRACE_BLOCK_POINTS};
    struct trace_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0;
    int result = 0;
    *list = (struct point_list){0};
    if (filter->has_window) {
        blocks.since_ns = filter->since_ns;
        blocks.until_ns = filter->until_ns;
    }
    while (result == 0 && (block = trace_next_block(trace, &blocks, &position))) {
        result = trace_decode_rows(trace, block, &rows, err);
        for (size_t i = 0; result == 0 && i < rows.count; i++) {
            uint32_t kind = rows.points[i].kind;
            if ((!kinds || (kind < 32 && (kinds & 1u << kind))) && point_is_wanted(filter, &rows.points[i]) &&
                !add_point(list, &rows.points[i]))
                result = error_set_errno(err, ENOMEM, "%zu messages", list->count);
        }
    }
    trace_rows_free(&rows);
    if (result == 0 && list->count > 1)
        qsort(list->entries, list->count, sizeof list->entries[0], compare_entries);
    if (result != 0)
        point_list_free(list);
    return result;
}

void point_list_free(struct point_list *list)
{
    if (!list)
        return;
    free(list->entries);
    bytes_free(&list->texts);
    *list = (struct point_list){0};
}
