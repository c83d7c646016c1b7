/* SPDX-License-Identifier: Apache-2.0 */
/* "shape=2x32;dtype=BFLOAT16": how a trace's text says several things of one tensor. */
#ifndef OPSCOPE_BASE_KEYED_TEXT_H
#define OPSCOPE_BASE_KEYED_TEXT_H

#include <stddef.h>
#include <string.h>

/* The value after "key=", which ends at the next semicolon; "" where there is none. */
static inline const char *keyed_text_find(const char *text, const char *key, size_t *value_length)
{
    size_t key_length = strlen(key);
    while (*text) {
        size_t length = strcspn(text, ";");
        if (length > key_length && text[key_length] == '=' && memcmp(text, key, key_length) == 0) {
            *value_length = length - key_length - 1;
            return text + key_length + 1;
        }
        text += length + (text[length] == ';');
    }
    *value_length = 0;
    return "";
}

#endif
