/* SPDX-License-Identifier: Apache-2.0 */
#include "base/make_folder.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

int make_folder(const char *path, struct error *err)
{
    char partial[PATH_MAX];
    struct stat st;
    for (const char *c = path; *c; c++) {
        if (*c != '/' || c == path)
            continue;
        snprintf(partial, sizeof partial, "%.*s", (int)(c - path), path);
        mkdir(partial, 0777); /* the last one tells what is wrong */
    }
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return error_set_errno(err, errno, "%s", path);
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return error_set(err, ENOTDIR, "%s is not a folder", path);
    return 0;
}
