/* SPDX-License-Identifier: Apache-2.0 */
/* The bundle: a header, then records of 104 bytes, two strings and a payload, which is an array of typed records that
 * each begin with their own length. Little endian. Newer files may have longer records: only the head is read. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "import/iree/profile.h"

#define FILE_HEADER 24u
#define RECORD_HEADER 104u
#define CONTENT_TYPE "application/vnd.iree.hal.profile."
#define MAJOR 1u

static uint32_t u32(const char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint64_t u64(const char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

struct functions { /* names by executable and ordinal */
    struct map names;
};

static uint64_t function_key(uint64_t executable, uint32_t ordinal)
{
    return executable << 24 ^ ordinal;
}

static void read_function(struct iree_profile *profile, struct functions *functions, const char *at,
                          uint32_t length)
{
    uint32_t name_length = length >= 64 ? u32(at + 44) : 0;
    if (length < 64 || name_length > length - 64) {
        profile->damaged++;
        return;
    }
    uint32_t name = iree_add_text(profile, at + 64, name_length);
    profile->failed |= !map_put(&functions->names, function_key(u64(at + 8), u32(at + 16)), name);
}

static void read_execution(struct iree_profile *profile, const struct functions *functions, const char *at,
                           uint32_t length)
{
    const uint32_t type_of_dispatch = 2;
    if (length < 152) {
        profile->damaged++;
        return;
    }
    struct iree_event event = {.event = u64(at + 16),
                               .submission = u64(at + 24),
                               .command_buffer = u64(at + 32),
                               .device = u32(at + 64),
                               .queue = u32(at + 68),
                               .workgroups = {u32(at + 80), u32(at + 84), u32(at + 88)},
                               .start_ns = u64(at + 104),
                               .end_ns = u64(at + 112),
                               .bytes = u64(at + 120),
                               .tiles = u64(at + 128),
                               .tiles_ns = u64(at + 136),
                               .is_dispatch = u32(at + 4) == type_of_dispatch,
                               .name = MAP_NONE};
    if (event.is_dispatch)
        event.name = map_get(&functions->names, function_key(u64(at + 40), u32(at + 76)));
    if (event.name == MAP_NONE) {
        const char *text = iree_operation_text(u32(at + 4));
        event.name = iree_add_text(profile, text, strlen(text));
    }
    iree_add_event(profile, &event);
}

static void read_payload(struct iree_profile *profile, struct functions *functions, const char *kind,
                         size_t kind_length, const char *data, uint64_t length)
{
    bool is_functions = kind_length == 20 && memcmp(kind, "executable-functions", 20) == 0;
    bool is_executions = kind_length == 21 && memcmp(kind, "host-execution-events", 21) == 0;
    for (uint64_t at = 0; (is_functions || is_executions) && at + 4 <= length;) {
        uint32_t size = u32(data + at);
        if (size < 4 || size > length - at) {
            profile->damaged++;
            return;
        }
        if (is_functions)
            read_function(profile, functions, data + at, size);
        else
            read_execution(profile, functions, data + at, size);
        at += size;
    }
    profile->passed_over += !is_functions && !is_executions;
}

int iree_read_bundle(struct iree_profile *profile, const char *path, const char *data, size_t length,
                     struct error *err)
{
    struct functions functions = {0};
    if (length < FILE_HEADER || u32(data + 8) < FILE_HEADER || u32(data + 8) > length)
        return error_set(err, EINVAL, "%s: the header of the bundle is cut", path);
    unsigned major = u32(data + 4) & 0xffff;
    if (major != MAJOR)
        return error_set(
            err, EINVAL,
            "%s: version %u of the bundle is not known; iree-profile export writes it as JSON lines", path,
            major);
    uint64_t end = u64(data + 16) && u64(data + 16) < length ? u64(data + 16) : length;
    for (uint64_t at = u32(data + 8); at < end && !profile->failed;) {
        uint64_t size = end - at >= RECORD_HEADER ? u64(data + at) : 0;
        if (size < RECORD_HEADER || size > end - at) {
            profile->damaged++; /* the file ends in the middle of a record */
            break;
        }
        uint64_t payload = u64(data + at + 8);
        uint32_t header = u32(data + at + 56), type = u32(data + at + 60), name = u32(data + at + 64);
        profile->dropped += u64(data + at + 88);
        uint64_t strings = (uint64_t)type + name;
        if (header < RECORD_HEADER || header > size || strings > size - header ||
            payload > size - header - strings) {
            profile->damaged++;
            break;
        }
        const char *content = data + at + header;
        size_t prefix = strlen(CONTENT_TYPE);
        if (type > prefix && memcmp(content, CONTENT_TYPE, prefix) == 0)
            read_payload(profile, &functions, content + prefix, type - prefix, content + strings, payload);
        at += size;
    }
    map_free(&functions.names);
    return 0;
}
