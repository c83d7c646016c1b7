/* SPDX-License-Identifier: Apache-2.0 */
/* A short list of texts that someone else keeps: what a repeatable option was given. */
#ifndef OPSCOPE_BASE_TEXT_LIST_H
#define OPSCOPE_BASE_TEXT_LIST_H

#include <stdbool.h>
#include <stddef.h>

#define TEXT_LIST_MAX 64u

struct text_list {
    const char *items[TEXT_LIST_MAX];
    size_t count;
};

/* False when the list is full. */
static inline bool text_list_add(struct text_list *list, const char *text)
{
    if (list->count == TEXT_LIST_MAX)
        return false;
    list->items[list->count++] = text;
    return true;
}

#endif
