/* SPDX-License-Identifier: Apache-2.0 */
/* The one place that decides what an output of a command may be written over.
 *
 * - Never an input of the same command: the same file, by whatever name. Pass every file that the command reads, as the
 *   user named it; NULL and "-" are skipped, names of files that do not exist do no harm, and an output that is written
 *   before this one may be in the list as well. Of a folder, pass the files in it that are read.
 * - Never a folder or a block device, nor a symbolic link that another user has put there (root's, as /dev/stdout, are
 *   fine).
 * - A character device, a FIFO or a socket is never replaced: it is written into. So is what is open under a name of
 *   the system, as /dev/stdout, also where that is a file: `>> FILE` keeps what is in it.
 *
 *     const char *const inputs[] = {options->before, options->after};
 *     enum output_way way;
 *     if (output_path_check(path, inputs, COUNT_OF(inputs), &way, &err) != 0)
 *         return command_fail(command, &err);
 *
 * Call it before the work is done, so that nobody waits for a result that cannot be kept. */
#ifndef OPSCOPE_BASE_OUTPUT_PATH_H
#define OPSCOPE_BASE_OUTPUT_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum output_way {
    OUTPUT_REPLACE, /* write a temporary file beside it, then rename that to it */
    OUTPUT_INTO,    /* open it and write after what is there; there is nothing to rename */
};

/* 0 and *way (which may be NULL); or a negative code and a sentence that names the path. */
int output_path_check(const char *path, const char *const *inputs, size_t input_count, enum output_way *way,
                      struct error *err);

/* output_path_check for a name that is made from another and that nobody gave: it must be free or a regular file. */
int output_path_check_made(const char *path, const char *const *inputs, size_t input_count,
                           struct error *err);

/* Whether files of names made from this one may be written: not beside a device, a FIFO or a name of standard output.
 * A folder is no output, but files may be called as it is, with an ending. */
bool output_path_takes_company(const char *path);

/* The device that throws everything away, by whatever name. */
bool output_path_is_null(const char *path);

#endif
