/* SPDX-License-Identifier: Apache-2.0 */
/* The container that every block is: a hashed header with a table of columns, then the columns.
 *
 * One way to build it and one to read it with every bound checked; what a block means is given by its type and
 * the ids of its columns. A column whose values are all 0 is left out; a column that is not there reads as
 * zeros. Readers skip types and columns they do not know. */
#ifndef OPSCOPE_TRACE_BLOCK_H
#define OPSCOPE_TRACE_BLOCK_H

#include "base/bytes.h"
#include "trace/column.h"
#include "trace/format.h"

struct block_header {
    uint16_t type; /* enum trace_block_type */
    uint16_t version;
    uint32_t header_size; /* fixed part, whatever a later version adds, and the column table */
    uint16_t column_count;
    uint16_t flags;
    uint64_t total_size;
    uint8_t source[SOURCE_BYTES];
    uint64_t sequence; /* of this block among those of its source */
    uint32_t track;
    uint32_t clock;
    uint32_t count;
    uint32_t prefix_size; /* header and the columns that a level-of-detail query needs */
    uint64_t t_first, t_last, min_start;
    uint16_t depth_count; /* zones: deepest + 1 */
    uint8_t lod_level;    /* zones: level of the nodes inside; LOD: level of this block */
};

/* --- building: begin, add columns, finish; the builder is reused --- */
struct block_builder {
    struct column_codec codec;
    struct bytes out; /* room for the header, then the columns */
    struct column columns[BLOCK_MAX_COLUMNS];
    unsigned column_count;
    size_t prefix_length; /* length of `out` when the prefix was marked */
    bool keep_zeros;      /* for columns whose number of values is given by nothing else */
    bool failed;
};

void block_builder_free(struct block_builder *builder);
void block_begin(struct block_builder *builder);
void block_add_u32(struct block_builder *builder, uint16_t id, const uint32_t *values, size_t count);
void block_add_u64(struct block_builder *builder, uint16_t id, const uint64_t *values, size_t count);
void block_add_delta(struct block_builder *builder, uint16_t id, const uint64_t *values, size_t count);
void block_add_bytes(struct block_builder *builder, uint16_t id, const void *data, size_t length);
/* Columns added so far are the prefix. */
void block_mark_prefix(struct block_builder *builder);
/* Fills the sizes into *header and returns the whole block (valid until the next block_begin); NULL when
 * there was no memory. */
const uint8_t *block_finish(struct block_builder *builder, struct block_header *header, size_t *length);

/* --- reading --- */
struct block_view {
    struct block_header header;
    const uint8_t *data; /* the block from its first byte */
    size_t available;    /* bytes of it that are in memory */
    unsigned column_count;
    struct column columns[BLOCK_MAX_COLUMNS];
    size_t offsets[BLOCK_MAX_COLUMNS]; /* of each column in the block */
};

/* Reads and checks the fixed part alone (no hash): enough to walk from block to block. -EINVAL: no block. */
int block_read_fixed(const uint8_t *data, size_t available, struct block_header *header);
/* Reads and checks the whole header with its hash and column table. `available` must cover the header. */
int block_open(struct block_view *view, const uint8_t *data, size_t available);
/* Checks every column's hash; needs the whole block. */
bool block_is_intact(const struct block_view *view);

/* Makes the hashes of a block right again after a test or a fuzzer has changed its bytes; nothing happens
 * when it is not a block any more. */
void block_rehash(uint8_t *data, size_t available);

const struct column *block_find(const struct block_view *view, uint16_t id);
/* Number of values of a column; 0 when it is not there. */
size_t block_count(const struct block_view *view, uint16_t id);

/* Decode exactly `count` values; zeros when the column is not there; -EINVAL when it has another number of
 * values, is damaged, or lies beyond what is in memory. */
int block_decode_u32(const struct block_view *view, struct column_codec *codec, uint16_t id, uint32_t *out,
                     size_t count);
int block_decode_u64(const struct block_view *view, struct column_codec *codec, uint16_t id, uint64_t *out,
                     size_t count);
/* Indexes into a list, each below `limit` (column_decode_index). */
int block_decode_index(const struct block_view *view, struct column_codec *codec, uint16_t id, size_t limit,
                       uint16_t *out, size_t count);
int block_decode_bytes(const struct block_view *view, struct column_codec *codec, uint16_t id, uint8_t *out,
                       size_t count);

/* Little-endian fields at fixed places of headers, slots and trailers. */
void put_u32(uint8_t *at, uint32_t value);
void put_u64(uint8_t *at, uint64_t value);
uint32_t get_u32(const uint8_t *at);
uint64_t get_u64(const uint8_t *at);

#endif
