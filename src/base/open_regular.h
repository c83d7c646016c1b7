/* SPDX-License-Identifier: Apache-2.0 */
/* Files by a name that somebody else may have put there. Opening a FIFO waits for whoever writes to it, and opening a
 * device may do something: neither is done to what is no file. */
#ifndef OPSCOPE_BASE_OPEN_REGULAR_H
#define OPSCOPE_BASE_OPEN_REGULAR_H

#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"

/* A descriptor for reading, closed on exec; or a negative errno, and the message says what the path is. */
int open_regular(const char *path, struct error *err);
FILE *open_regular_stream(const char *path, struct error *err); /* NULL */
/* The same of a pipe, which is read as far as somebody writes to it: one that nobody writes to is empty. */
int open_regular_or_pipe(const char *path, struct error *err);
/* "a FIFO (named pipe)"; "a file" of regular ones. */
const char *file_kind_text(mode_t mode);

#endif
