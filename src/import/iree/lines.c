/* SPDX-License-Identifier: Apache-2.0 */
/* The export: one JSON object per line. The contract is the fields, not the version: a record without the ones that are
 * used is counted as damaged, one of another kind is passed over. */
#include <errno.h>
#include <string.h>

#include "base/slice.h"
#include "import/iree/profile.h"
#include "text/json/reader.h"

static bool number(const struct json_document *json, const struct json_node *row, const char *key,
                   uint64_t *value)
{
    return json_unsigned_value(json_find(json, row, key), value);
}

static uint64_t number_or_0(const struct json_document *json, const struct json_node *row, const char *key)
{
    uint64_t value;
    return number(json, row, key, &value) ? value : 0;
}

static void read_execution(struct iree_profile *profile, const struct json_document *json,
                           const struct json_node *row)
{
    const struct json_node *op = json_find(json, row, "op"), *key = json_find(json, row, "key");
    const struct json_node *valid = json_find(json, row, "valid"),
                           *counts = json_find(json, row, "workgroup_count");
    struct iree_event event = {.event = number_or_0(json, row, "event_id"),
                               .submission = number_or_0(json, row, "submission_id"),
                               .command_buffer = number_or_0(json, row, "command_buffer_id"),
                               .bytes = number_or_0(json, row, "payload_length"),
                               .tiles = number_or_0(json, row, "tile_count"),
                               .tiles_ns = number_or_0(json, row, "tile_duration_sum_ns"),
                               .device = (uint32_t)number_or_0(json, row, "physical_device_ordinal"),
                               .queue = (uint32_t)number_or_0(json, row, "queue_ordinal")};
    bool has_times = number(json, row, "start_host_time_ns", &event.start_ns) &&
                     number(json, row, "end_host_time_ns", &event.end_ns);
    bool is_valid = !valid || valid->kind != JSON_FALSE;
    if (!has_times || !is_valid || !op || op->kind != JSON_STRING) {
        profile->damaged++;
        return;
    }
    unsigned i = 0;
    for (const struct json_node *n = json_first(json, counts); n && i < 3;
         n = json_next(json, counts, n), i++) {
        uint64_t value;
        event.workgroups[i] = json_unsigned_value(n, &value) && value < UINT32_MAX ? (uint32_t)value : 0;
    }
    event.is_dispatch = json_text_is(op, "dispatch");
    const struct json_node *name = event.is_dispatch && key && key->kind == JSON_STRING ? key : op;
    event.name = iree_add_text(profile, name->text, name->length);
    iree_add_event(profile, &event);
}

static void read_memory(struct iree_profile *profile, const struct json_document *json,
                        const struct json_node *row)
{
    const struct json_node *type = json_find(json, row, "event_type");
    bool is_release = json_text_is(type, "queue_dealloca") || json_text_is(type, "buffer_free");
    if (!is_release && !json_text_is(type, "queue_alloca") && !json_text_is(type, "buffer_allocate"))
        return;
    struct iree_allocation allocation = {.time_ns = number_or_0(json, row, "host_time_ns"),
                                         .id = number_or_0(json, row, "allocation_id"),
                                         .bytes = number_or_0(json, row, "length"),
                                         .is_release = is_release};
    if (allocation.time_ns && allocation.id)
        iree_add_allocation(profile, &allocation);
}

static void read_row(struct iree_profile *profile, const struct json_document *json)
{
    const struct json_node *row = json_root(json), *type = json_find(json, row, "record_type");
    if (json_text_is(type, "host_execution_event"))
        read_execution(profile, json, row);
    else if (json_text_is(type, "memory_event"))
        read_memory(profile, json, row);
    else
        profile->passed_over++;
    if (json_text_is(type, "diagnostic"))
        profile->dropped += number_or_0(json, row, "dropped_records");
}

int iree_read_lines(struct iree_profile *profile, const char *path, const char *data, size_t length,
                    struct error *err)
{
    struct json_document json = {0};
    (void)path;
    (void)err;
    for (size_t at = 0; at < length && !profile->failed;) {
        const char *line = memchr(data + at, '\n', length - at);
        size_t end = line ? (size_t)(line - data) : length;
        struct slice text = slice_trim(slice_from(data + at, end - at));
        if (text.length && json_read(&json, text.data, text.length, NULL) == 0)
            read_row(profile, &json);
        else if (text.length)
            profile->damaged++; /* the last line of a file that was cut */
        at = end + 1;
    }
    json_document_free(&json);
    return 0;
}
