/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a segment by hand, in memory that the caller gives: what a recorder would have written, or what it never
 * would. For tests of the readers (test_session.c, test_collect.c) and for tests/fuzz/fuzz_session.c. */
#ifndef OPSCOPE_TESTS_SEGMENT_IMAGE_H
#define OPSCOPE_TESTS_SEGMENT_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "session/session.h"

#define IMAGE_SESSION UINT64_C(0x0123456789abcdef)
#define IMAGE_BASE_TICKS UINT64_C(1000000000)

struct image {
    uint8_t *memory; /* segment_layout(chunk_count).total bytes, zero where nothing was written */
    struct segment_layout layout;
    struct segment_header *header;
};

static inline struct chunk_descriptor *image_descriptor(const struct image *image, uint32_t chunk)
{
    return (struct chunk_descriptor *)(void *)(image->memory + image->layout.descriptors) + chunk;
}

static inline struct slot *image_slots(const struct image *image, uint32_t chunk)
{
    return (struct slot *)(void *)(image->memory + image->layout.chunks + (size_t)chunk * CHUNK_BYTES);
}

static inline struct session_process *image_process(const struct image *image, uint32_t index)
{
    return (struct session_process *)(void *)(image->memory + image->layout.processes) + index;
}

/* An empty segment of one process whose clock is CLOCK_MONOTONIC_RAW. */
static inline void image_init(struct image *image, uint8_t *memory, uint32_t chunk_count)
{
    static const char command[] = "made\0by hand";
    *image = (struct image){memory, segment_layout(chunk_count), (struct segment_header *)(void *)memory};
    *image->header = (struct segment_header){.magic = SESSION_SEGMENT_MAGIC,
                                             .version = SESSION_VERSION,
                                             .chunk_count = chunk_count,
                                             .session_id = IMAGE_SESSION,
                                             .segment_id = 42,
                                             .total_bytes = image->layout.total,
                                             .clock_source = CLOCK_SOURCE_RAW,
                                             .pid = 100,
                                             .parent_pid = 1,
                                             .chunks_committed = chunk_count,
                                             .process_count = 1,
                                             .processes_committed = 64,
                                             .ids_committed = 1024,
                                             .names_committed = 16384,
                                             .levels_committed = 1,
                                             .command_length = sizeof command};
    memcpy(image->header->command, command, sizeof command);
    *image_process(image, 0) = (struct session_process){
        .state = 1, .pid = 100, .parent_pid = 1, .start_raw_ns = IMAGE_BASE_TICKS, .comm = "made"};
}

/* A definition; returns its id, 0 when there is no room. */
static inline uint32_t image_define(struct image *image, const struct name_entry *entry, const char *bytes)
{
    uint64_t at = image->header->names_used;
    size_t size = (sizeof *entry + entry->length + 1 + 7) & ~(size_t)7;
    uint32_t id = image->header->name_count + 1;
    if (at + size > image->header->names_committed || id >= image->header->ids_committed)
        return 0;
    memcpy(image->memory + image->layout.names + at, entry, sizeof *entry);
    memcpy(image->memory + image->layout.names + at + sizeof *entry, bytes, entry->length);
    ((uint32_t *)(void *)(image->memory + image->layout.name_ids))[id] = (uint32_t)(at / 8) + 1;
    image->header->names_used = at + size;
    image->header->name_count = id;
    return id;
}

static inline uint32_t image_name(struct image *image, const char *text)
{
    struct name_entry entry = {.length = (uint32_t)strlen(text), .kind = NAME_TEXT};
    return image_define(image, &entry, text);
}

static inline uint32_t image_task(struct image *image, const char *text, uint64_t number)
{
    struct name_entry entry = {.length = (uint32_t)strlen(text), .kind = NAME_TASK, .value = number};
    return image_define(image, &entry, text);
}

/* The next chunk of a track, empty. */
static inline struct chunk_descriptor *image_chunk(struct image *image, uint32_t chunk, uint32_t track,
                                                   uint64_t sequence, uint32_t state)
{
    struct chunk_descriptor *d = image_descriptor(image, chunk);
    *d = (struct chunk_descriptor){.state = state,
                                   .track = track,
                                   .sequence = sequence,
                                   .base_ticks = IMAGE_BASE_TICKS,
                                   .base_raw_ns = IMAGE_BASE_TICKS,
                                   .thread_id = 1000 + track};
    return d;
}

/* Appends a record of one slot; `ticks` counts from the image's base. */
static inline void image_record(struct image *image, uint32_t chunk, uint64_t ticks, unsigned kind,
                                uint32_t id, uint32_t payload)
{
    struct chunk_descriptor *d = image_descriptor(image, chunk);
    if (d->slots < CHUNK_SLOTS)
        image_slots(image, chunk)[d->slots++] =
            (struct slot){slot_time_kind(IMAGE_BASE_TICKS + ticks, kind), (uint64_t)payload << 32 | id};
}

/* Appends a record with further slots; their number goes into the payload. */
static inline void image_long_record(struct image *image, uint32_t chunk, uint64_t ticks, unsigned kind,
                                     uint32_t id, uint32_t payload, const struct slot *more, uint32_t count)
{
    struct chunk_descriptor *d = image_descriptor(image, chunk);
    if (d->slots + 1 + count > CHUNK_SLOTS)
        return;
    image_record(image, chunk, ticks, kind, id, payload | count << 24);
    memcpy(image_slots(image, chunk) + d->slots, more, count * sizeof *more);
    d->slots += count;
}

static inline void image_zone(struct image *image, uint32_t chunk, uint64_t start, uint64_t end,
                              uint32_t name)
{
    image_record(image, chunk, start, RECORD_ZONE_BEGIN, name, 0);
    image_record(image, chunk, end, RECORD_ZONE_END, 0, 0);
}

/* The same in memory of its own, which takes no room until it is written; false: there is none. */
static inline bool image_map(struct image *image, uint32_t chunk_count)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    uint8_t *memory = mmap(NULL, segment_layout(chunk_count).total, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    image_init(image, memory, chunk_count);
    return true;
}

static inline int image_unmap(struct image *image)
{
    return munmap(image->memory, image->layout.total);
}

#endif
