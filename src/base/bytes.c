/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/checked.h"

void bytes_free(struct bytes *b)
{
    if (!b)
        return;
    free(b->data);
    *b = (struct bytes){0};
}

void bytes_clear(struct bytes *b)
{
    b->length = 0;
    b->failed = false;
}

bool bytes_reserve(struct bytes *b, size_t more)
{
    size_t need;
    if (b->failed)
        return false;
    if (!checked_add_size(b->length, more, &need) || !checked_add_size(need, 1, &need) ||
        !array_reserve(&b->data, &b->capacity, need, 1)) {
        b->failed = true;
        return false;
    }
    return true;
}

void bytes_append(struct bytes *b, const void *data, size_t length)
{
    bool has_room = length < b->capacity - b->length && !b->failed; /* nearly always */
    if (length == 0 || (!has_room && !bytes_reserve(b, length)))
        return;
    memcpy(b->data + b->length, data, length);
    b->length += length;
}

void bytes_append_text(struct bytes *b, const char *text)
{
    bytes_append(b, text, strlen(text));
}

void bytes_append_format(struct bytes *b, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n >= 0 && bytes_reserve(b, (size_t)n)) {
        vsnprintf((char *)b->data + b->length, (size_t)n + 1, format, again);
        b->length += (size_t)n;
    }
    va_end(again);
}

void bytes_append_u8(struct bytes *b, uint8_t value)
{
    if (b->failed || b->capacity - b->length < 2) {
        bytes_append(b, &value, 1);
        return;
    }
    b->data[b->length++] = value;
}

void bytes_append_u32(struct bytes *b, uint32_t value)
{
    uint8_t raw[4];
    for (unsigned i = 0; i < 4; i++)
        raw[i] = (uint8_t)(value >> (8 * i));
    bytes_append(b, raw, sizeof raw);
}

void bytes_append_u64(struct bytes *b, uint64_t value)
{
    uint8_t raw[8];
    for (unsigned i = 0; i < 8; i++)
        raw[i] = (uint8_t)(value >> (8 * i));
    bytes_append(b, raw, sizeof raw);
}

void bytes_append_varint(struct bytes *b, uint64_t value)
{
    uint8_t raw[10];
    size_t n = 0;
    while (value >= 0x80) {
        raw[n++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    raw[n++] = (uint8_t)value;
    bytes_append(b, raw, n);
}

const uint8_t *cursor_take(struct cursor *c, size_t length)
{
    if (c->failed || !range_is_inside(c->position, length, c->length)) {
        c->failed = true;
        return NULL;
    }
    const uint8_t *at = c->data + c->position;
    c->position += length;
    return at;
}

uint8_t cursor_u8(struct cursor *c)
{
    const uint8_t *at = cursor_take(c, 1);
    return at ? at[0] : 0;
}

uint32_t cursor_u32(struct cursor *c)
{
    const uint8_t *at = cursor_take(c, 4);
    uint32_t value = 0;
    for (unsigned i = 0; at && i < 4; i++)
        value |= (uint32_t)at[i] << (8 * i);
    return value;
}

uint64_t cursor_varint(struct cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = cursor_u8(c);
        if (c->failed)
            return 0;
        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    c->failed = true;
    return 0;
}

bool array_reserve(void *array_pointer, size_t *capacity, size_t need, size_t size)
{
    if (need <= *capacity)
        return true;
    size_t wanted = *capacity < SIZE_MAX / 2 ? *capacity * 2 : need;
    if (wanted < need)
        wanted = need;
    if (wanted < 16)
        wanted = 16;
    size_t total;
    if (!checked_mul_size(wanted, size, &total))
        return false;
    void *old;
    memcpy(&old, array_pointer, sizeof old);
    void *grown = realloc(old, total);
    if (!grown)
        return false;
    memcpy(array_pointer, &grown, sizeof grown);
    *capacity = wanted;
    return true;
}

#define HUGE_PAGE ((size_t)2 << 20)

static bool is_mapped(size_t bytes)
{
    return bytes >= 2 * HUGE_PAGE;
}

uint64_t *slots_alloc(size_t count)
{
    size_t total;
    if (!checked_mul_size(count, sizeof(uint64_t), &total))
        return NULL;
    if (!is_mapped(total))
        return calloc(1, total);
    void *slots = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (slots == MAP_FAILED)
        return NULL;
    madvise(slots, total, MADV_HUGEPAGE);
    return slots;
}

void slots_free(uint64_t *slots, size_t count)
{
    if (slots && is_mapped(count * sizeof slots[0]))
        munmap(slots, count * sizeof slots[0]);
    else
        free(slots);
}
