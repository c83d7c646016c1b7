/* SPDX-License-Identifier: Apache-2.0 */
/* Handles lie in blocks that never move, so that a handle is looked up without a lock. Nothing is taken back before the
 * program ends: domains and registered strings are made once and used for good. */
#include "record/nvtx/text.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_HANDLES 1024u
#define MAX_BLOCKS 1024u
#define MAX_CATEGORIES 1024u

struct handle {
    char *text;
    size_t length;
};

static struct handle *blocks[MAX_BLOCKS];
static uint32_t handle_count; /* those below are whole */
static struct category {
    const void *domain;
    uint32_t number;
    char *name;
} categories[MAX_CATEGORIES];
static uint32_t category_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void nvtx_slice_ascii(struct nvtx_slice *slice, const char *text)
{
    slice->data = text ? text : "";
    slice->length = strlen(slice->data);
}

void nvtx_slice_wide(struct nvtx_slice *slice, const wchar_t *text)
{
    size_t n = 0;
    for (; text && *text && n + 5 <= sizeof slice->room; text++) {
        uint32_t c = (uint32_t)*text;
        if (c >= 0x110000 || (c >= 0xd800 && c < 0xe000))
            c = 0xfffd;
        unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        static const uint8_t heads[] = {0, 0xc0, 0xe0, 0xf0};
        slice->room[n++] = (char)(heads[more] | c >> 6 * more);
        while (more--)
            slice->room[n++] = (char)(0x80 | (c >> 6 * more & 0x3f));
    }
    slice->room[n] = '\0';
    slice->data = slice->room;
    slice->length = n;
}

static char *copy_of(const struct nvtx_slice *text)
{
    char *copy = malloc(text->length + 1);
    if (copy) {
        memcpy(copy, text->data, text->length);
        copy[text->length] = '\0';
    }
    return copy;
}

const void *nvtx_handle_add(const struct nvtx_slice *text)
{
    char *copy = copy_of(text);
    uint32_t index = 0;
    pthread_mutex_lock(&lock);
    uint32_t block = handle_count / BLOCK_HANDLES;
    if (copy && block < MAX_BLOCKS && !blocks[block])
        blocks[block] = calloc(BLOCK_HANDLES, sizeof *blocks[block]);
    if (copy && block < MAX_BLOCKS && blocks[block]) {
        blocks[block][handle_count % BLOCK_HANDLES] = (struct handle){copy, text->length};
        index = handle_count + 1;
        __atomic_store_n(&handle_count, index, __ATOMIC_RELEASE);
        copy = NULL;
    }
    pthread_mutex_unlock(&lock);
    free(copy);
    return (const void *)(uintptr_t)index;
}

const char *nvtx_handle_text(const void *handle, size_t *length)
{
    uintptr_t index = (uintptr_t)handle;
    if (index == 0 || index > __atomic_load_n(&handle_count, __ATOMIC_ACQUIRE)) {
        *length = 0;
        return "";
    }
    const struct handle *found = &blocks[(index - 1) / BLOCK_HANDLES][(index - 1) % BLOCK_HANDLES];
    *length = found->length;
    return found->text;
}

void nvtx_category_name(const void *domain, uint32_t category, const struct nvtx_slice *name)
{
    char *copy = copy_of(name);
    pthread_mutex_lock(&lock);
    if (copy && category_count < MAX_CATEGORIES) { /* one that is named again is found by its newest name */
        categories[category_count] = (struct category){domain, category, copy};
        __atomic_store_n(&category_count, category_count + 1, __ATOMIC_RELEASE);
        copy = NULL;
    }
    pthread_mutex_unlock(&lock);
    free(copy);
}

const char *nvtx_category_find(const void *domain, uint32_t category)
{
    for (uint32_t i = __atomic_load_n(&category_count, __ATOMIC_ACQUIRE); i > 0; i--)
        if (categories[i - 1].number == category && categories[i - 1].domain == domain)
            return categories[i - 1].name;
    return NULL;
}

void nvtx_text_forked(void)
{
    pthread_mutex_init(&lock, NULL); /* another thread of the parent may have held it */
}
