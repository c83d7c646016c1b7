/* SPDX-License-Identifier: Apache-2.0 */
/* The trace reader over any bytes: opened plainly and with salvage, everything decoded, windows drawn.
 *
 * A mutation breaks a hash and is then turned away at once; so each input is tried a second time with its
 * hashes made right again, which is what somebody who wants to break the reader would do. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "rehash.h"
#include "trace/reader.h"

static uint64_t seen; /* what was read is used, so that reading it is not optimised away */

static void touch(const void *data, size_t length)
{
    seen += length ? hash_bytes(data, length, 1) : 0;
}

static void touch_text(const char *text)
{
    touch(text, strlen(text));
}

static void read_definitions(struct trace *t)
{
    size_t count;
    for (uint32_t i = 0; i < trace_process_count(t); i++)
        touch_text(trace_get_process(t, i)->command);
    for (uint32_t i = 0; i < trace_track_count(t); i++) {
        touch_text(trace_get_track(t, i)->name);
        seen += trace_track_zone_count(t, i) + trace_track_depth_count(t, i);
    }
    for (uint32_t i = 0; i < trace_name_count(t); i++)
        touch_text(trace_get_name(t, i)->file);
    for (uint32_t i = 0; i < trace_clock_count(t); i++)
        seen += trace_host_ns(t, i, seen);
    const struct trace_clock_point *points = trace_get_clock_points(t, &count);
    touch(points, count * sizeof *points);
    const struct trace_loss *losses = trace_get_losses(t, &count);
    touch(losses, count * sizeof *losses);
    const struct trace_open_zone *open = trace_get_open_zones(t, &count);
    touch(open, count * sizeof *open);
    for (size_t i = 0; i < trace_source_count(t); i++) {
        const struct trace_source_file *file = trace_get_source(t, i);
        touch_text(file->file);
        for (size_t k = 0; k < file->part_count; k++)
            touch(file->parts[k].text, file->parts[k].length);
    }
    for (uint32_t i = 0; i < 100; i++) {
        const struct trace_part *parts = trace_get_description(t, i, &count);
        for (size_t k = 0; k < count; k++)
            touch(parts[k].text.data, parts[k].text.length);
    }
}

static void read_blocks(struct trace *t)
{
    struct zone_rows zones = {0};
    struct trace_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0;
    while ((block = trace_next_block(t, NULL, &position))) {
        if (block->type == TRACE_BLOCK_ZONES) {
            if (trace_decode_zones(t, block, TRACE_COLUMN_ALL, &zones, NULL) != 0)
                continue;
            touch(zones.start, zones.count * 8);
            touch(zones.duration, zones.count * 8);
            touch(zones.child, zones.count * 8);
            touch(zones.name, zones.count * 4);
            for (size_t i = 0; i < zones.extra_count; i++) {
                seen += zones.start[zones.extras[i].row];
                touch(zones.extras[i].text, zones.extras[i].text_length);
            }
        } else if (trace_decode_rows(t, block, &rows, NULL) == 0) {
            for (size_t i = 0; rows.points && i < rows.count; i++) {
                touch_text(rows.points[i].header);
                touch(rows.points[i].text, rows.points[i].text_length);
            }
            for (size_t i = 0; rows.runs && i < rows.count; i++)
                touch(rows.runs[i].parts, rows.runs[i].part_count * sizeof *rows.runs[i].parts);
            for (size_t i = 0; rows.samples && i < rows.count; i++)
                touch(rows.samples[i].frames, rows.samples[i].frame_count * sizeof *rows.samples[i].frames);
            for (size_t i = 0; rows.ops && i < rows.count; i++)
                seen += rows.ops[i].call;
            for (size_t i = 0; rows.locks && i < rows.count; i++)
                seen += rows.locks[i].end_ns - rows.locks[i].start_ns;
        }
    }
    zone_rows_free(&zones);
    trace_rows_free(&rows);
}

static void draw(struct trace *t)
{
    const struct trace_info *info = trace_get_info(t);
    struct lod_rows rows = {0};
    for (uint32_t track = 0; track < trace_track_count(t) && track < 3; track++)
        for (uint32_t depth = 0; depth < 2; depth++)
            for (unsigned zoom = 0; zoom < 24; zoom += 8) {
                uint64_t length = (info->end_ns - info->start_ns) >> zoom;
                if (trace_lod(t, track, depth, info->start_ns, info->start_ns + length, 100, &rows, NULL) ==
                    0)
                    touch(rows.rows, rows.count * sizeof *rows.rows);
            }
    lod_rows_free(&rows);
}

static void read_all(const uint8_t *data, size_t size)
{
    for (unsigned flags = 0; flags <= TRACE_OPEN_SALVAGE; flags++) {
        struct error err;
        struct trace *t;
        if (trace_open_memory(&t, data, size, flags, &err) != 0)
            continue;
        read_definitions(t);
        read_blocks(t);
        draw(t);
        trace_close(t);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_all(data, size);
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        return 0;
    if (size)
        memcpy(copy, data, size);
    rehash(copy, size);
    read_all(copy, size);
    free(copy);
    return 0;
}
