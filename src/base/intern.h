/* SPDX-License-Identifier: Apache-2.0 */
/* Byte strings kept once, known by a dense id (0, 1, 2 ... in order of first sight). */
#ifndef OPSCOPE_BASE_INTERN_H
#define OPSCOPE_BASE_INTERN_H

#include <stddef.h>
#include <stdint.h>

#define INTERN_NONE UINT32_MAX

struct intern_entry {
    const char *data; /* followed by a NUL that is not counted */
    uint32_t length;
    uint32_t hash;
};

struct intern {
    struct intern_entry *entries;
    size_t count;
    size_t capacity;
    uint64_t *slots; /* the hash, then id + 1; 0 = empty */
    size_t slot_count;
    struct intern_page *pages;
};

void intern_free(struct intern *table);

/* The id of these bytes, added when new; INTERN_NONE when there is no memory or over 4 G entries. */
uint32_t intern_add(struct intern *table, const void *data, size_t length);

/* Frees what only adding and finding needs: nothing is found any more, until intern_add makes it again. */
void intern_forget_index(struct intern *table);

/* The id of these bytes, or INTERN_NONE when they are not there. */
uint32_t intern_find(const struct intern *table, const void *data, size_t length);

static inline const char *intern_text(const struct intern *table, uint32_t id)
{
    return id < table->count ? table->entries[id].data : "";
}

#endif
