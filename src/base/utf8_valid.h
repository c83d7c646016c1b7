/* SPDX-License-Identifier: Apache-2.0 */
/* Is a text from outside UTF-8? text/utf8.h shows what is not. */
#ifndef OPSCOPE_BASE_UTF8_VALID_H
#define OPSCOPE_BASE_UTF8_VALID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Looks at the form alone: overlong three-byte forms and surrogates pass. */
static inline bool utf8_is_valid(const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        unsigned char first = (unsigned char)text[i];
        size_t more = first < 0x80                     ? 0
                      : first >= 0xc2 && first <= 0xdf ? 1
                      : (first & 0xf0) == 0xe0         ? 2
                      : first >= 0xf0 && first <= 0xf4 ? 3
                                                       : SIZE_MAX;
        if (more > length - i - 1)
            return false;
        for (size_t k = 1; k <= more; k++) {
            if (((unsigned char)text[i + k] & 0xc0) != 0x80)
                return false;
        }
        i += more + 1;
    }
    return true;
}

#endif
