/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing over slots that hold the hash beside the id, at most three quarters full: a search looks at an entry,
 * which lies anywhere in memory, only when it is the right one. The bytes live in pages that are never moved,
 * so that pointers from intern_text stay valid until intern_free. */
#include "base/intern.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/hash.h"

#define PAGE_BYTES ((size_t)64 * 1024)

struct intern_page {
    struct intern_page *next;
    size_t used, size;
    char data[];
};

void intern_free(struct intern *table)
{
    if (!table)
        return;
    while (table->pages) {
        struct intern_page *next = table->pages->next;
        free(table->pages);
        table->pages = next;
    }
    free(table->entries);
    slots_free(table->slots, table->slot_count);
    *table = (struct intern){0};
}

static char *keep_bytes(struct intern *table, const void *data, size_t length)
{
    size_t need;
    if (!checked_add_size(length, 1, &need))
        return NULL;
    if (!table->pages || table->pages->size - table->pages->used < need) {
        size_t size = need > PAGE_BYTES ? need : PAGE_BYTES;
        struct intern_page *page = malloc(sizeof *page + size);
        if (!page)
            return NULL;
        *page = (struct intern_page){.next = table->pages, .size = size};
        table->pages = page;
    }
    char *at = table->pages->data + table->pages->used;
    if (length)
        memcpy(at, data, length);
    at[length] = '\0';
    table->pages->used += need;
    return at;
}

static uint64_t make_slot(uint32_t hash, size_t id)
{
    return (uint64_t)hash << 32 | (id + 1);
}

static uint32_t id_of(uint64_t slot)
{
    return (uint32_t)slot - 1;
}

/* The slot that holds these bytes, or the empty one where they belong. */
static size_t find_slot(const struct intern *table, const void *data, size_t length, uint32_t hash)
{
    size_t mask = table->slot_count - 1;
    size_t at = hash & mask;
    for (; table->slots[at]; at = (at + 1) & mask) {
        if (table->slots[at] >> 32 != hash)
            continue;
        const struct intern_entry *entry = &table->entries[id_of(table->slots[at])];
        if (entry->length == length && (length == 0 || memcmp(entry->data, data, length) == 0))
            return at;
    }
    return at;
}

static bool grow_slots(struct intern *table)
{
    size_t count = table->slot_count ? table->slot_count : 64;
    while (table->count * 4 >= count * 3)
        count *= 2;
    uint64_t *slots = slots_alloc(count);
    if (!slots)
        return false;
    for (size_t i = 0; i < table->count; i++) {
        size_t at = (size_t)table->entries[i].hash & (count - 1);
        while (slots[at])
            at = (at + 1) & (count - 1);
        slots[at] = make_slot(table->entries[i].hash, i);
    }
    slots_free(table->slots, table->slot_count);
    table->slots = slots;
    table->slot_count = count;
    return true;
}

void intern_forget_index(struct intern *table)
{
    slots_free(table->slots, table->slot_count);
    table->slots = NULL;
    table->slot_count = 0;
}

uint32_t intern_find(const struct intern *table, const void *data, size_t length)
{
    if (!table->slot_count)
        return INTERN_NONE;
    uint64_t slot = table->slots[find_slot(table, data, length, hash_fold32(hash_bytes(data, length, 0)))];
    return slot ? id_of(slot) : INTERN_NONE;
}

uint32_t intern_add(struct intern *table, const void *data, size_t length)
{
    if (length > UINT32_MAX - 1 || table->count >= UINT32_MAX - 1)
        return INTERN_NONE;
    if (table->count * 4 >= table->slot_count * 3 && !grow_slots(table))
        return INTERN_NONE;
    uint32_t hash = hash_fold32(hash_bytes(data, length, 0));
    size_t at = find_slot(table, data, length, hash);
    if (table->slots[at])
        return id_of(table->slots[at]);
    if (!array_reserve(&table->entries, &table->capacity, table->count + 1, sizeof *table->entries))
        return INTERN_NONE;
    char *kept = keep_bytes(table, data, length);
    if (!kept)
        return INTERN_NONE;
    table->entries[table->count] = (struct intern_entry){kept, (uint32_t)length, hash};
    table->slots[at] = make_slot(hash, table->count);
    return (uint32_t)table->count++;
}
