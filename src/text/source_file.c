/* SPDX-License-Identifier: Apache-2.0 */
#include "text/source_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/count_of.h"

#define MOST_PARTS 64u /* of a path */

static const char *const endings[] = {
    "c",   "h",   "cc",   "cpp",  "cxx",  "c++",   "hh",    "hpp",  "hxx",  "h++",   "inl",   "ipp",
    "tcc", "tpp", "cu",   "cuh",  "hip",  "cl",    "clh",   "py",   "pyx",  "pxd",   "pxi",   "pyi",
    "rs",  "go",  "mlir", "ll",   "ptx",  "ttir",  "d",     "jl",   "f",    "f77",   "f90",   "f95",
    "f03", "f08", "for",  "java", "kt",   "scala", "swift", "m",    "mm",   "cs",    "fs",    "hs",
    "ml",  "lua", "rb",   "js",   "mjs",  "ts",    "tsx",   "zig",  "nim",  "s",     "asm",   "td",
    "cmm", "adb", "ads",  "comp", "glsl", "hlsl",  "vert",  "frag", "wgsl", "metal", "ttgir",
};

bool source_file_is_named(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    if (!dot || dot == base) /* ".py" is a hidden file */
        return false;
    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        if (strcasecmp(dot + 1, endings[i]) == 0)
            return true;
    }
    return false;
}

/* The name that the file has when all links are followed. */
static bool is_really_named(const char *own_link)
{
    char path[PATH_MAX];
    ssize_t length = readlink(own_link, path, sizeof path - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    return source_file_is_named(path);
}

static bool read_all(int fd, size_t size, struct bytes *out)
{
    if (!bytes_reserve(out, size))
        return false;
    while (out->length < size) {
        ssize_t got = read(fd, out->data + out->length, size - out->length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break; /* it became shorter meanwhile, or cannot be read */
        out->length += (size_t)got;
    }
    return out->length && !memchr(out->data, 0, out->length);
}

/* `handle` is the file, opened with O_PATH: nothing waits and nothing happens to a device by that. It is opened for
 * reading only when it is known what it is, and the two are the same file whatever becomes of its name. */
static bool read_handle(int handle, struct bytes *out, struct stat *info)
{
    char own_link[64];
    snprintf(own_link, sizeof own_link, "/proc/self/fd/%d", handle);
    if (fstat(handle, info) != 0 || !S_ISREG(info->st_mode) || info->st_size <= 0 ||
        (uint64_t)info->st_size > SOURCE_FILE_MOST || !is_really_named(own_link))
        return false;
    int fd = open(own_link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bytes_clear(out);
    bool is_read = read_all(fd, (size_t)info->st_size, out);
    close(fd);
    return is_read;
}

bool source_file_read(int folder, const char *path, struct bytes *out, struct stat *info)
{
    int handle = source_file_is_named(path) ? openat(folder, path, O_PATH | O_CLOEXEC) : -1;
    if (handle < 0)
        return false;
    bool is_read = read_handle(handle, out, info);
    close(handle);
    return is_read;
}

/* Goes down part by part; -1: not there, not inside, or through a link. */
static int open_inside(int folder, const char *path)
{
    int at = folder;
    for (unsigned parts = 0; at >= 0 && *path; parts++) {
        char name[NAME_MAX + 1];
        size_t length = strcspn(path, "/");
        bool is_last = !path[length + strspn(path + length, "/")];
        bool is_up = length == 2 && memcmp(path, "..", 2) == 0;
        int next = -1;
        if (length && length < sizeof name && !is_up && parts < MOST_PARTS) {
            memcpy(name, path, length);
            name[length] = '\0';
            next = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC | (is_last ? 0 : O_DIRECTORY));
        }
        if (at != folder)
            close(at);
        at = next;
        path += length + strspn(path + length, "/");
    }
    return at == folder ? -1 : at;
}

bool source_file_find(const char *folder, const char *path, struct bytes *out)
{
    int root = source_file_is_named(path) ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    bool is_read = false;
    if (root < 0)
        return false;
    for (const char *end = path; end && !is_read;) {
        struct stat info;
        end += strspn(end, "/");
        int handle = open_inside(root, end);
        is_read = handle >= 0 && read_handle(handle, out, &info);
        if (handle >= 0)
            close(handle);
        end = strchr(end, '/');
    }
    close(root);
    return is_read;
}
