/* SPDX-License-Identifier: Apache-2.0 */
/* Reads source files whose names come from elsewhere: from a program that is recorded, or from a trace, which may be
 * anybody's. Only regular files that are called as sources are, at their real path, too; nothing else is ever opened
 * for reading, so that no pipe or device blocks and no key or password is taken for source text. */
#ifndef OPSCOPE_TEXT_SOURCE_FILE_H
#define OPSCOPE_TEXT_SOURCE_FILE_H

#include <sys/stat.h>

#include "base/bytes.h"

#define SOURCE_FILE_MOST ((size_t)8 << 20) /* bytes of a file; a larger one is not read */

/* Does the name end as those of source files do (.c, .py, .mlir ...)? */
bool source_file_is_named(const char *path);

/* `path` is absolute, or begins at the folder (AT_FDCWD: the working folder). False: it is not such a file, is empty or
 * too large, has a NUL, or cannot be read. */
bool source_file_read(int folder, const char *path, struct bytes *out, struct stat *info);

/* The same of the longest end of `path` that is there inside the folder: of /a/b/c.c first a/b/c.c, then b/c.c, then
 * c.c. Symbolic links below the folder are not followed, and nothing leads out of it. */
bool source_file_find(const char *folder, const char *path, struct bytes *out);

#endif
