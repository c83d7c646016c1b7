/* SPDX-License-Identifier: Apache-2.0 */
/* The index of a broken file, by a scan from the first byte to the last: every block whose header and columns
 * have their hashes is kept, wherever it lies; between them the scan looks for the next magic number. Trusts
 * no length, no slot and no checkpoint. Reads the whole file once. */
#include "trace/reader/internal.h"

#include <errno.h>
#include <string.h>

#define WINDOW_BYTES ((size_t)1 << 20)

/* The next place from `offset` on where a block or a segment may begin; t->size when there is none. */
static uint64_t find_magic(struct trace *t, uint64_t offset)
{
    uint8_t block_magic[4];
    put_u32(block_magic, BLOCK_MAGIC);
    while (offset < t->size) {
        size_t length = WINDOW_BYTES;
        const uint8_t *data = reader_bytes_up_to(t, offset, &length, NULL);
        if (!data)
            break;
        const uint8_t *block = memmem(data, length, block_magic, sizeof block_magic);
        const uint8_t *segment = memmem(data, length, SEGMENT_MAGIC, MAGIC_BYTES);
        if (block && segment)
            return offset + (uint64_t)((block < segment ? block : segment) - data);
        if (block || segment)
            return offset + (uint64_t)((block ? block : segment) - data);
        if (length <= MAGIC_BYTES || offset + length >= t->size)
            break;
        offset += length - (MAGIC_BYTES - 1);
    }
    return t->size;
}

static int keep_block(struct trace *t, uint64_t offset, const struct block_view *view)
{
    if (view->header.type == TRACE_BLOCK_CHECKPOINT)
        return index_load_open_zones(t, view);
    if (view->header.type == TRACE_BLOCK_ZONES) {
        int status = index_add_totals_of_block(t, view);
        if (status)
            return status;
    }
    return index_add_block(t, offset, &view->header);
}

/* What is at `offset`: *size is how far to go on; 0 when nothing whole begins here. */
static int take_piece(struct trace *t, uint64_t offset, uint64_t *size)
{
    struct block_header header;
    struct block_view view;
    size_t length = SEGMENT_HEADER_BYTES;
    const uint8_t *data = reader_bytes_up_to(t, offset, &length, NULL);
    *size = 0;
    if (!data)
        return 0;
    if (length >= MAGIC_BYTES && memcmp(data, SEGMENT_MAGIC, MAGIC_BYTES) == 0 &&
        length == SEGMENT_HEADER_BYTES) {
        uint8_t copy[SEGMENT_HEADER_BYTES];
        memcpy(copy, data, sizeof copy);
        int status = index_read_segment_header(t, offset, copy, NULL);
        *size = status == 0 ? SEGMENT_HEADER_BYTES : 0;
        return status == -ENOMEM ? status : 0;
    }
    if (length >= MAGIC_BYTES && memcmp(data, TRAILER_MAGIC, MAGIC_BYTES) == 0) {
        *size = SEGMENT_TRAILER_BYTES;
        return 0;
    }
    if (block_read_fixed(data, length, &header) || header.header_size > length ||
        block_open(&view, data, length) || header.total_size > t->size - offset)
        return 0;
    data = reader_bytes(t, offset, (size_t)header.total_size, NULL);
    if (!data || block_open(&view, data, (size_t)header.total_size))
        return 0;
    *size = header.total_size;
    int status = block_is_intact(&view) ? keep_block(t, offset, &view) : -EINVAL;
    if (status == -EINVAL) { /* its header is whole: its length and times can be trusted, its rows are gone */
        t->info.damaged_blocks++;
        status = index_has_times(header.type) ? index_add_block(t, offset, &view.header) : 0;
        if (!status && index_has_times(header.type))
            t->entries[t->entry_count - 1].is_damaged = true;
    }
    return status;
}

int salvage_index(struct trace *t, struct error *err)
{
    uint64_t offset = 0;
    t->info.is_salvaged = true;
    while (offset < t->size) {
        uint64_t size;
        if (take_piece(t, offset, &size) == -ENOMEM)
            return error_set_errno(err, ENOMEM, "%s", t->path);
        if (size) {
            offset += size;
            t->whole_length = offset;
            continue;
        }
        t->info.damaged_blocks++;
        offset = find_magic(t, offset + 1);
    }
    if (t->entry_count == 0 && t->info.segment_count == 0)
        return error_set(err, EINVAL, "%s: no block of an opscope trace in it", t->path);
    if (t->info.format_version == 0)
        t->info.format_version = TRACE_FORMAT_VERSION;
    return 0;
}
