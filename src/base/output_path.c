/* SPDX-License-Identifier: Apache-2.0 */
#include "base/output_path.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define NULL_DEVICE makedev(1, 3) /* on every Linux */

static bool is_same_file(const char *path, const struct stat *about, const char *input)
{
    struct stat other;
    if (!input || strcmp(input, "-") == 0)
        return false;
    if (strcmp(input, path) == 0)
        return true;
    return about && stat(input, &other) == 0 && other.st_dev == about->st_dev &&
           other.st_ino == about->st_ino;
}

/* A link of somebody else would decide for us which file is overwritten. */
static bool is_foreign_link(const char *path)
{
    struct stat link;
    return lstat(path, &link) == 0 && S_ISLNK(link.st_mode) && link.st_uid != 0 && link.st_uid != geteuid();
}

/* /dev/stdout, /dev/fd/1, /proc/self/fd/1: a link to what is open already, which may well be a regular file. Its name
 * is the system's, and nothing takes its place. */
static bool is_name_of_open_file(const char *path)
{
    char to[6];
    ssize_t length = readlink(path, to, sizeof to);
    if (length < 0)
        return false;
    return strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/dev/fd/", 8) == 0 ||
           (strncmp(path, "/dev/", 5) == 0 && length == 6 && memcmp(to, "/proc/", 6) == 0);
}

int output_path_check(const char *path, const char *const *inputs, size_t input_count, enum output_way *way,
                      struct error *err)
{
    struct stat about;
    bool is_there = stat(path, &about) == 0, is_special = is_there && !S_ISREG(about.st_mode);
    if (way)
        *way = is_special || is_name_of_open_file(path) ? OUTPUT_INTO : OUTPUT_REPLACE;
    if (is_foreign_link(path))
        return error_set(err, EACCES, "cannot write %s: it is a symbolic link of another user", path);
    if (is_there && S_ISDIR(about.st_mode))
        return error_set_errno(err, EISDIR, "cannot write %s", path);
    if (is_there && S_ISBLK(about.st_mode))
        return error_set(err, EINVAL, "cannot write %s: it is a block device", path);
    for (size_t i = 0; i < input_count && !is_special; i++) {
        if (is_same_file(path, is_there ? &about : NULL, inputs[i]))
            return error_set(err, EEXIST, "cannot write %s: it is an input of this command", path);
    }
    return 0;
}

bool output_path_takes_company(const char *path)
{
    struct stat about;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode))
        return false;
    return !is_name_of_open_file(path);
}

int output_path_check_made(const char *path, const char *const *inputs, size_t input_count, struct error *err)
{
    enum output_way way;
    int status = output_path_check(path, inputs, input_count, &way, err);
    if (status == 0 && way == OUTPUT_INTO)
        status = error_set(err, EINVAL, "cannot write %s: it is not a regular file", path);
    return status;
}

bool output_path_is_null(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISCHR(about.st_mode) && about.st_rdev == NULL_DEVICE;
}
