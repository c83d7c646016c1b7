/* SPDX-License-Identifier: Apache-2.0 */
/* The client's side of Tracy's protocol, as far as tests need it: a handshake and frames of records, byte by byte. */
#ifndef OPSCOPE_TESTS_TRACY_CLIENT_H
#define OPSCOPE_TESTS_TRACY_CLIENT_H

#include "base/bytes.h"
#include "collect/tracy/protocol.h"

struct client {
    struct tracy_table table;
    struct bytes sent;  /* everything, frames included */
    struct bytes frame; /* records of the next frame */
};

static inline void put(struct bytes *out, const void *data, size_t length)
{
    bytes_append(out, data, length);
}

static inline void put_u16(struct bytes *out, uint16_t value)
{
    put(out, &value, sizeof value);
}

/* The status byte and the welcome message: ticks of a nanosecond, beginning at 1000. */
static inline void client_begin(struct client *c, uint32_t version, bool is_wide, uint8_t flags)
{
    *c = (struct client){0};
    tracy_table_make(&c->table, (struct tracy_dialect){version, is_wide});
    uint8_t welcome[1178] = {0};
    unsigned shift = version <= 74 ? 8 : 0;
    double ns_per_tick = 1.0;
    uint64_t first_tick = 1000, pid = 4321, epoch = 1700000000;
    memcpy(welcome, &ns_per_tick, 8);
    memcpy(welcome + 8, &first_tick, 8);
    memcpy(welcome + 32 + shift, &epoch, 8);
    memcpy(welcome + 48 + shift, &pid, 8);
    welcome[64 + shift] = flags;
    memcpy(welcome + 82 + shift, "made by hand", 12);
    memcpy(welcome + 146 + shift, "OS: test", 8);
    bytes_append_u8(&c->sent, TRACY_WELCOME);
    put(&c->sent, welcome, tracy_welcome_bytes(version));
    if (flags & TRACY_ON_DEMAND)
        put(&c->sent, "0123456789abcdef", 16);
}

/* An LZ4 block that has literals alone. */
static inline void put_literals(struct bytes *out, const uint8_t *data, size_t length)
{
    struct bytes block = {0};
    size_t left = length - 15;
    bytes_append_u8(&block, (uint8_t)((length < 15 ? length : 15) << 4));
    for (; length >= 15 && left >= 255; left -= 255)
        bytes_append_u8(&block, 255);
    if (length >= 15)
        bytes_append_u8(&block, (uint8_t)left);
    put(&block, data, length);
    bytes_append_u32(out, (uint32_t)block.length);
    put(out, block.data, block.length);
    bytes_free(&block);
}

/* What was put into the frame is sent. */
static inline void client_flush(struct client *c)
{
    put_literals(&c->sent, c->frame.data, c->frame.length);
    bytes_clear(&c->frame);
}

static inline void client_free(struct client *c)
{
    bytes_free(&c->sent);
    bytes_free(&c->frame);
}

/* The type byte of a record; the fields follow. */
static inline struct bytes *record(struct client *c, unsigned number)
{
    unsigned type = 0;
    while (c->table.record[type] != number)
        type++;
    bytes_append_u8(&c->frame, (uint8_t)type);
    return &c->frame;
}

static inline void client_thread(struct client *c, uint32_t thread)
{
    bytes_append_u32(record(c, TRACY_THREAD_CONTEXT), thread);
}

static inline void client_begin_zone(struct client *c, int64_t delta, uint64_t location)
{
    bytes_append_u64(record(c, TRACY_ZONE_BEGIN), (uint64_t)delta);
    bytes_append_u64(&c->frame, location);
}

static inline void client_end_zone(struct client *c, int64_t delta)
{
    bytes_append_u64(record(c, TRACY_ZONE_END), (uint64_t)delta);
}

/* The text of the next record that needs one. */
static inline void client_text(struct client *c, const char *text)
{
    size_t length = strlen(text);
    if (c->table.dialect.version >= 80 && length < 256) {
        bytes_append_u8(record(c, TRACY_SINGLE_STRING_DATA_8), (uint8_t)length);
    } else {
        record(c, TRACY_SINGLE_STRING_DATA);
        put_u16(&c->frame, (uint16_t)(c->table.dialect.version >= 80 ? length - 256 : length));
    }
    put(&c->frame, text, length);
}

static inline void client_location(struct client *c, uint64_t name, uint64_t function, uint64_t file,
                                   uint32_t line, uint32_t colour)
{
    bytes_append_u64(record(c, TRACY_SOURCE_LOCATION), name);
    bytes_append_u64(&c->frame, function);
    bytes_append_u64(&c->frame, file);
    bytes_append_u32(&c->frame, line);
    put(&c->frame, &colour, 3);
}

/* An answer, or a payload, which has no address. */
static inline void client_answer(struct client *c, unsigned number, uint64_t address, const void *text,
                                 size_t length)
{
    bytes_append_u64(record(c, number), address);
    put_u16(&c->frame, (uint16_t)length);
    put(&c->frame, text, length);
}

static inline void client_string(struct client *c, uint64_t address, const char *text)
{
    client_answer(c, TRACY_STRING_DATA, address, text, strlen(text));
}

#endif
