/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *err, int code, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        err->code = code;
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
    }
    return -code;
}

int error_set_errno(struct error *err, int code, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        err->code = code;
        int n = vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
        if (n >= 0 && (size_t)n < sizeof err->message)
            snprintf(err->message + n, sizeof err->message - (size_t)n, ": %s", strerror(code));
    }
    return -code;
}

int error_no_memory(struct error *err, const char *what)
{
    return error_set(err, ENOMEM, "no memory for %s", what);
}

void error_prefix(struct error *err, const char *format, ...)
{
    if (!err)
        return;
    char head[sizeof err->message];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(head, sizeof head, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof head)
        return;
    snprintf(head + n, sizeof head - (size_t)n, ": %.400s", err->message);
    memcpy(err->message, head, sizeof head);
}
