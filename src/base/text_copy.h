/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of bytes that need not end with a NUL, as a C string. Unlike strndup it never looks past `length`, nor for
 * an end before it: checkers of memory accept it on the bytes of a file. */
#ifndef OPSCOPE_BASE_TEXT_COPY_H
#define OPSCOPE_BASE_TEXT_COPY_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline char *text_copy(const char *text, size_t length)
{
    char *copy = length < SIZE_MAX ? malloc(length + 1) : NULL;
    if (copy) {
        if (length)
            memcpy(copy, text, length);
        copy[length] = 0;
    }
    return copy;
}

#endif
