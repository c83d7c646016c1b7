/* SPDX-License-Identifier: Apache-2.0 */
#include "base/open_regular.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

const char *file_kind_text(mode_t mode)
{
    return S_ISDIR(mode)    ? "a folder"
           : S_ISFIFO(mode) ? "a FIFO (named pipe)"
           : S_ISSOCK(mode) ? "a socket"
           : S_ISCHR(mode)  ? "a device"
           : S_ISBLK(mode)  ? "a block device"
                            : "a file";
}

static int refuse(const char *path, mode_t mode, struct error *err)
{
    return error_set(err, S_ISDIR(mode) ? EISDIR : EINVAL, "%s is %s, not a file", path,
                     file_kind_text(mode));
}

/* What the name stands for is looked at before it is opened, and again afterwards: it may have been replaced. */
static int open_checked(const char *path, bool takes_pipes, struct error *err)
{
    struct stat about;
    if (stat(path, &about) != 0)
        return error_set_errno(err, errno, "%s", path);
    if (!S_ISREG(about.st_mode) && !(takes_pipes && S_ISFIFO(about.st_mode)))
        return refuse(path, about.st_mode, err);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return error_set_errno(err, errno, "%s", path);
    int code = fstat(fd, &about) != 0 ? errno : 0;
    bool is_pipe = takes_pipes && S_ISFIFO(about.st_mode);
    if (!code && (S_ISREG(about.st_mode) || (is_pipe && fcntl(fd, F_SETFL, O_RDONLY) == 0)))
        return fd;
    close(fd);
    return code ? error_set_errno(err, code, "%s", path) : refuse(path, about.st_mode, err);
}

int open_regular(const char *path, struct error *err)
{
    return open_checked(path, false, err);
}

int open_regular_or_pipe(const char *path, struct error *err)
{
    return open_checked(path, true, err);
}

FILE *open_regular_stream(const char *path, struct error *err)
{
    int fd = open_regular(path, err);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (fd >= 0 && !file) {
        error_set_errno(err, errno, "%s", path);
        close(fd);
    }
    return file;
}
