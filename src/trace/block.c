/* SPDX-License-Identifier: Apache-2.0 */
/* Building and reading the block container. The header is written in front of the columns once they are
 * known, into room kept free for it, so that a block is never copied. */
#include "trace/block.h"

#include <errno.h>
#include <string.h>

#include "base/checked.h"
#include "base/hash.h"

#define HEADER_ROOM (BLOCK_FIXED_BYTES + BLOCK_MAX_COLUMNS * BLOCK_COLUMN_BYTES)
#define MAX_HEADER_BYTES 65536u
#define HEADER_HASH_SEED UINT64_C(0x6f73626b)

enum header_offset {
    AT_MAGIC = 0,
    AT_TYPE = 4,
    AT_VERSION = 6,
    AT_HEADER_SIZE = 8,
    AT_COLUMN_COUNT = 12,
    AT_FLAGS = 14,
    AT_TOTAL_SIZE = 16,
    AT_SOURCE = 24,
    AT_SEQUENCE = 40,
    AT_TRACK = 48,
    AT_CLOCK = 52,
    AT_COUNT = 56,
    AT_PREFIX_SIZE = 60,
    AT_FIRST = 64,
    AT_LAST = 72,
    AT_MIN_START = 80,
    AT_DEPTH_COUNT = 88,
    AT_LOD_LEVEL = 90,
    AT_HASH = 92,
};

static void put_u16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

void put_u32(uint8_t *at, uint32_t value)
{
    put_u16(at, (uint16_t)value);
    put_u16(at + 2, (uint16_t)(value >> 16));
}

void put_u64(uint8_t *at, uint64_t value)
{
    put_u32(at, (uint32_t)value);
    put_u32(at + 4, (uint32_t)(value >> 32));
}

