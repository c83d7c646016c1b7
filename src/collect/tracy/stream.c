/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/tracy/stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "collect/tracy/internal.h"
#include "collect/tracy/lz4.h"

#define DECODED_BYTES ((size_t)4 * TRACY_FRAME_BYTES) /* room for some frames before the history moves */
#define ON_DEMAND_BYTES 16u

struct tracy_stream *tracy_stream_new(uint32_t version, enum tracy_wide wide, tracy_event_fn event,
                                      void *context)
{
    struct tracy_stream *s = calloc(1, sizeof *s);
    struct tracy_dialect dialect = {.version = version, .has_wide_contexts = wide == TRACY_WIDE_YES};
    if (!s)
        return NULL;
    s->decoded = malloc(DECODED_BYTES);
    if (!s->decoded || !tracy_table_make(&s->table, dialect)) {
        tracy_stream_free(s);
        return NULL;
    }
    s->is_width_known = wide != TRACY_WIDE_DETECT;
    s->event = event;
    s->context = context;
    return s;
}

void tracy_stream_set_zones(struct tracy_stream *s, tracy_steps_fn steps)
{
    s->steps = steps;
}

void tracy_stream_free(struct tracy_stream *s)
{
    if (!s)
        return;
    tracy_names_free(&s->names);
    bytes_free(&s->input);
    bytes_free(&s->text.bytes);
    bytes_free(&s->location.bytes);
    bytes_free(&s->stack.bytes);
    free(s->decoded);
    free(s);
}

static void fail(struct tracy_stream *s)
{
    s->state = STREAM_FAILED;
    tracy_names_stop(&s->names);
}

static void take_frame(struct tracy_stream *s, const uint8_t *block, size_t length)
{
    if (DECODED_BYTES - s->decoded_length < TRACY_FRAME_BYTES) {
        memmove(s->decoded, s->decoded + s->decoded_length - LZ4_HISTORY_BYTES, LZ4_HISTORY_BYTES);
        s->decoded_length = LZ4_HISTORY_BYTES;
    }
    uint8_t *out = s->decoded + s->decoded_length;
    ptrdiff_t size = lz4_decode(block, length, out, TRACY_FRAME_BYTES, s->decoded_length);
    s->counts.frames++;
    if (size < 0) {
        error_set(&s->error, EINVAL,
                  "frame %" PRIu64 " of the stream is damaged: its LZ4 block cannot be decoded",
                  s->counts.frames);
        fail(s);
        return;
    }
    s->decoded_length += (size_t)size;
    s->counts.decoded_bytes += (uint64_t)size;
    if (!tracy_items_take(s, out, (size_t)size))
        fail(s);
}

/* Bytes of the step that begins there; of a frame those of its length, until that is there. */
static size_t step_bytes(const struct tracy_stream *s, const uint8_t *data, size_t length)
{
    switch (s->state) {
    case STREAM_STATUS:
        return 1;
    case STREAM_WELCOME:
        return tracy_welcome_bytes(s->table.dialect.version);
    case STREAM_ON_DEMAND:
        return ON_DEMAND_BYTES;
    default: {
        size_t size = length < 4 ? 0 : tracy_u32(data);
        return 4 + (size <= TRACY_BLOCK_BYTES ? size : 0);
    }
    }
}

