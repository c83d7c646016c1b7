/* SPDX-License-Identifier: Apache-2.0 */
/* A growable byte buffer, and a bounded cursor over bytes for parsers.
 * An append that finds no memory sets `failed` and drops what follows: callers check once, at the end.
 * There is always room for one byte after the last, so that bytes_text() can end the text with a NUL. */
#ifndef OPSCOPE_BASE_BYTES_H
#define OPSCOPE_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
    uint8_t *data; /* from malloc, or NULL */
    size_t length;
    size_t capacity;
    bool failed;
};

/* The bytes as a C string, valid until the buffer changes; "" when there are none. The NUL is not counted. */
static inline const char *bytes_text(const struct bytes *b)
{
    if (!b->data)
        return "";
    b->data[b->length] = 0;
    return (const char *)b->data;
}

void bytes_free(struct bytes *b);
void bytes_clear(struct bytes *b); /* keeps the memory */
bool bytes_reserve(struct bytes *b, size_t more);
void bytes_append(struct bytes *b, const void *data, size_t length);
void bytes_append_text(struct bytes *b, const char *text);
void bytes_append_format(struct bytes *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void bytes_append_u8(struct bytes *b, uint8_t value);
void bytes_append_u32(struct bytes *b, uint32_t value); /* little-endian */
void bytes_append_u64(struct bytes *b, uint64_t value);
void bytes_append_varint(struct bytes *b, uint64_t value); /* LEB128 */

/* Reading: every call checks the bounds; after the first failure all further reads give 0 and `failed` stays. */
struct cursor {
    const uint8_t *data;
    size_t length;
    size_t position;
    bool failed;
};

static inline struct cursor cursor_over(const void *data, size_t length)
{
    return (struct cursor){.data = (const uint8_t *)data, .length = length};
}

uint8_t cursor_u8(struct cursor *c);
uint32_t cursor_u32(struct cursor *c);
uint64_t cursor_varint(struct cursor *c);
const uint8_t *cursor_take(struct cursor *c, size_t length); /* NULL when it is not there */

/* Grows *array (elements of `size` bytes) so that it has room for `need` elements, at least doubling.
 * Returns false, with the array untouched, when there is no memory. */
bool array_reserve(void *array_pointer, size_t *capacity, size_t need, size_t size);

/* `count` slots of zeros, for a hash table: large ones on huge pages where the system has them, since each access is to
 * another page, and given back to it at once. NULL: no memory. */
uint64_t *slots_alloc(size_t count);
void slots_free(uint64_t *slots, size_t count); /* NULL is allowed */

#endif