static uint16_t get_u16(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

uint32_t get_u32(const uint8_t *at)
{
    return (uint32_t)get_u16(at) | (uint32_t)get_u16(at + 2) << 16;
}

uint64_t get_u64(const uint8_t *at)
{
    return (uint64_t)get_u32(at) | (uint64_t)get_u32(at + 4) << 32;
}

/* --- building --- */

void block_builder_free(struct block_builder *builder)
{
    if (!builder)
        return;
    column_codec_free(&builder->codec);
    bytes_free(&builder->out);
}

void block_begin(struct block_builder *builder)
{
    bytes_clear(&builder->out);
    builder->column_count = 0;
    builder->failed = !bytes_reserve(&builder->out, HEADER_ROOM);
    builder->out.length = builder->failed ? 0 : HEADER_ROOM;
    builder->prefix_length = 0;
    builder->keep_zeros = false;
}

/* Keeps the column just encoded, unless it is nothing but zeros. */
static void keep_column(struct block_builder *builder, struct column *column, uint16_t id, int status)
{
    if (status) {
        builder->failed = true;
        return;
    }
    bool is_zero = column->encoding == COLUMN_CONST && column->width == 0;
    if (is_zero && !builder->keep_zeros) {
        builder->out.length -= column->size;
        return;
    }
    column->id = id;
    builder->columns[builder->column_count++] = *column;
}

static bool can_add(struct block_builder *builder)
{
    if (builder->column_count == BLOCK_MAX_COLUMNS)
        builder->failed = true;
    return !builder->failed;
}

void block_add_u32(struct block_builder *builder, uint16_t id, const uint32_t *values, size_t count)
{
    struct column column = {0};
    if (count && can_add(builder))
        keep_column(builder, &column, id,
                    column_encode_u32(&builder->codec, values, count, &builder->out, &column));
}

void block_add_u64(struct block_builder *builder, uint16_t id, const uint64_t *values, size_t count)
{
    struct column column = {0};
    if (count && can_add(builder))
        keep_column(builder, &column, id,
                    column_encode_u64(&builder->codec, values, count, false, &builder->out, &column));
}

void block_add_delta(struct block_builder *builder, uint16_t id, const uint64_t *values, size_t count)
{
    struct column column = {0};
    if (count && can_add(builder))
        keep_column(builder, &column, id,
                    column_encode_u64(&builder->codec, values, count, true, &builder->out, &column));
}

void block_add_bytes(struct block_builder *builder, uint16_t id, const void *data, size_t length)
{
    struct column column = {0};
    if (length && can_add(builder))
        keep_column(builder, &column, id,
                    column_encode_bytes(&builder->codec, data, length, &builder->out, &column));
}

void block_mark_prefix(struct block_builder *builder)
{
    builder->prefix_length = builder->out.length;
}

static void write_header(uint8_t *at, const struct block_header *h, const struct column *columns)
{
    memset(at, 0, BLOCK_FIXED_BYTES);
    put_u32(at + AT_MAGIC, BLOCK_MAGIC);
    put_u16(at + AT_TYPE, h->type);
    put_u16(at + AT_VERSION, h->version);
    put_u32(at + AT_HEADER_SIZE, h->header_size);
    put_u16(at + AT_COLUMN_COUNT, h->column_count);
    put_u16(at + AT_FLAGS, h->flags);
    put_u64(at + AT_TOTAL_SIZE, h->total_size);
    memcpy(at + AT_SOURCE, h->source, SOURCE_BYTES);
    put_u64(at + AT_SEQUENCE, h->sequence);
    put_u32(at + AT_TRACK, h->track);
    put_u32(at + AT_CLOCK, h->clock);
    put_u32(at + AT_COUNT, h->count);
    put_u32(at + AT_PREFIX_SIZE, h->prefix_size);
    put_u64(at + AT_FIRST, h->t_first);
    put_u64(at + AT_LAST, h->t_last);
    put_u64(at + AT_MIN_START, h->min_start);
    put_u16(at + AT_DEPTH_COUNT, h->depth_count);
    at[AT_LOD_LEVEL] = h->lod_level;
    for (unsigned i = 0; i < h->column_count; i++) {
        uint8_t *entry = at + BLOCK_FIXED_BYTES + i * BLOCK_COLUMN_BYTES;
        put_u16(entry, columns[i].id);
        entry[2] = columns[i].encoding;
        entry[3] = columns[i].width;
        put_u32(entry + 4, columns[i].count);
        put_u32(entry + 8, columns[i].size);
        put_u32(entry + 12, columns[i].hash);
    }
    put_u32(at + AT_HASH, hash_fold32(hash_bytes(at, h->header_size, HEADER_HASH_SEED)));
}

const uint8_t *block_finish(struct block_builder *builder, struct block_header *header, size_t *length)
{
    static const uint8_t padding[BLOCK_ALIGNMENT] = {0};
    if (builder->failed)
        return NULL;
    uint32_t header_size = BLOCK_FIXED_BYTES + builder->column_count * BLOCK_COLUMN_BYTES;
    size_t start = HEADER_ROOM - header_size;
    size_t size = builder->out.length - start;
    bytes_append(&builder->out, padding, (BLOCK_ALIGNMENT - size % BLOCK_ALIGNMENT) % BLOCK_ALIGNMENT);
    size = builder->out.length - start;
    if (builder->out.failed || size > BLOCK_MAX_BYTES)
        return NULL;
    header->version = BLOCK_VERSION;
    header->header_size = header_size;
    header->column_count = (uint16_t)builder->column_count;
    header->total_size = size;
    header->prefix_size =
        builder->prefix_length ? (uint32_t)(builder->prefix_length - start) : (uint32_t)size;
    write_header(builder->out.data + start, header, builder->columns);
    *length = size;
    return builder->out.data + start;
}

/* --- reading --- */

int block_read_fixed(const uint8_t *at, size_t available, struct block_header *h)
{
    if (available < BLOCK_FIXED_BYTES || get_u32(at + AT_MAGIC) != BLOCK_MAGIC)
        return -EINVAL;
    h->type = get_u16(at + AT_TYPE);
    h->version = get_u16(at + AT_VERSION);
    h->header_size = get_u32(at + AT_HEADER_SIZE);
    h->column_count = get_u16(at + AT_COLUMN_COUNT);
    h->flags = get_u16(at + AT_FLAGS);
    h->total_size = get_u64(at + AT_TOTAL_SIZE);
    memcpy(h->source, at + AT_SOURCE, SOURCE_BYTES);
    h->sequence = get_u64(at + AT_SEQUENCE);
    h->track = get_u32(at + AT_TRACK);
    h->clock = get_u32(at + AT_CLOCK);
    h->count = get_u32(at + AT_COUNT);
    h->prefix_size = get_u32(at + AT_PREFIX_SIZE);
    h->t_first = get_u64(at + AT_FIRST);
    h->t_last = get_u64(at + AT_LAST);
    h->min_start = get_u64(at + AT_MIN_START);
    h->depth_count = get_u16(at + AT_DEPTH_COUNT);
    h->lod_level = at[AT_LOD_LEVEL];
    uint64_t table = (uint64_t)h->column_count * BLOCK_COLUMN_BYTES;
    if (h->header_size < BLOCK_FIXED_BYTES + table || h->header_size > MAX_HEADER_BYTES ||
        h->total_size < h->header_size || h->total_size > BLOCK_MAX_BYTES ||
        h->prefix_size < h->header_size || h->prefix_size > h->total_size)
        return -EINVAL;
    return 0;
}

static bool header_hash_matches(const uint8_t *at, uint32_t header_size)
{
    uint8_t copy[HEADER_ROOM];
    uint32_t stored = get_u32(at + AT_HASH);
    if (header_size > sizeof copy)
        return false;
    memcpy(copy, at, header_size);
    put_u32(copy + AT_HASH, 0);
    return hash_fold32(hash_bytes(copy, header_size, HEADER_HASH_SEED)) == stored;
}

int block_open(struct block_view *view, const uint8_t *data, size_t available)
{
    struct block_header *h = &view->header;
    if (block_read_fixed(data, available, h) || h->header_size > available ||
        h->column_count > BLOCK_MAX_COLUMNS || !header_hash_matches(data, h->header_size))
        return -EINVAL;
    view->data = data;
    view->available = available < h->total_size ? available : (size_t)h->total_size;
    view->column_count = h->column_count;
    size_t offset = h->header_size;
    const uint8_t *entry = data + h->header_size - h->column_count * BLOCK_COLUMN_BYTES;
    for (unsigned i = 0; i < view->column_count; i++, entry += BLOCK_COLUMN_BYTES) {
        view->columns[i] = (struct column){.id = get_u16(entry),
                                           .encoding = entry[2],
                                           .width = entry[3],
                                           .count = get_u32(entry + 4),
                                           .size = get_u32(entry + 8),
                                           .hash = get_u32(entry + 12)};
        view->offsets[i] = offset;
        if (!checked_add_size(offset, view->columns[i].size, &offset) || offset > h->total_size)
            return -EINVAL;
    }
    return 0;
}

bool block_is_intact(const struct block_view *view)
{
    if (view->available < view->header.total_size)
        return false;
    for (unsigned i = 0; i < view->column_count; i++) {
        if (!column_is_intact(&view->columns[i], view->data + view->offsets[i]))
            return false;
    }
    return true;
}

void block_rehash(uint8_t *data, size_t available)
{
    struct block_header h;
    if (block_read_fixed(data, available, &h) || h.header_size > available || h.header_size > HEADER_ROOM)
        return;
    size_t offset = h.header_size;
    uint8_t *entry = data + h.header_size - h.column_count * BLOCK_COLUMN_BYTES;
    for (unsigned i = 0; i < h.column_count; i++, entry += BLOCK_COLUMN_BYTES) {
        struct column column = {.size = get_u32(entry + 8)};
        if (!range_is_inside(offset, column.size, available))
            break;
        column_rehash(&column, data + offset);
        put_u32(entry + 12, column.hash);
        offset += column.size;
    }
    put_u32(data + AT_HASH, 0);
    put_u32(data + AT_HASH, hash_fold32(hash_bytes(data, h.header_size, HEADER_HASH_SEED)));
}

const struct column *block_find(const struct block_view *view, uint16_t id)
{
    for (unsigned i = 0; i < view->column_count; i++)
        if (view->columns[i].id == id)
            return &view->columns[i];
    return NULL;
}

size_t block_count(const struct block_view *view, uint16_t id)
{
    const struct column *column = block_find(view, id);
    return column ? column->count : 0;
}

/* The stored bytes of a column with `count` values; NULL when they are not there. */
static const uint8_t *stored_bytes(const struct block_view *view, const struct column *column, size_t count)
{
    size_t offset = view->offsets[column - view->columns];
    if (column->count != count || !range_is_inside(offset, column->size, view->available))
        return NULL;
    return view->data + offset;
}

int block_decode_u32(const struct block_view *view, struct column_codec *codec, uint16_t id, uint32_t *out,
                     size_t count)
{
    const struct column *column = block_find(view, id);
    if (!column) {
        memset(out, 0, count * sizeof *out);
        return 0;
    }
    const uint8_t *stored = stored_bytes(view, column, count);
    return stored ? column_decode_u32(codec, column, stored, out) : -EINVAL;
}

int block_decode_u64(const struct block_view *view, struct column_codec *codec, uint16_t id, uint64_t *out,
                     size_t count)
{
    const struct column *column = block_find(view, id);
    if (!column) {
        memset(out, 0, count * sizeof *out);
        return 0;
    }
    const uint8_t *stored = stored_bytes(view, column, count);
    return stored ? column_decode_u64(codec, column, stored, out) : -EINVAL;
}

int block_decode_index(const struct block_view *view, struct column_codec *codec, uint16_t id, size_t limit,
                       uint16_t *out, size_t count)
{
    const struct column *column = block_find(view, id);
    if (!column) {
        memset(out, 0, count * sizeof *out);
        return count == 0 || limit ? 0 : -EINVAL;
    }
    const uint8_t *stored = stored_bytes(view, column, count);
    return stored ? column_decode_index(codec, column, stored, limit, out) : -EINVAL;
}

int block_decode_bytes(const struct block_view *view, struct column_codec *codec, uint16_t id, uint8_t *out,
                       size_t count)
{
    const struct column *column = block_find(view, id);
    if (!column)
        return count == 0 ? 0 : -EINVAL;
    const uint8_t *stored = stored_bytes(view, column, count);
    return stored ? column_decode_bytes(codec, column, stored, out) : -EINVAL;
}