/* Takes one step if all bytes of it are there. Returns how many it took; 0: more are needed. */
static size_t take_step(struct tracy_stream *s, const uint8_t *data, size_t length)
{
    uint32_t version = s->table.dialect.version;
    size_t need = step_bytes(s, data, length);
    if (length < need)
        return 0;
    switch (s->state) {
    case STREAM_STATUS:
        s->status = data[0];
        s->state = STREAM_WELCOME;
        if (s->status != TRACY_WELCOME) {
            error_set(&s->error, EPROTO,
                      s->status == TRACY_MISMATCH        ? "the client speaks another protocol than %u"
                      : s->status == TRACY_NOT_AVAILABLE ? "the client has had its one session (protocol %u)"
                                                         : "this is not a Tracy client (protocol %u)",
                      version);
            fail(s);
        }
        break;
    case STREAM_WELCOME:
        tracy_welcome_read(&s->welcome, version, data);
        s->state = s->welcome.flags & TRACY_ON_DEMAND ? STREAM_ON_DEMAND : STREAM_FRAMES;
        if (!(s->welcome.ns_per_tick > 0 && s->welcome.ns_per_tick < 1e6)) {
            error_set(&s->error, EINVAL, "the client's clock makes no sense: wrong protocol (%u)?", version);
            fail(s);
        }
        break;
    case STREAM_ON_DEMAND:
        s->state = STREAM_FRAMES;
        break;
    default: {
        uint32_t size = tracy_u32(data);
        if (size > TRACY_BLOCK_BYTES) {
            error_set(&s->error, EINVAL, "a frame of %u bytes is longer than any: wrong protocol (%u)?", size,
                      version);
            fail(s);
            return 0;
        }
        take_frame(s, data + 4, size);
        break;
    }
    }
    return need;
}

static size_t take_steps(struct tracy_stream *s, const uint8_t *data, size_t length)
{
    size_t taken = 0, step = 1;
    while (step && s->state != STREAM_FAILED) {
        step = take_step(s, data + taken, length - taken);
        taken += step;
    }
    return taken;
}

int tracy_stream_feed(struct tracy_stream *s, const void *data, size_t length, struct error *err)
{
    struct bytes *input = &s->input;
    const uint8_t *at = data, *end = length ? at + length : at; /* nothing may be at NULL */
    while (input->length && at < end && !input->failed && s->state != STREAM_FAILED) {
        /* what is missing of the step that was begun; the rest is taken where it is */
        size_t missing = step_bytes(s, input->data, input->length) - input->length, left = (size_t)(end - at);
        bytes_append(input, at, missing < left ? missing : left);
        at += missing < left ? missing : left;
        if (!input->failed && take_step(s, input->data, input->length))
            bytes_clear(input);
    }
    if (at < end && !input->failed && s->state != STREAM_FAILED) {
        at += take_steps(s, at, (size_t)(end - at));
        bytes_append(input, at, (size_t)(end - at));
    }
    if (input->failed && s->state != STREAM_FAILED) {
        error_no_memory(&s->error, "a frame of the stream");
        fail(s);
    }
    if (s->state != STREAM_FAILED)
        return 0;
    bytes_clear(input);
    if (err)
        *err = s->error;
    return -s->error.code;
}

struct bytes *tracy_stream_queries(struct tracy_stream *s)
{
    return &s->names.queries;
}

void tracy_stream_distrust(struct tracy_stream *s)
{
    tracy_names_stop(&s->names);
}

bool tracy_stream_is_trusted(const struct tracy_stream *s)
{
    return !s->names.is_silent;
}

unsigned tracy_stream_status(const struct tracy_stream *s)
{
    return s->status;
}

const struct tracy_welcome *tracy_stream_welcome(const struct tracy_stream *s)
{
    return s->welcome.ns_per_tick > 0 ? &s->welcome : NULL;
}

const struct tracy_names *tracy_stream_names(const struct tracy_stream *s)
{
    return &s->names;
}

struct tracy_dialect tracy_stream_dialect(const struct tracy_stream *s)
{
    return s->table.dialect;
}

bool tracy_stream_is_ending(const struct tracy_stream *s)
{
    return s->is_ending;
}

bool tracy_stream_has_open_questions(const struct tracy_stream *s)
{
    return s->names.answered < s->names.asked;
}

bool tracy_stream_is_between(const struct tracy_stream *s)
{
    return s->input.length == 0;
}

const struct tracy_counts *tracy_stream_counts(const struct tracy_stream *s)
{
    return &s->counts;
}
