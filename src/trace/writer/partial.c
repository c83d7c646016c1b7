/* SPDX-License-Identifier: Apache-2.0 */
/* What a writer that died left behind, out of the way of the next writer of that name: PATH.partial, or the numbered
 * files of a flight recorder. Moved by rename alone, so that nothing of it can be lost on the way. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/writer.h"
#include "trace/writer/internal.h"

static bool is_held(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool held = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    return held;
}

static bool has_content(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0;
}

/* PATH.partial, or PATH.partial.NNN for a number. */
static char *part_path(const char *path, const uint32_t *number)
{
    char *name;
    int length = number ? asprintf(&name, "%s.partial.%03u", path, (unsigned)*number)
                        : asprintf(&name, "%s.partial", path);
    return length < 0 ? NULL : name;
}

static int move_part(const char *path, const char *to, const uint32_t *number, bool is_trial,
                     struct error *err)
{
    char *from_name = part_path(path, number), *to_name = part_path(to, number);
    int status = 0;
    if (!from_name || !to_name)
        status = error_set_errno(err, ENOMEM, "%s", path);
    else if (has_content(from_name) && is_trial)
        status =
            is_held(from_name) ? error_set(err, EBUSY, "%s: another opscope is writing it", from_name) : 1;
    else if (has_content(from_name))
        status = rename(from_name, to_name) == 0
                     ? 1
                     : error_set_errno(err, errno, "cannot move %s to %s", from_name, to_name);
    free(from_name);
    free(to_name);
    return status;
}

int trace_partial_move(const char *path, const char *to, struct error *err)
{
    uint32_t *numbers;
    size_t count, found = 0;
    int status = flight_list_segments(path, &numbers, &count, err);
    for (int trial = 1; trial >= 0 && status >= 0; trial--) {
        found = 0;
        for (size_t i = 0; i <= count && status >= 0; i++) { /* the last one is PATH.partial itself */
            status = move_part(path, to, i < count ? &numbers[i] : NULL, trial, err);
            found += status > 0;
        }
    }
    free(numbers);
    return status < 0 ? status : found > 0;
}

bool trace_partial_is_numbered(const char *path)
{
    uint32_t *numbers;
    size_t count;
    int status = flight_list_segments(path, &numbers, &count, NULL);
    free(numbers);
    return status == 0 && count > 0;
}
