/* SPDX-License-Identifier: Apache-2.0 */
/* What stream.c (handshake, frames) and items.c (records in a frame) share. */
#ifndef OPSCOPE_COLLECT_TRACY_INTERNAL_H
#define OPSCOPE_COLLECT_TRACY_INTERNAL_H

#include "collect/tracy/stream.h"

/* Texts that come before the record that they belong to, perhaps in an earlier frame. */
struct pending_text {
    struct bytes bytes;
    bool is_there;
};

struct tracy_stream {
    struct tracy_table table;
    bool is_width_known; /* of GPU contexts */
    tracy_event_fn event;
    tracy_steps_fn steps; /* NULL: zones are events as well */
    void *context;
    enum { STREAM_STATUS, STREAM_WELCOME, STREAM_ON_DEMAND, STREAM_FRAMES, STREAM_FAILED } state;
    struct error error;
    struct bytes input; /* not taken yet: the beginning of a frame */
    uint8_t *decoded;   /* the last 64 KiB, and room for frames after them */
    size_t decoded_length;
    unsigned status;
    struct tracy_welcome welcome;
    struct tracy_names names;
    struct tracy_counts counts;
    bool is_ending;
    /* between records: */
    uint32_t thread;
    int64_t thread_time, serial_time, switch_time, gpu_time; /* the last ones of each kind */
    struct pending_text text;                                /* single string */
    struct pending_text location, stack;                     /* payloads */
    uint64_t pool;                                           /* address of the name of a memory pool */
    uint64_t code;                                           /* address whose functions come: */
    uint32_t code_left; /* this many, those that were inlined there first */
    struct {
        uint64_t address;
        uint32_t source;
    } recent[256]; /* source locations, by a few bits of their address */
};

/* All records of a frame. False: one does not fit; s->error says which. */
bool tracy_items_take(struct tracy_stream *s, const uint8_t *data, size_t length);

#endif
