/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of library code: a function returns 0 or a negative errno-like code and fills the caller's
 * struct error with a sentence for a person (file, line and column where input is at fault).
 * Only cli/ prints it. Passing NULL as the error is allowed everywhere. */
#ifndef OPSCOPE_BASE_ERROR_H
#define OPSCOPE_BASE_ERROR_H

#include <stdarg.h>

struct error {
    int code; /* positive errno value; 0 = no error */
    char message[480];
};

/* Fills err and returns -code, so that a caller can write: return error_set(err, EINVAL, "...", ...); */
int error_set(struct error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same with ": <strerror(code)>" after the sentence. */
int error_set_errno(struct error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "no memory for <what>"; returns -ENOMEM. `what` names the thing ("the page", a path), not its size. */
int error_no_memory(struct error *err, const char *what);

/* Puts "text: " in front of a message that is already there. */
void error_prefix(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
