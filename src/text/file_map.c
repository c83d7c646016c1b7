/* SPDX-License-Identifier: Apache-2.0 */
#include "text/file_map.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/open_regular.h"

static int read_whole(struct file_map *map, int descriptor, const char *path, struct error *err)
{
    struct bytes all = {0};
    for (;;) {
        if (!bytes_reserve(&all, (size_t)1 << 20)) {
            bytes_free(&all);
            return error_set_errno(err, ENOMEM, "%s", path);
        }
        ssize_t n = read(descriptor, all.data + all.length, (size_t)1 << 20);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int code = errno;
            bytes_free(&all);
            return error_set_errno(err, code, "%s", path);
        }
        if (n == 0)
            break;
        all.length += (size_t)n;
    }
    *map = (struct file_map){.data = (const char *)all.data, .length = all.length};
    return 0;
}

int file_map_open(struct file_map *map, const char *path, struct error *err)
{
    struct stat status;
    int result = 0;
    *map = (struct file_map){0};
    int descriptor = open_regular_or_pipe(path, err);
    if (descriptor < 0)
        return descriptor;
    if (fstat(descriptor, &status) != 0) {
        result = error_set_errno(err, errno, "%s", path);
    } else if (S_ISREG(status.st_mode) && status.st_size > 0) {
        void *at = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (at == MAP_FAILED) {
            result = read_whole(map, descriptor, path, err);
        } else {
            madvise(at, (size_t)status.st_size, MADV_SEQUENTIAL);
            *map = (struct file_map){.data = at, .length = (size_t)status.st_size, .is_mapped = true};
        }
    } else if (!S_ISREG(status.st_mode) || status.st_size == 0) {
        result = read_whole(map, descriptor, path, err);
    }
    close(descriptor);
    return result;
}

void file_map_rest(const struct file_map *map)
{
    if (map->is_mapped)
        madvise((void *)(size_t)map->data, map->length, MADV_DONTNEED);
}

void file_map_close(struct file_map *map)
{
    if (!map || !map->data)
        return;
    if (map->is_mapped)
        munmap((void *)(size_t)map->data, map->length);
    else
        free((void *)(size_t)map->data);
    *map = (struct file_map){0};
}
