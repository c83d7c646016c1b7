/* SPDX-License-Identifier: Apache-2.0 */
/* Is there room in our memory cgroup? Memory of the session is charged to the cgroup that touches it first, and a
 * cgroup that runs full brings the OOM killer, not an error. So each growth step first compares itself with what
 * the cgroup and its parents have left (page cache that can be dropped counts as left).
 *
 * Whether there is any limit is determined once per process, when the segment is made: without one, no file is
 * ever opened again (a program may have entered seccomp by then). */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "session/cgroup.h"

#define NO_LIMIT (UINT64_MAX / 2)

enum { UNKNOWN = 0, UNLIMITED = 1, LIMITED = 2 };

struct cgroup_files {
    const char *root, *limit, *usage, *inactive;
};

static const struct cgroup_files versions[] = {
    {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "},
    {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "},
    {"/sys/fs/cgroup/unified", "memory.max", "memory.current", "inactive_file "},
};

static char own_path[4096]; /* of this process, below the root */
static int limit_state;
static uint64_t own_signature, trusted_signature;
static uint32_t version_used;

static bool file_path(char *out, size_t size, size_t path_length, const char *file)
{
    const char *root = versions[version_used].root;
    size_t root_length = strlen(root), file_length = strlen(file);
    if (root_length + path_length + file_length + 2 > size)
        return false;
    memcpy(out, root, root_length);
    memcpy(out + root_length, own_path, path_length);
    out[root_length + path_length] = '/';
    memcpy(out + root_length + path_length + 1, file, file_length + 1);
    return true;
}

/* Reads a file byte by byte through a small buffer: callers may have little stack. */
struct byte_reader {
    int fd;
    ssize_t have, at;
    char buffer[256];
};

static int next_byte(struct byte_reader *r)
{
    if (r->at == r->have) {
        r->at = 0;
        r->have = read(r->fd, r->buffer, sizeof r->buffer);
    }
    return r->have > 0 ? (unsigned char)r->buffer[r->at++] : -1;
}

/* The number after `key` at the begin of a line; `fallback` when there is none. */
static uint64_t find_figure(struct byte_reader *r, const char *key, uint64_t fallback)
{
    size_t matched = 0, length = strlen(key);
    for (int byte = next_byte(r); byte >= 0; byte = next_byte(r)) {
        if (matched == length && byte >= '0' && byte <= '9') {
            uint64_t value = 0;
            for (; byte >= '0' && byte <= '9'; byte = next_byte(r))
                value = value < UINT64_MAX / 10 - 1 ? value * 10 + (uint64_t)(byte - '0') : UINT64_MAX;
            return value;
        }
        if (byte == '\n')
            matched = 0;
        else
            matched = matched < length && byte == key[matched] ? matched + 1 : SIZE_MAX / 2;
    }
    return fallback;
}

/* A number in one of the cgroup's files; `fallback` when it is not there or says "max". */
static uint64_t read_figure(size_t path_length, const char *file, const char *key, uint64_t fallback)
{
    char path[400];
    struct byte_reader reader = {.fd = -1};
    if (!file_path(path, sizeof path, path_length, file))
        return fallback;
    reader.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (reader.fd < 0)
        return fallback;
    uint64_t value = find_figure(&reader, key ? key : "", fallback);
    close(reader.fd);
    return value;
}

static size_t parent_length(size_t length)
{
    while (length > 0 && own_path[length - 1] != '/')
        length--;
    return length > 0 ? length - 1 : 0;
}

/* Have this cgroup and those above it so much left? *is_limited: does any of them have a limit? memory.stat is by far
 * the most expensive of the files (some 30 us), so it is read only if memory is short without the page cache. */
static bool has_left(uint64_t bytes, bool *is_limited)
{
    const struct cgroup_files *v = &versions[version_used];
    size_t length = strlen(own_path);
    *is_limited = false;
    for (int level = 0; level < 16; level++) {
        uint64_t limit = read_figure(length, v->limit, NULL, NO_LIMIT);
        if (limit < (UINT64_C(1) << 50)) {
            *is_limited = true;
            uint64_t used = read_figure(length, v->usage, NULL, 0);
            uint64_t left = limit > used ? limit - used : 0;
            if (left < bytes) {
                uint64_t inactive = read_figure(length, "memory.stat", v->inactive, 0);
                used = used > inactive ? used - inactive : 0;
                left = limit > used ? limit - used : 0;
            }
            if (left < bytes)
                return false;
        }
        if (length == 0)
            break;
        length = parent_length(length);
    }
    return true;
}

/* Finds our memory cgroup in /proc/self/cgroup: "N:memory:/path" (v1) or "0::/path" (v2). */
static bool find_own(void)
{
    char *text = own_path; /* called once per process, before there is a second thread in here */
    int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof own_path - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    own_signature = hash_bytes(text, strlen(text), 0) | 1;
    const char *v1 = strstr(text, ":memory:"), *v2 = strstr(text, "0::");
    const char *path = v1 ? v1 + 8 : v2 ? v2 + 3 : NULL;
    if (!path)
        return false;
    size_t length = strcspn(path, "\n");
    memmove(own_path, path, length);
    own_path[length] = '\0';
    if (strcmp(own_path, "/") == 0)
        own_path[0] = '\0';
    version_used = v1 ? 0 : access("/sys/fs/cgroup/unified", F_OK) == 0 ? 2 : 1;
    return true;
}

/* On the first call: determines whether there is a limit. */
static bool has_room_for(uint64_t bytes)
{
    bool is_limited = false, has_room = true;
    if (limit_state == UNLIMITED)
        return true;
    if (limit_state == LIMITED || (find_own() && own_signature != trusted_signature))
        has_room = has_left(bytes, &is_limited);
    if (limit_state == UNKNOWN)
        limit_state = is_limited ? LIMITED : UNLIMITED;
    return has_room;
}

uint64_t cgroup_unlimited_signature(void)
{
    has_room_for(0);
    return limit_state == UNLIMITED ? own_signature : 0;
}

void cgroup_trust(uint64_t signature)
{
    trusted_signature = signature;
}

bool cgroup_has_room(size_t step_bytes)
{
    int saved = errno;
    bool has_room = has_room_for(4 * (uint64_t)step_bytes);
    errno = saved;
    return has_room;
}
